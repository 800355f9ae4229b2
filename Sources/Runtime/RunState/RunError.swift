package import Basics

extension ErrorKind: Recordable {}
extension OutsideEffect: Recordable {}

/// What went wrong in a run, in the one shape that the state, handlers, `--json` and messages share.
///
/// Kept apart from what holds it, because most steps and attempts have none and are copied often.
@dynamicMemberLookup
package struct RunError: Error, Sendable, Equatable {
  package typealias Kind = ErrorKind
  package typealias Effect = OutsideEffect

  /// The members, which are also those of the error itself.
  package struct Content: Sendable, Equatable {
    package var kind: Kind
    package var message: String
    /// More than the one sentence, such as what a service answered.
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
    /// What led to it.
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

  /// How long a chain of causes is kept.
  private static let mostCauses = 8

  private func shortened(to count: Int) -> RunError {
    guard let cause = self.cause else { return self }
    var error = self
    error.cause = count > 1 ? cause.shortened(to: count - 1) : nil
    return error
  }
}

extension RunError: Record {
  package func write(to record: inout RecordWriter) {
    record.set("kind", content.kind)
    record.set("message", content.message)
    record.set("detail", content.detail)
    record.set("status", content.status)
    record.set("step", content.step)
    record.set("attempt", content.attempt)
    record.set("file", content.file)
    record.set("line", content.line)
    record.set("column", content.column)
    record.set("retryable", content.retryable)
    record.set("retryAfter", content.retryAfter)
    record.set("effect", content.effect)
    record.set("cause", content.cause)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    self.init(
      try record.read("kind"), try record.read("message"), detail: try record.readIfPresent("detail"),
      status: try record.readIfPresent("status"), step: try record.readIfPresent("step"),
      attempt: try record.readIfPresent("attempt"), file: try record.readIfPresent("file"),
      line: try record.readIfPresent("line"), column: try record.readIfPresent("column"),
      retryable: try record.read("retryable"), retryAfter: try record.readIfPresent("retryAfter"),
      effect: try record.read("effect"), cause: try record.readIfPresent("cause"))
  }
}
