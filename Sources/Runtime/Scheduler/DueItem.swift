import Basics

/// A schedule's due time, in sixteen bytes, for the scheduler's queue.
struct DueItem: Comparable {
  private var seconds: Int
  private var nanoseconds: Int32
  /// Which schedule.
  var index: Int32

  var due: Timestamp { Timestamp(seconds: seconds, nanoseconds: Int(nanoseconds)) ?? .latest }

  init(_ due: Timestamp, _ index: Int32) {
    seconds = due.seconds
    nanoseconds = due.nanoseconds
    self.index = index
  }

  /// Schedules that are due together are in the order they were set.
  @inline(__always)
  static func < (_ one: DueItem, _ other: DueItem) -> Bool {
    if one.seconds != other.seconds { return one.seconds < other.seconds }
    if one.nanoseconds != other.nanoseconds { return one.nanoseconds < other.nanoseconds }
    return one.index < other.index
  }
}
