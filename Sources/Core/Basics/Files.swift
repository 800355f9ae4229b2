// Reading and writing whole files.
//
// A file is replaced in one step that power loss cannot halve: the bytes go to a new file in the same folder, which is
// synced and renamed over the old one; then the folder is synced, so that the name survives, too. A reader sees the old
// bytes or the new ones, never a mixture. A failure before the rename leaves only the old file.
//
// All calls block. Slow ones (syncs, large files, network folders) must not run on Swift's cooperative threads: callers
// make them on a thread of their own.

public import Glibc
import Synchronization

/// Whole files and folders, by path.
public enum Files {
  /// Reads a whole regular file; `-` has no special meaning.
  ///
  /// - Parameter limit: The most bytes the file may have; a larger one is refused before it fills the memory.
  public static func read(_ path: String, limit: Int = 256 << 20) throws(FileError) -> [UInt8] {
    try Descriptor.file(.read, path, O_RDONLY).readAll(path, limit: limit)
  }

  /// Creates or replaces a file in one step; when this returns, the bytes survive power loss.
  ///
  /// A symbolic link at the path is replaced, not followed.
  /// - Parameters:
  ///   - mode: The permissions of the new file, regardless of the process's mask.
  ///   - isDurable: False for a file that power loss may delete or damage, because its reader detects that.
  public static func write(
    _ bytes: [UInt8], to path: String, mode: mode_t = 0o644, isDurable: Bool = true
  ) throws(FileError) {
    _ = try write(bytes, to: path, mode: mode, owner: nil, isDurable: isDurable)
  }

  private static func write(
    _ bytes: [UInt8], to path: String, mode: mode_t, owner: (user: uid_t, group: gid_t)?, isDurable: Bool = true,
    if isWanted: () throws(FileError) -> Bool = { () throws(FileError) in true }
  ) throws(FileError) -> Bool {
    let temporary = try Temporary(beside: path)
    if isDurable { Temporary.removeLeft(beside: path) }
    do throws(FileError) {
      try temporary.file.write(bytes, path)
      // The owner first, because a change of it takes bits from the mode.
      if let owner, fchown(temporary.file.number, owner.user, owner.group) != 0 { throw FileError(.write, path) }
      guard fchmod(temporary.file.number, mode) == 0, !isDurable || fsync(temporary.file.number) == 0 else {
        throw FileError(.write, path)
      }
      // The slow part is done, so hardly anything can happen between this check and the rename.
      guard try isWanted() else {
        unlink(temporary.name)
        return false
      }
      guard rename(temporary.name, path) == 0 else { throw FileError(.write, path) }
    } catch {
      unlink(temporary.name)
      throw error
    }
    if isDurable { try syncFolder(of: path) }
    return true
  }

  /// Replaces what a file holds in one step, if it is still what was read; when this returns, the bytes survive power
  /// loss.
  ///
  /// The file keeps its mode and owner. Through a symbolic link the file is replaced that it leads to.
  /// - Parameter isWritten: Called when the new bytes are on the disk and only the rename is left, so that tests can
  ///   change the file meanwhile.
  /// - Returns: Whether the file held the old bytes and now holds the new ones.
  package static func replace(
    _ old: [UInt8], with new: [UInt8], at path: String, isWritten: () -> Void = {}
  ) throws(FileError) -> Bool {
    guard let resolved = realpath(path, nil) else { throw FileError(.read, path) }
    defer { free(resolved) }
    let target = String(cString: resolved)
    func isUnchanged() throws(FileError) -> Bool { try read(target, limit: max(old.count + 1, 1 << 20)) == old }
    guard try isUnchanged() else { return false }
    var status = stat()
    guard stat(target, &status) == 0 else { throw FileError(.read, path) }
    return try write(new, to: target, mode: status.st_mode & 0o7777, owner: (status.st_uid, status.st_gid)) {
      () throws(FileError) in
      isWritten()
      return try isUnchanged()
    }
  }

  /// Removes what writers of a path left that were killed, of a path that only this machine writes.
  package static func removeLeft(beside path: String) { Temporary.removeLeft(beside: path, after: 0) }

  /// Makes the names in a file's folder survive power loss, as is needed after a file was created, renamed or removed.
  public static func syncFolder(of path: String) throws(FileError) {
    let folder = folder(of: path)
    let descriptor = try Descriptor(.write, folder, O_RDONLY | O_DIRECTORY)
    guard fsync(descriptor.number) == 0 else { throw FileError(.write, folder) }
  }

  /// Makes a folder and those above it that are missing; one that is there already is left as it is.
  public static func makeFolder(_ path: String, mode: mode_t = 0o755) throws(FileError) {
    var ends = path.utf8.indices.filter { path.utf8[$0] == ASCII.slash && $0 != path.startIndex }
    ends.append(path.endIndex)
    for end in ends {
      let part = String(path[..<end])
      if mkdir(part, mode) == 0 { continue }
      // Other than EEXIST, a folder that is there may answer EROFS or EACCES.
      let code = errno
      guard try kind(of: part) == .folder else {
        throw FileError(.makeFolder, path, .system(code == EEXIST ? ENOTDIR : code))
      }
    }
  }

  /// The names in a folder, sorted by their scalars, without `.` and `..`; names that aren't valid UTF-8 are left out.
  ///
  /// - Parameter showingOthers: Whether to include such names, with U+FFFD for the invalid bytes. A caller that reads
  ///   one then reports that there is no such file, rather than nothing.
  public static func list(_ path: String, showingOthers: Bool = false) throws(FileError) -> [String] {
    guard let folder = opendir(path) else { throw FileError(.list, path) }
    defer { closedir(folder) }
    var names: [String] = []
    while true {
      errno = 0
      guard let entry = readdir(folder) else {
        guard errno == 0 else { throw FileError(.list, path) }
        return names.sorted { $0.precedesByScalars($1) }
      }
      let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
        let bytes = bytes.prefix { $0 != 0 }
        return String(validating: bytes, as: UTF8.self)
          ?? (showingOthers ? String(decoding: bytes, as: UTF8.self) : nil)
      }
      if let name, name != ".", name != ".." { names.append(name) }
    }
  }

  /// Removes a file, a symbolic link or an empty folder; what is not there needs no removing.
  public static func remove(_ path: String) throws(FileError) {
    guard Glibc.remove(path) == 0 || errno == ENOENT else { throw FileError(.remove, path) }
  }

  /// Makes a folder with a unique name for files that last as long as the process; only its owner may look into it.
  ///
  /// It is made in the folder that `TMPDIR` names, if that is an absolute path, and else in `/tmp`.
  public static func makeTemporaryFolder(_ prefix: String) throws(FileError) -> String {
    let path = "\(temporaryFolder)/\(prefix)-XXXXXX"
    var name = Array(path.utf8CString)
    guard mkdtemp(&name) != nil else { throw FileError(.makeFolder, path) }
    return String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  /// The folder of temporary files: `$TMPDIR`, or `/tmp`.
  public static var temporaryFolder: String {
    let variable = getenv("TMPDIR").flatMap { String(validatingCString: $0) } ?? ""
    return variable.hasPrefix("/") ? variable : "/tmp"
  }

  /// Removes a folder with everything in it; what cannot be removed stays for the system to clear.
  public static func removeTree(_ path: String) {
    var found = [path]
    var next = 0
    while next < found.count {
      let folder = found[next]
      next += 1
      for name in (try? list(folder)) ?? [] {
        let inner = "\(folder)/\(name)"
        // A link is removed itself, never its target.
        if unlink(inner) != 0, errno == EISDIR { found.append(inner) }
      }
    }
    for folder in found.reversed() { rmdir(folder) }
  }

  /// The kind of file at a path.
  public enum Kind: Sendable {
    /// A regular file.
    case file
    /// A folder.
    case folder
    /// A device, socket or pipe.
    case other
  }

  /// The kind of file at a path, through symbolic links; nil if there is none.
  public static func kind(of path: String) throws(FileError) -> Kind? {
    var status = stat()
    guard stat(path, &status) == 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw FileError(.inspect, path)
    }
    switch status.st_mode & S_IFMT {
    case S_IFREG: return .file
    case S_IFDIR: return .folder
    default: return .other
    }
  }

  /// Whether something is at a path; what cannot be looked at counts as absent.
  public static func exists(_ path: String) -> Bool { access(path, F_OK) == 0 }

  /// The folder of a path, as `dirname` gives it.
  fileprivate static func folder(of path: String) -> String {
    guard let slash = path.utf8.lastIndex(of: ASCII.slash) else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
  }
}

/// A new file beside a path, with a unique name.
private struct Temporary: ~Copyable {
  let name: String
  let file: Descriptor

  init(beside path: String) throws(FileError) {
    while true {
      let number = Temporary.serial.wrappingAdd(1, ordering: .relaxed).newValue
      let name = "\(Temporary.beginning(beside: path))\(getpid())-\(number).new"
      do throws(FileError) {
        file = try Descriptor(.write, name, O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        self.name = name
        return
      } catch {
        // A process of the same number left one behind when the power went.
        if error.code != EEXIST { throw FileError(.write, path, error.reason) }
      }
    }
  }

  /// How the names of new files beside a path begin: with its own, as far as there is room for the rest.
  private static func beginning(beside path: String) -> String {
    let end = path.utf8.lastIndex(of: ASCII.slash).map { path.utf8.index(after: $0) } ?? path.startIndex
    var name = path[end...]
    while name.utf8.count > 200 { name.removeLast() }
    return "\(path[..<end])\(name)."
  }

  private static let serial = Atomic<Int>(0)

  /// Removes what writers of a path left that were killed: it is named as theirs, its process is gone, and it is old
  /// enough not to be of one that is alive on another machine.
  static func removeLeft(beside path: String, after seconds: Int = 3600) {
    let folder = Files.folder(of: path)
    let base = beginning(beside: path).split(separator: "/").last.map { String($0) } ?? ""
    guard let names = try? Files.list(folder) else { return }
    for name in names where name.hasPrefix(base) && name.hasSuffix(".new") {
      let parts = name.dropFirst(base.count).dropLast(4).split(separator: "-")
      guard parts.count == 2, let process = pid_t(parts[0]), process > 0, Int(parts[1]) != nil else { continue }
      var status = stat()
      let left = "\(folder)/\(name)"
      guard lstat(left, &status) == 0, time(nil) - status.st_mtim.tv_sec >= seconds, kill(process, 0) != 0,
        errno == ESRCH
      else { continue }
      unlink(left)
    }
  }
}
