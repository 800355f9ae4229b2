import ActionKit
import Foundation
import HTTPClient
import Testing

@testable import MarkbookPlugin

@Suite struct ErrorTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String { message }
    var status = 200
    var body: String
    var message: String
    var kind: ErrorKind
    var effect = ActionError.Effect.none
    /// The service's own message.
    var detail: String?
  }

  @Test(arguments: [
    Case(
      status: 503, body: "pupils",
      message: "Markbook Online answered GET 'getmarkbook' with HTTP status 503.", kind: .server, effect: .unknown,
      detail: "pupils"),
    Case(
      status: 403, body: #"{"error":{"message":"The key is not for this school."}}"#,
      message: "Markbook Online answered GET 'getmarkbook' with HTTP status 403.", kind: .authorization,
      detail: "The key is not for this school."),
    Case(
      status: 404, body: "", message: "Markbook Online answered GET 'getmarkbook' with HTTP status 404.",
      kind: .notFound, effect: .none),
    // The status is checked first, so missing members after it don't matter.
    Case(
      body: #"{"status":"ERROR:invalid markbook"}"#,
      message: "Markbook Online answered 'getmarkbook' with 'ERROR:invalid markbook'.", kind: .validation),
    Case(
      body: #"{"status":"okay"}"#, message: "Markbook Online answered 'getmarkbook' with 'okay'.", kind: .validation),
    Case(
      body: "\n <!DOCTYPE html><p>Ann: 17</p>",
      message: "The answer to 'getmarkbook' is a web page and not JSON: check that 'baseURL' is the API's address, and "
        + "that the service is not down for maintenance.", kind: .plugin, effect: .unknown),
    Case(
      body: #"{"status":"OKAY","markbookna"#,
      message:
        "The answer to 'getmarkbook' isn't valid JSON at line 1, column 29, after 28 bytes; it may have been cut "
        + "off.", kind: .plugin, effect: .unknown),
    Case(
      body: "[]", message: "The answer to 'getmarkbook' cannot be read: the answer should be an object and is a list.",
      kind: .plugin, effect: .unknown),
    Case(
      body: "{}", message: "The answer to 'getmarkbook' cannot be read: 'status' should be there and is missing.",
      kind: .plugin, effect: .unknown),
    Case(
      body: #"{"status":"OKAY","markbookkey":"Ann"}"#,
      message: "The answer to 'getmarkbook' cannot be read: 'markbookkey' should be an integer and is a string.",
      kind: .plugin),
    Case(
      body:
        #"{"status":"OKAY","markbookkey":1,"markbookname":"m","ownerkey":2,"studentlist":[{"key":1,"studentid":[]}]}"#,
      message: "The answer to 'getmarkbook' cannot be read: 'studentlist[0].studentid' should be a text and is a list.",
      kind: .plugin),
    Case(
      body: #"{"status":"OKAY","markbookkey":1,"markbookname":"m","ownerkey":2,"tasklist":{}}"#,
      message: "The answer to 'getmarkbook' cannot be read: 'tasklist' should be a list and is a map.", kind: .plugin),
    Case(
      body: #"{"status":"OKAY","markbookkey":1,"markbookname":"m","ownerkey":2,"tasklist":[{"key":3,"name":"t"}],"#
        + #""studentlist":[{"key":1,"studentid":"7","givename":"A","classkey":4,"rawresults":["5","6"]}]}"#,
      message:
        "The answer to 'getmarkbook' contradicts itself: 'studentlist[0].rawresults' has 2 entries for 1 tasks, so "
        + "it isn't certain which belongs to which; ask again, and if it stays so, tell the service.", kind: .plugin),
    Case(
      body: #"{"status":"OKAY","markbookkey":99,"markbookname":"m","ownerkey":2}"#,
      message: "The answer to 'getmarkbook' is about the markbook with key 99, and 1 was asked for.", kind: .plugin),
  ])
  func `names the action and the field, and quotes only what the service says of a failure`(_ c: Case) async throws {
    let answer = ScriptedTransport.Step.on("GET", "\(base)?action=getmarkbook&…", status: c.status, c.body)
    // A refused request is sent once more in a new session.
    let (client, _) = scripted([try .logIn(), answer, try .logIn(), answer])
    let error = try await client.failure { _ = try await $0.getMarkbook(key: 1) }
    #expect(error.message == c.message)
    #expect(error.actionError.kind == c.kind)
    #expect(error.actionError.effect == c.effect)
    #expect(error.actionError.detail == c.detail)
  }

  @Test func `the other readings contradict themselves as little`() async throws {
    let body =
      #"{"status":"OKAY","markbookkey":99,"markbookname":"m","ownerkey":2,"outcomelist":[],"#
      + #""studentlist":[{"key":1,"studentid":"7","givename":"A","classkey":4,"outcomelevels":["High"]}]}"#
    let (client, _) = scripted([
      try .logIn(), .on("GET", "\(base)?action=getmarkbookalt&…", body),
      .on("GET", "\(base)?action=getoutcomes&…", body),
    ])
    #expect(
      try await client.failure { _ = try await $0.getMarkbookAlt(key: 1) }.message
        == "The answer to 'getmarkbookalt' is about the markbook with key 99, and 1 was asked for.")
    #expect(
      try await client.failure { _ = try await $0.getOutcomes(key: 1) }.message.hasPrefix(
        "The answer to 'getoutcomes' contradicts itself: 'studentlist[0].outcomelevels' has 1 entries for 0 outcomes"))
  }

  @Test(arguments: [
    (#"{"status":"OKAY","sessiontoken":"","sessionkey":5}"#, "OKAY"),
    (#"{"status":"OKAY","sessiontoken":"abc","sessionkey":0}"#, "OKAY"),
    (#"{"status":"ERROR:invalid credentials","sessiontoken":"","sessionkey":0}"#, "ERROR:invalid credentials"),
  ])
  func `a refused login says what to check, and is not made again`(_ body: String, _ status: String) async throws {
    let (client, transport) = scripted([.on("POST", "\(base)/authenticate.lc", body)])
    for _ in 0..<3 {
      let error = try await client.failure { _ = try await $0.userList() }
      #expect(
        error.message
          == "Logging in to Markbook Online failed. Markbook Online answered 'authentication' with '\(status)'. Check "
          + "username and password, that the user may administer users, and that no code by e-mail is asked for.")
      #expect(error.actionError.kind == .authentication)
      #expect(error.actionError.effect == .none)
      #expect(!error.actionError.retryable)
    }
    #expect(transport.requests.count == 1)
  }

  @Test func `a write that was done and whose answer cannot be read is said to be done`() async throws {
    let (client, _) = scripted([try .logIn(), .on("GET", "\(base)?action=createclass…", #"{"status":"OKAY"}"#)])
    let error = try await client.failure {
      _ = try await $0.createClass(markbookKey: 1, name: "n", teacherFamilyName: "f", teacherGivenName: "g")
    }
    #expect(error.message == "The answer to 'createclass' cannot be read: 'classkey' should be there and is missing.")
    #expect(error.actionError.effect == .done)
  }

  @Test func `a backup that is ready and has no address is none`() async throws {
    let (client, _) = scripted([
      try .logIn(), .on("GET", "\(base)?action=getbackupurl…", #"{"status":"OKAY","url":""}"#),
    ])
    let error = try await client.failure { _ = try await $0.getBackupURL() }
    #expect(
      error.message == "The answer to 'getbackupurl' cannot be read: the backup is ready, and 'url' is empty.")
    #expect(error.actionError.kind == .plugin)
  }

  @Test func `hands on how long the server asks to wait`() async throws {
    let (client, _) = scripted([
      try .logIn(),
      .on("GET", "\(base)?action=deletestudent…", status: 429, headers: ["Retry-After": "120"]),
    ])
    let error = try await client.failure { try await $0.deleteStudent(markbookKey: 1, studentKey: 2, sid: "3") }
    #expect(error.actionError.kind == .rateLimited)
    #expect(error.actionError.retryAfter == .seconds(120))
    #expect(error.actionError.effect == .none)
  }

  @Test func `a login that got no answer is a matter of the network, and is made again`() async throws {
    let (client, transport) = scripted([
      .on("POST", "\(base)/authenticate.lc", fail: HTTPError(.connect, "Refused.", sent: .nothing)), try .logIn(),
      try .call("userlist", "userlist.json"),
    ])
    let error = try await client.failure { _ = try await $0.userList() }
    #expect(
      error.message
        == "Logging in to Markbook Online failed. Asking Markbook Online for 'authentication' failed. Refused.")
    #expect(error.actionError.kind == .network)
    #expect(try await client.userList().users.count == 4)
    #expect(transport.requests.count == 3)
  }

  @Test(
    arguments: [
      (HTTPError(.connect, "No.", sent: .nothing), ErrorKind.network, ActionError.Effect.none),
      (HTTPError(.interrupted, "No.", sent: .maybe), .network, .unknown),
      (HTTPError(.timeout(.attempt), "No.", sent: .maybe), .timeout, .unknown),
      (HTTPError(.timeout(.connect), "No.", sent: .nothing), .timeout, .none),
      (HTTPError(.tooLarge, "No.", sent: .maybe), .plugin, .unknown),
      (HTTPError(.redirect, "No.", sent: .maybe), .plugin, .unknown),
      (HTTPError(.tls, "No.", sent: .nothing), .configuration, .none),
      (HTTPError(.invalidRequest, "No.", sent: .nothing), .configuration, .none),
      (HTTPError(.cancelled, "No.", sent: .maybe), .cancelled, .unknown),
    ] as [(HTTPError, ErrorKind, ActionError.Effect)])
  func `a write that got no answer tells whether it can have been done`(
    _ failure: HTTPError, _ kind: ErrorKind, _ effect: ActionError.Effect
  ) async throws {
    let (client, transport) = scripted([try .logIn(), .on("GET", "\(base)?action=deletestudent…", fail: failure)])
    let error = try await client.failure { try await $0.deleteStudent(markbookKey: 1, studentKey: 2, sid: "3") }
    #expect(error.actionError.kind == kind)
    #expect(error.actionError.effect == effect)
    #expect(transport.requests.count == 2)
  }

  @Test(arguments: ["", "x", "é", "👩‍👩‍👧"])
  func `a backup of what has one character is refused before anything is sent`(_ matching: String) async throws {
    let (client, transport) = scripted([])
    let error = try await client.failure { try await $0.scheduleBackup(matching: matching) }
    #expect(error.message == "'matching' must have at least 2 characters; nothing was sent.")
    #expect(transport.requests.isEmpty)
  }

  @Test func `a zip that too many ask for is asked for again while its hour lasts`() async throws {
    let (client, _) = scripted([
      .on("GET", "https://markbook.example/download/b.zip", status: 429, headers: ["Retry-After": "90"])
    ])
    let error = try await client.failure {
      _ = try await $0.downloadBackup(
        from: "https://markbook.example/download/b.zip",
        to: "\(FileManager.default.temporaryDirectory.path)/\(UUID()).zip")
    }
    #expect(error.actionError.kind == .rateLimited)
    #expect(error.actionError.retryAfter == .seconds(90))
    #expect(DownloadBackup.retry.kinds.contains(.rateLimited))
    let total = (1..<DownloadBackup.retry.maxAttempts).reduce(TimeSpan.zero) {
      $0 + DownloadBackup.retry.delay(afterAttempt: $1, chance: 0)
    }
    #expect(total > .seconds(600) && total < .seconds(3600))
  }
}
