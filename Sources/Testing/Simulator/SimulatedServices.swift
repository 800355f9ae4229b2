// A machine with a disk, a service somewhere else, people, and a program that is started again and again.
import ActionKit
import Agent
import Basics
import Recipes
import RunState
import RunTestKit
import Runs
import Scheduler
import Synchronization

/// The parts of a running program.
struct SimulatedProgram {
  let life: ProgramLife
  let token: String
  let store: AuditedStore
  let host: RunHost
  let schedules: ScheduleHost
  /// People who ask the program's agent.
  let client: SimulatedClient
  let time: ManualClock
}

/// The recipe files that people edit: served recipes, and in `lib` recipes that others call.
final class RecipeFolder: Sendable {
  private struct Content {
    var files: [String: (text: String, version: Int)] = [:]
    var lastVersion = 0
  }

  private let content = Mutex(Content())

  /// The recipe of a name that is served.
  subscript(name: String) -> String? {
    get { content.withLock { $0.files["recipes/\(name).yaml"]?.text } }
    set { put(newValue, at: "recipes/\(name).yaml") }
  }

  func put(_ text: String?, at path: String) {
    content.withLock { content in
      content.lastVersion += 1
      content.files[path] = text.map { ($0, content.lastVersion) }
    }
  }

  func read(_ path: String) throws(FileError) -> Source {
    guard let file = content.withLock({ $0.files[path] }) else { throw FileError(.read, path, .system(2)) }
    return Source(name: path, text: file.text)
  }

  var files: RecipeFiles {
    RecipeFiles { [self] folder throws(FileError) in
      let paths = content.withLock { $0.files.keys.filter { $0.hasPrefix("\(folder)/") } }
      return paths.map { String($0.dropFirst(folder.utf8.count + 1)) }.sorted()
    } stamp: { [self] path in
      content.withLock { $0.files[path].map { FileStamp(version: $0.version) } }
    }
  }
}

final class SimulatedServices {
  let thread: SimulatedThread
  let audit: Audit
  let service: SimulatedService
  let place: SimulatedPlace
  var folder: RecipeFolder { place.folder }
  var inbox: SimulatedInbox { place.inbox }
  var checks: CheckedRecipes { place.checks }
  /// The specs of the schedules that watch files, as the state has them.
  var watchers: Set<String> = []
  /// Counts the starts of the program and the changes of recipes and files; each makes it look for files.
  var looks = 0
  var random: SeededGenerator
  var disk = FaultyFileSystem()
  var now: Timestamp
  var program: SimulatedProgram?
  let components: Components
  /// How large the journal becomes before a snapshot is written.
  var compactsAt = 40_000
  /// Whether the connection to the service has limits.
  var isLimited = false

  init(
    seed: UInt64, on thread: SimulatedThread, at now: Timestamp, isTold: Bool = false,
    components: Components = Components()
  ) {
    audit = Audit(isTold: isTold)
    self.components = components
    self.thread = thread
    self.now = now
    random = SeededGenerator(seed: seed)
    place = SimulatedPlace(seed: seed)
    service = SimulatedService(seed: seed &+ 3, audit, components)
  }

  func newID(_ instant: Timestamp) -> String { place.ids.next(at: instant) }

  // MARK: Time

  var time: Timestamp { program?.time.now() ?? now }

  /// Runs everything that can run before time passes.
  func settle() {
    var steps = 0
    while audit.fault == nil, thread.step() {
      steps += 1
      if steps > 200_000 { return audit.fail("it never comes to rest") }
    }
  }

  /// Runs at most this many jobs.
  func go(_ steps: Int) { for _ in 0..<steps where audit.fault == nil { if !thread.step() { return } } }

  /// Runs a closure, letting time pass if needed, and gives its result.
  func perform<Outcome: Sendable>(
    _ what: String, _ body: @escaping @Sendable () async -> Outcome
  ) -> Outcome? {
    let outcome = Outbox<Outcome>()
    // Ends with the body.
    Task { outcome.put(await body()) }
    var steps = 0
    while outcome.value == nil {
      if audit.fault != nil { return nil }
      if !thread.step() {
        guard let time = program?.time, let span = time.untilNextSleeper else {
          audit.fail("'\(what)' waits for nothing")
          return nil
        }
        time.advance(by: span)
      }
      steps += 1
      if steps > 200_000 {
        audit.fail("'\(what)' never ends")
        return nil
      }
    }
    return outcome.value
  }

  /// How long it is until a run wakes or a slot is due.
  var untilSomethingIsDue: TimeSpan? {
    guard let program else { return nil }
    let now = program.time.now()
    let state = program.store.state
    let instants =
      state.runs.values.compactMap(\.wakeAt) + state.schedules.keys.compactMap { audit.nextSlot(of: $0) }
    let spans = instants.compactMap { $0.span(since: now) }.filter { $0 > .zero }
    return (spans + [program.time.untilNextSleeper].compactMap { $0 }.filter { $0 < .seconds(10) }).min()
  }

  /// When a step has to be over, if its recipe says so.
  func limit(of step: StepRecord, in run: RunRecord) -> Timestamp? {
    guard case .inline(let texts) = run.origin.texts, let map = texts.map,
      let span = (try? checks.recipe(run.origin.file, among: map))?.step(at: step.path)?.timeout.total
    else { return nil }
    return step.startedAt.advanced(by: span)
  }

  /// Puts a recipe into the folder; it has to check.
  func serve(_ name: String, _ text: String) {
    folder[name] = text
    looks += 1
    do throws(RunRefusedError) {
      let recipe = try checks.recipe("recipes/\(name).yaml", in: folder)
      for trigger in recipe.triggers {
        let plan = SchedulePlan(
          recipe: name, file: recipe.source.name, texts: .inline(.null), inputs: .null, program: "", trigger: trigger)
        audit.know(plan.spec, trigger.recurrence)
        if case .file = trigger.kind { watchers.insert(plan.spec) }
      }
    } catch {
      audit.fail("a recipe that was made up does not check: \(error.message)")
    }
  }

  func newRun(of name: String, id: String) -> RunCreated? { place.newRun(of: name, id: id, at: time) }
}
