package import Glibc

/// An open file, closed at the end of its scope.
package struct Descriptor: ~Copyable {
  package let number: Int32

  /// Takes over what is open.
  package init(owning number: Int32) { self.number = number }

  /// Opens a path.
  package init(_ operation: FileError.Operation, _ path: String, _ flags: Int32, mode: mode_t = 0) throws(FileError) {
    // A path that holds a NUL would be cut there.
    guard !path.utf8.contains(0) else { throw FileError(operation, path, .system(EINVAL)) }
    while true {
      let number = open(path, flags | O_CLOEXEC, mode)
      if number >= 0 {
        self.number = number
        return
      }
      if errno != EINTR { throw FileError(operation, path) }
    }
  }

  deinit { close(number) }

  /// Makes a call again until no signal interrupts it.
  package borrowing func retrying(
    _ operation: FileError.Operation, _ path: String, _ call: () -> Int
  ) throws(FileError) -> Int {
    while true {
      let result = call()
      if result >= 0 { return result }
      if errno != EINTR { throw FileError(operation, path) }
    }
  }

  /// Writes all bytes, however many the system takes at a time.
  package borrowing func write(_ bytes: [UInt8], _ path: String) throws(FileError) {
    var written = 0
    while written < bytes.count {
      written += try retrying(.write, path) {
        bytes.withUnsafeBytes { Glibc.write(number, $0.baseAddress.map { $0 + written }, bytes.count - written) }
      }
    }
  }

  /// Reads to the end of what was given the path when it was opened.
  package borrowing func readAll(_ path: String, limit: Int) throws(FileError) -> [UInt8] {
    var status = stat()
    guard fstat(number, &status) == 0 else { throw FileError(.read, path) }
    guard status.st_size <= limit else { throw FileError(.read, path, .tooLarge(limit: limit)) }
    // A pipe or a file of /proc says it has no bytes, and a file may grow while it is read.
    var bytes: [UInt8] = []
    bytes.reserveCapacity(min(max(status.st_size, 0) + 1, limit))
    var chunk = [UInt8](repeating: 0, count: min(max(status.st_size + 1, 4096), 1 << 20))
    while true {
      let count = try retrying(.read, path) {
        chunk.withUnsafeMutableBytes { Glibc.read(number, $0.baseAddress, $0.count) }
      }
      if count == 0 { return bytes }
      guard count <= limit - bytes.count else { throw FileError(.read, path, .tooLarge(limit: limit)) }
      bytes += chunk[..<count]
    }
  }
}
