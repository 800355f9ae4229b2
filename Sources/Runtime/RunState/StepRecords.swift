package import Basics

/// The steps of one run, by path and in the order they began.
///
/// A run may have hundreds of thousands of steps, and several holders: its journal, the thread that writes for all, and
/// the published state. So a copy shares the records with its original: they are in pages of a few, the pages in
/// chapters, and a change copies one page and one chapter's list of pages, if they are shared at all. A hash table from
/// paths to places is in pages too.
package struct StepRecords: Sendable {
  private typealias Page = [StepRecord]

  /// As powers of two: the records of a page, the pages of a chapter, the slots of a page of the table.
  private static let (pageBits, chapterBits, tableBits) = (1, 8, 9)

  private var chapters: [[Page]] = []
  package private(set) var count = 0
  /// The slots; a path is in the first free one from its hash on.
  private var table: [[Slot]] = []
  /// The number of slots less one, which is a power of two less one.
  private var mask = 0

  /// One more than the place of a record, or 0 of a free slot, and a part of the hash of its path, so that other paths
  /// are seldom compared with it.
  private struct Slot: Sendable {
    var entry: UInt32 = 0
    var tag: UInt32 = 0

    init() {}

    init(_ place: Int, _ hash: Int) {
      entry = UInt32(truncatingIfNeeded: place + 1)
      tag = UInt32(truncatingIfNeeded: hash >> 32)
    }
  }

  package init() {}

  private init(_ records: [StepPath: StepRecord]) {
    for record in records.values.sorted(by: { $0.ordinal < $1.ordinal }) { put(record) }
  }

  /// The status of the step at a path.
  package func status(of path: StepPath) -> StepStatus? { look(at: path) { $0.pointee.status } }

  /// A part of the record of a path, without a copy of the record.
  package func look<Part>(at path: StepPath, _ part: (UnsafePointer<StepRecord>) -> Part) -> Part? {
    place(of: path).map { looking(at: $0, part) }
  }

  /// Passes each record to a function, in the order the steps began, without copying it.
  package func forEachInPlace(_ body: (UnsafePointer<StepRecord>) -> Void) {
    for place in indices { looking(at: place, body) }
  }

  /// Whether one of them waits for a person's decision.
  package var askPerson: Bool { indices.contains { looking(at: $0) { $0.pointee.asksPerson } } }

  package subscript(path: StepPath) -> StepRecord? { place(of: path).map { self[$0] } }

  // MARK: Changing

  /// Changes the record of a path in place; nil if there is none.
  mutating func change<Outcome>(_ path: StepPath, _ body: (inout StepRecord) -> Outcome) -> Outcome? {
    place(of: path).map { body(&chapters[chapter($0)][page($0)][item($0)]) }
  }

  /// Adds a step that begins, or replaces the record of one that starts again.
  package mutating func put(_ record: StepRecord) {
    if let place = place(of: record.path) {
      chapters[chapter(place)][page(place)][item(place)] = record
      return
    }
    let place = count
    if page(place) == 0, item(place) == 0 { chapters.append([]) }
    if item(place) == 0 { chapters[chapter(place)].append([]) }
    chapters[chapter(place)][page(place)].append(record)
    count += 1
    if count * 4 > (mask + 1) * 3 { widen() } else { enter(place) }
  }

  /// The place in the order for a step that begins next: after all that there are, also where some were removed.
  var nextOrdinal: Int { isEmpty ? 0 : looking(at: count - 1) { $0.pointee.ordinal } &+ 1 }

  /// Removes the steps inside the rounds of a step, given the path of its round's own record.
  ///
  /// They began after it, and are mostly the last ones.
  mutating func removeRounds(of round: StepPath) {
    guard let first = place(of: round) else { return }
    let beginning = Array(round.utf8)
    func isInside(_ place: Int) -> Bool {
      looking(at: place) {
        $0.pointee.path.utf8.count > beginning.count && $0.pointee.path.utf8.starts(with: beginning)
      }
    }
    while count > first + 1, isInside(count - 1) { removeLast() }
    guard (first + 1..<count).contains(where: isInside) else { return }
    // Other steps began between them.
    var kept = StepRecords()
    for place in indices where place <= first || !isInside(place) { kept.put(self[place]) }
    self = kept
  }

  private mutating func removeLast() {
    let place = count - 1
    leave(place)
    count = place
    if item(place) > 0 {
      chapters[chapter(place)][page(place)].removeLast()
    } else if page(place) > 0 {
      chapters[chapter(place)].removeLast()
    } else {
      chapters.removeLast()
    }
  }

  /// Holds the records of another copy in place of its own equal ones, a page at a time, around a step that ended.
  package mutating func share(_ path: StepPath, of other: StepRecords) {
    guard let place = place(of: path), place < other.count else { return }
    let theirs = other.chapters[chapter(place)][page(place)]
    guard theirs.count == 1 << StepRecords.pageBits,
      theirs.isAsFar(as: chapters[chapter(place)][page(place)])
    else { return }
    chapters[chapter(place)][page(place)] = theirs
  }

  // MARK: Finding

  private func chapter(_ place: Int) -> Int { place >> (StepRecords.pageBits + StepRecords.chapterBits) }
  private func page(_ place: Int) -> Int { place >> StepRecords.pageBits & (1 << StepRecords.chapterBits - 1) }
  private func item(_ place: Int) -> Int { place & (1 << StepRecords.pageBits - 1) }

  private func path(at place: Int) -> StepPath { looking(at: place) { $0.pointee.path } }

  /// A member of a record, without a copy of the record.
  @inline(__always) private func looking<Member>(
    at place: Int, _ member: (UnsafePointer<StepRecord>) -> Member
  ) -> Member {
    chapters[chapter(place)][page(place)].withUnsafeBufferPointer { page in
      guard let base = page.baseAddress else { preconditionFailure("no page of records is empty") }
      return member(base + item(place))
    }
  }

  private func place(of path: StepPath) -> Int? {
    if isEmpty { return nil }
    let hash = path.hashValue
    let tag = Slot(0, hash).tag
    var slot = hash & mask
    return table.withUnsafeBufferPointer { pages in
      while true {
        let found = pages[slot >> StepRecords.tableBits][slot & (1 << StepRecords.tableBits - 1)]
        if found.entry == 0 { return nil }
        let place = Int(found.entry) - 1
        if found.tag == tag, looking(at: place, { $0.pointee.path == path }) { return place }
        slot = (slot + 1) & mask
      }
    }
  }

  /// Enters the path of a new record in the table, which has room.
  private mutating func enter(_ place: Int) {
    let hash = path(at: place).hashValue
    var slot = hash & mask
    let inPage = 1 << StepRecords.tableBits - 1
    while table[slot >> StepRecords.tableBits][slot & inPage].entry != 0 { slot = (slot + 1) & mask }
    table[slot >> StepRecords.tableBits][slot & inPage] = Slot(place, hash)
  }

  /// Removes the path of a record from the table, and moves the entries that it had displaced.
  private mutating func leave(_ place: Int) {
    func found(_ slot: Int) -> Slot { table[slot >> StepRecords.tableBits][slot & (1 << StepRecords.tableBits - 1)] }
    var hole = path(at: place).hashValue & mask
    while Int(found(hole).entry) != place + 1 { hole = (hole + 1) & mask }
    var slot = (hole + 1) & mask
    while found(slot).entry != 0 {
      let home = path(at: Int(found(slot).entry) - 1).hashValue & mask
      if (slot - home) & mask >= (slot - hole) & mask {
        table[hole >> StepRecords.tableBits][hole & (1 << StepRecords.tableBits - 1)] = found(slot)
        hole = slot
      }
      slot = (slot + 1) & mask
    }
    table[hole >> StepRecords.tableBits][hole & (1 << StepRecords.tableBits - 1)] = Slot()
  }

  /// Makes the table twice as wide, with all paths.
  private mutating func widen() {
    mask = Swift.max(mask * 2 + 1, 15)
    let slots = Swift.min(mask + 1, 1 << StepRecords.tableBits)
    table = Array(repeating: Array(repeating: Slot(), count: slots), count: (mask + 1) / slots)
    for place in indices { enter(place) }
  }
}

extension StepRecords: RandomAccessCollection {
  package var startIndex: Int { 0 }
  package var endIndex: Int { count }
  package subscript(place: Int) -> StepRecord { chapters[chapter(place)][page(place)][item(place)] }
}

extension StepRecords: Equatable {
  package static func == (left: StepRecords, right: StepRecords) -> Bool { left.elementsEqual(right) }
}

/// An object with the records by path, in the order the steps began.
extension StepRecords: Recordable {
  package func encoded() -> Value {
    var writer = RecordWriter()
    forEachInPlace { writer.set($0.pointee.path, $0.pointee) }
    return .map(writer.map)
  }

  package func write(to text: inout RecordText) {
    text.json.begin("{")
    forEachInPlace { step in
      text.json.beginMember(step.pointee.path)
      step.pointee.write(to: &text)
      text.passOn()
    }
    text.json.end("}")
  }

  package init(reading value: Value) throws(RecordError) { self.init(try [StepPath: StepRecord](reading: value)) }
}

extension [StepRecord] {
  /// Whether the records of both are as far, so that no event came to one that the other hasn't had.
  ///
  /// They are if all have ended at the same instants of the same attempts. Errors lose secrets on the way to the state,
  /// so records with errors are never the same.
  fileprivate func isAsFar(as other: [StepRecord]) -> Bool {
    withUnsafeBufferPointer { own in
      other.withUnsafeBufferPointer { other in
        own.count == other.count
          && own.indices.allSatisfy { index in
            own[index].status.isEnded && own[index].status == other[index].status && other[index].error == nil
              && own[index].endedAt == other[index].endedAt && own[index].attempts == other[index].attempts
              && own[index].ordinal == other[index].ordinal && own[index].path == other[index].path
          }
      }
    }
  }
}
