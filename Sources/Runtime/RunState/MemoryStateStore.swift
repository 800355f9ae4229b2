package import Basics
import Synchronization

/// A state that is discarded with the process: for tests, and for runs that need not be recovered.
package final class MemoryStateStore: LocalStateStore {
  private struct Content {
    var state = State()
    var blobs: [String: [UInt8]] = [:]
    var printed: [String: (records: [String], size: Int)] = [:]
    var isClosed = false
    var versions = StateVersions()
    var linkKey: LinkKey?
  }

  private let content = Mutex(Content())

  package let secrets = SecretRegistry()

  package init() {}

  package func look<Answer: Sendable>(_ body: (State) -> Answer) -> Answer { content.withLock { body($0.state) } }

  package func append(_ events: [StateEvent]) async throws(StateError) {
    let events = try events.map { event throws(StateError) in try event.withoutSecrets(secrets) }
    for event in events { try event.check() }
    try change { content throws(StateError) in
      var state = content.state
      for event in events { try state.fold(event) }
      content.state = state
      for event in events { content.versions.note(event) }
    }
  }

  package func version(of part: StatePart) async -> String? {
    content.withLock { content in content.versions.version(of: part) { content.state.runs[$0] != nil } }
  }

  package func finishedRuns(_ query: HistoryQuery) async throws(StateError) -> [RunSummary] {
    content.withLock { $0.state.endedRuns(query) }
  }

  package func finishedRun(_ id: String) async throws(StateError) -> RunRecord? {
    content.withLock { $0.state.endedRun(id) }
  }

  private func counted() -> [RunSums] { content.withLock { [RunSums($0.state.ended.lazy.map { RunSummary($0) })] } }

  package func runSums(_ query: RunSumQuery) async throws(StateError) -> [RunSum] {
    RunSums.sums(query, in: counted())
  }

  package func latestResults(
    of recipes: [String], from instant: Timestamp
  ) async throws(StateError) -> [String: [RunResult]] {
    RunSums.latest(of: recipes, from: instant, in: counted())
  }

  package func failures(from instant: Timestamp) async throws(StateError) -> [FailureGroup] {
    RunSums.failures(from: instant, in: counted())
  }

  package func slots(_ query: SlotQuery) async throws(StateError) -> [SlotRecord] {
    Array(content.withLock { $0.state.slots }.reversed().filter(query.matches).prefix(max(query.limit, 0)))
  }

  package func linkKey(renewed isRenewed: Bool) async throws(StateError) -> LinkKey {
    let key = content.withLock { content in
      let key = isRenewed ? content.linkKey?.renewed : content.linkKey
      content.linkKey = key ?? LinkKey()
      return content.linkKey ?? LinkKey()
    }
    secrets.learn(key)
    return key
  }

  package func putBlob(_ bytes: [UInt8]) async throws(StateError) -> BlobReference {
    let reference = BlobReference(sha256: try sha256(bytes), size: bytes.count)
    try change { content in content.blobs[reference.sha256] = bytes }
    return reference
  }

  package func blob(_ reference: BlobReference) async throws(StateError) -> [UInt8] {
    guard let bytes = content.withLock({ $0.blobs[reference.sha256] }) else {
      throw StateError(.damaged, "there is no blob \(reference.sha256)")
    }
    return bytes
  }

  package func deleteRun(_ id: String) async throws(StateError) -> Bool {
    var isThere = false
    try change { content in
      isThere = content.state.ended.contains { $0.id == id }
      content.state.forgetEnded(id)
      content.versions.note()
      content.printed[id] = nil
    }
    return isThere
  }

  package func keepPrinted(
    _ lines: [PrintedLine], ofRun id: String, orElse fail: @escaping @Sendable (StateError) -> Void
  ) {
    content.withLock { content in
      if content.isClosed { return }
      var log = content.printed.removeValue(forKey: id) ?? ([], 0)
      log.records += PrintedLine.fitting(lines, after: &log.size).compactMap { try? $0.storedText }
      content.printed[id] = log
      content.versions.notePrinted(by: id)
    }
  }

  package func printed(ofRun id: String, at point: PrintedPoint) async throws(StateError) -> PrintedChunk {
    content.withLock { PrintedChunk(of: $0.printed[id]?.records ?? [], at: point) }
  }

  package func removeLog(ofRun id: String) async throws(StateError) {
    content.withLock { $0.printed[id] = nil }
  }

  package func compact() async throws(StateError) {}
  package func close() async throws(StateError) { content.withLock { $0.isClosed = true } }

  private func change(_ body: (inout Content) throws(StateError) -> Void) throws(StateError) {
    try content.withLock { content throws(StateError) in
      if content.isClosed { throw .closed }
      try body(&content)
    }
  }
}
