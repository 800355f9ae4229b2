import Basics
import Testing

@Suite struct DiagnosticTests {
  /// The caret line of a diagnostic at the bytes of `marked` in `text`.
  private func displayed(_ text: String, _ marked: String) throws -> [Substring] {
    let bytes = Array(text.utf8)
    let wanted = Array(marked.utf8)
    let start = try #require(
      (0...max(0, bytes.count - wanted.count)).first { bytes[$0..<$0 + wanted.count].elementsEqual(wanted) })
    let source = Source(name: "a.yaml", bytes: bytes)
    return Diagnostic("bad", at: .init(source, start..<start + wanted.count)).description.split(separator: "\n")
  }

  @Test func `shows place, line, caret and notes`() throws {
    let source = Source(name: "recipes/a.yaml", text: "steps:\n  - uses: x\n    wiht: { a: 1 }\n")
    let fault = Diagnostic(
      "a step has no key 'wiht'; did you mean 'with'?", at: .init(source, 23..<27),
      notes: [.init("the step begins here", at: .init(source, at: 9)), .init("steps take one action")])
    #expect(
      fault.description == """
        recipes/a.yaml:3:5: error: a step has no key 'wiht'; did you mean 'with'?
              wiht: { a: 1 }
              ^~~~
        recipes/a.yaml:2:3: note: the step begins here
        note: steps take one action
        """)
    #expect(fault.headline == "recipes/a.yaml:3:5: error: a step has no key 'wiht'; did you mean 'with'?")
  }

  @Test func `shows faults that have no place`() {
    #expect(Diagnostic("no recipe", severity: .warning).description == "warning: no recipe")
  }

  @Test(arguments: [
    ("\tkey:\tvalue", "value", "  \tkey:\tvalue", "  \t    \t^~~~~"),
    ("名前: 値", "値", "  名前: 値", "        ^~"),
    ("e\u{301}tat: x", "x", "  e\u{301}tat: x", "        ^"),
    ("👍 x", "x", "  👍 x", "     ^"),
    ("a\u{1B}[31mb\u{202E}c", "c", "  a␛[31mb\u{FFFD}c", "          ^"),
  ])
  func `puts the caret under its character`(_ text: String, _ marked: String, _ line: String, _ caret: String) throws {
    let lines = try displayed(text, marked)
    #expect(lines[1] == line[...])
    #expect(lines[2] == caret[...])
  }

  @Test func `clips long lines around the caret`() throws {
    let long = String(repeating: "a", count: 5000) + "XYZ" + String(repeating: "b", count: 5000)
    let lines = try displayed(long, "XYZ")
    #expect(lines[1] == "  …\(String(repeating: "a", count: 50))XYZ\(String(repeating: "b", count: 52))…")
    #expect(lines[2] == "  \(String(repeating: " ", count: 51))^~~")
  }

  @Test(arguments: [
    ("https://me:sesame@x.org/@a", "https://me:•••@a"),
    ("see HTTPS://sesame@x.org and ftp://me:se@sa/me@x.org.", "see HTTPS://•••@x.org and ftp://me:•••@x.org."),
    ("postgres://me@x.org/y", "postgres://me@x.org/y"),
    ("http://x.org:8080/@me", "http://x.org:8080/@me"),
    ("http://x.org/@me: 'http://:sesame@x'", "http://x.org/@me: 'http://:•••@x'"),
    ("https://me:${{secrets.KEY}}@x.org", "https://me:${{secrets.KEY}}@x.org"),
    ("me@x.org https://", "me@x.org https://"),
  ])
  func `shows no password of a URL`(_ text: String, _ displayed: String) {
    let fault = Diagnostic(
      "bad '\(text)'", at: .init(Source(name: "a", text: text), at: 0), notes: [.init(text)],
      fixes: [.init("write \(text)", [])])
    #expect(fault.description == "a:1:1: error: bad '\(displayed)'\n  \(displayed)\n  ^\nnote: \(displayed)")
    #expect(fault.fixes.map(\.title) == ["write \(displayed)"])
  }

  @Test func `shows a mark in the place of what is hidden`() {
    let source = Source(name: "a", text: "key: sesame # why\nb: 1").hiding([5..<8, 7..<11, 20..<99])
    func displayed(_ range: Range<Int>) -> String { Diagnostic("bad", at: .init(source, range)).description }
    #expect(displayed(5..<11) == "a:1:6: error: bad\n  key: ••• # why\n       ^~~")
    #expect(displayed(12..<13) == "a:1:13: error: bad\n  key: ••• # why\n           ^")
    #expect(displayed(18..<19) == "a:2:1: error: bad\n  b: 1\n  ^")
  }

  @Test func `shows bytes that are no text`() {
    let source = Source(name: "a", bytes: [0x61, 0xFF, 0xC3, 0x62])
    #expect(
      Diagnostic("bad", at: .init(source, 3..<4)).description == "a:1:4: error: bad\n  a\u{FFFD}\u{FFFD}b\n     ^")
  }

  @Test(arguments: [-5..<0, 0..<0, 3..<3, 4..<9, 99..<100, 1..<4])
  func `shows any range without a trap`(_ range: Range<Int>) {
    let source = Source(name: "a", text: "ab\r\ncd")
    #expect(Diagnostic("bad", at: .init(source, range)).description.contains("error: bad\n"))
  }

  @Test func `stops the tail at the end of the line`() {
    let source = Source(name: "a", text: "ab\r\ncd")
    #expect(Diagnostic("bad", at: .init(source, 1..<6)).description == "a:1:2: error: bad\n  ab\n   ^")
  }

  @Test func `colours on request`() {
    let source = Source(name: "a", text: "ab")
    #expect(
      Diagnostic("bad", at: .init(source, 0..<2)).rendered(colour: true)
        == "\u{1B}[1ma:1:1:\u{1B}[0m \u{1B}[1;31merror:\u{1B}[0m \u{1B}[1mbad\u{1B}[0m\n  ab\n  \u{1B}[1;32m^~\u{1B}[0m"
    )
  }

  @Test func `sorts by text and place, and counts`() {
    let one = Source(name: "one", text: "abc")
    let two = Source(name: "two", text: "abc")
    let faults = Diagnostics([
      Diagnostic("c", at: .init(one, at: 2)), Diagnostic("d", at: .init(two, at: 0), severity: .warning),
      Diagnostic("b", at: .init(one, at: 1)), Diagnostic("a"),
    ])
    #expect(faults.sorted().list.map(\.message) == ["a", "b", "c", "d"])
    #expect(faults.tally == "3 errors, 1 warning")
    #expect(Diagnostics([]).tally == "")
  }
}
