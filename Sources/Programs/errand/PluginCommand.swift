import ActionKit
import AgentRuntime
import Basics
import ChildProcesses
import CommandLineParser
import HTTPClient
import MCPPlugins
import OpenAPIPlugins
import PluginList
import PluginLocks
import Recipes
import SecretSources

/// `errand plugin`: adds, updates, removes and lists the plugins of a folder, which are lock files.
struct PluginCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() async throws(RuntimeError) -> ExitCode {
    switch parsed.command.last {
    case "add": return try await add()
    case "update": return try await update()
    case "remove": return try remove()
    default: return list()
    }
  }

  // MARK: The folder

  /// The folder of errand.yaml, whatever is wrong with that; the working folder where there is none.
  private var root: String {
    Workspace.configurationFile(parsed["config"].text, besides: nil).map(Workspace.folder) ?? Workspace.workingFolder
  }

  private var locks: LockFolder { LockFolder(root, kinds: everyLockKind) }

  private func path(of name: String) -> String { LockFolder.path(of: name, in: root) }
  private func file(of name: String) -> String { "plugins/\(name).lock.json" }

  /// The lock of the plugin that the command line names, which need not be usable.
  private func known(_ name: String) throws(RuntimeError) -> PluginLock {
    let locks = locks
    if let lock = locks.lock(name) { return lock }
    if let fault = locks.fault(of: name) {
      throw RuntimeError(
        .invalid,
        "\(fault); to make it anew, run 'errand plugin remove \(name)' and then 'errand plugin add'")
    }
    if dispatch.catalog.isCompiled(name) {
      throw RuntimeError(.usage, "'\(name)' is part of errand, and has no lock")
    }
    let guess =
      name.nearest(among: locks.names).map { "; did you mean '\($0)'?" } ?? "; 'errand plugin list' lists them"
    throw RuntimeError(.noInput, "no plugin of this folder is named '\(name)'\(guess)")
  }

  private func write(_ lock: PluginLock) throws(RuntimeError) {
    let bytes = try RuntimeError.ofLock { () throws(PluginLockError) in try lock.written() }
    try RuntimeError.creating { () throws(FileError) in
      try Files.makeFolder("\(root)/plugins")
      try Files.write(bytes, to: path(of: lock.name))
    }
  }

  // MARK: Adding

  private func add() async throws(RuntimeError) -> ExitCode {
    let name = parsed["name"].text ?? ""
    if let fault = Names.fault(in: name) {
      let isSource = isAddress(name) || Files.exists(name)
      throw RuntimeError(
        .usage,
        isSource
          ? "'\(name)' is a source, and the plugin's name comes before it: errand plugin add \(parsed["kind"].text ?? "") "
            + "NAME \(name.shellQuoted)" : "the plugin's name '\(name)' \(fault.text)")
    }
    if dispatch.catalog.isCompiled(name) {
      throw RuntimeError(.usage, "errand has a plugin '\(name)' of its own; choose another name")
    }
    if Files.exists(path(of: name)) {
      throw RuntimeError(
        .cannotCreate, "\(file(of: name)) is there already; 'errand plugin update \(name)' reads its source again")
    }
    let lock: PluginLock
    let sketch: String
    let given = parsed["source"].texts
    if parsed["kind"].text == "mcp" {
      try refuse(["only"], "is for openapi")
      let source = MCPSource(try server(given), trustsHints: parsed["trust-hints"].isGiven, effects: try effects())
      let (settings, lines) = try await startingSettings(of: source)
      lock = try await RuntimeError.ofLock { () async throws(PluginLockError) in
        try await MCPKind.lock(name: name, source: source, settings: settings, in: context(of: name))
      }
      sketch = MCPKind.connectionSketch(lock) + lines
    } else {
      try refuse(["trust-hints", "env", "token"], "is for mcp")
      guard given.count == 1, let document = given.first else {
        throw RuntimeError(.usage, "'plugin add openapi' takes one document, and \(given.count) are given")
      }
      let source = isAddress(document) ? document : shown(document)
      let bytes = try await contents(of: source)
      let effects = try effects()
      lock = try RuntimeError.ofLock { () throws(PluginLockError) in
        try OpenAPIKind.lock(
          name: name, document: bytes, source: source, only: parsed["only"].texts, effects: effects,
          file: file(of: name))
      }
      sketch = OpenAPIKind.connectionSketch(lock)
    }
    try write(lock)
    console.out(try actionTable(of: lock))
    tellLeftOut(of: lock)
    tellHints(of: lock)
    console.say("\nwrote \(file(of: name)); keep it with your recipes")
    let isReady =
      (lock.connection["schemes"]?.list ?? []).isEmpty
      && dispatch.catalog.looking(in: root).plugin(name)?.worksUnconfigured ?? false
    console.say(
      """

      \(isReady ? "No connection is needed. Optional settings go" : "Its connection goes") under 'connections:' in \
      errand.yaml:
      \(sketch.hasSuffix("\n") ? String(sketch.dropLast()) : sketch)

      'errand actions \(name)' shows what each action takes and gives.
      """)
    return .done
  }

  private func refuse(_ options: [String], _ reason: String) throws(RuntimeError) {
    for option in options where parsed[option].isGiven { throw RuntimeError(.usage, "--\(option) \(reason)") }
  }

  private func isAddress(_ text: String) -> Bool { text.hasPrefix("https://") || text.hasPrefix("http://") }

  /// A path as the lock has it: from the folder of errand.yaml on, if it is in there.
  private func shown(_ path: String) -> String {
    let whole = Recipe.path(Workspace.absolute(path, in: Workspace.workingFolder), besides: "")
    return whole.hasPrefix(root + "/") ? String(whole.dropFirst(root.utf8.count + 1)) : whole
  }

  private func server(_ words: [String]) throws(RuntimeError) -> MCPSource.Server {
    guard let first = words.first else { throw RuntimeError(.usage, "'plugin add mcp' needs an address or a command") }
    guard isAddress(first) else { return .command(words) }
    if words.count > 1 {
      throw RuntimeError(.usage, "unexpected argument '\(words[1])' after the address \(first)")
    }
    return .url(first)
  }

  private func effects() throws(RuntimeError) -> [String: Effect] {
    var effects: [String: Effect] = [:]
    for text in parsed["effect"].texts {
      let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
      guard parts.count == 2, let effect = Effect(written: parts[1]) else {
        let words = ["pure", "read", "consume", "idempotentWrite", "write"]
        let guess = parts.count == 2 ? parts[1].nearest(among: words).map { "; did you mean '\($0)'?" } : nil
        throw RuntimeError(
          .usage,
          "--effect takes NAME=EFFECT, with one of \(words.joined(separator: ", ")), or idempotentWrite:1d and the like, "
            + "but found '\(text)'\(guess ?? "")"
        )
      }
      effects[parts[0]] = effect
    }
    return effects
  }

  // MARK: Sources

  private func context(of name: String) -> PluginContext {
    var context = PluginContext(connection: name, time: SystemTime())
    context.folder = root
    return context
  }

  /// What a server is started or asked with when it is added, and the lines of errand.yaml that say the same.
  private func startingSettings(of source: MCPSource) async throws(RuntimeError) -> (Value, lines: String) {
    var settings = ValueMap()
    var lines = ""
    let secrets = SecretSources(SecretSettings(), folder: root, environment: Workspace.environmentVariables)
    func text(_ name: String) async throws(RuntimeError) -> String {
      guard let found = try? await secrets.find(name)?.value else {
        throw RuntimeError(.configuration, "there is no environment variable '\(name)' to give to the server")
      }
      return found
    }
    let names = parsed["env"].texts
    switch source.server {
    case .url: try refuse(["env"], "is for servers that are started by a command")
    case .command(let words):
      try refuse(["token"], "is for servers at an address; a command gets secrets by --env")
      if let path = searchPath(for: words.first ?? "") {
        settings["path"] = .string(path)
        lines += "    path: \(path)\n"
      }
    }
    if !names.isEmpty {
      var environment = ValueMap()
      for name in names { environment[name] = .string(try await text(name)) }
      settings["secretEnvironment"] = .map(environment)
      lines += "    secretEnvironment:\n" + names.map { "      \($0): ${{ secrets.\($0) }}\n" }.joined()
    }
    if let name = parsed["token"].text {
      settings["token"] = .string(try await text(name))
      lines += "    token: ${{ secrets.\(name) }}\n"
    }
    return (.map(settings), lines)
  }

  /// Where a program is looked for that the shell finds and a connection as it is doesn't; nil for any other.
  private func searchPath(for program: String) -> String? {
    let usual = MCPKind.searchPath
    guard !program.contains("/"), ChildProcess.file(of: program, in: usual, from: root) == nil,
      let path = Workspace.environmentVariables["PATH"],
      let file = ChildProcess.file(of: program, in: path, from: root), file.hasPrefix("/")
    else { return nil }
    return "\(Workspace.folder(of: file)):\(usual)"
  }

  /// What is in a document: a file, from the folder of errand.yaml on, or what is at an address.
  private func contents(of document: String) async throws(RuntimeError) -> [UInt8] {
    if isAddress(document) {
      // The lock keeps the address, and belongs in version control.
      if HTTPURL(document)?.userInfo != nil {
        throw RuntimeError(
          .usage,
          "the address has a user or a password in it, which the lock would keep; download the document, and name "
            + "the file")
      }
      let request = HTTPRequest("GET", document, headers: ["Accept": "application/json, application/yaml, */*;q=0.5"])
      let response: HTTPResponse
      do throws(HTTPError) { response = try await HTTPClient().send(request) } catch {
        throw RuntimeError(.unavailable, error.message)
      }
      guard response.isSuccess else {
        throw RuntimeError(.unavailable, "GET \(request.redactedURL) was answered with HTTP status \(response.status)")
      }
      return response.body
    }
    do throws(FileError) {
      return try Files.read(Workspace.absolute(document, in: root), limit: PluginLock.mostBytes)
    } catch {
      throw RuntimeError(.noInput, error.description)
    }
  }

  /// The settings of the plugin's connection, with their secrets.
  private func settings(of plugin: String, in workspace: Workspace) async throws(RuntimeError) -> Value {
    let own = workspace.configuration.connections.filter { $0.plugin == plugin }
    guard let connection = own.first(where: { $0.name == plugin }) ?? own.first else { return .map(ValueMap()) }
    let sources = workspace.secretSources()
    var values = ValueMap()
    for secret in connection.secrets {
      let found: SecretSources.Found?
      do throws(SecretError) { found = try await sources.find(secret.name) } catch {
        throw RuntimeError(.configuration, error.message)
      }
      guard let text = found?.value else {
        throw RuntimeError(
          .configuration, "missing secret: \(secret.name), of connection '\(connection.name)' in errand.yaml")
      }
      values[secret.name] = .string(text)
    }
    do throws(LocatedEvaluationError) { return try connection.settings.evaluate(in: [.map(values)]) } catch {
      throw RuntimeError(.configuration, "the settings of connection '\(connection.name)' can't be computed")
    }
  }

  // MARK: Updating

  private func update() async throws(RuntimeError) -> ExitCode {
    let name = parsed["name"].text ?? ""
    let old = try known(name)
    let workspace = try dispatch.workspace()
    let new = try await renewed(old, in: workspace)
    let difference = try RuntimeError.ofLock { () throws(PluginLockError) in try LockDifference(from: old, to: new) }
    let isSame =
      try RuntimeError.ofLock { () throws(PluginLockError) in try new.written() } == (try? Files.read(path(of: name)))
    if isSame {
      console.say("\(file(of: name)) is up to date")
      return .done
    }
    for line in difference.lines { console.out(Style.ofDifference(line, console.colourOut)) }
    if difference.isEmpty { console.say("only sentences and where it comes from are different") }
    tellLeftOut(of: new)
    let faults = newFaults(in: workspace, with: LockFolder(root, kinds: everyLockKind, with: [name: new]))
    if !faults.isEmpty {
      console.show(Diagnostics(faults))
      guard parsed["force"].isGiven || parsed["dry-run"].isGiven else {
        throw RuntimeError(
          .invalid,
          "\(file(of: name)) was left as it is: recipes don't fit what the service offers now; change them, "
            + "or write it nonetheless with --force")
      }
    }
    if parsed["dry-run"].isGiven { return .hasChanges }
    try write(new)
    console.say("wrote \(file(of: name)); a running 'errand serve' reads it after SIGHUP")
    return .done
  }

  /// The lock as its source gives it now.
  private func renewed(_ old: PluginLock, in workspace: Workspace) async throws(RuntimeError) -> PluginLock {
    let given = try effects()
    if old.kind == MCPKind.name {
      try refuse(["only"], "is for openapi")
      var source = try RuntimeError.ofLock { () throws(PluginLockError) in try MCPSource(of: old) }
      source.trustsHints = source.trustsHints || parsed["trust-hints"].isGiven
      source.effects.merge(given) { $1 }
      let settings = try await settings(of: old.name, in: workspace)
      let changed = source
      return try await RuntimeError.ofLock { () async throws(PluginLockError) in
        try await MCPKind.lock(name: old.name, source: changed, settings: settings, in: context(of: old.name))
      }
    }
    try refuse(["trust-hints"], "is for mcp")
    guard let document = old.source["document"]?.string else {
      throw RuntimeError(.invalid, "\(old.file): its source names no document; remove it, and add it again")
    }
    let bytes = try await contents(of: document)
    let only = parsed["only"].isGiven ? parsed["only"].texts : nil
    return try RuntimeError.ofLock { () throws(PluginLockError) in
      try OpenAPIKind.updated(old, document: bytes, only: only, giving: given)
    }
  }

  /// The errors in recipes, tests and errand.yaml that other plugins would bring.
  private func newFaults(in workspace: Workspace, with plugins: LockFolder) -> [Diagnostic] {
    func faults(_ workspace: Workspace) -> [Diagnostic] {
      var found =
        workspace.configuration.source.map {
          Configuration.read($0, catalog: workspace.catalog).diagnostics
        } ?? []
      for path in (try? workspace.recipeFiles()) ?? [] {
        guard let source = try? workspace.environment.read(path) else { continue }
        found += Recipe.check(source, in: workspace.environmentOfChecks()).diagnostics
      }
      return found.filter { $0.severity == .error }
    }
    let known = Set(faults(workspace).map(\.rendered))
    return faults(workspace.with(plugins)).filter { !known.contains($0.rendered) }
  }

  // MARK: Removing and listing

  private func remove() throws(RuntimeError) -> ExitCode {
    let name = parsed["name"].text ?? ""
    // One that can't be read serves no recipe, and may be what errand.yaml can't be read for.
    let isUsable = locks.fault(of: name) == nil
    if isUsable { _ = try known(name) }
    if isUsable, !parsed["force"].isGiven {
      let faults = newFaults(
        in: try dispatch.workspace(), with: LockFolder(root, kinds: everyLockKind, with: [name: nil]))
      if !faults.isEmpty {
        console.show(Diagnostics(faults))
        throw RuntimeError(
          .invalid, "'\(name)' is in use, and was left; change these, or remove it nonetheless with --force")
      }
    }
    try RuntimeError.creating { () throws(FileError) in try Files.remove(path(of: name)) }
    console.say("removed \(file(of: name))")
    return .done
  }

  private func list() -> ExitCode {
    let locks = locks
    var rows: [[String]] = []
    var entries: [Value] = []
    for name in locks.names {
      let lock = locks.lock(name)
      let fault =
        dispatch.catalog.isCompiled(name)
        ? "errand has a plugin '\(name)' of its own; remove this file" : locks.examined(name)
      let source = lock.map(Self.source) ?? ""
      rows.append([
        name.safe, lock?.kind ?? "", lock.map { "\($0.actionNames.count)" } ?? "", source.safe, fault?.safe ?? "ok",
      ])
      var entry = ValueMap([("name", .string(name)), ("file", .string(file(of: name)))])
      if let lock {
        entry["kind"] = .string(lock.kind)
        entry["source"] = .string(source)
        entry["actions"] = .list(lock.actionNames.map(Value.string))
      }
      if let fault { entry["fault"] = .string(fault) }
      entries.append(.map(entry))
    }
    if asJSON {
      console.out(JSON.shown(.list(entries), .pretty))
    } else if rows.isEmpty {
      console.say("this folder has no plugins of its own; 'errand plugin add' adds one, and 'errand actions' lists all")
    } else {
      console.out(
        console.table(["PLUGIN", "KIND", "ACTIONS", "SOURCE", "STATE"], rows, cutFirst: ["SOURCE", "STATE"]))
    }
    return .done
  }

  /// Where a plugin's actions come from, in a few words.
  private static func source(of lock: PluginLock) -> String {
    if let place = lock.source["document"]?.string ?? lock.source["url"]?.string { return place }
    let words = [lock.source["command"]?.string ?? ""] + (lock.source["arguments"]?.list ?? []).compactMap(\.string)
    return words.map(\.shellQuoted).joined(separator: " ")
  }

  // MARK: Telling

  private func actionTable(of lock: PluginLock) throws(RuntimeError) -> String {
    var rows: [[String]] = []
    for name in lock.actionNames {
      guard let action = try RuntimeError.ofLock({ () throws(PluginLockError) in try lock.action(name) }) else {
        continue
      }
      rows.append([
        "\(lock.name).\(name)", action.effect.written, action.effectSource.words,
        MarkdownText.plain(action.summary).safe,
      ])
    }
    return console.table(["ACTION", "EFFECT", "SAID BY", "WHAT IT DOES"], rows, cutFirst: ["WHAT IT DOES"])
  }

  /// What a server says of its tools' effects, where that isn't trusted.
  private func tellHints(of lock: PluginLock) {
    guard lock.kind == MCPKind.name, lock.source["trustHints"]?.bool != true else { return }
    func tools(_ hint: String) -> String {
      lock.actionNames.filter { lock.document["actions"]?[$0]?["call"]?["hints"]?[hint]?.bool == true }
        .joined(separator: ", ")
    }
    for (hint, claim) in [("readOnlyHint", "only reads"), ("idempotentHint", "can be repeated")] {
      let names = tools(hint)
      if !names.isEmpty { console.say("the server says that it \(claim): \(names)") }
    }
    if !tools("readOnlyHint").isEmpty || !tools("idempotentHint").isEmpty {
      console.say(
        "hints of a server aren't trusted by default; if you trust them, run 'errand plugin update \(lock.name) "
          + "--trust-hints', or give one tool its effect with '--effect NAME=read'")
    }
  }

  private func tellLeftOut(of lock: PluginLock) {
    guard lock.kind == OpenAPIKind.name else { return }
    for (operation, reason) in OpenAPIKind.leftOut(lock) { console.say("left out: \(operation.safe): \(reason.safe)") }
  }
}

extension LockedAction.EffectSource {
  /// Who says it, in a table.
  fileprivate var words: String {
    switch self {
    case .method: "its HTTP method"
    case .document: "the document"
    case .hint: "the server's hints"
    case .program: "the program"
    case .person: "you"
    case .standard: "default"
    }
  }
}

extension RuntimeError {
  /// Makes or reads a lock.
  fileprivate static func ofLock<Result>(_ body: () throws(PluginLockError) -> Result) throws(RuntimeError) -> Result {
    do throws(PluginLockError) { return try body() } catch { throw RuntimeError(.invalid, error.message) }
  }

  fileprivate static func ofLock<Result>(
    _ body: () async throws(PluginLockError) -> Result
  ) async throws(RuntimeError) -> Result {
    do throws(PluginLockError) { return try await body() } catch { throw RuntimeError(.invalid, error.message) }
  }
}

extension Diagnostic {
  /// The whole text, by which a fault is known again.
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
