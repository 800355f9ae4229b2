import ActionKit
import Agent
import Operations
import AgentRuntime
import Basics
import CommandLineParser
import Glibc
import Recipes
import RunState
import Runs
import SecretSources
import YAMLReader

extension Dispatch {
  /// `errand completions`: prints a shell's script, or the candidates for the word at the cursor.
  func completions() async -> ExitCode {
    let shell = parsed["shell"].text.flatMap(Shell.init(rawValue:)) ?? .bash
    guard parsed["word"].isGiven else {
      console.out(program.completions(for: shell))
      return .done
    }
    // A person waits for the answer, and a database may be away.
    signal(SIGALRM) { _ in _exit(ExitCode.done.rawValue) }
    alarm(Completion.mostSeconds)
    let asked = ShellCompletion(shell, parsed["word"].texts)
    let line = UnfinishedLine(asked.words, of: program)
    let completion = Completion(line: line, catalog: catalog)
    Console.write(asked.answer(await completion.listed(), at: line), to: STDOUT_FILENO)
    return .done
  }
}

/// The candidates at the cursor of a command line.
///
/// It reads the files of the folder, and the state: through the folder's agent if one is running, else itself, without
/// writing. It runs no command for a secret and asks no remote agent. An unreadable source has no candidates.
private struct Completion {
  let line: UnfinishedLine
  let catalog: ActionCatalog

  /// How long an answer may take.
  static let mostSeconds: UInt32 = 2
  /// The most runs and steps that are offered.
  private static let most = 50

  /// Lists the candidates for the kind of name at the cursor.
  func listed() async -> [Candidate] {
    guard case .name(let named) = line.form, let found = try? await list(named) else { return [] }
    // A word that begins with a dash would be taken for an option.
    return found.filter { !$0.word.hasPrefix("-") || !line.lead.isEmpty }
  }

  private func list(_ named: Named) async throws(RuntimeError) -> [Candidate] {
    switch named {
    case .recipeFile: return try recipeFiles()
    case .testFile: return try testFiles()
    case .recipe: return try recipes().map { Candidate($0.name, $0.summary) }
    case .run(let which): return try await runs(which)
    case .runOrSchedule: return try await schedules(nil) + (try await runs(.all))
    case .recipeFileOrRun: return ((try? recipeFiles()) ?? []) + ((try? await runs(.all)) ?? [])
    case .step(let which): return try await steps(which)
    case .schedule(let isPaused): return try await schedules(isPaused)
    case .input: return try await inputs()
    case .setting: return try settings()
    case .event: return try await events()
    case .action: return actions
    case .pluginOrAction: return plugins + actions
    case .plugin: return plugins
    case .lockedPlugin: return plugins.filter { !catalog.isCompiled($0.word) }
    case .secret: return try await secrets().map { Candidate($0) }
    case .worker: return try await workers()
    case .token: return try await tokens()
    case .topic: return HelpTopics(KeyReference.all(catalog), columns: 100).names.withoutRepeats.map { Candidate($0) }
    }
  }

  private var plugins: [Candidate] { catalog.plugins.map { Candidate($0.name, $0.summary.safe) } }
  private var actions: [Candidate] {
    catalog.actionIDs.compactMap(catalog.action).map { Candidate($0.id, MarkdownText.plain($0.summary).safe) }
  }

  // MARK: Files

  /// The text given for an option or argument.
  private func given(_ name: String) -> String? { line.values[name]?.last }

  private func workspace(besides recipe: String? = nil) throws(RuntimeError) -> Workspace {
    try Workspace(
      catalog: catalog, configurationPath: given("config"), stateFolder: given("state"), besides: recipe,
      show: { _ in })
  }

  private func recipeFiles() throws(RuntimeError) -> [Candidate] {
    try workspace().recipeFiles().map { Candidate(Completion.typed($0), Completion.head(of: $0).summary) }
  }

  private func testFiles() throws(RuntimeError) -> [Candidate] {
    try workspace().recipeFolders.flatMap { folder in
      ((try? Files.list("\(folder)/tests")) ?? []).filter(RecipeTestFile.isName)
        .map { Candidate(Completion.typed("\(folder)/tests/\($0)")) }
    }
  }

  private func recipes() throws(RuntimeError) -> [(name: String, summary: String, file: String)] {
    try workspace().recipeFiles().map { file in
      let head = Completion.head(of: file)
      return (head.name, head.summary, file)
    }
  }

  /// The path as people type it.
  private static func typed(_ path: String) -> String {
    let folder = Workspace.workingFolder + "/"
    return path.hasPrefix(folder) ? String(path.dropFirst(folder.count)) : path
  }

  /// Reads a recipe's name and summary, without a check.
  private static func head(of file: String) -> (name: String, summary: String) {
    let stem = String((file.split(separator: "/").last ?? "").prefix { $0 != "." })
    guard let bytes = try? Files.read(file, limit: 1 << 20),
      let root = try? YAMLReader.read(Source(name: file, bytes: bytes)).root
    else { return (stem, "") }
    return (root["recipe"]?.string ?? stem, (root["summary"]?.string ?? "").safe)
  }

  /// The recipe that the line names, by its file, its name or a schedule.
  private func recipe() throws(RuntimeError) -> (recipe: Recipe?, workspace: Workspace) {
    if let path = given("recipe"), ["run", "plan"].contains(line.command.first) {
      let workspace = try workspace(besides: path)
      return (workspace.recipe(path, among: .null).recipe, workspace)
    }
    let name = given("recipe") ?? given("schedule").map { String($0.prefix { $0 != "/" }) }
    let file = try recipes().first { $0.name == name }?.file
    let workspace = try workspace()
    return (file.flatMap { workspace.recipe($0, among: .null).recipe }, workspace)
  }

  // MARK: Inputs and settings

  private func inputs() async throws(RuntimeError) -> [Candidate] {
    guard let recipe = try recipe().recipe else { return [] }
    if let equals = line.value.firstIndex(of: "=") {
      let name = line.value[..<equals]
      guard let input = recipe.inputs.first(where: { $0.name == name }) else { return [] }
      var values = input.declaration.type.words
      if input.isSecret { values += try await secrets().map { "@secret:\($0)" } }
      return values.map { Candidate("\(name)=\($0)") }
    }
    let given = (line.values["input"] ?? []).map { text in String(text.prefix { $0 != "=" }) }
    return recipe.inputs.filter { !given.contains($0.name) }
      .map { Candidate("\($0.name)=", $0.summary.safe, isOpen: true) }
  }

  private func settings() throws(RuntimeError) -> [Candidate] {
    let (recipe, workspace) = try recipe()
    return (recipe?.connectionNames ?? []).flatMap { name -> [Candidate] in
      let plugin = workspace.catalog.plugin(workspace.configuration.plugins[name] ?? name)
      return (plugin?.configuration.fields ?? []).filter { !$0.isSecretSetting }
        .map { Candidate("connections.\(name).\($0.name)=", $0.summary.safe, isOpen: true) }
    }
  }

  /// The names of secrets, as far as no command has to run.
  private func secrets() async throws(RuntimeError) -> [String] {
    let workspace = try workspace()
    let known = await workspace.secretSources().inFiles().map(\.name) + workspace.configuration.secrets.commands.keys
    return Set(known).sorted { $0.precedesByScalars($1) }
  }

  // MARK: The state

  /// Asks the folder's agent or the state; nil if the state is elsewhere or missing.
  private func asking<Answer>(
    _ body: (AgentRequests, Workspace) async throws(RuntimeError) -> Answer
  ) async throws(RuntimeError) -> Answer? {
    if given("remote") != nil || String(environment: "ERRAND_REMOTE") != nil { return nil }
    let workspace = try workspace()
    var sources = workspace.configuration.secrets
    // Commands; age decrypts by one.
    (sources.commands, sources.ageFiles) = ([:], [])
    let access = AgentAccess(
      workspace: workspace,
      secrets: SecretSources(sources, folder: workspace.root, environment: Workspace.environmentVariables),
      time: SystemTime(), version: version, person: ""
    ) { _ in }
    return try await access.looking { requests throws(RuntimeError) in try await body(requests, workspace) }
  }

  private func runs(_ which: Named.Runs) async throws(RuntimeError) -> [Candidate] {
    let hasEnded = [.all, .ended, .endedBadly].contains(which)
    let found = try await asking { requests, workspace throws(RuntimeError) in
      var query = RunListQuery(limit: Completion.most)
      query.statuses = which == .endedBadly ? [.failed, .timedOut, .cancelled, .rejected] : []
      var list = try await requests.runs(query)
      // Older ones by the beginning of a whole id, which tells when they were created.
      if hasEnded, list.finished.count == Completion.most, let span = UUID7.span(beginning: line.value) {
        (query.since, query.until) = (span.lowerBound, span.upperBound)
        let known = Set(list.finished.map(\.id))
        list.finished += try await requests.runs(query).finished.filter { !known.contains($0.id) }
      }
      return (list, workspace.wallClock(SystemTime().now()))
    }
    guard let (list, clock) = found else { return [] }
    let open = list.open.filter { run in
      switch which {
      case .all, .open: true
      case .ended, .endedBadly: false
      case .waiting: run.status == .waiting
      case .asking: !run.askingSteps.isEmpty
      case .uncertain: run.status == .uncertain
      case .resumable: run.status != .uncertain
      }
    }.map { (id: $0.id, recipe: $0.recipe, status: $0.status, createdAt: $0.createdAt) }
    let ended = (hasEnded ? list.finished : []).map {
      (id: $0.id, recipe: $0.recipe, status: $0.status, createdAt: $0.createdAt)
    }
    let known = (open + ended).sorted { $0.createdAt > $1.createdAt }
    var runs = known.prefix(Completion.most)
    let tails = RunTails(of: runs.map(\.id))
    // As lists show them, unless the beginning of a whole id is typed.
    let isTail = runs.contains { tails[$0.id].hasPrefix(line.value) }
    if !isTail { runs = known.filter { $0.id.hasPrefix(line.value) }.prefix(Completion.most) }
    return runs.map { run in
      Candidate(
        isTail ? tails[run.id] : run.id, "\(run.recipe.safe) \(run.status.rawValue), \(clock.date(run.createdAt))")
    }
  }

  private func run() async throws(RuntimeError) -> RunRecord? {
    guard let name = given("run") else { return nil }
    return try await asking { requests, _ throws(RuntimeError) in try await requests.displayed(name) }
  }

  private func steps(_ which: Named.Steps) async throws(RuntimeError) -> [Candidate] {
    guard let run = try await run() else { return [] }
    let steps =
      switch which {
      case .begun: Array(run.stepsInOrder)
      case .asking: run.askingSteps
      case .uncertain: run.uncertainSteps
      }
    let named = line.values["step"] ?? []
    let left = steps.filter { !named.contains($0.path) }
    let fitting = left.filter { $0.path.hasPrefix(line.value) }
    return (fitting.isEmpty ? left : fitting).prefix(Completion.most)
      .map { Candidate($0.path, ($0.wait?.prompt ?? $0.status.rawValue).safe.clipped) }
  }

  private func events() async throws(RuntimeError) -> [Candidate] {
    guard let run = try await run() else { return [] }
    let waits = run.stepsInOrder.filter { $0.status == .waiting }
    return waits.compactMap(\.wait?.event).withoutRepeats.map { Candidate($0) }
  }

  private func schedules(_ isPaused: Bool?) async throws(RuntimeError) -> [Candidate] {
    let known = try await asking { requests, workspace throws(RuntimeError) in
      try await KnownSchedule.all(requests, workspace).known
    }
    return (known ?? []).filter { isPaused == nil || ($0.record.pause != nil) == isPaused }
      .map { Candidate($0.record.id, $0.words.safe + ($0.record.pause == nil ? "" : ", paused")) }
  }

  private func workers() async throws(RuntimeError) -> [Candidate] {
    let workers = try await asking { requests, _ throws(RuntimeError) in
      try await requests.ask(ListWorkers()).workers
    }
    return (workers ?? []).map { Candidate($0.name, $0.host.safe) }
  }

  private func tokens() async throws(RuntimeError) -> [Candidate] {
    let tokens = try await asking { requests, _ throws(RuntimeError) in
      try await requests.ask(ListTokens()).tokens
    }
    return (tokens ?? []).map { Candidate($0.name, $0.scopes.map(\.rawValue).joined(separator: ", ")) }
  }
}

extension FieldType {
  /// The words among which a value is, if they are few.
  fileprivate var words: [String] {
    switch self {
    case .bool: ["true", "false"]
    case .choice(let choices): choices
    case .optional(let wrapped): wrapped.words
    default: []
    }
  }
}

extension UUID7 {
  /// When identifiers are made whose text has a beginning; nil if none has.
  fileprivate static func span(beginning text: String) -> Range<Timestamp>? {
    func instant(_ rest: String) -> Timestamp? { UUID7(text + rest.dropFirst(text.count))?.instant }
    guard let first = instant("00000000-0000-7000-8000-000000000000"),
      let last = instant("ffffffff-ffff-7fff-bfff-ffffffffffff")?.advanced(by: .milliseconds(1)), first < last
    else { return nil }
    return first..<last
  }
}
