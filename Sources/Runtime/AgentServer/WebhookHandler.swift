// Deliveries to webhooks over HTTP: `POST /hooks/PATH`.
//
// A sender has no token: its signature is all that counts, and the agent verifies it. The answers say no more than whether
// to try again, because anyone may ask.
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

  func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
    let path = String(request.rawPath.dropFirst(Webhook.root.count))
    let response: HTTPServerResponse
    do throws(Problem) { response = try await answered(request, path) } catch { response = error.response }
    counts.add(service.webhooks?.has(path) == true ? path : "", response.status)
    return response
  }

  private func answered(_ request: HTTPServerRequest, _ path: String) async throws(Problem) -> HTTPServerResponse {
    guard request.method == "POST" else {
      throw Problem(.method, "send deliveries with POST", headers: ["Allow": "POST"])
    }
    let later = Problem(
      .refusal(.notServing), "deliveries can't be accepted now; send it again later", headers: ["Retry-After": "5"])
    guard isReady else { throw later }
    let delivery = Delivery(fields: request.headers.fields.map { ($0.name, $0.value) }, body: request.body) {
      () throws(CharsetError) in
      try HTTPQuery(form: request.body, request.contentType).items.map { ($0.name, $0.value) }
    }
    switch await service.receive(delivery, at: path) {
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

  private static func receipt(_ id: String, isNew: Bool) -> HTTPServerResponse {
    .json(JSON.displayed(.object(["id": .string(id), "isNew": .bool(isNew)])), status: isNew ? 202 : 200)
  }
}
