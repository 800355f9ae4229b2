/// The seam between the state and the disk: the real one, or one that fails and forgets on a test's orders.
///
/// Every call blocks; the store makes them on threads of its own. A write is in the page cache when it returns, and on
/// the disk once its file was synced; a created, renamed or removed name once its folder was.
package import Basics

/// The operations that the store needs from a file system.
package protocol FileSystem: Sendable {
  /// Creates a folder and those above it, readable only by the owner, if they are missing.
  func makeFolder(_ path: String) throws(FileError)
  /// The names in a folder, in no order; none if there is no such folder.
  func list(_ folder: String) throws(FileError) -> [String]
  /// The size of a file, or nil if there is none.
  func size(_ path: String) throws(FileError) -> Int?
  /// The status of a file or a folder, or nil if there is none.
  func status(_ path: String) throws(FileError) -> FileStatus?
  /// Sets the permissions of a file or a folder.
  func setMode(_ mode: UInt32, of path: String) throws(FileError)
  /// The space of the disk that holds a folder; nil if it is unknown.
  func space(of folder: String) throws(FileError) -> DiskSpace?
  /// Bytes from an offset, fewer if the file ends before.
  func read(_ path: String, from offset: Int, count: Int) throws(FileError) -> [UInt8]
  /// Opens a file for appending only, readable only by the owner, and creates it if it is missing.
  func openForAppending(_ path: String) throws(FileError) -> any AppendableFile
  /// Cuts or extends a file to a size.
  func truncate(_ path: String, to size: Int) throws(FileError)
  func rename(_ path: String, to newPath: String) throws(FileError)
  /// Exchanges the names of two files or folders atomically.
  func exchange(_ path: String, with other: String) throws(FileError)
  /// Removes a file or an empty folder; a missing one isn't an error.
  func remove(_ path: String) throws(FileError)
  func syncFolder(_ path: String) throws(FileError)
}

/// The status of a file or a folder.
package struct FileStatus: Sendable, Equatable {
  package var size: Int
  package var modified: Timestamp
  /// The permissions alone.
  package var mode: UInt32
  package var isFolder: Bool

  package init(size: Int, modified: Timestamp, mode: UInt32, isFolder: Bool) {
    self.size = size
    self.modified = modified
    self.mode = mode
    self.isFolder = isFolder
  }
}

/// The bytes of a disk that are free for this user, and all.
package struct DiskSpace: Sendable, Equatable {
  package var free: Int
  package var total: Int

  package init(free: Int, total: Int) {
    self.free = free
    self.total = total
  }
}

/// A file at whose end bytes are added; closed when the last reference is gone.
package protocol AppendableFile: AnyObject {
  func append(_ bytes: [UInt8]) throws(FileError)
  /// Returns once everything appended is on the disk.
  func sync() throws(FileError)
}

extension FileSystem {
  /// The whole file, or nil if there is none.
  func read(_ path: String) throws(FileError) -> [UInt8]? {
    guard let size = try size(path) else { return nil }
    return try read(path, from: 0, count: size)
  }

  /// Bytes from an offset; none if the file is missing.
  func part(of path: String, from offset: Int, count: Int) throws(FileError) -> [UInt8] {
    count > 0 ? try read(path, from: offset, count: count) : []
  }

  /// Replaces a file so that after a crash either the old or the new one is there, whole.
  func replace(_ path: String, in folder: String, with bytes: [UInt8]) throws(FileError) {
    try replace(path, in: folder) { file throws(FileError) in try file.append(bytes) }
  }

  /// Replaces a file likewise by the bytes that a function appends.
  func replace(
    _ path: String, in folder: String, with write: (any AppendableFile) throws(FileError) -> Void
  ) throws(FileError) {
    let temporary = path + ".new"
    try self.write(to: temporary, write)
    try rename(temporary, to: path)
    try syncFolder(folder)
  }

  /// Removes a folder with everything in it.
  func removeAll(_ folder: String, depth: Int = 8) throws(FileError) {
    for name in try list(folder) {
      let path = "\(folder)/\(name)"
      if depth > 0, try status(path)?.isFolder == true {
        try removeAll(path, depth: depth - 1)
      } else {
        try remove(path)
      }
    }
    try remove(folder)
  }

  /// Writes a new file and syncs it, but not its name.
  func write(_ bytes: [UInt8], to path: String) throws(FileError) {
    try write(to: path) { file throws(FileError) in try file.append(bytes) }
  }

  private func write(to path: String, _ write: (any AppendableFile) throws(FileError) -> Void) throws(FileError) {
    let file = try create(path)
    try write(file)
    try file.sync()
  }

  /// Creates a file in place of another.
  func create(_ path: String) throws(FileError) -> any AppendableFile {
    if try size(path) != nil { try remove(path) }
    return try openForAppending(path)
  }
}
