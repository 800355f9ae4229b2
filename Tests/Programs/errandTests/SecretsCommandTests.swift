import Basics
import Foundation
import Testing

/// `errand secrets check`: needed secrets, their sources, missing ones, and never their values.
@Suite(.timeLimit(.minutes(20))) struct SecretsCommandTests {
  private static func program() async throws -> Program {
    let program = try await Program()
    for folder in ["recipes", "private"] {
      try FileManager.default.createDirectory(
        at: program.folder.appending(path: folder), withIntermediateDirectories: true)
    }
    let configuration = try String(contentsOf: program.folder.appending(path: "errand.yaml"), encoding: .utf8)
    try program.write(
      """
      secrets:
        files: private/secrets.yaml
        commands: { PRINTED: [printf, sesame], BROKEN: [sh, -c, "echo sesame; exit 3"] }
      \(configuration)
      """, to: "errand.yaml")
    try program.write("FILED: sesame\n", to: "private/secrets.yaml")
    try await program.protect(0o600)
    try program.write(
      """
      steps: [{ id: book, uses: markbook.getMarkbook, with: { markbookKey: 1207731 } }]
      """, to: "recipes/book.yaml")
    try program.write(
      """
      inputs: { token: { type: string, secret: true }, other: { type: string, secret: true } }
      on: [{ at: 2026-12-01T09:00:00Z, zone: UTC, inputs: { token: "@secret:PRINTED", other: "@secret:FILED" } }]
      steps:
        - uses: shell.run
          with: { effect: read, program: "true", secretEnvironment: { A: "${{ secrets.FILED + secrets.BROKEN }}" } }
        - uses: shell.run
          with: { effect: read, program: "true", secretEnvironment: { A: "${{ secrets.ABSENT }}" } }
      """, to: "recipes/work.yaml")
    return program
  }

  private static func found(_ outcome: Program.Outcome, in program: Program) -> String {
    (outcome.out + outcome.error).replacingOccurrences(of: program.folder.path, with: "FOLDER")
  }

  @Test func `needed secrets are listed, with what is missing or faulty`() async throws {
    let program = try await Self.program()
    let all = try await program.call("secrets", "check")
    #expect(all.code == 1)
    #expect(
      Self.found(all, in: program) == """
        SECRET             COMES FROM                   CONNECTIONS  RECIPES
        ABSENT             missing                                   work
        BROKEN             unavailable                               work
        FILED              'private/secrets.yaml'                    work
        MARKBOOK_API_KEY   the environment              markbook     book
        MARKBOOK_PASSWORD  the environment              markbook     book
        MARKBOOK_USERNAME  the environment              markbook     book
        PRINTED            the command 'printf sesame'               work
        error: the command of the secret 'BROKEN': 'sh -c 'echo sesame; exit 3'' exited with code 3; run it by hand to see why
        error: 'ABSENT' is missing, which FOLDER/recipes/work.yaml:7:73 needs
        Set the environment variable of that name, or name another source under 'secrets' in errand.yaml: a file of mode 0600, one that age encrypted, or a command

        """)
    let sound = try await program.call("secrets", "check", "recipes/book.yaml")
    #expect(sound.code == 0)
    #expect(sound.error == "every secret was found\n")
    await program.remove()
  }

  @Test func `a secret that is too short to be found gets a warning`() async throws {
    let program = try await Self.program()
    try program.write("FILED: abc\n", to: "private/secrets.yaml")
    try await program.protect(0o600)
    let outcome = try await program.call("secrets", "check")
    #expect(
      outcome.error.contains(
        "warning: 'FILED' has fewer than 4 bytes, so it is neither masked nor kept out of the state where a service sends "
          + "it back; choose a longer one\n"), "\(outcome.error)")
    #expect(outcome.error.components(separatedBy: "fewer than").count == 2)
    await program.remove()
  }

  @Test func `a file that others can read is a fault for every recipe`() async throws {
    let program = try await Self.program()
    try await program.protect(0o644)
    let outcome = try await program.call("secrets", "check", "recipes/book.yaml")
    #expect(outcome.code == 1)
    #expect(
      Self.found(outcome, in: program).contains(
        "error: 'FOLDER/private/secrets.yaml' can be read by others; make it private with: chmod 600 "))
    await program.remove()
  }

  @Test func `the JSON has the same, and no value`() async throws {
    let program = try await Self.program()
    let outcome = try await program.call("secrets", "check", "recipes/work.yaml", "--json")
    #expect(outcome.code == 1)
    let secrets = outcome.json["secrets"]?.list ?? []
    let told = secrets.map { secret in
      ["name", "status", "source"].map { secret[$0]?.string ?? "-" }.joined(separator: " ")
    }
    #expect(told == ["ABSENT missing -", "BROKEN fault -", "FILED found file", "PRINTED found command"])
    #expect(
      try JSON.text(secrets.dropFirst(2).first?["neededBy"] ?? .null).replacingOccurrences(
        of: program.folder.path, with: "FOLDER")
        == #"[{"place":"recipes/work.yaml:5:73"},{"input":"other"}]"#)
    #expect(outcome.json["faults"]?.list?.count == 1)
    await program.remove()
  }

  @Test func `a run is refused with all that is missing or faulty`() async throws {
    let program = try await Self.program()
    let outcome = try await program.call(
      "run", "recipes/work.yaml", "-i", "token=@secret:NONE", "-i", "other=@secret:FILED")
    #expect(outcome.code == 78)
    #expect(
      outcome.error == """
        error: the command of the secret 'BROKEN': 'sh -c 'echo sesame; exit 3'' exited with code 3; run it by hand to see why
        missing secrets: ABSENT (recipes/work.yaml:7:73), NONE for input 'token'; set the environment variables of that name, or name another source under 'secrets' in errand.yaml

        """)
    await program.remove()
  }
}

extension Program {
  fileprivate func protect(_ mode: Int) async throws {
    try FileManager.default.setAttributes(
      [.posixPermissions: mode], ofItemAtPath: folder.appending(path: "private/secrets.yaml").path)
  }
}
