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

  /// Opens a regular file; anything else is refused, and never waited for.
  ///
  /// A pipe of this process's own, such as a shell's `<(…)`, counts as a file.
  package static func file(
    _ operation: FileError.Operation, _ path: String, _ flags: Int32, mode: mode_t = 0
  ) throws(FileError) -> Descriptor {
    let opened: Descriptor
    do throws(FileError) {
      opened = try Descriptor(operation, path, flags | O_NONBLOCK, mode: mode)
    } catch {
      // The system's word for a socket, and for a pipe without a reader.
      var status = stat()
      if error.code == ENXIO, stat(path, &status) == 0, let what = FileError.Special(status.st_mode) {
        throw FileError(operation, path, .notRegular(what))
      }
      throw error
    }
    var status = stat()
    guard fstat(opened.number, &status) == 0 else { throw FileError(operation, path) }
    if status.st_mode & S_IFMT == S_IFDIR { throw FileError(operation, path, .system(EISDIR)) }
    if let what = FileError.Special(status.st_mode) {
      let isOwn = what == .pipe && ["/dev/stdin", "/dev/fd/", "/proc/self/fd/"].contains { path.hasPrefix($0) }
      guard isOwn, fcntl(opened.number, F_SETFL, 0) == 0 else { throw FileError(operation, path, .notRegular(what)) }
    }
    return opened
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

  /// Reads the open file or pipe to its end; `path` is for messages.
  package borrowing func readAll(
    _ path: String, limit: Int, for follower: (any TransferFollower)? = nil
  ) throws(FileError) -> [UInt8] {
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
      follower?.transferred(.reading, bytes.count, of: max(bytes.count, Int(status.st_size)))
    }
  }
}
