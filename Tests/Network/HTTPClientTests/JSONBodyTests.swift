import Basics
import HTTPClient
import Testing

/// Reading bodies as JSON.
@Suite struct JSONBodyTests {
  @Test func `a JSON body is read, whatever its status`() throws {
    #expect(try HTTPResponse(status: 500, body: Array(#" {"ok":false} "#.utf8)).json()["ok"]?.bool == false)
  }

  /// Programs in JavaScript write it where they have cut a text.
  @Test func `half a surrogate pair costs nothing but itself`() throws {
    let body = Array(#"{"a":"cut \ud83d","\udc00":1}"#.utf8)
    #expect(try JSON.text(HTTPResponse(body: body).json()) == "{\"a\":\"cut \u{FFFD}\",\"\u{FFFD}\":1}")
  }

  @Test(arguments: [
    (Array("\n <!doctype html>".utf8), "a web page", true), ([0x22, 0xFF, 0x22], "not valid UTF-8", false),
    (Array("Method not allowed".utf8), "not valid JSON (", false), (Array(#"{"a":"#.utf8), "not valid JSON (", false),
    ([], "not valid JSON (", false),
  ])
  func `a body that is none is told for what it is`(_ body: [UInt8], _ words: String, _ isPage: Bool) {
    let error = #expect(throws: JSONBodyError.self) { try HTTPResponse(body: body).json() }
    #expect(error?.description.hasPrefix(words) == true)
    #expect(error?.isPage == isPage)
  }
}
