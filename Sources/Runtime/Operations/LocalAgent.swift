package import Agent
package import Basics
import Recipes
package import RunState

/// An agent in this process: the host of runs, the schedules, and the service that answers requests.
///
/// Every user of an agent creates it here: the command line, tests of recipes, the simulator, the benchmarks.
package struct LocalAgent: Sendable {
  package let store: any StateStore
  package let host: RunHost
  /// Nil where no recipes are served, as in a sandbox.
  package let schedules: ScheduleHost?
  package let service: AgentParts

  package typealias Served = ServedRecipes

  /// - Parameters:
  ///   - activity: Counts the agent's work in progress, for a clock that a test moves.
  ///   - walkers: The threads for the walks of runs; nil for Swift's own thread pool.
  ///   - base: The URL of the agent's pages, if it has one.
  ///   - chance: A number from 0 up to 1, which spreads the waits before retries.
  ///   - prepare: Checks the recipe of a run again, and connects it to its services.
  package init(
    _ status: AgentStatus, on store: any StateStore, time: any TimeSource, activity: Activity? = nil,
    walkers: (any TaskExecutor)? = nil, base: String? = nil, chance: (@Sendable () -> Double)? = nil,
    serving served: Served? = nil,
    prepare: @escaping @Sendable (RunRecord) async throws(RunRefusedError) -> PreparedRun
  ) {
    self.store = store
    let host = RunHost(
      store: store, time: time, activity: activity, walkers: walkers, base: base,
      chance: chance ?? { Double.random(in: 0..<1) }, prepare: prepare)
    self.host = host
    schedules = served.map {
      ScheduleHost(
        host, store, time: time, program: status.version, isSandbox: status.isSandbox, serving: $0,
        perform: { await ScheduleHost.answer($0, by: $1) })
    }
    var parts = AgentParts(
      host: host, store: store, time: time, agent: status, schedules: schedules,
      explain: served?.explain, clock: served?.clock, planner: served?.plan, survey: served?.survey,
      served: served, sessions: SessionTable(store))
    let reloading = parts.reloading
    parts.editor = served?.editing.map { editing in
      var editing = editing
      editing.reload = editing.reload ?? { await reloading.failure() }
      return FileEditor(editing, time: time)
    }
    service = parts
  }

  /// Starts to serve: reads the recipes, resumes every open run, and fires schedules.
  ///
  /// - Parameters:
  ///   - folder: Where an agent that crashed left its mark.
  ///   - mayLead: Whether it may decide on the schedules where several programs share the state.
  ///   - news: Called with the findings in the recipes.
  /// - Returns: The runs that stay suspended until a person acts.
  @discardableResult
  package func serve(
    in folder: String? = nil, mayLead: Bool = true, telling news: ([RecipeRegistry.News]) -> Void = { _ in }
  ) async -> [RunRecord] {
    if let schedules { news(await schedules.look()) }
    let left = await host.recover(in: folder)
    await schedules?.serve(mayLead: mayLead)
    return left
  }

  /// Begins nothing more, and returns when everything in flight has finished.
  package func stop() async {
    await schedules?.stop()
    await host.stop()
  }
}
