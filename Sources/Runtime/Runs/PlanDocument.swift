// A plan as a file, and the changes between two of them.
//
//     {"format": 2, "recipe": …, "file": …, "sha256": of the recipes' texts, "plannedAt": …, "program": …,
//      "sandbox": bool, "inputs": {…}, "overrides": {…},
//      "reads":   [{"path", "action", "connection", "input", "output": {field: SHA-256}}],
//      "writes":  [{"path", "action", "connection", "input", "if": […],
//                   "changes": [{"subject", "before", "after"}] or "opaque": why,
//                   "isDone": true if they are done, such as commands, and nothing of them is there before}],
//      "notes":   [{"path", "if": […], "kind", "text"}],
//      "outputs": {…}, "error": {…}, "tally": {…}}
//
// A volatile output field (`FieldSchema.isVolatile`), such as the time of an answer, has no hash, so that the plan
// still holds when the field changes. A write that uses it shows it in that write's input.
//
// An unknown value is `{"$unknown": "known after 'make'"}`. The file holds no secret: they are masked by type and by
// value.
import ActionKit
package import Basics
import Expressions
import RunState

extension Plan {
  /// The version of the format that plans are written in.
  package static let format = 2

  /// The reads and writes of the plan, after `heading`.
  package func document(_ heading: ValueMap) -> Value {
    var document = ValueMap()
    document["format"] = .int(Plan.format)
    for member in heading.members { document[member.key] = member.value }
    document["reads"] = .list(
      reads.map { read in
        var map = read.call.members(at: read.path)
        map["output"] = read.output
        return .map(map)
      })
    var writes: [Value] = []
    var notes: [Value] = []
    for entry in entries {
      let conditions: Value? = entry.conditions.isEmpty ? nil : .list(entry.conditions.map { .string($0) })
      if case .write(let call, let preview) = entry.event {
        var map = call.members(at: entry.path)
        map["if"] = conditions
        switch preview {
        case .changes(let changes): map["changes"] = .list(changes.map(\.value))
        case .deeds(let deeds): (map["changes"], map["isDone"]) = (.list(deeds.map(\.value)), .bool(true))
        case .opaque(let reason): map["opaque"] = .string(reason.text)
        }
        writes.append(.map(map))
      } else if let (kind, text) = entry.note {
        var map = ValueMap([("path", .string(entry.path)), ("kind", .string(kind)), ("text", .string(text))])
        map["if"] = conditions
        notes.append(.map(map))
      }
    }
    document["writes"] = .list(writes)
    document["notes"] = .list(notes)
    document["outputs"] = outputs.isNull ? nil : outputs.withUnknowns { .object(["$unknown": .string($0)]) }
    document["error"] = error?.value
    let tally = tally
    document["tally"] = .object([
      "added": .int(tally.added), "changed": .int(tally.changed), "removed": .int(tally.removed),
      "unchanged": .int(tally.unchanged), "opaque": .int(tally.opaque), "undecided": .int(tally.undecided),
    ])
    return .map(document)
  }
}

extension Plan.Entry {
  private static let leftOut = " is left out"
  private static let notCalled = " uses something up, so it is not called for a plan"
  private static let notRead = " can only be called in the run: "
  private static let mayFail = "the run may fail here: "

  /// The kind and text of a note; nil for a write.
  package var note: (kind: String, text: String)? {
    switch event {
    case .write: nil
    case .leftOut(let call): ("leftOut", call.action + Plan.Entry.leftOut)
    case .notCalled(let call): ("notCalled", call.action + Plan.Entry.notCalled)
    case .notRead(let call, let reason): ("notRead", call.action + Plan.Entry.notRead + reason.text)
    case .pause(let text): ("pause", text)
    case .mayFail(let message): ("mayFail", Plan.Entry.mayFail + message)
    case .undecided: ("undecided", "this may be done")
    }
  }
}

extension Plan.Call {
  fileprivate func members(at path: StepPath) -> ValueMap {
    ValueMap([
      ("path", .string(path)), ("action", .string(action)), ("connection", .string(connection)),
      ("input", input.withUnknowns { .object(["$unknown": .string($0)]) }),
    ])
  }
}

extension Change {
  fileprivate var value: Value {
    var map = ValueMap([("subject", .string(subject))])
    map["before"] = before.map { .string($0) }
    map["after"] = after.map { .string($0) }
    return .map(map)
  }
}

extension Value {
  /// The value with each unknown replaced by the result of `replace` for its reason.
  package func withUnknowns(_ replace: (String) -> Value) -> Value {
    if let unknown = Unknown(self) { return replace(unknown.reason) }
    switch content {
    case .optional(let wrapped): return wrapped?.withUnknowns(replace) ?? .null
    case .list(let items): return .list(items.map { $0.withUnknowns(replace) })
    case .map(let map): return .map(map.mapValues { $0.withUnknowns(replace) })
    default: return self
    }
  }
}

// MARK: - Reading

extension Plan {
  /// Reads a plan of a document; what the document lacks or has in another form is left out.
  ///
  /// The writes come before the notes. The document has no connection for a note; a write that is left out for some items
  /// has the connection of the others.
  package init(document: Value) {
    reads = (document["reads"]?.list ?? []).map { read in
      Read(path: read["path"]?.string ?? "", call: Call(of: read), output: read["output"] ?? .null)
    }
    entries = (document["writes"]?.list ?? []).map { Entry(write: $0) }
    for note in document["notes"]?.list ?? [] {
      if let entry = Entry(note: note, after: entries) { entries.append(entry) }
    }
    outputs = document["outputs"]?.withReadUnknowns ?? .null
    if let error = document["error"], let kind = error["kind"]?.string.flatMap(RunError.Kind.init(rawValue:)) {
      self.error = RunError(
        kind, error["message"]?.string ?? "", detail: error["detail"]?.string, status: error["status"]?.int,
        step: error["step"]?.string, attempt: error["attempt"]?.int, retryable: error["retryable"]?.bool ?? false,
        effect: error["effect"]?.string.flatMap(RunError.Effect.init(rawValue:)) ?? RunError.Effect.none)
    }
  }
}

extension Plan.Call {
  fileprivate init(of entry: Value) {
    self.init(
      action: entry["action"]?.string ?? "", connection: entry["connection"]?.string ?? "",
      input: entry["input"]?.withReadUnknowns ?? .null)
  }
}

extension Plan.Entry {
  fileprivate init(write: Value) {
    let call = Plan.Call(of: write)
    let changes = (write["changes"]?.list ?? []).map { change in
      Change(change["subject"]?.string ?? "", from: change["before"]?.string, to: change["after"]?.string)
    }
    let preview: Plan.Preview
    if let reason = write["opaque"]?.string {
      preview = .opaque(Plan.Reason(reason))
    } else {
      preview = write["isDone"]?.bool == true ? .deeds(changes) : .changes(changes)
    }
    self.init(
      path: write["path"]?.string ?? "", conditions: Plan.Entry.conditions(of: write), event: .write(call, preview))
  }

  /// - Parameter entries: The entries before it.
  fileprivate init?(note: Value, after entries: [Plan.Entry]) {
    let (path, text) = (note["path"]?.string ?? "", note["text"]?.string ?? "")
    func call(_ action: String) -> Plan.Call {
      let calls = entries.compactMap { entry -> Plan.Call? in
        guard case .write(let call, _) = entry.event, entry.path.withoutIndexes == path.withoutIndexes else {
          return nil
        }
        return call.action == action ? call : nil
      }
      return Plan.Call(action: action, connection: calls.first?.connection ?? "", input: .null)
    }
    let event: Plan.Event
    switch note["kind"]?.string {
    case "leftOut": event = .leftOut(call(text.before(Plan.Entry.leftOut).start))
    case "notCalled": event = .notCalled(call(text.before(Plan.Entry.notCalled).start))
    case "notRead":
      let (action, reason) = text.before(Plan.Entry.notRead)
      event = .notRead(call(action), Plan.Reason(reason))
    case "pause": event = .pause(text)
    case "mayFail": event = .mayFail(text.before(Plan.Entry.mayFail).end)
    case "undecided": event = .undecided
    default: return nil
    }
    self.init(path: path, conditions: Plan.Entry.conditions(of: note), event: event)
  }

  private static func conditions(of entry: Value) -> [String] { (entry["if"]?.list ?? []).compactMap(\.string) }
}

extension String {
  /// The text before the first place of another one, and the text after it.
  fileprivate func before(_ part: String) -> (start: String, end: String) {
    let (whole, length) = (utf8, part.utf8.count)
    var place = whole.startIndex
    while whole.distance(from: place, to: whole.endIndex) >= length {
      let end = whole.index(place, offsetBy: length)
      if whole[place..<end].elementsEqual(part.utf8) { return (String(self[..<place]), String(self[end...])) }
      place = whole.index(after: place)
    }
    return (self, "")
  }
}

extension Value {
  /// The value with the unknowns that a document marks.
  fileprivate var withReadUnknowns: Value {
    if let map {
      if map.count == 1, let reason = map["$unknown"]?.string { return Unknown(reason).value }
      return .map(map.mapValues { $0.withReadUnknowns })
    }
    return list.map { items in .list(items.map { $0.withReadUnknowns }) } ?? self
  }
}

// MARK: - Changes

extension Plan {
  /// The differences in a plan that was made again; empty if the run may begin.
  package static func changes(from old: Value, to new: Value) -> [String] {
    guard old["format"]?.int == format else { return ["the plan was made by another version of errand; make it again"] }
    var changes: [String] = []
    if old["sha256"] != new["sha256"] { changes.append("the text of the recipe has changed") }
    if old["sandbox"] != new["sandbox"] {
      changes.append("the plan was made \(old["sandbox"]?.bool == true ? "in" : "outside") the sandbox")
    }
    for (name, before, after) in members(old["inputs"], new["inputs"]) where before != after {
      changes.append("input '\(name)' was \(words(before)), and is \(words(after))")
    }
    for (name, before, after) in members(old["overrides"], new["overrides"]) where before != after {
      changes.append("'--set \(name)' was \(words(before)), and is \(words(after))")
    }
    for (path, before, after) in paired(old["reads"], new["reads"]) {
      let what = "'\(path)' (\((after ?? before)?["action"]?.string ?? ""))"
      switch (before, after) {
      case (nil, _): changes.append("\(what) is read, but wasn't for the plan")
      case (_, nil): changes.append("\(what) was read for the plan, but no longer is")
      case (let before?, let after?):
        if before["action"] != after["action"] || before["connection"] != after["connection"]
          || before["input"] != after["input"]
        {
          changes.append("\(what) has another input")
        } else if before["output"] != after["output"] {
          let moved = members(before["output"], after["output"]).filter { $1 != $2 }.map { "'\($0.name)'" }
          changes.append("\(what) reads other values in \(moved.joined(separator: ", "))")
        }
      }
    }
    for (path, before, after) in paired(old["writes"], new["writes"])
    where before.map(withoutReason) != after.map(withoutReason) {
      changes += differences(at: path, before, after)
    }
    if old["error"] != new["error"] {
      changes.append("the run would \(new["error"].map { "fail: \(words($0["message"]))" } ?? "not fail any more")")
    }
    return changes
  }

  /// A write without the words for why its changes are unknown, which another version may choose otherwise.
  private static func withoutReason(_ write: Value) -> Value {
    guard var map = write.map, map["opaque"] != nil else { return write }
    map["opaque"] = .bool(true)
    return .map(map)
  }

  private static func differences(at path: String, _ before: Value?, _ after: Value?) -> [String] {
    let what = "'\(path)' (\((after ?? before)?["action"]?.string ?? ""))"
    guard let before else { return ["\(what) would be written, but wasn't in the plan"] }
    guard let after else { return ["\(what) is in the plan, but would no longer be written"] }
    func changes(_ write: Value) -> ValueMap {
      var changes = ValueMap()
      for change in write["changes"]?.list ?? [] {
        changes[change["subject"]?.string ?? ""] = .string(
          "\(words(change["before"])) → \(words(change["after"]))")
      }
      return changes
    }
    let moved = members(.map(changes(before)), .map(changes(after))).filter { $1 != $2 }.map { subject, old, new in
      "\(subject): planned \(old?.string ?? "no change"), now \(new?.string ?? "no change")"
    }
    return moved.isEmpty ? ["\(what) would be written differently"] : moved
  }

  /// The members of two maps by name, in the order of the first map, then the members that only the second has.
  private static func members(_ old: Value?, _ new: Value?) -> [(name: String, old: Value?, new: Value?)] {
    let (old, new) = (old?.map ?? ValueMap(), new?.map ?? ValueMap())
    let added = new.members.filter { old[$0.key] == nil }
    return old.members.map { ($0.name ?? "", $0.value, new[$0.key]) } + added.map { ($0.name ?? "", nil, $0.value) }
  }

  /// Pairs the items of two lists by path; items with equal paths are paired in order.
  private static func paired(_ old: Value?, _ new: Value?) -> [(path: String, old: Value?, new: Value?)] {
    func byPath(_ list: Value?) -> Value {
      var map = ValueMap()
      var counts: [String: Int] = [:]
      for item in list?.list ?? [] {
        let path = item["path"]?.string ?? ""
        let count = counts[path, default: 0]
        counts[path] = count + 1
        map[count == 0 ? path : "\(path) (\(count + 1))"] = item
      }
      return .map(map)
    }
    return members(byPath(old), byPath(new)).map { ($0.name, $0.old, $0.new) }
  }

  private static func words(_ value: Value?) -> String {
    guard let value else { return "nothing" }
    return JSON.displayed(value)
  }
}
