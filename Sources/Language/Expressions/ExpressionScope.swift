package import Basics

/// The names that an expression may use: variables with their types, functions, and the paths known to be present.
///
/// A scope is a value: a block of a recipe takes a copy, declares its own names and assumes its own conditions.
/// Variables have slots in the order of their declaration, which is the order of the values at run time.
package struct ExpressionScope: Sendable {
  /// How strict the checker is.
  package enum Rules: Sendable {
    /// Stricter than CEL: a value that may be absent can't be read directly, map literals with constant keys remember
    /// their keys, constants are computed during the check, and `dyn()` is rejected.
    case sound
    /// CEL as specified.
    case plain
    /// No checking: names and overloads are resolved during evaluation.
    case unchecked
  }

  package let functions: FunctionLibrary
  package let rules: Rules
  /// The namespace where names are looked up first: in `a.b`, the name `x` may be `a.b.x`, `a.x` or `x`.
  package let container: String
  /// The time zone for functions of times that are called without one.
  package var zone = "UTC"
  /// Whether values may be unknown, as in a plan.
  ///
  /// Reading an unknown is then an error of its own kind (`Unknown`).
  package let mayMeetUnknowns: Bool
  private var variables = LayeredMap<Variable>()
  /// The number of the variables' slots, including hidden variables.
  package private(set) var slotCount = 0
  private(set) var facts: Facts = []
  private(set) var hasQualifiedNames = false
  private(set) var hasSecrets = false
  /// The names of objects whose fields all count as present, because a faulty condition may have checked them.
  private(set) var presumed: Set<String> = []
  /// Explanations of why variables lack certain fields that an author might look for, by dotted path.
  private(set) var absences = LayeredMap<String>()

  package init(
    functions: FunctionLibrary = .standard, rules: Rules = .sound, container: String = "", mayMeetUnknowns: Bool = false
  ) {
    self.functions = functions
    self.rules = rules
    self.container = container
    self.mayMeetUnknowns = mayMeetUnknowns
  }

  /// The names of the variables, in no order.
  package var names: some Collection<String> { variables.names }

  private struct Variable {
    var slot: Int
    var type: ValueType
  }

  /// Declares a variable, or changes the type of a declared one; its slot stays the same.
  package mutating func declare(_ name: String, _ type: ValueType) {
    let slot = variables[name]?.slot ?? slotCount
    if slot == slotCount { slotCount += 1 }
    note(Variable(slot: slot, type: type), name)
  }

  private mutating func note(_ variable: Variable, _ name: String) {
    variables.insert(variable, for: name)
    if name.utf8.contains(ASCII.dot) { hasQualifiedNames = true }
    if variable.type.holdsSecret { hasSecrets = true }
  }

  /// Declares a variable with a slot of its own.
  ///
  /// It hides an earlier variable of the same name.
  package mutating func shadow(_ name: String, _ type: ValueType) {
    if facts.contains(where: { $0.root.hasSameScalars(as: name) }) {
      facts = facts.filter { !$0.root.hasSameScalars(as: name) }
    }
    note(Variable(slot: slotCount, type: type), name)
    slotCount += 1
  }

  /// The type of a variable.
  package func type(of name: String) -> ValueType? { variables[name]?.type }

  /// The slot of a variable.
  package func slot(of name: String) -> Int? { variables[name]?.slot }

  /// The variables from a slot on that aren't hidden, in the order of their slots.
  package func variables(from slot: Int) -> [(name: String, type: ValueType)] {
    names.compactMap { name in variables[name].map { (name, $0) } }.filter { $0.1.slot >= slot }
      .sorted { $0.1.slot < $1.1.slot }.map { ($0.0, $0.1.type) }
  }

  /// Adds the facts that a condition establishes about presence: after `if: C` with a `fail`, that C is false.
  package mutating func assume(_ condition: CompiledExpression, is truth: Bool) {
    facts.formUnion(truth ? condition.factsWhenTrue : condition.factsWhenFalse)
  }

  /// Adds the fact that a field is present: `steps`, `["book", "path"]`.
  package mutating func assumePresence(of name: String, _ fields: [String]) {
    facts.insert(Path(root: name, local: nil, steps: fields.map { .field($0) }))
  }

  /// Treats all fields of the named objects as present from here on, because a condition that mentions them is itself
  /// faulty.
  package mutating func presumePresence(in names: some Sequence<String>) { presumed.formUnion(names) }

  /// Sets the explanation, the end of a sentence, of why a variable lacks a field.
  package mutating func explainAbsence(of field: String, in variable: String, _ why: String) {
    absences.insert(why, for: "\(variable).\(field)")
  }

  /// Sets the explanation, the end of a sentence, of why a variable doesn't exist.
  package mutating func explainAbsence(ofVariable name: String, _ why: String) { absences.insert(why, for: name) }

  /// Adds the facts that a condition establishes about a variable to a field of another variable: if `until` requires a
  /// field of `result`, that field of `steps.backup` is present afterwards.
  package mutating func assume(
    _ condition: CompiledExpression, of name: String, holdsFor root: String, _ fields: [String]
  ) {
    for fact in condition.factsWhenTrue where fact.local == nil && fact.root.hasSameScalars(as: name) {
      facts.insert(Path(root: root, local: nil, steps: fields.map { .field($0) } + fact.steps))
    }
  }

  /// The qualified names that a name may mean in the container, the innermost first.
  func candidates(_ name: String) -> [String] {
    var result: [String] = []
    var prefix = container[...]
    while !prefix.isEmpty {
      result.append("\(prefix).\(name)")
      prefix = prefix.lastIndex(of: ".").map { prefix[..<$0] } ?? ""
    }
    return result + [name]
  }
}

/// A chain of fields and constant indexes from a variable, `steps.book.tasks[0]`, or the value inside the optional at
/// the end of the chain.
struct Path: Hashable, Sendable {
  enum Step: Hashable, Sendable {
    case field(String)
    case index(Int)
    case held
  }

  var root: String
  /// The slot of a loop's or binding's variable; nil for a declared one.
  var local: Int?
  var steps: [Step]

  /// The name of the object that the last step reads from.
  var owner: String {
    for step in steps.dropLast().reversed() {
      if case .field(let name) = step { return name }
    }
    return root
  }
}

/// Paths that are known to be present.
typealias Facts = Set<Path>
