/// A zip archive with uncompressed entries (PKWARE's APPNOTE, sections 4.3.7, 4.3.12 and 4.3.16).
///
/// Each entry is a local header and its bytes. After the last entry come the central directory, which repeats the
/// headers with their offsets, and the end record. Names are UTF-8 (bit 11 of the flags). Sizes and offsets are 32 bits
/// wide, which is enough for a sandbox.
package struct StoredArchive {
  private var bytes: [UInt8] = []
  private var directory: [UInt8] = []
  private var count: UInt16 = 0

  package init() {}

  package mutating func add(_ name: String, _ content: [UInt8]) {
    let offset = UInt32(truncatingIfNeeded: bytes.count)
    let size = UInt32(truncatingIfNeeded: content.count)
    // Version needed, flags, method, time and date (1980-01-01), checksum, sizes, lengths of the name and of the extra
    // field.
    var common: [UInt8] = []
    for field: UInt16 in [20, 0x0800, 0, 0, 0x0021] { common.append(little: field) }
    for field in [checksum(content), size, size] { common.append(little: field) }
    common.append(little: UInt16(truncatingIfNeeded: name.utf8.count))
    common.append(little: UInt16(0))

    bytes += [0x50, 0x4B, 0x03, 0x04] + common + name.utf8 + content
    directory += [0x50, 0x4B, 0x01, 0x02, 20, 0] + common
    // Length of the comment, number of the disk, attributes inside and outside.
    for field: UInt16 in [0, 0, 0, 0, 0] { directory.append(little: field) }
    directory.append(little: offset)
    directory += name.utf8
    count &+= 1
  }

  package func finished() -> [UInt8] {
    var end: [UInt8] = [0x50, 0x4B, 0x05, 0x06, 0, 0, 0, 0]
    end.append(little: count)
    end.append(little: count)
    end.append(little: UInt32(truncatingIfNeeded: directory.count))
    end.append(little: UInt32(truncatingIfNeeded: bytes.count))
    end.append(little: UInt16(0))
    return bytes + directory + end
  }

  /// CRC-32 with the reversed polynomial 0xEDB88320.
  private func checksum(_ content: [UInt8]) -> UInt32 {
    var sum: UInt32 = .max
    for byte in content {
      sum ^= UInt32(byte)
      for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
    }
    return ~sum
  }
}

extension [UInt8] {
  fileprivate mutating func append(little field: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: field.littleEndian) { append(contentsOf: $0) }
  }
}
