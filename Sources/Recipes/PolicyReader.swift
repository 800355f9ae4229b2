import ActionKit
import Basics

/// Reads `retry`, `timeout`, `repeat` and `concurrencyGroup`.
struct PolicyReader {
  let findings: Findings
  let compiler: ExpressionCompiler

  /// Reads `{maxAttempts, initial, factor, maxInterval, jitter, on, if}`.
  func retry(_ value: Value, scope: Scope) -> RetryPolicy? {
    guard var fields = Fields(value, of: "'retry'", findings) else { return nil }
    var policy = RetryPolicy(scopeSize: scope.size)
    if let value = fields.take("maxAttempts"), let count = findings.int(value, of: "'maxAttempts'", in: 1...1000) {
      policy.schedule.maxAttempts = count
    }
    let initial = fields.take("initial").flatMap { findings.duration($0, of: "'initial'") } ?? .seconds(1)
    let factor = fields.take("factor").flatMap(factor) ?? 2
    let limit = fields.take("maxInterval").flatMap { findings.duration($0, of: "'maxInterval'") } ?? .seconds(100)
    policy.schedule.delays = .growing(initial: initial, factor: factor, limit: limit)
    if let value = fields.take("jitter"), let jitter = findings.choice(value, of: "'jitter'", RetrySchedule.Jitter.self) {
      policy.schedule.jitter = jitter
    }
    if let value = fields.take("on") {
      if let items = value.list {
        policy.schedule.kinds = Set(items.compactMap { findings.choice($0, of: "an error kind in 'on'", ErrorKind.self) })
        for item in items where ["uncertain", "internal", "cancelled"].contains(item.string) {
          findings.error("'\(item.plainText)' is never tried again; leave it out", at: item)
        }
      } else {
        findings.error("'on' takes a list of error kinds, such as [timeout, network]", at: value)
      }
    }
    if let value = fields.take("if") {
      var inner = scope
      inner.declare("error", .object(RecipeTypes.error))
      policy.condition = compiler.condition(value, of: "'retry.if'", in: inner)
    }
    fields.finish()
    return policy
  }

  /// Reads a duration, or `{attempt, total}`.
  func timeout(_ value: Value) -> TimeLimits {
    var limits = TimeLimits()
    if value.map == nil {
      limits.total = findings.duration(value, of: "'timeout'", atLeast: .milliseconds(1))
      return limits
    }
    guard var fields = Fields(value, of: "'timeout'", findings) else { return limits }
    if let value = fields.take("attempt") {
      limits.attempt = findings.duration(value, of: "'attempt'", atLeast: .milliseconds(1))
    }
    if let value = fields.take("total") {
      limits.total = findings.duration(value, of: "'total'", atLeast: .milliseconds(1))
    }
    if let attempt = limits.attempt, let total = limits.total, attempt > total {
      findings.error("'timeout.attempt' (\(attempt)) is longer than 'timeout.total' (\(total))", at: value)
    }
    fields.finish()
    return limits
  }

  /// Reads `{until, every, factor, maxEvery, timeout}`; `result` is the action's output.
  func repetition(_ value: Value, output: ValueType, scope: Scope) -> Repetition? {
    guard var fields = Fields(value, of: "'repeat'", findings) else { return nil }
    defer { fields.finish() }
    var inner = scope
    inner.declare("result", output)
    let until = fields.require("until", "a condition on 'result', such as result.state == 'ready'").flatMap {
      compiler.condition($0, of: "'until'", in: inner)
    }
    let every = fields.require("every", "how long to wait before doing it again, such as 10m").flatMap {
      findings.duration($0, of: "'every'", atLeast: .milliseconds(1))
    }
    let factor = fields.take("factor").flatMap(factor)
    let maxEvery = fields.take("maxEvery").flatMap { findings.duration($0, of: "'maxEvery'") }
    let timeout = fields.take("timeout").flatMap { findings.duration($0, of: "'repeat.timeout'") }
    guard let until, let every else { return nil }
    return Repetition(until: until, every: every, factor: factor ?? 1, maxEvery: maxEvery, timeout: timeout)
  }

  func concurrency(_ value: Value) -> Recipe.ConcurrencyGroup? {
    guard var fields = Fields(value, of: "'concurrencyGroup'", findings) else { return nil }
    defer { fields.finish() }
    let name = fields.require("name", "runs of all recipes that name the same group share its limit").flatMap {
      findings.text($0, of: "'name'")
    }
    let limit = fields.take("limit").flatMap { findings.int($0, of: "'limit'", in: 1...10_000) }
    let onLimit = fields.take("onLimit").flatMap {
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
    findings.error("'factor' takes a number from 1 to 100", at: value)
    return nil
  }
}
