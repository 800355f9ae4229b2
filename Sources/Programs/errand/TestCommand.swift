import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Glibc
import RecipeEditing
import RecipeTesting
import Recipes

/// `errand test`: tests recipes in the sandboxes of their services and on a clock of their own.
struct TestCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() async throws(RuntimeError) -> ExitCode {
    let workspace = try dispatch.workspace(besides: parsed["file"].texts.first)
    let code = try await runOnce(in: workspace)
    guard parsed["watch"].isGiven else { return code }
    let (events, sink) = AsyncStream.makeStream(of: ServiceEvent.self)
    // Ends with the signal; a signal that never comes is awaited for as long as the process lives.
    let end = Task { sink.yield(.end(await Signals.shared.next())) }
    defer { end.cancel() }
    var following = events.makeAsyncIterator()
    while true {
      let folders = Set(try files(of: workspace).map(Workspace.folder(of:)) + workspace.recipeFolders)
      let watch = FolderWatch(folders.sorted()) { sink.yield(.run) }
      console.say("watching \(folders.sorted().joined(separator: ", ")); stop with Ctrl-C")
      let next = await following.next()
      watch?.stop()
      guard case .run = next else {
        if case .end(let code) = next { return code }
        return .interrupted
      }
      _ = try await runOnce(in: workspace)
    }
  }

  /// The events that the command handles.
  private enum ServiceEvent: Sendable {
    case run
    case end(ExitCode)
  }

  private func files(of workspace: Workspace) throws(RuntimeError) -> [String] {
    let given = parsed["file"].texts
    if !given.isEmpty { return given }
    var paths: [String] = []
    for folder in workspace.recipeFolders.flatMap({ [$0, "\($0)/tests"] }) where Files.exists(folder) {
      do throws(FileError) {
        paths += try Files.list(folder, showingOthers: true).filter { $0.hasSuffix(".test.yaml") }.map {
          "\(folder)/\($0)"
        }
      } catch {
        throw RuntimeError(.noInput, error.description)
      }
    }
    return paths
  }

  private func runOnce(in workspace: Workspace) async throws(RuntimeError) -> ExitCode {
    let paths = try files(of: workspace)
    let plugins = PluginTests(workspace, clock: SystemTime())
    let pluginNames = parsed["file"].texts.isEmpty ? plugins.names : []
    guard !paths.isEmpty || !pluginNames.isEmpty else {
      throw RuntimeError(
        .noInput, "there is no test file in \(workspace.recipeFolders.map { "'\($0)/tests'" }.joined(separator: ", "))")
    }
    let clock = SystemTime()
    let began = clock.elapsed()
    let format = parsed["format"].text ?? "text"
    let run = TestRun(workspace.surroundingsOfTests(OpenFiles()))
    var outcomes = await run.run(paths, width: max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))) { outcome in
      if format == "text" { show(outcome) }
    }
    for name in pluginNames {
      let outcome = await plugins.outcome(of: name)
      if format == "text" { show(outcome) }
      outcomes.append(outcome)
    }
    let report = TestReport(outcomes)
    switch format {
    case "json": console.out(json: report.json)
    case "junit": console.out(report.junit)
    case "github": if !report.github.isEmpty { console.out(report.github) }
    default:
      let files = outcomes.count == 1 ? "1 file" : "\(outcomes.count) files"
      let counts = "\(report.passed) passed" + (report.failed > 0 ? ", \(report.failed) failed" : "")
      console.say("\(files): \(counts) (\((clock.elapsed() - began).spoken))")
    }
    if parsed["update"].isGiven { try update(outcomes) }
    let isMissing = paths.count == 1 && !Files.exists(paths[0])
    return isMissing ? .noInput : report.hasFaults ? .invalid : report.failed > 0 ? .failed : .done
  }

  private func show(_ outcome: FileOutcome) {
    console.out(Style.bold.applied(to: outcome.file, console.colourOut))
    if !outcome.faults.isEmpty { console.out(Diagnostics(outcome.faults).rendered(colour: console.colourOut)) }
    for test in outcome.cases {
      let mark =
        test.hasPassed ? Style.green.applied(to: "✓", console.colourOut) : Style.red.applied(to: "✗", console.colourOut)
      let took = Style.dim.applied(to: "\(test.took.nanoseconds / 1_000_000) ms", console.colourOut)
      console.out("  \(mark) \(test.name)  \(took)")
      for failure in test.failures { console.out(failure.rendered(colour: console.colourOut)) }
    }
  }

  private func update(_ outcomes: [FileOutcome]) throws(RuntimeError) {
    for outcome in outcomes {
      guard let bytes = outcome.updated else { continue }
      try RuntimeError.creating { () throws(FileError) in try Files.write(bytes, to: outcome.file) }
      console.say("\(outcome.file) is updated; look at the difference before you keep it")
    }
  }
}

extension Workspace {
  /// The folder of tests: the folder with sandboxes in place of the services.
  ///
  /// - Parameter files: The texts that replace those on disk.
  func surroundingsOfTests(_ files: OpenFiles) -> TestSurroundings {
    var environment = environment(isApart: true)
    environment.read = { path throws(FileError) in
      // A recording may be as large as the run's requests and answers.
      path.hasSuffix(".json") ? Source(name: path, bytes: try Files.read(path)) : try files.read(path)
    }
    return TestSurroundings(environment: environment, clock: SystemTime())
  }
}
