package import Basics
import Glibc

/// How one server is reached.
package struct PostgresSettings: Hashable, Sendable {
  /// A name, an address, or the folder of a Unix socket.
  package var host: String
  package var port = 5432
  package var database: String
  package var user: String
  package var password: String?
  /// The file of the authorities that may sign the server's certificate; nil for the system's.
  package var rootCertificate: String?
  /// Whether the certificate is checked even on this machine.
  package var isAlwaysVerified = false
  /// How long an answer, or a connection, may take.
  package var answerWithin = TimeSpan.seconds(10)
  /// This client's name for the server.
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

/// A sentence of C without its full stop.
func sentence(_ text: UnsafePointer<CChar>) -> String {
  let text = String(cString: text)
  return text.hasSuffix(".") ? String(text.dropLast()) : text
}
