package import Basics

/// Reads an archive (`StateArchive`), file by file.
package struct ArchiveInput {
  private let read: (Int) throws(FileError) -> [UInt8]
  /// Whether the state was closed with the archive.
  package private(set) var isMoved = false
  /// When the archive was made.
  package private(set) var at: Timestamp?
  private var files: Set<ArchivedFile> = []
  private var buffer: [UInt8] = []
  private var start = 0
  private var sum = Checksum()
  /// How many bytes were read.
  package private(set) var offset = 0

  /// - Parameter read: Gives the next bytes, at most so many; none at the end.
  package init(read: @escaping (Int) throws(FileError) -> [UInt8]) { self.read = read }

  package func damage(_ reason: String) -> StateError {
    StateError(.damaged, "the archive is damaged at byte \(offset): \(reason); nothing was changed")
  }

  /// Reads on; false at the end.
  private mutating func fill() throws(StateError) -> Bool {
    buffer.removeFirst(start)
    start = 0
    let more = try onDisk { () throws(FileError) in try read(1 << 20) }
    buffer += more
    return !more.isEmpty
  }

  /// The sum of all that was read.
  package var sumText: String { sum.text }

  // MARK: Files

  /// Reads how the archive begins.
  package mutating func begin() throws(StateError) {
    let header = try line()
    guard let version = header["archive"]?.int else { throw damage("it does not begin as an archive of a state") }
    if version > StateArchive.version {
      throw StateError(
        .newer,
        "the archive has format \(version), which \(header["program"]?.string ?? "a newer version") wrote; this version reads format \(StateArchive.version) and older. Use that version, or a newer one."
      )
    }
    isMoved = header["moved"]?.bool ?? false
    at = header["at"]?.string.flatMap { Timestamp($0) }
    try checkSum("the archive's header")
  }

  /// The next file with its size, the state first; nil at the end.
  package mutating func nextFile() throws(StateError) -> (file: ArchivedFile, size: Int)? {
    let line = try line()
    if let count = line["end"]?.int {
      guard count == files.count, count > 0 else { throw damage("it ends after \(files.count) files of \(count)") }
      try checkSum("the archive's end")
      try expectEnd()
      return nil
    }
    guard let name = line["file"]?.string, let size = line["size"]?.int, size >= 0 else {
      throw damage("a file's name and size should be here")
    }
    guard let file = ArchivedFile(path: name), !files.isEmpty || file == .state else {
      throw damage("'\(name.prefix(80))' isn't a file of a state")
    }
    guard files.insert(file).inserted else { throw damage("'\(name)' is in it twice") }
    return (file, size)
  }

  /// Reads bytes of a file in pieces of at most 1 MiB.
  package mutating func read(_ size: Int, _ take: ([UInt8]) throws(StateError) -> Void) throws(StateError) {
    var left = size
    while left > 0 {
      let bytes = try bytes(atMost: min(left, 1 << 20))
      try take(bytes)
      left -= bytes.count
    }
  }

  /// Reads what follows the last byte of a file.
  package mutating func endFile(_ file: ArchivedFile) throws(StateError) {
    let name = file.path ?? ""
    guard try bytes(atMost: 1) == [ASCII.newline] else { throw damage("'\(name)' does not end where it should") }
    try checkSum("'\(name)'")
  }

  package func check(_ bytes: [UInt8], ofBlob name: String) throws(StateError) {
    guard try name.hasSameScalars(as: sha256(bytes)) else { throw damage("the blob \(name) does not match its name") }
  }

  // MARK: Bytes

  /// Some of the next bytes, at least one.
  package mutating func bytes(atMost count: Int) throws(StateError) -> [UInt8] {
    if start == buffer.count, try !fill() { throw damage("it ends early") }
    let taken = Array(buffer[start...].prefix(count))
    start += taken.count
    offset += taken.count
    sum.update(taken)
    return taken
  }

  /// The next line, which must be an object.
  private mutating func line() throws(StateError) -> Value {
    while buffer[start...].firstPlace(of: ASCII.newline) == nil {
      guard buffer.count - start < 1 << 16 else { throw damage("a line of it has no end") }
      if try !fill() { throw damage("it ends early") }
    }
    let end = (buffer[start...].firstPlace(of: ASCII.newline) ?? start) + 1
    let line = Array(buffer[start..<end])
    guard let value = try? JSON.parse(Array(line.dropLast())), value.map != nil else {
      throw damage("the line isn't a JSON object")
    }
    start = end
    offset += line.count
    sum.update(line)
    return value
  }

  /// Reads the line with the sum of everything before it.
  private mutating func checkSum(_ what: String) throws(StateError) {
    let sum = sum.text
    let place = offset
    guard try line()["sum"]?.string?.hasSameScalars(as: sum) == true else {
      throw StateError(
        .damaged, "the archive is damaged before byte \(place): the sum after \(what) is wrong; nothing was changed")
    }
  }

  private mutating func expectEnd() throws(StateError) {
    if start == buffer.count, try !fill() { return }
    throw damage("something follows its end")
  }
}
