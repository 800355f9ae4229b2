import ActionKit
import ActionTestKit
import Testing

@Suite struct TestTimeTests {
  let time = TestTime()

  @Test func `shows the instant it says`() {
    #expect(time.now().description == "2026-11-20T09:30:00Z")
    time.advance(by: .milliseconds(1500))
    #expect(time.now().description == "2026-11-20T09:30:01.5Z")
    #expect(time.elapsed() == .milliseconds(1500))
  }

  @Test func `wakes sleepers one deadline after another`() async throws {
    var woken: [String] = []
    try await withThrowingTaskGroup(of: String.self) { group in
      for (name, seconds) in [("late", 7200), ("early", 60), ("middle", 3600)] {
        group.addTask { [time] in
          try await time.sleep(for: .seconds(seconds))
          return "\(name) at \(time.elapsed())"
        }
      }
      await time.waitForSleepers(3)
      for _ in 1...3 {
        await time.advanceToNextSleeper()
        woken.append(try await group.next() ?? "nobody")
      }
    }
    #expect(woken == ["early at 60s", "middle at 3600s", "late at 7200s"])
    #expect(time.sleeperCount == 0)
  }

  @Test func `lets a loop of sleeps run through days`() async throws {
    async let rounds: Int = { [time] in
      for _ in 1...3 { try await time.sleep(for: .seconds(86_400)) }
      return 3
    }()
    for _ in 1...3 { #expect(await time.advanceToNextSleeper() == .seconds(86_400)) }
    #expect(try await rounds == 3)
    #expect(time.elapsed() == .seconds(3 * 86_400))
  }

  @Test func `a jump of the wall clock wakes no sleeper`() async throws {
    async let sleep: Void = time.sleep(for: .seconds(1))
    await time.waitForSleepers()
    time.setWallClock(to: .latest)
    #expect(time.sleeperCount == 1)
    #expect(time.elapsed() == .zero)
    time.advance(by: .seconds(1))
    try await sleep
    #expect(time.now() == .latest)
  }

  @Test func `a cancelled sleeper wakes at once, before or after it fell asleep`() async {
    let asleep = Task { [time] in try await time.sleep(for: .seconds(1)) }
    await time.waitForSleepers()
    asleep.cancel()
    await #expect(throws: CancellationError.self) { try await asleep.value }
    let awake = Task { [time] in
      withUnsafeCurrentTask { $0?.cancel() }
      try await time.sleep(for: .seconds(1))
    }
    await #expect(throws: CancellationError.self) { try await awake.value }
    #expect(time.sleeperCount == 0)
  }
}
