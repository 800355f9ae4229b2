// The results of a run: its outputs, lists of objects as tables by page, and the files that its actions wrote.
import Agent
import Basics
import HTTPServer
import Operations
import RunState

extension Pages {
  static func outputs(_ request: PageRequest, _ name: String) async throws(Problem) -> HTTPServerResponse {
    let run = try await displayed(request, name)
    let outputs = try await request.ask(ReadOutputs.with { $0.run = run.id }).value
    let files = try await request.ask(ListRunFiles.with { $0.run = run.id }).files
    var content: [Markup] = []
    for member in outputs?.map?.members ?? [] {
      guard let name = member.name else { continue }
      content.append(.element("h2", [:], Part.code(name)))
      content.append(output(member.value, name, run, request))
    }
    if content.isEmpty {
      let words: Markup =
        run.erasedAt != nil
        ? "They were erased." : run.status.isEnded ? "The run has no outputs." : "There are none yet."
      content.append(.element("p", ["class": "none"], words))
    } else {
      content.insert(
        .element(
          "div", ["class": "actions"],
          .element("a", ["class": "button", "href": pagePath("runs", run.id, "outputs.json")], "JSON")), at: 0)
    }
    if !files.isEmpty { content.append(Part.heading("Files", count: files.count) + self.files(files, run, request)) }
    return request.frame(
      "Outputs of \(run.recipe)", "/runs", Part.crumbs(("Runs", "/runs"), (run.recipe, pagePath("runs", run.id))),
      .element("h1", [:], "Outputs"), Markup(content))
  }

  /// One output: lists of objects as tables, also the ones directly within it, and the rest as it is.
  private static func output(_ value: Value, _ name: String, _ run: RunRecord, _ request: PageRequest) -> Markup {
    if let table = ValueTable(value) { return rows(table, name, run, request) }
    guard let map = value.map else {
      return Part.value(value, request.clock) ?? .element("p", ["class": "none"], "Nothing.")
    }
    var rest = ValueMap()
    var tables: [Markup] = []
    for member in map.members {
      if let inner = member.name, let table = ValueTable(member.value) {
        tables.append(
          .element("h3", [:], Part.code("\(name).\(inner)")) + rows(table, "\(name).\(inner)", run, request))
      } else {
        rest[member.key] = member.value
      }
    }
    return (Part.value(.map(rest), request.clock) ?? .nothing) + Markup(tables)
  }

  /// The most rows, columns, and bytes of markup of a table on a page.
  private static let (mostRows, mostColumns, mostTableBytes) = (100, 12, 40_000)

  /// A page of a table.
  private static func rows(
    _ table: ValueTable, _ name: String, _ run: RunRecord, _ request: PageRequest
  ) -> Markup {
    let isPaged = request.given("of") == name
    let first = isPaged ? min(max(0, request.given("from").flatMap { Int($0) } ?? 0), table.rows.count - 1) : 0
    let columns = table.columns.prefix(mostColumns)
    var rows: [[Markup]] = []
    var size = 0
    for row in table.rows[first...].prefix(mostRows) {
      let cells = columns.map { column in
        row[column].map { Part.scalar($0, request.clock) ?? Markup(JSON.displayed($0).shortened(to: 500)) } ?? .nothing
      }
      size += cells.reduce(0) { $0 + $1.text.utf8.count }
      if size > mostTableBytes, !rows.isEmpty { break }
      rows.append(cells)
    }
    let end = first + rows.count
    func address(_ from: Int) -> String {
      pagePath("runs", run.id, "outputs", query: [("of", name), ("from", "\(from)")])
        + "#\(PercentEncoding.encode(name))"
    }
    var links: [Markup] = [
      .element(
        "a", ["class": "button", "href": pagePath("runs", run.id, "outputs", "\(name).csv")], "CSV",
        Part.unseen(" of \(name)"))
    ]
    if first > 0 {
      links.append(
        .element(
          "a", ["class": "button", "rel": "prev", "href": address(max(0, first - mostRows))], "Earlier rows",
          Part.unseen(" of \(name)")))
    }
    if end < table.rows.count {
      links.append(
        .element(
          "a", ["class": "button", "rel": "next", "href": address(end)], "Later rows", Part.unseen(" of \(name)")))
    }
    let hidden = table.columns.count - columns.count
    links.append(
      .element(
        "span", ["class": "quiet"],
        "\(first + 1) to \(end) of \(counted(table.rows.count, "row"))\(hidden > 0 ? ", without \(counted(hidden, "column"))" : "")"
      ))
    return .element(
      "div", ["id": name], Part.table(name, Array(columns), rows, isPlain: true),
      .element("div", ["class": "actions"], Markup(links)))
  }

  // MARK: Files

  /// The most pictures, and the most files, on a page.
  private static let (mostPictures, mostFiles) = (20, 100)

  private static func files(_ files: [WrittenFile], _ run: RunRecord, _ request: PageRequest) -> Markup {
    func path(_ index: Int) -> String { pagePath("runs", run.id, "files", "\(index + 1)") }
    let rows = files.enumerated().prefix(mostFiles).map { index, file -> [Markup] in
      [
        Part.link(file.name, to: path(index)), Part.link(file.step, to: pagePath("runs", run.id, "steps", file.step)),
        Markup(file.bytes.map { counted($0, "byte") } ?? ""), Part.time(file.writtenAt, request.clock),
      ]
    }
    let pictures = files.enumerated().filter { PictureType.isLikely($0.element.name) }.prefix(mostPictures).map {
      index, file -> Markup in
      .element(
        "figure", ["class": "card"],
        .element("img", ["src": path(index), "alt": file.name, "loading": "lazy"]),
        .element("figcaption", ["class": "small"], Markup(file.name)))
    }
    let rest: Markup =
      files.count > mostFiles
      ? .element("p", ["class": "quiet small"], "and \(files.count - mostFiles) more; the API lists all") : .nothing
    return Part.table("Files", ["File", "Step", "Size", "Written"], rows) + rest + Markup(Array(pictures))
  }
}
