import ActionKit
import HTTPClient
import Synchronization

extension MarkbookClient {
  /// Downloads the zip of a backup from the address that `getBackupURL` returns, and returns its size in bytes.
  ///
  /// The file appears complete and verified, replacing an existing one, or not at all. The server gets no secret: the
  /// address is enough.
  ///
  /// - Parameters:
  ///   - url: The address, valid for about an hour from the time when it was first given.
  ///   - path: The path of the file; its folder must exist.
  ///   - verifiesZip: Whether every entry is unpacked and compared with its checksum before the file is kept.
  ///   - maxBytes: The largest zip that is accepted.
  public func downloadBackup(
    from url: String, to path: String, verifiesZip: Bool = true, maxBytes: Int = 8 << 30
  ) async throws(MarkbookError) -> Int {
    let place: FilePlace
    do throws(FileError) { place = try FilePlace(path) } catch {
      throw MarkbookError(
        .backupNotStored, action: "download", message: "The backup is not stored. \(error.description).", effect: .none)
    }
    return try await downloadBackup(from: url, to: place, verifiesZip: verifiesZip, maxBytes: maxBytes)
  }

  /// The same in a folder that is open already.
  func downloadBackup(
    from url: String, to place: FilePlace, verifiesZip: Bool, maxBytes: Int = 8 << 30
  ) async throws(MarkbookError) -> Int {
    let limits = HTTPLimits(
      connect: wire.limits.connect, attempt: nil, total: nil, stall: .seconds(60), maxBodyBytes: maxBytes)
    let isDamaged = Mutex(false)
    let check = { @Sendable (path: String) -> String? in
      let fault = zipFault(at: path)
      isDamaged.withLock { $0 = fault != nil }
      return fault
    }
    let download: HTTPDownload
    do throws(HTTPError) {
      download = try await wire.http.download(
        HTTPRequest("GET", url, limits: limits, hidesQuery: true), to: place, check: verifiesZip ? check : nil)
    } catch {
      guard error.kind == .file else { throw MarkbookError(network: error, action: "download") }
      throw MarkbookError(
        isDamaged.withLock(\.self) ? .backupDamaged : .backupNotStored, action: "download",
        message: "The backup is not stored. \(error.message)", effect: .unknown)
    }
    guard let file = download.file else {
      var error = MarkbookError(
        .httpError(statusCode: download.response.status), action: "download",
        message: "Markbook Online answered the download of the backup with HTTP status \(download.response.status); "
          + "the zip is deleted about an hour after its address was first told.")
      error.detail = download.response.reason
      error.retryAfter = download.response.retryAfter(now: wire.time.now())
      throw error
    }
    return file.bytes
  }
}
