import ActionKit

enum CheckSelection: Action {
  static let name = "checkSelection"
  static let summary = "Checks that the catalog has a program, study year and group, or suggests the nearest."
  static let effect = Effect.read
  static let examples = [
    Example("A group", "selection: { programId: informatica-maghiara, year: 1, group: 511 }")
  ]

  struct Input: FieldSet {
    @Field("The program, study year and group to look for.") var selection: SelectionFields
  }

  struct Output: FieldSet {
    @Field("Whether the catalog has all of it; a timetable may still not be published.") var isValid: Bool
    @Field("The parts that the catalog lacks, as sentences.") var problems: [String]
    @Field("The academic year, looked up if it wasn't given.") var academicYear: String
    @Field("The program's name for people, if there is such a program.") var programTitle: String?
  }

  static func run(_ input: Input, on service: TimetableClient, in context: ActionContext) async throws -> Output {
    let catalog = try await service.catalog().content
    let selection = try await input.selection.resolved(by: service)
    let problems = catalog.faults(in: selection)
    return try Output {
      $0.isValid = problems.isEmpty
      $0.problems = problems
      $0.academicYear = selection.academicYear
      $0.programTitle = catalog.programs.first { $0.id.hasSameScalars(as: selection.programId) }?.title
    }
  }
}
