import Agent
import AgentClient
import Basics
import Dispatch
import Glibc
import Operations
import ProcessTestKit
import RunState
import Runs
import Synchronization
import Testing

/// A client of a process that may not be an agent: it reads within bounds, and its messages are safe for terminals.
@Suite(.timeLimit(.minutes(20))) struct HostileServerTests {
  /// An answer as its bytes, and the outcome for the client.
  struct Case: CustomTestStringConvertible, Sendable {
    var testDescription: String
    var answer: String
    /// `FOLDER` and `PID` are those of the server; `…` at the end leaves the rest open.
    var outcome: String

    init(_ name: String, _ answer: String, is outcome: String) {
      testDescription = name
      self.answer = answer
      self.outcome = outcome
    }

    func isMet(by found: String) -> Bool {
      outcome.hasSuffix("…") ? found.hasPrefix(outcome.dropLast()) : found == outcome
    }
  }

  private static func times(_ count: Int, _ text: String) -> String { String(repeating: text, count: count) }

  /// Whether a terminal obeys nothing in a text of one line.
  private static func isSafe(_ text: String) -> Bool {
    text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) }
  }

  private static func head(_ status: String, _ type: String, _ fields: String...) -> String {
    "HTTP/1.1 \(status)\r\nContent-Type: \(type)\r\n\(fields.map { "\($0)\r\n" }.joined())\r\n"
  }

  /// A whole answer in the exact form.
  private static func exact(_ body: String, _ status: String = "200 OK") -> String {
    head(status, ExactForm.answer, "Content-Length: \(body.utf8.count)") + body
  }

  /// An answer in the exact form, of which the length is written as given.
  private static func sized(_ length: String, _ body: String = yielded) -> String {
    head("200 OK", ExactForm.answer, "Content-Length: \(length)") + body
  }

  private static func chunked(_ chunks: String) -> String {
    head("200 OK", ExactForm.answer, "Transfer-Encoding: chunked") + chunks
  }

  private static func chunk(_ text: String) -> String {
    "\(String(text.utf8.count, radix: 16))\r\n\(text)\r\n"
  }

  private static func refusal(_ message: String) -> String {
    "{\"failed\":{\"kind\":\"state\",\"message\":\"\(message)\"}}"
  }

  private static func problem(_ body: String, _ status: String) -> String {
    head(status, "application/problem+json", "Content-Length: \(body.utf8.count)") + body
  }

  private static let yielded = #"{"yielded":true}"#
  private static let stranger = "unavailable: what listens in 'FOLDER' isn't an agent: "
  private static let unreadable = "unavailable: the answer of the agent of 'FOLDER' (process PID) can't be read: "
  private static let longHead = stranger + "the head of its answer is longer than 16 KiB, the most that is read of one"
  private static let noLength = stranger + "the length of its answer is no number"
  private static let noChunkLength = stranger + "the length of a part of its answer is no number"

  /// A text that would retitle a terminal, clear it and write its clipboard, as JSON and as it is told.
  private static let escapes = (
    json: #"a\u001b]0;b\u0007c\u001b[2Jd\u001b]52;c;ZQ==\u0007e\u009b2Jf\rg\u2028h\u202ei\u007fj"#,
    told: "a␛]0;b␇c␛[2Jd␛]52;c;ZQ==␇e\u{FFFD}2Jf␍g\u{FFFD}h\u{FFFD}i␡j"
  )

  /// The outcome of a request to a server.
  private static func outcome(_ server: ScriptedServer, time: HastyTime = HastyTime()) async -> String {
    do {
      let client = try #require(try connect(to: server, time: time))
      let answer = try await client.answer(to: YieldFolder())
      return answer.map { "yielded: \($0.yielded)" } ?? "no answer"
    } catch {
      return words(error, server)
    }
  }

  private static func connect(to server: ScriptedServer, time: HastyTime = HastyTime()) throws -> FolderAgent? {
    try FolderAgent.find(server.folder.path, identity: SocketBench.identity, patience: WirePatience(time: time))
  }

  private static func words(_ error: any Error, _ server: ScriptedServer) -> String {
    switch error {
    case let refusal as RequestRefusedError: return "refused, \(refusal.kind): \(refusal.message)"
    case let error as AgentError:
      return "\(error.kind): \(error.message)".replacing(server.folder.path, with: "FOLDER")
        .replacing("process \(getpid())", with: "process PID").replacing("kill \(getpid())", with: "kill PID")
    default: return "\(error)"
    }
  }

  // MARK: Answers of any bytes

  private static let heads: [Case] = [
    Case("another protocol", "SSH-2.0-OpenSSH\r\n", is: "\(stranger)it answers with 'SSH-2.0-OpenSSH'"),
    Case("another version", "HTTP/2 200\r\n\r\n", is: "\(stranger)it answers with 'HTTP/2 200'"),
    Case("an unknown version", "HTTP/2.1 200 OK\r\n\r\n", is: "\(stranger)it answers with 'HTTP/2.1 200 OK'"),
    Case("no status", "HTTP/1.1\r\n\r\n", is: "\(stranger)it answers with 'HTTP/1.1'"),
    Case("a long status", "HTTP/1.1 2000 OK\r\n\r\n", is: "\(stranger)it answers with 'HTTP/1.1 2000 OK'"),
    Case("a large status", "HTTP/1.1 600 No\r\n\r\n", is: "\(stranger)it answers with 'HTTP/1.1 600 No'"),
    Case("a status with a sign", "HTTP/1.1 +20 OK\r\n\r\n", is: "\(stranger)it answers with 'HTTP/1.1 +20 OK'"),
    Case("a negative status", "HTTP/1.1 -20 OK\r\n\r\n", is: "\(stranger)it answers with 'HTTP/1.1 -20 OK'"),
    Case("a status of letters", "HTTP/1.1 2OO OK\r\n\r\n", is: "\(stranger)it answers with 'HTTP/1.1 2OO OK'"),
    Case("no status line", "\r\n\r\n", is: "\(stranger)its answer begins with no status"),
    Case(
      "a first line for terminals", "HTTP/1.1 \u{1B}[2J\u{1B}]0;x\u{07}\r\n",
      is: "\(stranger)it answers with 'HTTP/1.1 ␛[2J␛]0;x␇'"),
    Case("a long first line", "\(times(1000, "x"))\r\n", is: "\(stranger)it answers with '\(times(60, "x"))…'"),
    Case("a first line without end", times(20_000, "x"), is: longHead),
    Case("a field without end", "HTTP/1.1 200 OK\r\nX: \(times(17_000, "y"))", is: longHead),
    Case("a field that is too long", "HTTP/1.1 200 OK\r\nX: \(times(17_000, "y"))\r\n\r\n", is: longHead),
    Case("many fields", "HTTP/1.1 200 OK\r\n\(times(4000, "X: y\r\n"))\r\n", is: longHead),
    Case("many interim answers", times(1000, "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"), is: longHead),
    Case("nothing", "", is: "no answer"),
    Case("a part of the first line", "HTTP/1.1 20", is: "no answer"),
    Case("a part of the head", "HTTP/1.1 200 OK\r\nContent-Type: applic", is: "no answer"),
    Case("a head without the last line", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n", is: "no answer"),
    Case("a head alone", sized("16", ""), is: "no answer"),
    Case("a head of chunks alone", chunked(""), is: "no answer"),
    Case("an interim answer alone", "HTTP/1.1 100 Continue\r\n\r\n", is: "no answer"),
  ]

  private static let chunks: [Case] = [
    Case("chunks", chunked("a\r\n{\"yielded\"\r\n6;x=y\r\n:true}\r\n0\r\n\r\n"), is: "yielded: true"),
    Case("chunks with a trailer", chunked("10\r\n\(yielded)\r\n000\r\nX: y\r\n\r\n"), is: "yielded: true"),
    Case("lines that end like Unix's", chunked("10\n\(yielded)\n0\n\n"), is: "yielded: true"),
    Case("a negative chunk", chunked("-10\r\n\(yielded)\r\n0\r\n\r\n"), is: noChunkLength),
    Case("a chunk with a sign", chunked("+10\r\n\(yielded)\r\n0\r\n\r\n"), is: noChunkLength),
    Case("a chunk of no number", chunked("0x10\r\n\(yielded)\r\n0\r\n\r\n"), is: noChunkLength),
    Case("a chunk without length", chunked("\r\n\(yielded)\r\n0\r\n\r\n"), is: noChunkLength),
    Case("a chunk beyond numbers", chunked("10000000000000000\r\n\(yielded)\r\n0\r\n\r\n"), is: noChunkLength),
    Case("a huge chunk that breaks off", chunked("7fffffffffffffff\r\n\(yielded)"), is: "no answer"),
    Case(
      "a chunk that is longer than it says", chunked("2\r\n\(yielded)\r\n0\r\n\r\n"),
      is: "\(stranger)a part of its answer is longer than it says"),
    Case("a chunk that is shorter than it says", chunked("12\r\n\(yielded)\r\n0\r\n\r\n"), is: "\(stranger)…"),
    Case(
      "a chunk's length without end", chunked(times(300, "0")), is: "\(stranger)its answer isn't valid HTTP"),
    Case("much after a chunk", chunked("2\r\n{}\(times(300, "x"))"), is: "\(stranger)its answer isn't valid HTTP"),
    Case("a trailer without end", chunked("2\r\n{}\r\n0\r\n\(times(4000, "X: y\r\n"))"), is: longHead),
    Case("chunks without the last", chunked("10\r\n\(yielded)\r\n"), is: "no answer"),
    Case("chunks without the end of the trailer", chunked("10\r\n\(yielded)\r\n0\r\n"), is: "no answer"),
  ]

  private static let lengths: [Case] = [
    Case("a length", exact(yielded), is: "yielded: true"),
    Case("a length and more", sized("16", "\(yielded)HTTP/1.1 200 OK\r\n"), is: "yielded: true"),
    Case("no length", "\(head("200 OK", ExactForm.answer))\(yielded)", is: "yielded: true"),
    Case("an answer that ends its line", exact("\(yielded)\n"), is: "yielded: true"),
    Case("a length of no number", sized("x"), is: noLength),
    Case("a length of nothing", sized(""), is: noLength),
    Case("a negative length", sized("-16"), is: noLength),
    Case("a length with a sign", sized("+16"), is: noLength),
    Case("two lengths in one", sized("16, 16"), is: noLength),
    Case("a hexadecimal length", sized("0x10"), is: noLength),
    Case("a length beyond numbers", sized("99999999999999999999"), is: noLength),
    Case("a huge length", sized("9223372036854775807"), is: "no answer"),
    Case("a length that is longer than what comes", sized("17"), is: "no answer"),
    Case("a length that is shorter than the answer", sized("15"), is: "\(unreadable)…"),
    Case("an empty answer", sized("0", ""), is: "\(unreadable)…"),
  ]

  private static let contents: [Case] = [
    Case("another value", exact("[1]"), is: "\(unreadable)…"),
    Case("another member", exact(#"{"yielded":1}"#), is: "\(unreadable)…"),
    Case("no JSON", exact("<html>"), is: "\(unreadable)…"),
    Case("a deeply nested value", exact(times(100_000, "[")), is: "\(unreadable)…"),
    Case("names for terminals", exact(#"{"\u001b[2J":1,"\u001b[2J":1}"#), is: "\(unreadable)…"),
    Case("events", "\(head("200 OK", ExactForm.events)){\"yielded\":true}\n", is: "\(unreadable)…"),
  ]

  private static let answers = heads + chunks + lengths + contents

  @Test(arguments: answers)
  func `an answer is read within bounds, or it is told why not`(_ item: Case) async throws {
    let server = try ScriptedServer(answering: Array(item.answer.utf8))
    let outcome = await HostileServerTests.outcome(server)
    #expect(HostileServerTests.isSafe(outcome), "\(outcome)")
    #expect(item.isMet(by: outcome), "\(outcome)")
    #expect(server.requests.count == 1)
  }

  // MARK: Problems and refusals

  private static let older =
    "held: the state in 'FOLDER' is held by process PID, which is errand 0.5 and this is errand 0.1; start that agent again with this version (kill PID, then errand serve; or systemctl restart), or use its version"
  private static let cannotAnswer = "unavailable: the agent of 'FOLDER' (process PID) can't answer: "
  private static let noAgent =
    "unavailable: process PID, which listens in 'FOLDER', isn't an agent: it answered with HTTP status "

  private static let problems: [Case] = [
    Case(
      "an agent that holds the folder", problem(#"{"kind":"held","detail":"use one version"}"#, "409 Conflict"),
      is: "held: use one version"),
    Case(
      "an agent that doesn't know the path",
      problem(#"{"kind":"noSuchPath","detail":"there is nothing at /api/v1/operations/yield"}"#, "404 Not Found"),
      is: older),
    Case(
      "an agent that doesn't know the method",
      problem(#"{"kind":"method","detail":"this path takes GET, HEAD"}"#, "405 Method Not Allowed"), is: older),
    Case(
      "an agent without the library",
      problem(
        #"{"kind":"missingLibrary","detail":"libmicrohttpd isn't there; install libmicrohttpd12"}"#,
        "503 Service Unavailable"),
      is: "\(cannotAnswer)libmicrohttpd isn't there; install libmicrohttpd12"),
    Case(
      "a refusal as a problem", problem(#"{"kind":"inputs","detail":"no inputs"}"#, "422 Unprocessable Content"),
      is: "refused, inputs: no inputs"),
    Case(
      "a refusal under its name of 0.5.0", problem(#"{"kind":"moved","detail":"it changed"}"#, "409 Conflict"),
      is: "\(cannotAnswer)it changed"),
    Case(
      "a problem of an unknown kind", problem(#"{"kind":"\u001b[2J","detail":"so it is"}"#, "418 No"),
      is: "\(cannotAnswer)so it is"),
    Case("a problem without a kind", problem(#"{"detail":"so it is"}"#, "500 No"), is: "\(noAgent)500"),
    Case("a problem that isn't JSON", problem("{", "500 No"), is: "\(noAgent)500"),
    Case("a page", "\(head("200 OK", "text/html"))<html>", is: "\(noAgent)200"),
    Case("an answer without content", "HTTP/1.1 204 No Content\r\n\r\n", is: "\(noAgent)204"),
    Case("events under a status of faults", "\(head("500 No", ExactForm.events)){}\n", is: "\(noAgent)500"),
    Case(
      "a problem for terminals", problem(#"{"kind":"held","detail":"\#(escapes.json)"}"#, "409 Conflict"),
      is: "held: \(escapes.told)"),
  ]

  private static let brokenAnswer = chunk(#"{"yielded":"#) + chunk("\n\(refusal("the disk is gone"))\n")

  private static let refusals: [Case] = [
    Case(
      "a refusal for terminals",
      exact(#"{"failed":{"kind":"notFound","message":"\#(escapes.json)"}}"#, "404 Not Found"),
      is: "refused, notFound: \(escapes.told)"),
    Case(
      "a refusal of an unknown kind",
      exact(#"{"failed":{"kind":"\u001b[2J","message":"it is \u001b[2J"}}"#, "409 Conflict"),
      is: "\(unreadable)a refusal of an unknown kind: it is ␛[2J"),
    Case(
      "a refusal after a part of an answer",
      chunked("\(brokenAnswer)0\r\n\r\n"),
      is: "refused, state: the disk is gone"),
    Case("a refusal after several lines", exact("{\n\n}\n\(refusal("gone"))\n"), is: "refused, state: gone"),
    Case("two answers", exact("\(yielded)\n\(yielded)\n"), is: "\(unreadable)it has the status 200"),
    Case("an answer under a status of faults", exact(yielded, "500 No"), is: "\(unreadable)it has the status 500"),
    Case("an answer under another status", exact(yielded, "201 Created"), is: "\(unreadable)it has the status 201"),
  ]

  private static let noAnswers = problems + refusals

  @Test(arguments: noAnswers)
  func `a problem, a refusal and an answer that is none are told apart`(_ item: Case) async throws {
    let server = try ScriptedServer(answering: Array(item.answer.utf8))
    #expect(await HostileServerTests.outcome(server) == item.outcome)
  }

  @Test func `the parts of a refusal are safe for terminals`() async throws {
    let (json, told) = HostileServerTests.escapes
    let body =
      #"{"failed":{"kind":"inputs","message":"m \#(json)","overHTTP":"o \#(json)","changes":["c \#(json)"],"faults":[{"message":"f \#(json)","pointer":"/p \#(json)"}]}}"#
    var refusal = RequestRefusedError(.inputs, "m \(told)")
    refusal.overHTTP = "o \(told)"
    refusal.changes = ["c \(told)"]
    refusal.faults = [RequestRefusedError.Fault(message: "f \(told)", pointer: "/p \(told)")]
    let server = try ScriptedServer { request, _, client in
      let isStream = request.field("Accept") == ExactForm.events
      client.send(
        isStream
          ? HostileServerTests.head("200 OK", ExactForm.events) + body + "\n"
          : HostileServerTests.exact(body, "422 No"))
    }
    let client = try #require(try HostileServerTests.connect(to: server))
    await #expect(throws: refusal) { try await client.answer(to: YieldFolder()) }
    await #expect(throws: refusal) { for try await _ in try client.events(of: WatchRuns()) {} }
    #expect(server.requests.count == 2)
  }

  @Test func `the name of an older program is safe for terminals`() async throws {
    let server = try ScriptedServer(program: "errand \u{1B}]0;x\u{07}") { _, _, client in
      client.send(HostileServerTests.problem(#"{"kind":"noSuchPath","detail":"no"}"#, "404 Not Found"))
    }
    #expect(await HostileServerTests.outcome(server).contains("which is errand ␛]0;x␇ and this is errand 0.1;"))
  }

  @Test func `an agent that has no place at the moment is asked again, for a while`() async throws {
    let full = HostileServerTests.problem(
      #"{"kind":"tooMany","detail":"300 streams are open, and more aren't possible"}"#, "429 Too Many Requests")
    let time = HastyTime()
    let server = try ScriptedServer { _, number, client in
      client.send(number <= 2 ? full : HostileServerTests.exact(HostileServerTests.yielded))
    }
    #expect(await HostileServerTests.outcome(server, time: time) == "yielded: true")
    #expect(time.sleeps == [.milliseconds(250), .milliseconds(250)] && server.requests.count == 3)
    let busyTime = HastyTime()
    let busy = try ScriptedServer(answering: Array(full.utf8))
    #expect(
      await HostileServerTests.outcome(busy, time: busyTime)
        == "\(HostileServerTests.cannotAnswer)300 streams are open, and more aren't possible")
    let slept = busyTime.sleeps.reduce(TimeSpan.zero) { $0 + $1 }
    #expect(slept > .seconds(30) && slept <= .seconds(60) && busy.requests.count == busyTime.sleeps.count + 1)
  }

  @Test func `the user is told once that every place is taken, and that an agent says nothing`() async throws {
    let full = HostileServerTests.problem(#"{"kind":"tooMany","detail":"full"}"#, "429 Too Many Requests")
    let busy = try ScriptedServer { _, number, client in
      client.send(number <= 3 ? full : HostileServerTests.exact(HostileServerTests.yielded))
    }
    #expect(try await told(by: busy) == ["every place of the agent is taken; waiting for one"])
    // What it says comes only after that.
    let isTold = DispatchSemaphore(value: 0)
    let silent = try ScriptedServer { _, _, client in
      isTold.wait()
      client.send(HostileServerTests.exact(HostileServerTests.yielded))
    }
    let texts = try await told(by: silent, after: .milliseconds(1)) { isTold.signal() }
    #expect(
      texts == [
        "the agent of '\(silent.folder.path)' (process \(getpid())) has not answered for 0.001s; waiting for it"
      ])
  }

  /// The sentences that the user is told until the server answers.
  private func told(
    by server: ScriptedServer, after silence: TimeSpan = .seconds(3600), _ isTold: @escaping @Sendable () -> Void = {}
  ) async throws -> [String] {
    let texts = Mutex<[String]>([])
    var patience = WirePatience(time: HastyTime()) { text in
      texts.withLock { $0.append(text) }
      isTold()
    }
    patience.silence = silence
    let client = try #require(
      try FolderAgent.find(server.folder.path, identity: SocketBench.identity, patience: patience))
    #expect(try await client.answer(to: YieldFolder())?.yielded == true)
    return texts.withLock { $0 }
  }

  @Test func `an agent that is gone before it is asked answers nothing`() async throws {
    let server = try ScriptedServer(answering: [])
    let client = try #require(try HostileServerTests.connect(to: server))
    server.leave()
    #expect(try await client.answer(to: YieldFolder()) == nil)
    #expect(server.requests.isEmpty)
  }

  // MARK: Bounds

  /// Asks a server that sends a beginning, and then a piece again and again as long as the client takes it; returns the
  /// error, and how many bytes were taken.
  private func flood(
    _ beginning: String, _ piece: [UInt8], upTo bytes: Int, isStream: Bool = false
  ) async throws -> (error: String, taken: Int) {
    let (counts, count) = AsyncStream<Int>.makeStream()
    let server = try ScriptedServer { _, _, client in
      client.send(beginning)
      count.yield(client.send(piece, upTo: bytes / piece.count) * piece.count)
    }
    let client = try #require(try HostileServerTests.connect(to: server))
    let error = await #expect(throws: (any Error).self) {
      if isStream {
        for try await _ in try client.events(of: WatchRuns()) {}
      } else {
        _ = try await client.answer(to: YieldFolder())
      }
    }
    var taken = counts.makeAsyncIterator()
    return (error.map { HostileServerTests.words($0, server) } ?? "", await taken.next() ?? 0)
  }

  @Test func `a head without end is read up to its bound`() async throws {
    let (error, taken) = try await flood("HTTP/1.1 200 OK\r\n", Array("X-Field: value\r\n".utf8), upTo: 64 << 20)
    #expect(error == HostileServerTests.longHead)
    #expect(taken < 2 << 20)
  }

  @Test(arguments: ["text/html", "application/problem+json"])
  func `a problem is read up to its bound`(_ type: String) async throws {
    let (error, taken) = try await flood(
      HostileServerTests.head("500 No", type, "Content-Length: \(1 << 40)"),
      [UInt8](repeating: ASCII.space, count: 64 << 10), upTo: 64 << 20)
    #expect(
      error == HostileServerTests.unreadable + "it is longer than 64 KiB, the most that is read of a problem")
    #expect(taken < 2 << 20)
  }

  @Test(arguments: [(0, "held: so"), (1, "\(unreadable)it is longer than 64 KiB, the most that is read of a problem")])
  func `a problem of the most bytes is read`(_ more: Int, _ wanted: String) async throws {
    let body = #"{"kind":"held","detail":"so"}"#
    let blanks = String(repeating: " ", count: ExactForm.mostOfProblem + more - body.utf8.count)
    let server = try ScriptedServer(
      answering: Array(HostileServerTests.problem(body + blanks, "409 Conflict").utf8))
    #expect(await HostileServerTests.outcome(server) == wanted)
  }

  @Test func `an event that is longer than its bound ends the stream, and nothing more is read`() async throws {
    let (error, taken) = try await flood(
      HostileServerTests.head("200 OK", ExactForm.events), [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20),
      upTo: 256 << 20, isStream: true)
    #expect(error == HostileServerTests.unreadable + "it is longer than 16 MiB, the most that is read of an event")
    #expect(taken >= 16 << 20 && taken < 20 << 20)
  }

  @Test func `an answer that is longer than its bound isn't read further`() async throws {
    let chunk = Array("100000\r\n".utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20) + Array("\r\n".utf8)
    let (error, taken) = try await flood(
      HostileServerTests.head("200 OK", ExactForm.answer, "Transfer-Encoding: chunked"), chunk, upTo: 1 << 30)
    #expect(error == HostileServerTests.unreadable + "it is longer than 512 MiB, the most that is read of an answer")
    #expect(taken >= 512 << 20 && taken < 516 << 20)
  }

  // MARK: Events

  private static func record(_ status: RunStatus, _ id: String = "r1") -> RunRecord {
    var run = RunRecord(
      RunCreated(
        run: id, at: ManualClock.start, recipe: "r", file: "r.yaml", texts: .inline(.object([:])),
        inputs: .object([:]), program: "test"))
    run.status = status
    return run
  }

  private static func line(_ event: RunEvent) -> String { JSON.displayed(event.encoded()) + "\n" }
  private static let heartbeat = String(repeating: " ", count: 63) + "\n"

  /// The events of a run as a client gets them, and the error at their end.
  private static func told(_ server: ScriptedServer) async throws -> [String] {
    let client = try #require(try connect(to: server))
    var events: [String] = []
    do {
      for try await event in try client.events(of: FollowRun.with { $0.run = "r1" }) {
        events.append(JSON.displayed(event.encoded()))
      }
    } catch {
      events.append(words(error, server))
    }
    return events
  }

  @Test func `events are told one by one, and heartbeats between them aren't`() async throws {
    let waiting = RunWait(of: HostileServerTests.record(.waiting))
    let events: [RunEvent] = [
      HostileServerTests.accepted, .progress(.loopAdvanced(path: "put", done: 4, failed: 2, caught: 1, count: 9)),
      .progress(.reported(path: "put", text: "ended {\"failed\":1}")), .waits(waiting),
      .ended(HostileServerTests.record(.paused)),
    ]
    let lines = events.map { HostileServerTests.line($0) }
    let blanks = "\(HostileServerTests.heartbeat)\r\n\t\n"
    let text = "\(blanks)\(lines.joined(separator: blanks))"
    let wanted = events.map { JSON.displayed($0.encoded()) }
    let beginning = HostileServerTests.head("200 OK", ExactForm.events, "Transfer-Encoding: chunked")
    // In chunks of any size.
    for size in [1, 7, 64, 10_000] {
      var chunks = ""
      var rest = Array(text.utf8)[...]
      while !rest.isEmpty {
        chunks += HostileServerTests.chunk(String(decoding: rest.prefix(size), as: UTF8.self))
        rest = rest.dropFirst(size)
      }
      let server = try ScriptedServer(answering: Array("\(beginning)\(chunks)0\r\n\r\n".utf8))
      #expect(try await HostileServerTests.told(server) == wanted, "\(size)")
    }
  }

  @Test func `a long finished run's end is told with its steps or not at all, and others as they come`() async throws {
    let now = ManualClock.start
    var whole = try HostileServerTests.record(.running).folding([
      .stepBegan(StepBegan(run: "r1", at: now, step: "a", now: now)),
      .stepEnded(StepEnded(run: "r1", at: now, step: "a", status: .succeeded, output: .inline(.int(7)))),
    ])
    whole.status = .succeeded
    let answer = JSON.displayed(.object(["run": whole.encoded()]))
    var head = try #require(RunEvent.ended(whole.withoutSteps).encoded().map)
    head[ExactForm.isHead] = .bool(true)
    let end = HostileServerTests.stream(JSON.displayed(.map(head)) + "\n")
    let server = try ScriptedServer { _, number, client in
      client.send(number == 1 ? end : HostileServerTests.exact(answer))
    }
    #expect(try await HostileServerTests.told(server) == [JSON.displayed(RunEvent.ended(whole).encoded())])
    #expect(
      server.requests.map { $0.head.first } == [
        "POST /api/v1/operations/follow HTTP/1.1", "POST /api/v1/operations/show HTTP/1.1",
      ])
    #expect(server.requests.last?.body == Array(#"{"run":"r1"}"#.utf8))
    // An agent that has ended by then: the next one tells the end.
    let cut = try ScriptedServer { _, number, client in if number == 1 { client.send(end) } }
    #expect(try await HostileServerTests.told(cut) == [])
    #expect(cut.requests.count == 2)
    // A run that was deleted by then, and one that can't be read.
    for (kind, told) in [
      ("notFound", JSON.displayed(RunEvent.ended(whole.withoutSteps).encoded())), ("state", "refused, state: gone"),
    ] {
      let refusal = HostileServerTests.exact(#"{"failed":{"kind":"\#(kind)","message":"gone"}}"#, "404 No")
      let refusing = try ScriptedServer { _, number, client in client.send(number == 1 ? end : refusal) }
      #expect(try await HostileServerTests.told(refusing) == [told], "\(kind)")
      #expect(refusing.requests.count == 2)
    }
    for record in [whole, HostileServerTests.record(.waiting)] {
      let other = try ScriptedServer(
        answering: Array(HostileServerTests.stream(HostileServerTests.line(.ended(record))).utf8))
      #expect(try await HostileServerTests.told(other) == [JSON.displayed(RunEvent.ended(record).encoded())])
      #expect(other.requests.count == 1)
    }
  }

  private static let accepted = RunEvent.accepted(AcceptedRun(run: "r1", isServing: true))
  private static let firstTold = #"{"accepted":"r1","isServing":true}"#

  private static let brokenStreams: [Case] = [
    Case("nothing", "", is: ""),
    Case("a part of the head", "HTTP/1.1 200 OK\r\nContent", is: ""),
    Case("a head", head("200 OK", ExactForm.events, "Transfer-Encoding: chunked"), is: ""),
    Case("a part of a line", stream("\(line(accepted)){\"progr"), is: firstTold),
    Case("a line that breaks off in its chunk", broken("ff\r\n\(line(accepted)){\"progr"), is: firstTold),
    Case("chunks without the last", broken(chunk(line(accepted))), is: firstTold),
    Case(
      "a refusal", stream("\(line(accepted))\(refusal("gone"))\n\(line(accepted))"),
      is: "\(firstTold) refused, state: gone"),
    Case("no JSON", stream("{\n"), is: "\(unreadable)…"),
    Case("another value", stream("[]\n"), is: "\(unreadable)…"),
    Case("an unknown event", stream("{\"new\":1}\n"), is: "\(unreadable)…"),
    Case("unknown progress", stream("{\"progress\":\"\\u001b[2J\"}\n"), is: "\(unreadable)…"),
    Case(
      "a refusal at once", exact(#"{"failed":{"kind":"notFound","message":"no run"}}"#, "404 No"),
      is: "refused, notFound: no run"),
    Case("a problem", problem(#"{"kind":"held","detail":"use one version"}"#, "409 No"), is: "held: use one version"),
    Case("a page", "\(head("200 OK", "text/html"))<html>", is: "\(noAgent)200"),
  ]

  private static func stream(_ lines: String) -> String { head("200 OK", ExactForm.events) + lines }

  private static func broken(_ chunks: String) -> String {
    head("200 OK", ExactForm.events, "Transfer-Encoding: chunked") + chunks
  }

  @Test(arguments: brokenStreams)
  func `a stream that breaks off, or isn't one, is told so far`(_ item: Case) async throws {
    let server = try ScriptedServer(answering: Array(item.answer.utf8))
    let told = try await HostileServerTests.told(server).joined(separator: " ")
    #expect(HostileServerTests.isSafe(told), "\(told)")
    #expect(item.isMet(by: told), "\(told)")
    #expect(server.requests.count == 1)
  }

  @Test func `a stream that is no longer wanted is closed`() async throws {
    let (ends, end) = AsyncStream<Bool>.makeStream()
    let server = try ScriptedServer { _, _, client in
      client.send(HostileServerTests.stream(HostileServerTests.line(HostileServerTests.accepted)))
      // Sends heartbeats until the client is gone.
      while client.send(HostileServerTests.heartbeat) {}
      end.yield(true)
    }
    let client = try #require(try HostileServerTests.connect(to: server))
    for try await _ in try client.events(of: WatchRuns()) { break }
    for await _ in ends { break }
    #expect(server.requests.count == 1)
  }
}
