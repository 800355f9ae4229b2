import ActionKit
import ActionTestKit
import Basics
import Foundation
import MarkbookPlugin
import Recipes
import RunState
import Runs
import Testing

@testable import RunTestKit

/// Whole runs against a sandbox over real HTTP, on a clock that moves only when nothing is left to do.
@Suite(.timeLimit(.minutes(20))) struct RunDriverTests {
  static func recipe(_ text: String) throws -> Recipe {
    let environment = RecipeEnvironment(catalog: ActionCatalog([MarkbookPlugin.self])) { path throws(FileError) in
      throw FileError(.read, path, .system(2))
    }
    let checked = Recipe.check(Source(name: "test.yaml", text: text), in: environment)
    return try #require(checked.recipe, "\(Diagnostics(checked.diagnostics).rendered())")
  }

  static let backup = """
    recipe: markbook-backup
    steps:
      - uses: markbook.scheduleBackup
        with: { matching: "${{ time.format(now, '%Y', 'Australia/Sydney') }}" }
      - wait: { until: "time.next(now, '02:00', 'Australia/Sydney')" }
      - id: backup
        uses: markbook.downloadBackup
        repeat: { until: "result.state != 'pending'", every: 1h, timeout: 30h }
        with:
          to: backups/markbooks-${{ time.format(now, '%Y-%m-%d', 'Australia/Sydney') }}.zip
          verify: zip
      - if: "!has(steps.backup.path)"
        fail: The server holds no backup any more; somebody may have replaced it.
    outputs:
      path: ${{ steps.backup.path }}
      bytes: ${{ steps.backup.bytes }}
    """

  @Test func `a backup is scheduled today and downloaded tomorrow, by programs that come and go`() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try await withRun(of: RunDriverTests.recipe(RunDriverTests.backup), plugins: [MarkbookPlugin.self], folder: folder)
    {
      run in
      let end = try await run.drive()
      #expect(end.status == .succeeded, "\(end.error?.message ?? end.reason ?? "")")
      #expect(run.woke.first == Timestamp("2026-11-20T15:00:00Z"))
      let path = try #require(try await run.outputs()["path"]?.string)
      #expect(path.hasSuffix("backups/markbooks-2026-11-21.zip"))
      let bytes = try #require(FileManager.default.contents(atPath: path.hasPrefix("/") ? path : "\(folder)/\(path)"))
      #expect(bytes.count == (try await run.outputs()["bytes"]?.int))
      #expect(bytes.starts(with: Array("PK".utf8)))
    }
  }

  @Test func `short waits pass on the clock, and people and events are only waited for`() async throws {
    let recipe = try RunDriverTests.recipe(
      """
      steps:
        - { wait: 59s }
        - parallel:
            left: [{ id: ask, approve: { prompt: "Go?", timeout: 2d } }]
            right: [{ wait: { event: paid } }]
      outputs: { now: "${{ now }}" }
      """)
    let run = RunDriver(recipe, catalog: ActionCatalog([]))
    let start = run.time.now()
    #expect(try await run.drive(until: TestTime.start).wakeAt == start.advanced(by: .seconds(59 + 2 * 86_400)))
    #expect(run.time.now() == start.advanced(by: .seconds(59)))
    try await run.send("paid", id: "e")
    try await run.decide("#2/left/ask", approved: true)
    #expect(try await run.drive().status == .succeeded)
    #expect(run.woke == [])
    #expect(try await run.outputs()["now"]?.timestamp == start.advanced(by: .seconds(59)))
  }
}
