import CCrypto
import Testing

@Suite struct CCryptoTests {
  private func hexadecimal(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }

  private static let digests = [
    ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
    ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    (
      "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
      "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
    ),
  ]

  @Test(arguments: digests)
  func `hashes the examples of FIPS 180-4`(_ text: String, _ expected: String) throws {
    try #require(ccrypto_load() == nil)
    let bytes = Array(text.utf8)
    var digest = [UInt8](repeating: 0, count: 32)
    #expect(ccrypto_sha256(bytes, bytes.count, &digest) == 1)
    #expect(hexadecimal(digest) == expected)

    let hash = try #require(ccrypto_sha256_new())
    for byte in bytes { #expect(withUnsafeBytes(of: byte) { ccrypto_sha256_update(hash, $0.baseAddress, 1) } == 1) }
    digest = [UInt8](repeating: 0, count: 32)
    #expect(ccrypto_sha256_final(hash, &digest) == 1)
    ccrypto_sha256_free(hash)
    #expect(hexadecimal(digest) == expected)
  }

  @Test(arguments: [
    (
      [UInt8](repeating: 0x0B, count: 20), "Hi There",
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    ),
    (
      Array("Jefe".utf8), "what do ya want for nothing?",
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    ),
    ([], "", "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad"),
  ])
  func `authenticates the examples of RFC 4231`(_ key: [UInt8], _ text: String, _ expected: String) throws {
    try #require(ccrypto_load() == nil)
    let bytes = Array(text.utf8)
    var code = [UInt8](repeating: 0, count: 32)
    #expect(ccrypto_hmac_sha256(key, key.count, bytes, bytes.count, &code) == 1)
    #expect(hexadecimal(code) == expected)
  }

  @Test func `fills memory with random bytes`() throws {
    try #require(ccrypto_load() == nil)
    var (one, two) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 32))
    #expect(ccrypto_random(&one, one.count) == 1)
    #expect(ccrypto_random(&two, two.count) == 1)
    #expect(one != two)
  }
}
