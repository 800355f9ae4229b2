import Basics
import Glibc
import Recipes
import RunState
import Runs
import Testing

@testable import Agent
@testable import Operations

/// Each verb is declared once, and its requests match the declaration.
@Suite(.timeLimit(.minutes(20))) struct AgentVerbTests {
  private static let instant = Timestamp("2026-11-20T09:30:00Z") ?? .earliest

  /// A request of each verb, with all parameters.
  private static let requests: [AgentRequest] = [
    .submit(
      RunCreated(
        run: "r1", at: instant, recipe: "r", file: "r.yaml", texts: .inline(.object(["r.yaml": .string("steps: []")])),
        inputs: .object([:]), program: "test"), secrets: ["TOKEN"], isDetached: true, isAgain: true, key: "k"),
    .start(
      recipe: "r", inputs: ValueMap([("n", .int(1))]), texts: ["t": "one"], key: "k", plan: "00", assistant: "scribe"),
    .plan(recipe: "r", inputs: ValueMap([("n", .int(1))]), texts: ["t": "one"], plan: "00"), .showPlan(digest: "00"),
    .resume(run: "r1", isDetached: true), .follow(run: "r1", withSnapshot: true),
    .watch, .pause(run: "r1", reason: "later"), .cancel(run: "r1", reason: "no", key: "k"), .retry(run: "r1"),
    .retry(run: "r1", step: "a", output: .object(["id": .int(1)]), key: "k"),
    .resolve(run: "r1", step: "a/b", as: .done(.double(.infinity)), key: "k"),
    .resolve(run: "r1", step: "a", as: .retry), .resolve(run: "r1", step: "a", as: .fail("lost")),
    .decide(run: "r1", step: "ask", isApproved: true, comment: "fine", key: "k"),
    .signal(SentEvent(id: "e1", source: "/shop", name: "paid", data: .object(["$bytes": .string("!")]), run: "r1")),
    .delete(run: "r"),
    .runs(
      RunListQuery(
        limit: 3, recipe: "r", seen: ["r", "s"], statuses: [.failed], since: .earliest, until: .latest, after: "x",
        isPaged: true,
        needsPerson: false)),
    .approvals(limit: 3, after: "r1"),
    .find(run: "r"), .show(run: "r"), .steps(run: "r", limit: 5, from: 3), .explain(run: "r", isAlone: true),
    .explainSchedule(id: "tick", at: instant), .recipes,
    .recipe(name: "r"), .tools(patterns: ["r-*"]),
    .check(text: "steps: []", file: "r.yaml"), .actions, .tokens, .issueLink,
    .revokeToken(name: "phone"), .workers, .drainWorker(name: "lab", isUndone: true),
    .evictWorker(name: "lab", isForced: true),
    .issueToken(
      TokenIssued(
        at: instant, name: "phone", sha256: "00", scopes: [.read], recipes: ["r"], expiresAt: instant)),
    .value(BlobReference(sha256: String(repeating: "ab", count: 32), size: 7)),
    .logs(run: "r1", step: "a", from: 12),
    .why(RunFacts.Question(run: "r1", cause: RunCause(.retry, run: "r0"), group: "g", awaits: ["paid"])), .schedules,
    .slots(SlotQuery(limit: 5, schedule: "tick", from: instant, before: instant, after: "x")),
    .upcoming(SlotQuery(limit: 5, schedule: "tick", from: instant, before: instant, isFirst: true)),
    .pauseSchedule(id: "tick", note: "holiday"), .resumeSchedule(id: "tick"), .resetSchedule(id: "tick"),
    .trigger(id: "tick", overlap: .skip, inputs: ValueMap([("n", .int(1))]), texts: ["t": "one"], key: "k"),
    .backfill(id: "tick", from: instant, to: instant, overlap: .bufferAll, isDry: true), .connections, .status, .yield,
  ]

  @Test func `a request of each verb is read as it was written`() throws {
    var written: [String: Set<String>] = [:]
    for request in AgentVerbTests.requests {
      let (line, verb) = request.encoded()
      let read = try AgentRequest(reading: try JSON.parse(try JSON.text(line))).encoded()
      #expect(try JSON.text(read.line) == JSON.text(line))
      written[verb, default: []].formUnion(try #require(line.map).members.compactMap(\.name))
    }
    // Some request has each parameter, so that none is lost on the way.
    let declared = AgentVerb.all.map { ($0.name, Set($0.parameters.map(\.name)).union(["ask"])) }
    #expect(written == Dictionary(uniqueKeysWithValues: declared))
  }

  @Test func `each verb says what it is for, and each parameter what it is`() {
    for verb in AgentVerb.all {
      #expect(verb.summary.hasSuffix(".") && verb.summary.split(separator: " ").count > 2, "\(verb.name)")
      for parameter in verb.parameters { #expect(parameter.summary.hasSuffix("."), "\(verb.name).\(parameter.name)") }
      #expect(Set(verb.parameters.map(\.name)).count == verb.parameters.count)
    }
    // Refusals that are common to all verbs need not be named.
    let named = AgentVerb.all.reduce(into: Set<RequestRefusedError.Kind>([.request, .state])) {
      $0.formUnion($1.refusals)
    }
    #expect(named == Set(RequestRefusedError.Kind.allCases))
  }

  @Test(arguments: [
    (#"{"ask":"fly"}"#, "unknown request 'fly'"),
    (#"{"run":"r1"}"#, "unknown request ''"),
    (#"{"ask":"pause"}"#, "the request 'pause' isn't valid: 'run' is missing"),
    (#"{"ask":"pause","run":7}"#, "the request 'pause' isn't valid: in 'run': expected a string, not an int"),
    (#"{"ask":"pause","run":"r1","why":"x"}"#, "the request 'pause' isn't valid: 'why' is not known"),
    (
      #"{"ask":"start","recipe":"r","inputs":[1]}"#,
      "the request 'start' isn't valid: in 'inputs': expected an object, not a list"
    ),
    (#"{"ask":"runs","limit":"x"}"#, "the request 'runs' isn't valid: in 'limit': expected an int, not a string"),
  ])
  func `a request that isn't as declared is refused`(_ line: String, _ message: String) throws {
    let value = try JSON.parse(line)
    #expect(throws: RequestRefusedError(.request, message)) { try AgentRequest(reading: value) }
  }

  // MARK: Callers

  @Test func `the agent's own account may say which person it speaks for, and no other account may`() {
    #expect(AgentCaller(account: geteuid(), person: "ann").name == "ann")
    #expect(AgentCaller(account: 0, person: "ann").name == "ann")
    #expect(AgentCaller(account: geteuid(), person: " ").name == FolderLock.name(of: geteuid()))
    let other: uid_t = geteuid() == 65_534 ? 65_533 : 65_534
    #expect(AgentCaller(account: other, person: "ann").name == FolderLock.name(of: other))
  }

  @Test func `the caller of each request is the one that the connection names`() async throws {
    let folder = try TemporaryFolder()
    let lock = try FolderLock.acquire(folder.path, program: "errand 0.1")
    let server = try AgentServer.start(
      in: folder.path, lock: lock, identity: AgentTests.identity, clock: SystemTime()
    ) { line in
      _ = lock
      line.reply(.object(["caller": .string(line.caller.name)]))
    }
    for (person, name) in [("ann", "ann"), (nil, FolderLock.name(of: geteuid()))] {
      let client = try #require(
        try await AgentClient.connect(
          folder.path, identity: AgentTests.identity, person: person, clock: SystemTime()))
      try client.send(.object(["ask": .string("status"), "person": .string("eve")]))
      for try await reply in client.replies {
        #expect(reply == .object(["caller": .string(name)]))
        break
      }
      await client.close()
    }
    await server.stop()
  }

  // MARK: Starting by name

  private static let greeting = """
    inputs: { name: { type: string }, times: { type: int, default: 1 } }
    steps: [{ let: { words: "${{ inputs.name }}" } }]
    outputs: { words: "${{ words }}", times: "${{ inputs.times }}" }
    """

  @Test func `a recipe that is served is started by its name`() async throws {
    let folder = try ScheduleHostTests.folder(["greet": AgentVerbTests.greeting])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    let answer = try JSON.parse(
      try #require(
        try await bench.ask(#"{"ask":"start","recipe":"greet","inputs":{"name":"Ada"},"texts":{"times":"2"}}"#).first))
    #expect(answer["isServing"] == .bool(true))
    let id = try #require(answer["accepted"]?.string)
    await bench.until("\(id) succeeded")
    #expect(try await bench.outputs(id) == #"{"words":"Ada","times":2}"#)
    #expect(try await bench.ended(id).origin.recipe == "greet")
  }

  @Test(arguments: [
    (
      #"{"ask":"start","recipe":"great"}"#, true, "notFound",
      "no recipe called 'great' is served; did you mean 'greet'?"
    ),
    (#"{"ask":"start","recipe":"greet"}"#, true, "inputs", "input 'name' (string) is missing"),
    (
      #"{"ask":"start","recipe":"greet","inputs":{"name":1,"nme":2}}"#, true, "inputs",
      "recipe 'greet' has no input 'nme'"
    ),
    (#"{"ask":"start","recipe":"broken"}"#, true, "configuration", "broken.yaml' has errors, so it isn't served"),
    (
      #"{"ask":"start","recipe":"greet","inputs":{"name":"Ada"}}"#, false, "notServing",
      "no agent is serving, and only an agent finds recipes by their names; start errand serve, or: errand run FILE"
    ),
  ])
  func `a start is refused with the reason`(
    _ request: String, _ isServing: Bool, _ kind: String, _ message: String
  ) async throws {
    let folder = try ScheduleHostTests.folder(["greet": AgentVerbTests.greeting, "broken": "steps: [{ lett: {} }]"])
    let bench = await HostBench(isServing: isServing, folder: folder.path)
    if isServing { await bench.serve() }
    let answer = try JSON.parse(try #require(try await bench.ask(request).first))
    #expect(answer["failed"]?["kind"]?.string == kind, "\(answer)")
    #expect(answer["failed"]?["message"]?.string?.contains(message) == true, "\(answer)")
    #expect(bench.store.state.openRuns.isEmpty)
  }
}
