package import ActionKit
package import Glibc
import Synchronization

/// A file or folder beneath a folder that it cannot leave.
///
/// Every call walks there anew, on a thread of its own.
package struct LocatedFile: Sendable {
  let root: String
  let names: [String]
  let rules: LocalFiles.Rules

  /// The full path, for messages and outputs.
  package var path: String { names.isEmpty ? root : (root == "/" ? "" : root) + "/" + names.joined(separator: "/") }

  init(root: String, names: [String], rules: LocalFiles.Rules) {
    self.root = root
    self.names = names
    self.rules = rules
  }

  /// What is at a path, not through a symbolic link.
  package struct Status: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
      case file, folder, link, other
    }

    package var kind: Kind
    package var bytes: Int
    package var modifiedAt: Timestamp
    package var mode: mode_t
    /// Which file of the machine it is, whatever its path.
    package var identity: String

    init(_ status: stat) {
      kind =
        switch status.st_mode & S_IFMT {
        case S_IFREG: .file
        case S_IFDIR: .folder
        case S_IFLNK: .link
        default: .other
        }
      bytes = kind == .file ? Int(status.st_size) : 0
      modifiedAt =
        Timestamp(seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec) ?? Timestamp.earliest
      mode = status.st_mode & 0o777
      identity = "\(status.st_dev)/\(status.st_ino)"
    }
  }

  // MARK: Calls

  /// The bytes of the file.
  package func read(limit: Int) async throws(ActionError) -> [UInt8] {
    try await call { () throws(ActionError) in
      let folder = try folder(.read)
      let file = try opened(.read, in: folder, O_RDONLY | O_NONBLOCK)
      return try checked { () throws(FileError) in try file.readAll(path, limit: limit) }
    }
  }

  /// The bytes of the file, or nil if there is none.
  package func readIfThere(limit: Int) async throws(ActionError) -> [UInt8]? {
    do throws(ActionError) { return try await read(limit: limit) } catch  where error.kind == .notFound { return nil }
  }

  /// The bytes of the file as text.
  package func text(limit: Int) async throws(ActionError) -> String {
    let bytes = try await read(limit: limit)
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let text = bytes.starts(with: mark) ? bytes[mark.count...] : bytes[...]
    guard let text = String(validating: text, as: UTF8.self) else {
      throw ActionError(.validation, "'\(path)' is no text in UTF-8.", effect: ActionError.Effect.none)
    }
    return text
  }

  /// What is there, or nil.
  package func status() async throws(ActionError) -> Status? {
    try await call { () throws(ActionError) in
      do throws(ActionError) {
        let folder = try folder(.inspect)
        return try status(in: folder, .inspect)
      } catch {
        guard error.kind == .notFound else { throw error }
        return nil
      }
    }
  }

  /// Creates or replaces the file in one step, with the folders above it; says whether anything changed.
  ///
  /// A file that holds the same bytes is left as it is. One that is replaced keeps its permissions.
  @discardableResult
  package func write(_ bytes: [UInt8], replacing: Bool = true) async throws(ActionError) -> Bool {
    try await call { () throws(ActionError) in
      try refuseConfiguration()
      let folder = try folder(.write, making: true)
      let old = try status(in: folder, .write)
      if let old, replacing, old.kind == .file, old.bytes == bytes.count,
        let file = try? opened(.read, in: folder, O_RDONLY),
        let same = try? file.readAll(path, limit: bytes.count), same == bytes
      {
        return false
      }
      if old != nil, !replacing { throw isThereAlready }
      guard old?.kind != .folder, old?.kind != .other else { throw failure(.write, EISDIR) }
      let temporary = ".errand-\(getpid())-\(Self.serial.wrappingAdd(1, ordering: .relaxed).newValue).new"
      // What a process of the same number left behind when the power went.
      unlinkat(folder.number, temporary, 0)
      let number = openat(folder.number, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
      guard number >= 0 else { throw failure(.write, errno) }
      let file = Descriptor(owning: number)
      do throws(ActionError) {
        try checked { () throws(FileError) in try file.write(bytes, path) }
        let mode: mode_t = if let old, old.kind == .file { old.mode } else { 0o644 }
        guard fchmod(file.number, mode) == 0, fsync(file.number) == 0 else {
          throw failure(.write, errno)
        }
        if replacing {
          guard renameat(folder.number, temporary, folder.number, name) == 0 else { throw failure(.write, errno) }
        } else {
          // Fails, other than renaming, if something is there by now.
          guard linkat(folder.number, temporary, folder.number, name, 0) == 0 else {
            throw errno == EEXIST ? isThereAlready : failure(.write, errno)
          }
          unlinkat(folder.number, temporary, 0)
        }
      } catch {
        unlinkat(folder.number, temporary, 0)
        throw error
      }
      try sync(folder, .write)
      return true
    }
  }

  private static let serial = Atomic<Int>(0)

  /// Adds bytes to the end of the file, which is made if it is missing, and gives its size.
  ///
  /// What can be written only in part is taken back.
  package func append(_ bytes: [UInt8]) async throws(ActionError) -> Int {
    try await call { () throws(ActionError) in
      try refuseConfiguration()
      let folder = try folder(.append, making: true)
      let file = try opened(.append, in: folder, O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK)
      // Others that append wait, so that what is taken back is nobody else's. Closing unlocks.
      while flock(file.number, LOCK_EX) != 0 {
        guard errno == EINTR else { throw failure(.append, errno) }
      }
      var before = stat()
      guard fstat(file.number, &before) == 0 else { throw failure(.append, errno) }
      do throws(ActionError) {
        try checked { () throws(FileError) in try file.write(bytes, path) }
        guard fsync(file.number) == 0 else { throw failure(.append, errno) }
      } catch {
        guard ftruncate(file.number, before.st_size) == 0 else {
          var error = error
          error.effect = .unknown
          throw error
        }
        throw error
      }
      try sync(folder, .append)
      return Int(before.st_size) + bytes.count
    }
  }

  /// Removes the file, the link or the empty folder; says whether there was one.
  package func delete() async throws(ActionError) -> Bool {
    try await call { () throws(ActionError) in
      try refuseConfiguration()
      guard !names.isEmpty else { throw failure(.remove, EBUSY) }
      let status: Status?
      do throws(ActionError) {
        let folder = try folder(.remove)
        status = try self.status(in: folder, .remove)
        if let status {
          guard unlinkat(folder.number, name, status.kind == .folder ? AT_REMOVEDIR : 0) == 0 || errno == ENOENT else {
            throw failure(.remove, errno)
          }
          try sync(folder, .remove)
        }
      } catch {
        guard error.kind == .notFound else { throw error }
        return false
      }
      return status != nil
    }
  }

  /// Gives the file or folder another path, whose folders are made.
  package func move(to other: LocatedFile, replacing: Bool) async throws(ActionError) {
    try await call { () throws(ActionError) in
      try refuseConfiguration()
      try other.refuseConfiguration()
      guard !names.isEmpty, !other.names.isEmpty else { throw failure(.move, EBUSY) }
      let folder = try folder(.move)
      guard let status = try status(in: folder, .move) else { throw failure(.move, ENOENT) }
      let target = try other.folder(.move, making: true)
      let there = try other.status(in: target, .move)
      // The file has both names already when the program ended between giving it the new one and taking the old one.
      if let there, there.identity == status.identity, status.kind != .folder {
        guard path == other.path || unlinkat(folder.number, name, 0) == 0 else { throw failure(.move, errno) }
      } else if there != nil, !replacing {
        throw other.isThereAlready
      } else if !replacing, status.kind != .folder, linkat(folder.number, name, target.number, other.name, 0) == 0 {
        guard unlinkat(folder.number, name, 0) == 0 else { throw failure(.move, errno) }
      } else {
        // Folders, and file systems without hard links, have no way that cannot be crossed in the very moment.
        guard replacing || errno != EEXIST || status.kind == .folder else { throw other.isThereAlready }
        guard renameat(folder.number, name, target.number, other.name) == 0 else { throw failure(.move, errno) }
      }
      try sync(target, .move)
      try sync(folder, .move)
    }
  }

  /// Opens the folder, for what works in it.
  package func openedFolder() async throws(ActionError) -> FilePlace {
    try await call { () throws(ActionError) in FilePlace(try folder(.inspect, names[...]), ".", path: path) }
  }

  /// Makes the folders above the path and opens the last one, for what writes the file over a long time.
  package func prepared() async throws(ActionError) -> FilePlace {
    try await call { () throws(ActionError) in
      try refuseConfiguration()
      let folder = try folder(.write, making: true)
      switch try status(in: folder, .write)?.kind {
      case nil, .file: break
      case .link: throw leads(through: names[...])
      default: throw failure(.write, EISDIR)
      }
      guard faccessat(folder.number, ".", W_OK | X_OK, AT_EACCESS) == 0 else { throw failure(.write, errno) }
      return FilePlace(folder, name, path: path)
    }
  }

  // MARK: Walking

  /// The last component; that of the root for the root itself.
  private var name: String { names.last ?? "." }

  /// Opens the folder that holds the path.
  private func folder(_ operation: FileError.Operation, making: Bool = false) throws(ActionError) -> Descriptor {
    try folder(operation, names.dropLast(), making: making)
  }

  /// Opens a folder beneath the root.
  func folder(
    _ operation: FileError.Operation, _ names: ArraySlice<String>, making: Bool = false
  ) throws(ActionError) -> Descriptor {
    if making, !Files.exists(root) {
      try checked { () throws(FileError) in try Files.makeFolder(root) }
    }
    var folder = try checked { () throws(FileError) in
      try Descriptor(operation, root, O_RDONLY | O_DIRECTORY)
    }
    for (index, name) in names.enumerated() {
      var isMade = false
      while true {
        let number = openat(folder.number, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        if number >= 0 {
          folder = Descriptor(owning: number)
          break
        }
        let code = errno
        if code == EINTR { continue }
        if code == ENOENT, making, !isMade {
          guard mkdirat(folder.number, name, 0o755) == 0 || errno == EEXIST else { throw failure(operation, errno) }
          try sync(folder, operation)
          isMade = true
          continue
        }
        throw isLink(name, in: folder) ? leads(through: names.prefix(index + 1)) : failure(operation, code)
      }
    }
    return folder
  }

  /// Opens the file itself, which is a regular one.
  private func opened(
    _ operation: FileError.Operation, in folder: borrowing Descriptor, _ flags: Int32
  ) throws(ActionError) -> Descriptor {
    guard !names.isEmpty else { throw failure(operation, EISDIR) }
    while true {
      let number = openat(folder.number, name, flags | O_NOFOLLOW | O_CLOEXEC, 0o644)
      if number < 0 {
        if errno == EINTR { continue }
        let code = errno
        throw isLink(name, in: folder) ? leads(through: names[...]) : failure(operation, code)
      }
      let file = Descriptor(owning: number)
      var status = stat()
      guard fstat(number, &status) == 0 else { throw failure(operation, errno) }
      switch Status(status).kind {
      case .file: return file
      case .folder: throw failure(operation, EISDIR)
      default:
        throw ActionError(
          .validation, "'\(path)' is no file but a device, a pipe or a socket.", effect: ActionError.Effect.none)
      }
    }
  }

  private func isLink(_ name: String, in folder: borrowing Descriptor) -> Bool {
    var status = stat()
    return fstatat(folder.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  func status(
    in folder: borrowing Descriptor, _ operation: FileError.Operation
  ) throws(ActionError) -> Status? {
    var status = stat()
    if fstatat(folder.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return Status(status) }
    guard errno == ENOENT else { throw failure(operation, errno) }
    return nil
  }

  private func sync(_ folder: borrowing Descriptor, _ operation: FileError.Operation) throws(ActionError) {
    guard fsync(folder.number) == 0 else { throw failure(operation, errno) }
  }

  // MARK: Failing

  /// Does what blocks on a thread of its own.
  func call<Outcome: Sendable>(
    _ body: @escaping @Sendable () throws(ActionError) -> Outcome
  ) async throws(ActionError) -> Outcome {
    let result: Result<Outcome, ActionError> = await onThread {
      do throws(ActionError) { return .success(try body()) } catch { return .failure(error) }
    }
    return try result.get()
  }

  private func checked<Outcome: ~Copyable>(
    _ body: () throws(FileError) -> Outcome
  ) throws(ActionError) -> Outcome {
    do throws(FileError) { return try body() } catch { throw self.error(error) }
  }

  func failure(_ operation: FileError.Operation, _ code: Int32) -> ActionError {
    error(FileError(operation, path, .system(code)))
  }

  /// What failed has changed nothing, or only made a folder.
  private func error(_ error: FileError) -> ActionError {
    let kind: ErrorKind =
      switch error.reason {
      case .tooLarge: .validation
      case .system(ENOENT), .system(ENOTDIR): .notFound
      case .system(ENOTEMPTY), .system(EEXIST): .conflict
      case .system(EISDIR), .system(ENAMETOOLONG), .system(EBUSY): .validation
      default: .configuration
      }
    var message = error.description
    if case .tooLarge = error.reason, let limit = rules.limit {
      message += "; raise '\(limit)' in the connection if it should be read"
    }
    return ActionError(kind, "\(message).", effect: ActionError.Effect.none, cause: error)
  }

  private var isThereAlready: ActionError {
    ActionError(.conflict, "'\(path)' is there already.", effect: ActionError.Effect.none)
  }

  private func leads(through names: ArraySlice<String>) -> ActionError {
    let link = names.joined(separator: "/")
    return ActionError(
      .validation,
      "'\(path)' leads through the symbolic link '\(link)', which is not followed; name the folder that it leads to under "
        + "'\(rules.hasOthers ? "others" : "folder")' in the connection, and use its full path.",
      effect: ActionError.Effect.none)
  }

  /// The file that says which files may be used is not for the ones that use them.
  private func refuseConfiguration() throws(ActionError) {
    guard name != "errand.yaml" else {
      throw ActionError(
        .validation, "'\(path)' is the configuration, which recipes do not write.", effect: ActionError.Effect.none)
    }
  }
}
