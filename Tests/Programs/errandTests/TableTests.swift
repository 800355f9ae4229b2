import Basics
import Testing

@testable import errand

@Suite struct TableTests {
  private static let runs = Table(
    headings: ["RUN", "RECIPE", "TOOK", "WHY"],
    rows: [
      ["0199a7c2", "markbook-averages-of-the-week", "12", "for the event 'paid' until Friday"],
      ["0199a7c3", "字の名前", "7", ""],
    ], cutFirst: ["WHY", "RECIPE"])

  @Test func `a table as wide as the terminal isn't cut`() {
    let whole = """
      RUN       RECIPE                         TOOK  WHY
      0199a7c2  markbook-averages-of-the-week    12  for the event 'paid' until Friday
      0199a7c3  字の名前                          7  \("")
      """
    #expect(Self.runs.lines(colour: false).joined(separator: "\n") == whole)
    #expect(Self.runs.lines(width: 80, colour: false).joined(separator: "\n") == whole)
  }

  @Test(arguments: [
    (
      60,
      """
      RUN       RECIPE                         TOOK  WHY
      0199a7c2  markbook-averages-of-the-week    12  for the even…
      0199a7c3  字の名前                          7  \("")
      """
    ),
    (
      40,
      """
      RUN       RECIPE          TOOK  WHY
      0199a7c2  markbook-aver…    12  for the…
      0199a7c3  字の名前           7  \("")
      """
    ),
    (
      27,
      """
      RUN       RECIPE    TOOK  …
      0199a7c2  markboo…    12  …
      0199a7c3  字の名前     7  …
      """
    ),
    (
      18,
      """
      RUN       TOOK  …
      0199a7c2    12  …
      0199a7c3     7  …
      """
    ),
    (
      8,
      """
      RUN    …
      0199…  …
      0199…  …
      """
    ),
  ])
  func `columns are cut in their order, then they go`(_ example: (width: Int, text: String)) {
    #expect(Self.runs.lines(width: example.width, colour: false).joined(separator: "\n") == example.text)
  }

  @Test(arguments: Array(4...90)) func `no row is wider than the terminal`(_ width: Int) {
    for table in [Self.runs, Table(headings: Self.runs.headings, rows: Self.runs.rows)] {
      for line in table.lines(width: width, colour: false) { #expect(line.displayWidth <= width, "\(line)") }
    }
  }

  @Test(arguments: [
    ("plain", 5, "plain"), ("plain", 4, "pla…"), ("\u{1B}[1mbold\u{1B}[0m", 4, "\u{1B}[1mbold\u{1B}[0m"),
    ("\u{1B}[1mbold\u{1B}[0m text", 3, "\u{1B}[1mbo…\u{1B}[0m"),
    ("\u{1B}[1mbold\u{1B}[0m text", 7, "\u{1B}[1mbold\u{1B}[0m t…"), ("名前", 3, "名…"), ("名前", 4, "名前"),
  ])
  func `a styled line is cut by what is seen of it`(_ example: (text: String, width: Int, cut: String)) {
    #expect(example.text.styledAndClipped(to: example.width) == example.cut)
  }
}
