import Basics
import Foundation
import HTTPClient
import Testing

/// The state of each released version, read and finished by the current program.
///
/// `Fixtures/states/make-state.sh` makes one; its opening comment describes the content.
@Suite(.timeLimit(.minutes(20))) struct ReleasedStateTests {
  static let states = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/states")
  static let versions = ["0.1.0", "0.2.0", "0.3.0", "0.4.0", "0.5.0", "0.6.0", "0.7.0"]

  /// Whether a version knew webhooks, batches, tokens and plugins with locks.
  private static func isReaching(_ version: String) -> Bool { !["0.1.0", "0.2.0"].contains(version) }

  /// A copy of the project with the state of a version, as that version's user would have it.
  private static func program(_ version: String) async throws -> (Program, ids: [String: String]) {
    let program = try await Program()
    let files = FileManager.default
    try files.removeItem(at: program.folder)
    try files.copyItem(at: states.appending(path: "project"), to: program.folder)
    if isReaching(version) {
      let project = states.appending(path: "project-0.3")
      for path in try files.subpathsOfDirectory(atPath: project.path) where path.contains(".") {
        let target = program.folder.appending(path: path)
        if files.fileExists(atPath: target.path) { try files.removeItem(at: target) }
        try files.copyItem(at: project.appending(path: path), to: target)
      }
    }
    var ids: [String: String] = [:]
    let left = states.appending(path: version)
    for name in try files.contentsOfDirectory(atPath: left.path) {
      let target = program.folder.appending(path: name == "state" ? ".errand" : name)
      try files.copyItem(at: left.appending(path: name), to: target)
      if name.hasSuffix(".id") {
        ids[String(name.dropLast(3))] = try String(contentsOf: target, encoding: .utf8).trimmingCharacters(
          in: .newlines)
      }
    }
    // A repository does not keep these modes.
    try #require(await run("/bin/chmod", "-R", "go-rwx", program.folder.appending(path: ".errand").path) == 0)
    return (program, ids)
  }

  /// No agent has served for longer than events are kept; deliveries answered with 202 are started all the same.
  @Test(arguments: versions.filter(isReaching))
  func `deliveries that were received and not decided are started weeks later`(_ version: String) async throws {
    let (program, _) = try await ReleasedStateTests.program(version)
    guard let clock = try await MovableClock(in: program.folder) else { return await program.remove() }
    let later = clock.showing(try #require(Timestamp("2026-12-19T10:00:30Z")))
    func lines(_ name: String) -> Set<Substring> {
      let text = (try? String(contentsOf: program.folder.appending(path: name), encoding: .utf8)) ?? ""
      return Set(text.split(separator: "\n"))
    }
    // Attempts in flight may end.
    try program.write("", to: "gate")
    // A command in between decides nothing, and forgets nothing.
    let listed = try await program.start(["runs", "list"], environment: later).outcome()
    #expect(listed.code == 0, "\(listed.error)")
    let serve = try program.serve("serve", environment: later)
    #expect(await serve.line(with: " serves ") != nil, "\(serve.before)")
    while !lines("hooks.txt").isSuperset(of: lines("accepted.txt")), await serve.line(with: "hook ") != nil {}
    #expect(lines("hooks.txt").isSuperset(of: lines("accepted.txt")))
    serve.signal(SIGTERM)
    _ = await serve.end()
    await program.remove()
  }

  @Test(arguments: versions)
  func `open runs of an earlier version are finished, and nothing is done twice`(_ version: String) async throws {
    let (program, ids) = try await ReleasedStateTests.program(version)
    guard let clock = try await MovableClock(in: program.folder) else { return await program.remove() }
    let saturday = clock.showing(try #require(Timestamp("2026-11-21T10:00:30Z")))
    func call(_ arguments: String..., environment: [String: String]) async throws -> Program.Outcome {
      let outcome = try await program.start(arguments, environment: environment).outcome()
      #expect(outcome.code == 0, "\(arguments): \(outcome.out)\(outcome.error)")
      return outcome
    }
    func lines(_ name: String) throws -> [String] {
      let text = try String(contentsOf: program.folder.appending(path: name), encoding: .utf8)
      return text.split(separator: "\n").map(String.init)
    }

    let doctor = try await call("doctor", environment: saturday)
    #expect(doctor.out.hasSuffix("no faults\n"), "\(doctor.out)")
    let open = try await call("runs", "list", environment: saturday).out.split(separator: "\n\n").first ?? ""
    let isReaching = ReleasedStateTests.isReaching(version)
    #expect(
      open.split(separator: "\n").dropFirst().map { $0.split(separator: " ")[1...2].joined(separator: " ") }
        .filter { !$0.hasPrefix("hook ") }.sorted()
        == [
          "approving waiting", "event waiting", "failing failed", "hourly succeeded", "hourly waiting",
          "hourly waiting", "large waiting", "looping running",
          "nested waiting", "retrying waiting", "skipping waiting", "uncertain running", "waiting waiting",
        ].inserting(isReaching ? "locked waiting" : nil))
    #expect(try lines("items.txt") == ["part left", "10", "20", "30"])
    try program.write("", to: "gate")

    var serve = try program.serve("serve", environment: saturday)
    // No upgrade ends a link.
    if let link = try? lines("link.txt").first {
      let line = try #require(await serve.line(with: "listens on http://"))
      let base = "http://" + (line.components(separatedBy: "http://").last ?? "")
      let path = link.components(separatedBy: "/d/").last ?? ""
      let page = try await HTTPClient().send(HTTPRequest("GET", "\(base)/d/\(path)"))
      #expect(page.status == 200 && String(decoding: page.body, as: UTF8.self).contains("Count on?"))
    }
    // They end in any order.
    var rest: Set = ["waiting", "retrying", "looping"]
    if isReaching { rest.insert("locked") }
    while !rest.isEmpty, let line = await serve.line(with: " succeeded") {
      rest = rest.filter { !line.contains(" \($0) \(ids[$0] ?? "") ") }
    }
    #expect(rest.isEmpty, "\(serve.before)")
    // A person's answers to everything that waits for one.
    for (event, data) in [("paid", #"{"amount": 12}"#), ("go", #"{"tag": "left"}"#), ("go-large", "null")] {
      _ = try await call("runs", "signal", "any", event, "--data", data, environment: saturday)
    }
    _ = try await call("runs", "approve", ids["approving"] ?? "", environment: saturday)
    let sent = #"{"exitCode":0,"output":"","errors":"","isRun":true}"#
    _ = try await call(
      "runs", "resolve", ids["uncertain"] ?? "", "send", "--done", "--output", sent, environment: saturday)
    _ = try await call("runs", "retry", ids["failing"] ?? "", environment: saturday)
    var ended: Set<String> = []
    while ended.count < 6, let line = await serve.line(with: " succeeded") {
      ended.formUnion(
        ["event", "approving", "uncertain", "nested", "large", "failing"].filter { line.contains(" \($0) ") })
    }
    for schedule in ["skipping", "hourly/each", "hourly/noon"] {
      _ = try await call("schedule", "pause", schedule, environment: saturday)
    }
    serve.signal(SIGKILL)
    #expect(await serve.end() == -SIGKILL)

    // The runs of schedules wait for an hour and a half.
    let sunday = clock.showing(try #require(Timestamp("2026-11-22T10:00:30Z")))
    serve = try program.serve("serve", environment: sunday)
    // A delivery that was received and isn't decided yet isn't an open run.
    func isOver() async throws -> Bool {
      if isReaching, try !Set(lines("hooks.txt")).isSuperset(of: lines("accepted.txt")) { return false }
      return try await call("runs", "list", "--json", environment: sunday).json["open"]?.list?.isEmpty == true
    }
    while try await !isOver() {
      guard await serve.line(with: " succeeded") != nil else { break }
    }
    serve.signal(SIGTERM)
    #expect(await serve.end() == 0)

    #expect(try lines("items.txt") == ["part left", "10", "20", "30", "40", "50"])
    #expect(try lines("sent.txt") == ["sent"])
    #expect(
      try lines("done.txt").sorted()
        == [
          "approving 1", "event 12", "failing", "large 36000 12000", "looping 20,40,60,80,100", "nested left true",
          "retrying finally", "retrying refused", "uncertain", "waiting",
        ].inserting(isReaching ? "gathering 1,2" : nil).inserting(isReaching ? "locked false" : nil))
    if isReaching {
      // Every delivery that was answered with 202 has run once, even if the program was killed between receiving and
      // deciding it.
      let hooks = try lines("hooks.txt")
      #expect(Set(hooks).isSuperset(of: try lines("accepted.txt")))
      #expect(Set(hooks).count == hooks.count)
      #expect(try await call("token", "list", environment: sunday).out.contains("reader"))
    }
    let values = try await call("run", "recipes/values.yaml", "--json", environment: sunday).json["outputs"]
    #expect(values?["counts"] == .list([.int(1), .int(1), .int(1), .int(1)]))
    #expect(values?["largest"] == .int(84_895))
    let log = try await call("schedule", "log", "hourly", "--json", environment: sunday).json.list ?? []
    for outcome in ["started", "superseded"] {
      #expect(log.contains { $0["outcome"]?.string == outcome }, "\(log)")
    }
    #expect(try await call("doctor", environment: sunday).out.hasSuffix("no faults\n"))
    await program.remove()
  }
}

extension [String] {
  /// The sorted texts with one more, if there is one.
  fileprivate func inserting(_ text: String?) -> [String] { (self + [text].compactMap(\.self)).sorted() }
}
