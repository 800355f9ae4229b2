/// The notes of a run, as its actions see them.
///
/// A note is part of the program's state, like the run: it survives a crash, moves with the state, and belongs to one
/// run. Unlike a value that outlives runs (`ValueStore`), every attempt of every step may change it any number of
/// times.
public protocol RunNotes: Sendable {
  /// Changes the note of a name; the new note is on disk afterwards.
  ///
  /// - Parameter decide: Computes the new note from the current one; nil if there is none. It may be called several
  ///   times, because another step of the run may change the note meanwhile.
  func change(_ name: String, _ decide: (_ current: Value?) throws(ActionError) -> Value) async throws(ActionError)
}
