import Basics

extension StateError {
  /// A refusal of the file system before anything was acknowledged.
  init(_ error: FileError) { self.init(.unavailable, error.description) }
}

extension StateError {
  package static let closed = StateError(.closed, "the state was closed")
}

extension State {
  /// Applies an event for a caller.
  mutating func fold(_ event: StateEvent) throws(StateError) {
    do { try apply(event) } catch { throw StateError(refusing: error) }
  }
}

extension RunRecord {
  /// The record after events that change nothing but this run.
  package func folding(_ events: [StateEvent]) throws(StateError) -> RunRecord {
    var record = self
    do throws(RecordError) { for event in events { try record.apply(event) } } catch {
      throw StateError(refusing: error)
    }
    return record
  }
}

extension StateError {
  fileprivate init(refusing error: RecordError) {
    self.init(.invalid, "the state cannot take the event: \(error.message)")
    isConflict = error.isConflict
    wait = error.wait
  }
}

/// Turns file errors into state errors.
func onDisk<Result>(_ body: () throws(FileError) -> Result) throws(StateError) -> Result {
  do { return try body() } catch { throw StateError(error) }
}
