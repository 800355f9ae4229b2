import ActionTestKit
import ProcessTestKit
import Basics
import Foundation
import RunState
import Runs
import Testing

@testable import Agent

/// Only a run that crashes the agent repeatedly is paused.
@Suite(.timeLimit(.minutes(20))) struct CrashBlameTests {
  private static let recipe = "steps: [{ id: a, wait: 9h }, { id: b, wait: 9h }]"

  /// An agent that finds runs at certain steps, as a crashed or a killed agent left them.
  private static func found(
    _ places: [String: StepPath], on store: MemoryStateStore, time: TestTime, isMarked: Bool = true
  ) async throws -> [String] {
    let folder = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let bench = await HostBench(store, time: time)
    for (id, step) in places {
      if store.run(id) == nil { try await bench.accept(id, recipe) }
      try await store.append([
        .runStatusChanged(RunStatusChanged(run: id, at: time.now(), status: .running)),
        .stepBegan(StepBegan(run: id, at: time.now(), step: step, now: time.now(), key: id)),
        .attemptBegan(AttemptBegan(run: id, at: time.now(), step: step, number: 1)),
      ])
    }
    let mark = folder.appending(path: "agent.crashed")
    if isMarked { try Data().write(to: mark) }
    let left = await bench.host.recover(in: folder.path)
    #expect(!FileManager.default.fileExists(atPath: mark.path))
    await bench.host.stop()
    return left.map { "\($0.id) \($0.status.rawValue): \($0.reason ?? "")" }
  }

  @Test func `a run at the same step in two crashes in a row is paused with the reason`() async throws {
    let (store, time) = (MemoryStateStore(), TestTime())
    #expect(try await Self.found(["r1": "a"], on: store, time: time).isEmpty)
    #expect(
      try await Self.found(["r1": "a"], on: store, time: time) == [
        "r1 paused: the agent crashed twice while this run was at 'a' or at what follows; errand runs resume tries it once more"
      ])
  }

  @Test func `a run at the same step of a loop in two crashes in a row is paused, whatever the item`() async throws {
    let (store, time) = (MemoryStateStore(), TestTime())
    #expect(try await Self.found(["r1": "a[3]/put~2"], on: store, time: time).isEmpty)
    let left = try await Self.found(["r1": "a[64]/put"], on: store, time: time)
    #expect(left.map { $0.contains("twice while this run was at 'a/put' or") } == [true], "\(left)")
  }

  @Test func `a run that advanced, and one that was stopped from outside, continue`() async throws {
    let (store, time) = (MemoryStateStore(), TestTime())
    for _ in 0..<3 {
      #expect(try await Self.found(["r1": "a"], on: store, time: time, isMarked: false).isEmpty)
    }
    #expect(try await Self.found(["r1": "a"], on: store, time: time).isEmpty)
    #expect(try await Self.found(["r1": "b"], on: store, time: time).isEmpty)
  }

  @Test func `of several runs at a crash, those at the same place both times are paused and name each other`()
    async throws
  {
    let (store, time) = (MemoryStateStore(), TestTime())
    #expect(try await Self.found(["r1": "a", "r2": "a", "r3": "a"], on: store, time: time).isEmpty)
    let left = try await Self.found(["r1": "a", "r2": "a", "r3": "b"], on: store, time: time)
    #expect(
      left.map { $0.prefix(9) + ($0.contains("both times as well, and it may be one of them: r") ? " …" : "") } == [
        "r1 paused …", "r2 paused …",
      ])
  }

  /// Where the process of a test leaves its mark: a child of this process.
  private static func folder(_ process: pid_t, _ name: String) -> String { "/tmp/errand-crash-\(process)-\(name)" }

  @inline(never) private static func trapHere(_ number: Int) -> Int {
    precondition(number < 0, "on purpose")
    return number + 1
  }

  @Test func `a process that traps says where it was, so that symbols tell the function`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      CrashMark.arm(as: "errand test")
      _ = CrashBlameTests.trapHere(CommandLine.arguments.count)
    }
    let text = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(text.contains("errand test crashed: signal "), "\(text)")
    #expect(text.contains("), build "), "\(text)")
    let names = try CrashBlameTests.functions(in: text, of: "/proc/self/exe")
    #expect(names.contains("trapHere"), "\(text)\(names)")
  }

  /// The functions at the addresses of a backtrace, by a program's symbols.
  static func functions(in text: String, of program: String) throws -> String {
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("llvm-symbolizer") })
    let addresses = line.split(separator: " ").filter { $0.hasPrefix("0x") }.map(String.init)
    #expect(addresses.count > 1, "\(text)")
    let (process, pipe) = (Process(), launchPipe())
    process.executableURL = URL(filePath: "/usr/bin/env")
    let path = try FileManager.default.destinationOfSymbolicLink(atPath: program)
    process.arguments = ["llvm-symbolizer", "--obj=\(path)"] + addresses
    process.standardOutput = pipe
    try process.startAlone()
    let output = pipe.fileHandleForReading.readDataToEndOfFile()
    process.awaitEnd()
    return String(decoding: output, as: UTF8.self)
  }

  @Test func `a process that traps leaves a mark, and one that is sent a signal does not`() async throws {
    let (own, sent) = (Self.folder(getpid(), "own"), Self.folder(getpid(), "sent"))
    for folder in [own, sent] {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }
    defer { for folder in [own, sent] { try? FileManager.default.removeItem(atPath: folder) } }
    await #expect(processExitsWith: .failure) {
      CrashMark.arm(as: "test")
      CrashMark.arm(in: CrashBlameTests.folder(getppid(), "own"))
      fatalError("on purpose")
    }
    await #expect(processExitsWith: .signal(SIGSEGV)) {
      CrashMark.arm(as: "test")
      CrashMark.arm(in: CrashBlameTests.folder(getppid(), "sent"))
      kill(getpid(), SIGSEGV)
      while true { pause() }
    }
    #expect(CrashMark.isThere(in: own))
    #expect(!CrashMark.isThere(in: sent))
  }
}
