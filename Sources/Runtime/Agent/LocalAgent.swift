package import Basics
package import Recipes
package import RunState

/// An agent in this process, put together: what carries runs on, what fires schedules, and what answers requests.
///
/// Everything that has an agent has it from here: the command line, tests of recipes, the simulator, the benchmarks.
package struct LocalAgent: Sendable {
  package let store: any StateStore
  package let host: RunHost
  /// Nil where no recipes are served, as in a sandbox.
  package let schedules: ScheduleHost?
  package let service: RunService

  /// The recipes that an agent may serve.
  package struct Served: Sendable {
    package var folders: [String]
    package var environment: RecipeEnvironment
    /// Where the recipes lie; what is in them is read by the environment.
    package var files = RecipeFiles.disk
    /// Makes the id of a run that is created at an instant.
    package var newID = ScheduleHost.newID
    /// Why a recipe cannot be started with some inputs, as when a secret is missing.
    package var refusal: @Sendable (Recipe, _ inputs: Value) async -> String? = { _, _ in nil }

    package init(_ folders: [String], in environment: RecipeEnvironment) {
      self.folders = folders
      self.environment = environment
    }
  }

  /// - Parameters:
  ///   - activity: Counts what the agent is at, for a clock that a test moves.
  ///   - walkers: Where runs are walked; nil for the threads of Swift's concurrency.
  ///   - chance: A number from 0 up to 1, by which waits before retries are spread.
  ///   - prepare: Checks the recipe of a run again, and connects it to its services.
  package init(
    _ status: AgentStatus, on store: any StateStore, time: any TimeSource, activity: Activity? = nil,
    walkers: (any TaskExecutor)? = nil, chance: (@Sendable () -> Double)? = nil, serving served: Served? = nil,
    prepare: @escaping @Sendable (RunRecord) async throws(RunRefusedError) -> PreparedRun
  ) {
    self.store = store
    let host = RunHost(
      store: store, time: time, activity: activity, walkers: walkers,
      chance: chance ?? { Double.random(in: 0..<1) }, prepare: prepare)
    self.host = host
    schedules = served.map { served in
      ScheduleHost(
        host, store, time: time, program: status.version, folders: served.folders, in: served.environment,
        files: served.files, newID: served.newID, refusal: served.refusal)
    }
    service = RunService(host, store, time: time, agent: status, schedules: schedules)
  }

  /// Begins to serve: reads the recipes, goes on with every open run, and fires schedules.
  ///
  /// - Parameters:
  ///   - folder: Where an agent that brought itself down left its mark.
  ///   - news: What was found in the recipes.
  /// - Returns: The runs that stand until a person does something about them.
  @discardableResult
  package func serve(in folder: String? = nil, telling news: ([RecipeRegistry.News]) -> Void = { _ in }) async
    -> [RunRecord]
  {
    if let schedules { news(await schedules.look()) }
    let left = await host.recover(in: folder)
    await schedules?.serve()
    return left
  }

  /// Begins nothing more, and returns when what is in flight has finished.
  package func stop() async {
    await schedules?.stop()
    await host.stop()
  }
}
