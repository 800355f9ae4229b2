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

  /// Reads a log as a store does.
  private static func piece(_ logs: RunLogs, _ query: PrintedQuery, of run: String = run) throws -> PrintedPiece {
    var reader = PrintedReader(query)
    if let before = query.before {
      var chunk = try logs.chunk(of: run, at: .line(max(0, max(0, before) - 1)))
      reader.end(at: chunk, before)
      while !reader.takeBackwards(chunk), chunk.start.line > 0 {
        chunk = try logs.chunk(of: run, at: .before(chunk.start))
      }
      return reader.piece
    }
    var chunk = try logs.chunk(of: run, at: .line(query.from))
    while !reader.take(chunk), !chunk.isLast { chunk = try logs.chunk(of: run, at: .after(chunk.end)) }
    return reader.piece
  }

  private static func query(_ fill: (inout PrintedQuery) -> Void) -> PrintedQuery {
    var query = PrintedQuery()
    fill(&query)
    return query
  }

  private static func all(_ logs: RunLogs, _ run: String = run) throws -> [String] {
    var texts: [String] = []
    var query = query { $0.most = .max }
    while true {
      let piece = try piece(logs, query, of: run)
      texts += piece.lines.map(\.text)
      query.from = piece.next
      if piece.isLast { return texts }
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
    #expect(try Self.all(logs, run) == [])
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

  @Test func `damaged lines are left out, and counted`() throws {
    let disk = FaultyFileSystem()
    let logs = Self.logs(disk)
    try logs.add([Self.line("one"), Self.line("two"), Self.line("three")], to: Self.run)
    disk[Self.file]?[100] = 0
    #expect(try Self.all(logs) == ["one", "three"])
    #expect(try Self.piece(logs, Self.query { $0.from = 1 }).numbers == [3])
    #expect(try Self.piece(logs, Self.query { $0.before = .max }).numbers == [1, 3])
    #expect(try Self.piece(logs, Self.query { $0.from = .max }).lines == [])
    disk[Self.file] = [UInt8](repeating: 0, count: 3 << 20)
    #expect(try Self.all(Self.logs(disk)) == [])
    #expect(try Self.piece(Self.logs(disk), Self.query { $0.before = .max }).lines == [])
  }

  @Test func `a record of several lines begins with their number, and the lines of older logs have none`() throws {
    let disk = FaultyFileSystem()
    let logs = Self.logs(disk)
    let lines =
      ["a", "b \\n \"lines\":7,", ""].map { Self.line($0) } + [Self.line("c", .errors), Self.line("d", at: 1)]
    try logs.add(PrintedLine.joined(lines), to: Self.run)
    #expect(
      String(decoding: disk[Self.file] ?? [], as: UTF8.self) == #"""
        {"lines":3,"step":"a","attempt":1,"stream":"output","at":"2026-11-20T09:00:00Z","text":"a\nb \\n \"lines\":7,\n"}
        {"step":"a","attempt":1,"stream":"errors","at":"2026-11-20T09:00:00Z","text":"c"}
        {"step":"a","attempt":1,"stream":"output","at":"2026-11-20T09:00:01Z","text":"d"}

        """#)
    let piece = try Self.piece(logs, Self.query { _ in })
    #expect(piece.lines == lines && piece.numbers == [1, 2, 3, 4, 5] && piece.next == 5 && piece.isLast)
    // No record is longer than a line may be.
    let long = PrintedLine.joined((0..<100).map { _ in Self.line(String(repeating: "x", count: 1000)) })
    #expect(long.map(\.lineCount) == [65, 35])
  }

  /// A log with records of one line and of many, and the text of each line.
  private static func large(_ logs: RunLogs, _ count: Int = 10_000) throws -> [String] {
    var texts: [String] = []
    while texts.count < count {
      let block = (0..<[1, 1, 300, 7][texts.count % 4]).map { "line \(texts.count + $0)" }
      texts += block
      try logs.add(
        PrintedLine.joined(block.map { line($0, step: texts.count % 3 == 0 ? "a" : "b", at: texts.count) }), to: run)
    }
    return texts
  }

  @Test func `every line is found from both sides, with an index, without it, and with a wrong one`() throws {
    let disk = FaultyFileSystem()
    let texts = try Self.large(Self.logs(disk))
    let index = "/state/logs/2025-11/\(Self.run).index"
    let whole = try #require(disk[index])
    #expect(whole.count >= 32 * (texts.count / 1300) && whole.count % 32 == 0)
    var damaged = whole
    damaged[damaged.count / 2] ^= 1
    let cases: [[UInt8]?] = [
      whole, nil, [], Array(whole.prefix(40)), damaged, whole + whole.suffix(7), [UInt8](repeating: 7, count: 64),
      Array(whole.suffix(32)),
    ]
    for (number, bytes) in cases.enumerated() {
      disk[index] = bytes
      let logs = Self.logs(disk)
      #expect(try Self.all(logs) == texts, "index \(number)")
      for place in [0, 1, 999, 1000, 1001, 5000, texts.count - 1] {
        let later = try Self.piece(
          logs,
          Self.query {
            $0.from = place
            $0.most = 2
          })
        #expect(later.lines.map(\.text) == Array(texts[place...].prefix(2)), "index \(number), after \(place)")
        let earlier = try Self.piece(
          logs,
          Self.query {
            $0.before = place
            $0.most = 2
          })
        #expect(earlier.lines.map(\.text) == Array(texts[..<place].suffix(2)), "index \(number), before \(place)")
        #expect(earlier.next == place)
      }
      // A missing one is made anew.
      if number != 4, number != 7 { #expect(disk[index] == whole, "index \(number)") }
    }
    // An older version adds lines without an index.
    disk[index] = Array(whole.prefix(64))
    disk[Self.file]? += Self.line("the end").bytes
    let logs = Self.logs(disk)
    #expect(try Self.piece(logs, Self.query { $0.before = .max }).lines.last?.text == "the end")
    #expect(try Self.piece(logs, Self.query { $0.before = .max }).numbers.last == texts.count + 1)
  }

  @Test func `a page reads only a part of a long log`() throws {
    let disk = FaultyFileSystem()
    let logs = Self.logs(disk)
    let text = String(repeating: "x", count: 100)
    for block in 0..<100 {
      try logs.add((0..<1000).map { Self.line("\(block * 1000 + $0) \(text)") }, to: Self.run)
    }
    for query in [
      Self.query { $0.before = .max }, Self.query { $0.from = 50_000 }, Self.query { $0.before = 50_000 },
    ] {
      let before = disk.bytesRead
      #expect(try Self.piece(logs, query).lines.count == 1000)
      #expect(disk.bytesRead - before < 2 << 20)
    }
  }

  @Test func `the lines of a step and of an attempt are told from those of others`() throws {
    let disk = FaultyFileSystem()
    let logs = Self.logs(disk)
    var lines: [PrintedLine] = []
    for (step, attempt) in [("a", 1), ("ab", 1), ("a/b", 2), ("a", 2), ("\",\"attempt\":9,\"", 3)] {
      var line = Self.line("of \(step) \(attempt)", step: step)
      line.attempt = attempt
      lines.append(line)
    }
    try logs.add(lines, to: Self.run)
    func texts(_ step: StepPath?, _ attempt: Int?) throws -> [String] {
      try Self.piece(
        logs,
        Self.query {
          $0.step = step
          $0.attempt = attempt
        }
      ).lines.map(\.text)
    }
    #expect(try texts("a", nil) == ["of a 1", "of a/b 2", "of a 2"])
    #expect(try texts("a", 2) == ["of a/b 2", "of a 2"])
    #expect(try texts(nil, 1) == ["of a 1", "of ab 1"])
    #expect(try texts(nil, 9) == [])
    #expect(try texts("\",\"attempt\":9,\"", nil) == ["of \",\"attempt\":9,\" 3"])
    #expect(
      try Self.piece(
        logs,
        Self.query {
          $0.step = "a"
          $0.before = .max
          $0.most = 1
        }
      ).numbers == [4])
  }

  @Test func `a text is searched for as it is shown, with the lines around it`() throws {
    let disk = FaultyFileSystem()
    let logs = Self.logs(disk)
    var texts = (0..<5000).map { "line \($0)" }
    texts[100] = "\u{1B}[1;31mERR\u{1B}[0mor: äöü 🦀"
    texts[102] = "10%\r20%\rerror again"
    texts[3000] = "an \"ERROR\"\t\\ it is"
    texts[4000] = "errors\r\u{1B}[Knone"
    texts[4999] = "\u{1B}]8;;https://example.org\u{7}error\u{1B}]8;;\u{7}"
    for start in stride(from: 0, to: texts.count, by: 50) {
      let block = texts[start..<start + 50].map { Self.line($0) }
      try logs.add(start % 100 == 0 ? PrintedLine.joined(block) : block, to: Self.run)
    }
    func found(_ text: String, from: Int = 0, most: Int = 100) throws -> PrintedPiece {
      try Self.piece(
        logs,
        Self.query {
          $0.find = text
          $0.from = from
          $0.most = most
        })
    }
    let errors = try found("error")
    #expect(errors.matches == [101, 103, 3001, 5000])
    #expect(errors.numbers == Array(99...105) + Array(2999...3003) + Array(4998...5000))
    #expect(errors.lines.map(\.text) == errors.numbers.map { texts[$0 - 1] })
    #expect(errors.isLast && errors.next == 5000)
    #expect(
      try found("🦀").matches == [101] && found("ÄÖÜ").matches == [] && found("\"error\"\t\\ it").matches == [3001])
    #expect(try found("line 4321").numbers == Array(4320...4324))
    let first = try found("error", most: 6)
    #expect(first.numbers == Array(99...104) && !first.isLast)
    #expect(try found("error", from: first.next).matches == [3001, 5000])
    #expect(try found("nothing of it").lines == [] && found("").lines.count == 100)
  }

  @Test func `a run has 256 MiB of text, and the last line says that it is full`() throws {
    let disk = FaultyFileSystem()
    let text = String(repeating: "x", count: 60_000)
    try Self.logs(disk).add([Self.line(text)], to: Self.run)
    // An index that counts more than there is, so that no test writes so much.
    let place = try #require(disk[Self.file]?.count)
    let words = [1, place, PrintedLine.mostOfRun - 100_000].map { UInt64($0) }
    let sum = words.reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ $1) &* 0x0000_0100_0000_01B3 }
    disk["/state/logs/2025-11/\(Self.run).index"] = (words + [sum]).flatMap { word in
      withUnsafeBytes(of: word.littleEndian) { Array($0) }
    }
    let logs = Self.logs(disk)
    for _ in 0..<3 { try logs.add([Self.line(text)], to: Self.run) }
    let full = "the log of this run has reached 256 MiB; what is printed from here on isn't kept"
    #expect(try Self.all(logs) == [text, text, full])
    // Another process knows it too, though a short line would fit.
    let other = Self.logs(disk)
    try other.add([Self.line("short")], to: Self.run)
    #expect(try Self.all(other).last == full)
  }

  @Test func `text is counted, and not the JSON around it`() {
    var size = PrintedLine.mostOfRun - 12
    let lines = [Self.line("\u{1B}\u{1B}", step: String(repeating: "s", count: 500)), Self.line("12345678")]
    #expect(PrintedLine.fitting(lines, after: &size) == lines && size == PrintedLine.mostOfRun)
    #expect(PrintedLine.fitting([Self.line("")], after: &size).map(\.stream) == [.note])
    #expect(PrintedLine.fitting([Self.line("")], after: &size) == [])
  }

  @Test func `an attempt has 64 MiB of text, and the last line says that it is full`() {
    var size: Int? = PrintedLine.mostOfAttempt - 5
    #expect(PrintedLine.fitting([Self.line("1234")], ofAttemptAfter: &size) == [Self.line("1234")])
    let note = "this attempt has printed 64 MiB, the most that the log keeps; what follows isn't kept"
    #expect(
      PrintedLine.fitting([Self.line("", .errors), Self.line("x")], ofAttemptAfter: &size) == [Self.line(note, .note)])
    #expect(size == nil && PrintedLine.fitting([Self.line("")], ofAttemptAfter: &size) == [])
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
    #expect(!disk.paths.contains { $0.hasSuffix(".index") })
  }

  @Test(arguments: [
    ("put", "put", true), ("put", "put[3]/write", true), ("put", "put/x", true), ("put", "put!/x", true),
    ("put", "putter", false), ("put[3]", "put[3]/write", true), ("put[3]", "put[31]", false), ("put/x", "put", false),
  ])
  func `a line belongs to a step and to what it is in`(_ step: StepPath, _ path: StepPath, _ belongs: Bool) {
    #expect(Self.line("", step: path).belongs(to: step) == belongs)
  }
}
