/// `POST /mcp`: the recipes as tools of assistants, over HTTP (the transport "Streamable HTTP" of the Model Context
/// Protocol, `TransportFields`).
///
/// Each request is on its own, without a session: since 2026-07-28 the protocol has none, and a client that begins with
/// a handshake gets no session id, so that it sends none. Only a client of that protocol can be sent a question for
/// its user. The answer to a call of a recipe is a stream of events with progress before the response, if the client
/// accepts one; every other answer is JSON. A client that leaves ends the call; the run continues.
///
/// Host, Origin and the token are checked as for the rest of the API; these refusals are a `Problem`, all others an error of
/// JSON-RPC.
import Agent
import AgentPages
import AssistantTools
import Basics
import HTTPServer
import ModelContext

struct ToolHandler: Sendable {
  let tools: ToolService
  let authenticator: Authenticator

  static let path = "/mcp"

  func checkForm(_ request: HTTPServerRequest) throws(Problem) {
    let type = request.headers["Content-Type"]?.utf8.prefix { $0 != ASCII.semicolon }
    let name = type.map { String(Substring($0)).trimmed.lowercasedASCII } ?? ""
    guard name == "application/json" else {
      throw Problem(
        .mediaType, "the body is \(name.isEmpty ? "of no type" : "'\(name.shortened)'"); send application/json")
    }
  }

  /// The request in a body, or an immediate answer.
  enum Message {
    case request(MessageID, method: String, params: ValueMap, ToolClient)
    case answer(HTTPServerResponse)
  }

  func message(in request: HTTPServerRequest) -> Message {
    let message: ModelContextMessage
    do throws(ModelContextMessage.Fault) { message = try ModelContextMessage(reading: request.body) } catch {
      return .answer(ToolHandler.answer(.failure(error.id, error.error), status: error.error.status))
    }
    switch message {
    case .notification: return .answer(HTTPServerResponse(status: 202))
    case .result(let id, _):
      let error = ModelContextError(.invalidRequest, "the server has asked nothing")
      return .answer(ToolHandler.answer(.failure(id, error), status: 400))
    case .failure: return .answer(HTTPServerResponse(status: 202))
    case .request(let id, let method, let params):
      do throws(ModelContextError) {
        return .request(id, method: method, params: params, try client(method, params, request.headers))
      } catch {
        return .answer(ToolHandler.answer(.failure(id, error), status: error.status))
      }
    }
  }

  private func client(
    _ method: String, _ params: ValueMap, _ headers: HTTPHeaders
  ) throws(ModelContextError) -> ToolClient {
    let given = headers[TransportFields.version]
    let version = given.flatMap(ProtocolVersion.init(rawValue:))
    if RequestEnvelope.isIn(params) || version?.isStateless == true {
      // In this order a client that contradicts itself is told that, and not that its version is unknown.
      if RequestEnvelope.isIn(params) { try TransportFields.check(method, params) { headers.values($0) } }
      let envelope = try RequestEnvelope(reading: params)
      return ToolClient(
        version: envelope.version, elicits: envelope.capabilities.elicitsForms, name: envelope.client)
    }
    if let given, version == nil { throw ModelContextError.unsupported(given) }
    // The version of clients that don't say theirs, by the specification.
    return ToolClient(version: version ?? .early2025, elicits: false)
  }

  // MARK: Answers

  private static func answer(_ message: ModelContextMessage, status: Int = 200) -> HTTPServerResponse {
    HTTPServerResponse(status: status, headers: ["Content-Type": "application/json"], body: .bytes(message.bytes))
  }

  private func message(
    to id: MessageID, _ method: String, _ params: ValueMap, of client: ToolClient, from caller: ToolCaller
  ) async -> (ModelContextMessage, status: Int) {
    do throws(ModelContextError) {
      return (.result(id, try await tools.answer(method, params, of: client, from: caller)), 200)
    } catch {
      return (.failure(id, error.hidden(by: caller)), error.status)
    }
  }

  func response(
    to id: MessageID, _ method: String, _ params: ValueMap, of client: ToolClient, from caller: ToolCaller
  ) async -> HTTPServerResponse {
    let (message, status) = await message(to: id, method, params, of: client, from: caller)
    return ToolHandler.answer(message, status: status)
  }

  /// A response that comes as events.
  func stream(
    _ id: MessageID, _ method: String, _ params: ValueMap, of client: ToolClient, from caller: ToolCaller,
    as visitor: AgentCaller, lease: StreamLease
  ) -> HTTPServerResponse {
    var response = HTTPServerResponse(headers: [
      "Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
    ])
    response.body = .stream { [self] writer in
      defer { withExtendedLifetime(lease) {} }
      var client = client
      client.notify = { try? await writer.write(ToolHandler.event($0)) }
      let asked = client
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          let (message, _) = await message(to: id, method, params, of: asked, from: caller)
          try? await writer.write(ToolHandler.event(message))
        }
        group.addTask {
          await authenticator.repeatSign(to: visitor) { (try? await writer.write(": still here\n\n")) != nil }
        }
        await group.next()
        group.cancelAll()
      }
    }
    return response
  }

  private static func event(_ message: ModelContextMessage) -> [UInt8] {
    Array("event: message\ndata: ".utf8) + message.bytes + [ASCII.newline, ASCII.newline]
  }
}

extension HTTPServerRequest {
  /// Whether the client takes an answer as events.
  var acceptsEvents: Bool { headers.values("Accept").contains { $0.lowercasedASCII.contains("text/event-stream") } }
}
