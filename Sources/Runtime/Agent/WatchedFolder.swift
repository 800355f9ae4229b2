import Basics
import Glibc
package import Recipes
import RunState
package import Scheduler

// The files that match a pattern, as they are on a disk. Nothing on the way is followed that is a link: a file or folder
// that is one doesn't count. The folders are opened one in the other, so that none is exchanged during a look.

/// Where the files are that entries watch; a test may give a folder of its own.
package struct WatchedFolder: Sendable {
  /// Looks for the files of patterns.
  package var list: @Sendable (Set<FilePattern>) async -> [FilePattern: FileListing]

  package init(list: @escaping @Sendable (Set<FilePattern>) async -> [FilePattern: FileListing]) { self.list = list }

  /// The files under a folder of this machine.
  package static func disk(_ root: String) -> WatchedFolder {
    WatchedFolder { patterns in
      await onThread { Dictionary(uniqueKeysWithValues: patterns.map { ($0, FileListing($0, in: root)) }) }
    }
  }
}

/// The result of a look at watched files.
package struct FileListing: Sendable {
  package var files: [FoundFile] = []
  /// The folders where a change may bring or remove files, by their paths from the root; the root is empty.
  package var folders: [String] = []
  /// The folders that could not be listed, so that known files in them don't count as removed.
  package var unlisted: [String] = []
  /// Why the first of them could not.
  package var fault: String?
  /// The names that fit the pattern and aren't valid UTF-8, so that no path names them; with U+FFFD for invalid bytes.
  package var unnamed: Set<String> = []
  /// Whether the content is unknown, and not merely empty.
  package var isBlind = false

  package init() {}

  /// Looks for the files of a pattern; it may block.
  package init(_ pattern: FilePattern, in root: String) {
    let folder = open(root, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    look(in: folder, at: "", for: pattern.parts[...])
  }

  /// Whether a file that was not found may still be there.
  func mayHold(_ path: String) -> Bool {
    unlisted.contains { $0.isEmpty || path.utf8.starts(with: "\($0)/".utf8) }
  }

  /// - Parameters:
  ///   - folder: Its descriptor, which is closed; negative, with `errno`, if it could not be opened.
  ///   - parts: The rest of the pattern, a few parts.
  fileprivate mutating func look(in folder: Int32, at path: String, for parts: ArraySlice<String>) {
    guard let part = parts.first else { return }
    guard folder >= 0 else { return note(path, errno) }
    func inside(_ name: String) -> String { path.isEmpty ? name : "\(path)/\(name)" }
    guard FilePattern.isOpen(part) else {
      defer { close(folder) }
      if parts.count == 1 {
        folders.append(path)
        return add(part, in: folder, at: inside(part))
      }
      let next = openat(folder, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      // The file or folder may be created later.
      if next < 0 { folders.append(path) }
      return look(in: next, at: inside(part), for: parts.dropFirst())
    }
    folders.append(path)
    guard let stream = fdopendir(folder) else {
      let number = errno
      close(folder)
      return note(path, number)
    }
    defer { closedir(stream) }
    while true {
      errno = 0
      guard let entry = readdir(stream) else {
        if errno != 0 { note(path, errno) }
        return
      }
      let bytes = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in Array(bytes.prefix { $0 != 0 }) }
      let name = Charset.utf8.displayedText(of: bytes)
      guard FilePattern.part(part, matches: name) else { continue }
      guard name.utf8.elementsEqual(bytes) else {
        let wanted = parts.count == 1 ? DT_REG : DT_DIR
        if [UInt8(wanted), UInt8(DT_UNKNOWN)].contains(entry.pointee.d_type) { unnamed.insert(inside(name)) }
        continue
      }
      if parts.count == 1 {
        add(name, in: folder, at: inside(name))
        continue
      }
      let next = openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      // A file, a link, or one that has just gone.
      if next < 0, [ENOTDIR, ELOOP, ENOENT].contains(errno) { continue }
      look(in: next, at: inside(name), for: parts.dropFirst())
    }
  }

  private mutating func note(_ path: String, _ number: Int32) {
    unlisted.append(path)
    isBlind = isBlind || ![ENOENT, ENOTDIR, ELOOP].contains(number)
    let displayed = path.isEmpty ? "the folder of errand.yaml" : "'\(path)'"
    fault =
      fault
      ?? (number == ENOENT
        ? "there is no folder \(displayed)"
        : number == ENOTDIR || number == ELOOP
          ? "\(displayed) is no folder; links aren't followed"
          : "\(displayed) can't be listed: \(String(cString: strerror(number)))")
  }

  private mutating func add(_ name: String, in folder: Int32, at path: String) {
    var status = stat()
    guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT == S_IFREG else { return }
    // As it is recorded: in microseconds.
    let fraction = status.st_mtim.tv_nsec / 1000 * 1000
    guard let instant = Timestamp(seconds: status.st_mtim.tv_sec, nanoseconds: fraction) else { return }
    files.append(FoundFile(path, FileVersion(bytes: Int(status.st_size), modifiedAt: instant)))
  }
}
