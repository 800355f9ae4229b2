import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import SandboxKit
import Testing

@testable import MarkbookPlugin

enum HTTPRequestStub {
  static func clock(_ span: String) -> HTTPServerRequest { HTTPServerRequest("POST", "/sandbox/clock?advance=\(span)") }
}

/// Faults between client and service, over real HTTP.
@Suite struct FaultTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String { kind.rawValue }
    var kind: SchoolFault
    var error: ErrorKind
    var effect: ActionError.Effect
    /// Whether the write was done although it failed.
    var isDone: Bool
    var words: String
  }

  @Test(arguments: [
    Case(kind: .refuse, error: .network, effect: .unknown, isDone: false, words: "'createclass' failed."),
    Case(kind: .lostAnswer, error: .network, effect: .unknown, isDone: true, words: "'createclass' failed."),
    Case(kind: .truncated, error: .network, effect: .unknown, isDone: true, words: "'createclass' failed."),
    Case(kind: .slow, error: .timeout, effect: .unknown, isDone: true, words: "'createclass' failed."),
    Case(kind: .oversized, error: .plugin, effect: .unknown, isDone: true, words: "'createclass' failed."),
    Case(kind: .html, error: .plugin, effect: .unknown, isDone: false, words: "is a web page and not JSON"),
    Case(kind: .serverError, error: .server, effect: .unknown, isDone: false, words: "with HTTP status 500."),
    Case(kind: .redirect, error: .plugin, effect: .unknown, isDone: false, words: "same scheme, host and port"),
    Case(kind: .refusal, error: .validation, effect: .none, isDone: false, words: "with 'ERROR:not today'."),
    Case(kind: .expired, error: .validation, effect: .none, isDone: false, words: "with 'ERROR:invalid session'."),
  ])
  func `a write that goes wrong is sent once and says what is known`(_ c: Case) async throws {
    // Only the answer that never comes may time out early; otherwise a busy machine decides which fault occurs.
    let limits = HTTPLimits(attempt: c.kind == .slow ? .seconds(5) : .seconds(60), maxBodyBytes: 1 << 20)
    try await withSandbox(limits: limits) { sandbox, client, _ in
      sandbox.handler.add(MarkbookFault(c.kind, call: "createclass"))
      let error = try await client.failure {
        _ = try await $0.createClass(
          markbookKey: 1_207_731, name: "8GEO-W", teacherFamilyName: "f", teacherGivenName: "g")
      }
      #expect(error.actionError.kind == c.error)
      #expect(error.actionError.effect == c.effect)
      #expect(error.message.contains(c.words), "\(error.message)")
      for secret in [sandbox.handler.school.apiKey, "WattleCreek00", "530001"] {
        #expect(!error.message.contains(secret), "\(error.message)")
      }
      #expect(sandbox.writes("createclass") == (c.isDone ? ["1207731/8GEO-W": 1] : [:]))
      #expect(sandbox.handler.log.requests == 2)
    }
  }

  @Test(arguments: [SchoolFault.trailingComma, .expired])
  func `a read gets over`(_ kind: SchoolFault) async throws {
    try await withSandbox { sandbox, client, _ in
      _ = try await client.userList()
      sandbox.handler.add(MarkbookFault(kind, call: "getmarkbook"))
      #expect(try await client.getMarkbook(key: 1_207_731).students.count == 24)
      #expect(sandbox.handler.log.logins == (kind == .expired ? 2 : 1))
    }
  }

  @Test func `a list that is no list is named`() async throws {
    try await withSandbox { sandbox, client, _ in
      sandbox.handler.add(MarkbookFault(.wrongType, call: "userlist"))
      let error = try await client.failure { _ = try await $0.userList() }
      #expect(error.message == "The answer to 'userlist' cannot be read: 'list' should be a list and is a string.")
    }
  }

  @Test func `nobody at the port is a network error with which nothing was sent`() async throws {
    // A port of the system's, so that no other test's server takes it.
    let client = MarkbookClient(
      baseURL: "http://127.0.0.1:9/markbook", apiKey: "key", username: "name", password: "word", time: TestTime())
    let error = try await client.failure { try await $0.scheduleBackup(matching: "2026") }
    #expect(error.actionError.kind == .network)
    #expect(error.actionError.effect == .none)
    #expect(error.message.hasPrefix("Logging in to Markbook Online failed. Asking Markbook Online for"))
  }

  @Test(arguments: [SchoolFault.truncated, .wrongType, .html, .refuse])
  func `a damaged backup leaves no file, and one that was there as it was`(_ kind: SchoolFault) async throws {
    try await withSandbox { sandbox, client, time in
      try await client.scheduleBackup(matching: "2026")
      time.advance(by: .seconds(24 * 3600))
      let url = try #require(try await client.getBackupURL().url)
      let folder = FileManager.default.temporaryDirectory.appending(path: "markbook-\(UUID())")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let file = folder.appending(path: "b.zip")
      try Data("old".utf8).write(to: file)
      sandbox.handler.add(MarkbookFault(kind, call: "download"))
      _ = try await client.failure { _ = try await $0.downloadBackup(from: url, to: file.path) }
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["b.zip"])
      #expect(try String(decoding: Data(contentsOf: file), as: UTF8.self) == "old")
      // The address is still valid, so the next attempt gets the file.
      #expect(try await client.downloadBackup(from: url, to: file.path) > 1000)
    }
  }

  @Test func `faults and the log are reached from outside`() async throws {
    try await withSandbox { sandbox, client, _ in
      let origin = sandbox.handler.school.origin
      let http = HTTPClient()
      func ask(_ path: String) async throws -> String {
        String(decoding: try await http.send(HTTPRequest("GET", origin + path)).body, as: UTF8.self)
      }
      let fault = try await ask("/sandbox/fault?kind=lostAnswer&call=putstudentresult&skip=1")
      #expect(fault == #"{"fault":"lostAnswer"}"#)
      for student in [(12, "0047218"), (13, "0047233")] {
        _ = try? await client.putStudentResult(
          markbookKey: 1_207_731, studentKey: student.0, sid: student.1, taskKey: 21, taskName: "Average", result: "50")
      }
      let log = try await ask("/sandbox/log")
      #expect(log == #"{"requests":3,"logins":1,"writes":{"putstudentresult":{"1207731/12/21":1,"1207731/13/21":1}}}"#)
      let unknown = try await ask("/sandbox/fault?kind=boom")
      #expect(unknown.hasPrefix("There is no fault 'boom'; there are refuse, "))
      let misspelt = try await ask("/sandbox/fault?kind=refuse&action=userlist")
      #expect(misspelt == "An order of 'refuse' says no 'action'; did you mean 'call'?\n")
      let clock = try await ask("/sandbox/clock?advance=1d")
      #expect(clock == #"{"now":"2026-11-21T09:30:00Z"}"#)
    }
  }

  @Test func `adds commas without touching what stands in quotes`() {
    #expect(withTrailingCommas(#"{"a":["x,]\"}",{}],"b":[]}"#) == #"{"a":["x,]\"}",{},],"b":[],}"#)
  }
}
