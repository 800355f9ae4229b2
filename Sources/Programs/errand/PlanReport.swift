import ActionKit
import Agent
import Basics
import CommandLineParser
import Glibc
import Runs

/// A plan for people: what would change, by service and step; the notes; the outputs.
struct PlanReport {
  let plan: Plan
  let recipe: String
  let console: Console
  let clock: WallClock
  /// Whether standard output is reserved for something else.
  var isAside = false

  func show() {
    for group in groups where group.writes > 0 { show(group) }
    let notes = plan.entries.compactMap { entry -> [String]? in
      guard let note = entry.note, note.kind != "leftOut" else { return nil }
      let conditions = entry.conditions.isEmpty ? "" : "\(entry.conditions.joined(separator: ", ")): "
      return [entry.path.safe, (conditions + local(note.text)).safe]
    }
    if !notes.isEmpty {
      out(heading("on the way"))
      let column = notes.reduce(0) { max($0, $1[0].displayWidth) } + 4
      for note in notes {
        let lines = width.map { note[1].wrapped(to: max(20, $0 - column)) } ?? [note[1]]
        out(
          "  \(note[0].fitted(to: column - 2))\(lines.joined(separator: "\n" + String(repeating: " ", count: column)))")
      }
    }
    let outputs = plan.outputs.withUnknowns { .string("(\($0))") }
    if let first = outputs.map?.members.first, first.value.tableRows(most: 1) == nil { out("") }
    for member in outputs.map?.members ?? [] {
      console.show(member.value, named: member.key.plain, hint: "--json shows all", isAside: isAside)
    }
    if let error = plan.error { console.error(error.text(colour: console.colourError)) }
    out("\n\(summary)")
  }

  /// A note with its instant in the folder's zone.
  private func local(_ note: String) -> String {
    let start = "would wait until "
    guard note.hasPrefix(start), let due = Timestamp(String(note.dropFirst(start.count))) else { return note }
    return start + clock.date(due)
  }

  private func out(_ text: String) { isAside ? console.error(text) : console.out(text) }

  private func heading(_ text: String) -> String { "\n\(Style.bold.applied(to: text, console.colourOut))" }

  // MARK: Changes

  /// The writes of one step under the same conditions.
  private struct Group {
    var connection: String
    var path: String
    var action: String
    var conditions: [String]
    var changes: [Change] = []
    var deeds: [Change] = []
    var opaque: [(call: Plan.Call, reason: String)] = []
    var writes = 0
    var leftOut = 0
  }

  private var groups: [Group] {
    var groups: [Group] = []
    for entry in plan.entries {
      let call: Plan.Call
      var changes: [Change] = []
      var deeds: [Change] = []
      var opaque: [(call: Plan.Call, reason: String)] = []
      switch entry.event {
      case .write(let write, .changes(let found)): (call, changes) = (write, found)
      case .write(let write, .deeds(let found)): (call, deeds) = (write, found)
      case .write(let write, .opaque(let reason)): (call, opaque) = (write, [(write, reason.text)])
      case .leftOut(let write): call = write
      default: continue
      }
      let path = entry.path.withoutIndexes
      let known = groups.firstIndex {
        $0.connection == call.connection && $0.path == path && $0.action == call.action
          && $0.conditions == entry.conditions
      }
      let index = known ?? groups.count
      if known == nil {
        groups.append(
          Group(connection: call.connection, path: path, action: call.action, conditions: entry.conditions))
      }
      groups[index].changes += changes
      groups[index].deeds += deeds
      groups[index].opaque += opaque
      if case .leftOut = entry.event { groups[index].leftOut += 1 } else { groups[index].writes += 1 }
    }
    return groups
  }

  private func show(_ group: Group) {
    var counts: [String] = []
    if !group.deeds.isEmpty { counts.append("\(group.deeds.count) to do") }
    for kind in [Change.Kind.added, .changed, .removed, .unchanged] {
      let count = group.changes.count { $0.kind == kind }
      if count > 0 { counts.append("\(count) \(kind.rawValue)") }
    }
    if !group.opaque.isEmpty { counts.append("\(counted(group.opaque.count, "write")) shown by input") }
    if group.leftOut > 0 { counts.append("\(group.leftOut) left out") }
    let step = Style.bold.applied(to: "\(group.connection)  \(group.path.safe)", console.colourOut)
    out("\n\(step)  \(group.action): \(counts.isEmpty ? "no change" : counts.joined(separator: ", "))")
    for condition in group.conditions { out("  \(Style.yellow.applied(to: condition.safe, console.colourOut))") }
    let rows = group.changes.filter { $0.kind != .unchanged }.map { change in
      [change.subject, change.before ?? "", change.after ?? ""].map { $0.safe.clipped }
    }
    for deed in group.deeds {
      let line = "\(deed.subject): \(deed.after ?? "")".safe
      out("  " + (width.map { line.wrapped(to: max(20, $0 - 4)).joined(separator: "\n    ") } ?? line))
    }
    if !rows.isEmpty { show(["what", "before", "after"], rows) }
    let reasons = group.opaque.map(\.reason).withoutRepeats
    for reason in reasons.prefix(PlanReport.mostReasons) { out("  \(reason.safe)") }
    if reasons.count > PlanReport.mostReasons { out("  and \(reasons.count - PlanReport.mostReasons) more") }
    let inputs = group.opaque.map { $0.call.input.withUnknowns { .string("(\($0))") } }
    if let only = inputs.first?.map, inputs.count == 1 {
      show(nil, only.members.map { [$0.key.plain, $0.value.plain.clipped] })
    } else if !inputs.isEmpty {
      let names = inputs.flatMap { ($0.map?.members ?? []).map(\.key.plain) }.withoutRepeats
      show(names, inputs.map { input in names.map { input[$0]?.plain.clipped ?? "" } })
    }
  }

  /// A step may have a thousand items, each with its own reason.
  private static let mostReasons = 5

  private func show(_ headings: [String]?, _ rows: [[String]]) {
    let table = Table(headings: headings ?? rows.first?.map { _ in "" } ?? [], rows: rows)
    let room = width.map { $0 - 2 }
    for line in table.lines(width: room, colour: console.colourOut).dropFirst(headings == nil ? 1 : 0) {
      out("  \(line)")
    }
    if table.isCut(to: room) { out("  … cut to the terminal; --json shows all") }
  }

  /// The columns of the terminal; nil if there is none.
  private var width: Int? { Console.width(of: isAside ? STDERR_FILENO : STDOUT_FILENO) }

  // MARK: The end

  private var summary: String {
    let tally = plan.tally
    var parts: [String] = []
    let deeds = groups.reduce(0) { $0 + $1.deeds.count }
    if deeds > 0 { parts.append("\(deeds) to do") }
    if tally.added > deeds { parts.append("\(tally.added - deeds) added") }
    if tally.changed > 0 { parts.append("\(tally.changed) changed") }
    if tally.removed > 0 { parts.append("\(tally.removed) removed") }
    if tally.opaque > 0 { parts.append("\(counted(tally.opaque, "write")) shown by input") }
    var text = parts.isEmpty ? "no changes" : parts.joined(separator: ", ")
    if tally.undecided > 0 { text += " (\(tally.undecided) of these perhaps)" }
    let end = plan.error == nil ? "" : "; the run would fail"
    return "plan of \(recipe): \(text)\(end). Nothing was written."
  }
}
