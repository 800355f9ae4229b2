import ActionTestKit
import Basics
import Foundation
import PostgresClient
import PostgresTestKit
import Testing

/// A client's errors when a server fails.
@Suite(.needsPostgres, .timeLimit(.minutes(20))) struct PostgresFaultTests {
  /// Starts a server for a test, and removes it after.
  private static func serving(
    _ lines: [String] = [], access: String? = nil, prepare: @Sendable (String) throws -> Void = { _ in },
    _ body: (PostgresServer) async throws -> Void
  ) async throws {
    let server = try await PostgresServer.start(lines, access: access, prepare: prepare)
    do { try await body(server) } catch {
      await server.remove()
      throw error
    }
    await server.remove()
  }

  private static let sleep = "select pg_sleep(60)"

  @Test func `a session that the server ends during a statement leaves it unknown`() async throws {
    try await connected { connection in
      let pid = try #require(try await connection.run("select pg_backend_pid()").first?.int32(0))
      let waiting = Task { await failure { try await connection.run(Self.sleep) } }
      try await connected(to: connection.settings) { other in
        try await waitUntil(other, "select from pg_stat_activity where pid = \(pid) and state = 'active'")
        try await other.run("select pg_terminate_backend($1)", .int32(pid))
      }
      let error = await waiting.value
      #expect(error?.kind == .unknown)
      #expect(error?.isShutdown == true)
      let message = "PostgreSQL refused: terminating connection due to administrator command (57P01)"
      #expect(error?.message == "the statement may have been carried out: \(message)")
      #expect(connection.isClosed)
    }
  }

  @Test func `a server that is killed keeps what it acknowledged`() async throws {
    try await Self.serving { server in
      try await connected(to: server.settings()) { connection in
        try await connection.run("create table t (n int)")
        try await connection.run("insert into t values (1)")
        let waiting = Task { await failure { try await connection.run(Self.sleep) } }
        try await connected(to: server.settings()) { other in
          try await waitUntil(other, "select from pg_stat_activity where query = '\(Self.sleep)' and state = 'active'")
        }
        await server.kill()
        #expect(await waiting.value?.kind == .unknown)
        let refused = await failure { try await PostgresConnection.open(server.settings()) }
        let place = server.settings().description
        #expect(refused == PostgresError(.unreachable, "can't connect to PostgreSQL at \(place): Connection refused"))
        try await server.start()
      }
      try await connected(to: server.settings()) { connection in
        let row = try await connection.run("select n from t").first
        #expect(try row?.int32(0) == 1)
      }
    }
  }

  @Test func `a server that freezes is given up after a while`() async throws {
    try await Self.serving { server in
      try await connected(to: server.settings(), answerWithin: .milliseconds(300)) { connection in
        try await connection.run("select 1")
        server.pause()
        let place = server.settings().description
        let waiting = Task { await failure { try await connection.run("select 1") } }
        let error = await waiting.value
        let reason = "PostgreSQL at \(place) didn't answer within 0.3s"
        #expect(error == PostgresError(.unknown, "the statement may have been carried out: \(reason)"))
        #expect(connection.isClosed)
        let next = await failure { try await connection.run("select 1") }
        #expect(
          next == PostgresError(.unreachable, "the connection to PostgreSQL at \(place) is closed: \(reason)"))
        let again = await failure { try await PostgresConnection.open(connection.settings) }
        let silent = "can't connect to PostgreSQL at \(place): it didn't answer within 0.3s"
        #expect(again == PostgresError(.unreachable, silent))
        server.unpause()
      }
      try await connected(to: server.settings()) { connection in
        // The server ended the abandoned session, too.
        try await waitUntil(
          connection, "select 1 from pg_stat_activity where backend_type = 'client backend' having count(*) = 1")
      }
    }
  }

  @Test func `a commit whose wait for the standby is cancelled is unknown, not done`() async throws {
    try await Self.serving { server in
      let standby = try await server.standby(isSynchronous: true)
      try await connected(to: server.settings()) { connection in
        try await connected(to: server.settings()) { other in
          let pid = try #require(try await connection.run("select pg_backend_pid()").first?.int32(0))
          try await connection.run("create table t (n int)")
          standby.pause()
          func cancelled(_ body: @escaping @Sendable () async throws -> Void) async throws -> PostgresError? {
            let waiting = Task { await failure(body) }
            try await waitUntil(
              other, "select from pg_stat_activity where pid = \(pid) and wait_event = 'SyncRep'")
            try await other.run("select pg_cancel_backend($1)", .int32(pid))
            return await waiting.value
          }
          let statement = PostgresStatement("insert into t values (1)")
          let alone = try await cancelled { _ = try await connection.run([statement]) }
          let several = try await cancelled { _ = try await connection.run([statement, statement]) }
          let committed = try await cancelled {
            try await connection.transaction { transaction in _ = try await transaction.run([statement]) }
          }
          for error in [alone, several, committed] {
            #expect(error?.kind == .unknown)
            #expect(error?.sqlState == "01000")
            let text = "canceling wait for synchronous replication due to user request"
            let place = server.settings().description
            #expect(error?.message == "PostgreSQL at \(place) warned about the commit, which may be lost: \(text)")
          }
          standby.unpause()
          try await connection.run("insert into t values (2)")
          #expect(try await connection.run("select from t").count == 5)
        }
      }
      // All that was acknowledged is on the other, which takes over.
      await server.kill()
      try await standby.promote()
      try await connected(to: standby.settings()) { connection in
        let rows = try await connection.run("select from t where n = 2")
        #expect(rows.count == 1)
      }
      await standby.remove()
    }
  }

  @Test func `what the server refuses a connection for is said`() async throws {
    let access = "local all all trust\nhost all ada 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
    try await Self.serving(["max_connections = 8", "max_wal_senders = 0"], access: access) { server in
      let place = server.settings().description
      try await connected(to: server.settings()) { connection in
        try await connection.run("create role ada login password 'hunter2'")
      }
      var settings = server.settings()
      settings.user = "ada"
      let missing = await failure { try await PostgresConnection.open(settings) }
      #expect(
        missing
          == PostgresError(
            .refused,
            "PostgreSQL at \(place) wants a password; name its secret in errand.yaml: "
              + "postgres: { password: \"${{ secrets.NAME }}\" }"))
      settings.password = "hunter3"
      let wrong = await failure { try await PostgresConnection.open(settings) }
      #expect(wrong?.kind == .refused)
      #expect(wrong?.sqlState == "28P01")
      let refused = "PostgreSQL at \(place) refused the connection: "
      #expect(
        wrong?.message == refused + "password authentication failed for user \"ada\" (28P01); "
          + "correct the user in 'state' of errand.yaml, or the secret that 'postgres.password' names")
      settings.password = "hunter2"
      try await connected(to: settings) { connection in
        let row = try await connection.run("select current_user::text").first
        #expect(try row?.text(0) == "ada")
      }
      let nowhere = await failure { try await PostgresConnection.open(server.settings("nowhere")) }
      #expect(
        nowhere?.message == refused + "database \"nowhere\" does not exist (3D000); "
          + "make the database with createdb, or correct 'state' in errand.yaml")
      settings.host = "no-such-host.invalid"
      let unresolved = await failure { try await PostgresConnection.open(settings) }
      #expect(unresolved?.kind == .unreachable)
      #expect(
        unresolved?.message.hasPrefix("can't connect to PostgreSQL at no-such-host.invalid:\(server.port): ") == true)
      // By its socket.
      settings.host = URL(filePath: server.folder).deletingLastPathComponent().path
      settings.password = nil
      try await connected(to: settings) { connection in
        let row = try await connection.run("select inet_server_port()").first
        #expect(try row?.isNull(0) == true)
      }
      var open: [PostgresConnection] = []
      var error: PostgresError?
      while error == nil, open.count < 20 {
        do throws(PostgresError) {
          open.append(try await PostgresConnection.open(server.settings()))
        } catch let refusal {
          error = refusal
        }
      }
      #expect(error?.sqlState == "53300" && error?.isInTrouble == true)
      #expect(error?.message == refused + "sorry, too many clients already (53300)")
      for connection in open { connection.close() }
    }
  }

  @Test func `a certificate is checked, with the name that it is for`() async throws {
    let lines = ["ssl = on", "ssl_cert_file = 'certificate.pem'", "ssl_key_file = 'key.pem'"]
    let prepare = { @Sendable (folder: String) in
      try #require(makeCertificate(in: folder) != nil)
      try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(folder)/key.pem")
      // Where the client may read it.
      try FileManager.default.copyItem(atPath: "\(folder)/certificate.pem", toPath: "\(folder).pem")
    }
    try await Self.serving(lines, prepare: prepare) { server in
      var settings = server.settings()
      func isEncrypted() async throws -> Bool {
        var isEncrypted = false
        try await connected(to: settings) { connection in
          let query = "select ssl from pg_stat_ssl where pid = pg_backend_pid()"
          isEncrypted = try await connection.run(query).first?.bool(0) == true
        }
        return isEncrypted
      }
      // On this machine it is taken as it is.
      let isEncryptedHere = try await isEncrypted()
      #expect(isEncryptedHere)
      settings.host = "localhost"
      settings.isAlwaysVerified = true
      settings.rootCertificate = "\(server.folder).pem"
      #expect(try await isEncrypted())
      settings.rootCertificate = nil
      let untrusted = await failure { try await PostgresConnection.open(settings) }
      let reasonOfCertificate =
        "SSL error: certificate verify failed; name a file with the certificate that signed the server's: postgres: { "
        + "rootCertificate: FILE }"
      #expect(
        untrusted
          == PostgresError(.unreachable, "can't connect to PostgreSQL at \(settings): \(reasonOfCertificate)"))
      settings.host = "127.0.0.1"
      settings.rootCertificate = "\(server.folder).pem"
      let misnamed = await failure { try await PostgresConnection.open(settings) }
      let reason =
        "server certificate for \"localhost\" (and 1 other name) does not match host name \"127.0.0.1\"; write a name "
        + "that is in the server's certificate in 'state' of errand.yaml"
      #expect(misnamed == PostgresError(.unreachable, "can't connect to PostgreSQL at \(settings): \(reason)"))
    }
  }

  @Test func `a server without encryption is refused where certificates are checked`() async throws {
    var settings = try await PostgresServer.database()
    settings.isAlwaysVerified = true
    let error = await failure { try await PostgresConnection.open(settings) }
    let reason = "it takes no encrypted connections, which are asked for; set ssl = on in its postgresql.conf"
    #expect(error == PostgresError(.unreachable, "can't connect to PostgreSQL at \(settings): \(reason)"))
  }
}
