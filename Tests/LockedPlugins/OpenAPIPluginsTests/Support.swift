import ActionKit
import ActionTestKit
import Basics
import Foundation
import HTTPClient
import HTTPServer
import PluginLocks
import SandboxKit
import Synchronization
import Testing

@testable import OpenAPIPlugins

/// The content of a file in `Fixtures`.
func fixture(_ name: String) throws -> [UInt8] {
  let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(name)")
  return Array(try Data(contentsOf: file))
}

func lock(
  _ fixture: String, named name: String = "shop", only: [String] = [], effects: [String: Effect] = [:]
) throws -> PluginLock {
  try OpenAPIKind.lock(
    name: name, document: OpenAPIPluginsTests.fixture(fixture), source: fixture, only: only, effects: effects,
    file: "plugins/\(name).lock.json")
}

/// A lock of a document that is written in a test.
func lock(of document: String, only: [String] = []) throws(PluginLockError) -> PluginLock {
  try OpenAPIKind.lock(
    name: "made", document: Array(document.utf8), source: "made.yaml", only: only, effects: [:],
    file: "plugins/made.lock.json")
}

/// A service that answers as a test says, and records its requests.
final class Peer: Sendable {
  private final class Asked: Sendable {
    let requests = Mutex<[HTTPServerRequest]>([])
  }

  private let server: SandboxServer
  private let asked: Asked

  init(_ answer: @escaping @Sendable (HTTPServerRequest) -> HTTPServerResponse) throws {
    let asked = Asked()
    self.asked = asked
    server = try SandboxServer(port: 0, time: TestTime()) { request, _ in
      asked.requests.withLock { $0.append(request) }
      return answer(request)
    }
  }

  var baseURL: String { server.baseURL }
  var requests: [HTTPServerRequest] { asked.requests.withLock { $0 } }
  /// The request lines, without bodies.
  var lines: [String] { requests.map { "\($0.method) \($0.target)" } }
  /// The bodies that were sent.
  var bodies: [String] { requests.map { String(decoding: $0.body, as: UTF8.self) } }

  func add(_ fault: ServiceFault) { server.add(fault) }
  func stop() async { await server.stop() }
}

/// A plugin and a service of it.
struct Connected {
  let plugin: PluginDescriptor
  let service: any Sendable
  let peer: Peer

  func run(_ name: String, _ input: String, in context: ActionContext = .testing()) async throws -> Value {
    let action = try #require(plugin.action(name))
    let output = try await action.run(action.input.restored(try JSON.parse(input)), on: service, in: context)
    #expect(action.output.check(output, as: "output").map(\.message) == [])
    return output
  }

  func failure(_ name: String, _ input: String, in context: ActionContext = .testing()) async throws -> ActionError {
    let action = try #require(plugin.action(name))
    let error = await #expect(throws: ActionError.self) {
      try await action.run(action.input.restored(try JSON.parse(input)), on: service, in: context)
    }
    var told = try #require(error)
    told.message = told.message.replacing(peer.baseURL, with: "S")
    return told
  }

  func preview(_ name: String, _ input: String, in context: ActionContext = .testing()) async throws -> [Change]? {
    let action = try #require(plugin.action(name))
    return try await action.preview(action.input.restored(try JSON.parse(input)), on: service, in: context)?.map {
      Change($0.subject.replacing(peer.baseURL, with: "S"), from: $0.before, to: $0.after)
    }
  }
}

func withPeer(
  _ lock: PluginLock, _ settings: KeyValuePairs<String, Value> = [:],
  answering: @escaping @Sendable (HTTPServerRequest) -> HTTPServerResponse,
  _ test: (Connected) async throws -> Void
) async throws {
  let peer = try Peer(answering)
  let outcome: Result<Void, any Error>
  do {
    // As a file is read, not as it was made.
    let lock = try PluginLock(reading: try lock.written(), of: lock.file)
    let plugin = PluginDescriptor(LockedPlugin(lock, OpenAPIKind.self))
    var map = ValueMap([("baseURL", .string(peer.baseURL))])
    for (name, value) in settings { map[name] = value }
    let service = try await plugin.connect(.map(map), in: PluginContext(connection: "shop", time: TestTime()))
    outcome = .success(try await test(Connected(plugin: plugin, service: service, peer: peer)))
  } catch {
    outcome = .failure(error)
  }
  await peer.stop()
  try outcome.get()
}

func json(_ text: String, status: Int = 200, headers: HTTPHeaders = [:]) -> HTTPServerResponse {
  var all = headers
  all["Content-Type"] = "application/json"
  return HTTPServerResponse(status: status, headers: all, body: .bytes(Array(text.utf8)))
}

/// A value as JSON, in its own order.
func text(_ value: Value) -> String { (try? JSON.text(value)) ?? "" }
