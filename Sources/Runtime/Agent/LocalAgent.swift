package import Basics
package import Recipes
package import RunState

/// An agent in this process: the host of runs, the schedules, and the service that answers requests.
///
/// Every user of an agent creates it here: the command line, tests of recipes, the simulator, the benchmarks.
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
    /// Where the recipes are; the environment reads their content.
    package var files = RecipeFiles.disk
    /// Where the files are that entries watch; nil if none are looked for.
    package var watched: WatchedFolder?
    /// Makes the id of a run created at an instant.
    package var newID = ScheduleHost.newID
    /// Says why a run is in its state; without it, as far as that can be told without the run's recipe.
    package var explain: RunService.Explainer?
    package var findInput: RunService.InputFinder?
    /// The clock of the people who read explanations of schedules; UTC if nil.
    package var clock: (@Sendable (Timestamp) -> WallClock)?
    /// Makes the plan of a run; nil where no plans are made.
    package var plan: RunService.Planner?
    /// Looks at the connections and at the secrets that are needed.
    package var survey: RunService.Survey?
    /// Why a recipe cannot be started with some inputs, as when a secret is missing.
    package var refusal: @Sendable (Recipe, _ inputs: Value) async -> String? = { _, _ in nil }

    /// Finds a secret that deliveries to webhooks are verified with; asks its source again if it is to be fresh.
    package var secret: @Sendable (_ name: String, _ isFresh: Bool) async -> String? = { _, _ in nil }

    package init(_ folders: [String], in environment: RecipeEnvironment) {
      self.folders = folders
      self.environment = environment
    }
  }

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
      host.inbox.awaitSchedules(true)
      return ScheduleHost(host, store, time: time, program: status.version, isSandbox: status.isSandbox, serving: $0)
    }
    service = RunService(
      host: host, store: store, time: time, agent: status, schedules: schedules,
      explain: served?.explain, clock: served?.clock, planner: served?.plan, survey: served?.survey,
      findInput: served?.findInput)
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
