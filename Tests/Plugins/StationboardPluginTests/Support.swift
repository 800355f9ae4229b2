import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import SandboxKit
import Synchronization
import Testing

@testable import StationboardPlugin

/// When the fixtures' boards were built, and a little later.
let morning = Timestamp("2026-04-14T06:30:21Z") ?? .earliest

/// An answer of the service as it was written down.
func fixture(_ path: String) throws -> [UInt8] {
  let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(path)")
  return try Array(Data(contentsOf: file))
}

/// A board of the fixtures.
func fixtureBoard(_ name: String, at now: Timestamp = morning) throws -> Board {
  try #require(try Board(answer: JSON.parse(fixture("\(name).json")), receivedAt: now))
}

/// A board that is told as a JSON text.
func board(_ text: String, at now: Timestamp = morning) throws -> Board? {
  try Board(answer: JSON.parse(text), receivedAt: now)
}

/// A service on a loopback port that gives its answers one after another, for any request.
final class Answers: Sendable {
  private let seen: Requests
  private let server: HTTPServer

  final class Requests: Sendable {
    let list = Mutex<[HTTPServerRequest]>([])
  }

  init(_ answers: [HTTPServerResponse]) throws {
    let seen = Requests()
    self.seen = seen
    server = try HTTPServer { request in
      let number = seen.list.withLock { list in
        list.append(request)
        return list.count - 1
      }
      return number < answers.count ? answers[number] : .text("no more answers", status: 599)
    }
  }

  var baseURL: String { server.baseURL }
  var requests: [HTTPServerRequest] { seen.list.withLock(\.self) }
  var targets: [String] { requests.map(\.target) }

  func stop() async { await server.stop() }
}

/// A client of a service that gives its answers one after another, asking each time.
func withAnswers(
  _ answers: [HTTPServerResponse], interval: TimeSpan = .zero, time: TestTime = TestTime(morning),
  _ test: (_ client: StationboardClient, _ service: Answers) async throws -> Void
) async throws {
  let service = try Answers(answers)
  let client = StationboardClient(
    baseURL: service.baseURL, minimumInterval: interval, limits: HTTPLimits(attempt: .seconds(60)), time: time)
  do { try await test(client, service) } catch {
    await service.stop()
    throw error
  }
  await service.stop()
}

/// A client of the sandbox, asking each time.
func withSandbox(
  limits: HTTPLimits = HTTPLimits(attempt: .seconds(60), maxBodyBytes: 1 << 20), interval: TimeSpan = .zero,
  at now: Timestamp = morning,
  _ test: (_ sandbox: StationboardSandbox, _ client: StationboardClient, _ time: TestTime) async throws -> Void
) async throws {
  let time = TestTime(now)
  let sandbox = try StationboardSandbox(SandboxOptions(time: time))
  let client = StationboardClient(
    baseURL: sandbox.baseURL, minimumInterval: interval, limits: limits, time: time)
  do { try await test(sandbox, client, time) } catch {
    await sandbox.stop()
    throw error
  }
  await sandbox.stop()
}

extension HTTPServerResponse {
  /// A board of the fixtures.
  static func board(_ name: String) throws -> HTTPServerResponse {
    HTTPServerResponse(headers: ["Content-Type": "application/json"], body: .bytes(try fixture("\(name).json")))
  }

  static let unchanged = HTTPServerResponse(status: 204, headers: ["x-md-rt-reason": "unchanged_since_rt"])
}

/// A clock that advances each time it is read, as every real one does.
struct GoingTime: TimeSource {
  private let time: TestTime

  init(_ time: TestTime) { self.time = time }

  func now() -> Timestamp {
    time.advance(by: .milliseconds(1))
    return time.now()
  }
  func elapsed() -> TimeSpan { time.elapsed() }
  func sleep(for span: TimeSpan) async throws { try await time.sleep(for: span) }
}

struct Unexpected: Error, CustomStringConvertible { var description: String }

/// The error of a call that must fail.
func failure(_ call: () async throws -> some Any) async throws -> StationboardError {
  let value: Any
  do { value = try await call() } catch let error as StationboardError { return error }
  throw Unexpected(description: "the call went well: \(value)")
}

/// A board in short.
func short(_ board: Board) -> String {
  var words = ["\(board.departures.count) departures"]
  if board.unreadable > 0 { words.append("\(board.unreadable) unreadable") }
  if board.isDegraded { words.append("degraded") }
  if board.isRealtimeReduced { words.append("realtime reduced") }
  if !board.isCurrent { words.append("nothing new") }
  if board.isWithoutService { words.append("without service") }
  if board.isUnchanged { words.append("unchanged") }
  if board.fromCache { words.append("from cache") }
  if board.isStale { words.append("stale") }
  if let edge = board.delivery.edgeCache { words.append(edge) }
  if let reason = board.delivery.staleReason { words.append(reason) }
  return words.joined(separator: ", ")
}

/// A departure in short: `06:38 IR17 Burgdorf, 4: CANCELLED`, the time as it is expected.
func short(_ departure: Departure) -> String {
  let time = departure.departsAt.description.dropFirst(11).prefix(5)
  var text = "\(time) \(departure.line ?? "-") \(departure.destination ?? "-")"
  if let platform = departure.platform { text += ", \(platform)" }
  if departure.platformChanged { text += " (was \(departure.previousPlatform ?? "-"))" }
  if let delay = departure.delayMin { text += ", +\(delay)" }
  if !departure.hasRealtime { text += ", no realtime" }
  if departure.cancelled { text += ", cancelled" }
  return text
}
