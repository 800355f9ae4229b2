import Basics
import Foundation
import RunTestKit
import Testing

@testable import RunState

/// A version changes exactly when its part of the state does.
@Suite struct StateVersionTests {
  /// The parts of a state that are read after a batch, with the versions.
  private struct Reading: Equatable {
    var everything: String?
    var runs: [String: RunRecord]
    var versions: [String: String]

    init(_ store: any LocalStateStore) async {
      everything = await store.version(of: .everything)
      runs = Dictionary(uniqueKeysWithValues: store.state.openRuns.map { ($0.id, $0) })
      versions = [:]
      for id in runs.keys { versions[id] = await store.version(of: .run(id)) }
    }
  }

  private static func play(_ seed: UInt64, in store: any LocalStateStore) async throws {
    var maker = HistoryMaker(using: SeededGenerator(seed: seed))
    var before = await Reading(store)
    for step in 0..<60 {
      let batch = maker.next()
      do throws(StateError) {
        try await store.append(batch.events)
        maker.accept(batch)
      } catch {
        #expect(batch.refusal != nil, "\(error)")
      }
      let after = await Reading(store)
      let isChanged = batch.refusal == nil && !batch.events.isEmpty
      #expect((after.everything != before.everything) == isChanged, "seed \(seed), step \(step)")
      for (id, run) in after.runs {
        #expect(after.versions[id] != nil)
        guard let earlier = before.runs[id] else { continue }
        let isNamed = batch.refusal == nil && batch.events.contains { $0.changedRun == id }
        // An event may leave a record as it was; nothing else may be counted.
        #expect((after.versions[id] != before.versions[id]) == isNamed, "seed \(seed), step \(step), run \(id)")
        if run != earlier { #expect(isNamed, "seed \(seed), step \(step), run \(id)") }
      }
      for id in before.runs.keys where after.runs[id] == nil { #expect(await store.version(of: .run(id)) == nil) }
      before = after
    }
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `each change of a run and of the state is counted, in memory and in a folder`(seed: UInt64) async throws {
    try await StateVersionTests.play(seed, in: MemoryStateStore())
    let folder = try await FileStateStore.open("state", program: "test", fileSystem: FaultyFileSystem())
    try await StateVersionTests.play(seed, in: folder)
    try await folder.close()
  }

  @Test func `printed lines are a change of their run's log, and no record's`() async throws {
    let disk = FaultyFileSystem()
    for store in [
      MemoryStateStore() as any LocalStateStore,
      try await FileStateStore.open("state", program: "test", fileSystem: disk),
    ] {
      try await store.append([
        Example.created("r"), Example.created("s"), Example.began("r", "a"), Example.began("s", "a"),
      ])
      func versions() async -> [String?] {
        var versions: [String?] = []
        for part in [StatePart.everything, .run("r"), .log("r"), .run("s"), .log("s")] {
          versions.append(await store.version(of: part))
        }
        return versions
      }
      let before = await versions()
      let line = PrintedLine(step: "a", attempt: 1, stream: .output, at: instant(1), text: "line")
      store.keepPrinted([line], ofRun: "r") { Issue.record("\($0)") }
      let printed = await versions()
      #expect(zip(before, printed).map { $0 == $1 } == [false, false, false, true, true])
      try await store.append(Example.began("r", "b"))
      let begun = await versions()
      #expect(zip(printed, begun).map { $0 == $1 } == [false, false, true, true, true])
      try await store.append(Example.over("r"))
      #expect(await store.version(of: .run("r")) == nil)
      #expect(await store.version(of: .log("r")) == nil)
      let ended = await versions()
      #expect(ended[0] != begun[0])
      #expect(try await store.deleteRun("r"))
      #expect(await versions()[0] != ended[0])
      try await store.close()
    }
  }
}
