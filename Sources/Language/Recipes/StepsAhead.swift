// The steps that follow a question, for the person who answers it.

import ActionKit
import Basics

extension Recipe {
  /// The steps that follow one of its steps, in its block and in the blocks around; of a recipe that is called in
  /// several places, in the first of them.
  package func steps(after step: Step) -> [Step] {
    var seen: Set<ObjectIdentifier> = []
    for block in blocks { if let found = block.steps(after: step, besides: &seen) { return found } }
    return []
  }
}

extension Block {
  /// The steps after a step that is in the block, or inside one of its steps; nil if it isn't.
  ///
  /// - Parameter seen: The steps that it isn't inside of: a recipe may be called in very many places.
  fileprivate func steps(after step: Step, besides seen: inout Set<ObjectIdentifier>) -> [Step]? {
    for (index, own) in steps.enumerated() where seen.insert(ObjectIdentifier(own)).inserted {
      let rest = Array(steps[(index + 1)...])
      if own === step { return rest }
      var blocks = own.blocks.map(\.block)
      if case .call(let call) = own.kind { blocks += call.recipe.blocks }
      for block in blocks {
        if let found = block.steps(after: step, besides: &seen) { return found + rest }
      }
    }
    return nil
  }
}

extension [Step] {
  /// How many are named at most.
  private static let most = 5

  /// The titles of the first ones that do something, each with its action, up to a question.
  package var titlesUpToQuestion: [String] {
    var titles: [String] = []
    for step in self where titles.count < Self.most {
      if step.asksPerson { break }
      switch step.kind {
      case .bindings, .failure: continue
      case .action(let call) where step.title != call.action.id: titles.append("\(step.title) (\(call.action.id))")
      default: titles.append(step.title)
      }
    }
    return titles
  }
}

extension Step {
  /// Whether it asks a person, or a step inside it does.
  fileprivate var asksPerson: Bool {
    let around = Block(steps: [self], scopeSize: 0, type: .init(fields: []))
    return Block.allSteps(in: [around]).contains { $0.question != nil }
  }
}
