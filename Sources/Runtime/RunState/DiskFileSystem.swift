package import Basics
import Glibc

/// The file system of the machine.
package struct DiskFileSystem: FileSystem {
  package init() {}

  package func makeFolder(_ path: String) throws(FileError) {
    if try Files.kind(of: path) != nil { return }
    // One after another, because each new name must be synced in the folder above it.
    if let slash = path.utf8.lastIndex(of: ASCII.slash), slash != path.startIndex {
      try makeFolder(String(path[..<slash]))
    }
    try Files.makeFolder(path, mode: 0o700)
    try Files.syncFolder(of: path)
  }

  package func list(_ folder: String) throws(FileError) -> [String] {
    do { return try Files.list(folder) } catch  where error.isNotFound { return [] }
  }

  package func size(_ path: String) throws(FileError) -> Int? {
    var status = stat()
    guard stat(path, &status) == 0 else {
      if errno == ENOENT { return nil }
      throw FileError(.inspect, path, .system(errno))
    }
    return status.st_size
  }

  package func status(_ path: String) throws(FileError) -> FileStatus? {
    var status = stat()
    guard lstat(path, &status) == 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw FileError(.inspect, path, .system(errno))
    }
    let modified = Timestamp(seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
    return FileStatus(
      size: status.st_size, modified: modified ?? .earliest, mode: status.st_mode & 0o7777,
      isFolder: status.st_mode & S_IFMT == S_IFDIR)
  }

  package func setMode(_ mode: UInt32, of path: String) throws(FileError) {
    guard chmod(path, mode) == 0 else { throw FileError(.write, path, .system(errno)) }
  }

  package func space(of folder: String) throws(FileError) -> DiskSpace? {
    var status = statvfs()
    guard statvfs(folder, &status) == 0 else { throw FileError(.inspect, folder, .system(errno)) }
    let size = Int(clamping: status.f_frsize)
    return DiskSpace(
      free: Int(clamping: status.f_bavail).multipliedReportingOverflow(by: size).partialValue,
      total: Int(clamping: status.f_blocks).multipliedReportingOverflow(by: size).partialValue)
  }

  package func read(_ path: String, from offset: Int, count: Int) throws(FileError) -> [UInt8] {
    let file = try Descriptor.file(.read, path, O_RDONLY)
    var failed = false
    let bytes = [UInt8](unsafeUninitializedCapacity: max(count, 0)) { buffer, filled in
      while filled < buffer.count {
        let count = pread(file.number, buffer.baseAddress?.advanced(by: filled), buffer.count - filled, offset + filled)
        if count == 0 { return }
        if count > 0 {
          filled += count
        } else if errno != EINTR {
          failed = true
          return
        }
      }
    }
    if failed { throw FileError(.read, path, .system(errno)) }
    return bytes
  }

  package func openForAppending(_ path: String) throws(FileError) -> any AppendableFile {
    try DiskFile(path, Descriptor.file(.write, path, O_WRONLY | O_APPEND | O_CREAT, mode: 0o600))
  }

  package func truncate(_ path: String, to size: Int) throws(FileError) {
    let file = try Descriptor.file(.write, path, O_WRONLY)
    guard ftruncate(file.number, size) == 0, fsync(file.number) == 0 else {
      throw FileError(.write, path, .system(errno))
    }
  }

  package func rename(_ path: String, to newPath: String) throws(FileError) {
    guard Glibc.rename(path, newPath) == 0 else { throw FileError(.write, newPath, .system(errno)) }
  }

  package func exchange(_ path: String, with other: String) throws(FileError) {
    // Looked up by name, because the headers declare it only with `_GNU_SOURCE`.
    typealias Exchange = @convention(c) (Int32, UnsafePointer<CChar>, Int32, UnsafePointer<CChar>, UInt32) -> Int32
    guard let symbol = dlsym(nil, "renameat2") else { throw FileError(.write, other, .system(ENOSYS)) }
    let call = unsafeBitCast(symbol, to: Exchange.self)
    let exchanging: UInt32 = 2
    guard call(AT_FDCWD, path, AT_FDCWD, other, exchanging) == 0 else {
      throw FileError(.write, other, .system(errno))
    }
  }

  package func remove(_ path: String) throws(FileError) { try Files.remove(path) }

  package func syncFolder(_ path: String) throws(FileError) {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw FileError(.read, path, .system(errno)) }
    defer { close(descriptor) }
    guard fsync(descriptor) == 0 else { throw FileError(.write, path, .system(errno)) }
  }
}

/// A descriptor that is closed with its last reference.
private final class DiskFile: AppendableFile {
  private let path: String
  private let file: Descriptor

  init(_ path: String, _ file: consuming Descriptor) {
    self.path = path
    self.file = file
  }

  func append(_ bytes: [UInt8]) throws(FileError) { try file.write(bytes, path) }

  func sync() throws(FileError) {
    // The metadata that fdatasync leaves out is not needed to read the data back.
    guard fdatasync(file.number) == 0 else { throw FileError(.write, path, .system(errno)) }
  }
}
