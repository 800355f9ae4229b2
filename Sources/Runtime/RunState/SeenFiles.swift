/// The records of the files that schedules watch.
///
/// A version of a file is its path, its size and when it was changed. A version that was seen starts nothing (again):
/// it is recorded in the write that decides its slot, or with the first look, which ignores existing files. It is
/// forgotten once the file is gone, and with the schedule.
package import Basics

/// A version of a file, beside its path.
package struct FileVersion: Record, Equatable {
  package var bytes: Int
  package var modifiedAt: Timestamp

  package init(bytes: Int, modifiedAt: Timestamp) {
    self.bytes = bytes
    self.modifiedAt = modifiedAt
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    bytes = try member("bytes", record?.bytes)
    modifiedAt = try member("modifiedAt", record?.modifiedAt)
  }
}

/// The versions that a schedule has seen, by their paths.
package struct SeenFiles: Record, Equatable {
  /// The pattern of the latest look; another one begins with a first look.
  package var pattern: String
  package var versions: [String: FileVersion] = [:]

  package init(pattern: String) { self.pattern = pattern }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    pattern = try member("pattern", record?.pattern)
    versions = try member("versions", record?.versions, default: [:])
  }

  package mutating func apply(_ event: FilesSeen) {
    pattern = event.pattern
    for (path, version) in event.files { versions[path] = version }
    for path in event.gone { versions[path] = nil }
  }
}

/// A schedule saw versions of files, which start nothing again, or found that files are gone.
package struct FilesSeen: Record, Equatable {
  package var at: Timestamp
  package var schedule: String
  package var pattern: String
  package var files: [String: FileVersion]
  package var gone: [String]

  package init(
    at: Timestamp, schedule: String, pattern: String, files: [String: FileVersion] = [:], gone: [String] = []
  ) {
    self.at = at
    self.schedule = schedule
    self.pattern = pattern
    self.files = files
    self.gone = gone
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    at = try member("at", record?.at)
    schedule = try member("schedule", record?.schedule)
    pattern = try member("pattern", record?.pattern)
    files = try member("files", record?.files, default: [:])
    gone = try member("gone", record?.gone, default: [])
  }
}
