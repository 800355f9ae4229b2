import ActionKit
import ActionTestKit
import Basics
import Foundation
import Recipes
import RunState
import RunTestKit
import Runs
import Testing

@testable import MarkbookPlugin

/// Whole runs against the sandbox over real HTTP, whose days pass in milliseconds.
@Suite(.timeLimit(.minutes(5))) struct RunTests {
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

  /// The delays after which a run tried again.
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
      sandbox.desk.add(SandboxFault(.lostAnswer, action: "getbackupurl"))
      sandbox.desk.add(SandboxFault(.lostAnswer, action: "getbackupurl", skip: 2))
      sandbox.desk.add(SandboxFault(.lostAnswer, action: "download"))
      sandbox.desk.add(SandboxFault(.wrongType, action: "download", skip: 1))
      sandbox.desk.add(SandboxFault(.truncated, action: "download", skip: 2))
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
      sandbox.desk.add(SandboxFault(.lostAnswer, action: "deletestudent"))
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
  func `a write that the service refuses is sent once`(_ step: String) async throws {
    let lines = step.split(separator: "\n").map { "    \($0)" }.joined(separator: "\n")
    let steps = "steps:\n  - uses: markbook.userList\n  - id: write\n\(lines)\n"
    try await Self.withRun(of: steps) { run, sandbox, _ in
      for action in ["createstudent", "putstudentresult"] {
        sandbox.desk.add(SandboxFault(.refusal, action: action, times: 9))
      }
      let end = try await run.drive()
      #expect(end.status == .failed)
      #expect(end.error?.kind == .validation)
      #expect(end.steps["write"]?.attempts == 1)
      #expect(sandbox.desk.log.logins == 1)
    }
  }
}
