import Basics
import RunTestKit
import Testing

@testable import RunState

/// How the journal's writer serves requests that came together.
@Suite struct JournalWriterTests {
  @Test(arguments: [0, 1]) func `requests after a snapshot in one batch are read back`(before: Int) async throws {
    let disk = FaultyFileSystem()
    let folder = StateFolder(path: "/state", fileSystem: disk, program: "test")
    var writer = try JournalWriter(folder, logs: StateLogs("/state", disk), rule: CompactionRule()) {}
    func created(_ run: String) throws -> (JournalWriter.Request, Answer) {
      let answer = Answer()
      let events = [Example.created(run)]
      return (.append(events, try JournalLines(events), answer), answer)
    }
    writer.serve([try created("r0").0])
    let compacted = Answer()
    let (first, second) = (try created("r1"), try created("r2"))
    writer.serve((before == 1 ? [first.0] : []) + [.compact(compacted), second.0])
    try await compacted.outcome.get()
    try await second.1.outcome.get()
    let found = try StateFolder(path: "/state", fileSystem: disk, program: "test").read()
    #expect(found.state.runs.keys.sorted() == (before == 1 ? ["r0", "r1", "r2"] : ["r0", "r2"]))
  }
}
