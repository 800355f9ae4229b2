import Basics
import Calendars
import ProcessTestKit
import Recipes
import RunState
import Testing

@testable import Agent

/// Large numbers of events and deliveries: no more are accepted than can wait, and none that was accepted is dropped.
@Suite(.timeLimit(.minutes(20))) struct IntakeTests {
  private static let count = 1200

  /// How many of many attempts at once succeed.
  private func successes(_ attempt: @escaping @Sendable (Int) async -> Bool) async -> Int {
    await withTaskGroup(of: Bool.self) { group in
      for number in 0..<Self.count { group.addTask { await attempt(number) } }
      return await group.reduce(0) { $0 + ($1 ? 1 : 0) }
    }
  }

  /// An agent that serves recipes, and their folder, which is there as long as it is held.
  private func serving(_ recipes: [String: String]) async throws -> (HostBench, TemporaryFolder) {
    let folder = try ScheduleHostTests.folder(recipes)
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    return (bench, folder)
  }

  /// Waits until as many rows of a schedule are decided.
  private func rows(_ bench: HostBench, _ schedule: String, reaching count: Int) async throws -> [Value] {
    while true {
      let answer = try await bench.ask(#"{"ask":"slots","schedule":"\#(schedule)","limit":5000}"#).first ?? ""
      let rows = try JSON.parse(answer)["slots"]?.list ?? []
      if rows.count >= count || Task.isCancelled { return rows }
      await Task.yield()
    }
  }

  private static let long = "steps: [{ wait: 30d }]\n"

  @Test(arguments: ["", ", batch: { for: 1h, max: 1 }"])
  func `deliveries are taken in as long as they can wait`(_ batch: String) async throws {
    let (bench, folder) = try await serving([
      "hook": "on: [{ webhook: { verify: { none: true } }\(batch) }]\n" + Self.long
    ])
    defer { withExtendedLifetime(folder) {} }
    let schedules = bench.schedules
    let taken = await successes { number in
      let delivery = Delivery(fields: [], body: Array("\(number)".utf8))
      switch await schedules.receive(delivery, at: "hook") {
      case .received: return true
      case .full: return false
      case let other:
        Issue.record("\(other)")
        return false
      }
    }
    // One of them runs, and the others wait.
    #expect(taken > 100 && taken <= Intake.most + 1)
    let rows = try await rows(bench, "hook", reaching: taken)
    let outcomes = Dictionary(grouping: rows) { $0["outcome"]?.string ?? "" }.mapValues(\.count)
    #expect(outcomes == ["started": 1, "buffered": taken - 1])
  }

  @Test func `events are taken in as long as they can wait, and one that came before always is`() async throws {
    let (bench, folder) = try await serving(["ping": "on: [{ event: { name: ping } }]\n" + Self.long])
    defer { withExtendedLifetime(folder) {} }
    @Sendable func send(_ name: String, _ id: String) async -> String {
      (try? await bench.ask(#"{"ask":"signal","name":"\#(name)","id":"\#(id)"}"#).first) ?? ""
    }
    let taken = await successes { number in
      let answer = await send("ping", "e\(number)")
      if answer.contains(#""isNew":true"#) { return true }
      #expect(answer.contains("500 events 'ping' or starts of what they start are waiting; send it again later"))
      return false
    }
    #expect(taken > 100 && taken <= Intake.most + 1)
    let rows = try await rows(bench, "ping", reaching: taken)
    let outcomes = Dictionary(grouping: rows) { $0["outcome"]?.string ?? "" }.mapValues(\.count)
    #expect(outcomes == ["started": 1, "buffered": taken - 1])
    let first = try #require(rows.last?["cause"]?["event"]?.string)
    #expect(await send("ping", first).contains(#""isNew":false"#))
    // An event that starts nothing isn't limited by other events that wait.
    #expect(await send("pong", "p1").contains(#""isNew":true"#))
  }

  @Test func `deliveries that are sent on as events are taken in as long as those can wait`() async throws {
    let (bench, folder) = try await serving([
      "hook": "on: [{ webhook: { verify: { none: true }, signal: ping } }]\nsteps: [{ let: { x: 1 } }]\n",
      "ping": "on: [{ event: { name: ping } }]\n" + Self.long,
    ])
    defer { withExtendedLifetime(folder) {} }
    let schedules = bench.schedules
    let taken = await successes { number in
      let delivery = Delivery(fields: [], body: Array("\(number)".utf8))
      if case .received = await schedules.receive(delivery, at: "hook") { return true }
      return false
    }
    #expect(taken > 100)
    let outcomes = Dictionary(grouping: try await rows(bench, "ping", reaching: taken)) {
      $0["outcome"]?.string ?? ""
    }.mapValues(\.count)
    #expect(outcomes == ["started": 1, "buffered": taken - 1])
  }

  @Test func `what is still to be told comes in turn, ends of runs first`() {
    var queue = TurnQueue<String>()
    for number in 1...3 { queue.add("a\(number)", to: "a") }
    queue.add("b1", to: "b")
    #expect(queue.next() == "a1")
    queue.add("c1", to: "c")
    #expect((0..<5).map { _ in queue.next() } == ["b1", "a2", "c1", "a3", nil])
    for number in 0..<1000 {
      queue.add("\(number)", to: "a")
      if number % 3 == 0 { #expect(queue.next() == "\(number / 3)") }
    }
    let unreported = Unreported()
    for id in ["1", "2"] { unreported.add(.event(id), to: "event a") }
    unreported.add(.failed(StateError(.closed, "an end")), to: nil)
    unreported.add(.event("3"), to: "event b")
    let words = (0..<5).map { _ -> String in
      switch unreported.next() {
      case .event(let id): id
      case .failed(let error): error.message
      case let other: other == nil ? "none" : "another"
      }
    }
    #expect(words == ["an end", "1", "3", "2", "none"])
  }

  @Test func `a place counts until the last stage leaves it`() {
    let intake = Intake()
    func event(_ id: String) -> EventRecord { EventRecord(id: id, name: "ping", receivedAt: .epoch) }
    #expect(intake.take(event("1")) == 1)
    #expect(intake.take(event("2")) == 2)
    // The same event has one place.
    #expect(intake.take(event("1")) == 2)
    #expect(intake.hold("1") == "event ping")
    for left in [2, 2, 1] {
      intake.leave("1")
      #expect(intake.count(of: "event ping") == left)
    }
    intake.leave("1")
    #expect(intake.hold("1") == nil)
    intake.leave("2")
    #expect(intake.count(of: "event ping") == 0)
  }
}
