import Testing

@testable import Basics

/// How printed lines look on a page: their colours, and the last state of lines that were drawn again.
@Suite struct PrintedStyleTests {
  /// The parts of a line, each with its style in brackets.
  private static func parts(_ text: String) -> String {
    text.printedParts.map { part in
      let style = part.style
      let words = [
        style.colour.map { "c\($0)" }, style.ground.map { "k\($0)" }, style.isBold ? "bold" : nil,
        style.isFaint ? "faint" : nil, style.isItalic ? "italic" : nil, style.isUnderlined ? "underlined" : nil,
        style.isInverse ? "inverse" : nil,
      ].compactMap { $0 }
      return words.isEmpty ? part.text : "[\(words.joined(separator: " ")) \(part.text)]"
    }.joined()
  }

  @Test(arguments: [
    ("plain", "plain"), ("", ""), ("\u{1B}[31mred\u{1B}[0m none", "[c0 red] none"),
    ("\u{1B}[1;32mok\u{1B}[m", "[c4 bold ok]"), ("\u{1B}[91;44mx\u{1B}[39my\u{1B}[49mz", "[c0 k8 x][k8 y]z"),
    ("\u{1B}[30;107mx", "[k12 x]"), ("\u{1B}[38;5;208mx\u{1B}[38;5;244my\u{1B}[38;5;1mz", "[c1 x][c12 y][c0 z]"),
    ("\u{1B}[38;2;0;0;255;1mx", "[c8 bold x]"), ("\u{1B}[48:2::0:255:0mx", "[k4 x]"),
    ("\u{1B}[2;3;4;7mx\u{1B}[22;23;24;27my", "[faint italic underlined inverse x]y"),
    ("\u{1B}[4:3mx\u{1B}[4:0my", "[underlined x]y"), ("\u{1B}[38;5mx\u{1B}[38mx\u{1B}[;;31;999mx", "xx[c0 x]"),
    ("\u{1B}[38;5;99999999999999999999mx", "x"), ("\u{1B}[38;2;1mx", "x"),
    // A line that is drawn again.
    ("10%\r\u{1B}[32m100%\u{1B}[0m", "[c4 100%]"), ("\u{1B}[31mabc\r\u{1B}[0mx", "x[c0 bc]"),
    ("long line\r\u{1B}[Kshort", "short"), ("abc\r\n".trimmedOfNewline, "abc"), ("a\u{8}b", "b"),
    // Other sequences are nothing.
    ("\u{1B}]0;title\u{7}a\u{1B}[2Jb\u{1B}(Bc\u{1B}]8;;https://x.org\u{1B}\\d", "abcd"), ("a\u{0}b\u{7F}c", "abc"),
    ("🦀\u{1B}[35mä🦀", "🦀[c10 ä🦀]"), ("\u{1B}[31", ""), ("x\u{1B}", "x"),
  ])
  func `a line is shown in its colours`(_ text: String, _ parts: String) {
    #expect(Self.parts(text) == parts)
    // The same text as without colours.
    #expect(text.printedParts.map(\.text).joined() == text.printed)
  }

  @Test func `no sequence of bytes is refused`() {
    var random = SeededGenerator(seed: 7)
    let pieces = [
      "\u{1B}", "[", "38", ";", "5", "2", ":", "m", "K", "1K", "2K", "\r", "\u{8}", "a", "ä", "\u{9B}", "]", "-",
    ]
    for _ in 0..<20_000 {
      var text = ""
      for _ in 0..<Int.random(in: 0..<14, using: &random) { text += pieces.randomElement(using: &random) ?? "" }
      #expect(text.printedParts.map(\.text).joined() == text.printed, "\(text.debugDescription)")
    }
  }
}

extension String {
  fileprivate var trimmedOfNewline: String { String(unicodeScalars.filter { $0 != "\n" }) }
}
