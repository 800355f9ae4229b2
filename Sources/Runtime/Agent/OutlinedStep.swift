// The steps of a run in the order of its recipe, with the steps that haven't begun.
import Basics
package import Recipes
package import RunState

/// A step of a run's recipe, or a heading of steps.
package struct OutlinedStep: Record, Equatable {
  /// The path of the record; of a step that hasn't begun, its record's path if it begins; of a heading, the path that
  /// those of its steps begin with.
  package var path: StepPath
  /// The step's id, or `#` and its number; of a heading, what its steps are.
  package var title: String
  /// The name that the recipe gives the step.
  package var name: String?
  package var depth: Int
  package var isHeading = false
  /// Nil for a heading, and for a step that hasn't begun.
  package var status: StepStatus?

  package init(path: StepPath, title: String, depth: Int, status: StepStatus? = nil) {
    self.path = path
    self.title = title
    self.depth = depth
    self.status = status
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    path = try member("path", record?.path)
    title = try member("title", record?.title)
    name = try member("name", record?.name)
    depth = try member("depth", record?.depth)
    isHeading = try member("isHeading", record?.isHeading, default: false)
    status = try member("status", record?.status)
  }
}

extension StepLevel {
  /// The steps of the level in the order of the recipe.
  ///
  /// A step with several records, such as one inside a block that was tried again, is there once for each. A record
  /// that the outline has no place for comes at the end.
  ///
  /// - Parameters:
  ///   - outline: The recipe's.
  ///   - place: The path of an item; empty for the steps outside loops.
  package func outlined(by outline: [OutlinePlace], in place: StepPath) -> [OutlinedStep] {
    let around = place.withoutNumbers
    let places = outline.filter { ($0.loop ?? "").hasSameScalars(as: around) }
    let least = places.map(\.depth).min() ?? 0
    let records = Dictionary(grouping: steps, by: \.path.withoutNumbers)
    // A block has no record of its own while a step inside it has one.
    var begun: Set<String> = []
    for path in records.keys {
      for (index, byte) in zip(path.utf8.indices, path.utf8) where byte == ASCII.slash || byte == UInt8(ascii: "!") {
        begun.insert(String(path[..<index]))
      }
    }
    var rows: [OutlinedStep] = []
    var known: Set<String> = []
    for found in places {
      let path = place + found.path.utf8.dropFirst(around.utf8.count).asText
      var row = OutlinedStep(path: path, title: found.title, depth: found.depth - least)
      (row.name, row.isHeading) = (found.name, found.isHeading)
      if found.isHeading {
        rows.append(row)
        continue
      }
      known.insert(found.path)
      guard let own = records[found.path] else {
        if begun.contains(found.path) { row.status = .running }
        if row.status != nil || !found.isQuiet { rows.append(row) }
        continue
      }
      for record in own {
        (row.path, row.status) = (record.path, record.status)
        rows.append(row)
      }
    }
    for record in steps where !known.contains(record.path.withoutNumbers) {
      let rest = record.path.utf8.dropFirst(place.utf8.count).split(separator: ASCII.slash)
      rows.append(
        OutlinedStep(
          path: record.path, title: rest.last.map(\.asText) ?? record.path, depth: max(0, rest.count - 1),
          status: record.status))
    }
    return rows
  }
}

extension StepPath {
  /// The path as a recipe's outline has it: without the numbers of items, tries and rounds.
  fileprivate var withoutNumbers: String {
    utf8.split(separator: ASCII.slash).filter { !$0.starts(with: "#round".utf8) }
      .map { part in
        let name = part.prefix { $0 != ASCII.openBracket && $0 != ASCII.tilde && $0 != UInt8(ascii: "!") }
        return name.asText + (part.last == UInt8(ascii: "!") ? "!" : "")
      }
      .joined(separator: "/")
  }
}

extension Substring.UTF8View {
  fileprivate var asText: String { String(decoding: self, as: UTF8.self) }
}
