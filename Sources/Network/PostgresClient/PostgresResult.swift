package import Basics
import CPostgres

/// The result of a statement: its rows, read from libpq's memory.
package final class PostgresResult: @unchecked Sendable {
  // Unchecked, because libpq doesn't change a result once it is there.
  private let result: OpaquePointer

  /// Takes over a result.
  init(owning result: OpaquePointer) { self.result = result }

  deinit { cpostgres.clear(result) }

  /// How many rows there are.
  package var count: Int { max(0, Int(cpostgres.ntuples(result))) }

  package var isEmpty: Bool { count == 0 }

  package var rows: [PostgresRow] { (0..<count).map { PostgresRow(result: self, index: Int32($0)) } }

  /// The first row, if there is one.
  package var first: PostgresRow? { isEmpty ? nil : PostgresRow(result: self, index: 0) }

  /// How many rows were changed, or read.
  package var affected: Int { cpostgres.cmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0 }

  /// The command that was executed, such as `COMMIT`.
  var command: String { cpostgres.cmdStatus(result).map { String(cString: $0) } ?? "" }

  /// A part of the server's error; empty if it has none.
  static func part(_ part: Int, of result: OpaquePointer?) -> String {
    cpostgres.resultErrorField(result, Int32(part)).map { String(cString: $0) } ?? ""
  }

  private func checkedColumn(_ column: Int) throws(PostgresError) -> Int32 {
    guard column >= 0, column < Int(cpostgres.nfields(result)) else {
      throw PostgresError(.protocolError, "the answer has no column \(column)")
    }
    return Int32(column)
  }

  fileprivate func isNull(_ row: Int32, _ column: Int) throws(PostgresError) -> Bool {
    cpostgres.getisnull(result, row, try checkedColumn(column)) != 0
  }

  /// The type of a column as the server numbers it.
  fileprivate func type(_ column: Int) throws(PostgresError) -> UInt32 {
    cpostgres.ftype(result, try checkedColumn(column))
  }

  /// A value's bytes, which last as long as this.
  fileprivate func bytes(
    _ row: Int32, _ column: Int, as type: PostgresType, size: Int? = nil
  ) throws(PostgresError) -> UnsafeRawBufferPointer {
    let number = try checkedColumn(column)
    let found = cpostgres.ftype(result, number)
    guard found == type.rawValue, cpostgres.fformat(result, number) == 1 else {
      let name = PostgresType(rawValue: found)?.name ?? "of type \(found)"
      throw PostgresError(.protocolError, "column \(column) of the answer is \(name), not \(type.name)")
    }
    guard cpostgres.getisnull(result, row, number) == 0, let value = cpostgres.getvalue(result, row, number) else {
      throw PostgresError(.protocolError, "column \(column) of the answer is null")
    }
    let bytes = UnsafeRawBufferPointer(start: value, count: max(0, Int(cpostgres.getlength(result, row, number))))
    if let size, bytes.count != size { throw damaged(column, type) }
    return bytes
  }

  fileprivate func damaged(_ column: Int, _ type: PostgresType) -> PostgresError {
    PostgresError(.protocolError, "column \(column) of the answer isn't a valid \(type.name)")
  }
}

/// A row of a result; columns are counted from 0, and each is read as the type that it has.
package struct PostgresRow: Sendable {
  fileprivate let result: PostgresResult
  fileprivate let index: Int32

  package func isNull(_ column: Int) throws(PostgresError) -> Bool { try result.isNull(index, column) }

  package func bool(_ column: Int) throws(PostgresError) -> Bool {
    try result.bytes(index, column, as: .bool, size: 1)[0] != 0
  }

  package func int32(_ column: Int) throws(PostgresError) -> Int32 {
    try result.bytes(index, column, as: .int32, size: 4).int32(at: 0)
  }

  package func int64(_ column: Int) throws(PostgresError) -> Int {
    try result.bytes(index, column, as: .int64, size: 8).int64(at: 0)
  }

  /// Text, or the text of `jsonb`.
  package func text(_ column: Int) throws(PostgresError) -> String {
    let isJSON = try result.type(column) == PostgresType.json.rawValue
    var bytes = try result.bytes(index, column, as: isJSON ? .json : .text)[...]
    if isJSON { guard bytes.popFirst() == 1 else { throw result.damaged(column, .json) } }
    guard let text = String(validating: bytes, as: UTF8.self) else { throw result.damaged(column, .text) }
    return text
  }

  package func bytes(_ column: Int) throws(PostgresError) -> [UInt8] {
    Array(try result.bytes(index, column, as: .bytes))
  }

  /// In lower case.
  package func uuid(_ column: Int) throws(PostgresError) -> String {
    try result.bytes(index, column, as: .uuid, size: 16).uuid
  }

  package func timestamp(_ column: Int) throws(PostgresError) -> Timestamp {
    guard let instant = try result.bytes(index, column, as: .timestamp, size: 8).timestamp else {
      throw result.damaged(column, .timestamp)
    }
    return instant
  }

  package func int32s(_ column: Int) throws(PostgresError) -> [Int32] {
    try elements(column, .int32s, .int32, size: 4).map { $0.int32(at: 0) }
  }

  package func int64s(_ column: Int) throws(PostgresError) -> [Int] {
    try elements(column, .int64s, .int64, size: 8).map { $0.int64(at: 0) }
  }

  package func texts(_ column: Int) throws(PostgresError) -> [String] {
    var texts: [String] = []
    for element in try elements(column, .texts, .text) {
      guard let text = String(validating: element, as: UTF8.self) else { throw result.damaged(column, .texts) }
      texts.append(text)
    }
    return texts
  }

  package func byteStrings(_ column: Int) throws(PostgresError) -> [[UInt8]] {
    try elements(column, .byteStrings, .bytes).map { Array($0) }
  }

  package func uuids(_ column: Int) throws(PostgresError) -> [String] {
    try elements(column, .uuids, .uuid, size: 16).map(\.uuid)
  }

  /// The elements of an array of one dimension without nulls.
  private func elements(
    _ column: Int, _ type: PostgresType, _ element: PostgresType, size: Int? = nil
  ) throws(PostgresError) -> [UnsafeRawBufferPointer] {
    let bytes = try result.bytes(index, column, as: type)
    guard bytes.count >= 12, bytes.int32(at: 8) == Int32(truncatingIfNeeded: element.rawValue) else {
      throw result.damaged(column, type)
    }
    if bytes.int32(at: 0) == 0, bytes.count == 12 { return [] }
    guard bytes.int32(at: 0) == 1, bytes.count >= 20 else { throw result.damaged(column, type) }
    var elements: [UnsafeRawBufferPointer] = []
    var position = 20
    while position < bytes.count {
      guard bytes.count - position >= 4, case let length = Int(bytes.int32(at: position)), length >= 0,
        length <= bytes.count - position - 4, size == nil || size == length
      else { throw result.damaged(column, type) }
      elements.append(UnsafeRawBufferPointer(rebasing: bytes[position + 4..<position + 4 + length]))
      position += 4 + length
    }
    guard elements.count == Int(bytes.int32(at: 12)) else { throw result.damaged(column, type) }
    return elements
  }
}

extension UnsafeRawBufferPointer {
  fileprivate func int32(at offset: Int) -> Int32 {
    Int32(bigEndian: loadUnaligned(fromByteOffset: offset, as: Int32.self))
  }

  fileprivate func int64(at offset: Int) -> Int { Int(bigEndian: loadUnaligned(fromByteOffset: offset, as: Int.self)) }

  /// Nil beyond the years 1 to 9999, and for infinity.
  fileprivate var timestamp: Timestamp? {
    let microseconds = int64(at: 0)
    return Timestamp(
      seconds: microseconds.flooredDivision(by: 1_000_000) + postgresEpoch,
      nanoseconds: microseconds.flooredRemainder(by: 1_000_000) * 1000)
  }

  fileprivate var uuid: String {
    String(unsafeUninitializedCapacity: 36) { text in
      var end = 0
      for (index, byte) in enumerated() {
        if index == 4 || index == 6 || index == 8 || index == 10 {
          text[end] = ASCII.minus
          end += 1
        }
        text[end] = digit(byte >> 4)
        text[end + 1] = digit(byte & 15)
        end += 2
      }
      return end
    }
  }

  private func digit(_ value: UInt8) -> UInt8 { value + (value < 10 ? ASCII.zero : 0x57) }
}
