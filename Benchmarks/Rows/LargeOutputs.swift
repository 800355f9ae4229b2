import Foundation

/// Measures the peak of memory of steps whose outputs are 50 MB.
struct LargeOutputs {
  private static let size = 50_000_000

  private let folder: WorkFolder
  private let spawner: Spawner

  init(_ folder: WorkFolder) {
    self.folder = folder
    spawner = Spawner(folder)
  }

  func rows() throws -> [Row] {
    let server = try LoopbackServer()
    defer { server.end() }
    // Long, because a value may have no more than 4 million parts.
    let note = String(repeating: "a note of some length; ", count: 20)
    let limits = ["csv", "file", "json"].map { "  \($0): { plugin: \($0), maxBytes: 100000000 }\n" }.joined()
    let configuration = try folder.write(
      "connections:\n  http: { plugin: http, maxAnswerBytes: 100000000 }\n\(limits)", to: "large.errand.yaml")
    _ = try folder.write(
      Self.lines { "\($0) a line of a large text, which is no secret and no JSON\n" }, to: "large.txt")
    _ = try folder.write(
      "id,name,city,amount,day,note\n"
        + Self.lines {
          "\($0),Name \($0) of a person,City \($0 % 1000),\($0 % 100_000).25,2026-11-\(10 + $0 % 20),\(note)\n"
        }, to: "large.csv")
    _ = try folder.write(
      "[\n"
        + Self.lines {
          "{\"id\":\($0),\"name\":\"Name \($0) of a person\",\"amount\":\($0 % 100_000).25,\"note\":\"\(note)\"},\n"
        }
        + "{}]\n", to: "large.json")
    let address = "\(server.url)/bytes/\(Self.size)"
    let base = try peak("json.parse", "text: \"[1]\"", configuration)
    func row(_ action: String, _ input: String, _ what: String, _ bar: Bar?) throws -> Row {
      let megabytes = try peak(action, input, configuration)
      return Row(
        "\(what) of 50 MB, \(action): peak memory", megabytes * 1_048_576 / Double(Self.size), "× its size", bar,
        of: "\(displayed(megabytes)) MB", beside: "\(displayed(base)) MB: a small output")
    }
    return [
      try row(
        "http.get", "url: \"\(address)\"", "output",
        .atMost(2.5).missed(at: 2.51, because: "at the bar: the answer and its text in the journal are held at once")),
      try row("file.read", "path: large.txt", "output", .atMost(2.5)),
      try row("http.download", "{ url: \"\(address)\", to: got.txt }", "file", nil),
      try row("csv.read", "path: large.csv", "file", nil),
      try row("json.read", "path: large.json", "file", nil),
    ]
  }

  /// The megabytes that a run of one step held at most.
  private func peak(_ action: String, _ input: String, _ configuration: String) throws -> Double {
    let recipe = try folder.write(
      "steps:\n  - { uses: \(action), with: \(input.hasPrefix("{") ? input : "{ \(input) }") }\n", to: "\(action).yaml")
    return try spawner.least(
      of: 3, [{ WholeRuns(folder).run(recipe, "--config", configuration)($0) }])[0].megabytes
  }

  /// A text of 50 MB, made of numbered lines.
  private static func lines(_ line: (Int) -> String) -> String {
    var text = ""
    text.reserveCapacity(size + 1000)
    var number = 0
    while text.utf8.count < size {
      text += line(number)
      number += 1
    }
    return text
  }
}
