import Basics

// Our own library `csv`: RFC 4180, with either line break.
//
// The first line names the columns. A field in double quotes may hold separators, line breaks and doubled quotes; a quote
// inside a field that does not begin with one is text. A byte order mark and empty lines are skipped. Every field is read
// as text: `007` stays what it is. A line with another number of fields than the first is an error with its number.
//
// Written are the columns of all rows in the order in which they first appear, quotes where they are needed, and line
// breaks of one character, the last line's included.

let csvFunctions: [FunctionDeclaration] = [
  FunctionDeclaration(
    "csv.parse", parameters: [.string], result: rows,
    summary: "The rows of a text in CSV as maps by the names in its first line; all values are texts.",
    example: "csv.parse('name,mark\\nAda,93')[0].mark == '93'"
  ) { arguments, context throws(EvaluationError) in
    try parse(arguments.string(0), separator: UInt8(ascii: ","), &context)
  },
  FunctionDeclaration(
    "csv.parse", parameters: [.string, .string], result: rows,
    summary: "The same with another separator, such as ';' or a tab.",
    example: "csv.parse('name;mark\\nAda;93', ';')[0].name == 'Ada'",
    literalCheck: checking((1, { text throws(EvaluationError) in _ = try separator(text) }))
  ) { arguments, context throws(EvaluationError) in
    try parse(arguments.string(0), separator: separator(arguments.string(1)), &context)
  },
  FunctionDeclaration(
    "csv.format", parameters: [.list(.map(.string, .dyn))], result: .string,
    summary: "Rows as text in CSV, with a first line of all their keys.",
    example: "csv.format([{'name': 'Ada, Countess', 'mark': 93}]) == 'name,mark\\n\"Ada, Countess\",93\\n'"
  ) { arguments, context throws(EvaluationError) in
    try format(arguments.list(0), separator: UInt8(ascii: ","), &context)
  },
  FunctionDeclaration(
    "csv.format", parameters: [.list(.map(.string, .dyn)), .string], result: .string,
    summary: "The same with another separator.",
    example: "csv.format([{'a': 1, 'b': 2}], ';') == 'a;b\\n1;2\\n'",
    literalCheck: checking((1, { text throws(EvaluationError) in _ = try separator(text) }))
  ) { arguments, context throws(EvaluationError) in
    try format(arguments.list(0), separator: separator(arguments.string(1)), &context)
  },
]

private let rows = ValueType.list(.map(.string, .string))
private let quote = UInt8(ascii: "\"")
private let newline = UInt8(ascii: "\n")
private let carriageReturn = UInt8(ascii: "\r")

private func separator(_ text: String) throws(EvaluationError) -> UInt8 {
  guard text.utf8.count == 1, let byte = text.utf8.first, byte < 0x80, byte != quote, byte != newline,
    byte != carriageReturn
  else {
    throw EvaluationError("\(spelled(.string(text))) is no separator; give one ASCII character such as ';' or '\\t'")
  }
  return byte
}

private func parse(
  _ text: String, separator: UInt8, _ context: inout EvaluationContext
) throws(EvaluationError) -> Value {
  try context.charge(reading: text.utf8.count)
  var reader = RecordReader(bytes: Array(text.utf8), separator: separator)
  guard let header = try reader.next() else { return .list([]) }
  var columns = ValueMap()
  for name in header where columns.insert(.init(key: .string(name), value: .null)) != nil {
    throw EvaluationError("the column '\(name)' is there twice in the first line of the CSV")
  }
  var rows: [Value] = []
  while let record = try reader.next() {
    guard record.count == header.count else {
      throw EvaluationError(
        "line \(reader.recordLine) of the CSV has \(counted(record.count, "field")) and the first \(header.count)")
    }
    try context.charge(
      bytes: record.count * MemoryLayout<ValueMap.Member>.stride + record.reduce(0) { $0 + $1.utf8.count })
    var row = ValueMap()
    row.reserveCapacity(record.count)
    for (name, field) in zip(header, record) { row[name] = .string(field) }
    rows.append(.map(row))
  }
  return .list(rows)
}

/// Reads one record after another.
private struct RecordReader {
  let bytes: [UInt8]
  let separator: UInt8
  private var index: Int
  private var line = 1
  /// The line on which the last record began.
  private(set) var recordLine = 1

  init(bytes: [UInt8], separator: UInt8) {
    self.bytes = bytes
    self.separator = separator
    index = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
  }

  mutating func next() throws(EvaluationError) -> [String]? {
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

  private mutating func skipLineBreak() -> Bool {
    guard index < bytes.count, bytes[index] == newline || bytes[index] == carriageReturn else { return false }
    if bytes[index] == carriageReturn, index + 1 < bytes.count, bytes[index + 1] == newline { index += 1 }
    index += 1
    line += 1
    return true
  }

  private mutating func field() throws(EvaluationError) -> String {
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
        throw EvaluationError("a quoted field of the CSV that begins on line \(startLine) has no end")
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
      throw EvaluationError(
        "line \(line) of the CSV has text after a closing quote; a quote inside a field is written twice")
    }
    return String(decoding: content, as: UTF8.self)
  }

  private func isEnd(_ byte: UInt8) -> Bool { byte == separator || byte == newline || byte == carriageReturn }
}

private func format(
  _ rows: [Value], separator: UInt8, _ context: inout EvaluationContext
) throws(EvaluationError) -> Value {
  var columns = ValueMap()
  for (index, row) in rows.enumerated() {
    guard case .map(let map) = row.content else {
      throw EvaluationError("csv.format() takes a list of maps, and item \(index) is \(row.kindName)")
    }
    try context.charge(steps: map.count)
    for member in map.members { _ = columns.insert(member) }
  }
  let names = columns.members.map(\.key)
  guard !names.isEmpty else { return .string("") }
  var result: [UInt8] = []
  func append(_ fields: [String]) throws(EvaluationError) {
    let before = result.count
    for (index, field) in fields.enumerated() {
      if index > 0 { result.append(separator) }
      let bytes = Array(field.utf8)
      // A line of one empty field would be an empty line.
      let needsQuotes =
        bytes.contains { $0 == separator || $0 == quote || $0 == newline || $0 == carriageReturn }
        || bytes.isEmpty && fields.count == 1
      if needsQuotes { result.append(quote) }
      for byte in bytes {
        if byte == quote { result.append(quote) }
        result.append(byte)
      }
      if needsQuotes { result.append(quote) }
    }
    result.append(newline)
    try context.charge(bytes: result.count - before)
  }
  var header: [String] = []
  for name in names { header.append(try field(name, "a key")) }
  try append(header)
  for row in rows {
    guard let map = row.map else { continue }
    var fields: [String] = []
    for name in names {
      fields.append(
        try map[name].map { value throws(EvaluationError) in try field(value, "'\(header[fields.count])'") } ?? "")
    }
    try append(fields)
  }
  return .string(String(decoding: result, as: UTF8.self))
}

/// A value in a field.
private func field(_ value: Value, _ what: String) throws(EvaluationError) -> String {
  switch value.content {
  case .null: ""
  case .bool(let flag): flag ? "true" : "false"
  case .int(let number): String(number)
  case .uint(let number): String(number)
  case .double(let number): spelled(number)
  case .string(let text): text
  case .timestamp(let instant): instant.description
  case .duration(let span): span.description
  case .optional(let wrapped): try wrapped.map { value throws(EvaluationError) in try field(value, what) } ?? ""
  default:
    throw EvaluationError("\(what) is \(value.kindName), which no field of a CSV can hold; write json.format(x) for it")
  }
}
