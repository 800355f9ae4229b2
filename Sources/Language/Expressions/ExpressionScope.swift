package import Basics

/// What an expression may see: variables with their types, functions, and what is known to be present.
///
/// A scope is a value: a block of a recipe takes a copy, declares its own names and assumes its own conditions.
/// Variables have slots in the order of their declaration, which is the order of the values at run time.
package struct ExpressionScope: Sendable {
  /// How much the checker asks for.
  package enum Rules: Sendable {
    /// Soundness beyond CEL: what may be absent is not read bare, map literals with constant keys remember them,
    /// constants are computed when checked, `dyn()` is refused.
    case sound
    /// CEL as its specification has it.
    case plain
    /// No checking: names and overloads are found out at run time.
    case unchecked
  }

  package let functions: FunctionLibrary
  package let rules: Rules
  /// The namespace in which names are looked up first: `a.b` makes `x` try `a.b.x`, `a.x`, `x`.
  package let container: String
  /// The zone of functions of times that are given none.
  package var zone = "UTC"
  /// Whether values may be unknown, as in a plan: then reading one is an error of its own kind (`Unknown`).
  package let mayMeetUnknowns: Bool
  private var variables = LayeredMap<Variable>()
  /// How many slots the variables have, those that are hidden included.
  package private(set) var slotCount = 0
  private(set) var facts: Facts = []
  private(set) var hasQualifiedNames = false
  private(set) var hasSecrets = false
  /// The names of objects of which no field is taken for absent, because a condition at fault may have asked.
  private(set) var presumed: Set<String> = []
  /// Why fields of variables that one might look for are not there, by the path with dots.
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

  /// Declares a variable, or gives a declared one another type; its slot stays.
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

  /// Declares a variable with a slot of its own, which hides the one of the same name.
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

  /// The variables from a slot on that are not hidden, in the order of their slots.
  package func variables(from slot: Int) -> [(name: String, type: ValueType)] {
    names.compactMap { name in variables[name].map { (name, $0) } }.filter { $0.1.slot >= slot }
      .sorted { $0.1.slot < $1.1.slot }.map { ($0.0, $0.1.type) }
  }

  /// Takes what a condition says about presence for granted from here on: after `if: C` with a `fail`, that C does not
  /// hold.
  package mutating func assume(_ condition: CompiledExpression, is truth: Bool) {
    facts.formUnion(truth ? condition.factsWhenTrue : condition.factsWhenFalse)
  }

  /// Takes the presence of a field for granted: `steps`, `["book", "path"]`.
  package mutating func assumePresence(of name: String, _ fields: [String]) {
    facts.insert(Path(root: name, local: nil, steps: fields.map { .field($0) }))
  }

  /// Takes the fields of objects of these names for present from here on: of those that a condition names which is
  /// itself at fault.
  package mutating func presumePresence(in names: some Sequence<String>) { presumed.formUnion(names) }

  /// Has a message say why a field of a variable is not there, as the end of a sentence.
  package mutating func explainAbsence(of field: String, in variable: String, _ why: String) {
    absences.insert(why, for: "\(variable).\(field)")
  }

  /// Has a message say why a variable is not there, as the end of a sentence.
  package mutating func explainAbsence(ofVariable name: String, _ why: String) { absences.insert(why, for: name) }

  /// Takes what a condition says of one variable for granted of a field of another: what `until` says of `result` holds
  /// of `steps.backup` afterwards.
  package mutating func assume(
    _ condition: CompiledExpression, of name: String, holdsFor root: String, _ fields: [String]
  ) {
    for fact in condition.factsWhenTrue where fact.local == nil && fact.root.hasSameScalars(as: name) {
      facts.insert(Path(root: root, local: nil, steps: fields.map { .field($0) } + fact.steps))
    }
  }

  /// The names that a name may stand for in the container, the nearest first.
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

/// A chain of fields and constant indexes from a variable, `steps.book.tasks[0]`, or what the optional at its end holds.
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

  /// The name of what the last step is taken from.
  var owner: String {
    for step in steps.dropLast().reversed() {
      if case .field(let name) = step { return name }
    }
    return root
  }
}

/// Paths that are known to be present.
typealias Facts = Set<Path>
