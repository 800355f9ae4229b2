import Basics
import Testing

@testable import RecipeEditing

@Suite struct MendedTextTests {
  @Test(arguments: [
    ("", "", []),
    ("a\nb\nc", "a\nb\nc", []),
    ("a\nb\nc\n", "a\nc\n", ["2..<4 "]),
    ("a\nc\n", "a\nb\nc\n", ["2..<2 b\n"]),
    ("a\nb\nc\nd\n", "x\nb\ny\nd", ["0..<2 x\n", "4..<8 y\nd"]),
    ("a\na\na\n", "a\na\n", ["4..<6 "]),
    ("a", "", ["0..<1 "]),
    ("", "a\n", ["0..<0 a\n"]),
    ("a\n", "a\nb", ["2..<2 b"]),
  ])
  func `edits are of the lines that differ`(_ old: String, _ new: String, _ expected: [String]) {
    let edits = edits(from: Array(old.utf8), to: Array(new.utf8))
    #expect(edits.map { "\($0.range) \($0.text)" } == expected)
    #expect(edits.applied(to: Array(old.utf8)) == Array(new.utf8))
  }

  @Test func `long texts that have little in common are compared in bounded time`() {
    let old = (0..<20_000).map { "\($0)\n" }.joined()
    let new = "0\n" + (0..<20_000).map { "\($0) x\n" }.joined()
    let edits = edits(from: Array(old.utf8), to: Array(new.utf8))
    #expect(edits.count == 1)
    #expect(edits.applied(to: Array(old.utf8)) == Array(new.utf8))
  }

  @Test func `nothing more is mended once there is no time left`() {
    let source = Source(name: "recipes/a.yaml", text: "stpes:\n  - wiat: 1s\n")
    #expect(RecipesFolder.all.service.mendingEdits(of: source) { false }.isEmpty)
    #expect(!RecipesFolder.all.service.mendingEdits(of: source).isEmpty)
  }
}
