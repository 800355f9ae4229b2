import ActionKit
import Basics
import PluginLocks

/// What a server offers otherwise than its lock says: types, effects and what belongs together; not what is said of them,
/// and not what only the server has.
enum LockDrift {
  private static let mostLines = 20

  /// The differences, each a line.
  static func lines(_ lock: PluginLock, _ offered: PluginLock) throws(PluginLockError) -> [String] {
    var lines: [String] = []
    for name in lock.actionNames {
      guard let locked = try lock.action(name) else { continue }
      let tool = locked.call["tool"]?.string ?? name
      let other = offered.actionNames.first { offered.document["actions"]?[$0]?["call"]?["tool"]?.string == tool }
      guard let other, let found = try offered.action(other) else {
        lines.append("\(name): the server doesn't have the tool '\(tool.safe)'")
        continue
      }
      compare(entry(locked), entry(found), name, &lines)
    }
    let rest = lines.count - mostLines
    return rest > 0 ? lines.prefix(mostLines) + ["and \(rest) more"] : lines
  }

  /// What counts of an action.
  private static func entry(_ action: LockedAction) -> Value {
    var action = action
    (action.summary, action.name, action.effectSource) = ("", "", .standard)
    (action.input, action.output) = (action.input.bare, action.output.bare)
    var call = action.call.map ?? ValueMap()
    call["hints"] = nil
    action.call = .map(call)
    var encoder = LockEncoder()
    return .map(action.entry(&encoder))
  }

  private static func compare(_ locked: Value, _ found: Value, _ path: String, _ lines: inout [String]) {
    // Values are as deep as the types in locks, which are bounded.
    if let left = locked.map, let right = found.map {
      let names = Set((left.members + right.members).compactMap(\.name)).sorted { $0.precedesByScalars($1) }
      for name in names {
        let path = "\(path).\(name.safe)"
        switch (left[name], right[name]) {
        case (let left?, let right?): compare(left, right, path, &lines)
        case (let left?, nil): lines.append("\(path): \(shown(left)) in the lock, missing at the server")
        case (nil, let right?): lines.append("\(path): missing in the lock, \(shown(right)) at the server")
        case (nil, nil): continue
        }
      }
    } else if JSON.shown(locked) != JSON.shown(found) {
      lines.append("\(path): \(shown(locked)) in the lock, \(shown(found)) at the server")
    }
  }

  private static func shown(_ value: Value) -> String {
    (value.string ?? JSON.shown(value)).safe.shortened(to: 80)
  }
}

extension ObjectSchema {
  /// The fields in the order of their names, without what is said of them.
  fileprivate var bare: ObjectSchema {
    ObjectSchema(
      fields: fields.map { field in
        var field = field
        field.summary = ""
        field.deprecation = nil
        field.type = field.type.bare
        return field
      }.sorted { $0.name.precedesByScalars($1.name) })
  }
}

extension FieldType {
  fileprivate var bare: FieldType {
    switch self {
    case .bool, .int, .double, .string, .date, .bytes, .timestamp, .duration, .dyn, .choice: self
    case .list(let element): .list(element.bare)
    case .map(let element): .map(element.bare)
    case .object(let schema): .object(schema.bare)
    case .optional(let wrapped): .optional(wrapped.bare)
    case .secret(let wrapped): .secret(wrapped.bare)
    }
  }
}
