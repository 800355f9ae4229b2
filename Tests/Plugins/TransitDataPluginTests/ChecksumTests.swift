import ActionKit
import Foundation
import Testing

@testable import TransitDataPlugin

@Suite struct ChecksumTests {
  private struct Vectors: Decodable {
    struct Vector: Decodable {
      var name: String
      var document: String
      var canonical_ascii: String
      var sha256_ascii: String
      var sha256_utf8: String
      var sha256_foundation: String
    }

    struct File: Decodable {
      var sha256_ascii: String
      var sha256_utf8: String
      var sha256_foundation: String
      var canonical_ascii_bytes: Int
    }

    var vectors: [Vector]
    var files: [String: File]
  }

  private static func vectors() throws -> Vectors {
    try JSONDecoder().decode(Vectors.self, from: Data(fixture("checksum-vectors.json")))
  }

  private func digests(_ document: [UInt8]) throws -> [String] {
    try ChecksumForm.allCases.map { form in
      let text = try CanonicalText(of: document, as: form)
      return try Verifier.sha256(of: text.bytes)
    }
  }

  @Test func `gives what Python gives for every vector`() throws {
    let vectors = try Self.vectors().vectors
    #expect(vectors.count == 15)
    for vector in vectors {
      let document = Array(vector.document.utf8)
      let text = try CanonicalText(of: document, as: .ascii)
      #expect(String(decoding: text.bytes, as: UTF8.self) == vector.canonical_ascii, "\(vector.name)")
      let found = try digests(document)
      #expect(found == [vector.sha256_ascii, vector.sha256_utf8, vector.sha256_foundation], "\(vector.name)")
    }
  }

  @Test func `gives what Python gives for every file`() throws {
    let files = try Self.vectors().files
    #expect(files.count == 7)
    for (name, file) in files {
      let bytes = try fixture(name)
      #expect(try digests(bytes) == [file.sha256_ascii, file.sha256_utf8, file.sha256_foundation], "\(name)")
      #expect(try CanonicalText(of: bytes, as: .ascii).bytes.count == file.canonical_ascii_bytes, "\(name)")
    }
  }

  @Test(arguments: [
    // Where Swift's own text has an exponent and Python's has none.
    ("9007199254740993.0", "9007199254740992.0"), ("-9.999999999999998e15", "-9999999999999998.0"),
    ("1e16", "1e+16"), ("123456789012345678901234567890", "123456789012345678901234567890"), ("-0", "0"),
    ("-0e0", "-0.0"), ("5e-324", "5e-324"), ("1e-999", "0.0"), ("1.7976931348623157e308", "1.7976931348623157e+308"),
    ("0.00010", "0.0001"), ("100E-2", "1.0"),
    (#""\ud83c\udf09\/\u0041\"""#, #""\ud83c\udf09/A\"""#),
    (#"{"b":{"z":1,"é":2,"a":3},"a":[ ]}"#, #"{"a":[],"b":{"a":3,"z":1,"\u00e9":2}}"#),
    // The order is by code points, which differs from the order by UTF-16 code units.
    ("{\"\u{10000}\":1,\"\u{FFFD}\":2}", #"{"\ufffd":2,"\ud800\udc00":1}"#),
    // Two spellings of one key are one, and two texts that look the same are two.
    (#"{"a":1,"\u0061":2}"#, #"{"a":2}"#), ("{\"e\u{301}\":1,\"\u{E9}\":2}", #"{"e\u0301":1,"\u00e9":2}"#),
    (" [ true , false , null ] \n", "[true,false,null]"),
  ])
  func `spells as Python spells`(_ document: String, _ canonical: String) throws {
    let text = try CanonicalText(of: Array(document.utf8), as: .ascii)
    #expect(String(decoding: text.bytes, as: UTF8.self) == canonical)
  }

  @Test(arguments: [
    ("", 0, "the text ends too early"), ("{", 1, "a key is expected"), (#"{"a"}"#, 4, "':' is expected"),
    ("[1,]", 3, "a value is expected"), ("[1 2]", 3, "',' or the closing bracket is expected"),
    ("[01]", 3, "a value is expected"),
    ("[1.]", 3, "a digit is expected"), ("[1e+]", 4, "a digit is expected"), ("[-]", 2, "a value is expected"),
    ("[NaN]", 1, "a value is expected"),
    ("[1e999]", 6, "the number is larger than a double can be"), ("[tru]", 1, "a value is expected"),
    (#"["\x"]"#, 2, "there is no such escape"), (#"["\u12"#, 2, "there is no such escape"),
    (#"["\ud83c"]"#, 8, "half of a surrogate pair stands alone"),
    (#"["\ud83c\u0041"]"#, 14, "half of a surrogate pair stands alone"),
    ("[\"a\nb\"]", 3, "a control character in a text must be escaped"), ("[\"abc", 5, "the text ends within quotes"),
    ("[\"\\", 2, "the text ends too early"), ("[] []", 3, "something follows the end"),
    (String(repeating: "[", count: 129), 128, "it is nested deeper than 128 levels"),
  ])
  func `refuses what is no JSON, with its place`(_ document: String, _ offset: Int, _ reason: String) {
    let error = #expect(throws: CanonicalText.NoJSON.self) { try CanonicalText(of: Array(document.utf8), as: .ascii) }
    #expect(error?.offset == offset)
    #expect(error?.reason == reason)
  }

  @Test func `refuses bytes that are no UTF-8`() {
    let document: [UInt8] = [0x22, 0xC3, 0x28, 0x22]
    #expect(throws: CanonicalText.NoJSON.self) { try CanonicalText(of: document, as: .utf8) }
  }

  /// Damage at any byte must neither crash nor go unnoticed.
  @Test func `survives every cut and every flipped byte of a file`() throws {
    let file = try fixture("stage3_final.minimal.json")
    let text = String(decoding: file, as: UTF8.self)
    let offset = text.utf8.distance(from: text.startIndex, to: try #require(text.firstRange(of: "edf770")).lowerBound)
    for index in file.indices {
      #expect(throws: TransitDataError.self) { try RailData(file: Array(file[..<index])) }
      var damaged = file
      damaged[index] ^= 0x20
      guard (try? RailData(file: damaged)) != nil else { continue }
      // Only the case of the checksum's own digits does not count.
      #expect((offset..<offset + 64).contains(index), "\(index)")
    }
  }
}
