/// One client on standard streams: its messages are read line by line, its requests are answered side by side, and it may
/// be asked in return.
///
/// A request that states its version itself is answered in that version. Any other needs the handshake first, whose
/// version and capabilities hold from then on. `notifications/cancelled` ends a request without an answer. When the
/// input ends, pending calls of recipes end as well, and the runs that they began continue; requests that only look are
/// still answered.
import Basics
package import ModelContext

package actor ToolSession {
  private let service: ToolService
  private let caller: ToolCaller
  private let send: @Sendable ([UInt8]) -> Void
  private var lines = LineReader()
  /// The result of the handshake.
  private var handshake: (version: ProtocolVersion, capabilities: ClientCapabilities, client: String?)?
  /// The requests under way; each ends by itself, is cancelled by the client, or if it is long with the input.
  private var running: [MessageID: (task: Task<Void, Never>, isLong: Bool)] = [:]
  /// The questions that the client was asked.
  private var asked: [MessageID: AsyncStream<Elicitation.Answer>.Continuation] = [:]
  private var count = 0

  private static let tooLong = ModelContextError(
    .invalidRequest, "a message must not be longer than \(LineReader.longest) bytes")

  /// How many requests are answered at once.
  private static let most = 100
  /// How long a person may think about a plan.
  private static let patience = Confirmations.life

  package init(_ service: ToolService, for caller: ToolCaller, send: @escaping @Sendable ([UInt8]) -> Void) {
    self.service = service
    self.caller = caller
    self.send = send
  }

  /// Answers what comes until the input ends, and returns when nothing is under way.
  package func serve(_ input: AsyncStream<[UInt8]>) async {
    for await bytes in input {
      for line in lines.take(bytes) {
        switch line {
        case .tooLong: reply(.failure(nil, ToolSession.tooLong))
        case .line(let text): if !text.isBlankLine { take(text) }
        }
      }
    }
    for request in running.values where request.isLong { request.task.cancel() }
    for request in running.values { await request.task.value }
  }

  private func reply(_ message: ModelContextMessage) { send(message.bytes + [ASCII.newline]) }

  private func take(_ text: [UInt8]) {
    let message: ModelContextMessage
    do throws(ModelContextMessage.Fault) { message = try ModelContextMessage(reading: text) } catch {
      return reply(.failure(error.id, error.error))
    }
    switch message {
    case .request(let id, let method, let params): begin(id, method, params)
    case .notification("notifications/cancelled", let params):
      if let id = MessageID(params["requestId"]) { running[id]?.task.cancel() }
    case .notification: break
    case .result(let id, let result):
      if let answer = Elicitation.Answer(reading: .map(result)) { asked[id]?.yield(answer) }
      asked[id]?.finish()
    case .failure(let id?, _): asked[id]?.finish()
    case .failure(nil, _): break
    }
  }

  // MARK: Requests

  private func begin(_ id: MessageID, _ method: String, _ params: ValueMap) {
    let client: ToolClient
    do throws(ModelContextError) {
      guard running[id] == nil else {
        throw ModelContextError(.invalidRequest, "a request with this id is under way")
      }
      guard running.count < ToolSession.most else {
        throw ModelContextError(
          .internalError, "\(ToolSession.most) requests are under way; repeat this one when some have been answered")
      }
      client = try self.client(method, params)
    } catch {
      return reply(.failure(id, error))
    }
    let task = Task {
      let answer: ModelContextMessage
      do throws(ModelContextError) {
        answer = .result(id, try await service.answer(method, params, of: client, from: caller))
      } catch {
        answer = .failure(id, error.hidden(by: caller))
      }
      end(id, answer)
    }
    running[id] = (task, !ToolService.isLooking(method, params))
  }

  private func end(_ id: MessageID, _ answer: ModelContextMessage) {
    // A client that has cancelled a request wants no answer.
    if running.removeValue(forKey: id)?.task.isCancelled == false { reply(answer) }
  }

  /// The client's data for a request.
  private func client(_ method: String, _ params: ValueMap) throws(ModelContextError) -> ToolClient {
    let notify: @Sendable (ModelContextMessage) async -> Void = { [send] in send($0.bytes + [ASCII.newline]) }
    if RequestEnvelope.isIn(params) {
      let envelope = try RequestEnvelope(reading: params)
      return ToolClient(
        version: envelope.version, elicits: envelope.capabilities.elicitsForms, name: envelope.client, notify: notify)
    }
    if method == "initialize" {
      handshake = (
        ToolService.negotiated(params), ClientCapabilities(reading: params["capabilities"]),
        params["clientInfo"]?["name"]?.string
      )
    }
    guard handshake != nil || method == "ping" else {
      throw ModelContextError(
        .invalidRequest, "send 'initialize' first, or say '\(RequestEnvelope.Key.version)' in 'params._meta'")
    }
    let version = handshake?.version ?? .latestHandshake
    var client = ToolClient(version: version, elicits: false, name: handshake?.client, notify: notify)
    client.elicits = handshake?.capabilities.elicitsForms == true && version.knowsElicitation
    if client.elicits { client.elicit = { [weak self] in await self?.ask($0) ?? .cancelled } }
    return client
  }

  // MARK: Questions

  /// Asks the person at the client.
  private func ask(_ question: Elicitation) async -> Elicitation.Answer {
    count += 1
    let id = MessageID.text("errand-\(count)")
    let (answers, sink) = AsyncStream.makeStream(of: Elicitation.Answer.self)
    asked[id] = sink
    defer { asked[id] = nil }
    reply(.request(id, method: Elicitation.method, params: question.params))
    let answer = await withTaskGroup(of: Elicitation.Answer?.self) { [service] group in
      group.addTask {
        for await answer in answers { return answer }
        // The client can't ask, or the call was cancelled.
        return .cancelled
      }
      group.addTask {
        try? await service.time.sleep(for: ToolSession.patience)
        return nil
      }
      let first = await group.next()
      group.cancelAll()
      return first ?? nil
    }
    if answer == nil || Task.isCancelled {
      reply(
        .notification(
          method: "notifications/cancelled",
          params: ValueMap([("requestId", id.value), ("reason", .string("the plan is no longer waited for"))])))
    }
    return answer ?? .cancelled
  }
}

extension ModelContextError {
  /// The error without secrets.
  package func hidden(by caller: ToolCaller) -> ModelContextError {
    var error = self
    error.message = (caller.hide(.string(message)).string ?? message).shortened(to: AnswerLimit.mostOfMessage)
    error.data = data.map(caller.hide)
    return error
  }
}
