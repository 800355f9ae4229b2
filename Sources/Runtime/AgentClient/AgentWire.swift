/// The exact form of operations, for a client of an agent in another process, here or elsewhere.
///
/// A request is `POST /api/v1/operations/NAME` with the inputs in the coding of records. Its answer is one JSON text
/// (`ExactReader`), or for an operation that follows runs one event a line. `FolderAgent` asks the agent of a folder over
/// its Unix socket, `RemoteAgent` asks one elsewhere over TLS; both share everything above the bytes.
package import Agent
package import Basics
package import Operations
import RunState
import Synchronization

/// A way to an agent in another process.
package protocol AgentWire: Sendable {
  var patience: WirePatience { get }
  /// Sends a request, and passes its answer to the reader piece by piece; returns when no more comes.
  ///
  /// Throws where the agent can't be reached.
  func send(_ request: ExactRequest, to reader: ExactReader) async throws
  /// The error for an answer that is no answer to the operation.
  func error(for problem: ExactReader.Problem) -> any Error
  /// The error for an answer that can't be read.
  func unreadable(_ fault: String) -> any Error
}

/// How a client waits for an agent, and what it tells the user meanwhile.
package struct WirePatience: Sendable {
  let time: any TimeSource
  /// Takes a sentence about the wait.
  let tell: @Sendable (String) -> Void
  /// After how long without an answer the user is told.
  package var silence = TimeSpan.seconds(10)

  /// How often a request is sent again that found every place taken, and how long after the last time.
  static let (mostTries, pause) = (240, TimeSpan.milliseconds(250))

  package init(time: any TimeSource, tell: @escaping @Sendable (String) -> Void = { _ in }) {
    self.time = time
    self.tell = tell
  }
}

/// A request in the exact form.
package struct ExactRequest: Sendable {
  package let name: String
  /// The inputs as JSON.
  package let body: [UInt8]
  /// Whether events are wanted, one after another.
  package let isStream: Bool

  /// - Parameter recipes: The recipes that the caller is to see; all that it may see if empty.
  package init(
    _ operation: some Operation, isStream: Bool = false, among recipes: [String] = []
  ) throws(AgentError) {
    name = type(of: operation).name
    self.isStream = isStream
    var inputs = operation.exactInputs
    if !recipes.isEmpty { inputs[ExactForm.recipes] = .list(recipes.map { .string($0) }) }
    do throws(JSONError) { body = try JSON.write(.map(inputs)) } catch {
      throw AgentError(.broken, "the request can't be written as JSON: \(error.message)")
    }
  }

  /// The path on the agent.
  package var path: String { ExactForm.path + name }
  /// The type of the answer that is wanted.
  package var accepted: String { isStream ? ExactForm.events : ExactForm.answer }
}

extension AgentWire {
  /// The answer to an operation; nil if the agent ended, which may have done it.
  ///
  /// Throws `RequestRefusedError` where the agent refuses.
  ///
  /// - Parameter recipes: The recipes that the caller is to see; all that it may see if empty.
  package func answer<Asked: Operation>(
    to operation: Asked, among recipes: [String] = []
  ) async throws -> Asked.Answer? {
    switch try await outcome(of: try ExactRequest(operation, among: recipes)) {
    case .answer(let answer):
      do throws(RecordError) { return try Asked.Answer(reading: answer) } catch { throw unreadable(error.message) }
    case .events: throw unreadable("it is a stream of events")
    case .cut: return nil
    }
  }

  /// What came of a request that wasn't refused; throws what the command reports otherwise.
  ///
  /// While every place of the agent is taken, the request is sent again, for about a minute.
  private func outcome(
    of request: ExactRequest, _ take: (@Sendable (Value) throws(RecordError) -> Void)? = nil
  ) async throws -> ExactReader.Outcome.Good {
    var tries = 1
    while true {
      let reader = ExactReader(take)
      try await send(request, to: reader)
      switch reader.outcome {
      case .good(let outcome): return outcome
      case .refusal(let refusal): throw refusal
      case .problem(let problem) where problem.kind == "tooMany" && tries < WirePatience.mostTries:
        if tries == 1 { patience.tell("every place of the agent is taken; waiting for one") }
        tries += 1
        try await patience.time.sleep(for: WirePatience.pause)
      case .problem(let problem): throw error(for: problem)
      case .unreadable(let fault): throw unreadable(fault)
      }
    }
  }

  /// The events of an operation that follows runs, until the last of them or the end of the agent; refusals and faults of
  /// reading as with an answer.
  package func events(
    of operation: some StreamingOperation
  ) throws(AgentError) -> AsyncThrowingStream<RunEvent, any Error> {
    let request = try ExactRequest(operation, isStream: true)
    let (events, sink) = AsyncThrowingStream<RunEvent, any Error>.makeStream()
    // Cancelled when the events are no longer wanted; ends with the exchange.
    let task = Task {
      // The end of a long run, whose steps are asked for once the stream is over.
      let end = Mutex<RunRecord?>(nil)
      do {
        let outcome = try await outcome(of: request) { line throws(RecordError) in
          let event = try RunEvent(reading: line)
          if case .ended(let head) = event, line[ExactForm.isHead] == .bool(true), head.status.isEnded {
            end.withLock { $0 = head }
          } else {
            sink.yield(event)
          }
        }
        if case .answer = outcome { throw unreadable("it has no events") }
        // Without an answer the agent has ended, and the end of the run is the next one's to tell.
        if let head = end.withLock({ $0 }), let run = try await whole(head) { sink.yield(.ended(run)) }
        sink.finish()
      } catch {
        sink.finish(throwing: error)
      }
    }
    sink.onTermination = { _ in task.cancel() }
    return events
  }

  /// The whole record of a run that came without its steps; nil if the agent ended before it answered.
  private func whole(_ head: RunRecord) async throws -> RunRecord? {
    do {
      return try await answer(to: ShowRun.with { $0.run = head.id })?.record()
    } catch let refusal as RequestRefusedError where refusal.kind == .notFound {
      // It was deleted meanwhile.
      return head
    }
  }
}
