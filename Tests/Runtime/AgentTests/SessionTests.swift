import ActionTestKit
import Basics
import RunState
import RunTestKit
import SharedState
import Testing

@testable import Agent
@testable import Operations

/// The logins of browsers: how long they last, where they hold, and who ends them.
@Suite(.timeLimit(.minutes(20))) struct SessionTests {
  private let time = TestTime()
  private static let ann = AgentCaller(name: "ann", account: "ann")
  private static let bob = AgentCaller(name: "bob", account: "bob")

  private static func token(
    _ name: String, _ scopes: [TokenScope] = [.read], recipes: [String] = [], until end: Timestamp? = nil
  ) -> TokenIssued {
    TokenIssued(at: .earliest, name: name, sha256: "of \(name)", scopes: scopes, recipes: recipes, expiresAt: end)
  }

  @Test func `the state has the digest of a login and not its text, and the next agent knows it`() async throws {
    let store = MemoryStateStore()
    let text = try await SessionTable(store).begin(for: Self.ann, at: time.now())
    #expect(text.utf8.count == 64)
    let kept = try #require(await store.sessions().first)
    #expect(kept.sha256 == SHA256.digest(of: Array(text.utf8)))
    #expect(try !StateEvent.sessionBegan(kept).storedText.contains(text))
    #expect(kept.name == "ann" && kept.account == "ann" && kept.token == nil)
    #expect(kept.until == time.now().advanced(by: .seconds(12 * 3600)))
    // Another agent on the same state.
    #expect(await SessionTable(store).session(text) == kept)
    for wrong in ["", "x", String(repeating: "0", count: 64), text.uppercased(), "\(text)0"] {
      #expect(await SessionTable(store).session(wrong) == nil, "\(wrong)")
    }
  }

  @Test func `a login that one machine of a database made holds on the other, until either ends it`() async throws {
    let database = SimulatedDatabase(time: time)
    let stores = (0..<2).map { _ in SharedStateStore(SimulatedConnection(database), time: time) }
    let tables = stores.map { SessionTable($0) }
    let text = try await tables[0].begin(for: Self.ann, at: time.now())
    #expect(await tables[1].session(text)?.name == "ann")
    await tables[1].note(nil, await tables[1].session(text), at: time.now())
    #expect(await tables[0].session(text)?.usedOn == time.now().utcDay)
    try await tables[1].end(text, at: time.now())
    #expect(await tables[0].session(text) == nil)
    for store in stores { try await store.close() }
  }

  @Test func `a login ends with its token, if that ends first`() async throws {
    let store = MemoryStateStore()
    let end = try #require(time.now().advanced(by: .seconds(60)))
    let text = try await SessionTable(store).begin(
      for: AgentCaller(token: Self.token("phone", until: end)), at: time.now())
    let kept = try #require(await SessionTable(store).session(text))
    #expect(kept.until == end && kept.token == "of phone" && kept.account == nil)
  }

  @Test func `a link logs in once and within a minute, and only the agent that made it knows it`() async throws {
    let store = MemoryStateStore()
    let table = SessionTable(store)
    let links = (0..<3).map { _ in table.makeLink(for: Self.ann, at: time.now()) }
    #expect(try await table.open(link: links[0], at: time.now()) != nil)
    #expect(try await table.open(link: links[0], at: time.now()) == nil)
    #expect(try await SessionTable(store).open(link: links[1], at: time.now()) == nil)
    time.advance(by: .seconds(60))
    #expect(try await table.open(link: links[2], at: time.now()) == nil)
    #expect(await store.sessions().count == 1)
  }

  @Test func `of a thousand logins the one that ends first is replaced`() async throws {
    let store = MemoryStateStore()
    let table = SessionTable(store)
    let first = try await table.begin(for: Self.ann, at: time.now())
    time.advance(by: .seconds(1))
    let second = try await table.begin(for: Self.ann, at: time.now())
    let rest = (0..<998).map { number in
      StateEvent.sessionBegan(
        SessionBegan(
          at: time.now(), sha256: "s\(number)", name: "bob", account: "bob",
          until: time.now().advanced(by: .seconds(90_000)) ?? .latest))
    }
    try await store.append(rest)
    #expect(await store.sessions().count == SessionBegan.most)
    time.advance(by: .seconds(1))
    let last = try await table.begin(for: Self.ann, at: time.now())
    #expect(await store.sessions().count == SessionBegan.most)
    #expect(await table.session(first) == nil)
    for text in [second, last] { #expect(await table.session(text) != nil) }
  }

  @Test func `uses are recorded once a day of UTC, and not again while the state refuses`() async throws {
    let store = MemoryStateStore()
    let table = SessionTable(store)
    try await store.append(.tokenIssued(Self.token("phone")))
    let text = try await table.begin(for: AgentCaller(token: Self.token("phone")), at: time.now())
    func note() async {
      await table.note(await store.tokens().first, await table.session(text), at: time.now())
    }
    var versions: [String?] = []
    for span in [0, 60, 3600, 86_400, 1] {
      time.advance(by: .seconds(span))
      await note()
      versions.append(await store.version(of: .everything))
    }
    #expect(versions[0] == versions[1] && versions[1] == versions[2], "\(versions)")
    #expect(versions[3] != versions[2] && versions[4] == versions[3], "\(versions)")
    #expect(await store.tokens().first?.usedOn == time.now().utcDay)
    #expect(await table.session(text)?.usedOn == time.now().utcDay)
    // A clock that is set back changes nothing.
    time.setWallClock(to: ManualClock.start)
    await note()
    #expect(await store.version(of: .everything) == versions[4])
  }

  // MARK: Ending

  private func refusal(_ bench: HostBench, _ request: EndSessions, by caller: AgentCaller) async -> RequestRefusedError?
  {
    do throws(RequestRefusedError) {
      _ = try await bench.service.perform(request, for: caller)
      return nil
    } catch {
      return error
    }
  }

  @Test func `a caller ends its own logins, and those of all people only with the scope tokens`() async throws {
    let bench = await HostBench()
    let table = bench.service.sessions
    let (phone, desk) = (AgentCaller(token: Self.token("phone")), AgentCaller(token: Self.token("desk")))
    func begin(_ caller: AgentCaller) async throws -> String {
      try await table.begin(for: caller, at: bench.time.now())
    }
    func areIn(_ texts: [String]) async -> [Bool] {
      var found: [Bool] = []
      for text in texts { found.append(await table.session(text) != nil) }
      return found
    }
    let texts = [try await begin(Self.ann), try await begin(Self.ann), try await begin(Self.bob)]
    let tokens = [try await begin(phone), try await begin(desk)]
    #expect(try await bench.service.perform(EndSessions(), for: Self.ann).count == 2)
    #expect(await areIn(texts) == [false, false, true])
    #expect(try await bench.service.perform(EndSessions(), for: Self.ann).count == 0)
    #expect(try await bench.service.perform(EndSessions(), for: phone).count == 1)
    #expect(await areIn(tokens) == [false, true])
    let all = EndSessions.with { $0.all = true }
    #expect(
      await refusal(bench, all, by: desk)
        == RequestRefusedError(.forbidden, "the token lacks the scope 'tokens', which this needs"))
    let narrow = AgentCaller(token: Self.token("narrow", [.read, .tokens], recipes: ["sum"]))
    #expect(
      await refusal(bench, all, by: narrow)
        == RequestRefusedError(.forbidden, "the token is limited to sum, and the logins aren't"))
    let admin = AgentCaller(token: Self.token("admin", [.read, .tokens]))
    #expect(try await bench.service.perform(all, for: admin).count == 2)
    #expect(await bench.store.sessions() == [])
  }

  // MARK: Reading errand.yaml again

  @Test func `a reload answers all who asked, and no agent that doesn't serve reads anything`() async throws {
    let bench = await HostBench()
    let editor = AgentCaller(token: Self.token("editor", [.read, .edit]))
    func reload(_ caller: AgentCaller = Self.ann) async -> Result<ReloadConfiguration.Answer, RequestRefusedError> {
      do throws(RequestRefusedError) {
        return .success(try await bench.service.perform(ReloadConfiguration(), for: caller))
      } catch {
        return .failure(error)
      }
    }
    func kind(_ result: Result<ReloadConfiguration.Answer, RequestRefusedError>) -> RequestRefusedError.Kind? {
      if case .failure(let error) = result { error.kind } else { nil }
    }
    #expect(await kind(reload()) == .notServing)
    #expect(await kind(reload(AgentCaller(token: Self.token("reader")))) == .forbidden)
    // Nothing is edited here, so no errand.yaml can allow it.
    #expect(await kind(reload(editor)) == .notServing)
    let reloading = bench.service.reloading
    let (asked, asks) = AsyncStream.makeStream(of: Void.self)
    reloading.begin { asks.yield() }
    let answer = ReloadConfiguration.Answer(recipes: 2, schedules: 3, faults: 0)
    async let first = reload()
    async let second = reload()
    var count = 0
    for await _ in asked {
      count += 1
      if count == 2 { break }
    }
    reloading.take()(.success(answer))
    #expect(try await first.get().recipes == 2)
    #expect(try await second.get().schedules == 3)
    // A request that nobody takes is refused when the agent ends.
    async let last = reload()
    for await _ in asked { break }
    let late = reloading.take()
    reloading.end()
    #expect(await kind(last) == .notServing)
    // The reload that began before is done too late.
    late(.success(answer))
    #expect(await kind(reload()) == .notServing)
  }
}
