import ActionKit
package import Basics
import Glibc
package import PostgresClient
package import Recipes
package import RunState
import Runs
package import SecretSources
package import SharedState

extension Workspace {
  /// The database of the state, which several machines share; nil where it is in a folder.
  package var database: DatabaseSettings? { configuration.database }

  /// Where the state is, for people.
  package var stateName: String { database?.url ?? stateFolder }

  /// The machine and the folder of the runs' files; a run that has worked with files stays there.
  package var home: String { "\(Workspace.hostName):\(root)" }

  /// How the servers of a database are reached, with its password.
  package func servers(
    of database: DatabaseSettings, secrets sources: SecretSources
  ) async throws(RuntimeError) -> [PostgresSettings] {
    var hosts = database.hosts
    let certificate = database.rootCertificate.map { Workspace.absolute($0, in: root) }
    if let certificate, !Files.exists(certificate) {
      throw RuntimeError(
        .configuration, "there is no file '\(certificate)', which 'postgres.rootCertificate' in errand.yaml names")
    }
    for index in hosts.indices { hosts[index].rootCertificate = certificate }
    guard let template = database.password else { return hosts }
    var values = ValueMap()
    var known: [(name: String, text: String)] = []
    for need in databaseSecrets {
      let found: SecretSources.Found?
      do throws(SecretError) { found = try await sources.find(need.name) } catch {
        throw RuntimeError(.configuration, error.message)
      }
      guard let text = found?.value else {
        throw RuntimeError(
          .configuration,
          "missing secret: \(need.text), the password of the state's database; set the environment variable of that "
            + "name, or name another source under 'secrets' in errand.yaml")
      }
      values[need.name] = .string(text)
      known.append((need.name, text))
    }
    do throws(LocatedEvaluationError) {
      let password = try template.evaluate(in: [.map(values)]).string
      for index in hosts.indices { hosts[index].password = password }
    } catch {
      throw RuntimeError(.configuration, Redactor(named: known).redact(error.message))
    }
    return hosts
  }

  /// The secrets that the password of the state's database reads.
  package var databaseSecrets: [NeededSecret] {
    database?.secrets.map { NeededSecret(name: $0.name, location: $0.location) } ?? []
  }

  /// Connects to the database of the state.
  package func opened(
    _ database: DatabaseSettings, secrets: SecretSources
  ) async throws(RuntimeError) -> PostgresDatabase {
    let servers = try await servers(of: database, secrets: secrets)
    do throws(DatabaseError) { return try await PostgresDatabase.open(servers) } catch { throw RuntimeError(error) }
  }

  // MARK: The needs of runs, and the offers of this machine

  /// The offers that a worker must have to claim a run of a recipe; none where the state isn't shared.
  ///
  /// Secrets stay where they are: a run goes to a machine that has them.
  package func needs(of recipe: Recipe, inputs: Value, overrides: [String: Value] = [:]) -> [String] {
    if database == nil { return [] }
    var needs: Set = [RunNeed.format(StateFormat.version)]
    for recipe in recipe.all {
      for step in recipe.allSteps {
        guard case .action(let call) = step.kind else { continue }
        needs.insert(RunNeed.plugin(catalog.plugin(call.action.plugin)?.identity ?? call.action.plugin))
      }
    }
    for name in recipe.connectionNames {
      // One whose settings all have defaults is everywhere.
      let fields = catalog.plugin(name)?.configuration.fields ?? []
      let isBare = fields.contains { $0.isRequired && overrides["connections.\(name).\($0.name)"] == nil }
      if isBare || configuration.plugins[name] != nil { needs.insert(RunNeed.connection(name)) }
    }
    for secret in neededSecrets(of: recipe, inputs: inputs) { needs.insert(RunNeed.secret(secret.name)) }
    return needs.sorted { $0.precedesByScalars($1) }
  }

  /// Records in a run which workers may claim it, where the state is shared.
  package func place(_ run: inout RunCreated, of recipe: Recipe) {
    if database == nil { return }
    run.needs = needs(of: recipe, inputs: run.inputs, overrides: run.overrides)
    run.queue = recipe.queue
  }

  /// The plugins, connections, secrets and formats of this machine.
  package func offers(_ sources: SecretSources) async -> Set<String> {
    var offers = Set((1...StateFormat.version).map(RunNeed.format))
    offers.formUnion(catalog.plugins.map { RunNeed.plugin($0.identity) })
    offers.formUnion(configuration.connections.map { RunNeed.connection($0.name) })
    let secrets = await sources.names().union(knownSecrets(sources).map(\.name))
    offers.formUnion(secrets.map(RunNeed.secret))
    return offers
  }

  /// The name that people see for this program in a shared state.
  package var workerName: String { configuration.worker.name ?? Workspace.hostName }

  /// This machine's terms as a worker of a shared state.
  ///
  /// - Parameter program: The program with its version.
  func workerTerms(program: String, _ sources: SecretSources) async -> WorkerTerms {
    let settings = configuration.worker
    return WorkerTerms(
      name: workerName, host: Workspace.hostName, pid: Int(getpid()), program: program,
      offers: await offers(sources), queues: Set(settings.queues ?? [OpenRunRow.standardQueue]),
      home: home,
      sharesFolder: settings.sharedFolder, capacity: settings.capacity)
  }

  private static var hostName: String {
    var name = [CChar](repeating: 0, count: Int(HOST_NAME_MAX) + 1)
    guard gethostname(&name, name.count - 1) == 0 else { return "localhost" }
    return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The stored values of the database, for a plan.
  func values(
    in database: DatabaseSettings, secrets: SecretSources
  ) async throws(RuntimeError) -> [String: Value] {
    let store = SharedStateStore(try await opened(database, secrets: secrets))
    var values: [String: Value] = [:]
    let result: Result<Void, StateError>
    do throws(StateError) {
      for name in await store.valueNames() {
        if let kept = await store.value(named: name) { values[name] = try await store.value(kept) }
      }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    try? await store.close()
    do throws(StateError) { try result.get() } catch { throw RuntimeError(.unavailable, error.message) }
    return values
  }
}

extension RuntimeError {
  package init(_ error: DatabaseError) {
    switch error {
    case .unavailable(let message), .unknown(let message), .conflict(let message): self.init(.unavailable, message)
    case .unusable(let message): self.init(.configuration, message)
    }
  }
}
