import Basics
import Foundation

/// Measures `errand lsp` as editors feel it: a whole process that is spoken to over its standard input and output.
struct Editing {
  private let folder: WorkFolder
  /// 488 lines.
  private let text = Start.recipe(steps: 80)

  init(_ folder: WorkFolder) { self.folder = folder }

  func rows() throws -> [Row] {
    let path = try folder.write(text, to: "large.yaml")
    var (starts, processor): ([Double], [Double]) = ([], [])
    for _ in 0..<20 {
      let start = Date()
      let client = try EditorClient(opening: path, text)
      starts.append(Date().timeIntervalSince(start))
      processor.append(try processorSeconds(of: client.process))
      try client.end()
    }
    return [
      .processor(
        "errand lsp: from its start to diagnostics, 500 lines: processor", processor.min() ?? 0, .atMost(50),
        beside: "\(displayedTime(starts.min() ?? 0)): wall time")
    ] + (try answers(path)) + [try memory(path)]
  }

  /// The time for one answer, in seconds.
  private struct Answer {
    let wall: Double
    let processor: Double
  }

  /// Each answer a hundred times and more, at places all over the file, each after a change.
  private func answers(_ path: String) throws -> [Row] {
    let client = try EditorClient(opening: path, text)
    let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    var (rechecks, completions): ([Answer], [Answer]) = ([], [])
    func answer(_ ask: () throws -> Void) throws -> Answer {
      let (start, processor) = (Date(), try processorSeconds(of: client.process))
      try ask()
      return Answer(
        wall: Date().timeIntervalSince(start), processor: try processorSeconds(of: client.process) - processor)
    }
    for (number, line) in lines.enumerated() where line.contains("${{") {
      let end = line.utf16.count
      rechecks.append(try answer { try client.change(line: number, from: end, to: end, " ") })
      let dot = (line.range(of: ".")?.upperBound).map { line.utf16.distance(from: line.startIndex, to: $0) } ?? end
      var found = 0
      completions.append(try answer { found = try client.complete(line: number, character: dot) })
      guard found > 0 else { throw NotMeasured("nothing was offered in line \(number + 1)") }
      try client.change(line: number, from: end, to: end + 1, "")
    }
    try client.end()
    func percentile(_ share: Double, _ times: [Double]) -> Double {
      times.sorted()[min(times.count - 1, Int(Double(times.count) * share))]
    }
    func row(_ what: String, _ answers: [Answer], _ share: Double, _ bar: Bar) -> Row {
      let wall = answers.map(\.wall)
      return .processor(
        "errand lsp: \(what), 500 lines: processor", percentile(share, answers.map(\.processor)), bar,
        beside: "\(displayedTime(percentile(0.5, wall))), \(displayedTime(percentile(0.99, wall))) p99: wall time")
    }
    return [
      row(
        "completion in an expression, p99", completions, 0.99,
        .atMost(20).missed(
          at: 22, because: "the whole recipe is checked again, on either side of the bar from run to run")),
      row(
        "a keystroke's recheck", rechecks, 0.5,
        .atMost(10).missed(at: 14.2, because: "each keystroke reads and checks the whole recipe again")),
    ]
  }

  /// An hour of a person who types two characters a second and looks at the completions after every fifth.
  private func memory(_ path: String) throws -> Row {
    let client = try EditorClient(opening: path, text)
    let line = text.split(separator: "\n", omittingEmptySubsequences: false).count - 2
    let word = Array("  # steps.book1.tasks.size() ${{ inputs")
    for stroke in 0..<7200 {
      let column = stroke % word.count
      if column == 0 { try client.change(line: line, from: 0, to: stroke == 0 ? 0 : word.count, "") }
      try client.change(line: line, from: column, to: column, String(word[column]))
      if stroke % 5 == 0 { _ = try client.complete(line: line, character: column) }
    }
    let bytes = try residentBytes(of: client.process.processIdentifier)
    try client.end()
    return Row("errand lsp: memory after an hour of edits, 500 lines", Double(bytes) / 1e6, "MB", .atMost(30))
  }
}

/// A client that speaks just enough of the protocol, one answer at a time.
private final class EditorClient {
  let process = Process()
  private let input = Pipe()
  private let output = Pipe()
  private let uri: String
  private var version = 1
  private var number = 0
  private var unread: [UInt8] = []

  /// Starts the server, opens a file, and waits for its diagnostics.
  init(opening path: String, _ text: String) throws {
    uri = URL(filePath: path).absoluteString
    process.executableURL = URL(filePath: Spawner.errand)
    process.arguments = ["lsp"]
    process.currentDirectoryURL = URL(filePath: path).deletingLastPathComponent()
    (process.standardInput, process.standardOutput) = (input, output)
    process.standardError = FileHandle.nullDevice
    try process.run()
    let root = URL(filePath: path).deletingLastPathComponent().absoluteString
    _ = try ask(
      "initialize", .object(["processId": .null, "rootUri": .string(root), "capabilities": .map(ValueMap())]))
    try tell("initialized", .map(ValueMap()))
    let document = Value.object([
      "uri": .string(uri), "languageId": .string("yaml"), "version": .int(1), "text": .string(text),
    ])
    try tell("textDocument/didOpen", .object(["textDocument": document]))
    try awaitDiagnostics()
  }

  /// Changes a part of a line, and waits for the diagnostics of the new text.
  func change(line: Int, from start: Int, to end: Int, _ text: String) throws {
    version += 1
    func place(_ character: Int) -> Value { .object(["line": .int(line), "character": .int(character)]) }
    let change = Value.object([
      "range": .object(["start": place(start), "end": place(end)]), "text": .string(text),
    ])
    let document = Value.object(["uri": .string(uri), "version": .int(version)])
    try tell("textDocument/didChange", .object(["textDocument": document, "contentChanges": .list([change])]))
    try awaitDiagnostics()
  }

  /// How much is offered at a place.
  func complete(line: Int, character: Int) throws -> Int {
    let answer = try ask(
      "textDocument/completion",
      .object([
        "textDocument": .object(["uri": .string(uri)]),
        "position": .object(["line": .int(line), "character": .int(character)]),
      ]))
    return (answer["items"] ?? answer).list?.count ?? 0
  }

  func end() throws {
    _ = try ask("shutdown", .null)
    try tell("exit", .null)
    process.waitUntilExit()
  }

  private func ask(_ method: String, _ parameters: Value) throws -> Value {
    number += 1
    try send(.object(["id": .int(number), "method": .string(method), "params": parameters]))
    while true {
      let message = try receive()
      guard message["id"]?.int == number, message["method"] == nil else { continue }
      guard let result = message["result"] else { throw NotMeasured("\(method): \(JSON.displayed(message))") }
      return result
    }
  }

  private func tell(_ method: String, _ parameters: Value) throws {
    try send(.object(["method": .string(method), "params": parameters]))
  }

  private func awaitDiagnostics() throws {
    while true {
      let message = try receive()
      guard message["method"]?.string == "textDocument/publishDiagnostics" else { continue }
      if (message["params"]?["version"]?.int ?? version) >= version { return }
    }
  }

  private func send(_ message: Value) throws {
    var map = message.map ?? ValueMap()
    map["jsonrpc"] = .string("2.0")
    let body = try JSON.write(.map(map))
    try input.fileHandleForWriting.write(contentsOf: Data("Content-Length: \(body.count)\r\n\r\n".utf8) + Data(body))
  }

  private func receive() throws -> Value {
    while true {
      let text = Data(unread)
      if let head = text.range(of: Data("\r\n\r\n".utf8)) {
        let words = String(decoding: text[..<head.lowerBound], as: UTF8.self).split(separator: ":")
        guard let length = words.last.flatMap({ Int($0.trimmingCharacters(in: .whitespaces)) }) else {
          throw NotMeasured("the server sends no length")
        }
        if text.count >= head.upperBound + length {
          let body = unread[head.upperBound..<head.upperBound + length]
          unread.removeFirst(head.upperBound + length)
          return try JSON.parse(Array(body))
        }
      }
      let part = output.fileHandleForReading.availableData
      if part.isEmpty { throw NotMeasured("'errand lsp' ended") }
      unread += part
    }
  }
}
