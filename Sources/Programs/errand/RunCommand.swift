import ActionKit
import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Glibc
import Recipes
import Recordings
import RunState
import Runs
import SecretSources

/// `errand run` and `errand plan`: from the command line to a run that has ended or can be resumed, or to its plan.
struct RunCommand: DispatchedCommand {
  let dispatch: Dispatch
  let time = SystemTime()

  /// A recipe to run or plan, with its inputs.
  struct Request {
    var path: String
    var recipe: Recipe
    var inputs: ValueMap
    var overrides: [String: Value]
    var isSandbox: Bool
    var isReplay: Bool
    /// The secrets that were found; a run against sandboxes or a recording does without the others.
    var secrets: Secrets
    var session: RunSession
  }

  func run() async throws(RuntimeError) -> ExitCode {
    if let remote = try await dispatch.remoteAgent() { return try await run(at: remote) }
    if parsed["sandbox"].isGiven, parsed["detach"].isGiven {
      throw RuntimeError(.usage, "--sandbox cannot be detached: its services and its state end with this process")
    }
    if parsed["confirm"].isGiven, !console.canAsk {
      throw RuntimeError(
        .usage, "--confirm needs a terminal; use 'errand plan --out' and --plan")
    }
    let replay = try parsed["replay"].text.map(recording)
    if parsed["detach"].isGiven, parsed["record"].isGiven || replay != nil {
      throw RuntimeError(.usage, "--record and --replay need this process, so the run cannot be detached")
    }
    if replay != nil, ["sandbox", "record", "plan", "confirm"].contains(where: { parsed[$0].isGiven }) {
      throw RuntimeError(
        .usage, "--replay takes the place of every service; leave out --sandbox, --record, --plan and --confirm")
    }
    if parsed["key"].isGiven, replay != nil || ["sandbox", "record"].contains(where: { parsed[$0].isGiven }) {
      throw RuntimeError(.usage, "--key finds a run in the state; leave out --sandbox, --record and --replay")
    }
    let key = try dispatch.runKey()
    let agreed = try agreedPlan()
    var request = try await request(
      agreed, isReplay: replay != nil,
      logFormat: parsed["log-format"].text.flatMap(ProgressDisplay.Format.init(rawValue:)) ?? .text)
    let recorder = parsed["record"].isGiven ? Recorder() : nil
    if let path = parsed["record"].text { try makeRoom(forRecordingAt: path) }
    request.session.access.recorder = recorder
    let result: Result<ExitCode, RuntimeError>
    do throws(RuntimeError) { result = .success(try await run(request, agreed, replay, key)) } catch {
      result = .failure(error)
    }
    // A run that was refused before it began left nothing to record.
    if let recorder, let path = parsed["record"].text, !recorder.isEmpty || (try? result.get()) != nil {
      var recording = recorder.recording(of: request.recipe.name)
      let code = try? result.get()
      recording.isPartial = code == nil || code == .interrupted || code == .terminated
      try keep(recording, at: path)
    }
    return try result.get()
  }

  private func run(
    _ request: Request, _ agreed: Value?, _ replay: Recording?, _ key: String?
  ) async throws(RuntimeError) -> ExitCode {
    let session = request.session
    if let replay {
      return try await session.replay(
        replay, origin(request, replaying: replay), of: request.recipe, asJSON: asJSON)
    }
    guard request.isSandbox else {
      try await approve(request, agreed)
      await session.access.readClock()
      let origin = origin(request)
      let secrets = session.workspace.neededSecrets(of: request.recipe, inputs: .map(request.inputs)).map(\.name)
      if parsed["detach"].isGiven { return try await session.detach(origin, reading: secrets, key: key) }
      return try await session.run(origin, reading: secrets, key: key, asJSON: asJSON)
    }
    return try await session.inSandboxes(of: request.recipe, isTold: !asJSON) {
      sandboxes async throws(RuntimeError) in
      try await approve(request, agreed, in: sandboxes)
      return try await session.run(origin(request), in: sandboxes, asJSON: asJSON)
    }
  }

  /// Reads the request from the command line.
  ///
  /// - Parameter agreed: A plan whose inputs are used if the command line gives none.
  func request(
    _ agreed: Value? = nil, isReplay: Bool = false, logFormat: ProgressDisplay.Format = .text
  ) async throws(RuntimeError) -> Request {
    let path = parsed["recipe"].text ?? ""
    let workspace = try dispatch.workspace(besides: path)
    // Faulty settings are reported once the recipe is known.
    var settings: [String: Value] = [:]
    for text in parsed["set"].texts {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      if parts.count == 2 { settings[parts[0]] = .string(parts[1]) }
    }
    let isSandbox = parsed["sandbox"].isGiven
    let environment = workspace.environment(isApart: isSandbox || isReplay, overrides: settings)
    let recipe = try workspace.recipe(at: path, in: environment, show: console.show)
    let planned = if let agreed { try await MadePlan.inputs(of: agreed, in: workspace) } else { ValueMap() }
    let inputs = try inputs(of: recipe, planned)
    let overrides = try overrides(for: recipe, in: workspace)
    let sources = workspace.secretSources()
    let secrets =
      isSandbox || isReplay
      ? Secrets(environment: await workspace.secretsApart(of: recipe, inputs: .map(inputs), from: sources))
      : try await workspace.secrets(of: recipe, inputs: .map(inputs), overrides: overrides, from: sources)
    return Request(
      path: path, recipe: recipe, inputs: inputs, overrides: overrides, isSandbox: isSandbox,
      isReplay: isReplay, secrets: secrets,
      session: RunSession(
        workspace, sources, console, time: time, format: logFormat, isApart: isSandbox || isReplay))
  }

  private func origin(_ request: Request, replaying recording: Recording? = nil) -> RunCreated {
    var random = SystemRandomNumberGenerator()
    let now = recording?.at ?? request.session.access.time.now()
    let zone = recording?.zone ?? request.recipe.folderZone
    let isApart = request.isSandbox || request.isReplay
    let base = isApart ? recording?.base : request.session.workspace.configuration.server.base
    let run = recording?.run ?? UUID7(at: now, using: &random).description
    request.session.workspace.checkedRecipes.keep(request.recipe)
    request.session.access.recorder?.begin(run, at: now, zone: zone, base: base)
    var created = RunCreated(
      run: run, at: now, recipe: request.recipe.name, file: request.path,
      folder: request.path.hasPrefix("/") ? nil : Workspace.workingFolder,
      texts: .inline(.map(request.recipe.texts)), inputs: .map(request.inputs), overrides: request.overrides,
      sandbox: isApart, program: version, language: LanguageVersion.current,
      group: request.recipe.group, zone: zone)
    created.base = base
    if !isApart { request.session.workspace.place(&created, of: request.recipe) }
    return created
  }

  // MARK: Recordings

  private func recording(at path: String) throws(RuntimeError) -> Recording {
    do {
      return try Recording(reading: Source(name: path, bytes: try Files.read(path)))
    } catch let error as FileError {
      throw RuntimeError(.noInput, error.description)
    } catch let error as Diagnostics {
      console.error(error.rendered(colour: console.colourError))
      throw RuntimeError(.invalid, "'\(path)' cannot be replayed")
    } catch {
      throw RuntimeError(.invalid, "\(error)")
    }
  }

  /// Refuses a path that cannot take a recording before any work is done that would be lost.
  private func makeRoom(forRecordingAt path: String) throws(RuntimeError) {
    var isThere = false
    do throws(FileError) {
      try Files.makeFolder(Workspace.folder(of: path))
      isThere = try Files.kind(of: path) == .file
      if let kind = try Files.kind(of: path), kind != .file {
        throw FileError(.write, path, .system(kind == .folder ? EISDIR : EINVAL))
      }
      let trial = "\(path).trial"
      try Files.write([], to: trial, mode: 0o600, isDurable: false)
      try Files.remove(trial)
    } catch {
      throw RuntimeError(
        .cannotCreate,
        "--record: \(error.description); name a file that can be written beside others. Nothing was started")
    }
    guard !isThere || parsed["force"].isGiven else {
      throw RuntimeError(
        .cannotCreate,
        "--record: '\(path)' already exists; name another file, or replace it with --force. Nothing was started")
    }
  }

  /// Only the owner may read the file, because it may hold pupils' data.
  private func keep(_ recording: Recording, at path: String) throws(RuntimeError) {
    try RuntimeError.creating { () throws(FileError) in
      try Files.write(Array(recording.text.utf8), to: path, mode: 0o600)
    }
    let rest = recording.isPartial ? "; the run was interrupted, so what it does from here on can't be replayed" : ""
    console.say("\(recording.tally) recorded in \(path)\(rest)")
    for file in recording.filesLeftOut {
      console.say(
        "'\(file)' was left out of the recording, because it is larger than 8 MiB or holds a secret; give it to a test "
          + "under 'files'")
    }
  }

  // MARK: Inputs

  private func inputs(of recipe: Recipe, _ planned: ValueMap) throws(RuntimeError) -> ValueMap {
    var given: [(name: String, input: GivenInput)] = []
    if parsed["inputs"].text == nil, parsed["input"].texts.isEmpty {
      given = recipe.given(byPlan: planned)
    }
    given += try dispatch.givenInputs()
    switch recipe.inputs(from: given) {
    case .success(let inputs): return inputs
    case .failure(let faults):
      console.error(faults.rendered(colour: console.colourError))
      throw RuntimeError(.invalid, "the inputs don't match what '\(recipe.name)' declares")
    }
  }

  private func overrides(for recipe: Recipe, in workspace: Workspace) throws(RuntimeError) -> [String: Value] {
    var overrides: [String: Value] = [:]
    for text in parsed["set"].texts {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let path = parts[0].split(separator: ".").map(String.init)
      guard parts.count == 2, path.count == 3, path[0] == "connections" else {
        throw RuntimeError(.usage, "--set takes connections.NAME.SETTING=VALUE, but found '\(text)'")
      }
      let names = recipe.connectionNames
      guard names.contains(path[1]) else {
        let guess = path[1].nearest(among: names).map { "; did you mean '\($0)'?" } ?? ""
        throw RuntimeError(.usage, "--set: the recipe uses no connection '\(path[1])'\(guess)")
      }
      let plugin = workspace.configuration.plugins[path[1]] ?? path[1]
      let schema = workspace.catalog.plugin(plugin)?.configuration
      guard let field = schema?.fields.first(where: { $0.name == path[2] }) else {
        let guess = path[2].nearest(among: schema?.fields.map(\.name) ?? []).map { "; did you mean '\($0)'?" } ?? ""
        throw RuntimeError(.usage, "--set: connection '\(path[1])' has no setting '\(path[2])'\(guess)")
      }
      if field.isSecretSetting {
        throw RuntimeError(
          .usage, "--set: '\(path[2])' is a secret, which the record of the run must not hold; set it in errand.yaml")
      }
      overrides[parts[0]] = field.type.value(ofText: parts[1])
    }
    return overrides
  }
}

extension FieldSchema {
  /// Whether a value of this setting must not be kept.
  var isSecretSetting: Bool {
    if case .unless = secrecy { true } else { type.isSecret }
  }
}

extension FieldType {
  /// The value of a setting given on the command line.
  fileprivate func value(ofText text: String) -> Value {
    switch self {
    case .int: Int(text).map { .int($0) } ?? .string(text)
    case .double: Double(text).map { .double($0) } ?? .string(text)
    case .bool: text == "true" ? .bool(true) : text == "false" ? .bool(false) : .string(text)
    case .optional(let wrapped): wrapped.value(ofText: text)
    default: .string(text)
    }
  }
}
