// A recipe as a graph: the steps, the steps inside them, and the values that flow between them.
//
// An arrow leads from the origin of a value (the inputs, a step, the names of a `let`, the item of a loop) to a step
// whose own expressions read it. Its label names the part that is read, and the type. The language's own variables
// (`now`, `run`, `error`, `event`, `result`) come from no step, and have no arrows.
import ActionKit
package import Basics
import Calendars
import Expressions

package struct RecipeGraph: Sendable {
  /// A step, or the recipe's triggers, inputs or outputs.
  package struct Node: Sendable {
    package enum Shape: Sendable {
      case triggers, inputs, outputs, action, names, wait, approval, parallel, block, call, failure
    }

    package var shape: Shape
    /// The path of its records, without the numbers of items; empty for a node that isn't a step.
    package var path: String
    package var title: String
    /// The id of the action that it runs, if it runs one.
    package var action: String?
    /// The step's work and its modifiers: an action's id, `if …`, `for each …`.
    package var words: [String] = []
    /// The type of its value; nil if it has none.
    package var gives: String?
    package var sections: [Section] = []
  }

  /// Steps that are done one after another.
  package struct Section: Sendable {
    /// The name of the list, if there are several: a branch's name, `on error`, `finally`.
    package var label: String?
    /// Indices of nodes.
    package var nodes: [Int]
  }

  /// The values of one node that another reads.
  package struct Arrow: Sendable {
    package var from: Int
    package var to: Int
    /// Each part that is read with its type, such as `tasks: list({key, name, …})`.
    package var labels: [String]
  }

  package let name: String
  package let summary: String
  package private(set) var nodes: [Node] = []
  package private(set) var sections: [Section] = []
  package private(set) var arrows: [Arrow] = []

  /// The origin of a name's value.
  private struct Origin {
    var node: Int
    var type: ValueType
  }

  private var names: [String: Origin] = [:]
  private var steps: [String: Origin] = [:]

  package init(_ recipe: Recipe) {
    name = recipe.name
    summary = recipe.summary
    var main = Section(label: nil, nodes: [])
    if !recipe.triggers.isEmpty {
      main.nodes.append(nodes.count)
      nodes.append(Node(shape: .triggers, path: "", title: "on", words: recipe.triggers.map(\.line)))
    }
    if !recipe.inputs.isEmpty {
      names["inputs"] = Origin(node: nodes.count, type: .object(recipe.inputsType))
      main.nodes.append(nodes.count)
      nodes.append(
        Node(
          shape: .inputs, path: "", title: "inputs",
          words: recipe.inputs.map { "\($0.name): \($0.type.shortened)" }))
    }
    main.nodes += add(recipe.steps, prefix: "")
    var handlers: [Section] = []
    if let block = recipe.onFailure {
      handlers.append(Section(label: "on failure", nodes: add(block, prefix: "#onFailure/")))
    }
    if let block = recipe.finally {
      handlers.append(Section(label: "finally", nodes: add(block, prefix: "#finally/")))
    }
    if !recipe.outputs.isEmpty {
      let number = nodes.count
      main.nodes.append(number)
      nodes.append(
        Node(
          shape: .outputs, path: "", title: "outputs",
          words: recipe.outputs.map { "\($0.name): \($0.template.type.shortened)" }))
      connect(recipe.outputs.flatMap(\.template.references), to: number)
    }
    sections = [main] + handlers
  }

  // MARK: Making

  private mutating func add(_ block: Block, prefix: String) -> [Int] {
    // The block's type has the types of all ids, with or without outputs.
    block.steps.map { step in
      let node = add(step, path: prefix + step.element)
      guard let id = step.id, let type = block.type[id]?.type else { return node }
      steps[id] = Origin(node: node, type: type)
      if case .object(let object) = type, object.fields.isEmpty { return node }
      nodes[node].gives = type.shortened
      return node
    }
  }

  private mutating func add(_ step: Step, path: String) -> Int {
    let number = nodes.count
    var node = Node(shape: step.shape, path: path, title: step.shortTitle, words: step.words)
    if case .action(let call) = step.kind { node.action = call.action.id }
    nodes.append(node)
    connect(step.ownReferences.filter { !step.gives($0.name) }, to: number)
    if let loop = step.loop {
      let element: ValueType = if case .list(let element) = loop.items.program.type { element } else { .dyn }
      names[loop.itemName] = Origin(node: number, type: element)
    }
    for value in step.repetition?.carried ?? [] { names[value.name] = Origin(node: number, type: value.valueType) }
    if case .bindings(let made) = step.kind {
      nodes[number].gives = made.map { "\($0.name): \($0.template.type.shortened)" }.joined(separator: ", ")
      for name in made { names[name.name] = Origin(node: number, type: name.template.type) }
    }
    let known = (names, steps)
    for (role, inside, block) in step.blocks {
      if role == .tell { names["question"] = nil }
      let section = Section(label: step.label(of: role), nodes: add(block, prefix: path + inside))
      nodes[number].sections.append(section)
      // Outside a block, only its own outputs show its steps.
      switch role {
      case .block, .choice: break
      case .branch, .handler, .tell: (names, steps) = known
      }
    }
    if case .block(_, let outputs?) = step.kind {
      connect(outputs.flatMap(\.template.references), to: number)
    }
    if case .cases(let cases) = step.kind {
      connect(cases.list.flatMap { $0.outputs?.flatMap(\.template.references) ?? [] }, to: number)
    }
    if case .call(let call) = step.kind { add(call.recipe, calledBy: number, path: path) }
    (names, steps) = known
    return number
  }

  /// People don't read graphs with more nodes; recipes that call others twice each would make very many.
  private static let mostNodes = 1000

  /// Adds the steps of a called recipe, which see its inputs and nothing else.
  private mutating func add(_ called: Recipe, calledBy number: Int, path: String) {
    guard nodes.count < RecipeGraph.mostNodes else { return }
    names = ["inputs": Origin(node: number, type: .object(called.inputsType))]
    steps = [:]
    let blocks: [(String?, Block?, String)] = [
      (nil, called.steps, "/"), ("on failure", called.onFailure, "/#onFailure/"),
      ("finally", called.finally, "/#finally/"),
    ]
    for case (let label, let block?, let prefix) in blocks {
      let section = Section(label: label, nodes: add(block, prefix: path + prefix))
      nodes[number].sections.append(section)
    }
    connect(called.outputs.flatMap(\.template.references), to: number)
  }

  private mutating func connect(_ references: [ValueReference], to node: Int) {
    for reference in references {
      var path = reference.path[...]
      var origin = names[reference.name]
      var label = [reference.name]
      if reference.name == "steps", let id = path.popFirst() {
        origin = steps[id]
        label = []
      } else if reference.name == "inputs" {
        label = []
      }
      guard let origin, origin.node != node else { continue }
      let (parts, type) = origin.type.following(path)
      label += parts
      let text = label.isEmpty ? type.shortened : "\(label.joined(separator: ".")): \(type.shortened)"
      if let index = arrows.firstIndex(where: { $0.from == origin.node && $0.to == node }) {
        if !arrows[index].labels.contains(text) { arrows[index].labels.append(text) }
      } else {
        arrows.append(Arrow(from: origin.node, to: node, labels: [text]))
      }
    }
  }
}

extension Recipe {
  fileprivate var inputsType: ObjectType {
    ObjectType("inputs", fields: inputs.map { ObjectType.Field($0.name, $0.type) })
  }
}

extension Trigger {
  /// A line that says when the trigger starts the recipe, with its conditions.
  fileprivate var line: String {
    var line = (id.map { "\($0): " } ?? "") + wordsWithZone
    switch kind {
    case .event(_, match: let match?, form: _): line += " if \(match.text)"
    case .afterRecipe(_, let status, outputs: _) where status != ["succeeded"]:
      line += " (\(status.joined(separator: " or ")))"
    case .webhook(let webhook): if let match = webhook.match { line += " if \(match.text)" }
    case .form(let form): if let match = form.match { line += " if \(match.text)" }
    case .timed, .event, .afterRecipe, .file: break
    }
    return isPaused ? "\(line) (paused)" : line
  }
}

extension Step {
  fileprivate var shape: RecipeGraph.Node.Shape {
    switch kind {
    case .action: .action
    case .bindings: .names
    case .wait: .wait
    case .approval, .ask: .approval
    case .parallel: .parallel
    case .block, .cases: .block
    case .call: .call
    case .failure: .failure
    }
  }

  /// Whether the step itself declares a name for its own expressions.
  fileprivate func gives(_ name: String) -> Bool {
    if loop?.itemName == name || loop?.indexName == name { return true }
    if let repetition, name == "result" || repetition.carried.contains(where: { $0.name == name }) { return true }
    if case .bindings(let made) = kind { return made.contains { $0.name == name } }
    return false
  }

  /// The step's modifiers and work, from the outside in.
  fileprivate var words: [String] {
    var words: [String] = []
    if let condition { words.append("if \(condition.text)") }
    if let loop {
      let filter = loop.condition.map { " where \($0.text)" } ?? ""
      let width = loop.maxParallel > 1 ? ", \(loop.maxParallel) at once" : ""
      words.append("for each \(loop.itemName) in \(loop.items.text)\(filter)\(width)")
    }
    if let onError, onError.value != nil {
      words.append("a value instead of an error")
    } else if let onError, onError.steps == nil {
      words.append("errors are passed over")
    }
    if let repetition { words.append(repetition.words) }
    if let count = retry?.schedule.maxAttempts { words.append(count == 1 ? "one try" : "at most \(count) tries") }
    switch kind {
    case .action(let call):
      if id != nil || name != nil { words.append(call.action.id) }
    case .wait(.duration(let expression)): words.append("for \(expression.text)")
    case .wait(.span(let span)): words.append("for \(span.written)")
    case .wait(.until(let expression)): words.append("until \(expression.text)")
    case .wait(.event(let name, let match, _, _)):
      words.append("for event \(name)\(match.map { " with \($0.text)" } ?? "")")
    case .approval(let approval):
      let people = approval.question.by
      words.append(people.isEmpty ? "by anyone" : "by \(people.joined(separator: " or "))")
    case .ask(let ask):
      words.append("for \(ask.fields.map(\.name).joined(separator: ", "))")
      let people = ask.question.by
      if !people.isEmpty { words.append("by \(people.joined(separator: " or "))") }
    case .cases(let cases): words.append("\(cases.isSwitch ? "switch" : "if") \(cases.subject.text)")
    case .call(let call): words.append(call.path)
    default: break
    }
    return words
  }
}

extension Repetition {
  /// The repetition in words: carried names, interval, and end condition.
  fileprivate var words: String {
    let names = carried.map(\.name).joined(separator: ", ")
    let memory = names.isEmpty ? "" : "with \(names) "
    let pace = every.map { "every \($0.written) " } ?? "again "
    return memory + pace + "until \(until.text)"
  }
}

extension ObjectType.Field {
  /// The name, with a mark if the field may be absent.
  fileprivate var marked: String { isOptional ? "\(name)?" : name }
}

extension ValueType {
  /// The type as an arrow's label: an object by its first fields.
  package var shortened: String {
    switch self {
    case .object(let object):
      "{\(object.fields.prefix(3).map(\.marked).joined(separator: ", "))\(object.fields.count > 3 ? ", …" : "")}"
    case .list(let element): "list(\(element.shortened))"
    case .map(let key, let value): "map(\(key), \(value.shortened))"
    case .optional(let wrapped): "\(wrapped.shortened)?"
    case .secret(let wrapped): "secret(\(wrapped.shortened))"
    case .choice(let options) where options.count > 3: "string"
    default: description
    }
  }

  /// The type at the end of a path, and the part of the path that could be followed.
  fileprivate func following(_ path: ArraySlice<String>) -> (path: [String], type: ValueType) {
    var type = self
    var followed: [String] = []
    for name in path {
      let next: ValueType?
      switch type.withoutOptional {
      case .object(let object): next = object[name]?.type
      case .map(_, let value): next = value
      default: next = nil
      }
      guard let next else { break }
      type = next
      followed.append(name)
    }
    return (followed, type)
  }

  private var withoutOptional: ValueType { if case .optional(let wrapped) = self { wrapped } else { self } }
}
