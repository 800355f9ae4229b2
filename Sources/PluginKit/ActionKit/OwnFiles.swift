/// Files of the program itself, which actions leave alone.
package struct OwnFiles: Hashable, Sendable {
  /// What a file is for.
  package enum Kind: Hashable, Sendable {
    case configuration, secrets, state, recipes
  }

  /// Full paths of `errand.yaml`.
  package var configuration: [String]
  /// Full paths of files that hold secrets or the key to them, and of programs that give secrets.
  package var secrets: [String]
  /// Full paths of the folders of the state.
  package var state: [String]
  /// Full paths of the folders of recipes.
  package var recipes: [String]

  package init(
    configuration: [String] = [], secrets: [String] = [], state: [String] = [], recipes: [String] = []
  ) {
    self.configuration = configuration
    self.secrets = secrets
    self.state = state
    self.recipes = recipes
  }

  /// All paths; recipes come first, because a folder of theirs may be one of the others as well.
  package var all: [(path: String, kind: Kind)] {
    recipes.map { ($0, .recipes) } + configuration.map { ($0, .configuration) } + state.map { ($0, .state) }
      + secrets.map { ($0, .secrets) }
  }
}
