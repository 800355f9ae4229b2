import Basics
import Testing

@testable import LanguageServer

@Suite struct LifecycleTests {
  /// A client's messages, one a line, and the server's answers.
  struct Case: CustomTestStringConvertible, Sendable {
    var sent: [String]
    var answered: [String]
    var exitCode: Int32?

    init(_ sent: [String], _ answered: [String], exitCode: Int32? = nil) {
      (self.sent, self.answered, self.exitCode) = (sent, answered, exitCode)
    }

    var testDescription: String { sent.joined(separator: " ") }
  }

  private static func failure(_ id: String, _ code: Int, _ message: String) -> String {
    #"{"jsonrpc":"2.0","id":\#(id),"error":{"code":\#(code),"message":"\#(message)"}}"#
  }

  private static let end = #"{"jsonrpc":"2.0","id":9,"method":"shutdown"}"#
  private static let exit = #"{"jsonrpc":"2.0","method":"exit"}"#
  private static let ended = #"{"jsonrpc":"2.0","id":9,"result":null}"#

  @Test(arguments: [
    Case([end, exit], [ended], exitCode: 0),
    Case([exit], [], exitCode: 1),
    Case([end, exit, end], [ended], exitCode: 0),
    Case([end, end], [ended, failure("9", -32600, "'shutdown' came after 'shutdown'")]),
    Case(
      [end, #"{"jsonrpc":"2.0","id":1,"method":"textDocument/hover"}"#],
      [ended, failure("1", -32600, "'textDocument/hover' came after 'shutdown'")]),
    Case(
      [#"{"jsonrpc":"2.0","id":"a","method":"no/such"}"#],
      [failure(#""a""#, -32601, "there is no method 'no/such'")]),
    Case(
      [#"{"jsonrpc":"2.0","id":1,"method":"$/odd"}"#], [failure("1", -32601, "there is no method '$/odd'")]),
    Case([#"{"jsonrpc":"2.0","method":"$/odd"}"#, #"{"jsonrpc":"2.0","method":"$/setTrace"}"#], []),
    Case([#"{"jsonrpc":"2.0","method":"no/such","params":[1]}"#], []),
    Case(
      [#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#], [failure("1", -32600, "'initialize' came twice")]),
    Case(
      [#"{"jsonrpc":"2.0","id":1,"method":"textDocument/hover","params":{}}"#],
      [failure("1", -32602, "'textDocument.uri' is missing")]),
    Case(
      [#"{"jsonrpc":"2.0","id":1,"method":"textDocument/hover","params":{"textDocument":{"uri":"file:///x.yaml"}}}"#],
      [#"{"jsonrpc":"2.0","id":1,"result":null}"#]),
    Case(["{"], [failure("null", -32700, "line 1, column 2: a key in double quotes is expected, but the text ends")]),
    Case(["[]"], [failure("null", -32600, "a list of messages isn't accepted; send each on its own")]),
    Case(["7"], [failure("null", -32600, "a message must be an object, not an int")]),
    Case(["{}"], [failure("null", -32600, "a message must have a 'method'")]),
    Case([#"{"id":3}"#], [failure("3", -32600, "a message must have a 'method'")]),
    Case(
      [#"{"id":1.5,"method":"shutdown"}"#],
      [failure("null", -32600, "the id of a request must be an int or a string, not a double")]),
    Case([#"{"id":1,"result":null}"#, #"{"id":1,"error":{"code":1,"message":"no"}}"#], []),
    Case(
      [
        #"{"jsonrpc":"2.0","id":1,"method":"shutdown"}"#, end,
        #"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":9}}"#,
        #"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":1}}"#,
        #"{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":77}}"#,
        #"{"jsonrpc":"2.0","method":"$/cancelRequest"}"#,
      ],
      [failure("1", -32800, "the request was cancelled"), failure("9", -32800, "the request was cancelled")]),
  ])
  func `each message is answered as the protocol says`(_ test: Case) throws {
    let client = try Client()
    test.sent.forEach(client.send)
    #expect(client.sent().map { JSON.displayed($0) } == test.answered)
    #expect(client.server.exitCode == test.exitCode)
  }

  @Test func `nothing is answered before initialize`() throws {
    let client = try Client(isInitialized: false)
    client.open("/w/recipes/a.yaml", "steps: 1")
    client.send(Self.end)
    let answers = client.sent().map { JSON.displayed($0) }
    #expect(answers == [Self.failure("9", -32002, "'shutdown' came before 'initialize'")])
    client.server.endOfInput()
    #expect(client.server.exitCode == 1)
  }

  @Test func `the end of the input after shutdown is a good end`() throws {
    let client = try Client()
    client.send(Self.end)
    _ = client.sent()
    client.server.endOfInput()
    #expect(client.server.exitCode == 0)
  }

  @Test(arguments: [
    (#"{}"#, "utf-16", "true"),
    (#"{"general":{"positionEncodings":["utf-16"]}}"#, "utf-16", "true"),
    (#"{"general":{"positionEncodings":["utf-32","utf-8","utf-16"]}}"#, "utf-8", "true"),
    (#"{"textDocument":{"rename":{"prepareSupport":true}}}"#, "utf-16", #"{"prepareProvider":true}"#),
  ])
  func `what the server can do follows from what the client can`(
    _ capabilities: String, _ encoding: String, _ rename: String
  ) throws {
    let client = try Client(isInitialized: false)
    let answer = client.request("initialize", .object(["capabilities": try JSON.parse(capabilities)]))
    let result = answer["result"]?["capabilities"] ?? .null
    #expect(result["positionEncoding"]?.string == encoding)
    #expect(result["renameProvider"].map { JSON.displayed($0) } == rename)
    #expect(answer["result"]?["serverInfo"].map { JSON.displayed($0) } == #"{"name":"errand","version":"1"}"#)
  }

  @Test func `a client that can is asked to watch files`() throws {
    let client = try Client(isInitialized: false)
    let capabilities = try JSON.parse(#"{"workspace":{"didChangeWatchedFiles":{"dynamicRegistration":true}}}"#)
    _ = client.request("initialize", .object(["capabilities": capabilities]))
    client.notify("initialized", .object([:]))
    #expect(
      client.sent().map { JSON.displayed($0) } == [
        #"{"jsonrpc":"2.0","id":"errand-1","method":"client/registerCapability","params":{"registrations":[{"id":"files","#
          + #""method":"workspace/didChangeWatchedFiles","registerOptions":{"watchers":[{"globPattern":"#
          + #""**/*.{yaml,yml}"},{"globPattern":"**/*.ics"},{"globPattern":"**/plugins/*.lock.json"}]}}]}}"#
      ])
  }
}
