import Basics
import RunTestKit
import Testing

@testable import RunState

/// The logins of browsers in the state, the days of uses, and the room that a state takes.
@Suite struct SessionStateTests {
  private static func began(_ name: String, at seconds: Int = 0, lasting: Int = 3600) -> SessionBegan {
    SessionBegan(
      at: instant(seconds), sha256: name, name: "ann", account: "ann", until: instant(seconds + lasting))
  }

  @Test func `a login is in the state until it is ended, also after a restart`() async throws {
    let disk = FaultyFileSystem()
    let store = try await FileStateStore.open("/state", program: "errand", fileSystem: disk)
    let (first, second) = (Self.began("one"), Self.began("two", at: 1))
    try await store.append([.sessionBegan(first), .sessionBegan(second)])
    // The machine stops without a snapshot.
    let again = try await FileStateStore.open(
      "/state", program: "errand", fileSystem: disk.restarted(losing: .everything))
    #expect(await again.sessions() == [first, second])
    #expect(await again.session("two") == second)
    #expect(await again.session("three") == nil)
    // One that isn't there is passed over: another browser may have ended it.
    try await again.append(.sessionEnded(SessionEnded(at: instant(2), sessions: ["one", "three"])))
    #expect(await again.sessions() == [second])
    try await again.compact()
    try await again.close()
  }

  @Test func `two logins with one digest are refused`() async throws {
    let store = MemoryStateStore()
    try await store.append(.sessionBegan(Self.began("one")))
    await #expect(throws: StateError.self) { try await store.append(.sessionBegan(Self.began("one", at: 5))) }
    #expect(await store.sessions() == [Self.began("one")])
  }

  @Test func `a use is kept by its day in UTC, and only of what is there`() async throws {
    let store = MemoryStateStore()
    try await store.append([
      .tokenIssued(TokenIssued(at: instant(0), name: "phone", sha256: "00", scopes: [.read])),
      .sessionBegan(Self.began("one")),
    ])
    #expect(await store.tokens().first?.usedOn == nil)
    // 2026-11-20T09:00:00Z and 16 h.
    try await store.append(.accessUsed(AccessUsed(at: instant(16 * 3600), token: "phone", session: "one")))
    #expect(await store.tokens().first?.usedOn?.description == "2026-11-21T00:00:00Z")
    #expect(await store.session("one")?.usedOn?.utcDate == "2026-11-21")
    let before = store.state
    try await store.append(.accessUsed(AccessUsed(at: instant(20 * 3600), token: "desk", session: "two")))
    #expect(store.state == before)
  }

  @Test(arguments: [(-1, "1969-12-31"), (0, "1970-01-01"), (86_399, "1970-01-01"), (86_400, "1970-01-02")])
  func `the day of an instant`(_ seconds: Int, _ day: String) throws {
    #expect(try #require(Timestamp(seconds: seconds)).utcDate == day)
  }

  @Test func `a new login replaces what is over for a week, and of a thousand the one that ends first`() {
    let week = 7 * 86_400
    let forgotten = Self.began("old", at: 0, lasting: 10)
    let over = Self.began("over", at: 0, lasting: 11)
    #expect(SessionBegan.replaced(among: [forgotten, over], at: instant(week + 10)) == ["old"])
    #expect(SessionBegan.replaced(among: [forgotten, over], at: instant(week + 9)) == [])
    var many = (0..<999).map { Self.began("s\($0)", at: $0) }
    #expect(SessionBegan.replaced(among: many, at: instant(1000)) == [])
    many.append(Self.began("first", at: 0, lasting: 100))
    #expect(SessionBegan.replaced(among: many, at: instant(1000)) == ["first"])
    many.append(Self.began("second", at: 0, lasting: 200))
    #expect(SessionBegan.replaced(among: many, at: instant(1000)) == ["first", "second"])
  }

  @Test func `a name that holds a secret begins no login`() async throws {
    let store = MemoryStateStore()
    store.secrets.learn([("HORSE", "correct horse battery")])
    let session = SessionBegan(
      at: instant(0), sha256: "one", name: "correct horse battery", account: "ann", until: instant(9))
    await #expect(throws: StateError.self) { try await store.append(.sessionBegan(session)) }
    #expect(await store.sessions() == [])
  }

  @Test func `the size of a state is that of its files, measured at most once a minute`() async throws {
    let disk = FaultyFileSystem()
    let clock = ManualClock()
    let store = try await FileStateStore.open("/state", program: "errand", fileSystem: disk, time: clock)
    try await store.append(Example.set("a", .string(String(repeating: "x", count: 1000))))
    func bytes() -> Int { disk.paths.reduce(0) { $0 + (disk[$1]?.count ?? 0) } }
    let first = try #require(await store.size())
    #expect(first == bytes() && first > 1000)
    try await store.append(Example.set("b", .string(String(repeating: "y", count: 1000))))
    #expect(await store.size() == first)
    clock.advance(by: .seconds(61))
    #expect(await store.size() == bytes())
    #expect(bytes() > first + 1000)
    try await store.close()
  }
}
