// How far a transfer of bytes is: a download, an upload or the reading of a large file.
//
// The code that moves the bytes knows nothing of the step that needs them. So the step's task names a follower, and the
// code that moves bytes in that task reports to it. Without a follower nothing is reported.

/// Learns how far the transfers of a task are, and has the last word before something is sent.
package protocol TransferFollower: Sendable {
  /// Whether anything may still be sent; asked at the last moment, on any thread, and must not wait.
  var maySend: Bool { get }

  /// Called often, on any thread; it must not wait.
  ///
  /// - Parameters:
  ///   - bytes: How many were moved so far.
  ///   - total: How many there are, if that is known.
  func transferred(_ direction: Transfers.Direction, _ bytes: Int, of total: Int?)
}

/// The transfers of the task that asks.
package enum Transfers {
  /// The follower of the current task.
  @TaskLocal package static var follower: (any TransferFollower)?

  /// Transfers of fewer bytes end before they could be shown.
  package static let least = 256 << 10

  package enum Direction: Sendable {
    case download, upload, reading
  }
}
