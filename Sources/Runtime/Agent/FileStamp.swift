import Glibc

/// Distinguishes contents of a file without reading it: by where it is stored, how long it is, and when it was written.
package struct FileStamp: Sendable, Equatable {
  private let device: UInt
  private let inode: UInt
  private let size: Int
  private let seconds: Int
  private let nanoseconds: Int

  /// The stamp of the file at a path; nil if there is none or it can't be inspected.
  package init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    device = UInt(status.st_dev)
    inode = UInt(status.st_ino)
    size = Int(status.st_size)
    seconds = status.st_mtim.tv_sec
    nanoseconds = status.st_mtim.tv_nsec
  }

  /// The stamp of a file that isn't on a disk: the version of its content.
  package init(version: Int) {
    (device, inode, size, seconds, nanoseconds) = (0, 0, 0, version, 0)
  }
}
