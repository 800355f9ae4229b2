import ActionKit

enum ScheduleBackup: PreviewingAction {
  static let name = "scheduleBackup"
  static let summary = "Schedules a backup of markbooks, which is built at about 1 AM in Sydney."
  static let effect = Effect.idempotentWrite(within: .sameDay(zone: "Australia/Sydney"))
  static let examples = [Example("This year's markbooks", #"matching: "2026""#)]

  struct Input: FieldSet {
    @Field("A part of the names of the markbooks to back up.", .minLength(MarkbookClient.fewestMatchingCharacters))
    var matching: String
  }

  typealias Output = StatusResponse

  static func run(_ input: Input, on markbook: MarkbookClient, in context: ActionContext) async throws -> Output {
    try await markbook.scheduleBackup(matching: input.matching)
  }

  static func preview(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext
  ) async throws -> [Change] {
    [
      Change(
        "Backup of the markbooks whose names contain '\(input.matching)'", from: nil,
        to: "built at about 1 AM in Sydney, instead of any that was asked for before")
    ]
  }
}
