package import Basics
import Glibc

/// The result of a download.
public struct HTTPDownload: Sendable {
  /// The file that is there now.
  public struct File: Sendable {
    /// Its size.
    public var bytes: Int
    /// Its SHA-256 in lowercase hexadecimal digits.
    public var sha256: String
    /// How many of its bytes an earlier download had left, which were not sent again.
    public var resumedBytes: Int
  }

  /// The answer; its body is empty if there is a file.
  public var response: HTTPResponse
  /// The file; nil if the status doesn't mean success and nothing was stored.
  public var file: File?
}

extension HTTPClient {
  /// Sends a request and stores the body of a successful answer as a file, of any size up to the request's limit.
  ///
  /// The file appears at its path whole, checked and on disk, or not at all: it is written beside it under another
  /// name, readable by its owner only, and at the end renamed over an existing file. Its bytes are written on the
  /// client's thread as they arrive.
  ///
  /// A download that resumes keeps the bytes of an interrupted one as `path.part`, and requests only the rest, as long
  /// as the server says that its file hasn't changed (`PartialDownload`). If that fails, or the result doesn't have the
  /// required size or hash, it starts over once. The hash is always computed over the whole file.
  ///
  /// - Parameters:
  ///   - bytes: The size it must have.
  ///   - sha256: The SHA-256 it must have, in hexadecimal digits.
  ///   - resuming: Whether to continue an interrupted download, and to leave something for the next one.
  ///   - check: Reads the file by a path that leads to it before it is renamed, on a thread where it may take its
  ///     time, and returns what is wrong with it as a sentence; nil accepts it.
  public func download(
    _ request: HTTPRequest, to path: String, bytes: Int? = nil, sha256: String? = nil, resuming: Bool = false,
    check: (@Sendable (_ temporaryPath: String) -> String?)? = nil
  ) async throws(HTTPError) -> HTTPDownload {
    let place = try await onThread {
      Result { () throws(FileError) in try FilePlace(path) }.mapError { error in
        Failure(of: request).file(
          "cannot create a file beside '\(path)': \(String(cString: strerror(error.code ?? EIO))).", sent: .nothing)
      }
    }.get()
    return try await download(
      request, to: place, bytes: bytes, sha256: sha256, resuming: resuming, check: check)
  }

  /// The same in a folder that is open already, even if its path changes meanwhile.
  package func download(
    _ request: HTTPRequest, to place: FilePlace, bytes: Int? = nil, sha256: String? = nil, resuming: Bool = false,
    check: (@Sendable (_ temporaryPath: String) -> String?)? = nil
  ) async throws(HTTPError) -> HTTPDownload {
    let expected = FileSink.Expected(bytes: bytes, sha256: sha256, check: check)
    let sink = try await onThread {
      Result { () throws(HTTPError) in try FileSink(place, request, expected, isResuming: resuming) }
    }.get()
    // The transport may hold the sink a moment longer than its caller waits.
    defer { sink.end() }
    var request = sink.resumed(request)
    while true {
      var elapsed = TimeSpan.zero
      do throws(HTTPError) {
        let response = try await send(request, into: sink)
        elapsed = response.elapsed
        if try sink.fits(response) {
          guard response.isSuccess else { return HTTPDownload(response: response) }
          let file = try await onThread { Result { () throws(HTTPError) in try sink.finish() } }.get()
          return HTTPDownload(response: response, file: file)
        }
      } catch {
        guard sink.isStale else { throw error }
        elapsed = error.elapsed
      }
      request = try sink.startedOver(after: elapsed)
    }
  }
}
