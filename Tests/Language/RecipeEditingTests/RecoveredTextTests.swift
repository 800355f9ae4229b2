import Basics
import RecipeEditing
import Testing
import YAMLReader

@Suite struct RecoveredTextTests {
  /// A text, and the recovered text with dots in the place of each blanked byte.
  struct Case: CustomTestStringConvertible, Sendable {
    var text: String
    var left: String

    init(_ text: String, _ left: String) { (self.text, self.left) = (text, left) }

    var testDescription: String { text }
  }

  @Test(arguments: [
    Case("a: 1\nb: 2", "a: 1\nb: 2"),
    Case("a: 1\nst\nb: 2", "a: 1\n··\nb: 2"),
    Case("a:\n  - b: 1\n    us\n    c: 3", "a:\n  - b: 1\n    ··\n    c: 3"),
    Case("a: {\n  b: 1\nc: 2", "·· ·\n  ·· ·\nc: 2"),
    Case("a: [1, 2\nb: 2", "·· ··· ·\nb: 2"),
    Case("a: \"x\nb: 2", "·· ··\nb: 2"),
    Case("a: 'x\n  c\nb: 2\nd: 'e'", "·· ··\n  ·\nb: 2\n·· ···"),
    Case("a: b: c\nd: 1", "·· ·· ·\nd: 1"),
    Case("a: @b\nd: 1", "·· ··\nd: 1"),
    Case("a: ${{ x: 1 }}\nd: 1", "·· ··· ·· · ··\nd: 1"),
    Case("a: &b\nd: *e", "a: &b\n·· ··"),
    Case("a: 1\n\tb: 2\nc: 3", "a: 1\n··· ·\nc: 3"),
    Case("a: 1\r\nst\r\nb: 2\r\n", "a: 1\r\n··\r\nb: 2\r\n"),
    Case("a: 1\na: 2", "a: 1\n·· ·"),
    Case("- a\nb: c", "- a\n·· ·"),
    Case("a: |\n  b\n c\nd: e", "a: |\n  b\n ·\nd: e"),
  ])
  func `blanks what YAML can't read`(_ sample: Case) {
    let source = Source(name: "a.yaml", text: sample.text)
    let bytes = recovered(source).bytes
    let displayed = zip(bytes, source.bytes).map { $0 == $1 ? String(decoding: [$0], as: UTF8.self) : "·" }.joined()
    #expect(displayed == sample.left)
    #expect((try? YAMLReader.read(recovered(source))) != nil)
  }

  @Test func `takes bounded time for a text that is wrong everywhere`() {
    let source = Source(name: "a.yaml", text: "a: 1\n" + String(repeating: "b: c: [\n", count: 20_000))
    #expect((try? YAMLReader.read(recovered(source))) != nil)
  }
}
