/// The log of a run in a store of several machines: numbered entries, each the events of one append.
///
/// The number is the fence. An append is the entry with the next number, so if two writers both believe that they hold
/// the run, only one is accepted; the other sees the entries before its own and gives way. Each entry has a CRC-64/XZ
/// of the log up to it, which begins with the run's id, so that an entry that is lost, changed or moved is found.
package import Basics

/// One entry of a run's log.
package struct LogEntry: Sendable, Equatable {
  package var run: String
  /// From 1.
  package var number: Int
  /// Which claim of the run its writer had; 0 for one that held no claim.
  package var epoch: Int
  package var sum: UInt64
  /// The events, as a list of the objects that a journal has.
  package var events: String

  package init(run: String, number: Int, epoch: Int, sum: UInt64, events: String) {
    self.run = run
    self.number = number
    self.epoch = epoch
    self.sum = sum
    self.events = events
  }
}

/// The run's record as of one entry of its log, so that the entries before it need not be read.
package struct FoldedLog: Sendable, Equatable {
  package var number: Int
  package var sum: UInt64
  /// The run's record, after its CRC-64/XZ in hexadecimal digits and a space.
  package var text: String

  package init(number: Int, sum: UInt64, text: String) {
    self.number = number
    self.sum = sum
    self.text = text
  }
}

extension FoldedLog {
  fileprivate static func sum(of text: Substring) -> String {
    var sum = Checksum()
    sum.update(text.utf8)
    return sum.text
  }

  /// The record's text, if it is what was written.
  fileprivate var record: String {
    get throws(RecordError) {
      let parts = text.split(separator: " ", maxSplits: 1)
      guard parts.count == 2, FoldedLog.sum(of: parts[1]) == parts[0] else {
        throw RecordError("the sum of what it came to is wrong")
      }
      return String(parts[1])
    }
  }
}

extension RunRecord {
  /// The known part of a run whose record can't be read.
  package init(unread id: String, of recipe: String, createdAt: Timestamp) {
    self.init(
      RunCreated(
        run: id, at: createdAt, recipe: recipe, file: "", texts: .inline(.object([:])), inputs: .object([:]),
        program: ""))
  }

  /// Requires a missing secret of the programs that run it from now on.
  ///
  /// Nil if the run requires it already, if any program may run the run, or if the run is to end.
  package func placed(missing secret: String?, at instant: Timestamp) -> StateEvent? {
    guard let secret, pendingCancel == nil else { return nil }
    let needs = needs(besidesFor: [secret])
    return needs.isEmpty ? nil : .runPlaced(RunPlaced(run: id, at: instant, needs: needs))
  }

  /// The secrets, as needs, that the text of events refers to and the run doesn't need yet.
  fileprivate func needs(besidesBy text: String) -> [String] {
    guard text.contains("\"$masked"), let value = try? JSON.parse(text, limits: StateFormat.limits) else { return [] }
    return needs(besidesFor: value.maskedNames)
  }

  /// The needs for secrets that the run doesn't have yet; none for a run that any program may run.
  private func needs(besidesFor secrets: Set<String>) -> [String] {
    if origin.needs.isEmpty || status.isEnded { return [] }
    return Set(secrets.map(RunNeed.secret)).subtracting(origin.needs + needs).sorted { $0.precedesByScalars($1) }
  }
}

/// A run, and where its log ends.
package struct LoggedRun: Sendable, Equatable {
  package var record: RunRecord
  package private(set) var number: Int
  package private(set) var sum: UInt64
  /// Why the log can't be read to its end; then the record is the fold of the entries before the damage, and paused.
  package private(set) var damage: String?

  /// The next entry, which changes the run to the given record and adds needs for secrets that its values refer to.
  package func next(_ record: RunRecord, by events: [StateEvent], epoch: Int) throws(StateError)
    -> (run: LoggedRun, entry: LogEntry)
  {
    if let damage { throw StateError(.damaged, damage) }
    var (record, text) = (record, try events.storedText)
    let needs = record.needs(besidesBy: text)
    if !needs.isEmpty {
      let placed = StateEvent.runPlaced(RunPlaced(run: record.id, at: record.now, needs: needs))
      record = try record.folding([placed])
      text = try (events + [placed]).storedText
    }
    var next = self
    next.record = record
    next.add(text)
    return (next, LogEntry(run: record.id, number: next.number, epoch: epoch, sum: next.sum, events: text))
  }

  /// The entry that a worker claims the run with.
  ///
  /// - Parameter isSuspect: Whether the worker before it brought itself down.
  package func claim(_ epoch: Int, by worker: String, at instant: Timestamp, isSuspect: Bool) throws(StateError)
    -> (run: LoggedRun, entry: LogEntry)
  {
    let isTakeover = record.status == .running
    let event = StateEvent.runClaimed(
      RunClaimed(
        run: record.id, at: instant, worker: worker, epoch: epoch, isTakeover: isTakeover,
        isSuspect: isSuspect && isTakeover))
    return try next(try record.folding([event]), by: [event], epoch: epoch)
  }

  /// A run that has no entries yet.
  package init(new record: RunRecord) {
    self.record = record
    number = 0
    var sum = Checksum()
    sum.update(record.id.utf8)
    self.sum = sum.value
  }

  /// A run that comes from elsewhere: its log begins with an entry without events and the folded record of the run.
  package static func moved(
    _ record: RunRecord
  ) throws(StateError) -> (run: LoggedRun, entry: LogEntry, folded: FoldedLog) {
    let (run, entry) = try LoggedRun(new: record).next(record, by: [], epoch: 0)
    return (run, entry, try run.folded)
  }

  /// A run of whose log nothing can be read, as far as its row tells of it.
  package static func unread(
    _ id: String, of recipe: String, createdAt: Timestamp, because damage: String
  ) -> LoggedRun {
    var run = LoggedRun(new: RunRecord(unread: id, of: recipe, createdAt: createdAt))
    run.note(damage)
    return run
  }

  private mutating func note(_ damage: String) {
    self.damage = damage
    record.status = .paused
    record.reason = "\(damage); it can only be cancelled: errand runs cancel \(record.id)"
  }

  /// Reads a log: what it was folded to, if it was, and all entries after that.
  ///
  /// - Throws: If there is nothing that can be read.
  package init(_ id: String, folded: FoldedLog?, entries: [LogEntry]) throws(StateError) {
    var run: LoggedRun?
    do throws(RecordError) {
      if let folded {
        var read = LoggedRun(new: try RunRecord(text: try folded.record))
        guard folded.number > 0, folded.number < Int.max / 2 else {
          throw RecordError("it has no entry \(folded.number)")
        }
        (read.number, read.sum) = (folded.number, folded.sum)
        run = read
      }
      for entry in entries {
        let events = try [StateEvent](text: entry.events)
        let isFirst = run == nil
        if isFirst { run = events.first.flatMap(LoggedRun.init(begunBy:)) }
        // In its place, so that no step is copied.
        guard try run?.add(entry, isFirst ? Array(events.dropFirst()) : events) != nil else {
          throw RecordError("its first entry creates no run")
        }
      }
      guard let run else { throw RecordError("it has no entries") }
      guard run.record.id == id else { throw RecordError("it is that of the run \(run.record.id)") }
      self = run
    } catch {
      let damage = "the log of the run \(id) can't be read: \(error.message)"
      guard var read = run, read.record.id == id else { throw StateError(.damaged, damage) }
      read.note(damage)
      self = read
    }
  }

  /// Adds an entry that others wrote.
  package mutating func add(_ entry: LogEntry) throws(StateError) {
    do throws(RecordError) { try add(entry, try [StateEvent](text: entry.events)) } catch {
      throw StateError(.damaged, "the log of the run \(record.id) can't be read: \(error.message)")
    }
  }

  /// The log up to its last entry, folded for later readers.
  package var folded: FoldedLog {
    get throws(StateError) {
      let text = try record.storedText
      return FoldedLog(number: number, sum: sum, text: "\(FoldedLog.sum(of: text[...])) \(text)")
    }
  }

  private init?(begunBy event: StateEvent) {
    guard case .runCreated(let created) = event else { return nil }
    self.init(new: RunRecord(created))
  }

  private mutating func add(_ entry: LogEntry, _ events: [StateEvent]) throws(RecordError) {
    guard entry.number == number &+ 1 else {
      throw RecordError("after entry \(number) comes \(entry.number)")
    }
    add(entry.events)
    guard entry.sum == sum else { throw RecordError("the sum of entry \(number) is wrong") }
    for event in events { try record.apply(event) }
  }

  private mutating func add(_ text: String) {
    number &+= 1
    var sum = Checksum(self.sum)
    sum.update(text.utf8)
    self.sum = sum.value
  }
}
