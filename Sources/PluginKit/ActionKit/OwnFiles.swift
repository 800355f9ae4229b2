import Synchronization

/// Files of the program itself, which actions leave alone.
///
/// They are what the program reads and starts as its own. Each kind is given by what reads it, so that a new source of
/// secrets or a new setting that names a file is among them without being listed here.
package struct OwnFiles: Sendable {
  /// What a file is for.
  package enum Kind: Hashable, Sendable, CaseIterable {
    case configuration, secrets, state
    /// The folder of the locks of plugins, with all that is in it.
    case plugins
    /// A program or another file that `errand.yaml` or a lock names.
    case named
    /// The folder of recipes.
    case recipes
    /// One recipe, wherever it lies.
    case recipe

    /// Whether actions may read it, and only not write, move and remove it.
    package var isReadable: Bool { self == .plugins || self == .named }
  }

  /// Full paths of `errand.yaml`, be it there or not.
  package var configuration: [String]
  /// Full paths of files that hold secrets or the key to them, and of programs that give secrets.
  package var secrets: [String]
  /// Full paths of the folders of the state.
  package var state: [String]
  /// Full paths of the folders of locks.
  package var plugins: [String]
  /// Full paths of the folders of recipes.
  package var recipes: [String]
  /// Full paths of the recipe that is run and of those that it calls.
  package var run: [String]
  /// Full paths of programs and other files that `errand.yaml` and locks name.
  package var named: NamedFiles

  package init(
    configuration: [String] = [], secrets: [String] = [], state: [String] = [], plugins: [String] = [],
    recipes: [String] = [], run: [String] = [], named: NamedFiles = NamedFiles { [] }
  ) {
    self.configuration = configuration
    self.secrets = secrets
    self.state = state
    self.plugins = plugins
    self.recipes = recipes
    self.run = run
    self.named = named
  }

  /// The same files, and what stands in for each.
  package func beside(_ standIn: (any FolderStandIn)?) -> OwnFiles {
    guard let standIn else { return self }
    func both(_ paths: [String]) -> [String] { paths + paths.map(standIn.place) }
    let named = named
    return OwnFiles(
      configuration: both(configuration), secrets: both(secrets), state: both(state), plugins: both(plugins),
      recipes: both(recipes), run: both(run), named: NamedFiles { named.paths + named.paths.map(standIn.place) })
  }

  /// The paths for an operation; those that refuse more come last, because one thing may be several of them.
  ///
  /// - Parameter isReading: Whether nothing is changed, for which locks need not be read.
  package func all(isReading: Bool) -> [(path: String, kind: Kind)] {
    let readable =
      isReading ? [] : named.paths.map { ($0, Kind.named) } + plugins.map { ($0, Kind.plugins) }
    return recipes.map { ($0, .recipes) } + run.map { ($0, .recipe) } + readable
      + configuration.map { ($0, .configuration) } + state.map { ($0, .state) } + secrets.map { ($0, .secrets) }
  }
}

/// Files that others name, looked for when they are first asked for.
package final class NamedFiles: Sendable {
  private let find: @Sendable () -> [String]
  private let found = Mutex<[String]?>(nil)

  package init(_ find: @escaping @Sendable () -> [String]) { self.find = find }

  package var paths: [String] {
    if let known = found.withLock({ $0 }) { return known }
    let paths = find()
    found.withLock { $0 = paths }
    return paths
  }
}
