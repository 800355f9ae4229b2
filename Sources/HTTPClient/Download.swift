import Basics
import Glibc
import Synchronization

/// What became of a download.
public struct HTTPDownload: Sendable {
  /// The file that is there now.
  public struct File: Sendable {
    /// Its size.
    public var bytes: Int
    /// Its SHA-256 in small hexadecimal digits.
    public var sha256: String
  }

  /// The answer; its body is empty if there is a file.
  public var response: HTTPResponse
  /// The file; nil if the status was not one of success, in which case nothing was stored.
  public var file: File?
}

extension HTTPClient {
  /// Sends a request and stores the body of a successful answer as a file, of any size up to the request's limit.
  ///
  /// The file appears at its path whole, checked and on disk, or not at all: it is written beside it under another
  /// name, readable by its owner only, and renamed at the end, replacing what was there. Its bytes are written on the
  /// client's thread as they arrive.
  ///
  /// - Parameters:
  ///   - bytes: the size it must have.
  ///   - sha256: the SHA-256 it must have, in hexadecimal digits.
  ///   - check: looks at the file under its temporary path before it is renamed, on a thread where it may take its
  ///     time, and says as a sentence what is wrong with it; nil lets it through.
  public func download(
    _ request: HTTPRequest, to path: String, bytes: Int? = nil, sha256: String? = nil,
    check: (@Sendable (_ temporaryPath: String) -> String?)? = nil
  ) async throws(HTTPError) -> HTTPDownload {
    let sink = try FileSink(path, request)
    // The transport may hold the sink a moment longer than its caller waits.
    defer { sink.discard() }
    let response = try await send(request, into: sink)
    guard response.isSuccess else { return HTTPDownload(response: response) }
    let file = try await onThread {
      Result { () throws(HTTPError) in try sink.finish(bytes: bytes, sha256: sha256, check) }
    }.get()
    return HTTPDownload(response: response, file: file)
  }
}

private final class Job: Sendable {
  let run: @Sendable () -> Void

  init(_ run: @escaping @Sendable () -> Void) { self.run = run }
}

/// Runs what blocks on a thread of its own, and waits for it.
///
/// It is not cancelled: what it does is short, or has to be finished.
private func onThread<Outcome: Sendable>(_ work: @escaping @Sendable () -> Outcome) async -> Outcome {
  await withCheckedContinuation { continuation in
    let job = Unmanaged.passRetained(Job { continuation.resume(returning: work()) })
    var thread = pthread_t()
    let code = pthread_create(
      &thread, nil,
      { argument in
        if let argument { Unmanaged<Job>.fromOpaque(argument).takeRetainedValue().run() }
        return nil
      }, job.toOpaque())
    if code == 0 {
      pthread_detach(thread)
    } else {
      // Late is better than never.
      job.takeRetainedValue().run()
    }
  }
}

/// Writes a body to a temporary file, which is removed unless it is finished.
private final class FileSink: HTTPBodySink {
  private struct Writing: ~Copyable {
    var hash: SHA256
    var bytes = 0
  }

  private let descriptor: Int32
  private let path: String
  private let temporaryPath: String
  private let failure: Failure
  private let writing: Mutex<Writing>
  /// Whether the temporary file is gone, renamed or removed.
  private let isGone = Atomic(false)

  init(_ path: String, _ request: HTTPRequest) throws(HTTPError) {
    self.path = path
    failure = Failure(of: request)
    let hash: SHA256
    do throws(SHA256.Unavailable) { hash = try SHA256() } catch { throw failure.missingLibrary(error.message) }
    // No other download has the name, and no result depends on it.
    temporaryPath = "\(path).\(String(UInt64.random(in: .min ... .max), radix: 36)).part"
    descriptor = open(temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    writing = Mutex(Writing(hash: hash))
    if descriptor < 0 {
      throw failure.file("no file can be made beside '\(path)': \(String(cString: strerror(errno))).", sent: .nothing)
    }
  }

  deinit {
    guard descriptor >= 0 else { return }
    discard()
    close(descriptor)
  }

  func discard() {
    if !isGone.exchange(true, ordering: .relaxed) { unlink(temporaryPath) }
  }

  func accepts(_ head: HTTPResponse) -> Bool { head.isSuccess }

  func receive(_ bytes: RawSpan) throws(HTTPError) {
    let isWritten = writing.withLock { writing in
      writing.bytes += bytes.byteCount
      return writing.hash.update(bytes) && bytes.withUnsafeBytes(write)
    }
    guard isWritten else { throw unwritten() }
  }

  private func unwritten() -> HTTPError {
    failure.file("'\(path)' cannot be written: \(String(cString: strerror(errno))).", sent: .maybe)
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

  func finish(
    bytes: Int?, sha256: String?, _ check: (@Sendable (String) -> String?)?
  ) throws(HTTPError) -> HTTPDownload.File {
    let (count, hash) = writing.withLock { ($0.bytes, $0.hash.finish()) }
    guard let hash else { throw failure.file("the SHA-256 of '\(path)' cannot be computed.", sent: .maybe) }
    if let bytes, bytes != count {
      throw failure.file("'\(path)' should have \(bytes) bytes, but \(count) arrived.", sent: .maybe)
    }
    if let sha256, sha256.lowercased() != hash {
      throw failure.file("'\(path)' should have the SHA-256 \(sha256), but what arrived has \(hash).", sent: .maybe)
    }
    guard fsync(descriptor) == 0 else { throw unwritten() }
    if let fault = check?(temporaryPath) { throw failure.file("'\(path)' is not kept: \(fault)", sent: .maybe) }
    guard rename(temporaryPath, path) == 0 else { throw unwritten() }
    isGone.store(true, ordering: .relaxed)
    guard syncFolder() else { throw unwritten() }
    return HTTPDownload.File(bytes: count, sha256: hash)
  }

  /// Makes the new name survive a loss of power.
  private func syncFolder() -> Bool {
    let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { path[...$0] } ?? "."
    let descriptor = open(String(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return fsync(descriptor) == 0
  }
}
