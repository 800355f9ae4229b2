// An environment of a plan has two sets of values for expressions: the values if nothing fails that the recipe catches,
// and the values if something does. In the second, the value of a step whose failure is caught is an unknown that may
// be absent, and so is everything computed from it. A condition that is false in the first and open in the second is
// one that a failure decides.
import Basics
import Expressions
import Recipes

/// A value, and its known part if something fails before.
struct PlannedValue {
  /// The value; nil if there is none.
  var value: Value?
  /// The value if something fails that is caught; nil for the same.
  var otherwise: Value?

  init(_ value: Value?, otherwise: Value? = nil) {
    self.value = value
    self.otherwise = otherwise
  }
}

extension PlannedValue {
  /// The value with unknowns for those bools in it that a failure decides.
  var withOpenTruths: Value {
    guard let members = value?.map?.members, let otherwise else { return value ?? .null }
    var map = ValueMap()
    for member in members {
      let other = otherwise.map?[member.key]
      map[member.key] = if member.value.bool != nil, let other, Unknown(other) != nil { other } else { member.value }
    }
    return .map(map)
  }
}

/// An environment, and the one that holds if something fails before.
struct PlannedEnvironment {
  private(set) var environment: Environment
  /// The same as `environment` where there are no `parts`.
  private var other: Environment
  /// The values that differ.
  private var parts: [Environment.Place] = []

  init(_ environment: Environment) { (self.environment, other) = (environment, environment) }

  /// The environment if something fails; nil if that makes no difference.
  var otherwise: Environment? { parts.isEmpty ? nil : other }

  var now: Value {
    get { environment.nowValue }
    set {
      environment.nowValue = newValue
      other.nowValue = newValue
    }
  }

  mutating func bind(_ value: Value, otherwise: Value? = nil) {
    if otherwise != nil { parts.append(.slot(environment.slots.count)) }
    environment.bind(value)
    other.bind(otherwise ?? value)
  }

  mutating func setStep(_ id: String, _ planned: PlannedValue) {
    if let value = planned.value { environment.setStep(id, value) }
    if let value = planned.otherwise ?? planned.value { other.setStep(id, value) }
    if planned.otherwise != nil { parts.append(.step(id)) }
  }

  /// The environment after a condition was found true or false, without the values that the condition decides: if the
  /// failures haven't happened that the condition depends on, values that depend on the same failures don't matter.
  mutating func settle(_ isOpen: (Environment) -> Bool) {
    parts.removeAll { part in
      var candidate = environment
      candidate.adopt(part, from: other)
      guard isOpen(candidate) else { return false }
      other.adopt(part, from: environment)
      return true
    }
  }

  /// The environment of a called recipe.
  func forCall(_ inputs: ValueMap, otherwise: ValueMap?) -> PlannedEnvironment {
    var called = PlannedEnvironment(environment.forCall(inputs: inputs))
    if let otherwise {
      called.other = environment.forCall(inputs: otherwise)
      called.parts = [.slot(0)]
    }
    return called
  }

  /// The environment of `onFailure` and `finally`; otherwise, anything before a failure may be there.
  func forHandlers(names: Int, failing unknown: Unknown) -> PlannedEnvironment {
    var handlers = PlannedEnvironment(environment.forHandlers(names: names))
    let open = Unknown(unknown.reason, mayBeAbsent: true).value
    for (id, _) in environment.steps {
      handlers.other.setStep(id, open)
      handlers.parts.append(.step(id))
    }
    let first = environment.forHandlers(names: 0).slots.count
    handlers.other.truncate(to: first)
    for slot in first..<handlers.environment.slots.count {
      handlers.other.bind(open)
      handlers.parts.append(.slot(slot))
    }
    return handlers
  }
}
