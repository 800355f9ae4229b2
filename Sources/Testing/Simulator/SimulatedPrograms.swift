import ActionKit
import Agent
import Operations
import Basics
import Recipes
import RunState
import RunTestKit
import Runs
import Synchronization
import Threads

// Programs that begin, end, and die.
extension SimulatedServices {
  /// Starts a program on the disk's contents; that may fail.
  func start() {
    let time = ManualClock(now)
    let life = ProgramLife(service, disk, isLimited: isLimited)
    service.programStarts()
    let token = SimulatedPlugin.register(life)
    disk.now = now
    let work = thread.work
    program = nil
    let small = CompactionRule(smallest: compactsAt, timesSnapshot: 1)
    components.disk(disk)
    let opened = finish(time) { [disk] () async -> Result<FileStateStore, StateError> in
      do throws(StateError) {
        return .success(
          try await FileStateStore.open(
            "/state", program: "simulated", fileSystem: disk, compaction: small, keeping: .usual, time: time,
            workers: .hand(work)))
      } catch { return .failure(error) }
    }
    let files: FileStateStore
    switch opened {
    case .success(let store): files = store
    case .failure(let error):
      audit.note("cannot start: \(error.message)")
      if error.kind != .unavailable, error.kind != .fatal { audit.fail("the state cannot be opened: \(error.message)") }
      SimulatedPlugin.forget(token)
      return
    case nil: return
    }
    audit.compare(found: files.state)
    life.keep { files.run($0) }
    let store = AuditedStore(components.store(files), audit, life)
    looks += 1
    let agent = place.agent(
      on: components.agent(store), keptIn: store, token: token, time: components.time(time),
      redactor: components.redactor,
      isLimited: isLimited)
    guard let schedules = agent.schedules else { return }
    let host = agent.host
    program = SimulatedProgram(
      life: life, token: token, store: store, host: host, schedules: schedules,
      client: SimulatedClient(agent.service, audit, random: place.requests), time: time)
    audit.note("start at \(now)")
    _ = perform("serve") { [audit] in
      await host.observe { [audit] news in
        switch news {
        case .failed(let error):
          life.fail(error)
          // Only what the disk refuses ends a program.
          if error.kind == .invalid { audit.fail("a refused event ends the program: \(error.message)") }
        case .refused(let run, let reason): audit.fail("an event of the run \(run) is refused: \(reason)")
        default: break
        }
      }
      await agent.serve()
    }
  }

  /// Ends the program on command, or because the state refuses more events.
  func stop() {
    guard let program else { return }
    audit.note("stop")
    let hasClosed = perform("stop") { [audit] () async -> Bool in
      await program.schedules.stop()
      await program.host.stop()
      do throws(StateError) { try await program.store.close() } catch {
        audit.note("close: \(error.message)")
        return false
      }
      return true
    }
    if !disk.isStopped, !program.life.hasFailed, hasClosed == true, audit.fault == nil {
      settle()
      audit.compare(live: program.store.state)
    }
    leave(program)
  }

  /// Kills the program with its work in flight; what the disk didn't sync may be lost.
  func die(losing loss: FaultyFileSystem.Loss) {
    guard let program else { return disk = disk.restarted(losing: loss) }
    audit.note("die, losing \(loss)")
    disk.stop()
    program.life.end()
    // Its remains find that nothing can be written, and end.
    _ = perform("die") {
      await program.schedules.stop()
      await program.host.stop()
      do throws(StateError) { try await program.store.close() } catch {}
    }
    leave(program)
    disk = disk.restarted(losing: loss)
  }

  private func leave(_ program: SimulatedProgram) {
    program.life.end()
    SimulatedPlugin.forget(program.token)
    now = program.time.now()
    // Tasks that still sleep end when they wake.
    var rounds = 0
    while let span = program.time.untilNextSleeper, rounds < 1000 {
      program.time.advance(by: span)
      while thread.step() { rounds += 1 }
      rounds += 1
    }
    while thread.step() {}
    self.program = nil
  }

  /// Runs a closure before there is a program, without letting time pass.
  private func finish<Outcome: Sendable>(
    _ time: ManualClock, _ body: @escaping @Sendable () async -> Outcome
  ) -> Outcome? {
    let outcome = Outbox<Outcome>()
    // Ends with the body.
    Task { outcome.put(await body()) }
    while outcome.value == nil, thread.step() {}
    return outcome.value
  }
}

/// Shared by the programs besides the state: recipes, files that people put there, and chance.
struct SimulatedPlace: Sendable {
  static let catalog = ActionCatalog([SimulatedPlugin.self])

  let folder = RecipeFolder()
  let inbox = SimulatedInbox()
  let ids: SharedRandom
  let chances: SharedRandom
  /// For the clients of all programs.
  let requests: SharedRandom
  let checks = CheckedRecipes()

  init(seed: UInt64) {
    ids = SharedRandom(seed: seed &+ 1)
    chances = SharedRandom(seed: seed &+ 2)
    requests = SharedRandom(seed: seed &+ 5)
  }

  /// An agent that serves the recipes.
  ///
  /// - Parameters:
  ///   - kept: The store without planted defects.
  ///   - token: The program's identity for the service.
  func agent(
    on store: any StateStore, keptIn kept: any StateStore, token: String, time: any TimeSource, redactor: Redactor,
    isLimited: Bool
  ) -> LocalAgent {
    let connection = Services.Connection(
      plugin: PluginDescriptor(SimulatedPlugin.self), settings: .object(["program": .string(token)]))
    let secrets = Secrets(environment: ["TOKEN": SimulatedService.secret])
    let pool = ServicePool(time: time)
    var served = LocalAgent.Served(["recipes"], in: checks.environment(folder))
    served.files = folder.files
    served.files.check = { [checks] in checks.check($0, $1) }
    served.newID = { [ids] in ids.next(at: $0) }
    served.watched = inbox.watched
    let status = AgentStatus(pid: 0, version: "simulated", isServing: true, since: time.now(), folder: "/state")
    return LocalAgent(status, on: store, time: time, chance: { [chances] in chances.next() }, serving: served) {
      [checks] record throws(RunRefusedError) in
      var texts = ValueMap()
      do throws(StateError) {
        texts = try await kept.restored(record.origin.texts, as: "the run's recipe").map ?? texts
      } catch {
        throw RunRefusedError(error.message)
      }
      let recipe = try checks.recipe(record.origin.file, among: texts)
      let services = Services(
        catalog: SimulatedPlace.catalog, connections: ["sim": connection], redactor: redactor, time: time, pool: pool,
        limiters: isLimited ? await pool.limiters(["sim": SimulatedService.limits], keptIn: kept) : [:])
      return PreparedRun(recipe: recipe, secrets: secrets, services: services, folder: "/tmp")
    }
  }

  /// A run of a recipe of the folder, as a person starts it; nil if the recipe can't be run now.
  func newRun(of name: String, id: String, at instant: Timestamp) -> RunCreated? {
    let file = "recipes/\(name).yaml"
    guard let recipe = try? checks.recipe(file, in: folder) else { return nil }
    var inputs = ValueMap()
    for input in recipe.inputs where input.isSecret { inputs[input.name] = .object(["secret": .string("TOKEN")]) }
    return RunCreated(
      run: id, at: instant, recipe: name, file: file, texts: .inline(.map(recipe.texts)), inputs: .map(inputs),
      program: "simulated", group: recipe.group, zone: recipe.folderZone)
  }
}

/// The result that a task leaves for its caller.
final class Outbox<Value: Sendable>: Sendable {
  private let content = Mutex<Value?>(nil)

  func put(_ value: Value) { content.withLock { $0 = value } }
  var value: Value? { content.withLock { $0 } }
}

/// Numbers for several tasks, the same for the same seed.
final class SharedRandom: Sendable {
  private let random: Mutex<SeededGenerator>

  init(seed: UInt64) { random = Mutex(SeededGenerator(seed: seed)) }

  func next() -> Double { random.withLock { Double.random(in: 0..<1, using: &$0) } }
  func next(in range: Range<Int>) -> Int { random.withLock { Int.random(in: range, using: &$0) } }
  func next(at instant: Timestamp) -> String { random.withLock { UUID7(at: instant, using: &$0).description } }
}

/// Recipes, each checked once for the texts that it is made of.
final class CheckedRecipes: Sendable {
  private struct Known {
    /// The files that were read besides the recipe's own text; nil if there was no such file.
    var reads: [(path: String, text: [UInt8]?)]
    var checked: CheckedRecipe
  }

  private let known = Mutex<[String: [Known]]>([:])

  func environment(_ folder: RecipeFolder) -> RecipeEnvironment { environment(folder.read) }

  private func environment(_ read: @escaping @Sendable (String) throws(FileError) -> Source) -> RecipeEnvironment {
    RecipeEnvironment(catalog: SimulatedPlace.catalog, zone: "UTC", read: read)
  }

  func check(_ source: Source, _ environment: RecipeEnvironment) -> CheckedRecipe {
    let key = "\(source.name)\n\(String(decoding: source.bytes, as: UTF8.self))"
    // Read again in the same order, because the caller may remember what is read for the check.
    let earlier = known.withLock { $0[key] ?? [] }.first { known in
      known.reads.allSatisfy { read in (try? environment.read(read.path))?.bytes == read.text }
    }
    if let earlier { return earlier.checked }
    let reads = Mutex<[(path: String, text: [UInt8]?)]>([])
    var watched = environment
    watched.read = { path throws(FileError) in
      do throws(FileError) {
        let source = try environment.read(path)
        reads.withLock { $0.append((path, source.bytes)) }
        return source
      } catch {
        reads.withLock { $0.append((path, nil)) }
        throw error
      }
    }
    let checked = Recipe.check(source, in: watched)
    let new = Known(reads: reads.withLock { $0 }, checked: checked)
    known.withLock { $0[key, default: []].append(new) }
    return checked
  }

  /// A recipe of the folder as it is now.
  func recipe(_ file: String, in folder: RecipeFolder) throws(RunRefusedError) -> Recipe {
    let source: Source
    do throws(FileError) { source = try folder.read(file) } catch { throw RunRefusedError(error.description) }
    return try recipe(source, environment(folder))
  }

  /// A recipe as it was when its texts were kept.
  func recipe(_ file: String, among texts: ValueMap) throws(RunRefusedError) -> Recipe {
    guard let text = texts[file]?.string else { throw RunRefusedError("there is no text") }
    return try recipe(Source(name: file, text: text), environment(Recipe.reader(of: .map(texts))))
  }

  private func recipe(_ source: Source, _ environment: RecipeEnvironment) throws(RunRefusedError) -> Recipe {
    let checked = check(source, environment)
    guard let recipe = checked.recipe else { throw RunRefusedError(Diagnostics(checked.diagnostics).rendered()) }
    return recipe
  }
}
