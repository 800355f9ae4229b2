import Basics
import RunState
import Synchronization

/// A store that dies at a point that a test chooses: before or after the n-th append, or during an action.
///
/// The memory store behind it holds the events until then, and a new store continues from it.
final class CrashingStore: LocalStateStore {
  struct Point: Sendable, CustomStringConvertible {
    var append: Int
    var isAfter: Bool
    var description: String { "\(isAfter ? "after" : "before") append \(append)" }
  }

  private struct Content {
    var appends = 0
    var isDead = false
    var point: Point?
    var events: [StateEvent] = []
  }

  private let content: Mutex<Content>
  /// A change of the state by another caller after each append.
  let onAppend = Mutex<@Sendable ([StateEvent], MemoryStateStore) async -> Void>({ _, _ in })
  let memory: MemoryStateStore

  init(_ memory: MemoryStateStore = MemoryStateStore(), dyingAt point: Point? = nil) {
    self.memory = memory
    content = Mutex(Content(point: point))
  }

  static let death = StateError(.fatal, "the machine is off")

  /// The program is gone: nothing is kept any more.
  func die() { content.withLock { $0.isDead = true } }
  /// Dies before the next append.
  func dieNext() { content.withLock { $0.point = Point(append: $0.appends + 1, isAfter: false) } }
  var appends: Int { content.withLock { $0.appends } }
  var isDead: Bool { content.withLock { $0.isDead } }
  /// All that was kept here, in order.
  var events: [StateEvent] { content.withLock { $0.events } }

  func append(_ events: [StateEvent]) async throws(StateError) {
    let (isKept, isTold) = content.withLock { content -> (Bool, Bool) in
      if content.isDead { return (false, false) }
      content.appends += 1
      guard let point = content.point, point.append == content.appends else { return (true, true) }
      content.isDead = true
      return (point.isAfter, false)
    }
    if isKept {
      try await memory.append(events)
      content.withLock { $0.events += events }
      await onAppend.withLock { $0 }(events, memory)
    }
    if !isTold { throw CrashingStore.death }
  }

  func look<Answer: Sendable>(_ body: (State) -> Answer) -> Answer { memory.look(body) }
  var secrets: SecretRegistry { memory.secrets }
  func finishedRuns(_ query: HistoryQuery) async throws(StateError) -> [RunSummary] {
    try await memory.finishedRuns(query)
  }
  func linkKey(renewed isRenewed: Bool) async throws(StateError) -> LinkKey {
    try await memory.linkKey(renewed: isRenewed)
  }
  func finishedRun(_ id: String) async throws(StateError) -> RunRecord? { try await memory.finishedRun(id) }
  func runSums(_ query: RunSumQuery) async throws(StateError) -> [RunSum] { try await memory.runSums(query) }
  func latestResults(
    of recipes: [String], from instant: Timestamp
  ) async throws(StateError) -> [String: [RunResult]] {
    try await memory.latestResults(of: recipes, from: instant)
  }
  func failures(from instant: Timestamp) async throws(StateError) -> [FailureGroup] {
    try await memory.failures(from: instant)
  }
  func slots(_ query: SlotQuery) async throws(StateError) -> [SlotRecord] { try await memory.slots(query) }
  func putBlob(_ bytes: [UInt8]) async throws(StateError) -> BlobReference {
    if isDead { throw CrashingStore.death }
    return try await memory.putBlob(bytes)
  }
  func blob(_ reference: BlobReference) async throws(StateError) -> [UInt8] { try await memory.blob(reference) }
  func deleteRun(_ id: String) async throws(StateError) -> Bool { try await memory.deleteRun(id) }
  func keepPrinted(
    _ lines: [PrintedLine], ofRun id: String, orElse fail: @escaping @Sendable (StateError) -> Void
  ) {
    if !isDead { memory.keepPrinted(lines, ofRun: id, orElse: fail) }
  }
  func printed(ofRun id: String, at point: PrintedPoint) async throws(StateError) -> PrintedChunk {
    try await memory.printed(ofRun: id, at: point)
  }
  func removeLog(ofRun id: String) async throws(StateError) { try await memory.removeLog(ofRun: id) }
  func compact() async throws(StateError) { try await memory.compact() }
  func close() async throws(StateError) { try await memory.close() }
}

extension StateEvent {
  /// The kind of event, as the journal calls it.
  var word: String { encoded()["event"]?.string ?? "" }
}
