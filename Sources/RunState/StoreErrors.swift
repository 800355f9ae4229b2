import Glibc
import Basics

extension StateError {
  /// A refusal of the file system before anything was promised.
  init(_ error: FileError) { self.init(.unavailable, error.description) }
}

/// Makes file errors state errors.
func onDisk<Result>(_ body: () throws(FileError) -> Result) throws(StateError) -> Result {
  do { return try body() } catch { throw StateError(error) }
}

/// Until Basics has it.
package struct FileError: Error, CustomStringConvertible {
  package enum Operation: String, Sendable { case read, write, create, rename, remove, sync }
  package var path: String
  package var operation: Operation
  package var code: Int32
  package init(_ path: String, _ operation: Operation) {
    self.path = path
    self.operation = operation
    self.code = errno
  }
  package var description: String { "cannot \(operation.rawValue) '\(path)': \(String(cString: strerror(code)))" }
}
