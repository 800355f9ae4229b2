import ActionKit
import Basics

/// Reads `retry`, `timeout` and `concurrencyGroup`.
struct PolicyReader {
  let findings: Findings
  let compiler: ExpressionCompiler

  /// Reads `{maxAttempts, initial, factor, maxInterval, jitter, on, if}`.
  func retry(_ value: Value, scope: Scope) -> RetryPolicy? {
    // Elsewhere the first try is often not counted.
    let form = value.int.map { count in
      MessageText(
        "retry: { maxAttempts: \(count) }, where the first try counts", [.verbatim("{ maxAttempts: \(count) }")]
      ).tentative
    }
    guard let fields = Fields(value, of: "'retry'", .retry, findings, form: form) else { return nil }
    var policy = RetryPolicy(scopeSize: scope.size)
    if let count = fields.int("maxAttempts") { policy.schedule.maxAttempts = count }
    policy.schedule.delays = .growing(
      initial: fields.duration("initial") ?? .seconds(1), factor: fields.number("factor") ?? 2,
      limit: fields.duration("maxInterval") ?? .seconds(100))
    if let jitter: RetrySchedule.Jitter = fields.choice("jitter") { policy.schedule.jitter = jitter }
    if let value = fields["on"] { policy.kinds = kinds(value) }
    if let value = fields["if"] {
      var inner = scope
      inner.declare("error", .object(RecipeTypes.error))
      policy.condition = compiler.condition(value, of: "'if'", in: inner)
    }
    return policy
  }

  private func kinds(_ value: Value) -> Set<ErrorKind> {
    guard let items = value.list else {
      findings.error("'on' takes a list of error kinds, such as [timeout, network]", at: value)
      return []
    }
    let kinds = items.compactMap { item -> ErrorKind? in
      let kind = findings.choice(item, of: "an error kind", ErrorKind.self)
      if let kind, [.uncertain, .internal, .cancelled].contains(kind) {
        findings.error("what ended as '\(kind.rawValue)' is never tried again; leave it out", at: item)
      }
      return kind
    }
    return Set(kinds)
  }

  /// Reads a duration, or `{attempt, total}`.
  func timeout(_ value: Value) -> TimeLimits {
    guard value.map != nil else {
      return TimeLimits(total: findings.duration(value, of: "'timeout'", atLeast: .milliseconds(1)))
    }
    guard let fields = Fields(value, of: "'timeout'", .timeout, findings) else { return TimeLimits() }
    let limits = TimeLimits(attempt: fields.duration("attempt"), total: fields.duration("total"))
    if let attempt = limits.attempt, let total = limits.total, attempt > total {
      findings.error(
        "'attempt' (\(attempt.written)) must not be longer than 'total' (\(total.written))",
        at: fields["attempt"] ?? value)
    }
    return limits
  }

  /// Reads `{name, limit, onLimit}`.
  func concurrency(_ value: Value) -> Recipe.ConcurrencyGroup? {
    let form = value.string.map { name in
      let form = "{ name: \(JSON.quoted(name)) }"
      return MessageText("concurrencyGroup: \(form)", [.verbatim(form)])
    }
    guard let fields = Fields(value, of: "'concurrencyGroup'", .concurrencyGroup, findings, form: form) else {
      return nil
    }
    let name = fields.require("name", "runs of all recipes that name the same group share its limit").flatMap {
      findings.text($0, of: "'name'")
    }
    let limit = fields.int("limit") ?? 1
    let onLimit: Recipe.ConcurrencyGroup.OnLimit = fields.choice("onLimit") ?? .queue
    return name.map { Recipe.ConcurrencyGroup(name: $0, limit: limit, onLimit: onLimit) }
  }
}
