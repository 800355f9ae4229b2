/// The blobs: large values, each in a file of its own that is named after its SHA-256.
///
/// `blobs/3f/3fa9…` holds the bytes unchanged. A blob is written beside its name, synced and renamed, and its folder
/// synced, before an event may name it; so a file with the name holds the whole content. A blob that no event names,
/// because the machine stopped in between or the record that named it was forgotten, is garbage until `BlobCollection`
/// finds it.
import Basics
import Synchronization

final class Blobs: Sendable {
  let folder: String
  let fileSystem: any FileSystem
  /// The blobs that this process wrote and may be about to name, with the time by the monotonic clock.
  private let recent = Mutex<[String: ContinuousClock.Instant]>([:])

  init(folder: String, fileSystem: any FileSystem) {
    self.folder = folder
    self.fileSystem = fileSystem
  }

  func put(_ bytes: [UInt8]) throws(StateError) -> BlobReference {
    let reference = BlobReference(sha256: try sha256(bytes), size: bytes.count)
    try put(reference) { file throws(FileError) in try file.append(bytes) }
    return reference
  }

  /// Keeps the text of a value, which is never whole in memory.
  ///
  /// The value is written twice: the first time for the hash, which names the file.
  func put(_ value: Value) throws(StateError) -> BlobReference {
    let digest = try BlobDigest()
    var text = RecordText(streaming: { digest.add($0) })
    value.write(to: &text)
    try text.check()
    text.json.finish()
    let reference = try digest.finish()
    try put(reference) { file throws(FileError) in
      var failure: FileError?
      var text = RecordText(streaming: { piece in
        if failure != nil { return }
        do throws(FileError) { try file.append(Array(piece)) } catch { failure = error }
      })
      value.write(to: &text)
      text.json.finish()
      if let failure { throw failure }
    }
    return reference
  }

  private func put(
    _ reference: BlobReference, _ write: (any AppendableFile) throws(FileError) -> Void
  ) throws(StateError) {
    let folder = folder(of: reference.sha256)
    let path = path(of: reference.sha256)
    recent.withLock { $0[reference.sha256] = .now }
    try onDisk { () throws(FileError) in
      try fileSystem.makeFolder(folder)
      if try fileSystem.size(path) == nil {
        try fileSystem.replace(path, in: folder, with: write)
      } else {
        // The process that wrote it may have failed to sync the folder.
        try fileSystem.syncFolder(folder)
      }
    }
  }

  func get(_ reference: BlobReference) throws(StateError) -> [UInt8] {
    let path = path(of: reference.sha256)
    guard let bytes = try onDisk({ () throws(FileError) in try fileSystem.read(path) }) else {
      throw StateError(
        .damaged, "\(path) is missing; put it back from a backup, or the runs that need it cannot resume")
    }
    guard bytes.count == reference.size, try sha256(bytes) == reference.sha256 else {
      throw StateError(
        .damaged,
        "\(path) is damaged: its content does not match its name; put it back from a backup, or the runs that need it cannot resume"
      )
    }
    return bytes
  }

  /// Some of the bytes of a blob, unverified.
  func get(_ reference: BlobReference, from offset: Int, most: Int) throws(StateError) -> [UInt8] {
    let path = path(of: reference.sha256)
    let size = try onDisk { () throws(FileError) in try fileSystem.size(path) }
    guard size == reference.size else { return try get(reference) }
    return try onDisk { () throws(FileError) in
      try fileSystem.part(of: path, from: offset, count: min(most, reference.size - offset))
    }
  }

  /// Forgets blobs that were written so long ago that they have been named, or never will be.
  func forgetRecent(olderThan age: Duration) {
    let limit = ContinuousClock.now - age
    recent.withLock { $0 = $0.filter { $0.value > limit } }
  }

  /// Removes a blob that nothing refers to, unless this process wrote it recently; returns whether it did.
  func remove(unnamed name: String, writtenBefore age: Duration = .zero) throws(StateError) -> Bool {
    // With the lock held, so that a writer of the same blob at this moment finds it gone and writes it again.
    try recent.withLock { recent throws(StateError) in
      if let written = recent[name], age == .zero || written > .now - age { return false }
      try onDisk { () throws(FileError) in try fileSystem.remove(path(of: name)) }
      return true
    }
  }

  func folder(of name: String) -> String { "\(folder)/\(name.prefix(2))" }
  func path(of name: String) -> String { "\(folder(of: name))/\(name)" }

  /// The folders of the blobs.
  func parts() throws(StateError) -> [String] {
    try onDisk { () throws(FileError) in try fileSystem.list(folder) }.filter { part in
      part.utf8.count == 2 && part.utf8.allSatisfy { ASCII.digits.contains($0) || (0x61...0x66).contains($0) }
    }.sorted { $0.precedesByScalars($1) }
  }
}
