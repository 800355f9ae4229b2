package import Basics
import Glibc
package import RunState
import Synchronization

/// A disk in memory that stops at a chosen moment and then forgets what wasn't synced.
///
/// Every call that changes something is one operation. Content is durable once its file was synced; a name (created,
/// renamed, removed) once its folder was, and names of one folder become durable in order, as journaling file systems
/// keep them. Folders themselves are durable at once.
package final class FaultyFileSystem: FileSystem, Sendable {
  /// How far the last operation gets before the machine stops.
  package enum Phase: CaseIterable { case before, half, after }

  package enum Fault: Sendable {
    /// The machine stops: this operation and all after it fail.
    case crash(Phase)
    /// This operation fails with an `errno`, after half of it was done.
    case error(Int32)
  }

  /// How much unsynced data a disk keeps.
  package enum Loss: Equatable, Sendable {
    case everything
    case nothing
    /// Some of it: beginnings of appended data, with holes of zeros, and the first of the names.
    case some(seed: UInt64)
  }

  private final class Inode: @unchecked Sendable {
    // Unchecked, because inodes are touched only with the content's lock held.
    var bytes: [UInt8] = []
    var synced = 0
    /// How much the last completed sync left, where the data appended since begins.
    var settled = 0
    var modified: Timestamp

    init(_ modified: Timestamp) { self.modified = modified }
  }

  private struct Change {
    var folder: String
    var removed: [String] = []
    var added: [(path: String, inode: Inode)] = []
  }

  private struct Content {
    var names: [String: Inode] = [:]
    var durableNames: [String: Inode] = [:]
    var pending: [Change] = []
    var operations = 0
    var bytesRead = 0
    var fault: (operation: Int, Fault)?
    var isStopped = false
    var forgetsSyncs = false
    var now = Timestamp(seconds: 1_795_165_200) ?? .earliest
    var space = DiskSpace(free: 1 << 40, total: 1 << 41)
    var modes: [String: UInt32] = [:]
  }

  private let content = Mutex(Content())

  package init() {}

  /// The time of writes to files.
  package var now: Timestamp {
    get { content.withLock { $0.now } }
    set { content.withLock { $0.now = newValue } }
  }

  /// Makes a sync of a file return without doing anything, as a store that forgets it would.
  package func forgetSyncs() { content.withLock { $0.forgetsSyncs = true } }

  /// How large the disk reports to be.
  package func setSpace(_ space: DiskSpace) { content.withLock { $0.space = space } }

  /// A disk that fails at that operation, counted from 1.
  package func fail(at operation: Int, _ fault: Fault) {
    content.withLock { $0.fault = ($0.operations + operation, fault) }
  }

  /// How many bytes were read.
  package var bytesRead: Int { content.withLock { $0.bytesRead } }

  /// Whether the machine has stopped.
  package var isStopped: Bool { content.withLock { $0.isStopped } }

  /// Stops the machine between two operations.
  package func stop() { content.withLock { $0.isStopped = true } }

  /// How many operations there were.
  package var operations: Int { content.withLock { $0.operations } }

  /// The disk as it is found when the machine starts again.
  package func restarted(losing loss: Loss) -> FaultyFileSystem {
    let disk = FaultyFileSystem()
    disk.content.withLock { [now] in $0.now = now }
    var random = SeededGenerator(seed: 0)
    if case .some(let seed) = loss { random = SeededGenerator(seed: seed) }
    content.withLock { old in
      var names = old.durableNames
      let kept =
        switch loss {
        case .everything: 0
        case .nothing: old.pending.count
        case .some: Int.random(in: 0...old.pending.count, using: &random)
        }
      for change in old.pending.prefix(kept) { FaultyFileSystem.apply(change, to: &names) }
      for (path, inode) in names.sorted(by: { $0.key < $1.key }) {
        var bytes = inode.bytes
        switch loss {
        case .nothing: break
        case .everything: bytes = Array(bytes.prefix(inode.synced))
        case .some:
          bytes = Array(bytes.prefix(Int.random(in: inode.synced...bytes.count, using: &random)))
          // A disk writes whole sectors; one whose beginning was synced before has the rest or zeros.
          let sectors = (inode.synced + 511) / 512...max(bytes.count, inode.synced + 511) / 512
          let starts = sectors.map { $0 * 512 } + (inode.synced == inode.settled ? [inode.synced] : [])
          if Bool.random(using: &random), let start = starts.randomElement(using: &random), start < bytes.count {
            bytes.replaceSubrange(start..<bytes.count, with: repeatElement(0, count: bytes.count - start))
          }
        }
        disk.content.withLock { FaultyFileSystem.keep(bytes, at: path, since: inode.modified, &$0) }
      }
    }
    return disk
  }

  /// Reads and changes a file without the program's knowledge.
  package subscript(path: String) -> [UInt8]? {
    get { content.withLock { $0.names[path]?.bytes } }
    set {
      content.withLock { content in
        if let newValue {
          FaultyFileSystem.keep(newValue, at: path, since: content.now, &content)
        } else {
          content.names[path] = nil
          content.durableNames[path] = nil
        }
      }
    }
  }

  /// Puts a file there that nothing can make forgotten.
  private static func keep(_ bytes: [UInt8], at path: String, since modified: Timestamp, _ content: inout Content) {
    let inode = Inode(modified)
    inode.bytes = bytes
    inode.synced = bytes.count
    inode.settled = bytes.count
    content.names[path] = inode
    content.durableNames[path] = inode
  }

  package var paths: [String] { content.withLock { $0.names.keys.sorted() } }

  // MARK: - FileSystem

  package func makeFolder(_ path: String) throws(FileError) {}

  package func list(_ folder: String) throws(FileError) -> [String] {
    try look(folder) { content in
      var names: Set<String> = []
      for path in content.names.keys where path.hasPrefix(folder + "/") {
        names.insert(String(path.dropFirst(folder.count + 1).prefix { $0 != "/" }))
      }
      return names.sorted()
    }
  }

  package func size(_ path: String) throws(FileError) -> Int? { try look(path) { $0.names[path]?.bytes.count } }

  package func status(_ path: String) throws(FileError) -> FileStatus? {
    try look(path) { content in
      if let inode = content.names[path] {
        return FileStatus(
          size: inode.bytes.count, modified: inode.modified, mode: content.modes[path] ?? 0o600, isFolder: false)
      }
      guard content.names.keys.contains(where: { $0.hasPrefix(path + "/") }) else { return nil }
      return FileStatus(size: 0, modified: content.now, mode: content.modes[path] ?? 0o700, isFolder: true)
    }
  }

  package func setMode(_ mode: UInt32, of path: String) throws(FileError) {
    try operate(path) { content, phase in if phase == .after { content.modes[path] = mode } }
  }

  package func space(of folder: String) throws(FileError) -> DiskSpace? { try look(folder) { $0.space } }

  package func read(_ path: String, from offset: Int, count: Int) throws(FileError) -> [UInt8] {
    let bytes = try look(path) { $0.names[path]?.bytes }
    guard let bytes else { throw FileError(.read, path, .system(ENOENT)) }
    let part = Array(bytes.dropFirst(offset).prefix(count))
    content.withLock { $0.bytesRead += part.count }
    return part
  }

  package func openForAppending(_ path: String) throws(FileError) -> any AppendableFile {
    let isThere = try look(path) { $0.names[path] != nil }
    if !isThere {
      try operate(path) { content, phase in
        if phase != .after { return }
        FaultyFileSystem.change(&content, Change(folder: folder(of: path), added: [(path, Inode(content.now))]))
      }
    }
    let inode = try look(path) { $0.names[path] }
    guard let inode else { throw FileError(.write, path, .system(ENOENT)) }
    return File(disk: self, path: path, inode: inode)
  }

  package func truncate(_ path: String, to size: Int) throws(FileError) {
    try operate(path) { content, phase in
      if phase != .after { return }
      content.names[path]?.bytes.removeSubrange(size...)
      content.names[path]?.synced = size
      content.names[path]?.settled = size
    }
  }

  package func rename(_ path: String, to newPath: String) throws(FileError) {
    try operate(newPath) { content, phase in
      if phase != .after { return }
      let moved = FaultyFileSystem.tree(path, in: content)
      if moved.isEmpty { return }
      FaultyFileSystem.change(
        &content,
        Change(
          folder: folder(of: path), removed: moved.map(\.path),
          added: moved.map { (newPath + $0.path.dropFirst(path.count), $0.inode) }))
    }
  }

  package func exchange(_ path: String, with other: String) throws(FileError) {
    try operate(other) { content, phase in
      if phase != .after { return }
      let (left, right) = (FaultyFileSystem.tree(path, in: content), FaultyFileSystem.tree(other, in: content))
      FaultyFileSystem.change(
        &content,
        Change(
          folder: folder(of: path), removed: (left + right).map(\.path),
          added: left.map { (other + $0.path.dropFirst(path.count), $0.inode) }
            + right.map { (path + $0.path.dropFirst(other.count), $0.inode) }))
    }
  }

  /// A file, or everything in a folder.
  private static func tree(_ path: String, in content: borrowing Content) -> [(path: String, inode: Inode)] {
    content.names.filter { $0.key == path || $0.key.hasPrefix(path + "/") }.map { ($0.key, $0.value) }
      .sorted { $0.path < $1.path }
  }

  package func remove(_ path: String) throws(FileError) {
    try operate(path) { content, phase in
      guard phase == .after, content.names[path] != nil else { return }
      FaultyFileSystem.change(&content, Change(folder: folder(of: path), removed: [path]))
    }
  }

  package func syncFolder(_ path: String) throws(FileError) {
    try operate(path) { content, phase in
      let count = content.pending.count { $0.folder == path }
      var left = phase == .after ? count : phase == .half ? count / 2 : 0
      content.pending.removeAll { change in
        guard change.folder == path, left > 0 else { return false }
        left -= 1
        FaultyFileSystem.apply(change, to: &content.durableNames)
        return true
      }
    }
  }

  private final class File: AppendableFile {
    let disk: FaultyFileSystem
    let path: String
    let inode: Inode

    init(disk: FaultyFileSystem, path: String, inode: Inode) {
      self.disk = disk
      self.path = path
      self.inode = inode
    }

    func append(_ bytes: [UInt8]) throws(FileError) {
      let inode = inode
      try disk.operate(path) { _, phase in
        let count = phase == .after ? bytes.count : phase == .half ? bytes.count / 2 : 0
        inode.bytes += bytes.prefix(count)
      }
    }

    func sync() throws(FileError) {
      let inode = inode
      try disk.operate(path) { content, phase in
        if content.forgetsSyncs { return }
        let unsynced = inode.bytes.count - inode.synced
        inode.synced += phase == .after ? unsynced : phase == .half ? unsynced / 2 : 0
        if phase == .after { inode.settled = inode.synced }
      }
    }
  }

  // MARK: - Operations

  private func folder(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
  }

  private func look<Result: Sendable>(
    _ path: String, _ body: (borrowing Content) -> Result
  ) throws(FileError) -> Result {
    try content.withLock { content throws(FileError) in
      if content.isStopped { throw FileError(.read, path, .system(EIO)) }
      return body(content)
    }
  }

  private func operate(_ path: String, _ body: (inout Content, Phase) -> Void) throws(FileError) {
    try content.withLock { content throws(FileError) in
      if content.isStopped { throw FileError(.write, path, .system(EIO)) }
      content.operations += 1
      guard let (operation, fault) = content.fault, operation == content.operations else {
        body(&content, .after)
        return
      }
      switch fault {
      case .crash(let phase):
        body(&content, phase)
        content.isStopped = true
        throw FileError(.write, path, .system(EIO))
      case .error(let code):
        body(&content, .half)
        throw FileError(.write, path, .system(code))
      }
    }
  }

  private static func change(_ content: inout Content, _ change: Change) {
    apply(change, to: &content.names)
    content.pending.append(change)
  }

  private static func apply(_ change: Change, to names: inout [String: Inode]) {
    for path in change.removed { names[path] = nil }
    for (path, inode) in change.added { names[path] = inode }
  }
}
