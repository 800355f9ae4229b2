/// The mark of a folder whose state was moved elsewhere: `moved.json`.
///
///     {"at":"2026-11-26T09:00:00Z","to":"/srv/errand/errand.archive"}
///
/// A folder with this mark is not opened, so that no run continues in two places. Its content stays, and can be
/// exported again.
package import Basics

package struct MovedState: Record, Equatable {
  static let name = "moved.json"

  /// When the archive with the moved state was made.
  package var at: Timestamp
  /// The archive, or the state that it was imported into.
  package var to: String

  package init(at: Timestamp, to: String) {
    self.at = at
    self.to = to
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    at = try member("at", record?.at)
    to = try member("to", record?.to)
  }

  /// That the state was moved, and how to use it all the same, as the end of a sentence.
  package var told: String {
    let second = Timestamp(seconds: at.seconds) ?? at
    return "was moved to \(to.safe) at \(second), and is in use there; to use this one instead, if that is used nowhere"
  }
}

extension StateArchive {
  private var movedPath: String { "\(path)/\(MovedState.name)" }

  /// Closes the folder for good; the caller holds its lock.
  package func close(as moved: MovedState) throws(StateError) {
    let bytes = try recordedBytes(of: moved) + [ASCII.newline]
    try onDisk { () throws(FileError) in try fileSystem.replace(movedPath, in: path, with: bytes) }
  }

  /// Where the state of the folder went; nil if it is still there.
  package func moved() throws(StateError) -> MovedState? {
    guard let bytes = try onDisk({ () throws(FileError) in try fileSystem.read(movedPath) }) else { return nil }
    do throws(RecordError) { return try MovedState(text: String(decoding: bytes, as: UTF8.self)) } catch {
      throw StateError(.damaged, "\(movedPath) can't be read: \(error.message)")
    }
  }

  /// Refuses a folder whose state was moved elsewhere.
  func refuseMoved() throws(StateError) {
    guard let moved = try moved() else { return }
    throw StateError(
      .invalid,
      "the state in '\(path)' \(moved.told), remove \(movedPath)"
    )
  }
}

extension StateError {
  /// The error for moving a state that was moved elsewhere already.
  package static func movedAlready(_ moved: MovedState) -> StateError {
    StateError(
      .invalid, "the state was moved to \(moved.to) at \(moved.at) already; without --move it is exported as a copy")
  }
}
