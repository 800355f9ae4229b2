import Basics
import HTTPClient
import HTTPServer
import Testing

/// The client reads texts that the server compresses.
@Suite struct ServerCompressionTests {
  @Test(arguments: [1025, 20_000, 2 << 20])
  func `a text comes through as it was, and shorter`(_ count: Int) async throws {
    var random = SeededGenerator(seed: UInt64(count))
    let words = ["<td>", "</td>", "succeeded", "run", "0199a3f2", "ä", " "]
    var text = ""
    while text.utf8.count < count { text += words[Int.random(in: words.indices, using: &random)] }
    let body = Array(text.utf8.prefix(count))
    let server = try HTTPServer { request in
      HTTPServerResponse(headers: ["Content-Type": "text/html; charset=utf-8"], body: .bytes(body))
        .compressed(for: request)
    }
    for isAskedFor in [true, false] {
      let response = try await HTTPClient().send(
        HTTPRequest("GET", server.baseURL, acceptsCompression: isAskedFor))
      #expect(response.body == body)
    }
    // The client unpacks it in any case; the length is that of the text on its way.
    let raw = try await HTTPClient().send(
      HTTPRequest("GET", server.baseURL, headers: ["Accept-Encoding": "gzip"], acceptsCompression: false))
    let length = try #require(raw.headers["Content-Length"].flatMap { Int($0) })
    #expect(raw.headers["Content-Encoding"] == "gzip" && length < count / 2 && raw.body == body)
    await server.stop()
  }
}
