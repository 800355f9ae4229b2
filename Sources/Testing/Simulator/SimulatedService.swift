// A service that outlives programs, with connections that live as long as a program.
//
// A call decides at once whether it is done; its answer may come later, be lost, or never come. Calls that are done are
// counted by the key of the attempt, which is the same over retries and crashes and never the same for two steps.
// Before a call does anything, its attempt has to be on disk, for a step that hasn't ended.
import ActionKit
import Basics
import Recipes
import RunState
import RunTestKit
import Synchronization

/// The outside effects of the simulated plugin's actions, and the checks of these effects.
final class SimulatedService: Sendable {
  /// How often calls fail.
  enum Mood: Sendable {
    /// Every call succeeds at once.
    case healthy
    /// Every call is done, but no answer comes back.
    case losing
    /// This many calls of a hundred fail.
    case rough(Int)
  }

  /// The fate of a call.
  private enum Act {
    case answer(after: TimeSpan)
    case refuse
    /// No answer comes, or one that makes no sense.
    case lose(ErrorKind, isDone: Bool)
    /// No answer comes until the call is given up.
    case hang(isDone: Bool)
    case fail
  }

  private struct Content {
    var random: SeededGenerator
    var mood = Mood.healthy
    /// How often the write behind a key was done.
    var done: [String: Int] = [:]
    /// The steps behind the keys.
    var doneFor: [String: Set<String>] = [:]
    /// How often a person asked to do it once more.
    var granted: [String: Int] = [:]
    /// How many calls of a run are in flight.
    var underWay: [String: Int] = [:]
    var calls = 0
    /// When the last calls came where the connection has limits, by the wall clock.
    var limitedCalls: [Timestamp] = []
    var limitedUnderWay = 0
    /// The runs whose writes may be done again, because a person was told to look.
    var forgiven: Set<String> = []
  }

  private let content: Mutex<Content>
  let journal: Audit
  private let components: Components

  init(seed: UInt64, _ journal: Audit, _ components: Components) {
    self.components = components
    content = Mutex(Content(random: SeededGenerator(seed: seed)))
    self.journal = journal
  }

  /// Begins with bytes that are rare in files, so that the search for it is fast.
  static let secret = "~s3cr3t/of the+service"

  /// The limits of the service, in some lives.
  static let limits = ConnectionLimits(maxParallel: 2, requests: 3, per: .seconds(30))

  /// Notes that the wall clock was set, so that it no longer tells how far apart calls are.
  func clockWasSet() { content.withLock { $0.limitedCalls = [] } }

  /// Notes that a program starts, which has forgotten the calls of the one before.
  func programStarts() { content.withLock { $0.limitedUnderWay = 0 } }

  /// A call on the connection with limits begins.
  private func beginLimited(_ context: ActionContext, _ step: StepRecord?) {
    let now = context.time.now()
    // Where time passed between the attempt's beginning and its call, it counts from an instant before the call.
    let isPrompt = (step?.lastAttempt?.startedAt).flatMap { now.span(since: $0) }.map { $0 <= .seconds(1) } ?? false
    content.withLock { content in
      let limits = SimulatedService.limits
      content.limitedUnderWay += 1
      if let most = limits.maxParallel, content.limitedUnderWay > most {
        journal.fail("\(content.limitedUnderWay) calls are under way at once, of \(most)")
      }
      if !isPrompt { return }
      content.limitedCalls.removeAll { now.span(since: $0).map { $0 >= limits.per } ?? true }
      content.limitedCalls.append(now)
      if let most = limits.requests, content.limitedCalls.count > most {
        journal.fail("\(content.limitedCalls.count) calls came within \(limits.per.written), of \(most)")
      }
    }
  }

  var mood: Mood {
    get { content.withLock { $0.mood } }
    set { content.withLock { $0.mood = newValue } }
  }

  func count(of key: String) -> Int { content.withLock { $0.done[key] ?? 0 } }
  func hasDone(_ key: String, for step: String) -> Bool {
    content.withLock { $0.doneFor[key]?.contains(step) ?? false }
  }
  func forgive(_ run: String) { content.withLock { _ = $0.forgiven.insert(run) } }
  func isForgiven(_ run: String) -> Bool { content.withLock { $0.forgiven.contains(run) } }
  func grant(_ key: String) { content.withLock { $0.granted[key, default: 0] += 1 } }
  /// How often the write behind a key may be done at most.
  func allowance(of key: String) -> Int { content.withLock { 1 + ($0.granted[key] ?? 0) } }
  func isCalled(by run: String) -> Bool { content.withLock { $0.underWay[run] ?? 0 > 0 } }
  var isCalled: Bool { content.withLock { $0.underWay.values.contains { $0 > 0 } } }
  var calls: Int { content.withLock { $0.calls } }

  /// Checks that successes were done once, and failures without effect not at all.
  func checkEnds(of runs: [RunRecord]) {
    for run in runs {
      for (step, isResolved) in journal.writes(of: run) {
        guard let key = run.key(of: step), !isResolved else { continue }
        // Several steps may share a key that the recipe gives them.
        let isDone = hasDone(key, for: "\(run.id) \(step.path)")
        if step.status == .succeeded, count(of: key) == 0 {
          journal.fail("'\(key)' succeeded, but was never done")
        }
        // Its attempt says so, whatever its handler ended with.
        let isTold = step.lastAttempt?.error?.effect == .done
        if step.status == .cancelled || step.status == .timedOut, isDone, !isTold {
          journal.fail("'\(key)' was done, and ended as \(step.status.rawValue)")
        }
        if step.status == .failed, step.error?.effect == ActionError.Effect.none, isDone, !isTold {
          journal.fail("'\(key)' failed as if nothing had been done, but it was")
        }
      }
    }
  }

  // MARK: Calls

  func perform(
    _ effect: Effect, honoursKeys: Bool, _ context: ActionContext, from program: ProgramLife
  ) async throws(ActionError) {
    try program.check()
    let key = context.idempotencyKey
    let isLimited = program.isLimited && effect != .pure
    if isLimited { beginLimited(context, journal.step(of: context, by: program)) }
    defer { if isLimited, !program.isOver { content.withLock { $0.limitedUnderWay -= 1 } } }
    let act = content.withLock { content -> Act in
      content.calls += 1
      content.underWay[context.run, default: 0] += 1
      // A pure action calls nothing.
      return effect == .pure ? .answer(after: .zero) : SimulatedService.act(&content)
    }
    // A program that has died has forgotten its calls.
    defer { content.withLock { $0.underWay[context.run, default: 1] -= 1 } }
    journal.called(context, effect, act: "\(act)", done: count(of: key), allowed: allowance(of: key), by: program)
    func doIt() {
      let (count, allowed) = content.withLock { content in
        if honoursKeys, content.done[key] != nil { return (0, 1) }
        content.done[key, default: 0] += 1
        content.doneFor[key, default: []].insert("\(context.run) \(context.step)")
        return (content.done[key] ?? 0, 1 + (content.granted[key] ?? 0))
      }
      if isForgiven(context.run) { return }
      switch effect {
      case .write where count > allowed: journal.fail("the plain write '\(key)' was done \(count) times")
      // A person who retries a step has it begin anew.
      case .consume(let repeats) where count > allowed * (1 + repeats):
        journal.fail("'\(key)' was used up \(count) times, and may be \(allowed * (1 + repeats)) times")
      default: break
      }
    }
    switch act {
    case .answer(let delay):
      doIt()
      try await sleep(delay, context)
      if program.isOver { throw ActionError(.network, "the program is gone") }
    case .refuse:
      throw ActionError(
        .network, "nobody listens at \(SimulatedService.secret)", retryAfter: nil, effect: ActionError.Effect.none)
    case .lose(let kind, let isDone):
      if isDone { doIt() }
      throw components.error(
        ActionError(kind, "the answer was lost", detail: "sent \(SimulatedService.secret)", effect: .unknown))
    case .hang(let isDone):
      if isDone { doIt() }
      try await sleep(.seconds(30 * 86_400), context)
      throw components.error(ActionError(.network, "no answer ever came", effect: .unknown))
    case .fail:
      throw ActionError(.conflict, "it is not wanted", effect: ActionError.Effect.none)
    }
  }

  private func sleep(_ span: TimeSpan, _ context: ActionContext) async throws(ActionError) {
    do { try await context.time.sleep(for: span) } catch {
      throw components.error(ActionError(.cancelled, "the call was given up", effect: .unknown))
    }
  }

  private static func act(_ content: inout Content) -> Act {
    if case .losing = content.mood { return .lose(.network, isDone: true) }
    guard case .rough(let share) = content.mood else { return .answer(after: .zero) }
    let delay = [TimeSpan.zero, .milliseconds(20), .seconds(3), .seconds(20)]
    guard Int.random(in: 0..<100, using: &content.random) < share else {
      return .answer(after: delay[Int.random(in: 0..<4, using: &content.random)])
    }
    let isDone = Bool.random(using: &content.random)
    switch Int.random(in: 0..<8, using: &content.random) {
    case 0...2: return .refuse
    case 3: return .lose(.network, isDone: isDone)
    case 4: return .lose(.server, isDone: isDone)
    case 5, 6: return .hang(isDone: isDone)
    default: return .fail
    }
  }

  /// A look whether something was done, and how often before.
  func look(_ context: ActionContext, from program: ProgramLife) throws(ActionError) -> (count: Int, isSure: Bool) {
    try program.check()
    let key = context.idempotencyKey
    return try content.withLock { content throws(ActionError) in
      if case .rough(let share) = content.mood {
        switch Int.random(in: 0..<400, using: &content.random) {
        case 0..<share: throw ActionError(.network, "the look failed")
        case share..<2 * share: return (content.done[key] ?? 0, false)
        default: break
        }
      }
      return (content.done[key] ?? 0, true)
    }
  }
}

/// Whether a program still lives, and the contents of its disk.
final class ProgramLife: Sendable {
  private let over = Mutex(false)
  let service: SimulatedService
  let disk: FaultyFileSystem
  /// Whether its connection has limits.
  let isLimited: Bool

  init(_ service: SimulatedService, _ disk: FaultyFileSystem, isLimited: Bool) {
    self.service = service
    self.disk = disk
    self.isLimited = isLimited
  }

  private struct Kept: Sendable {
    // Within a structure, because a mutex wraps a bare closure anew with every use.
    var run: @Sendable (String) -> RunRecord? = { _ in nil }
  }

  private let kept = Mutex(Kept())
  /// Sets how to look up an open run as it is stored, without changes that are still on their way to the store.
  func keep(_ run: @escaping @Sendable (String) -> RunRecord?) { kept.withLock { $0.run = run } }
  func keptRun(_ id: String) -> RunRecord? { kept.withLock { $0.run }(id) }

  /// The machine is off, or the program was killed.
  var isOver: Bool { disk.isStopped || over.withLock { $0 } }
  func end() { over.withLock { $0 = true } }

  private let failure = Mutex<StateError?>(nil)
  /// Whether its state refuses more events, so that it has to end.
  var hasFailed: Bool { failure.withLock { $0 != nil } }
  func fail(_ error: StateError) {
    service.journal.note("the state fails: \(error.message)")
    failure.withLock { $0 = error }
  }

  fileprivate func check() throws(ActionError) {
    if isOver { throw ActionError(.network, "the program is gone") }
  }
}

// MARK: - The plugin

/// Actions of every effect over the simulated service.
enum SimulatedPlugin: Plugin {
  static let name = "sim"
  static let summary = "Does what a seed says."
  static let actions: [any Action<ProgramLife>.Type] = [
    Compute.self, Read.self, Consume.self, Put.self, PutWithinHour.self, Post.self, PostLooked.self, PostKeyed.self,
    PostOpen.self,
  ]

  struct Configuration: FieldSet {
    @Field("Which of the programs it is.") var program: String
  }

  private static let programs = Mutex<(last: Int, lives: [String: ProgramLife])>((0, [:]))

  /// Registers a program, so that its connections find it.
  static func register(_ life: ProgramLife) -> String {
    programs.withLock { programs in
      programs.last += 1
      programs.lives["\(programs.last)"] = life
      return "\(programs.last)"
    }
  }

  static func forget(_ name: String) { programs.withLock { $0.lives[name] = nil } }

  static func connect(_ configuration: Configuration, in context: PluginContext) async throws -> ProgramLife {
    guard let life = programs.withLock({ $0.lives[configuration.program] }) else {
      throw ActionError(.network, "the program is gone", effect: ActionError.Effect.none)
    }
    return life
  }
}

struct SimulatedInput: FieldSet {
  @Field("What comes back.") var value: Int = 0
  @Field("How many letters come back besides.") var size: Int = 0
  @Field("What nobody is to see.") var token: Secret<String>?
}

struct SimulatedOutput: FieldSet {
  @Field("The value.") var value: Int
  @Field("How often the service was asked.") var calls: Int
  @Field("Letters.") var text: String
}

protocol SimulatedAction: Action where Service == ProgramLife, Input == SimulatedInput, Output == SimulatedOutput {}

extension SimulatedAction {
  static var summary: String { "Does what the seed says." }
  static var examples: [Example] { [Example("One", "value: 1")] }

  static func run(_ input: Input, on service: Service, in context: ActionContext) async throws -> Output {
    if let token = input.token, token.reveal() != SimulatedService.secret {
      service.service.journal.fail("the secret reaches '\(context.idempotencyKey)' as something else")
    }
    try await service.service.perform(effect, honoursKeys: self is any KeyedAction.Type, context, from: service)
    return try output(input, service)
  }

  fileprivate static func output(_ input: Input, _ service: Service) throws -> Output {
    try SimulatedOutput {
      $0.value = input.value
      $0.calls = service.service.calls
      $0.text = String(repeating: "x", count: max(0, input.size))
    }
  }
}

private enum Compute: SimulatedAction {
  static let name = "compute"
  static let effect = Effect.pure
}

private enum Read: SimulatedAction {
  static let name = "read"
  static let effect = Effect.read
}

private enum Consume: SimulatedAction {
  static let name = "consume"
  static let effect = Effect.consume(repeats: 1)
}

private enum Put: SimulatedAction {
  static let name = "put"
  static let effect = Effect.idempotentWrite(within: .forever)
}

private enum PutWithinHour: SimulatedAction {
  static let name = "putWithinHour"
  static let effect = Effect.idempotentWrite(within: .span(.seconds(3600)))
}

private enum Post: SimulatedAction {
  static let name = "post"
  static let effect = Effect.write
}

private enum PostKeyed: SimulatedAction, KeyedAction {
  static let name = "postKeyed"
  static let effect = Effect.write
}

/// A write whose answer is of no known type, so that it fits a `shape` or doesn't.
private enum PostOpen: Action {
  static let name = "postOpen"
  static let summary = "Does what the seed says."
  static let effect = Effect.write
  static let examples = [Example("One", "value: 1")]

  struct Output: FieldSet {
    @Field("What the service says.") var body: Value
  }

  static func run(_ input: SimulatedInput, on service: ProgramLife, in context: ActionContext) async throws -> Output {
    try await service.service.perform(effect, honoursKeys: false, context, from: service)
    return try Output {
      $0.body = .object([
        "value": .int(input.value), "state": .string(input.value == 7 ? "on" : "lost"), "at": .string("2026-11-22"),
      ])
    }
  }
}

private enum PostLooked: SimulatedAction, ReconcilingAction {
  static let name = "postLooked"
  static let effect = Effect.write

  struct Baseline: FieldSet {
    @Field("How often it was done before.") var count: Int
  }

  static func baseline(_ input: Input, on service: Service, in context: ActionContext) async throws -> Baseline {
    let count = try service.service.look(context, from: service).count
    return try Baseline { $0.count = count }
  }

  static func reconcile(
    _ input: Input, with baseline: Baseline, startedAt: Timestamp, on service: Service, in context: ActionContext
  ) async throws -> Reconciliation<SimulatedOutput> {
    let (count, isSure) = try service.service.look(context, from: service)
    if !isSure { return .unknown("look at it") }
    return count > baseline.count ? .done(try output(input, service)) : .notDone
  }
}
