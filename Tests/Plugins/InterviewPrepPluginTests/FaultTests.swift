import ActionKit
import ActionTestKit
import HTTPClient
import SandboxKit
import Synchronization
import Testing

@testable import InterviewPrepPlugin

/// Faults between client and backend, over real HTTP.
@Suite struct FaultTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var fault: ServiceFault
    var kind: InterviewPrepError.Kind
    var error: ErrorKind
    var isRetryable = false
    var mayBePaid = true
    var words: String
    var testDescription: String { "\(fault.kind.rawValue) \(fault.status)" }

    static func status(
      _ status: Int, _ error: ErrorKind, _ words: String, retryAfter: TimeSpan? = nil
    ) -> Case {
      var fault = ServiceFault(.status)
      fault.status = status
      fault.retryAfter = retryAfter.map { String(Int($0.inSeconds)) }
      return Case(
        fault: fault, kind: .server(status: status, message: nil), error: error, isRetryable: status >= 500,
        mayBePaid: status >= 500, words: "\(words) POST URL was answered with HTTP status \(status).")
    }
  }

  private static let lost =
    "The network is not available. Please check the connection and try again. POST URL: HOST closed the connection "
    + "before its answer was complete."
  private static let unreadable = "Data error: the answer cannot be read. It does not match the contract: "
  private static let serverIssue = "Server issue. Please try again shortly."
  private static let refused = "The server refused the request."
  private static let noAccess = "The server gives no access."
  private static let elsewhere =
    "The server redirects to another address, which has to be set as its own. POST URL was answered with HTTP status 302."

  static let cases = [
    Case(
      fault: ServiceFault(.refuse), kind: .networkUnavailable, error: .network, isRetryable: true, words: lost),
    Case(
      fault: ServiceFault(.lostAnswer), kind: .networkUnavailable, error: .network, isRetryable: true, words: lost),
    Case(
      fault: ServiceFault(.truncated), kind: .networkUnavailable, error: .network, isRetryable: true, words: lost),
    Case(
      fault: ServiceFault(.slow), kind: .timeout, error: .timeout, isRetryable: true,
      words:
        "The request took too long. Please try again. POST URL: HOST did not send a complete answer within 0.3s; try later "
        + "or raise the time limit."),
    Case(
      fault: ServiceFault(.oversized), kind: .decoding, error: .plugin,
      words:
        "Data error: the answer cannot be read. POST URL: the answer is larger than 1048576 bytes; raise the limit "
        + "if it should be."),
    Case(
      fault: ServiceFault(.wrongType), kind: .decoding, error: .plugin,
      words: unreadable + "'answer' takes a map of fields, but found a list."),
    Case(fault: ServiceFault(.badUTF8), kind: .decoding, error: .plugin, words: unreadable + "it is not valid UTF-8."),
    Case(fault: ServiceFault(.html), kind: .decoding, error: .plugin, words: unreadable + "it is a web page."),
    Case(
      fault: ServiceFault(.redirect), kind: .server(status: 302, message: nil), error: .plugin, mayBePaid: false,
      words: elsewhere),
    Case(
      fault: ServiceFault(.redirectLoop, times: 6), kind: .server(status: 302, message: nil), error: .plugin,
      mayBePaid: false, words: elsewhere),
    .status(400, .plugin, refused), .status(401, .authentication, noAccess), .status(403, .authorization, noAccess),
    .status(404, .notFound, "The server has nothing at this address."), .status(413, .plugin, refused),
    .status(429, .rateLimited, "Too many requests. Please wait a little.", retryAfter: .seconds(41)),
    .status(500, .server, serverIssue), .status(502, .server, serverIssue),
    .status(503, .server, serverIssue, retryAfter: .seconds(7)), .status(504, .server, serverIssue),
  ]

  @Test(
    arguments: [
      (#"{"error":"Bad profile","traceId":7,"details":"name is missing"}"#, "Bad profile", "name is missing."),
      (#"{"error":["no"],"traceId":"t-1","details":null}"#, nil, "Trace t-1."),
      (#"["Bad profile"]"#, nil, nil),
    ] as [(String, String?, String?)])
  func `one odd member of an error does not take the words of the others with it`(
    _ body: String, _ words: String?, _ detail: String?
  ) {
    let error = InterviewPrepError(
      HTTPResponse(status: 400, body: Array(body.utf8)), to: HTTPRequest("POST", "http://h/"), isPaid: true,
      now: TestTime.start)
    #expect(error.kind == .server(status: 400, message: words))
    #expect(error.detail == detail)
  }

  @Test func `only 200 is health`() async throws {
    try await withBackend { sandbox, _ in
      var fault = ServiceFault(.status, call: "/health")
      fault.status = 202
      sandbox.server.add(fault)
      let error = try await failure { try await client(sandbox.baseURL).health() }
      #expect(error.kind == .server(status: 202, message: nil))
      #expect(error.message.hasPrefix("The server gave another answer than it should."))
    }
  }

  @Test(arguments: cases)
  func `says what happened, whether it is worth another try, and whether it may be paid`(_ c: Case) async throws {
    try await withBackend { sandbox, time in
      sandbox.server.add(c.fault)
      // Only the answer that never comes may time out early; otherwise a busy machine decides which fault occurs.
      let struck = client(
        sandbox.baseURL, attempt: c.fault.kind == .slow ? .milliseconds(300) : .seconds(60), time: time)
      let error = try await failure { try await struck.generateRoutine(for: sampleProfile()) }
      #expect(error.kind == c.kind)
      let message = error.message.replacing("\(sandbox.baseURL)/generate/routine", with: "URL")
      #expect(
        message.replacing(sandbox.baseURL, with: "HOST")
          == c.words + (c.mayBePaid ? " The call may have been paid." : ""))
      #expect(error.actionError.kind == c.error)
      #expect(error.actionError.retryable == c.isRetryable)
      #expect(error.actionError.effect == (c.mayBePaid ? .unknown : ActionError.Effect.none))
      // The `Retry-After` of a backend's own failure is ignored.
      let wait = c.fault.status == 429 ? c.fault.retryAfter.flatMap { Int($0) } : nil
      #expect(error.actionError.retryAfter == wait.map { .seconds($0) })
      #expect(sandbox.server.count("/generate/routine") == 1)
      // The fault has no lasting effect.
      if c.fault.kind != .redirectLoop {
        #expect(try await !client(sandbox.baseURL, time: time).generateRoutine(for: sampleProfile()).isCanned)
      }
    }
  }

  @Test(arguments: [
    (
      "http://127.0.0.1:9", true, InterviewPrepError.Kind.unknown, false,
      "Something went wrong. POST http://127.0.0.1:9/generate/prep: http://127.0.0.1:9 refused the connection; check that "
        + "the service runs and that the address is right."
    ),
    (
      // This machine is there, network or not.
      "http://127.0.0.1:9", false, .unknown, false,
      "Something went wrong. POST http://127.0.0.1:9/generate/prep: http://127.0.0.1:9 refused the connection; check that "
        + "the service runs and that the address is right."
    ),
    (
      "https://no.such.host.invalid/api", true, .unknown, false,
      "Something went wrong. POST https://no.such.host.invalid/api/generate/prep: the name of "
        + "https://no.such.host.invalid cannot be resolved; check the URL and the network."
    ),
    (
      "https://no.such.host.invalid/api", false, .networkUnavailable, true,
      "The network is not available. Please check the connection and try again. POST "
        + "https://no.such.host.invalid/api/generate/prep: the name of https://no.such.host.invalid cannot be resolved; "
        + "check the URL and the network. This machine is offline."
    ),
    (
      "example.org", true, .invalidURL, false,
      "The address of the server is none. POST example.org/generate/prep: the URL isn't an http or https URL; "
        + "percent-encode what is not plain ASCII."
    ),
  ])
  func `tells a backend that is not there from a machine that is offline`(
    _ baseURL: String, _ isOnline: Bool, _ kind: InterviewPrepError.Kind, _ isRetryable: Bool, _ message: String
  ) async throws {
    let error = try await failure {
      try await client(baseURL, isOnline: isOnline).generatePrep(for: sampleProfile())
    }
    #expect(error.kind == kind)
    #expect(error.message == message)
    #expect(error.isRetryable == isRetryable)
    #expect(error.actionError.retryable == isRetryable)
    #expect(error.actionError.kind == (kind == .invalidURL ? .configuration : .network))
    #expect(error.actionError.effect == ActionError.Effect.none)
  }

  @Test func `a call that is cancelled ends at once, and may be paid`() async throws {
    try await withBackend { sandbox, time in
      sandbox.server.add(ServiceFault(.slow))
      let service = client(sandbox.baseURL, time: time)
      let call = Task { try await failure { try await service.generateRoutine(for: sampleProfile()) } }
      await time.waitForSleepers()
      call.cancel()
      let error = try await call.value
      #expect(error.kind == .cancelled)
      #expect(error.actionError.kind == .cancelled)
      #expect(!error.isRetryable)
      #expect(error.mayBePaid)
    }
  }

  @Test func `is sent once, as JSON, without an origin, below the path of the base address`() async throws {
    let transport = ScriptedTransport([
      .on(
        "POST", "https://example.org/prep/generate/prep",
        String(decoding: try fixture("generate_prep_response.json"), as: UTF8.self))
    ])
    let service = InterviewPrepClient(
      baseURL: "https://example.org/prep//", http: HTTPClient(transport: transport), time: TestTime())
    #expect(
      try await short(service.generatePrep(for: sampleProfile())) == "4 subjects, Mon Tue Wed Thu Fri, 5 questions")
    let request = try #require(transport.requests.first)
    #expect(request.headers["Content-Type"] == "application/json")
    #expect(request.headers["Origin"] == nil)
    #expect(request.limits.attempt == .seconds(15))
    #expect(transport.requests.count == 1)
  }

  @Test func `the sandbox keeps to the contract in both generations`() async throws {
    try await withBackend { sandbox, time in
      let service = client(sandbox.baseURL, time: time)
      let profile = try sampleProfile()
      for generation in SandboxBackend.Generation.allCases {
        sandbox.backend.state.withLock { $0.generation = generation }
        let made = try await service.generateRoutine(for: profile)
        #expect(made.content.weekOf == "2026-11-16")
        #expect(made.content.timeBlocks["Mon"]?[0].durationHours == (generation == .newer ? 1.25 : nil))
        #expect(made.content.timeBlocks["Mon"]?[0].start == (generation == .newer ? nil : "10:00"))
        #expect(made.content.days.map(\.blocks.count) == [3, 3, 3, 0, 3, 0, 0])
        #expect(abs(made.content.days[0].hours - 2.5) < 0.02)
        var plan = made.content
        for section in PlanSection.allCases {
          let next = try await service.reroll(section, of: plan, for: profile)
          #expect(!next.isCanned && next.content.version == plan.version + 1)
          plan = next.content
        }
        sandbox.backend.state.withLock { $0.failures = 3 }
        if generation == .newer {
          let canned = try await service.generateRoutine(for: profile)
          #expect(short(canned) == "2026-11-20, version 1: 0 blocks of 0.0 h, 0 tasks, canned")
          #expect(try await service.generatePrep(for: profile).isCanned)
          let same = try await service.reroll(.dailyTasks, of: plan, for: profile)
          #expect(same.isCanned && same.content == plan)
        } else {
          for _ in 0..<3 {
            let error = try await failure { try await service.generatePrep(for: profile) }
            #expect(error.kind == .server(status: 502, message: "The model failed."))
          }
        }
        #expect(try await short(service.generatePrep(for: profile)) == "3 subjects, Mon Tue Wed Thu Fri, 3 questions")
      }
      time.advance(by: .seconds(2 * 86_400))
      #expect(try await service.generateRoutine(for: profile).content.weekOf == "2026-11-23")
    }
  }

  @Test func `the sandbox takes sixty requests a minute`() async throws {
    try await withBackend { sandbox, time in
      let service = client(sandbox.baseURL, time: time)
      for _ in 0..<60 { try await service.health() }
      let error = try await failure { try await service.generateRoutine(for: sampleProfile()) }
      #expect(error.kind == .server(status: 429, message: "Too many requests, please try again later."))
      #expect(error.retryAfter == .seconds(60))
      time.advance(by: .seconds(60))
      try await service.health()
      #expect(sandbox.summaryLines() == ["GET /health: 61 times", "POST /generate/routine: once"])
    }
  }

  @Test func `the sandbox's backend is set from outside`() async throws {
    try await withBackend { (sandbox, _) async throws in
      func ask(_ query: String) async throws -> String {
        let url = "\(sandbox.baseURL)/sandbox/backend?\(query)"
        return String(decoding: try await HTTPClient().send(HTTPRequest("GET", url)).body, as: UTF8.self)
      }
      #expect(try await ask("generation=older&failures=2") == #"{"generation":"older","failures":2}"#)
      #expect(try await ask("failures=0") == #"{"generation":"older","failures":0}"#)
      #expect(try await ask("generation=other").hasPrefix("Say which it is"))
    }
  }

  @Test(arguments: [
    (304, "The server gave another answer than it should."), (300, "The server gave another answer than it should."),
    (302, "The server redirects to another address, which has to be set as its own."),
    (308, "The server redirects to another address, which has to be set as its own."),
  ])
  func `only what redirects is a redirect`(_ status: Int, _ words: String) {
    let error = InterviewPrepError(
      HTTPResponse(status: status), to: HTTPRequest("POST", "http://h/"), isPaid: true, now: TestTime.start)
    #expect(error.displayMessage == words)
  }

  @Test func `a refusal shows what is wrong where`() {
    let body = #"{"error":"Validation failed","details":[{"instancePath":"/profile/name","message":"is missing"}]}"#
    let error = InterviewPrepError(
      HTTPResponse(status: 400, body: Array(body.utf8)), to: HTTPRequest("POST", "http://h/"), isPaid: true,
      now: TestTime.start)
    #expect(
      error.message
        == "The server refused the request. POST http://h/ was answered with HTTP status 400: Validation failed. "
        + "/profile/name: is missing.")
  }

  @Test(arguments: OddNumbers.texts)
  func `the sandbox answers odd numbers`(_ odd: String) async throws {
    try await withBackend { sandbox, _ in
      let http = HTTPClient()
      let order = try await http.send(HTTPRequest("GET", "\(sandbox.baseURL)/sandbox/backend?failures=\(odd)"))
      #expect(order.status == (["9223372036854775807", "0"].contains(odd) ? 200 : 400))
      let profile =
        #"{"profile":{"name":"Jo","stage":"Recent Grad","targetRole":"iOS","timeBudgetHoursPerDay":\#(odd),"availableDays":["Mon"]}}"#
      let answer = try await http.send(
        HTTPRequest("POST", "\(sandbox.baseURL)/generate/routine", body: Array(profile.utf8)))
      #expect([200, 400].contains(answer.status))
    }
  }

  @Test(arguments: [
    ("22:30", "00:15", 1.75), ("09:30", "24:00", 14.5), ("9223372036854775807:00", "10:00", 0.0),
    ("-9223372036854775808:00", "10:00", 0.0), ("10:00", "10:9223372036854775807", 0.0), ("10", "11", 0.0),
  ])
  func `a block's times are within a day`(_ start: String, _ end: String, _ hours: Double) {
    var block = TimeBlock()
    block.durationHours = nil
    block.start = start
    block.end = end
    #expect(block.hours == hours)
  }
}
