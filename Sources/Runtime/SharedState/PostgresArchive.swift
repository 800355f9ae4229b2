/// Exports a state from PostgreSQL to an archive (`StateArchive`), and imports one.
///
/// Each is one transaction. An export holds the database's content at one instant, whatever other programs do
/// meanwhile. An import is applied completely or not at all, and only to a database that holds no state yet.
package import Basics
package import PostgresClient
package import RunState

extension PostgresDatabase {
  /// How long a statement may take, or wait for locks.
  private static let patience = TimeSpan.seconds(3600)

  /// Runs one transaction on the server that takes writes, with longer timeouts than an agent's.
  private static func archiving<Outcome>(
    _ hosts: [PostgresSettings], _ body: (PostgresTransaction) async throws -> Outcome
  ) async throws(StateError) -> Outcome {
    // The timeouts for connecting stay short.
    let first = PostgresTimeline(hosts)
    let patient = PostgresTimeline(
      hosts.map { host in
        var host = host
        host.answerWithin = patience
        return host
      })
    do {
      try await first.connect().connection.close()
      let connection = try await patient.connect().connection
      defer { connection.close() }
      return try await connection.transaction(body)
    } catch let error as StateError {
      throw error
    } catch let error as PostgresError {
      // The commit may have been made, which the next attempt finds out.
      throw StateError(DatabaseError(error))
    } catch {
      throw StateError(.unavailable, "\(error)")
    }
  }

  private static func version(_ transaction: PostgresTransaction) async throws(PostgresError) -> PostgresSchemaVersion {
    try await PostgresSchemaVersion.read { statement throws(PostgresError) in try await transaction.run(statement) }
  }

  // MARK: Writing an archive

  /// Writes the archive of a state, piece by piece, even while machines work on it.
  ///
  /// - Parameters:
  ///   - moving: Where the state is moved to, if it is: no machine may be using it then, and none may use it
  ///     afterwards.
  ///   - finish: Called when everything is written, before the state is closed.
  /// - Throws: The state may have been closed all the same, if `finish` was called.
  package static func export(
    _ hosts: [PostgresSettings], moving: MovedState?, at now: Timestamp, program: String,
    _ write: @escaping ([UInt8]) throws(FileError) -> Void, finish: () throws(StateError) -> Void
  ) async throws(StateError) -> StateArchive.Report {
    var written: StateArchive.Report?
    do throws(StateError) {
      return try await export(hosts, moving: moving, at: now, program: program, write) { report throws(StateError) in
        try finish()
        written = report
      }
    } catch {
      // The answer to the commit may be lost.
      guard let moving, let written else { throw error }
      if (try? await isMoved(hosts, moving)) == true { return written }
      throw error
    }
  }

  /// Whether a state was moved, also by a commit that is still on its way.
  private static func isMoved(_ hosts: [PostgresSettings], _ moved: MovedState) async throws -> Bool {
    let connection = try await PostgresTimeline(hosts).connect().connection
    defer { connection.close() }
    return try await connection.transaction { transaction in
      // Waits for it.
      try await transaction.run("lock table errand.receipt in share row exclusive mode")
      return try await version(transaction).moved == moved
    }
  }

  private static func export(
    _ hosts: [PostgresSettings], moving: MovedState?, at now: Timestamp, program: String,
    _ write: @escaping ([UInt8]) throws(FileError) -> Void,
    finish: (StateArchive.Report) throws(StateError) -> Void
  ) async throws(StateError) -> StateArchive.Report {
    try await archiving(hosts) { transaction in
      try await transaction.run("set transaction isolation level repeatable read")
      // Before any read, so that no concurrent writer is overlooked: neither workers nor commands, whose transactions
      // each have a receipt.
      if moving != nil {
        try await transaction.run("lock table errand.worker, errand.receipt in share row exclusive mode")
      }
      var version = try await version(transaction)
      if moving != nil, let moved = version.moved { throw StateError.movedAlready(moved) }
      version.moved = nil
      if let refusal = version.refusal(knowing: PostgresSchemaVersion.current.steps) {
        throw StateError(.invalid, refusal)
      }
      if moving != nil { try await refuseWorkers(transaction) }
      var output = try ArchiveWriter(program: program, at: now, isMoved: moving != nil, write)
      let report = try await put(transaction, isMoved: moving != nil, to: &output)
      try finish(report)
      if let moving {
        try await transaction.run(
          "insert into meta values ('moved', $1) on conflict (key) do update set value = excluded.value",
          .text(try moving.storedText))
      }
      return report
    }
  }

  private static func refuseWorkers(_ transaction: PostgresTransaction) async throws {
    let names = try await transaction.run(
      "select name from worker where lease_until > clock_timestamp() order by name"
    ).rows.map { try $0.text(0) }
    if names.isEmpty { return }
    throw StateError(
      .unavailable,
      "\(names.joined(separator: ", ")) \(names.count == 1 ? "works" : "work") on the state; stop errand serve there "
        + "first, or wait 15 seconds if it is gone")
  }

  private static func put(
    _ transaction: PostgresTransaction, isMoved: Bool, to output: inout ArchiveWriter
  ) async throws -> StateArchive.Report {
    var report = StateArchive.Report()
    let runs = try await openRuns(transaction, &report.notices)
    report.openRuns = runs.count
    try output.put(try State(runs: runs, items: try await items(transaction)))
    for (table, column, key) in [("finished", "ended_at", "id"), ("slot", "settled_at", "id")] {
      let month = "to_char(\(column) at time zone 'UTC', 'YYYY-MM')"
      let sizes = try await transaction.run(
        "select \(month), sum(octet_length(convert_to(text, 'UTF8')))::int8, count(*) from \(table) group by 1 order by 1"
      )
      for row in sizes.rows {
        let name = try row.text(0)
        let file: ArchivedFile = table == "slot" ? .slots(name) : .runs(name)
        try output.begin(file, size: try row.int64(1) + (try row.int64(2)) * file.lineOverhead)
        try await copy(
          // Compares the table's own columns, as its index does, not the selected ones.
          "select text, \(column), \(key)::text from \(table) t where \(month) = '\(name)' and (\(column), \(key)) > "
            + "($1::timestamptz, $2::text::\(table == "slot" ? "int8" : "uuid")) order by t.\(column), t.\(key) limit 200",
          table == "slot" ? "0" : SQL.firstID, of: file, transaction, to: &output)
        try output.end()
        report.months += 1
      }
    }
    report.blobs = try await putBlobs(transaction, to: &output, &report.notices)
    report.logs = try await putLines(transaction, to: &output)
    if isMoved, let row = try await transaction.run("select value from meta where key = 'linkKey'").first,
      let key = LinkKey(try row.text(0))
    {
      try output.put(key)
    }
    report.bytes = try output.finish()
    return report
  }

  private static func openRuns(
    _ transaction: PostgresTransaction, _ notices: inout [String]
  ) async throws -> [RunRecord] {
    var runs: [RunRecord] = []
    var last = SQL.firstID
    while true {
      let ids = try await transaction.run("select id from run where id > $1 order by id limit 100", .uuid(last)).rows
        .map { try $0.uuid(0) }
      guard let next = ids.last else { return runs }
      last = next
      let logs = try SQL.logs(try await transaction.run(SQL.logs(where: "r.id = any($1)"), .uuids(ids)))
      runs += logs.map(\.record)
      notices += logs.compactMap(\.damage)
    }
  }

  private static func items(_ transaction: PostgresTransaction) async throws -> [StoredItem] {
    var items: [StoredItem] = []
    var (kind, name) = ("", "")
    while true {
      let found = try await transaction.run(
        """
        select kind, name, text, coalesce(reference, ''), coalesce(holder, '') from item
        where (kind, name) > ($1, $2) order by kind, name limit 1000
        """, .text(kind), .text(name)
      ).rows.map { try SQL.item($0) }
      guard let last = found.last else { return items }
      (kind, name) = (last.name.kind.rawValue, last.name.name)
      items += found
    }
  }

  /// Puts the records that a statement gives page by page: after an instant and a key, their texts, instants and keys.
  private static func copy(
    _ page: String, _ first: String, of file: ArchivedFile, _ transaction: PostgresTransaction,
    to output: inout ArchiveWriter
  ) async throws {
    var (instant, key) = (Timestamp.earliest, first)
    while true {
      let rows = try await transaction.run(page, .timestamp(instant), .text(key)).rows
      if rows.isEmpty { return }
      for row in rows {
        try output.put(file.line(of: Array(try row.text(0).utf8)))
        (instant, key) = (try row.timestamp(1), try row.text(2))
      }
    }
  }

  private static func putBlobs(
    _ transaction: PostgresTransaction, to output: inout ArchiveWriter, _ notices: inout [String]
  ) async throws -> Int {
    var count = 0
    var last: [UInt8] = []
    while true {
      let name = try await transaction.run(
        "select sha256 from blob where sha256 > $1 order by sha256 limit 1", .bytes(last)
      ).first
      guard let name else { return count }
      last = try name.bytes(0)
      let text = last.hexadecimal
      let bytes = try await blob(last, transaction)
      guard try sha256(bytes) == text else {
        notices.append("the blob \(text) is damaged and was left out")
        continue
      }
      try output.put(.blob(text), bytes)
      count += 1
    }
  }

  private static func blob(_ name: [UInt8], _ transaction: PostgresTransaction) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    let rows = try await transaction.run("select bytes from blob where sha256 = $1 order by part", .bytes(name)).rows
    for row in rows { bytes += try row.bytes(0) }
    return bytes
  }

  private static func putLines(_ transaction: PostgresTransaction, to output: inout ArchiveWriter) async throws -> Int {
    var count = 0
    var last = SQL.firstID
    while true {
      let sizes = try await transaction.run(
        """
        select run, sum(octet_length(convert_to(text, 'UTF8')))::int8, count(*) from line where run > $1
        group by run order by run limit 100
        """, .uuid(last))
      if sizes.isEmpty { return count }
      for row in sizes.rows {
        last = try row.uuid(0)
        let file = ArchivedFile.log(last)
        try output.begin(file, size: try row.int64(1) + (try row.int64(2)) * file.lineOverhead)
        var number = 0
        while true {
          let rows = try await transaction.run(
            "select text, number from line where run = $1 and number > $2 order by number limit 1000", .uuid(last),
            .int64(number)
          ).rows
          if rows.isEmpty { break }
          for row in rows {
            try output.put(file.line(of: Array(try row.text(0).utf8)))
            number = try row.int64(1)
          }
        }
        try output.end()
        count += 1
      }
    }
  }

  // MARK: Reading an archive

  /// The result of importing an archive.
  package struct Import: Sendable {
    package var report: StateArchive.Report
    /// When the archive was made.
    package var at: Timestamp?
    /// Whether the archived state was closed by the export.
    package var isMoved: Bool
    /// Whether the same archive was imported before, so that nothing was changed.
    package var wasThere: Bool
  }

  /// Reads an archive into a database that holds no state yet.
  ///
  /// - Parameters:
  ///   - place: Records in a run, given its texts, which workers can claim it; returns a sentence if that can't be
  ///     determined.
  ///   - read: Returns the archive's next bytes, at most this many; none at its end.
  package static func `import`(
    _ hosts: [PostgresSettings], placing place: (inout RunRecord, _ texts: Value) async -> String?,
    _ read: @escaping (Int) throws(FileError) -> [UInt8]
  ) async throws(StateError) -> Import {
    try await archiving(hosts) { transaction in
      let version = try await version(transaction)
      if let refusal = version.refusal(knowing: PostgresSchemaVersion.current.steps) {
        throw StateError(.invalid, refusal)
      }
      // Nobody else begins anything meanwhile.
      try await transaction.run("lock table meta, run, item in share row exclusive mode")
      let content = try await transaction.run(
        """
        select (select count(*) from run), (select count(*) from finished), (select count(*) from item),
          (select count(*) from slot), coalesce((select value from meta where key = 'imported'), '')
        """
      ).first
      guard let content else { throw StateError(.damaged, "the database gave no answer") }
      let counts = try (0..<4).map { try content.int64($0) }
      let isEmpty = counts.allSatisfy { $0 == 0 }
      var intake = Intake(transaction, writes: isEmpty)
      var input = ArchiveInput(read: read)
      try input.begin()
      while let (file, size) = try input.nextFile() { try await intake.take(file, size, &input) }
      try await intake.finish(placing: place)
      var report = intake.report
      report.bytes = input.offset
      let outcome = Import(
        report: report, at: input.at, isMoved: input.isMoved,
        wasThere: try content.text(4).hasSameScalars(as: input.sumText))
      if !isEmpty, !outcome.wasThere {
        throw StateError(
          .invalid,
          "there is a state in the database already (\(counts[0]) open runs, \(counts[1]) finished runs, \(counts[3]) "
            + "settled slots, \(counts[2]) schedules, values and events); import into a new database, or stop all "
            + "machines, remove that state with 'drop schema errand cascade', and make a new one with: errand state init"
        )
      }
      if isEmpty {
        try await transaction.run(
          "insert into meta values ('imported', $1) on conflict (key) do update set value = excluded.value",
          .text(input.sumText))
        try await transaction.run("select pg_notify('errand', 'schedules'), pg_notify('errand', 'due')")
      }
      return outcome
    }
  }

  /// Writes the records of an archive to the tables.
  private struct Intake {
    private let transaction: PostgresTransaction
    /// Whether anything is written; else the archive is only read.
    private let writes: Bool
    private(set) var report = StateArchive.Report()
    private var state = State()
    /// The runs that ended, and the slots that were settled, that the state has and the other files lack.
    private var ended: [String: RunRecord] = [:]
    private var settled: Set<String> = []

    /// How many bytes of records are written at once.
    private static let most = 1 << 20

    init(_ transaction: PostgresTransaction, writes: Bool) {
      self.transaction = transaction
      self.writes = writes
    }

    mutating func take(_ file: ArchivedFile, _ size: Int, _ input: inout ArchiveInput) async throws {
      switch file {
      case .state:
        state = try State(archived: try whole(size, &input))
        for run in state.ended { ended[run.id] = run }
        for slot in state.slots { settled.insert(try slot.storedText) }
      case .runs, .slots, .log:
        try await takeLines(of: file, size, &input)
        if case .log = file { report.logs += 1 } else { report.months += 1 }
      case .blob(let name):
        let bytes = try whole(size, &input)
        try input.check(bytes, ofBlob: name)
        if writes { try await PostgresDatabase.put(bytes, sha256: Array(hexadecimal: name) ?? [], transaction) }
        report.blobs += 1
      case .linkKey:
        let key = LinkKey(String(decoding: try whole(size, &input), as: UTF8.self))
        if writes, let key {
          try await transaction.run(
            "insert into meta values ('linkKey', $1) on conflict (key) do update set value = excluded.value",
            .text(key.text))
        }
      }
      try input.endFile(file)
    }

    private func whole(_ size: Int, _ input: inout ArchiveInput) throws -> [UInt8] {
      var bytes: [UInt8] = []
      try input.read(size) { bytes += $0 }
      return bytes
    }

    private mutating func takeLines(of file: ArchivedFile, _ size: Int, _ input: inout ArchiveInput) async throws {
      var left = size
      var rest: [UInt8] = []
      var texts: [String] = []
      var bytes = 0
      while left > 0 {
        let piece = try input.bytes(atMost: min(left, 1 << 20))
        left -= piece.count
        rest += piece
        guard let end = rest.lastIndex(of: ASCII.newline) else { continue }
        for line in rest[..<end].split(separator: ASCII.newline, omittingEmptySubsequences: false) {
          guard let text = file.text(inLine: line), let text = String(validating: text, as: UTF8.self) else {
            throw input.damage("a line of '\(file.path ?? "")' is damaged")
          }
          texts.append(text)
          bytes += line.count
        }
        rest.removeSubrange(...end)
        if bytes > Intake.most || left == 0 {
          try await write(texts, of: file)
          (texts, bytes) = ([], 0)
        }
      }
      guard rest.isEmpty, texts.isEmpty else { throw input.damage("'\(file.path ?? "")' ends within a line") }
    }

    private mutating func write(_ texts: [String], of file: ArchivedFile) async throws {
      var changes = DatabaseChanges(receipt: SharedStateStore.receipt())
      switch file {
      case .runs:
        for text in texts {
          let run = try Intake.record(RunRecord.self, text)
          ended[run.id] = nil
          changes.ended.append(FinishedRow(summary: RunSummary(try Intake.checked(run)), text: text))
        }
      case .slots:
        for text in texts {
          changes.slots.append(try Intake.record(SlotRecord.self, text))
          settled.remove(text)
        }
      case .log(let run):
        guard run.isUUID else { throw Intake.noUUID(run) }
        if writes {
          try await transaction.run(PostgresDatabase.insertLines, .uuid(run), .texts(texts))
        }
        return
      case .state, .blob, .linkKey: return
      }
      try await write(changes)
    }

    private func write(_ changes: DatabaseChanges) async throws {
      if writes { _ = try await transaction.run(SQL.writes(changes)) }
    }

    /// Writes what is open.
    mutating func finish(placing place: (inout RunRecord, Value) async -> String?) async throws {
      var changes = DatabaseChanges(receipt: SharedStateStore.receipt())
      changes.ended = try state.ended.filter { ended[$0.id] != nil }.map { run in
        FinishedRow(summary: RunSummary(try Intake.checked(run)), text: try run.storedText)
      }
      changes.slots = try state.slots.filter { try settled.contains($0.storedText) }
      changes.items = try state.items
      (changes.isSteering, changes.concernsSchedules) = (true, true)
      try await write(changes)
      for var run in state.openRuns {
        report.openRuns += 1
        guard writes else { continue }
        if let notice = try await placed(&run, place) { report.notices.append(notice) }
        let (_, entry, folded) = try LoggedRun.moved(try Intake.checked(run))
        var changes = DatabaseChanges(receipt: SharedStateStore.receipt())
        let row = OpenRunRow(run)
        changes.created = [row]
        changes.entries = [entry]
        // The event that it waits for may have come.
        if !row.waitsFor.isEmpty { changes.told = [run.id] }
        try await write(changes)
        try await transaction.run(
          "update run set fold = $2, fold_number = $3, fold_sum = $4, has_place = $5 where id = $1", .uuid(run.id),
          .text(folded.text), .int64(folded.number), .int64(Int(truncatingIfNeeded: folded.sum)),
          .bool(run.origin.group != nil && run.status != .queued))
      }
    }

    private func placed(
      _ run: inout RunRecord, _ place: (inout RunRecord, Value) async -> String?
    ) async throws -> String? {
      let texts: Value
      switch run.origin.texts {
      case .inline(let value): texts = value
      case .blob(let reference):
        let bytes = try await PostgresDatabase.blob(Array(hexadecimal: reference.sha256) ?? [], transaction)
        texts = try decodedValue(of: bytes, reference)
      }
      return await place(&run, texts)
    }

    private static func record<Kept: Recordable>(_ type: Kept.Type, _ text: String) throws(StateError) -> Kept {
      do throws(RecordError) { return try Kept(text: text) } catch {
        throw StateError(.damaged, "a record of the archive can't be read: \(error.message); nothing was changed")
      }
    }

    private static func checked(_ run: RunRecord) throws(StateError) -> RunRecord {
      if run.id.isUUID { return run }
      throw noUUID(run.id)
    }

    private static func noUUID(_ run: String) -> StateError {
      StateError(.invalid, "the run '\(run)' of the archive has no UUID, which a database needs; nothing was changed")
    }
  }
}
