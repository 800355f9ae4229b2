import Basics
import HTTPServer
import Testing

/// Which answers are compressed.
@Suite struct CompressionTests {
  private static let long = String(repeating: "<p>0123456789</p>", count: 100)

  private static func answer(
    _ text: String, type: String = "text/html; charset=utf-8", accepting encodings: String? = "gzip, deflate, br"
  ) -> HTTPServerResponse {
    var headers: HTTPHeaders = [:]
    headers["Accept-Encoding"] = encodings
    return HTTPServerResponse.text(text, type: type).compressed(for: HTTPServerRequest("GET", "/", headers: headers))
  }

  private static func isCompressed(_ response: HTTPServerResponse) -> Bool {
    guard case .bytes(let bytes) = response.body else { return false }
    let isGzip = bytes.starts(with: [0x1F, 0x8B])
    #expect(isGzip == (response.headers["Content-Encoding"] == "gzip"))
    return isGzip
  }

  @Test(
    arguments: [
      ("gzip", true), ("x-gzip", true), ("deflate, GZIP;q=0.5", true), ("br;q=1, gzip ; q=0.001", true),
      ("gzip;q=0", false), ("gzip;q=0.000", false), ("gzip;q=x", false), ("deflate", false), ("*", false), ("", false),
      (nil, false), ("gzipped", false),
    ] as [(String?, Bool)])
  func `only a client that takes gzip gets it`(_ encodings: String?, _ isTaken: Bool) {
    let response = CompressionTests.answer(CompressionTests.long, accepting: encodings)
    #expect(CompressionTests.isCompressed(response) == isTaken)
    #expect(response.headers["Vary"] == "Accept-Encoding")
  }

  @Test(arguments: [
    ("text/plain", true), ("application/json; charset=utf-8", true), ("application/problem+json", true),
    ("image/svg+xml", true), ("text/event-stream", false), ("image/png", false), ("application/octet-stream", false),
  ])
  func `only texts are compressed`(_ type: String, _ isText: Bool) {
    #expect(CompressionTests.isCompressed(CompressionTests.answer(CompressionTests.long, type: type)) == isText)
  }

  @Test(arguments: [(0, false), (1024, false), (1025, true), (2 << 20, true), (2 << 20 + 1, false)])
  func `a text is compressed if it is long and not too long`(_ count: Int, _ isCompressed: Bool) {
    let response = CompressionTests.answer(String(repeating: "a", count: count))
    #expect(CompressionTests.isCompressed(response) == isCompressed)
  }

  @Test func `what gets longer by it, and what is compressed already, stays as it is`() {
    var random = SeededGenerator(seed: 1)
    var noise = CompressionTests.answer("")
    noise.body = .bytes((0..<5000).map { _ in UInt8.random(in: 0...255, using: &random) })
    let asked = HTTPServerRequest("GET", "/", headers: ["Accept-Encoding": "gzip"])
    #expect(!CompressionTests.isCompressed(noise.compressed(for: asked)))
    let once = CompressionTests.answer(CompressionTests.long)
    guard case .bytes(let bytes) = once.body, case .bytes(let again) = once.compressed(for: asked).body else {
      Issue.record("it has no body")
      return
    }
    #expect(bytes == again)
    let stream = HTTPServerResponse(headers: ["Content-Type": "text/html"], body: .stream { _ in })
    #expect(stream.compressed(for: asked).headers["Content-Encoding"] == nil)
  }
}
