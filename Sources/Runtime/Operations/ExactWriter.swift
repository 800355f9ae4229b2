// How answers are written in the exact form: piece by piece, so that a long answer is never held whole as text.
package import Agent
package import Basics
package import RunState

/// Writes the JSON text of an answer; each piece is passed on as soon as the client has room for it.
package struct ExactWriter {
  /// The approximate size of a piece in bytes.
  package static let piece = 64 << 10

  private var pending: [UInt8] = []
  /// What is masked; nil if nothing is.
  private let secrets: SecretRegistry?
  private let send: ([UInt8]) async throws -> Void

  package init(hiding secrets: SecretRegistry?, _ send: @escaping ([UInt8]) async throws -> Void) {
    self.secrets = secrets
    self.send = send
  }

  /// Writes punctuation and names, which hold no secrets.
  mutating func write(plain text: String) async throws {
    pending += text.utf8
    if pending.count >= ExactWriter.piece { try await flush() }
  }

  mutating func write(_ value: Value) async throws {
    pending += try JSON.write(secrets?.displayed(value) ?? value)
    if pending.count >= ExactWriter.piece { try await flush() }
  }

  /// Writes a stretch of JSON as it is stored.
  mutating func write(stored bytes: [UInt8]) async throws {
    pending += secrets?.displayed(bytes, isJSON: false) ?? bytes
    if pending.count >= ExactWriter.piece { try await flush() }
  }

  /// Writes an object, each of its lists item by item.
  mutating func write(members: ValueMap) async throws {
    var separator = "{"
    for member in members.members {
      try await write(plain: separator)
      try await write(member.key)
      try await write(plain: ":")
      separator = ","
      guard let items = member.value.list else {
        try await write(member.value)
        continue
      }
      try await write(plain: "[")
      for (index, item) in items.enumerated() {
        if index > 0 { try await write(plain: ",") }
        try await write(item)
      }
      try await write(plain: "]")
    }
    try await write(plain: separator == "{" ? "{}" : "}")
  }

  /// Passes on the rest.
  package mutating func flush() async throws {
    guard !pending.isEmpty else { return }
    let piece = pending
    pending = []
    try await send(piece)
  }
}

extension OperationAnswer {
  package func write(to writer: inout ExactWriter) async throws {
    let value = try await exact()
    if let members = value.map { try await writer.write(members: members) } else { try await writer.write(value) }
  }

  /// The whole answer if it is small; nil if it has to be written piece by piece.
  package func small() async throws(RequestRefusedError) -> Value? {
    guard !isLong else { return nil }
    let value = try await exact()
    return ValueExtent(of: value).map { $0.bytes <= ExactWriter.piece } == true ? value : nil
  }
}

extension StoredRun {
  /// Writes the record: while it is in memory, step by step, and otherwise as the text in its files.
  func write(to writer: inout ExactWriter) async throws {
    if let record = await recordInMemory {
      // Its steps are shared with the run as long as they don't change.
      guard let head = recorded(record.withoutSteps).map else { return }
      var separator = "{"
      for member in head.members where member.name != "steps" {
        try await writer.write(plain: "\(separator)\(JSON.quoted(member.name ?? "")):")
        try await writer.write(member.value)
        separator = ","
      }
      try await writer.write(plain: "\(separator)\"steps\":{")
      for (index, step) in record.stepsInOrder.enumerated() {
        try await writer.write(plain: index > 0 ? "," : "")
        try await writer.write(.string(step.path))
        try await writer.write(plain: ":")
        try await writer.write(recorded(step))
      }
      return try await writer.write(plain: "}}")
    }
    var cursor = LogCursor(id)
    while !cursor.isOver {
      let read: (bytes: [UInt8], next: LogCursor)?
      do throws(StateError) { read = try await store.finishedRunText(cursor, most: ExactWriter.piece) } catch {
        throw RequestRefusedError(error)
      }
      guard let (bytes, next) = read else { throw RequestRefusedError(.notFound, "the run \(id) is not kept any more") }
      try await writer.write(stored: bytes)
      cursor = next
    }
  }
}

extension KeptValue {
  /// Writes the value as it is in its file, and refuses in the end if its content doesn't match its name.
  func write(to writer: inout ExactWriter) async throws {
    var hash: SHA256
    do throws(SHA256.Unavailable) { hash = try SHA256() } catch { throw RequestRefusedError(.state, error.message) }
    var offset = 0
    while offset < blob.size {
      let bytes: [UInt8]
      do throws(StateError) { bytes = try await store.blob(blob, from: offset, most: ExactWriter.piece) } catch {
        throw RequestRefusedError(error)
      }
      guard !bytes.isEmpty, hash.update(bytes.span.bytes) else { break }
      offset += bytes.count
      try await writer.write(stored: bytes)
    }
    guard hash.finish() == blob.sha256 else {
      throw RequestRefusedError(
        .state, "the blob \(blob.sha256) is damaged: its content does not match its name")
    }
  }
}
