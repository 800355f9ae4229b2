import Basics
import ProcessTestKit
import Recipes
import RunState
import Testing

@testable import Agent
@testable import Operations

/// Runs that are found, counted and changed together, and runs that are like others.
@Suite(.timeLimit(.minutes(20))) struct RunSelectionTests {
  private static let recipes = [
    "quick":
      "inputs: { class: { type: string, default: 7a } }\nsteps: [{ id: check, fail: 'class ${{ inputs.class }} is empty' }]\n",
    "quick-2": "steps: [{ wait: 1h }]\n", "slow": "steps: [{ let: { a: 1 } }]\n",
  ]

  private let folder: TemporaryFolder
  private let bench: HostBench
  private let ann = AgentCaller(name: "ann", account: "ann")

  init() async throws {
    folder = try ScheduleHostTests.folder(Self.recipes)
    bench = await HostBench(folder: folder.path)
    await bench.serve()
  }

  /// Starts a run, and waits until it says a word.
  @discardableResult
  private func start(_ recipe: String, _ texts: [String: String] = [:], until word: String) async throws -> String {
    let accepted = try await bench.service.perform(
      StartRun.with {
        $0.recipe = recipe
        $0.texts = texts
      }, for: ann)
    await bench.until("\(accepted.run) \(word)")
    return accepted.run
  }

  private func limited(_ scopes: [TokenScope], _ recipes: [String] = []) -> AgentCaller {
    AgentCaller(token: TokenIssued(at: .earliest, name: "token", sha256: "00", scopes: scopes, recipes: recipes))
  }

  private func refusal(
    _ body: () async throws(RequestRefusedError) -> Void
  ) async -> RequestRefusedError? {
    do throws(RequestRefusedError) { try await body() } catch { return error }
    return nil
  }

  // MARK: Finding and counting

  @Test func `runs are found by recipe, cause, text and inputs, and counted alike`() async throws {
    let one = try await start("quick", until: "failed")
    let two = try await start("quick", ["class": "8b"], until: "failed")
    let open = try await start("quick-2", until: "waits")
    let done = try await start("slow", until: "succeeded")
    let retry = try await bench.service.perform(RetryRun.with { $0.run = two }, for: ann).accepted
    await bench.until("\(retry) failed")
    let queries: [(String, [String], (inout ListRuns) -> Void)] = [
      ("all", [open, retry, done, two, one], { _ in }), ("recipe", [retry, two, one], { $0.recipe = "quick" }),
      ("part", [open, retry, two, one], { $0.recipePart = "QUICK" }), ("no recipe", [], { $0.recipePart = "x" }),
      ("text", [retry, two], { $0.text = "CLASS 8b" }), ("input", [one], { $0.input = ["class=7a"] }),
      ("inputs", [], { $0.input = ["class=7a", "n=1"] }), ("cause", [retry], { $0.cause = [Word(.retry)] }),
      ("causes", [open, retry, done, two, one], { $0.cause = [Word(.retry), Word(.manual)] }),
      ("status", [open], { $0.status = [Word(.waiting)] }),
      (
        "all at once", [two],
        {
          ($0.recipePart, $0.text, $0.input) = ("ick", "empty", ["class=8b"])
          ($0.cause, $0.status) = ([Word(.manual)], [Word(.failed)])
        }
      ),
    ]
    for (name, wanted, fill) in queries {
      var asked = ListRuns()
      fill(&asked)
      let list = try await bench.service.perform(asked, for: ann)
      #expect(list.open.reversed().map(\.id) + list.finished.map(\.id) == wanted, "\(name)")
      let query = try asked.query()
      let counts = try await bench.service.perform(CountRuns.with { $0.fill(from: query) }, for: ann).counts
      #expect(counts.count(of: RunStatus.allCases) == wanted.count && counts.isWhole, "\(name)")
    }
    let counts = try await bench.service.perform(CountRuns(), for: ann).counts
    #expect(counts.byStatus == ["failed": 3, "waiting": 1, "succeeded": 1])
  }

  @Test func `a list has the inputs in short, the cause and the step`() async throws {
    let one = try await start("quick", until: "failed")
    let open = try await start("quick-2", until: "waits")
    let list = try await bench.service.perform(ListRuns(), for: ann)
    #expect(list.finished.first?.inputs?["class"] == .string("7a"))
    #expect(list.finished.first?.cause?.kind == .manual && list.finished.first?.cause?.by == "ann")
    #expect(list.open.first?.steps.last?.path == "#1")
    let answer = RunListAnswer(list, withData: true)
    #expect(answer.items.map(\.id) == [open, one] && answer.items.last?.inputsInShort?["class"] == .string("7a"))
    #expect(answer.items.last?.cause?.by == "ann")
    #expect(RunListAnswer(list, withData: false).items.allSatisfy { $0.inputsInShort == nil })
  }

  @Test func `who doesn't see the data of runs can't look for it, and who doesn't see a recipe finds none of it`()
    async throws
  {
    try await start("quick", until: "failed")
    try await start("slow", until: "succeeded")
    let blind = limited([.read])
    for fill: (inout ListRuns) -> Void in [{ $0.text = "x" }, { $0.input = ["class=7a"] }] {
      var asked = ListRuns()
      fill(&asked)
      let query = try asked.query()
      for refusal in [
        await refusal { () async throws(RequestRefusedError) in _ = try await bench.service.perform(asked, for: blind)
        },
        await refusal { () async throws(RequestRefusedError) in
          _ = try await bench.service.perform(CountRuns.with { $0.fill(from: query) }, for: blind)
        },
      ] {
        #expect(refusal?.message == "the token lacks the scope 'data', which this needs")
      }
    }
    let mine = limited([.read, .data, .steer], ["slow"])
    let counts = try await bench.service.perform(CountRuns(), for: mine).counts
    #expect(counts.byStatus == ["succeeded": 1])
    #expect(try await bench.service.perform(ListRuns.with { $0.recipePart = "quick" }, for: mine).finished == [])
    let other = await refusal { () async throws(RequestRefusedError) in
      _ = try await bench.service.perform(CountRuns.with { $0.recipe = "quick" }, for: mine)
    }
    #expect(other?.kind == .notFound)
    let wrong = await refusal { () async throws(RequestRefusedError) in
      _ = try await bench.service.perform(ListRuns.with { $0.input = ["class"] }, for: ann)
    }
    #expect(wrong == RequestRefusedError(.request, "'class' isn't an input and its value; write name=value"))
  }

  // MARK: Changing many

  private func steer(
    _ verb: SteerRuns.Verb, _ runs: [String] = [], key: String? = nil, as caller: AgentCaller? = nil,
    expected: Int? = nil, _ fill: ((inout RunFilterInput) -> Void)? = nil
  ) async throws(RequestRefusedError) -> [SteerRuns.Outcome] {
    let request = SteerRuns.with {
      ($0.verb, $0.runs, $0.key, $0.expected) = (Word(verb), runs, key, expected)
      if let fill {
        var filter = RunFilterInput()
        fill(&filter)
        $0.filter = filter
      }
    }
    return try await bench.service.perform(request, for: caller ?? ann).outcomes
  }

  @Test func `named runs are changed one by one, and each has a result`() async throws {
    let failed = try await start("quick", until: "failed")
    let open = try await start("quick-2", until: "waits")
    let first = try await steer(.retry, [failed, open, "none", failed], key: "k")
    #expect(first.map(\.run) == [failed, open, "none"])
    let retry = try #require(first.first?.accepted)
    await bench.until("\(retry) failed")
    #expect(first[1].refusal?.contains("is not over (waiting)") == true, "\(first[1])")
    #expect(first[2].refusal?.contains("no run") == true, "\(first[2])")
    // The same request again changes nothing, and has the same answer.
    #expect(try await steer(.retry, [failed], key: "k") == [first[0]])
    let late = try await steer(.retry, [failed], key: "another")
    #expect(late.first?.accepted == nil && late.first?.refusal?.contains("was retried as \(retry)") == true)
    let cancelled = try await steer(.cancel, [open, failed])
    #expect(cancelled.first == SteerRuns.Outcome(open) && cancelled.last?.refusal?.contains("is over") == true)
    await bench.until("\(open) cancelled")
  }

  @Test func `all that match are changed, unless more match than are meant`() async throws {
    var failed: [String] = []
    for letter in ["a", "b", "a"] { failed.append(try await start("quick", ["class": letter], until: "failed")) }
    try await start("slow", until: "succeeded")
    let grown = await refusal { () async throws(RequestRefusedError) in
      _ = try await steer(.retry, expected: 2) { $0.recipe = "quick" }
    }
    #expect(
      grown
        == RequestRefusedError(
          .conflict, "3 runs match now, and 2 are meant; nothing was changed, look at them again"))
    #expect(try await bench.service.perform(CountRuns(), for: ann).counts.byStatus == ["failed": 3, "succeeded": 1])
    // Fewer may match by then, and only runs that the verb is for.
    let retried = try await steer(.retry, expected: 5) { $0.input = ["class=a"] }
    #expect(retried.map(\.run) == [failed[2], failed[0]] && retried.allSatisfy { $0.accepted != nil })
    await bench.until("\(retried[0].accepted ?? "") failed", "\(retried[1].accepted ?? "") failed")
    #expect(try await steer(.cancel, expected: 100) { $0.recipePart = "q" } == [])
    #expect(try await steer(.cancel, expected: 100) { $0.status = [Word(.failed)] } == [])
    for (runs, expected, message) in [
      ([], nil, "name the runs, or give a filter with 'expected'"),
      ([failed[1]], 1, "give the runs or a filter, and not both"),
    ] as [([String], Int?, String)] {
      let wrong = await refusal { () async throws(RequestRefusedError) in
        _ = try await steer(.retry, runs, expected: expected) { $0.recipe = "quick" }
      }
      #expect(wrong == RequestRefusedError(.request, message))
    }
  }

  @Test func `more than a thousand runs aren't changed at once`() async throws {
    let store = bench.store
    let now = bench.time.now()
    for number in 0...SteerRuns.mostMatched {
      let id = "f\(number)"
      try await store.append([
        .runCreated(
          RunCreated(
            run: id, at: now, recipe: "quick", file: "r.yaml", texts: .inline(.object([:])), inputs: .object([:]),
            program: "test")), .runEnded(RunEnded(run: id, at: now, status: .failed)),
      ])
    }
    let refusal = await refusal { () async throws(RequestRefusedError) in
      _ = try await steer(.retry, expected: 5_000) { $0.recipe = "quick" }
    }
    #expect(refusal?.message == "more than 1000 runs match; narrow the filter, nothing was changed")
  }

  @Test func `who is limited to recipes changes only their runs`() async throws {
    let failed = try await start("quick", until: "failed")
    let mine = limited([.read, .steer], ["slow"])
    let outcomes = try await steer(.retry, [failed], as: mine)
    #expect(outcomes == [SteerRuns.Outcome(failed, refusal: "there is no such run")])
    #expect(try await steer(.retry, as: mine, expected: 9) { $0.recipePart = "quick" } == [])
    let blind = await refusal { () async throws(RequestRefusedError) in
      _ = try await steer(.retry, as: limited([.read, .steer]), expected: 9) { $0.text = "x" }
    }
    #expect(blind?.kind == .forbidden)
    let reader = await refusal { () async throws(RequestRefusedError) in
      _ = try await steer(.retry, [failed], as: limited([.read]))
    }
    #expect(reader?.kind == .forbidden)
  }

  // MARK: Once more

  @Test func `a run is started again with its inputs, some of them changed`() async throws {
    try ScheduleHostTests.write(
      """
      inputs:
        name: { type: string }
        times: { type: int, default: 1 }
        note: { type: string, default: none }
      steps: [{ let: { a: 1 } }]
      outputs: { all: '${{ inputs.name }} ${{ inputs.times }} ${{ inputs.note }}' }
      """, "greet", folder)
    _ = await bench.schedules.look()
    let first = try await start("greet", ["name": "Ada", "times": "3", "note": "late"], until: "succeeded")
    func again(_ fill: (inout StartRun) -> Void) async throws -> RunRecord {
      var request = StartRun()
      (request.recipe, request.like) = ("greet", first)
      fill(&request)
      let run = try await bench.service.perform(request, for: ann).run
      await bench.until("\(run) succeeded")
      return try await bench.ended(run)
    }
    let same = try await again { _ in }
    #expect(try await bench.outputs(same.id) == #"{"all":"Ada 3 late"}"#)
    #expect(same.origin.cause.kind == .manual && same.origin.cause.run == first && same.origin.cause.again == first)
    let changed = try await again {
      $0.texts = ["times": "4"]
      $0.inputs = ValueMap([("note", .null)])
    }
    #expect(try await bench.outputs(changed.id) == #"{"all":"Ada 4 none"}"#)
    // A secret is given anew.
    try ScheduleHostTests.write(
      "inputs: { token: { type: string, secret: true }, n: { type: int } }\nsteps: [{ let: { a: 1 } }]\n", "hidden",
      folder)
    _ = await bench.schedules.look()
    let hidden = try await start("hidden", ["token": "@secret:T", "n": "1"], until: "succeeded")
    let bare = await refusal { () async throws(RequestRefusedError) in
      _ = try await bench.service.perform(StartRun.with { ($0.recipe, $0.like) = ("hidden", hidden) }, for: ann)
    }
    #expect(bare?.kind == .inputs && bare?.message.hasPrefix("input 'token'") == true, "\(String(describing: bare))")
    // They are found, and aren't retries.
    var query = RunListQuery(limit: 9)
    query.againOf = first
    #expect(try await bench.service.runs(query, for: ann).finished.map(\.id) == [changed.id, same.id])
    #expect(try await bench.store.finishedRuns(HistoryQuery(retryOf: first)) == [])
    let facts = try await bench.service.perform(ExplainRun.with { $0.run = same.id }, for: ann).explanation
    #expect(facts.text.contains(", with the inputs of the run \(first)."), "\(facts.text)")
    let other = try await start("slow", until: "succeeded")
    for (name, like, message) in [
      ("greet", other, "the run \(other) is one of 'slow', and not of 'greet'"),
      ("greet", "9999", "no run's id begins or ends with '9999'; "),
    ] {
      let refusal = await refusal { () async throws(RequestRefusedError) in
        _ = try await bench.service.perform(
          StartRun.with { ($0.recipe, $0.like) = (name, like) }, for: ann)
      }
      #expect(refusal?.message.hasPrefix(message) == true, "\(refusal?.message ?? "")")
    }
  }

  // MARK: Steps in order

  private static let outlined = """
    steps:
      - { let: { a: 1 } }
      - id: choice
        if: inputs.n > 1
        steps: [{ id: cut, fail: no }]
        else: { steps: [{ id: full, wait: 1h }, { id: later, wait: 1h }] }
      - { id: each, forEach: '[1, 2]', as: i, steps: [{ id: inside, wait: 1h }, { id: after, wait: 1h }] }
      - parallel: { left: [{ id: l, wait: 1h }], right: [{ id: r, wait: 1h }] }
      - { id: tried, onError: { steps: [{ id: tell, steps: [{ let: { y: 1 } }] }] }, steps: [{ id: work, wait: 1h }] }
    finally: [{ id: end, name: Clear up, steps: [{ let: { z: 1 } }] }]
    inputs: { n: { type: int, default: 1 } }
    """

  /// The rows of a level, each with its depth, title and status.
  private func rows(_ run: String, in place: String, _ fill: (inout ListSteps) -> Void = { _ in }) async throws
    -> [String]
  {
    var request = ListSteps()
    (request.run, request.parent, request.outlined) = (run, place, true)
    fill(&request)
    return try await bench.service.perform(request, for: ann).outline.map { row in
      let mark = row.isHeading ? "— " : ""
      return String(repeating: " ", count: row.depth) + mark + row.title + (row.status.map { " \($0)" } ?? "")
    }
  }

  @Test func `steps are listed in the order of the recipe, with those that haven't begun`() async throws {
    try ScheduleHostTests.write(Self.outlined, "long", folder)
    _ = await bench.schedules.look()
    let run = try await start("long", until: "waits")
    let top = [
      "choice running", " — if", "  cut", " — else", "  full waiting", "  later", "each", "#4", " — left", "  l",
      " — right", "  r", "tried", " work", " — on error", "  tell", "— finally", " end",
    ]
    #expect(try await rows(run, in: "") == top)
    let page = try await rows(run, in: "") { ($0.from, $0.limit) = (4, 2) }
    #expect(page == ["  full waiting", "  later"])
    #expect(try await rows(run, in: "") { $0.status = [Word(.waiting)] } == ["  full waiting"])
    let answer = try await bench.service.perform(
      ListSteps.with { ($0.run, $0.parent, $0.outlined, $0.limit) = (run, "", true, 5) }, for: ann)
    #expect(answer.count == 18 && answer.next == 5 && answer.steps.map(\.path) == ["choice", "choice/#else/full"])
    let last = try await bench.service.perform(
      ListSteps.with { ($0.run, $0.parent, $0.outlined, $0.from) = (run, "", true, 17) }, for: ann)
    #expect(last.outline.first?.name == "Clear up" && last.outline.first?.path == "#finally/end" && last.next == nil)
    // The waits end one after another, until an item of the loop waits.
    for _ in 0..<2 {
      await bench.pass(.seconds(3_601))
      await bench.until("\(run) waits")
    }
    #expect(try await rows(run, in: "each[0]") == ["inside waiting", "after"])
    #expect(try await rows(run, in: "each") == [])
    let wrong = await refusal { () async throws(RequestRefusedError) in
      _ = try await bench.service.perform(ListSteps.with { ($0.run, $0.outlined) = (run, true) }, for: ann)
    }
    #expect(wrong?.kind == .request)
  }
}
