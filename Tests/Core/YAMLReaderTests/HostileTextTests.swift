import Basics
import Testing
import YAMLReader

@Suite(.timeLimit(.minutes(20))) struct HostileTextTests {
  @Test(arguments: [
    (
      "", "[", 200_000, "1:65: error: lists and maps are nested more than 64 levels deep"
    ),
    (
      "", "{", 200_000, "1:65: error: lists and maps are nested more than 64 levels deep"
    ),
    (
      "", "- ", 100_000,
      "1:129: error: lists and maps are nested more than 64 levels deep"
    ),
    (
      "", "? ", 100_000,
      "1:129: error: lists and maps are nested more than 64 levels deep"
    ),
    (
      "", "[{a: ", 40_000,
      "1:161: error: lists and maps are nested more than 64 levels deep"
    ),
    (
      "\n", "a", 1 << 20,
      "1:1: error: the file is 1048577 bytes long, more than 1048576; split it"
    ),
    (
      "a: ", "x", 262_145,
      "1:4: error: this text is 262145 bytes long, more than 262144; keep it in a file of its own"
    ),
    (
      "", "- a\n", 100_000,
      "100000:3: error: this makes more than 100000 values, aliases counted as what they refer to"
    ),
  ])
  func `stops at a limit`(_ start: String, _ piece: String, _ count: Int, _ fault: String) {
    let list = faults(in: start + String(repeating: piece, count: count))
    #expect(list == [fault])
  }

  @Test func `takes what is just within the limits`() throws {
    _ = try read(String(repeating: "[", count: 64) + String(repeating: "]", count: 64))
    _ = try read(String(repeating: "- a\n", count: 99_999))
    _ = try read("a: " + String(repeating: "x", count: 262_144))
  }

  @Test func `refuses an alias bomb`() {
    var text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
    for level in 1...40 {
      let aliases = Array(repeating: "*a\(level - 1)", count: 9).joined(separator: ", ")
      text += "a\(level): &a\(level) [\(aliases)]\n"
    }
    #expect(
      faults(in: text) == ["6:10: error: this makes more than 100000 values, aliases counted as what they refer to"])
  }

  @Test func `counts the depth that aliases make`() {
    var text = "a0: &a0 [x]\n"
    for level in 1...100 { text += "a\(level): &a\(level) [*a\(level - 1)]\n" }
    #expect(
      faults(in: text) == [
        "64:12: error: lists and maps are nested more than 64 levels deep, aliases followed [*a62]"
      ])
  }

  /// One line each, so that whatever looks for the line's value looks at all of it.
  @Test(arguments: [
    "[!x , ", "[a,a , ", "{a: 1, a: 1, ", "&x a, ", "*x , ", "f(a, ", "9999999999999999999, ", "~: 1, ",
  ])
  func `gives up after a hundred faults`(_ piece: String) {
    let opener = piece.first == "[" ? "" : piece.first == "~" ? "{" : "["
    let list = faults(in: opener + String(repeating: piece, count: 900_000 / piece.utf8.count))
    #expect(list.count <= 202)
  }

  @Test func `reads mutated texts without a trap, and gives places inside of them`() {
    let seeds = [
      "recipe: a-b\non:\n  - cron: \"30 17 * * FRI\"\n    zone: Australia/Sydney\nsteps:\n  - id: x\n    uses: p.q\n    with: { a: [1, 2.5], b: 'it''s' }\n",
      "a: &x |+2\n    é\n  💥\n\nb: >-\n  c\n  d\n\n   e\nf: *x\n? g\n: \"\\u00e9\\n\\\n  h\"\n",
      "- ${{ a ? b : c }}\n- !!str 12\n- {x: ${{ y }}, z: max(a, b)} # c\n- 0x1F\n- ~\n---\n...\n",
    ]
    let pieces = [
      "[", "]", "{", "}", ": ", " #", "- ", "\n", "\r\n", "'", "\"", "|", ">", "&x ", "*x", "!", "\t", "%", "${{", "}}",
      "\\", "é", "\u{FEFF}", "?", ",", "<<", "---\n", "\0",
    ]
    var random = SeededGenerator(seed: 42)
    for round in 0..<6000 {
      var bytes = Array((seeds[round % seeds.count]).utf8)
      for _ in 0...Int.random(in: 0...4, using: &random) {
        let start = Int.random(in: 0...bytes.count, using: &random)
        let end = Int.random(in: start...min(bytes.count, start + 6), using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes.removeSubrange(start..<end)
        case 1: bytes.insert(contentsOf: bytes[start..<end], at: Int.random(in: 0...bytes.count, using: &random))
        case 2: bytes.insert(UInt8.random(in: 0...255, using: &random), at: start)
        default: bytes.insert(contentsOf: (pieces.randomElement(using: &random) ?? "").utf8, at: start)
        }
      }
      let source = Source(name: "test.yaml", bytes: bytes)
      do throws(Diagnostics) {
        let document = try YAMLReader.read(source)
        check(document.root, in: document)
        check(document.diagnostics, bytes)
      } catch {
        #expect(error.hasErrors)
        check(error.list, bytes)
      }
    }
  }

  private func check(_ diagnostics: [Diagnostic], _ bytes: [UInt8]) {
    for location in diagnostics.flatMap({ [$0.location] + $0.notes.map(\.location) }) {
      let isInside = location.map { 0 <= $0.range.lowerBound && $0.range.upperBound <= bytes.count } ?? false
      if !isInside { Issue.record("\(diagnostics) are outside of \(String(decoding: bytes, as: UTF8.self))") }
    }
  }

  private func check(_ value: Value, in document: YAMLDocument) {
    let range = document.range(of: value)
    if value.place.offset != range.lowerBound || range.upperBound > document.source.bytes.count {
      Issue.record("\(value) is outside of \(String(decoding: document.source.bytes, as: UTF8.self))")
    }
    switch value.content {
    case .list(let items): items.forEach { check($0, in: document) }
    case .map(let map):
      for member in map.members {
        check(member.key, in: document)
        check(member.value, in: document)
      }
    case .string(let text):
      let end = document.scalar(at: value.place)?.offset(ofValueOffset: text.utf8.count)
      if (end ?? .max) > document.source.bytes.count { Issue.record("\(text.debugDescription) has no end") }
    default: break
    }
  }
}
