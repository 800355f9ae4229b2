import ActionKit

enum Week: Action {
  static let name = "week"
  static let summary = "Lists the classes of a week from Monday to Friday, by the week's parity and the holidays."
  static let effect = Effect.read
  static let examples = [
    Example(
      "The week of a date",
      """
      selection: { programId: informatica-maghiara, year: 1, group: 511, language: hu }
      date: 2026-03-10
      """)
  ]

  struct Input: FieldSet {
    @Field("The program, study year and group.") var selection: SelectionFields
    @Field("Any date of the week; absent means today at the university.", .pattern(.date)) var date: String?
    @Field("Which of the alternating weeks it is; absent means by the academic calendar or the connection.")
    var week: TeachingWeek.Parity?
    @Field("Whether to ask the network even if the cached file is fresh.") var refresh = false
  }

  struct Output: FieldSet {
    @Field("Whether a timetable is published.") var available: Bool
    @Field("The five days.") var days: [DayFields]
    @Field("How current the timetable is.") var freshness: FreshnessFields
    @Field("Warnings about the data.") var warnings: [String]
  }

  static func run(_ input: Input, on service: TimetableClient, in context: ActionContext) async throws -> Output {
    let monday = try service.date(input.date, or: context.now).monday
    let answer = try await ClassDays(input.selection, week: input.week, refresh: input.refresh, on: service) { _ in
      monday...monday.adding(days: 4)
    }
    return try Output {
      $0.available = answer.timetable.content != nil
      $0.days = try answer.days.map { try DayFields($0, service) }
      $0.freshness = answer.freshness
      $0.warnings = answer.timetable.warnings(for: answer.days)
    }
  }
}
