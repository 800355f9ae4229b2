package import Basics
import CPostgres
import Glibc

/// How one server is reached.
package struct PostgresSettings: Hashable, Sendable {
  /// A name, an address, or the folder of a Unix socket.
  package var host: String
  package var port = 5432
  package var database: String
  package var user: String
  package var password: String?
  /// The file of the authorities that may sign the server's certificate; nil for those of the system.
  package var rootCertificate: String?
  /// Whether the certificate is checked even on this machine.
  package var isAlwaysVerified = false
  /// How long an answer, or a connection, may take.
  package var answerWithin = TimeSpan.seconds(10)
  /// What the server calls this client.
  package var applicationName = "errand"

  package init(host: String, database: String, user: String) {
    self.host = host
    self.database = database
    self.user = user
  }

  /// Whether the server is on this machine, so that no network lies between.
  package var isLocal: Bool {
    var address = in6_addr()
    if isSocket || host == "localhost" { return true }
    if inet_pton(AF_INET, host, &address) == 1 { return withUnsafeBytes(of: &address) { $0[0] == 127 } }
    guard inet_pton(AF_INET6, host, &address) == 1 else { return false }
    return withUnsafeBytes(of: &address) { $0.dropLast().allSatisfy { $0 == 0 } && $0[15] == 1 }
  }

  var isSocket: Bool { host.hasPrefix("/") }
}

extension PostgresSettings: CustomStringConvertible {
  /// Where the server is, without the password: `db1:5432`.
  package var description: String {
    isSocket ? "\(host)/.s.PGSQL.\(port)" : host.utf8.contains(ASCII.colon) ? "[\(host)]:\(port)" : "\(host):\(port)"
  }
}

extension PostgresSettings {
  /// Reads `postgres://user@host1:port1,host2/database`, the settings of each host, in order.
  ///
  /// libpq reads it, so what it allows is allowed: brackets around IPv6 addresses, `%XX`, and `?host=/run/postgresql` for
  /// a Unix socket. `sslmode=verify-full` has certificates checked on this machine, too.
  package static func hosts(inURL url: String) throws(PostgresError) -> [PostgresSettings] {
    let form = "postgres://USER@HOST[:PORT][,HOST…]/DATABASE"
    let scheme = ["postgres://", "postgresql://"].first { url.hasPrefix($0) }
    guard let scheme, !url.utf8.contains(0) else { throw PostgresError(.invalid, "write the state's URL as \(form)") }
    // Whatever libpq would make of it: a password must not get into a message.
    let rest = url.utf8.dropFirst(scheme.utf8.count)
    if let at = rest.firstIndex(of: ASCII.at), rest[..<at].contains(ASCII.colon) { throw passwordInURL }
    let query = rest.firstIndex(of: questionMark).map { rest[$0...].dropFirst() } ?? rest[rest.endIndex...]
    for parameter in query.split(separator: ASCII.ampersand) {
      let name = String(decoding: Array(parameter.prefix { $0 != ASCII.equals }), as: UTF8.self)
      switch name {
      case "dbname", "host", "port", "sslmode", "user": continue
      case "password": throw passwordInURL
      case "sslrootcert":
        throw PostgresError(
          .invalid, "the URL can't name the root certificate; write postgres: { rootCertificate: PATH } in errand.yaml")
      default:
        throw PostgresError(.invalid, "unexpected parameter '\(name.shortened(to: 40))' in the state's URL")
      }
    }
    if let missing = cpostgres_load() { throw PostgresError(.unreachable, sentence(missing)) }
    var complaint: UnsafeMutablePointer<CChar>?
    let parsed = cpostgres.conninfoParse(url, &complaint)
    defer { cpostgres.conninfoFree(parsed) }
    // Its complaint quotes the URL, and so perhaps a password.
    cpostgres.freemem(complaint)
    guard var option = parsed else { throw PostgresError(.invalid, "write the state's URL as \(form)") }
    var found: [String: String] = [:]
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val { found[String(cString: keyword)] = String(cString: value) }
      option += 1
    }
    guard let user = found["user"], let database = found["dbname"], let hosts = found["host"] else {
      throw PostgresError(.invalid, "the state's URL has no user, host or database; write \(form)")
    }
    if let mode = found["sslmode"], mode != "verify-full" {
      throw PostgresError(
        .invalid, "remove sslmode from the state's URL: connections to other machines are always verified (verify-full)"
      )
    }
    let ports = (found["port"] ?? "").split(separator: ",", omittingEmptySubsequences: false)
    let names = hosts.split(separator: ",", omittingEmptySubsequences: false)
    guard ports.count == 1 || ports.count == names.count else {
      throw PostgresError(.invalid, "the state's URL has \(names.count) hosts and \(ports.count) ports")
    }
    var settings: [PostgresSettings] = []
    for (index, name) in names.enumerated() {
      guard !name.isEmpty else { throw PostgresError(.invalid, "a host in the state's URL is empty") }
      var host = PostgresSettings(host: String(name), database: database, user: user)
      let port = ports.count == 1 ? ports[0] : ports[index]
      if !port.isEmpty {
        guard let number = Int(port), (1...65535).contains(number) else {
          throw PostgresError(.invalid, "a port in the state's URL isn't a number from 1 to 65535")
        }
        host.port = number
      }
      host.isAlwaysVerified = found["sslmode"] != nil
      settings.append(host)
    }
    return settings
  }

  private static let questionMark = UInt8(ascii: "?")

  private static let passwordInURL = PostgresError(
    .invalid,
    "the state's URL can't have a password; write postgres: { password: ${{ secrets.NAME }} } in errand.yaml")
}

/// A sentence of C without its full stop.
func sentence(_ text: UnsafePointer<CChar>) -> String {
  let text = String(cString: text)
  return text.hasSuffix(".") ? String(text.dropLast()) : text
}
