import ActionKit

enum Webhook: DoingAction, SettingsAction {
  static let name = "webhook"
  static let summary = "Posts JSON to the connection's webhook, as Slack, Mattermost and Discord accept it."
  static let effect = Effect.write
  static let examples = [
    Example("A text, as {\"text\": …}", "text: The backup is done."),
    Example("A text that the receiver can verify", "text: The backup is done.\nsign: standard"),
    Example("A body that another service expects", "body: { content: The backup is done., username: errand }"),
  ]

  struct Input: ValidatedFieldSet {
    @Field("The value to send, as JSON.") var body: Value?
    @Field("A text, sent as {\"text\": …}.", .notEmpty) var text: String?

    @Field(
      "Signs the message with the connection's 'signingSecret', as Standard Webhooks do; a repeated step has the same id."
    )
    var sign: WebhookSigning?

    func conflicts() -> [Conflict] {
      (body == nil) == (text == nil) ? [Conflict("needs either 'body' or 'text'")] : []
    }

    /// The body to send.
    var value: Value { body ?? .object(["text": .string(text ?? "")]) }
  }

  struct Output: FieldSet {
    @Field("The status of the answer, 200 to 299.") var status: Int
    @Field("The answer, as far as it is text; often 'ok', or nothing.") var answer: String
  }

  static func neededSettings(for input: Value) -> [String] {
    input["sign"] == nil ? ["webhookURL"] : ["webhookURL", "signingSecret"]
  }

  static func run(_ input: Input, on client: NotifyClient, in context: ActionContext) async throws -> Output {
    let answer = try await client.post(input.value, signedAs: input.sign == nil ? nil : context.idempotencyKey)
    return try Output {
      $0.status = answer.status
      $0.answer = answer.text
    }
  }

  static func preview(_ input: Input, on client: NotifyClient, in context: ActionContext) -> [Change] {
    let text = JSON.displayed(input.value)
    return [Change("The webhook at \(client.webhookHost ?? "no address")", from: nil, to: text.excerpt(300))]
  }
}

enum WebhookSigning: String, Choice { case standard }
