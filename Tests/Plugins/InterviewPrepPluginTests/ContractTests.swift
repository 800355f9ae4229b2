import ActionKit
import ActionTestKit
import HTTPClient
import SandboxKit
import Synchronization
import Testing

@testable import InterviewPrepPlugin

/// The contract's expectations of its sample files.
@Suite struct ContractTests {
  // MARK: Requests

  @Test func `sends what the samples send`() throws {
    let profile = try sampleProfile()
    let plan = try samplePlan()
    #expect(try JSON.parse(PaidCall.routine(for: profile).body) == json("generate_routine_request.json"))
    #expect(try JSON.parse(PaidCall.prep(for: profile).body) == json("generate_prep_request.json"))
    for section in PlanSection.allCases {
      let call = try PaidCall.reroll(section, of: plan, for: profile)
      #expect(call.path == "/reroll/\(section.rawValue)")
      #expect(try JSON.parse(call.body) == json("reroll_request.json"))
    }
  }

  @Test func `sends the six fields of a profile, each day once, and no empty constraints`() throws {
    var profile = try sampleProfile("profile_minimal.json")
    var expected = try #require(json("profile_minimal.json").map)
    expected["timeBudgetHoursPerDay"] = .double(2)
    #expect(try profile.wire() == .map(expected))
    profile.availableDays = [.mon, .tue, .mon]
    #expect(try profile.wire()["availableDays"] == .list([.string("Mon"), .string("Tue")]))
  }

  @Test func `prepares a plan for a reroll`() throws {
    let plan = try samplePlan("tolerance/plan_null_url_and_short_block.json")
    #expect(
      try plan.preparedForReroll().wire == json("tolerance/plan_null_url_and_short_block_prepared_for_reroll.json"))
    #expect(try samplePlan("tolerance/plan_weekdays_only.json").preparedForReroll().wire == json("plan.json"))
    #expect(try samplePlan("plan_clock_blocks.json").preparedForReroll().wire == json("plan_clock_blocks.json"))
    var odd = try samplePlan()
    odd.weekOf = "2026-04-13T00:00:00Z"
    odd.timeBlocks["Feb"] = odd.timeBlocks["Mon"]
    odd.timeBlocks["Monday"] = []
    odd.timeBlocks["Mon"]?[0].start = "10:00"
    odd.resources[0].description = "A book"
    #expect(try odd.preparedForReroll().wire == json("plan.json"))
    let extra = try samplePlan("tolerance/plan_integer_hours_and_extra_fields.json")
    #expect(try extra.preparedForReroll().wire["timeBlocks"]?["Mon"]?.list?.count == 1)
  }

  @Test func `refuses a plan that the backend would refuse, with all that is wrong`() async throws {
    var plan = try samplePlan()
    plan.timeBlocks["Mon"]?[0].label = String(repeating: "x", count: 81)
    plan.dailyTasks["Tue"]?[1] = ""
    plan.milestones[0] = String(repeating: "é", count: 121)
    plan.resources[1].url = "https://" + String(repeating: "a", count: 500)
    let error = try await failure { try plan.preparedForReroll() }
    #expect(
      error.message == "The request was not sent. The plan is not one that the backend takes: "
        + "'timeBlocks.Mon[0].label' must have 1 to 80 characters, but has 81; "
        + "'dailyTasks.Tue[1]' must have 1 to 120 characters, but has 0; "
        + "'milestones[0]' must have 1 to 120 characters, but has 121; "
        + "'resources[1].url' must have 1 to 500 characters, but has 508.")
    plan = try samplePlan()
    plan.weekOf = "next week"
    #expect(
      try await failure { try plan.preparedForReroll() }.message
        == "The request was not sent. 'weekOf' of the plan isn't a date, but 'next week'.")
    plan = try WeekPlan(answer: json("generate_routine_response_fallback.json")["plan"] ?? .null, as: "plan")
    #expect(
      try await failure { try plan.preparedForReroll() }.message
        == "The request was not sent. A plan without tasks or without blocks of time, as a backend gives that could "
        + "not make one, cannot be made anew in part; have a routine made first.")
  }

  @Test func `refuses a request that is larger than the backend takes`() async throws {
    var plan = try samplePlan()
    plan.milestones = Array(repeating: String(repeating: "m", count: 120), count: 9000)
    let sent = plan
    let error = try await failure { try PaidCall.reroll(.resources, of: sent, for: sampleProfile()) }
    #expect(
      error.message == "The request was not sent. The request has 1108707 bytes, and the backend takes 1048576 at most."
    )
  }

  @Test(arguments: [
    (
      "bad_day",
      "'profile.availableDays[0]' must be 'Mon' or 'Tue' or 'Wed' or 'Thu' or 'Fri' or 'Sat' or 'Sun', but found 'Monday'"
    ),
    ("budget_too_small", "'profile.timeBudgetHoursPerDay' must be at least 0.5, but is 0.25"),
    ("constraints_null", "'profile.constraints' is empty; leave it out to have a list"),
    (
      "extra_profile_field",
      "'profile' has no field 'updatedAt'; it has name, stage, targetRole, timeBudgetHoursPerDay, availableDays, "
        + "constraints"
    ),
    ("no_days", "'profile.availableDays' must not be empty"),
    (
      "profile_only_name",
      "'profile' needs 'stage' (string): The career stage, such as '3rd Year', 'Recent Grad' or 'Career Changer'"
    ),
  ])
  func `refuses a profile that the backend would refuse`(_ name: String, _ words: String) throws {
    let value = try json("invalid_requests/\(name).json")["profile"] ?? .null
    #expect { try Profile(checking: value, as: "profile") } throws: { error in
      let message = (error as? ValueError)?.list.first?.message ?? ""
      if message != words { Issue.record("\(message)") }
      return true
    }
  }

  @Test func `refuses a profile that was made field by field`() async throws {
    var profile = try sampleProfile()
    profile.stage = "x"
    let made = profile
    let error = try await failure { try PaidCall.prep(for: made) }
    #expect(
      error.message == "The request was not sent. The profile is not one that the backend takes: 'profile.stage' must "
        + "have at least 2 characters, but has 1.")
    #expect(error.actionError.kind == .validation)
    #expect(throws: ValueError.self) {
      try Profile(name: "Jo", stage: "Recent Grad", targetRole: "iOS", hoursPerDay: 13, days: [.mon])
    }
  }

  @Test func `a ready-made plan stays one that cannot be made anew in part`() async throws {
    var answer = try #require(json("generate_routine_response.json")["plan"]?.map)
    answer["dailyTasks"] = nil
    let made = try PaidCall.routine(for: sampleProfile()).read(JSON.write(.object(["plan": .map(answer)])))
    #expect(made.isCanned)
    #expect(made.content.dailyTasks.count == 7)
    let error = try await failure { try PaidCall.reroll(.resources, of: made.content, for: sampleProfile()) }
    #expect(error.message.contains("cannot be made anew in part"))
  }

  @Test(arguments: [
    ("2026-04-13", "2026-04-13"), ("2026-04-14", "2026-04-13"), ("2026-04-18", "2026-04-13"),
    ("2026-04-19", "2026-04-20"), ("2026-01-01", "2025-12-29"),
  ])
  func `dates the days from the Monday of the week`(_ weekOf: String, _ monday: String) throws {
    var plan = try samplePlan()
    plan.weekOf = weekOf
    #expect(plan.days.first?.date == monday)
    #expect(plan.days.last?.date == CivilDate(monday)?.adding(days: 6).description)
  }

  // MARK: Answers

  @Test func `an odd block of time is left out, and the rest is not lost`() async throws {
    let whole = try json("generate_routine_response_clock_blocks.json")
    var plan = try #require(whole["plan"]?.map)
    var days = try #require(plan["timeBlocks"]?.map)
    let odd = try JSON.parse(#"{"start":"22:00","end":"24:00","label":"Late"}"#)
    days["Sun"] = .list([odd, .string("rest")])
    plan["timeBlocks"] = .map(days)
    let call = try PaidCall.routine(for: sampleProfile())
    let made = try call.read(JSON.write(.object(["plan": .map(plan)])))
    #expect(!made.isCanned)
    #expect(
      made.warnings == [
        "A block of time was left out: 'timeBlocks.Sun[0].end' must be a time such as 09:30, but is '24:00'.",
        "A block of time was left out: 'timeBlocks.Sun[1]' takes a map of fields, but found a string.",
      ])
    let plain = try call.read(JSON.write(whole))
    #expect(plain.warnings == [])
    #expect(made.content.timeBlocks["Mon"] == plain.content.timeBlocks["Mon"])
    #expect(made.content.timeBlocks["Sun"] == [])
    // Recipes hear of it.
    #expect(PlanFields(made).warnings.count == 2)
    // A reroll as well.
    let blocks = try JSON.write(.object(["timeBlocks": .map(days)]))
    let reroll = try PaidCall.reroll(.timeBlocks, of: samplePlan(), for: sampleProfile()).read(blocks)
    #expect(reroll.warnings == made.warnings)
    // A plan needs at least one readable block.
    plan["timeBlocks"] = .object(["Mon": .list([odd])])
    let none = try JSON.write(.object(["plan": .map(plan)]))
    #expect(try await failure { try call.read(none) }.kind == .decoding)
  }

  @Test(arguments: ["timeBlocks", "resources", "dailyTasks"])
  func `puts a section that was made anew into the plan`(_ name: String) throws {
    let section = try #require(PlanSection(rawValue: name))
    let call = try PaidCall.reroll(section, of: samplePlan(), for: sampleProfile())
    let answer = try call.read(fixture("reroll_\(name)_response.json"))
    #expect(!answer.isCanned)
    #expect(try answer.content == samplePlan("plan_after_reroll_\(name).json"))
  }

  @Test func `takes a section that comes back as it was sent for none`() throws {
    let profile = try sampleProfile()
    let same = try PaidCall.reroll(.resources, of: samplePlan(), for: profile)
      .read(fixture("reroll_resources_response_unchanged.json"))
    #expect(same.isCanned)
    #expect(try same.content == samplePlan())
    // The answer is compared with the section that was sent, not with the section it was prepared from.
    let plan = try samplePlan("tolerance/plan_null_url_and_short_block.json")
    let prepared = try json("tolerance/plan_null_url_and_short_block_prepared_for_reroll.json")
    for section in PlanSection.allCases {
      let echo = try JSON.write(.object([section.rawValue: prepared[section.rawValue] ?? .null]))
      let answer = try PaidCall.reroll(section, of: plan, for: profile).read(echo)
      #expect(answer.isCanned)
      #expect(answer.content == plan)
    }
  }

  @Test func `reads clock times where a section had hours`() throws {
    let answer = try PaidCall.reroll(.timeBlocks, of: samplePlan(), for: sampleProfile())
      .read(fixture("reroll_timeBlocks_response_clock_blocks.json"))
    #expect(short(answer) == "2026-04-13, version 2: 8 blocks of 10.0 h, 9 tasks")
  }

  @Test(arguments: [
    ("{}", "'answer' needs 'plan' (object): The plan"),
    ("bare_plan_without_envelope.json", "'answer' needs 'plan' (object): The plan"),
    (
      #"{"plan":{"weekOf":"soon","timeBlocks":{},"milestones":[],"resources":[]}}"#,
      "'plan.weekOf' isn't a date, but 'soon'"
    ),
    (
      #"{"plan":{"weekOf":"2026-04-13","timeBlocks":{"Mon":[{"label":"x"}]},"milestones":[],"resources":[]}}"#,
      "'answer.plan.timeBlocks.Mon[0]' needs 'durationHours', or 'start' and 'end'"
    ),
    (
      #"{"plan":{"weekOf":"2026-04-13","timeBlocks":{"Mon":[{"label":"x","start":"24:10","end":"25:00"}]},"milestones":[],"resources":[]}}"#,
      "'answer.plan.timeBlocks.Mon[0].start' must be a time such as 09:30, but is '24:10', and 1 more"
    ), ("200_not_json.txt", "it is not valid JSON"), ("200_truncated_body.txt", "it is not valid JSON"),
  ])
  func `refuses an answer that is not of the contract`(_ text: String, _ words: String) async throws {
    let bytes = text.hasPrefix("{") ? Array(text.utf8) : try fixture("tolerance/\(text)")
    let call = try PaidCall.routine(for: sampleProfile())
    let error = try await failure { try call.read(bytes) }
    #expect(error.kind == .decoding)
    #expect(
      error.message.hasPrefix("Data error: the answer cannot be read. It does not match the contract: \(words)"),
      "\(error.message)")
    #expect(error.message.hasSuffix(" The call may have been paid."))
  }

  @Test func `takes full names of days for a sign of a ready-made pack, and gives the short ones`() throws {
    let call = try PaidCall.prep(for: sampleProfile())
    let answer = try call.read(fixture("tolerance/prep_full_day_names.json"))
    #expect(short(answer) == "4 subjects, Mon Tue Wed Thu Fri, 5 questions, canned")
  }

  @Test(arguments: [("10:00", "11:15", 1.25), ("23:30", "00:30", 1.0), ("08:00", "08:00", 0)])
  func `counts the hours of a block by the clock`(_ start: String, _ end: String, _ hours: Double) {
    var block = TimeBlock()
    block.start = start
    block.end = end
    #expect(block.hours == hours)
  }

  @Test func `dates the days of a week`() throws {
    #expect(
      try samplePlan().days.map { "\($0.day.rawValue) \($0.date) \($0.hours)" } == [
        "Mon 2026-04-13 2.5", "Tue 2026-04-14 2.5", "Wed 2026-04-15 2.5", "Thu 2026-04-16 0.0", "Fri 2026-04-17 2.5",
        "Sat 2026-04-18 0.0", "Sun 2026-04-19 0.0",
      ])
  }

  // MARK: Exchanges

  /// The outcome of each of the contract's exchanges.
  private static let outcomes = [
    "health": "healthy",
    "health without a body": "healthy",
    "health failing":
      "Server issue. Please try again shortly. GET URL/health was answered with HTTP status 500: something broke (demo "
      + "wording).",
    "routine": "2026-04-13, version 1: 12 blocks of 10.0 h, 9 tasks",
    "routine, same request again, another answer": "2026-04-13, version 1: 12 blocks of 10.0 h, 9 tasks",
    "routine, October 2025 blocks": "2026-04-13, version 1: 8 blocks of 10.0 h, 9 tasks",
    "routine, server fallback": "2026-04-14, version 1: 0 blocks of 0.0 h, 0 tasks, canned",
    "routine, invalid profile, newer server": "2026-04-14, version 1: 0 blocks of 0.0 h, 0 tasks, canned",
    "routine, invalid profile, older server":
      "The server refused the request. POST URL/generate/routine was answered with HTTP status 400: profile is not "
      + "valid (demo wording). targetRole is required; /timeBudgetHoursPerDay: at least 0.5. | "
      + "targetRole is required; /timeBudgetHoursPerDay: at least 0.5. \(trace)",
    "routine, slow":
      "The request took too long. Please try again. POST URL/generate/routine: URL did not send a complete answer within 0.3s; "
      + "try later or raise the time limit. \(paid) | retryable",
    "routine, upstream failed once":
      "Server issue. Please try again shortly. POST URL/generate/routine was answered with HTTP status 502: the model "
      + "call failed (demo wording). \(paid) | \(trace) | retryable",
    "routine, upstream timed out":
      "Server issue. Please try again shortly. POST URL/generate/routine was answered with HTTP status 504: the model "
      + "took too long (demo wording). \(paid) | \(trace) | retryable",
    "routine, server error":
      "Server issue. Please try again shortly. POST URL/generate/routine was answered with HTTP status 500: something "
      + "broke (demo wording). \(paid) | \(trace) | retryable",
    "routine, gateway page":
      "Server issue. Please try again shortly. POST URL/generate/routine was answered with HTTP status 502. \(paid) | "
      + "retryable",
    "routine, rate limited":
      "Too many requests. Please wait a little. POST URL/generate/routine was answered with HTTP status 429: too many "
      + "requests (demo wording). | after 41s",
    "routine, body cut off":
      "Data error: the answer cannot be read. It does not match the contract: it is not valid JSON (line 1, column 67: the "
      + "text ends inside a string; '\"' is missing (the string begins at line 1, column 62)). \(paid)",
    "prep": "4 subjects, Mon Tue Wed Thu Fri, 5 questions",
    "prep, server fallback": "1 subjects, Mon Tue Wed Thu Fri, 3 questions, canned",
    "reroll resources": "2026-04-13, version 2: 12 blocks of 10.0 h, 9 tasks",
    "reroll timeBlocks": "2026-04-13, version 2: 12 blocks of 10.0 h, 9 tasks",
    "reroll dailyTasks": "2026-04-13, version 2: 12 blocks of 10.0 h, 9 tasks",
    "reroll, failed inside, newer server echoes the old section":
      "2026-04-13, version 1: 12 blocks of 10.0 h, 9 tasks, canned",
    "reroll, failed inside, older server":
      "Server issue. Please try again shortly. POST URL/reroll/resources was answered with HTTP status 502: the model "
      + "call failed (demo wording). \(paid) | \(trace) | retryable",
    "reroll of an unknown section":
      "The server refused the request. POST URL/reroll/milestones was answered with HTTP status 400: no such section: "
      + "milestones (demo wording). | \(trace)",
    "reroll with the wrong key":
      "The server refused the request. POST URL/reroll/resources was answered with HTTP status 400: profile and "
      + "currentPlan are required (demo wording). | \(trace)",
    "reroll with an invalid plan":
      "The server refused the request. POST URL/reroll/resources was answered with HTTP status 400: currentPlan is not "
      + "valid (demo wording). /timeBlocks/Mon/0: durationHours is required; /weekOf: not a date. | "
      + "/timeBlocks/Mon/0: durationHours is required; /weekOf: not a date. \(trace)",
    "malformed body":
      "The server refused the request. POST URL/generate/routine was answered with HTTP status 400: body is not JSON "
      + "(demo wording).",
    "unknown path":
      "The server has nothing at this address. POST URL/generate/nothing was answered with HTTP status 404: Not Found.",
  ]
  private static let paid = "The call may have been paid."
  private static let trace = "Trace 0d3b8c5e-2f41-4a77-9c1d-6b0e5a9f1234."

  @Test func `replays the exchanges of the contract`() async throws {
    let exchanges = try #require(json("exchanges.json")["exchanges"]?.list)
    #expect(exchanges.count == 28)
    for exchange in exchanges {
      let name = exchange["name"]?.string ?? ""
      let outcome = try await replay(exchange)
      #expect(outcome == Self.outcomes[name], "\(name)")
    }
  }

  private func replay(_ exchange: Value) async throws -> String {
    let request = exchange["request"] ?? .null
    let response = exchange["response"] ?? .null
    var answer = HTTPServerResponse(status: response["status"]?.int ?? 0)
    for header in response["headers"]?.map?.members ?? [] { answer.headers[header.name ?? ""] = header.value.string }
    answer.body = .bytes(try fixture(response["bodyFile"]?.string ?? ""))
    let (reply, time, isSlow) = (answer, TestTime(), response["delayMs"]?.int != 0)
    let body = try request["bodyFile"]?.string.map(fixture) ?? []
    let seen = Mutex<[UInt8]?>(nil)
    let server = try HTTPServer { request in
      seen.withLock { $0 = request.body }
      // Nobody moves this clock; the client leaves first.
      if isSlow { try? await time.sleep(for: .seconds(20)) }
      return reply
    }
    let client = client(server.baseURL, attempt: isSlow ? .milliseconds(300) : .seconds(60))
    let outcome: String
    do throws(InterviewPrepError) {
      outcome = try await send(body, to: request["path"]?.string ?? "", on: client)
    } catch {
      var parts = [error.message.replacing(server.baseURL, with: "URL")]
      if let detail = error.detail { parts.append(detail) }
      if error.isRetryable, error.mayBePaid { parts.append("retryable") }
      if let wait = error.retryAfter { parts.append("after \(wait)") }
      // Only the message of a health check counts.
      outcome = request["path"]?.string == "/health" ? parts[0] : parts.joined(separator: " | ")
    }
    let sent = seen.withLock(\.self) ?? []
    if sent != body { #expect(try JSON.parse(sent) == JSON.parse(body)) }
    await server.stop()
    return outcome
  }

  /// Sends a request of an exchange, by the client's own calls if it takes it, and as it is if not.
  private func send(
    _ body: [UInt8], to path: String, on client: InterviewPrepClient
  ) async throws(InterviewPrepError) -> String {
    if path == "/health" {
      try await client.health()
      return "healthy"
    }
    let value = try? JSON.parse(body)
    let profile = value?["profile"].flatMap { try? Profile(checking: $0, as: "profile") }
    let plan = value?["currentPlan"].flatMap { try? WeekPlan(answer: $0, as: "plan") }
    let section = PlanSection(rawValue: String(path.dropFirst("/reroll/".count)))
    let isAsItIs = value?["currentPlan"]?["weekOf"]?.string?.contains("T") == true
    switch (path, profile, plan, section) {
    case ("/generate/routine", let profile?, _, _): return short(try await client.generateRoutine(for: profile))
    case ("/generate/prep", let profile?, _, _): return short(try await client.generatePrep(for: profile))
    case (_, let profile?, let plan?, let section?) where !isAsItIs:
      return short(try await client.reroll(section, of: plan, for: profile))
    default:
      let any = try PaidCall.routine(
        for: (try? sampleProfile()) ?? Profile())
      return short(try await client.make(PaidCall(path: path, body: body, read: any.read)))
    }
  }
}
