import ActionKit
package import Basics
package import PostgresClient

/// The database that `state` of `errand.yaml` names instead of a folder, with the settings under `postgres`.
package struct DatabaseSettings: Sendable {
  /// As written; it has no password.
  package var url: String
  /// The servers, one of them writable, without the password.
  package var hosts: [PostgresSettings]
  package var password: ValueTemplate?
  /// The secrets that the password reads.
  package var secrets: [(name: String, location: Diagnostic.Location?)] = []
  /// The file of the authorities that may sign the servers' certificates, as written.
  package var rootCertificate: String?

  /// Whether the value of `state` may hold a password; if so, it isn't shown.
  package static func mayHoldPassword(_ state: String) -> Bool {
    state.mayHoldPassword || !state.contains("://") && mayBeMeant(by: state)
  }

  /// Whether `state` names a database, written right or wrong, in place of a folder.
  fileprivate static func mayBeMeant(by state: String) -> Bool { PostgresSettings.isURL(state) || state.mayBeDatabase }
}

/// This machine's part in the runs of a shared state: `worker` in `errand.yaml`.
package struct WorkerSettings: Sendable, Equatable {
  package var name: String?
  /// The queues whose runs it claims; nil for the default queue.
  package var queues: [String]?
  /// How many runs it holds at once.
  package var capacity = 64
  /// Whether all machines have this folder's files, so that runs that use files can continue on any of them.
  package var sharedFolder = false

  /// The allowed values of `capacity`.
  package static let capacities = 1...10_000

  package init() {}
}

/// The names of queues of runs, which `queue` in recipes, `worker` in `errand.yaml` and `errand serve` have.
package enum QueueName {
  private static let longest = 64
  static let pattern = "^[A-Za-z0-9._-]{1,\(longest)}$"

  /// Why a name isn't valid, as the end of a sentence that begins with the name; nil if it is valid.
  package static func fault(in name: String) -> String? {
    let isSound = name.utf8.allSatisfy { byte in
      ASCII.lowercase.contains(byte | 0x20) || ASCII.digits.contains(byte)
        || [ASCII.minus, ASCII.underscore, ASCII.dot].contains(byte)
    }
    if !name.isEmpty, name.utf8.count <= longest, isSound { return nil }
    return "isn't the name of a queue, which has only a–z, A–Z, 0–9, '-', '_' and '.', at most \(longest) in all"
  }
}

/// Reads `state`, `postgres` and `worker` of `errand.yaml`.
struct DatabaseSettingsReader {
  let findings: Findings
  let compiler: ExpressionCompiler

  func read(_ fields: Fields, into configuration: inout Configuration) {
    var isDatabase = false
    if let value = fields["state"], let text = fields.text("state") {
      isDatabase = DatabaseSettings.mayBeMeant(by: text)
      if isDatabase { configuration.database = database(value, text) } else { configuration.state = text }
    }
    if let value = fields["postgres"] {
      refuse(value, named: "postgres", besides: isDatabase)
      read(postgres: value, into: &configuration.database)
    }
    if let value = fields["worker"] {
      refuse(value, named: "worker", besides: isDatabase)
      configuration.worker = worker(value)
    }
  }

  private func refuse(_ value: Value, named name: String, besides isDatabase: Bool) {
    if isDatabase { return }
    findings.error(
      "'\(name)' is for a state in PostgreSQL; name it by state: postgres://USER@HOST/DATABASE, or remove '\(name)'",
      at: value)
  }

  private func database(_ value: Value, _ text: String) -> DatabaseSettings? {
    do throws(PostgresError) {
      return DatabaseSettings(url: text, hosts: try PostgresSettings.hosts(inURL: text))
    } catch {
      // The line is shown.
      if DatabaseSettings.mayHoldPassword(text) { findings.hide(value, isRefused: true) }
      findings.error(MessageText(error.message), at: value)
      return nil
    }
  }

  /// Reads `{password, rootCertificate, answerWithin}`.
  private func read(postgres value: Value, into database: inout DatabaseSettings?) {
    // The password itself may have been written here by mistake.
    findings.hide(value, isRefused: true)
    guard let fields = Fields(value, of: "'postgres'", .postgres, findings) else { return }
    if let value = fields["password"] {
      let compiler = ExpressionCompiler(ofPartOf: compiler)
      let template = password(value, compiler)
      database?.password = template
      database?.secrets = compiler.secrets
    }
    database?.rootCertificate = fields.text("rootCertificate")
    guard let span = fields.duration("answerWithin") else { return }
    if span > DatabaseSettingsReader.longestAnswer, let value = fields["answerWithin"] {
      findings.error(
        "'answerWithin' must be at most \(DatabaseSettingsReader.longestAnswer.written), but is \(span.written)",
        at: value)
    }
    database?.hosts.indices.forEach { database?.hosts[$0].answerWithin = span }
  }

  private static let longestAnswer = TimeSpan.seconds(600)

  private func password(_ value: Value, _ compiler: ExpressionCompiler) -> ValueTemplate? {
    guard let text = value.string, text.holdsExpression else {
      findings.hide(value, isRefused: true)
      findings.error(
        "'password' can't be written here; put it into the environment or a file of secrets, and write "
          + "${{ secrets.NAME }}", at: value)
      return nil
    }
    var scope = Scope()
    scope.declare("secrets", .map(.string, .secret(.string)))
    let (template, type) = compiler.typed(value, of: "'password'", in: scope)
    switch type {
    case .string, .secret(.string): return template
    default:
      if template != nil { findings.error("'password' takes a text, but this is \(type)", at: value) }
      return nil
    }
  }

  /// Reads `{name, queues, capacity, sharedFolder}`.
  private func worker(_ value: Value) -> WorkerSettings {
    var settings = WorkerSettings()
    guard let fields = Fields(value, of: "'worker'", .worker, findings) else { return settings }
    if let value = fields["name"], let name = fields.text("name") {
      if let fault = WorkerSettings.fault(inName: name) {
        findings.error("'name' \(fault)", at: value)
      }
      settings.name = name
    }
    if let value = fields["queues"], let queues = fields.texts("queues") {
      for item in value.list ?? [value] {
        guard let name = item.string, !name.holdsExpression, let fault = QueueName.fault(in: name) else { continue }
        findings.error("'\(name)' \(fault)", at: item)
      }
      if queues.isEmpty, value.list?.isEmpty == true {
        findings.error("'queues' is empty; name a queue, or leave it out", at: value)
      }
      settings.queues = queues
    }
    settings.capacity = fields.int("capacity") ?? settings.capacity
    settings.sharedFolder = fields.bool("sharedFolder") ?? settings.sharedFolder
    return settings
  }
}

extension WorkerSettings {
  private static let longestName = 100

  /// Why a worker's name isn't valid, as the end of a sentence; nil if it is valid.
  fileprivate static func fault(inName name: String) -> String? {
    let isSound = name.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
    if !name.trimmed.isEmpty, isSound, name.unicodeScalars.count <= longestName { return nil }
    return "takes a name of 1 to \(longestName) characters on one line"
  }
}

extension String {
  /// Whether it is less likely the path of a folder than a database, written otherwise than as a URL:
  /// `user:password@host/name`, `host=… password=…`.
  fileprivate var mayBeDatabase: Bool {
    if ["/", ".", "~"].contains(where: hasPrefix) { return false }
    if contains("password=") || contains("host=") || hasPrefix("postgres//") || hasPrefix("postgresql//") {
      return true
    }
    let first = utf8.prefix { $0 != ASCII.slash }
    guard let at = first.firstIndex(of: ASCII.at) else { return false }
    return first[..<at].contains(ASCII.colon)
  }

  /// Whether there may be a password in a URL.
  fileprivate var mayHoldPassword: Bool {
    let bytes = Array(utf8)
    if contains("password") || bytes.contains(ASCII.question) { return true }
    guard let at = bytes.lastIndex(of: ASCII.at) else { return false }
    return bytes[..<at].drop { $0 != ASCII.slash }.contains(ASCII.colon)
  }
}
