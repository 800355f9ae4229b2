import Basics
import Foundation
import Testing

@testable import Recipes

/// What tools apply: each fix of a fault does away with it, and brings no other.
@Suite struct `Fixes of faults` {
  private static func faults(_ files: [String: String], hasHints: Bool = false) -> [Diagnostic] {
    let connections: [String: String]? =
      hasHints ? nil : ["desk": "desk", "archive": "desk", "markbook": "markbook"]
    let environment = RecipeEnvironment.test(files, connections: connections, zone: hasHints ? "UTC" : nil)
    let checked = Recipe.check(Source(name: CaseFile.main, text: files[CaseFile.main] ?? ""), in: environment)
    return checked.diagnostics + (hasHints ? checked.recipe?.hints ?? [] : [])
  }

  private static func faults(_ text: String) -> [Diagnostic] { faults([CaseFile.main: text]) }

  private static func fixed(_ text: String, _ fix: Diagnostic.Fix) -> String {
    String(decoding: fix.edits.applied(to: Array(text.utf8)), as: UTF8.self)
  }

  /// Faults that come to light once another is mended: those of a text that YAML couldn't read, of the inputs of an
  /// action that was misspelt, and of values that had no type.
  private static let reveals: Set<String> = []

  @Test(arguments: [
    "toplevel", "inputs", "steps", "actions", "expressions", "blocks", "calls", "rounds", "cases", "schedules",
    "notations", "shapes", "webhooks", "twenty", "hints",
  ])
  func `A fix does away with its fault and brings no other`(_ table: String) {
    var count = 0
    for one in CaseFile(table).cases {
      let before = Self.faults(one.files, hasHints: table == "hints")
      for fault in before {
        if fault.fixes.isEmpty, ["write", "did you", "take it", "leave", "remove", "quote", "put"].contains(where: fault.message.contains) { print("NOFIX \(table): \(fault.message)") }
        for fix in fault.fixes {
          count += 1
          var files = one.files
          let name = fault.location?.source.name ?? ""
          files[name] = Self.fixed(files[name] ?? "", fix)
          let after = Self.faults(files, hasHints: table == "hints")
          let isGone = after.count { $0.message == fault.message } < before.count { $0.message == fault.message }
          let known = before.map(\.message)
          let new = after.map(\.message).filter { !known.contains($0) && !Self.reveals.contains($0) }
          #expect(isGone && new.isEmpty, "\(one.name): \(fault.message)\n  \(fix)\n  \(new)\n\(files[name] ?? "")")
        }
      }
    }
    print("FIXES \(table) \(count)")
  }

  @Test func `A fault without a fix has nothing left to resolve`() {
    for table in ["steps", "actions", "calls", "schedules"] {
      for one in CaseFile(table).cases {
        for fault in Self.faults(one.files) { #expect(fault.suggestions.isEmpty, "\(one.name): \(fault.message)") }
      }
    }
  }
}
