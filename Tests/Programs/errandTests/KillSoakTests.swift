import Basics
import Foundation
import Glibc
import Testing

/// Kills the agent's process at random moments while it does work that must come out right wherever it is interrupted:
/// values that many runs change at once, retried runs, journals with holes, and commands with children.
@Suite(.timeLimit(.minutes(60))) struct KillSoakTests {
  /// Counts five items, all into the same value; one of them fails in its first attempt.
  private static let counted = """
    recipe: counted
    inputs: { name: string }
    steps:
      - forEach: "[1, 2, 3, 4, 5]"
        as: n
        steps:
          - uses: store.increment
            with: { name: all }
          - uses: store.increment
            with: { name: "${{ inputs.name }}" }
          - if: n == 4 && run.attempt == 1
            fail: Not yet.
    """

  /// Starts a child in its own session.
  ///
  /// A second attempt reports which processes of the first are still running.
  private static let commanding = """
    recipe: commanding
    inputs: { name: string }
    steps:
      - uses: shell.run
        with:
          effect: idempotentWrite
          arguments: ["${{ inputs.name }}"]
          script: |
            for pid in $(cat "pids-$1" 2> /dev/null); do
              if [ -e "/proc/$pid" ] && ! grep -q ') Z ' "/proc/$pid/stat" 2> /dev/null; then echo "$1 $pid" >> doubled; fi
            done
            echo $$ >> "pids-$1"
            setsid sh -c 'echo $$ >> "pids-$1"; exec sleep 1000' sh "$1" > /dev/null 2>&1 &
            sleep 0.2
    """

  private static func isAlive(_ pid: Int32) -> Bool {
    let status = (try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)) ?? ""
    return !status.isEmpty && !status.contains(") Z ")
  }

  @Test func `retries, shared counters and child processes come out right when killed at random`()
    async throws
  {
    let environment = ProcessInfo.processInfo.environment
    // A few rounds for the gate; ERRAND_SOAK sets its length in seconds.
    let seconds = environment["ERRAND_SOAK"].flatMap { Double($0) }
    let seed = environment["ERRAND_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max)
    var random = SeededNumbers(seed)
    let begin = ContinuousClock.now
    let program = try await ServeTests.program([
      "counted.yaml": KillSoakTests.counted, "commanding.yaml": KillSoakTests.commanding,
    ])
    var (rounds, kills, holes) = (0, 0, 0)
    var counted: Set<String> = []
    while seconds.map({ begin.duration(to: .now) < .seconds($0) }) ?? (rounds < 4) {
      rounds += 1
      let serve = try program.serve("serve", "--quiet")
      try await Task.sleep(for: .milliseconds(Int.random(in: 50...400, using: &random)))
      try await withThrowingTaskGroup(of: (String, Program.Outcome).self) { group in
        for number in 0..<4 {
          let name = "r\(rounds)x\(number)"
          let recipe = number == 3 ? "commanding" : "counted"
          group.addTask {
            (name, try await program.call("run", "recipes/\(recipe).yaml", "-i", "name=\(name)", "--detach"))
          }
          if number < 3 { counted.insert(name) }
        }
        for try await (name, outcome) in group where ![0, 4].contains(outcome.code) {
          // Unacknowledged runs may be there or not.
          Issue.record("seed \(seed): \(name) was not accepted: \(outcome.error)")
        }
      }
      try await Task.sleep(for: .milliseconds(Int.random(in: 0...800, using: &random)))
      serve.signal(SIGKILL)
      #expect(await serve.end() == -SIGKILL, "\(serve.before)")
      kills += 1
      holes += try await KillSoakTests.expectRefusedHole(in: program, &random, "seed \(seed), round \(rounds)") ? 1 : 0
    }
    // All failed runs are retried, by commands that are killed as well, until each has succeeded once.
    var retries = 0
    var ended: [String: End] = [:]
    try await KillSoakTests.rest(program, &ended)
    while true {
      let done = Set(ended.values.filter { $0.status == "succeeded" }.map(\.name))
      let tried = Set(ended.values.compactMap(\.retries))
      guard
        let next = ended.sorted(by: { $0.key < $1.key }).first(where: {
          $0.value.status == "failed" && !tried.contains($0.key) && !done.contains($0.value.name)
        })
      else { break }
      let command = try program.start(["runs", "retry", next.key])
      if Int.random(in: 0..<3, using: &random) > 0 {
        try await Task.sleep(for: .milliseconds(Int.random(in: 10...250, using: &random)))
        command.signal(SIGKILL)
        kills += 1
      }
      _ = await command.outcome()
      retries += 1
      try await KillSoakTests.rest(program, &ended)
    }
    let values = try await KillSoakTests.values(program)
    for name in counted {
      let ends = ended.values.filter { $0.name == name }
      #expect(ends.count { $0.status == "succeeded" } == 1, "seed \(seed): \(name): \(ends)")
      #expect(values[name] == 5, "seed \(seed): \(name)")
    }
    #expect(values["all"] == 5 * counted.count, "seed \(seed)")
    let doubled = try? String(contentsOf: program.folder.appending(path: "doubled"), encoding: .utf8)
    #expect(doubled == nil, "seed \(seed)")
    var pids: [Int32] = []
    for name in try FileManager.default.contentsOfDirectory(atPath: program.folder.path) where name.hasPrefix("pids-") {
      let text = try String(contentsOf: program.folder.appending(path: name), encoding: .utf8)
      pids += text.split(separator: "\n").compactMap { Int32($0) }
    }
    #expect(pids.filter(KillSoakTests.isAlive) == [], "seed \(seed)")
    print(
      "soak: seed \(seed): \(kills) kills in \(rounds) rounds and \(retries) retries; \(counted.count) runs counted"
        + " \(values["all"] ?? 0) items, each once; \(holes) holes refused; \(pids.count) processes of commands, all gone"
    )
    await program.remove()
  }

  /// How a run ended.
  private struct End {
    var name: String
    var status: String
    /// The run that it retries.
    var retries: String?
  }

  /// Finishes all open runs, and adds the unknown ends of runs.
  private static func rest(_ program: Program, _ ends: inout [String: End]) async throws {
    let serve = try program.serve("serve", "--quiet")
    var patience = 400
    var runs = try await program.call("runs", "list", "-n", "10000", "--json").json
    while runs["open"]?.list?.isEmpty != true, patience > 0 {
      patience -= 1
      try await Task.sleep(for: .milliseconds(100))
      runs = try await program.call("runs", "list", "-n", "10000", "--json").json
    }
    #expect(runs["open"]?.list?.isEmpty == true, "\(runs["open"] ?? .null)")
    for run in runs["finished"]?.list ?? [] where run["recipe"]?.string == "counted" {
      let id = run["id"]?.string ?? ""
      if ends[id] != nil { continue }
      let displayed = try await program.call("runs", "show", id)
      let json = try await program.call("runs", "show", id, "--json").json
      let name = try #require(displayed.out.firstMatch(of: /input    name = (\S+)/)?.1)
      ends[id] = End(
        name: String(name), status: run["status"]?.string ?? "", retries: json["cause"]?["run"]?.string)
    }
    serve.signal(SIGTERM)
    #expect([0, -SIGTERM].contains(await serve.end()))
  }

  /// The stored values, which are ints.
  private static func values(_ program: Program) async throws -> [String: Int] {
    try program.write(
      """
      steps:
        - { id: all, uses: store.list, with: { limit: 10000 } }
        - id: got
          forEach: ${{ steps.all.names }}
          as: name
          steps: [{ id: one, uses: store.get, with: { name: "${{ name }}" } }]
          outputs: { name: "${{ name }}", got: "${{ steps.one }}" }
      outputs: { all: "${{ steps.got }}" }
      """, to: "values.yaml")
    let outcome = try await program.call("run", "values.yaml", "--json")
    #expect(outcome.code == 0, "\(outcome.error)")
    let entries = outcome.json["outputs"]?["all"]?.list ?? []
    return Dictionary(
      entries.map { ($0["name"]?.string ?? "", $0["got"]?["value"]?.int ?? -1) }, uniquingKeysWith: { _, last in last })
  }

  /// Whether a hole could be made in a copy of the journal, with committed batches after it; it has to be refused, and
  /// never taken for the result of a crash.
  private static func expectRefusedHole(
    in program: Program, _ random: inout SeededNumbers, _ comment: String
  ) async throws -> Bool {
    let state = program.folder.appending(path: ".errand")
    let copy = program.folder.appending(path: "copy")
    try? FileManager.default.removeItem(at: copy)
    try FileManager.default.createDirectory(
      at: copy, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    for name in try FileManager.default.contentsOfDirectory(atPath: state.path) where !name.hasSuffix(".sock") {
      try FileManager.default.copyItem(at: state.appending(path: name), to: copy.appending(path: name))
    }
    let journals = try FileManager.default.contentsOfDirectory(atPath: copy.path).filter { $0.hasPrefix("journal-") }
    let last = journals.compactMap { Int($0.dropFirst("journal-".count).dropLast(".jsonl".count)) }.max()
    guard let last else { return false }
    let path = copy.appending(path: "journal-\(last).jsonl")
    var bytes = [UInt8](try Data(contentsOf: path))
    let commit = Array("{\"commit\":".utf8)
    let commits = bytes.indices.filter { bytes[$0] == commit[0] && bytes[$0...].starts(with: commit) }
    // Before the last batch that was committed.
    guard commits.count > 3, let end = commits.dropLast().last, end > 64 else { return false }
    let count = [1, 7, 8, 9, 64, 512].randomElement(using: &random) ?? 8
    let place = Int.random(in: 0..<max(1, end - count), using: &random)
    for index in place..<min(place + count, end) { bytes[index] = 0 }
    try Data(bytes).write(to: path)
    let listed = try await program.call("runs", "list", "--state", "copy")
    #expect(
      listed.code != 0 && listed.error.contains("damaged"), "\(comment): \(count) bytes at \(place): \(listed.error)")
    let doctor = try await program.call("doctor", "--state", "copy")
    #expect(doctor.code != 0 && doctor.out.contains("damaged"), "\(comment): \(doctor.out)\(doctor.error)")
    try FileManager.default.removeItem(at: copy)
    return true
  }
}
