import ActionKit
import AgentRuntime
import Basics
import ChildProcesses
import CommandLineParser
import MCPPlugins
import OpenAPIPlugins
import PluginLocks
import Recipes
import SecretSources

// `errand plugin add`: makes a lock from a source, and tells the user about it.

extension PluginCommand {
  func add() async throws(RuntimeError) -> ExitCode {
    let name = parsed["name"].text ?? ""
    if let fault = Names.fault(in: name) {
      let isSource =
        name.contains("/") || [".json", ".yaml", ".yml"].contains { name.hasSuffix($0) } || Files.exists(name)
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
        .cannotCreate,
        "\(file(of: name)) is there already; 'errand plugin update \(name)' reads its source again, and 'errand plugin update \(name) SOURCE' "
          + "another one")
    }
    let lock: PluginLock
    let sketch: String
    var notes: [String] = []
    var needsSettings = false
    let given = parsed["source"].texts
    if parsed["kind"].text == "mcp" {
      try refuse(["only"], "is for openapi")
      var source = MCPSource(
        try server(given), trustsHints: parsed["trust-hints"].isGiven,
        effects: try effects(takingBack: false).compactMapValues { $0 })
      source.readsDatesAsText = parsed["dates"].text == "text"
      let (settings, lines) = try await startingSettings(of: source)
      lock = try await self.lock(of: source, named: name, settings)
      if case .command(let words) = source.server { tellSecrets(in: words) }
      // Runs need the settings that it was started with again.
      needsSettings = !lines.isEmpty
      sketch = needsSettings ? "  \(name):\n\(lines)" : MCPKind.connectionSketch(lock)
    } else {
      try refuse(["trust-hints", "env", "token"], "is for mcp")
      let source = try document(given)
      let bytes = try await contents(of: source)
      let effects = try effects(takingBack: false).compactMapValues { $0 }
      lock = try RuntimeError.ofLock { () throws(PluginLockError) in
        try OpenAPIKind.lock(
          name: name, document: bytes, source: source, only: parsed["only"].texts, effects: effects,
          readsDatesAsText: parsed["dates"].text == "text", files: files(of: source), file: file(of: name))
      }
      sketch = OpenAPIKind.connectionSketch(lock)
      notes = OpenAPIKind.connectionNotes(lock)
    }
    try write(lock)
    console.out(try actionTable(of: lock))
    tellLeftOut(of: lock)
    tellHints(of: lock)
    console.say(
      "\nwrote \(file(of: name)); keep it with your recipes; a running 'errand serve' reads it within a minute")
    renewSchemas()
    let isReady =
      !needsSettings && !OpenAPIKind.asksForCredentials(lock)
      && dispatch.catalog.looking(in: root).plugin(name)?.worksUnconfigured ?? false
    let isConfigured = try Workspace.configurationFile(parsed["config"].text, besides: nil) != nil
    let place = isConfigured ? "errand.yaml" : "errand.yaml, which isn't in this folder yet"
    console.say(
      """

      \(isReady ? "No connection is needed. Optional settings go" : "Its connection goes") under 'connections:' in \
      \(place):
      \(sketch.hasSuffix("\n") ? String(sketch.dropLast()) : sketch)

      \(notes.isEmpty ? "" : notes.joined(separator: "\n").safeLines(indent: "") + "\n\n")\
      'errand actions \(name)' shows what each action takes and gives.\(count(ofLeftOut: lock).map { " \($0)." } ?? "")
      """)
    return .done
  }

  /// The one document that is given, as the lock has it.
  func document(_ given: [String]) throws(RuntimeError) -> String {
    guard given.count == 1, let document = given.first else {
      throw RuntimeError(.usage, "a plugin of kind openapi has one document, and \(given.count) are given")
    }
    try refuseOtherAddress(document)
    return isAddress(document) ? document : displayed(document)
  }

  /// A path as the lock has it: from the folder of errand.yaml on, if it is in there.
  private func displayed(_ path: String) -> String {
    let whole = Recipe.path(Workspace.absolute(path, in: Workspace.workingFolder), besides: "")
    return whole.rest(in: root).map { String($0.dropFirst()) } ?? whole
  }

  func server(_ words: [String]) throws(RuntimeError) -> MCPSource.Server {
    guard let first = words.first else {
      throw RuntimeError(.usage, "a plugin of kind mcp needs an address or a command")
    }
    guard isAddress(first) else {
      try refuseOtherAddress(first)
      if first.contains("/"), Workspace.isFolder(Workspace.absolute(first, in: root)) {
        throw RuntimeError(.usage, "'\(first)' is a folder; name a program in it")
      }
      return .command(words)
    }
    if words.count > 1 {
      throw RuntimeError(.usage, "unexpected argument '\(words[1])' after the address \(first)")
    }
    try refuseCredentials(in: first, "--token NAME sends a secret in a header instead")
    return .url(first)
  }

  /// The settings to start or ask a server with when it is added, and the same settings as lines of errand.yaml.
  private func startingSettings(of source: MCPSource) async throws(RuntimeError) -> (Value, lines: String) {
    var settings = ValueMap()
    var lines = ""
    let secrets = secretSources
    func text(_ name: String) async throws(RuntimeError) -> String {
      if name.contains("=") {
        throw RuntimeError(
          .usage, "--env and --token take the name of a variable, but found '\(name.prefix { $0 != "=" })=…'")
      }
      guard let found = try await secret(name, in: secrets) else {
        throw RuntimeError(
          .configuration,
          "missing secret: \(name.safe), to give to the server; set the environment variable of that name, or name a "
            + "source that has it under 'secrets' in errand.yaml")
      }
      return found
    }
    let names = parsed["env"].texts
    switch source.server {
    case .url: try refuse(["env"], "is for servers that are started by a command")
    case .command(let words):
      try refuse(["token"], "is for servers at an address; a command gets secrets by --env")
      try refuseUnknownProgram(words.first ?? "")
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

  /// Refuses a program that isn't found: no connection exists yet that could say where it is.
  func refuseUnknownProgram(_ program: String) throws(RuntimeError) {
    let isAddress = mayBeAddress(program)
    guard isAddress || !program.contains("/"), searchPath(for: program) == nil,
      ChildProcess.file(of: program, in: MCPKind.searchPath, from: root) == nil
    else { return }
    let fix =
      isAddress
      ? "an address begins with https:// or http://"
      : program.contains(" ") ? "write the command and its arguments without quotes around them all" : "give its path"
    throw RuntimeError(.usage, "no program is named '\(program.safe)' in $PATH; \(fix)")
  }

  /// Where a program is looked for that the shell finds and a connection as it is doesn't; nil for any other.
  func searchPath(for program: String) -> String? {
    let usual = MCPKind.searchPath
    guard !program.contains("/"), ChildProcess.file(of: program, in: usual, from: root) == nil,
      let path = Workspace.environmentVariables["PATH"],
      let file = ChildProcess.file(of: program, in: path, from: root), file.hasPrefix("/")
    else { return nil }
    return "\(Workspace.folder(of: file)):\(usual)"
  }

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

  /// Reports the server's hints about its tools' effects, if they aren't trusted.
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

  func tellLeftOut(of lock: PluginLock) {
    for (part, reason) in lock.leftOut { console.say("left out: \(part.safe): \(reason.safe)") }
  }

  /// How many parts of its source a lock leaves out, in a sentence without its stop; nil for none.
  func count(ofLeftOut lock: PluginLock) -> String? {
    let source = lock.kind == MCPKind.name ? "server" : "document"
    return switch lock.leftOut.count {
    case 0: nil
    case 1: "1 part of the \(source) was left out, as listed above"
    case let count: "\(count) parts of the \(source) were left out, as listed above"
    }
  }
}

extension LockedAction.EffectSource {
  /// Who says it, in a table.
  var words: String {
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
