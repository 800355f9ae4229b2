import Basics
import ProcessTestKit
import RunState
import Testing

@testable import Agent
@testable import Operations

/// Lists that come in pages: each page ends where the next begins.
@Suite(.timeLimit(.minutes(20))) struct PagedListTests {
  /// The ids on each page of the runs.
  private static func pages(_ bench: HostBench, _ ask: String, limit: Int) async throws -> [String] {
    var pages: [String] = []
    var cursor: String?
    let paged = ask == "runs" ? ",\"paged\":true" : ""
    repeat {
      let rest = cursor.map { ",\"cursor\":\"\($0)\"" } ?? ""
      let answers = try await bench.ask("{\"ask\":\"\(ask)\",\"limit\":\(limit)\(paged)\(rest)}")
      let answer = try JSON.parse(try #require(answers.first))
      let open = (answer["open"]?.list ?? []).compactMap { $0["origin"]?["run"]?.string }
      let finished = (answer["finished"]?.list ?? []).compactMap { $0["id"]?.string }
      pages.append(
        ((ask == "approvals" ? open : open.reversed()) + finished).joined(separator: " "))
      cursor = answer["next"]?.string
    } while cursor != nil && pages.count < 20
    return pages
  }

  @Test(arguments: [
    (2, ["r5 r4", "r3 r2", "r1 f3", "f2 f1"]), (3, ["r5 r4 r3", "r2 r1 f3", "f2 f1"]),
    (5, ["r5 r4 r3 r2 r1", "f3 f2 f1"]), (8, ["r5 r4 r3 r2 r1 f3 f2 f1"]),
    (200, ["r5 r4 r3 r2 r1 f3 f2 f1"]),
  ])
  func `runs come in pages, first the open ones and then the finished ones`(
    _ limit: Int, _ wanted: [String]
  ) async throws {
    let bench = await HostBench()
    for id in ["f1", "f2", "f3"] {
      try await bench.start(id, "steps: [{ let: { x: 1 } }]")
      await bench.until("\(id) succeeded")
    }
    for number in 1...5 { try await bench.accept("r\(number)", "steps: [{ wait: 1h }]") }
    #expect(try await Self.pages(bench, "runs", limit: limit) == wanted)
  }

  @Test func `questions to people come in pages, those of the oldest run first`() async throws {
    let bench = await HostBench()
    for number in 1...3 {
      try await bench.start("r\(number)", "steps: [{ id: ask, approve: { prompt: 'Pay?' } }]")
      await bench.until("r\(number) waits")
    }
    try await bench.start("r4", "steps: [{ wait: 1h }]")
    await bench.until("r4 waits")
    #expect(try await Self.pages(bench, "approvals", limit: 2) == ["r1 r2", "r3"])
  }

  @Test func `slots come in pages, also those that were settled at one instant`() async throws {
    let folder = try ScheduleHostTests.folder([
      "tick": "on: [{ cron: '0 0 1 1 *', overlap: allowAll }]\n" + ScheduleHostTests.done
    ])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    for count in [3, 1, 3] {
      for _ in 0..<count { _ = try await bench.ask(#"{"ask":"trigger","id":"tick"}"#) }
      bench.time.advance(by: .seconds(1))
    }
    let all = try await bench.store.slots(SlotQuery(limit: 100))
    #expect(all.count == 7)
    for limit in 1...8 {
      var found: [SlotRecord] = []
      var query = SlotQuery(limit: limit)
      while found.count < all.count {
        let page = try await bench.service.slots(query)
        try #require(!page.isEmpty)
        found += page
        query.after = page.last?.cursor
      }
      #expect(found == all, "\(limit)")
      #expect(try await bench.service.slots(query).isEmpty)
    }
    await #expect(
      throws: RequestRefusedError(.request, "the cursor isn't one that a page of slots named")
    ) {
      try await bench.service.slots(SlotQuery(after: "x"))
    }
  }
}
