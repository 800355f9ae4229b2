import Basics

/// The logs of a state's finished records.
struct StateLogs: Sendable {
  let history: History
  let slots: SlotLedger

  init(_ path: String, _ fileSystem: any FileSystem) {
    history = History(folder: "\(path)/history", fileSystem: fileSystem)
    slots = SlotLedger(folder: "\(path)/slots", fileSystem: fileSystem)
  }

  /// Moves finished records out of a state that is about to become a snapshot; both are durable when it returns.
  func adopt(from opened: inout StateFolder.Opened) throws(StateError) {
    try history.add(opened.state.ended)
    try slots.add(opened.state.slots)
    if let last = opened.state.ended.last { opened.newest.run = LogMark(last.summary) }
    if let last = opened.state.slots.last { opened.newest.slot = LogMark(last.summary) }
    opened.state.forgetOver()
  }

  /// Completes the indexes.
  func completeIndexes() throws(StateError) {
    try history.completeIndexes()
    try slots.completeIndexes()
  }
}

/// The newest record in each log when a snapshot was written.
///
/// Pruning removes records from the other end, so a log without its newest record must have lost data otherwise.
struct NewestRecords: Record, Equatable {
  var run: LogMark?
  var slot: LogMark?

  init() {}

  init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    slot = try member("slot", record?.slot)
  }
}

/// Identifies a record of a log.
struct LogMark: Record, Equatable {
  var id: String
  /// The instant that decides its month.
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
