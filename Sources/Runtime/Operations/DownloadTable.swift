package import ActionKit
package import Agent
package import Basics
import RunState

package struct DownloadTable: Operation {
  package static let name = "outputTable"
  package static let summary = "Gives a list of objects in the outputs of a run as a table in CSV."
  package static let scopes = Scopes.token(.data)
  package static let route: Route? = .get("/runs/{run}/outputs/{name}.csv")
  package static let page: String? = "/runs/{run}/outputs"
  package static let absences: [Absence] = [
    .command("`errand runs show RUN --json` prints the outputs; `csv.write` makes a table in a recipe.")
  ]
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns
  package static let media = Media.csv

  @Field(RunName.summary) package var run: String
  @Field("The output's name; `report.rows` is the member `rows` of the output `report`.") package var name: String

  package init() {}

  package var target: RunName { RunName(run) }

  package struct Answer: MediaAnswer {
    fileprivate var run: RunReference
    fileprivate var name: String
    fileprivate var table: ValueTable
  }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    let value = try await agent.outputs(of: run)?.member(at: name)
    guard let value else {
      throw RequestRefusedError(.notFound, "the run has no output '\(name.shortened(to: 80))'")
    }
    guard let table = ValueTable(value) else {
      throw RequestRefusedError(
        .notFound, "the output '\(name.shortened(to: 80))' isn't a list of objects, so it has no table")
    }
    return Answer(run: run, name: name, table: table)
  }

  package static func body(_ answer: Answer, for caller: AgentCaller) -> MediaBody? {
    MediaBody(type: "text/csv; charset=utf-8", name: "\(answer.run.recipe) \(answer.name).csv", isMasked: false) {
      send in
      try await answer.table.write(send)
    }
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> NoContent { NoContent() }
}

/// A list of objects as a table: a column for each name that an object has.
package struct ValueTable: Sendable {
  package let columns: [String]
  package let rows: [Value]

  /// Nil for a value that isn't a list of objects.
  package init?(_ value: Value) {
    guard let list = value.list, !list.isEmpty else { return nil }
    var columns: [String] = []
    var known: Set<String> = []
    for item in list {
      guard let map = item.map else { return nil }
      for member in map.members {
        guard let name = member.name else { return nil }
        if known.insert(name).inserted { columns.append(name) }
      }
      if columns.count > ValueTable.mostColumns { return nil }
    }
    if columns.isEmpty { return nil }
    self.columns = columns
    rows = list
  }

  private static let mostColumns = 1000

  /// Writes the table as CSV (RFC 4180), row by row.
  func write(_ send: MediaBody.Send) async throws {
    var pending = ValueTable.line(columns.map { ValueTable.cell($0) })
    for row in rows {
      pending += ValueTable.line(columns.map { row[$0].map { ValueTable.cell($0) } ?? "" })
      if pending.count < 64 << 10 { continue }
      try await send(pending)
      pending = []
    }
    try await send(pending)
  }

  private static func line(_ cells: [String]) -> [UInt8] { Array((cells.joined(separator: ",") + "\r\n").utf8) }

  private static func cell(_ value: Value) -> String {
    value.isNull ? "" : cell(value.string ?? JSON.displayed(value))
  }

  /// A cell that no spreadsheet takes for a formula, in quotes if it needs them.
  package static func cell(_ text: String) -> String {
    var text = text
    if let first = text.utf8.first, "=+-@\t\r".utf8.contains(first), !isNumber(text) { text = "'" + text }
    guard text.utf8.contains(where: { ",\"\r\n".utf8.contains($0) }) else { return text }
    return "\"" + text.replacing("\"", with: "\"\"") + "\""
  }

  /// Whether a text is a number in digits, such as -12.5 or 1e6.
  private static func isNumber(_ text: String) -> Bool {
    Double(text) != nil && text.utf8.allSatisfy { ASCII.digits.contains($0) || "+-.eE".utf8.contains($0) }
  }
}

extension Value {
  /// The member that a name leads to, or names with dots between them.
  package func member(at name: String) -> Value? {
    var rest = name[...]
    var value = self
    // A name may have dots itself.
    while true {
      if let found = value[String(rest)] { return found }
      guard let dot = rest.firstIndex(of: "."), let inner = value[String(rest[..<dot])] else { return nil }
      value = inner
      rest = rest[rest.index(after: dot)...]
    }
  }
}
