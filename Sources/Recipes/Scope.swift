import Basics
import Expressions

/// The names that are visible at one place of a recipe, and what is known of them there.
///
/// A scope is a value: a block works on a copy, so what it declares ends with it. Names are slots in the order of their
/// declaration, and a frame of values at run time is laid out the same way.
struct Scope {
  private(set) var expressions: ExpressionScope
  /// Where each name was declared, to point at it when it is declared again.
  private var declared: [String: Value] = [:]
  private var names: [String] = []
  var size: Int { names.count }
  /// The steps that are visible, which are the fields of `steps`.
  private(set) var steps: [ObjectType.Field] = []

  init() { expressions = ExpressionScope() }

  /// Declares a name that the language gives, or one that was checked already.
  mutating func declare(_ name: String, _ type: ValueType) {
    expressions.declare(name, type)
    names.append(name)
  }

  /// Declares a name that a person chose, with an error if it is taken.
  mutating func declare(_ name: String, _ type: ValueType, at place: Value, _ findings: Findings) {
    if let first = declared[name] {
      let note = Diagnostic.Note("'\(name)' is declared here", at: findings.location(of: first))
      findings.error("'\(name)' is declared already; shadowing is not allowed, choose another name", at: place, notes: [note])
      return
    }
    declared[name] = place
    declare(name, type)
  }

  /// Declares `steps` anew, with one step more.
  mutating func add(step: ObjectType.Field) {
    steps.append(step)
    expressions.declare("steps", .object(ObjectType("steps", fields: steps)))
  }

  /// Declares `steps` anew, with steps of which each may be absent.
  mutating func add(optionalSteps steps: [ObjectType.Field]) {
    for var step in steps {
      step.isOptional = true
      add(step: step)
    }
  }

  /// The names that were declared after the first ones, in order, with their types.
  func names(after count: Int) -> [(String, ValueType)] {
    names.dropFirst(count).map { ($0, expressions.type(of: $0) ?? .dyn) }
  }

  /// Takes it for known from here on that a condition holds, or does not.
  mutating func assume(_ condition: RecipeExpression, is truth: Bool) {
    expressions.assume(condition.program, is: truth)
  }

  /// Takes it for known that a condition on one name holds of a step: what `until` says of `result`.
  mutating func assume(_ condition: RecipeExpression, of name: String, holdsFor step: String) {
    expressions.assume(condition.program, of: name, holdsFor: "steps", [step])
  }
}
