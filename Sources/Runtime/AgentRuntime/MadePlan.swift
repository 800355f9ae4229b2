import ActionKit
import Agent
package import Basics
import Recipes
import Recordings
package import RunState
package import Runs

/// A plan with the document that a file keeps.
package struct MadePlan: Sendable {
  package var plan: Plan
  package var recipe: String
  package var document: Value

  /// When its clock began.
  package var instant: Timestamp? { document["plannedAt"]?.string.flatMap { Timestamp($0) } }
  /// The document as people and files have it.
  package var text: String { JSON.displayed(document, .pretty) }
}

/// A run to plan, with the data that was read for it.
package struct PlannedRun: Sendable {
  package var file: String
  package var texts: Value
  package var language = LanguageVersion.current
  package var zone: String?
  package var inputs: ValueMap
  package var overrides: [String: Value] = [:]
  package var isSandbox = false
  package var secrets: Secrets
  /// The program's version.
  package var program: String
  /// The limiters of connections that have limits.
  package var limiters: [String: ConnectionLimiter] = [:]

  package init(_ file: String, texts: Value, zone: String?, inputs: ValueMap, secrets: Secrets, program: String) {
    self.file = file
    self.texts = texts
    self.zone = zone
    self.inputs = inputs
    self.secrets = secrets
    self.program = program
  }
}

extension RunFactory {
  /// Plans a run: reads from its services, and writes nothing.
  ///
  /// - Parameters:
  ///   - registry: The secrets that the document leaves out.
  ///   - instant: When the plan's clock begins, so that a repeated plan compares with the first; now if nil.
  package func plan(
    _ run: PlannedRun, hiding registry: SecretRegistry, at instant: Timestamp? = nil
  ) async throws(RuntimeError) -> MadePlan {
    // Checked again, so that its expressions can handle values that are not known yet.
    guard let recipe = check(run.file, among: run.texts, run.language, zone: run.zone, isForPlan: true).recipe else {
      throw RuntimeError(.invalid, "'\(run.file)' cannot be planned")
    }
    var run = run
    var connectionOverrides = connectionOverrides
    // As for a run: a setting of a connection could lead out of the sandboxes.
    if let sandboxes {
      connectionOverrides = try await sandboxes.settings(of: recipe, in: workspace)
      run.overrides = [:]
      run.isSandbox = true
    }
    let network = sandboxes?.interceptor
    let snapshot = Snapshot()
    // The services of a plan answer from its snapshot, so no run may share them.
    let services = try workspace.services(
      for: recipe, secrets: run.secrets, hiding: registry.all, overrides: run.overrides,
      connectionOverrides: connectionOverrides, time: time,
      pool: ServicePool(time: time), limiters: run.limiters,
      interceptor: { snapshot.transport(of: $0, over: network?($0, $1) ?? $1) }, on: copy)
    let inputs = Value.map(run.inputs)
    let now = instant ?? time.now()
    let plan = await Planner.plan(
      recipe, inputs: inputs, secrets: run.secrets, services: services, values: try await values(run, recipe, registry),
      time: time, start: now, folder: folder ?? workspace.root)
    var heading = ValueMap()
    heading["recipe"] = .string(recipe.name)
    heading["file"] = .string(run.file)
    do {
      heading["sha256"] = .string(try sha256(JSON.write(run.texts)))
    } catch {
      throw RuntimeError(.unavailable, "the recipe's hash cannot be computed: \(error)")
    }
    heading["plannedAt"] = .timestamp(now)
    heading["program"] = .string(run.program)
    heading["sandbox"] = .bool(run.isSandbox)
    let overrides = ValueMap(run.overrides.sorted { $0.key < $1.key }.map { ($0.key, $0.value) })
    do throws(StateError) {
      // By reference, so that a run can take them from the plan.
      heading["inputs"] = try MadePlan.withoutSecrets(inputs, registry)
      heading["overrides"] = try MadePlan.withoutSecrets(.map(overrides), registry)
    } catch {
      throw RuntimeError(.invalid, error.message)
    }
    do throws(JSONError) {
      // As a file holds it, so that two plans can be compared.
      let document = try JSON.parse(JSON.write(plan.document(heading), .pretty))
      return MadePlan(plan: plan, recipe: recipe.name, document: document)
    } catch {
      throw RuntimeError(.failed, "the plan cannot be written as JSON: \(error.message)")
    }
  }

  /// Plans a run that an agent would record, within the limits of its connections.
  func plan(
    _ run: RunCreated, keptIn store: any StateStore
  ) async throws(RequestRefusedError) -> PlanRecord.MadeForRun {
    do throws(RuntimeError) {
      guard case .inline(let texts) = run.texts,
        let recipe = check(run.file, among: texts, run.language, zone: run.zone).recipe
      else { throw RuntimeError(.invalid, "'\(run.file)' cannot be planned") }
      let secrets =
        sandboxes == nil
        ? try await workspace.secrets(of: recipe, inputs: run.inputs, overrides: [:], from: secrets)
        : Secrets(environment: await secretsApart(of: recipe, inputs: run.inputs))
      var planned = PlannedRun(
        run.file, texts: texts, zone: run.zone, inputs: run.inputs.map ?? ValueMap(), secrets: secrets,
        program: run.program)
      planned.language = run.language
      let names = Set(sandboxes == nil ? recipe.connectionNames : [])
      planned.limiters = await pool.limiters(
        workspace.configuration.limits.filter { names.contains($0.key) }, keptIn: store)
      let made = try await plan(planned, hiding: store.secrets, at: run.at)
      return PlanRecord.MadeForRun(text: made.text, wouldFail: made.plan.error != nil)
    } catch {
      throw RequestRefusedError(error.kind == .unavailable ? .state : .configuration, error.message)
    }
  }

  /// The stored values that the run may read, from the database, or from the folder, whichever process holds it.
  private func values(
    _ run: PlannedRun, _ recipe: Recipe, _ registry: SecretRegistry
  ) async throws(RuntimeError) -> [String: Value] {
    let isLocal = { (connection: String) in
      workspace.catalog.plugin(workspace.configuration.plugins[connection] ?? connection)?.isLocal ?? false
    }
    // The services of a sandbox have a state of their own.
    guard !run.isSandbox || sandboxes != nil, recipe.connectionNames.contains(where: isLocal) else { return [:] }
    var values: [String: Value]
    if let database = workspace.database {
      values = try await workspace.values(in: database, secrets: secrets)
    } else {
      do throws(StateError) { values = try ValuesOnDisk.read(in: workspace.stateFolder, program: run.program) } catch {
        throw RuntimeError(.unavailable, error.message)
      }
    }
    for (name, value) in values {
      // A value that cannot be restored can be replaced and removed, but not read.
      values[name] = (try? await registry.restored(value, as: "the stored value '\(name)'")) ?? value
    }
    return values
  }
}

extension MadePlan {
  /// Each member as it is, or by reference if it holds a secret.
  fileprivate static func withoutSecrets(_ members: Value, _ registry: SecretRegistry) throws(StateError) -> Value {
    var map = members.map ?? ValueMap()
    for member in map.members {
      let masked = try registry.masked(member.value)
      if masked.isMasked { map[member.key] = .object([reference: StoredValue.inline(masked).encoded()]) }
    }
    return .map(map)
  }

  /// The member of a plan in place of an input that holds a secret.
  private static let reference = "$withSecret"

  /// The inputs of a plan, with the secrets restored that it holds by reference.
  package static func inputs(of plan: Value, in workspace: Workspace) async throws(RuntimeError) -> ValueMap {
    var inputs = plan["inputs"]?.map ?? ValueMap()
    var registry: SecretRegistry?
    for member in inputs.members {
      guard let kept = member.value.map, kept.count == 1, let reference = kept[reference],
        case .inline(let masked)? = try? StoredValue(reading: reference)
      else { continue }
      // The files are read once, and only if an input needs them.
      let known = if let registry { registry } else { await workspace.secretRegistry(workspace.secretSources()) }
      registry = known
      do throws(StateError) {
        inputs[member.key] = try await known.restored(masked, as: "the input '\(member.name ?? "")' of the plan")
      } catch {
        throw RuntimeError(error)
      }
    }
    return inputs
  }
}
