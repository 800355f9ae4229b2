import ActionKit
import ActionTestKit
import HTTPClient
import Synchronization
import Testing

@testable import MarkbookPlugin

@Suite struct SessionTests {
  @Test func `is used until it is nineteen minutes old, counted from the login's answer`() async throws {
    let time = TestTime()
    let answer = try fixture("authentication.json")
    let (client, transport) = scripted(
      [
        .on("POST", "\(base)/authenticate.lc") { _ in
          // The login takes a minute, which does not count.
          time.advance(by: .seconds(60))
          return HTTPResponse(body: Array(answer.utf8))
        },
        try .call("userlist", "userlist.json"), try .call("userlist", "userlist.json"),
        try .logIn(), try .call("userlist", "userlist.json"),
      ], time: time)
    func actions() -> [String] { transport.requests.map { $0.method == "POST" ? "login" : "list" } }
    _ = try await client.userList()
    time.advance(by: .seconds(19 * 60) - TimeSpan(nanoseconds: 1))
    // People set the wall clock; it has no say.
    time.setWallClock(to: .earliest)
    _ = try await client.userList()
    #expect(actions() == ["login", "list", "list"])
    time.advance(by: TimeSpan(nanoseconds: 1))
    _ = try await client.userList()
    #expect(actions() == ["login", "list", "list", "login", "list"])
  }

  @Test func `one login serves all calls that come meanwhile`() async throws {
    let gate = Gate()
    let answer = try fixture("authentication.json")
    var steps: [ScriptedTransport.Step] = [
      .on("POST", "\(base)/authenticate.lc") { _ throws(HTTPError) in
        try? await gate.wait()
        return HTTPResponse(body: Array(answer.utf8))
      }
    ]
    for _ in 0..<50 { steps.append(try .call("userlist", "userlist.json")) }
    let (client, transport) = scripted(steps)
    try await withThrowingTaskGroup(of: Int.self) { group in
      for index in 0..<50 {
        group.addTask {
          if index == 49 { gate.open() }
          return try await client.userList().users.count
        }
      }
      for try await count in group { #expect(count == 4) }
    }
    #expect(transport.requests.filter { $0.method == "POST" }.count == 1)
    #expect(transport.missing.isEmpty)
  }

  @Test func `a call that is cancelled leaves the login to the others`() async throws {
    let (started, gate) = (Gate(), Gate())
    let logins = Mutex(0)
    let keeper = SessionKeeper(time: TestTime()) {
      logins.withLock { $0 += 1 }
      started.open()
      try? await gate.wait()
      return .success(MarkbookSession(token: "t", key: 1))
    }
    let first = Task { try await keeper.session().token }
    try await started.wait()
    let second = Task { try await keeper.session().token }
    while keeper.waiting < 2 { await Task.yield() }
    first.cancel()
    // Ends although the login is still held.
    let error = await #expect(throws: MarkbookError.self) { try await first.value }
    #expect(error?.message == "Cancelled while logging in to Markbook Online.")
    // The call itself was never sent.
    #expect(error?.actionError.effect == ActionError.Effect.none)
    gate.open()
    #expect(try await second.value == "t")
    #expect(logins.withLock(\.self) == 1)
  }

  @Test func `a login that nobody waits for any more is cancelled, and the next call makes its own`() async throws {
    let (started, cancelled) = (Gate(), Gate())
    let logins = Mutex(0)
    let keeper = SessionKeeper(time: TestTime()) {
      let number = logins.withLock { count in
        count += 1
        return count
      }
      if number == 1 {
        started.open()
        try? await Gate().wait()
        cancelled.open()
      }
      return .success(MarkbookSession(token: "t\(number)", key: 1))
    }
    let only = Task { try await keeper.session().token }
    try await started.wait()
    only.cancel()
    await #expect(throws: MarkbookError.self) { try await only.value }
    try await cancelled.wait()
    #expect(try await keeper.session().token == "t2")
  }

  @Test func `a read whose session has ended logs in once more and asks again`() async throws {
    let (client, transport) = scripted([
      try .logIn(), try .call("userlist", "userlist.json"),
      .on("GET", "\(base)?action=userlist…", #"{"status":"ERROR:who are you"}"#), try .logIn(),
      try .call("userlist", "userlist.json"),
    ])
    _ = try await client.userList()
    #expect(try await client.userList().users.count == 4)
    #expect(transport.requests.map(\.method) == ["POST", "GET", "GET", "POST", "GET"])
  }

  @Test func `a read that is refused under a new session too is refused`() async throws {
    let refusal = ScriptedTransport.Step.on("GET", "\(base)?action=getmarkbook…", #"{"status":"ERROR:no such"}"#)
    let (client, transport) = scripted([
      try .logIn(), try .call("userlist", "userlist.json"), refusal, try .logIn(), refusal,
    ])
    _ = try await client.userList()
    let error = try await client.failure { _ = try await $0.getMarkbook(key: 1) }
    #expect(error.message == "Markbook Online answered 'getmarkbook' with 'ERROR:no such'.")
    #expect(!error.sessionMayHaveEnded)
    #expect(error.actionError.kind == .validation)
    #expect(transport.missing.isEmpty)
  }

  @Test func `a write whose session may have ended is sent once, and the next call opens a new one`() async throws {
    let (client, transport) = scripted([
      try .logIn(), try .call("userlist", "userlist.json"),
      .on("GET", "\(base)?action=deletestudent…", #"{"status":"ERROR:who are you"}"#), try .logIn(),
      try .call("deletestudent", "deletestudent.json"),
      .on("GET", "\(base)?action=deletestudent…", #"{"status":"ERROR:who are you"}"#),
    ])
    _ = try await client.userList()
    let error = try await client.failure { try await $0.deleteStudent(markbookKey: 1, studentKey: 2, sid: "3") }
    #expect(error.sessionMayHaveEnded)
    #expect(error.message == "Markbook Online answered 'deletestudent' with 'ERROR:who are you'.")
    #expect(error.actionError.kind == .validation)
    #expect(!error.actionError.retryable)
    #expect(error.actionError.effect == .none)
    #expect(transport.requests.count == 3)
    try await client.deleteStudent(markbookKey: 1, studentKey: 2, sid: "3")
    #expect(transport.requests.map(\.method) == ["POST", "GET", "GET", "POST", "GET"])
  }

  @Test func `an idempotent write that is refused under a second session, too, is refused for good`() async throws {
    let (client, transport) = scripted([
      try .logIn(), try .call("putstudentresult", "putstudentresult-error.json"), try .logIn(),
      try .call("putstudentresult", "putstudentresult-error.json"),
    ])
    let error = try await client.failure {
      try await $0.putStudentResult(
        markbookKey: 1, studentKey: 2, sid: "3", taskKey: 4, taskName: "t", result: "5")
    }
    #expect(error.message == "Markbook Online answered 'putstudentresult' with 'ERROR:invalid student'.")
    #expect(!error.actionError.retryable)
    #expect(!error.sessionMayHaveEnded)
    #expect(transport.missing.isEmpty)
  }

  @Test func `asking for a backup's address is repeated once, because a refusal starts no hour`() async throws {
    let (client, transport) = scripted([
      try .logIn(), try .call("userlist", "userlist.json"),
      .on("GET", "\(base)?action=getbackupurl…", #"{"status":"ERROR:who are you","url":""}"#), try .logIn(),
      try .call("getbackupurl", "getbackupurl.json"),
    ])
    _ = try await client.userList()
    #expect(try await client.getBackupURL().state == .ready)
    #expect(transport.missing.isEmpty)
  }

  @Test func `a refused login is remembered for a minute`() async throws {
    let time = TestTime()
    let (client, transport) = scripted(
      [try .logIn("authentication-error.json"), try .logIn(), try .call("userlist", "userlist.json")], time: time)
    for seconds in [0, 59] {
      time.advance(by: .seconds(seconds))
      _ = try await client.failure { _ = try await $0.userList() }
    }
    #expect(transport.requests.count == 1)
    time.advance(by: .seconds(1))
    _ = try await client.userList()
    #expect(transport.missing.isEmpty)
  }

  @Test func `a session that took another's place is not forgotten for its sake`() {
    var machine = SessionMachine<Int>()
    let (old, new) = (MarkbookSession(token: "a", key: 1), MarkbookSession(token: "b", key: 2))
    _ = machine.ask(at: .zero, id: 1, waiter: 1)
    #expect(machine.loginEnded(1, .success(old), at: .zero) == [1])
    machine.forget(old)
    _ = machine.ask(at: .zero, id: 2, waiter: 2)
    // The answer of a login that was given up changes nothing.
    #expect(machine.loginEnded(1, .success(old), at: .zero).isEmpty)
    #expect(machine.loginEnded(2, .success(new), at: .zero) == [2])
    machine.forget(old)
    guard case .use(new) = machine.ask(at: .zero, id: 3, waiter: 3) else {
      Issue.record("the new session should be in use")
      return
    }
  }
}
