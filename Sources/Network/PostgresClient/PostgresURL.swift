import Basics

extension PostgresSettings {
  private static let schemes = ["postgres", "postgresql"]

  /// Whether a text is meant as a URL, if only by its first word, and not as the path of a folder.
  package static func isURL(_ text: String) -> Bool {
    let scheme = text.prefix { $0 != ":" }
    return text.contains("://") || scheme.utf8.count < text.utf8.count && schemes.contains(scheme.lowercased())
  }

  /// Reads `postgres://user@host1:port1,host2/database`, the settings of each host, in order.
  ///
  /// It means what libpq takes it to mean, which isn't loaded for it: brackets around IPv6 addresses, `%XX`, and
  /// `?host=/run/postgresql` for a Unix socket. `sslmode=verify-full` has certificates checked on this machine, too.
  package static func hosts(inURL url: String) throws(PostgresError) -> [PostgresSettings] {
    let form = "postgres://USER@HOST[:PORT][,HOST…]/DATABASE"
    let scheme = schemes.map { "\($0)://" }.first { url.hasPrefix($0) }
    guard let scheme else { throw PostgresError(.invalid, "write the state's URL as \(form)") }
    // Whatever else would be made of it: a password must not get into a message.
    let rest = Array(url.utf8.dropFirst(scheme.utf8.count))[...]
    if let at = rest.firstIndex(of: ASCII.at), rest[..<at].contains(ASCII.colon) { throw passwordInURL }
    let query = rest.firstIndex(of: ASCII.question).map { rest[$0...].dropFirst() } ?? []
    for parameter in query.split(separator: ASCII.ampersand) {
      let name = String(decoding: parameter.prefix { $0 != ASCII.equals }, as: UTF8.self)
      switch name {
      case "dbname", "host", "port", "sslmode", "user": continue
      case "password": throw passwordInURL
      case "sslrootcert":
        throw PostgresError(
          .invalid, "the URL can't name the root certificate; write postgres: { rootCertificate: PATH } in errand.yaml")
      default:
        throw PostgresError(
          .invalid,
          "unexpected parameter '\(name.shortened(to: 40))' in the state's URL, which takes host, port and sslmode")
      }
    }
    guard let found = parts(of: rest) else { throw PostgresError(.invalid, "write the state's URL as \(form)") }
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

  private static let passwordInURL = PostgresError(
    .invalid,
    "the state's URL can't have a password; write postgres: { password: \"${{ secrets.NAME }}\" } in errand.yaml")

  /// The parts of a URL after its scheme, by the names of libpq's parameters (`conninfo_uri_parse_options`); nil if it
  /// is malformed.
  static func parts(of text: ArraySlice<UInt8>) -> [String: String]? {
    var rest = text
    var found: [String: String] = [:]
    if let end = rest.firstIndex(where: { $0 == ASCII.at || $0 == ASCII.slash }), rest[end] == ASCII.at {
      guard let user = decoded(rest[..<end]) else { return nil }
      if !user.isEmpty { found["user"] = user }
      rest = rest[end...].dropFirst()
    }
    let places = rest.prefix { $0 != ASCII.slash && $0 != ASCII.question }
    var (hosts, ports): ([ArraySlice<UInt8>], [ArraySlice<UInt8>]) = ([], [])
    for place in places.split(separator: ASCII.comma, omittingEmptySubsequences: false) {
      var host = place.prefix { $0 != ASCII.colon }
      var end = host.endIndex
      if place.first == ASCII.openBracket {
        guard let close = place.firstIndex(of: ASCII.closeBracket) else { return nil }
        host = place[..<close].dropFirst()
        end = close + 1
        if host.isEmpty || end < place.endIndex && place[end] != ASCII.colon { return nil }
      }
      hosts.append(host)
      ports.append(place[end...].dropFirst())
    }
    for (name, list) in [("host", hosts), ("port", ports)] {
      guard let text = decoded(Array(list.joined(separator: [ASCII.comma]))) else { return nil }
      if !text.isEmpty { found[name] = text }
    }
    rest = rest.dropFirst(places.count)
    if rest.first == ASCII.slash {
      let name = rest.dropFirst().prefix { $0 != ASCII.question }
      guard let database = decoded(name) else { return nil }
      if !database.isEmpty { found["dbname"] = database }
      rest = rest.dropFirst(1 + name.count)
    }
    for parameter in rest.dropFirst().split(separator: ASCII.ampersand) {
      let name = parameter.prefix { $0 != ASCII.equals }
      let value = parameter.dropFirst(name.count)
      guard !value.isEmpty, let text = decoded(value.dropFirst()) else { return nil }
      found[String(decoding: name, as: UTF8.self)] = text
    }
    return found
  }

  /// A part without its `%XX`; nil if one is malformed, or a zero byte or no UTF-8 comes of it.
  private static func decoded(_ part: some Collection<UInt8>) -> String? {
    guard let text = String(validating: part, as: UTF8.self)?.percentDecoded, !text.utf8.contains(0) else { return nil }
    return text
  }
}
