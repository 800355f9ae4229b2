import Basics
import RunTestKit
import Testing

@testable import RunState

/// Finds and takes out secrets that an older version kept.
@Suite struct SecretSweepTests {
  private static let secret = "sesame/4711"

  /// A state that was written without knowing the secret: in values, errors, a blob, the history and both generations.
  private static func disk() async throws -> FaultyFileSystem {
    let disk = FaultyFileSystem()
    let store = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
    try await store.append([
      Example.created("over", inputs: .object(["name": .string("of \(secret)")])), Example.began("over", "a"),
      Example.ended("over", "a", output: .string(secret)), Example.over("over"),
    ])
    try await store.append([
      Example.created("open"), Example.began("open", "a"), Example.attempted("open", "a"),
      .attemptEnded(
        AttemptEnded(
          run: "open", at: instant(1), step: "a", number: 1, error: RunError(.server, "refused \(secret)"),
          exchanges: [.object(["url": .string("http://x?k=sesame%2F4711")])])),
    ])
    let large = try await store.keep(.string(String(repeating: "x", count: 70_000) + secret))
    try await store.append([
      .stepEnded(StepEnded(run: "open", at: instant(2), step: "a", status: .succeeded, output: large)),
      Example.set("kept", .object(["a": .string("<\(secret)>"), "n": .int(1)])),
    ])
    try await store.compact()
    try await store.append([Example.began("open", "b"), Example.ended("open", "b", output: .object([secret: .null]))])
    disk["/state/cache/http/0.answer"] = Array("200 \(secret)".utf8)
    disk["/state/journal-1.damaged.jsonl"] = Array("{\"n\":1,\"of\":\"\(secret)".utf8)
    return disk.restarted(losing: .nothing)
  }

  private static let registry: SecretRegistry = {
    let registry = SecretRegistry()
    registry.learn([("TOKEN", secret)])
    return registry
  }()

  private static func doctor(_ disk: FaultyFileSystem) -> StateDoctor {
    StateDoctor(
      "/state", program: "errand 0.2", now: instant(100_000), isHeld: false, secrets: registry, fileSystem: disk)
  }

  /// The content of the state, with all values restored.
  private static func content(_ disk: FaultyFileSystem) async throws -> [Value] {
    let store = try await FileStateStore.open("/state", program: "errand 0.2", fileSystem: disk)
    store.secrets.learn([("TOKEN", secret)])
    let (open, over) = (store.run("open"), try await store.finishedRun("over"))
    let stored = [
      open?.steps["a"]?.output, open?.steps["b"]?.output, over?.steps["a"]?.output,
      over.map { .inline($0.origin.inputs) },
      store.state.values["kept"],
    ]
    var content: [Value] = []
    for stored in stored { content.append(try await store.restored(try #require(stored), as: "it")) }
    return content
  }

  private static func holders(_ disk: FaultyFileSystem) -> [String] {
    let finder = SecretFinder([("TOKEN", secret)])
    return disk.paths.filter { path in disk[path].map { !finder.finds(in: $0).isEmpty } ?? false }
  }

  @Test func `each file that holds a secret is named, and none does afterwards`() async throws {
    let disk = try await SecretSweepTests.disk()
    let content = try await SecretSweepTests.content(disk.restarted(losing: .nothing))
    #expect(content.count == 5 && content.contains(.string(SecretSweepTests.secret)))
    let found = try SecretSweepTests.doctor(disk).examine().findings.filter { $0.message.contains("holds the secret") }
    for path in SecretSweepTests.holders(disk) {
      #expect(found.contains { $0.message.hasPrefix("\(path) holds the secret 'TOKEN'") }, "\(path): \(found)")
    }
    #expect(found.allSatisfy { $0.isRepairable && $0.severity == .fault })
    _ = try SecretSweepTests.doctor(disk).repair()
    #expect(SecretSweepTests.holders(disk) == [])
    #expect(try SecretSweepTests.doctor(disk).examine().findings.allSatisfy { $0.severity == .note })
    #expect(try await SecretSweepTests.content(disk) == content)
  }

  @Test func `an interrupted repair leaves a state that opens, and the next one finishes it`() async throws {
    let old = try await SecretSweepTests.disk()
    let content = try await SecretSweepTests.content(old.restarted(losing: .nothing))
    var moments = 0
    for phase in [FaultyFileSystem.Phase.half, .after] {
      for loss in [FaultyFileSystem.Loss.everything, .some(seed: 7)] {
        for operation in 1... {
          let disk = old.restarted(losing: .nothing)
          disk.fail(at: operation, .crash(phase))
          _ = try? SecretSweepTests.doctor(disk).repair()
          guard disk.isStopped else { break }
          moments += 1
          let after = disk.restarted(losing: loss)
          let place: Comment = "operation \(operation), \(phase), losing \(loss)"
          #expect(try await SecretSweepTests.content(after.restarted(losing: .nothing)) == content, place)
          _ = try SecretSweepTests.doctor(after).repair()
          let end = after.restarted(losing: .everything)
          #expect(SecretSweepTests.holders(end) == [], place)
          #expect(try await SecretSweepTests.content(end) == content, place)
        }
      }
    }
    #expect(moments > 50)
  }

  @Test func `the numbers of an exchange aren't searched for secrets, and its texts are`()
    async throws
  {
    let disk = FaultyFileSystem()
    let store = try await FileStateStore.open("/state", program: "errand 0.2", fileSystem: disk)
    func attempted(_ url: String) -> StateEvent {
      .attemptEnded(
        AttemptEnded(
          run: "r", at: instant(1), step: "a", number: 1,
          exchanges: [
            .object(["url": .string(url), "status": .int(4711), "bytes": .int(4711), "seconds": .double(0.4711)])
          ]))
    }
    try await store.append([Example.created("r"), Example.began("r", "a"), Example.attempted("r", "a")])
    try await store.append(attempted("http://x"))
    let registry = SecretRegistry()
    registry.learn([("PIN", "4711")])
    func doctor(_ disk: FaultyFileSystem) -> StateDoctor {
      StateDoctor(
        "/state", program: "errand 0.2", now: instant(100), isHeld: false, secrets: registry, fileSystem: disk)
    }
    let clean = disk.restarted(losing: .nothing)
    #expect(try doctor(clean).examine().findings.filter { $0.message.contains("'PIN'") } == [])
    try await store.append([Example.attempted("r", "a"), attempted("http://x?k=4711")])
    let found = disk.restarted(losing: .nothing)
    #expect(try doctor(found).examine().findings.contains { $0.message.contains("holds the secret 'PIN'") })
    _ = try doctor(found).repair()
    #expect(try doctor(found).examine().findings.filter { $0.message.contains("'PIN'") } == [])
  }

  @Test func `the state's own words that equal a secret are kept, and not reported`() async throws {
    let disk = FaultyFileSystem()
    let store = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
    try await store.append([Example.created("r"), Example.began("r", "succeeded"), Example.ended("r", "succeeded")])
    let registry = SecretRegistry()
    registry.learn([("WORD", "succeeded"), ("NAME", "averages")])
    let doctor = StateDoctor(
      "/state", program: "errand 0.2", now: instant(100), isHeld: false, secrets: registry,
      fileSystem: disk.restarted(losing: .nothing))
    let told = try doctor.examine().findings.filter { $0.message.contains("'WORD'") }
    #expect(told == [])
  }
}
