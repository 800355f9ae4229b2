import Agent
import Foundation
import HTTPServer
import Operations
import RunState
import Synchronization

/// Runs `errand serve` for minutes or hours with everything that an agent does: its memory may not grow.
///
/// Each second a schedule starts a run that loops, stores values and asks a server that refuses now and then; meanwhile
/// a client sends events, decides approvals, wakes, pauses, cancels and retries runs, follows them and goes away, and
/// recipes change on disk.
struct Hours {
  let serving: Serving
  /// How long, in minutes.
  let minutes: Double

  init(_ folder: WorkFolder) {
    serving = Serving(folder)
    minutes = ProcessInfo.processInfo.environment["MINUTES"].flatMap { Double($0) } ?? 10
  }

  private static func recipes(_ server: String) -> [String: String] {
    [
      "tick": """
      summary: Does a bit of everything.
      on: [{ every: 1s, overlap: allowAll }]
      steps:
        - id: loop
          forEach: ${{ lists.range(10) }}
          as: n
          maxParallel: 4
          steps:
            - { uses: store.put, with: { name: "value ${{ n }}", value: "${{ n }}" } }
        - { uses: store.increment, with: { name: ticks } }
        - id: asked
          uses: http.get
          retry: { maxAttempts: 10, initial: 10ms }
          with: { url: "\(server)/now" }
        - { uses: json.format, with: { value: "${{ steps.asked }}" } }

      """,
      "listening": """
      summary: Is started by an event.
      on: [{ event: ping }]
      steps: [{ uses: store.increment, with: { name: pings } }]

      """,
    ]
  }

  private static let asking = """
    recipe: asking
    steps:
      - { id: ok, approve: { prompt: Go on? } }
      - { wait: { event: go } }

    """
  private static let failing = """
    recipe: failing
    steps:
      - { uses: store.increment, with: { name: tries } }
      - { if: run.attempt == 1, fail: not yet }

    """
  private static let waiting = "recipe: waiting\nsteps: [{ wait: 1d }]\n"

  func row() async throws -> Row {
    let asked = Atomic(0)
    let server = try HTTPServer { _ in
      // Every third is refused.
      asked.wrappingAdd(1, ordering: .relaxed).newValue % 3 == 0 ? .text("busy", status: 503) : .text("\"now\"")
    }
    let home = serving.folder.url.appending(path: "hours")
    let recipes = home.appending(path: "recipes")
    try FileManager.default.createDirectory(at: recipes, withIntermediateDirectories: true)
    for (name, text) in Hours.recipes(server.baseURL) {
      try Data(text.utf8).write(to: recipes.appending(path: "\(name).yaml"))
    }
    let process = try serving.serve(home)
    defer { serving.end(process) }
    try serving.wait(for: 30, process) { try serving.log(home).contains("\"serving\"") }
    let talk = try Talk(home, program: try serving.programName())
    let waiter = try await talk.ask(Serving.submission(of: Hours.waiting)).run
    var samples: [(seconds: Double, megabytes: Double)] = []
    let begin = ContinuousClock.now
    var rounds = 0
    while true {
      let elapsed = begin.duration(to: .now).seconds
      samples.append((elapsed, Double(try residentBytes(of: process.processIdentifier)) / 1_048_576))
      if elapsed >= minutes * 60 { break }
      rounds += 1
      try await round(rounds, talk, waiter)
      if rounds % 5 == 0, let tick = Hours.recipes(server.baseURL)["tick"] {
        // Another text each time, so that it is read again.
        try Data("\(tick)# \(rounds)\n".utf8).write(to: recipes.appending(path: "tick.yaml"))
      }
      // As often as the schedule; nothing is measured by it.
      try await Task.sleep(for: .milliseconds(500))
    }
    await server.stop()
    let most = samples.map(\.megabytes).max() ?? 0
    // Caches fill in the first quarter.
    let slope = Hours.slope(samples.filter { $0.seconds >= minutes * 15 }) * 3600
    return Row(
      "a busy agent, \(displayed(minutes)) min, \(rounds) rounds: memory", most, "MB", .atMost(40),
      beside: "\(slope < 0 ? "−" : "+")\(displayed(abs(slope))) MB/h")
  }

  /// The actions of people and programs in one round.
  private func round(_ number: Int, _ talk: Talk, _ waiter: String) async throws {
    func signal(_ name: String, _ run: String? = nil) async throws {
      try await talk.ask(
        SendEvent.with {
          $0.name = name
          $0.run = run
        })
    }
    func resume(_ run: String, until word: Following.Word) async throws {
      try await talk.follow(ResumeRun.with { $0.run = run }).hear(word)
    }
    try await signal("ping")
    // A run that asks and waits, and has a follower who goes away.
    let asking = try await talk.ask(Serving.submission(of: Hours.asking)).run
    var follower: Following? = try talk.follow(FollowRun.with { $0.run = asking })
    try await follower?.hear(.run)
    if number % 3 == 0 { follower = nil }
    for patience in (0..<400).reversed() {
      do {
        try await talk.ask(
          DecideStep.with {
            $0.run = asking
            $0.approved = true
          })
        break
      } catch let refusal as RequestRefusedError where refusal.kind == .notAsked && patience > 0 {
        // It hasn't reached its question yet.
        try await Task.sleep(for: .milliseconds(5))
      }
    }
    if number % 4 == 0 {
      try await talk.ask(CancelRun.with { $0.run = asking })
    } else {
      try await signal("go", asking)
    }
    try await follower?.hear(.ended)
    // One that fails, and is tried again.
    let failing = Serving.submission(of: Hours.failing)
    let failed = failing.run.record.run
    try await talk.follow(failing).hear(.ended)
    let retried = try await talk.ask(RetryRun.with { $0.run = failed }).accepted
    try await resume(retried, until: .ended)
    // A run that is woken, and the views that people look at.
    try await talk.ask(
      PauseRun.with {
        $0.run = waiter
        $0.reason = "measured"
      })
    try await resume(waiter, until: .waits)
    try await talk.ask(ShowRun.with { $0.run = failed })
    try await talk.ask(ListRuns())
  }

  /// The slope of the line that is nearest to all samples, a second.
  private static func slope(_ samples: [(seconds: Double, megabytes: Double)]) -> Double {
    guard samples.count > 1 else { return 0 }
    let count = Double(samples.count)
    let middle = samples.reduce((0.0, 0.0)) { ($0.0 + $1.seconds / count, $0.1 + $1.megabytes / count) }
    var (above, below) = (0.0, 0.0)
    for sample in samples {
      above += (sample.seconds - middle.0) * (sample.megabytes - middle.1)
      below += (sample.seconds - middle.0) * (sample.seconds - middle.0)
    }
    return below > 0 ? above / below : 0
  }
}
