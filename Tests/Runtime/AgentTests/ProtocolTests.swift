import Basics
import Testing

@testable import Agent

/// The lines on the socket for values that can't be JSON.
@Suite struct ProtocolTests {
  private static let unwritable = Value.object(["run": .object(["outputs": .object(["mean": .double(.nan)])])])

  @Test func `an answer that can't be written says why`() throws {
    let line = AgentProtocol.answer(Self.unwritable)
    let error = try #require(try JSON.parse(Array(line.dropLast()))["error"])
    #expect(error["kind"]?.string == "internal")
    #expect(error["message"]?.string?.hasPrefix("the answer can't be written as JSON: ") == true)
    #expect(line.last == 0x0A)
  }

  @Test func `a request that can't be written is an error`() throws {
    #expect(throws: JSONError.self) { try AgentProtocol.line(Self.unwritable) }
    #expect(try AgentProtocol.line(.object(["ask": .string("runs")])) == Array("{\"ask\":\"runs\"}\n".utf8))
  }
}
