// Several machines with agents on one database, a service somewhere else, and people.
//
// Each machine has a clock of its own, which may be an hour off. A machine dies with its work in flight, is started
// again, or is cut off from the database for a while; statements of all of them fail, or their answers are lost. At the
// end everything is repaired, and then every run has to end. The conditions are checked against the database's contents
// (the logs, the ledger and the items) and against the requests that the service received.
import Agent
import Operations
import Basics
import RunState
package import RunTestKit
import Runs
import SharedState
import Synchronization

/// Simulates the life of one seed with several agents.
package struct FleetSimulation: Sendable {
  package var seed: UInt64
  /// How many happenings there are.
  package var moves: Int
  /// The planted error of the database.
  package var flaw: SimulatedDatabase.Flaw?
  /// Whether servers take over that are behind.
  package var isBehind: Bool

  package init(seed: UInt64, flaw: SimulatedDatabase.Flaw? = nil, isBehind: Bool = false) {
    self.seed = seed
    self.flaw = flaw
    self.isBehind = isBehind
    moves = 20 + Int(seed % 3) * 10
  }

  /// The report; nil if this platform's runtime can't be simulated.
  package func run(isTold: Bool = false) async -> SimulationReport? {
    guard let report = await play(isTold: isTold), report.fault != nil, !isTold else {
      return await play(isTold: isTold)
    }
    return await play(isTold: true) ?? report
  }

  private func play(isTold: Bool) async -> SimulationReport? {
    await SimulatedThread.run(seed: seed) { [self] thread in
      let cluster = SimulatedCluster(self, isTold: isTold, on: thread)
      cluster.play()
      return SimulationReport(seed: seed, fault: cluster.audit.fault, trace: cluster.audit.trace)
    }
  }
}

/// The agent of one machine.
private struct Machine {
  let life: ProgramLife
  let token: String
  let connection: SimulatedConnection
  let store: SharedStateStore
  let agent: LocalAgent
  /// People who ask the machine's agent.
  let client: SimulatedClient
  let clock: ManualClock
}

/// The confirmations that people got: of events that came, and of cancelled runs.
private final class Told: Sendable {
  private let content = Mutex((events: Set<String>(), cancelled: Set<String>()))

  var events: Set<String> { content.withLock { $0.events } }
  var cancelled: Set<String> { content.withLock { $0.cancelled } }
  func note(event: String) { content.withLock { _ = $0.events.insert(event) } }
  func note(cancelled run: String) { content.withLock { _ = $0.cancelled.insert(run) } }
}

/// Makes things happen to several machines.
private final class SimulatedCluster {
  let audit: Audit
  private let thread: SimulatedThread
  private let service: SimulatedService
  private let place: SimulatedPlace
  private let database: SimulatedDatabase
  private let injection: FaultInjection
  private let moves: Int
  private let isBehind: Bool
  /// The database's clock.
  private let clock: ManualClock
  private var machines: [Machine?] = [nil, nil, nil]
  /// How far the clock of each machine is off.
  private let offsets: [TimeSpan]
  private var random: SeededGenerator
  private var maker: RecipeMaker
  private let names = ["r0", "r1", "r2"]
  private var lastEvent = 0
  private let told = Told()

  init(_ simulation: FleetSimulation, isTold: Bool, on thread: SimulatedThread) {
    let seed = simulation.seed
    self.thread = thread
    moves = simulation.moves
    isBehind = simulation.isBehind
    audit = Audit(isTold: isTold)
    service = SimulatedService(seed: seed &+ 3, audit, Components())
    place = SimulatedPlace(seed: seed)
    clock = ManualClock()
    database = SimulatedDatabase(simulation.flaw, time: clock)
    injection = FaultInjection(database, seed: seed &+ 4)
    maker = RecipeMaker(seed: seed &+ 11)
    var random = SeededGenerator(seed: seed &* 31 &+ 7)
    thread.isInOrder = Int.random(in: 0..<4, using: &random) == 0
    let choices = [TimeSpan.zero, .zero, .milliseconds(300), .seconds(3600), .seconds(-3600)]
    offsets = machines.map { _ in choices[Int.random(in: 0..<choices.count, using: &random)] }
    self.random = random
  }

  private func one(in count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }
  private func number(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
  private func pick<Item>(_ items: [Item]) -> Item? { items.randomElement(using: &random) }

  func play() {
    for (path, text) in maker.called() { place.folder.put(text.inSeconds, at: path) }
    for name in names { write(name) }
    service.mood = .rough(number(0..<50))
    injection.chance = [0, 5, 20][number(0..<3)]
    for machine in machines.indices { start(machine) }
    for _ in 0..<moves where audit.fault == nil {
      move()
      lookAround()
      if one(in: 3) { go(number(0..<60)) } else { pass(.milliseconds(number(0..<15_000))) }
    }
    end()
    // A fault is reported with the whole contents of the database.
    tellLogs()
    if audit.fault == nil { check() }
  }

  private func write(_ name: String) {
    let text = maker.recipe(name, among: names).inSeconds
    audit.note("write \(name)\n\(text)")
    place.folder[name] = text
    do throws(RunRefusedError) { _ = try place.checks.recipe("recipes/\(name).yaml", in: place.folder) } catch {
      audit.fail("a recipe that was made up does not check: \(error.message)")
    }
  }

  // MARK: Machines

  private func start(_ index: Int) {
    let machine = ManualClock(clock.now().advanced(by: offsets[index]) ?? clock.now())
    let time = CorrectedTime(machine)
    let life = ProgramLife(service, FaultyFileSystem(), isLimited: false)
    let token = SimulatedPlugin.register(life)
    let connection = SimulatedConnection(database)
    let terms = WorkerTerms(name: "m\(index)", home: "m\(index):/srv", capacity: 8)
    let store = SharedStateStore(
      connection, terms: terms, time: time, clock: time, chance: { [place] in place.chances.next() },
      newReceipt: { [place] in place.ids.next(at: ManualClock.start) })
    // The machine still knows data that a server lost because it was behind.
    life.keep { [database, isBehind] in isBehind ? store.run($0) : database.run($0) }
    let agent = place.agent(
      on: store, keptIn: store, token: token, time: time, redactor: Components().redactor, isLimited: false)
    machines[index] = Machine(
      life: life, token: token, connection: connection, store: store, agent: agent,
      client: SimulatedClient(agent.service, audit, random: place.requests), clock: machine)
    audit.note("m\(index) starts at \(clock.now()), its clock \(offsets[index]) off")
    // Ends when it serves.
    Task { [audit] in
      await agent.host.observe { if case .failed(let error) = $0 { life.fail(error) } }
      await agent.schedules?.observe { news in
        if case .madeAgain(let reason) = news { audit.note("m\(index) reads the schedules again: \(reason)") }
      }
      await store.readClock()
      await agent.serve()
    }
  }

  /// Kills the agent of a machine with its work in flight.
  private func die(_ index: Int) {
    guard let machine = machines[index] else { return }
    audit.note("m\(index) dies")
    machine.life.end()
    machine.connection.cut()
    machines[index] = nil
    leave(machine) { try? await machine.store.close() }
  }

  /// Ends the agent of a machine on command.
  private func stop(_ index: Int) {
    guard let machine = machines[index] else { return }
    audit.note("m\(index) stops")
    // Ends when it has stopped; its machine lives until then.
    let hasStopped = Outbox<Bool>()
    Task {
      await machine.agent.stop()
      try? await machine.store.close()
      hasStopped.put(true)
    }
    for _ in 0..<600 where hasStopped.value == nil && audit.fault == nil { pass(.milliseconds(100)) }
    if hasStopped.value == nil, !service.isCalled { audit.fail("m\(index) doesn't stop") }
    // It waits for a call that gets no answer, and so it is killed.
    machines[index] = nil
    machine.connection.cut()
    leave(machine) { try? await machine.store.close() }
  }

  /// Ends the rest of a machine, by a clock that no other part uses.
  private func leave(_ machine: Machine, _ close: @escaping @Sendable () async -> Void) {
    machine.life.end()
    SimulatedPlugin.forget(machine.token)
    // Ends when nothing is left.
    Task {
      await close()
      await machine.agent.stop()
    }
    for _ in 0..<1000 {
      settle()
      guard let span = machine.clock.untilNextSleeper else { return }
      machine.clock.advance(by: span)
    }
    audit.note("something is left of a machine")
  }

  private var living: [(index: Int, machine: Machine)] {
    machines.enumerated().compactMap { index, machine in machine.map { (index, $0) } }
  }

  // MARK: Time

  /// Runs everything that can run before time passes.
  private func settle() {
    var steps = 0
    while audit.fault == nil, thread.step() {
      steps += 1
      if steps > 30_000 { return audit.fail("it never comes to rest") }
    }
  }

  /// Runs at most this many jobs.
  private func go(_ steps: Int) { for _ in 0..<steps where audit.fault == nil { if !thread.step() { return } } }

  /// Lets time pass at all machines alike, from one that wakes to the next.
  private func pass(_ span: TimeSpan) {
    var left = span
    while audit.fault == nil {
      settle()
      if left <= .zero { return }
      let next = living.compactMap(\.machine.clock.untilNextSleeper).min() ?? left
      let step = min(max(next, .milliseconds(1)), left)
      left = left - step
      clock.advance(by: step)
      for (_, machine) in living { machine.clock.advance(by: step) }
    }
  }

  // MARK: Happenings

  private var openRuns: [RunRecord] { database.openRuns.compactMap { database.run($0) } }

  private func move() {
    if isBehind, one(in: 6) { failOver() }
    for index in machines.indices where machines[index] == nil && one(in: 3) { start(index) }
    for (index, machine) in living where machine.life.hasFailed { die(index) }
    guard let (index, machine) = pick(living) else { return start(0) }
    let open = openRuns
    switch number(0..<24) {
    case 0...2: die(index)
    case 3: stop(index)
    case 4, 5:
      audit.note("m\(index) is cut off")
      machine.connection.cut()
      pass(.milliseconds(number(100..<25_000)))
      machine.connection.cut(false)
      audit.note("m\(index) is back")
    case 6:
      audit.note("the database is away")
      let chance = injection.chance
      injection.chance = 100
      pass(.milliseconds(number(100..<20_000)))
      injection.chance = chance
    case 7...9: begin(machine)
    case 10...12: signal(machine)
    case 13...15: decide(machine, open)
    case 16, 17: if let run = pick(open) { cancel(run.id, machine) }
    case 18, 19: if let run = pick(open.filter { $0.status == .uncertain }) { resolve(run, machine, isLast: false) }
    case 20, 21: if let run = pick(open.filter { $0.status == .paused }) { resume(run.id, machine) }
    case 22: if let run = pick(open) { pause(run.id, machine) }
    default: service.mood = .rough(number(0..<50))
    }
  }

  /// Makes a standby that is behind take over, after a time when the server can't be reached.
  private func failOver() {
    audit.note("a standby is behind")
    database.holdBack()
    pass(.milliseconds(number(0..<3000)))
    let chance = injection.chance
    if one(in: 2) {
      injection.chance = 100
      pass(.milliseconds(number(1000..<30_000)))
    }
    audit.note("it takes over")
    database.failOver()
    injection.chance = chance
    // A machine that lives knows what was lost, and needs the time to tell.
    pass(.seconds(number(0..<20)))
  }

  /// Makes people look at something, once in a while.
  ///
  /// They follow no run: a waiting run stays at the machine where it is followed, and fewer would move.
  private func lookAround() {
    let living = self.living
    if living.isEmpty { return }
    let (_, machine) = living[place.requests.next(in: 0..<living.count)]
    machine.client.lookAround(at: database.openRuns, mayFollow: false)
  }

  private func begin(_ machine: Machine) {
    guard let name = pick(names) else { return }
    let now = clock.now()
    guard let created = place.newRun(of: name, id: place.ids.next(at: now), at: now) else { return }
    audit.note("begin \(name) as \(created.run)")
    // Ends when the run has begun.
    Task { _ = try? await machine.client.perform(SubmitRun.with { $0.run = Stored(created) }) }
  }

  private func signal(_ machine: Machine) {
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
    Task { [told] in
      do throws(RequestRefusedError) {
        let answer = try await machine.client.perform(event)
        told.note(event: answer.received)
      } catch {}
    }
  }

  private func decide(_ machine: Machine, _ open: [RunRecord]) {
    guard let (run, step) = pick(open.flatMap { run in run.askingSteps.map { (run.id, $0) } }) else { return }
    decide(run, step, isApproved: !one(in: 3), machine)
  }

  private func decide(_ run: String, _ step: StepRecord, isApproved: Bool, _ machine: Machine) {
    audit.note("decide \(run) \(step.path) \(isApproved)")
    // Ends when it is kept.
    Task { try? await machine.client.decide(run, step, isApproved: isApproved) }
  }

  private func cancel(_ run: String, _ machine: Machine) {
    let isHard = one(in: 3)
    audit.note("cancel \(run)\(isHard ? " hard" : "")")
    // Ends when it is kept.
    Task { [told] in
      do {
        if isHard {
          // The schedules ask for it, and no operation does.
          if try await machine.agent.host.cancel(run, reason: nil, isHard: true) { told.note(cancelled: run) }
        } else {
          let answer = try await machine.client.perform(CancelRun.with { $0.run = run })
          told.note(cancelled: answer.cancelled)
        }
      } catch {}
    }
  }

  private func resolve(_ run: RunRecord, _ machine: Machine, isLast: Bool) {
    guard let step = pick(run.uncertainSteps) else { return }
    let output = Value.object(["value": .int(1), "calls": .int(3), "text": .string("")])
    let choice = isLast ? 2 : number(0..<3)
    let outcome = [ResolveStep.Outcome.done, .retry, .fail][choice]
    audit.note("resolve \(run.id) \(step.path) as \(outcome.rawValue)")
    if let key = run.key(of: step) {
      audit.resolved(key)
      if choice == 1 { service.grant(key) }
    }
    let resolution = ResolveStep.with {
      $0.run = run.id
      $0.step = step.path
      $0.as = Word(outcome)
      $0.output = outcome == .done ? output : nil
    }
    // Ends when the run continues.
    Task { [id = run.id] in
      do throws(RequestRefusedError) { _ = try await machine.client.perform(resolution) } catch { return }
      // Another machine may have it by now.
      _ = try? await machine.client.perform(ResumeRun.with { $0.run = id })
    }
  }

  private func resume(_ run: String, _ machine: Machine) {
    audit.note("resume \(run)")
    // The person who resumes it has checked which writes were done.
    if database.run(run)?.reason?.contains("took over that was behind") == true { service.forgive(run) }
    // Ends when the run continues.
    Task { _ = try? await machine.client.perform(ResumeRun.with { $0.run = run }) }
  }

  private func pause(_ run: String, _ machine: Machine) {
    audit.note("pause \(run)")
    let pause = PauseRun.with {
      $0.run = run
      $0.reason = "somebody paused it"
    }
    // Ends when it is written.
    Task { _ = try? await machine.client.perform(pause) }
  }

  // MARK: The end

  /// Repairs everything, removes the schedules, and has every run end.
  private func end() {
    if audit.fault != nil { return }
    audit.note("the end begins")
    service.mood = .healthy
    injection.chance = 0
    for name in names { place.folder[name] = nil }
    var rounds = 0
    while audit.fault == nil {
      for index in machines.indices where machines[index] == nil || machines[index]?.life.hasFailed == true {
        die(index)
        start(index)
      }
      for (_, machine) in living {
        // Twice, so that what is gone counts as gone.
        Task {
          _ = await machine.agent.schedules?.look()
          _ = await machine.agent.schedules?.look()
        }
      }
      pass(.seconds(20))
      let open = openRuns
      if open.isEmpty, rounds > 1 { break }
      rounds += 1
      if rounds > 60, let run = open.first {
        return audit.fail("the run \(run.id) never ends: it is \(run.status.rawValue), \(run.reason ?? "no reason")")
      }
      guard let (_, machine) = pick(living) else { continue }
      for run in open {
        // Some wait many times.
        if rounds == 25 { cancel(run.id, machine) }
        switch run.status {
        case .uncertain: resolve(run, machine, isLast: true)
        case .paused: resume(run.id, machine)
        default: break
        }
        for step in run.askingSteps { decide(run.id, step, isApproved: true, machine) }
      }
    }
    for index in machines.indices { stop(index) }
    database.settle()
  }

  private func tellLogs() {
    for run in database.loggedRuns {
      for entry in database.log(of: run) {
        audit.note("log \(run) \(entry.number) of claim \(entry.epoch): \(entry.events)")
      }
    }
    for slot in database.slots { audit.note("slot \(slot.schedule) \(slot.slot) \(slot.outcome) \(slot.run ?? "")") }
  }

  /// Checks the database's contents against the conditions that must hold in every case.
  private func check() {
    var ended: [RunRecord] = []
    var starts: Set<String> = []
    let cancelled = told.cancelled
    for id in database.loggedRuns {
      guard let run = replayed(id) else { return }
      if run.status.isEnded { ended.append(run) }
      if run.origin.cause.kind == .slot, let schedule = run.origin.cause.schedule, let slot = run.origin.cause.slot,
        !starts.insert("\(schedule) \(slot)").inserted
      {
        audit.fail("the slot \(slot) of \(schedule) started two runs")
      }
      if !isBehind, cancelled.contains(id), run.pendingCancel == nil, run.status != .cancelled,
        !database.log(of: id).contains(where: { $0.events.contains("cancelRequested") })
      {
        audit.fail("the run \(id) doesn't know that it was cancelled, though it was said to be kept")
      }
    }
    let finished = database.finishedRuns
    if finished.map(\.summary.id).sorted() != ended.map(\.id).sorted() {
      audit.fail("the history doesn't have each run that ended once")
    }
    var fates: Set<String> = []
    for slot in database.slots where slot.cause.kind == .slot && slot.outcome != .buffered {
      if !fates.insert("\(slot.schedule) \(slot.slot)").inserted {
        audit.fail("the slot \(slot.slot) of \(slot.schedule) has two fates")
      }
    }
    let items = database.items
    for id in told.events.sorted() where !isBehind && !items.contains(where: { $0.name == ItemName(.event, id) }) {
      audit.fail("the event \(id) is gone, though it was said to be kept")
    }
    // Runs that lost data in a takeover aren't checked: their logs tell people about it.
    service.checkEnds(
      of: ended.filter { run in
        !service.isForgiven(run.id)
          && !database.log(of: run.id).contains { $0.events.contains("took over that was behind") }
      })
    let texts =
      items.map(\.text) + finished.map(\.text) + database.loggedRuns.flatMap { database.log(of: $0).map(\.events) }
    if texts.contains(where: { $0.contains(SimulatedService.secret) }) { audit.fail("a secret stands in the database") }
  }

  /// A run as its log says, if all of that may be.
  private func replayed(_ id: String) -> RunRecord? {
    let log = database.log(of: id)
    var epoch = 0
    var run: RunRecord?
    for (index, entry) in log.enumerated() {
      if entry.number != index + 1 { audit.fail("the log of \(id) has a gap at \(entry.number)") }
      let isClaim = entry.events.contains("runClaimed")
      // A program that finds lost data may have lost its claim, too.
      if !isBehind || !entry.events.contains("took over that was behind") {
        // A program that isn't the run's holder may add to its log, for example to cancel the run.
        if entry.epoch < epoch, entry.epoch != 0 || isClaim {
          audit.fail("entry \(entry.number) of \(id) goes back from claim \(epoch) to \(entry.epoch)")
        }
        if entry.epoch > epoch, !isClaim, entry.number > 1 {
          audit.fail("entry \(entry.number) of \(id) is of claim \(entry.epoch), which is none")
        }
        epoch = max(epoch, entry.epoch)
      }
      do throws(RecordError) {
        for event in try [StateEvent](text: entry.events) {
          if var known = run {
            if let fault = Audit.fault(of: event, in: known) { audit.fail(fault) }
            try known.apply(event)
            run = known
          } else if case .runCreated(let created) = event {
            run = RunRecord(created)
          }
        }
      } catch {
        audit.fail("the log of \(id) can't be read: \(error.message)")
      }
    }
    if run == nil { audit.fail("the log of \(id) creates no run") }
    return run
  }
}

extension String {
  /// A recipe with its minutes, hours and days turned into seconds, because agents that share a state look at it about
  /// once a second.
  fileprivate var inSeconds: String {
    let text = replacing("{ until: \"time.next(now, '03:30', 'Europe/Bucharest')\" }", with: "45s")
    var bytes: [UInt8] = []
    let all = Array(text.utf8)
    var index = 0
    while index < all.count {
      let start = index
      while index < all.count, ASCII.digits.contains(all[index]) { index += 1 }
      guard index > start else {
        bytes.append(all[index])
        index += 1
        continue
      }
      let isWord = start > 0 && ASCII.isLetter(all[start - 1])
      let isAlone = index + 1 >= all.count || !ASCII.lowercase.contains(all[index + 1])
      let digits = String(decoding: all[start..<index], as: UTF8.self)
      let factors: [UInt8: Int] = [UInt8(ascii: "m"): 2, UInt8(ascii: "h"): 20, UInt8(ascii: "d"): 60]
      if !isWord, isAlone, index < all.count, let factor = factors[all[index]], let number = Int(digits) {
        bytes += Array("\(number * factor)s".utf8)
        index += 1
      } else {
        bytes += all[start..<index]
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
