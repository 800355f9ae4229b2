import ActionKit
import AgentRuntime
import Basics
import ChildProcesses
import CommandLineParser
import MCPPlugins
import OpenAPIPlugins
import PluginList
import PluginLocks
import Recipes
import SecretSources

// `errand plugin update`: what is different, and which recipes don't fit it.

extension PluginCommand {
  func update() async throws(RuntimeError) -> ExitCode {
    let name = parsed["name"].text ?? ""
    let recovered = locks.recovered(name)
    let old = if let recovered { recovered } else { try known(name) }
    var workspace = try dispatch.workspace()
    if let recovered {
      console.say("\(file(of: name)) can't be used as it is, and is made anew from its source")
      // So that its connection is known, and recipes are compared with the lock that they were written for.
      workspace = workspace.with(LockFolder(root, kinds: everyLockKind, with: [name: recovered]))
    }
    let new = try await renewed(old, in: workspace)
    let written = try RuntimeError.ofLock { () throws(PluginLockError) in try new.written() }
    if written == (try? Files.read(path(of: name))) {
      console.say("\(file(of: name)) is up to date")
      return .done
    }
    do throws(PluginLockError) {
      let difference = try LockDifference(from: old, to: new)
      for line in difference.lines { console.out(Style.ofDifference(line, console.colourOut)) }
      if difference.isEmpty {
        console.say(
          try old.written() == written
            ? "only how the file is written is new"
            : "recipes notice no difference: only descriptions, the source, or who says an effect are new")
      }
    } catch {
      console.say("what is different isn't known: \(error.message)")
    }
    tellLeftOut(of: new)
    let isWeaker = tellWeaker(from: old, to: new, try effects(takingBack: true))
    let faults = newFaults(in: workspace, with: LockFolder(root, kinds: everyLockKind, with: [name: new]))
    if !faults.isEmpty {
      console.show(Diagnostics(faults))
      guard parsed["force"].isGiven || parsed["dry-run"].isGiven else {
        throw RuntimeError(
          .invalid,
          "\(file(of: name)) was left as it is: recipes don't fit what \(parsed["only"].isGiven ? "--only chooses" : "the service offers now")"
            + "; change them, or write it nonetheless with --force")
      }
    }
    console.say("checked the recipes in \(recipes(in: workspace).folders.joined(separator: " and "))")
    if parsed["dry-run"].isGiven { return .hasChanges }
    if let isWeaker {
      throw RuntimeError(
        .invalid,
        "\(file(of: name)) was left as it is: with weaker effects Errand would do more without asking, so each must be "
          + "accepted by its name; run the command again with \(isWeaker)")
    }
    try write(new)
    let count = count(ofLeftOut: new).map { "; \($0)" } ?? ""
    console.say("wrote \(file(of: name)); a running 'errand serve' reads it within a minute\(count)")
    renewSchemas()
    return .done
  }

  /// Tells which effects the source claims to be weaker than they were, and which no person gave.
  ///
  /// - Returns: The options that accept them; nil if there is none.
  private func tellWeaker(from old: PluginLock, to new: PluginLock, _ given: [String: Effect?]) -> String? {
    let weaker = LockDifference.weakerEffects(from: old, to: new).filter { weaker in
      if weaker.source == .person || weaker.source == .hint && parsed["trust-hints"].isGiven { return false }
      // An effect that the user takes back was named.
      return !given.keys.contains {
        $0 == weaker.action || $0 == new.document["actions"]?[weaker.action]?["call"]?["tool"]?.string
      }
    }
    for weaker in weaker {
      console.say(
        "weaker: \(weaker.action.safe): \(weaker.before.written) → \(weaker.after.written), says \(weaker.source.words)"
      )
    }
    let options = weaker.map { "--effect \("\($0.action)=\($0.after.written)".shellQuoted)" }
    return options.isEmpty ? nil : options.joined(separator: " ")
  }

  /// The lock as its source gives it now.
  private func renewed(_ old: PluginLock, in workspace: Workspace) async throws(RuntimeError) -> PluginLock {
    let given = try effects(takingBack: true)
    if parsed["trust-hints"].isGiven { try refuse(["distrust-hints"], "is the opposite of --trust-hints") }
    let moved = parsed["source"].texts
    if old.kind == MCPKind.name {
      try refuse(["only"], "is for openapi")
      let source = try RuntimeError.ofLock { () throws(PluginLockError) in
        var source = try MCPSource(of: old)
        source.trustsHints =
          parsed["trust-hints"].isGiven || source.trustsHints && !parsed["distrust-hints"].isGiven
        if let how = parsed["dates"].text { source.readsDatesAsText = how == "text" }
        try source.give(given)
        return source
      }
      let settings = try await settings(of: old.name, in: workspace)
      return try await asked(source, at: moved, settings, for: old.name)
    }
    try refuse(["trust-hints", "distrust-hints"], "is for mcp")
    let place = try moved.isEmpty ? nil : document(moved)
    guard let document = place ?? old.source["document"]?.string else {
      throw RuntimeError(.invalid, "\(old.file): its source names no document; name it: \(Self.moving(old.name))")
    }
    let bytes: [UInt8]
    do throws(RuntimeError) { bytes = try await contents(of: document) } catch {
      let fix = moved.isEmpty ? "; if it has moved, name its new place: \(Self.moving(old.name))" : ""
      throw RuntimeError(error.kind, error.message + fix)
    }
    let only = parsed["only"].isGiven ? parsed["only"].texts : nil
    let readsDatesAsText = parsed["dates"].text.map { $0 == "text" }
    return try RuntimeError.ofLock { () throws(PluginLockError) in
      try OpenAPIKind.updated(
        old, document: bytes, only: only, readsDatesAsText: readsDatesAsText, giving: given, from: place,
        files: files(of: document))
    }
  }

  private static func moving(_ name: String, _ source: String = "SOURCE") -> String {
    "errand plugin update \(name) \(source)"
  }

  /// Makes the lock of a server, which may have moved, from its tools.
  private func asked(
    _ source: MCPSource, at moved: [String], _ settings: Value, for name: String
  ) async throws(RuntimeError) -> PluginLock {
    var source = source
    var settings = settings.map ?? ValueMap()
    if !moved.isEmpty {
      source.server = try server(moved)
      // A program and a server at an address share few settings; the others are dropped.
      let fields = MCPKind.settings(of: source.server).fields
      for name in settings.members.compactMap(\.name) where !fields.contains(where: { $0.name == name }) {
        settings[name] = nil
      }
      // The place on the command line is used, so that it is tried.
      for field in ["command", "arguments", "url"] where settings[field] != nil {
        settings[field] = nil
        console.say("'\(field)' of the connection '\(name)' still counts in runs, instead of the lock's value")
      }
    }
    if case .command(let words) = source.server, settings["command"] == nil, let program = words.first {
      let path = settings["path"]?.string ?? MCPKind.searchPath
      if ChildProcess.file(of: program, in: path, from: root) == nil {
        if moved.isEmpty {
          throw RuntimeError(
            .noInput,
            (program.contains("/")
              ? "'\(program.safe)' isn't a program: it is missing, or not executable; if it has moved, "
              : "no program is named '\(program.safe)' in \(path.replacing(":", with: ", ")); add its folder to the 'path' "
                + "of connection '\(name)', or ") + "name its new place: "
              + Self.moving(name, "-- COMMAND"))
        }
        try refuseUnknownProgram(program)
        if let path = searchPath(for: program) {
          settings["path"] = .string(path)
          console.say("put 'path: \(path)' into the connection '\(name)' in errand.yaml")
        }
      }
    }
    return try await lock(of: source, named: name, .map(settings))
  }

  /// The settings of the plugin's connection, with their secrets.
  private func settings(of plugin: String, in workspace: Workspace) async throws(RuntimeError) -> Value {
    let own = workspace.configuration.connections.filter { $0.plugin == plugin }
    guard let connection = own.first(where: { $0.name == plugin }) ?? own.first else { return .map(ValueMap()) }
    let sources = workspace.secretSources()
    var secrets: [(name: String, text: String)] = []
    for secret in connection.secrets {
      guard let text = try await self.secret(secret.name, in: sources) else {
        throw RuntimeError(
          .configuration, "missing secret: \(secret.name), of connection '\(connection.name)' in errand.yaml")
      }
      secrets.append((secret.name, text))
    }
    guard let plugin = workspace.catalog.plugin(plugin) else { return .map(ValueMap()) }
    return .map(try Workspace.settings(of: connection, plugin, with: secrets).settings)
  }

  /// The recipes that may use a plugin, from the folders of recipes and the folder of errand.yaml; and these folders,
  /// for people.
  func recipes(in workspace: Workspace) -> (files: [String], folders: [String]) {
    var folders: [String] = []
    for folder in workspace.recipeFolders + [root] where Workspace.isFolder(folder) && !folders.contains(folder) {
      folders.append(folder)
    }
    return (
      (try? workspace.recipeFiles(of: folders)) ?? [],
      folders.map { $0 == Workspace.workingFolder ? "this folder" : Workspace.displayed($0) }
    )
  }

  /// The errors in recipes, tests and errand.yaml that other plugins would bring.
  ///
  /// - Parameter isGone: Whether a plugin is gone; its connection then only causes a warning, which is included.
  func newFaults(in workspace: Workspace, with plugins: LockFolder, isGone: Bool = false) -> [Diagnostic] {
    func faults(_ workspace: Workspace) -> [Diagnostic] {
      var found =
        workspace.configuration.source.map {
          Configuration.read($0, catalog: workspace.catalog).diagnostics.filter { isGone || $0.severity == .error }
        } ?? []
      for path in recipes(in: workspace).files {
        guard let source = try? workspace.environment.read(path) else { continue }
        let faults = Recipe.check(source, in: workspace.environmentOfChecks()).diagnostics
        found += faults.filter { $0.severity == .error }
      }
      return found
    }
    let known = Set(faults(workspace).map(\.rendered))
    return faults(workspace.with(plugins)).filter { !known.contains($0.rendered) }
  }
}

extension Diagnostic {
  /// The whole text, to recognise a known fault.
  fileprivate var rendered: String { Diagnostics([self]).rendered() }
}

extension Style {
  /// A line of a difference in its colour.
  fileprivate static func ofDifference(_ line: String, _ colour: Bool) -> String {
    let text = line.safe
    return switch text.first {
    case "+": Style.green.applied(to: text, colour)
    case "-": Style.red.applied(to: text, colour)
    default: text
    }
  }
}
