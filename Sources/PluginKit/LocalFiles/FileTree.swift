import ActionKit
import Glibc
import Synchronization

/// A file, a link or a folder with its content, by its name in an open folder.
///
/// Names are bytes, as in the file system, even if they aren't valid UTF-8.
struct FileTree: ~Copyable {
  private let folder: Int32
  private let name: [CChar]

  init(_ folder: borrowing Descriptor, _ name: String) { self.init(folder, Array(name.utf8CString)) }

  /// - Parameter name: The bytes of the name, with a NUL.
  init(_ folder: borrowing Descriptor, _ name: [CChar]) { self.init(folder.number, name) }

  private init(_ folder: Int32, _ name: [CChar]) {
    self.folder = folder
    self.name = name
  }

  /// The names in an open folder, each with its NUL; nil with `errno` if they can't be read.
  static func entries(in folder: Int32) -> [[CChar]]? {
    // The stream closes its descriptor, so it gets a copy.
    let copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard copy >= 0 else { return nil }
    guard let stream = fdopendir(copy) else {
      let code = errno
      close(copy)
      errno = code
      return nil
    }
    defer { closedir(stream) }
    var names: [[CChar]] = []
    while true {
      errno = 0
      guard let entry = readdir(stream) else { return errno == 0 ? names : nil }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        bytes.prefix { $0 != 0 }.map { CChar(bitPattern: $0) } + [0]
      }
      if name != [0x2E, 0], name != [0x2E, 0x2E, 0] { names.append(name) }
    }
  }

  /// Removes it; parts that can't be removed stay.
  func remove(depth: Int = 128) {
    if unlinkat(folder, name, 0) == 0 || errno != EISDIR { return }
    if depth > 0, let inner = opened(O_RDONLY | O_DIRECTORY) {
      for entry in Self.entries(in: inner.number) ?? [] { FileTree(inner.number, entry).remove(depth: depth - 1) }
    }
    unlinkat(folder, name, AT_REMOVEDIR)
  }

  /// Copies it to another folder, with times and permissions, and syncs the copy to disk.
  ///
  /// - Parameter path: The path that errors name.
  func copy(to target: borrowing Descriptor, as other: String, _ path: String) throws(FileError) {
    try copy(to: target.number, as: Array(other.utf8CString), path, isFirst: true, depth: 128)
  }

  /// Copies it to a temporary folder, with times and permissions.
  func copy(to target: borrowing Descriptor, as other: [CChar], _ path: String) throws(FileError) {
    try copy(to: target.number, as: other, path, isFirst: false, isKept: false, depth: 128)
  }

  private func copy(
    to target: Int32, as other: [CChar], _ path: String, isFirst: Bool, isKept: Bool = true, depth: Int
  ) throws(FileError) {
    var status = stat()
    guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { throw fault(path) }
    switch status.st_mode & S_IFMT {
    case S_IFLNK:
      var text = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
      guard readlinkat(folder, name, &text, text.count - 1) >= 0, symlinkat(text, target, other) == 0 else {
        throw fault(path)
      }
    case S_IFREG:
      guard let file = opened(O_RDONLY) else { throw fault(path) }
      let number = openat(target, other, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
      guard number >= 0 else { throw fault(path) }
      let copy = Descriptor(owning: number)
      if isFirst { flock(number, LOCK_EX | LOCK_NB) }
      var chunk = [UInt8](repeating: 0, count: 1 << 20)
      while true {
        let count = try file.retrying(.move, path) { Glibc.read(file.number, &chunk, chunk.count) }
        if count == 0 { break }
        try copy.write(Array(chunk[..<count]), path)
      }
      try finish(copy, status, path, isKept: isKept)
    case S_IFDIR:
      guard depth > 0 else { throw FileError(.move, path, .system(ELOOP)) }
      guard let inner = opened(O_RDONLY | O_DIRECTORY) else { throw fault(path) }
      guard mkdirat(target, other, 0o700) == 0 else { throw fault(path) }
      let number = openat(target, other, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      guard number >= 0 else { throw fault(path) }
      let copy = Descriptor(owning: number)
      if isFirst { flock(number, LOCK_EX | LOCK_NB) }
      guard let entries = Self.entries(in: inner.number) else { throw fault(path) }
      for entry in entries {
        try FileTree(inner.number, entry).copy(
          to: copy.number, as: entry, path, isFirst: false, isKept: isKept, depth: depth - 1)
      }
      try finish(copy, status, path, isKept: isKept)
    default: throw FileError(.move, path, .system(EXDEV))
    }
  }

  private func finish(_ copy: borrowing Descriptor, _ status: stat, _ path: String, isKept: Bool) throws(FileError) {
    let times = [status.st_atim, status.st_mtim]
    guard fchmod(copy.number, status.st_mode & 0o777) == 0, futimens(copy.number, times) == 0,
      !isKept || fsync(copy.number) == 0
    else { throw fault(path) }
  }

  private func opened(_ flags: Int32) -> Descriptor? {
    let number = openat(folder, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    return number >= 0 ? Descriptor(owning: number) : nil
  }

  private func fault(_ path: String) -> FileError { FileError(.move, path, .system(errno)) }
}

/// A new file with a unique temporary name, until it is renamed.
///
/// Its writer holds a lock on it; a file with such a name and no lock was left by a writer that was killed.
struct TemporaryFile: ~Copyable {
  let name: String
  let file: Descriptor

  /// Creates the file; nil with `errno` if that fails.
  init?(in folder: borrowing Descriptor, mode: mode_t) {
    while true {
      let name = Self.newName
      let number = openat(folder.number, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode)
      if number < 0 {
        if errno == EEXIST || errno == EINTR { continue }
        return nil
      }
      let file = Descriptor(owning: number)
      // A clean-up may have removed the file before it was locked.
      if flock(number, LOCK_EX | LOCK_NB) == 0, Self.holds(folder, number, name) {
        self.name = name
        self.file = file
        return
      }
      // On a file system without locks there is no clean-up.
      if errno == ENOLCK || errno == EOPNOTSUPP {
        self.name = name
        self.file = file
        return
      }
    }
  }

  static var newName: String {
    ".errand-\(getpid())-\(serial.wrappingAdd(1, ordering: .relaxed).newValue).new"
  }

  private static let serial = Atomic<Int>(0)

  static func isOne(_ name: String) -> Bool { name.hasPrefix(".errand-") && name.hasSuffix(".new") }

  /// Removes the temporary files of killed writers from a folder.
  static func removeLeft(in folder: borrowing Descriptor) {
    for entry in FileTree.entries(in: folder.number) ?? [] {
      let name = String(decoding: entry.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      guard isOne(name) else { continue }
      let number = openat(folder.number, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
      guard number >= 0 else { continue }
      let file = Descriptor(owning: number)
      if flock(file.number, LOCK_EX | LOCK_NB) == 0, holds(folder, file.number, name) {
        FileTree(folder, name).remove()
      }
    }
  }

  private static func holds(_ folder: borrowing Descriptor, _ number: Int32, _ name: String) -> Bool {
    var (opened, named) = (stat(), stat())
    return fstat(number, &opened) == 0 && fstatat(folder.number, name, &named, AT_SYMLINK_NOFOLLOW) == 0
      && opened.st_ino == named.st_ino && opened.st_dev == named.st_dev
  }
}
