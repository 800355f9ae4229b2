import Testing

@testable import RunState

@Suite struct ChecksumTests {
  @Test(arguments: [
    ("", "0000000000000000"), ("123456789", "995dc9bbdf1939fa"),
    ("The quick brown fox jumps over the lazy dog", "5b5eb8c2e54aa1c4"),
  ])
  func `is CRC-64/XZ`(_ text: String, _ sum: String) {
    var checksum = Checksum()
    checksum.update(text.utf8)
    #expect(checksum.text == sum)
    #expect(Checksum(sum) == checksum)
  }

  @Test func `continues from where it stopped`() {
    let bytes = (0..<100).map { UInt8($0) }
    var whole = Checksum()
    whole.update(bytes)
    for cut in bytes.indices {
      var checksum = Checksum()
      checksum.update(bytes[..<cut])
      checksum = Checksum(checksum.value)
      checksum.update(bytes[cut...])
      #expect(checksum == whole)
    }
  }

  @Test(arguments: ["", "995dc9bbdf1939f", "995DC9BBDF1939FA", "995dc9bbdf1939fa0", "+95dc9bbdf1939fa"])
  func `refuses an invalid sum`(_ text: String) {
    #expect(Checksum(text) == nil)
  }
}
