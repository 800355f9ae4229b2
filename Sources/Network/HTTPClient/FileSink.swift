import Basics
import Glibc
import HTTPTypes
import Synchronization

/// Writes a body to a temporary file, which is removed unless it is finished or kept for the next download.
final class FileSink: HTTPBodySink {
  /// The size and hash that the whole file must have.
  struct Expected: Sendable {
    var bytes: Int?
    var sha256: String?
    var check: (@Sendable (_ temporaryPath: String) -> String?)?
  }

  private struct Writing: ~Copyable {
    var hash: SHA256
    var bytes = 0
    /// How many of the bytes an earlier download had left; 0 when they were discarded.
    var resumed = 0
    /// The length of the whole, from a server that sends the rest.
    var total: Int?
    /// Describes the file that the bytes are the beginning of; nil if no download may continue them.
    var note: PartialDownload?
    /// Whether more bytes are accepted.
    var isOpen = true
    /// Whether the answer doesn't fit the bytes that are there.
    var isMisfit = false
    /// Why nothing can be written.
    var fault: HTTPError?
  }

  private let descriptor: Int32
  private let place: FilePlace
  /// The name of the temporary file, beside the final one.
  private let temporaryName: String
  /// Whether the temporary file has the name that the next download looks for.
  private let isResumable: Bool
  private let request: HTTPRequest
  private let urlHash: String
  private let expected: Expected
  private let failure: Failure
  private let writing: Mutex<Writing>

  init(_ place: FilePlace, _ request: HTTPRequest, _ expected: Expected, isResuming: Bool) throws(HTTPError) {
    self.place = place
    self.request = request
    self.expected = expected
    let failure = Failure(of: request)
    self.failure = failure
    // An answer to the caller's own range isn't whole, and only a GET has one body at a URL.
    let isResuming = isResuming && request.method == "GET" && request.headers["Range"] == nil
    let hash: SHA256
    do throws(SHA256.Unavailable) { hash = try SHA256() } catch { throw failure.missingLibrary(error.message) }
    urlHash = SHA256.digest(of: Array(request.url.utf8)) ?? ""
    if isResuming, let descriptor = FileSink.openLocked(place, "\(place.name).part") {
      self.descriptor = descriptor
      isResumable = true
      temporaryName = "\(place.name).part"
    } else {
      isResumable = false
      // A name that no other download has, and that no result depends on.
      temporaryName = "\(place.name).\(String(UInt64.random(in: .min ... .max), radix: 36)).part"
      descriptor = place.open(temporaryName, O_WRONLY | O_CREAT | O_EXCL)
    }
    let code = errno
    writing = Mutex(Writing(hash: hash))
    guard descriptor >= 0 else {
      throw failure.file(
        "cannot create a file beside '\(place.path)': \(String(cString: strerror(code))).", sent: .nothing)
    }
    if isResumable { try takeOver() }
  }

  deinit {
    guard descriptor >= 0 else { return }
    end()
    close(descriptor)
  }

  /// Opens the part that other downloads use too, unless one of them is writing it.
  private static func openLocked(_ place: FilePlace, _ name: String) -> Int32? {
    let descriptor = place.open(name, O_RDWR | O_CREAT)
    guard descriptor >= 0 else { return nil }
    // The other download may have renamed or removed it between the two calls.
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, place.holds(descriptor, name) else {
      close(descriptor)
      return nil
    }
    return descriptor
  }

  private var noteName: String { temporaryName + ".json" }

  /// Continues what is there, if it is of use, or discards it.
  private func takeOver() throws(HTTPError) {
    guard let note = PartialDownload.read(noteName, in: place),
      note.mayContinue(url: urlHash, hasHash: expected.sha256 != nil),
      let size = readThrough(), size > 0, size <= request.limits.maxBodyBytes
    else {
      _ = writing.withLock { cutOff(&$0) }
      return
    }
    writing.withLock {
      $0.bytes = size
      $0.resumed = size
      $0.note = note
    }
  }

  /// Hashes the bytes that are there and gives their number.
  private func readThrough() -> Int? {
    var chunk = [UInt8](repeating: 0, count: 1 << 18)
    var size = 0
    while true {
      let count = chunk.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, size) }
      if count < 0 && errno == EINTR { continue }
      guard count >= 0 else { return nil }
      if count == 0 { break }
      guard writing.withLock({ $0.hash.update(chunk.span.extracting(..<count).bytes) }) else { return nil }
      size += count
    }
    return lseek(descriptor, size, SEEK_SET) == size ? size : nil
  }

  /// Empties the file, and leaves nothing to continue.
  private func cutOff(_ writing: inout Writing) -> Bool {
    writing.note = nil
    writing.total = nil
    writing.resumed = 0
    guard writing.isOpen else { return false }
    if isResumable { place.remove(noteName) }
    guard let hash = try? SHA256(), ftruncate(descriptor, 0) == 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
      writing.fault = unwritten()
      return false
    }
    writing.hash = hash
    writing.bytes = 0
    return true
  }

  // MARK: Asking

  /// The request for the missing bytes.
  func resumed(_ request: HTTPRequest) -> HTTPRequest {
    let (offset, note) = writing.withLock { ($0.resumed, $0.note) }
    guard let note, offset > 0 else { return request }
    var request = request
    request.headers["Range"] = "bytes=\(offset)-"
    request.headers["If-Range"] = note.validator
    request.acceptsCompression = false
    return request
  }

  /// Whether the bytes that were there don't fit the rest, so that the whole has to be requested.
  var isStale: Bool { writing.withLock { $0.isMisfit && $0.resumed > 0 } }

  /// Whether an answer is final, and not about the part that was requested.
  func fits(_ answer: HTTPResponse) throws(HTTPError) -> Bool {
    let (isMisfit, isResumed) = writing.withLock { writing in
      if writing.resumed > 0, answer.status == 416 || answer.status == 412 { writing.isMisfit = true }
      return (writing.isMisfit, writing.resumed > 0)
    }
    guard isResumed || !isMisfit else { throw failure.unexpectedPart() }
    return !isMisfit
  }

  /// Discards what is there, and gives the request for the whole.
  func startedOver(after elapsed: TimeSpan) throws(HTTPError) -> HTTPRequest {
    let fault = writing.withLock { writing in
      writing.isMisfit = false
      return cutOff(&writing) ? nil : writing.fault
    }
    if let fault { throw fault }
    var request = request
    if let total = request.limits.total { request.limits.total = total - elapsed }
    return request
  }

  // MARK: Taking

  var bytesBefore: Int { writing.withLock { $0.resumed } }

  func accepts(_ head: HTTPResponse) -> Bool {
    guard head.isSuccess else { return false }
    writing.withLock { writing in
      if head.status == 206, request.headers["Range"] == nil {
        let total = writing.note?.isContinued(by: head, at: writing.bytes)
        writing.total = total
        // No part was requested, or not this one.
        writing.isMisfit = writing.resumed == 0 || total == nil
      } else if cutOff(&writing), isResumable, let note = PartialDownload(head, url: urlHash),
        note.write(noteName, in: place)
      {
        writing.note = note
      }
    }
    return true
  }

  func receive(_ bytes: RawSpan) throws(HTTPError) {
    let fault: HTTPError? = writing.withLock { writing in
      guard writing.isOpen else { return failure.cancelled(sent: .maybe, elapsed: .zero) }
      if let fault = writing.fault { return fault }
      guard !writing.isMisfit else { return failure.unexpectedPart() }
      guard bytes.byteCount <= request.limits.maxBodyBytes - writing.bytes else {
        writing.note = nil
        return failure.tooLarge(elapsed: .zero)
      }
      guard writing.hash.update(bytes), bytes.withUnsafeBytes(write) else {
        writing.note = nil
        return unwritten()
      }
      writing.bytes += bytes.byteCount
      return nil
    }
    if let fault { throw fault }
  }

  private func unwritten() -> HTTPError {
    failure.file("'\(place.path)' cannot be written: \(String(cString: strerror(errno))).", sent: .maybe)
  }

  private func write(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  // MARK: Ending

  /// Checks the file and gives it its name; a fault of a resumed file makes it stale.
  func finish() throws(HTTPError) -> HTTPDownload.File {
    let (count, resumed, total, hash, fault) = writing.withLock { writing in
      // Until the file has its name, a faulty one must not be continued.
      writing.isMisfit = true
      return (writing.bytes, writing.resumed, writing.total, writing.hash.finish(), writing.fault)
    }
    if let fault { throw fault }
    guard let hash else { throw failure.file("the SHA-256 of '\(place.path)' cannot be computed.", sent: .maybe) }
    if let bytes = expected.bytes ?? total, bytes != count {
      throw failure.file("'\(place.path)' should have \(bytes) bytes, but \(count) arrived.", sent: .maybe)
    }
    if let sha256 = expected.sha256, sha256.lowercased() != hash {
      throw failure.file(
        "'\(place.path)' should have the SHA-256 \(sha256), but what arrived has \(hash).", sent: .maybe)
    }
    guard fsync(descriptor) == 0 else { throw unwritten() }
    if let fault = expected.check?(FilePlace.path(ofOpen: descriptor)) {
      throw failure.file("'\(place.path)' is not kept: \(fault)", sent: .maybe)
    }
    // A download that finds a note without its part starts over; it never continues a part without a note.
    if isResumable { place.remove(noteName) }
    guard place.replace(by: temporaryName) else { throw unwritten() }
    writing.withLock { $0.isOpen = false }
    guard place.sync() else { throw unwritten() }
    return HTTPDownload.File(bytes: count, sha256: hash, resumedBytes: resumed)
  }

  /// Accepts nothing more, and removes what can't be continued.
  func end() {
    writing.withLock { writing in
      guard writing.isOpen else { return }
      writing.isOpen = false
      if writing.note == nil || writing.isMisfit || writing.bytes == 0 {
        place.remove(temporaryName)
        if isResumable { place.remove(noteName) }
      }
      // The next download need not wait until the transport has let go.
      flock(descriptor, LOCK_UN)
    }
  }
}
