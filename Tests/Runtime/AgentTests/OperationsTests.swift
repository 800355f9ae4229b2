import Basics
import RunState
import Testing

@testable import Agent
@testable import Operations

/// The declarations of operations, and the limits of the tokens that a token makes.
@Suite(.timeLimit(.minutes(20))) struct OperationsTests {
  @Test func `each operation says why a place doesn't have it, and says so of no place that has it`() {
    for operation in OperationList.all {
      let places: [(place: Absence.Place, isThere: Bool)] = [
        (.command, operation.command != nil), (.route, operation.route != nil), (.page, operation.page != nil),
      ]
      for (place, isThere) in places {
        let reasons = operation.absences.filter { $0.place == place }.map(\.reason)
        #expect(reasons.count == (isThere ? 0 : 1), "\(operation.name) and its \(place.rawValue): \(reasons)")
        for reason in reasons {
          #expect(reason.hasSuffix(".") && reason.split(separator: " ").count > 4, "\(operation.name): \(reason)")
        }
      }
    }
  }

  @Test func `odd numbers are refused or answered, in the exact form and in the process`() async throws {
    let bench = await HostBench()
    for number in [Int.min, -1, 0, 1 << 62, Int.max - 1, Int.max] {
      for cursor in ["", #","cursor":"2026-11-30T05:00:00Z_x""#] {
        for name in ["runs", "slots", "upcoming", "approvals"] {
          let answers = try await bench.ask(
            "{\"ask\":\"\(name)\",\"limit\":\(number)\(name == "upcoming" ? "" : cursor)}")
          let isRefused = answers.first?.contains(#""kind":"request""#) == true
          #expect(answers.count == 1 && isRefused == (number != 0), "\(name) \(number): \(answers)")
        }
      }
      let caller = AgentCaller(name: "ann")
      let runs = ListRuns(RunListQuery(limit: number, isPaged: true))
      #expect(try await bench.service.perform(runs, for: caller).open.isEmpty)
      let slots = ListSlots(SlotQuery(limit: number, after: "2026-11-30T05:00:00Z_x"))
      #expect(try await bench.service.perform(slots, for: caller).slots.isEmpty)
    }
  }

  // MARK: Tokens

  @Test func `a token's recipes count once, and are names`() async throws {
    let bench = await HostBench()
    let maker = OperationsTests.token([.read, .tokens])
    let made = try await bench.service.perform(
      OperationsTests.request("dup", [.read], recipes: ["mine", "mine"]), for: maker)
    #expect(made.token.recipes == ["mine"])
    for (name, recipes) in [
      ("lab", [""]), ("lab", ["a\nb"]), ("lab", ["<b>"]), ("lab", (0...200).map { "r\($0)" }), ("..", []),
      ("--help", []),
    ] as [(String, [String])] {
      let refusal = await OperationsTests.refusal(
        bench, OperationsTests.request(name, [.read], recipes: recipes), by: maker)
      #expect(refusal?.kind == .request, "\(name) \(recipes.first ?? "")")
    }
  }

  private static func token(
    _ scopes: [TokenScope], recipes: [String] = [], until end: Timestamp? = nil
  ) -> AgentCaller {
    AgentCaller(
      token: TokenIssued(
        at: .earliest, name: "maker", sha256: "00", scopes: scopes, recipes: recipes, expiresAt: end))
  }

  private static func request(
    _ name: String, _ scopes: [TokenScope], recipes: [String] = [], until end: Timestamp? = nil
  ) -> IssueToken {
    IssueToken.with {
      $0.name = name
      $0.scopes = scopes.map { Word($0) }
      $0.recipes = recipes
      $0.expiresAt = end
    }
  }

  private static func refusal(
    _ bench: HostBench, _ request: some Operation, by caller: AgentCaller
  ) async -> RequestRefusedError? {
    do throws(RequestRefusedError) {
      _ = try await bench.service.perform(request, for: caller)
      return nil
    } catch {
      return error
    }
  }

  @Test func `the text of a token is in its answer and nowhere else`() async throws {
    let bench = await HostBench()
    let maker = OperationsTests.token([.read, .tokens])
    let request = OperationsTests.request("phone", [.tokens, .read, .read])
    let made = try await bench.service.perform(request, for: maker)
    #expect(made.text.hasPrefix("errand_") && made.text.utf8.count == "errand_".utf8.count + 64)
    #expect(made.token.scopes == [.read, .tokens])
    #expect(await bench.store.tokens() == [made.token])
    #expect(made.token.sha256 == SHA256.digest(of: Array(made.text.utf8)))
    let state = try JSON.text(bench.store.state.encoded())
    #expect(state.contains(made.token.sha256) && !state.contains(made.text.dropFirst("errand_".count)))
    // Another one has another text, and a repeated request gets none.
    let other = try await bench.service.perform(OperationsTests.request("desk", [.read]), for: maker)
    #expect(other.text != made.text)
    let again = await OperationsTests.refusal(bench, request, by: maker)
    #expect(
      again?.kind == .conflict && again?.overHTTP?.contains("its text isn't kept") == true, "\(again?.message ?? "")")
    #expect(await bench.store.tokens().map(\.name) == ["desk", "phone"])
  }

  @Test func `a token gives what it has, and what is left out is its own`() async throws {
    let bench = await HostBench()
    let soon = try #require(bench.time.now().advanced(by: .seconds(3600)))
    let later = try #require(soon.advanced(by: .seconds(1)))
    let maker = OperationsTests.token([.read, .start, .tokens], until: soon)
    let same = try await bench.service.perform(OperationsTests.request("same", [.read, .start, .tokens]), for: maker)
    #expect(same.token.expiresAt == soon && same.token.recipes == [] && same.token.at == bench.time.now())
    let less = try await bench.service.perform(
      OperationsTests.request("less", [.read], recipes: ["r"], until: soon), for: maker)
    #expect(less.token.expiresAt == soon && less.token.recipes == ["r"])
    let start = "the token can't give more than it has: "
    for (request, message) in [
      (OperationsTests.request("more", [.read, .data]), "it lacks the scope 'data'"),
      (
        OperationsTests.request("more", [.read, .approve, .steer], until: later),
        "it lacks the scopes 'steer' and 'approve' and it expires on \(soon) itself"
      ),
      (OperationsTests.request("more", [.read], until: later), "it expires on \(soon) itself"),
    ] {
      let refusal = await OperationsTests.refusal(bench, request, by: maker)
      #expect(refusal == RequestRefusedError(.forbidden, start + message))
    }
    // The agent's own account gives everything.
    let own = try await bench.service.perform(
      OperationsTests.request("own", TokenScope.allCases), for: AgentCaller(name: "ada"))
    #expect(own.token.scopes == TokenScope.allCases && own.token.expiresAt == nil)
    #expect(await bench.store.tokens().map(\.name) == ["less", "own", "same"])
  }

  @Test func `no other scope makes tokens, and a token for some recipes can't`() async throws {
    let bench = await HostBench()
    _ = try await bench.service.perform(OperationsTests.request("phone", [.read]), for: AgentCaller(name: "ada"))
    let others = OperationsTests.token(TokenScope.allCases.filter { $0 != .tokens })
    let limited = OperationsTests.token(TokenScope.allCases, recipes: ["r"])
    for (name, request) in [
      ("tokens", ListTokens()), ("issueToken", OperationsTests.request("desk", [.read], recipes: ["r"])),
      ("revokeToken", RevokeToken.with { $0.name = "phone" }),
    ] as [(String, any Operation)] {
      #expect(
        await OperationsTests.refusal(bench, request, by: others)
          == RequestRefusedError(.forbidden, "the token lacks the scope 'tokens', which this needs"), "\(name)")
      let refusal = await OperationsTests.refusal(bench, request, by: limited)
      #expect(
        refusal?.kind == .forbidden && refusal?.message.contains("limited to r") == true, "\(refusal?.message ?? name)")
    }
    #expect(await bench.store.tokens().map(\.name) == ["phone"])
  }

  @Test func `a token without a name, a scope or a time to live isn't made`() async throws {
    let bench = await HostBench()
    let now = bench.time.now()
    for (request, message) in [
      (
        OperationsTests.request("a phone", [.read]),
        "a token's name has 1 to 60 letters, digits, dots, '-' and '_', and begins with a letter or a digit"
      ),
      (OperationsTests.request("phone", []), "a token needs a scope, such as read"),
      (
        OperationsTests.request("phone", [.read], until: now),
        "the token would have expired on \(now); choose a later instant"
      ),
    ] {
      let refusal = await OperationsTests.refusal(bench, request, by: AgentCaller(name: "ada"))
      #expect(refusal == RequestRefusedError(.request, message))
    }
    #expect(await bench.store.tokens().isEmpty)
  }

  // MARK: Workers

  @Test func `the names of connections and secrets that a worker offers need the scope steer`() {
    let worker = WorkerRecord(
      id: 7, name: "lab", host: "lab-1", pid: 12, program: "errand", home: "lab-1:/srv", queues: ["default"],
      offers: ["connection:desk", "format:5", "plugin:http", "secret:KEY"], capacity: 64, runs: 2, since: .earliest,
      until: .latest, isOver: false, isDraining: true, isLeading: false, clockOffset: nil)
    #expect(worker.displayed(to: OperationsTests.token([.read])).offers == ["format:5", "plugin:http"])
    // A path of the machine isn't for callers elsewhere.
    var elsewhere = worker
    elsewhere.home = ""
    #expect(worker.displayed(to: OperationsTests.token([.read, .steer])) == elsewhere)
  }
}
