import Basics
import Testing

@testable import YAMLReader

/// JSON writes a character beyond U+FFFF as two escapes, and YAML reads JSON.
@Suite struct SurrogateTests {
  @Test(arguments: [
    (#""\ud83e\udd80""#, "🦀"),
    (#""\uD83E\uDD80 and \ud83d\ude00\ud83d\ude01""#, "🦀 and 😀😁"),
    (#"{"a": "x\ud83e\udd80y"}"#, "x🦀y"),
    (#"a: "\ud800\udc00\udbff\udfff""#, "\u{10000}\u{10FFFF}"),
    // A text that only looks like such an escape is left unchanged.
    (#"["\ud83e\udd80", '\ud83e\udd80']"#, #"\ud83e\udd80"#),
    (#"["\ud83e\udd80", "\\ud83e\\uDD80 \ud83e\udd80"]"#, #"\ud83e\uDD80 🦀"#),
    ("a: \"\\ud83e\\udd80\"\nb: \\uD83E plain # \\ud83e\n", #"\uD83E plain"#),
    ("- \"\\ud83e\\udd80\"\n- |\n  \\ud83e\n", "\\ud83e\n"),
    // Characters that libyaml could be given for the halves may stand in the text.
    ("[\"\\ud83e\\udd80\", \"\u{E83E}\\ue83e\u{ED80} \\ud83e\\udd80\"]", "\u{E83E}\u{E83E}\u{ED80} 🦀"),
    ("[\"\u{E800} \u{A800} \\ub83e\", \"\\ud83e\\udd80\"]", "🦀"),
    // An escape of two halves over two lines is one, as its lines are.
    ("\"\\ud83e\\\n  \\udd80\"", "🦀"),
  ])
  func `two halves are one character`(_ text: String, _ last: String) throws {
    var value = try YAMLReader.read(Source(name: "x", text: text)).root
    while let next = value.list?.last ?? value.map?.members.last?.value { value = next }
    #expect(value.string == last)
  }

  @Test(arguments: [
    (#"{"a": "x\ud83e"}"#, 8..<14), (#"{"a": "\udd80\ud83e"}"#, 7..<13), (#"{"a": "\ud83e\ud83e\udd80"}"#, 7..<13),
    (#"{"a": "\\ud83e \ud83ex\udd80"}"#, 15..<21),
  ])
  func `one half alone is a fault at its place`(_ text: String, _ range: Range<Int>) {
    #expect {
      try YAMLReader.read(Source(name: "x", text: text))
    } throws: { error in
      let faults = (error as? Diagnostics)?.list ?? []
      return faults.count == 1 && faults[0].location?.range == range
        && faults[0].message.hasPrefix("this is one half of a character")
    }
  }

  @Test func `what stands behind is found at its place`() throws {
    let text = #"{"a": "\ud83e\udd80 ${{ nope }}"}"#
    let document = try YAMLReader.read(Source(name: "x", text: text))
    let value = try #require(document.root["a"])
    let scalar = try #require(document.scalar(at: value.place))
    let start = "🦀 ${{ ".utf8.count
    #expect(scalar.location(of: start..<start + 4).range == 24..<28)
  }
}
