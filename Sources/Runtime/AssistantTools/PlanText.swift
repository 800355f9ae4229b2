import Agent
import Basics
import Recipes

/// A plan as a text that a person reads before confirming it, made of its document (`PlanDocument`).
///
/// What is in it comes from services as well: each text stands on a line of its own part, without what a terminal would
/// obey, so that a value can't look like another line of the plan. A plan that is too long says how much is left out.
struct PlanText {
  private var lines: [String] = []
  private var left = 0

  private static let mostLines = 200
  private static let longest = 160

  static func of(_ document: Value) -> String {
    var text = PlanText()
    text.add(document)
    return text.lines.joined(separator: "\n")
  }

  private mutating func add(_ document: Value) {
    line("Plan of \(document["recipe"]?.string ?? ""): \(PlanText.summary(document["tally"]))")
    let inputs = document["inputs"]?.map?.members ?? []
    if !inputs.isEmpty {
      line("With:")
      for member in inputs { line("  \(member.key.plainText): \(PlanText.words(member.value))") }
    }
    for write in document["writes"]?.list ?? [] { add(write: write) }
    let notes = (document["notes"]?.list ?? []).filter { $0["kind"]?.string != "leftOut" }
    if !notes.isEmpty { line("On the way:") }
    for note in notes {
      line("  \(note["path"]?.string ?? ""): \(PlanText.conditions(note))\(note["text"]?.string ?? "")")
    }
    if let error = document["error"] { line("The run would fail: \(error["message"]?.string ?? "")") }
    if left > 0 { lines.append("… and \(counted(left, "line")) more, which are not shown here") }
  }

  private mutating func add(write: Value) {
    let (path, action) = (write["path"]?.string ?? "", write["action"]?.string ?? "")
    line("\(PlanText.conditions(write))\(action) on \(write["connection"]?.string ?? ""), step \(path):")
    if let reason = write["opaque"]?.string {
      line("  \(reason)")
      for member in write["input"]?.map?.members ?? [] {
        line("  \(member.key.plainText): \(PlanText.words(member.value))")
      }
      return
    }
    let changes = write["changes"]?.list ?? []
    if changes.isEmpty { line("  no change") }
    for change in changes {
      let subject = change["subject"]?.string ?? ""
      switch (change["before"]?.string, change["after"]?.string) {
      case (nil, let after?): line("  \(subject): added: \(after)")
      case (let before?, nil): line("  \(subject): removed: \(before)")
      case (let before?, let after?) where before.hasSameScalars(as: after): line("  \(subject): unchanged")
      case (let before?, let after?): line("  \(subject): \(before) → \(after)")
      case (nil, nil): line("  \(subject): unchanged")
      }
    }
  }

  private mutating func line(_ text: String) {
    guard lines.count < PlanText.mostLines else {
      left += 1
      return
    }
    lines.append(text.safe.shortened(to: PlanText.longest))
  }

  private static func words(_ value: Value) -> String {
    if let reason = value["$unknown"]?.string, value.map?.count == 1 { return "(\(reason))" }
    return value.string ?? JSON.shown(value)
  }

  private static func conditions(_ entry: Value) -> String {
    let conditions = (entry["if"]?.list ?? []).compactMap(\.string)
    return conditions.isEmpty ? "" : "perhaps, \(conditions.joined(separator: ", ")): "
  }

  private static func summary(_ tally: Value?) -> String {
    let parts = [("added", "added"), ("changed", "changed"), ("removed", "removed"), ("opaque", "shown by input")]
      .compactMap { name, words in
        (tally?[name]?.int).flatMap { $0 > 0 ? "\($0) \(words)" : nil }
      }
    return parts.isEmpty ? "no changes" : parts.joined(separator: ", ")
  }
}
