// Requests to the agent of a folder, over its socket.
package import Agent

extension AgentClient {
  /// Sends a request; the stream of answers ends after the last one.
  ///
  /// A connection has one request at a time: each line is read as an answer to the latest request.
  package func ask(_ request: AgentRequest) throws(AgentError) -> AsyncThrowingStream<AgentReply, any Error> {
    let (line, verb) = request.encoded()
    try send(line)
    return AsyncThrowingStream(unfolding: {
      for try await value in self.replies { return try AgentReply(reading: value, to: verb) }
      return nil
    })
  }
}
