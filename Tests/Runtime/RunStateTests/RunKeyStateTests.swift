import Basics
import RunTestKit
import Testing

@testable import RunState

/// The state finds runs by their keys, and forgets keys that have expired.
@Suite struct RunKeyStateTests {
  private static let day = 86_400

  private func created(_ run: String, _ key: String, at seconds: Int, cause: RunCause = RunCause(.manual)) -> StateEvent
  {
    .runCreated(
      RunCreated(
        run: run, at: instant(seconds), recipe: "r", file: "r.yaml", texts: .inline(.object([:])),
        inputs: .object([:]), program: "test", cause: cause, key: RunKey(key, caller: "ann")))
  }

  private func ended(_ run: String, at seconds: Int) -> StateEvent {
    .runEnded(RunEnded(run: run, at: instant(seconds), status: .failed))
  }

  private func holder(of key: String, in state: State, at seconds: Int) throws -> String? {
    try state.run(ofKey: RunKey(key, caller: "ann"), of: "r", at: instant(seconds))?.run
  }

  @Test func `a key is refused as a conflict while its run is open, and until it expires`() throws {
    var state = try Example.fold([created("a", "k", at: 0)])
    for seconds in [0, 8 * RunKeyStateTests.day] {
      do {
        try state.apply(created("b", "k", at: seconds))
        Issue.record("it was kept")
      } catch {
        #expect(error.isConflict && error.message == "the run a has the key 'k'")
      }
    }
    try state.apply(ended("a", at: 1))
    #expect(throws: RecordError.self) { try state.apply(created("b", "k", at: 7 * RunKeyStateTests.day - 1)) }
    try state.apply(created("b", "k", at: 7 * RunKeyStateTests.day))
    #expect(try holder(of: "k", in: state, at: 7 * RunKeyStateTests.day) == "b")
  }

  @Test func `a retry takes the key of the run that it retries, and of no other`() throws {
    var state = try Example.fold([created("a", "k", at: 0), ended("a", at: 1)])
    try state.apply(created("b", "k", at: 2, cause: RunCause(.retry, run: "a")))
    #expect(try holder(of: "k", in: state, at: 3) == "b")
    try state.apply(created("c", "k", at: 4, cause: RunCause(.retry, run: "a")))
    #expect(try holder(of: "k", in: state, at: 5) == "b")
  }

  @Test func `expired keys are forgotten, and those of open runs kept`() throws {
    var state = try Example.fold(
      (0..<100).flatMap { number in
        let begin = created("r\(number)", "k\(number)", at: number)
        return number % 10 == 0 ? [begin] : [begin, ended("r\(number)", at: number)]
      })
    try state.apply(created("late", "late", at: 8 * RunKeyStateTests.day + 100))
    #expect(state.keys.runs.count == 11)
    // One that ends after its key has expired leaves none.
    try state.apply(ended("r0", at: 9 * RunKeyStateTests.day))
    #expect(state.keys.runs.count == 10)
  }

  @Test func `keys survive a restart, a compaction and a copy of the state`() async throws {
    let disk = FaultyFileSystem()
    let store = try await FileStateStore.open("/state", program: "test", fileSystem: disk)
    try await store.append([created("a", "k", at: 0), created("b", "l", at: 0), ended("b", at: 1)])
    try await store.compact()
    let before = store.state
    try await store.close()
    let again = try await FileStateStore.open("/state", program: "test", fileSystem: disk)
    #expect(again.state.keys == before.keys && before.keys.runs.count == 2)
    #expect(try await again.keyed(RunKey("l", caller: "ann"), of: "r", at: instant(2))?.run == "b")
    #expect(try await again.deleteRun("b"))
    #expect(try await again.keyed(RunKey("l", caller: "ann"), of: "r", at: instant(2))?.run == "b")
    await #expect(throws: StateError.self) { try await again.append([created("c", "k", at: 3)]) }
    try await again.close()
    let text = try #require(try disk.read("/state/state.json"))
    #expect(!String(decoding: text, as: UTF8.self).contains(#""l""#))
  }
}
