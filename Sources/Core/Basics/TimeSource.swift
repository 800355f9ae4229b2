/// The clocks that everything which decides by time is handed, so that tests let days pass at once.
///
/// Nothing but the outermost layer makes one.
public protocol TimeSource: Sendable {
  /// The wall clock, which people set and machines correct, so that it can jump either way.
  func now() -> Timestamp
  /// Time since some fixed moment; it never goes back, and it also counts the time that the machine sleeps.
  func elapsed() -> TimeSpan
  /// Waits, and throws `CancellationError` if the task is cancelled meanwhile.
  func sleep(for span: TimeSpan) async throws
}
