import ActionKit
import Agent
import Basics
package import Recipes
import RunState
import SecretSources

extension Workspace {
  /// The connections, and the secrets that they and the recipes need, with the status of each; no command is run.
  func survey(
    _ sources: SecretSources, _ store: any StateStore
  ) async -> ConnectionsAndSecrets {
    var connections = configuration.connections.map { ConnectionRecord(name: $0.name, plugin: $0.plugin) }
    var secrets: [SecretRecord] = []
    func add(_ name: String, connection: String? = nil, recipe: String? = nil) {
      let index = secrets.firstIndex { $0.name.hasSameScalars(as: name) } ?? secrets.endIndex
      if index == secrets.endIndex { secrets.append(SecretRecord(name: name)) }
      if let connection, !secrets[index].connections.contains(connection) {
        secrets[index].connections.append(connection)
      }
      if let recipe, !secrets[index].recipes.contains(recipe) { secrets[index].recipes.append(recipe) }
    }
    for secret in databaseSecrets { add(secret.name) }
    for connection in configuration.connections {
      for secret in connection.secrets { add(secret.name, connection: connection.name) }
    }
    for path in (try? recipeFiles()) ?? [] {
      guard let recipe = recipe(path, among: .null).recipe else { continue }
      let used = recipe.connectionNames
      for index in connections.indices where used.contains(where: { $0.hasSameScalars(as: connections[index].name) }) {
        connections[index].recipes.append(recipe.name)
      }
      for need in neededSecretsWithSchedules(of: recipe) {
        add(need.name, connection: need.connection, recipe: recipe.name)
      }
      for secret in recipe.webhookSecrets { add(secret.name, recipe: recipe.name) }
    }
    for (index, connection) in configuration.connections.enumerated() {
      if let plugin = catalog.plugin(connection.plugin) {
        let url = configuration.knownSettings(of: connection.name, plugin)?["baseURL"]?.string
        connections[index].address = url.map { store.secrets.finder.redact($0) }
      }
      connections[index].maxParallel = connection.limits?.maxParallel
      if let requests = connection.limits?.requests {
        connections[index].requests = requests
        connections[index].per = connection.limits?.per
      }
      connections[index].heldUntil = await store.connectionUse(of: connection.name)?.heldUntil
    }
    for index in secrets.indices {
      do throws(SecretError) {
        guard let found = try await sources.find(secrets[index].name, runsCommands: false) else { continue }
        secrets[index].status = found.value == nil ? .notAsked : .found
        secrets[index].source = found.origin.text
      } catch {
        secrets[index].status = .unavailable
        secrets[index].fault = error.message
      }
    }
    var survey = ConnectionsAndSecrets()
    survey.connections = connections
    survey.secrets = secrets.sorted { $0.name.precedesByScalars($1.name) }
    survey.names = sources.namesWithoutCommands().union(secrets.map(\.name)).sorted { $0.precedesByScalars($1) }
    return survey
  }

  /// The secrets that a recipe and its connections need, and the inputs that its schedules give.
  package func neededSecretsWithSchedules(of recipe: Recipe) -> [NeededSecret] {
    var needs = neededSecrets(of: recipe, inputs: .null)
    for trigger in recipe.triggers {
      if case .success(let inputs) = recipe.inputs(from: trigger.inputs) {
        needs += neededSecrets(of: recipe, inputs: .map(inputs)).filter { $0.input != nil }
      }
    }
    return needs
  }
}
