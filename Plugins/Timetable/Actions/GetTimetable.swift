import ActionKit

enum GetTimetable: Action {
  static let name = "getTimetable"
  static let summary = "Reads a group's timetable: every class of both alternating weeks, by weekday and time."
  static let effect = Effect.read
  static let examples = [
    Example("A subgroup", "selection: { programId: informatica-maghiara, year: 1, group: 512, subgroup: 512/1 }")
  ]

  struct Input: FieldSet {
    @Field("The program, study year and group.") var selection: SelectionFields
    @Field("Whether to ask the network even if the cached file is fresh.") var refresh = false
  }

  struct Output: FieldSet {
    @Field("Whether a timetable is published.") var available: Bool
    @Field("The academic year, looked up if it wasn't given.") var academicYear: String
    @Field("The days that have classes, Monday first.") var days: [TimetableDay]
    @Field("How current it is.") var freshness: FreshnessFields
    @Field(
      "Warnings about the data; if no timetable is published, also the parts of the selection that the catalog lacks.")
    var warnings: [String]
  }

  static func run(_ input: Input, on service: TimetableClient, in context: ActionContext) async throws -> Output {
    let selection = try await input.selection.resolved(by: service)
    let answer = try await service.timetable(of: selection, refresh: input.refresh)
    var warnings = answer.warnings
    // The catalog is only a hint here; without it the answer is as good.
    if answer.content == nil, let catalog = try? await service.catalog() {
      warnings += catalog.content.faults(in: selection)
    }
    return try Output {
      $0.available = answer.content != nil
      $0.academicYear = selection.academicYear
      $0.days = answer.content?.narrowed(to: input.selection.subgroup).days ?? []
      $0.freshness = FreshnessFields(
        answer, generatedAt: answer.content?.generatedAt, lastUpdatedAtSource: answer.content?.lastUpdatedAtSource)
      $0.warnings = warnings
    }
  }
}
