import CPostgres
import Glibc
import Testing

@testable import PostgresClient

@Suite struct PostgresSettingsTests {
  @Test func `a URL names hosts one by one`() throws {
    let hosts = try PostgresSettings.hosts(inURL: "postgres://ada%40lab@db1:5433,db2,[::1]:7/the%20state")
    #expect(hosts.map(\.description) == ["db1:5433", "db2:5432", "[::1]:7"])
    #expect(hosts.map(\.user) == ["ada@lab", "ada@lab", "ada@lab"])
    #expect(hosts.map(\.database) == ["the state", "the state", "the state"])
    #expect(hosts.map(\.isLocal) == [false, false, true])
    let verified = try PostgresSettings.hosts(inURL: "postgresql://ada@localhost/errand?sslmode=verify-full")
    #expect(verified.map(\.isAlwaysVerified) == [true])
    let socket = try PostgresSettings.hosts(inURL: "postgres://ada@/errand?host=/run/postgresql&port=5433")
    #expect(socket.map(\.description) == ["/run/postgresql/.s.PGSQL.5433"])
  }

  @Test(arguments: [
    (
      "postgres://ada:hunter2@db1/errand",
      "the state's URL can't have a password; write postgres: { password: \"${{ secrets.NAME }}\" } in errand.yaml"
    ),
    (
      "postgres://ada:hun/ter2@db1/errand",
      "the state's URL can't have a password; write postgres: { password: \"${{ secrets.NAME }}\" } in errand.yaml"
    ),
    (
      "postgres://ada@db1/errand?password=hunter2",
      "the state's URL can't have a password; write postgres: { password: \"${{ secrets.NAME }}\" } in errand.yaml"
    ),
    (
      "postgres://ada@db1/errand?sslrootcert=ca.pem",
      "the URL can't name the root certificate; write postgres: { rootCertificate: PATH } in errand.yaml"
    ),
    (
      "postgres://ada@db1/errand?options=-cfsync=off",
      "unexpected parameter 'options' in the state's URL, which takes host, port and sslmode"
    ),
    (
      "postgres://ada@db1/errand?sslmode=disable",
      "remove sslmode from the state's URL: connections to other machines are always verified (verify-full)"
    ),
    ("mysql://ada@db1/errand", "write the state's URL as postgres://USER@HOST[:PORT][,HOST…]/DATABASE"),
    ("postgres://ada@db1/%zz", "write the state's URL as postgres://USER@HOST[:PORT][,HOST…]/DATABASE"),
    (
      "postgres://db1/errand",
      "the state's URL has no user, host or database; write postgres://USER@HOST[:PORT][,HOST…]/DATABASE"
    ),
    (
      "postgres://ada@db1",
      "the state's URL has no user, host or database; write postgres://USER@HOST[:PORT][,HOST…]/DATABASE"
    ),
    ("postgres://ada@db1/%00", "write the state's URL as postgres://USER@HOST[:PORT][,HOST…]/DATABASE"),
    ("postgres://ada@db1/%+1", "write the state's URL as postgres://USER@HOST[:PORT][,HOST…]/DATABASE"),
    ("postgres://ada@db1/%ff", "write the state's URL as postgres://USER@HOST[:PORT][,HOST…]/DATABASE"),
    ("postgres://ada@[::1/errand", "write the state's URL as postgres://USER@HOST[:PORT][,HOST…]/DATABASE"),
    ("postgres://ada@[]/errand", "write the state's URL as postgres://USER@HOST[:PORT][,HOST…]/DATABASE"),
    ("postgres://ada@[::1]x/errand", "write the state's URL as postgres://USER@HOST[:PORT][,HOST…]/DATABASE"),
    ("postgres://ada@db1,db2,db3/errand?port=1,2", "the state's URL has 3 hosts and 2 ports"),
    ("postgres://ada@db1,/errand", "a host in the state's URL is empty"),
    ("postgres://ada@db1:0/errand", "a port in the state's URL isn't a number from 1 to 65535"),
    ("postgres://ada@db1:1x/errand", "a port in the state's URL isn't a number from 1 to 65535"),
  ]) func `a URL that isn't right is refused, without what may be a password`(_ url: String, _ message: String) throws {
    let error = #expect(throws: PostgresError.self) { try PostgresSettings.hosts(inURL: url) }
    #expect(error?.description == message)
    #expect(error?.kind == .invalid)
  }

  /// The settings that libpq reads from a URL; nil if it rejects it.
  private static func byLibpq(_ url: String) throws -> [String: String]? {
    typealias Parse = @convention(c) (UnsafePointer<CChar>, OpaquePointer?) -> UnsafeMutablePointer<PQconninfoOption>?
    typealias Free = @convention(c) (UnsafeMutablePointer<PQconninfoOption>?) -> Void
    let library = try #require(dlopen("libpq.so.5", RTLD_NOW))
    let parse = unsafeBitCast(try #require(dlsym(library, "PQconninfoParse")), to: Parse.self)
    let free = unsafeBitCast(try #require(dlsym(library, "PQconninfoFree")), to: Free.self)
    guard let options = parse(url, nil) else { return nil }
    defer { free(options) }
    var found: [String: String] = [:]
    var option = options
    while let keyword = option.pointee.keyword {
      if let value = option.pointee.val { found[String(cString: keyword)] = String(cString: value) }
      option += 1
    }
    return found
  }

  @Test func `a URL means what libpq takes it to mean`() throws {
    let users = ["", "@", "ada@", "ada%40lab@", "%zz@", "a%20da@"]
    let places = [
      "", "db1", "db1:5433", "db1,db2:7", "db1:,db2", ",", "[::1]", "[::1]:5,db2", "[::1", "[]", "[::1]x",
      "%2Frun%2Fpg", "db1:5:6", "db%2", "db1:%35",
    ]
    let ends = [
      "", "/", "/errand", "/the%20state", "/a/b", "?host=/run/pg", "/errand?host=/run/pg&port=5433",
      "/errand?user=bo&dbname=other", "/errand?host", "/errand?host=%2", "/errand?host=", "/errand?",
      "/errand?port=1%2C2",
    ]
    for user in users {
      for place in places {
        for end in ends {
          let rest = user + place + end
          let own = PostgresSettings.parts(of: Array(rest.utf8)[...])
          #expect(try own == PostgresSettingsTests.byLibpq("postgres://\(rest)"), "\(rest)")
        }
      }
    }
  }

  @Test(arguments: [
    ("localhost", true), ("127.0.0.1", true), ("127.9.8.7", true), ("::1", true), ("0:0:0:0:0:0:0:1", true),
    ("/run/postgresql", true), ("127.0.0.1.example.org", false), ("10.0.0.1", false), ("::2", false), ("db1", false),
    ("128.0.0.1", false), ("::ffff:127.0.0.1", false),
  ]) func `only this machine is local`(_ host: String, _ isLocal: Bool) {
    #expect(PostgresSettings(host: host, database: "errand", user: "ada").isLocal == isLocal)
  }

  @Test func `without libpq a sentence says what to install`() {
    let sentence = cpostgres_load_from("libpq-that-is-not-there.so.5").map { String(cString: $0) }
    #expect(sentence == "libpq.so.5 can't be loaded; install the Debian package libpq5.")
  }
}
