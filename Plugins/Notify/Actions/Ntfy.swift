import ActionKit

enum Ntfy: DoingAction, SettingsAction {
  static let name = "ntfy"
  static let summary =
    "Publishes a message through ntfy; if the answer is lost, the message isn't sent again, because it may have arrived."
  static let effect = Effect.write
  static let examples = [
    Example("A message", "message: The backup is done."),
    Example(
      "All of it",
      "title: Train late\nmessage: \"The 7:42 leaves at **8:01** from platform 3.\"\npriority: high\n"
        + "tags: [train, warning]\nclick: https://example.org/board\nmarkdown: true"),
  ]

  struct Input: ValidatedFieldSet {
    @Field("The text; ntfy accepts at most 4096 bytes.", .notEmpty, .maxLength(4096)) var message: String
    @Field("The title above the message.", .notEmpty, .maxLength(250)) var title: String?
    @Field("How loud it is.") var priority = NtfyPriority.normal
    @Field("Words below the message; names of emoji, such as warning, are shown as emoji.", .maxLength(20))
    var tags: [String] = []
    @Field("The address to open when the message is tapped.", .notEmpty) var click: String?
    @Field("Whether the message is Markdown.") var markdown = false
    @Field("The topic, if not the connection's.", .notEmpty, .mayHoldSecret) var topic: String?

    func conflicts() -> [Conflict] {
      // Non-ASCII characters take more than one byte.
      let count = message.utf8.count
      guard count > NtfyMessage.mostBytes else { return [] }
      return [Conflict("has \(count) bytes, and ntfy takes \(NtfyMessage.mostBytes)", at: "message")]
    }
  }

  struct Output: FieldSet {
    @Field("The server's id of the message.") var id: String
    @Field("When the server accepted it, to the second, if it says so.") var takenAt: Timestamp?
  }

  static func neededSettings(for input: Value) -> [String] { input["topic"] == nil ? ["topic"] : [] }

  static func run(_ input: Input, on client: NotifyClient, in context: ActionContext) async throws -> Output {
    let receipt = try await client.publish(
      NtfyMessage(
        input.message, title: input.title, priority: input.priority.priority, tags: input.tags, click: input.click,
        isMarkdown: input.markdown, topic: input.topic))
    return try Output {
      $0.id = receipt.id
      $0.takenAt = receipt.takenAt
    }
  }

  static func preview(_ input: Input, on client: NotifyClient, in context: ActionContext) -> [Change] {
    let text = [input.title, input.message].compactMap(\.self).joined(separator: ": ")
    return [Change("A topic of \(client.ntfyHost)", from: nil, to: text.excerpt(300))]
  }
}

enum NtfyPriority: String, Choice {
  case min, low, normal, high, max

  var priority: NtfyMessage.Priority {
    switch self {
    case .min: .min
    case .low: .low
    case .normal: .normal
    case .high: .high
    case .max: .max
    }
  }
}
