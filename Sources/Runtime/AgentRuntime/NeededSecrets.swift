import ActionKit
import Agent
package import Basics
package import Recipes
package import RunState
package import Runs
package import SecretSources

/// A secret that a recipe needs, with the place that needs it.
package struct NeededSecret: Sendable {
  package var name: String
  /// Where it is named, if in a file.
  package var location: Diagnostic.Location?
  /// The connection whose settings read it.
  package var connection: String?
  /// The input that takes it.
  package var input: String?

  /// The secret within a sentence.
  package var text: String {
    var words = name
    if let connection { words += " of connection '\(connection)'" }
    if let input { words += " for input '\(input)'" }
    if let place { words += " (\(place))" }
    return words
  }

  /// Where it is named: `file:line:column`.
  package var place: String? {
    guard let location else { return nil }
    let position = location.source.position(at: location.range.lowerBound)
    return "\(location.source.name):\(position.line):\(position.column)"
  }
}

extension Workspace {
  /// The secrets that a recipe reads, that its inputs take, and that its connections are configured with.
  ///
  /// - Parameter isApart: Whether other services take the place of the connections' own.
  package func neededSecrets(of recipe: Recipe, inputs: Value, isApart: Bool = false) -> [NeededSecret] {
    var needed = recipe.allSecrets.map { NeededSecret(name: $0.name, location: $0.location) }
    for input in recipe.inputs where input.isSecret {
      if let name = inputs[input.name]?["secret"]?.string { needed.append(NeededSecret(name: name, input: input.name)) }
    }
    if isApart { return needed }
    for name in recipe.connectionNames {
      let declared = configuration.connections.first { $0.name.hasSameScalars(as: name) }
      for secret in declared?.secrets ?? [] {
        needed.append(NeededSecret(name: secret.name, location: secret.location, connection: name))
      }
    }
    return needed
  }

  /// The secrets of files and connections that are available without running a command.
  ///
  /// They are known before the first run, so that no earlier record holds one.
  package func knownSecrets(_ sources: SecretSources) async -> [(name: String, text: String)] {
    var known = await sources.inFiles()
    for secret in databaseSecrets where !known.contains(where: { $0.name == secret.name }) {
      guard let text = (try? await sources.find(secret.name, runsCommands: false))?.value else { continue }
      known.append((secret.name, text))
    }
    for connection in configuration.connections {
      for secret in connection.secrets where !known.contains(where: { $0.name == secret.name }) {
        guard let text = (try? await sources.find(secret.name, runsCommands: false))?.value else { continue }
        known.append((secret.name, text))
      }
      known = Workspace.adding(await secrets(in: connection, from: sources, runsCommands: false), to: known)
    }
    return known
  }

  /// The secret that the state refers to by a name: one of a source, or a setting of a connection.
  package func secret(named name: String, from sources: SecretSources, runsCommands: Bool = true) async -> String? {
    for connection in configuration.connections where name.hasPrefix(Workspace.settings(of: connection.name) + " ") {
      let found = await secrets(in: connection, from: sources, runsCommands: runsCommands)
      return found.first { $0.name == name }?.text
    }
    return (try? await sources.find(name, runsCommands: runsCommands))?.value
  }

  /// The secret settings of a connection: those written in errand.yaml, and those computed from other secrets.
  private func secrets(
    in connection: Configuration.Connection, from sources: SecretSources, runsCommands: Bool
  ) async -> [(name: String, text: String)] {
    var values = ValueMap()
    for secret in connection.secrets {
      let text = (try? await sources.find(secret.name, runsCommands: runsCommands))?.value
      values[secret.name] = text.map { .string($0) }
    }
    guard let plugin = catalog.plugin(connection.plugin),
      let settings = (try? connection.settings.evaluate(in: [.map(values)]))?.map
    else { return [] }
    return plugin.configuration.namedSecrets(in: settings, of: Workspace.settings(of: connection.name))
  }

  /// Whether a secret, or one that a setting of a connection holds, is printed anew by its command.
  package func isRenewed(_ name: String) -> Bool {
    let commands = configuration.secrets.commands
    guard let connection = RunNeed.connection(ofSetting: name) else { return commands[name]?.renew != nil }
    return configuration.connections.contains {
      $0.name == connection && $0.secrets.contains { commands[$0.name]?.renew != nil }
    }
  }

  /// A registry of the secrets that are available without running a command, for examining a state.
  package func secretRegistry(_ sources: SecretSources) async -> SecretRegistry {
    let registry = SecretRegistry()
    registry.ask(renewed: isRenewed) { name, _ in await secret(named: name, from: sources, runsCommands: false) }
    registry.learn(await knownSecrets(sources))
    return registry
  }

  /// Adds every secret that connections and recipes need to a registry, running commands if necessary; returns the
  /// names of unreadable ones.
  package func tellEverySecret(to registry: SecretRegistry) async -> [String] {
    let sources = secretSources()
    registry.ask(renewed: isRenewed) { name, _ in await secret(named: name, from: sources) }
    registry.learn(await sources.inFiles())
    var names = configuration.connections.flatMap { $0.secrets.map(\.name) } + databaseSecrets.map(\.name)
    for path in (try? recipeFiles()) ?? [] {
      guard let recipe = recipe(path, among: .null).recipe else { continue }
      names += neededSecrets(of: recipe, inputs: .null).map(\.name) + recipe.webhookSecrets.map(\.name)
      for trigger in recipe.triggers {
        guard case .success(let inputs) = recipe.inputs(from: trigger.inputs) else { continue }
        names += neededSecrets(of: recipe, inputs: .map(inputs)).map(\.name)
      }
    }
    await registry.learn(named: names)
    for connection in configuration.connections {
      let hidden = await secrets(in: connection, from: sources, runsCommands: true)
      let known = registry.all
      registry.learn(hidden.filter { setting in !known.contains { $0.text.hasSameScalars(as: setting.text) } })
    }
    return Set(names).subtracting(registry.all.map(\.name)).sorted { $0.precedesByScalars($1) }
  }

  /// The name of a connection's secret settings in the state.
  package static func settings(of connection: String) -> String { "connections.\(connection)" }

  /// Adds the settings that aren't the text of a named secret, so that a text keeps the name that the user gave it.
  package static func adding(
    _ settings: [(name: String, text: String)], to secrets: [(name: String, text: String)]
  ) -> [(name: String, text: String)] {
    secrets + settings.filter { setting in !secrets.contains { $0.text.hasSameScalars(as: setting.text) } }
  }

  /// A message for each missing connection of a recipe that has settings without a default.
  ///
  /// - Parameter overrides: The settings given in addition to errand.yaml.
  package func missingConnections(of recipe: Recipe, overrides: [String: Value] = [:]) -> [String] {
    recipe.connectionNames.compactMap { name in
      guard !configuration.connections.contains(where: { $0.name.hasSameScalars(as: name) }),
        let fields = catalog.plugin(name)?.configuration.fields
      else { return nil }
      let needed = fields.filter { $0.isRequired && overrides["connections.\(name).\($0.name)"] == nil }
      if needed.isEmpty { return nil }
      return "errand.yaml has no connection '\(name)', which needs \(joined(needed.map { "'\($0.name)'" })); add it "
        + "under 'connections', or try the recipe with --sandbox"
    }
  }

  /// The secrets of a run; refused, with all faults, if one is missing or a required connection isn't configured.
  package func secrets(
    of recipe: Recipe, inputs: Value, overrides: [String: Value], from sources: SecretSources, runsCommands: Bool = true
  ) async throws(RuntimeError) -> Secrets {
    var values: [String: String] = [:]
    var missing: [NeededSecret] = []
    var faults = missingConnections(of: recipe, overrides: overrides)
    for secret in neededSecrets(of: recipe, inputs: inputs) where values[secret.name] == nil {
      do throws(SecretError) {
        if let found = try await sources.find(secret.name, runsCommands: runsCommands) {
          values[secret.name] = found.value
        } else {
          missing.append(secret)
        }
      } catch {
        if !faults.contains(error.message) { faults.append(error.message) }
      }
    }
    if !missing.isEmpty {
      let isOne = missing.count == 1
      faults.append(
        "missing secret\(isOne ? "" : "s"): \(missing.map(\.text).joined(separator: ", ")); set the environment "
          + "variable\(isOne ? "" : "s") of that name, or name another source under 'secrets' in errand.yaml")
    }
    if !faults.isEmpty { throw RuntimeError(.configuration, faults.joined(separator: "\n")) }
    return Secrets(environment: values)
  }

  /// The secrets that a run against sandboxes finds; missing or unavailable ones are left out.
  package func secretsApart(of recipe: Recipe, inputs: Value, from sources: SecretSources) async -> [String: String] {
    var values: [String: String] = [:]
    for secret in neededSecrets(of: recipe, inputs: inputs, isApart: true) where values[secret.name] == nil {
      do throws(SecretError) { values[secret.name] = try await sources.find(secret.name)?.value } catch { continue }
    }
    return values
  }
}
