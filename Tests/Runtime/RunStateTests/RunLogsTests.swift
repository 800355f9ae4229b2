import Basics
import Glibc
import RunTestKit
import Synchronization
import Testing

@testable import RunState

/// The logs of runs in their folder.
@Suite(.timeLimit(.minutes(20))) struct RunLogsTests {
  private static let run = "019aa110-8d00-7abc-8def-0123456789ab"
  private static let file = "/state/logs/2025-11/\(run).jsonl"

  private static func line(
    _ text: String, _ stream: PrintedLine.Stream = .output, step: StepPath = "a", at seconds: Int = 0
  ) -> PrintedLine {
    PrintedLine(step: step, attempt: 1, stream: stream, at: instant(seconds), text: text)
  }

  private static func logs(_ disk: FaultyFileSystem) -> RunLogs { RunLogs(folder: "/state/logs", fileSystem: disk) }

  private static func all(_ logs: RunLogs, _ run: String = run) throws -> [String] {
    var texts: [String] = []
    var position = 0
    while true {
      let piece = try logs.piece(of: run, from: position)
      texts += piece.lines.map(\.text)
      if piece.isLast { return texts }
      position = piece.next
    }
  }

  @Test func `a log is lines of JSON in the folder of the run's month`() throws {
    let disk = FaultyFileSystem()
    let logs = Self.logs(disk)
    try logs.add([Self.line("12 \"files\""), Self.line("\u{1B}[2J", .errors, at: 1)], to: Self.run)
    try logs.add([Self.line("", .note, at: 2)], to: Self.run)
    #expect(
      String(decoding: disk[Self.file] ?? [], as: UTF8.self) == #"""
        {"step":"a","attempt":1,"stream":"output","at":"2026-11-20T09:00:00Z","text":"12 \"files\""}
        {"step":"a","attempt":1,"stream":"errors","at":"2026-11-20T09:00:01Z","text":"\u001b[2J"}
        {"step":"a","attempt":1,"stream":"note","at":"2026-11-20T09:00:02Z","text":""}

        """#)
    try logs.add([Self.line("x")], to: "run-1")
    #expect(try Self.all(logs, "run-1") == ["x"])
    #expect(try logs.files().map(\.path) == [Self.file, "/state/logs/other/run-1.jsonl"])
    #expect(try Self.all(logs, "unknown") == [])
  }

  @Test(arguments: ["", "..", "../x", "a/b", ".hidden", "a\u{0}b", String(repeating: "a", count: 101)])
  func `an id that can't be the name of a file has no log`(_ run: String) throws {
    let disk = FaultyFileSystem()
    let logs = Self.logs(disk)
    try logs.add([Self.line("x")], to: run)
    #expect(try logs.piece(of: run, from: 0) == PrintedPiece(lines: [], next: 0, isLast: true))
    try logs.remove(run)
    #expect(disk.paths.isEmpty)
  }

  @Test func `half a line is left out by readers and cut off by the next writer`() throws {
    let disk = FaultyFileSystem()
    try Self.logs(disk).add([Self.line("one"), Self.line("two")], to: Self.run)
    disk[Self.file]?.removeLast(5)
    #expect(try Self.all(Self.logs(disk)) == ["one"])
    let again = Self.logs(disk)
    try again.add([Self.line("three")], to: Self.run)
    #expect(try Self.all(again) == ["one", "three"])
    // Nothing but half a line.
    disk[Self.file] = Array("{\"at\"".utf8)
    let last = Self.logs(disk)
    try last.add([Self.line("four")], to: Self.run)
    #expect(try Self.all(last) == ["four"])
  }

  @Test func `damaged lines are left out, and a position within a line reads from the next one`() throws {
    let disk = FaultyFileSystem()
    let logs = Self.logs(disk)
    try logs.add([Self.line("one"), Self.line("two"), Self.line("three")], to: Self.run)
    disk[Self.file]?[100] = 0
    #expect(try Self.all(logs) == ["one", "three"])
    #expect(try logs.piece(of: Self.run, from: 3).lines.map(\.text) == ["three"])
    #expect(try logs.piece(of: Self.run, from: -9).lines.map(\.text) == ["one", "three"])
    #expect(try logs.piece(of: Self.run, from: .max).lines == [])
    disk[Self.file] = [UInt8](repeating: 0, count: 3 << 20)
    #expect(try Self.all(logs) == [])
  }

  @Test func `a log is read in pieces`() throws {
    let disk = FaultyFileSystem()
    let logs = Self.logs(disk)
    let lines = (0..<20_000).map { Self.line("line \($0)") } + [Self.line(String(repeating: "\u{1}", count: 65_536))]
    try logs.add(lines, to: Self.run)
    let first = try logs.piece(of: Self.run, from: 0)
    #expect(first.lines.count < 4000)
    #expect(!first.isLast)
    #expect(try Self.all(logs) == lines.map(\.text))
  }

  @Test func `the last lines of a log are read from its end`() throws {
    let disk = FaultyFileSystem()
    let logs = Self.logs(disk)
    try logs.add((0..<20_000).map { Self.line("line \($0)") }, to: Self.run)
    let size = disk[Self.file]?.count ?? 0
    let end = try logs.piece(of: Self.run, from: -2)
    #expect(end.lines.map(\.text) == ["line 19998", "line 19999"])
    #expect(end.isLast && end.next == size)
    // No more than one piece of the log.
    #expect(try logs.piece(of: Self.run, from: -20_000).lines.count < 4000)
    #expect(try logs.piece(of: Self.run, from: .min).lines.last?.text == "line 19999")
    let long = String(repeating: "\u{1}", count: 65_536)
    try logs.add([Self.line(long)], to: Self.run)
    #expect(try logs.piece(of: Self.run, from: -1).lines.map(\.text) == [long])
    #expect(try logs.piece(of: "none", from: -1).lines == [])
  }

  @Test func `a run has 16 MiB, and the last line says that it is full`() throws {
    let disk = FaultyFileSystem()
    let logs = Self.logs(disk)
    let text = String(repeating: "x", count: 60_000)
    for _ in 0..<300 { try logs.add([Self.line(text)], to: Self.run) }
    #expect((disk[Self.file]?.count ?? 0) <= PrintedLine.mostOfRun)
    #expect((disk[Self.file]?.count ?? 0) > PrintedLine.mostOfRun - 70_000)
    let full = "the log of this run has reached 16 MiB; what is printed from here on isn't kept"
    #expect(try Self.all(logs).last == full)
    // Another process knows it too, though a short line would fit.
    let other = Self.logs(disk)
    try other.add([Self.line("short")], to: Self.run)
    #expect(try Self.all(other).last == full)
  }

  @Test func `memory keeps as much`() async throws {
    let store = MemoryStateStore()
    let text = String(repeating: "x", count: 60_000)
    for _ in 0..<300 { store.keepPrinted([Self.line(text)], ofRun: "r") { _ in } }
    var texts: [String] = []
    var position = 0
    while true {
      let piece = try await store.printed(ofRun: "r", from: position)
      texts += piece.lines.map(\.text)
      position = piece.next
      if piece.isLast { break }
    }
    #expect(texts.last == "the log of this run has reached 16 MiB; what is printed from here on isn't kept")
    #expect(texts.reduce(0) { $0 + $1.utf8.count } < PrintedLine.mostOfRun)
    #expect(texts.count > 250)
  }

  @Test func `a disk that is full costs the log and is told once`() async throws {
    let disk = FaultyFileSystem()
    let store = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
    let told = Mutex<[String]>([])
    store.keepPrinted([Self.line("one")], ofRun: Self.run) { _ in Issue.record("the disk isn't full yet") }
    #expect(try await store.printed(ofRun: Self.run, from: 0).lines.count == 1)
    disk.fail(at: 1, .error(ENOSPC))
    for _ in 0..<3 {
      store.keepPrinted([Self.line("two")], ofRun: Self.run) { error in told.withLock { $0.append(error.message) } }
    }
    let lines = try await store.printed(ofRun: Self.run, from: 0).lines.map(\.text)
    #expect(lines == ["one"])
    #expect(told.withLock { $0 } == ["cannot write '\(Self.file)': no space left on device (ENOSPC)"])
    // The run continues.
    try await store.append(Example.created(Self.run))
    try await store.close()
  }

  @Test func `a log goes with its run, and when the run is neither open nor in the history`() async throws {
    let disk = FaultyFileSystem()
    func open(at seconds: Int) async throws -> FileStateStore {
      try await FileStateStore.open(
        "/state", program: "errand 0.1", fileSystem: disk, time: Frozen(instant(seconds)))
    }
    let store = try await open(at: 0)
    try await store.append([
      Example.created("ended"), Example.over("ended"), Example.created("open"), Example.created("recent"),
      Example.over("recent"),
    ])
    for run in ["ended", "open", "recent", "gone", "deleted"] {
      store.keepPrinted([Self.line(run)], ofRun: run) { _ in }
    }
    try await store.removeLog(ofRun: "deleted")
    #expect(try await store.printed(ofRun: "deleted", from: 0).lines == [])
    // A log that is young stays.
    #expect(try await store.maintain().removedLogs == 0)
    try await store.close()
    let later = try await open(at: 2 * 3600)
    #expect(try await later.maintain().removedLogs == 1)
    #expect(
      disk.paths.filter { $0.hasPrefix("/state/logs") }
        == ["ended", "open", "recent"].map { "/state/logs/other/\($0).jsonl" })
    try await later.close()
  }

  @Test func `an archive holds the logs`() async throws {
    let disk = FaultyFileSystem()
    let store = try await FileStateStore.open("/old/state", program: "errand 0.1", fileSystem: disk)
    try await store.append(Example.created(Self.run))
    store.keepPrinted([Self.line("one"), Self.line("two")], ofRun: Self.run) { _ in }
    try await store.close()
    disk["/old/state/logs/2025-11/\(Self.run).jsonl"]? += Array("{\"half".utf8)
    disk["/old/state/logs/2025-11/notes.txt"] = [1]
    var bytes: [UInt8] = []
    let sent = try StateArchive("/old/state", program: "errand 0.1", fileSystem: disk).export(at: instant(0)) {
      bytes += $0
    }
    #expect(sent.logs == 1)
    var rest = bytes[...]
    let taken = try StateArchive("/new/state", program: "errand 0.1", fileSystem: disk).import(
      replacing: false, at: instant(5)
    ) { count throws(FileError) in
      defer { rest = rest.dropFirst(count) }
      return Array(rest.prefix(count))
    }
    #expect(taken.logs == 1)
    let again = try await FileStateStore.open("/new/state", program: "errand 0.1", fileSystem: disk)
    #expect(try await again.printed(ofRun: Self.run, from: 0).lines.map(\.text) == ["one", "two"])
    try await again.close()
  }

  @Test func `the doctor counts logs, and finds and takes out secrets that became known later`() async throws {
    let disk = FaultyFileSystem()
    let store = try await FileStateStore.open("/state", program: "errand 0.1", fileSystem: disk)
    try await store.append(Example.created(Self.run))
    store.keepPrinted([Self.line("it is s3cret-key")], ofRun: Self.run) { _ in }
    try await store.close()
    let registry = SecretRegistry()
    registry.learn([("TOKEN", "s3cret-key")])
    let doctor = StateDoctor(
      "/state", program: "errand 0.1", now: instant(10), isHeld: false, secrets: registry, fileSystem: disk)
    let found = try doctor.examine()
    #expect(found.counts.contains { $0.name == "logs of runs" && $0.count == 1 })
    #expect(
      found.findings.map(\.message) == [
        "\(Self.file) holds the secret 'TOKEN', which wasn't known when it was printed"
      ])
    _ = try doctor.repair()
    #expect(try doctor.examine().findings.isEmpty)
    #expect(try Self.all(Self.logs(disk)) == ["it is •••"])
  }

  @Test(arguments: [
    ("put", "put", true), ("put", "put[3]/write", true), ("put", "put/x", true), ("put", "put!/x", true),
    ("put", "putter", false), ("put[3]", "put[3]/write", true), ("put[3]", "put[31]", false), ("put/x", "put", false),
  ])
  func `a line belongs to a step and to what it is in`(_ step: StepPath, _ path: StepPath, _ belongs: Bool) {
    #expect(Self.line("", step: path).belongs(to: step) == belongs)
  }
}
