import ActionKit

// The step's `columns` determine the type of the rows, both when the recipe is checked and when it runs:
//
//     no `columns`                         map(string, string): every field as text
//     `columns: {mark: "double?"}`         an object with these fields and no others
//
// A `?` reads an empty field as an absent one. Without it an empty field is an error, except in a column of texts.

/// The type of a column's fields.
enum ColumnType: String, Choice {
  case string, int, double, bool, date
  case optionalString = "string?"
  case optionalInt = "int?"
  case optionalDouble = "double?"
  case optionalBool = "bool?"
  case optionalDate = "date?"

  var isOptional: Bool { rawValue.hasSuffix("?") }

  var fieldType: FieldType {
    switch self {
    case .string, .optionalString, .date, .optionalDate: .string
    case .int, .optionalInt: .int
    case .double, .optionalDouble: .double
    case .bool, .optionalBool: .bool
    }
  }

  /// The expected value, with its article, for messages.
  private var wanted: String {
    switch self {
    case .string, .optionalString: "a text"
    case .int, .optionalInt: "an int"
    case .double, .optionalDouble: "a number"
    case .bool, .optionalBool: "true or false"
    case .date, .optionalDate: "a date such as 2026-11-20"
    }
  }

  /// The value of a field, nil for an absent one, or the error.
  ///
  /// - Parameter whole: The text that contains the field.
  func value(of field: String, decimal: UInt8, in whole: [UInt8]) -> Result<Value?, ConversionError> {
    if self == .string { return .success(.string(field)) }
    if field.isEmpty, isOptional { return .success(nil) }
    let text = self == .optionalString ? field : field.trimmed
    let value: Value? =
      switch self {
      case .string, .optionalString: .string(text)
      case .int, .optionalInt: Int(text).map { .int($0) }
      case .double, .optionalDouble: ColumnType.number(text, decimal: decimal).map { .double($0) }
      case .bool, .optionalBool:
        switch text.lowercased() {
        case "true", "yes", "1": .bool(true)
        case "false", "no", "0": .bool(false)
        default: nil
        }
      case .date, .optionalDate: TextPattern.date.matches(text) ? .string(text) : nil
      }
    if let value { return .success(value) }
    return .failure(
      ConversionError(
        text: field.isEmpty
          ? "it is empty; write \(rawValue)? if it may be" : "'\(field.excerpt(40, of: whole))' is not \(wanted)"))
  }

  struct ConversionError: Error { var text: String }

  /// A decimal number; no hexadecimal digits, no infinity.
  private static func number(_ text: String, decimal: UInt8) -> Double? {
    var bytes = Array(text.utf8)
    for index in bytes.indices where !ASCII.digits.contains(bytes[index]) {
      switch bytes[index] {
      case decimal: bytes[index] = ASCII.dot
      case ASCII.minus, ASCII.plus, UInt8(ascii: "e"), UInt8(ascii: "E"): break
      default: return nil
      }
    }
    return Double(String(decoding: bytes, as: UTF8.self)).flatMap { $0.isFinite ? $0 : nil }
  }
}

/// The settings for reading CSV.
struct TableReading {
  var separator: String
  var names: [String]?
  var columns: [String: ColumnType]?
  var decimal: DecimalSign
  var limit: Int

  enum DecimalSign: String, Choice {
    case point = "."
    case comma = ","
  }

  /// The rows of a UTF-8 text; `what` names the text in messages.
  func rows(of text: [UInt8], called what: String) throws(ActionError) -> [ValueMap] {
    let line = Self.separatorLine(of: text)
    guard let separator = line ?? CSVReader.separator(separator) else {
      throw ActionError.table(TextPattern.separator.wanted)
    }
    if let names, let twice = Self.twice(names) { throw twice }
    var reader = CSVReader(text, separator: separator)
    do throws(TableError) {
      if line != nil { _ = try told { () throws(CSVError) in try reader.next() } }
      var names = self.names
      if names == nil { names = try told { () throws(CSVError) in try reader.header() } }
      guard let names else {
        guard let first = columns?.keys.sorted().first else { return [] }
        throw TableError(message: "it has no column '\(first)', for it is empty")
      }
      let types = try types(of: names)
      var rows: [ValueMap] = []
      var faults: [String] = []
      while faults.count < 10, let record = try record(&reader, of: names.count) {
        guard rows.count < limit else {
          throw TableError(message: "it has more than \(limit) rows; raise 'limit' if they are wanted")
        }
        var row = ValueMap()
        row.reserveCapacity(record.count)
        for (index, field) in record.enumerated() {
          guard let types else {
            row[names[index]] = .string(field)
            continue
          }
          guard let type = types[index] else { continue }
          switch type.value(of: field, decimal: decimal.rawValue.utf8.first ?? ASCII.dot, in: text) {
          case .success(let value): row[names[index]] = value
          case .failure(let objection):
            faults.append("line \(reader.recordLine), column '\(names[index])': \(objection.text)")
          }
        }
        rows.append(row)
      }
      guard faults.isEmpty else { throw TableError(message: faults.joined(separator: "; ")) }
      return rows
    } catch {
      throw ActionError.table("\(what) cannot be read: \(error.message)")
    }
  }

  /// The separator of a first line such as `sep=;`, which tells Excel how fields are separated.
  private static func separatorLine(of text: [UInt8]) -> UInt8? {
    let line = Array(text.prefix { $0 != ASCII.newline && $0 != ASCII.carriageReturn })
    guard line.count == 5, String(decoding: line.prefix(4), as: UTF8.self).lowercased() == "sep=" else { return nil }
    return CSVReader.separator(String(decoding: line.suffix(1), as: UTF8.self))
  }

  private struct TableError: Error { var message: String }

  private func told<Outcome>(_ read: () throws(CSVError) -> Outcome) throws(TableError) -> Outcome {
    do throws(CSVError) { return try read() } catch { throw TableError(message: error.message) }
  }

  private func record(_ reader: inout CSVReader, of count: Int) throws(TableError) -> [String]? {
    if names == nil { return try told { () throws(CSVError) in try reader.record(ofColumns: count) } }
    guard let record = try told({ () throws(CSVError) in try reader.next() }) else { return nil }
    guard record.count == count else {
      throw TableError(message: "line \(reader.recordLine) has \(record.count) fields, and 'names' \(count)")
    }
    return record
  }

  /// The type of each column of the text, nil for a column that wasn't requested; nil if the step has no `columns`.
  private func types(of names: [String]) throws(TableError) -> [ColumnType?]? {
    guard let columns else { return nil }
    let missing = columns.keys.sorted().filter { wanted in !names.contains { $0.hasSameScalars(as: wanted) } }
    guard missing.isEmpty else {
      throw TableError(
        message: missing.map { name in
          let guess = name.nearest(among: names).map { "did you mean '\($0)'?" }
          return "it has no column '\(name)'; \(guess ?? "it has \(names.joined(separator: ", "))")"
        }.joined(separator: "; "))
    }
    return names.map { columns[$0] }
  }

  /// The error for column names that contain a duplicate.
  private static func twice(_ names: [String]) -> ActionError? {
    var known: Set<String> = []
    return names.first { !known.insert($0).inserted }.map { .table("'names' has '\($0)' twice") }
  }

  /// Errors that are certain before the run: duplicate names, and errors of the table if all inputs are literal.
  static func refusals(of input: StepInput) -> [Refusal] {
    let names = input["names"]
    if let names, input.isKnown(names), let twice = twice((names.list ?? []).compactMap(\.string)) {
      return [Refusal(twice, of: names)]
    }
    guard let text = input["text"], input.isKnown(input.value),
      let table = try? ParseTable.Input(reading: input.value)
    else { return [] }
    do throws(ActionError) {
      _ = try table.rows()
      return []
    } catch {
      return [Refusal(error, of: text)]
    }
  }

  /// A declared output; the input's `columns` determine the type of its rows.
  static func shaped(_ output: ObjectSchema, for input: Value) -> ObjectSchema {
    let row: FieldType
    if let columns = input["columns"], !columns.isNull {
      guard let map = columns.map else { return output }
      row = .object(
        ObjectSchema(
          fields: map.members.compactMap { member in
            guard let name = member.name else { return nil }
            let type = member.value.string.flatMap { ColumnType(rawValue: $0) }
            return FieldSchema(name, type?.fieldType ?? .dyn, "", isOptional: type?.isOptional ?? true)
          }))
    } else {
      row = .map(.string)
    }
    var output = output
    for index in output.fields.indices where output.fields[index].name == "rows" {
      output.fields[index].type = .list(row)
    }
    return output
  }
}

extension TextPattern {
  /// Separator between two fields.
  static let separator = TextPattern(
    "one ASCII character such as ';' or a tab, no quote and no line break", regex: "^[^\"\\n\\r]$",
    accepted: [",", ";", "\t", "|"], refused: ["", ";;", "\"", "\n"]
  ) { CSVReader.separator($0) != nil }
}

extension ActionError {
  /// An error about a table; nothing was done with it.
  static func table(_ message: String) -> ActionError {
    ActionError(.validation, "\(message).")
  }
}
