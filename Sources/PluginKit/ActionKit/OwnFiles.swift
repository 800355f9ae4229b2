import Synchronization

/// The program's own files: actions can't change them, and may read only some of them.
///
/// They are the files that the program reads, and the programs that it starts. Each kind is provided by the code that
/// reads it, so that a new source of secrets, or a new setting that names a file, needs no entry here.
package struct OwnFiles: Sendable {
  /// The purpose of a file.
  package enum Kind: Hashable, Sendable, CaseIterable {
    case configuration, secrets, state
    /// The folder of the plugins' locks, with its content.
    case plugins
    /// A program or another file that `errand.yaml` or a lock names.
    case named
    /// The folder of recipes.
    case recipes
    /// One recipe, in any folder.
    case recipe

    /// Whether actions may read it, but not write, move or remove it.
    package var isReadable: Bool { self == .plugins || self == .named }
  }

  /// Full paths of `errand.yaml`, even if it doesn't exist.
  package var configuration: [String]
  /// Full paths of files with secrets or their key, and of programs that provide secrets.
  package var secrets: [String]
  /// Full paths of the folders of the state.
  package var state: [String]
  /// Full paths of the folders of locks.
  package var plugins: [String]
  /// Full paths of the folders of recipes.
  package var recipes: [String]
  /// Full paths of the recipe that runs and of the recipes that it calls.
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

  /// The same files, and the copies that replace them.
  package func beside(_ standIn: (any FolderStandIn)?) -> OwnFiles {
    guard let standIn else { return self }
    func both(_ paths: [String]) -> [String] { paths + paths.map(standIn.place) }
    let named = named
    return OwnFiles(
      configuration: both(configuration), secrets: both(secrets), state: both(state), plugins: both(plugins),
      recipes: both(recipes), run: both(run), named: NamedFiles { named.paths + named.paths.map(standIn.place) })
  }

  /// The paths for an operation; the more restrictive kinds come last, because one file may have several kinds.
  ///
  /// - Parameter isReading: Whether the operation changes nothing; it then needs no paths of locks and named files.
  package func all(isReading: Bool) -> [(path: String, kind: Kind)] {
    let readable =
      isReading ? [] : named.paths.map { ($0, Kind.named) } + plugins.map { ($0, Kind.plugins) }
    return recipes.map { ($0, .recipes) } + run.map { ($0, .recipe) } + readable
      + configuration.map { ($0, .configuration) } + state.map { ($0, .state) } + secrets.map { ($0, .secrets) }
  }
}

/// Files that are named elsewhere; they are looked up at first use.
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
