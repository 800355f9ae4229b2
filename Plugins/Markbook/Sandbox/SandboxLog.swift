import ActionKit

/// The requests to the sandbox and the writes that it did, for people, and for tests that count writes.
struct SandboxLog: Sendable {
  /// A result that was recorded.
  struct Put: Hashable, Sendable {
    var markbook: Int
    var student: Int
    var task: Int
  }

  /// Every request to the API, logins included.
  var requests = 0
  /// Logins that were accepted.
  var logins = 0
  /// The number of times that each write was done, by action and subject.
  private(set) var writes: [String: [String: Int]] = [:]
  /// The values of results before they were first recorded.
  private(set) var before: [Put: String] = [:]

  /// Counts a write that was done.
  mutating func count(_ action: String, _ parameters: SandboxParameters) {
    guard let subject = SandboxLog.subject(action, parameters) else { return }
    writes[action, default: [:]][subject, default: 0] += 1
  }

  /// Keeps the previous value of a result, if this is the first time that it is recorded.
  mutating func keep(_ put: Put, was raw: String) {
    if before[put] == nil { before[put] = raw }
  }

  /// The subject of a write, such as `1207731/15/14` for the result of a student and a task; nil for reads.
  private static func subject(_ action: String, _ parameters: SandboxParameters) -> String? {
    let names: [String]
    switch action {
    case "putstudentresult": names = ["key", "studentkey", "taskkey"]
    case "createstudent", "updatestudent", "updatestudentclass", "deletestudent": names = ["key", "sid"]
    case "createclass": names = ["key", "name"]
    case "schedulebackup": names = ["matching"]
    case "createmarkbook":
      return (try? JSON.parse(parameters["jsondata"] ?? ""))?["markbookname"]?.string
    default: return nil
    }
    return names.map { parameters[$0] ?? "" }.joined(separator: "/")
  }

  /// The log as tests read it.
  var value: Value {
    var writes = ValueMap()
    for (action, counts) in self.writes.sorted(by: { $0.key < $1.key }) {
      writes[action] = .map(ValueMap(counts.sorted { $0.key < $1.key }.map { ($0.key, .int($0.value)) }))
    }
    return .object(["requests": .int(requests), "logins": .int(logins), "writes": .map(writes)])
  }

  /// The log as people read it: a table for each task that got results.
  func lines(_ school: SandboxSchool) -> [String] {
    var lines: [String] = []
    for markbook in school.markbooks {
      let puts = before.keys.filter { $0.markbook == markbook.head.markbookKey }
      for task in markbook.head.tasks where puts.contains(where: { $0.task == task.key }) {
        let rows = markbook.present.map { row in
          let put = Put(markbook: markbook.head.markbookKey, student: row.student.key, task: task.key)
          let was = before[put]
          return [
            row.student.sid, row.student.listed, row.student.className, was ?? row.results[task.key] ?? "",
            was == nil ? "not written" : row.results[task.key] ?? "",
          ]
        }
        if !lines.isEmpty { lines.append("") }
        lines.append("\(markbook.head.markbookName), \(task.name):")
        lines += table([["id", "student", "class", "before", "now"]] + rows)
      }
    }
    for (action, counts) in writes.sorted(by: { $0.key < $1.key }) {
      lines.append("\(action): \(counts.values.reduce(0, +)) done, to \(counts.count) different things")
    }
    return lines
  }

  private func table(_ rows: [[String]]) -> [String] {
    guard let columns = rows.first?.indices else { return [] }
    let widths = columns.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
      let cells = zip(row, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
      var line = "  " + cells.joined(separator: "  ")
      while line.hasSuffix(" ") { line.removeLast() }
      return line
    }
  }
}

extension MarkbookStudent {
  /// The student as a class list has them.
  fileprivate var listed: String { "\(familyName), \(preferredName.isEmpty ? givenName : preferredName)" }
}
