import Basics
import Testing

@testable import errand

@Suite struct ValueTextTests {
  private static func displayed(_ value: Value, _ name: String = "out", width: Int = 40) -> String {
    ValueText(width: width, colour: false, hint: "--json shows all").lines(of: value, named: name)
      .joined(separator: "\n")
  }

  private static func numbers(_ count: Int) -> Value { .list((0..<count).map { .int($0 * 1_000_000) }) }

  @Test(
    arguments: [
      (.int(23), "out: 23"),
      (.string("Ana"), "out: Ana"),
      (.string("a\u{1B}b\tc"), "out: a␛b c"),
      (.bool(true), "out: true"),
      (.null, "out: null"),
      (.bytes([1, 2, 3]), "out: 3 bytes"),
      (.bytes(Array(repeating: 0, count: 12_345)), "out: 12.3 KB"),
      (.list([]), "out: []"),
      (.list([.int(1), .int(2)]), "out: [1,2]"),
      (.object(["a": .int(1), "b": .list([.null])]), #"out: {"a":1,"b":[null]}"#),
    ] as [(Value, String)])
  func `what fits on a line stands on it`(_ example: (value: Value, text: String)) {
    #expect(Self.displayed(example.value) == example.text)
  }

  @Test func `a list of flat objects is a table of at most 20 rows`() {
    let rows = (0..<300).map { Value.object(["name": .string("n\($0)"), "mark": .double(Double($0) / 2)]) }
    let lines = Self.displayed(.list(rows)).split(separator: "\n")
    #expect(lines.count == 23)
    #expect(lines.prefix(3) == ["out", "name  mark", "n0     0.0"])
    #expect(lines.suffix(2) == ["n19    9.5", "… 280 more rows; --json shows all"])
  }

  @Test func `a table fits the terminal, and keeps its numbers`() {
    let row = Value.object([
      "name": .string("Lachlan Abernethy of Old Town"), "mark": .int(123_456_789), "note": .string("absent on Monday"),
      "file": .bytes(Array(repeating: 1, count: 2048)),
    ])
    #expect(
      Self.displayed(.list([row]), width: 46) == """
        out
        name               mark  note          file
        Lachlan Abe…  123456789  absent on M…  2.0 KB
        """)
    #expect(
      Self.displayed(.list([row]), width: 30) == """
        out
        name                   mark  …
        Lachlan Abernet…  123456789  …
        """)
  }

  @Test func `a long text is cut to some lines, and its size is told`() {
    let poem = (1...40).map { "line \($0)" }.joined(separator: "\n")
    let lines = Self.displayed(.string(poem)).split(separator: "\n")
    #expect(lines.count == 14)
    #expect(lines.prefix(2) == ["out:", "  line 1"])
    #expect(lines.suffix(2) == ["  line 12", "  … 28 more lines, 310 bytes in all; --json shows all"])
    #expect(Self.displayed(.string("one\ntwo\n")) == "out:\n  one\n  two")
    #expect(
      Self.displayed(.string("one\n" + String(repeating: "x", count: 60))) == """
        out:
          one
          xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…
          … cut, 64 bytes in all; --json shows all
        """)
    #expect(
      Self.displayed(.string(String(repeating: "word ", count: 20_000))) == """
        out:
          word word word word word word word
          word word word word word word word
          word word word word word word word
          word word word word word word word
          … cut, 100.0 KB in all; --json shows all
        """)
  }

  @Test func `what is nested is lines of names and items`() {
    let value = Value.object([
      "status": .int(200), "text": .string("first line\nsecond line"),
      "items": .list([
        .object(["name": .string("pen"), "sizes": Self.numbers(8)]),
        .object(["name": .string("ink"), "sizes": .list([.int(1)])]),
      ]), "rows": .list([.object(["a": .int(1)]), .object(["a": .int(2)])]), "none": .object([:]),
    ])
    #expect(
      Self.displayed(value) == """
        out:
          status: 200
          text:
            first line
            second line
          items:
            - name: pen
              sizes:
                - 0
                - 1000000
                - 2000000
                - 3000000
                - 4000000
                - 5000000
                - 6000000
                - 7000000
            - {"name":"ink","sizes":[1]}
          rows:
            a
            1
            2
          none: {}
        """)
  }

  @Test func `depth, items and lines are bounded`() {
    var deep = Value.string("at the bottom")
    for level in 0..<5_000 { deep = .object(["level\(level)": deep]) }
    #expect(
      Self.displayed(deep) == """
        out:
          level4999:
            level4998:
              level4997:
                level4996: {1 member}
        """)
    let lines = Self.displayed(.list((0..<30).map { _ in Self.numbers(30) })).split(separator: "\n")
    #expect(lines.count == 62)
    #expect(lines.last == "  … not all of it is shown; --json shows all")
    #expect(
      Self.displayed(Self.numbers(500)).split(separator: "\n").suffix(2) == [
        "  - 19000000", "  … 480 more items; --json shows all",
      ])
  }

  @Test(arguments: [
    (0, "0 bytes"), (1, "1 byte"), (999, "999 bytes"), (1000, "1.0 KB"), (999_940, "999.9 KB"), (999_950, "1.0 MB"),
    (4_500_000_000, "4.5 GB"), (.max, "9223372.0 TB"),
  ])
  func `bytes are said in the largest unit`(_ example: (count: Int, text: String)) {
    #expect(example.count.asBytes == example.text)
  }
}
