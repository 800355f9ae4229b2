import ActionKit
import Basics

/// Reads `retry`, `timeout`, `repeat` and `concurrencyGroup`.
struct PolicyReader {
  let findings: Findings
  let compiler: ExpressionCompiler

  /// Reads `{maxAttempts, initial, factor, maxInterval, jitter, on, if}`.
  func retry(_ value: Value, scope: Scope) -> RetryPolicy? {
    let keys = ["maxAttempts", "initial", "factor", "maxInterval", "jitter", "on", "if"]
    let form = value.int.map { "retry: { maxAttempts: \($0) }, where the first try counts" }
    guard let fields = Fields(value, of: "'retry'", keys: keys, findings, form: form) else { return nil }
    var policy = RetryPolicy(scopeSize: scope.size)
    if let count = fields["maxAttempts"].flatMap({ findings.int($0, of: "'maxAttempts'", in: 1...1000) }) {
      policy.schedule.maxAttempts = count
    }
    policy.schedule.delays = .growing(
      initial: fields["initial"].flatMap { findings.duration($0, of: "'initial'") } ?? .seconds(1),
      factor: fields["factor"].flatMap(factor) ?? 2,
      limit: fields["maxInterval"].flatMap { findings.duration($0, of: "'maxInterval'") } ?? .seconds(100))
    if let jitter = fields["jitter"].flatMap({ findings.choice($0, of: "'jitter'", RetrySchedule.Jitter.self) }) {
      policy.schedule.jitter = jitter
    }
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
    func span(_ value: Value?, _ what: String) -> TimeSpan? {
      value.flatMap { findings.duration($0, of: what, atLeast: .milliseconds(1)) }
    }
    guard value.map != nil else { return TimeLimits(total: span(value, "'timeout'")) }
    guard let fields = Fields(value, of: "'timeout'", keys: ["attempt", "total"], findings) else { return TimeLimits() }
    let limits = TimeLimits(attempt: span(fields["attempt"], "'attempt'"), total: span(fields["total"], "'total'"))
    if let attempt = limits.attempt, let total = limits.total, attempt > total {
      findings.error(
        "'attempt' (\(attempt.spelled)) must not be longer than 'total' (\(total.spelled))",
        at: fields["attempt"] ?? value)
    }
    return limits
  }

  /// Reads `{until, every, factor, maxEvery, jitter, timeout}`; `result` is the action's output.
  func repetition(_ value: Value, output: ValueType, scope: Scope) -> Repetition? {
    let keys = ["until", "every", "factor", "maxEvery", "jitter", "timeout"]
    guard let fields = Fields(value, of: "'repeat'", keys: keys, findings) else { return nil }
    var inner = scope
    inner.declare("result", output)
    let until = fields.require("until", "a condition on 'result', such as result.state == 'ready'").flatMap {
      compiler.condition($0, of: "'until'", in: inner)
    }
    let every = fields.require("every", "how long to wait before doing it again, such as 10m").flatMap {
      findings.duration($0, of: "'every'", atLeast: .milliseconds(1))
    }
    let factor = fields["factor"].flatMap(factor)
    let maxEvery = fields["maxEvery"].flatMap { findings.duration($0, of: "'maxEvery'") }
    let timeout = fields["timeout"].flatMap { findings.duration($0, of: "'timeout'", atLeast: .milliseconds(1)) }
    let jitter = fields["jitter"].flatMap { findings.duration($0, of: "'jitter'") } ?? .zero
    guard let until, let every else { return nil }
    if let value = fields["jitter"], jitter >= min(every, maxEvery ?? every) {
      findings.error("'jitter' (\(jitter.spelled)) must be shorter than the time between two rounds", at: value)
    }
    return Repetition(
      until: until, every: every, factor: factor ?? 1, maxEvery: maxEvery, jitter: jitter, timeout: timeout)
  }

  /// Reads `{name, limit, onLimit}`.
  func concurrency(_ value: Value) -> Recipe.ConcurrencyGroup? {
    let keys = ["name", "limit", "onLimit"]
    let form = value.string.map { "concurrencyGroup: { name: \(JSON.quoted($0)) }" }
    guard let fields = Fields(value, of: "'concurrencyGroup'", keys: keys, findings, form: form) else { return nil }
    let name = fields.require("name", "runs of all recipes that name the same group share its limit").flatMap {
      findings.text($0, of: "'name'")
    }
    let limit = fields["limit"].flatMap { findings.int($0, of: "'limit'", in: 1...10_000) }
    let onLimit = fields["onLimit"].flatMap {
      findings.choice($0, of: "'onLimit'", Recipe.ConcurrencyGroup.OnLimit.self)
    }
    return name.map { Recipe.ConcurrencyGroup(name: $0, limit: limit ?? 1, onLimit: onLimit ?? .queue) }
  }

  private func factor(_ value: Value) -> Double? {
    let number: Double? =
      switch value.content {
      case .int(let number): Double(number)
      case .double(let number): number
      default: nil
      }
    if let number, number >= 1, number <= 100 { return number }
    findings.error("'factor' takes a number from 1 to 100, but found \(value.written)", at: value)
    return nil
  }
}
