import ActionKit
import ActionTestKit
import Basics
import Foundation
import SandboxKit
import Recipes
import RunState
import RunTestKit
import Runs
import Testing

@testable import MarkbookPlugin

/// Whole runs against the sandbox over real HTTP, whose days pass in milliseconds.
@Suite(.timeLimit(.minutes(20))) struct RunTests {
  private static let catalog = ActionCatalog([MarkbookPlugin.self])

  /// A run of these steps against a sandbox that the test can set.
  private static func withRun(
    of steps: String, _ test: (_ run: RunDriver, _ sandbox: MarkbookSandbox, _ time: TestTime) async throws -> Void
  ) async throws {
    let environment = RecipeEnvironment(catalog: catalog) { path throws(FileError) in
      throw FileError(.read, path, .system(2))
    }
    let checked = Recipe.check(Source(name: "test.yaml", text: steps), in: environment)
    let recipe = try #require(checked.recipe, "\(Diagnostics(checked.diagnostics).rendered())")
    let plugin = try #require(catalog.plugin("markbook"))
    try await withSandbox { sandbox, _, time in
      let connection = Services.Connection(plugin: plugin, settings: sandbox.configuration)
      let run = RunDriver(recipe, catalog: catalog, connections: ["markbook": connection], time: time)
      try await test(run, sandbox, time)
    }
  }

  /// The delays before a run's retries.
  private static func delays(_ run: RunDriver) -> [TimeSpan?] {
    run.progress.compactMap { event -> TimeSpan?? in
      if case .attemptFailed(_, _, _, let delay) = event { .some(delay) } else { nil }
    }
  }

  @Test func `a lost address and a lost or damaged zip are asked for again at once`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "markbook-\(UUID())").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let steps = """
      steps:
        - id: address
          uses: markbook.getBackupURL
        - id: zip
          uses: markbook.downloadBackup
          with: { to: "\(folder)/b.zip" }
      outputs: { bytes: "${{ steps.zip.bytes }}" }
      """
    try await Self.withRun(of: steps) { run, sandbox, time in
      let client = sandbox.client(time: time)
      try await client.scheduleBackup(matching: "2026")
      time.advance(by: .seconds(24 * 3600))
      sandbox.handler.add(MarkbookFault(.lostAnswer, call: "getbackupurl"))
      sandbox.handler.add(MarkbookFault(.lostAnswer, call: "getbackupurl", skip: 2))
      sandbox.handler.add(MarkbookFault(.lostAnswer, call: "download"))
      sandbox.handler.add(MarkbookFault(.wrongType, call: "download", skip: 1))
      sandbox.handler.add(MarkbookFault(.truncated, call: "download", skip: 2))
      let end = try await run.drive()
      #expect(end.status == .succeeded, "\(end.error?.message ?? "")")
      #expect(Self.delays(run) == [.zero, .zero, .seconds(1), .seconds(5), .seconds(30)])
      #expect(try await (run.outputs())["bytes"]?.int ?? 0 > 1000)
    }
  }

  @Test func `a student whose deletion got no answer is deleted once, and the class is not forgotten`() async throws {
    let steps = """
      steps:
        - id: gone
          uses: markbook.deleteStudent
          with: { markbookKey: 1207731, studentKey: 13, sid: "0047233" }
      outputs: { classKey: "${{ steps.gone.?classKey.orValue(0) }}" }
      """
    try await Self.withRun(of: steps) { run, sandbox, _ in
      sandbox.handler.add(MarkbookFault(.lostAnswer, call: "deletestudent"))
      let end = try await run.drive()
      #expect(end.status == .succeeded, "\(end.error?.message ?? "")")
      #expect(try await run.outputs() == .object(["classKey": .int(9)]))
      #expect(sandbox.writes("deletestudent") == ["1207731/0047233": 1])
    }
  }

  @Test(arguments: [
    """
    uses: markbook.createStudent
    with: { markbookKey: 1207731, sid: "7", familyName: L, givenName: S, gender: other, classKey: 4 }
    retry: { maxAttempts: 3 }
    """,
    """
    uses: markbook.putStudentResult
    with: { markbookKey: 1207731, studentKey: 12, sid: "0047218", taskKey: 21, taskName: Average, result: "7" }
    """,
  ])
  func `a write that the service refuses under two sessions is refused`(_ step: String) async throws {
    let lines = step.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n")
    let steps = "steps:\n  - uses: markbook.userList\n  - id: write\n\(lines)\n"
    try await Self.withRun(of: steps) { run, sandbox, _ in
      for action in ["createstudent", "putstudentresult"] {
        sandbox.handler.add(MarkbookFault(.refusal, call: action, times: 9))
      }
      let end = try await run.drive()
      #expect(end.status == .failed)
      #expect(end.error?.kind == .validation)
      #expect(end.error?.message.hasSuffix("with 'ERROR:not today'.") == true)
      #expect(end.steps["write"]?.attempts == 1)
      #expect(sandbox.handler.log.logins == 2)
    }
  }

  // MARK: Sessions that end early

  @Test func `parallel reads in the first batch outlive the end of their session`() async throws {
    let steps = """
      steps:
        - id: books
          forEach: ${{ [1207731, 1207731, 1207731, 1207731, 1207731] }}
          as: key
          maxParallel: 4
          uses: markbook.getMarkbook
          with: { markbookKey: "${{ key }}" }
      outputs: { books: "${{ steps.books.size() }}" }
      """
    try await Self.withRun(of: steps) { run, sandbox, _ in
      sandbox.handler.add(MarkbookFault(.expired, call: "getmarkbook"))
      let end = try await run.drive()
      #expect(end.status == .succeeded, "\(end.error?.message ?? "")")
      #expect(sandbox.handler.log.logins == 2)
    }
  }

  @Test(arguments: [
    (
      "putstudentresult", "putStudentResult",
      #"studentKey: 12, sid: "0047218", taskKey: 21, taskName: Average, result: "7""#
    ),
    (
      "updatestudent", "updateStudent",
      #"studentKey: 12, sid: "0047218", familyName: L, givenName: S, preferredName: "", gender: other"#
    ),
    ("updatestudentclass", "updateStudentClass", #"studentKey: 12, sid: "0047218", classKey: 9"#),
  ])
  func `an idempotent write whose session has ended is repeated under a new one`(
    _ wire: String, _ name: String, _ fields: String
  ) async throws {
    let steps = """
      steps:
        - uses: markbook.userList
        - id: write
          uses: markbook.\(name)
          with: { markbookKey: 1207731, \(fields) }
      """
    try await Self.withRun(of: steps) { run, sandbox, _ in
      sandbox.handler.add(MarkbookFault(.expired, call: wire))
      let end = try await run.drive()
      #expect(end.status == .succeeded, "\(end.error?.message ?? "")")
      #expect(sandbox.writes(wire).values.reduce(0, +) == 1)
      #expect(end.steps["write"]?.attempts == 1)
    }
  }

  @Test(arguments: [
    (
      "createstudent",
      "createStudent\n    with: { markbookKey: 1207731, sid: '7', familyName: L, givenName: S, gender: other, "
        + "classKey: 4 }"
    ),
    (
      "createclass",
      "createClass\n    with: { markbookKey: 1207731, name: 8GEO-W, teacherFamilyName: F, teacherGivenName: G }"
    ),
    (
      "createmarkbook",
      "createMarkbook\n    with: { markbookName: Demo, markbookYear: '1', markbookCourse: c, ownerKey: 31 }"
    ),
    ("deletestudent", "deleteStudent\n    with: { markbookKey: 1207731, studentKey: 13, sid: '0047233' }"),
  ])
  func `a plain write whose session has ended is looked up, and sent again once`(
    _ wire: String, _ step: String
  ) async throws {
    let steps = "steps:\n  - uses: markbook.userList\n  - id: write\n    uses: markbook.\(step)\n"
    try await Self.withRun(of: steps) { run, sandbox, _ in
      // The baseline is read before.
      sandbox.handler.add(MarkbookFault(.expired, call: wire))
      let end = try await run.drive()
      #expect(end.status == .succeeded, "\(end.error?.message ?? "")")
      #expect(sandbox.writes(wire).values.reduce(0, +) == 1)
      #expect(sandbox.handler.log.logins == 2)
      #expect(end.steps["write"]?.attempts == 1)
    }
  }

  @Test func `a plain write that was done although it was refused is not done again`() async throws {
    let steps = """
      steps:
        - uses: markbook.userList
        - id: write
          uses: markbook.createClass
          with: { markbookKey: 1207731, name: 8GEO-W, teacherFamilyName: F, teacherGivenName: G }
      outputs: { key: "${{ steps.write.classKey }}" }
      """
    try await Self.withRun(of: steps) { run, sandbox, _ in
      sandbox.handler.add(MarkbookFault(.doneRefusal, call: "createclass"))
      let end = try await run.drive()
      #expect(end.status == .succeeded, "\(end.error?.message ?? "")")
      #expect(sandbox.writes("createclass") == ["1207731/8GEO-W": 1])
      #expect(try await run.outputs() == .object(["key": .int(10)]))
    }
  }

  @Test func `a plain write that is refused and cannot be looked up is uncertain`() async throws {
    let steps = """
      steps:
        - uses: markbook.userList
        - id: write
          uses: markbook.createClass
          with: { markbookKey: 1207731, name: 8GEO-W, teacherFamilyName: F, teacherGivenName: G }
      """
    try await Self.withRun(of: steps) { run, sandbox, _ in
      sandbox.handler.add(MarkbookFault(.expired, call: "createclass"))
      // The baseline is read well, and the looks are not.
      sandbox.handler.add(MarkbookFault(.wrongType, call: "getmarkbook", skip: 1, times: 9))
      let end = try await run.drive()
      #expect(end.status == .uncertain)
      #expect(sandbox.writes("createclass").isEmpty)
    }
  }
}
