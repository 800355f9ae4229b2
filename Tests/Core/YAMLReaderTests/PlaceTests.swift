import Basics
import Testing
import YAMLReader

@Suite struct PlaceTests {
  /// The source text of a value, by path.
  @Test(arguments: [
    ("a: 1\nb: 2\n", ["b"], "2"),
    ("ä: 'ö ü'\nb: \"x\"\n", ["b"], "\"x\""),
    ("\u{FEFF}a: b\nc: d", ["c"], "d"),
    ("a:\r\n  - b\r\n  - c: d\r\n    e: [f,\r\n  g]\r\n", ["a", "1"], "c: d\r\n    e: [f,\r\n  g]"),
    ("a:\n  - b\n  - c\n\n# end\nd: e\n", ["a"], "- b\n  - c"),
    ("a: { b: [1, 2], c: 3 } # x\n", ["a"], "{ b: [1, 2], c: 3 }"),
    ("a: |\n  x\n  y\n\n\nb: 1\n", ["a"], "|\n  x\n  y"),
    ("a: >-\n\n  x\n", ["a"], ">-\n\n  x"),
    ("a:\n  - |\n    x\n\n", ["a"], "- |\n    x"),
    ("? |\n  a\nb: c\n", ["b"], "c"),
    ("a:\nb: 1\n", ["a"], ""),
    ("a: &x\n  # why\n  b: c\nd: *x\n", ["a"], "b: c"),
    ("a: &x !!str  b c \nd: *x\n", ["a"], "b c"),
    ("a: &x [1]\nd: *x\n", ["d"], "[1]"),
    ("- - - x\n    - y\n", ["0", "0", "1"], "y"),
    ("- - - x\n    - y\n", ["0", "0"], "- x\n    - y"),
    ("a: b\n  c\nd: e", ["a"], "b\n  c"),
    ("? a\nb: c", ["b"], "c"),
    ("&x:y: 1", [":y"], "1"),
    ("𝒳: {y: 𝒵 z, \"é\": [💥]}", ["𝒳", "é", "0"], "💥"),
  ])
  func `finds the bytes of a value`(_ text: String, _ path: [String], _ expected: String) throws {
    let source = Source(name: "test.yaml", text: text)
    let document = try YAMLReader.read(source)
    let value = try #require(document.root.at(path))
    #expect(String(decoding: source.bytes[document.range(of: value)], as: UTF8.self) == expected)
  }

  @Test func `gives a value that is not written a place of its own`() throws {
    let document = try YAMLReader.read(Source(name: "test.yaml", text: "? a\nb:\n"))
    let members = try #require(document.root.map?.members)
    #expect(members.map(\.key.place.offset) == [2, 4])
    #expect(members.map(\.value.place.offset) == [3, 6])
    #expect(document.range(of: members[1].key) == 4..<5)
  }

  @Test func `tells a block map from its first key, which begin at one place`() throws {
    let source = Source(name: "test.yaml", text: "first: 1\nsecond: 2\n")
    let document = try YAMLReader.read(source)
    let key = try #require(document.root.map?.members.first?.key)
    #expect(key.place == document.root.place)
    #expect(document.range(of: key) == 0..<5)
    #expect(document.range(of: document.root) == 0..<18)
    #expect(document.range(of: .string("elsewhere")) == 0..<0)
  }

  /// YAML with the expected source between two bars, and the decoded text to look for.
  @Test(arguments: [
    ("k: ab |cd| ef", "cd"),
    ("k: é |ü| x", "ü"),
    ("k: a\n   |b c|\n   d", "b c"),
    ("k: a\n\n\n   b |c|", "c"),
    ("k: 'it''s |é|'", "é"),
    ("k: 'it|''|s'", "''"),
    ("k: 'a \n  b |c|'", "c"),
    ("k: \"a\\n|b|\"", "b"),
    ("k: \"\\u00e9|\\U0001F4A5|x\"", "\\U0001F4A5"),
    ("k: \"\\xe9\\N\\_\\L|x|\"", "x"),
    ("k: \"a \\\n   |b|\"", "b"),
    ("k: \"a\\\n\n   |b|\"", "b"),
    ("k: \"a\n\n\n  |b|\"", "b"),
    ("k: \"\\\"|q|\\\"\"", "q"),
    ("k: |\n  a\n    b\n\n  |é| x\n", "é"),
    ("k: |2\n    a\n  |b|\n", "b"),
    ("k: |+\n\n\n  a |b|\n\n", "b"),
    ("k: >\n  a\n  |b|\n\n  c\n", "b"),
    ("k: >\n  a\n\n\n  b\n   |c|\n\n  d\n", "c"),
    ("k: >-\r\n  a\r\n  |b|\r\n", "b"),
    ("k: |#\n  a |b|", "b"),
    ("- - k: |1\n     a\n     |b|", "b"),
  ])
  func `maps a part of a value to the file`(_ marked: String, _ expected: String) throws {
    let (text, range) = unmarked(marked)
    let source = Source(name: "test.yaml", text: text)
    let document = try YAMLReader.read(source)
    var value = document.root
    while let inner = value.list?.first ?? value["k"] { value = inner }
    let scalar = try #require(document.scalar(at: value.place))
    let length = try #require(value.string).utf8.count
    let offsets = (0..<length).map(scalar.offset(ofValueOffset:))
    // The part of the value that maps into the marked bytes.
    let first = try #require(offsets.firstIndex { $0 >= range.lowerBound })
    let end = offsets.firstIndex { $0 >= range.upperBound } ?? length
    let location = scalar.location(of: first..<end)
    #expect(location.range == range)
    #expect(String(decoding: source.bytes[location.range], as: UTF8.self) == expected)
  }

  @Test(arguments: [
    ("k: plain # c", true), ("k: plain", false), ("k: plain#c", false), ("k: 'q' # c", false), ("k: a\n  b # c", true),
  ])
  func `tells whether a comment cut a plain scalar`(_ text: String, _ isCut: Bool) throws {
    let document = try YAMLReader.read(Source(name: "test.yaml", text: text))
    let value = try #require(document.root["k"])
    #expect(document.scalar(at: value.place)?.isFollowedByComment == isCut)
  }

  @Test func `maps every byte of random scalars in every style`() throws {
    var random = SeededGenerator(seed: 7)
    let pieces = [
      "a", "é", "💥", " ", "  ", "\n", "\n\n", "''", "\\n", "\\u00e9", "\\\n", "x: y", "|", ">", "\t", "  b",
    ]
    var readable = 0
    for _ in 0..<20_000 {
      let body = (0..<Int.random(in: 1...8, using: &random)).map { _ in pieces.randomElement(using: &random) ?? "" }
      let text = random.scalar(body.joined())
      let source = Source(name: "test.yaml", text: text)
      guard let document = try? YAMLReader.read(source), let value = document.root.at(["k", "0"]),
        let string = value.string,
        let scalar = document.scalar(at: value.place)
      else { continue }
      readable += 1
      var last = -1
      for (offset, byte) in string.utf8.enumerated() {
        let place = scalar.offset(ofValueOffset: offset)
        let there = source.bytes[place]
        let isMade = there == UInt8(ascii: "\\") || (byte == 0x20 || byte == 0x0A) && (there == 0x0A || there == 0x0D)
        guard place >= last, there == byte || isMade, place > scalar.range.lowerBound || scalar.style == .plain else {
          Issue.record("offset \(offset) of \(string.debugDescription) is not at \(place) of \(text.debugDescription)")
          return
        }
        last = place
      }
      let end = scalar.offset(ofValueOffset: string.utf8.count)
      guard end > last, end <= source.bytes.count else {
        Issue.record("the end of \(string.debugDescription) is not at \(end) of \(text.debugDescription)")
        return
      }
    }
    #expect(readable > 5000)
  }

  /// The text without its last two bars, and the range that they enclosed.
  private func unmarked(_ text: String) -> (String, Range<Int>) {
    var bytes = Array(text.utf8)
    let bar = UInt8(ascii: "|")
    let second = bytes.lastIndex(of: bar) ?? 0
    bytes.remove(at: second)
    let first = bytes.lastIndex(of: bar) ?? 0
    bytes.remove(at: first)
    return (String(decoding: bytes, as: UTF8.self), first..<second - 1)
  }
}

extension SeededGenerator {
  /// A map `k` of a list of one scalar, written in a random style around that body.
  mutating func scalar(_ body: String) -> String {
    func indented(_ indentation: String) -> String {
      body.split(separator: "\n", omittingEmptySubsequences: false).map { indentation + $0 }.joined(separator: "\n")
    }
    let lineBreak = Bool.random(using: &self) ? "\n" : "\r\n"
    let text =
      switch Int.random(in: 0..<5, using: &self) {
      case 0: "k:\n- \(indented("  ").dropFirst(2))"
      case 1: "k:\n- '\(indented("   ").dropFirst(3))'"
      case 2: "k:\n- \"\(indented("   ").dropFirst(3))\""
      case 3: "k:\n  - |\(["", "-", "+", "1", "1+", "-1"].randomElement(using: &self) ?? "")\n\(indented("   "))"
      default: "k:\n  - >\(["", "-", "+", "1", "+1"].randomElement(using: &self) ?? "")\n\(indented("   "))"
      }
    var joined = ""
    for scalar in text.unicodeScalars { joined += scalar == "\n" ? lineBreak : String(scalar) }
    return joined + (Bool.random(using: &self) ? lineBreak + "# end" : "")
  }
}
