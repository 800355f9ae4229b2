import Basics

// Our own library `csv`, over the reader and writer in `Basics/CSV.swift`.
//
// The first line names the columns; a line with another number of fields is an error that says its line number. The
// writer outputs the columns of all rows in the order of their first appearance, with LF line endings.

let csvFunctions: [FunctionDeclaration] = [
  FunctionDeclaration(
    "csv.parse", parameters: [.string], result: rows,
    summary: "The rows of a CSV text as maps, whose keys are the names in its first line; all values are texts.",
    example: "csv.parse('name,mark\\nAda,93')[0].mark == '93'"
  ) { arguments, context throws(EvaluationError) in
    try parse(arguments.string(0), separator: ASCII.comma, &context)
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
    summary: "Rows as a CSV text, whose first line has all their keys.",
    example: "csv.format([{'name': 'Ada, Countess', 'mark': 93}]) == 'name,mark\\n\"Ada, Countess\",93\\n'",
    typeCheck: cellCheck
  ) { arguments, context throws(EvaluationError) in
    try format(arguments.list(0), separator: ASCII.comma, &context)
  },
  FunctionDeclaration(
    "csv.format", parameters: [.list(.map(.string, .dyn)), .string], result: .string,
    summary: "The same with another separator.",
    example: "csv.format([{'a': 1, 'b': 2}], ';') == 'a;b\\n1;2\\n'",
    literalCheck: checking((1, { text throws(EvaluationError) in _ = try separator(text) })), typeCheck: cellCheck
  ) { arguments, context throws(EvaluationError) in
    try format(arguments.list(0), separator: separator(arguments.string(1)), &context)
  },
]

/// Checks that the values in the rows can be written to CSV.
private let cellCheck: FunctionDeclaration.TypeCheck = { types in
  func fault(_ type: ValueType, _ name: String?) -> LiteralFault? {
    guard let found = type.csvMisfit else { return nil }
    let cell = name.map { "a cell, as `\($0)` has it" } ?? "a cell"
    return LiteralFault(argument: 0, "csv.format() writes no \(found) into \(cell); write json.format(x) for it")
  }
  guard case .list(let row)? = types.first else { return nil }
  return switch row {
  case .map(_, let value): fault(value, nil)
  case .object(let object): object.fields.lazy.compactMap { fault($0.type, $0.name) }.first
  default: nil
  }
}

private let rows = ValueType.list(.map(.string, .string))

private func separator(_ text: String) throws(EvaluationError) -> UInt8 {
  guard let byte = CSVReader.separator(text) else {
    throw EvaluationError("\(written(.string(text))) isn't a separator; give one ASCII character such as ';' or '\\t'")
  }
  return byte
}

private func parse(
  _ text: String, separator: UInt8, _ context: inout EvaluationContext
) throws(EvaluationError) -> Value {
  try context.charge(reading: text.utf8.count)
  do {
    var reader = CSVReader(Array(text.utf8), separator: separator)
    guard let header = try reader.header() else { return .list([]) }
    var rows: [Value] = []
    while let record = try reader.record(ofColumns: header.count) {
      try context.charge(
        bytes: record.count * MemoryLayout<ValueMap.Member>.stride + record.reduce(0) { $0 + $1.utf8.count })
      var row = ValueMap()
      row.reserveCapacity(record.count)
      for (name, field) in zip(header, record) { row[name] = .string(field) }
      rows.append(.map(row))
    }
    return .list(rows)
  } catch let error as CSVError {
    throw EvaluationError(error.message)
  } catch let error as EvaluationError {
    throw error
  } catch {
    throw EvaluationError("\(error)")
  }
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
  var writer = CSVWriter(separator: separator)
  func append(_ fields: [String]) throws(EvaluationError) {
    let before = writer.bytes.count
    writer.append(fields)
    try context.charge(bytes: writer.bytes.count - before)
  }
  var header: [String] = []
  for name in names { header.append(try field(name, "a key")) }
  try append(header)
  for row in rows {
    guard let map = row.map else { continue }
    var fields: [String] = []
    for name in names { fields.append(try field(map[name] ?? .null, "'\(header[fields.count])'")) }
    try append(fields)
  }
  return .string(String(decoding: writer.bytes, as: UTF8.self))
}

/// The text of a value in a CSV field.
private func field(_ value: Value, _ what: String) throws(EvaluationError) -> String {
  guard let text = value.csvField else {
    throw EvaluationError("\(what) is \(value.kindName), which no field of a CSV can hold; write json.format(x) for it")
  }
  return text
}
