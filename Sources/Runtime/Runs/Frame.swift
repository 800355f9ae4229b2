import Basics
import Recipes

/// The values of the names that are visible to a step, laid out as the checker declared them.
///
/// A frame is a value: blocks, items and branches work on copies, so what they bind ends with them.
struct Frame: Sendable {
  private(set) var slots: [Value]
  /// The items of the loops around, by their names.
  private(set) var items: [(name: String, value: Value)] = []

  private static let stepsSlot = 1
  private static let nowSlot = 4

  init(inputs: Value, run: Value, secrets: Value, now: Timestamp) {
    slots = [inputs, .map(ValueMap()), run, secrets, .timestamp(now)]
  }

  /// The frame in which a recipe begins.
  ///
  /// - Parameter given: The inputs as a run's record holds them, secret ones by their names.
  init(of recipe: Recipe, inputs given: Value, secrets: Secrets, run: ValueMap, now: Timestamp) {
    var inputs = given.map ?? ValueMap()
    for input in recipe.inputs where input.isSecret {
      inputs[input.name] = recipe.secret(of: input, given, in: secrets).map { .string($0) }
    }
    var values = ValueMap()
    for (name, _) in recipe.allSecrets { values[name] = secrets[name].map { .string($0) } }
    self.init(inputs: .map(inputs), run: .map(run), secrets: .map(values), now: now)
  }

  /// What the step's expressions call `now`.
  var now: Timestamp {
    get { slots[Frame.nowSlot].timestamp ?? .earliest }
    set { slots[Frame.nowSlot] = .timestamp(newValue) }
  }

  /// What `now` is where it need not be known, as in a plan.
  var nowValue: Value {
    get { slots[Frame.nowSlot] }
    set { slots[Frame.nowSlot] = newValue }
  }

  /// Adds the value of the name that was declared next.
  mutating func bind(_ value: Value) { slots.append(value) }

  /// Adds the item of a loop.
  mutating func bind(item: Value, as name: String) {
    bind(item)
    items.append((name, item))
  }

  /// Forgets the names that were declared after the first ones.
  mutating func truncate(to size: Int) { slots.removeLast(max(0, slots.count - size)) }

  /// Makes a step's value visible as `steps.<id>`.
  mutating func setStep(_ id: String, _ value: Value) {
    var steps = slots[Frame.stepsSlot].map ?? ValueMap()
    // Held once, so that the map is changed in place and a chain of steps costs no square.
    slots[Frame.stepsSlot] = .null
    steps[id] = value
    slots[Frame.stepsSlot] = .map(steps)
  }

  /// The steps that have a value, with it.
  var steps: [(id: String, value: Value)] {
    slots[Frame.stepsSlot].map?.members.compactMap { member in member.name.map { ($0, member.value) } } ?? []
  }

  /// Something that expressions read.
  enum Place {
    case step(String)
    case slot(Int)
  }

  /// Makes a place what it is in another frame.
  mutating func take(_ place: Place, from other: Frame) {
    switch place {
    case .slot(let slot): slots[slot] = other.slots[slot]
    case .step(let id):
      var steps = slots[Frame.stepsSlot].map ?? ValueMap()
      steps[id] = other.slots[Frame.stepsSlot].map?[id]
      slots[Frame.stepsSlot] = .map(steps)
    }
  }

  /// The frame of a recipe that this one calls: its own inputs, no steps, no names.
  func forCall(inputs: ValueMap) -> Frame {
    var frame = self
    frame.truncate(to: Frame.firstNames)
    frame.slots[0] = .map(inputs)
    frame.slots[Frame.stepsSlot] = .map(ValueMap())
    return frame
  }

  /// The frame of `onFailure` and `finally`, where each name of the top level may be absent.
  func forHandlers(names: Int) -> Frame {
    var frame = self
    frame.truncate(to: Frame.firstNames)
    for slot in Frame.firstNames..<Frame.firstNames + names {
      let value: Value? = slot < slots.count ? slots[slot] : nil
      if let value, case .optional = value.content { frame.bind(value) } else { frame.bind(Value(.optional(value))) }
    }
    return frame
  }

  private static let firstNames = 5
}

extension Recipe {
  /// The value of a secret input, which a run's record holds by its name only.
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
