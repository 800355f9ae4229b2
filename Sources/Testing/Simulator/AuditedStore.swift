package import Basics
package import RunState
import Synchronization

/// The store of a simulated program: the audit knows every batch from the moment it is handed in.
final class AuditedStore: WrappingStore {
  let store: any LocalStateStore
  private let audit: Audit
  private let life: ProgramLife

  init(_ store: any LocalStateStore, _ audit: Audit, _ life: ProgramLife) {
    self.store = store
    self.audit = audit
    self.life = life
  }

  func append(_ events: [StateEvent]) async throws(StateError) {
    if events.isEmpty { return }
    // The store's queue gets it before anything else can happen, so that this order is the journal's.
    let batch = audit.handIn(events)
    do throws(StateError) { try await store.append(events) } catch {
      audit.settle(batch, error.kind == .invalid || error.kind == .closed ? .refused : .unknown)
      throw error
    }
    // A batch that the disk kept while the machine stopped isn't acknowledged to any caller.
    audit.settle(batch, life.isOver ? .unknown : .kept)
  }
}

/// A store that forwards to another one, with changes.
package protocol WrappingStore: LocalStateStore {
  var store: any LocalStateStore { get }
}

extension WrappingStore {
  package func look<Answer: Sendable>(_ body: (State) -> Answer) -> Answer { store.look(body) }
  package var secrets: SecretRegistry { store.secrets }
  package func version(of part: StatePart) async -> String? { await store.version(of: part) }
  package func linkKey(renewed isRenewed: Bool) async throws(StateError) -> LinkKey {
    try await store.linkKey(renewed: isRenewed)
  }
  package func finishedRuns(_ query: HistoryQuery) async throws(StateError) -> [RunSummary] {
    try await store.finishedRuns(query)
  }
  package func finishedRun(_ id: String) async throws(StateError) -> RunRecord? { try await store.finishedRun(id) }
  package func runSums(_ query: RunSumQuery) async throws(StateError) -> [RunSum] { try await store.runSums(query) }
  package func latestResults(
    of recipes: [String], from instant: Timestamp
  ) async throws(StateError) -> [String: [RunResult]] {
    try await store.latestResults(of: recipes, from: instant)
  }
  package func failures(from instant: Timestamp) async throws(StateError) -> [FailureGroup] {
    try await store.failures(from: instant)
  }
  package func slots(_ query: SlotQuery) async throws(StateError) -> [SlotRecord] { try await store.slots(query) }
  package func putBlob(_ bytes: [UInt8]) async throws(StateError) -> BlobReference { try await store.putBlob(bytes) }
  package func blob(_ reference: BlobReference) async throws(StateError) -> [UInt8] { try await store.blob(reference) }
  package func finishedRunText(
    _ cursor: LogCursor, most: Int
  ) async throws(StateError) -> (bytes: [UInt8], next: LogCursor)? {
    try await store.finishedRunText(cursor, most: most)
  }
  package func deleteRun(_ id: String) async throws(StateError) -> Bool { try await store.deleteRun(id) }
  package func keepPrinted(
    _ lines: [PrintedLine], ofRun id: String, orElse fail: @escaping @Sendable (StateError) -> Void
  ) {
    store.keepPrinted(lines, ofRun: id, orElse: fail)
  }
  package func printed(ofRun id: String, at point: PrintedPoint) async throws(StateError) -> PrintedChunk {
    try await store.printed(ofRun: id, at: point)
  }
  package func removeLog(ofRun id: String) async throws(StateError) { try await store.removeLog(ofRun: id) }
  package func compact() async throws(StateError) { try await store.compact() }
  package func close() async throws(StateError) { try await store.close() }
}
