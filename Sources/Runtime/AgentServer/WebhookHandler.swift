// Deliveries to webhooks over HTTP: `POST /hooks/PATH`, and `GET` where an entry answers it.
//
// A sender has no token: its signature is all that counts, and the agent verifies it. The answers say no more than whether
// to try again, because anyone may ask, unless the entry's `answer` says more. No browser runs or shows anything of
// them as a page of this agent.
import Agent
import AgentPages
import Operations
import Basics
import HTTPServer
import Recipes
import Synchronization

/// The number of answers to deliveries by status and path of the webhook.
package final class HookCounts: Sendable {
  package struct Key: Sendable, Hashable {
    /// Empty for an address that is no webhook's, so that strangers make no entries here.
    package var path: String
    package var status: Int
  }

  private let counts = Mutex<[Key: Int]>([:])

  package init() {}

  /// The counts since the agent started.
  package var all: [Key: Int] { counts.withLock { $0 } }

  package func add(_ path: String, _ status: Int) {
    counts.withLock { $0[Key(path: path, status: status), default: 0] += 1 }
  }
}

/// Answers one request to the address of a webhook.
struct WebhookHandler {
  let service: AgentParts
  let counts: HookCounts
  let isReady: Bool
  /// The answer without the secrets that are known.
  let masked: (HTTPServerResponse) -> HTTPServerResponse

  func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
    let path = String(request.rawPath.dropFirst(Webhook.root.count))
    var response: HTTPServerResponse
    do throws(Problem) { response = try await answered(request, path) } catch { response = error.response }
    counts.add(service.webhooks?.has(path) == true ? path : "", response.status)
    response.headers["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'none'; sandbox"
    return response
  }

  private func answered(_ request: HTTPServerRequest, _ path: String) async throws(Problem) -> HTTPServerResponse {
    let onlyPosts = Problem(.method, "send deliveries with POST", headers: ["Allow": "POST"])
    guard ["GET", "POST"].contains(request.method) else { throw onlyPosts }
    let later = Problem(
      .refusal(.notServing), "deliveries can't be accepted now; send it again later", headers: ["Retry-After": "5"])
    guard isReady else { throw request.method == "GET" ? onlyPosts : later }
    let delivery = Delivery(
      fields: request.headers.fields.map { ($0.name, $0.value) },
      query: request.query.items.map { ($0.name, $0.value) },
      body: request.body
    ) {
      () throws(CharsetError) in
      try HTTPQuery(form: request.body, request.contentType).items.map { ($0.name, $0.value) }
    }
    let answer =
      request.method == "GET"
      ? service.webhooks?.answer(toGet: delivery, at: path) ?? .unknownPath : await service.receive(delivery, at: path)
    switch answer {
    case .replied(let reply, let isVerified): return isVerified ? masked(response(reply)) : response(reply)
    case .awaited(let awaited):
      let (reply, run) = await service.reply(to: awaited)
      if let reply { return masked(response(reply)) }
      var receipt = ValueMap([("id", .string(awaited.id))])
      receipt["run"] = run.map { .string($0) }
      return .json(JSON.displayed(.map(receipt)), status: 202)
    case .onlyPosts: throw onlyPosts
    case .received(let id): return WebhookHandler.receipt(id, isNew: true)
    case .known(let id): return WebhookHandler.receipt(id, isNew: false)
    case .unknownPath: throw Problem(.noSuchPath, "this address has no webhook")
    case .tooLarge: throw Problem(.tooLarge, "a delivery has at most 1 MiB")
    case .unverified:
      throw Problem(.unverified, "the signature isn't valid for this webhook, or its time is too far from now")
    case .full:
      throw Problem(
        .refusal(.full), "too many deliveries are waiting; send it again later", headers: ["Retry-After": "5"])
    case .unavailable: throw later
    }
  }

  /// A text as text/plain, and other values as JSON.
  private func response(_ reply: Webhook.Reply) -> HTTPServerResponse {
    // These have no body (RFC 9110, sections 15.3.5 and 15.4.5).
    guard let body = reply.body, ![204, 304].contains(reply.status) else {
      return HTTPServerResponse(status: reply.status)
    }
    if let text = body.string {
      return .text(text, status: reply.status, type: reply.type ?? "text/plain; charset=utf-8")
    }
    return .json(
      JSON.displayed(body.asPlainJSON), status: reply.status, type: reply.type ?? "application/json")
  }

  private static func receipt(_ id: String, isNew: Bool) -> HTTPServerResponse {
    .json(JSON.displayed(.object(["id": .string(id), "isNew": .bool(isNew)])), status: isNew ? 202 : 200)
  }
}
