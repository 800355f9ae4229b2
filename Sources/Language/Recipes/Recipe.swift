package import ActionKit
package import Basics
import Expressions

/// A recipe that was read and checked completely, ready to run.
///
/// Everything that can be compiled is compiled: a run evaluates programs and calls actions, and parses no text.
package final class Recipe: Sendable {
  package let name: String
  package let summary: String
  package let source: Source
  package let inputs: [Input]
  package let triggers: [Trigger]
  package let concurrency: ConcurrencyGroup?
  /// The queue of its runs, where several programs share the state.
  package let queue: String?
  package let steps: Block
  package let outputs: [NamedTemplate]
  /// Run when a step failed and nothing caught it.
  package let onFailure: Block?
  /// Run at the end, however the run ended.
  package let finally: Block?
  /// The secrets that the recipe reads, by name, with the first place of each.
  package let secrets: [(name: String, location: Diagnostic.Location?)]
  /// How many names `let` declares at the top level.
  package let topLevelNames: Int
  /// The recipes that it calls, read and checked with it.
  package let called: [Recipe]
  /// The type of the recipe's outputs, for the calling recipe.
  package let outputType: ValueType
  /// The zone of functions of times that are given none.
  package let zone: String
  /// The zone of recipes that name none, which a run's record keeps; UTC if there is none.
  package let folderZone: String?
  /// Whether assistants may run it as a tool.
  package let isTool: Bool

  init(
    name: String, summary: String, source: Source, inputs: [Input], triggers: [Trigger],
    concurrency: ConcurrencyGroup?, queue: String?, steps: Block, outputs: [NamedTemplate], onFailure: Block?,
    finally: Block?,
    secrets: [(name: String, location: Diagnostic.Location?)], topLevelNames: Int, called: [Recipe],
    outputType: ValueType, zone: String, folderZone: String?, isTool: Bool
  ) {
    self.name = name
    self.summary = summary
    self.source = source
    self.inputs = inputs
    self.triggers = triggers
    self.concurrency = concurrency
    self.queue = queue
    self.steps = steps
    self.outputs = outputs
    self.onFailure = onFailure
    self.finally = finally
    self.secrets = secrets
    self.topLevelNames = topLevelNames
    self.called = called
    self.outputType = outputType
    self.zone = zone
    self.folderZone = folderZone
    self.isTool = isTool
  }
}

extension Recipe {
  /// Whether a text can be the name of a recipe: letters, digits, `-` and `_`, at most a hundred of them.
  package static func isName(_ text: String) -> Bool {
    !text.isEmpty && text.utf8.count <= 100
      && text.utf8.allSatisfy {
        ASCII.lowercase.contains($0 | 0x20) || ASCII.digits.contains($0) || $0 == ASCII.minus || $0 == ASCII.underscore
      }
  }

  /// This recipe and all that it calls, each file once.
  package var all: [Recipe] {
    var found: [Recipe] = []
    var open = [self]
    while let recipe = open.popLast() {
      if found.contains(where: { $0 === recipe }) { continue }
      found.append(recipe)
      open += recipe.called
    }
    return found
  }

  /// The connections that it and the recipes it calls use, each once.
  package var connectionNames: [String] {
    var names: [String] = []
    for recipe in all {
      for step in recipe.allSteps {
        if case .action(let call) = step.kind, !names.contains(call.connection) { names.append(call.connection) }
      }
    }
    return names
  }

  /// All steps of the recipe, including steps inside others.
  package var allSteps: [Step] { Block.allSteps(in: blocks) }

  /// The blocks of steps that are in no other step.
  var blocks: [Block] { [steps, onFailure, finally].compactMap { $0 } }

  /// The secrets that it and the recipes it calls read.
  package var allSecrets: [(name: String, location: Diagnostic.Location?)] { all.flatMap(\.secrets) }

  /// The inputs as a declaration, against which the given values are checked.
  package var inputSchema: ObjectSchema { ObjectSchema(fields: inputs.map(\.declaration)) }

  /// Checks the inputs of a call, and adds the defaults of missing ones.
  package func inputs(ofCall given: Value) throws(ValueError) -> ValueMap {
    let faults = inputSchema.check(given, as: "with").filter { $0.severity == .error }
    guard faults.isEmpty else { throw ValueError(faults) }
    return withDefaults(inputSchema.restored(given).map ?? ValueMap())
  }

  /// Checks the inputs of a call in a plan, and adds defaults; an input that isn't wholly known is taken unchecked.
  package func inputs(ofPlannedCall given: Value) throws(ValueError) -> ValueMap {
    var (known, unknown) = (ValueMap(), ValueMap())
    for member in given.map?.members ?? [] {
      if member.value.firstUnknown == nil {
        known[member.key] = member.value
      } else {
        unknown[member.key] = member.value
      }
    }
    let schema = ObjectSchema(fields: inputs.map(\.declaration).filter { unknown[$0.name] == nil })
    let faults = schema.check(.map(known), as: "with").filter { $0.severity == .error }
    guard faults.isEmpty else { throw ValueError(faults) }
    var inputs = schema.restored(.map(known)).map ?? ValueMap()
    for member in unknown.members { inputs[member.key] = member.value }
    return withDefaults(inputs)
  }

  /// Adds the defaults of missing inputs.
  package func withDefaults(_ values: ValueMap) -> ValueMap { Recipe.withDefaults(values, for: inputs) }

  static func withDefaults(_ values: ValueMap, for inputs: [Input]) -> ValueMap {
    var values = values
    for input in inputs where values[input.name] == nil { values[input.name] = input.fallback }
    return values
  }

  /// A value that the recipe is started with.
  package struct Input: Sendable {
    /// The name, the type, and the limits of values.
    package var declaration: FieldSchema
    package var isSecret = false
    package var word = Word.input

    /// The word for a declared thing.
    package enum Word: String, Sendable {
      case input
      /// A value that a person is asked for.
      case field

      /// The mapping that gives the values, as messages call it.
      var path: String { "\(rawValue)s" }
    }

    package var name: String { declaration.name }
    package var summary: String { declaration.summary }
    package var fallback: Value? { declaration.fallback }
    package var isRequired: Bool { declaration.isRequired }
    /// The input's type, or that it is a secret, in a word.
    var kind: String { isSecret ? "secret" : declaration.type.name }
    /// The type as expressions see it.
    package var type: ValueType { declaration.type.inputType }

    /// The name, the type and the summary, on one line for people.
    package var words: String {
      let note = fallback.map { ", \($0.plainText) if left out" } ?? (isRequired ? "" : ", may be left out")
      return "\(name) (\(kind)\(note))\(summary.isEmpty ? "" : ": \(summary)")"
    }
  }

  /// How many runs of a group may be open at once.
  package struct ConcurrencyGroup: Sendable {
    package enum OnLimit: String, CaseIterable, Sendable { case queue, skip, cancelOldest }

    package var name: String
    package var limit: Int
    package var onLimit: OnLimit
  }
}

/// A name with the value that it stands for.
package struct NamedTemplate: Sendable {
  package var name: String
  package var template: ValueTemplate
}

extension Block {
  /// All steps of some blocks, including steps inside others.
  static func allSteps(in blocks: [Block]) -> [Step] {
    var found: [Step] = []
    var open = blocks.map(\.steps)
    while let steps = open.popLast() {
      for step in steps {
        found.append(step)
        if let block = step.onError?.steps { open.append(block.steps) }
        switch step.kind {
        case .block(let block, _): open.append(block.steps)
        case .cases(let cases): open += cases.list.map(\.block.steps)
        case .parallel(let branches): open += branches.map(\.block.steps)
        default: break
        }
        if let tell = step.question?.tell { open.append(tell.steps) }
      }
    }
    return found
  }
}
