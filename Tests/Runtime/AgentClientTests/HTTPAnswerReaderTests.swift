import Basics
import HTTPTypes
import Operations
import Testing

@testable import AgentClient

/// Answers of HTTP/1.1, however they are cut where they arrive.
@Suite struct HTTPAnswerReaderTests {
  /// The lines of an answer's head, its body, and the result of reading it.
  struct Answer: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var bytes: [UInt8]
    var read: String

    init(_ name: String, _ lines: [String], _ body: String = "", is read: String) {
      testDescription = name
      bytes = Array("\(lines.map { "\($0)\r\n" }.joined())\r\n\(body)".utf8)
      self.read = read
    }
  }

  /// Reads bytes that come in parts; gives the status, the fields, the body, and whether that is all.
  private static func read(_ parts: [ArraySlice<UInt8>]) -> String {
    var reader = HTTPAnswerReader()
    var isOver = false
    for part in parts where !part.isEmpty && !isOver {
      let taken = part.withUnsafeBytes { bytes -> Result<Bool, HTTPAnswerReader.Fault> in
        do throws(HTTPAnswerReader.Fault) { return .success(try reader.take(bytes)) } catch { return .failure(error) }
      }
      switch taken {
      case .success(let isWhole): isOver = isWhole
      case .failure(let fault): return "fault: \(fault.message)"
      }
    }
    guard let (status, headers) = reader.head else { return "no head" }
    let fields = headers.fields.map { "\($0.name)=\($0.value)" }.joined(separator: ",")
    let end = isOver ? "whole" : reader.isWholeAtEnd ? "whole at the end" : "cut"
    return "\(status) [\(fields)] \(String(decoding: reader.body, as: UTF8.self)) \(end)"
  }

  private static let wholes = [
    Answer(
      "a length", ["HTTP/1.1 200 OK", "Content-Length: 5", "X:  a b "], "hello",
      is: "200 [Content-Length=5,X=a b] hello whole"),
    Answer("no body", ["HTTP/1.1 404 Not Found", "content-length: 0"], is: "404 [content-length=0]  whole"),
    Answer("no content", ["HTTP/1.1 204 No Content"], is: "204 []  whole"),
    Answer("no length", ["HTTP/1.0 200 OK"], "hello", is: "200 [] hello whole at the end"),
    Answer("no reason", ["HTTP/1.1 200"], "hello", is: "200 [] hello whole at the end"),
    Answer("a field without value", ["HTTP/1.1 204 No", "X:", "Y"], is: "204 [X=,Y=]  whole"),
    Answer(
      "chunks", ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked"], "3\r\nhel\r\n0002\r\nlo\r\n0\r\n\r\n",
      is: "200 [Transfer-Encoding=chunked] hello whole"),
    Answer(
      "chunks with all that may be there", ["HTTP/1.1 200 OK", "transfer-encoding: Chunked", "Content-Length: 9"],
      "A;name=value\r\n0123456789\r\n1 \r\n\n\r\n0;x\r\nX: y\r\nZ: 1\r\n\r\n",
      is: "200 [transfer-encoding=Chunked,Content-Length=9] 0123456789\n whole"),
    Answer(
      "an interim answer", ["HTTP/1.1 100 Continue", "", "HTTP/1.1 200 OK", "Content-Length: 5"], "hello",
      is: "200 [Content-Length=5] hello whole"),
    Answer(
      "interim answers with fields",
      [
        "HTTP/1.1 103 Early Hints", "Link: </a>", "Content-Length: 3", "", "HTTP/1.1 102 Processing", "",
        "HTTP/1.1 199 Other", "Transfer-Encoding: chunked", "", "HTTP/1.1 200 OK", "Content-Length: 5",
      ], "hello", is: "200 [Content-Length=5] hello whole"),
    Answer(
      "an interim answer before chunks",
      ["HTTP/1.1 100 Continue", "", "HTTP/1.1 500 No", "Transfer-Encoding: chunked"], "1\r\nx\r\n0\r\n\r\n",
      is: "500 [Transfer-Encoding=chunked] x whole"),
  ]

  @Test(arguments: wholes) func `an answer is read the same wherever it is cut`(_ answer: Answer) {
    let bytes = answer.bytes[...]
    for cut in bytes.startIndex...bytes.endIndex {
      #expect(HTTPAnswerReaderTests.read([bytes[..<cut], bytes[cut...]]) == answer.read, "\(cut)")
    }
    #expect(HTTPAnswerReaderTests.read(bytes.indices.map { bytes[$0...$0] }) == answer.read)
    for size in [2, 3, 5] {
      let parts = stride(from: 0, to: bytes.count, by: size).map { bytes[$0..<min($0 + size, bytes.count)] }
      #expect(HTTPAnswerReaderTests.read(parts) == answer.read, "\(size)")
    }
  }

  @Test(arguments: wholes) func `an answer that breaks off isn't whole`(_ answer: Answer) throws {
    let bytes = answer.bytes[...]
    guard !answer.read.hasSuffix("at the end") else { return }
    for cut in bytes.startIndex..<bytes.endIndex {
      let read = HTTPAnswerReaderTests.read([bytes[..<cut]])
      #expect(read == "no head" || read.hasSuffix(" cut"), "\(cut): \(read)")
    }
  }

  @Test(arguments: wholes) func `bytes after a whole answer are ignored`(_ answer: Answer) {
    guard !answer.read.hasSuffix("at the end") else { return }
    #expect(HTTPAnswerReaderTests.read([(answer.bytes + Array("more\r\n\r\n".utf8))[...]]) == answer.read)
  }

  private static let faults = [
    Answer("no status", [], is: "its answer begins with no status"),
    Answer("no status after an interim answer", ["HTTP/1.1 100 Continue", ""], is: "its answer begins with no status"),
    Answer("another protocol", ["220 mail.example.org ESMTP"], is: "it answers with '220 mail.example.org ESMTP'"),
    Answer(
      "another protocol after an interim answer", ["HTTP/1.1 100 Continue", "", "HELLO"],
      is: "it answers with 'HELLO'"),
    Answer(
      "a length of no number", ["HTTP/1.1 200 OK", "Content-Length: 1e3"], is: "the length of its answer is no number"),
    Answer(
      "a chunk of no number", ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked"], "x\r\n",
      is: "the length of a part of its answer is no number"),
    Answer(
      "a chunk that is too long", ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked"], "2\r\nhello\r\n",
      is: "a part of its answer is longer than it says"),
    Answer(
      "a long line between chunks", ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked"],
      String(repeating: "0", count: 257), is: "its answer isn't valid HTTP"),
  ]

  @Test(arguments: faults) func `a fault is found wherever an answer is cut`(_ answer: Answer) {
    let bytes = answer.bytes[...]
    for cut in bytes.startIndex...bytes.endIndex {
      #expect(HTTPAnswerReaderTests.read([bytes[..<cut], bytes[cut...]]) == "fault: \(answer.read)", "\(cut)")
    }
    #expect(HTTPAnswerReaderTests.read(bytes.indices.map { bytes[$0...$0] }) == "fault: \(answer.read)")
  }

  /// The heads of interim answers and the fields after the last chunk count with the head.
  @Test(arguments: [0, 1], [false, true])
  func `a head of the most bytes is read, and no longer one`(_ more: Int, _ isInterim: Bool) {
    let start = isInterim ? "HTTP/1.1 100 Continue\r\n\r\n" : ""
    let head = "\(start)HTTP/1.1 204 No\r\nX: "
    let count = ExactForm.mostOfHead + more - head.utf8.count - 4
    let bytes = Array("\(head)\(String(repeating: "y", count: count))\r\n\r\n".utf8)
    let read = HTTPAnswerReaderTests.read([bytes[...]])
    let fault = "fault: the head of its answer is longer than 16 KiB, the most that is read of one"
    #expect(more == 0 ? read.hasPrefix("204 [X=yyy") && read.hasSuffix(" whole") : read == fault)
  }
}
