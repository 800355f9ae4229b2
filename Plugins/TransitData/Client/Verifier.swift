import ActionKit
import HTTPClient
import Synchronization

/// Verifies the file of a release while it has no name yet, and keeps what it found for the caller.
///
/// Size and digest come first: they guard the way here. The checksum inside guards the content. Both must hold.
final class Verifier: Sendable {
  private let version: InstalledVersion
  private let settings: TransitDataSettings
  private let outcome = Mutex<Result<InstalledData, TransitDataError>?>(nil)

  init(_ version: InstalledVersion, _ settings: TransitDataSettings) {
    self.version = version
    self.settings = settings
  }

  /// Verifies the file at a path, and returns its fault as a sentence; nil if it has none.
  func fault(at path: String) -> String? {
    do throws(FileError) {
      return verify(try Files.read(path, limit: settings.maxFileBytes))
    } catch {
      return "\(error.description)."
    }
  }

  /// Verifies the bytes of a file, and returns their fault as a sentence; nil if they have none.
  @discardableResult func verify(_ bytes: [UInt8]) -> String? {
    let result = Result { () throws(TransitDataError) in try verified(bytes) }
    outcome.withLock { $0 = result }
    if case .failure(let error) = result { return error.message }
    return nil
  }

  private func verified(_ bytes: [UInt8]) throws(TransitDataError) -> InstalledData {
    var version = version
    version.bytes = bytes.count
    version.sha256 = try Verifier.sha256(of: bytes)
    if let size = version.assetSize, size != bytes.count {
      throw TransitDataError(
        .digestMismatch,
        "The file of the release '\(version.tag)' should have \(size) bytes, but \(bytes.count) arrived.")
    }
    if let digest = version.assetSHA256, digest != version.sha256 {
      throw TransitDataError(
        .digestMismatch,
        "The file of the release '\(version.tag)' should have the SHA-256 \(digest.excerpt(64)), but what arrived has "
          + "\(version.sha256).")
    }
    return InstalledData(
      version: version, data: try RailData(file: bytes, allowsUnverified: settings.allowsUnverified))
  }

  static func sha256(of bytes: [UInt8]) throws(TransitDataError) -> String {
    guard let digest = SHA256.digest(of: bytes) else { throw .missingLibrary }
    return digest
  }

  /// Returns the result of the verification, after a download that succeeded.
  func result() throws(TransitDataError) -> InstalledData {
    guard let result = outcome.withLock({ $0 }) else {
      throw TransitDataError(.storage, "The file of the release '\(version.tag)' was not looked at.")
    }
    return try result.get()
  }

  /// Returns the error of a failed download: the file's fault, or the client's error.
  func error(_ error: HTTPError, asking what: String) -> TransitDataError {
    guard error.kind == .file else { return TransitDataError(error, asking: what) }
    if case .failure(let fault) = outcome.withLock({ $0 }) { return fault }
    return TransitDataError(.storage, "The data set cannot be stored. \(error.message)")
  }
}

extension InstalledVersion {
  /// Creates a version from its announcement, before its file is downloaded.
  init(_ release: Release, _ asset: Release.Asset, installedAt: Timestamp) {
    tag = release.tag
    self.installedAt = installedAt
    publishedAt = release.publishedAt
    (sha256, bytes) = ("", 0)
    assetSHA256 = asset.sha256
    assetSize = asset.size
    assetUpdatedAt = asset.updatedAt
    let announcement = [asset.url, asset.sha256 ?? "", asset.size.map(String.init) ?? "", asset.updatedAt?.description]
    fileName = InstalledStore.fileName(for: announcement.compactMap(\.self).joined(separator: "\n"))
  }
}
