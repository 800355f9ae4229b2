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
  func take(from state: inout State) throws(StateError) {
    try history.add(state.ended)
    try slots.add(state.slots)
    state.forgetOver()
  }
}
