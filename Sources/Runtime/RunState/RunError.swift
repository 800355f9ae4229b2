package import Basics

extension ErrorKind: Recordable {}
extension OutsideEffect: Recordable {}

/// An error of a run, in the one form that the state, handlers, `--json` and messages share.
///
/// Stored apart from its owner, because most steps and attempts have none and are copied often.
@dynamicMemberLookup
package struct RunError: Error, Sendable, Equatable {
  package typealias Kind = ErrorKind
  package typealias Effect = OutsideEffect

  /// The members, which the error exposes as its own.
  package struct Content: Sendable, Equatable {
    package var kind: Kind
    package var message: String
    /// Details beyond the message, such as a service's answer.
    package var detail: String?
    /// The HTTP status, if there was one.
    package var status: Int?
    package var step: StepPath?
    /// The number of the attempt, from 1.
    package var attempt: Int?
    package var file: String?
    package var line: Int?
    package var column: Int?
    package var retryable: Bool
    /// How long the service asked to wait.
    package var retryAfter: TimeSpan?
    package var effect: Effect
    /// The error that caused it.
    package var cause: RunError?
  }

  private indirect enum Box: Sendable, Equatable {
    case content(Content)
  }

  private var box: Box

  private var content: Content {
    get {
      switch box {
      case .content(let content): content
      }
    }
    set { box = .content(newValue) }
  }

  package subscript<Member>(dynamicMember path: WritableKeyPath<Content, Member>) -> Member {
    get { content[keyPath: path] }
    set { content[keyPath: path] = newValue }
  }

  package init(
    _ kind: Kind, _ message: String, detail: String? = nil, status: Int? = nil, step: StepPath? = nil,
    attempt: Int? = nil, file: String? = nil, line: Int? = nil, column: Int? = nil, retryable: Bool = false,
    retryAfter: TimeSpan? = nil, effect: Effect = .none, cause: RunError? = nil
  ) {
    box = .content(
      Content(
        kind: kind, message: message, detail: detail, status: status, step: step, attempt: attempt, file: file,
        line: line, column: column, retryable: retryable, retryAfter: retryAfter, effect: effect,
        cause: cause?.shortened(to: RunError.mostCauses)))
  }

  /// Whether a write was done whose answer can't be used.
  package var isOfAnswer: Bool { content.kind == .validation && content.effect == .done }

  /// The longest chain of causes that is kept.
  private static let mostCauses = 8

  private func shortened(to count: Int) -> RunError {
    guard let cause = self.cause else { return self }
    var error = self
    error.cause = count > 1 ? cause.shortened(to: count - 1) : nil
    return error
  }
}

extension RunError {
  /// The error with its kind and its place, and without its texts.
  var erased: RunError {
    RunError(
      self.kind, "what it said was erased", status: self.status, step: self.step, attempt: self.attempt,
      file: self.file, line: self.line, column: self.column, retryable: self.retryable, effect: self.effect)
  }
}

extension RunError: Record {
  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    box = .content(try Content(coding: &member, of: record?.content))
  }
}

extension RunError.Content: Record {
  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    kind = try member("kind", record?.kind)
    message = try member("message", record?.message)
    detail = try member("detail", record?.detail)
    status = try member("status", record?.status)
    step = try member("step", record?.step)
    attempt = try member("attempt", record?.attempt)
    file = try member("file", record?.file)
    line = try member("line", record?.line)
    column = try member("column", record?.column)
    retryable = try member("retryable", record?.retryable)
    retryAfter = try member("retryAfter", record?.retryAfter)
    effect = try member("effect", record?.effect)
    cause = try member("cause", record?.cause)
  }
}
