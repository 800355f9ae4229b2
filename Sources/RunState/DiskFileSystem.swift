import Basics
import Glibc

/// The file system of the machine.
package struct DiskFileSystem: FileSystem {
  package init() {}

  package func makeFolder(_ path: String) throws(FileError) {
    if mkdir(path, 0o700) == 0 {
      try syncFolder(DiskFileSystem.parent(of: path))
      return
    }
    switch errno {
    case EEXIST:
      return
    case ENOENT where path.utf8.contains(UInt8(ascii: "/")):
      let parent = DiskFileSystem.parent(of: path)
      // Ends at the root, which is always there.
      guard parent != path else { throw FileError(path, .create) }
      try makeFolder(parent)
      guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw FileError(path, .create) }
      try syncFolder(parent)
    default:
      throw FileError(path, .create)
    }
  }

  private static func parent(of path: String) -> String {
    guard let slash = path.utf8.dropLast().lastIndex(of: UInt8(ascii: "/")) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }

  package func list(_ folder: String) throws(FileError) -> [String] {
    guard let stream = opendir(folder) else {
      if errno == ENOENT { return [] }
      throw FileError(folder, .read)
    }
    defer { closedir(stream) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        if errno != 0 { throw FileError(folder, .read) }
        return names
      }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name != ".", name != ".." { names.append(name) }
    }
  }

  package func size(_ path: String) throws(FileError) -> Int? {
    var status = stat()
    guard stat(path, &status) == 0 else {
      if errno == ENOENT { return nil }
      throw FileError(path, .read)
    }
    return status.st_size
  }

  package func read(_ path: String, from offset: Int, count: Int) throws(FileError) -> [UInt8] {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(path, .read) }
    defer { close(descriptor) }
    var failed = false
    let bytes = [UInt8](unsafeUninitializedCapacity: max(count, 0)) { buffer, filled in
      while filled < buffer.count {
        let count = pread(descriptor, buffer.baseAddress?.advanced(by: filled), buffer.count - filled, offset + filled)
        if count == 0 { return }
        if count > 0 {
          filled += count
        } else if errno != EINTR {
          failed = true
          return
        }
      }
    }
    if failed { throw FileError(path, .read) }
    return bytes
  }

  package func openForAppending(_ path: String) throws(FileError) -> any AppendableFile {
    let descriptor = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw FileError(path, .create) }
    return DiskFile(path, descriptor)
  }

  package func truncate(_ path: String, to size: Int) throws(FileError) {
    let descriptor = open(path, O_WRONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(path, .write) }
    defer { close(descriptor) }
    guard ftruncate(descriptor, size) == 0, fsync(descriptor) == 0 else { throw FileError(path, .write) }
  }

  package func rename(_ path: String, to newPath: String) throws(FileError) {
    guard Glibc.rename(path, newPath) == 0 else { throw FileError(newPath, .rename) }
  }

  package func remove(_ path: String) throws(FileError) {
    guard unlink(path) == 0 || errno == ENOENT else { throw FileError(path, .remove) }
  }

  package func syncFolder(_ path: String) throws(FileError) {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(path, .read) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw FileError(path, .sync) }
  }
}

/// A descriptor that is closed with its last reference.
private final class DiskFile: AppendableFile {
  private let path: String
  private let descriptor: Int32

  init(_ path: String, _ descriptor: Int32) {
    self.path = path
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  func append(_ bytes: [UInt8]) throws(FileError) {
    var written = 0
    while written < bytes.count {
      let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress?.advanced(by: written), $0.count - written) }
      if count >= 0 {
        written += count
      } else if errno != EINTR {
        throw FileError(path, .write)
      }
    }
  }

  func sync() throws(FileError) {
    // The metadata that fdatasync leaves out is not needed to read the data back.
    guard fdatasync(descriptor) == 0 else { throw FileError(path, .sync) }
  }
}
