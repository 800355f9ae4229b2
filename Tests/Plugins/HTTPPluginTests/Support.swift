import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import SandboxKit
import LocalFiles
import Testing

@testable import HTTPPlugin

let catalog = ActionCatalog([HTTPPlugin.self])

func action(_ name: String) throws -> ActionDescriptor { try #require(catalog.action("http.\(name)")) }

/// Runs an action with its input as JSON.
func run(
  _ name: String, _ input: String, on service: WebClient, in context: ActionContext = .testing()
) async throws -> Value {
  let action = try action(name)
  let output = try await action.run(try JSON.parse(input), on: service, in: context)
  #expect(action.output.check(output, as: "output").map(\.message) == [])
  return output
}

/// The error of an action that must fail.
func failure(
  _ name: String, _ input: String, on service: WebClient, in context: ActionContext = .testing()
) async throws -> ActionError {
  do { _ = try await run(name, input, on: service, in: context) } catch { return ActionError(error) }
  throw Unexpected()
}

struct Unexpected: Error {}

/// The service of a connection, over a script or the network.
func service(
  _ settings: String, _ transport: (any HTTPTransport)? = nil, cacheFolder: String? = nil,
  time: any TimeSource = TestTime()
) throws -> WebClient {
  let configuration = try HTTPPlugin.Configuration(checking: try JSON.parse(settings), as: "connection")
  return WebClient(configuration, http: HTTPClient(transport: transport), cacheFolder: cacheFolder, time: time)
}

/// A sandbox, with a service of it that has settings more.
func withShop(
  _ settings: KeyValuePairs<String, Value> = [:],
  _ test: (_ service: WebClient, _ sandbox: HTTPSandbox, _ time: TestTime) async throws -> Void
) async throws {
  let time = TestTime()
  let sandbox = try await HTTPSandbox(SandboxOptions(time: time))
  var configuration = sandbox.configuration.map ?? ValueMap()
  for (name, value) in settings { configuration[name] = value }
  let outcome: Result<Void, any Error>
  do {
    let service = try service(JSON.text(.map(configuration)), time: time)
    outcome = .success(try await test(service, sandbox, time))
  } catch {
    outcome = .failure(error)
  }
  await sandbox.stop()
  try outcome.get()
}
