import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import SandboxKit
import Testing

@testable import TimetablePlugin

let base = "https://publisher.example/timetables"

/// A file as the publisher has it.
func fixture(_ path: String) throws -> String {
  let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(path)")
  return try String(decoding: Data(contentsOf: file), as: UTF8.self)
}

/// A publisher that has the fixtures online, and nothing else.
struct FixtureTransport: HTTPTransport {
  func send(_ request: HTTPRequest, into sink: (any HTTPBodySink)?) async throws(HTTPError) -> HTTPResponse {
    let path = String(request.url.dropFirst(base.count + 1))
    guard request.url.hasPrefix("\(base)/"), let text = try? fixture(path) else {
      return HTTPResponse(status: 404, body: Array("<!DOCTYPE html>".utf8), url: request.url)
    }
    return HTTPResponse(headers: ["ETag": "\"\(text.utf8.count)\""], body: Array(text.utf8), url: request.url)
  }
}

func fixtureClient(_ baseURL: String = base, time: any TimeSource = TestTime()) -> TimetableClient {
  TimetableClient(baseURL: baseURL, http: HTTPClient(transport: FixtureTransport()), time: time)
}

/// A client whose requests are answered from a script, and which asks the network each time.
func scripted(
  _ steps: [ScriptedTransport.Step], interval: TimeSpan = .zero, time: any TimeSource = TestTime()
) -> (client: TimetableClient, transport: ScriptedTransport) {
  let transport = ScriptedTransport(steps)
  let client = TimetableClient(
    baseURL: base, minimumInterval: interval, http: HTTPClient(transport: transport), time: time)
  return (client, transport)
}

extension TimetableClient {
  /// The error of a call that must fail.
  func failure(_ call: (TimetableClient) async throws -> Void) async throws -> TimetableError {
    do { try await call(self) } catch let error as TimetableError { return error }
    throw Unexpected(description: "the call went well")
  }
}

struct Unexpected: Error, CustomStringConvertible { var description: String }

func selection(
  _ programId: String = "informatica-maghiara", _ year: Int = 1, _ group: Int = 511,
  in academicYear: String = "2025-2026"
) -> TimetableSelection {
  TimetableSelection(academicYear: academicYear, programId: programId, year: year, group: group)
}

func selection(group: Int, in academicYear: String = "2025-2026") -> TimetableSelection {
  selection("informatica-maghiara", 1, group, in: academicYear)
}

func date(_ text: String) throws -> CivilDate { try #require(CivilDate(text)) }

/// A folder that goes with the test.
final class Folder: Sendable {
  let path = FileManager.default.temporaryDirectory.appending(path: "timetable-\(UUID().uuidString)").path

  init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func text(_ name: String) throws -> String { try String(contentsOfFile: "\(path)/\(name)", encoding: .utf8) }
}

/// Classes in short: `8–10 Computer Architecture lecture`.
func short(_ entries: [TimetableEntry]) -> [String] { entries.map { "\($0.time) \($0.course) \($0.type.rawValue)" } }
