package import ActionKit
package import Basics
import Calendars
import Expressions
import YAMLReader

/// The contents of `errand.yaml`: the state's place, the services, and the sources of secrets.
package struct Configuration: Sendable {
  /// One service with its settings.
  package struct Connection: Sendable {
    package var name: String
    package var plugin: String
    package var settings: ValueTemplate
    package var limits: ConnectionLimits?
    package var location: Diagnostic.Location?
    /// The secrets that the settings read.
    package var secrets: [(name: String, location: Diagnostic.Location?)]
  }

  /// How long finished runs and decided slots are kept; nil for no limit.
  ///
  /// The defaults, a year of runs and three months of slots, are enough to look back, and keep the disk from filling
  /// up.
  package struct HistoryLimits: Sendable, Equatable {
    package var keepRuns: Int?
    package var keepFor: TimeSpan? = .seconds(365 * 86_400)
    package var keepSlotsFor: TimeSpan? = .seconds(90 * 86_400)
    /// How long the data of finished runs is kept: inputs, outputs, requests and the output of commands.
    package var keepDataFor: TimeSpan?
  }

  /// The file, or nil for the defaults where there is none.
  package var source: Source?
  /// The file as it was read, with its expressions as texts.
  package var document = Value.null
  /// The folder of the state, as written.
  package var state: String?
  /// The database of the state, in place of a folder.
  package var database: DatabaseSettings?
  package var worker = WorkerSettings()
  package var zone: String?
  package var recipeFolders = ["recipes"]
  package var secrets = SecretSettings()
  package var connections: [Connection] = []
  package var history = HistoryLimits()
  package var server = ServerSettings()
  /// The recipe that is run when a run fails, as written.
  package var onFailure: (file: String, location: Diagnostic.Location?)?

  package init() {}

  /// The plugin of each connection, for the check of `connection:`.
  package var plugins: [String: String] {
    Dictionary(connections.map { ($0.name, $0.plugin) }, uniquingKeysWith: { first, _ in first })
  }

  /// The limits of the connections that have some.
  package var limits: [String: ConnectionLimits] {
    Dictionary(
      connections.compactMap { connection in connection.limits.map { (connection.name, $0) } },
      uniquingKeysWith: { first, _ in first })
  }

  /// The names of the settings that each connection has.
  package var settings: [String: Set<String>] {
    Dictionary(
      connections.map { connection in
        let keys =
          switch connection.settings {
          case .literal(let value, _): value.map?.members.map(\.key)
          case .map(let members, _): members.map(\.key)
          default: nil as [Value]?
          }
        return (connection.name, Set((keys ?? []).compactMap(\.string)))
      }, uniquingKeysWith: { first, _ in first })
  }

  /// The settings of a connection, with a made-up text in the place of each secret.
  ///
  /// They are nil if the file computes a setting that isn't a secret, because its value isn't known before the run, and
  /// empty if the file doesn't have the connection.
  package func knownSettings(of connection: String, _ plugin: PluginDescriptor) -> Value? {
    guard let declared = connections.first(where: { $0.name.hasSameScalars(as: connection) }) else {
      return .map(ValueMap())
    }
    return declared.settings.knownSettings(of: plugin.configuration)
  }

  /// Reads and checks `errand.yaml`.
  package static func read(
    _ source: Source, catalog: ActionCatalog, observer: CheckObserver? = nil
  ) -> (configuration: Configuration, diagnostics: [Diagnostic]) {
    // Nothing but comments, such as a file that has only begun, leaves everything as it is without one.
    if source.holdsOnlyComments {
      var configuration = Configuration()
      configuration.source = source
      return (configuration, [])
    }
    let document: YAMLDocument
    do throws(Diagnostics) {
      document = try YAMLReader.read(source)
    } catch {
      return (Configuration(), error.hidingLikelySecrets(of: source, observer))
    }
    let findings = Findings(document, observer: observer)
    findings.hidesUnknown = true
    var configuration = Configuration()
    configuration.source = source
    configuration.document = document.root
    let reader = ConfigurationReader(
      findings: findings, compiler: ExpressionCompiler(findings: findings), catalog: catalog)
    reader.read(document.root, into: &configuration)
    reader.compiler.refuseUnevaluated(in: document.root)
    return (configuration, Diagnostics(findings.listWithoutSecrets).sorted().list)
  }
}

extension Source {
  /// Whether there is nothing in it but blanks and comments.
  var holdsOnlyComments: Bool {
    bytes.split { $0 == ASCII.newline }.allSatisfy { line in
      let rest = line.drop { " \t\r".utf8.contains($0) }
      return rest.isEmpty || rest.first == ASCII.hash
    }
  }
}

private struct ConfigurationReader {
  let findings: Findings
  let compiler: ExpressionCompiler
  let catalog: ActionCatalog

  func read(_ value: Value, into configuration: inout Configuration) {
    guard let fields = Fields(value, of: "errand.yaml", .configuration, findings) else { return }
    DatabaseSettingsReader(findings: findings, compiler: compiler).read(fields, into: &configuration)
    configuration.zone = fields["zone"].flatMap { compiler.zone($0, of: "'zone'")?.name }
    if let folders = fields.texts("recipes") { configuration.recipeFolders = folders }
    if let value = fields["secrets"] {
      SecretSettingsReader(findings: findings).read(value, into: &configuration.secrets)
    }
    if let value = fields["onFailure"], let file = fields.text("onFailure") {
      configuration.onFailure = (file, findings.location(of: value))
    }
    if let value = fields["server"] { configuration.server = ServerSettings.read(value, findings) }
    if let value = fields["history"] { read(history: value, into: &configuration.history) }
    if let value = fields["connections"] {
      if let map = value.map {
        configuration.connections = map.members.compactMap(connection)
      } else {
        findings.error("'connections' takes a mapping from names to {plugin, …}, but found \(value.written)", at: value)
      }
    }
  }

  /// Reads `{keepRuns, keepFor, keepSlotsFor, keepDataFor}`; each value may be `forever`.
  private func read(history value: Value, into limits: inout Configuration.HistoryLimits) {
    guard let fields = Fields(value, of: "'history'", .history, findings) else { return }
    func isForever(_ value: Value) -> Bool { value.string?.hasSameScalars(as: "forever") ?? false }
    func span(_ name: String, _ usual: TimeSpan?) -> TimeSpan? {
      guard let value = fields[name] else { return usual }
      return isForever(value) ? nil : findings.duration(value, of: "'\(name)'", atLeast: .seconds(86_400))
    }
    if let value = fields["keepRuns"], !isForever(value) {
      limits.keepRuns = findings.int(value, of: "'keepRuns'", in: KeySet.keptRuns)
    }
    limits.keepFor = span("keepFor", limits.keepFor)
    limits.keepSlotsFor = span("keepSlotsFor", limits.keepSlotsFor)
    limits.keepDataFor = span("keepDataFor", limits.keepDataFor)
  }

  private func connection(_ member: ValueMap.Member) -> Configuration.Connection? {
    // A plugin's own connection has its name, even if that isn't a valid name otherwise.
    let own = member.key.string.flatMap { catalog.plugin($0)?.name }
    guard let name = own ?? findings.name(member.key, of: "the connection"), let map = member.value.map else {
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
    var limits: ConnectionLimits?
    if let value = settings["limits"] {
      limits = ConnectionLimits.read(value, of: name, findings)
      settings["limits"] = nil
    }
    guard let descriptor = catalog.plugin(plugin) else {
      let names = catalog.plugins.map(\.name)
      let guess = MessageText.didYouMean(plugin, among: names)
      let fault = catalog.fault(ofPlugin: plugin)
      let absence = fault ?? catalog.absence(ofPlugin: plugin)
      // Recipes that use it don't check; others do. A name that is like another is a slip.
      if let absence, guess == nil || fault != nil {
        findings.warning("connection '\(name)' can't be used: \(absence)", at: map["plugin"] ?? member.key)
        // The settings of the unknown plugin aren't declared, so any computed value is allowed.
        let unknown = ObjectSchema(
          fields: settings.members.compactMap(\.name).map {
            FieldSchema($0, .dyn, "", isOptional: true, secrecy: .possible)
          })
        var scope = Scope()
        scope.declare("secrets", .map(.string, .secret(.string)))
        _ = ExpressionCompiler(ofPartOf: compiler).fields(
          Value(.map(settings), at: member.value.place), of: unknown, path: name, in: scope, warnsOfSecrets: false)
        return nil
      }
      let missing = absence.map { ": \($0)" } ?? ""
      findings.error(
        "no plugin is named '\(plugin)'\(missing); \(guess ?? "there are \(names.joined(separator: ", "))")",
        at: map["plugin"] ?? member.key)
      return nil
    }
    if !plugin.hasSameScalars(as: name), catalog.plugin(name) != nil {
      findings.error(
        "connection '\(name)' has the name of a plugin and is one of '\(plugin)'; choose another name", at: member.key)
    }
    // A misspelt field may be one of a secret.
    for member in settings.members where !descriptor.configuration.fields.contains(where: { $0.name == member.name }) {
      findings.hideAll(in: member.value)
    }
    var scope = Scope()
    scope.declare("secrets", .map(.string, .secret(.string)))
    let value = Value(.map(settings), at: member.value.place)
    let compiler = ExpressionCompiler(ofPartOf: compiler)
    guard
      let template = compiler.fields(
        value, of: descriptor.configuration, path: name, in: scope, warnsOfSecrets: !settings.isOnThisMachine
      ).template
    else { return nil }
    // Settings that are written out completely were checked with their fields.
    if !compiler.secrets.isEmpty, let known = template.knownSettings(of: descriptor.configuration) {
      for conflict in descriptor.configuration.conflicts(in: known) {
        findings.error(
          MessageText("'\(conflict.field.map { "\(name).\($0)" } ?? name)' \(conflict.message)"),
          at: conflict.field.flatMap { settings[$0] } ?? member.key)
      }
    }
    return Configuration.Connection(
      name: name, plugin: plugin, settings: template, limits: limits, location: findings.location(of: member.key),
      secrets: compiler.secrets)
  }
}

extension ValueMap {
  /// Whether a setting names a server on this machine, as settings of sandboxes do: its secret is of no use elsewhere.
  fileprivate var isOnThisMachine: Bool {
    members.contains { member in
      guard let text = member.value.string else { return false }
      return ["http://127.0.0.1", "http://localhost", "http://[::1]"].contains { origin in
        text.lowercased().hasPrefix(origin) && [nil, ":", "/"].contains(text.dropFirst(origin.count).first)
      }
    }
  }
}

extension ValueTemplate {
  /// Settings with a made-up text in the place of each secret; nil if a setting that isn't a secret is computed.
  fileprivate func knownSettings(of schema: ObjectSchema) -> Value? {
    switch self {
    case .literal(let value, _): return value
    case .map(let members, _):
      var settings = ValueMap()
      for member in members {
        let field = member.key.string.flatMap(schema.field(named:))
        guard let value = member.value.known(takingSecrets: field?.takesSecrets ?? false) else { return nil }
        settings[member.key] = value
      }
      return .map(settings)
    case .list, .template: return nil
    }
  }

  /// The value if it is written out, with a made-up text in the place of a secret; nil if it is computed.
  fileprivate func known(takingSecrets: Bool) -> Value? {
    switch self {
    case .literal(let value, _): return value
    case .template: return takingSecrets ? .string("secret") : nil
    case .list(let items, _):
      let known = items.compactMap { $0.known(takingSecrets: takingSecrets) }
      return known.count == items.count ? .list(known) : nil
    case .map(let members, _):
      var map = ValueMap()
      for member in members {
        guard let value = member.value.known(takingSecrets: takingSecrets) else { return nil }
        map[member.key] = value
      }
      return .map(map)
    }
  }
}

extension FieldSchema {
  /// Whether it is a secret, or holds some.
  fileprivate var takesSecrets: Bool {
    switch type {
    case .secret, .map(.secret), .list(.secret): true
    default: secrecy != .none
    }
  }
}
