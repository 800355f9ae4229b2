/// CRC-64/XZ (ECMA-182 reflected), which finds every flipped bit and every burst of up to 64 bits.
///
/// It guards against damage, not against malice. Eight tables allow for eight bytes at a time.
struct Checksum: Sendable, Equatable {
  private(set) var value: UInt64 = 0

  init() {}

  /// Continues from an earlier checksum.
  init(_ value: UInt64) { self.value = value }

  /// Reads sixteen lower-case hexadecimal digits.
  init?(_ text: String) {
    guard text.utf8.count == 16, text.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }),
      let value = UInt64(text, radix: 16)
    else { return nil }
    self.value = value
  }

  /// Sixteen lower-case hexadecimal digits.
  var text: String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }

  // For speed, because every byte of a journal goes through it, where the module is built for size.
  @_optimize(speed)
  mutating func update(_ bytes: UnsafeRawBufferPointer) {
    var crc = ~value
    var index = 0
    Checksum.tables.withUnsafeBufferPointer { tables in
      while index + 8 <= bytes.count {
        crc ^= UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
        // From the byte with the longest distance to the end to the one with the shortest.
        var next: UInt64 = 0
        var byte = 0
        while byte < 8 {
          next ^= tables[(7 - byte) << 8 | Int(truncatingIfNeeded: (crc >> UInt64(byte << 3)) & 0xFF)]
          byte += 1
        }
        crc = next
        index += 8
      }
      while index < bytes.count {
        crc = tables[Int(truncatingIfNeeded: (crc ^ UInt64(bytes[index])) & 0xFF)] ^ (crc >> 8)
        index += 1
      }
    }
    value = ~crc
  }

  mutating func update(_ bytes: some Sequence<UInt8>) {
    if bytes.withContiguousStorageIfAvailable({ update(UnsafeRawBufferPointer($0)) }) == nil {
      update(Array(bytes))
    }
  }

  private static let tables: [UInt64] = {
    var tables = [UInt64](repeating: 0, count: 8 * 256)
    for index in 0..<256 {
      var crc = UInt64(index)
      for _ in 0..<8 { crc = crc & 1 == 1 ? (crc >> 1) ^ 0xC96C_5795_D787_0F42 : crc >> 1 }
      tables[index] = crc
    }
    for index in 256..<tables.count {
      let shorter = tables[index - 256]
      tables[index] = tables[Int(shorter & 0xFF)] ^ (shorter >> 8)
    }
    return tables
  }()
}
