import Basics
import RunState
import Runs
import Testing

@testable import Agent
@testable import Operations

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

  private static let error = RunError(.validation, "no JSON", step: "put[3]")

  /// Members of progress have names that other answers use for other things.
  @Test(arguments: [
    Progress.runBegan(run: "r1", recipe: "backup", isResumed: true), .stepBegan(path: "put", title: "put", depth: 1),
    .loopAdvanced(path: "put", done: 4, failed: 2, caught: 1, count: 9),
    .attemptFailed(path: "put[3]", attempt: 1, error: error, retryIn: .seconds(2)),
    .reported(path: "put", text: "ended", amount: ProgressAmount(completed: 1, total: 2)),
    .stepEnded(
      path: "put", title: "put", depth: 1, status: .failed, took: .seconds(1), error: error, isReplayed: false),
  ]) func `progress is read as what was told, whatever is in it`(_ progress: Progress) throws {
    guard case .progress(let read) = try RunEvent(reading: progress.value) else {
      Issue.record("\(progress.value) is read as something else")
      return
    }
    #expect(read.value == progress.value)
  }
}
