import ActionKit
import ActionTestKit
import HTTPClient
import Testing

@testable import HTTPPlugin

/// Error messages of services, in many formats.
@Suite struct WordsTests {
  private static let url = "https://h/a"

  @Test(
    arguments: [
      (#"{"title":"Gone","detail":"It was sold."}"#, "Gone: It was sold."), ("Try after\r\nnoon ", "Try after noon"),
      (#"{"error":{"code":400,"message":"Bad id","status":"INVALID"}}"#, "Bad id"),
      (#"{"ok":false,"error":"channel_not_found"}"#, "channel_not_found"),
      (#"{"code":40014,"http":400,"error":"topic invalid","link":"https://x"}"#, "topic invalid"),
      (
        #"{"message":"Validation Failed","errors":[{"field":"title","message":"is missing"},{"message":"no"}]}"#,
        "Validation Failed: is missing; no"
      ),
      (#"{"errors":[{"status":"422","title":"Invalid","detail":"Too short"}]}"#, "Invalid: Too short"),
      (
        #"{"errors":{"name":["can't be blank"],"size":["is odd","is big"]}}"#,
        "name: can't be blank; size: is odd; is big"
      ),
      (
        #"{"detail":[{"loc":["body","price"],"msg":"value is not a float","type":"t"}]}"#,
        "body.price: value is not a float"
      ),
      (#"{"detail":"Not found."}"#, "Not found."), (#""no""#, "no"), (#"["a","b"]"#, "a; b"),
      (#"{"error":{"errors":{"error":{"errors":[[["deep"]]]}}}}"#, nil), ("", nil), ("  ", nil),
      ("<html><h1>Oops</h1>", nil), (#"{"count":3}"#, nil), ("[]", nil),
    ] as [(String, String?)])
  func `the words of a refusal are its detail`(_ body: String, _ words: String?) async throws {
    let service = try service("{}", ScriptedTransport([.on("GET", Self.url, status: 400, body)]))
    let error = try await failure("get", #"{"url":"\#(Self.url)"}"#, on: service)
    #expect(error.detail == words)
  }

  @Test(arguments: [
    ("text/plain", "auto", "ä"), ("text/plain; charset=utf-8", "latin-1", "Ã¤"),
    ("text/plain; charset=ISO-8859-1", "auto", "Ã¤"),
    (#"text/csv; header=present; charset="windows-1252""#, "auto", "Ã¤"),
    ("text/plain; charset=x-own", "auto", "ä"), ("text/plain; charset=koi8-r", "auto", "ц╓"),
    ("text/plain", "utf-16le", "\u{A4C3}"),
  ])
  func `a text is read as it is written`(_ type: String, _ encoding: String, _ text: String) async throws {
    let service = try service("{}", ScriptedTransport([.on("GET", Self.url, headers: ["Content-Type": type], "ä")]))
    let input = #"{"url":"\#(Self.url)","answer":"text","encoding":"\#(encoding)"}"#
    #expect(try await run("get", input, on: service)["body"] == .string(text))
  }

  @Test func `an id that only an unsigned number holds is kept`() async throws {
    let service = try service("{}", ScriptedTransport([.on("GET", Self.url, #"{"id":18446744073709551615}"#)]))
    let answer = try await run("get", #"{"url":"\#(Self.url)","answer":"json"}"#, on: service)
    #expect(answer["body"]?["id"] == .uint(.max))
  }

  // MARK: Lists

  @Test func `a service that repeats a query's secret gets it once`() async throws {
    let transport = ScriptedTransport([
      .on("GET", "https://h/a?key=quiet", headers: ["Link": "</a?page=2&key=quiet&x>; rel=next"], "[1]"),
      .on("GET", "https://h/a?page=2&x&key=quiet", "[2]"),
    ])
    let service = try service(#"{"baseURL":"https://h","secretQuery":{"key":"quiet"}}"#, transport)
    #expect(try await run("getAll", #"{"url":"/a"}"#, on: service)["items"]?.list?.count == 2)
  }

  private func pages(_ bodies: [String]) async throws -> String {
    let steps = bodies.enumerated().map { ScriptedTransport.Step.on("GET", "https://h/a?p=\($0)", $1) }
    let service = try service("{}", ScriptedTransport(steps))
    do {
      let found = try await run("getAll", #"{"url":"https://h/a","page":{"parameter":"p","first":0}}"#, on: service)
      return try JSON.text(.object(["i": found["items"] ?? .null, "c": found["isComplete"] ?? .null]))
    } catch let error as ActionError {
      return error.message
    }
  }

  @Test func `a service that gives its nearest page for one that it lacks gives each item once`() async throws {
    let (one, two) = (#"[{"id":1}]"#, #"[{"id":2}]"#)
    #expect(try await pages([one, two, two, two]) == #"{"i":[{"id":1},{"id":2}],"c":true}"#)
    #expect(try await pages([one, one, two, "[]"]) == #"{"i":[{"id":1},{"id":2}],"c":true}"#)
    #expect(
      try await pages(["[1]", "[1]"])
        == "GET https://h/a?p=1 gives the items of the page before once more, so where the list ends can't be known; check "
        + "'page.parameter', and say with 'maxPages' how many pages there are.")
  }

  @Test(
    arguments: [
      (
        "/nxt",
        #"the answer to GET https://h/a has no 'nxt'; did you mean 'next'?; say with 'cursor.at' where a page names "#
          + "the next one."
      ),
      ("/data/next", "the answer to GET https://h/a"), ("/other", nil), ("/paging/next", nil),
    ] as [(String, String?)])
  func `a cursor that is looked for at the wrong place is an error`(_ place: String, _ words: String?) async throws {
    let service = try service("{}", ScriptedTransport([.on("GET", Self.url, #"{"data":[1],"next":"x"}"#)]))
    let input = #"{"url":"\#(Self.url)","items":"/data","cursor":{"at":"\#(place)","parameter":"after"}}"#
    guard let words else {
      #expect(try await run("getAll", input, on: service)["items"]?.list?.count == 1)
      return
    }
    #expect(try await failure("getAll", input, on: service).message.contains(words))
  }
}
