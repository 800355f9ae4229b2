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
  /// `errand plan`: what a run would change.
  func plan() async throws(RuntimeError) -> ExitCode {
    let request = try await request()
    guard request.isSandbox else { return try show(try await plan(request)) }
    return try await request.session.inSandboxes(of: request.recipe, isTold: false) {
      sandboxes async throws(RuntimeError) in
      try show(try await plan(request, in: sandboxes))
    }
  }

  /// A plan with the file that keeps it.
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
    // Read once more, so that its expressions can meet what is not known yet.
    guard let recipe = factory.check(request.path, among: texts, isForPlan: true).recipe else {
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
      // As they are in the folder, whoever holds it.
      do throws(StateError) { values = try ValuesOnDisk.read(in: workspace.stateFolder, program: version) } catch {
        throw RuntimeError(.unavailable, error.message)
      }
      for (name, value) in values {
        // What cannot be restored is replaced and removed as it is kept, and cannot be read.
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
      // By reference, so that a run can be given them by the plan.
      heading["inputs"] = try withoutSecrets(inputs, book)
      heading["overrides"] = try withoutSecrets(.map(overrides), book)
    } catch {
      throw RuntimeError(.invalid, error.message)
    }
    do throws(JSONError) {
      // As it is in a file, so that two of them can be compared.
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

  /// The member of what stands in a plan for an input that holds a secret.
  private static let reference = "$withSecret"

  /// The inputs of a plan, those by reference with the secrets that they were kept without.
  func inputs(of plan: Value, in workspace: Workspace) async throws(RuntimeError) -> ValueMap {
    var inputs = plan["inputs"]?.map ?? ValueMap()
    var book: SecretBook?
    for member in inputs.members {
      guard let kept = member.value.map, kept.count == 1, let reference = kept[RunCommand.reference],
        case .inline(let masked)? = try? StoredValue(reading: reference)
      else { continue }
      // Its files are read once, and only if an input asks for it.
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

  private func show(_ made: Made) throws(RuntimeError) -> ExitCode {
    let text = JSON.shown(made.document, .pretty)
    if parsed["json"].isGiven {
      console.out(text)
    } else {
      PlanReport(plan: made.plan, recipe: made.recipe, console: console).show()
    }
    if let path = parsed["out"].text {
      // It may hold what only whoever may use the services is to see.
      do throws(FileError) { try Files.write(Array("\(text)\n".utf8), to: path, mode: 0o600) } catch {
        throw RuntimeError(.cannotCreate, error.description)
      }
      let next =
        made.plan.error == nil ? "run it with --plan \(path.shellQuoted)" : "a run would fail, so the plan can't be run"
      console.say("kept in \(path); \(next)")
    }
    if let error = made.plan.error { return error.kind == .configuration ? .configuration : .failed }
    return parsed["detailed-exitcode"].isGiven && made.plan.tally.changes > 0 ? .hasChanges : .done
  }

  // MARK: Before a run

  /// The plan that the run is to keep to.
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

  /// Plans the run, and refuses it if the plan is not as agreed, or if nobody says yes.
  func approve(
    _ request: Request, _ agreed: Value?, in sandboxes: Sandboxes? = nil
  ) async throws(RuntimeError) {
    guard agreed != nil || parsed["confirm"].isGiven else { return }
    let made = try await plan(request, in: sandboxes)
    if let agreed { try refuseMoves(from: agreed, to: made) }
    if parsed["confirm"].isGiven {
      PlanReport(plan: made.plan, recipe: made.recipe, console: console, isAside: parsed["json"].isGiven).show()
    } else if let error = made.plan.error {
      console.error(error.text(colour: console.colourError))
    }
    if made.plan.error != nil { throw RuntimeError(.failed, "the run would fail; nothing was started") }
    guard parsed["confirm"].isGiven else { return }
    guard console.confirms("Run \(made.recipe)?") else { throw RuntimeError(.failed, "nothing was started") }
    // Whoever answered may have taken a while, and said yes to what was shown.
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
