package import Basics
package import RunState

/// A file that an action of a run says it wrote.
package struct WrittenFile: Record, Equatable {
  /// The path for people: below the folder of errand.yaml, or the name alone.
  package var name: String
  /// The full path.
  package var path: String
  package var step: StepPath
  /// The size, if the action says it.
  package var bytes: Int?
  /// When the step ended; a file that was changed later isn't the run's any more.
  package var writtenAt: Timestamp

  package init(name: String, path: String, step: StepPath, bytes: Int?, writtenAt: Timestamp) {
    self.name = name
    self.path = path
    self.step = step
    self.bytes = bytes
    self.writtenAt = writtenAt
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    name = try member("name", record?.name)
    path = try member("path", record?.path)
    step = try member("step", record?.step)
    bytes = try member("bytes", record?.bytes)
    writtenAt = try member("writtenAt", record?.writtenAt)
  }
}
