import ActionKit
import Basics
import RunState

// Converts errors of actions to errors for the state and for handlers.

extension RunError {
  /// An action's error as the state keeps it, without the secrets that a service may have sent back.
  init(_ error: ActionError, step: StepPath, attempt: Int?, redactedBy redactor: Redactor) {
    var causes: [ActionError] = []
    var next = error.cause as? ActionError
    while let cause = next, causes.count < RunError.mostCauses {
      causes.append(cause)
      next = cause.cause as? ActionError
    }
    var chain: RunError?
    for cause in causes.reversed() { chain = RunError(cause, step: nil, attempt: nil, redactor, cause: chain) }
    self.init(error, step: step, attempt: attempt, redactor, cause: chain)
  }

  private static let mostCauses = 8
  /// How long the texts of an error may be, in characters.
  private static let mostOfMessage = 2000
  private static let mostOfDetail = 4000

  private init(_ error: ActionError, step: StepPath?, attempt: Int?, _ redactor: Redactor, cause: RunError?) {
    self.init(
      error.kind, redactor.redact(error.message).shortened(to: RunError.mostOfMessage),
      detail: error.detail.map { redactor.redact($0).shortened(to: RunError.mostOfDetail) }, status: error.status,
      step: step,
      attempt: attempt,
      retryable: error.retryable, retryAfter: error.retryAfter,
      effect: error.effect, cause: cause)
  }

  /// Adds the place in the recipe to an error.
  mutating func place(at location: Diagnostic.Location?) {
    guard let location, self.line == nil else { return }
    let position = location.source.position(at: location.range.lowerBound)
    self.file = location.source.name
    self.line = position.line
    self.column = position.column
  }

  /// The value of `error` in handlers.
  var value: Value {
    var map = ValueMap()
    map["kind"] = .string(self.kind.rawValue)
    map["message"] = .string(self.message)
    map["detail"] = self.detail.map { .string($0) }
    map["status"] = self.status.map { .int($0) }
    map["step"] = self.step.map { .string($0) }
    map["attempt"] = self.attempt.map { .int($0) }
    map["retryable"] = .bool(self.retryable)
    map["retryAfter"] = self.retryAfter.map { .duration($0) }
    map["effect"] = .string(self.effect.rawValue)
    return .map(map)
  }
}
