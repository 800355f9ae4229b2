import Basics
import HTTPClient
import HTTPServer
import Testing

@Suite struct HTTPClientTests {
  @Test func `sends and receives`() async throws {
    let server = try HTTPServer { request in
      HTTPServerResponse(
        status: 201, headers: ["X-Method": request.method, "Retry-After": "7"],
        body: .bytes(request.body + Array(request.target.utf8)))
    }
    let client = HTTPClient()
    let response = try await client.send(
      HTTPRequest("POST", "\(server.baseURL)/a?b=c", headers: ["X-Empty": ""], body: Array("body ".utf8)))
    #expect(response.status == 201)
    #expect(String(decoding: response.body, as: UTF8.self) == "body /a?b=c")
    #expect(response.headers["x-method"] == "POST")
    await server.stop()
  }
}
