// Finds improvements of valid recipes: simpler or safer ways to write them. A hint is never an error: each gives its
// reason and a fix.
//
// 1. Names that are never read: inputs, names of `let`, `as` and `indexAs`, and the id of a `let`. Other ids don't
//    count, because records, tests and messages use them too. But a step that only reads, and whose value is never
//    read, is useless.
// 2. Steps that are never reached, and conditions that are always or never true.
// 3. Waits that may last for ever: a `repeat` or an event without a time-out.
// 4. Plain writes inside a block that is tried again: a second try repeats the writes that succeeded in the first.
// 5. Schedules without a zone in the recipe, whose times depend on other files.
// 6. Parts that have a simpler form, or a newer name.
import ActionKit
package import Basics
import Expressions
import YAMLReader

extension Recipe {
  /// Possible improvements of the recipe's own file, in the order of the text.
  package var hints: [Diagnostic] {
    // The text was read and checked before, so it can be read again.
    guard let document = try? YAMLReader.read(source) else { return [] }
    var linter = Linter(recipe: self, document: document)
    linter.lint()
    return Diagnostics(linter.hints).sorted().list
  }
}

private struct Linter {
  let recipe: Recipe
  let document: YAMLDocument
  var hints: [Diagnostic] = []
  /// All that the recipe reads anywhere.
  private let read: [ValueReference]
  /// The ids of steps whose values are read.
  private let readSteps: Set<String>
  /// Whether all steps are read together.
  private let readsAllSteps: Bool

  init(recipe: Recipe, document: YAMLDocument) {
    self.recipe = recipe
    self.document = document
    let blocks = [recipe.steps, recipe.onFailure, recipe.finally].compactMap { $0 }
    read = blocks.flatMap(\.steps.references) + recipe.outputs.flatMap(\.template.references)
    let steps = read.filter { $0.name == "steps" }
    readSteps = Set(steps.compactMap(\.path.first))
    readsAllSteps = steps.contains(where: \.path.isEmpty)
  }

  mutating func lint() {
    let root = document.root
    if recipe.summary.isEmpty, let first = root.map?.members.first {
      hint("the recipe has no 'summary'; say in one sentence what it is for", at: first.key)
    }
    lintInputs(root["inputs"])
    lintSchedules(root)
    let handlers = [recipe.onFailure, recipe.finally].compactMap { $0 }.flatMap(\.steps.references)
    let after = recipe.outputs.flatMap(\.template.references) + handlers
    lint(recipe.steps, root["steps"], Surroundings(after: Set(after.map(\.name))))
    if let block = recipe.onFailure { lint(block, root["onFailure"], Surroundings()) }
    if let block = recipe.finally { lint(block, root["finally"], Surroundings()) }
  }

  private mutating func hint(_ message: MessageText, at value: Value) {
    var hint = Diagnostic(message, at: document.location(of: value), severity: .hint)
    let scalar = document.scalar(at: value.place)
    hint.fixes += hint.suggestions.compactMap { document.fix($0, for: scalar, with: value) }
    hint.suggestions = []
    hints.append(hint)
  }

  /// Words that advise to take a key of a map away, which suggest that.
  private func removing(_ name: String, of map: Value, _ words: String) -> MessageText {
    let edits = map.map.flatMap { map in
      map.members.first { $0.name == name }.flatMap { document.removing($0, from: map) }
    }
    return MessageText(words, edits.map { [.edits("remove '\(name)'", $0)] } ?? [])
  }

  // MARK: The top level

  private mutating func lintInputs(_ value: Value?) {
    // A step that hands all of them on reads each.
    if read.contains(where: { $0.name == "inputs" && $0.path.isEmpty }) { return }
    for input in recipe.inputs {
      let isRead = read.contains { $0.name == "inputs" && $0.path.first?.hasSameScalars(as: input.name) == true }
      guard !isRead, let key = value?.key(input.name) else { continue }
      hint("nothing reads the input '\(input.name)'; take it away, or read it as inputs.\(input.name)", at: key)
    }
  }

  private mutating func lintSchedules(_ root: Value) {
    guard root["zone"] == nil else { return }
    for entry in root["on"]?.list ?? [] where entry["zone"] == nil {
      guard let key = entry.key("cron") ?? entry.key("calendar") else { continue }
      hint(
        "the recipe says no zone, so the times are those of errand.yaml's zone, or UTC without one; add one, such as "
          + "zone: Europe/Bucharest", at: key)
    }
  }

  // MARK: Steps

  /// The context of a block.
  private struct Surroundings {
    /// The variables that are read after the block, where its names are seen.
    var after: Set<String> = []
    /// Whether anything reads the block's value, which is the object of its ids.
    var isGiven = false
    var isTriedAgain = false
  }

  private mutating func lint(_ block: Block, _ value: Value?, _ around: Surroundings) {
    // The last step that reads each variable, so that a long block is gone through once.
    var lastReads: [String: Int] = [:]
    for (index, step) in block.steps.enumerated() {
      for reference in [step].references { lastReads[reference.name] = index }
    }
    var isReached = true
    for (index, step) in block.steps.enumerated() {
      guard let item = value?.list?[index] else { return }
      if !isReached {
        hint("this is never reached, because the step before it always fails; take one of the two away", at: item)
        return
      }
      isReached = !step.alwaysFails
      lint(step, item, around) { lastReads[$0].map { $0 > index } ?? false || around.after.contains($0) }
    }
  }

  /// - Parameter isReadLater: Whether a variable is read after the step.
  private mutating func lint(
    _ step: Step, _ value: Value, _ around: Surroundings, isReadLater: (String) -> Bool
  ) {
    lintCondition(step, value)
    if let loop = step.loop { lintLoop(loop, step, value) }
    if let repetition = step.repetition, repetition.timeout == nil, repetition.maxRounds == nil,
      step.timeout.total == nil, let key = value.key("repeat")
    {
      hint("it is repeated for ever if 'until' never holds; say how long at most, such as timeout: 12h", at: key)
    }
    lintMemory(step, value["repeat"])
    switch step.kind {
    case .bindings(let names):
      lintNames(names, value["let"], isReadLater)
      if let id = value["id"] {
        let advice = removing("id", of: value, "take it away")
        hint("a 'let' step gives no value that an id could name, so nothing reads the id; \(advice)", at: id)
      }
    case .action(let call): lintAction(call, step, value, around)
    case .wait(.event(let name, _, _, _)):
      if step.timeout.total == nil, let key = value.key("wait") {
        hint("the run waits for ever if no event '\(name)' comes; say how long at most, such as timeout: 7d", at: key)
      }
    case .parallel(let branches):
      if branches.count == 1, let key = value.key("parallel") {
        hint("there is one branch only, and nothing beside it; write its steps without 'parallel'", at: key)
      }
    case .call(let call):
      let steps = recipe.triggers.isEmpty ? [] : call.recipe.all.flatMap(\.allSteps)
      if let limit = steps.lazy.compactMap(\.unsaidLimit).first, let key = value.key("call") {
        hint(
          "a command in the called recipe is ended after \(limit.written), the default, and this recipe starts by itself; "
            + "say there how long it may take, such as timeout: 1h", at: key)
      }
      let writes = call.recipe.all.flatMap(\.allSteps).compactMap(\.plainWrite)
      if around.isTriedAgain || step.isTriedAgain, let write = writes.first, let key = value.key("call") {
        hint(
          "'\(write)' in the called recipe is a plain write, and is done once more each time that this is tried again; "
            + "take 'retry' to the steps that need it", at: key)
      }
    default: break
    }
    for (role, _, block) in step.blocks {
      var inside = around
      inside.after = []
      let inner: Value?
      switch role {
      case .handler:
        inner = value["onError"]?["steps"] ?? value["onError"]
        inside.after = Set((step.onError?.value?.template.references ?? []).map(\.name))
        inside.isGiven = false
      case .tell:
        inner = (value["approve"] ?? value["ask"])?["tell"]
        inside.isGiven = false
      case .branch(let name):
        inner = value["parallel"]?[name]
        inside.isGiven = gives(step, around)
      case .choice(let name):
        inner = steps(ofCase: name, in: value)
        inside.isGiven = gives(step, around)
        if case .cases(let cases) = step.kind, let outputs = cases[name]?.outputs {
          inside.after = Set(outputs.flatMap(\.template.references).map(\.name))
          inside.isGiven = false
        }
      case .block:
        inner = value["steps"]
        inside.isTriedAgain = around.isTriedAgain || step.isTriedAgain
        // A 'repeat' around the block may read any of its steps in 'result'.
        inside.isGiven = gives(step, around) || step.repetition != nil
        if case .block(_, let outputs?) = step.kind {
          inside.after = Set(outputs.flatMap(\.template.references).map(\.name))
          inside.isGiven = false
        }
      }
      lint(block, inner, inside)
    }
  }

  /// The list of steps of a case, in the text of the step around.
  private func steps(ofCase name: String, in value: Value) -> Value? {
    if name == "if" { return value["steps"] }
    let number = name.hasPrefix("case") ? Int(name.dropFirst(4)) : nil
    let members = value["cases"]?.map?.members ?? []
    let content = number.map { members.indices.contains($0 - 1) ? members[$0 - 1].value : .null } ?? value[name]
    return content?.map == nil ? content : content?["steps"]
  }

  /// Whether anything reads a step's value, alone or as a part of its block's.
  private func gives(_ step: Step, _ around: Surroundings) -> Bool {
    guard let id = step.id else { return false }
    return around.isGiven || readsAllSteps || readSteps.contains(id)
  }

  private mutating func lintCondition(_ step: Step, _ value: Value) {
    if case .cases(let cases) = step.kind, cases.isSwitch, case .choice(let words) = cases.subject.program.type,
      words.allSatisfy({ word in cases.list.contains { $0.value?.string?.hasSameScalars(as: word) ?? false } }),
      let key = value.key("default")
    {
      let advice = removing("default", of: value, "take it away")
      hint("'default' never comes, because each value has a case; \(advice)", at: key)
    }
    if case .cases(let cases) = step.kind, !cases.isSwitch {
      guard let truth = cases.subject.constant?.bool, let key = value.key("if") else { return }
      return hint(
        "the condition is \(truth ? "always" : "never") true, so '\(truth ? "else" : "steps")' never runs; take one of "
          + "the two away, or mend the condition", at: key)
    }
    guard let condition = step.condition, let truth = condition.constant?.bool, let key = value.key("if") else {
      return
    }
    hint(
      truth
        ? "the condition is always true; \(removing("if", of: value, "leave 'if' out"))"
        : "the condition is never true, so the step never runs; take the step away, or mend the condition", at: key)
  }

  /// Carried values that no round changes, though `until` may depend on them.
  private mutating func lintMemory(_ step: Step, _ value: Value?) {
    guard let repetition = step.repetition else { return }
    let read = repetition.until.references.map(\.name)
    for carried in repetition.carried {
      guard !repetition.next.contains(where: { $0.name.hasSameScalars(as: carried.name) }),
        let key = value?["carry"]?.key(carried.name)
      else { continue }
      let what =
        read.contains(where: carried.name.hasSameScalars)
        ? "'until' reads '\(carried.name)', but 'next' never changes it"
        : "'next' never changes '\(carried.name)', so that every round has the same"
      hint("\(what); add it to 'next', or name the value with 'let' before the step", at: key)
    }
  }

  private mutating func lintLoop(_ loop: Loop, _ step: Step, _ value: Value) {
    if loop.items.constant?.list?.isEmpty == true, let key = value.key("forEach") {
      hint("the list has no items, so the step never runs; take the step away, or mend the list", at: key)
    }
    let inside = [step].references
    if let name = value["as"], !inside.contains(where: { $0.name.hasSameScalars(as: loop.itemName) }) {
      hint("nothing in the loop reads '\(loop.itemName)'; leave 'as' out, or read it", at: name)
    }
    if let index = loop.indexName, let name = value["indexAs"],
      !inside.contains(where: { $0.name.hasSameScalars(as: index) })
    {
      hint("nothing in the loop reads '\(index)'; leave 'indexAs' out, or read it", at: name)
    }
  }

  private mutating func lintNames(_ names: [NamedTemplate], _ value: Value?, _ isReadLater: (String) -> Bool) {
    for (index, name) in names.enumerated() {
      let isReadHere = names[(index + 1)...].contains { $0.template.references.contains { $0.name == name.name } }
      guard !isReadHere, !isReadLater(name.name), let key = value?.key(name.name) else { continue }
      hint("nothing reads '\(name.name)'; take it away, or read it in a later step", at: key)
    }
  }

  private mutating func lintAction(_ call: ActionCall, _ step: Step, _ value: Value, _ around: Surroundings) {
    guard let uses = value["uses"] else { return }
    if let name = uses.string, !name.hasSameScalars(as: call.action.id) {
      hint(MessageText("'\(name)' is called '\(call.action.id)' now; write that", [.text(call.action.id)]), at: uses)
    }
    if !recipe.triggers.isEmpty, let limit = step.unsaidLimit {
      hint(
        "the command is ended after \(limit.written), the default, and the recipe starts by itself; say how long it may "
          + "take, such as timeout: 1h", at: uses)
    }
    if let every = step.repetition?.every, every < .seconds(1), call.action.effect != .pure,
      let key = value.key("repeat")
    {
      hint(
        "a service is asked every \(every.written); it may refuse that, so ask every 10s or less often", at: key)
    }
    if around.isTriedAgain, let write = step.plainWrite {
      hint(
        "'\(write)' is a plain write inside a block that is tried again, which does it once more even if it succeeded; "
          + "take 'retry' to the steps that need it, or the write out of the block", at: uses)
    }
    let onlyReads = call.action.effect == .pure || call.action.effect == .read
    if onlyReads, step.repetition == nil, !gives(step, around) {
      let how = step.id.map { "read it as steps.\($0)" } ?? "give it an 'id' and read it"
      hint(
        "nothing reads what '\(call.action.id)' gives, and it changes nothing; take the step away, or \(how)", at: uses)
    }
  }
}

extension [Step] {
  /// The values that the steps read, also in the steps inside them.
  fileprivate var references: [ValueReference] {
    flatMap { $0.ownReferences + $0.blocks.flatMap(\.block.steps.references) }
  }
}

extension Step {
  /// Whether nothing can come after it in its block.
  var alwaysFails: Bool {
    guard condition == nil || condition?.constant?.bool == true, loop == nil, onError == nil else { return false }
    return switch kind {
    case .failure: true
    case .block(let block, _): block.steps.contains(where: \.alwaysFails)
    case .cases(let cases): cases.list.allSatisfy { $0.block.steps.contains(where: \.alwaysFails) }
    default: false
    }
  }

  /// The time limit of its command, if it comes from the action only; nil if the recipe sets one, or there is no
  /// command.
  fileprivate var unsaidLimit: TimeSpan? {
    guard case .action(let call) = kind, call.action.takesEffect, timeout.total == nil, timeout.attempt == nil else {
      return nil
    }
    return call.action.timeout
  }

  /// The id of its action, if repeating the action repeats its write.
  fileprivate var plainWrite: String? {
    guard case .action(let call) = kind, call.action.effect == .write, call.key == nil else { return nil }
    return call.action.id
  }
}

extension RecipeExpression {
  /// The value, if it depends on nothing.
  var constant: Value? { references.isEmpty ? try? evaluate(in: []) : nil }
}

extension Value {
  /// The key of a member, with its place.
  fileprivate func key(_ name: String) -> Value? {
    map?.members.first { $0.name?.hasSameScalars(as: name) ?? false }?.key
  }
}

extension Step {
  /// Whether `retry` has it done more than once.
  fileprivate var isTriedAgain: Bool { retry.map { $0.schedule.maxAttempts > 1 } ?? false }
}
