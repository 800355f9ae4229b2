import ActionKit

enum Today: Action {
  static let name = "today"
  static let summary = "Lists the classes of today or of another date, by the week's parity and the holidays."
  static let effect = Effect.read
  static let examples = [
    Example("Today", "selection: { programId: informatica-maghiara, year: 1, group: 511, language: hu }"),
    Example(
      "A date, in a week that the recipe names",
      """
      selection: { programId: informatica-maghiara, year: 1, group: 511 }
      date: 2026-03-10
      week: week1
      """),
  ]

  struct Input: FieldSet {
    @Field("The program, study year and group.") var selection: SelectionFields
    @Field("The date; absent means today at the university.", .pattern(.date)) var date: String?
    @Field("Which of the alternating weeks it is; absent means by the academic calendar or the connection.")
    var week: TeachingWeek.Parity?
    @Field("Whether to ask the network even if the cached file is fresh.") var refresh = false
  }

  struct Output: FieldSet {
    @Field("Whether a timetable is published.") var available: Bool
    @Field("The date with its classes.") var day: DayFields
    @Field("How current the timetable is.") var freshness: FreshnessFields
    @Field("Warnings about the data.") var warnings: [String]
  }

  static func run(_ input: Input, on service: TimetableClient, in context: ActionContext) async throws -> Output {
    let date = try service.date(input.date, or: context.now)
    let answer = try await ClassDays(input.selection, week: input.week, refresh: input.refresh, on: service) { _ in
      date...date
    }
    return try Output {
      $0.available = answer.timetable.content != nil
      $0.day = try DayFields(answer.days[0], service)
      $0.freshness = answer.freshness
      $0.warnings = answer.timetable.warnings(for: answer.days)
    }
  }
}
