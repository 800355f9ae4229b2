import Basics
import PostgresClient
import PostgresTestKit
import RunState
import SharedState
import Testing

/// The rows that a database deletes over time.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed")) struct PostgresTidyTests {
  private static func id(_ number: Int) -> String { "0199a3f2-4c00-7abc-8def-\(String(number + 100_000_000_000))" }

  private static func count(_ query: String, _ connection: PostgresConnection) async throws -> Int {
    try await connection.run(query).first?.int64(0) ?? -1
  }

  @Test func `What is old or too much goes, and what is open stays`() async throws {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    let store = SharedStateStore(try await PostgresDatabase.open([settings]), terms: WorkerTerms(name: "test").patient)
    try await store.join(claiming: false)
    let now = SystemTime().now()
    for number in 1...6 {
      var created = RunCreated(
        run: Self.id(number), at: now, recipe: "r", file: "r.yaml", texts: .inline(.object([:])), inputs: .object([:]),
        program: "test")
      created.key = RunKey("k\(number)", caller: "ana")
      try await store.append(.runCreated(created))
      store.keepPrinted(
        [PrintedLine(step: "s", attempt: 1, stream: .output, at: now, text: "line \(number)")], ofRun: Self.id(number)
      ) { _ in }
      // The last one stays open.
      if number < 6 {
        try await store.append(.runEnded(RunEnded(run: Self.id(number), at: now, status: .succeeded)))
      }
      #expect(try await store.printed(ofRun: Self.id(number), from: 0).lines.count == 1)
    }
    // A login is kept for a week after its end.
    for (name, days) in [("forgotten", -8), ("over", -6), ("good", 1)] {
      let until = now.advanced(by: .seconds(days * 86_400)) ?? now
      try await store.append(.sessionBegan(SessionBegan(at: now, sha256: name, name: "ann", until: until)))
    }
    let connection = try await PostgresConnection.open(settings)
    try await connection.run("set search_path to errand")
    // Two ended long ago, and of the tables of two weeks one holds the open run.
    try await connection.run(
      "update finished set ended_at = now() - interval '400 days' where id = any($1)", .uuids([Self.id(1), Self.id(2)]))
    try await connection.run("update item set at = at - interval '9 days' where kind = 'key'")
    try await connection.run("update receipt set at = at - interval '2 days'")
    let first = 0x0199_A3F2_4C00 / 604_800_000
    for week in [first, first - 9] {
      func bound(_ week: Int) -> String {
        let digits = String(week * 604_800_000, radix: 16)
        return String(repeating: "0", count: 12 - digits.count) + digits + String(repeating: "0", count: 20)
      }
      if week == first {
        try await connection.run("create table kept as select run, number, epoch, sum, events, at from entry_other")
      }
      if week == first { try await connection.run("delete from entry_other") }
      try await connection.run(
        "create table entry_\(week) partition of entry for values from ('\(bound(week))') to ('\(bound(week + 1))')")
    }
    try await connection.run("insert into entry (run, number, epoch, sum, events, at) select * from kept")
    await store.tidy(Retention(runs: 2, runsFor: .seconds(365 * 86_400)))

    #expect(try await store.finishedRuns(HistoryQuery()).map(\.id).sorted() == [Self.id(4), Self.id(5)])
    #expect(try await Self.count("select count(*) from line", connection) == 3)
    #expect(try await Self.count("select count(*) from receipt", connection) == 0)
    #expect(await store.sessions().map(\.sha256) == ["good", "over"])
    // The key of an open run stays, however old it is.
    #expect(try await Self.count("select count(*) from item where kind = 'key'", connection) == 1)
    let tables = "select count(*) from pg_class where relname = 'entry_"
    #expect(try await Self.count("\(tables)\(first)'", connection) == 1)
    #expect(try await Self.count("\(tables)\(first - 9)'", connection) == 0)
    try await store.append(.runEnded(RunEnded(run: Self.id(6), at: now, status: .succeeded)))
    await store.tidy(.everything)
    #expect(try await Self.count("\(tables)\(first)'", connection) == 0)
    #expect(try await store.finishedRuns(HistoryQuery()).count == 3)
    connection.close()
    try await store.close()
  }

  @Test func `sums are joined, and stay exact while runs come, go and are erased`() async throws {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    let store = SharedStateStore(try await PostgresDatabase.open([settings]), terms: WorkerTerms(name: "test").patient)
    try await store.join(claiming: false)
    let now = SystemTime().now()
    for number in 1...40 {
      let error = RunError(.network, "no answer after \(number) s", step: "read")
      try await store.append([
        Self.created(number, at: now),
        .runEnded(
          RunEnded(
            run: Self.id(number), at: now, status: number % 4 == 0 ? .failed : .succeeded,
            error: number % 4 == 0 ? error : nil)),
      ])
    }
    let connection = try await PostgresConnection.open(settings)
    defer { connection.close() }
    try await connection.run("set search_path to errand")
    func sums() async throws -> [String] {
      try await store.runSums(RunSumQuery(firstDay: 0)).map { "\($0.status) \($0.count)" }
    }
    #expect(try await Self.count("select count(*) from run_sum", connection) == 40)
    #expect(try await sums() == ["failed 10", "succeeded 30"])
    await store.tidy(.everything)
    #expect(try await Self.count("select count(*) from run_sum", connection) == 2)
    #expect(try await sums() == ["failed 10", "succeeded 30"])
    #expect(try await store.failures(from: .earliest).map(\.count) == [10])
    // Erased runs still count, and are in no group.
    try await connection.run(
      "update finished set ended_at = now() - interval '50 days' where id = any($1)", .uuids([Self.id(4), Self.id(8)]))
    await store.tidy(Retention(dataFor: .seconds(40 * 86_400)))
    #expect(try await sums() == ["failed 10", "succeeded 30"])
    #expect(try await store.failures(from: .earliest).map(\.count) == [8])
    for number in 1...40 { #expect(try await store.deleteRun(Self.id(number))) }
    #expect(try await sums() == [])
    await store.tidy(.everything)
    #expect(try await Self.count("select count(*) from run_sum", connection) == 0)
    try await store.close()
  }

  private static func created(_ number: Int, at now: Timestamp, _ inputs: Value = .object([:])) -> StateEvent {
    .runCreated(
      RunCreated(
        run: id(number), at: now, recipe: "r", file: "r.yaml", texts: .inline(.object([:])), inputs: inputs,
        program: "test"))
  }

  @Test func `A large value stays while anything refers to it, and goes an hour later`() async throws {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    let store = SharedStateStore(try await PostgresDatabase.open([settings]), terms: WorkerTerms(name: "test").patient)
    try await store.join(claiming: false)
    let now = SystemTime().now()
    func put(_ name: String) async throws -> BlobReference {
      try await store.putBlob(Array(name.utf8) + [UInt8](repeating: 0, count: 3 << 20))
    }
    /// Ends a step of a run with a value.
    func keep(_ blob: BlobReference, _ number: Int) async throws {
      try await store.append([
        Self.created(number, at: now),
        .stepBegan(StepBegan(run: Self.id(number), at: now, step: "a", now: now, attempt: 1, key: "k\(number)")),
        .stepEnded(
          StepEnded(
            run: Self.id(number), at: now, step: "a", now: now, attempt: 1, status: .succeeded, output: .blob(blob))),
      ])
    }
    func end(_ number: Int) async throws {
      try await store.append(.runEnded(RunEnded(run: Self.id(number), at: now, status: .succeeded)))
    }
    let (free, open, ended, value) = (
      try await put("free"), try await put("open"), try await put("ended"), try await put("value")
    )
    let (folded, deleted, shared, young) = (
      try await put("folded"), try await put("deleted"), try await put("shared"), try await put("young")
    )
    try await keep(open, 1)
    try await keep(ended, 2)
    try await end(2)
    try await store.append(.valueSet(ValueSet(at: now, name: "v", value: .blob(value))))
    try await keep(folded, 3)
    try await keep(deleted, 4)
    try await end(4)
    for number in 5...6 {
      try await keep(shared, number)
      try await end(number)
    }
    let connection = try await PostgresConnection.open(settings)
    try await connection.run("set search_path to errand")
    try await connection.run(
      "update run set fold = $2 where id = $1", .uuid(Self.id(3)),
      .text(#"{"output":{"$blob":{"sha256":"\#(folded.sha256)","size":1}}}"#))
    try await connection.run("delete from entry where run = $1", .uuid(Self.id(3)))
    func age() async throws {
      try await connection.run(
        "update blob set put_at = put_at - interval '2 hours' where sha256 <> $1",
        .bytes([UInt8](hexadecimal: young.sha256)))
    }
    func left() async throws -> Set<String> {
      Set(try await connection.run("select encode(sha256, 'hex') from blob").rows.map { try $0.text(0) })
    }
    try await age()
    // One that is put again is new.
    _ = try await put("free")
    await store.tidy(.everything)
    let all = [free, open, ended, value, folded, deleted, shared, young].map(\.sha256)
    #expect(try await left() == Set(all))
    try await age()
    await store.tidy(.everything)
    #expect(try await left() == Set(all).subtracting([free.sha256]))
    try await age()
    // The blobs of a deleted run are removed with it, unless another run has them, too.
    #expect(try await store.deleteRun(Self.id(4)))
    #expect(try await store.deleteRun(Self.id(5)))
    #expect(try await left() == Set(all).subtracting([free, deleted].map(\.sha256)))
    #expect(try await store.blob(shared).count == 6 + 3 << 20)
    try await end(1)
    #expect(try await store.deleteRun(Self.id(1)))
    try await store.append(.valueRemoved(ValueRemoved(at: now, name: "v")))
    #expect(try await store.deleteRun(Self.id(6)))
    try await age()
    await store.tidy(.everything)
    #expect(try await left() == [ended.sha256, folded.sha256, young.sha256])
    connection.close()
    try await store.close()
  }

  @Test func `The data of finished runs goes when it is old, and nothing else of them`() async throws {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    let store = SharedStateStore(try await PostgresDatabase.open([settings]), terms: WorkerTerms(name: "test").patient)
    try await store.join(claiming: false)
    let now = SystemTime().now()
    let blob = try await store.putBlob([UInt8](repeating: 1, count: 100_000))
    for number in 1...3 {
      try await store.append([
        Self.created(number, at: now, .object(["pupil": .string("Ana Nowak")])),
        .stepBegan(StepBegan(run: Self.id(number), at: now, step: "a", now: now, attempt: 1, key: "k\(number)")),
        .stepEnded(
          StepEnded(
            run: Self.id(number), at: now, step: "a", now: now, attempt: 1, status: .succeeded, output: .blob(blob))),
      ])
      store.keepPrinted(
        [PrintedLine(step: "a", attempt: 1, stream: .output, at: now, text: "Ana Nowak: 1")], ofRun: Self.id(number)
      ) { _ in }
      #expect(try await store.printed(ofRun: Self.id(number), from: 0).lines.count == 1)
      if number < 3 {
        try await store.append(.runEnded(RunEnded(run: Self.id(number), at: now, status: .failed)))
      }
    }
    let connection = try await PostgresConnection.open(settings)
    try await connection.run("set search_path to errand")
    try await connection.run(
      "update finished set ended_at = ended_at - interval '40 days' where id = $1", .uuid(Self.id(1)))
    try await connection.run("update blob set put_at = put_at - interval '2 hours'")
    // More than are looked at in one go can't be read, and come first.
    try await connection.run(
      """
      insert into finished (id, recipe, status, created_at, ended_at, summary, text)
      select gen_random_uuid(), 'other', 'failed', created_at, ended_at - interval '1 hour', '{}', '{}'
      from finished, generate_series(1, 60) where id = $1
      """, .uuid(Self.id(1)))
    let month = Retention(dataFor: .seconds(30 * 86_400))
    await store.tidy(month)
    let erased = try #require(try await store.finishedRun(Self.id(1)))
    let text = try erased.storedText
    #expect(erased.erasedAt != nil && erased.status == .failed && !text.contains("Ana"), "\(text)")
    #expect(try await store.finishedRun(Self.id(2))?.erasedAt == nil)
    #expect(try await store.printed(ofRun: Self.id(1), from: 0).lines == [])
    #expect(try await store.printed(ofRun: Self.id(2), from: 0).lines.count == 1)
    let ofFirst = "events like '%Ana%' and run = '\(Self.id(1))'"
    #expect(try await Self.count("select count(*) from entry where \(ofFirst)", connection) == 0)
    // Others have it, too.
    #expect(try await store.blob(blob).count == 100_000)
    // A clock that is a year ahead erases nothing more.
    try await connection.run("update finished set ended_at = ended_at - interval '400 days'")
    await store.tidy(month)
    #expect(try await store.finishedRun(Self.id(2))?.erasedAt == nil)
    #expect(await store.openRun(Self.id(3)) != nil)
    connection.close()
    try await store.close()
  }
}
