import Basics
import HTTPClient
import HTTPServer
import Synchronization
import Testing

@Suite struct FailureTests {
  private let short = HTTPLimits(connect: .milliseconds(40), attempt: .milliseconds(80))

  private func expect(
    _ error: HTTPError?, _ kind: HTTPError.Kind, _ sent: HTTPError.Sent, _ message: String,
    sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(error?.kind == kind, sourceLocation: sourceLocation)
    #expect(error?.sent == sent, sourceLocation: sourceLocation)
    #expect(error?.message == message, sourceLocation: sourceLocation)
    #expect(error?.message.contains("hunter2") == false, sourceLocation: sourceLocation)
  }

  @Test func `a refused connection sent nothing`() async throws {
    let server = try HTTPServer { _ in .dropped }
    let base = server.baseURL
    await server.stop()
    let error = await failure { () throws(HTTPError) in try await HTTPClient().send(.secret(base)) }
    expect(
      error, .connect, .nothing,
      "\(HTTPRequest.displayed(base)): \(base) refused the connection; check that the service runs and that the address is "
        + "right.")
  }

  @Test func `the query of an address that an answer gave is displayed nowhere`() async throws {
    let server = try HTTPServer { request in
      guard request.path == "/start" else { return .dropped }
      var response = HTTPServerResponse.text("", status: 302)
      response.headers["Location"] = "/file.zip?sig=hunter2&se=2026"
      return response
    }
    let displayed = Mutex<[String]>([])
    let client = HTTPClient(
      configuration: HTTPClientConfiguration(observer: { exchange in
        displayed.withLock { $0 += [exchange.redactedURL, exchange.error?.message ?? ""] }
      }))
    let redirected = await failure { () throws(HTTPError) in
      try await client.send(HTTPRequest("GET", "\(server.baseURL)/start?page=1"))
    }
    #expect(redirected?.message.contains("GET \(server.baseURL)/file.zip?•••: ") == true)
    let given = await failure { () throws(HTTPError) in
      try await client.download(
        HTTPRequest("GET", "\(server.baseURL)/file.zip?sig=hunter2", hidesQuery: true), to: "/nowhere/at/all")
    }
    let texts = displayed.withLock { $0 } + [redirected, given].map { $0?.message ?? "" }
    #expect(texts.allSatisfy { !$0.contains("hunter2") })
    #expect(texts.contains("\(server.baseURL)/start?page=1"))
    #expect(texts.contains("\(server.baseURL)/file.zip?•••"))
    await server.stop()
  }

  @Test func `an unknown name sent nothing`() async {
    let client = HTTPClient(configuration: HTTPClientConfiguration(proxy: .none))
    let error = await failure { () throws(HTTPError) in try await client.send(.secret("http://u:hunter2@a.invalid")) }
    expect(
      error, .resolve, .nothing,
      "GET http://•••@a.invalid/p?a=1&ApiKey=•••&%61pi%50assword=•••: the name of http://a.invalid cannot be resolved; "
        + "check the URL and the network.")
  }

  @Test func `an unknown proxy sent nothing`() async {
    let client = HTTPClient(configuration: HTTPClientConfiguration(proxy: .url("http://u:hunter2@proxy.invalid")))
    let error = await failure { () throws(HTTPError) in try await client.send(.secret("http://a.invalid")) }
    expect(
      error, .resolve, .nothing,
      "\(HTTPRequest.displayed("http://a.invalid")): the name of the proxy cannot be resolved; check the proxy settings."
    )
  }

  @Test func `a proxy that refuses a tunnel sent nothing`() async throws {
    let proxy = try RawServer { _ in .init(text: "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n") }
    let client = HTTPClient(
      configuration: HTTPClientConfiguration(proxy: .url("http://u:hunter2@127.0.0.1:\(proxy.port)")))
    let error = await failure { () throws(HTTPError) in try await client.send(.secret("https://a.invalid")) }
    expect(
      error, .connect, .nothing,
      "\(HTTPRequest.displayed("https://a.invalid")): the proxy http://127.0.0.1:\(proxy.port) refused to connect to "
        + "https://a.invalid (HTTP status 403); check the proxy settings.")
  }

  @Test(arguments: ["http", "https"]) func `a proxy that isn't there is told as such`(_ scheme: String) async throws {
    let server = try HTTPServer { _ in .dropped }
    let port = try #require(HTTPURL(server.baseURL)?.port)
    await server.stop()
    let client = HTTPClient(configuration: HTTPClientConfiguration(proxy: .url("http://u:hunter2@127.0.0.1:\(port)")))
    let base = "\(scheme)://a.invalid"
    let error = await failure { () throws(HTTPError) in try await client.send(.secret(base)) }
    expect(
      error, .connect, .nothing,
      "\(HTTPRequest.displayed(base)): the proxy http://127.0.0.1:\(port) refused the connection; check that it runs and that "
        + "its address is right.")
  }

  @Test func `a handshake that doesn't end counts as no connection`() async throws {
    // Reads for ever: a client's first TLS message has no empty line in it.
    let server = try RawServer { _ in nil }
    let base = "https://127.0.0.1:\(server.port)"
    let error = await failure { () throws(HTTPError) in
      try await HTTPClient().send(.secret(base, limits: HTTPLimits(connect: .milliseconds(40))))
    }
    expect(
      error, .timeout(.connect), .nothing,
      "\(HTTPRequest.displayed(base)): no connection to \(base) within 0.04s; try later or raise the time limit.")
  }

  @Test func `a server that is silent runs into the limit of the attempt`() async throws {
    let server = try HTTPServer { _ in
      try? await Task.sleep(for: .seconds(1000))
      return .dropped
    }
    let base = server.baseURL
    let error = await failure { () throws(HTTPError) in try await HTTPClient().send(.secret(base, limits: short)) }
    expect(
      error, .timeout(.attempt), .maybe,
      "\(HTTPRequest.displayed(base)): \(base) did not send a complete answer within 0.08s; try later or raise the time limit."
    )
    #expect((error?.elapsed ?? .zero) >= .milliseconds(79))
    await server.stop()
  }

  @Test func `a server that trickles runs into the limit of the whole`() async throws {
    let server = try HTTPServer { request in
      HTTPServerResponse(
        body: .stream { writer in
          while true {
            try await writer.write(".")
            try await Task.sleep(for: .milliseconds(5))
          }
        })
    }
    let base = server.baseURL
    let limits = HTTPLimits(attempt: .seconds(10), total: .milliseconds(80))
    let error = await failure { () throws(HTTPError) in try await HTTPClient().send(.secret(base, limits: limits)) }
    expect(
      error, .timeout(.total), .maybe,
      "\(HTTPRequest.displayed(base)): \(base) did not send a complete answer before the total time limit; try later "
        + "or raise the time limit.")
    await server.stop()
  }

  @Test func `the limit of the whole counts what redirected`() async {
    let hop = HTTPResponse(status: 302, headers: ["Location": "/z"], elapsed: .milliseconds(60))
    let transport = ScriptedTransport([
      .on("GET", "http://h/") { _ throws(HTTPError) in hop }, .on("GET", "http://h/z") { _ throws(HTTPError) in hop },
    ])
    let request = HTTPRequest("GET", "http://h/", limits: HTTPLimits(total: .milliseconds(100)))
    let error = await failure { () throws(HTTPError) in try await HTTPClient(transport: transport).send(request) }
    #expect(transport.requests.map(\.limits.total) == [.milliseconds(100), .milliseconds(40)])
    #expect(error?.kind == .timeout(.total))
    #expect(error?.sent == .maybe)
  }

  @Test func `a truncated body is an interruption`() async throws {
    let server = try HTTPServer { _ in
      HTTPServerResponse(body: .truncated(Array("{\"status\":\"OKAY\"}".utf8), after: 5))
    }
    let base = server.baseURL
    let error = await failure { () throws(HTTPError) in try await HTTPClient().send(.secret(base)) }
    expect(
      error, .interrupted, .maybe,
      "\(HTTPRequest.displayed(base)): \(base) closed the connection before its answer was complete.")
    await server.stop()
  }

  @Test func `an answer without an end is an interruption`() async throws {
    let server = try HTTPServer { _ in
      HTTPServerResponse(
        body: .stream { writer in
          try await writer.write("half")
          throw CancellationError()
        })
    }
    let error = await failure { () throws(HTTPError) in try await HTTPClient().send(.secret(server.baseURL)) }
    #expect(error?.kind == .interrupted)
    await server.stop()
  }

  @Test(arguments: [true, false])
  func `an oversized body is refused while it arrives`(_ isAnnounced: Bool) async throws {
    let server = try HTTPServer { _ in
      isAnnounced
        ? .text(String(repeating: "x", count: 1001))
        : HTTPServerResponse(body: .stream { writer in while true { try await writer.write("x") } })
    }
    let base = server.baseURL
    let error = await failure { () throws(HTTPError) in
      try await HTTPClient().send(.secret(base, limits: HTTPLimits(maxBodyBytes: 1000)))
    }
    expect(
      error, .tooLarge, .maybe,
      "\(HTTPRequest.displayed(base)): the answer is larger than 1000 bytes; raise the limit if it should be.")
    await server.stop()
  }

  @Test(arguments: [
    "garbage\r\n\r\n", "HTTP/1.1 OK\r\n\r\n", "SSH-2.0-OpenSSH\r\n",
  ])
  func `an answer that isn't HTTP is named as such`(_ text: String) async throws {
    let server = try RawServer { _ in .init(text: text) }
    let base = "http://127.0.0.1:\(server.port)"
    let error = await failure { () throws(HTTPError) in try await HTTPClient().send(.secret(base)) }
    expect(
      error, .malformedResponse, .maybe,
      "\(HTTPRequest.displayed(base)): \(base) did not answer with HTTP; check the scheme and port of the URL."
    )
  }

  @Test func `an endless head is refused`() async throws {
    let line = "X: \(String(repeating: "x", count: 1000))\r\n"
    let server = try RawServer { _ in .init(text: "HTTP/1.1 200 OK\r\n" + String(repeating: line, count: 1000)) }
    let error = await failure { () throws(HTTPError) in
      try await HTTPClient().send(.secret("http://127.0.0.1:\(server.port)"))
    }
    #expect(error?.kind == .tooLarge)
    #expect(
      error?.message.hasSuffix(
        ": the headers of the answer are larger than 262144 bytes, the most that is read.")
        == true, "\(error?.message ?? "")")
  }

  @Test(arguments: [150_000, 5_000_000]) func `a header that is too large is said to be that`(_ count: Int) async throws
  {
    let line = "X: \(String(repeating: "x", count: count))\r\n"
    let server = try RawServer { _ in .init(text: "HTTP/1.1 200 OK\r\n\(line)Content-Length: 0\r\n\r\n") }
    let error = await failure { () throws(HTTPError) in
      try await HTTPClient().send(.secret("http://127.0.0.1:\(server.port)"))
    }
    #expect(error?.kind == .tooLarge)
    #expect(
      error?.message.hasSuffix(": a header of the answer is larger than 102400 bytes, the most that is read.")
        == true, "\(error?.message ?? "")")
  }

  @Test func `a lost answer on a kept connection is not asked for again`() async throws {
    let server = try RawServer { number in
      number == 1 ? .init(text: "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", keep: true) : nil
    }
    let base = "http://127.0.0.1:\(server.port)"
    let client = HTTPClient()
    _ = try await client.send(HTTPRequest("GET", "\(base)/1"))
    let error = await failure { () throws(HTTPError) in try await client.send(HTTPRequest("GET", "\(base)/2")) }
    #expect(error?.kind == .interrupted)
    #expect(error?.sent == .maybe)
    #expect(server.requests == ["GET /1 HTTP/1.1", "GET /2 HTTP/1.1"])
  }

  @Test func `a task cancelled beforehand sends nothing`() async throws {
    let server = try RawServer { _ in nil }
    let request = HTTPRequest.secret("http://127.0.0.1:\(server.port)")
    let task = Task {
      withUnsafeCurrentTask { $0?.cancel() }
      return await failure { () throws(HTTPError) in try await HTTPClient().send(request) }
    }
    let error = await task.value
    expect(
      error, .cancelled, .nothing, "\(HTTPRequest.displayed("http://127.0.0.1:\(server.port)")): cancelled.")
    #expect(server.requests.isEmpty)
  }

  @Test func `a task cancelled meanwhile ends at once and closes its connection`() async throws {
    let (events, continuation) = AsyncStream<String>.makeStream()
    let server = try HTTPServer { _ in
      HTTPServerResponse(
        body: .stream { writer in
          defer { continuation.yield("closed") }
          try await writer.write(".")
          continuation.yield("begun")
          while true { try await writer.write(".") }
        })
    }
    let base = server.baseURL
    let client = HTTPClient()
    let task = Task { await failure { () throws(HTTPError) in try await client.send(.secret(base)) } }
    var iterator = events.makeAsyncIterator()
    #expect(await iterator.next() == "begun")
    task.cancel()
    expect(await task.value, .cancelled, .maybe, "\(HTTPRequest.displayed(base)): cancelled.")
    #expect(await iterator.next() == "closed")
    await server.stop()
  }

  @Test func `cancelling at every moment gives one answer each`() async throws {
    let server = try HTTPServer { _ in
      await Task.yield()
      return .text("x")
    }
    let client = HTTPClient()
    await withTaskGroup { group in
      for number in 0..<400 {
        group.addTask {
          let task = Task {
            await failure { () throws(HTTPError) in try await client.send(HTTPRequest("GET", server.baseURL)) }
          }
          for _ in 0..<number { await Task.yield() }
          task.cancel()
          let error = await task.value
          #expect(error == nil || error?.kind == .cancelled)
        }
      }
    }
    await server.stop()
  }

  @Test(arguments: [
    ("ftp://h/", "GET", "X", "y", "the URL isn't an http or https URL; percent-encode what is not plain ASCII."),
    ("http://h/ü", "GET", "X", "y", "the URL isn't an http or https URL; percent-encode what is not plain ASCII."),
    ("http://h/", "G T", "X", "y", "the method is not a word."),
    (
      "http://h/", "GET", "X Y", "y",
      "a header's name is one word, of letters, digits and signs such as '-', and 'X Y' isn't."
    ),
    ("http://h/", "GET", "X", "hunter2\r\nY: z", "the header X holds a line break or another control character."),
    ("http://h/", "POST", "content-length", "5", "the header content-length follows from the body; leave it out."),
  ])
  func `what cannot be sent is not sent`(
    _ url: String, _ method: String, _ name: String, _ value: String, _ text: String
  ) async {
    let script = ScriptedTransport([])
    let request = HTTPRequest(method, url, headers: .init([.init(name, value)]))
    let error = await failure { () throws(HTTPError) in try await HTTPClient(transport: script).send(request) }
    expect(error, .invalidRequest, .nothing, "\(method) \(url): \(text)")
    #expect(script.requests.isEmpty)
  }

  @Test(arguments: ["99999999999999999999999", "-1", "0x10", "ten"])
  func `an answer with a length that is none is refused`(_ length: String) async throws {
    let server = try RawServer { _ in .init(text: "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\nabc") }
    let base = "http://127.0.0.1:\(server.port)"
    let error = await failure { () throws(HTTPError) in try await HTTPClient().send(HTTPRequest("GET", base)) }
    #expect(error?.kind == .malformedResponse, "\(error?.message ?? "")")
  }

  @Test(arguments: [
    ("Content-Length: 5\r\nContent-Length: 2", true), ("Content-Length: 2\r\nContent-Length: 5", true),
    ("Content-Length: 5, 2", true), ("Content-Length: 5\r\nContent-Length: 5", false),
  ])
  func `an answer with two different lengths is refused`(_ lines: String, _ isRefused: Bool) async throws {
    let server = try RawServer { _ in .init(text: "HTTP/1.1 200 OK\r\n\(lines)\r\n\r\nhello") }
    let base = "http://127.0.0.1:\(server.port)"
    let error = await failure { () throws(HTTPError) in try await HTTPClient().send(HTTPRequest("GET", base)) }
    #expect(
      error?.message
        == (isRefused
          ? "GET \(base): \(base) gives its answer two lengths, so where it ends can't be known." : nil))
    #expect(error?.kind == (isRefused ? .malformedResponse : nil))
  }
}
