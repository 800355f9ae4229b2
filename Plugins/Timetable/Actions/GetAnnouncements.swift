import ActionKit

enum GetAnnouncements: Action {
  static let name = "getAnnouncements"
  static let summary = "Reads the notices to students that are valid now, or at another instant."
  static let effect = Effect.read
  static let examples = [Example("In Romanian where there is such a text", "language: ro")]

  struct Input: FieldSet {
    @Field("The instant to read the notices for; absent means now.") var at: Timestamp?
    @Field("Language of the texts; a notice that has only one text gives that.") var language = AnnouncementLanguage.en
    @Field("Whether to ask the network even if the cached file is fresh.") var refresh = false
  }

  struct Output: FieldSet {
    @Field("The notices, in the publisher's order.") var items: [Item]
    @Field("How current they are.") var freshness: FreshnessFields
    @Field("Warnings about the data.") var warnings: [String]
  }

  struct Item: FieldSet {
    @Field("Its identifier, the same from one day to the next.") var id: String
    @Field("Its heading.") var title: String
    @Field("The text of the notice.") var message: String
    @Field("How much it matters.") var severity: Severity
    @Field("Name of a symbol of Apple's set SF Symbols.") var symbolName: String?
    @Field("When it became valid; absent for always.") var startsAt: Timestamp?
    @Field("When it stops being valid; absent for never.") var endsAt: Timestamp?
  }

  static func run(_ input: Input, on service: TimetableClient, in context: ActionContext) async throws -> Output {
    let list = try await service.announcements(refresh: input.refresh)
    return try Output { output in
      output.items = try list.content.items.filter { $0.isVisible(at: input.at ?? context.now) }.map { notice in
        try Item {
          $0.id = notice.id
          $0.title = notice.title.text(in: input.language)
          $0.message = notice.message.text(in: input.language)
          $0.severity = notice.severity
          $0.symbolName = notice.symbolName
          $0.startsAt = notice.startsAt
          $0.endsAt = notice.endsAt
        }
      }
      output.freshness = FreshnessFields(list, generatedAt: list.content.generatedAt)
      output.warnings = list.warnings
    }
  }
}
