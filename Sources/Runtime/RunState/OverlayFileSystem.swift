package import Basics
import Glibc
import Synchronization

/// A file system over another that is only read: writes are kept in memory, and discarded with the process.
///
/// With it, code that repairs and completes a state while it reads can read one on a read-only disk.
package final class OverlayFileSystem: FileSystem {
  private let below: any FileSystem
  /// The files that replace those below; nil for removed ones.
  private let files = Mutex<[String: [UInt8]?]>([:])

  package init(_ below: any FileSystem = DiskFileSystem()) { self.below = below }

  private func put(_ bytes: [UInt8]?, _ path: String) { files.withLock { $0[path] = .some(bytes) } }
  private func own(_ path: String) -> [UInt8]?? { files.withLock { $0[path] } }

  /// The whole file, or nil if there is none.
  private func content(_ path: String) throws(FileError) -> [UInt8]? {
    if let bytes = own(path) { return bytes }
    guard let size = try below.size(path) else { return nil }
    return try below.read(path, from: 0, count: size)
  }

  package func makeFolder(_ path: String) throws(FileError) {}

  package func list(_ folder: String) throws(FileError) -> [String] {
    var names = Set(try below.list(folder))
    let own = files.withLock { $0 }
    for (path, bytes) in own where path.hasPrefix(folder + "/") {
      let name = String(path.dropFirst(folder.count + 1))
      if name.utf8.contains(ASCII.slash) { continue }
      if bytes == nil { names.remove(name) } else { names.insert(name) }
    }
    return Array(names)
  }

  package func size(_ path: String) throws(FileError) -> Int? {
    if let bytes = own(path) { return bytes?.count }
    return try below.size(path)
  }

  package func status(_ path: String) throws(FileError) -> FileStatus? {
    guard let bytes = own(path) else { return try below.status(path) }
    return bytes.map { FileStatus(size: $0.count, modified: .latest, mode: 0o600, isFolder: false) }
  }

  package func setMode(_ mode: UInt32, of path: String) throws(FileError) {}

  package func space(of folder: String) throws(FileError) -> DiskSpace? { try below.space(of: folder) }

  package func read(_ path: String, from offset: Int, count: Int) throws(FileError) -> [UInt8] {
    guard let own = own(path) else { return try below.read(path, from: offset, count: count) }
    guard let bytes = own else { throw FileError(.read, path, .system(ENOENT)) }
    return Array(bytes.dropFirst(offset).prefix(count))
  }

  package func openForAppending(_ path: String) throws(FileError) -> any AppendableFile {
    put(try content(path) ?? [], path)
    return File(self, path)
  }

  package func truncate(_ path: String, to size: Int) throws(FileError) {
    put(Array((try content(path) ?? []).prefix(size)), path)
  }

  package func rename(_ path: String, to newPath: String) throws(FileError) {
    put(try content(path), newPath)
    put(nil, path)
  }

  package func exchange(_ path: String, with other: String) throws(FileError) {
    let (left, right) = (try content(path), try content(other))
    put(right, path)
    put(left, other)
  }

  package func remove(_ path: String) throws(FileError) { put(nil, path) }

  package func syncFolder(_ path: String) throws(FileError) {}

  private final class File: AppendableFile {
    private let disk: OverlayFileSystem
    private let path: String

    init(_ disk: OverlayFileSystem, _ path: String) {
      self.disk = disk
      self.path = path
    }

    func append(_ bytes: [UInt8]) throws(FileError) {
      disk.files.withLock { files in
        var content = (files[path] ?? nil) ?? []
        files[path] = .some(nil)
        content += bytes
        files[path] = .some(content)
      }
    }

    func sync() throws(FileError) {}
  }
}
