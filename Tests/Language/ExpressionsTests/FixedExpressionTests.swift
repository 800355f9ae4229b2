import Basics
import Expressions
import Foundation
import Testing

/// The fixes that tools apply to expressions: each suggestion removes its fault and causes no other.
@Suite struct FixedExpressionTests {
  private static func faults(_ text: String) -> [ExpressionFault] {
    switch CompiledExpression.compile(text, in: CheckerTests.scope) {
    case .success: []
    case .failure(let faults): faults.list
    }
  }

  private static func fixed(_ text: String, _ suggestion: Suggestion) -> String? {
    guard case .code(let code, let part) = suggestion.content else { return nil }
    return String(decoding: [Diagnostic.Edit(part, code)].applied(to: Array(text.utf8)), as: UTF8.self)
  }

  /// Expressions with a second fault, reported only once the first is fixed.
  private static let hiding: Set<String> = [
    "student.givenName == null", "n + inputs.counts['a'] * 1.5", "inputs.into == nul", "steps.backup?.path",
  ]

  @Test func `every fix of the table of faults is one`() throws {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Snapshots/Checked.txt")
    let lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    var count = 0
    for line in lines where !line.hasPrefix("    ") {
      let text = String(line)
      let before = Self.faults(text)
      for fault in before {
        for suggestion in fault.suggestions {
          count += 1
          let after = Self.fixed(text, suggestion) ?? text
          let left = Self.faults(after).map(\.message)
          let isGone = left.count { $0 == fault.message } < before.count { $0.message == fault.message }
          let new = left.filter { message in !before.contains { $0.message == message } }
          let isAlone = new.isEmpty || Self.hiding.contains(text)
          #expect(isGone && isAlone, "\(text)\n  \(fault.message)\n  \(suggestion)\n  \(after)\n  \(new)")
        }
      }
    }
    #expect(count > 200, "the table has \(count) fixes")
  }
}
