import Glibc

/// A name in an open folder, for code that makes, replaces and removes files there over a long time.
///
/// It keeps to the folder that was opened: a folder or symbolic link that later replaces it at its path is not touched,
/// and no call follows a link at the last component.
package final class FilePlace: Sendable {
  /// The path as it was given, for messages.
  package let path: String
  /// The last component of the path.
  package let name: String
  private let folder: Descriptor

  /// The open folder, which is closed with the last reference to this.
  package var number: Int32 { folder.number }

  /// Opens the folder of a path as it is named, links included.
  package convenience init(_ path: String) throws(FileError) {
    let slash = path.utf8.lastIndex(of: ASCII.slash)
    let above = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
    let name = slash.map { String(path[path.utf8.index(after: $0)...]) } ?? path
    self.init(try Descriptor(.write, above, O_RDONLY | O_DIRECTORY), name, path: path)
  }

  /// Takes over an open folder.
  package init(_ folder: consuming Descriptor, _ name: String, path: String) {
    self.folder = folder
    self.name = name
    self.path = path
  }

  /// Opens a file of the folder, which only its owner may read if it is made; below zero with `errno` if that fails.
  package func open(_ name: String, _ flags: Int32) -> Int32 {
    while true {
      let number = openat(folder.number, name, flags | O_NOFOLLOW | O_CLOEXEC, 0o600)
      if number >= 0 || errno != EINTR { return number }
    }
  }

  /// The bytes of a file of the folder, or nil if it cannot be read.
  package func read(_ name: String, limit: Int) -> [UInt8]? {
    let number = open(name, O_RDONLY | O_NONBLOCK)
    guard number >= 0 else { return nil }
    return try? Descriptor(owning: number).readAll(name, limit: limit)
  }

  /// Whether the name refers to the open file.
  package func holds(_ descriptor: Int32, _ name: String) -> Bool {
    var (opened, named) = (stat(), stat())
    return fstat(descriptor, &opened) == 0 && fstatat(folder.number, name, &named, AT_SYMLINK_NOFOLLOW) == 0
      && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
  }

  /// Gives another file of the folder the place's own name; false with `errno` if that fails.
  package func replace(by other: String) -> Bool { renameat(folder.number, other, folder.number, name) == 0 }

  /// Removes a file of the folder if it is there.
  package func remove(_ name: String) { unlinkat(folder.number, name, 0) }

  /// Makes the folder's names survive power loss; false with `errno` if that fails.
  package func sync() -> Bool { fsync(folder.number) == 0 }

  /// A path of the open file, for libraries that accept only paths.
  package static func path(ofOpen descriptor: Int32) -> String { "/proc/self/fd/\(descriptor)" }
}
