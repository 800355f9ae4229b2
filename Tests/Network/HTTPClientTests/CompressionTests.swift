import ActionTestKit
import HTTPClient
import Testing

/// Compressed answers that Python made and raw sockets send, whole and damaged.
@Suite struct CompressionTests {
  /// How an answer is spoilt, in Python; `b` is the table, `z` what gzip makes of it.
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var body: String
    var encoding = "gzip"
    var isInPieces = false
    /// The error's message after the request; nil if the whole table must arrive.
    var message: String?
    var kind: HTTPError.Kind?

    init(
      _ name: String, _ body: String, encoding: String = "gzip", isInPieces: Bool = false,
      _ kind: HTTPError.Kind? = nil,
      _ message: String? = nil
    ) {
      testDescription = name
      self.body = body
      self.encoding = encoding
      self.isInPieces = isInPieces
      self.kind = kind
      self.message = message
    }
  }

  private static let table = Array(
    ("day,count\n" + (0..<3000).map { "\($0),\($0 &* 7919 % 4001)\n" }.joined()).utf8)

  private static let script = """
    import gzip, sys, zlib
    b = sys.stdin.buffer.read()
    z = gzip.compress(b, mtime=0)
    def raw(x): c = zlib.compressobj(wbits=-15); return c.compress(x) + c.flush()
    sys.stdout.buffer.write(eval(sys.argv[1]))
    """

  private static let cut = "the compressed answer of S is incomplete."

  private func ask(_ c: Case, isChunked: Bool, isAskedFor: Bool = true) async throws {
    guard let body = try await python(on: "gzip", Self.script, arguments: [c.body], input: Self.table) else { return }
    let length = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(body.count)"
    var pieces = [Array("HTTP/1.1 200 OK\r\nContent-Encoding: \(c.encoding)\r\n\(length)\r\n\r\n".utf8)]
    let content = c.isInPieces ? body.map { [$0] } : [body]
    for piece in content where !piece.isEmpty {
      pieces.append(
        isChunked
          ? Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + Array("\r\n".utf8) : piece)
    }
    if isChunked { pieces.append(Array("0\r\n\r\n".utf8)) }
    let server = try RawServer { [pieces] _ in .init(pieces: pieces) }
    let url = "http://127.0.0.1:\(server.port)"
    let error = await failure { () throws(HTTPError) in
      let response = try await HTTPClient().send(HTTPRequest("GET", url, acceptsCompression: isAskedFor))
      if c.body != "b''" { #expect(response.body == Self.table) }
      #expect(response.bodyBytes == response.body.count)
      return response
    }
    #expect(error?.kind == c.kind)
    #expect(error?.message == c.message.map { "GET \(url): \($0.replacing("S", with: url))" })
  }

  @Test(
    arguments: [
      Case("whole", "z"),
      Case("byte by byte", "z", isInPieces: true),
      Case("two members", "gzip.compress(b[:9000]) + gzip.compress(b[9000:])", isInPieces: true),
      Case("padding after it", "z + bytes(512)"),
      Case("no body at all", "b''"),
      Case("deflate", "zlib.compress(b)", encoding: "deflate"),
      Case("deflate without its head", "raw(b)", encoding: "deflate", isInPieces: true),
      Case("an old name", "z", encoding: "X-GZip"),
      Case("no encoding", "b", encoding: "identity"),
    ], [false, true])
  func `unpacks`(_ c: Case, isChunked: Bool) async throws {
    try await ask(c, isChunked: isChunked)
    try await ask(c, isChunked: isChunked, isAskedFor: false)
  }

  @Test(
    arguments: [
      Case("half of it", "z[:len(z)//2]", .interrupted, cut),
      Case("without its checksum", "z[:-8]", .interrupted, cut),
      Case("all but a byte", "z[:-1]", isInPieces: true, .interrupted, cut),
      Case("its first byte", "z[:1]", .interrupted, cut),
      Case("one member and a half", "z + z[:len(z)//2]", .interrupted, cut),
      Case("half of deflate", "zlib.compress(b)[:-6]", encoding: "deflate", .interrupted, cut),
      Case("half of deflate without its head", "raw(b)[:-1]", encoding: "deflate", .interrupted, cut),
      Case(
        "another checksum", "z[:-8] + bytes([z[-8] ^ 1]) + z[-7:]", .malformedResponse,
        "the compressed answer of S is damaged: incorrect data check."),
      Case(
        "another length", "z[:-1] + bytes([z[-1] ^ 1])", .malformedResponse,
        "the compressed answer of S is damaged: incorrect length check."),
      Case(
        "something after it", "z + b'more'", .malformedResponse,
        "the compressed answer of S is damaged: incorrect header check."),
      Case(
        "no gzip at all", "b", .malformedResponse,
        "the compressed answer of S is damaged: incorrect header check."),
      Case(
        "what was not asked for", "b", encoding: "br", .malformedResponse,
        "S compresses its answer as 'br', which isn't supported; gzip and deflate are."),
    ], [false, true])
  func `refuses`(_ c: Case, isChunked: Bool) async throws {
    try await ask(c, isChunked: isChunked)
    try await ask(c, isChunked: isChunked, isAskedFor: false)
  }
}
