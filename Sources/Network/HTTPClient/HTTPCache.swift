public import Basics
import Glibc
import Synchronization

// Where answers are cached: a folder that several processes may share, or this process's memory.
//
// An answer's file is named after the SHA-256 of its request (the URL and any credentials, so that one user never gets
// another's answers) and is only ever replaced whole. A writer holds the folder's lock and first reads the stored
// answer: if it was checked later than the writer's own, it stays. Reading takes no lock.
//
// Files with other names may be there too. Together the answers' files are no larger than the bound. When one more
// would exceed it, the files written longest ago are removed first. A frequently requested answer is rewritten whenever
// the server confirms it.
//
// An answer that holds a secret of the run is in no file: this process remembers it, and the next one asks again.

/// Caches services' answers between requests and, in a folder, between programs; for `HTTPClient.send(_:through:_:)`.
public final class HTTPCache: Sendable {
  fileprivate struct Memory {
    var entries: [String: HTTPCacheEntry] = [:]
    /// Keys, in the order of writing.
    var order: [String] = []
    var bytes = 0
  }

  /// The folder; nil if answers are cached in memory and freed with the cache.
  public let folder: String?
  private let maxBytes: Int
  let time: any TimeSource
  private let memory = Mutex(Memory())

  /// Creates a cache; nothing is read or written before it is used.
  ///
  /// - Parameters:
  ///   - folder: Where answers are cached, created when needed and readable by its owner only; nil for memory.
  ///   - maxBytes: How large all answers together may be.
  ///   - time: The clock for the age of answers.
  public init(folder: String?, maxBytes: Int = 64 << 20, time: any TimeSource = SystemTime()) {
    self.folder = folder
    self.maxBytes = maxBytes
    self.time = time
  }

  /// The cache key of a request; nil without libcrypto, so that nothing is cached.
  func key(_ request: HTTPRequest) -> String? {
    let credentials = request.headers.fields
      .filter { field in request.credentialHeaders.contains(where: field.isNamed) }
      .map { "\n\($0.name.lowercasedASCII): \($0.value)" }
    let url = request.url.utf8.prefix { $0 != ASCII.hash }
    return SHA256.digest(of: Array(url) + Array(credentials.joined().utf8))
  }

  // MARK: Reading

  func entry(_ key: String) async -> HTTPCacheEntry? {
    if let entry = memory.withLock({ $0.entries[key] }) { return entry }
    guard let folder else { return nil }
    return await onThread { [maxBytes] in Self.read(key, in: folder, limit: maxBytes) }
  }

  private static func read(_ key: String, in folder: String, limit: Int) -> HTTPCacheEntry? {
    // An unreadable file counts as damaged, and a damaged one as missing.
    (try? Files.read(path(key, in: folder), limit: limit)).flatMap { HTTPCacheEntry(file: $0) }
  }

  private static func path(_ key: String, in folder: String) -> String { "\(folder)/\(key)\(suffix)" }

  private static let suffix = ".answer"

  // MARK: Writing

  /// Caches an answer, and returns as a sentence why that failed.
  func keep(_ entry: HTTPCacheEntry, as key: String, of request: HTTPRequest) async -> String? {
    guard let folder else { return remember(entry, key) }
    guard let bytes = entry.file(redactedURL: request.redactedURL) else {
      return "The answer cannot be stored."
    }
    guard bytes.count <= maxBytes else { return tooLarge }
    if OutsideText.holdsSecret(bytes) {
      await remove(key)
      return remember(entry, key)
    }
    memory.withLock { $0.remove(key) }
    return await onThread { [maxBytes] in
      do throws(FileError) {
        try Self.locking(folder) { () throws(FileError) in
          if let other = Self.read(key, in: folder, limit: maxBytes), other.checkedAt > entry.checkedAt { return }
          try Self.makeRoom(for: bytes.count, in: folder, maxBytes: maxBytes)
          // The digest detects damage by power loss, and a sync takes longer than many a request.
          try Files.write(bytes, to: Self.path(key, in: folder), mode: 0o600, isDurable: false)
        }
        return nil
      } catch {
        return "The answer is not kept: \(error.description)."
      }
    }
  }

  private func remember(_ entry: HTTPCacheEntry, _ key: String) -> String? {
    guard entry.response.body.count <= maxBytes else { return tooLarge }
    memory.withLock { memory in
      // A failed request says nothing about an answer that came meanwhile.
      if entry.failure != nil, let other = memory.entries[key], other.checkedAt > entry.checkedAt { return }
      memory.insert(entry, key, maxBytes: maxBytes)
    }
    return nil
  }

  private var tooLarge: String { "The answer is larger than the whole cache may be, \(maxBytes) bytes." }

  /// Removes the answer to a request, if there is one.
  func remove(_ key: String) async {
    memory.withLock { $0.remove(key) }
    guard let folder else { return }
    await onThread {
      // A file that can't be removed is replaced or evicted later.
      try? Files.remove(Self.path(key, in: folder))
    }
  }

  /// Runs a closure while no other process writes.
  private static func locking(_ folder: String, _ body: () throws(FileError) -> Void) throws(FileError) {
    try Files.makeFolder(folder, mode: 0o700)
    let path = "\(folder)/lock"
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw FileError(.write, path, .system(errno)) }
    // Closing unlocks.
    defer { close(descriptor) }
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { throw FileError(.write, path, .system(errno)) }
    }
    try body()
  }

  private static func makeRoom(for bytes: Int, in folder: String, maxBytes: Int) throws(FileError) {
    var files: [(path: String, bytes: Int, written: Timestamp)] = []
    for name in try Files.list(folder) where name.contains(suffix) {
      let path = "\(folder)/\(name)"
      // No process writes under the lock: the writer of an unfinished file died.
      guard name.hasSuffix(suffix) else {
        try Files.remove(path)
        continue
      }
      var status = stat()
      guard stat(path, &status) == 0 else { continue }
      let written = Timestamp(seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec) ?? .earliest
      files.append((path, Int(status.st_size), written))
    }
    var total = files.reduce(bytes) { $0 + $1.bytes }
    guard total > maxBytes else { return }
    for file in files.sorted(by: { $0.written < $1.written }) where total > maxBytes {
      try Files.remove(file.path)
      total -= file.bytes
    }
  }
}

extension HTTPCache.Memory {
  fileprivate mutating func remove(_ key: String) {
    guard let old = entries.removeValue(forKey: key) else { return }
    bytes -= old.response.body.count
    order.removeAll { $0 == key }
  }

  fileprivate mutating func insert(_ entry: HTTPCacheEntry, _ key: String, maxBytes: Int) {
    remove(key)
    while let oldest = order.first, bytes + entry.response.body.count > maxBytes { remove(oldest) }
    entries[key] = entry
    order.append(key)
    bytes += entry.response.body.count
  }
}
