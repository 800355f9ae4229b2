import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import Testing

@testable import MarkbookPlugin

/// An answer of the service, from the folder of fixtures.
func fixture(_ name: String) throws -> String {
  let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(name)")
  return try String(decoding: Data(contentsOf: file), as: UTF8.self)
}

let base = "https://markbook.example/api/v1.5"

/// The end of every query after the login of `authentication.json`.
let session = "&sessiontoken=Qr7TnB2xWc9LmZ4k&sessionkey=530417&apikey=school%20key"

extension ScriptedTransport.Step {
  static func logIn(_ answer: String = "authentication.json") throws -> Self {
    .on("POST", "\(base)/authenticate.lc", try fixture(answer))
  }

  /// Any call of an action, answered with a fixture.
  static func call(_ action: String, _ answer: String) throws -> Self {
    .on("GET", "\(base)?action=\(action)&…", try fixture(answer))
  }
}

/// A client whose requests are answered from a script.
func scripted(
  _ steps: [ScriptedTransport.Step], time: any TimeSource = TestTime()
) -> (client: MarkbookClient, transport: ScriptedTransport) {
  let transport = ScriptedTransport(steps)
  let client = MarkbookClient(
    baseURL: base, apiKey: "school key", username: "admin & co", password: "p+w=%",
    http: HTTPClient(transport: transport), time: time)
  return (client, transport)
}

extension MarkbookClient {
  /// The error of a call that must fail.
  nonisolated func failure(_ call: (MarkbookClient) async throws -> Void) async throws -> MarkbookError {
    do { try await call(self) } catch let error as MarkbookError { return error }
    throw Unexpected(description: "the call went well")
  }
}

struct Unexpected: Error, CustomStringConvertible { var description: String }

/// Holds its waiters until it is opened.
final class Gate: Sendable {
  private let stream: AsyncStream<Void>
  private let opening: AsyncStream<Void>.Continuation

  init() { (stream, opening) = AsyncStream.makeStream() }
  func open() { opening.finish() }

  /// Waits; throws if the task is cancelled first.
  func wait() async throws {
    for await _ in stream {}
    try Task.checkCancellation()
  }
}
