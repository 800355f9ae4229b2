import Basics

extension StateError {
  /// A refusal of the file system before anything was acknowledged.
  init(_ error: FileError) { self.init(.unavailable, error.description) }
}

extension StateError {
  static let noThread = StateError(.unavailable, "the system has no thread left for the state")
  static let closed = StateError(.closed, "the state was closed")
}

extension State {
  /// Applies an event for a caller.
  mutating func fold(_ event: StateEvent) throws(StateError) {
    do { try apply(event) } catch {
      var refusal = StateError(.invalid, "the state cannot take the event: \(error.message)")
      refusal.isOutrun = error.isOutrun
      throw refusal
    }
  }
}

/// Turns file errors into state errors.
func onDisk<Result>(_ body: () throws(FileError) -> Result) throws(StateError) -> Result {
  do { return try body() } catch { throw StateError(error) }
}
