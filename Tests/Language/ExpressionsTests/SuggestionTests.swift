import Basics
import Expressions
import Foundation
import Testing

/// A fix that a message suggests must itself check.
@Suite struct SuggestionTests {
  /// Values to put in the place of `…` in a suggestion: one of them fits.
  private static let fillers = [
    "0", "0.0", "'x'", "false", "[]", "{}", "timestamp(0)", "duration('1s')", "optional.none()", "0u", "n",
    "{'state': 'ready'}", "'ready'", "inputs.tags",
  ]

  /// The texts before the backticks of a suggestion.
  private static let leads = [
    "rite", "compare it, as in", "methods, as in", "split it first, as in", "a list of one is", "every item is",
    "added as a list:", "asked with", "read one item,", "or all,",
  ]

  /// The fixes in backticks of a message, with something in the place of `…`.
  private static func suggestions(of message: String) -> [[String]] {
    var found: [[String]] = []
    for lead in leads {
      var rest = message[...]
      while let start = rest.range(of: "\(lead) `") {
        rest = rest[start.upperBound...]
        guard let end = rest.firstIndex(of: "`") else { break }
        let text = String(rest[..<end])
        rest = rest[end...]
        found.append(text.contains("…") ? fillers.map { text.replacingOccurrences(of: "…", with: $0) } : [text])
      }
    }
    return found
  }

  private static func faults(_ text: String) -> [ExpressionFault] {
    switch CompiledExpression.compile(text, in: CheckerTests.scope) {
    case .success: []
    case .failure(let faults): faults.list
    }
  }

  /// Possible places for a suggestion: the fault, a part of it, or an expression around it.
  private static func places(_ text: String, _ range: Range<Int>) -> [Range<Int>] {
    let bytes = Array(text.utf8)
    var ends: [Int] = [0, bytes.count]
    func isWord(_ byte: UInt8) -> Bool {
      byte == 0x5F || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
    }
    for index in bytes.indices.dropFirst() where !(isWord(bytes[index]) && isWord(bytes[index - 1])) {
      ends.append(index)
    }
    let sorted = Set(ends).sorted()
    var places: [Range<Int>] = [range, 0..<bytes.count]
    for start in sorted {
      for end in sorted where end > start && start < range.upperBound && end > range.lowerBound {
        places.append(start..<end)
      }
    }
    return places
  }

  private static func replacing(_ text: String, _ range: Range<Int>, _ other: String) -> String {
    let bytes = Array(text.utf8)
    return String(decoding: bytes[..<range.lowerBound] + Array(other.utf8) + bytes[range.upperBound...], as: UTF8.self)
  }

  @Test func `every fix that the table of faults suggests is one`() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Snapshots/Checked.txt")
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    var count = 0
    for line in lines where !line.hasPrefix("    ") {
      let text = String(line)
      let before = Self.faults(text)
      for fault in before {
        for choices in Self.suggestions(of: fault.message) {
          count += 1
          let isFixed = Self.places(text, fault.range).contains { place in
            choices.contains { choice in
              let after = Self.faults(Self.replacing(text, place, choice))
              return after.count < before.count && !after.contains { $0.message == fault.message }
            }
          }
          #expect(isFixed, "\(text)\n  \(fault.message)\n  \(choices[0])")
        }
      }
    }
    #expect(count > 60, "the table has \(count) suggestions")
  }

  @Test(arguments: [
    ("n == 'none'", "`==` does not compare an int with a string"),
    ("stats.round('none', 1)", "stats.round() wants a double, and `'none'` is a string"),
    ("now < 'tomorrow'", "`<` does not compare a timestamp with a string"),
    ("now + 'a day'", "`+` does not take a timestamp and a string; write `string(now) + 'a day'`"),
    ("inputs.into == 3", "`==` does not compare a string with an int; write `inputs.into == '3'`"),
    (
      "n > 1 ? [{'a': 1}] : [{'a': 'x'}]",
      "`? :` gives one type, and these are a list(object) and a list(object); they differ in `a`, which is an int in one "
        + "and a string in the other"
    ),
    ("steps.?backup.?state.orValue('none') == 'none'", ""),
  ])
  func `a suggestion is made where it helps`(_ text: String, _ message: String) {
    #expect((Self.faults(text).first?.message ?? "") == message)
  }
}
