package import ActionKit
import Glibc
import Synchronization

// A copy of a folder, for a run that changes nothing outside: it reads the original files, and writes go to the copy.
//
// The copy is made on demand. A folder in it is first a stub: an empty folder with a note of the original's path. When
// a path leads into it, its files are copied, and its folders become stubs in turn. A command needs the whole content
// of its working folder, and so does moving or removing a folder. A large file gets its size and time at once, and its
// bytes when a step opens it. So a removed file stays removed, and large files that no step opens cost nothing.
// Errand's own files are never copied, except recipes, which actions can't access but commands may read. If the folder
// has no file of some name, a made-up file of that name replaces it.

/// The copy of a folder, and of other folders that connections name, which is made on demand.
package final class FolderCopy: FolderStandIn {
  /// The path of the folder's copy.
  package let folder: String
  private let original: String
  /// The folder of the copies of other folders, each at its full path.
  private let others: String
  private let madeUp: String
  private let own: OwnFiles
  private let content = Mutex(Content())
  /// The folder of the copies, which may be in the copied folder.
  private let base: Bounds.Identity?

  private struct Content {
    /// The folders that aren't copied yet, each with the path of its original.
    var stubs: [Bounds.Identity: String] = [:]
    /// The large files without their bytes, each with the path of its original.
    var hollow: [Bounds.Identity: String] = [:]
    /// The copied files with their original status.
    var copied: [Bounds.Identity: Copied] = [:]
    /// The names that were looked up among the made-up files.
    var looked: Set<String> = []
    var bytes = 0
  }

  /// A file and its status right after the copy.
  private struct Copied {
    var path: String
    var status: stat
  }

  /// Files of more bytes are copied when they are opened.
  private static let large = 4 << 20
  /// The maximum that is copied for commands.
  private static let most = (files: 100_000, bytes: 1 << 30)

  /// - Parameters:
  ///   - original: The full path of the folder.
  ///   - base: A temporary folder for the copies.
  ///   - own: Files that are never copied, except recipes.
  package init(of original: String, in base: String, besides own: OwnFiles) throws(FileError) {
    self.original = original
    folder = "\(base)/files"
    others = "\(base)/others"
    madeUp = "\(base)/made-up"
    var own = own
    own.recipes = []
    own.run = []
    self.own = own
    self.base = Bounds.Identity(base)
    try Files.makeFolder(folder, mode: 0o700)
    if let identity = Bounds.Identity(folder) { content.withLock { $0.stubs[identity] = original } }
  }

  /// The folder of made-up files that replace missing ones.
  package var folderOfMadeUpFiles: String { madeUp }

  package func place(of path: String) -> String {
    if path.rest(in: folder) != nil || path.rest(in: others) != nil { return path }
    return (path.rest(in: madeUp) ?? path.rest(in: original)).map { folder + $0 } ?? others + path
  }

  package func fill(_ root: String, _ names: [String], isWhole: Bool) throws(FileError) {
    let inFolder = root.rest(in: folder)
    guard let rest = inFolder ?? root.rest(in: others) else { return }
    let base = inFolder == nil ? others : folder
    let result: Result<Void, FileError> = content.withLock { content in
      Result { () throws(FileError) in
        if base == others { try standIn(for: String(rest), &content) }
        let below = rest.split(separator: "/").map(String.init) + names
        try fill(base, below, isWhole: isWhole, &content)
      }
    }
    try result.get()
  }

  /// Copies the files of each folder on a relative path, as far as possible.
  package func fill(_ path: String) {
    try? fill(folder, path.split(separator: "/").map(String.init), isWhole: false)
  }

  /// Creates the stub of another folder, if that exists.
  private func standIn(for path: String, _ content: inout Content) throws(FileError) {
    guard try Files.kind(of: others + path) == nil, try Files.kind(of: path) == .folder else { return }
    try Files.makeFolder(others + path, mode: 0o700)
    if let identity = Bounds.Identity(others + path) { content.stubs[identity] = path }
  }

  private func fill(
    _ base: String, _ names: [String], isWhole: Bool, _ content: inout Content
  ) throws(FileError) {
    guard var here = opened(AT_FDCWD, base, O_RDONLY | O_DIRECTORY) else { return }
    if base == folder, let first = names.first { try standInMadeUp(first, here, &content) }
    try fill(here, base, &content)
    for name in names {
      guard let next = opened(here.number, name, O_RDONLY | O_DIRECTORY) else {
        return try fillFile(Array(name.utf8CString), in: here, &content)
      }
      here = next
      try fill(here, base, &content)
    }
    if isWhole { try fillBelow(here, base, depth: 64, &content) }
  }

  private func fillBelow(
    _ here: borrowing Descriptor, _ base: String, depth: Int, _ content: inout Content
  ) throws(FileError) {
    if content.stubs.isEmpty && content.hollow.isEmpty || depth == 0 { return }
    for entry in FileTree.entries(in: here.number) ?? [] {
      guard let inner = opened(here.number, entry, O_RDONLY | O_DIRECTORY) else {
        try fillFile(entry, in: here, &content)
        continue
      }
      try fill(inner, base, &content)
      try fillBelow(inner, base, depth: depth - 1, &content)
    }
  }

  /// Copies the files of a stub's original, and creates stubs of its folders.
  private func fill(
    _ stub: borrowing Descriptor, _ base: String, _ content: inout Content
  ) throws(FileError) {
    guard let identity = Bounds.Identity(stub), let path = content.stubs.removeValue(forKey: identity),
      let source = opened(AT_FDCWD, path, O_RDONLY | O_DIRECTORY, follows: true)
    else { return }
    let bounds = Bounds(own, allowsRecipes: true, isReading: true)
    for entry in FileTree.entries(in: source.number) ?? [] {
      let name = String(decoding: entry.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      if bounds.kind(of: [name], from: source) != nil { continue }
      try copy(entry, name, from: source, path, to: stub, bounds, &content)
    }
    var status = stat()
    if fstat(source.number, &status) == 0 { _ = futimens(stub.number, [status.st_atim, status.st_mtim]) }
  }

  private func copy(
    _ entry: [CChar], _ name: String, from source: borrowing Descriptor, _ path: String,
    to target: borrowing Descriptor, _ bounds: Bounds?, _ content: inout Content
  ) throws(FileError) {
    var (status, there) = (stat(), stat())
    guard fstatat(source.number, entry, &status, AT_SYMLINK_NOFOLLOW) == 0,
      fstatat(target.number, entry, &there, AT_SYMLINK_NOFOLLOW) != 0,
      bounds?.kind(of: status, named: name, amongRecipes: false) == nil
    else { return }
    let inner = "\(path == "/" ? "" : path)/\(name)"
    switch status.st_mode & S_IFMT {
    case S_IFDIR:
      if Bounds.Identity(status) == base { return }
      guard mkdirat(target.number, entry, 0o700 | status.st_mode & 0o777) == 0,
        fstatat(target.number, entry, &there, AT_SYMLINK_NOFOLLOW) == 0
      else { throw FileError(.makeFolder, inner, .system(errno)) }
      content.stubs[Bounds.Identity(there)] = inner
      _ = utimensat(target.number, entry, [status.st_atim, status.st_mtim], AT_SYMLINK_NOFOLLOW)
    case S_IFREG where Int(status.st_size) > Self.large:
      let number = openat(target.number, entry, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
      guard number >= 0 else { throw FileError(.write, inner, .system(errno)) }
      let hollow = Descriptor(owning: number)
      guard ftruncate(number, status.st_size) == 0, fchmod(number, status.st_mode & 0o777) == 0,
        futimens(number, [status.st_atim, status.st_mtim]) == 0, fstat(hollow.number, &there) == 0
      else { throw FileError(.write, inner, .system(errno)) }
      content.hollow[Bounds.Identity(there)] = inner
      content.copied[Bounds.Identity(there)] = Copied(path: place(of: inner), status: there)
    case S_IFREG, S_IFLNK:
      content.bytes += min(max(0, Int(status.st_size)), 1 << 40)
      guard content.copied.count < Self.most.files, content.bytes <= Self.most.bytes else {
        throw FileError(.read, path, .tooLarge(limit: Self.most.bytes))
      }
      do throws(FileError) { try FileTree(source, entry).copy(to: target, as: entry, inner) } catch {
        // A file that may not be read becomes an empty one without permissions.
        guard error.code == EACCES || error.code == EPERM else { throw error }
        let empty = openat(target.number, entry, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0)
        if empty >= 0 { close(empty) }
      }
      if fstatat(target.number, entry, &there, AT_SYMLINK_NOFOLLOW) == 0 {
        content.copied[Bounds.Identity(there)] = Copied(path: place(of: inner), status: there)
      }
    default: break
    }
  }

  /// Copies the bytes of a large file.
  private func fillFile(
    _ name: [CChar], in folder: borrowing Descriptor, _ content: inout Content
  ) throws(FileError) {
    if content.hollow.isEmpty { return }
    var status = stat()
    guard fstatat(folder.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
      let path = content.hollow.removeValue(forKey: Bounds.Identity(status))
    else { return }
    // Makes the file writable, even if its own mode forbids it.
    let mode = status.st_mode & 0o777
    guard fchmodat(folder.number, name, mode | 0o200, 0) == 0,
      let source = opened(AT_FDCWD, path, O_RDONLY), let file = opened(folder.number, name, O_WRONLY)
    else { throw FileError(.read, path, .system(errno)) }
    var chunk = [UInt8](repeating: 0, count: 1 << 20)
    while true {
      let count = try source.retrying(.read, path) { Glibc.read(source.number, &chunk, chunk.count) }
      if count == 0 { break }
      try file.write(Array(chunk[..<count]), path)
    }
    _ = futimens(file.number, [status.st_atim, status.st_mtim])
    fchmod(file.number, mode)
    if fstat(file.number, &status) == 0 { content.copied[Bounds.Identity(status)]?.status = status }
  }

  /// Copies a made-up file or folder if the original folder has none of that name.
  private func standInMadeUp(
    _ name: String, _ copy: borrowing Descriptor, _ content: inout Content
  ) throws(FileError) {
    var status = stat()
    // Only once, so that a removed file stays removed.
    guard content.looked.insert(name).inserted, lstat("\(original)/\(name)", &status) != 0,
      let source = opened(AT_FDCWD, madeUp, O_RDONLY | O_DIRECTORY)
    else { return }
    try self.copy(Array(name.utf8CString), name, from: source, madeUp, to: copy, nil, &content)
  }

  private func opened(_ folder: Int32, _ name: String, _ flags: Int32, follows: Bool = false) -> Descriptor? {
    opened(folder, Array(name.utf8CString), flags, follows: follows)
  }

  private func opened(_ folder: Int32, _ name: [CChar], _ flags: Int32, follows: Bool = false) -> Descriptor? {
    let number = openat(folder, name, flags | (follows ? 0 : O_NOFOLLOW) | O_NONBLOCK | O_CLOEXEC)
    return number >= 0 ? Descriptor(owning: number) : nil
  }

  // MARK: At the end

  /// Removes the unchanged copies, and returns the paths and sizes of the files that were written.
  package func written() async -> [(path: String, bytes: Int)] {
    await onThread { [self] in
      content.withLock { content in
        var found: [(path: String, bytes: Int)] = []
        for base in [folder, others] { Self.keepWritten(in: base, "", content.copied, depth: 64, &found) }
        return found.sorted { $0.path.precedesByScalars($1.path) }
      }
    }
  }

  private static func keepWritten(
    in base: String, _ below: String, _ copied: [Bounds.Identity: Copied], depth: Int,
    _ found: inout [(path: String, bytes: Int)]
  ) {
    guard depth > 0 else { return }
    for name in (try? Files.list(base + below)) ?? [] {
      let path = "\(below)/\(name)"
      var status = stat()
      guard lstat(base + path, &status) == 0 else { continue }
      if status.st_mode & S_IFMT == S_IFDIR {
        keepWritten(in: base, path, copied, depth: depth - 1, &found)
        rmdir(base + path)
      } else if let before = copied[Bounds.Identity(status)], before.path == base + path,
        before.status.isSame(as: status)
      {
        unlink(base + path)
      } else {
        found.append((String(path.dropFirst()), max(0, Int(status.st_size))))
      }
    }
  }
}

extension stat {
  fileprivate func isSame(as other: stat) -> Bool {
    st_size == other.st_size && st_mtim.tv_sec == other.st_mtim.tv_sec && st_mtim.tv_nsec == other.st_mtim.tv_nsec
      && st_ctim.tv_sec == other.st_ctim.tv_sec && st_ctim.tv_nsec == other.st_ctim.tv_nsec
  }
}
