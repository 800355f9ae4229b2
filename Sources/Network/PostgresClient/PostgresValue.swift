package import Basics
import Glibc

/// A statement with the values of its parameters `$1`, `$2` and so on.
///
/// A connection prepares each text once, so texts should be constant and values parameters.
package struct PostgresStatement: Sendable {
  package var text: String
  package var values: [PostgresValue]

  package init(_ text: String, _ values: PostgresValue...) {
    self.text = text
    self.values = values
  }
}

/// The value of a parameter, which has a type even if it is null.
package enum PostgresValue: Hashable, Sendable {
  case bool(Bool?)
  case int32(Int32?)
  case int64(Int?)
  case text(String?)
  case bytes([UInt8]?)
  /// In its text form.
  case uuid(String?)
  /// To the microsecond; what is below is cut off.
  case timestamp(Timestamp?)
  /// JSON text, as `jsonb`.
  case json(String?)
  case int32s([Int32])
  case int64s([Int])
  case texts([String])
  case byteStrings([[UInt8]])
  case uuids([String])
  case timestamps([Timestamp])
}

/// The types that are sent and read, with their numbers in every server (`pg_type.dat`).
enum PostgresType: UInt32 {
  case bool = 16
  case bytes = 17
  case int64 = 20
  case int32 = 23
  case text = 25
  case timestamp = 1184
  case uuid = 2950
  case json = 3802
  case byteStrings = 1001
  case int32s = 1007
  case texts = 1009
  case int64s = 1016
  case timestamps = 1185
  case uuids = 2951

  /// The server's name.
  var name: String {
    switch self {
    case .bool: "bool"
    case .bytes: "bytea"
    case .int64: "int8"
    case .int32: "int4"
    case .text: "text"
    case .timestamp: "timestamptz"
    case .uuid: "uuid"
    case .json: "jsonb"
    case .byteStrings: "bytea[]"
    case .int32s: "int4[]"
    case .texts: "text[]"
    case .int64s: "int8[]"
    case .timestamps: "timestamptz[]"
    case .uuids: "uuid[]"
    }
  }
}

/// 2000-01-01T00:00:00Z, the server's zero of time, in seconds since 1970.
let postgresEpoch = 946_684_800

/// Values as the server's binary formats have them (the functions `…send` and `…recv` of its types), in one buffer.
struct PostgresParameters {
  private(set) var bytes: [UInt8] = []
  private(set) var types: [UInt32] = []
  /// Where each value begins; nil for null.
  private(set) var offsets: [Int?] = []
  private(set) var lengths: [Int32] = []
  /// The fault of a value, without the value.
  private var fault: String?

  init(_ values: [PostgresValue]) throws(PostgresError) {
    guard values.count <= 65535 else { throw PostgresError(.invalid, "a statement has more than 65535 parameters") }
    for value in values {
      let offset = bytes.count
      let (type, isNull) = append(value)
      // The server refuses more than a gibibyte, and libpq counts in 32 bits.
      if bytes.count - offset >= 1 << 30 { fault = "has more than a gibibyte" }
      if let fault { throw PostgresError(.invalid, "the value of $\(types.count + 1) \(fault)") }
      types.append(type.rawValue)
      offsets.append(isNull ? nil : offset)
      lengths.append(Int32(truncatingIfNeeded: bytes.count - offset))
    }
    // An empty buffer has no address, and without one a value is null.
    bytes.append(0)
  }

  private mutating func append(_ value: PostgresValue) -> (PostgresType, isNull: Bool) {
    switch value {
    case .bool(let value):
      if let value { bytes.append(value ? 1 : 0) }
      return (.bool, value == nil)
    case .int32(let value):
      if let value { append(value) }
      return (.int32, value == nil)
    case .int64(let value):
      if let value { append(value) }
      return (.int64, value == nil)
    case .text(let value):
      if let value { append(text: value) }
      return (.text, value == nil)
    case .bytes(let value):
      if let value { bytes += value }
      return (.bytes, value == nil)
    case .uuid(let value):
      if let value { append(uuid: value) }
      return (.uuid, value == nil)
    case .timestamp(let value):
      if let value { append(timestamp: value) }
      return (.timestamp, value == nil)
    case .json(let value):
      if let value {
        // The version of the format.
        bytes.append(1)
        append(text: value)
      }
      return (.json, value == nil)
    case .int32s(let values):
      beginArray(of: .int32, values.count, size: 4)
      for value in values {
        append(4 as Int32)
        append(value)
      }
      return (.int32s, false)
    case .int64s(let values):
      beginArray(of: .int64, values.count, size: 8)
      for value in values {
        append(8 as Int32)
        append(value)
      }
      return (.int64s, false)
    case .texts(let values):
      beginArray(of: .text, values.count, size: values.reduce(0) { $0 + $1.utf8.count } / max(1, values.count) + 1)
      for value in values {
        append(Int32(truncatingIfNeeded: value.utf8.count))
        append(text: value)
      }
      return (.texts, false)
    case .byteStrings(let values):
      beginArray(of: .bytes, values.count, size: 0)
      for value in values {
        append(Int32(truncatingIfNeeded: value.count))
        bytes += value
      }
      return (.byteStrings, false)
    case .uuids(let values):
      beginArray(of: .uuid, values.count, size: 16)
      for value in values {
        append(16 as Int32)
        append(uuid: value)
      }
      return (.uuids, false)
    case .timestamps(let values):
      beginArray(of: .timestamp, values.count, size: 8)
      for value in values {
        append(8 as Int32)
        append(timestamp: value)
      }
      return (.timestamps, false)
    }
  }

  /// The number of dimensions, whether there are nulls, the type, the length and the number of the first element.
  private mutating func beginArray(of type: PostgresType, _ count: Int, size: Int) {
    if count * (size + 4) > bytes.capacity - bytes.count {
      bytes.reserveCapacity(bytes.count + count * (size + 4) + 1024)
    }
    append(count == 0 ? 0 : 1 as Int32)
    append(0 as Int32)
    append(Int32(truncatingIfNeeded: type.rawValue))
    if count == 0 { return }
    append(Int32(truncatingIfNeeded: count))
    append(1 as Int32)
  }

  private mutating func append(_ number: Int32) {
    withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
  }

  private mutating func append(_ number: Int) {
    withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
  }

  private mutating func append(text: String) {
    let start = bytes.count
    bytes.append(contentsOf: text.utf8)
    let hasZero = bytes.withUnsafeBytes { bytes in
      bytes.baseAddress.map { memchr($0 + start, 0, bytes.count - start) != nil } ?? false
    }
    if hasZero { fault = "has a zero byte, which PostgreSQL doesn't store in text" }
  }

  private mutating func append(uuid: String) {
    var uuid = uuid
    let isRead = uuid.withUTF8 { text in
      guard text.count == 36, text[8] == ASCII.minus, text[13] == ASCII.minus, text[18] == ASCII.minus,
        text[23] == ASCII.minus
      else { return false }
      var index = 0
      while index < 36 {
        if index == 8 || index == 13 || index == 18 || index == 23 { index += 1 }
        guard let high = digit(text[index]), let low = digit(text[index + 1]) else { return false }
        bytes.append(high << 4 | low)
        index += 2
      }
      return true
    }
    if !isRead { fault = "isn't a UUID" }
  }

  private func digit(_ byte: UInt8) -> UInt8? {
    switch byte {
    case ASCII.digits: byte - ASCII.zero
    case 0x41...0x46: byte - 0x37
    case 0x61...0x66: byte - 0x57
    default: nil
    }
  }

  private mutating func append(timestamp: Timestamp) {
    append((timestamp.seconds - postgresEpoch) * 1_000_000 + Int(timestamp.nanoseconds / 1000))
  }
}
