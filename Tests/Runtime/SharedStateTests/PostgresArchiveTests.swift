import Basics
import PostgresClient
import PostgresTestKit
import RunState
import RunTestKit
import SharedState
import Testing

/// Moving a state between a folder and PostgreSQL.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed")) struct PostgresArchiveTests {
  /// The bytes of an archive, whole or in pieces.
  private final class Bytes {
    var bytes: [UInt8]
    private var place = 0

    init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    func read(_ count: Int) -> [UInt8] {
      let piece = bytes.dropFirst(place).prefix(min(count, 1000))
      place += piece.count
      return Array(piece)
    }
  }

  private static let now = Timestamp("2026-11-26T12:00:00Z") ?? .earliest

  /// A folder after a random history, with large values and printed lines.
  private static func folder(_ seed: UInt64) async throws -> (FileStateStore, FaultyFileSystem, HistoryMaker) {
    var maker = HistoryMaker(using: SeededGenerator(seed: seed))
    let disk = FaultyFileSystem()
    let folder = try await FileStateStore.open("/old/state", program: "test", fileSystem: disk)
    for _ in 0..<60 {
      let batch = maker.next()
      if batch.refusal != nil { continue }
      try await folder.append(batch.events)
      maker.accept(batch)
      if maker.one(in: 12) { try await folder.compact() }
    }
    for run in maker.state.openRuns.prefix(2) {
      let lines = (0..<3).map {
        PrintedLine(step: "s", attempt: 1, stream: .output, at: now, text: "line \($0) of é \(run.id)")
      }
      folder.keepPrinted(lines, ofRun: run.id) { Issue.record("\($0.message)") }
    }
    for size in [0, 10, 3 << 20] { _ = try await folder.putBlob([UInt8](repeating: UInt8(seed), count: size)) }
    return (folder, disk, maker)
  }

  private static func export(_ disk: FaultyFileSystem) throws -> [UInt8] {
    var bytes: [UInt8] = []
    _ = try StateArchive("/old/state", program: "test", fileSystem: disk).export(at: now) { bytes += $0 }
    return bytes
  }

  private static func take(_ bytes: [UInt8], to settings: PostgresSettings) async throws -> PostgresDatabase.Import {
    let source = Bytes(bytes)
    var placed: Set<String> = []
    let taken = try await PostgresDatabase.import(
      [settings],
      placing: { run, _ in
        placed.insert(run.id)
        return nil
      }, { count throws(FileError) in source.read(count) })
    #expect(taken.wasThere || placed.count == taken.report.openRuns)
    return taken
  }

  private static func export(
    _ settings: PostgresSettings, moving: MovedState? = nil
  ) async throws -> (bytes: [UInt8], report: StateArchive.Report) {
    let archive = Bytes()
    let report = try await PostgresDatabase.export(
      [settings], moving: moving, at: now, program: "test", { bytes throws(FileError) in archive.bytes += bytes },
      finish: { () throws(StateError) in })
    return (archive.bytes, report)
  }

  private static func database() async throws -> PostgresSettings {
    let settings = try await PostgresServer.database()
    try await PostgresDatabase.migrate([settings])
    return settings
  }

  private static func expect(_ found: [String], _ wanted: [String]) {
    let (missing, extra) = (Set(wanted).subtracting(found).sorted(), Set(found).subtracting(wanted).sorted())
    #expect(missing == [] && extra == [])
    #expect(found.count == wanted.count)
  }

  @Test(arguments: 0..<4 as Range<UInt64>)
  func `A state is the same in a folder, a database, and a folder again`(seed: UInt64) async throws {
    let (folder, disk, maker) = try await Self.folder(seed)
    let settings = try await Self.database()
    let archive = try Self.export(disk)
    let taken = try await Self.take(archive, to: settings)
    #expect(!taken.wasThere && taken.report.openRuns == maker.state.openRuns.count && taken.report.blobs >= 3)
    let shared = SharedStateStore(try await PostgresDatabase.open([settings]))
    let told = try await maker.answers(of: folder)
    Self.expect(try await maker.answers(of: shared), told)
    for run in maker.state.openRuns {
      #expect(try await shared.printed(ofRun: run.id, from: 0).lines == folder.printed(ofRun: run.id, from: 0).lines)
    }

    let (back, report) = try await Self.export(settings)
    #expect(report.openRuns == taken.report.openRuns && report.blobs == taken.report.blobs)
    #expect(report.logs == taken.report.logs && report.notices == [])
    let source = Bytes(back)
    let other = FaultyFileSystem()
    _ = try StateArchive("/new/state", program: "test", fileSystem: other).import(
      replacing: false, at: Self.now
    ) { count throws(FileError) in source.read(count) }
    let again = try await FileStateStore.open("/new/state", program: "test", fileSystem: other)
    #expect(again.notices == [])
    Self.expect(try await maker.answers(of: again), told)
    for run in maker.state.openRuns {
      #expect(try await again.printed(ofRun: run.id, from: 0).lines == folder.printed(ofRun: run.id, from: 0).lines)
    }
    try await shared.close()
    try await again.close()
    try await folder.close()
  }

  @Test func `An archive is taken as a whole or not at all, and once`() async throws {
    let (folder, disk, _) = try await Self.folder(7)
    try await folder.close()
    let archive = try Self.export(disk)
    let settings = try await Self.database()
    for count in [10, archive.count / 3, archive.count / 2, archive.count - 2] {
      await #expect(throws: StateError.self) { try await Self.take(Array(archive.prefix(count)), to: settings) }
      var flipped = archive
      flipped[count] ^= 1
      await #expect(throws: StateError.self) { try await Self.take(flipped, to: settings) }
    }
    #expect(try await Self.export(settings).report.openRuns == 0)
    #expect(try await !Self.take(archive, to: settings).wasThere)
    let whole = try await Self.export(settings).bytes
    #expect(try await Self.take(archive, to: settings).wasThere)
    #expect(try await Self.export(settings).bytes == whole)
    // One of another state.
    let (other, otherDisk, _) = try await Self.folder(8)
    try await other.close()
    let refusal = await #expect(throws: StateError.self) {
      try await Self.take(try Self.export(otherDisk), to: settings)
    }
    #expect(refusal?.message.hasPrefix("there is a state in the database already (") == true)
    #expect(try await Self.export(settings).bytes == whole)
  }

  @Test func `A state that is moved out of a database is closed, and not while a machine works on it`() async throws {
    let settings = try await Self.database()
    let store = SharedStateStore(try await PostgresDatabase.open([settings]), terms: WorkerTerms(name: "lab-1").patient)
    try await store.join(claiming: false)
    let moved = MovedState(at: Self.now, to: "/srv/errand.archive")
    let refusal = await #expect(throws: StateError.self) { try await Self.export(settings, moving: moved) }
    #expect(refusal?.message.hasPrefix("lab-1 works on the state; stop errand serve there first") == true)
    // Opened before, and joining after.
    let late = try await PostgresDatabase.open([settings])
    try await store.close()
    _ = try await Self.export(settings, moving: moved)
    await #expect(throws: DatabaseError.unusable("the state was moved elsewhere")) {
      _ = try await late.register(WorkerTerms(name: "lab-2"), lease: .seconds(15))
    }
    await late.close()
    let closed = await #expect(throws: DatabaseError.self) { _ = try await PostgresDatabase.open([settings]) }
    guard case .unusable(let message)? = closed else {
      Issue.record("\(String(describing: closed))")
      return
    }
    #expect(message.hasPrefix("the state in the database was moved to /srv/errand.archive at 2026-11-26T12:00:00Z"))
    let twice = await #expect(throws: StateError.self) { try await Self.export(settings, moving: moved) }
    #expect(twice?.message.hasSuffix("without --move it is exported as a copy") == true)
    // The archive may have been lost.
    #expect(try await Self.export(settings).report.openRuns == 0)
  }
}
