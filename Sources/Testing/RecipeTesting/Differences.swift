import Basics
import Recipes

/// The differences of two values, as people read them.
enum Differences {
  /// Whether a value equals the expected one: numbers by their value, instants and the like by their text.
  static func areSame(_ expected: Value, _ found: Value) -> Bool {
    switch (expected.content, found.content) {
    case (.list(let left), .list(let right)):
      return left.count == right.count && zip(left, right).allSatisfy { areSame($0, $1) }
    case (.map(let left), .map(let right)):
      return left.count == right.count
        && left.members.allSatisfy { member in
          right[member.key.plainText].map { areSame(member.value, $0) } ?? false
        }
    case (.double(let left), .double(let right)): return left == right || left.isNaN && right.isNaN
    case (.int(let left), .double(let right)): return Double(left) == right
    case (.double(let left), .int(let right)): return left == Double(right)
    case (.string, .timestamp), (.string, .duration), (.string, .bytes), (.int, .uint):
      return expected.plainText.hasSameScalars(as: found.plainText)
    default: return expected == found
    }
  }

  /// Whether the value takes a line of its own in a message.
  static func isShort(_ value: Value) -> Bool {
    switch value.content {
    case .list(let items): items.isEmpty
    case .map(let map): map.isEmpty
    case .string(let text): text.utf8.count <= 80 && !text.utf8.contains(ASCII.newline)
    default: true
    }
  }

  /// The lines to remove (`-`) from the expected text and to add (`+`) to get the actual one; common lines are shown
  /// next to such a line.
  static func lines(_ expected: Value, _ found: Value?) -> [String] {
    let left = text(expected)
    let right = found.map(text) ?? []
    var displayed: [String] = []
    var hasGap = false
    let rows = rows(left, right)
    for (index, row) in rows.enumerated() {
      let isNear = (index - 1...index + 1).contains { rows.indices.contains($0) && rows[$0].sign != " " }
      if row.sign == " ", !isNear {
        hasGap = true
        continue
      }
      if hasGap { displayed.append("  …") }
      hasGap = false
      displayed.append("\(row.sign) \(row.line)")
    }
    if hasGap { displayed.append("  …") }
    return displayed
  }

  private static func text(_ value: Value) -> [String] {
    if let items = value.list, items.allSatisfy({ $0.string != nil }) { return items.compactMap(\.string) }
    if let text = value.string { return lines(of: text) }
    return lines(of: JSON.displayed(value, .prettySorted))
  }

  private static func lines(of text: String) -> [String] {
    text.utf8.split(separator: ASCII.newline, omittingEmptySubsequences: false).map { String(Substring($0)) }
  }

  private typealias Row = (sign: String, line: String)

  /// Beyond this many lines they aren't compared one by one, because the table grows with their product.
  private static let most = 1000

  /// The longest common subsequence, with the other lines around it.
  private static func rows(_ left: [String], _ right: [String]) -> [Row] {
    guard left.count <= most, right.count <= most else {
      return left.map { ("-", $0) } + right.map { ("+", $0) }
    }
    var lengths = [[Int]](repeating: [Int](repeating: 0, count: right.count + 1), count: left.count + 1)
    for i in left.indices.reversed() {
      for j in right.indices.reversed() {
        lengths[i][j] =
          left[i].hasSameScalars(as: right[j])
          ? lengths[i + 1][j + 1] + 1 : max(lengths[i + 1][j], lengths[i][j + 1])
      }
    }
    var rows: [Row] = []
    var (i, j) = (0, 0)
    while i < left.count || j < right.count {
      if i < left.count, j < right.count, left[i].hasSameScalars(as: right[j]) {
        rows.append((" ", left[i]))
        (i, j) = (i + 1, j + 1)
      } else if i < left.count, j == right.count || lengths[i + 1][j] >= lengths[i][j + 1] {
        rows.append(("-", left[i]))
        i += 1
      } else {
        rows.append(("+", right[j]))
        j += 1
      }
    }
    return rows
  }
}
