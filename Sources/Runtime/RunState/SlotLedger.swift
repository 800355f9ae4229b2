/// The ledger of settled slots, as a `MonthlyLog` in `slots/`, each in the month of its settlement.
///
/// A slot's id consists of everything that distinguishes it from other slots, so it is the same when a replay settles
/// the slot again: `2026-11-20T09:00:00Z reports/weekly 2026-11-20T09:00:00Z slot started 0199…`. Last comes the run
/// that was started, or, if none was, the run or the event that requested one.
import Basics

typealias SlotLedger = MonthlyLog<SlotRecord>

extension SlotRecord: LogRecord {
  static let label = "slot"
  var summary: SlotSummary { SlotSummary(record: self) }

  /// The position of a page that ends with it: when it was settled, and a hash to tell it from other slots of that
  /// instant.
  package var cursor: String {
    "\(at)_\(((try? sha256(Array(summary.id.utf8))) ?? "").prefix(16))"
  }
}

/// A slot's line in the index: all of the slot.
struct SlotSummary: LogSummary {
  var record: SlotRecord

  var id: String { id(last: record.run ?? record.cause.run ?? record.cause.event) }

  private func id(last: String?) -> String {
    "\(record.at) \(record.schedule) \(record.slot) \(record.cause.kind.rawValue) \(record.outcome.rawValue)"
      + (last.map { " \($0)" } ?? "")
  }
  var instant: Timestamp { record.at }
  var span: ClosedRange<Timestamp> { record.slot...max(record.until ?? record.slot, record.slot) }
  var features: [String] { [record.schedule] }

  init(record: SlotRecord) { self.record = record }

  func write(to writer: inout RecordWriter) {
    writer.set("id", id)
    record.write(to: &writer)
  }

  init(from reader: inout RecordReader) throws(RecordError) {
    let written: String = try reader.read("id")
    record = try SlotRecord(from: &reader)
    // Earlier ids lacked the cause of a run.
    guard id.hasSameScalars(as: written) || id(last: record.run).hasSameScalars(as: written) else {
      throw RecordError("'\(written)' is not the slot's id")
    }
  }
}

extension SlotLedger {
  /// The slots that match, the last settled first.
  func slots(_ query: SlotQuery) throws(StateError) -> [SlotRecord] {
    var search = Query(limit: query.limit)
    search.from = query.from
    search.before = query.before
    search.lastMonth = query.settledUntil
    search.matches = { query.matches($0.record) }
    if let schedule = query.schedule {
      search.features = [schedule]
      search.needles = [[",\"schedule\":\(JSON.quoted(schedule)),"]]
    }
    return try summaries(search).map(\.record)
  }
}
