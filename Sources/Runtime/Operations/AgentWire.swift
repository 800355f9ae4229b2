// Operations asked of the agent in another process, and how their answers are read.
package import Agent
package import Basics
package import RunState

/// A connection to an agent that takes requests as lines: the socket of a folder, or an agent elsewhere.
package protocol AgentWire: Sendable {
  /// Sends a request; the stream ends after the last of the answers, or where the agent ended.
  func ask(_ request: Value) throws(AgentError) -> AsyncThrowingStream<Value, any Error>
  /// The error for an answer that can't be read.
  func unreadable(_ error: RecordError) -> any Error
}

extension AgentWire {
  package func unreadable(_ error: RecordError) -> any Error { error }

  /// The answer to an operation; nil if the agent ended, which may have done it.
  ///
  /// Throws `RequestRefusedError` where the agent refuses, and `RecordError` where the answer can't be read.
  package func answer<Asked: Operation>(to operation: Asked) async throws -> Asked.Answer? {
    var answers = try ask(operation.line).makeAsyncIterator()
    guard let answer = try await answers.next() else { return nil }
    try checkRefusal(answer)
    do throws(RecordError) { return try Asked.Answer(reading: answer) } catch { throw unreadable(error) }
  }

  /// The events of an operation that follows runs; refusals and faults of reading as with an answer.
  package func events(
    of operation: some StreamingOperation
  ) throws(AgentError) -> AsyncThrowingStream<RunEvent, any Error> {
    let answers = try ask(operation.line)
    return AsyncThrowingStream(unfolding: {
      for try await answer in answers {
        if answer["progress"] == nil { try checkRefusal(answer) }
        do throws(RecordError) { return try RunEvent(reading: answer) } catch { throw unreadable(error) }
      }
      return nil
    })
  }
}

/// Throws the refusal that an answer is, if it is one.
private func checkRefusal(_ answer: Value) throws {
  if let refused = answer["failed"] { throw try RequestRefusedError(reading: refused) }
}

extension AgentClient: AgentWire {
  /// A connection has one request at a time: each line is an answer to the latest request.
  package func ask(_ request: Value) throws(AgentError) -> AsyncThrowingStream<Value, any Error> {
    try send(request)
    return replies
  }
}
