import Basics
import Foundation
import PostgresClient
import PostgresTestKit
import Testing

/// Four agents on one state in PostgreSQL, and a school that counts writes.
///
/// Agents are killed and frozen, and the server is killed, until its standby takes over. Where libfaketime is
/// installed, two of the agents have clocks that are an hour off. All agents have the same schedule, and each of its
/// slots starts one run.
///
/// `ERRAND_CLUSTER=600` sets how many seconds the test runs; without it there are only a few faults.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed"), .timeLimit(.minutes(120)))
struct ClusterTests {
  private static let handed = """
    recipe: handed
    inputs: { batch: string }
    steps:
      - forEach: "[1, 2, 3, 4, 5, 6]"
        as: number
        steps:
          - wait: 700ms
          - uses: markbook.createClass
            with:
              markbookKey: 1207755
              name: handed-${{ inputs.batch }}-${{ number }}
              teacherFamilyName: Okafor
              teacherGivenName: Daniel
    """

  private enum Fault: CaseIterable { case killAgent, freezeAgent, killServer }

  /// The agents, each with its own folder.
  private final class Agents {
    let programs: [Program]
    private let clocks: [[String: String]]
    private var serving: [Serving?]

    init(_ programs: [Program], _ clocks: [[String: String]]) {
      self.programs = programs
      self.clocks = clocks
      serving = programs.map { _ in nil }
    }

    func start(_ number: Int) throws {
      serving[number] = try programs[number].serve("serve", environment: clocks[number])
    }
    func signal(_ number: Int, _ signal: Int32) { serving[number]?.signal(signal) }

    func end(_ number: Int, _ signal: Int32) async -> Int32? {
      serving[number]?.signal(signal)
      defer { serving[number] = nil }
      return await serving[number]?.end()
    }

    func words(_ number: Int) -> String { serving[number]?.before ?? "" }
  }

  @Test func `agents and their database fail at random, and every write is done once`() async throws {
    let environment = ProcessInfo.processInfo.environment
    let seconds = environment["ERRAND_CLUSTER"].flatMap { Double($0) }
    let seed = environment["ERRAND_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max)
    var random = SeededNumbers(seed)
    let begin = ContinuousClock.now
    func elapsed() -> Duration { begin.duration(to: .now) }

    let first = try await PostgresServer.start()
    let standby = try await first.standby(isSynchronous: true)
    var primary = first
    let url = "postgres://errand@127.0.0.1:\(first.port),127.0.0.1:\(standby.port)/postgres"
    var programs: [Program] = []
    for number in 0..<4 {
      let program = try await Program(beside: programs.first)
      try FileManager.default.createDirectory(
        at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
      let settings = "state: \(url)\npostgres: { answerWithin: 5s }\nworker: { name: lab-\(number) }\n"
      try program.write(settings + program.read("errand.yaml"), to: "errand.yaml")
      try program.write(ClusterTests.handed, to: "recipes/handed.yaml")
      let each = SoakTests.schedule("each", "every: 2s, overlap: allowAll, catchup: all", wait: nil)
      try program.write(each, to: "recipes/each.yaml")
      programs.append(program)
    }
    let made = try await programs[0].call("state", "init")
    try #require(made.code == 0, "\(made.error)")
    // A late answer makes it likelier that a fault comes between the write and the answer.
    try await programs[0].control("fault?kind=slow&call=createclass&times=100000000&delay=20ms")
    let clock = try await MovableClock(in: programs[0].folder)
    let agents = Agents(programs, [[:], [:]] + [-3600, 3600].map { clock?.running(off: $0) ?? [:] })
    for number in programs.indices { try agents.start(number) }

    var handed: [String: String] = [:]
    var counts: [Fault: Int] = [:]
    var planned = Fault.allCases
    var batches = 0
    func hand(to program: Program) async throws {
      batches += 1
      let outcome = try await program.call("run", "recipes/handed.yaml", "-i", "batch=b\(batches)", "--detach")
      if [0, 4].contains(outcome.code) { handed[outcome.out.trimmingCharacters(in: .newlines)] = "b\(batches)" }
    }
    while seconds.map({ elapsed() < .seconds($0) }) ?? !planned.isEmpty {
      for _ in 0..<Int.random(in: 2...6, using: &random) {
        try await hand(to: programs[Int.random(in: 0..<4, using: &random)])
      }
      let fault =
        seconds == nil
        ? planned.removeFirst() : Fault.allCases[Int.random(in: 0..<Fault.allCases.count, using: &random)]
      counts[fault, default: 0] += 1
      let number = Int.random(in: 0..<4, using: &random)
      switch fault {
      case .killAgent:
        #expect(await agents.end(number, SIGKILL) == -SIGKILL, "seed \(seed)")
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...3000, using: &random)))
        try agents.start(number)
      case .freezeAgent:
        // Longer than a lease.
        agents.signal(number, SIGSTOP)
        try await Task.sleep(for: .milliseconds(Int.random(in: 16_000...20_000, using: &random)))
        agents.signal(number, SIGCONT)
      case .killServer:
        await primary.kill()
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...2000, using: &random)))
        // In the end the standby takes over for good.
        let isLast = seconds.map { elapsed() > .seconds($0 * 0.8) } ?? planned.isEmpty
        if isLast, primary !== standby {
          try await standby.promote()
          primary = standby
          let connection = try await PostgresConnection.open(standby.settings())
          try await connection.run("alter system reset synchronous_standby_names")
          try await connection.run("select pg_reload_conf()")
          connection.close()
        } else {
          try await primary.start()
        }
      }
    }

    // Once nothing fails any more, everything comes to its end.
    var paused = try await programs[1].call("schedule", "pause", "each")
    for _ in 0..<20 where paused.code != 0 {
      try await Task.sleep(for: .milliseconds(500))
      paused = try await programs[1].call("schedule", "pause", "each")
    }
    #expect(paused.code == 0, "seed \(seed): \(paused.error)")
    var open: [Value] = []
    for _ in 0..<600 {
      let runs = try await programs[0].call("runs", "list", "-n", "10000", "--json")
      open = runs.json["open"]?.list ?? []
      if runs.code == 0, open.isEmpty { break }
      try await Task.sleep(for: .milliseconds(300))
    }
    #expect(open.isEmpty, "seed \(seed): \(open.map { JSON.displayed($0) }.joined(separator: "\n").prefix(4000))")
    let runs = try await programs[0].call("runs", "list", "-n", "10000", "--json").json
    let ended = (runs["finished"]?.list ?? []).map { ($0["id"]?.string ?? "", $0["status"]?.string ?? "") }
    let statuses = Dictionary(ended) { first, _ in first }
    #expect(statuses.count == ended.count, "seed \(seed): a run is there twice")
    let created = try await programs[0].writes("createclass")
    #expect(created.values.allSatisfy { $0 == 1 }, "seed \(seed): \(created.filter { $0.value != 1 })")
    for (run, batch) in handed {
      #expect(statuses[run] == "succeeded", "seed \(seed): \(run) of \(batch)")
      for number in 1...6 where created["1207755/handed-\(batch)-\(number)"] == nil {
        Issue.record("seed \(seed): \(batch) has no \(number)")
      }
    }
    let log = try await programs[2].call("schedule", "log", "each", "-n", "10000", "--json").json.list ?? []
    let ledger = Ledger(log, every: 2)
    #expect(ledger.faults == [], "seed \(seed)")
    let slots = ledger.outcomes.keys.sorted()
    for (slot, next) in zip(slots, slots.dropFirst()) where next - slot != 2 {
      Issue.record("seed \(seed): nothing is said of what was due between \(slot) and \(next)")
    }
    #expect(!slots.isEmpty && Set(ledger.runs.values).count == slots.count, "seed \(seed): a run for two slots")
    for (slot, run) in ledger.runs {
      #expect(statuses[run] == "succeeded", "seed \(seed): \(run) of the slot \(slot)")
      let name = "1207755/each-\(Timestamp(seconds: slot)?.description ?? "")"
      #expect(created[name] == 1, "seed \(seed): \(name)")
    }
    for number in programs.indices {
      #expect(await agents.end(number, SIGTERM) == 0, "seed \(seed): lab-\(number): \(agents.words(number))")
    }
    print(
      "cluster: seed \(seed): \(counts[.killAgent] ?? 0) agents killed, \(counts[.freezeAgent] ?? 0) frozen, the server"
        + " killed \(counts[.killServer] ?? 0) times; \(slots.count) slots, \(statuses.count) runs, \(created.count) plain writes, each done once"
    )
    for program in programs.reversed() { await program.remove() }
    for server in [first, standby] { await server.remove() }
  }
}
