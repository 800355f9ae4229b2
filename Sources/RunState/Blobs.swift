/// The blobs: large values, each in a file of its own that is named after its SHA-256.
///
/// `blobs/3f/3fa9…` holds the bytes as they are. A blob is written beside its name, synced, renamed, and its folder
/// synced, before an event may name it; so a name that is there stands for whole content. A blob that no event names,
/// because the machine stopped in between, is garbage until `collect`.
import Basics
import Synchronization

final class Blobs: Sendable {
  private let folder: String
  private let fileSystem: any FileSystem
  /// What this process put, and may still be about to name.
  private let recent = Mutex<Set<String>>([])

  init(folder: String, fileSystem: any FileSystem) {
    self.folder = folder
    self.fileSystem = fileSystem
  }

  func put(_ bytes: [UInt8]) throws(StateError) -> BlobReference {
    let reference = BlobReference(sha256: try sha256(bytes), size: bytes.count)
    let folder = folder(of: reference)
    recent.withLock { _ = $0.insert(reference.sha256) }
    try onDisk { () throws(FileError) in
      try fileSystem.makeFolder(folder)
      if try fileSystem.size(path(reference)) == nil {
        try fileSystem.replace(path(reference), in: folder, with: bytes)
      } else {
        // Whoever put it may have failed to.
        try fileSystem.syncFolder(folder)
      }
    }
    return reference
  }

  func get(_ reference: BlobReference) throws(StateError) -> [UInt8] {
    let path = path(reference)
    guard let bytes = try onDisk({ () throws(FileError) in try fileSystem.read(path) }) else {
      throw StateError(.damaged, "\(path) is missing; put it back from a backup, or the runs that need it cannot go on")
    }
    guard bytes.count == reference.size, try sha256(bytes) == reference.sha256 else {
      throw StateError(
        .damaged,
        "\(path) is damaged: its content does not match its name; put it back from a backup, or the runs that need it cannot go on"
      )
    }
    return bytes
  }

  /// Removes the blobs that are not used, and gives their number.
  func collect(keeping used: Set<String>) throws(StateError) -> Int {
    let kept = recent.withLock { used.union($0) }
    var removed = 0
    for part in try onDisk({ () throws(FileError) in try fileSystem.list(folder) }) {
      let names = try onDisk { () throws(FileError) in try fileSystem.list("\(folder)/\(part)") }
      for name in names where !kept.contains(name) {
        try onDisk { () throws(FileError) in try fileSystem.remove("\(folder)/\(part)/\(name)") }
        removed += 1
      }
    }
    return removed
  }

  private func folder(of reference: BlobReference) -> String { "\(folder)/\(reference.sha256.prefix(2))" }
  private func path(_ reference: BlobReference) -> String { "\(folder(of: reference))/\(reference.sha256)" }
}
