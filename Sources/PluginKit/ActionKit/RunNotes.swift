/// What a run notes of itself, as its actions see it.
///
/// A note is part of the program's state, as the run is: it survives a crash, goes where the state goes, and is no other
/// run's. Unlike a value that outlives runs (`ValueStore`) it is changed as often as an action says so, whichever attempt
/// of whichever step it is.
public protocol RunNotes: Sendable {
  /// Changes the note of a name; what is decided is on disk afterwards.
  ///
  /// - Parameter decide: What the note becomes, given what it is; nil if there is none. It may be asked several times,
  ///   because another step of the run may change the note meanwhile.
  func change(_ name: String, _ decide: (_ current: Value?) throws(ActionError) -> Value) async throws(ActionError)
}
