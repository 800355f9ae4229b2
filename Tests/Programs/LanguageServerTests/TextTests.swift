import Basics
import RecipeEditing
import Testing

@testable import LanguageServer

@Suite struct TextTests {
  /// A text, a place in UTF-16 code units and in bytes of its line, and its byte offset.
  struct Place: CustomTestStringConvertible, Sendable {
    var text: String
    var line: Int
    var utf16: Int
    var utf8: Int
    var offset: Int

    init(_ text: String, _ line: Int, _ utf16: Int, _ utf8: Int, _ offset: Int) {
      (self.text, self.line, self.utf16, self.utf8, self.offset) = (text, line, utf16, utf8, offset)
    }

    var testDescription: String { "\(text.debugDescription) \(line):\(utf16)" }
  }

  @Test(arguments: [
    Place("", 0, 0, 0, 0),
    Place("abc", 0, 2, 2, 2),
    Place("a\nb", 1, 1, 1, 3),
    Place("a\r\nb", 1, 0, 0, 3),
    Place("a\rb", 1, 1, 1, 3),
    Place("a\n", 1, 0, 0, 2),
    Place("äx", 0, 1, 2, 2),
    Place("€x", 0, 2, 4, 4),
    Place("😀x", 0, 2, 4, 4),
    Place("e\u{301}x", 0, 2, 3, 3),
    Place("\n😀😀x", 1, 5, 9, 10),
  ])
  func `places and offsets translate into each other`(_ place: Place) {
    let bytes = Array(place.text.utf8)
    for (encoding, character) in [(TextPosition.Encoding.utf16, place.utf16), (.utf8, place.utf8)] {
      let positions = TextPositions(bytes, encoding)
      let position = TextPosition(line: place.line, character: character)
      #expect(positions.offset(of: position) == place.offset)
      #expect(positions.position(of: place.offset) == position)
    }
  }

  @Test(arguments: [
    (-1, 5, 0), (0, -3, 0), (0, 99, 2), (1, 99, 5), (2, 0, 5), (.max, .max, 5), (.min, .min, 0), (0, .max, 2),
  ])
  func `places outside of a text are its nearest`(_ line: Int, _ character: Int, _ offset: Int) {
    #expect(TextPositions(Array("ab\ncd".utf8)).offset(of: TextPosition(line: line, character: character)) == offset)
  }

  @Test func `after random edits the server has the text that the client has`() throws {
    var random = SeededGenerator(seed: 18)
    let pieces = ["a", "key: ", "\n", "\r\n", "😀", "é", "e\u{301}", "👨‍👩‍👧", "${{ x }}", "", "\t", "字"]
    for encoding in ["utf-16", "utf-8"] {
      let capabilities = try JSON.parse(#"{"general":{"positionEncodings":["\#(encoding)"]}}"#)
      let client = try Client(capabilities)
      let path = "/w/recipes/a.yaml"
      var text: [Unicode.Scalar] = Array("recipe: a\r\nsummary: 😀 é\n".unicodeScalars)
      client.open(path, string(text))
      for round in 1...200 {
        var changes: [Value] = []
        for _ in 0..<Int.random(in: 1...3, using: &random) {
          let new = (0..<Int.random(in: 0...4, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
            .joined()
          guard Int.random(in: 0..<20, using: &random) > 0 else {
            text = Array(new.unicodeScalars)
            changes.append(.object(["text": .string(new)]))
            continue
          }
          let start = boundary(Int.random(in: 0...text.count, using: &random), in: text)
          let length = min(text.count - start, Int.random(in: 0...8, using: &random))
          let end = max(start, boundary(start + length, in: text))
          let range = Client.range(place(start, in: text, encoding), place(end, in: text, encoding))
          changes.append(.object(["range": range, "text": .string(new)]))
          text.replaceSubrange(start..<end, with: Array(new.unicodeScalars))
        }
        client.change(path, version: round + 1, changes)
        _ = client.sent()
        let kept = client.text(path)
        #expect(kept?.hasSameScalars(as: string(text)) == true, "round \(round)")
        guard kept?.hasSameScalars(as: string(text)) == true else { return }
      }
    }
  }

  private func string(_ scalars: [Unicode.Scalar]) -> String { String(String.UnicodeScalarView(scalars)) }

  /// A place that isn't within CR LF, which no client has a position for.
  private func boundary(_ index: Int, in text: [Unicode.Scalar]) -> Int {
    index > 0 && index < text.count && text[index - 1] == "\r" && text[index] == "\n" ? index - 1 : index
  }

  /// A place as a client counts: independent of the code that is tested.
  private func place(_ index: Int, in text: [Unicode.Scalar], _ encoding: String) -> (Int, Int) {
    var (line, character) = (0, 0)
    for (place, scalar) in text[..<index].enumerated() {
      let isBreak = scalar == "\n" || scalar == "\r" && !(place + 1 < text.count && text[place + 1] == "\n")
      if isBreak {
        (line, character) = (line + 1, 0)
      } else {
        character += encoding == "utf-8" ? UTF8.width(scalar) : UTF16.width(scalar)
      }
    }
    return (line, character)
  }

  @Test(arguments: [
    ("file:///a/b.yaml", "/a/b.yaml", "file:///a/b.yaml"),
    ("file:///a%20b/%C3%A4.yaml", "/a b/ä.yaml", "file:///a%20b/%C3%A4.yaml"),
    ("FILE://localhost/a/b.yaml", "/a/b.yaml", "file:///a/b.yaml"),
    ("file:///a/", "/a", "file:///a"),
    ("untitled:Untitled-1", nil, nil),
    ("file:///a%zz", nil, nil),
    ("file:///a%00b", nil, nil),
    ("file://", nil, nil),
    ("", nil, nil),
  ])
  func `addresses name files`(_ address: String, _ path: String?, _ again: String?) {
    #expect(FileAddress.path(address) == path)
    #expect(path.map(FileAddress.address) == again)
  }
}

extension UTF8 {
  fileprivate static func width(_ scalar: Unicode.Scalar) -> Int { UTF8.encode(scalar)?.count ?? 0 }
}
