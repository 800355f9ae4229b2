import Basics
import Glibc
import ProcessTestKit
import RecipeEditing
import Recipes
import RunState
import Runs
import Testing

@testable import Agent
@testable import Operations

/// Each operation is declared once, and its requests match the declaration.
@Suite(.timeLimit(.minutes(20))) struct OperationTests {
  private static let instant = Timestamp("2026-11-20T09:30:00Z") ?? .earliest

  /// A query with all members that a filter has.
  private static func filtered(
    limit: Int = 20, after: String? = nil, isPaged: Bool = false, needsPerson: Bool? = nil
  ) -> RunListQuery {
    var query = RunListQuery(
      limit: limit, recipe: "r", seen: ["r", "s"], statuses: [.failed], since: .earliest, until: .latest, after: after,
      isPaged: isPaged, needsPerson: needsPerson)
    (query.filter.recipePart, query.filter.text, query.filter.causes) = ("r", "timed out", [.slot, .retry])
    query.filter.inputs = ["class=7a", "n="].compactMap { RunFilter.Input($0) }
    query.failure = "3fa91c05d2b7e684"
    return query
  }

  /// A request of each operation, with all parameters.
  private static let requests: [any Operation] = [
    SubmitRun.with {
      $0.run = Stored(
        RunCreated(
          run: "r1", at: instant, recipe: "r", file: "r.yaml",
          texts: .inline(.object(["r.yaml": .string("steps: []")])), inputs: .object([:]), program: "test"))
      $0.secrets = ["TOKEN"]
      $0.again = true
      $0.key = "k"
    },
    ResumeRun.with { $0.run = "r1" }, FollowRun.with { $0.run = "r1" }, WatchRuns(),
    PauseRun.with {
      $0.run = "r1"
      $0.reason = "later"
    },
    CancelRun.with {
      $0.run = "r1"
      $0.reason = "no"
      $0.key = "k"
    },
    RetryRun.with { $0.run = "r1" },
    RetryRun.with {
      $0.run = "r1"
      $0.step = "a"
      $0.output = .object(["id": .int(1)])
      $0.key = "k"
    },
    ResolveStep.with {
      $0.run = "r1"
      $0.step = "a/b"
      $0.as = Word(.done)
      $0.output = .double(.infinity)
      $0.key = "k"
    },
    ResolveStep.with {
      $0.run = "r1"
      $0.step = "a"
      $0.as = Word(.fail)
      $0.reason = "lost"
    },
    DecideStep.with {
      $0.run = "r1"
      $0.step = "ask"
      $0.approved = true
      $0.question = "5f2c0a6e"
      $0.comment = "fine"
      $0.key = "k"
    },
    LinkStep.with {
      $0.run = "r1"
      $0.step = "ask"
      $0.for = "ann"
    },
    UnlinkStep.with {
      $0.run = "r1"
      $0.step = "ask"
      $0.for = "ann"
    }, UnlinkAll(),
    AnswerStep.with {
      $0.run = "r1"
      $0.step = "room"
      $0.fields = ValueMap([("seats", .int(30))])
      $0.texts = ["room": "B12"]
      $0.question = "5f2c0a6e"
      $0.comment = "fine"
      $0.key = "k"
    },
    SendEvent.with {
      $0.id = "e1"
      $0.source = "/shop"
      $0.name = "paid"
      $0.data = .object(["$bytes": .string("!")])
      $0.run = "r1"
    },
    DeleteRun.with { $0.run = "r" },
    ShowRun.with { $0.run = "r" },
    ReadValue(BlobReference(sha256: String(repeating: "ab", count: 32), size: 7), of: "r1"),
    ListRuns(filtered(limit: 3, after: "x", isPaged: true, needsPerson: false)),
    CountRuns.with { $0.fill(from: filtered()) },
    SteerRuns.with {
      $0.verb = Word(.cancel)
      $0.runs = ["r1", "r2"]
      $0.reason = "no"
      $0.key = "k"
    },
    SteerRuns.with {
      var filter = RunFilterInput()
      filter.fill(from: filtered())
      $0.verb = Word(.retry)
      ($0.filter, $0.expected) = (filter, 2)
    },
    ListApprovals.with {
      $0.limit = 3
      $0.cursor = "r1"
    },
    FindRun.with { $0.run = "r" },
    ListSteps.with {
      $0.run = "r"
      $0.limit = 5
      $0.from = 3
      $0.parent = "each"
      $0.status = [Word(.failed), Word(.uncertain)]
      $0.outlined = true
    },
    ExplainRun.with {
      $0.run = "r"
      $0.alone = true
      $0.timeless = true
      $0.zone = "Europe/Berlin"
    },
    ReloadConfiguration(), EndSessions.with { $0.all = true }, ShowSchedule.with { $0.id = "tick" },
    ReadLogs.with {
      $0.run = "r1"
      $0.step = "a"
      $0.attempt = 2
      $0.from = 12
      $0.before = 20
      $0.find = "error"
      $0.lines = 3
    },
    DownloadLog.with {
      $0.run = "r1"
      $0.step = "a"
      $0.attempt = 2
    },
    ReadOutputs.with { $0.run = "r1" },
    DownloadTable.with {
      $0.run = "r1"
      $0.name = "rows"
    },
    ListRunFiles.with { $0.run = "r1" },
    DownloadFile.with {
      $0.run = "r1"
      $0.number = "1"
    },
    ShowStep.with {
      $0.run = "r1"
      $0.step = "a"
    },
    CollectFacts.with {
      $0.about = Stored(
        RunFacts.Question(run: "r1", cause: RunCause(.retry, run: "r0"), group: "g", awaits: ["paid"]))
    },
    IssueToken.with {
      $0.name = "phone"
      $0.scopes = [Word(.read)]
      $0.recipes = ["r"]
      $0.expiresAt = instant
    },
    RevokeToken.with { $0.name = "phone" }, ListTokens(), ListWorkers(),
    DrainWorker.with {
      $0.name = "lab"
      $0.undo = true
    },
    EvictWorker.with {
      $0.name = "lab"
      $0.force = true
    },
    IssueLink(), YieldFolder(),
    IssueFormLink.with {
      $0.id = "rooms/request"
      $0.uses = 3
      $0.until = instant
    },
    StartRun.with {
      $0.recipe = "r"
      $0.inputs = ValueMap([("n", .int(1)), ("data", .bytes([1]))])
      $0.texts = ["t": "one"]
      $0.key = "k"
      $0.plan = "00"
      $0.like = "r0"
      $0.assistant = "scribe"
    },
    PlanRun.with {
      $0.recipe = "r"
      $0.inputs = ValueMap([("n", .int(1))])
      $0.texts = ["t": "one"]
      $0.plan = "00"
    },
    ShowPlan.with { $0.digest = "00" }, ListRecipes.with { $0.brief = true },
    ShowRecipe.with { $0.recipe = "r" }, ListTools.with { $0.patterns = ["r-*"] },
    CheckText.with {
      $0.text = "steps: []"
      $0.file = "r.yaml"
    },
    ListActions(), ListConnections(), ShowStatus(),
    EditorCheck.with {
      $0.path = "recipes/r.yaml"
      $0.text = "steps: []"
      $0.fixAll = true
    },
    EditorComplete.with {
      $0.path = "recipes/r.yaml"
      $0.text = "steps: []"
      $0.at = PlaceAnswer(TextPosition(line: 0, character: 3))
    },
    EditorHover.with {
      $0.path = "recipes/r.yaml"
      $0.text = "steps: []"
      $0.at = PlaceAnswer(TextPosition(line: 0, character: 3))
    },
    EditorPlan.with {
      $0.path = "recipes/r.yaml"
      $0.text = "steps: []"
      $0.inputs = ValueMap([("n", .int(1))])
      $0.texts = ["t": "one"]
    },
    EditorTest.with {
      $0.path = "recipes/r.yaml"
      $0.text = "steps: []"
    },
    ListFiles(), ReadFile.with { $0.path = "errand.yaml" },
    SaveFile.with {
      $0.path = "recipes/r.yaml"
      $0.text = "steps: []"
      $0.base = "00"
      $0.message = "Shorter"
      $0.key = "k"
    },
    ListVersions.with { $0.path = "recipes/r.yaml" },
    ReadVersion.with {
      $0.path = "recipes/r.yaml"
      $0.version = "1"
    },
    RestoreFile.with {
      $0.path = "recipes/r.yaml"
      $0.version = "1"
      $0.base = "00"
      $0.key = "k"
    },
    ListTemplates(),
    NewFile.with {
      $0.from = "hello"
      $0.uses = "http.get"
      $0.test = "recipes/r.yaml"
      $0.name = "mine"
    },
    ListFailures.with {
      $0.recipe = "r"
      $0.all = true
      $0.limit = 3
    },
    DismissFailure.with {
      $0.group = "3fa91c05d2b7e684"
      $0.seen = instant
      $0.note = "known"
    },
    ShowStatistics.with {
      $0.recipe = "r"
      $0.days = 7
      $0.daily = true
    },
    ExplainSchedule.with {
      $0.id = "tick"
      $0.at = instant
      $0.zone = "Europe/Berlin"
    },
    ListSchedules(),
    ListSlots(SlotQuery(limit: 5, schedule: "tick", from: instant, before: instant, after: "x")),
    ListUpcoming.with {
      $0.limit = 5
      $0.schedule = "tick"
      $0.from = instant
      $0.before = instant
      $0.first = true
    },
    PauseSchedule.with {
      $0.id = "tick"
      $0.note = "holiday"
    },
    ResumeSchedule.with { $0.id = "tick" }, ResetSchedule.with { $0.id = "tick" },
    TriggerSchedule.with {
      $0.id = "tick"
      $0.overlap = Word(.skip)
      $0.inputs = ValueMap([("n", .int(1))])
      $0.texts = ["t": "one"]
      $0.key = "k"
    },
    BackfillSchedule.with {
      $0.id = "tick"
      $0.from = instant
      $0.to = instant
      $0.overlap = Word(.bufferAll)
      $0.dryRun = true
    },
  ]

  @Test func `a request of each operation is read as it was written`() throws {
    var written: [String: Set<String>] = [:]
    for request in OperationTests.requests {
      let (line, name) = (request.line, type(of: request).name)
      let read = try OperationList.read(try JSON.parse(try JSON.text(line)))
      #expect(try JSON.text(read.line) == JSON.text(line))
      written[name, default: []].formUnion(try #require(line.map).members.compactMap(\.name))
    }
    // Some request has each parameter, so that none is lost on the way.
    let declared = OperationList.all.map { ($0.name, Set($0.parameters.map(\.name)).union(["ask"])) }
    #expect(written == Dictionary(uniqueKeysWithValues: declared))
  }

  @Test func `each operation says what it is for, and each parameter what it is`() {
    for operation in OperationList.all {
      #expect(
        operation.summary.hasSuffix(".") && operation.summary.split(separator: " ").count > 2, "\(operation.name)")
      for parameter in operation.parameters {
        #expect(parameter.summary.hasSuffix("."), "\(operation.name).\(parameter.name)")
      }
      #expect(Set(operation.parameters.map(\.name)).count == operation.parameters.count)
    }
    // Refusals that are common to all operations need not be named.
    let named = OperationList.all.reduce(into: Set<RequestRefusedError.Kind>([.request, .state, .forbidden])) {
      $0.formUnion($1.refusals)
    }
    #expect(named == Set(RequestRefusedError.Kind.allCases))
  }

  @Test(arguments: [
    (#"{"ask":"fly"}"#, "unknown request 'fly'"),
    (#"{"run":"r1"}"#, "unknown request ''"),
    (
      #"{"ask":"pause"}"#,
      "the request 'pause' isn't valid: 'run' is missing"
    ),
    (
      #"{"ask":"pause","run":7}"#,
      "the request 'pause' isn't valid: 'run' must be a string, but found an int; write it in quotes if it is meant as text"
    ),
    (
      #"{"ask":"pause","run":"r1","why":"x"}"#,
      "the request 'pause' isn't valid: 'why' is not known"
    ),
    (
      #"{"ask":"resume","run":"r1","detach":true}"#,
      "the request 'resume' isn't valid: 'detach' is not known"
    ),
    (
      #"{"ask":"follow","run":"r1","snapshot":true}"#,
      "the request 'follow' isn't valid: 'snapshot' is not known"
    ),
    (
      #"{"ask":"start","recipe":"r","inputs":[1]}"#,
      "the request 'start' isn't valid: 'inputs' must be a map of dyn, but found a list"
    ),
    (
      #"{"ask":"runs","limit":"x"}"#,
      "the request 'runs' isn't valid: 'limit' must be an int, but found a string"
    ),
  ])
  func `a request that isn't as declared is refused`(_ line: String, _ message: String) throws {
    let value = try JSON.parse(line)
    #expect(throws: RequestRefusedError(.request, message)) { try OperationList.read(value) }
  }

  // MARK: Callers

  @Test func `the agent's own account may say which person it speaks for, and no other account may`() {
    #expect(AgentCaller(account: geteuid(), person: "ann").name == "ann")
    #expect(AgentCaller(account: 0, person: "ann").name == "ann")
    #expect(AgentCaller(account: geteuid(), person: " ").name == FolderLock.name(of: geteuid()))
    let other: uid_t = geteuid() == 65_534 ? 65_533 : 65_534
    #expect(AgentCaller(account: other, person: "ann").name == FolderLock.name(of: other))
  }

  // MARK: Starting by name

  private static let greeting = """
    inputs: { name: { type: string }, times: { type: int, default: 1 } }
    steps: [{ let: { words: "${{ inputs.name }}" } }]
    outputs: { words: "${{ words }}", times: "${{ inputs.times }}" }
    """

  @Test func `a recipe that is served is started by its name`() async throws {
    let folder = try ScheduleHostTests.folder(["greet": OperationTests.greeting])
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
    let folder = try ScheduleHostTests.folder(["greet": OperationTests.greeting, "broken": "steps: [{ lett: {} }]"])
    let bench = await HostBench(isServing: isServing, folder: folder.path)
    if isServing { await bench.serve() }
    let answer = try JSON.parse(try #require(try await bench.ask(request).first))
    #expect(answer["failed"]?["kind"]?.string == kind, "\(answer)")
    #expect(answer["failed"]?["message"]?.string?.contains(message) == true, "\(answer)")
    #expect(bench.store.state.openRuns.isEmpty)
  }

  // MARK: Handing over

  @Test func `an agent that runs only its own runs hands the folder over, and one that serves keeps it`() async throws {
    let bench = await HostBench(isServing: false)
    #expect(try await bench.ask(#"{"ask":"yield"}"#) == [#"{"yielded":true}"#])
    await bench.host.awaitHandOver()
    #expect(await bench.host.isHandedOver)
    let serving = await HostBench()
    let answer = try await serving.ask(#"{"ask":"yield"}"#)
    #expect(
      answer.count == 1
        && answer.first?.hasPrefix(
          #"{"failed":{"kind":"serving","message":"process 1 serves '/state' already; see what it does with: errand runs;"#
        )
          == true,
      "\(answer)")
    #expect(await !serving.host.isHandedOver)
  }
}
