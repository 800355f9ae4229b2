import Basics
import CPostgres
import Glibc
import Threads

/// Connects to one server, blocking a thread of its own: names are looked up, certificates read and passwords hashed.
struct PostgresOpening: Sendable {
  private let settings: PostgresSettings
  private let deadline: ContinuousClock.Instant

  init(_ settings: PostgresSettings) {
    self.settings = settings
    deadline = .now + .nanoseconds(settings.answerWithin.nanoseconds)
  }

  func connect() -> Result<PostgresConnection, PostgresError> {
    if let missing = cpostgres_load() { return .failure(PostgresError(.unreachable, sentence(missing))) }
    let texts = [settings.host, settings.database, settings.user, settings.password ?? "", settings.applicationName]
    if texts.contains(where: { $0.utf8.contains(0) }) {
      return .failure(PostgresError(.invalid, "a setting of the connection to PostgreSQL has a zero byte"))
    }
    let addresses: [String?]
    do throws(PostgresError) { addresses = settings.isSocket ? [nil] : try resolved() } catch { return .failure(error) }
    var failure = unreachable("it has no address")
    for (index, address) in addresses.enumerated() {
      // Each address that is left gets its share of the time.
      let share = ContinuousClock.now.duration(to: deadline) / (addresses.count - index)
      switch connect(to: address, until: .now + share) {
      case .success(let connection): return .success(connection)
      case .failure(let error):
        failure = error
        // It was reached.
        if !error.sqlState.isEmpty { return .failure(error) }
      }
    }
    return .failure(failure)
  }

  private func unreachable(_ reason: String) -> PostgresError {
    PostgresError(.unreachable, "can't connect to PostgreSQL at \(settings): \(reason)")
  }

  /// The result of a name lookup on another thread.
  private final class Lookup: @unchecked Sendable {
    // Unchecked, because the outcome is touched only with the monitor held.
    let monitor = Monitor()
    var outcome: Result<[String], PostgresError>?
  }

  /// The addresses of the host, as numbers, looked up on a thread of its own, which nothing can hurry.
  private func resolved() throws(PostgresError) -> [String] {
    let lookup = Lookup()
    // Ends when the system has an answer.
    let isStarted = startThread(blocksSignals: true) {
      let outcome = lookedUp()
      lookup.monitor.withLock {
        lookup.outcome = outcome
        lookup.monitor.signal()
      }
    }
    guard isStarted else { throw unreachable("the system has no thread left") }
    let outcome = lookup.monitor.withLock {
      while lookup.outcome == nil, lookup.monitor.wait(until: deadline) {}
      return lookup.outcome
    }
    guard let outcome else { throw unreachable("its name wasn't found within \(settings.answerWithin)") }
    return try outcome.get()
  }

  private func lookedUp() -> Result<[String], PostgresError> {
    var hints = addrinfo()
    hints.ai_family = AF_UNSPEC
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(settings.host, nil, &hints, &list)
    guard code == 0 else { return .failure(unreachable(String(cString: gai_strerror(code)))) }
    defer { freeaddrinfo(list) }
    var addresses: [String] = []
    var next = list
    while let entry = next?.pointee {
      var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
      if getnameinfo(entry.ai_addr, entry.ai_addrlen, &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST) == 0 {
        addresses.append(String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
      }
      next = entry.ai_next
    }
    return .success(addresses)
  }

  /// All that libpq would otherwise take from variables and from files in the user's home.
  private func parameters(for address: String?) -> [(String, String)] {
    let isVerified = settings.isAlwaysVerified || !settings.isLocal
    // A file that can't be there: a file's name with something behind it.
    let none = "/dev/null/none"
    var parameters = [
      ("host", settings.host), ("port", "\(settings.port)"), ("dbname", settings.database), ("user", settings.user),
      ("password", settings.password ?? ""), ("passfile", none), ("application_name", settings.applicationName),
      ("client_encoding", "UTF8"),
      (
        "options",
        "-c default_transaction_isolation=read\\ committed -c synchronous_commit=on -c TimeZone=UTC"
      ),
      ("sslmode", isVerified ? "verify-full" : "prefer"), ("sslcert", none), ("sslkey", none),
      (
        "sslrootcert",
        isVerified ? settings.rootCertificate ?? "/etc/ssl/certs/ca-certificates.crt" : none
      ),
      ("gssencmode", "disable"), ("target_session_attrs", "any"),
      ("keepalives", "1"), ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
      ("tcp_user_timeout", "\(max(1, settings.answerWithin.nanoseconds / 1_000_000))"),
    ]
    if let address { parameters.append(("hostaddr", address)) }
    return parameters
  }

  private func connect(
    to address: String?, until end: ContinuousClock.Instant
  ) -> Result<PostgresConnection, PostgresError> {
    let parameters = parameters(for: address)
    var names: [UnsafePointer<CChar>?] = parameters.map { UnsafePointer(strdup($0.0)) } + [nil]
    var values: [UnsafePointer<CChar>?] = parameters.map { UnsafePointer(strdup($0.1)) } + [nil]
    defer { for text in names + values { free(UnsafeMutablePointer(mutating: text)) } }
    guard let connection = cpostgres.connectStartParams(&names, &values, 0) else {
      return .failure(unreachable("out of memory"))
    }
    // Else libpq would write notices to the terminal.
    _ = cpostgres.setNoticeReceiver(connection, { _, _ in }, nil)
    // So that the code of the server's error is in the message, the only thing that libpq keeps of it.
    _ = cpostgres.setErrorVerbosity(connection, PQERRORS_VERBOSE)
    if let error = established(connection, until: end) {
      cpostgres.finish(connection)
      return .failure(error)
    }
    do throws(PostgresError) {
      return .success(try PostgresConnection(settings, owning: connection))
    } catch {
      return .failure(error)
    }
  }

  /// Advances the connection until it is open; returns the error if it can't be opened.
  private func established(_ connection: OpaquePointer, until end: ContinuousClock.Instant) -> PostgresError? {
    var state = PGRES_POLLING_WRITING
    if cpostgres.status(connection) == CONNECTION_BAD { return failure(of: connection) }
    while state != PGRES_POLLING_OK {
      if state == PGRES_POLLING_FAILED { return failure(of: connection) }
      var socket = pollfd(
        fd: cpostgres.socket(connection), events: Int16(state == PGRES_POLLING_READING ? POLLIN : POLLOUT), revents: 0)
      guard ContinuousClock.now < end else { return unreachable("it didn't answer within \(settings.answerWithin)") }
      let count = poll(&socket, 1, milliseconds(until: end))
      if count > 0 { state = cpostgres.connectPoll(connection) }
      if count < 0, errno != EINTR { return unreachable("the system can't wait for it") }
    }
    guard cpostgres.setnonblocking(connection, 1) == 0, cpostgres.enterPipelineMode(connection) == 1 else {
      return failure(of: connection)
    }
    return nil
  }

  /// libpq's error without its prefix that names the address: `… failed: FATAL:  28P01: password authentication failed
  /// …`.
  private func failure(of connection: OpaquePointer) -> PostgresError {
    let text = cpostgres.errorMessage(connection).map { String(cString: $0) } ?? ""
    // The last try, where encryption was tried first; its other lines are hints, and places in the server's source.
    let lines = text.split(separator: "\n")
    var line = (lines.last { $0.hasPrefix("connection to") } ?? lines.first ?? "it failed").utf8[...]
    let mark = Array("failed: ".utf8)
    while !line.isEmpty, !line.starts(with: mark) { line = line.dropFirst() }
    let message = line.isEmpty ? String(lines.first ?? "it failed") : String(line.dropFirst(mark.count)) ?? ""
    // The severity, which is in the server's language, its code and its message.
    let parts = message.split(separator: ":", maxSplits: 2).map { String($0).trimmed }
    guard parts.count == 3, parts[1].utf8.count == 5, parts[1].utf8.allSatisfy(isOfCode) else {
      return withoutCode(message)
    }
    var error = PostgresError(
      .refused,
      "PostgreSQL at \(settings) refused the connection: \(parts[2]) (\(parts[1]))\(help(against: parts[1], parts[2]))")
    error.sqlState = parts[1]
    error.severity = "FATAL"
    return error
  }

  /// The error that libpq itself found, rather than the server.
  private func withoutCode(_ message: String) -> PostgresError {
    if message.contains("no password supplied") {
      let what = settings.password == nil ? "wants a password" : "wants a password, and the one that is given is empty"
      return PostgresError(
        .refused,
        "PostgreSQL at \(settings) \(what); name its secret in errand.yaml: "
          + "postgres: { password: \"${{ secrets.NAME }}\" }")
    }
    if message.contains("does not support SSL") {
      return unreachable("it takes no encrypted connections, which are asked for; set ssl = on in its postgresql.conf")
    }
    let short = message.shortened(to: 300)
    if message.contains("certificate verify failed") {
      return unreachable(
        "\(short); name a file with the certificate that signed the server's: postgres: { rootCertificate: FILE }")
    }
    if message.contains("does not match host name") {
      return unreachable("\(short); write a name that is in the server's certificate in 'state' of errand.yaml")
    }
    return unreachable(short)
  }

  /// The advice for a refusal, as the end of a sentence; the codes are in PostgreSQL's appendix A.
  private func help(against code: String, _ message: String) -> String {
    switch code {
    case "08P01" where message.contains("startup parameter"): "; \(PostgresError.needsSessions)"
    case "28P01": "; correct the user in 'state' of errand.yaml, or the secret that 'postgres.password' names"
    case "28000": "; correct the user in 'state' of errand.yaml, or let it in by the server's pg_hba.conf"
    case "3D000": "; make the database with createdb, or correct 'state' in errand.yaml"
    default: ""
    }
  }

  private func isOfCode(_ byte: UInt8) -> Bool { ASCII.digits.contains(byte) || ASCII.uppercase.contains(byte) }
}
