import Basics
import Testing

@Suite struct CharsetTests {
  @Test(
    arguments: [
      ("utf-8", [0x4D, 0xC3, 0xBC], "Mü"), ("UTF8", [0xEF, 0xBB, 0xBF, 0x61], "a"), (" utf-8 ", [], ""),
      ("iso-8859-1", [0x4D, 0xFC, 0x80], "Mü€"), ("US-ASCII", [0x61], "a"), ("latin1", [0xE9], "é"),
      ("windows-1252", [0x93, 0x78, 0x94], "“x”"), ("ISO-8859-15", [0xA4, 0xFC], "€ü"), ("ISO_8859-2", [0xB1], "ą"),
      ("windows-1251", [0xCF, 0xF0], "Пр"), ("koi8-r", [0xF0], "П"), ("iso-8859-7", [0xE1], "α"),
      ("utf-16", [0xFF, 0xFE, 0x61, 0], "a"), ("utf-16be", [0, 0x61, 0xD8, 0x3D, 0xDE, 0], "a😀"),
      ("utf-16le", [0xFF, 0xFE, 0x61, 0], "a"),
      // A mark of UTF-8 overrides the charset that was named, if the bytes are valid UTF-8.
      ("windows-1252", [0xEF, 0xBB, 0xBF, 0xC3, 0xBC], "ü"), ("latin1", [0xEF, 0xBB, 0xBF, 0xFC], "ü"),
    ] as [(String, [UInt8], String)])
  func `bytes are read in the charset that is named`(_ name: String, _ bytes: [UInt8], _ text: String) throws {
    let charset = try #require(Charset(named: name))
    #expect(try charset.text(of: bytes) == text)
    #expect(try charset.utf8(of: bytes) == Array(text.utf8))
    #expect(charset.displayedText(of: bytes) == text)
  }

  @Test(arguments: ["", "utf-7", "iso-8859-12", "iso-8859-17", "iso-8859-x", "binary", "iso-2022-jp", "windows-1259"])
  func `charsets that aren't known have no name`(_ name: String) { #expect(Charset(named: name) == nil) }

  @Test(
    arguments: [
      ("utf-8", [0x61, 0x0A, 0xFC], "is not in UTF-8: line 2, byte 3 (0xFC) fits no character", "a\n\u{FFFD}"),
      ("utf-8", [0xC3], "is not in UTF-8: line 1, byte 1 (0xC3) fits no character", "\u{FFFD}"),
      ("windows-1252", [0x81], "is not in windows-1252: line 1, byte 1 (0x81) fits no character", "\u{FFFD}"),
      ("iso-8859-7", [0x61, 0xAE], "is not in iso-8859-7: line 1, byte 2 (0xAE) fits no character", "a\u{FFFD}"),
      (
        "utf-16le", [0x68, 0, 0, 0xD8, 0x69, 0], "is not in utf-16le: line 1, byte 3 begins half a character",
        "h\u{FFFD}i"
      ),
      ("utf-16", [0xFF, 0xFE, 0x68, 0, 0x0A], "is not in utf-16le: it has an odd number of bytes", "h\u{FFFD}"),
      ("utf-16be", [0, 0x68, 0xDC, 0], "is not in utf-16be: line 1, byte 3 begins half a character", "h\u{FFFD}"),
    ] as [(String, [UInt8], String, String)])
  func `bytes that don't fit are told with their place, or displayed`(
    _ name: String, _ bytes: [UInt8], _ message: String, _ displayed: String
  ) throws {
    let charset = try #require(Charset(named: name))
    let fault = try #require(throws: CharsetError.self) { try charset.text(of: bytes) }
    #expect(fault.message == message)
    #expect(charset.displayedText(of: bytes) == displayed)
  }

  @Test(arguments: ["utf-8", "utf-16", "latin-1", "windows-1252", "iso-8859-15", "windows-1251"])
  func `what is written is read again`(_ name: String) throws {
    let charset = try #require(Charset(named: name))
    let text = name == "windows-1251" ? "Привет" : "Müller, ça"
    let (bytes, misfit) = charset.bytes(of: text)
    #expect(misfit == nil)
    #expect(try charset.text(of: bytes) == text)
    if charset.holdsASCII, name != "utf-8" { #expect(charset.bytes(of: "a漢").misfit == "漢") }
  }

  @Test(
    arguments: [
      ("application/json", "application/json", nil),
      ("Application/JSON; charset=\"UTF-8\"", "application/json", "UTF-8"),
      ("text/plain;format=flowed; Charset = latin1", "text/plain", "latin1"),
      ("text/plain; charset=''", "text/plain", ""),
      (nil, "", nil), (";charset=x", "", "x"),
      // A quoted text is one value.
      ("a/json; profile=\"a;charset=latin1\"", "a/json", nil),
      ("a/json; profile=\"a;\\\"charset=x\"; charset=utf-8", "a/json", "utf-8"),
      ("a/b; x=\"open; charset=latin1", "a/b", nil),
    ] as [(String?, String, String?)])
  func `a type is read with its charset`(_ field: String?, _ name: String, _ charset: String?) {
    let type = ContentType(field)
    #expect(type.name == name)
    #expect(type.charset == charset)
  }

  @Test func `a mark counts more than the charset that is named, and an unknown one is told`() throws {
    #expect(try ContentType("a/b; charset=latin1").utf8(of: [0xEF, 0xBB, 0xBF, 0xC3, 0xBC]) == Array("ü".utf8))
    #expect(try ContentType("a/b; charset=x-own").utf8(of: Array("plain".utf8)) == Array("plain".utf8))
    // UTF-32 isn't supported, and its mark begins with the mark of UTF-16.
    #expect(Charset.marked(in: [0xFF, 0xFE, 0, 0, 0x61, 0, 0, 0]) == nil)
    let fault = try #require(throws: CharsetError.self) { try ContentType("a/b; charset=x-own").utf8(of: [0xFC]) }
    #expect(fault.message == "is in the charset 'x-own', which isn't known")
  }

  @Test(
    arguments: [
      ([0x61, 0x20, 0xC3, 0xBC], "a ü"), ([0x4D, 0xFC, 0x6C], "Mül"), ([0x80, 0x20, 0x81], "€ \u{FFFD}"), ([], ""),
    ] as [([UInt8], String)])
  func `the value of a header field is in UTF-8, or as old services write it`(_ bytes: [UInt8], _ text: String) {
    #expect(Charset.fieldText(of: bytes) == text)
  }

  @Test func `CR LF becomes LF, and nothing else does`() {
    #expect("a\r\nb\rc\n\r\n".withPlainLineEnds == "a\nb\rc\n\n")
  }

  @Test(arguments: [
    ("plain ä €", "plain ä €"), ("\u{1B}[31mred\u{1B}[0m done", "red done"), ("10%\r100%\r", "100%"), ("abc\rX", "Xbc"),
    ("working\r\u{1B}[Kdone", "done"), ("a\u{8}b", "b"), ("x\r", "x"), ("\u{9B}1;32mgreen", "green"),
    ("\u{1B}]0;title\u{7}text", "text"), ("\u{1B}]8;;http://x\u{1B}\\link\u{1B}]8;;\u{1B}\\", "link"),
    ("\u{1B}(Bascii", "ascii"), ("a\tb\u{0}c", "a\tbc"), ("\u{1B}]0;never ends", "0;never ends"), ("\u{1B}", ""),
    ("abc\u{1B}[2K\rd", "d  "), ("\u{1B}[38;5;208;48;2;1;2;3mwide", "wide"), ("é\r\u{1B}[1mè", "è"),
    ("\u{1B}]0;title\u{1B}[31mred", "red"), ("\u{9D}0;a\u{9D}0;b\u{9C}text", "text"),
    (String(repeating: "\u{9D}", count: 50_000), ""),
  ])
  func `a printed line is displayed as it stands in the end`(_ line: String, _ displayed: String) {
    #expect(line.printed == displayed)
  }
}
