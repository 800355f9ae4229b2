import ActionKit
import Agent
import AgentRuntime
import Basics
import CommandLineParser
import Recipes
import Recordings
import RunState
import Runs

extension RunCommand {
  /// `errand plan`: shows what a run would change.
  func plan() async throws(RuntimeError) -> ExitCode {
    let request = try await request()
    guard request.isSandbox else { return try show(try await plan(request), request) }
    return try await request.session.inSandboxes(of: request.recipe, isTold: false) {
      sandboxes async throws(RuntimeError) in
      try show(try await plan(request, in: sandboxes), request)
    }
  }

  /// A plan with the document that a file keeps.
  private struct Made {
    var plan: Plan
    var recipe: String
    var document: Value

    /// When its clock began.
    var instant: Timestamp? { document["plannedAt"]?.string.flatMap { Timestamp($0) } }
  }

  private func plan(
    _ request: Request, in sandboxes: Sandboxes? = nil, at instant: Timestamp? = nil
  ) async throws(RuntimeError) -> Made {
    let (session, workspace) = (request.session, request.session.workspace)
    let factory = session.access.factory(standIns: sandboxes?.settings ?? [:])
    let texts = Value.map(request.recipe.texts)
    // Checked again, so that its expressions can handle values that are not known yet.
    guard
      let recipe = factory.check(
        request.path, among: texts, zone: request.recipe.folderZone, isForPlan: true
      ).recipe
    else {
      throw RuntimeError(.invalid, "'\(request.path)' cannot be planned")
    }
    let snapshot = Snapshot()
    let book = await workspace.secretBook(session.secrets)
    let services = try workspace.services(
      for: recipe, secrets: request.secrets, hiding: book.all, overrides: request.overrides,
      standIns: factory.standIns, time: session.time, pool: factory.pool,
      interceptor: { snapshot.transport(of: $0, over: $1) })
    let inputs = Value.map(request.inputs)
    var values: [String: Value] = [:]
    let isLocal = { (connection: String) in
      workspace.catalog.plugin(workspace.configuration.plugins[connection] ?? connection)?.isLocal ?? false
    }
    if !request.isSandbox, recipe.connectionNames.contains(where: isLocal) {
      // Read from the folder, whichever process holds it.
      do throws(StateError) { values = try ValuesOnDisk.read(in: workspace.stateFolder, program: version) } catch {
        throw RuntimeError(.unavailable, error.message)
      }
      for (name, value) in values {
        // A value that cannot be restored can be replaced and removed, but not read.
        values[name] = (try? await book.restored(value, as: "the stored value '\(name)'")) ?? value
      }
    }
    let now = instant ?? session.time.now()
    let plan = await Planner.plan(
      recipe, inputs: inputs, secrets: request.secrets, services: services, values: values,
      time: session.time, start: now, folder: sandboxes?.folder ?? workspace.root)
    var heading = ValueMap()
    heading["recipe"] = .string(recipe.name)
    heading["file"] = .string(request.path)
    do {
      heading["sha256"] = .string(try sha256(JSON.write(texts)))
    } catch {
      throw RuntimeError(.unavailable, "the recipe's hash cannot be computed: \(error)")
    }
    heading["plannedAt"] = .timestamp(now)
    heading["program"] = .string(version)
    heading["sandbox"] = .bool(request.isSandbox)
    let overrides = ValueMap(request.overrides.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    do throws(StateError) {
      // By reference, so that a run can take them from the plan.
      heading["inputs"] = try withoutSecrets(inputs, book)
      heading["overrides"] = try withoutSecrets(.map(overrides), book)
    } catch {
      throw RuntimeError(.invalid, error.message)
    }
    do throws(JSONError) {
      // As a file holds it, so that two plans can be compared.
      let document = try JSON.parse(JSON.write(plan.document(heading), .pretty))
      return Made(plan: plan, recipe: recipe.name, document: document)
    } catch {
      throw RuntimeError(.failed, "the plan cannot be written as JSON: \(error.message)")
    }
  }

  /// Each member as it is, or by reference if it holds a secret.
  private func withoutSecrets(_ members: Value, _ book: SecretBook) throws(StateError) -> Value {
    var map = members.map ?? ValueMap()
    for member in map.members {
      let masked = try book.masked(member.value)
      if masked.isMasked { map[member.key] = .object([RunCommand.reference: StoredValue.inline(masked).encoded()]) }
    }
    return .map(map)
  }

  /// The member of a plan in place of an input that holds a secret.
  private static let reference = "$withSecret"

  /// The inputs of a plan, with the secrets restored that it holds by reference.
  func inputs(of plan: Value, in workspace: Workspace) async throws(RuntimeError) -> ValueMap {
    var inputs = plan["inputs"]?.map ?? ValueMap()
    var book: SecretBook?
    for member in inputs.members {
      guard let kept = member.value.map, kept.count == 1, let reference = kept[RunCommand.reference],
        case .inline(let masked)? = try? StoredValue(reading: reference)
      else { continue }
      // The files are read once, and only if an input needs them.
      let known = if let book { book } else { await workspace.secretBook(workspace.secretSources()) }
      book = known
      do throws(StateError) {
        inputs[member.key] = try await known.restored(masked, as: "the input '\(member.name ?? "")' of the plan")
      } catch {
        throw RuntimeError(error)
      }
    }
    return inputs
  }

  private func report(_ made: Made, _ request: Request) -> PlanReport {
    PlanReport(
      plan: made.plan, recipe: made.recipe, console: console,
      clock: request.session.workspace.wallClock(time.now()))
  }

  private func show(_ made: Made, _ request: Request) throws(RuntimeError) -> ExitCode {
    let text = JSON.shown(made.document, .pretty)
    if asJSON {
      console.out(text)
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
    // The user may have taken a while to answer, and agreed to what was shown.
    try refuseMoves(from: made.document, to: try await plan(request, in: sandboxes, at: made.instant))
  }

  private func refuseMoves(from agreed: Value, to made: Made) throws(RuntimeError) {
    let moves = Plan.moves(from: agreed, to: made.document)
    for move in moves { console.error("\(Style.yellow.applied(to: "moved", console.colourError)): \(move.safe)") }
    guard moves.isEmpty else {
      throw RuntimeError(.failed, "the plan no longer holds; nothing was started. Plan again and review the changes")
    }
  }
}
