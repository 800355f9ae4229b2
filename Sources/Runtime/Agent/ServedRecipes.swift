package import Basics
package import Calendars
package import Recipes
package import RunState
package import Runs

/// The recipes that an agent may serve.
package struct ServedRecipes: Sendable {
  package var folders: [String]
  package var environment: RecipeEnvironment
  /// Where the recipes are; the environment reads their content.
  package var files = RecipeFiles.disk
  /// The folder of errand.yaml, from which people name files; nil where none are named.
  package var root: String?
  /// Where the files are that entries watch; nil if none are looked for.
  package var watched: WatchedFolder?
  /// Makes the id of a run created at an instant.
  package var newID = ScheduleHost.newID
  /// Says why a run is in its state; without it, as far as that can be told without the run's recipe.
  package var explain: Explainer?
  package var findInput: InputFinder?
  /// Finds the names that a run's recipe gives its steps.
  package var findNames: NameFinder?
  /// Finds the order of the steps of a run's recipe.
  package var findOutline: OutlineFinder?
  /// Finds the files that the actions of a run say they wrote.
  package var findFiles: FileFinder?
  /// Reads such a file, if nothing has changed it since.
  package var readFile: FileReader?
  /// The needs of people who edit the files; nil where none are edited.
  package var editing: FolderEditing?
  /// The clock of the people who read explanations of schedules; UTC if nil.
  package var clock: (@Sendable (Timestamp) -> WallClock)?
  /// Makes the plan of a run; nil where no plans are made.
  package var plan: Planner?
  /// Looks at the connections and at the secrets that are needed.
  package var survey: Survey?
  /// Why a recipe cannot be started with some inputs, as when a secret is missing.
  package var refusal: @Sendable (Recipe, _ inputs: Value) async -> String? = { _, _ in nil }

  /// Finds a secret that deliveries to webhooks are verified with; asks its source again if it is to be fresh.
  package var secret: @Sendable (_ name: String, _ isFresh: Bool) async -> String? = { _, _ in nil }

  /// Says why a run is in its state.
  ///
  /// `zone` is the zone of the times, if it isn't the folder's; `tellsDistance` is the clock's (`WallClock`).
  package typealias Explainer =
    @Sendable (
      _ facts: RunFacts, _ isServed: Bool, _ holder: Int?, _ zone: TimeZoneRules?, _ tellsDistance: Bool
    ) async -> Explanation
  /// Computes the input of a step again, with marks for secrets, and finds the step in its recipe.
  package typealias InputFinder =
    @Sendable (_ facts: RunFacts, _ step: StepPath) async -> (input: StepReplay.Input, place: RecipePlace?)
  /// Finds the names of steps, by the paths of their records; steps without a name are left out.
  package typealias NameFinder =
    @Sendable (_ run: RunRecord, _ texts: Value, _ paths: [StepPath]) async -> [StepPath: String]
  /// Finds the order of the steps of a run's recipe, as it was when the run began; nil if it can't be read.
  package typealias OutlineFinder = @Sendable (_ run: RunRecord, _ texts: Value) async -> [OutlinePlace]?
  package typealias FileFinder = @Sendable (_ run: RunRecord, _ texts: Value) async -> [WrittenFile]
  package typealias FileReader = @Sendable (_ file: WrittenFile) async throws(RequestRefusedError) -> [UInt8]
  /// Makes the plan of a run without starting it.
  package typealias Planner =
    @Sendable (_ run: RunCreated) async throws(RequestRefusedError) -> PlanRecord.MadeForRun
  /// Looks at the connections and at the secrets that are needed.
  package typealias Survey = @Sendable () async -> ConnectionsAndSecrets

  package init(_ folders: [String], in environment: RecipeEnvironment) {
    self.folders = folders
    self.environment = environment
  }
}
