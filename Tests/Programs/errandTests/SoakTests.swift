import Basics
import Foundation
import Testing

/// Kills the agent's process at random moments, against a school that counts writes.
///
/// Schedules that are due every few seconds create classes, which must not be created twice; commands detach runs, and
/// some of these commands are killed as well. In the end the ledger is compared with the due slots, the runs with the
/// ledger, and the school's count with the runs.
@Suite(.timeLimit(.minutes(30))) struct SoakTests {
  /// Creates a class for each slot; `wait` makes runs that are killed while they wait.
  static func schedule(_ name: String, _ trigger: String, wait: String?) -> String {
    """
    recipe: \(name)
    on: [{ \(trigger), zone: UTC }]
    steps:
      - if: "!has(run.slot)"
        fail: There is no slot.
    \(wait.map { "  - wait: \($0)\n" } ?? "")  - uses: markbook.createClass
        with:
          markbookKey: 1207755
          name: "\(name)-${{ run.slot }}"
          teacherFamilyName: Okafor
          teacherGivenName: Daniel
    """
  }

  /// The schedules, how often each is due, and the possible outcomes of their slots.
  private static let schedules: [(name: String, every: Int, trigger: String, wait: String?, outcomes: Set<String>)] = [
    ("each", 2, "every: 2s, overlap: allowAll, catchup: all", nil, ["started"]),
    ("inTurn", 3, "every: 3s, overlap: bufferAll, catchup: all", "300ms", ["buffered", "started"]),
    ("next", 3, "every: 3s, overlap: bufferOne", "3500ms", ["buffered", "started", "dropped", "superseded"]),
    ("alone", 4, "every: 4s", "4500ms", ["started", "skippedOverlap", "superseded"]),
  ]

  private static let handedOver = """
    recipe: handedOver
    inputs: { batch: string }
    steps:
      - forEach: "[1, 2, 3, 4, 5, 6]"
        as: number
        uses: markbook.createClass
        with:
          markbookKey: 1207755
          name: handed-${{ inputs.batch }}-${{ number }}
          teacherFamilyName: Okafor
          teacherGivenName: Daniel
    """

  @Test func `an agent that is killed at random accounts for every slot, and writes nothing twice`() async throws {
    let environment = ProcessInfo.processInfo.environment
    // A few kills for the gate; ERRAND_SOAK sets its length in seconds.
    let seconds = environment["ERRAND_SOAK"].flatMap { Double($0) }
    let seed = environment["ERRAND_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max)
    var random = SeededNumbers(seed)
    let begin = ContinuousClock.now
    let program = try await ServeTests.program(["handedOver.yaml": SoakTests.handedOver])
    for (name, _, trigger, wait, _) in SoakTests.schedules {
      try program.write(SoakTests.schedule(name, trigger, wait: wait), to: "recipes/\(name).yaml")
    }
    // A late answer makes it likelier that a kill comes between the write and the answer.
    try await program.control("fault?kind=slow&call=createclass&times=100000000&delay=20ms")

    var (kills, stops, killedCommands, batches) = (0, 0, 0, 0)
    var handed: [String: String] = [:]
    func proceeds() -> Bool {
      guard let seconds else { return kills < 4 }
      return begin.duration(to: .now) < .seconds(seconds)
    }
    while proceeds() {
      let serve = try program.serve("serve", "--quiet")
      try await Task.sleep(for: .milliseconds(Int.random(in: 30...900, using: &random)))
      batches += 1
      let batch = "b\(batches)"
      let arguments = ["run", "recipes/handedOver.yaml", "-i", "batch=\(batch)"]
      switch Int.random(in: 0..<4, using: &random) {
      case 0:
        let outcome = try await program.start(arguments + ["--detach"]).outcome()
        if outcome.code == 0 || outcome.code == 4 {
          handed[outcome.out.trimmingCharacters(in: .newlines)] = batch
        }
      case 1:
        let command = try program.start(arguments)
        try await Task.sleep(for: .milliseconds(Int.random(in: 10...300, using: &random)))
        command.signal(SIGKILL)
        _ = await command.outcome()
        killedCommands += 1
      default:
        try await Task.sleep(for: .milliseconds(Int.random(in: 0...1500, using: &random)))
      }
      let isKill = Int.random(in: 0..<6, using: &random) > 0
      serve.signal(isKill ? SIGKILL : SIGTERM)
      let code = await serve.end()
      // A signal before it handles signals kills it.
      #expect((isKill ? [-SIGKILL] : [0, -SIGTERM]).contains(code), "\(serve.before)")
      if isKill { kills += 1 } else { stops += 1 }
      // Now and then, no agent runs for a while.
      if Int.random(in: 0..<4, using: &random) == 0 {
        try await Task.sleep(for: .milliseconds(Int.random(in: 500...3000, using: &random)))
      }
    }

    // The last agent finishes the open runs.
    let serve = try program.serve("serve")
    try #require(await serve.line(with: " serves ") != nil, "\(serve.before)")
    for schedule in SoakTests.schedules {
      let paused = try await program.call("schedule", "pause", schedule.name)
      #expect(paused.code == 0, "\(paused.error)")
    }
    var ends: [String: Timestamp] = [:]
    for item in try await program.call("schedule", "list", "--json").json.list ?? [] {
      ends[item["id"]?.string ?? ""] = item["pause"]?["at"]?.string.flatMap { Timestamp($0) }
    }
    var patience = 1000
    var runs = try await program.call("runs", "list", "-n", "10000", "--json")
    while runs.json["open"]?.list?.isEmpty == false, patience > 0 {
      patience -= 1
      try await Task.sleep(for: .milliseconds(300))
      runs = try await program.call("runs", "list", "-n", "10000", "--json")
    }
    #expect(runs.json["open"]?.list?.count == 0, "seed \(seed): \(runs.out.prefix(4000))")
    serve.signal(SIGTERM)
    #expect(await serve.end() == 0)

    let ended = (runs.json["finished"]?.list ?? []).map { ($0["id"]?.string ?? "", $0["status"]?.string ?? "") }
    let statuses = Dictionary(ended) { first, _ in first }
    #expect(statuses.count == ended.count, "seed \(seed): a run is there twice")
    let created = try await program.writes("createclass")
    #expect(created.values.allSatisfy { $0 == 1 }, "seed \(seed): \(created.filter { $0.value != 1 })")
    var expected: Set<String> = []
    var due = 0
    var unfinished: [String] = []
    for schedule in SoakTests.schedules {
      let log = try await program.call("schedule", "log", schedule.name, "-n", "10000", "--json").json.list ?? []
      let ledger = Ledger(log, every: schedule.every)
      #expect(ledger.faults == [], "seed \(seed): \(schedule.name)")
      #expect(Set(ledger.outcomes.values.joined()).isSubset(of: schedule.outcomes), "seed \(seed): \(schedule.name)")
      // From the first to the pause, one after another.
      let slots = ledger.outcomes.keys.sorted()
      for (slot, next) in zip(slots, slots.dropFirst()) where next - slot != schedule.every {
        Issue.record("seed \(seed): \(schedule.name) says nothing of what was due between \(slot) and \(next)")
      }
      let end = try #require(ends[schedule.name]?.seconds)
      #expect((slots.last ?? 0) + schedule.every > end, "seed \(seed): \(schedule.name) ends too early")
      due += slots.count
      for (slot, run) in ledger.runs {
        if statuses[run] != "succeeded" { unfinished.append("\(run) of \(schedule.name)") }
        expected.insert("1207755/\(schedule.name)-\(Timestamp(seconds: slot)?.description ?? "")")
      }
      #expect(Set(ledger.runs.values).count == ledger.runs.count, "seed \(seed): a run for two slots")
    }
    for (run, batch) in handed {
      if statuses[run] != "succeeded" { unfinished.append("\(run), which was handed over") }
      for number in 1...6 { expected.insert("1207755/handed-\(batch)-\(number)") }
    }
    #expect(unfinished == [], "seed \(seed)")
    // A killed command's request was done entirely or not at all.
    let others = Set(created.keys).subtracting(expected)
    #expect(expected.subtracting(created.keys).isEmpty, "seed \(seed): not written")
    let whole = Dictionary(grouping: others) { $0.split(separator: "-").dropLast().joined(separator: "-") }
    #expect(whole.keys.allSatisfy { $0.hasPrefix("1207755/handed-b") }, "seed \(seed): \(whole.keys.sorted())")
    #expect(whole.values.allSatisfy { $0.count == 6 }, "seed \(seed): \(whole.filter { $0.value.count != 6 })")
    print(
      "soak: seed \(seed): the agent was killed \(kills) times and stopped \(stops) times, commands \(killedCommands)"
        + " times; \(due) slots, \(statuses.count) runs, \(created.count) plain writes, each done once")
    await program.remove()
  }
}

/// The outcomes of each slot in a schedule's ledger, by the seconds since 1970.
struct Ledger {
  var outcomes: [Int: [String]] = [:]
  /// The runs that slots started.
  var runs: [Int: String] = [:]
  var faults: [String] = []

  init(_ rows: [Value], every: Int) {
    for row in rows.reversed() {
      guard let slot = row["slot"]?.string.flatMap({ Timestamp($0) })?.seconds, let outcome = row["outcome"]?.string,
        let count = row["count"]?.int ?? 1 as Int?, row["cause"]?["kind"]?.string == "slot"
      else {
        faults.append("\(row)")
        continue
      }
      let until = row["until"]?.string.flatMap { Timestamp($0) }?.seconds ?? slot
      if until - slot != (count - 1) * every { faults.append("\(row)") }
      for slot in stride(from: slot, through: until, by: every) {
        // A slot may be buffered before it is started, and has one final outcome.
        if let before = outcomes[slot], before.last != "buffered" { faults.append("\(slot): \(before), \(outcome)") }
        outcomes[slot, default: []].append(outcome)
      }
      if outcome == "started" { runs[slot] = row["run"]?.string ?? "" }
    }
    // Slots buffered before the pause wait for its end, and start before later ones.
    let last = runs.keys.max() ?? 0
    for (slot, seen) in outcomes where seen.last == "buffered" && slot < last { faults.append("\(slot) was forgotten") }
  }
}

/// SplitMix64, so that a soak can be repeated, except for its timing.
struct SeededNumbers: RandomNumberGenerator {
  private var state: UInt64

  init(_ seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ (bits >> 30)) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ (bits >> 27)) &* 0x94D0_49BB_1331_11EB
    return bits ^ (bits >> 31)
  }
}
