// A seed's life: a folder of recipes, and a few dozen happenings while a program serves them.
//
// Between two happenings as many jobs run as the seed says, so that a happening may come at any moment during the
// consequences of the others. At the end everything is repaired: the service answers, approvals are given, uncertain
// steps are resolved, schedules are removed; then every run has to end.
import ActionKit
import Agent
import Operations
import Basics
import Calendars
import Glibc
import Recipes
import RunState
import RunTestKit
import Runs
import Scheduler

/// The result of one seed.
package struct SimulationReport: Sendable {
  package var seed: UInt64
  /// How the promise was broken, if it was.
  package var fault: String?
  package var trace: [String]

  /// The fault, what led to it, and the command that reproduces it.
  package func text(lines: Int) -> String {
    """
    seed \(seed): \(fault ?? "no fault")
    \(trace.suffix(lines).joined(separator: "\n"))
    To see it again: ERRAND_SEED=\(seed) swift test --disable-xctest --filter SimulatorTests
    """
  }
}

/// Simulates the life of one seed.
package struct Simulation: Sendable {
  package var seed: UInt64
  /// How many happenings there are.
  package var moves: Int

  package var components: Components

  /// From this seed on lives are long; earlier ones, of the test suite, are shorter.
  package static let longLives: UInt64 = 1000

  package init(seed: UInt64, components: Components = Components()) {
    self.seed = seed
    // Derived from the seed alone, so that it replays wherever it was found.
    moves = seed < Simulation.longLives ? 8 + Int(seed % 3) * 7 : 40
    self.components = components
  }

  /// The report; nil if this platform's runtime can't be simulated.
  ///
  /// - Parameter isTold: Whether to write a trace. A failed seed always gets one, because it is simulated once more.
  package func run(isTold: Bool = false) async -> SimulationReport? {
    guard let report = await play(isTold: isTold) else { return nil }
    guard let fault = report.fault, !isTold else { return report }
    guard var told = await play(isTold: true) else { return report }
    told.fault = told.fault ?? "\(fault) (and not when it is simulated again, so something is left to chance)"
    return told
  }

  private func play(isTold: Bool) async -> SimulationReport? {
    await SimulatedThread.run(seed: seed) { [self] thread in
      let director = Director(self, isTold: isTold, on: thread)
      director.play()
      return SimulationReport(seed: seed, fault: director.services.audit.fault, trace: director.services.audit.trace)
    }
  }
}

/// Makes things happen to the simulated services.
final class Director {
  let services: SimulatedServices
  private let simulation: Simulation
  private var maker: RecipeMaker
  private var random: SeededGenerator
  private let names = ["r0", "r1", "r2", "r3"]
  private var lastEvent = 0
  /// Whether the clock was set back while the program runs, so that recorded instants are far away.
  private var wasSetBack = false
  /// The latest time that a clock has shown; it decides which old records are removed.
  private var latest = Timestamp.earliest
  /// The count of `SimulatedServices.looks` at the latest rest, and since when it is unchanged.
  private var looked: (count: Int, at: Timestamp)?
  /// When the clock was last set, which is noticed at the next reading.
  private var setAt: TimeSpan?

  init(_ simulation: Simulation, isTold: Bool, on thread: SimulatedThread) {
    self.simulation = simulation
    var random = SeededGenerator(seed: simulation.seed &* 31 &+ 7)
    // Days around the clock changes of the zones that recipes name.
    let starts = [1_774_663_200, 1_792_803_600, 1_775_300_000, 1_795_167_000]
    let start = starts[Int.random(in: 0..<starts.count, using: &random)] + Int.random(in: 0..<40_000, using: &random)
    services = SimulatedServices(
      seed: simulation.seed, on: thread, at: Timestamp(seconds: start) ?? .epoch, isTold: isTold,
      components: simulation.components)
    thread.isInOrder = Int.random(in: 0..<4, using: &random) == 0
    services.compactsAt = [10_000, 40_000, 160_000][Int.random(in: 0..<3, using: &random)]
    services.isLimited = simulation.seed % 3 == 1
    maker = RecipeMaker(seed: simulation.seed &+ 11)
    self.random = random
  }

  private func one(in count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
  private func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
  private var audit: Audit { services.audit }

  func play() {
    for (path, text) in maker.called() { put(text, at: path) }
    for name in names where !one(in: 4) { write(name) }
    services.service.mood = .rough(number(0..<70))
    services.inbox.put(1, at: "in/a", now: services.now)
    ensureProgram()
    for _ in 0..<simulation.moves {
      if audit.fault != nil { return }
      move()
      if let program = services.program {
        program.client.lookAround(at: program.store.state.openRuns.map(\.id), mayFollow: true)
      }
      latest = max(latest, services.time)
      if one(in: 3) { services.go(number(0..<60)) } else { rest() }
      ensureProgram()
    }
    end()
    lookForSecrets()
  }

  // MARK: Happenings

  private func write(_ name: String) {
    let text = maker.recipe(name, among: names)
    audit.note("write \(name)\n\(text)")
    services.serve(name, text)
  }

  /// Puts a recipe where others call it.
  private func put(_ text: String, at path: String) {
    audit.note("write \(path)\n\(text)")
    services.folder.put(text, at: path)
  }

  /// Starts a program if there is none, or replaces one that can't continue.
  private func ensureProgram() {
    if audit.fault != nil { return }
    if let program = services.program {
      if services.disk.isStopped {
        services.die(losing: one(in: 3) ? .everything : .some(seed: random.next()))
      } else if program.life.hasFailed {
        services.stop()
        // It is unknown what a failed disk has kept.
        services.disk = services.disk.restarted(losing: .some(seed: random.next()))
      } else {
        return
      }
      if one(in: 2) { pass(number(0..<100_000)) }
    }
    wasSetBack = false
    setAt = nil
    var tries = 0
    while services.program == nil, audit.fault == nil {
      tries += 1
      if tries > 5 { return audit.fail("no program can be started") }
      services.start()
      if services.program == nil { services.disk = services.disk.restarted(losing: .some(seed: random.next())) }
    }
  }

  /// Lets time pass without a program.
  private func pass(_ seconds: Int) { services.now = services.now.advanced(by: .seconds(seconds)) ?? services.now }

  private func move() {
    guard let program = services.program else { return }
    let open = program.store.state.openRuns
    let run = open.isEmpty ? nil : open[number(0..<open.count)]
    switch number(0..<43) {
    case 0...11: advance()
    case 39...41: changeFiles(program)
    case 12, 13:
      services.die(losing: [.nothing, .everything, .some(seed: random.next())][number(0..<3)])
      if one(in: 2) { pass(number(0..<200_000)) }
    case 14, 15:
      let phases = FaultyFileSystem.Phase.allCases
      services.disk.fail(at: number(1..<30), .crash(phases[number(0..<phases.count)]))
      audit.note("the machine will stop")
    case 16:
      services.disk.fail(at: number(1..<30), .error(one(in: 2) ? 28 : 5))
      audit.note("the disk will fail")
    case 17: services.stop()
    case 18:
      let span = TimeSpan.seconds(number(0..<2) == 0 ? -number(1..<20_000) : number(1..<400_000))
      audit.note("the clock is set by \(span)")
      if span < .zero { wasSetBack = true }
      setAt = program.time.elapsed()
      services.service.clockWasSet()
      program.time.setWallClock(to: program.time.now().advanced(by: span) ?? program.time.now())
    case 19, 20: begin(program)
    case 21...23: signal(program)
    case 24...26: decide(program, open)
    case 27, 28: if let run { cancel(run.id, program) }
    case 29, 30: resolve(program, open)
    case 31, 32: if let run { resume(run, program) }
    case 33: if let run { pause(run.id, program) }
    case 34, 35: edit(program)
    case 36, 37: steer(program)
    case 38: services.service.mood = .rough(number(0..<70))
    default:
      audit.note("compact")
      let store = program.store
      // Ends when the snapshot is written.
      Task { try? await store.compact() }
    }
  }

  private func advance() {
    guard let time = services.program?.time else { return }
    switch number(0..<4) {
    case 0: if let span = time.untilNextSleeper { time.advance(by: span) }
    case 1, 2: time.advance(by: services.untilSomethingIsDue ?? .seconds(3600))
    default:
      time.advance(by: .seconds([5, 90, 4000, 30_000, 200_000][number(0..<5)]))
    }
    audit.note("it is \(time.now())")
  }

  private func begin(_ program: SimulatedProgram) {
    let name = names[number(0..<names.count)]
    guard let created = services.newRun(of: name, id: services.newID(program.time.now())) else { return }
    audit.note("begin \(name) as \(created.run)")
    // Ends when the run has begun.
    Task { _ = try? await program.client.perform(SubmitRun.with { $0.run = Stored(created) }) }
  }

  private func signal(_ program: SimulatedProgram) {
    // Some come twice.
    if !one(in: 5) { lastEvent += 1 }
    let (id, name, data) = ("e\(lastEvent)", one(in: 2) ? "go" : "tick", Value.int(number(0..<2)))
    audit.note("signal \(id) \(name)")
    let event = SendEvent.with {
      $0.id = id
      $0.name = name
      $0.data = data
    }
    // Ends when it is kept.
    Task { [audit] in
      do throws(RequestRefusedError) {
        let answer = try await program.client.perform(event)
        audit.told(received: answer.received)
      } catch {}
    }
  }

  private func changeFiles(_ program: SimulatedProgram) {
    for _ in 0..<number(1..<4) {
      let path = "in/\(["a", "b", "c"][number(0..<3)])"
      let bytes = one(in: 4) ? nil : number(1..<1000)
      audit.note("file \(path) \(bytes.map { "of \($0)" } ?? "goes")")
      services.inbox.put(bytes, at: path, now: program.time.now())
    }
    services.looks += 1
    // Ends when the folder has been looked at.
    Task { await program.schedules.lookForFiles() }
  }

  private func decide(_ program: SimulatedProgram, _ open: [RunRecord]) {
    let asking = open.flatMap { run in run.askingSteps.map { (run.id, $0) } }
    if asking.isEmpty { return }
    let (run, step) = asking[number(0..<asking.count)]
    decide(run, step, isApproved: !one(in: 3), program)
  }

  private func decide(_ run: String, _ step: StepRecord, isApproved: Bool, _ program: SimulatedProgram) {
    audit.note("decide \(run) \(step.path) \(isApproved)")
    // Ends when it is kept.
    Task { try? await program.client.decide(run, step, isApproved: isApproved) }
  }

  private func cancel(_ run: String, _ program: SimulatedProgram) {
    let isHard = one(in: 3)
    audit.note("cancel \(run)\(isHard ? " hard" : "")")
    audit.ask(run)
    // Ends when it is kept.
    Task { [audit] in
      do {
        if isHard {
          // The schedules ask for it, and no operation does.
          if try await program.host.cancel(run, reason: nil, isHard: true) { audit.told(cancelled: run) }
        } else {
          let answer = try await program.client.perform(CancelRun.with { $0.run = run })
          audit.told(cancelled: answer.cancelled)
        }
      } catch {}
    }
  }

  private func resolve(_ program: SimulatedProgram, _ open: [RunRecord]) {
    let doubtful = open.flatMap { run in run.uncertainSteps.map { (run, $0) } }
    if doubtful.isEmpty { return }
    let (run, step) = doubtful[number(0..<doubtful.count)]
    resolve(run, step, as: number(0..<3), program)
  }

  private func resolve(_ run: RunRecord, _ step: StepRecord, as choice: Int, _ program: SimulatedProgram) {
    let output = Value.object(["value": .int(1), "calls": .int(3), "text": .string("")])
    let outcome = [ResolveStep.Outcome.done, .retry, .fail][choice]
    audit.note("resolve \(run.id) \(step.path) as \(outcome.rawValue)")
    if let key = run.key(of: step) {
      audit.resolved(key)
      if choice == 1 { services.service.grant(key) }
    }
    audit.ask(run.id)
    let resolution = ResolveStep.with {
      $0.run = run.id
      $0.step = step.path
      $0.as = Word(outcome)
      $0.output = outcome == .done ? output : nil
    }
    // Ends when the run continues.
    Task { [audit, id = run.id] in
      do throws(RequestRefusedError) { _ = try await program.client.perform(resolution) } catch {
        return audit.note("not resolved: \(error.message)")
      }
      // The agent resumes the run, unless it is paused meanwhile; another walk may have answered the earlier request.
      audit.ask(id)
      _ = try? await program.client.perform(ResumeRun.with { $0.run = id })
    }
  }

  private func resume(_ run: RunRecord, _ program: SimulatedProgram) {
    guard run.status == .paused else { return }
    audit.note("resume \(run.id)")
    audit.ask(run.id)
    // Ends when the run continues.
    Task { [id = run.id] in _ = try? await program.client.perform(ResumeRun.with { $0.run = id }) }
  }

  private func pause(_ run: String, _ program: SimulatedProgram) {
    let isRegretted = one(in: 3)
    audit.note("pause \(run)\(isRegretted ? ", and think better of it" : "")")
    // Ends when it is written, or the run continues.
    Task { [audit] in
      let pause = PauseRun.with {
        $0.run = run
        $0.reason = "somebody paused it"
      }
      do throws(RequestRefusedError) { _ = try await program.client.perform(pause) } catch { return }
      if !isRegretted { return }
      audit.ask(run)
      _ = try? await program.client.perform(ResumeRun.with { $0.run = run })
    }
  }

  private func edit(_ program: SimulatedProgram) {
    let name = names[number(0..<names.count)]
    if one(in: 5) {
      audit.note("remove \(name)")
      services.folder[name] = nil
      services.looks += 1
    } else if one(in: 4), let text = services.folder[name] {
      audit.note("break \(name)")
      services.folder[name] = text + "steps: [\n"
    } else if one(in: 4) {
      for (path, text) in maker.called() { put(text, at: path) }
    } else {
      write(name)
    }
    // Ends when the registry has looked, twice so that what is gone counts as gone.
    Task {
      _ = await program.schedules.look()
      _ = await program.schedules.look()
    }
  }

  private func steer(_ program: SimulatedProgram) {
    let ids = program.store.state.schedules.keys.sorted()
    if ids.isEmpty { return }
    let id = ids[number(0..<ids.count)]
    let choice = number(0..<4)
    let now = program.time.now()
    audit.note("\(["pause", "resume", "trigger", "backfill"][choice]) \(id)")
    // Ends when it is kept.
    Task { [client = program.client] in
      switch choice {
      case 0: _ = try? await client.perform(PauseSchedule.with { $0.id = id })
      case 1: _ = try? await client.perform(ResumeSchedule.with { $0.id = id })
      case 2: _ = try? await client.perform(TriggerSchedule.with { $0.id = id })
      default:
        var backfill = BackfillSchedule.with {
          $0.id = id
          $0.from = now.advanced(by: .seconds(-20_000)) ?? now
          $0.to = now
          $0.overlap = Word(.bufferAll)
          $0.dryRun = true
        }
        // The first three of them are started.
        guard case .due(let slots, _)? = try? await client.perform(backfill), let first = slots.first,
          let end = slots.prefix(3).last?.advanced(by: TimeSpan(nanoseconds: 1))
        else { return }
        (backfill.from, backfill.to, backfill.dryRun) = (first, end, false)
        _ = try? await client.perform(backfill)
      }
    }
  }

  // MARK: At rest

  /// Lets everything run that can, and checks the state afterwards.
  private func rest() {
    latest = max(latest, services.time)
    services.settle()
    guard audit.fault == nil, let program = services.program, !services.disk.isStopped, !program.life.hasFailed else {
      return
    }
    if audit.isStateFailing {
      // Callers in flight see it when their calls are answered.
      if !services.service.isCalled { audit.fail("the state takes nothing more, and nobody is told") }
      return
    }
    let state = program.store.state
    audit.compare(live: state)
    let now = program.time.now()
    if let setAt, program.time.elapsed() - setAt < .seconds(10) { return }
    for run in state.openRuns {
      switch run.status {
      case .waiting:
        if let wakeAt = run.wakeAt, wakeAt <= now, program.time.untilNextSleeper.map({ $0 > .seconds(10) }) ?? true {
          audit.fail("the run \(run.id) waits for \(wakeAt), and it is \(now)")
        }
        if run.hasUnseenDecision {
          audit.fail("the run \(run.id) waits for a decision that was made")
        }
      case .running:
        if !services.service.isCalled(by: run.id), !isDueSoon(run, now) {
          audit.fail("the run \(run.id) is running, but nothing goes on in it")
        }
      case .queued where run.origin.group == nil: audit.fail("the run \(run.id) is queued for nothing")
      default: break
      }
      if run.pendingCancel != nil, !services.service.isCalled(by: run.id), !run.isInFinally,
        run.status == .waiting || run.status == .paused || run.status == .queued
      {
        audit.fail("the run \(run.id) was cancelled and is \(run.status.rawValue)")
      }
    }
    for schedule in state.schedules.values.sorted(by: { $0.id < $1.id })
    where schedule.pause == nil && schedule.remainingRuns != 0 && services.folder[schedule.recipe] != nil {
      if let next = audit.nextSlot(of: schedule.id), let age = now.span(since: next), age > .seconds(1300) {
        audit.fail("the slot \(schedule.id) \(next) has no record, and it is \(now)")
      }
    }
    // The look comes before the rest, and its files settle after it; a clock that was set begins the wait again.
    if looked?.count != services.looks { looked = (services.looks, now) }
    let since = looked.flatMap { now.span(since: $0.at) } ?? .zero
    if wasSetBack || setAt != nil || since < SimulatedInbox.settle + .seconds(15) { return }
    for schedule in state.schedules.values where services.folder[schedule.recipe] != nil {
      guard services.watchers.contains(schedule.spec), let seen = schedule.files?.versions else { continue }
      for file in services.inbox.files where seen[file.path] != file.version {
        audit.fail("the file \(file.path) of \(schedule.id) has not been seen, and it is \(now)")
      }
    }
  }

  /// Whether a step of a run that is being walked waits for less than a minute, or for a clock that was set back.
  private func isDueSoon(_ run: RunRecord, _ now: Timestamp) -> Bool {
    if wasSetBack { return true }
    // A call may wait until another is over, or until the connection has room.
    let sleep = services.program?.time.untilNextSleeper ?? .seconds(61)
    if services.isLimited, services.service.isCalled || sleep < .seconds(61) { return true }
    let soon = now.advanced(by: .seconds(61)) ?? now
    return run.steps.contains { step in
      // A step that waits for a block's limit is inside it.
      if !step.status.isEnded, let limit = services.limit(of: step, in: run), limit <= soon { return true }
      return switch step.status {
      case .retrying: step.lastAttempt?.retryAt.map { $0 <= soon } ?? false
      case .waiting: step.wait?.wakeAt.map { $0 <= soon } ?? false
      // A look that failed is repeated within seconds.
      case .running: step.isInFlight
      default: false
      }
    }
  }

  // MARK: The end

  /// Repairs everything, removes the schedules, and has every run end.
  private func end() {
    services.service.mood = .healthy
    ensureProgram()
    audit.note("the end begins")
    for name in names { services.folder[name] = nil }
    if let program = services.program {
      // A fault that was planned no longer happens.
      services.disk.fail(at: 1 << 40, .error(5))
      _ = services.perform("remove") {
        _ = await program.schedules.look()
        _ = await program.schedules.look()
      }
    }
    ensureProgram()
    var rounds = 0
    while audit.fault == nil {
      ensureProgram()
      guard let program = services.program, !program.store.state.openRuns.isEmpty else { break }
      rounds += 1
      if rounds > 400 {
        let run = program.store.state.openRuns[0]
        return audit.fail("the run \(run.id) never ends: it is \(run.status.rawValue), \(run.reason ?? "no reason")")
      }
      for run in program.store.state.openRuns {
        switch run.status {
        case .uncertain: for step in run.uncertainSteps { resolve(run, step, as: 2, program) }
        case .paused: resume(run, program)
        default: break
        }
        for step in run.askingSteps { decide(run.id, step, isApproved: true, program) }
      }
      rest()
      if let span = services.untilSomethingIsDue ?? program.time.untilNextSleeper { program.time.advance(by: span) }
      rest()
    }
    if audit.fault != nil { return }
    checkHistory()
    services.stop()
    services.service.checkEnds(of: audit.ended.values.sorted { $0.id < $1.id })
  }

  /// Checks that every ended run and settled slot can be found, unless it is too old.
  private func checkHistory() {
    guard let program = services.program else { return }
    let found = services.perform("look into the history") { () async -> (runs: [RunSummary], slots: [SlotRecord])? in
      do throws(StateError) {
        return (
          try await program.store.finishedRuns(HistoryQuery(limit: .max)),
          try await program.store.slots(SlotQuery(limit: .max))
        )
      } catch { return nil }
    }
    guard let found = found ?? nil else { return audit.fail("the history cannot be read") }
    if Set(found.runs.map(\.id)).count < found.runs.count { audit.fail("a run is in the history twice") }
    let runs = Dictionary(found.runs.map { ($0.id, $0) }) { first, _ in first }
    func isKept(_ instant: Timestamp, for span: TimeSpan?) -> Bool {
      guard let span, let age = latest.span(since: instant) else { return true }
      return age < span
    }
    for run in audit.ended.values.sorted(by: { $0.id < $1.id })
    where runs[run.id] != RunSummary(run) && isKept(run.endedAt ?? run.createdAt, for: Retention.usual.runsFor) {
      audit.fail("the run \(run.id) ended as \(run.status.rawValue), but that is not in the history")
    }
    let settled = audit.recorded.filter { $0.outcome != .buffered }
    /// Alone, or in a row with others of the same outcome.
    func isThere(_ slot: SlotRecord) -> Bool {
      found.slots.contains(slot)
        || found.slots.contains { row in
          row.count > 1 && row.schedule == slot.schedule && row.outcome == slot.outcome && row.run == slot.run
            && row.slot <= slot.slot && (slot.until ?? slot.slot) <= (row.until ?? row.slot)
        }
    }
    for slot in settled where isKept(slot.at, for: Retention.usual.slotsFor) && !isThere(slot) {
      audit.fail("the slot \(slot.schedule) \(slot.slot) was \(slot.outcome), but that is not in the ledger")
    }
    let (rows, all) = (found.slots.reduce(0) { $0 + $1.count }, settled.reduce(0) { $0 + $1.count })
    if rows > all { audit.fail("the ledger has slots that were never settled") }
  }

  /// Checks that no secret is in any file.
  private func lookForSecrets() {
    let secret = Array(SimulatedService.secret.utf8)
    for path in services.disk.paths where services.disk[path]?.contains(secret) == true {
      audit.fail("a secret stands in \(path)")
    }
  }
}

extension RunRecord {
  /// Whether it belongs to `finally`, which a cancellation doesn't end.
  fileprivate var isInFinally: Bool {
    steps.contains { $0.path.hasPrefix("#finally/") && !$0.status.isEnded }
  }
}

extension [UInt8] {
  /// Whether these bytes contain others, at least one; the first of them should be rare.
  fileprivate func contains(_ others: [UInt8]) -> Bool {
    withUnsafeBytes { bytes in
      others.withUnsafeBytes { others in
        guard var place = bytes.baseAddress, let wanted = others.baseAddress else { return false }
        let end = place + bytes.count
        while end - place >= others.count, let found = memchr(place, Int32(others[0]), end - place) {
          let start = UnsafeRawPointer(found)
          if end - start >= others.count, memcmp(start, wanted, others.count) == 0 { return true }
          place = start + 1
        }
        return false
      }
    }
  }
}
