import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import SandboxKit
import Testing

@testable import HTTPPlugin

/// Faults between client and service, over real HTTP.
@Suite struct FaultTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var fault: ServiceFault
    var error: ErrorKind
    /// The error's message after the request; `S` is the service.
    var message: String
    var testDescription: String { "\(fault.kind.rawValue) \(fault.status)" }

    init(_ fault: ServiceFault, _ error: ErrorKind, _ message: String) {
      self.fault = fault
      self.error = error
      self.message = message
    }

    static func status(_ status: Int, _ error: ErrorKind) -> Case {
      var fault = ServiceFault(.status)
      fault.status = status
      return Case(fault, error, "GET S/items was answered with HTTP status \(status).")
    }
  }

  @Test(arguments: [
    Case(ServiceFault(.refuse), .network, "GET S/items: S closed the connection before its answer was complete."),
    Case(ServiceFault(.lostAnswer), .network, "GET S/items: S closed the connection before its answer was complete."),
    Case(ServiceFault(.truncated), .network, "GET S/items: S closed the connection before its answer was complete."),
    Case(
      ServiceFault(.slow), .timeout,
      "GET S/items: S did not send a complete answer within 0.3s; try later or raise the time limit."),
    Case(
      ServiceFault(.oversized), .plugin,
      "GET S/items: the answer is larger than 1048576 bytes; raise the limit if it should be."),
    Case(
      ServiceFault(.badUTF8), .plugin,
      "the answer to GET S/items is not in UTF-8: line 1, byte 4 (0xFF) fits no character; say as its 'encoding' what it "
        + "is, such as windows-1252."),
    Case(
      ServiceFault(.html), .plugin,
      "the answer to GET S/items is a web page and not JSON; check the address, and that the service is not down for "
        + "maintenance."),
    Case(
      ServiceFault(.redirect), .plugin,
      "GET S/items: S redirects to http://elsewhere.example; only redirects to the same scheme, host and port are "
        + "followed. If the service has moved, change the URL."),
    Case(
      ServiceFault(.redirectLoop, times: 6), .plugin,
      "GET S/items: S redirects more than 5 times in a row; check the URL."),
    .status(400, .validation), .status(401, .authentication), .status(403, .authorization), .status(404, .notFound),
    .status(409, .conflict), .status(429, .rateLimited), .status(500, .server), .status(503, .server),
  ])
  func `is an error that says what happened`(_ c: Case) async throws {
    let limits: KeyValuePairs<String, Value> = [
      "maxAnswerBytes": .int(1 << 20),
      // Only the answer that never comes may time out early; otherwise a busy machine decides which fault occurs.
      "requestTimeout": .duration(c.fault.kind == .slow ? .milliseconds(300) : .seconds(60)),
    ]
    try await withShop(limits) { service, sandbox, _ in
      sandbox.server.add(c.fault)
      let error = try await failure("get", #"{"url":"/items","answer":"json"}"#, on: service)
      #expect(error.message.replacingOccurrences(of: sandbox.baseURL, with: "S") == c.message)
      #expect(error.kind == c.error)
      #expect(error.effect == ActionError.Effect.none)
      // The fault has no lasting effect. With a short timeout a busy machine would decide, so `slow` is skipped.
      if c.fault.kind == .slow { return }
      #expect(try await run("get", #"{"url":"/items"}"#, on: service)["body"]?.list?.count == 5)
    }
  }

  @Test func `takes a value of another type for what it is`() async throws {
    try await withShop { service, sandbox, _ in
      sandbox.server.add(ServiceFault(.wrongType))
      let page = try await failure("getAll", #"{"url":"/items","items":"/data"}"#, on: service)
      #expect(page.message == "the answer to GET \(sandbox.baseURL)/items has 1 item, and no 'data'.")
    }
  }

  @Test(arguments: [
    (ServiceFault(.refuse), ErrorKind.network), (ServiceFault(.lostAnswer), .network), (ServiceFault(.slow), .timeout),
    (ServiceFault(.truncated), .network),
  ])
  func `does not know whether a write was done whose answer is lost`(_ fault: ServiceFault, _ kind: ErrorKind)
    async throws
  {
    let limit: TimeSpan = fault.kind == .slow ? .milliseconds(300) : .seconds(60)
    try await withShop(["requestTimeout": .duration(limit)]) { service, sandbox, _ in
      for (name, url) in [("post", "/items"), ("put", "/items/9")] {
        sandbox.server.add(fault)
        let error = try await failure(name, #"{"url":"\#(url)","json":{"name":"x"}}"#, on: service)
        #expect(error.kind == kind)
        #expect(error.effect == .unknown)
      }
    }
  }

  @Test func `knows that an answer was given that makes no sense`() async throws {
    try await withShop { service, sandbox, _ in
      sandbox.server.add(ServiceFault(.html))
      let error = try await failure(
        "post", #"{"url":"/items","json":{"name":"x"},"answer":"json"}"#, on: service)
      // The page may ask to log in.
      #expect(error.kind == .plugin)
      #expect(error.effect == .unknown)
    }
  }

  @Test(arguments: [
    (
      "http://127.0.0.1:9",
      "http://127.0.0.1:9 refused the connection; check that the service runs and that the address is right."
    ),
    (
      "https://no.such.host.invalid",
      "the name of https://no.such.host.invalid cannot be resolved; check the URL and the network."
    ),
  ])
  func `sends nothing where nobody is`(_ baseURL: String, _ words: String) async throws {
    let service = try service(#"{"baseURL":"\#(baseURL)"}"#)
    let error = try await failure("post", #"{"url":"/x","text":"y"}"#, on: service)
    #expect(error.kind == .network)
    #expect(error.effect == ActionError.Effect.none)
    #expect(error.message == "POST \(baseURL)/x: \(words)")
  }

  // MARK: Downloads

  private func bytes(_ path: String?) throws -> [UInt8] { Array(try Data(contentsOf: URL(filePath: path ?? ""))) }

  @Test func `downloads a file whole, and goes on where it was interrupted`() async throws {
    try await withShop { service, sandbox, _ in
      let input = #"{"url":"/files/report.zip","to":"a/report.zip","verify":"zip"}"#
      sandbox.server.add(ServiceFault(.truncated))
      let error = try await failure("download", input, on: service)
      #expect(error.kind == .network && error.effect == ActionError.Effect.none)
      let folder = try #require(sandbox.configuration["folder"]?.string)
      #expect(!FileManager.default.fileExists(atPath: "\(folder)/a/report.zip"))
      let output = try await run("download", input, on: service)
      let path = try #require(output["path"]?.string)
      #expect(path == "\(folder)/a/report.zip")
      #expect(try bytes(path).count == output["bytes"]?.int)
      let again = try await run("download", input, on: service)
      #expect(again["sha256"] == output["sha256"] && again["resumedBytes"]?.int == 0)
      #expect(try FileManager.default.contentsOfDirectory(atPath: "\(folder)/a") == ["report.zip"])
      let digest = try #require(output["sha256"]?.string)
      _ = try await run(
        "download",
        #"{"url":"/files/report.zip","to":"b.zip","sha256":"\#(digest.uppercased())","bytes":\#(try bytes(path).count)}"#,
        on: service)
    }
  }

  @Test func `downloads into the connection's folder only`() async throws {
    let service = try service("{}", ScriptedTransport([]))
    try await expectKeptInside { path, context in
      _ = try await run("download", #"{"url":"https://a.example/","to":"\#(path)"}"#, on: service, in: context)
    }
  }

  @Test(arguments: [
    (
      #""url":"/files/items.csv","to":"x","verify":"zip""#, ErrorKind.plugin,
      "'F/x' is not kept: it is no sound zip archive: Not a zip archive."
    ),
    (#""url":"/files/items.csv","to":"x","bytes":7"#, .plugin, "'F/x' should have 7 bytes, but 78 arrived."),
    (#""url":"/files/none","to":"x""#, .notFound, "GET S/files/none was answered with HTTP status 404."),
    (
      #""url":"/files/items.csv","to":"../x""#, .validation,
      "'../x' has '..' in it; a path of this connection says where it leads without going up."
    ),
    (
      #""url":"/files/items.csv","to":"/etc/x""#, .validation,
      "'/etc/x' is in no folder of this connection ('F'); name its folder under 'folder' in the connection."
    ),
    (#""url":"/files/items.csv","to":"archive""#, .validation, "cannot write 'F/archive': it is a folder (EISDIR)."),
  ])
  func `keeps no file that is not what it should be`(_ input: String, _ kind: ErrorKind, _ message: String) async throws
  {
    try await withShop { service, sandbox, _ in
      let folder = try #require(sandbox.configuration["folder"]?.string)
      let error = try await failure("download", "{\(input)}", on: service)
      #expect(error.kind == kind)
      let text = error.message.replacingOccurrences(of: folder, with: "F").replacingOccurrences(
        of: sandbox.baseURL, with: "S")
      #expect(text.hasSuffix(message), "\(text)")
      #expect(!FileManager.default.fileExists(atPath: "\(folder)/x"))
    }
  }

  @Test(arguments: OddNumbers.texts)
  func `the sandbox answers odd numbers`(_ odd: String) async throws {
    try await withShop { _, sandbox, _ in
      let http = HTTPClient()
      func answer(_ method: String, _ path: String, _ headers: HTTPHeaders = [:]) async throws -> HTTPResponse {
        let body = method == "GET" || method == "DELETE" ? nil : Array(#"{"name":"Glue"}"#.utf8)
        return try await http.send(HTTPRequest(method, sandbox.baseURL + path, headers: headers, body: body))
      }
      let paths = [
        "/items?limit=", "/items?page=", "/items?limit=2&page=", "/items?page=2&limit=", "/cursor/items?after=",
      ]
      for path in paths {
        #expect(try await answer("GET", path + odd).status == 200)
      }
      #expect(try await answer("GET", "/items?page=\(odd)&limit=\(odd)").status == 200)
      #expect(try await answer("GET", "/files/items.csv", ["Range": "bytes=\(odd)-"]).status == 200)
      for method in ["GET", "PUT", "PATCH", "DELETE"] where !odd.isEmpty {
        #expect([404, 422].contains(try await answer(method, "/items/\(odd)").status))
      }
      let made = try await answer("POST", "/items")
      #expect(made.status == 201)
      #expect(made.headers["Location"] == "/items/6")
    }
  }

  @Test(arguments: [
    ("9223372036854775807", "200 []"), ("0", "200 2"), ("-1", "200 2"), ("x", "200 2"), ("3", "200 1"), ("4", "200 []"),
  ])
  func `the sandbox limits pages`(_ page: String, _ count: String) async throws {
    try await withShop { _, sandbox, _ in
      let answer = try await HTTPClient().send(HTTPRequest("GET", "\(sandbox.baseURL)/items?limit=2&page=\(page)"))
      let items = try #require(try JSON.parse(answer.body).list)
      #expect("\(answer.status) \(items.isEmpty ? "[]" : "\(items.count)")" == count)
    }
  }
}
