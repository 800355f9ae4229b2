import Basics
import Recipes

/// The values of the names that are visible to a step, laid out as the checker declared them.
///
/// An environment is a value: blocks, items and branches work on copies, so that their names end with them.
struct Environment: Sendable {
  private(set) var slots: [Value]
  /// The items of the loops around, by name.
  private(set) var items: [(name: String, value: Value)] = []

  private static let stepsSlot = 1
  private static let nowSlot = 4

  init(inputs: Value, run: Value, secrets: Value, now: Timestamp) {
    slots = [inputs, .map(ValueMap()), run, secrets, .timestamp(now)]
  }

  /// The environment at the beginning of a recipe.
  ///
  /// - Parameter given: The inputs as a run's record holds them, secret ones by name.
  init(of recipe: Recipe, inputs given: Value, secrets: Secrets, run: ValueMap, now: Timestamp) {
    var inputs = given.map ?? ValueMap()
    for input in recipe.inputs where input.isSecret {
      inputs[input.name] = recipe.secret(of: input, given, in: secrets).map { .string($0) }
    }
    var values = ValueMap()
    for (name, _) in recipe.allSecrets { values[name] = secrets[name].map { .string($0) } }
    self.init(inputs: .map(inputs), run: .map(run), secrets: .map(values), now: now)
  }

  /// The value of `now` in the step's expressions.
  var now: Timestamp {
    get { slots[Environment.nowSlot].timestamp ?? .earliest }
    set { slots[Environment.nowSlot] = .timestamp(newValue) }
  }

  /// The value of `now` where it isn't needed, as in a plan.
  var nowValue: Value {
    get { slots[Environment.nowSlot] }
    set { slots[Environment.nowSlot] = newValue }
  }

  /// Adds the value of the name that was declared next.
  mutating func bind(_ value: Value) { slots.append(value) }

  /// Adds the item of a loop.
  mutating func bind(item: Value, as name: String) {
    bind(item)
    items.append((name, item))
  }

  /// Forgets the names declared after the first ones.
  mutating func truncate(to size: Int) { slots.removeLast(max(0, slots.count - size)) }

  /// Makes a step's value visible as `steps.<id>`.
  mutating func setStep(_ id: String, _ value: Value) {
    var steps = slots[Environment.stepsSlot].map ?? ValueMap()
    // Held once, so that the map is changed in place and a chain of steps doesn't cost quadratic time.
    slots[Environment.stepsSlot] = .null
    steps[id] = value
    slots[Environment.stepsSlot] = .map(steps)
  }

  /// The steps that have a value, with it.
  var steps: [(id: String, value: Value)] {
    slots[Environment.stepsSlot].map?.members.compactMap { member in member.name.map { ($0, member.value) } } ?? []
  }

  /// Something that expressions read.
  enum Place {
    case step(String)
    case slot(Int)
  }

  /// Replaces a binding with the same binding of another environment.
  mutating func adopt(_ place: Place, from other: Environment) {
    switch place {
    case .slot(let slot): slots[slot] = other.slots[slot]
    case .step(let id):
      var steps = slots[Environment.stepsSlot].map ?? ValueMap()
      steps[id] = other.slots[Environment.stepsSlot].map?[id]
      slots[Environment.stepsSlot] = .map(steps)
    }
  }

  /// The environment of a recipe that this one calls: its own inputs, no steps, no names.
  func forCall(inputs: ValueMap) -> Environment {
    var environment = self
    environment.truncate(to: Environment.firstNames)
    environment.slots[0] = .map(inputs)
    environment.slots[Environment.stepsSlot] = .map(ValueMap())
    return environment
  }

  /// The environment of `onFailure` and `finally`, where any name of the top level may be absent.
  func forHandlers(names: Int) -> Environment {
    var environment = self
    environment.truncate(to: Environment.firstNames)
    for slot in Environment.firstNames..<Environment.firstNames + names {
      let value: Value? = slot < slots.count ? slots[slot] : nil
      if let value, case .optional = value.content {
        environment.bind(value)
      } else {
        environment.bind(Value(.optional(value)))
      }
    }
    return environment
  }

  private static let firstNames = 5
}

extension Recipe {
  /// The value of a secret input, which a run's record holds only by name.
  func secret(of input: Input, _ given: Value, in secrets: Secrets) -> String? {
    guard input.isSecret, let name = given[input.name]?["secret"]?.string else { return nil }
    return secrets[name]
  }

  /// The values of the secret inputs.
  func secretInputs(_ given: Value, in secrets: Secrets) -> [(name: String, text: String)] {
    inputs.compactMap { input in
      guard let text = secret(of: input, given, in: secrets) else { return nil }
      return (given[input.name]?["secret"]?.string ?? "", text)
    }
  }
}
