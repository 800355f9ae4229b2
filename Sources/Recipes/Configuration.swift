package import ActionKit
package import Basics
import Expressions
import YAMLReader

/// What `errand.yaml` says: where the state is, which services there are, and where secrets come from.
package struct Configuration: Sendable {
  /// One service with its settings.
  package struct Connection: Sendable {
    package var name: String
    package var plugin: String
    package var settings: ValueTemplate
    package var location: Diagnostic.Location?
    /// The secrets that the settings read.
    package var secrets: [(name: String, location: Diagnostic.Location?)]
  }

  /// The file, or nil for the defaults where there is none.
  package var source: Source?
  /// The folder of the state, as written.
  package var state: String?
  package var zone: String?
  package var recipeFolders = ["recipes"]
  package var readsSecretsFromEnvironment = true
  package var secretFiles: [String] = []
  package var connections: [Connection] = []

  package init() {}

  /// The plugin of each connection, for the check of `connection:`.
  package var plugins: [String: String] {
    Dictionary(connections.map { ($0.name, $0.plugin) }, uniquingKeysWith: { first, _ in first })
  }

  /// Reads and checks `errand.yaml`.
  package static func read(
    _ source: Source, catalog: ActionCatalog
  ) -> (configuration: Configuration, diagnostics: [Diagnostic]) {
    let document: YAMLDocument
    do throws(Diagnostics) {
      document = try YAMLReader.read(source)
    } catch {
      return (Configuration(), error.list)
    }
    let findings = Findings(document)
    var configuration = Configuration()
    configuration.source = source
    let reader = ConfigurationReader(
      findings: findings, compiler: ExpressionCompiler(findings: findings), catalog: catalog)
    reader.read(document.root, into: &configuration)
    return (configuration, Diagnostics(findings.list).sorted().list)
  }
}

private struct ConfigurationReader {
  let findings: Findings
  let compiler: ExpressionCompiler
  let catalog: ActionCatalog

  func read(_ value: Value, into configuration: inout Configuration) {
    let keys = ["state", "zone", "recipes", "secrets", "connections"]
    guard let fields = Fields(value, of: "errand.yaml", keys: keys, findings) else { return }
    configuration.state = fields["state"].flatMap { findings.text($0, of: "'state'") }
    configuration.zone = fields["zone"].flatMap { compiler.zone($0, of: "'zone'") }
    if let value = fields["recipes"] {
      configuration.recipeFolders = (value.list ?? [value]).compactMap { findings.text($0, of: "'recipes'") }
    }
    if let value = fields["secrets"],
      let inner = Fields(value, of: "'secrets'", keys: ["environment", "files"], findings)
    {
      if let flag = inner["environment"].flatMap({ findings.bool($0, of: "'environment'") }) {
        configuration.readsSecretsFromEnvironment = flag
      }
      if let files = inner["files"] {
        configuration.secretFiles = (files.list ?? [files]).compactMap { findings.text($0, of: "'files'") }
      }
    }
    if let value = fields["connections"] {
      if let map = value.map {
        configuration.connections = map.members.compactMap(connection)
      } else {
        findings.error("'connections' takes a mapping from names to {plugin, …}, but found \(value.written)", at: value)
      }
    }
  }

  private func connection(_ member: ValueMap.Member) -> Configuration.Connection? {
    guard let name = findings.name(member.key, of: "the connection"), let map = member.value.map else {
      if member.value.map == nil {
        findings.error(
          "a connection takes a mapping with 'plugin' and its settings, but found \(member.value.written)",
          at: member.value.isNull ? member.key : member.value)
      }
      return nil
    }
    var settings = map
    var plugin = name
    if let value = settings["plugin"] {
      guard let text = findings.text(value, of: "'plugin'") else { return nil }
      plugin = text
      settings["plugin"] = nil
    }
    guard let descriptor = catalog.plugin(plugin) else {
      let names = catalog.plugins.map(\.name)
      let guess = plugin.nearest(among: names).map { "did you mean '\($0)'?" }
      findings.error(
        "no plugin is named '\(plugin)'; \(guess ?? "there are \(names.joined(separator: ", "))")",
        at: map["plugin"] ?? member.key)
      return nil
    }
    if !plugin.hasSameScalars(as: name), catalog.plugin(name) != nil {
      findings.error(
        "connection '\(name)' has the name of a plugin and is one of '\(plugin)'; choose another name", at: member.key)
    }
    var scope = Scope()
    scope.declare("secrets", .map(.string, .secret(.string)))
    let value = Value(.map(settings), at: member.value.place)
    let compiler = ExpressionCompiler(findings: findings)
    guard
      let template = compiler.fields(value, of: descriptor.configuration, path: name, in: scope)
    else { return nil }
    return Configuration.Connection(
      name: name, plugin: plugin, settings: template, location: findings.location(of: member.key),
      secrets: compiler.secrets)
  }
}
