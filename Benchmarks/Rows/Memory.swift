import Agent
import AgentClient
import Basics
import Foundation
import Operations
import RunState

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
      try await growth("a run that is over: memory", 2000, 20_000, bar: 0.5, "runs") { talk, count in
        for _ in 0..<count { try await talk.follow(Serving.submission(of: Serving.recipe)).hear(.ended) }
      },
      try await growth("a wake of a run: memory", 200, 2000, bar: 0.5, "wakes") { talk, count in
        let run = try await talk.ask(Serving.submission(of: Serving.waiting)).run
        var resumed: Following?
        for _ in 0..<count {
          try await talk.ask(
            PauseRun.with {
              $0.run = run
              $0.reason = "measured"
            })
          // The client that resumed it is told that it was left.
          try await resumed?.hear(.ended)
          let next = try talk.follow(ResumeRun.with { $0.run = run })
          try await next.hear(.waits)
          resumed = next
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
    let talk = try Talk(home, program: try programName())
    try await body(talk, few)
    let before = try residentBytes(of: server.processIdentifier)
    try await body(talk, many - few)
    let each = Double(try residentBytes(of: server.processIdentifier) - before) / 1024 / Double(many - few)
    return Row(what, each, "KB", .atMost(bar))
  }

  /// The request that submits a new run of a recipe.
  static func submission(of recipe: String) -> SubmitRun {
    let file = "recipes/measured.yaml"
    let run = RunCreated(
      run: Durability.newID(), at: Durability.now, recipe: "measured", file: file,
      texts: .inline(.object([file: .string(recipe)])), inputs: .object([:]), program: "benchmarks")
    return SubmitRun.with { $0.run = Stored(run) }
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

/// A client of an agent, which has a connection for each request.
struct Talk {
  private let agent: FolderAgent

  init(_ home: URL, program: String) throws {
    let identity = AgentIdentity(program: program, configuration: home.appending(path: "errand.yaml").path)
    let state = home.appending(path: ".errand").path
    guard let agent = try FolderAgent.find(state, identity: identity, patience: WirePatience(time: SystemTime())) else {
      throw NotMeasured("there is no agent in \(state)")
    }
    self.agent = agent
  }

  /// The answer to an operation, without events.
  @discardableResult
  func ask<Asked: Operations.Operation>(_ operation: Asked) async throws -> Asked.Answer {
    guard let answer = try await agent.answer(to: operation) else { throw Talk.isOver }
    return answer
  }

  /// The events of an operation, over a connection of their own.
  func follow(_ operation: some StreamingOperation) throws -> Following {
    Following(events: try agent.events(of: operation))
  }

  fileprivate static let isOver = NotMeasured("the agent went away")
}

/// The events of a run, which are heard one after another; dropping it closes the connection.
struct Following {
  /// The events that a client waits for.
  enum Word: String {
    /// The run is on disk.
    case accepted
    /// The run as it is at the beginning.
    case run
    case waits
    /// The run is over, or was left.
    case ended
  }

  fileprivate let events: AsyncThrowingStream<RunEvent, any Error>

  /// Waits for an event, past others.
  func hear(_ wanted: Word) async throws {
    for try await event in events {
      let word: Word? =
        switch event {
        case .accepted: .accepted
        case .run: .run
        case .waits: .waits
        case .ended: .ended
        case .progress, .notice: nil
        }
      if word == wanted { return }
      // Nothing more comes of that run.
      if word == .ended { throw NotMeasured("the run was left before '\(wanted.rawValue)' came") }
    }
    throw Talk.isOver
  }
}
