import Agent
import Basics
import Foundation

/// Measures what `errand serve` and `errand test` hold of finished work: nothing that grows with it.
extension Serving {
  private static let recipe = """
    recipe: small
    summary: Does two trivial steps.
    steps:
      - { id: first, uses: store.get, with: { name: a } }
      - { id: second, uses: store.get, with: { name: b } }

    """
  private static let waiting = """
    recipe: waiting
    summary: Waits until tomorrow.
    steps:
      - { id: first, uses: store.get, with: { name: a } }
      - { wait: 1d }

    """

  /// The memory that is held for each run that is over, and for each time that a run was woken.
  func growth() async throws -> [Row] {
    [
      try await growth("a run that is over: memory", 2000, 20_000, bar: 0.5, "runs") { client, count in
        for number in 0..<count {
          try client.ask(Serving.submit(Serving.recipe, isDetached: false, number))
          try await client.hear("ended")
        }
      },
      try await growth("a wake of a run: memory", 200, 2000, bar: 0.5, "wakes") { client, count in
        let run = Serving.submit(Serving.waiting, isDetached: true, 0)
        try client.ask(run)
        try await client.hear("accepted")
        let id = run["run"]?["run"]?.string ?? ""
        for number in 0..<count {
          try client.ask(.object(["ask": .string("pause"), "run": .string(id), "reason": .string("measured")]))
          // The client that resumed it is told that it is paused; that and the answer come in any order.
          try await client.hear(number == 0 ? ["paused"] : ["ended", "paused"])
          try client.ask(.object(["ask": .string("resume"), "run": .string(id)]))
          try await client.hear("waits")
        }
      },
    ]
  }

  /// The memory that is held for each case of a test file that is over.
  func cases() throws -> Row {
    let home = folder.url.appending(path: "cases")
    try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
    try Data(Serving.recipe.utf8).write(to: home.appending(path: "small.yaml"))
    let (few, many) = (100, 1100)
    func peak(_ count: Int) throws -> Double {
      var text = "recipe: small.yaml\ncases:\n"
      for number in 0..<count {
        text += "  - { case: number \(number), do: [run, { expect: { status: succeeded } }] }\n"
      }
      let file = home.appending(path: "\(count).test.yaml")
      try Data(text.utf8).write(to: file)
      return try Spawner(folder).usage(of: [errand.path, "test", file.path]).megabytes * 1024
    }
    let each = (try peak(many) - peak(few)) / Double(many - few)
    return Row("a case of errand test: memory", each, "KB", .atMost(5))
  }

  private func growth(
    _ what: String, _ few: Int, _ many: Int, bar: Double, _ name: String,
    _ body: (Talk, _ count: Int) async throws -> Void
  ) async throws -> Row {
    let home = folder.url.appending(path: name)
    try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
    let server = try serve(home)
    defer { end(server) }
    try wait(for: 30, server) { try log(home).contains("\"serving\"") }
    let talk = try await Talk(home, program: try programName())
    try await body(talk, few)
    let before = try residentBytes(of: server.processIdentifier)
    try await body(talk, many - few)
    let each = Double(try residentBytes(of: server.processIdentifier) - before) / 1024 / Double(many - few)
    await talk.end()
    return Row(what, each, "KB", .atMost(bar))
  }

  static func submit(_ recipe: String, isDetached: Bool, _ number: Int) -> Value {
    let file = "recipes/measured.yaml"
    return .object([
      "ask": .string("submit"), "detach": .bool(isDetached),
      "run": .object([
        "run": .string("\(UUID())".lowercased()), "at": .string("\(SystemTime().now())"), "recipe": .string("measured"),
        "file": .string(file), "texts": .object([file: .string(recipe)]), "inputs": .object([:]),
        "sandbox": .bool(false), "program": .string("benchmarks"),
      ]),
    ])
  }

  /// The output of `--version`.
  func version() throws -> String {
    let process = Process()
    let out = Pipe()
    process.executableURL = errand
    process.arguments = ["--version"]
    process.standardOutput = out
    try process.run()
    let text = String(decoding: out.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return text.trimmingCharacters(in: .whitespacesAndNewlines)
  }

  /// The program as an agent's clients name it: `errand 0.3.0`, the first words of the output of `--version`.
  func programName() throws -> String { try version().split(separator: " ").prefix(2).joined(separator: " ") }
}

/// A client of an agent, which hears one answer after another.
final class Talk {
  private let client: AgentClient

  init(_ home: URL, program: String) async throws {
    let identity = AgentIdentity(program: program, configuration: home.appending(path: "errand.yaml").path)
    let state = home.appending(path: ".errand").path
    guard let client = try await AgentClient.connect(state, identity: identity, clock: SystemTime()) else {
      throw NotMeasured("there is no agent in \(state)")
    }
    self.client = client
  }

  func ask(_ request: Value) throws { try client.send(request) }

  /// Waits for an answer with that member, and gives the member.
  @discardableResult
  func hear(_ member: String) async throws -> Value { try await hear([member]) }

  /// Waits for an answer with each of some members, in any order, and gives the last one.
  @discardableResult
  func hear(_ members: Set<String>) async throws -> Value {
    var missing = members
    for try await answer in client.replies {
      // Progress reports failed steps, too.
      if answer["progress"] != nil { continue }
      if let failure = answer["failed"] ?? answer["error"] { throw NotMeasured((try? JSON.text(failure)) ?? "failed") }
      if let member = missing.first(where: { answer[$0] != nil }), let value = answer[member] {
        missing.remove(member)
        if missing.isEmpty { return value }
      } else if answer["ended"] != nil {
        // Nothing more comes of that run.
        throw NotMeasured("the run was left before '\(missing.sorted().joined(separator: "' and '"))' came")
      }
    }
    throw NotMeasured("the agent went away")
  }

  func asked(_ request: Value, hearing member: String) async throws -> Value {
    try ask(request)
    return try await hear(member)
  }

  func end() async { await client.close() }
}
