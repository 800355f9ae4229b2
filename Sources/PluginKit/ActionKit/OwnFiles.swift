/// Files of the program itself, which actions leave alone.
package struct OwnFiles: Hashable, Sendable {
  /// What a file is for.
  package enum Kind: Hashable, Sendable {
    case configuration, secrets, state
    /// The folder of recipes.
    case recipes
    /// One recipe, wherever it lies.
    case recipe
  }

  /// Full paths of `errand.yaml`.
  package var configuration: [String]
  /// Full paths of files that hold secrets or the key to them, and of programs that give secrets.
  package var secrets: [String]
  /// Full paths of the folders of the state.
  package var state: [String]
  /// Full paths of the folders of recipes.
  package var recipes: [String]
  /// Full paths of the recipe that is run and of those that it calls.
  package var run: [String]

  package init(
    configuration: [String] = [], secrets: [String] = [], state: [String] = [], recipes: [String] = [],
    run: [String] = []
  ) {
    self.configuration = configuration
    self.secrets = secrets
    self.state = state
    self.recipes = recipes
    self.run = run
  }

  /// All paths; recipes come first, because a folder of theirs may be one of the others as well.
  package var all: [(path: String, kind: Kind)] {
    recipes.map { ($0, .recipes) } + run.map { ($0, .recipe) } + configuration.map { ($0, .configuration) }
      + state.map { ($0, .state) }
      + secrets.map { ($0, .secrets) }
  }
}
