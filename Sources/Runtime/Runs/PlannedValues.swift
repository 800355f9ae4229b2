import ActionKit
import Basics
import RunState

/// The stored values, for actions that read them in a plan.
struct PlannedValues: ValueStore {
  let values: [String: Value]

  var names: [String] { values.keys.sorted { $0.precedesByScalars($1) } }

  func value(of name: String) -> Value? { values[name] }

  func change(
    _ name: String, _ decide: (_ current: Value?) throws(ActionError) -> ValueChange
  ) throws(ActionError) -> ValueOutcome {
    throw ActionError(.internal, "a plan changes no stored value", effect: ActionError.Effect.none)
  }

  func earlierChange() -> ValueOutcome? { nil }
}
