import Basics

/// Where a state puts what is over.
struct StateLogs: Sendable {
  let history: History
  let slots: SlotLedger

  init(_ path: String, _ fileSystem: any FileSystem) {
    history = History(folder: "\(path)/history", fileSystem: fileSystem)
    slots = SlotLedger(folder: "\(path)/slots", fileSystem: fileSystem)
  }

  /// Moves what is over out of a state that is about to be a snapshot; both are durable when it returns.
  func adopt(from opened: inout StateFolder.Opened) throws(StateError) {
    try history.add(opened.state.ended)
    try slots.add(opened.state.slots)
    if let last = opened.state.ended.last { opened.newest.run = LogMark(last.summary) }
    if let last = opened.state.slots.last { opened.newest.slot = LogMark(last.summary) }
    opened.state.forgetOver()
  }

  /// Makes what is missing of the indexes.
  func completeIndexes() throws(StateError) {
    try history.completeIndexes()
    try slots.completeIndexes()
  }
}

/// The newest record in each log when a snapshot was written.
///
/// What is too old or too much leaves a log from the other end, so that one which has lost its newest record is known to
/// have lost something else.
struct NewestRecords: Record, Equatable {
  var run: LogMark?
  var slot: LogMark?

  init() {}

  init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    slot = try member("slot", record?.slot)
  }
}

/// Which record of a log is meant.
struct LogMark: Record, Equatable {
  var id: String
  /// What says which month it belongs to.
  var at: Timestamp

  init(_ summary: some LogSummary) {
    id = summary.id
    at = summary.instant
  }

  init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    id = try member("id", record?.id)
    at = try member("at", record?.at)
  }
}
