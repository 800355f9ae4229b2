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

extension Value {
  /// The value with each part that is kept by reference replaced, given the name of a secret in it.
  func withMaskedReplaced(_ replace: (String) -> Value) -> Value {
    guard isMasked else { return self }
    switch content {
    case .masked(let text):
      let names = text.parts.compactMap { if case .secret(let secret) = $0 { secret.name } else { nil } }
      return replace(names.first ?? "")
    case .optional(let wrapped): return Value(.optional(wrapped?.withMaskedReplaced(replace)))
    case .list(let items): return .list(items.map { $0.withMaskedReplaced(replace) })
    case .map(let map):
      if let key = map.members.first(where: { $0.key.isMasked })?.key { return key.withMaskedReplaced(replace) }
      var replaced = ValueMap()
      for member in map.members { replaced[member.key] = member.value.withMaskedReplaced(replace) }
      return .map(replaced)
    default: return self
    }
  }
}
