import ActionKit

enum FormatReport: Action {
  static let name = "report"
  static let summary = "Writes a report of headings, paragraphs, lists and tables."
  static let effect = Effect.pure
  static let examples = [
    Example(
      "A short report",
      """
      title: Marks of 8M
      sections:
        - text: Two essays are marked.
        - heading: Marks
          rows:
            - { student: Ada, mark: 93.5 }
            - { student: Alan, mark: 88 }
        - heading: To do
          items: [Ask Grace for her essay]
      """)
  ]

  struct Input: FieldSet {
    @Field("The heading of the whole report.", .notEmpty) var title: String?
    @Field("The parts, in their order.", .notEmpty, .maxLength(1000)) var sections: [Section]
    @Field("The form of the report.") var style = TextStyle.markdown
  }

  struct Section: FieldSet {
    @Field("Its heading.", .notEmpty) var heading: String?
    @Field("Paragraphs, copied into the report as they are: in Markdown they may hold markup.", .notEmpty)
    var text: String?
    @Field("Points of a list, each on one line.") var items: [String]?
    @Field("Rows of a table, as maps by the keys of the columns.", .maxLength(100_000)) var rows: [ValueMap]?
    @Field("The table's columns, in their order; absent means all keys, as they first appear.", .notEmpty)
    var columns: [ColumnFields]?
    @Field("Text shown instead of an empty list or table.", .notEmpty) var empty: String?
  }

  struct Output: FieldSet {
    @Field("The report, each line with its line break.") var text: String
  }

  static func run(_ input: Input, on service: ReportStyles, in context: ActionContext) throws -> Output {
    var blocks: [String] = []
    let style = input.style
    if let title = input.title { blocks.append(heading(title, "=", "#", style)) }
    for section in input.sections {
      if let text = section.heading { blocks.append(heading(text, "-", input.title == nil ? "#" : "##", style)) }
      if let text = section.text?.trimmed, !text.isEmpty { blocks.append("\(text)\n") }
      if let items = section.items {
        blocks.append(items.isEmpty ? empty(section) : items.map { "- \(line($0, style))\n" }.joined())
      }
      if let rows = section.rows {
        blocks.append(rows.isEmpty ? empty(section) : TextTable(rows, section.columns, style: style).text)
      }
    }
    return try Output { $0.text = blocks.filter { !$0.isEmpty }.joined(separator: "\n") }
  }

  private static func empty(_ section: Section) -> String { section.empty.map { "\($0)\n" } ?? "" }

  private static func line(_ text: String, _ style: TextStyle) -> String {
    style == .markdown ? text.onOneLine.escapedForMarkdown : text.safe
  }

  private static func heading(_ text: String, _ rule: String, _ mark: String, _ style: TextStyle) -> String {
    let text = line(text, style)
    return style == .markdown ? "\(mark) \(text)\n" : "\(text)\n\(String(repeating: rule, count: text.displayWidth))\n"
  }
}
