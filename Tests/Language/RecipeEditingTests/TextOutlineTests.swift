import Basics
import RecipeEditing
import Testing

@Suite struct TextOutlineTests {
  /// A text with `¦` at the cursor, and the part being written there.
  struct Case: CustomTestStringConvertible, Sendable {
    var text: String
    var place: TextCursor.Place
    var path: String
    var written: String

    init(_ text: String, _ place: TextCursor.Place, _ path: String, _ written: String = "") {
      (self.text, self.place, self.path, self.written) = (text, place, path, written)
    }

    var testDescription: String { text }
  }

  @Test(arguments: [
    Case("¦", .key, ""),
    Case("rec¦", .key, "", "rec"),
    Case("recipe: a\n¦", .key, ""),
    Case("recipe: a¦", .value, "recipe", "a"),
    Case("recipe: ¦", .value, "recipe"),
    Case("steps:\n  - us¦", .key, "steps -", "us"),
    Case("steps:\n  - id: a\n    us¦", .key, "steps -", "us"),
    Case("steps:\n- id: a\n  us¦", .key, "steps -", "us"),
    Case("steps:\n  - id: a\n    with:\n      ¦", .key, "steps - with"),
    Case("steps:\n  - id: a\n    with:\n      pa¦\n    if: x", .key, "steps - with", "pa"),
    Case("steps:\n  - id: a\n    with:\n      path: b\n    ¦", .key, "steps -"),
    Case("steps:\n  - id: a\n¦", .key, ""),
    Case("steps:\n  - id: a\n  ¦", .key, "steps"),
    Case("steps:\n  - uses: files.¦", .value, "steps - uses", "files."),
    Case("steps:\n  - { uses: files.read, with: { pa¦ } }", .key, "steps - with", "pa"),
    Case("steps:\n  - { uses: files.read, with: { path: a¦", .value, "steps - with path", "a"),
    Case("steps: [{ wait: ¦ }]", .value, "steps - wait"),
    Case("on: [{ ¦", .key, "on -"),
    Case("a: \"${{ steps.¦ }}\"", .value, "a", "\"${{ steps."),
    Case("a: { b: \"${{ {'x': 1}.¦ }}\" }", .value, "a b", "\"${{ {'x': 1}."),
    Case("a: b # c¦", .nothing, ""),
    Case("a: |\n  b: c\n  ${{ x¦", .value, "a", "|\n  b: c\n  ${{ x"),
    Case("let:\n  'a b': ¦", .value, "let a b"),
  ])
  func `knows where the cursor is`(_ sample: Case) throws {
    let parts = sample.text.split(separator: "¦", omittingEmptySubsequences: false).map { Array($0.utf8) }
    let outline = TextOutline(parts[0] + parts[1])
    let cursor = outline.cursor(at: parts[0].count)
    #expect(cursor.place == sample.place)
    #expect(outline.names(to: cursor.node).joined(separator: " ") == sample.path)
    #expect(outline.text(cursor.written) == sample.written)
  }
}
