package import ActionKit
package import Glibc
import Synchronization

/// A file or folder below a folder that paths can't leave.
///
/// Every call opens the path again, on a thread of its own.
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

  /// The status of a path, without following a symbolic link.
  package struct Status: Sendable {
    package enum Kind: String, CaseIterable, Sendable {
      case file, folder, link, other
    }

    package var kind: Kind
    package var bytes: Int
    package var modifiedAt: Timestamp
    package var mode: mode_t
    /// Identifies the file on the machine independently of its path.
    package var identity: String
    /// The file system's status.
    let system: stat

    init(_ status: stat) {
      system = status
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
    guard let interceptor = rules.interceptor else { return try await readFromDisk(limit: limit) }
    return try await interceptor.read(path) { () async throws(ActionError) in try await readFromDisk(limit: limit) }
  }

  private func readFromDisk(limit: Int) async throws(ActionError) -> [UInt8] {
    let follower = Transfers.follower
    return try await call { () throws(ActionError) in
      let folder = try folder(.read)
      let file = try opened(.read, in: folder, O_RDONLY)
      return try checked { () throws(FileError) in try file.readAll(path, limit: limit, for: follower) }
    }
  }

  /// The bytes of a file that a run wrote, or nil if it has changed since.
  ///
  /// It has to be one that an action may write. Everything is found out about the opened file, so that another one can't
  /// take its place meanwhile.
  ///
  /// - Parameters:
  ///   - instant: The instant since which neither its content nor its status has changed.
  ///   - count: Its size, if that is known.
  package func bytes(
    unchangedSince instant: Timestamp, count: Int?, limit: Int
  ) async throws(ActionError) -> [UInt8]? {
    try await call { () throws(ActionError) in
      let folder = try folder(.write)
      let file = try opened(.write, in: folder, O_RDONLY)
      func isUnchanged() -> Bool {
        var status = stat()
        guard fstat(file.number, &status) == 0 else { return false }
        let changes = [status.st_mtim, status.st_ctim].map { Timestamp(seconds: $0.tv_sec, nanoseconds: $0.tv_nsec) }
        return changes.allSatisfy { $0.map { $0 <= instant } ?? false } && count.map { $0 == status.st_size } ?? true
      }
      guard isUnchanged() else { return nil }
      let bytes = try checked { () throws(FileError) in try file.readAll(path, limit: limit) }
      return isUnchanged() ? bytes : nil
    }
  }

  /// The bytes of the file, or nil if it doesn't exist.
  package func readIfThere(limit: Int) async throws(ActionError) -> [UInt8]? {
    do throws(ActionError) { return try await read(limit: limit) } catch  where error.kind == .notFound { return nil }
  }

  /// The bytes of the file as text.
  package func text(limit: Int) async throws(ActionError) -> String {
    let bytes = try await read(limit: limit)
    guard let text = try? Charset.utf8.text(of: bytes) else {
      throw ActionError(.validation, "'\(path)' isn't valid UTF-8.")
    }
    return text
  }

  /// The status, or nil if nothing is there.
  ///
  /// - Parameter operation: The purpose of the call; some files may be read but not changed.
  package func status(for operation: FileError.Operation = .inspect) async throws(ActionError) -> Status? {
    try await call { () throws(ActionError) in
      do throws(ActionError) {
        let folder = try folder(operation)
        return try status(in: folder, operation)
      } catch {
        guard error.kind == .notFound else { throw error }
        return nil
      }
    }
  }

  /// The changes that a write would make, for plans; none if the file already contains the bytes.
  ///
  /// - Parameter words: Describes the new content.
  package func changes(
    to bytes: [UInt8], limit: Int, _ words: ([UInt8]) -> String
  ) async throws(ActionError) -> [Change] {
    let status = try await status(for: .write)
    if status?.bytes == bytes.count, try await read(limit: limit) == bytes { return [] }
    return [Change("the file '\(path)'", from: status.map { "\($0.bytes) bytes" }, to: words(bytes))]
  }

  /// Creates or replaces the file in one step, and creates the folders above it; returns whether anything changed.
  ///
  /// A file with the same bytes is left alone. A replaced file keeps its permissions; the process's mask determines the
  /// permissions of a new one. A symbolic link is neither followed nor replaced.
  @discardableResult
  package func write(_ bytes: [UInt8], replacing: Bool = true) async throws(ActionError) -> Bool {
    try await call { () throws(ActionError) in
      if let refusal = refusal(of: .write) { throw refusal }
      let folder = try folder(.write, making: true)
      let old = try status(in: folder, .write)
      if let old, replacing, old.kind == .file, old.bytes == bytes.count,
        let file = try? opened(.read, in: folder, O_RDONLY),
        let same = try? file.readAll(path, limit: bytes.count), same == bytes
      {
        return false
      }
      if old?.kind == .link { throw leads(through: names[...]) }
      if old != nil, !replacing { throw isThereAlready }
      guard old?.kind != .folder, old?.kind != .other else { throw failure(.write, EISDIR) }
      folder.cleanOnce()
      guard let temporary = TemporaryFile(in: folder.descriptor, mode: old == nil ? 0o666 : 0o600) else {
        throw failure(.write, errno)
      }
      do throws(ActionError) {
        try checked { () throws(FileError) in try temporary.file.write(bytes, path) }
        if let old, fchmod(temporary.file.number, old.mode) != 0 { throw failure(.write, errno) }
        guard fsync(temporary.file.number) == 0 else { throw failure(.write, errno) }
        if replacing {
          guard renameat(folder.number, temporary.name, folder.number, name) == 0 else {
            throw failure(.write, errno)
          }
        } else {
          // Unlike renaming, this fails if something has been created there meanwhile.
          guard linkat(folder.number, temporary.name, folder.number, name, 0) == 0 else {
            throw errno == EEXIST ? isThereAlready : failure(.write, errno)
          }
          unlinkat(folder.number, temporary.name, 0)
        }
      } catch {
        unlinkat(folder.number, temporary.name, 0)
        throw error
      }
      try sync(folder, .write)
      return true
    }
  }

  /// Appends bytes to the file, which is created if it is missing, and returns its size.
  ///
  /// If only a part can be written, the file is truncated to its old size.
  package func append(_ bytes: [UInt8]) async throws(ActionError) -> Int {
    try await call { () throws(ActionError) in
      let folder = try folder(.append, making: true)
      let file = try opened(.append, in: folder, O_WRONLY | O_APPEND | O_CREAT)
      // Locked against others that append, so that only our own bytes are truncated. Closing unlocks.
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

  /// Removes the file, the link or the empty folder; returns whether there was one.
  package func delete() async throws(ActionError) -> Bool {
    try await call { () throws(ActionError) in
      if let refusal = refusal(of: .remove) { throw refusal }
      let status: Status?
      do throws(ActionError) {
        let folder = try folder(.remove)
        status = try self.status(in: folder, .remove)
        if let status {
          let flags = status.kind == .folder ? AT_REMOVEDIR : 0
          var code = unlinkat(folder.number, name, flags) == 0 ? 0 : errno
          if code == ENOTEMPTY {
            // The temporary files of killed writers are garbage.
            try self.folder(.remove, names[...]).clean()
            code = unlinkat(folder.number, name, flags) == 0 ? 0 : errno
          }
          guard code == 0 || code == ENOENT else { throw failure(.remove, code) }
          try sync(folder, .remove)
        }
      } catch {
        guard error.kind == .notFound else { throw error }
        return false
      }
      return status != nil
    }
  }

  /// Moves the file or folder to another path, and creates the folders above it.
  ///
  /// On another file system it is copied, with its time and permissions, and then removed.
  package func move(to other: LocatedFile, replacing: Bool) async throws(ActionError) {
    try await call { () throws(ActionError) in
      if let refusal = refusal(of: .move) ?? other.refusal(of: .move) { throw refusal }
      let folder = try folder(.move)
      guard let status = try status(in: folder, .move) else { throw missing(.move, name, in: folder) }
      let target = try other.folder(.move, making: true)
      if status.kind == .folder {
        if folder.bounds.isAbove(status.system) { throw ownFiles(nil) }
        if target.isAmongRecipes, !rules.allowsRecipes || !other.rules.allowsRecipes { throw other.ownFiles(.recipes) }
      }
      let there = try other.status(in: target, .move)
      // The file already has both names if the program ended after creating the new one and before removing the old
      // one.
      if let there, there.identity == status.identity, status.kind != .folder {
        guard path == other.path || unlinkat(folder.number, name, 0) == 0 else { throw failure(.move, errno) }
      } else if let there, !replacing {
        guard status.isCopied(as: there), same(in: folder, as: other, in: target) else { throw other.isThereAlready }
        guard unlinkat(folder.number, name, 0) == 0 else { throw failure(.move, errno) }
      } else if !replacing, status.kind != .folder, linkat(folder.number, name, target.number, other.name, 0) == 0 {
        guard unlinkat(folder.number, name, 0) == 0 else { throw failure(.move, errno) }
      } else {
        // For folders, and on file systems without hard links, checking and renaming can't be one atomic step.
        guard replacing || errno != EEXIST || status.kind == .folder else { throw other.isThereAlready }
        if renameat(folder.number, name, target.number, other.name) != 0 {
          guard errno == EXDEV else { throw failure(.move, errno) }
          try copy(status, from: folder, to: other, in: target, replacing: replacing)
        }
      }
      try sync(target, .move)
      try sync(folder, .move)
    }
  }

  /// Moves to another file system: the copy is complete before it gets its name, and the original is removed last.
  private func copy(
    _ status: Status, from folder: borrowing OpenFolder, to other: LocatedFile, in target: borrowing OpenFolder,
    replacing: Bool
  ) throws(ActionError) {
    target.cleanOnce()
    let temporary = TemporaryFile.newName
    do throws(FileError) {
      try FileTree(folder.descriptor, name).copy(to: target.descriptor, as: temporary, path)
      // For folders, another program may take the name between check and renaming.
      let isFree = replacing || status.kind == .folder
      let code =
        isFree
        ? renameat(target.number, temporary, target.number, other.name)
        : linkat(target.number, temporary, target.number, other.name, 0)
      guard code == 0 else { throw FileError(.move, path, .system(errno)) }
      if !isFree { unlinkat(target.number, temporary, 0) }
      guard fsync(target.number) == 0 else { throw FileError(.move, path, .system(errno)) }
    } catch {
      FileTree(target.descriptor, temporary).remove()
      throw error.code == EEXIST ? other.isThereAlready : self.error(error)
    }
    // Renamed first, so that a half-removed folder is never left under its name.
    let gone = TemporaryFile.newName
    guard renameat(folder.number, name, folder.number, gone) == 0 else { throw failure(.move, errno) }
    FileTree(folder.descriptor, gone).remove()
  }

  /// Whether two files have the same bytes.
  private func same(
    in folder: borrowing OpenFolder, as other: LocatedFile, in target: borrowing OpenFolder
  ) -> Bool {
    guard let one = try? opened(.move, in: folder, O_RDONLY), let two = try? other.opened(.move, in: target, O_RDONLY)
    else { return false }
    var chunks = ([UInt8](repeating: 0, count: 1 << 16), [UInt8](repeating: 0, count: 1 << 16))
    var offset = 0
    while true {
      let count = pread(one.number, &chunks.0, chunks.0.count, offset)
      guard count >= 0, pread(two.number, &chunks.1, count, offset) == count else { return false }
      if count == 0 { return true }
      guard chunks.0.prefix(count) == chunks.1.prefix(count) else { return false }
      offset += count
    }
  }

  /// Opens the folder, for a command that works in it.
  package func openedFolder() async throws(ActionError) -> FilePlace {
    try await call { () throws(ActionError) in
      // A command may work anywhere, even among recipes.
      let folder = try folder(.inspect, names[...], isBound: false)
      return FilePlace(folder.descriptor, ".", path: path)
    }
  }

  /// Creates the folders above the path and opens the last one, for a long write such as a download.
  package func prepared() async throws(ActionError) -> FilePlace {
    try await call { () throws(ActionError) in
      if let refusal = refusal(of: .write) { throw refusal }
      let folder = try folder(.write, making: true)
      switch try status(in: folder, .write)?.kind {
      case nil, .file: break
      case .link: throw leads(through: names[...])
      default: throw failure(.write, EISDIR)
      }
      guard faccessat(folder.number, ".", W_OK | X_OK, AT_EACCESS) == 0 else { throw failure(.write, errno) }
      return FilePlace(folder.descriptor, name, path: path)
    }
  }

  // MARK: Walking

  /// The last component; `.` for the root itself.
  private var name: String { names.last ?? "." }

  /// An open folder, and the bounds that apply in it.
  struct OpenFolder: ~Copyable {
    let descriptor: Descriptor
    let bounds: Bounds
    let isAmongRecipes: Bool

    var number: Int32 { descriptor.number }

    /// Removes the temporary files of killed writers, once in the life of this program.
    func cleanOnce() {
      guard let identity = Bounds.Identity(descriptor) else { return }
      // The path is compared, too, because a new folder may get the inode of a removed one.
      var name = [CChar](repeating: 0, count: Int(PATH_MAX))
      let count = readlink("/proc/self/fd/\(number)", &name, name.count)
      let path = String(decoding: name.prefix(max(0, count)).map { UInt8(bitPattern: $0) }, as: UTF8.self)
      let isNew = Self.cleaned.withLock { cleaned in
        if cleaned.count > 10_000 { cleaned = [:] }
        return cleaned.updateValue(path, forKey: identity) != path
      }
      if isNew { clean() }
    }

    func clean() { TemporaryFile.removeLeft(in: descriptor) }

    private static let cleaned = Mutex<[Bounds.Identity: String]>([:])
  }

  /// Opens the folder that contains the path.
  private func folder(_ operation: FileError.Operation, making: Bool = false) throws(ActionError) -> OpenFolder {
    try folder(operation, names.dropLast(), making: making)
  }

  /// Opens a folder below the root.
  func folder(
    _ operation: FileError.Operation, _ names: ArraySlice<String>, making: Bool = false, isBound: Bool = true
  ) throws(ActionError) -> OpenFolder {
    if let standIn = rules.standIn {
      // To be moved, removed or worked in, a folder must be copied as a whole.
      let isWhole = !isBound || operation == .move || operation == .remove
      try checked { () throws(FileError) in try standIn.fill(root, self.names, isWhole: isWhole) }
      if !self.names.starts(with: names) {
        try checked { () throws(FileError) in try standIn.fill(root, Array(names), isWhole: isWhole) }
      }
    }
    // A new folder may be one of errand's own, so the bounds are read after it was created.
    if making, !Files.exists(root) {
      try checked { () throws(FileError) in try Files.makeFolder(root) }
    }
    func look() -> Bounds {
      Bounds(isBound ? rules.own : OwnFiles(), allowsRecipes: rules.allowsRecipes, isReading: operation.isReading)
    }
    var bounds = look()
    var folder = try checked { () throws(FileError) in
      try Descriptor(operation, root, O_RDONLY | O_DIRECTORY)
    }
    if let kind = bounds.kind(of: self.names[...], from: folder) { throw ownFiles(kind) }
    for (index, name) in names.enumerated() {
      // A folder that is named like a recipe is refused as a recipe.
      if Bounds.isRecipe(name) { try refuse(name, in: folder, bounds) }
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
          if let kind = bounds.kind(ofOpen: folder), kind != .recipes { throw ownFiles(kind) }
          guard mkdirat(folder.number, name, 0o777) == 0 || errno == EEXIST else { throw failure(operation, errno) }
          guard fsync(folder.number) == 0 else { throw failure(operation, errno) }
          bounds = look()
          isMade = true
          continue
        }
        if isLink(name, in: folder) { throw leads(through: names.prefix(index + 1)) }
        throw code == ENOENT ? missing(operation, name, in: folder) : failure(operation, code)
      }
      if let kind = bounds.kind(of: self.names.dropFirst(index + 1), from: folder) { throw ownFiles(kind) }
    }
    let kind = bounds.kind(ofOpen: folder)
    if let kind, kind != .recipes { throw ownFiles(kind) }
    return OpenFolder(descriptor: folder, bounds: bounds, isAmongRecipes: kind == .recipes)
  }

  /// Opens the file itself, which must be a regular one.
  private func opened(
    _ operation: FileError.Operation, in folder: borrowing OpenFolder, _ flags: Int32
  ) throws(ActionError) -> Descriptor {
    if let refusal = refusal(of: operation) { throw refusal }
    // Checked before the file may be created.
    if let kind = folder.bounds.kind(ofName: name, amongRecipes: folder.isAmongRecipes) { throw ownFiles(kind) }
    while true {
      let number = openat(folder.number, name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0o666)
      if number < 0 {
        if errno == EINTR { continue }
        let code = errno
        if isLink(name, in: folder.descriptor) { throw leads(through: names[...]) }
        throw code == ENOENT ? missing(operation, name, in: folder) : failure(operation, code)
      }
      let file = Descriptor(owning: number)
      var status = stat()
      guard fstat(number, &status) == 0 else { throw failure(operation, errno) }
      try refuseOwn(status, in: folder)
      switch Status(status).kind {
      case .file: return file
      case .folder: throw failure(operation, EISDIR)
      default:
        throw ActionError(.validation, "'\(path)' isn't a file but a device, a pipe or a socket.")
      }
    }
  }

  private func isLink(_ name: String, in folder: borrowing Descriptor) -> Bool {
    var status = stat()
    return fstatat(folder.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  private func status(
    in folder: borrowing OpenFolder, _ operation: FileError.Operation
  ) throws(ActionError) -> Status? {
    if let kind = folder.bounds.kind(ofName: name, amongRecipes: folder.isAmongRecipes) { throw ownFiles(kind) }
    guard let status = try found(in: folder, operation) else { return nil }
    try refuseOwn(status.system, in: folder)
    return status
  }

  /// The status, even of errand's own files.
  func found(in folder: borrowing OpenFolder, _ operation: FileError.Operation) throws(ActionError) -> Status? {
    var status = stat()
    if fstatat(folder.number, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return Status(status) }
    guard errno == ENOENT else { throw failure(operation, errno) }
    return nil
  }

  /// Refuses a folder on the path that is named like a recipe, in a folder of recipes.
  private func refuse(
    _ name: String, in folder: borrowing Descriptor, _ bounds: Bounds
  ) throws(ActionError) {
    guard bounds.kind(ofOpen: folder) == .recipes else { return }
    if let kind = bounds.kind(ofName: name, amongRecipes: true) { throw ownFiles(kind) }
  }

  private func refuseOwn(_ status: stat, in folder: borrowing OpenFolder) throws(ActionError) {
    if let kind = folder.bounds.kind(of: status, named: name, amongRecipes: folder.isAmongRecipes) {
      throw ownFiles(kind)
    }
  }

  private func sync(_ folder: borrowing OpenFolder, _ operation: FileError.Operation) throws(ActionError) {
    guard fsync(folder.number) == 0 else { throw failure(operation, errno) }
  }

  // MARK: Failing

  /// Runs a blocking function on a thread of its own.
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

  /// A failed operation has changed nothing, or has only created a folder.
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
    ActionError(.conflict, "'\(path)' is there already.")
  }

  private func leads(through names: ArraySlice<String>) -> ActionError {
    let link = names.joined(separator: "/")
    return ActionError(
      .validation,
      "'\(path)' leads through the symbolic link '\(link)', which is not followed; name the folder that it leads to under "
        + "'\(rules.hasOthers ? "others" : "folder")' in the connection, and use its full path.")
  }

  /// The error of a file operation on the connection's folder itself; nil for paths inside it.
  func refusal(of operation: FileError.Operation) -> ActionError? {
    guard names.isEmpty else { return nil }
    return failure(operation, operation == .remove || operation == .move ? EBUSY : EISDIR)
  }

  /// The refusal if the file is one of errand's own, whether or not it exists.
  func ownFileRefusal(for operation: FileError.Operation) -> ActionError? {
    guard !names.isEmpty else { return nil }
    do throws(ActionError) {
      _ = try status(in: try folder(operation), operation)
      return nil
    } catch {
      // Other obstacles may be gone when the step runs.
      let kinds: [OwnFiles.Kind?] = OwnFiles.Kind.allCases
      return kinds.contains { ownFiles($0).message == error.message } ? error : nil
    }
  }

  private func ownFiles(_ kind: OwnFiles.Kind?) -> ActionError {
    let what =
      switch kind {
      case .configuration: "the configuration"
      case .secrets: "secrets"
      case .state: "the state"
      case .plugins: "plugins"
      case .named: "errand.yaml or a plugin's lock names it"
      case .recipes, .recipe: "recipes"
      case nil: "its folder holds them"
      }
    let advice =
      (kind == .recipes || kind == .recipe) && rules.hasOthers
      ? "; say 'allowRecipes: true' in the connection if this one may" : ""
    return ActionError(
      .validation, "'\(path)' is among errand's own files (\(what)), which actions leave alone\(advice).")
  }

  /// The error of a name that doesn't exist, or exists in another Unicode form.
  private func missing(
    _ operation: FileError.Operation, _ name: String, in folder: borrowing OpenFolder
  ) -> ActionError {
    missing(operation, name, in: folder.descriptor)
  }

  private func missing(
    _ operation: FileError.Operation, _ name: String, in folder: borrowing Descriptor
  ) -> ActionError {
    var error = failure(operation, ENOENT)
    // Swift compares strings by canonical equivalence; the file system compares names by bytes.
    if !name.utf8.allSatisfy({ $0 < 0x80 }), (try? Self.names(in: folder, of: self))?.readable.contains(name) == true {
      error.message.removeLast()
      error.message +=
        "; '\(name)' is there in another Unicode form, and names are compared byte by byte: write it as file.list gives it."
    }
    return error
  }
}

extension LocatedFile.Status {
  /// Whether another file, on another file system, may be a copy of this one.
  fileprivate func isCopied(as other: Self) -> Bool {
    kind == .file && other.kind == .file && system.st_dev != other.system.st_dev && bytes == other.bytes
      && modifiedAt == other.modifiedAt
  }
}

extension FileError.Operation {
  /// Whether the operation only reads.
  fileprivate var isReading: Bool {
    switch self {
    case .read, .list, .inspect: true
    default: false
    }
  }
}
