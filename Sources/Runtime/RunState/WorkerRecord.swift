package import Basics

/// A program that claims runs of a shared state, as the state knows it.
package struct WorkerRecord: Record, Equatable {
  /// Distinguishes it from other programs of its name; a new one after its lease was over.
  package var id: Int
  package var name: String
  package var host: String
  package var pid: Int
  /// The program and its version.
  package var program: String
  /// The place where the files of its runs are.
  package var home: String
  package var queues: [String]
  /// The offers to runs: plugins, connections, secrets, formats.
  package var offers: [String]
  /// The most runs that it holds at once.
  package var capacity: Int
  /// How many runs it holds.
  package var runs: Int
  package var since: Timestamp
  /// When its lease ends, unless it is renewed.
  package var until: Timestamp
  /// Whether its lease has ended, so that others take over what it holds.
  package var isOver: Bool
  /// Whether it claims no more runs.
  package var isDraining: Bool
  /// Whether it decides on the schedules.
  package var isLeading: Bool
  /// How far its clock is ahead of the database's; nil if that isn't known yet.
  package var clockOffset: TimeSpan?

  package init(
    id: Int, name: String, host: String, pid: Int, program: String, home: String, queues: [String], offers: [String],
    capacity: Int, runs: Int, since: Timestamp, until: Timestamp, isOver: Bool, isDraining: Bool, isLeading: Bool,
    clockOffset: TimeSpan?
  ) {
    self.id = id
    self.name = name
    self.host = host
    self.pid = pid
    self.program = program
    self.home = home
    self.queues = queues
    self.offers = offers
    self.capacity = capacity
    self.runs = runs
    self.since = since
    self.until = until
    self.isOver = isOver
    self.isDraining = isDraining
    self.isLeading = isLeading
    self.clockOffset = clockOffset
  }

  /// A text of all that people see of it: not the end of its lease, which is renewed every few seconds, and of its clock
  /// whole seconds.
  package var version: String {
    var shown = self
    shown.until = .latest
    shown.clockOffset = offsetInSeconds
    return JSON.displayed(shown.encoded())
  }

  /// How far its clock is ahead of the database's, in whole seconds; nil if that is less than one.
  package var offsetInSeconds: TimeSpan? {
    clockOffset.flatMap { abs($0.nanoseconds / 1_000_000_000) < 1 ? nil : .seconds($0.nanoseconds / 1_000_000_000) }
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    id = try member("id", record?.id)
    name = try member("name", record?.name)
    host = try member("host", record?.host)
    pid = try member("pid", record?.pid)
    program = try member("program", record?.program)
    home = try member("home", record?.home)
    queues = try member("queues", record?.queues)
    offers = try member("offers", record?.offers)
    capacity = try member("capacity", record?.capacity)
    runs = try member("runs", record?.runs)
    since = try member("since", record?.since)
    until = try member("until", record?.until)
    isOver = try member("isOver", record?.isOver)
    isDraining = try member("isDraining", record?.isDraining)
    isLeading = try member("isLeading", record?.isLeading)
    clockOffset = try member("clockOffset", record?.clockOffset)
  }
}
