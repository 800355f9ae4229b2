import Basics
import Testing

/// Texts made safe for a terminal, whatever they contain.
@Suite struct TerminalTextTests {
  @Test(arguments: [
    ("plain\ttext\nof two lines", "plain\ttext\nof two lines"), ("Grüße, 世界 🎉", "Grüße, 世界 🎉"),
    ("\u{1B}]0;T\u{07}\u{1B}[2J", "␛]0;T␇␛[2J"), ("a\rb\u{08}c\u{7F}\u{0}", "a␍b␈c␡␀"),
    ("\u{9B}31m\u{85}\u{90}", "\u{FFFD}31m\u{FFFD}\u{FFFD}"),
    ("a\u{202E}b\u{2066}c\u{200F}\u{061C}\u{2028}", "a\u{FFFD}b\u{FFFD}c\u{FFFD}\u{FFFD}\u{FFFD}"),
  ])
  func `what a terminal would obey is displayed`(_ text: String, _ displayed: String) {
    #expect(text.safeText() == displayed)
    #expect(text.safeText(keepsStyles: true) == displayed)
  }

  @Test(arguments: [
    ("\u{1B}[1mbold\u{1B}[0m", "\u{1B}[1mbold\u{1B}[0m"), ("\u{1B}[1;31mred\u{1B}[0m", "\u{1B}[1;31mred\u{1B}[0m"),
    // Only styles that color or emphasise text are kept: sequences that hide text, move the cursor or clear the screen
    // aren't.
    ("\u{1B}[8mhidden", "␛[8mhidden"), ("\u{1B}[2J", "␛[2J"), ("\u{1B}[38;5;1m", "␛[38;5;1m"), ("\u{1B}[m", "␛[m"),
    ("\u{1B}[999999999999999999999m", "␛[999999999999999999999m"), ("\u{1B}", "␛"), ("\u{1B}[1", "␛[1"),
  ])
  func `only styles stay, and only where they are wanted`(_ text: String, _ displayed: String) {
    #expect(text.safeText(keepsStyles: true) == displayed)
    #expect(text.safeText() == text.replacing("\u{1B}", with: "␛"))
  }

  @Test func `JSON is the same for its readers`() throws {
    let value = Value.string("a\u{1B}\u{7F}\u{9B}\u{202E}\u{2066}ü🎉\n")
    let text = JSON.displayed(value)
    #expect(text.safeJSON == #""a\u001b\u007f\u009b\u202e\u2066ü🎉\n""#)
    #expect(try JSON.parse(text.safeJSON) == value)
  }

  @Test func `lines are cut however they come, and one that is too long is skipped`() {
    let text = "{}\r\n\n  \n123456789\nabc\n12345678\n"
    for size in 1...text.utf8.count {
      var reader = LineReader(limit: 8)
      var all: [LineReader.Line] = []
      var rest = Array(text.utf8)[...]
      while !rest.isEmpty {
        all += reader.take(rest.prefix(size))
        rest = rest.dropFirst(size)
      }
      let lines = ["{}\r", "", "  ", nil, "abc", "12345678"].map { text in
        text.map { LineReader.Line.line(Array($0.utf8)) } ?? .tooLong
      }
      #expect(all == lines)
    }
  }
}
