import ActionKit
import Basics
import PluginLocks

/// Finds the differences between a lock and its server: missing tools, types, effects and links between tools.
///
/// Descriptions don't count, nor do tools that only the server has.
enum LockDrift {
  private static let mostLines = 20

  /// The differences, each a line.
  static func lines(_ lock: PluginLock, _ offered: PluginLock) throws(PluginLockError) -> [String] {
    var lines: [String] = []
    for name in lock.actionNames {
      guard let locked = try lock.action(name) else { continue }
      let tool = locked.call["tool"]?.string ?? name
      let other = offered.actionNames.first { offered.document["actions"]?[$0]?["call"]?["tool"]?.string == tool }
      guard let other, var found = try offered.action(other) else {
        lines.append("\(name): the server doesn't have the tool '\(tool.safe)'")
        continue
      }
      // A lock that was made before such a field was read can be used as it is.
      if locked.call["whole"] == nil, let whole = found.call["whole"]?.string, var call = found.call.map {
        call["whole"] = nil
        found.call = .map(call)
        found.input = ObjectSchema(fields: found.input.fields.filter { $0.name != whole })
      }
      lines += LockDifference.details(from: locked, to: found).map { "\(name): \($0.safe.shortened(to: 200))" }
    }
    let rest = lines.count - mostLines
    return rest > 0 ? lines.prefix(mostLines) + ["and \(rest) more"] : lines
  }
}
