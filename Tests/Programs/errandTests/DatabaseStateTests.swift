import Foundation
import PostgresClient
import PostgresTestKit
import Testing

/// A state in PostgreSQL, with the real binary.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed"), .timeLimit(.minutes(10)))
struct DatabaseStateTests {
  /// A folder whose errand.yaml names a new database, and its URL.
  private static func program(_ more: String = "") async throws -> (program: Program, url: String) {
    let program = try await Program()
    let settings = try await PostgresServer.database()
    let url = "postgres://\(settings.user)@\(settings)/\(settings.database)"
    let answer = "postgres: { password: \"${{ secrets.ERRAND_DB }}\", answerWithin: 1m }"
    try program.write("state: \(url)\n\(answer)\n\(more)\(try program.read("errand.yaml"))", to: "errand.yaml")
    return (program, url)
  }

  private static let password = ["ERRAND_DB": "hunter2hunter2"]

  @Test func `the tables are made by a command, and before that nothing works`() async throws {
    let (program, url) = try await DatabaseStateTests.program()
    let environment = DatabaseStateTests.password
    let secretless = try await program.call("runs", "list")
    #expect(secretless.code == 78)
    #expect(
      secretless.error.hasPrefix("error: missing secret: ERRAND_DB (") && secretless.error.contains("errand.yaml:2:"),
      "\(secretless.error)")
    for command in [["runs", "list"], ["state", "migrate"], ["serve"]] {
      let unmade = try await program.call(command, environment: environment)
      #expect(unmade.code == 78)
      #expect(
        unmade.error == "error: there is no state in the database yet; make one with: errand state init\n", "\(command)"
      )
    }
    let made = try await program.call("state", "init", environment: environment)
    #expect((made.code, made.error) == (0, "the state in \(url) is made\n"))
    let again = try await program.call("state", "init", environment: environment)
    #expect((again.code, again.error) == (0, "there is a state in \(url) already\n"))
    let migrated = try await program.call("state", "migrate", environment: environment)
    #expect((migrated.code, migrated.error) == (0, "the tables in \(url) are up to date\n"))
    let list = try await program.call("runs", "list", environment: environment)
    #expect((list.code, list.error) == (0, "no runs in \(url)\n"), "\(list.error)")
    let export = try await program.call("state", "export", "all.archive", environment: environment)
    #expect(export.code == 64)
    #expect(export.error.contains("back the database up with pg_dump"), "\(export.error)")
    // What is on this machine: no journal.
    let names = try FileManager.default.contentsOfDirectory(atPath: program.folder.appending(path: ".errand").path)
    #expect(!names.contains { $0.hasPrefix("journal") || $0.hasPrefix("state") }, "\(names)")
    await program.remove()
  }

  @Test func `only a state in a database is made by a command`() async throws {
    let program = try await Program()
    for command in ["init", "migrate"] {
      let refused = try await program.call("state", command)
      #expect(refused.code == 64)
      #expect(
        refused.error.hasPrefix("error: the state is in the folder ")
          && refused.error.contains("write to errand.yaml: state: postgres://USER@HOST/DATABASE"), "\(refused.error)")
    }
    let named = try await program.call("--state", "postgres://errand@localhost/errand", "runs", "list")
    #expect(named.code == 64)
    #expect(
      named.error == "error: --state takes a folder; a database is named by 'state' in errand.yaml\n", "\(named.error)")
    await program.remove()
  }
}
