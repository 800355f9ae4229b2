package import Basics

/// What went wrong in a run, in the one shape that the state, handlers, `--json` and messages share.
package struct RunError: Error, Sendable, Equatable {
  /// The kinds by which recipes decide what to retry.
  package enum Kind: String, Recordable, CaseIterable {
    case configuration, validation, expression, authentication, authorization, notFound, conflict, rateLimited
    case timeout, network, server, cancelled, plugin, `internal`, uncertain
  }

  /// Whether anything may have happened outside; recovery reads it.
  package enum Effect: String, Recordable, CaseIterable {
    case none, done, unknown
  }

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
  private var causes: [RunError]

  /// What led to it.
  package var cause: RunError? {
    get { causes.first }
    set { causes = newValue.map { [$0] } ?? [] }
  }

  package init(
    _ kind: Kind, _ message: String, detail: String? = nil, status: Int? = nil, step: StepPath? = nil,
    attempt: Int? = nil, file: String? = nil, line: Int? = nil, column: Int? = nil, retryable: Bool = false,
    retryAfter: TimeSpan? = nil, effect: Effect = .none, cause: RunError? = nil
  ) {
    self.kind = kind
    self.message = message
    self.detail = detail
    self.status = status
    self.step = step
    self.attempt = attempt
    self.file = file
    self.line = line
    self.column = column
    self.retryable = retryable
    self.retryAfter = retryAfter
    self.effect = effect
    self.causes = cause.map { [$0] } ?? []
  }
}

extension RunError: Record {
  package func write(to record: inout RecordWriter) {
    record.set("kind", kind)
    record.set("message", message)
    record.set("detail", detail)
    record.set("status", status)
    record.set("step", step)
    record.set("attempt", attempt)
    record.set("file", file)
    record.set("line", line)
    record.set("column", column)
    record.set("retryable", retryable)
    record.set("retryAfter", retryAfter)
    record.set("effect", effect)
    record.set("cause", cause)
  }

  package init(from record: inout RecordReader) throws(RecordFault) {
    self.init(
      try record.take("kind"), try record.take("message"), detail: try record.takeIfPresent("detail"),
      status: try record.takeIfPresent("status"), step: try record.takeIfPresent("step"),
      attempt: try record.takeIfPresent("attempt"), file: try record.takeIfPresent("file"),
      line: try record.takeIfPresent("line"), column: try record.takeIfPresent("column"),
      retryable: try record.take("retryable"), retryAfter: try record.takeIfPresent("retryAfter"),
      effect: try record.take("effect"), cause: try record.takeIfPresent("cause"))
  }
}
