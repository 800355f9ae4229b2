import Basics
import Testing

@testable import LanguageServer

@Suite struct FrameTests {
  /// A client's bytes, and the frames found in them.
  struct Case: CustomTestStringConvertible, Sendable {
    var sent: String
    var found: [FrameReader.Found]

    init(_ sent: String, _ found: FrameReader.Found...) { (self.sent, self.found) = (sent, found) }

    var testDescription: String { sent }
  }

  private static func body(_ text: String) -> FrameReader.Found { .body(Array(text.utf8)) }

  @Test(arguments: [
    Case(""),
    Case("Content-Length: 2\r\n\r\n{}", body("{}")),
    Case("Content-Length: 2\r\n\r\n{}Content-Length: 2\r\n\r\n[]", body("{}"), body("[]")),
    Case("content-LENGTH:2\n\n{}", body("{}")),
    Case("Content-Type: application/vscode-jsonrpc; charset=utf-8\r\nContent-Length: 4\r\n\r\nnull", body("null")),
    Case("Content-Length: 3\r\n\r\nä\n", body("ä\n")),
    Case("Content-Length: 0\r\n\r\nContent-Length: 2\r\n\r\n{}", body(""), body("{}")),
    Case("\r\n\r\nContent-Length: 2\r\n\r\n{}", body("{}")),
    Case("Content-Length: 2\r\n\r\n{"),
    Case("warning: slow\nContent-Length: 2\r\n\r\n{}", body("{}")),
    Case("what\r\n\r\nContent-Length: 2\r\n\r\n{}", .fault("a header has no Content-Length"), body("{}")),
    Case(
      "Content-Length: -2\r\n\r\n{}Content-Length: 2\r\n\r\n[]",
      .fault("Content-Length is '-2', not a number of bytes"), body("[]")),
    Case(
      "Content-Length: 99999999999999999999\r\n\r\nContent-Length: 2\r\n\r\n[]",
      .fault("Content-Length is '99999999999999999999', not a number of bytes"), body("[]")),
    Case("Content-Length:\r\n\r\n", .fault("Content-Length is '', not a number of bytes")),
    Case("Content-Length: 0x10\r\n\r\n", .fault("Content-Length is '0x10', not a number of bytes")),
    Case(
      "Content-Length: 21\r\n\r\n" + String(repeating: "x", count: 21) + "Content-Length: 2\r\n\r\n{}",
      .fault("a message of 21 bytes is longer than the most, 20"), body("{}")),
    Case(String(repeating: "y", count: 20_000) + "Content-Length: 2\r\n\r\n{}", body("{}")),
  ])
  func `frames are found, whatever comes between them`(_ test: Case) {
    var whole = FrameReader(limit: 20)
    #expect(whole.read(Array(test.sent.utf8)) == test.found)
    var piecemeal = FrameReader(limit: 20)
    #expect(test.sent.utf8.flatMap { piecemeal.read([$0]) } == test.found)
  }

  @Test func `a frame has the length of its bytes`() {
    let frame = FrameReader.frame(.object(["a": .string("ä")]))
    #expect(String(decoding: frame, as: UTF8.self) == "Content-Length: 10\r\n\r\n{\"a\":\"ä\"}")
  }
}
