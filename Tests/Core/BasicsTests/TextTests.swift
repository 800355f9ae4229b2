import Basics
import Testing

@Suite struct TextTests {
  @Test(
    arguments: [
      ([], ""), ([0x66], "Zg=="), ([0x66, 0x6F], "Zm8="), ([0x66, 0x6F, 0x6F], "Zm9v"),
      ([0x66, 0x6F, 0x6F, 0x62], "Zm9vYg=="), ([0xFB, 0xFF, 0xFE], "+//+"),
    ] as [([UInt8], String)])
  func `writes and reads base64`(_ octets: [UInt8], _ text: String) {
    #expect(octets.base64 == text)
    #expect([UInt8](base64: text) == octets)
    let bare = String(text.prefix { $0 != "=" })
    #expect([UInt8](base64: bare, requiresPadding: false) == octets)
    #expect(([UInt8](base64: bare) == nil) == (bare != text))
  }

  @Test(arguments: ["Z", "Zg=", "Zg===", "Zh==", "Zm9=", "Zm9v=", "====", "=", "Zm 9v", "Zm-_", "Zg==Zg==", "é"])
  func `refuses what isn't base64`(_ text: String) {
    #expect([UInt8](base64: text) == nil)
    #expect([UInt8](base64: text, requiresPadding: false) == nil)
  }

  @Test func `writes and reads hexadecimal digits`() {
    let all = (0...255).map { UInt8($0) }
    #expect([UInt8](hexadecimal: all.hexadecimal) == all)
    #expect([0x0A, 0xFF].hexadecimal == "0aff")
    #expect([UInt8](hexadecimal: "0AfF") == [0x0A, 0xFF])
    for text in ["0", "0g", "é0", "0x0a"] { #expect([UInt8](hexadecimal: text) == nil) }
  }

  @Test(arguments: [
    ("", ""), ("aZ09-._~", "aZ09-._~"), ("a b+c/d?é&%", "a%20b%2Bc%2Fd%3F%C3%A9%26%25"), ("😀\0", "%F0%9F%98%80%00"),
  ])
  func `encodes and decodes by percent`(_ text: String, _ encoded: String) {
    #expect(text.percentEncoded == encoded)
    #expect(encoded.percentDecoded == text)
  }

  @Test func `decodes lowercase letters and leaves plus signs`() {
    #expect("%c3%a9+".percentDecoded == "é+")
    for text in ["%", "%4", "%G0", "%FF", "%C3"] { #expect(text.percentDecoded == nil) }
  }

  @Test(arguments: [("", ""), (" \n\t\u{A0}\u{3000}", ""), (" a b\r\n", "a b"), ("x", "x")])
  func `trims white space`(_ text: String, _ trimmed: String) {
    #expect(text.trimmed == trimmed)
  }
}

@Suite struct UUID7Tests {
  @Test func `holds the instant and sorts by it`() throws {
    var random = SeededGenerator(seed: 1)
    var texts: [String] = []
    for millisecond in 0..<50 {
      let instant = try #require(Timestamp(seconds: 1_795_163_400, nanoseconds: millisecond * 1_000_000))
      let identifier = UUID7(at: instant, using: &random)
      #expect(identifier.instant == instant)
      #expect(UUID7(identifier.description.uppercased()) == identifier)
      texts.append(identifier.description)
    }
    #expect(texts == texts.sorted())
    #expect(Set(texts).count == 50)
  }

  @Test func `has the form of RFC 9562`() throws {
    struct Ones: RandomNumberGenerator { mutating func next() -> UInt64 { .max } }
    var ones = Ones()
    // The instant of the example in RFC 9562, appendix A.6.
    let instant = try #require(Timestamp("2022-02-22T19:22:22Z"))
    #expect(UUID7(at: instant, using: &ones).description == "017f22e2-79b0-7fff-bfff-ffffffffffff")
    #expect(UUID7(at: .earliest, using: &ones).description == "00000000-0000-7fff-bfff-ffffffffffff")
  }

  @Test(arguments: [
    "", "017f22e2-79b0-4cc3-98c4-dc0c0c07398f", "017f22e2-79b0-7cc3-c8c4-dc0c0c07398f",
    "017f22e279b07cc398c4dc0c0c07398f",
    "017f22e2-79b0-7cc3-98c4-dc0c0c07398", "017f22e2-79b0-7cc3-98c4-dc0c0c07398g",
    "-017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
  ])
  func `refuses what is no UUID of version 7`(_ text: String) {
    #expect(UUID7(text) == nil)
  }
}

@Suite struct SystemTimeTests {
  @Test func `goes forward`() async throws {
    let time = SystemTime()
    let (now, before) = (time.now(), time.elapsed())
    #expect(now.seconds > 1_700_000_000)
    try await time.sleep(for: .zero)
    #expect(time.elapsed() >= before)
  }

  @Test func `stops waiting when it is cancelled`() async {
    // Cancelled by the next line.
    let waiting = Task { try await SystemTime().sleep(for: .seconds(3600)) }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
  }

  @Test func `lines of a text stay lines, and what a terminal would obey is displayed`() {
    let text = "a\tb\r\nc\u{1B}[2J\n\nd\re"
    #expect(text.safeLines(indent: "  ") == "a b\n  c\u{241B}[2J\n  \n  d e")
    #expect(text.safe == "a b  c\u{241B}[2J  d e")
    #expect("".safeLines(indent: "  ") == "")
    #expect("\r\r\n\u{301}a\n".safeLines(indent: "> ") == " \n> \u{301}a\n> ")
  }

  @Test func `a long text is displayed in pieces`() {
    let text = (0..<20_000).map { "line \($0)\r\n" }.joined()
    var pieces: [String] = []
    text[...].safeLines(indent: " ") { pieces.append($0) }
    #expect(pieces.count > 2 && pieces.allSatisfy { $0.utf8.count < 70_000 })
    #expect(pieces.joined() == (0..<20_000).map { "line \($0)\n " }.joined())
  }
}
