import ActionKit

enum GetAcademicCalendar: Action {
  static let name = "getAcademicCalendar"
  static let summary = "Reads the teaching and vacation periods of the academic year."
  static let effect = Effect.read
  static let examples = [Example("All calendars", "{}")]

  struct Input: FieldSet {
    @Field("Whether to ask the network even if the cached file is fresh.") var refresh = false
  }

  struct Output: FieldSet {
    @Field("Whether the publisher has one.") var available: Bool
    @Field("The academic year that it covers.") var academicYear: String?
    @Field("The calendars, one for each set of languages and kind of study year.") var calendars: [StudyCalendar]
    @Field("The page that the dates were taken from.") var sourceUrl: String?
    @Field("How current it is.") var freshness: FreshnessFields
    @Field("Warnings about the data.") var warnings: [String]
  }

  static func run(_ input: Input, on service: TimetableClient, in context: ActionContext) async throws -> Output {
    let calendar = try await service.academicCalendar(refresh: input.refresh)
    return try Output {
      $0.available = calendar.content != nil
      $0.academicYear = calendar.content?.academicYear
      $0.calendars = calendar.content?.calendars ?? []
      $0.sourceUrl = calendar.content?.sourceUrl
      $0.freshness = FreshnessFields(calendar, generatedAt: calendar.content?.generatedAt)
      $0.warnings = calendar.warnings
    }
  }
}
