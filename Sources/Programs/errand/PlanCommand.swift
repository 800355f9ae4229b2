import ActionKit
import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Recipes
import RunState
import Runs

extension RunCommand {
  /// `errand plan`: shows what a run would change.
  func plan() async throws(RuntimeError) -> ExitCode {
    guard parsed["recipe"].isGiven else {
      throw RuntimeError(
        .usage, "'errand plan' needs RECIPE, the recipe's file, or --show with the digest of a plan that an agent keeps"
      )
    }
    let request = try await request()
    guard request.isSandbox else { return try show(try await plan(request), request) }
    return try await request.session.inSandboxes(of: request.recipe, isTold: false) {
      sandboxes async throws(RuntimeError) in
      try show(try await plan(request, in: sandboxes), request)
    }
  }

  private func plan(
    _ request: Request, in sandboxes: Sandboxes? = nil, at instant: Timestamp? = nil
  ) async throws(RuntimeError) -> MadePlan {
    var factory = request.session.access.factory(connectionOverrides: sandboxes?.settings ?? [:])
    factory.copy = sandboxes?.copy
    var run = PlannedRun(
      request.path, texts: .map(request.recipe.texts), zone: request.recipe.folderZone, inputs: request.inputs,
      secrets: request.secrets, program: version)
    run.overrides = request.overrides
    run.isSandbox = request.isSandbox
    let registry = await request.session.workspace.secretRegistry(request.session.secrets)
    return try await factory.plan(run, hiding: registry, at: instant)
  }

  private func report(_ made: MadePlan, _ request: Request) -> PlanReport {
    PlanReport(
      plan: made.plan, recipe: made.recipe, console: console,
      clock: request.session.workspace.wallClock(time.now()))
  }

  private func show(_ made: MadePlan, _ request: Request) throws(RuntimeError) -> ExitCode {
    let text = made.text
    if asJSON {
      console.out(json: text)
    } else {
      report(made, request).show()
    }
    if let path = parsed["out"].text {
      // The plan may hold data that only users of the services may see, so only its owner can read the file.
      try RuntimeError.creating { () throws(FileError) in
        try Files.write(Array("\(text)\n".utf8), to: path, mode: 0o600)
      }
      let next =
        made.plan.error == nil ? "run it with --plan \(path.shellQuoted)" : "a run would fail, so the plan can't be run"
      console.say("kept in \(path); \(next)")
    }
    if let error = made.plan.error { return error.kind == .configuration ? .configuration : .failed }
    return parsed["detailed-exitcode"].isGiven && made.plan.tally.changes > 0 ? .hasChanges : .done
  }

  // MARK: Before a run

  /// The plan that the run must keep to.
  func agreedPlan() throws(RuntimeError) -> Value? {
    guard let path = parsed["plan"].text else { return nil }
    let source: Source
    do throws(FileError) { source = Source(name: path, bytes: try Files.read(path)) } catch {
      throw RuntimeError(error.isNotFound ? .noInput : .unavailable, error.description)
    }
    let document = (try? JSON.parse(source.bytes)) ?? .null
    guard document["format"]?.int != nil, document["recipe"]?.string != nil, document["writes"]?.list != nil else {
      throw RuntimeError(
        .invalid,
        "'\(path)' isn't a plan; 'errand plan \((parsed["recipe"].text ?? "").shellQuoted) --out FILE' makes one")
    }
    return document
  }

  /// Plans the run, and refuses it if the plan differs from the agreed one or the user does not confirm it.
  func approve(
    _ request: Request, _ agreed: Value?, in sandboxes: Sandboxes? = nil
  ) async throws(RuntimeError) {
    guard agreed != nil || parsed["confirm"].isGiven else { return }
    let made = try await plan(request, in: sandboxes)
    if let agreed { try refuseMoves(from: agreed, to: made) }
    if parsed["confirm"].isGiven {
      var report = report(made, request)
      report.isAside = asJSON
      report.show()
    } else if let error = made.plan.error {
      console.error(error.text(colour: console.colourError))
    }
    if made.plan.error != nil { throw RuntimeError(.failed, "the run would fail; nothing was started") }
    guard parsed["confirm"].isGiven else { return }
    guard console.confirms("Run \(made.recipe)?") else { throw RuntimeError(.failed, "nothing was started") }
    // The user agreed to the plan on the screen, and the answer may have taken a while.
    try refuseMoves(from: made.document, to: try await plan(request, in: sandboxes, at: made.instant))
  }

  private func refuseMoves(from agreed: Value, to made: MadePlan) throws(RuntimeError) {
    let changes = Plan.changes(from: agreed, to: made.document)
    for change in changes {
      console.error("\(Style.yellow.applied(to: "changed", console.colourError)): \(change.safe)")
    }
    guard changes.isEmpty else {
      throw RuntimeError(.failed, "the plan no longer holds; nothing was started. Plan again and review the changes")
    }
  }
}
