import Basics
import Expressions

/// The names that are visible at one place of a recipe, with their types and other facts.
///
/// A scope is a value: a block works on a copy, so what it declares ends with it. Names are slots in the order of their
/// declaration, and an environment of values at run time is laid out the same way.
struct Scope {
  private(set) var expressions: ExpressionScope
  /// Where each name was declared, to point at it when it is declared again.
  private var declared = LayeredMap<Value>()
  var size: Int { expressions.slotCount }
  /// The type of `steps`, whose fields are the steps that are visible.
  private(set) var steps = ObjectType("steps", fields: [])

  /// - Parameter mayMeetUnknowns: Whether values may be unknown, as in a plan.
  init(mayMeetUnknowns: Bool = false) { expressions = ExpressionScope(mayMeetUnknowns: mayMeetUnknowns) }

  /// Declares a name of the language, or one that was checked already; it hides another of the same name.
  mutating func declare(_ name: String, _ type: ValueType) {
    expressions.shadow(name, type)
  }

  /// Declares a name that is checked elsewhere, with the place of its declaration.
  mutating func declare(_ name: String, _ type: ValueType, from place: Value) {
    declared.insert(place, for: name)
    declare(name, type)
  }

  /// Declares a name that a person chose, with an error if it is taken.
  mutating func declare(_ name: String, _ type: ValueType, at place: Value, _ findings: Findings) {
    if let first = declared[name] {
      let note = Diagnostic.Note("'\(name)' is declared here", at: findings.location(of: first))
      findings.error(
        "'\(name)' is declared already; shadowing is not allowed, choose another name", at: place, notes: [note])
      // The use of either isn't another error.
      return expressions.declare(name, .dyn)
    }
    declared.insert(place, for: name)
    declare(name, type)
    findings.declared(.variable, name, type, at: place)
  }

  /// Declares the names that expressions may use for a thing with a faulty name, so that its uses aren't errors too.
  mutating func excuse(_ name: Value) {
    for part in Names.parts(of: name.plainText) { expressions.declare(part, .dyn) }
  }

  /// The place that declares a name, if a person chose it.
  func place(of name: String) -> Value? { declared[name] }

  /// Whether a name is visible.
  func has(_ name: String) -> Bool { expressions.type(of: name) != nil }

  /// Adds a step to `steps`.
  mutating func add(step: ObjectType.Field) {
    steps = steps.adding(step)
    declareSteps()
  }

  private mutating func declareSteps() {
    expressions.declare("steps", .object(steps))
  }

  /// Removes a step that has an id but no value.
  mutating func withdraw(step id: String, _ why: String) {
    steps = steps.removing(id)
    declareSteps()
    explainAbsence(ofStep: id, why)
  }

  /// Adds the fields of a second step to the visible step with the same id.
  mutating func merge(step second: ObjectType.Field) {
    var merged = second
    if let first = steps[second.name] {
      if case (.object(let one), .object(let other)) = (first.type, second.type) {
        merged.type = .object(ObjectType(one.name, fields: one.fields + other.fields.filter { one[$0.name] == nil }))
      } else if first.type != second.type {
        merged.type = .dyn
      }
    }
    add(step: merged)
  }

  /// The scope of handlers that run after the steps, even if not all of them ran: names and steps declared since
  /// `first` are optional.
  func afterwards(from first: Scope) -> Scope {
    var scope = first
    scope.declared = declared
    for (name, type) in expressions.variables(from: first.size) { scope.declare(name, type.asOptional) }
    for var step in steps.fields {
      step.isOptional = true
      scope.steps = scope.steps.adding(step)
    }
    scope.declareSteps()
    return scope
  }

  /// Makes messages explain why a step isn't visible.
  mutating func explainAbsence(ofStep id: String, _ why: String) {
    expressions.explainAbsence(of: id, in: "steps", why)
  }

  /// Makes messages explain why a variable isn't visible.
  mutating func explainAbsence(ofVariable name: String, _ why: String) {
    expressions.explainAbsence(ofVariable: name, why)
  }

  /// Makes messages explain where the data of an event is.
  mutating func explainEvents() {
    expressions.explainAbsence(of: "*", in: "event", "what came with it is its data; write `event.data.*`")
  }

  /// Makes messages explain where the steps of a block are.
  mutating func hide(stepsOf block: Block, inside what: String) {
    for step in block.type.fields where steps[step.name] == nil {
      explainAbsence(ofStep: step.name, "it is inside \(what), and not visible outside")
    }
  }

  /// Assumes from here on that a condition holds, or doesn't.
  ///
  /// A faulty condition may have asked for any field of the objects that it names, so all of these fields count as
  /// present.
  mutating func assume(_ condition: RecipeExpression?, is truth: Bool, readFrom value: Value) {
    if let condition {
      expressions.assume(condition.program, is: truth)
    } else {
      expressions.presumePresence(in: Names.parts(of: value.plainText))
    }
  }

  /// Assumes that a condition on one name holds for a step: the condition of `until` on `result`.
  mutating func assume(_ condition: RecipeExpression?, of name: String, holdsFor step: String) {
    guard let condition else { return expressions.presumePresence(in: [step]) }
    expressions.assume(condition.program, of: name, holdsFor: "steps", [step])
  }
}
