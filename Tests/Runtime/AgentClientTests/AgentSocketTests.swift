import Agent
import AgentClient
import Basics
import Glibc
import Operations
import ProcessTestKit
import RunState
import Runs
import Synchronization
import Testing

/// Clients and the agent of a folder, over its socket.
@Suite(.timeLimit(.minutes(20))) struct AgentSocketTests {
  static let event = "steps: [{ id: e, wait: { event: e } }]\noutputs: { got: \"${{ steps.e.event.data }}\" }"

  private static func exists(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0
  }

  // MARK: The socket

  @Test(arguments: [0, 300])
  func `an agent answers through its socket, however long the folder's path is`(_ pathLength: Int) async throws {
    let folder = try TemporaryFolder(pathLength: pathLength)
    let bench = try await SocketBench(folder)
    let client = try bench.client()
    #expect(client.process == Int(getpid()))
    let runs = try await client.answer(to: ListRuns())
    #expect(runs?.open.isEmpty == true && runs?.finished.isEmpty == true)
    // One connection after another.
    for _ in 0..<3 { #expect(try await client.answer(to: ShowStatus())?.isServing == true) }
    var status = stat()
    #expect(stat("\(folder.path)/api.sock", &status) == 0)
    #expect(status.st_mode & 0o777 == 0o600 && status.st_mode & S_IFMT == S_IFSOCK)
    try await bench.stop()
    #expect(!AgentSocketTests.exists("\(folder.path)/api.sock"))
    #expect(
      try FolderAgent.find(folder.path, identity: SocketBench.identity, patience: WirePatience(time: bench.time)) == nil
    )
    // An agent that is gone answers nothing, which is no error.
    #expect(try await client.answer(to: ListRuns()) == nil)
    #expect(try await client.events(of: WatchRuns()).reduce(0) { count, _ in count + 1 } == 0)
  }

  @Test func `a folder that isn't there has no agent`() throws {
    let folder = try TemporaryFolder()
    for path in [folder.path, "\(folder.path)/no"] {
      #expect(
        try FolderAgent.find(path, identity: SocketBench.identity, patience: WirePatience(time: HastyTime())) == nil)
    }
  }

  @Test func `a dead agent's sockets are ignored, and the next agent replaces them`() async throws {
    let folder = try TemporaryFolder()
    let lock = try FolderLock.acquire(folder.path, program: "errand 0.1")
    close(try SocketAddress.listen(in: folder.path, holding: lock))
    lock.release()
    // The socket of agents before 0.6.0.
    try Files.write([], to: "\(folder.path)/agent.sock")
    #expect(AgentSocketTests.exists("\(folder.path)/api.sock"))
    #expect(
      try FolderAgent.find(folder.path, identity: SocketBench.identity, patience: WirePatience(time: HastyTime()))
        == nil)
    let bench = try await SocketBench(folder)
    #expect(!AgentSocketTests.exists("\(folder.path)/agent.sock"))
    #expect(try await bench.client().answer(to: ListRuns()) != nil)
    try await bench.stop()
  }

  @Test func `a client asks no agent in a folder that other users may write to or own`() async throws {
    let bench = try await SocketBench()
    let path = bench.folder.path
    let client = try bench.client()
    chmod(path, 0o777)
    let open = AgentError(
      .unavailable, "other users may write to the state folder '\(path)'; forbid it with: chmod go-w '\(path)'")
    #expect(throws: open) {
      try FolderAgent.find(path, identity: SocketBench.identity, patience: WirePatience(time: bench.time))
    }
    // A client that found it before asks no more either.
    await #expect(throws: open) { try await client.answer(to: ListRuns()) }
    await #expect(throws: open) { for try await _ in try client.events(of: WatchRuns()) {} }
    chmod(path, 0o700)
    // Only root can change the owner of folders.
    if chown(path, 65534, 65534) == 0 {
      let error = #expect(throws: AgentError.self) {
        try FolderAgent.find(path, identity: SocketBench.identity, patience: WirePatience(time: bench.time))
      }
      #expect(error?.message.contains("belongs to the user nobody") == true)
      #expect(chown(path, getuid(), getgid()) == 0)
    }
    #expect(try await client.answer(to: ListRuns()) != nil)
    try await bench.stop()
  }

  @Test(arguments: [
    (
      AgentIdentity(program: "errand 0.2", configuration: "/school/errand.yaml"),
      ", which is errand 0.1 and this is errand 0.2; start that agent again with this version (kill \(getpid()), then errand serve; or systemctl restart), or use its version"
    ),
    (
      AgentIdentity(program: "errand 0.1", configuration: "/home/errand.yaml"),
      ", which uses /school/errand.yaml and this uses /home/errand.yaml; stop it, or give one of them its own state folder"
    ),
    (
      AgentIdentity(program: "errand 0.1", configuration: "/home/ä %2F\n/errand.yaml"),
      ", which uses /school/errand.yaml and this uses /home/ä %2F /errand.yaml; stop it, or give one of them its own state folder"
    ),
  ])
  func `serves only clients of its own version and configuration`(_ identity: AgentIdentity, _ reason: String)
    async throws
  {
    let bench = try await SocketBench()
    let client = try bench.client(as: identity)
    let held = AgentError(.held, "the state in '\(bench.folder.path)' is held by process \(getpid())\(reason)")
    await #expect(throws: held) { try await client.answer(to: ListRuns()) }
    await #expect(throws: held) { for try await _ in try client.events(of: WatchRuns()) {} }
    #expect(try await bench.client().answer(to: ListRuns()) != nil)
    try await bench.stop()
  }

  /// The third would add a field to the request if its line end got there.
  @Test(
    arguments: [
      ("ann", "ann"), ("änn +%20", "änn +%20"), ("ann\r\nErrand-Program: other", "ann\r\nErrand-Program: other"),
      (nil, FolderLock.name(of: geteuid())), (" ", FolderLock.name(of: geteuid())),
    ] as [(String?, String)])
  func `the caller of each request is the person that the client names`(_ person: String?, _ name: String)
    async throws
  {
    let bench = try await SocketBench()
    try await bench.submit(
      "r1", "steps: [{ id: ask, approve: { prompt: 'Send it?' } }]\noutputs: { by: \"${{ steps.ask.by }}\" }")
    let client = try bench.client(person: person)
    let decided = try await client.answer(
      to: DecideStep.with {
        $0.run = "r1"
        $0.approved = true
      })
    #expect(decided?.decided == "ask")
    await bench.until { bench.store.endedRun("r1")?.status == .succeeded }
    #expect(bench.store.endedRun("r1")?.outputs == .inline(.object(["by": .string(name)])))
    try await bench.stop()
  }

  @Test func `two hundred clients at the first connection are all answered`() async throws {
    let bench = try await SocketBench()
    let answered = try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<200 {
        group.addTask {
          let client = try FolderAgent.find(
            bench.folder.path, identity: SocketBench.identity, patience: WirePatience(time: bench.time))
          return try await client?.answer(to: ShowStatus())?.isServing == true
        }
      }
      return try await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
    #expect(answered == 200)
    try await bench.stop()
  }

  // MARK: Requests

  @Test(arguments: [1 << 20, 40 << 20])
  func `a large request arrives whole`(_ size: Int) async throws {
    let bench = try await SocketBench()
    let data = Value.string(String(repeating: "+=äöü\n", count: size / 9))
    let client = try bench.client()
    let received = try await client.answer(
      to: SendEvent.with {
        $0.id = "e1"
        $0.name = "e"
        $0.data = data
      })
    #expect(received?.isNew == true)
    let kept = try #require(await bench.store.event("e1")?.data)
    #expect(try await bench.store.value(kept) == data)
    try await bench.stop()
  }

  @Test func `a request that can't be written is an error, and isn't sent`() async throws {
    let bench = try await SocketBench()
    let data = (0..<600).reduce(Value.null) { inner, _ in .list([inner]) }
    let request = SendEvent.with {
      $0.id = "e1"
      $0.name = "e"
      $0.data = data
    }
    let client = try bench.client()
    let error = await #expect(throws: AgentError.self) { try await client.answer(to: request) }
    #expect(error?.kind == .broken)
    #expect(error?.message.hasPrefix("the request can't be written as JSON: ") == true, "\(error?.message ?? "")")
    #expect(await bench.store.event("e1") == nil)
    try await bench.stop()
  }

  /// A request that isn't in the exact form, and the status and the detail of its answer.
  struct Malformed: Sendable {
    var path = "/api/v1/operations/runs"
    var body = "{}"
    var program: String? = SocketBench.identity.program
    var status: Int
    var detail: String
  }

  @Test(arguments: [
    Malformed(body: "nonsense", status: 400, detail: "the body isn't valid JSON: "),
    Malformed(body: "", status: 400, detail: "the body isn't valid JSON: "),
    Malformed(body: "[1]", status: 400, detail: "the body has to be a JSON object, not a list"),
    Malformed(body: #"{"limt":1}"#, status: 400, detail: "the request 'runs' isn't valid: 'limt' is not known"),
    Malformed(body: #"{".recipes":"r"}"#, status: 400, detail: "'.recipes' has to be a list of names"),
    Malformed(body: #"{".recipes":["r",1]}"#, status: 400, detail: "'.recipes' has to be a list of names"),
    Malformed(path: "/api/v1/operations/fly", status: 404, detail: "there is no operation 'fly'"),
    Malformed(path: "/api/v1/operations/", status: 404, detail: "there is no operation ''"),
    Malformed(
      program: nil, status: 409, detail: "this form is for errand itself, which names its version in Errand-Program"),
  ])
  func `says what is wrong with a request, and answers the next one`(_ item: Malformed) async throws {
    let bench = try await SocketBench()
    let raw = try RawClient(bench.folder.path)
    raw.send(RawClient.request(item.path, Array(item.body.utf8), from: item.program))
    let answer = String(decoding: await raw.rest(), as: UTF8.self)
    raw.close()
    #expect(answer.hasPrefix("HTTP/1.1 \(item.status) "), "\(answer)")
    #expect(answer.contains("\r\nContent-Type: application/problem+json\r\n"), "\(answer)")
    let body = answer.split(separator: "\r\n\r\n").last.map { String($0) } ?? ""
    let detail = try #require(try JSON.parse(body)["detail"]?.string)
    let displayed = detail.replacing(bench.folder.path, with: "FOLDER")
      .replacing("process \(getpid())", with: "process PID")
    #expect(displayed.hasPrefix(item.detail), "\(displayed)")
    #expect(try await bench.client().answer(to: ListRuns()) != nil)
    try await bench.stop()
  }

  @Test func `answers a client that has closed its side`() async throws {
    let bench = try await SocketBench()
    let raw = try RawClient(bench.folder.path)
    raw.send(try ExactRequest(ShowStatus()).bytes)
    raw.shutdownSending()
    let answer = String(decoding: await raw.rest(), as: UTF8.self)
    #expect(answer.hasPrefix("HTTP/1.1 200 ") && answer.contains(#""program":"errand 0.1""#), "\(answer)")
    raw.close()
    try await bench.stop()
  }

  @Test func `the process that asks for the folder is answered, although the agent ends because of it`() async throws {
    for _ in 0..<20 {
      let bench = try await SocketBench(isServing: false)
      let client = try bench.client()
      async let answer = client.answer(to: YieldFolder())
      await bench.agent.host.awaitHandOver()
      try await bench.stop()
      #expect(try await answer?.yielded == true)
    }
  }

  // MARK: Answers

  /// Requests that change nothing.
  private static let requests: [any Operation] = [
    ShowStatus(), ListRuns(), ListRuns(RunListQuery(limit: 1, isPaged: true)), ListApprovals(), ListSchedules(),
    ListSlots(SlotQuery(limit: 5)), ListUpcoming.with { $0.limit = 3 }, ListRecipes(), ListActions(), ListConnections(),
    ListTokens(), ListWorkers(), ListTools.with { $0.patterns = ["*"] }, ShowRecipe.with { $0.recipe = "greet" },
    ShowRecipe.with { $0.recipe = "great" }, ExplainSchedule.with { $0.id = "tick" },
    ExplainSchedule.with { $0.id = "tack" }, CheckText.with { $0.text = "steps: [{ lett: {} }]" },
    ShowPlan.with { $0.digest = "00" }, WatchRuns(),
    FollowRun.with { $0.run = "r1" }, ShowRun.with { $0.run = "r1" }, ShowRun.with { $0.run = "r2" },
    ShowRun.with { $0.run = "last" }, ShowRun.with { $0.run = "r" }, ShowRun.with { $0.run = "r9" },
    FindRun.with { $0.run = "r1" }, FindRun.with { $0.run = "other" }, ListSteps.with { $0.run = "r2" },
    ExplainRun.with { $0.run = "r1" }, ReadLogs.with { $0.run = "r2" },
    CollectFacts.with { $0.about = Stored(RunFacts.Question(about: waiting)) },
  ]
  private static let waiting = RunRecord(
    RunCreated(
      run: "r1", at: ManualClock.start, recipe: "asking", file: "r.yaml", texts: .inline(.object([:])),
      inputs: .object([:]), program: "test"))

  @Test(arguments: [[], ["asking"], ["other", "nothing"], ["nothing"]])
  func `answers and refusals over the socket are those of the agent in its process`(_ recipes: [String])
    async throws
  {
    let bench = try await SocketBench(recipes: [
      "greet": "inputs: { name: { type: string, default: you } }\nsteps: [{ let: { n: 1 } }]",
      "tick": "on: [{ cron: \"0 * * * *\" }]\nsteps: [{ let: { n: 1 } }]", "broken": "steps: [{ lett: {} }]",
    ])
    await bench.agent.serve()
    try await bench.submit(
      "r1", "recipe: asking\nsteps: [{ id: ask, approve: { prompt: 'Send it?' } }]", recipe: "asking")
    try await bench.submit(
      "r2", "recipe: other\nsteps: [{ let: { x: 'Grüße' } }]\noutputs: { x: \"${{ x }}\" }", recipe: "other",
      until: .succeeded)
    let client = try bench.client()
    let caller = AgentCaller(account: geteuid()).limited(to: recipes)
    func compare<Asked: Operation>(_ request: Asked) async {
      let here = await AgentSocketTests.words { try await bench.agent.service.perform(request, for: caller) }
      let there = await AgentSocketTests.words { try await client.answer(to: request, among: recipes) }
      #expect(here == there, "\(Asked.name)")
    }
    for request in AgentSocketTests.requests { await compare(request) }
    try await bench.stop()
  }

  /// An answer or a refusal as it is in the exact form.
  private static func words(_ answer: () async throws -> (any OperationAnswer)?) async -> String {
    do {
      guard let answer = try await answer() else { return "no answer" }
      return try JSON.text(try await answer.exact())
    } catch let refusal as RequestRefusedError {
      return JSON.displayed(ExactForm.refused(refusal))
    } catch {
      return "\(error)"
    }
  }

  @Test func `a refusal of each kind arrives as it was made`() async throws {
    let refusals = Refusals()
    let plan: ServedRecipes.Planner = { _ throws(RequestRefusedError) in throw refusals.next }
    let bench = try await SocketBench(recipes: ["greet": "steps: [{ let: { n: 1 } }]"], plan: plan)
    await bench.agent.serve()
    // A refusal may be that the agent is busy at the moment.
    let client = try bench.client(time: HastyTime())
    for kind in RequestRefusedError.Kind.allCases {
      var refusal = RequestRefusedError(kind, "the first line\n\tand the second, \"ä€🦀\"")
      refusal.overHTTP = "for programs"
      refusal.faults = [
        RequestRefusedError.Fault(message: "'n' is missing", pointer: "/inputs/n"),
        RequestRefusedError.Fault(message: "'a/b' is odd", pointer: "/texts/a~1b"),
      ]
      refusal.changes = ["one thing", "and another"]
      refusals.next = refusal
      await #expect(throws: refusal, "\(kind)") { try await client.answer(to: PlanRun.with { $0.recipe = "greet" }) }
    }
    // The request of a stream, whose answer has begun by then.
    let unknown = RequestRefusedError(
      .notFound,
      "no run is called 'none'; give its id, the beginning or the end of it, a recipe's name, or last; 'errand runs list' shows the latest"
    )
    await #expect(throws: unknown) { for try await _ in try client.events(of: FollowRun.with { $0.run = "none" }) {} }
    try await bench.stop()
  }

  /// The refusal that comes next.
  private final class Refusals: Sendable {
    private let content = Mutex(RequestRefusedError(.request, ""))

    var next: RequestRefusedError {
      get { content.withLock { $0 } }
      set { content.withLock { $0 = newValue } }
    }
  }

  // MARK: Streams

  @Test(arguments: [false, true])
  func `a client that goes away ends its stream, and not its run`(_ isSubmitted: Bool) async throws {
    let bench = try await SocketBench()
    let client = try bench.client()
    if !isSubmitted { try await bench.submit("r1", AgentSocketTests.event) }
    let (begun, begin) = AsyncStream<Void>.makeStream()
    let submission = bench.submission(of: "r1", AgentSocketTests.event)
    // Cancelled below.
    let leaving = Task {
      let events =
        isSubmitted ? try client.events(of: submission) : try client.events(of: FollowRun.with { $0.run = "r1" })
      for try await _ in events { begin.yield() }
    }
    for await _ in begun { break }
    await bench.until { await bench.agent.host.isFollowed("r1") }
    leaving.cancel()
    _ = await leaving.result
    // A client that is gone is noticed when something is sent to it, at the latest after some seconds.
    await bench.until {
      bench.time.advance(by: .seconds(15))
      return await !bench.agent.host.isFollowed("r1")
    }
    await bench.until { bench.store.run("r1")?.status == .waiting }
    let other = try await client.answer(
      to: SendEvent.with {
        $0.id = "e1"
        $0.name = "e"
        $0.data = .int(7)
      })
    #expect(other?.isNew == true)
    await bench.until { bench.store.endedRun("r1")?.status == .succeeded }
    #expect(bench.store.endedRun("r1")?.outputs == .inline(.object(["got": .int(7)])))
    try await bench.stop()
  }

  @Test func `a submitted run is told of from its acceptance to its end`() async throws {
    let bench = try await SocketBench()
    let client = try bench.client()
    var words: [String] = []
    for try await event in try client.events(of: bench.submission(of: "r1", AgentSocketTests.event)) {
      switch event {
      case .accepted(let accepted): words.append("accepted \(accepted.run)")
      case .waits(let wait):
        words.append("waits \(wait.status)")
        _ = try await client.answer(
          to: SendEvent.with {
            $0.id = "e1"
            $0.name = "e"
            $0.data = .string("Grüße")
          })
      case .ended(let run):
        words.append("ended \(run.status)")
        #expect(run == bench.store.endedRun("r1"))
        #expect(run.steps.count == 1)
      case .progress: continue
      case .run, .notice: words.append("something else")
      }
    }
    #expect(words == ["accepted r1", "waits waiting", "ended succeeded"])
    try await bench.stop()
  }

  @Test func `a watcher is told of all runs over its own connection`() async throws {
    let bench = try await SocketBench()
    let client = try bench.client()
    var words: [String] = []
    for try await event in try client.events(of: WatchRuns()) {
      guard case .notice(let notice) = event else {
        Issue.record("\(event)")
        continue
      }
      words.append("\(notice.kind) \(notice.run?.id ?? "")")
      if notice.kind == .watching { try await bench.submit("r1", AgentSocketTests.event) }
      if notice.kind == .waits { break }
    }
    #expect(words == ["watching ", "began r1", "waits r1"])
    try await bench.stop()
  }

  @Test func `clients that follow a run when the agent stops are told how it is left`() async throws {
    let bench = try await SocketBench()
    try await bench.submit("r1", AgentSocketTests.event)
    let client = try bench.client()
    let (begun, begin) = AsyncStream<Void>.makeStream()
    // Each ends with its stream.
    let followers = (0..<20).map { _ in
      Task {
        var last: RunEvent?
        for try await event in try client.events(of: FollowRun.with { $0.run = "r1" }) {
          if case .run = event { begin.yield() }
          last = event
        }
        return last
      }
    }
    var count = 0
    for await _ in begun {
      count += 1
      if count == followers.count { break }
    }
    try await bench.stop()
    for follower in followers {
      guard case .ended(let run)? = try await follower.value else {
        Issue.record("the last event isn't the end")
        continue
      }
      #expect(run.id == "r1" && run.status == .waiting)
    }
    #expect(try await client.answer(to: ListRuns()) == nil)
  }

  @Test func `a client that reads no events is cut off, and harms no other and no run`() async throws {
    let bench = try await SocketBench()
    let raw = try RawClient(bench.folder.path)
    raw.send(try ExactRequest(bench.submission(of: "r1", AgentSocketTests.event), isStream: true).bytes)
    await bench.until { bench.store.run("r1")?.status == .waiting }
    await bench.until { await bench.agent.host.isFollowed("r1") }
    let piece = String(repeating: "x", count: 1 << 20)
    for _ in 0..<40 { await bench.agent.host.report(.reported(path: "a", text: piece), of: "r1") }
    let client = try bench.client()
    for _ in 0..<10 { #expect(try await client.answer(to: ListRuns())?.openCount == 1) }
    // It gets what fits into its queue, and no end of the answer.
    let (head, sizes) = RawClient.chunks(of: await raw.rest())
    #expect(head.hasPrefix("HTTP/1.1 200 "))
    #expect(sizes.reduce(0, +) < 12 << 20 && sizes.last != 0, "\(sizes.reduce(0, +)) bytes")
    raw.close()
    #expect(bench.store.run("r1")?.status == .waiting)
    try await bench.stop()
  }

  /// It takes as long as the server waits for a client that reads nothing.
  @Test func `an agent ends although a client doesn't read the end of its run`() async throws {
    let bench = try await SocketBench()
    try await bench.submit("r1", AgentSocketTests.event)
    let raw = try RawClient(bench.folder.path)
    raw.send(try ExactRequest(FollowRun.with { $0.run = "r1" }, isStream: true).bytes)
    await raw.waitForAnswer()
    await bench.until { await bench.agent.host.isFollowed("r1") }
    // More than the connection holds.
    let piece = String(repeating: "x", count: 1 << 20)
    for _ in 0..<4 { await bench.agent.host.report(.reported(path: "a", text: piece), of: "r1") }
    try await bench.stop(isPatient: true)
    raw.close()
  }
}
