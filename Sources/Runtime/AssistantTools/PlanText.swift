import Agent
import Basics
import Recipes

/// A plan as a text that a person reads before confirming it, made of its document (`PlanDocument`).
///
/// The document holds texts of services and of the assistant, which must not be able to hide a write. So each text is
/// on a line of its own, without control characters for a terminal, so that a value can't look like another line of the
/// plan. The writes come first, and have a share of the lines reserved for them. The number of omitted lines is shown.
enum PlanText {
  private static let mostWrites = 200
  private static let mostOthers = 40
  /// The most bytes of the lines about writes, and of the other lines; their sum is less than an answer may have.
  private static let (bytesOfWrites, bytesOfOthers) = (48 << 10, 4 << 10)
  /// The limits for the characters of a line: the more lines, the smaller; with the last, all lines fit.
  private static let longest = [1000, 500, 250, 120, 60]

  static func of(_ document: Value) -> String {
    var writes = Lines(most: mostWrites, bytes: bytesOfWrites)
    for write in document["writes"]?.list ?? [] { add(write, to: &writes) }
    var notes = Lines(most: mostOthers, bytes: bytesOfOthers)
    for note in document["notes"]?.list ?? [] where note["kind"]?.string != "leftOut" {
      notes.add("  \(note["path"]?.string ?? ""): \(conditions(note))\(note["text"]?.string ?? "")")
    }
    var inputs = Lines(most: mostOthers, bytes: bytesOfOthers)
    for member in document["inputs"]?.map?.members ?? [] {
      inputs.add("  \(member.key.plainText): \(words(member.value))")
    }
    var text = Lines(most: 1, bytes: bytesOfOthers)
    text.add("Plan of \(document["recipe"]?.string ?? ""): \(summary(document["tally"]))")
    var lines = text.all + writes.all
    if !notes.all.isEmpty { lines += ["On the way:"] + notes.all }
    if !inputs.all.isEmpty { lines += ["With:"] + inputs.all }
    if let error = document["error"] {
      var end = Lines(most: 1, bytes: bytesOfOthers)
      end.add("The run would fail: \(error["message"]?.string ?? "")")
      lines += end.all
    }
    return lines.joined(separator: "\n")
  }

  /// Some lines of the text; each is cut, to a shorter length if there are too many.
  private struct Lines {
    private let most: Int
    private let bytes: Int
    private var lines: [String] = []
    private var left = 0

    init(most: Int, bytes: Int) { (self.most, self.bytes) = (most, bytes) }

    var all: [String] {
      var displayed: [String] = []
      for longest in PlanText.longest {
        displayed = lines.map { text in
          let rest = text.unicodeScalars.count - longest
          return rest > 0 ? "\(text.shortened(to: longest)) (\(rest) more characters, not shown here)" : text
        }
        if displayed.reduce(0, { $0 + $1.utf8.count + 1 }) <= bytes { break }
      }
      return left > 0 ? displayed + ["  … and \(counted(left, "line")) more, not shown here"] : displayed
    }

    mutating func add(_ text: String) {
      if lines.count < most { lines.append(text.safe) } else { left += 1 }
    }
  }

  private static func add(_ write: Value, to lines: inout Lines) {
    let (path, action) = (write["path"]?.string ?? "", write["action"]?.string ?? "")
    lines.add("\(conditions(write))\(action) on \(write["connection"]?.string ?? ""), step \(path):")
    if let reason = write["opaque"]?.string {
      lines.add("  \(reason)")
      for member in write["input"]?.map?.members ?? [] {
        lines.add("  \(member.key.plainText): \(words(member.value))")
      }
      return
    }
    let changes = write["changes"]?.list ?? []
    if changes.isEmpty { lines.add("  no change") }
    for change in changes {
      let subject = change["subject"]?.string ?? ""
      if write["isDone"]?.bool == true {
        lines.add("  \(subject): \(change["after"]?.string ?? "")")
        continue
      }
      switch (change["before"]?.string, change["after"]?.string) {
      case (nil, let after?): lines.add("  \(subject): added: \(after)")
      case (let before?, nil): lines.add("  \(subject): removed: \(before)")
      case (let before?, let after?) where !before.hasSameScalars(as: after):
        lines.add("  \(subject): \(before) → \(after)")
      default: lines.add("  \(subject): unchanged")
      }
    }
  }

  private static func words(_ value: Value) -> String {
    if let reason = value["$unknown"]?.string, value.map?.count == 1 { return "(\(reason))" }
    if value["$withSecret"] != nil, value.map?.count == 1 { return MaskedText.mark }
    return value.string ?? JSON.displayed(displayed(value))
  }

  /// A value as the state keeps it, with marks in place of the secrets in it.
  private static func displayed(_ value: Value) -> Value {
    if value.map?.count == 1, value["$withSecret"] != nil { return .string(MaskedText.mark) }
    switch value.content {
    case .list(let items): return .list(items.map(displayed))
    case .map(let map): return .map(map.mapValues(displayed))
    default: return value
    }
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
