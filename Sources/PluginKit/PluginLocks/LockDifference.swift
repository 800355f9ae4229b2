// The differences between two locks of a plugin that affect recipes: actions, effects, and the types of inputs and
// outputs. Sentences are ignored.

package import ActionKit
import Basics

/// The differences between an old and a new lock.
package struct LockDifference: Sendable {
  /// One action that differs.
  package struct Change: Sendable, Equatable {
    package enum Kind: Sendable { case added, removed, changed }
    package var action: String
    package var kind: Kind
    /// The differences, one a line: `input.limit: int → string`.
    package var details: [String]
  }

  /// The changes, sorted by action name.
  package let changes: [Change]
  /// The differences that affect every call, one a line, such as the service's address and its authentication.
  package let connection: [String]

  /// - Parameter isWhole: Whether actions that only the new lock has are changes.
  package init(from old: PluginLock, to new: PluginLock, isWhole: Bool = true) throws(PluginLockError) {
    var changes: [Change] = []
    for name in Set(old.actionNames + new.actionNames).sorted(by: { $0.precedesByScalars($1) }) {
      switch (try old.action(name), try new.action(name)) {
      case (let before?, let after?):
        let details = Self.details(from: before, to: after)
        if !details.isEmpty { changes.append(Change(action: name, kind: .changed, details: details)) }
      case (let before?, nil):
        changes.append(Change(action: name, kind: .removed, details: [before.effect.written]))
      case (nil, let after?):
        if isWhole { changes.append(Change(action: name, kind: .added, details: [after.effect.written])) }
      case (nil, nil): continue
      }
    }
    self.changes = changes
    let (before, after) = (old.connection.map ?? ValueMap(), new.connection.map ?? ValueMap())
    let names = Set((before.members + after.members).compactMap(\.name)).sorted { $0.precedesByScalars($1) }
    connection = names.filter { before[$0] != after[$0] }.map { name in
      func displayed(_ value: Value?) -> String { value.map { $0.string ?? JSON.displayed($0) } ?? "nothing" }
      return "\(name): \(displayed(before[name])) → \(displayed(after[name]))"
    }
  }

  package var isEmpty: Bool { changes.isEmpty && connection.isEmpty }

  /// The differences as lines, with `+`, `-` and `~` before actions.
  package var lines: [String] {
    (connection.isEmpty ? [] : ["~ the connection"] + connection.map { "    \($0)" })
      + changes.flatMap { change in
        switch change.kind {
        case .added: ["+ \(change.action)  \(change.details.joined())"]
        case .removed: ["- \(change.action)  \(change.details.joined())"]
        case .changed: ["~ \(change.action)"] + change.details.map { "    \($0)" }
        }
      }
  }

  /// An effect that is less restrictive than before.
  package struct WeakerEffect: Sendable {
    package var action: String
    package var before: Effect
    package var after: Effect
    /// The source of the new effect.
    package var source: LockedAction.EffectSource
  }

  /// The actions in both locks whose effect is less restrictive than before, even if an action can't be fully read.
  package static func weakerEffects(from old: PluginLock, to new: PluginLock) -> [WeakerEffect] {
    func effect(_ name: String, _ lock: PluginLock) -> Effect? {
      lock.document["actions"]?[name]?["effect"]?.string.flatMap(Effect.init(written:))
    }
    return new.actionNames.compactMap { name in
      guard let before = effect(name, old), let after = effect(name, new), after.isWeaker(than: before) else {
        return nil
      }
      let source = new.document["actions"]?[name]?["effectFrom"]?.string.flatMap(LockedAction.EffectSource.init)
      return WeakerEffect(action: name, before: before, after: after, source: source ?? .standard)
    }
  }

  /// The differences between two actions, one a line.
  package static func details(from old: LockedAction, to new: LockedAction) -> [String] {
    var details: [String] = []
    if old.effect != new.effect { details.append("effect: \(old.effect.written) → \(new.effect.written)") }
    if old.acceptsKey != new.acceptsKey {
      details.append(new.acceptsKey ? "+ takes an idempotency key" : "- takes an idempotency key")
    }
    if old.timeout != new.timeout {
      details.append("time-out: \(words(old.timeout)) → \(words(new.timeout))")
    }
    details += difference(from: old.input, to: new.input, of: "input")
    details += difference(from: old.output, to: new.output, of: "output")
    if old.call.withoutHints != new.call.withoutHints { details.append("called in another way") }
    return details
  }

  private static func words(_ timeout: TimeSpan?) -> String { (timeout ?? ActionDescriptor.standardTimeout).written }

  /// The differences of the inputs or of the outputs, one a line, each with its field's path.
  private static func difference(from old: ObjectSchema, to new: ObjectSchema, of side: String) -> [String] {
    var (before, after) = (ValueMap(), ValueMap())
    old.describe(side, in: &before)
    new.describe(side, in: &after)
    var lines: [(path: String, line: String)] = []
    for member in before.members {
      guard let path = member.name, let word = member.value.string else { continue }
      guard let other = after[path]?.string else {
        // If a whole field is gone, its parts aren't listed.
        if !hasParent(of: path, lines.map(\.path)) { lines.append((path, "- \(path) (\(word))")) }
        continue
      }
      if other != word { lines.append((path, "\(path): \(word) → \(other)")) }
    }
    var added: [String] = []
    for member in after.members {
      guard let path = member.name, let word = member.value.string, before[path] == nil,
        !hasParent(of: path, added)
      else { continue }
      added.append(path)
      lines.append((path, "+ \(path) (\(word))"))
    }
    return lines.map(\.line)
  }

  private static func hasParent(of path: String, _ paths: [String]) -> Bool {
    paths.contains { path.hasPrefix("\($0).") || path.hasPrefix("\($0)[]") }
  }
}

extension Effect {
  /// Whether Errand does more without asking than with the other effect.
  ///
  /// With a weaker effect, it may run the action for a plan, repeat it, or assume that it changes less.
  func isWeaker(than other: Effect) -> Bool { rank < other.rank || repeats(more: other) }

  private var rank: Int {
    switch self {
    case .pure: 0
    case .read: 1
    case .consume: 2
    case .idempotentWrite: 3
    case .write: 4
    }
  }

  /// Whether the action is repeated when it wouldn't be with the other effect.
  private func repeats(more other: Effect) -> Bool {
    switch (self, other) {
    case (.write, _), (_, .pure), (_, .read): false
    case (.consume(let own), .consume(let others)): own > others
    case (.consume(let own), .write): own > 0
    case (.idempotentWrite(let own), .idempotentWrite(let others)):
      switch (own, others) {
      case (_, .forever): false
      case (.span(let own), .span(let others)): own > others
      default: own != others
      }
    case (.consume, .idempotentWrite): false
    case (.pure, _), (.read, _), (.idempotentWrite, _): true
    }
  }
}

extension Value {
  /// A call without the server's hints about its effect, which matter only if they became the effect.
  fileprivate var withoutHints: Value {
    guard var map else { return self }
    map["hints"] = nil
    return .map(map)
  }
}

extension ObjectSchema {
  /// Adds each field's type, and whether it is required, by path; stops at 20,000 fields.
  fileprivate func describe(_ path: String, in map: inout ValueMap) {
    for field in fields.sorted(by: { $0.name.precedesByScalars($1.name) }) {
      guard map.count < 20_000 else { return }
      let name = "\(path).\(field.name)"
      let nested = field.type.nested
      let words =
        [nested == nil ? field.type.name : "fields", field.isRequired ? nil : "optional"]
        + field.limits.map { "must \($0.words(for: field.type))" }
      map[name] = .string(words.compactMap(\.self).joined(separator: ", "))
      if let (schema, suffix) = nested { schema.describe("\(name)\(suffix)", in: &map) }
    }
  }
}
