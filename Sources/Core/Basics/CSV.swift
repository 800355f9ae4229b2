// CSV after RFC 4180, with either line break.
//
// A field in double quotes may hold separators, line breaks and doubled quotes; a quote inside a field that does not
// begin with one is text. A byte order mark and empty lines are skipped. Every field is read as text: `007` stays what
// it is.
//
// Written are quotes where they are needed, and a line break after each record, the last one's included.

private let quote = ASCII.quote
private let newline = ASCII.newline
private let carriageReturn = ASCII.carriageReturn

/// Why a text isn't CSV.
package struct CSVError: Error {
  /// The fault and its place: no full stop, lower case.
  package var message: String
}

/// Reads one record after another.
package struct CSVReader {
  private let bytes: [UInt8]
  private let separator: UInt8
  private var index: Int
  private var line = 1
  /// The number of the last record's first line.
  package private(set) var recordLine = 1

  /// Begins to read UTF-8.
  package init(_ bytes: [UInt8], separator: UInt8) {
    self.bytes = bytes
    self.separator = separator
    index = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
  }

  /// The octet of a separator: one ASCII character that isn't a quote or a line break.
  package static func separator(_ text: String) -> UInt8? {
    guard text.utf8.count == 1, let byte = text.utf8.first, byte < 0x80, byte != quote, byte != newline,
      byte != carriageReturn
    else { return nil }
    return byte
  }

  /// The next record, which has at least one field; nil after the last one.
  package mutating func next() throws(CSVError) -> [String]? {
    while index < bytes.count, skipLineBreak() {}
    guard index < bytes.count else { return nil }
    recordLine = line
    var fields: [String] = []
    while true {
      fields.append(try field())
      guard index < bytes.count, bytes[index] == separator else { break }
      index += 1
    }
    _ = skipLineBreak()
    return fields
  }

  /// The first record, which names the columns, each once; nil if there is none.
  package mutating func header() throws(CSVError) -> [String]? {
    guard let names = try next() else { return nil }
    var columns = ValueMap()
    for name in names where columns.insert(.init(key: .string(name), value: .null)) != nil {
      throw CSVError(message: "the column '\(name)' is there twice in the first line of the CSV")
    }
    return names
  }

  /// The next record, which has a field for each of that many columns.
  package mutating func record(ofColumns count: Int) throws(CSVError) -> [String]? {
    guard let fields = try next() else { return nil }
    guard fields.count == count else {
      throw CSVError(
        message:
          "line \(recordLine) of the CSV has \(fields.count) field\(fields.count == 1 ? "" : "s") and the first \(count)"
      )
    }
    return fields
  }

  private mutating func skipLineBreak() -> Bool {
    guard index < bytes.count, bytes[index] == newline || bytes[index] == carriageReturn else { return false }
    if bytes[index] == carriageReturn, index + 1 < bytes.count, bytes[index + 1] == newline { index += 1 }
    index += 1
    line += 1
    return true
  }

  private mutating func field() throws(CSVError) -> String {
    guard index < bytes.count, bytes[index] == quote else {
      let start = index
      while index < bytes.count, !isEnd(bytes[index]) { index += 1 }
      return String(decoding: bytes[start..<index], as: UTF8.self)
    }
    let startLine = line
    var content: [UInt8] = []
    index += 1
    while true {
      guard index < bytes.count else {
        throw CSVError(message: "a quoted field of the CSV that begins on line \(startLine) has no end")
      }
      if bytes[index] == quote {
        index += 1
        guard index < bytes.count, bytes[index] == quote else { break }
      } else if bytes[index] == newline || bytes[index] == carriageReturn && bytes.dropFirst(index + 1).first != newline
      {
        line += 1
      }
      content.append(bytes[index])
      index += 1
    }
    guard index == bytes.count || isEnd(bytes[index]) else {
      throw CSVError(
        message: "line \(line) of the CSV has text after a closing quote; a quote inside a field is written twice")
    }
    return String(decoding: content, as: UTF8.self)
  }

  private func isEnd(_ byte: UInt8) -> Bool { byte == separator || byte == newline || byte == carriageReturn }
}

/// Writes one record after another.
package struct CSVWriter {
  /// The records written so far, in UTF-8.
  package private(set) var bytes: [UInt8] = []
  private let separator: UInt8
  private let lineBreak: [UInt8]

  /// Begins to write; each line ends with one character, or with two as RFC 4180 has it and Windows programs like it.
  package init(separator: UInt8, endsLinesWithTwo: Bool = false) {
    self.separator = separator
    lineBreak = endsLinesWithTwo ? [carriageReturn, newline] : [newline]
  }

  /// Adds a record.
  package mutating func append(_ fields: [String]) {
    for (index, field) in fields.enumerated() {
      if index > 0 { bytes.append(separator) }
      // A line of one empty field would be an empty line.
      let needsQuotes =
        field.utf8.contains { $0 == separator || $0 == quote || $0 == newline || $0 == carriageReturn }
        || field.isEmpty && fields.count == 1
      guard needsQuotes else {
        bytes += field.utf8
        continue
      }
      bytes.append(quote)
      for byte in field.utf8 {
        if byte == quote { bytes.append(quote) }
        bytes.append(byte)
      }
      bytes.append(quote)
    }
    bytes += lineBreak
  }
}

extension Value {
  /// The value as a field of a record, null as an empty one; nil if it is none that a field could hold.
  package var csvField: String? {
    switch content {
    case .null: ""
    case .bool(let flag): flag ? "true" : "false"
    case .int(let number): String(number)
    case .uint(let number): String(number)
    case .double(let number): number.written(exponentFrom: 21)
    case .string(let text): text
    case .timestamp(let instant): instant.description
    case .duration(let span): span.description
    case .optional(let wrapped): wrapped.map(\.csvField) ?? ""
    case .masked(let text): text.displayed
    case .bytes, .list, .map, .type: nil
    }
  }
}

extension ValueType {
  /// The kind of values of this type that a field can't hold, such as `list`; nil if a field can hold them all.
  ///
  /// A type with several alternatives gives the first kind that a field can't hold.
  package var csvMisfit: String? {
    switch self {
    case .optional(let of), .wrapper(let of), .secret(let of): of.csvMisfit
    case .list: "list"
    case .map, .object: "map"
    case .bytes: "bytes"
    case .type: "type"
    default: mixedParts?.lazy.compactMap(\.csvMisfit).first
    }
  }

  /// The same kind with its article, as messages name values.
  package var csvMisfitKind: String? { csvMisfit.map { $0 == "bytes" ? $0 : "a \($0)" } }
}
