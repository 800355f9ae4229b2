// Updates the recorded values in a test file: outputs, runs, requests and slots that differ from the expected ones.
//
// Only the bytes of the value change, so that comments, order and the rest of the layout stay. A list or map in block
// form stays one, at its column; everything else is written on one line.
import Basics
import Recipes
import YAMLReader

enum RecordedParts {
  /// The file with the found values in place of the expected ones; nil if nothing recorded differs.
  static func updated(_ source: Source, _ failures: [TestFailure]) -> [UInt8]? {
    var edits: [(old: Range<Int>, new: String)] = []
    for failure in failures {
      guard let record = failure.record, !record.old.isEmpty,
        !edits.contains(where: { $0.old.overlaps(record.old) })
      else { continue }
      let first = source.bytes[record.old.lowerBound]
      let isBlock =
        !record.isShort && first != ASCII.openBracket && first != ASCII.openBrace && first != ASCII.quote
        && first != ASCII.apostrophe
      let column = source.position(at: record.old.lowerBound).column - 1
      edits.append((record.old, isBlock ? block(record.new, at: column) : line(record.new)))
    }
    guard !edits.isEmpty else { return nil }
    var bytes = source.bytes
    for edit in edits.sorted(by: { $0.old.lowerBound > $1.old.lowerBound }) {
      bytes.replaceSubrange(edit.old, with: edit.new.utf8)
    }
    return bytes
  }

  /// A value in block form, with its items on one line each.
  private static func block(_ value: Value, at column: Int) -> String {
    let indentation = "\n" + String(repeating: " ", count: column)
    if let items = value.list, !items.isEmpty {
      return items.map { "- \(line($0))" }.joined(separator: indentation)
    }
    if let map = value.map, !map.isEmpty {
      return map.members.map { "\($0.key.plainText.asYAML): \(line($0.value))" }.joined(separator: indentation)
    }
    return line(value)
  }

  /// A value in one line.
  static func line(_ value: Value) -> String {
    switch value.content {
    case .list(let items): "[\(items.map(line).joined(separator: ", "))]"
    case .map(let map) where map.isEmpty: "{}"
    case .map(let map):
      "{ \(map.members.map { "\($0.key.plainText.asYAML): \(line($0.value))" }.joined(separator: ", ")) }"
    case .string(let text): text.asYAML
    case .null: "null"
    case .bool, .int, .uint: value.plainText
    case .double(let number) where !number.isFinite: number.isNaN ? ".nan" : number < 0 ? "-.inf" : ".inf"
    case .double: JSON.displayed(value)
    default: JSON.quoted(value.plainText)
    }
  }
}
