import Foundation
import Testing

@testable import Basics

@Suite(.timeLimit(.minutes(20))) struct SleepTests {
  @Test func `a sleep lasts as long as it is asked to, and sleepers wake in the order of their ends`() async throws {
    let time = SystemTime()
    let start = time.elapsed()
    let order = await withTaskGroup(of: Int.self) { group in
      for number in [3, 1, 2] {
        group.addTask {
          try? await time.sleep(for: .milliseconds(number * 50))
          return number
        }
      }
      return await group.reduce(into: [Int]()) { $0.append($1) }
    }
    #expect(order == [1, 2, 3])
    #expect(time.elapsed() - start >= .milliseconds(150))
  }

  @Test func `a sleep that is cancelled ends at once, before and after it began`() async throws {
    let time = SystemTime()
    let sleep = Task { try await time.sleep(for: .seconds(86_400)) }
    sleep.cancel()
    await #expect(throws: CancellationError.self) { try await sleep.value }
    let later = Task { try await time.sleep(for: .seconds(86_400)) }
    try await time.sleep(for: .milliseconds(20))
    later.cancel()
    await #expect(throws: CancellationError.self) { try await later.value }
  }

  @Test func `a sleep that was cancelled takes no memory until its end`() async throws {
    // The test runs in its own process, because no other code allocates memory there. Pages of files aren't counted,
    // since the kernel keeps or drops them as it likes. The allocator keeps some free memory for each thread.
    await #expect(processExitsWith: .success) {
      let time = SystemTime()
      func sleepInVain(_ count: Int) async {
        for _ in 0..<count {
          let sleep = Task { try await time.sleep(for: .seconds(3600)) }
          await Task.yield()
          sleep.cancel()
          _ = await sleep.result
        }
      }
      func anonymousKibibytes() throws -> Int {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("RssAnon:") })
        return try #require(line.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }.first)
      }
      await sleepInVain(1000)
      let before = try anonymousKibibytes()
      await sleepInVain(40_000)
      let grown = try anonymousKibibytes() - before
      // Each that was kept would take about a kilobyte.
      guard grown < 12 << 10 else { fatalError("40,000 cancelled sleeps hold \(grown) KiB") }
    }
  }

  @Test(.timeLimit(.minutes(20))) func `a sleep may end and be cancelled at the same moment`() async {
    await withTaskGroup { group in
      for seed in 0..<4 {
        group.addTask {
          for count in 0..<3000 {
            let sleeping = Task {
              try? await SystemTime().sleep(for: TimeSpan(nanoseconds: 50_000 + count % 100 * 1000))
            }
            let start = SystemTime().elapsed()
            while SystemTime().elapsed() - start < TimeSpan(nanoseconds: 50_000 + (count + seed * 25) % 100 * 1000) {}
            sleeping.cancel()
            await sleeping.value
          }
        }
      }
    }
  }
}
