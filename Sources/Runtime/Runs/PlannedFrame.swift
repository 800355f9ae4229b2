// What the expressions of a plan see: as things are if nothing fails that the recipe catches, and beside it as they may be
// if something does. In the second, the value of a step whose failure is caught is an unknown that may be absent, and so is
// what is computed from it. A condition that does not hold, and that the second leaves open, is one after a failure.
import Basics
import Expressions
import Recipes

/// A value, and what is known of it if something fails before.
struct PlannedValue {
  /// The value; nil if there is none.
  var value: Value?
  /// What may be in its place if something fails that is caught; nil for the same.
  var otherwise: Value?

  init(_ value: Value?, otherwise: Value? = nil) {
    self.value = value
    self.otherwise = otherwise
  }
}

/// A frame, and the frame that there may be if something fails before.
struct PlannedFrame {
  private(set) var frame: Frame
  /// The same as `frame` where there are no `parts`.
  private var other: Frame
  /// What is different in it.
  private var parts: [Frame.Place] = []

  init(_ frame: Frame) { (self.frame, other) = (frame, frame) }

  /// The frame if something fails; nil if that makes no difference.
  var otherwise: Frame? { parts.isEmpty ? nil : other }

  var now: Value {
    get { frame.nowValue }
    set {
      frame.nowValue = newValue
      other.nowValue = newValue
    }
  }

  mutating func bind(_ value: Value, otherwise: Value? = nil) {
    if otherwise != nil { parts.append(.slot(frame.slots.count)) }
    frame.bind(value)
    other.bind(otherwise ?? value)
  }

  mutating func setStep(_ id: String, _ planned: PlannedValue) {
    if let value = planned.value { frame.setStep(id, value) }
    if let value = planned.otherwise ?? planned.value { other.setStep(id, value) }
    if planned.otherwise != nil { parts.append(.step(id)) }
  }

  /// The frame after a condition that did not hold, or held, and without what that decides: what is different because of
  /// the same failures as the condition is of no concern where these have not happened.
  mutating func settle(_ isOpen: (Frame) -> Bool) {
    parts.removeAll { part in
      var candidate = frame
      candidate.take(part, from: other)
      guard isOpen(candidate) else { return false }
      other.take(part, from: frame)
      return true
    }
  }

  /// The frame of a called recipe.
  func forCall(_ inputs: ValueMap, otherwise: ValueMap?) -> PlannedFrame {
    var called = PlannedFrame(frame.forCall(inputs: inputs))
    if let otherwise {
      called.other = frame.forCall(inputs: otherwise)
      called.parts = [.slot(0)]
    }
    return called
  }

  /// The frame of `onFailure` and `finally`; otherwise, whatever came before a failure may be there.
  func forHandlers(names: Int, failing unknown: Unknown) -> PlannedFrame {
    var handlers = PlannedFrame(frame.forHandlers(names: names))
    let open = Unknown(unknown.reason, mayBeAbsent: true).value
    for (id, _) in frame.steps {
      handlers.other.setStep(id, open)
      handlers.parts.append(.step(id))
    }
    let first = frame.forHandlers(names: 0).slots.count
    handlers.other.truncate(to: first)
    for slot in first..<handlers.frame.slots.count {
      handlers.other.bind(open)
      handlers.parts.append(.slot(slot))
    }
    return handlers
  }
}
