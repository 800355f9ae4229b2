import Basics
import Expressions

/// A place where a recipe reads a value: a variable, and the constant part of the path after it.
package struct ValueReference: Hashable, Sendable {
  package var name: String
  package var path: [String]
}

extension RecipeExpression {
  /// The values that it reads, in the order of the text.
  package var references: [ValueReference] {
    program.referencedPaths.map { ValueReference(name: $0.name, path: $0.path) }
  }
}

extension ValueTemplate {
  /// The values that its expressions read, in the order of the text.
  package var references: [ValueReference] {
    switch self {
    case .literal: []
    case .template(let located):
      located.template.programs.flatMap(\.referencedPaths).map { ValueReference(name: $0.name, path: $0.path) }
    case .list(let items, _): items.flatMap(\.references)
    case .map(let members, _): members.flatMap(\.value.references)
    }
  }
}

extension Repetition {
  fileprivate var references: [ValueReference] {
    carried.flatMap(\.first.references) + next.flatMap(\.template.references) + (collect?.references ?? [])
      + until.references
  }
}

extension QuestionSettings {
  fileprivate var references: [ValueReference] {
    prompt.references + (yes?.references ?? []) + (no?.references ?? [])
  }
}

extension Step {
  /// The values that its own expressions read; steps inside it don't count.
  package var ownReferences: [ValueReference] {
    var found = condition?.references ?? []
    found += loop?.items.references ?? []
    found += loop?.condition?.references ?? []
    found += retry?.condition?.references ?? []
    found += repetition?.references ?? []
    switch kind {
    case .action(let call):
      found += call.input.references + (call.key?.references ?? [])
    case .bindings(let names): found += names.flatMap(\.template.references)
    case .wait(.duration(let expression)), .wait(.until(let expression)): found += expression.references
    case .wait(.event(_, let match, _, _)): found += match?.references ?? []
    case .wait(.span): break
    case .approval(let approval): found += approval.question.references
    case .ask(let ask): found += ask.question.references + ask.fields.flatMap { $0.fallback?.references ?? [] }
    case .parallel: break
    case .block(_, let outputs): found += outputs?.flatMap(\.template.references) ?? []
    case .cases(let cases):
      found += cases.subject.references
      found += cases.list.flatMap { $0.outputs?.flatMap(\.template.references) ?? [] }
    case .call(let call): found += call.inputs.references
    case .failure(let message): found += message.references
    }
    // The step itself sets `error`.
    found += onError?.value?.template.references.filter { $0.name != "error" } ?? []
    return found
  }

  /// The blocks inside it, each with its role and the prefix of its steps' paths in records.
  package var blocks: [(role: BlockRole, prefix: String, block: Block)] {
    var found: [(BlockRole, String, Block)] = []
    switch kind {
    case .block(let block, _): found.append((.block, "/", block))
    case .cases(let cases): found += cases.list.map { (.choice($0.name), $0.prefix, $0.block) }
    case .parallel(let branches): found += branches.map { (.branch($0.name), "/\($0.name)/", $0.block) }
    default: break
    }
    if let block = question?.tell { found.append((.tell, QuestionSettings.tellPrefix, block)) }
    if let block = onError?.steps { found.append((.handler, "!/", block)) }
    return found
  }

  /// The name of a block inside it for people; nil for one that needs none.
  func label(of role: BlockRole) -> String? {
    switch role {
    case .block: nil
    case .branch(let name): name
    case .choice(let name): if case .cases(let cases) = kind { cases[name]?.label } else { nil }
    case .handler: "on error"
    case .tell: "tell"
    }
  }

  /// The role of a block inside a step.
  package enum BlockRole: Sendable, Equatable {
    case block, branch(String), handler
    /// The steps that tell people of a question.
    case tell
    /// One of several cases, by its name.
    case choice(String)
  }
}
