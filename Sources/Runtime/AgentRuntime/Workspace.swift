package import ActionKit
package import Agent
package import Basics
import Glibc
import PostgresClient
package import LocalFiles
package import Recipes
package import Recordings
package import RunState
package import Runs
package import SecretSources
import Synchronization

/// A program's surroundings: the configuration, the folders, and the available actions.
package struct Workspace: Sendable {
  package internal(set) var catalog: ActionCatalog
  package internal(set) var configuration: Configuration
  /// The path of `errand.yaml`, if there is one.
  package let configurationPath: String?
  /// The folder that relative paths in recipes and in the configuration start from.
  package let root: String
  /// The folder of the state; of the lock, the sockets and the cache where the state is in a database.
  ///
  /// Empty if neither errand.yaml nor the environment names it.
  package let stateFolder: String
  /// Whether the recipes and the state are on another machine, so that no file is read here.
  package var isElsewhere = false
  /// Whether made-up services replace the connections' own.
  var hasStandIns = false
  /// The zone of recipes that name none; it replaces the one in errand.yaml.
  package var zone: String?
  /// The recipes of runs that were checked here.
  package let checkedRecipes = CheckedRecipes()

  /// The surroundings of a command that asks an agent elsewhere: no local file belongs to the agent's recipes and runs.
  package init(ofAgentElsewhere catalog: ActionCatalog) {
    self.catalog = catalog
    configuration = Configuration()
    configurationPath = nil
    root = Workspace.workingFolder
    stateFolder = ""
    isElsewhere = true
  }

  /// The path of `errand.yaml`, which is searched upward from a recipe's folder or from the working folder.
  ///
  /// One that is found, and that another user may change, is refused: its commands would run as this one. Who names it
  /// has decided to trust it.
  ///
  /// - Parameter given: The path that the command line names, if it does.
  package static func configurationFile(_ given: String?, besides recipe: String?) throws(RuntimeError) -> String? {
    if let given { return absolute(given, in: workingFolder) }
    let start: String
    if let recipe {
      let path = absolute(recipe, in: workingFolder)
      let isNamed = path.count > 1 && path.hasSuffix("/")
      start = isFolder(path) ? (isNamed ? String(path.dropLast()) : path) : folder(of: path)
    } else {
      start = workingFolder
    }
    guard let path = search(from: start) else { return nil }
    if let hold = ForeignHold.of(path) {
      throw RuntimeError(
        .configuration,
        "'\(path.safe)' isn't used, because another user may change it: \(hold); or, if you trust it, name it with: --config \(path.shellQuoted)"
      )
    }
    return path
  }

  /// Finds and reads `errand.yaml`.
  ///
  /// - Parameters:
  ///   - text: A text that replaces the content of the file.
  ///   - show: Called with the warnings and faults of the file.
  package init(
    catalog: ActionCatalog, configurationPath given: String?, stateFolder: String?, besides recipe: String? = nil,
    text: Source? = nil, show: (Diagnostics) -> Void
  ) throws(RuntimeError) {
    let workingFolder = Workspace.workingFolder
    configurationPath = try Workspace.configurationFile(given, besides: recipe)
    root = configurationPath.map(Workspace.folder) ?? workingFolder
    self.catalog = catalog.looking(in: root)
    if let stateFolder, PostgresSettings.isURL(stateFolder) {
      throw RuntimeError(.usage, "--state takes a folder; a database is named by 'state' in errand.yaml")
    }
    let named = stateFolder.map { Workspace.absolute($0, in: workingFolder) }
    guard let configurationPath else {
      configuration = Configuration()
      self.stateFolder = named ?? Workspace.personalState
      return
    }
    let source: Source
    do throws(FileError) {
      let name = given ?? configurationPath
      if let text {
        source = text
      } else {
        source = Source(name: name, bytes: try Files.read(configurationPath, limit: 1 << 20))
      }
    } catch {
      throw RuntimeError(error.isNotFound ? .noInput : .configuration, error.description)
    }
    let (configuration, diagnostics) = Configuration.read(source, catalog: self.catalog)
    let faults = Diagnostics(diagnostics)
    if !diagnostics.isEmpty { show(faults) }
    if faults.hasErrors {
      throw RuntimeError(.configuration, "\(source.name) has \(faults.tally)")
    }
    self.configuration = configuration
    self.stateFolder = named ?? Workspace.absolute(configuration.state ?? ".errand", in: root)
  }

  /// The surroundings of files that are being written, so that an errand.yaml with faults counts as far as it can be
  /// read.
  ///
  /// - Parameters:
  ///   - configuration: The readable part; nil if there is none, or no errand.yaml.
  ///   - path: The path of errand.yaml, if there is one.
  package init(ofEdited configuration: Configuration?, at path: String?, in root: String, catalog: ActionCatalog) {
    self.catalog = catalog.looking(in: root)
    self.configuration = configuration ?? Configuration()
    configurationPath = configuration == nil ? nil : path
    self.root = root
    stateFolder = Workspace.absolute(self.configuration.state ?? ".errand", in: root)
  }

  /// The workspace with other plugins, to see what recipes would come to with them.
  package func with(_ plugins: any PluginFinder) -> Workspace {
    var other = self
    other.catalog = catalog.with(plugins)
    if let source = configuration.source {
      other.configuration = Configuration.read(source, catalog: other.catalog).configuration
    }
    return other
  }

  /// How long finished runs are kept.
  package var retention: Retention {
    let limits = configuration.history
    return Retention(
      runs: limits.keepRuns, runsFor: limits.keepFor, slotsFor: limits.keepSlotsFor, dataFor: limits.keepDataFor)
  }

  // MARK: Recipes

  /// The environment for checking recipes.
  package var environment: RecipeEnvironment { environment(isApart: hasStandIns) }

  /// The environment for checking recipes.
  ///
  /// - Parameters:
  ///   - isApart: Whether sandboxes or a recording replace the services, so that connections have other settings.
  ///   - overrides: Settings of connections that replace the ones in errand.yaml, by `connections.NAME.SETTING`.
  package func environment(isApart: Bool, overrides: [String: Value] = [:]) -> RecipeEnvironment {
    var environment = RecipeEnvironment(
      catalog: catalog, connections: configurationPath == nil ? nil : configuration.plugins,
      zone: zone ?? configuration.zone
    ) { [isElsewhere] path throws(FileError) in
      if isElsewhere { throw FileError(.read, path, .system(ENOENT)) }
      return Source(name: path, bytes: try Files.read(path, limit: 4 << 20))
    }
    environment.limits = configuration.limits
    environment.refusals = refusals(isApart: isApart, overrides)
    if database != nil { environment.needs = { needs(of: $0, inputs: $1) } }
    if configurationPath != nil {
      let server = configuration.server
      environment.hasServer = server.publicURL != nil || !server.listen.isEmpty
      environment.localBase = server.publicURL == nil ? server.base : nil
      environment.hasFolder = { [root] in (try? Files.kind(of: Workspace.absolute($0, in: root))) == .folder }
    }
    return environment
  }

  /// Reads and checks a recipe, and shows its faults.
  ///
  /// - Parameter environment: The environment to check it in; the folder's if nil.
  package func recipe(
    at path: String, in environment: RecipeEnvironment? = nil, show: (Diagnostics) -> Void
  ) throws(RuntimeError) -> Recipe {
    let environment = environment ?? self.environment
    let source: Source
    do throws(FileError) {
      source = try environment.read(path)
    } catch {
      throw RuntimeError(.noInput, error.description + hint(on: error))
    }
    let checked = Recipe.check(source, in: environment)
    let faults = Diagnostics(checked.diagnostics)
    if !faults.list.isEmpty { show(faults) }
    guard let recipe = checked.recipe else {
      throw RuntimeError(.invalid, "'\(path)' cannot run: \(faults.tally)")
    }
    return recipe
  }

  // MARK: Secrets and services

  /// The sources of secrets here; nothing has been read yet.
  package func secretSources() -> SecretSources {
    SecretSources(configuration.secrets, folder: root, environment: Workspace.environmentVariables)
  }

  /// The connections of a recipe, with their secrets and the overrides of `--set`.
  ///
  /// - Parameters:
  ///   - others: Further secrets to mask, besides the recipe's and the connections'.
  ///   - sources: The sources to read expiring secrets of connections from again; nil to keep them.
  ///   - folder: The folder that the path of the recipe starts from; the working folder if nil.
  package func services(
    for recipe: Recipe, secrets: Secrets, hiding others: [(name: String, text: String)] = [],
    overrides: [String: Value], connectionOverrides: [String: Value] = [:],
    time: any TimeSource, pool: ServicePool, limiters: [String: ConnectionLimiter] = [:],
    interceptor: PluginContext.Interceptor? = nil,
    calls: (any CallInterceptor)? = nil,
    recorder: Recorder? = nil, renewing sources: SecretSources? = nil, from folder: String? = nil,
    on copy: FolderCopy? = nil
  ) throws(RuntimeError) -> Services {
    var connections: [String: Services.Connection] = [:]
    var known = recipe.allSecrets.compactMap { secret in secrets[secret.name].map { (name: secret.name, text: $0) } }
    for name in recipe.connectionNames {
      let declared = configuration.connections.first { $0.name == name }
      guard let plugin = catalog.plugin(declared?.plugin ?? name) else { continue }
      var settings = ValueMap()
      var renewal: Services.Renewal?
      if let other = connectionOverrides[name] {
        settings = other.map ?? settings
        if let copy, !plugin.isLocal {
          // The sandbox replaces the service; its files are the folder's.
          if settings["folder"]?.string == copy.folderOfMadeUpFiles { settings["folder"] = nil }
          let own = configuration.knownSettings(of: name, plugin)?.map
          for field in plugin.configuration.fields where Workspace.settingsOfFiles.contains(field.name) {
            if let value = own?[field.name] { settings[field.name] = value }
          }
        }
      } else if let declared {
        renewal = self.renewal(of: declared, plugin, overrides: overrides, from: sources)
        let own = declared.secrets.compactMap { secret in secrets[secret.name].map { (name: secret.name, text: $0) } }
        let found = try Workspace.settings(of: declared, plugin, with: own)
        settings = found.settings
        known = Workspace.adding(found.secrets, to: known)
      }
      Workspace.override(&settings, of: name, by: overrides)
      if declared != nil || !settings.isEmpty {
        connections[name] = Services.Connection(plugin: plugin, settings: .map(settings), renewal: renewal)
      }
      recorder?.note(
        name, settings: .map(plugin.configuration.withMadeUpSecrets(settings)),
        secrets: known.map(\.text) + plugin.configuration.secrets(in: settings))
    }
    // Runs against the real service must not see a sandbox's answers, and a recording is complete without the cache.
    var interceptor = interceptor
    if let recorder { interceptor = { recorder.transport(of: $0, over: $1) } }
    return Services(
      catalog: catalog, connections: connections, redactor: Redactor(named: Workspace.adding(others, to: known)),
      time: time,
      cacheFolder: connectionOverrides.isEmpty && recorder == nil ? "\(stateFolder)/cache" : nil, folder: root,
      pool: pool,
      limiters: limiters, interceptor: interceptor, calls: recorder ?? calls,
      ownFiles: ownFiles(with: recipe.all.map(\.source.name), from: folder, naming: namedFiles), standIn: copy)
  }

  /// The settings of connections that say which files there are.
  private static let settingsOfFiles: Set = ["folder", "others", "hidden", "allowRecipes", "maxBytes"]

  /// A copy of the folder's files in one that is thrown away, as far as runs use them.
  package func copy(in base: String) throws(RuntimeError) -> FolderCopy {
    try RuntimeError.creating { () throws(FileError) in
      try FolderCopy(of: root, in: base, besides: ownFiles(with: [], from: nil, naming: namedFiles))
    }
  }

  /// Reads the settings of a connection again, if a secret in them grows old.
  private func renewal(
    of connection: Configuration.Connection, _ plugin: PluginDescriptor, overrides: [String: Value],
    from sources: SecretSources?
  ) -> Services.Renewal? {
    let names = connection.secrets.map(\.name)
    guard let sources, sources.growOld(names) else { return nil }
    return { () async throws(ActionError) in
      var known: [(name: String, text: String)] = []
      do throws(SecretError) {
        for name in names {
          if let text = try await sources.find(name)?.value { known.append((name, text)) }
        }
      } catch {
        throw ActionError(.configuration, error.message, effect: ActionError.Effect.none)
      }
      var found: (settings: ValueMap, secrets: [(name: String, text: String)])
      do throws(RuntimeError) { found = try Workspace.settings(of: connection, plugin, with: known) } catch {
        throw ActionError(.configuration, error.message)
      }
      Workspace.override(&found.settings, of: connection.name, by: overrides)
      return Services.Renewed(
        settings: .map(found.settings), secrets: found.secrets, due: await sources.due(of: names) ?? .zero)
    }
  }

  /// The settings of a connection with its secrets in them, and these with the other secrets that are in the settings:
  /// those written in errand.yaml, and those computed from others.
  package static func settings(
    of connection: Configuration.Connection, _ plugin: PluginDescriptor, with secrets: [(name: String, text: String)]
  ) throws(RuntimeError) -> (settings: ValueMap, secrets: [(name: String, text: String)]) {
    let values = ValueMap(secrets.map { ($0.name, .string($0.text)) })
    let settings: ValueMap
    do throws(LocatedEvaluationError) {
      settings = try connection.settings.evaluate(in: [.map(values)]).map ?? ValueMap()
    } catch {
      throw RuntimeError(.configuration, Redactor(named: secrets).redact(error.message))
    }
    let hidden = plugin.configuration.namedSecrets(in: settings, of: Workspace.settings(of: connection.name))
    return (settings, adding(hidden, to: secrets))
  }

  /// Sets what `--set` says of a connection.
  private static func override(_ settings: inout ValueMap, of name: String, by overrides: [String: Value]) {
    for (path, value) in overrides {
      let parts = path.split(separator: ".").map(String.init)
      if parts.count == 3, parts[0] == "connections", parts[1] == name { settings[parts[2]] = value }
    }
  }

  /// Asks plugins what their actions refuse on the connections here, or on any where no file configures them.
  ///
  /// - Parameter isApart: Whether the connections have other settings than in errand.yaml.
  private func refusals(isApart: Bool, _ overrides: [String: Value]) -> RecipeEnvironment.Refusals {
    // The same for every action, but for the recipe's own file.
    let own = Mutex<OwnFiles?>(nil)
    return { [self, named = namedFiles] action, input, connection, file in
      guard let plugin = catalog.plugin(action.plugin), plugin.mayRefuse else { return [] }
      let time = SystemTime()
      var context = ActionContext(
        run: "check", step: "", idempotencyKey: "", now: time.now(), time: time, folder: root)
      context.ownFiles = own.withLock { own in
        let files = own ?? ownFiles(with: [], from: nil, naming: named)
        own = files
        return files
      }
      context.ownFiles.run = [Workspace.absolute(file, in: Workspace.workingFolder)]
      let isKnown = configurationPath != nil && !isApart
      var settings = isKnown ? configuration.knownSettings(of: connection, plugin) : nil
      if var map = settings?.map {
        Workspace.override(&map, of: connection, by: overrides)
        settings = .map(map)
      }
      let name = String(action.id.dropFirst(action.plugin.utf8.count + 1))
      return plugin.refusals(of: name, input, settings: settings, in: context)
    }
  }

  /// Whether a path names a file of secrets.
  package func holdsSecrets(_ path: String) -> Bool {
    let files = configuration.secrets.files + configuration.secrets.ageFiles
    func whole(_ path: String, in folder: String) -> String {
      Recipe.path(Workspace.absolute(path, in: folder), besides: "")
    }
    return files.contains { whole($0, in: root) == whole(path, in: Workspace.workingFolder) }
  }

  /// The files and folders that no action may write; of these, actions may read only locks and the files that these
  /// name.
  ///
  /// - Parameter named: The files that errand.yaml and the locks name.
  private func ownFiles(with run: [String], from folder: String?, naming named: NamedFiles) -> OwnFiles {
    let folders = [stateFolder, configuration.state ?? ".errand"].filter { !$0.isEmpty }
    return OwnFiles(
      configuration: [configurationPath ?? "\(root)/errand.yaml"],
      secrets: secretSources().places,
      state: Set(folders.map { Workspace.absolute($0, in: root) }).sorted(), plugins: ["\(root)/plugins"],
      recipes: recipeFolders, run: run.map { Workspace.absolute($0, in: folder ?? Workspace.workingFolder) },
      named: named)
  }

  /// The files that no run may write, except the files of one run.
  var filesOfErrand: OwnFiles { ownFiles(with: [], from: nil, naming: namedFiles) }

  /// The files that errand.yaml and the locks of plugins name: programs with their arguments, documents, certificates;
  /// and recipes outside the folders of recipes that others call.
  ///
  /// Every text in them counts that leads to a file, from the folder of errand.yaml or from one that they name in it,
  /// as a program may work there. A file that a lock names may be created later.
  private var namedFiles: NamedFiles {
    NamedFiles { [self] in
      let ofLocks = catalog.sourcesOfPlugins.reduce(into: Set()) { $0.formUnion($1.words(\.pathsOfCommand)) }
      let words = ofLocks.union(configuration.document.words(\.wordsOfCommand))
      let folders = words.filter { Workspace.isFolder(Workspace.absolute($0, in: root)) }.sorted()
      // Files that don't exist yet may be created later, except in the folders that actions fill.
      let expected = ofLocks.union(configuration.document.withoutFoldersOfFiles.words(\.wordsOfCommand))
      let later = expected.filter { $0.utf8.isPathLike && !$0.hasPrefix("/") && !$0.contains("://") }
      var files = Set(
        later.map { Workspace.absolute($0, in: root) }.filter {
          (try? Files.kind(of: $0)) == nil && !recipeFolders.contains($0)
        })
      files.formUnion(secretSources().foldersOfCommands)
      files.formUnion(programFolders)
      // Recipes in the folders of recipes are protected with them.
      files.formUnion(
        Workspace.called(by: (try? recipeFiles()) ?? []).filter { path in
          recipeFolders.allSatisfy { path.rest(in: $0) == nil }
        })
      for folder in [root] + folders.prefix(Workspace.mostFolders).map({ Workspace.absolute($0, in: root) }) {
        for word in words {
          let path = Workspace.absolute(word, in: folder)
          if (try? Files.kind(of: path)) == .file { files.insert(path) }
        }
      }
      return files.sorted()
    }
  }

  /// The folders where connections look for programs: any file in them may be started.
  private var programFolders: [String] {
    let connections = configuration.document["connections"]?.map?.members.compactMap { $0.value.map } ?? []
    return connections.compactMap { $0["path"]?.string }.flatMap { $0.split(separator: ":") }.map {
      Workspace.absolute(String($0), in: root)
    }.filter { root.rest(in: $0) == nil }
  }

  /// The files that recipes call, directly or through other recipes.
  ///
  /// They are found in the texts alone, because a recipe with an error may be corrected.
  private static func called(by recipes: [String]) -> Set<String> {
    var (found, left) = (Set<String>(), recipes)
    while let path = left.popLast() {
      guard let text = try? Files.read(path, limit: 4 << 20) else { continue }
      // Keys and paths may be in quotes, as all are in JSON; and no text of YAML has a NUL.
      let plain = String(decoding: text, as: UTF8.self).replacing("\"", with: "").replacing("'", with: "")
      let parts = plain.replacing("call:", with: "\0").split(separator: "\0", omittingEmptySubsequences: false)
      for part in parts.dropFirst() {
        let name = part.prefix { !$0.isNewline && !",}#".contains($0) }
        let file = Workspace.absolute(Recipe.path(String(name).trimmed, besides: path), in: workingFolder)
        if !name.isEmpty, found.count < 10_000, found.insert(file).inserted { left.append(file) }
      }
    }
    return found
  }

  /// In how many of the folders that errand.yaml and locks name files are looked for.
  private static let mostFolders = 32

  // MARK: Paths

  package static var workingFolder: String {
    guard let path = getcwd(nil, 0) else { return "." }
    defer { free(path) }
    return String(cString: path)
  }

  package static func absolute(_ path: String, in folder: String) -> String {
    path.hasPrefix("/") ? path : path == "." ? folder : "\(folder)/\(path)"
  }

  package static func folder(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  private static func search(from folder: String) -> String? {
    var folder = folder
    while true {
      let path = folder == "/" ? "/errand.yaml" : "\(folder)/errand.yaml"
      if Files.exists(path) { return path }
      if folder == "/" || folder == "." { return nil }
      folder = Workspace.folder(of: folder)
    }
  }

  /// Where the state is without an errand.yaml; empty if the environment doesn't say.
  private static var personalState: String {
    if let state = String(environment: "XDG_STATE_HOME"), state.hasPrefix("/") { return "\(state)/errand" }
    if let home = String(environment: "HOME"), home.hasPrefix("/") { return "\(home)/.local/state/errand" }
    return ""
  }

  package static var environmentVariables: [String: String] {
    var variables: [String: String] = [:]
    var entry = environ
    while let text = entry.pointee {
      let parts = String(cString: text).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
      entry += 1
    }
    return variables
  }
}

extension Value {
  /// The texts in it that may name a file.
  fileprivate func words(_ parts: (String) -> Set<String>) -> Set<String> {
    var words = string.map(parts) ?? []
    list?.forEach { words.formUnion($0.words(parts)) }
    map?.members.forEach { words.formUnion($0.value.words(parts)) }
    return words
  }

  /// The same without the folders for connections' files, which actions may make and fill.
  fileprivate var withoutFoldersOfFiles: Value {
    switch content {
    case .list(let items): return .list(items.map(\.withoutFoldersOfFiles))
    case .map(let map):
      var map = map.mapValues(\.withoutFoldersOfFiles)
      for name in ["folder", "others"] { map[name] = nil }
      return .map(map)
    default: return self
    }
  }
}
