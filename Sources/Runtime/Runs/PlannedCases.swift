// How a plan walks `else` and `switch`: the case that runs if that is known, or else each, as if the others weren't
// there.
import ActionKit
import Basics
import Expressions
import Recipes
import RunState

extension Planner {
  func value(
    of cases: Cases, in environment: PlannedEnvironment, at path: StepPath
  ) async throws(StepInterruption) -> PlannedValue {
    switch try known(cases.subject, in: environment.environment, at: path) {
    case .known(let value):
      guard let chosen = cases.chosen(by: value) else { throw failure(cases.refusal(of: value), at: path) }
      var open: Unknown?
      // Another case may run if something fails.
      if let other = environment.otherwise, case .unknown(let unknown)? = try? known(cases.subject, in: other, at: path)
      {
        open = unknown
        for item in cases.list where item.name != chosen.name {
          await suppose(after: unknown, if: words(for: item, of: cases), at: path) {
            () async throws(StepInterruption) in
            _ = try await self.value(of: item, in: PlannedEnvironment(other), at: path)
          }
        }
      }
      var inner = environment
      settle(&inner, by: cases.subject)
      let planned = try await self.value(of: chosen, in: inner, at: path)
      let otherwise = open.map { Unknown($0.reason).value(of: cases.type) }
      return PlannedValue(planned.value, otherwise: otherwise ?? planned.otherwise)
    case .unknown(let unknown):
      await supposeEach(of: cases, unknown, in: environment, at: path)
      return PlannedValue(Unknown(unknown.reason).value(of: cases.type))
    }
  }

  /// Plans each case from the same beginning.
  private func supposeEach(
    of cases: Cases, _ unknown: Unknown, in environment: PlannedEnvironment, at path: StepPath
  ) async {
    let before = (changes, otherChanges, ahead, latest, lost)
    var after = before
    var spans: Set<TimeSpan> = []
    for item in cases.list {
      (changes, otherChanges, ahead, latest, lost) = before
      let count = plan.entries.count
      let words = self.words(for: item, of: cases)
      await suppose("\(words.hasPrefix("unless") ? "" : "if ")\(words) (\(unknown.reason))", at: path) {
        () async throws(StepInterruption) in
        _ = try await value(of: item, in: environment, at: path)
        if plan.entries.count == count, !item.block.steps.isEmpty {
          note(.undecided, at: path + item.prefix.dropLast())
        }
      }
      after.0.add(changes, since: before.0)
      after.1.add(otherChanges, since: before.1)
      (after.2, after.3, after.4) = (max(after.2, ahead), max(after.3, latest), after.4 ?? lost)
      spans.insert(ahead)
    }
    (changes, otherChanges, ahead, latest, lost) = after
    // How late it is afterwards depends on the case.
    if spans.count > 1 { lost = lost ?? unknown }
  }

  private func value(
    of item: Case, in environment: PlannedEnvironment, at path: StepPath
  ) async throws(StepInterruption) -> PlannedValue {
    var environment = environment
    let own = try await run(item.block, in: &environment, prefix: path + item.prefix)
    return if let outputs = item.outputs { try values(outputs, in: environment, at: path) } else { own }
  }

  /// When a case runs.
  private func words(for item: Case, of cases: Cases) -> String {
    let subject = "`\(cases.subject.text)`"
    return switch item.name {
    case "if": subject
    case "else": "unless \(subject)"
    case "default": "\(subject) is anything else"
    default: "\(subject) is \(item.value?.shortened() ?? "")"
    }
  }

  // MARK: Values instead of errors

  /// The value that a step gives instead of an error, which is the last name in the environment.
  func value(
    of fallback: Fallback, in environment: PlannedEnvironment, at path: StepPath
  ) throws(StepInterruption) -> Value {
    let place = path + StepPath.fallback
    let value = try evaluate(fallback.template, in: environment, at: place).value ?? .null
    do throws(ValueError) { return try fallback.fitted(asFarAsKnown: value) } catch {
      throw failure("the value of 'onError': \(error)", at: place)
    }
  }
}
