// How far a transfer of bytes is: a download, an upload or the reading of a large file.
//
// Who moves the bytes doesn't know for whom, and who waits for them has nothing to count. So the task that does the work
// names a follower, which is found where the bytes pass by. Without a follower nothing is counted.

/// Is told how far the transfers of a task are.
package protocol TransferFollower: Sendable {
  /// Called often, on any thread; it must not wait.
  ///
  /// - Parameters:
  ///   - bytes: How many have passed by.
  ///   - total: How many there are, if that is known.
  func transferred(_ direction: Transfers.Direction, _ bytes: Int, of total: Int?)
}

/// The transfers of the task that asks.
package enum Transfers {
  /// Who is told of them.
  @TaskLocal package static var follower: (any TransferFollower)?

  /// Smaller ones are over before anyone could look.
  package static let least = 256 << 10

  package enum Direction: Sendable {
    case download, upload, reading
  }
}
