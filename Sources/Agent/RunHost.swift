package import Basics
package import Recipes
package import RunState
package import Runs

/// What a run needs to be carried on: its recipe, checked again, and its services.
package struct PreparedRun: Sendable {
  package var recipe: Recipe
  package var secrets: Secrets
  package var services: Services
  /// The folder that relative paths start from.
  package var folder: String

  package init(recipe: Recipe, secrets: Secrets, services: Services, folder: String) {
    self.recipe = recipe
    self.secrets = secrets
    self.services = services
    self.folder = folder
  }
}

/// Why a run cannot be carried on by this program.
package struct NotRunnable: Error, Sendable {
  /// What is wrong and what to do, as a sentence.
  package var message: String

  package init(_ message: String) { self.message = message }
}

/// The runs that this program carries on, and whoever follows them.
///
/// It is the agent's heart: commands in the same process and clients behind the socket are served alike.
package actor RunHost {
  private struct Active {
    var engine: RunEngine
    var task: Task<RunRecord?, Never>
  }

  private let store: any StateStore
  private let time: any TimeSource
  private let prepare: @Sendable (RunRecord) async throws(NotRunnable) -> PreparedRun
  private var active: [String: Active] = [:]
  private var followers: [String: [Int: AsyncStream<Progress>.Continuation]] = [:]
  private var lastFollower = 0
  private var isStopping = false
  /// The first failure of the state; after it nothing more is begun.
  package private(set) var failure: StateError?

  package init(
    store: any StateStore, time: any TimeSource,
    prepare: @escaping @Sendable (RunRecord) async throws(NotRunnable) -> PreparedRun
  ) {
    self.store = store
    self.time = time
    self.prepare = prepare
  }

  /// Accepts a run; it is on disk when this returns.
  package func create(_ run: RunCreated) async throws(StateError) {
    try await store.append(.runCreated(run))
  }

  /// Carries an open run on, unless it is being carried on already.
  package func carryOn(_ id: String) async throws(NotRunnable) {
    guard active[id] == nil, !isStopping else { return }
    guard let record = store.run(id) else { throw NotRunnable("there is no open run \(id)") }
    let prepared: PreparedRun
    do throws(NotRunnable) {
      prepared = try await prepare(record)
    } catch {
      // Kept with the run, so that whoever looks at it later is told why it stands still.
      try? await store.append(
        .runStatusChanged(RunStatusChanged(run: id, at: time.now(), status: .paused, reason: error.message)))
      throw error
    }
    // Another caller may have been faster while this one was preparing.
    guard active[id] == nil, !isStopping else { return }
    let (events, sink) = AsyncStream.makeStream(of: Progress.self)
    let engine = RunEngine(
      record, of: prepared.recipe, secrets: prepared.secrets, services: prepared.services,
      in: RunSurroundings(store: store, time: time, folder: prepared.folder) { sink.yield($0) })
    // Ends when the run ends or `stop` is called; nobody cancels it.
    let task = Task { () -> RunRecord? in
      async let relayed: Void = relay(events, of: id)
      let record: RunRecord?
      do throws(StateError) { record = try await engine.run() } catch {
        failure = failure ?? error
        record = nil
      }
      sink.finish()
      await relayed
      active[id] = nil
      for continuation in followers.removeValue(forKey: id)?.values.map({ $0 }) ?? [] { continuation.finish() }
      return record
    }
    active[id] = Active(engine: engine, task: task)
  }

  private func relay(_ events: AsyncStream<Progress>, of id: String) async {
    for await event in events {
      for continuation in followers[id]?.values.map({ $0 }) ?? [] { continuation.yield(event) }
    }
  }

  /// What happens to a run from now on; ends when this program carries it on no longer.
  package func follow(_ id: String) -> AsyncStream<Progress> {
    let (stream, continuation) = AsyncStream.makeStream(of: Progress.self)
    guard active[id] != nil else {
      continuation.finish()
      return stream
    }
    lastFollower += 1
    let number = lastFollower
    followers[id, default: [:]][number] = continuation
    // A follower that goes away is forgotten; nothing cancels this, and it ends at once.
    continuation.onTermination = { [weak self] _ in Task { await self?.forget(number, of: id) } }
    return stream
  }

  private func forget(_ number: Int, of id: String) { followers[id]?[number] = nil }

  /// Follows a run from before its first step, and gives its record when it is carried on no longer.
  package func run(
    _ id: String, report: @escaping @Sendable (Progress) -> Void
  ) async throws(NotRunnable) -> RunRecord? {
    let (stream, continuation) = AsyncStream.makeStream(of: Progress.self)
    lastFollower += 1
    let number = lastFollower
    followers[id, default: [:]][number] = continuation
    do throws(NotRunnable) { try await carryOn(id) } catch {
      forget(number, of: id)
      throw error
    }
    guard let task = active[id]?.task else {
      // This program is ending and begins nothing more.
      forget(number, of: id)
      return nil
    }
    for await event in stream { report(event) }
    // Whoever went away is not told, and the run goes on without them.
    return Task.isCancelled ? nil : await task.value
  }

  /// Asks a run to end; true if it is open here.
  package func cancel(_ id: String, reason: String?) async throws(StateError) -> Bool {
    guard store.run(id) != nil else { return false }
    try await store.append(.cancelRequested(CancelRequested(run: id, at: time.now(), reason: reason)))
    if let engine = active[id]?.engine {
      // Ends by itself when the grace is over.
      Task { await engine.cancel() }
    }
    return true
  }

  /// Says what became of an uncertain step, durably; the run goes on when it is carried on the next time.
  package func resolve(_ id: String, step: StepPath, as resolution: Resolution) async throws(NotRunnable) {
    guard let record = store.run(id) else { throw NotRunnable("there is no open run \(id)") }
    let recipe = try await prepare(record).recipe
    do {
      _ = try await record.resolve(step, as: resolution, of: recipe, in: store, at: time.now())
    } catch let fault as ResolutionFault {
      throw NotRunnable(fault.message)
    } catch let error as StateError {
      throw NotRunnable(error.message)
    } catch {
      throw NotRunnable("\(error)")
    }
  }

  /// Begins nothing more, and returns when what was in flight has finished.
  package func stop() async {
    isStopping = true
    let running = active.values.map { $0 }
    for run in running { run.engine.stop() }
    for run in running { _ = await run.task.value }
  }
}
