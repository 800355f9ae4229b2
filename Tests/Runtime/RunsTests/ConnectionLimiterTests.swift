import ActionTestKit
import Basics
import Recipes
import RunState
import Synchronization
import Testing

@testable import Runs

/// A connection's limits, on a clock that the test moves.
@Suite(.timeLimit(.minutes(20))) struct ConnectionLimiterTests {
  /// A service with limits, and when it was sent something.
  private final class Shop: Sendable {
    let time = TestTime()
    let store: any StateStore
    /// How long its answers take.
    private let answering: TimeSpan
    private let began: TimeSpan
    private let log = Mutex<[String]>([])

    init(_ store: any StateStore = MemoryStateStore(), answering: TimeSpan = .zero) {
      self.store = store
      self.answering = answering
      began = time.elapsed()
    }

    /// In a new program.
    func limiter(_ limits: ConnectionLimits) async throws -> ConnectionLimiter {
      try #require(await ServicePool(time: time, pace: CallPace()).limiters(["shop": limits], keptIn: store)["shop"])
    }

    var sent: [String] { log.withLock { $0 } }

    /// Sends a request in a call of its own, or a further one of a call.
    func send(_ name: String, _ limiter: ConnectionLimiter, _ number: Int? = nil) async throws {
      let number = number ?? limiter.enter()
      var waking = await limiter.wait(number)
      while case .woken = waking, !Task.isCancelled { waking = await limiter.wait(number) }
      guard case .granted = waking else {
        limiter.leave(number)
        return
      }
      let permit = CallPermit(limiter)
      #expect(permit.takeRequest())
      let sent = try #require(await limiter.send())
      note(name)
      time.advance(by: answering)
      limiter.arrived(sent)
      permit.end()
    }

    /// Notes the milliseconds.
    func note(_ name: String) {
      let milliseconds = (time.elapsed() - began).nanoseconds / 1_000_000
      log.withLock { $0.append("\(name)@\(milliseconds)") }
    }

    /// Sends requests that come one after another, and lets time pass until all are sent.
    func send(_ names: [String], _ limiter: ConnectionLimiter) async throws {
      let numbers = names.map { _ in limiter.enter() }
      let wanted = sent.count + names.count
      try await withThrowingTaskGroup { group in
        for (name, number) in zip(names, numbers) { group.addTask { try await self.send(name, limiter, number) } }
        group.addTask {
          while self.sent.count < wanted {
            if self.time.sleeperCount > 0 { await self.time.advanceToNextSleeper() } else { await Task.yield() }
          }
        }
        try await group.waitForAll()
      }
    }
  }

  @Test func `in any span as many requests go out as the limit allows, in the order in which they came`()
    async throws
  {
    let shop = Shop()
    let limiter = try await shop.limiter(ConnectionLimits(requests: 2, per: .seconds(10)))
    try await shop.send("a", limiter)
    shop.time.advance(by: .seconds(6))
    try await shop.send(["b", "c", "d", "e", "f"], limiter)
    // Not two at 10: the window slides.
    #expect(Set(shop.sent) == ["a@0", "b@6000", "c@10000", "d@16000", "e@20000", "f@26000"])
  }

  @Test(arguments: [
    // From the answer, because before it the request may not have arrived.
    (TimeSpan.milliseconds(400), ["a@0", "b@10400"]),
    // A slow answer counts from a second after it was asked for, and from a fourth of a short span.
    (.seconds(4), ["a@0", "b@11000"]), (.seconds(40), ["a@0", "b@40000"]),
  ])
  func `a request counts from its arrival`(_ answering: TimeSpan, _ sent: [String]) async throws {
    let shop = Shop(answering: answering)
    let limiter = try await shop.limiter(ConnectionLimits(requests: 1, per: .seconds(10)))
    try await shop.send(["a", "b"], limiter)
    #expect(shop.sent == sent)
  }

  @Test func `what was sent counts after a restart, and a second longer`() async throws {
    let shop = Shop()
    let limits = ConnectionLimits(requests: 2, per: .seconds(10))
    try await shop.send(["a", "b"], try await shop.limiter(limits))
    shop.time.advance(by: .seconds(4))
    try await shop.send(["c"], try await shop.limiter(limits))
    #expect(Set(shop.sent) == ["a@0", "b@0", "c@11000"])
  }

  @Test func `what took long to write is written once more, with the instant of its sending`() async throws {
    let time = TestTime()
    let kept = Mutex<[Timestamp]>([])
    let limits = ConnectionLimits(requests: 5, per: .seconds(10))
    let limiter = ConnectionLimiter("shop", limits, after: nil, time: time, pace: nil) { use throws(StateError) in
      kept.withLock { $0.append(use.at) }
      if kept.withLock({ $0.count }) == 1 { time.advance(by: .seconds(3)) }
    }
    _ = limiter.enter()
    try await limiter.send()
    #expect(kept.withLock { $0 } == [ManualClock.start, try #require(ManualClock.start.advanced(by: .seconds(3)))])
  }

  @Test(arguments: 1...8, [false, true])
  func `a crash at any write lets no more requests out`(_ append: Int, _ isAfter: Bool) async throws {
    let memory = MemoryStateStore()
    let shop = Shop(memory)
    let limits = ConnectionLimits(requests: 2, per: .seconds(10))
    let dying = CrashingStore(memory, dyingAt: CrashingStore.Point(append: append, isAfter: isAfter))
    let first = try #require(
      await ServicePool(time: shop.time, pace: CallPace()).limiters(["shop": limits], keptIn: dying)["shop"])
    var count = 0
    while !dying.isDead {
      // Far enough apart for two in each window.
      if count > 0 { shop.time.advance(by: .seconds(5)) }
      do { try await shop.send("\(count)", first) } catch { break }
      count += 1
    }
    let second = try await shop.limiter(limits)
    try await shop.send(["x", "y", "z"], second)
    let instants = shop.sent.compactMap { Int($0.split(separator: "@")[1]) }.sorted()
    for (index, instant) in instants.enumerated() where index >= 2 {
      #expect(instant - instants[index - 2] >= 10_000, "\(shop.sent)")
    }
  }

  @Test func `so many calls are under way at once, and one that leaves makes room`() async throws {
    let shop = Shop()
    let limiter = try await shop.limiter(ConnectionLimits(maxParallel: 2))
    let numbers = (0..<4).map { _ in limiter.enter() }
    #expect(await limiter.wait(numbers[0]).isGranted)
    #expect(await limiter.wait(numbers[1]).isGranted)
    #expect(limiter.reason(of: numbers[2]).text == "'shop' allows 2 calls at once")
    limiter.wake(numbers[2])
    #expect(await !limiter.wait(numbers[2]).isGranted)
    limiter.leave(numbers[2])
    limiter.end(unsent: true)
    #expect(await limiter.wait(numbers[3]).isGranted)
  }

  @Test func `a further request of a call goes, though a call before it waits for a place`() async throws {
    let shop = Shop()
    let limiter = try await shop.limiter(ConnectionLimits(maxParallel: 1, requests: 5, per: .seconds(10)))
    let call = limiter.enter()
    #expect(await limiter.wait(call).isGranted)
    let permit = CallPermit(limiter)
    let other = limiter.enter()
    for _ in 0..<3 {
      #expect(try await limiter.admitRequest(of: permit, isCounted: false) { Issue.record("\($0)") } != nil)
    }
    permit.end()
    #expect(await limiter.wait(other).isGranted)
  }

  @Test func `nothing goes out while the service asks to wait, also after a restart`() async throws {
    let shop = Shop()
    let limits = ConnectionLimits(maxParallel: 4)
    let limiter = try await shop.limiter(limits)
    await limiter.hold(for: .seconds(30))
    let number = limiter.enter()
    let reason = limiter.reason(of: number)
    #expect(reason.text == "'shop' asked to wait" && reason.due == shop.time.now().advanced(by: .seconds(30)))
    limiter.leave(number)
    shop.time.advance(by: .seconds(10))
    try await shop.send(["a", "b"], try await shop.limiter(limits))
    #expect(Set(shop.sent) == ["a@30000", "b@30000"])
  }

  @Test func `one who waits is told which limit and about how long`() async throws {
    let shop = Shop()
    let limiter = try await shop.limiter(ConnectionLimits(requests: 2, per: .seconds(60)))
    try await shop.send("a", limiter)
    shop.time.advance(by: .seconds(20))
    try await shop.send("b", limiter)
    let now = shop.time.now()
    let due = (0..<4).map { _ in limiter.enter() }.map { limiter.reason(of: $0) }
    #expect(due.map(\.text) == Array(repeating: "'shop' allows 2 requests in 1m", count: 4))
    #expect(due.map { $0.due?.span(since: now) } == [40, 60, 100, 120].map { .seconds($0) })
  }

  @Test func `ten thousand wait as cheaply each as ten`() async throws {
    let shop = Shop()
    let limiter = try await shop.limiter(ConnectionLimits(maxParallel: 1))
    let first = limiter.enter()
    let numbers = (0..<10_000).map { _ in limiter.enter() }
    @Sendable func go(_ number: Int) async {
      let waking = await limiter.wait(number)
      #expect(waking.isGranted)
      shop.note("\(number)")
      limiter.end(unsent: true)
    }
    await withTaskGroup(of: Void.self) { group in
      for number in numbers { group.addTask { await go(number) } }
      await go(first)
      await group.waitForAll()
    }
    #expect(shop.sent == ([first] + numbers).map { "\($0)@0" })
  }

  @Test func `a limit of time stands still while a request of the call waits`() async throws {
    let shop = Shop()
    let limiter = try await shop.limiter(ConnectionLimits(requests: 1, per: .seconds(60)))
    let number = limiter.enter()
    #expect(await limiter.wait(number).isGranted)
    let permit = CallPermit(limiter)
    #expect(try await limiter.admitRequest(of: permit, isCounted: false) { Issue.record("\($0)") } != nil)
    let time = shop.time
    async let outcome = withTimeLimit(.seconds(5), of: permit, time: time) { () async throws(StateError) -> Bool in
      try await limiter.admitRequest(of: permit, isCounted: false) { _ in } != nil
    }
    while time.elapsed() < .seconds(60) + .zero, time.sleeperCount < 2 { await Task.yield() }
    for _ in 0..<700 where time.sleeperCount > 0 {
      time.advance(by: .milliseconds(100))
      for _ in 0..<10 { await Task.yield() }
    }
    let (result, isTimeout) = await outcome
    #expect(!isTimeout)
    #expect(try result.get())
  }
}

extension ConnectionLimiter.Waking {
  fileprivate var isGranted: Bool { if case .granted = self { true } else { false } }
}
