import CZip
import Foundation
import Testing

@Suite struct CZipTests {
  /// Writes an archive with an entry for each text, changes its bytes, and checks it.
  private func check(
    _ texts: [String], maxEntries: UInt64 = 10, maxUnpackedBytes: UInt64 = 10_000,
    changing change: (inout Data) -> Void = { _ in }
  ) throws -> (report: CZipReport, fault: String) {
    try #require(czip_load() == nil)
    var archive = Data()
    for (number, text) in texts.enumerated() { archive.addEntry("\(number).txt", Data(text.utf8)) }
    archive.endArchive(texts.count)
    change(&archive)
    let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).zip")
    try archive.write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    var report = czip_check(file.path, maxEntries, maxUnpackedBytes)
    let fault = withUnsafeBytes(of: &report.fault) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    return (report, fault)
  }

  @Test func `passes a sound archive`() throws {
    let (report, fault) = try check(["hello", "", "world!"])
    #expect(fault == "")
    #expect(report.entries == 3)
    #expect(report.unpackedBytes == 11)
  }

  @Test func `finds damage by the checksum`() throws {
    let (_, fault) = try check(["hello", "world"]) { archive in
      let content = archive.firstRange(of: Data("world".utf8))
      archive[content?.lowerBound ?? 0] ^= 1
    }
    #expect(fault == "entry '1.txt' is damaged: CRC error")
  }

  @Test func `finds an archive that is cut short`() throws {
    let (_, fault) = try check(["hello"]) { $0.removeLast(30) }
    #expect(fault == "it is no sound zip archive: Not a zip archive")
  }

  @Test func `keeps to its limits`() throws {
    #expect(try check(["a", "b", "c"], maxEntries: 2).fault == "it has more than 2 entries")
    #expect(try check(["hello", "world"], maxUnpackedBytes: 9).fault == "it unpacks to more than 9 bytes")
  }
}

extension Data {
  /// A stored entry (APPNOTE 4.3.7), without compression.
  fileprivate mutating func addEntry(_ name: String, _ content: Data) {
    append(number: 0x0403_4B50 as UInt32)
    append(entryFields(name, content))
    append(Data(name.utf8) + content)
  }

  /// The directory of an archive whose entries are all stored and named as above (4.3.12, 4.3.16).
  fileprivate mutating func endArchive(_ count: Int) {
    var directory = Data()
    var offset = 0
    for _ in 0..<count {
      let header = self[offset..<offset + 30]
      let size = Int(header[offset + 18]) + Int(header[offset + 26])
      directory.append(number: 0x0201_4B50 as UInt32)
      directory.append(number: 20 as UInt16)
      directory.append(header.dropFirst(4))
      for _ in 0..<3 { directory.append(number: 0 as UInt16) }
      directory.append(number: 0 as UInt32)
      directory.append(number: UInt32(offset))
      directory.append(self[offset + 30..<offset + 30 + Int(header[offset + 26])])
      offset += 30 + size
    }
    append(directory)
    append(number: 0x0605_4B50 as UInt32)
    append(number: 0 as UInt32)
    append(number: UInt16(count))
    append(number: UInt16(count))
    append(number: UInt32(directory.count))
    append(number: UInt32(offset))
    append(number: 0 as UInt16)
  }

  private func entryFields(_ name: String, _ content: Data) -> Data {
    var fields = Data()
    for field in [20, 0, 0, 0, 0x21] as [UInt16] { fields.append(number: field) }
    for field in [Data.checksum(content), UInt32(content.count), UInt32(content.count)] { fields.append(number: field) }
    for field in [UInt16(name.utf8.count), 0] { fields.append(number: field) }
    return fields
  }

  private mutating func append(number: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: number.littleEndian) { append(contentsOf: $0) }
  }

  /// CRC-32, bit by bit.
  private static func checksum(_ content: Data) -> UInt32 {
    ~content.reduce(~0 as UInt32) { sum, byte in
      (0..<8).reduce(sum ^ UInt32(byte)) { sum, _ in sum & 1 == 1 ? sum >> 1 ^ 0xEDB8_8320 : sum >> 1 }
    }
  }
}
