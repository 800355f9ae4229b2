import ActionKit

/// The input of actions that read a file.
struct FilePath: FieldSet {
  @Field("Path of the file.", .notEmpty) var path: String
}

/// The content to write: a text or bytes.
enum FileContent {
  /// The conflict if not exactly one of the two is given.
  static func conflicts(_ text: String?, _ bytes: [UInt8]?) -> [Conflict] {
    switch (text, bytes) {
    case (nil, nil): [Conflict("needs 'text' or 'bytes'")]
    case (.some, .some): [Conflict("must not be given beside 'text'", at: "bytes")]
    default: []
    }
  }

  static func bytes(_ text: String?, _ bytes: [UInt8]?) -> [UInt8] { text.map { Array($0.utf8) } ?? bytes ?? [] }

  /// The content in words: `2 lines, 31 bytes`.
  static func words(_ bytes: [UInt8]) -> String {
    let size = "\(bytes.count) byte\(bytes.count == 1 ? "" : "s")"
    guard String(validating: bytes, as: UTF8.self) != nil, !bytes.contains(0) else { return size }
    let breaks = bytes.count { $0 == ASCII.newline }
    let lines = bytes.isEmpty || bytes.last == ASCII.newline ? breaks : breaks + 1
    return "\(lines) line\(lines == 1 ? "" : "s"), \(size)"
  }
}
