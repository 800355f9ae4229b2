import Basics
import Foundation

/// Measures what `errand serve` holds of runs that are open, and of schedules.
extension Serving {
  /// A run in whose step a request is under way.
  ///
  /// The few have all connections that the client opens to one server, so that what is measured is the run and its
  /// request, and not libcurl's connection.
  func runsInFlight() async throws -> Row {
    let (few, many) = (64, 464)
    let server = try LoopbackServer()
    defer { server.end() }
    let recipe = "recipe: asking\nsteps: [{ uses: http.get, with: { url: \"\(server.url)/hold\" } }]\n"
    let home = try newHome("in-flight")
    let agent = try serve(home, "connections: { http: { plugin: http, requestTimeout: 10m } }\n")
    defer { kill(agent) }
    try wait(for: 30, agent) { try log(home).contains("\"serving\"") }
    let talk = try Talk(home, program: try programName())
    func hold(_ numbers: Range<Int>) async throws -> Double {
      for _ in numbers { try await talk.ask(Serving.submission(of: recipe)) }
      try waitUntilIdle(agent)
      return try memory("VmRSS", of: agent)
    }
    let before = try await hold(0..<few)
    let each = try await (hold(few..<many) - before) / Double(many - few)
    return Row(
      "a run in flight, its request included: memory", each, "KB",
      .atMost(50).missed(
        at: 108, because: "libcurl's buffers for the request, and the frames of the run and of the step"))
  }

  /// Runs that wait until tomorrow, before and after a restart of the agent.
  func waitingRuns() async throws -> [Row] {
    let count = 10_000
    let recipe = "recipe: waiting\nsteps: [{ id: first, uses: store.get, with: { name: a } }, { wait: 1d }]\n"
    let home = try newHome("many-waiting")
    let agent = try serve(home)
    let held: Double
    do {
      defer { end(agent) }
      try wait(for: 30, agent) { try log(home).contains("\"serving\"") }
      let talk = try Talk(home, program: try programName())
      for _ in 0..<count { try await talk.ask(Serving.submission(of: recipe)) }
      try waitUntilIdle(agent)
      held = try memory("VmRSS", of: agent)
    }
    let successor = try serve(home)
    defer { end(successor) }
    try wait(for: 60, successor) { try log(home).contains("\"serving\"") }
    try waitUntilIdle(successor)
    return [
      Row("10,000 waiting runs: memory of serve", held / 1024, "MB", .atMost(60)),
      Row(
        "10,000 waiting runs: after a restart", try memory("VmRSS", of: successor) / 1024, "MB",
        .atMost(60).missed(
          at: 84.2, because: "the journal is folded in memory, and the allocator keeps some of the peak"),
        beside: "peak \(displayed(try memory("VmHWM", of: successor) / 1024)) MB"),
    ]
  }

  /// A recipe with a thousand schedules: one whose text is kept with the state, and one whose text is a blob.
  func entries() throws -> [Row] {
    try entries("60 KB") { "  - { id: e\($0), cron: '\($0 % 60) \($0 % 24) 29 2 *', inputs: { n: \($0) } }\n" }
      + entries("200 KB") {
        """
          - id: entry\($0)
            cron: "\($0 % 60) \($0 % 24) 29 2 *"
            zone: \(["Europe/Zurich", "Europe/Bucharest", "Australia/Sydney", "UTC"][$0 % 4])
            inputs:
              n: \($0)
              site: "The site of number \($0), with a name of its own"
              tags: [of\($0), many]

        """
      }
  }

  private func entries(_ size: String, _ entry: (Int) -> String) throws -> [Row] {
    let home = try newHome("entries \(size)")
    let recipes = home.appending(path: "recipes")
    try FileManager.default.createDirectory(at: recipes, withIntermediateDirectories: true)
    let text = """
      recipe: many
      inputs:
        n: { type: int }
        site: { type: string, default: "" }
        tags: { type: list(string), default: [] }
      on:
      \((0..<1000).map(entry).joined())
      steps: [{ uses: json.parse, with: { text: "[1]" } }]

      """
    try Data(text.utf8).write(to: recipes.appending(path: "many.yaml"))
    var (held, peak) = (0.0, 0.0)
    // The first time, and again with the state that is there then.
    for _ in 0..<2 {
      let agent = try serve(home)
      defer { end(agent) }
      try wait(for: 60, agent) { try log(home).contains("\"serving\"") }
      try waitUntilIdle(agent)
      held = max(held, try memory("VmRSS", of: agent) / 1024)
      peak = max(peak, try memory("VmHWM", of: agent) / 1024)
    }
    let what = "a recipe with 1,000 entries in 'on', \(size)"
    return [
      Row(
        "\(what): memory of serve", held, "MB",
        .atMost(25).missed(at: 26.7, because: "12 MB of it are pages of the program, which processes share")),
      Row(
        "\(what): peak", peak, "MB",
        .atMost(28).missed(at: 28.4, because: "12 MB of it are pages of the program, which processes share")),
    ]
  }

  func newHome(_ name: String) throws -> URL {
    let home = folder.url.appending(path: name)
    try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
    return home
  }

  /// Waits until an agent has used next to no processor time for a second.
  func waitUntilIdle(_ agent: Process) throws {
    for _ in 0..<120 {
      let before = try processorSeconds(of: agent)
      Thread.sleep(forTimeInterval: 1)
      if try processorSeconds(of: agent) - before <= 0.01 { return }
    }
    throw NotMeasured("serve does not come to rest")
  }

  /// A figure of the kernel about a process's memory, in kilobytes.
  private func memory(_ name: String, of agent: Process) throws -> Double {
    let text = try String(contentsOfFile: "/proc/\(agent.processIdentifier)/status", encoding: .utf8)
    let line = text.split(separator: "\n").first { $0.hasPrefix("\(name):") }
    guard let figure = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap({ Double($0) }) else {
      throw NotMeasured("the kernel tells no \(name)")
    }
    return figure
  }
}
