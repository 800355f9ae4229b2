public import ActionKit
import HTTPClient

// The installed versions, in a folder:
//
//   installed.json         which version is in use, and which one was before it
//   stations-….json        their files as they were downloaded, with a hash of the announcement in the name
//   quota.json             until when the API is not asked
//
// A version comes into use in one step, when `installed.json` is replaced. Its file was verified and synced before; the
// file of the version that is no longer named is removed afterwards. A crash in between leaves a file that the index
// doesn't name, or one that it names and doesn't need. If the file in use is damaged, the previous one is used.

/// One version of the data set that was verified and put into use.
public struct InstalledVersion: Hashable, Sendable {
  /// The tag of its release; the version's own number if it came from a file.
  public var tag: String
  /// When it was put into use.
  public var installedAt: Timestamp
  /// When its release was published, if that is known.
  public var publishedAt: Timestamp?
  /// The SHA-256 of its file.
  public var sha256: String
  /// The size of its file.
  public var bytes: Int
  /// GitHub's details of its file: the SHA-256, the size, and when it was replaced.
  var assetSHA256: String?
  var assetSize: Int?
  var assetUpdatedAt: Timestamp?
  /// The file's name in the folder.
  var fileName = ""
}

/// The versions in use and before, in a folder or, without one, in memory.
final class InstalledStore: Sendable {
  struct Record: Equatable, Sendable {
    var current: InstalledVersion
    var previous: InstalledVersion?
  }

  /// The folder; nil keeps nothing beyond the process.
  let folder: String?

  init(folder: String?) { self.folder = folder }

  private func path(_ name: String) -> String? { folder.map { "\($0)/\(name)" } }

  /// The path of a version's file, whether or not it exists yet.
  func path(of version: InstalledVersion) -> String? { path(version.fileName) }

  /// The name for the file of a version that isn't downloaded yet.
  static func fileName(for announcement: String) -> String {
    "stations-\((SHA256.digest(of: Array(announcement.utf8)) ?? "").prefix(16)).json"
  }

  // MARK: Versions

  /// Returns the record of the installed versions; nil if there is none or it cannot be read.
  func record() -> Record? {
    guard let path = path("installed.json"), let bytes = try? Files.read(path, limit: 1 << 20),
      let note = try? JSON.parse(bytes), note["format"]?.int == 1,
      let current = note["current"].flatMap(InstalledVersion.init(note:))
    else { return nil }
    return Record(current: current, previous: note["previous"].flatMap(InstalledVersion.init(note:)))
  }

  /// The file of a version, if it is as it was when it was verified.
  func file(of version: InstalledVersion) -> [UInt8]? {
    guard let path = path(of: version), let bytes = try? Files.read(path, limit: max(version.bytes, 0)),
      SHA256.digest(of: bytes) == version.sha256
    else { return nil }
    return bytes
  }

  func hasFile(of version: InstalledVersion) -> Bool { path(of: version).map(Files.exists) ?? false }

  /// Makes the folder.
  func prepare() throws(TransitDataError) {
    guard let folder else { return }
    try storing { () throws(FileError) in try Files.makeFolder(folder, mode: 0o700) }
  }

  /// Stores the file of a version that did not come as one.
  func write(_ bytes: [UInt8], of version: InstalledVersion) throws(TransitDataError) {
    guard let path = path(of: version) else { return }
    try storing { () throws(FileError) in try Files.write(bytes, to: path, mode: 0o600) }
  }

  /// Puts a version into use whose file is there.
  func use(_ version: InstalledVersion) throws(TransitDataError) {
    guard let path = path("installed.json") else { return }
    let old = record()
    let isAgain = old?.current.fileName == version.fileName
    let previous = isAgain ? old?.previous : old?.current
    var note = ValueMap([("format", .int(1)), ("current", version.note)])
    note["previous"] = previous?.note
    guard let bytes = try? JSON.write(.map(note), .prettySorted) else { return }
    try storing { () throws(FileError) in try Files.write(bytes, to: path, mode: 0o600) }
    let unfinished = (folder.flatMap { try? Files.list($0) } ?? []).filter { name in
      name.hasPrefix("stations-") && (name.hasSuffix(".part") || name.hasSuffix(".part.json"))
    }
    let unnamed = [old?.current, old?.previous].compactMap { $0?.fileName }.filter {
      $0 != version.fileName && $0 != previous?.fileName
    }
    // A file that stays does no harm.
    for gone in (unfinished + unnamed).compactMap(self.path) { try? Files.remove(gone) }
  }

  private func storing(_ body: () throws(FileError) -> Void) throws(TransitDataError) {
    do throws(FileError) { try body() } catch {
      throw TransitDataError(.storage, "The data set cannot be stored: \(error.description).")
    }
  }

  // MARK: Quota

  func quota(credential: String) -> Quota? {
    guard let path = path("quota.json"), let bytes = try? Files.read(path, limit: 1 << 16),
      let note = try? JSON.parse(bytes)
    else { return nil }
    return Quota(note, credential: credential)
  }

  /// Stores the quota; without it the next process would send one request in vain.
  func keep(_ quota: Quota?, credential: String) {
    guard let path = path("quota.json") else { return }
    guard let quota else {
      try? Files.remove(path)
      return
    }
    guard let bytes = try? JSON.write(quota.note(credential: credential)), (try? prepare()) != nil else { return }
    try? Files.write(bytes, to: path, mode: 0o600)
  }
}

extension InstalledVersion {
  fileprivate init?(note: Value) {
    func text(_ name: String) -> String? { note[name]?.string }
    func instant(_ name: String) -> Timestamp? { text(name).flatMap { Timestamp($0) } }
    guard let tag = text("tag"), let installedAt = instant("installedAt"), let sha256 = text("sha256"),
      let bytes = note["bytes"]?.int, let fileName = text("file"), !fileName.utf8.contains(ASCII.slash)
    else { return nil }
    self.tag = tag
    self.installedAt = installedAt
    self.sha256 = sha256
    self.bytes = bytes
    self.fileName = fileName
    publishedAt = instant("publishedAt")
    assetSHA256 = text("assetSHA256")
    assetSize = note["assetSize"]?.int
    assetUpdatedAt = instant("assetUpdatedAt")
  }

  fileprivate var note: Value {
    var note = ValueMap([
      ("bytes", .int(bytes)), ("file", .string(fileName)), ("installedAt", .string(installedAt.description)),
      ("sha256", .string(sha256)), ("tag", .string(tag)),
    ])
    note["assetSHA256"] = assetSHA256.map(Value.string)
    note["assetSize"] = assetSize.map(Value.int)
    note["assetUpdatedAt"] = assetUpdatedAt.map { .string($0.description) }
    note["publishedAt"] = publishedAt.map { .string($0.description) }
    return .map(note)
  }
}
