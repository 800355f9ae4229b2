// Rules for every plugin that `PluginReview` doesn't check: examples are valid YAML and survive being read
// and written, and the two forms of a pattern agree.

import _StringProcessing
public import ActionKit
public import Testing

/// Checks all that must hold of every plugin; each plugin's tests call it once.
public func expectWellFormed(_ plugin: any Plugin.Type, sourceLocation: SourceLocation = #_sourceLocation) {
  for fault in faults(of: plugin) { Issue.record(Comment(rawValue: fault), sourceLocation: sourceLocation) }
}

/// The faults of a plugin's declarations, in their order.
package func faults(of plugin: any Plugin.Type) -> [String] { faults(of: PluginDescriptor(plugin)) }

/// The faults of a plugin's declarations, its examples included.
///
/// - Parameter isFromOutside: Whether others wrote its names and sentences.
package func faults(of plugin: PluginDescriptor, isFromOutside: Bool = false) -> [String] {
  var review = PluginReview(isFromOutside: isFromOutside, examiner: Examiner())
  review.review(plugin)
  return review.faults
}

private struct Examiner: PluginExaminer {
  /// An example must be what a recipe could say, and survive being read and written.
  func faults(of example: Example, of action: ActionDescriptor) -> [String] {
    var faults: [String] = []
    let name = "'\(action.id)', example '\(example.title)'"
    if example.title.isEmpty || example.title.hasSuffix(".") {
      faults.append("\(name): the title is a heading, without full stop")
    }
    let value: Value
    do { value = try example.value() } catch {
      faults += error.list.map { "\(name): \($0.headline)" }
      return faults
    }
    let found = action.input.check(
      value, as: "with", isExpression: { value, _, _ in value.string?.contains("${{") == true })
    faults += found.map { "\(name): \($0.message)" }
    guard found.isEmpty, !value.holdsExpression else { return faults }
    do {
      let written = try action.input.rewritten(action.input.restored(value))
      let back = try action.input.rewritten(action.input.restored(JSON.parse(JSON.write(written))))
      if written != back { faults.append("\(name): is not the same after being written and read") }
    } catch {
      faults.append("\(name): cannot be read and written: \(error)")
    }
    return faults
  }

  /// The samples of a pattern hold its two forms together.
  func faults(of pattern: TextPattern, _ name: String) -> [String] {
    var faults: [String] = []
    guard let regex = try? Regex(pattern.regex) else { return ["\(name): '\(pattern.regex)' is no regular expression"] }
    if pattern.accepted.isEmpty || pattern.refused.isEmpty {
      faults.append("\(name): the pattern needs samples of what it accepts and refuses")
    }
    for sample in pattern.accepted where !pattern.matches(sample) {
      faults.append("\(name): the pattern refuses its own sample '\(sample)'")
    }
    for sample in pattern.accepted where (try? regex.wholeMatch(in: sample)) == nil {
      faults.append("\(name): the pattern's regular expression refuses its own sample '\(sample)'")
    }
    for sample in pattern.refused where pattern.matches(sample) {
      faults.append("\(name): the pattern accepts '\(sample)', which it should refuse")
    }
    return faults
  }
}

extension Value {
  fileprivate var holdsExpression: Bool {
    switch content {
    case .string(let text): text.contains("${{")
    case .list(let items): items.contains { $0.holdsExpression }
    case .map(let map): map.members.contains { $0.value.holdsExpression }
    default: false
    }
  }
}
