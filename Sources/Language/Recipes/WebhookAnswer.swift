package import Basics
import ActionKit
import Expressions

// The answers of a webhook: `answer`, a list whose first entry that fits a request answers it.
//
// An entry with `get` or `unsigned` answers a question that proves nothing, such as the challenge of a service that
// asks whether the address is meant. It starts nothing and keeps nothing, and is asked before the signature. It sees
// `event` without an id and with data of any type. Its answer is a short plain text, because anyone may choose it.
// Any other entry answers a delivery that was verified and is on disk: at once, or with `within` from the outputs of
// the run that it started.

extension Webhook {
  /// One entry of `answer`.
  package struct Answer: Sendable {
    /// The requests that an entry answers.
    package enum Request: Sendable, Equatable {
      /// A delivery that was verified and is on disk.
      case delivery
      /// A delivery before it is verified.
      case unsigned
      /// A GET.
      case get
    }

    package var request: Request
    /// How long the answer waits for the run; nil for one that is sent at once.
    package var patience: TimeSpan?
    fileprivate var condition: RecipeExpression?
    fileprivate var content: Content
    /// The answer if the run doesn't succeed in time.
    fileprivate var late: Content?
    fileprivate var type: String?
    /// The type of the recipe's outputs.
    fileprivate var outputs: ValueType

    /// The status, as a map with the key `status`, and the body.
    fileprivate struct Content: Sendable {
      var status: ValueTemplate?
      var body: ValueTemplate?
    }

    /// How many bytes an answer has at most that anyone may choose.
    package static let mostPlainBytes = 256
    /// How long an answer may wait.
    static let longestWait = TimeSpan.seconds(60)
    /// The allowed media types.
    static let typePattern =
      #"^[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,99}/[A-Za-z0-9][A-Za-z0-9!#$&^_.+-]{0,99}(; ?[a-z]+=[A-Za-z0-9_.-]{1,40})?$"#
    fileprivate static let statuses = 200...599
    /// Anyone may have a condition evaluated, and its text.
    private static let limits = EvaluationLimits(steps: 20_000, bytes: 1 << 20)

    /// Whether the entry answers a request; one whose condition can't be computed doesn't.
    package func holds(for event: Value) -> Bool {
      guard let condition else { return true }
      return (try? condition.evaluate(in: [event], limits: Answer.limits))?.bool == true
    }

    /// The answer to a request that proves nothing; nil if it isn't a short text.
    package func plainReply(to event: Value) -> Reply? {
      guard let reply = try? content.reply(in: [event], 200, Answer.limits), let text = reply.body?.string,
        text.utf8.count <= Answer.mostPlainBytes
      else { return nil }
      return reply
    }

    /// The answer to a delivery that waits for nothing.
    package func reply(to event: Value) throws(LocatedEvaluationError) -> Reply {
      typed(try content.reply(in: [event], 200, Answer.limits))
    }

    /// The answer from a run that succeeded.
    package func reply(
      to event: Value, outputs given: Value, run: String, status: String
    ) throws(LocatedEvaluationError) -> Reply {
      if let misfit = outputs.mismatch(of: given, at: "outputs") { throw LocatedEvaluationError(message: misfit) }
      return typed(try content.reply(in: [event, given, Answer.run(run, status)], 200))
    }

    /// The answer for a run that didn't succeed in time; nil if the entry has none.
    ///
    /// - Parameters:
    ///   - run: Nil if there is no run, or not yet.
    package func lateReply(to event: Value, run: String?, status: String?) throws(LocatedEvaluationError) -> Reply? {
      guard let late else { return nil }
      return typed(try late.reply(in: [event, Answer.run(run, status)], 202))
    }

    private static func run(_ id: String?, _ status: String?) -> Value {
      var run = ValueMap()
      run["id"] = id.map { .string($0) }
      run["status"] = status.map { .string($0) }
      return .map(run)
    }

    private func typed(_ reply: Reply) -> Reply {
      var reply = reply
      reply.type = type
      return reply
    }
  }

  /// The answer to a request, before it is written.
  package struct Reply: Sendable, Equatable {
    package var status: Int
    /// Nil for an empty body.
    package var body: Value?
    /// The media type that the entry names.
    package var type: String?

    package init(status: Int, body: Value?, type: String? = nil) {
      self.status = status
      self.body = body
      self.type = type
    }
  }
}

extension Webhook.Answer.Content {
  fileprivate func reply(
    in environment: [Value], _ standard: Int, _ limits: EvaluationLimits = EvaluationLimits()
  ) throws(LocatedEvaluationError) -> Webhook.Reply {
    let status = try status?.evaluate(in: environment, limits: limits)["status"]?.int ?? standard
    guard Webhook.Answer.statuses.contains(status) else {
      throw LocatedEvaluationError(message: "'status' is \(status); it has to be 200 to 599")
    }
    return Webhook.Reply(status: status, body: try body?.evaluate(in: environment, limits: limits))
  }
}

extension TriggerReader {
  /// Reads the answers of webhooks, once the type of the recipe's outputs is known.
  func answering(_ triggers: [Trigger], from outputs: ValueType) -> [Trigger] {
    triggers.map { trigger in
      guard case .webhook(var webhook) = trigger.kind, let value = webhook.unreadAnswers else { return trigger }
      webhook.unreadAnswers = nil
      if let items = value.list {
        webhook.answers = items.compactMap { answer($0, of: webhook, trigger, outputs) }
      } else {
        findings.error("'answer' takes a list of entries, but found \(value.written)", at: value)
      }
      var trigger = trigger
      trigger.kind = .webhook(webhook)
      return trigger
    }
  }

  private func answer(
    _ value: Value, of webhook: Webhook, _ trigger: Trigger, _ outputs: ValueType
  ) -> Webhook.Answer? {
    guard let fields = Fields(value, of: "an entry of 'answer'", .answer, findings) else { return nil }
    let isGet = fields.bool("get") ?? false
    let isUnsigned = fields.bool("unsigned") ?? false
    let isPlain = isGet || isUnsigned
    let word = isGet ? "get" : "unsigned"
    if isGet, isUnsigned, let member = fields.member("unsigned") {
      findings.error("'unsigned' isn't needed beside 'get': a GET has no signature; leave it out", at: member.key)
    }
    for key in ["within", "type"] where isPlain {
      guard let member = fields.member(key) else { continue }
      findings.error(
        "'\(key)' isn't allowed beside '\(word)', which starts nothing and answers with a plain text", at: member.key)
    }
    let patience = fields.duration("within")
    if let patience, let place = fields["within"], patience > Webhook.Answer.longestWait {
      findings.error("'within' is at most 60s, but is \(patience.written)", at: place)
    }
    if let member = fields.member("within"), webhook.signal != nil || trigger.batch != nil {
      findings.error(
        "'within' isn't allowed beside '\(webhook.signal == nil ? "batch" : "signal")': a delivery has no run of its own",
        at: member.key)
    }
    let form = isPlain ? EventForm(ofDelivery: nil) : webhook.form
    var scope = Scope()
    scope.explainEvents()
    scope.declare("event", isPlain ? form.typeBeforeID : form.type)
    scope.explainAbsence(ofVariable: "outputs", "an answer has them with 'within', when the run has ended")
    scope.explainAbsence(ofVariable: "run", "an answer has it with 'within'")
    let condition = fields["when"].flatMap { compiler.condition($0, of: "'when'", in: scope) }
    var late: Webhook.Answer.Content?
    if patience != nil {
      if let value = fields["late"], let inner = Fields(value, of: "'late'", .lateAnswer, findings) {
        var ended = scope
        ended.declare("run", .object(TriggerReader.run(isOver: false)))
        late = content(inner, in: ended)
      }
      scope.declare("outputs", outputs)
      scope.declare("run", .object(TriggerReader.run(isOver: true)))
    }
    let content = content(fields, in: scope, isPlain: isPlain)
    let type = fields.text("type")
    if let type, let place = fields["type"], (try? Pattern(Webhook.Answer.typePattern))?.matches(type) != true {
      findings.error("\(JSON.quoted(type)) isn't a media type, such as application/xml", at: place)
    }
    return Webhook.Answer(
      request: isGet ? .get : isUnsigned ? .unsigned : .delivery, patience: patience, condition: condition,
      content: content, late: late, type: type, outputs: outputs)
  }

  private static func run(isOver: Bool) -> ObjectType {
    ObjectType(
      "run",
      fields: [
        .init("id", .string, isOptional: !isOver, summary: "The run's id."),
        .init("status", .string, isOptional: !isOver, summary: "The run's status."),
      ])
  }

  private func content(_ fields: Fields, in scope: Scope, isPlain: Bool = false) -> Webhook.Answer.Content {
    var content = Webhook.Answer.Content()
    if let status = fields["status"] {
      let limits: [Limit] = [
        .atLeast(.int(Webhook.Answer.statuses.lowerBound)), .atMost(.int(Webhook.Answer.statuses.upperBound)),
      ]
      content.status =
        compiler.fields(
          .object(["status": status]), of: ObjectSchema(fields: [FieldSchema("status", .int, "", limits: limits)]),
          path: "answer", in: scope
        ).template
    }
    if let body = fields["body"] {
      content.body =
        isPlain
        ? compiler.text(body, of: "'body'", in: scope) : compiler.template(body, of: "'body'", in: scope)
    }
    return content
  }
}
