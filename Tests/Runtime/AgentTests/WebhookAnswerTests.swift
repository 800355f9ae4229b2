import Basics
import ProcessTestKit
import Recipes
import RunState
import Testing

@testable import Agent
@testable import Operations

/// Answers of webhooks that come from the runs of deliveries, and challenges, on a clock that the test moves.
@Suite(.timeLimit(.minutes(20))) struct WebhookAnswerTests {
  private static let double = """
    inputs: { n: { type: int } }
    on:
      - webhook:
          verify: { none: true }
          type: { id: string, n: int }
          id: event.data.id
          answer:
            - within: 10s
              status: 201
              body: "${{ { 'double': outputs.m, 'of': event.data.n, 'status': run.status } }}"
        inputs: { n: "${{ event.data.n }}" }
    steps: [{ let: { m: "${{ inputs.n * 2 }}" } }]
    outputs: { m: "${{ m }}" }
    """

  private static func waiting(_ steps: String, _ late: String = "") -> String {
    """
    on:
      - webhook:
          verify: { none: true }
          answer: [{ within: 10s, body: "${{ outputs.x }}"\(late) }]
        overlap: allowAll
    steps: \(steps)
    outputs: { x: fine }
    """
  }

  private static func json(_ text: String) -> Delivery {
    Delivery(fields: [("Content-Type", "application/json")], body: Array(text.utf8))
  }

  private func serving(_ recipe: String) async throws -> (HostBench, TemporaryFolder) {
    let folder = try ScheduleHostTests.folder(["hook": recipe])
    let bench = await HostBench(folder: folder.path)
    await bench.serve()
    return (bench, folder)
  }

  private func awaited(_ bench: HostBench, _ delivery: Delivery) async throws -> WebhookInbox.Awaited {
    let answer = await bench.schedules.receive(delivery, at: "hook")
    guard case .awaited(let awaited) = answer else {
      Issue.record("\(answer)")
      throw StateError(.invalid, "the delivery isn't awaited")
    }
    return awaited
  }

  /// The answer, while time passes from the moment when the run waits.
  private func reply(
    _ bench: HostBench, to awaited: WebhookInbox.Awaited
  ) async -> (reply: Webhook.Reply?, run: String?) {
    let passing = Task {
      while !bench.store.state.openRuns.contains(where: { $0.status == .waiting }) { await Task.yield() }
      while !Task.isCancelled {
        await bench.pass(.seconds(1))
        await Task.yield()
      }
    }
    defer { passing.cancel() }
    return await bench.service.reply(to: awaited)
  }

  @Test func `the sender gets the outputs, and for a delivery that comes again those of its first run`() async throws {
    let (bench, folder) = try await serving(Self.double)
    defer { withExtendedLifetime(folder) {} }
    let wanted = Webhook.Reply(
      status: 201, body: .object(["double": .int(42), "of": .int(21), "status": .string("succeeded")]))
    let first = await bench.service.reply(to: try await awaited(bench, Self.json(#"{"id":"d1","n":21}"#)))
    #expect(first.reply == wanted)
    // Under the same id nothing else counts.
    for n in [21, 5] {
      let again = try await awaited(bench, Self.json(#"{"id":"d1","n":\#(n)}"#))
      #expect(again.id == "hook:d1")
      let answer = await bench.service.reply(to: again)
      #expect(answer.reply == wanted && answer.run == first.run)
    }
    let other = await bench.service.reply(to: try await awaited(bench, Self.json(#"{"id":"d2","n":1}"#)))
    #expect(other.reply?.body?["double"] == .int(2) && other.run != first.run)
  }

  @Test func `a delivery that starts nothing is answered at once`() async throws {
    let recipe = Self.double.replacing("id: event.data.id", with: "id: event.data.id\n      match: event.data.n > 5")
    let (bench, folder) = try await serving(recipe)
    defer { withExtendedLifetime(folder) {} }
    let unmatched = await bench.service.reply(to: try await awaited(bench, Self.json(#"{"id":"d1","n":1}"#)))
    #expect(unmatched.reply == nil && unmatched.run == nil)
    // One that doesn't fit has no event for the answer.
    let answer = await bench.schedules.receive(Self.json(#"{"id":"d2","n":"x"}"#), at: "hook")
    guard case .received = answer else {
      Issue.record("\(answer)")
      return
    }
  }

  @Test(arguments: ["", ", late: { status: 504, body: \"${{ run.?status.orValue('none') }}\" }"])
  func `a run that isn't over in time is answered as late`(_ late: String) async throws {
    let (bench, folder) = try await serving(Self.waiting("[{ wait: 30d }]", late))
    defer { withExtendedLifetime(folder) {} }
    let answer = await reply(bench, to: try await awaited(bench, Self.json("{}")))
    #expect(answer.run != nil)
    #expect(answer.reply == (late.isEmpty ? nil : Webhook.Reply(status: 504, body: .string("waiting"))))
  }

  @Test func `a run that fails is answered as late, without waiting for the time`() async throws {
    let late = ", late: { body: \"${{ run.?status.orValue('none') }}\" }"
    let (bench, folder) = try await serving(Self.waiting("[{ fail: No. }]", late))
    defer { withExtendedLifetime(folder) {} }
    let answer = await bench.service.reply(to: try await awaited(bench, Self.json("{}")))
    #expect(answer.reply == Webhook.Reply(status: 202, body: .string("failed")))
  }

  @Test func `a hundred answers wait at most, and others don't`() async throws {
    let (bench, folder) = try await serving(Self.waiting("[{ wait: 30d }]"))
    defer { withExtendedLifetime(folder) {} }
    let waits = bench.schedules.webhooks.waits
    var places = (0..<DeliveryWaits.most).compactMap { waits.decisions(on: "d\($0)") }
    #expect(places.count == 100 && waits.decisions(on: "d0") == nil)
    // No time passes, so that it would wait for ever.
    let answer = await bench.service.reply(to: try await awaited(bench, Self.json("{}")))
    #expect(answer.reply == nil)
    places.removeLast()
    #expect(waits.decisions(on: "d0") != nil)
    #expect(places.count == 99)
  }

  @Test func `an answer that can't be computed leaves a receipt, and is told of`() async throws {
    let recipe = """
      on:
        - webhook:
            verify: { none: true }
            answer: [{ body: "${{ 'Number ' + string(event.data.n) }}" }]
      steps: [{ let: { x: 1 } }]
      """
    let (bench, folder) = try await serving(recipe)
    defer { withExtendedLifetime(folder) {} }
    let sent = Webhook.Reply(status: 200, body: .string("Number 7"))
    #expect(await bench.schedules.receive(Self.json(#"{"n":7}"#), at: "hook") == .replied(sent, isVerified: true))
    let answer = await bench.schedules.receive(Self.json("{}"), at: "hook")
    guard case .received = answer else {
      Issue.record("\(answer)")
      return
    }
  }

  private static let challenges = """
    on:
      - webhook:
          verify: { token: { header: X-Token, secret: "${{ secrets.HOOK }}" } }
          type: { n: int }
          answer:
            - { when: has(event.query.validationToken), unsigned: true, body: "${{ event.query.validationToken }}" }
            - { when: event.data == 'ping', unsigned: true, body: "${{ 'pong ' + string(event.data) }}" }
            - { when: "event.query['hub.verify_token'] == 'spring'", get: true, body: "${{ event.query['hub.challenge'] }}" }
    steps: [{ let: { x: 1 } }]
    """

  @Test func `a challenge is answered before the signature, and leaves nothing`() async throws {
    let (bench, folder) = try await serving(Self.challenges)
    defer { withExtendedLifetime(folder) {} }
    func post(_ query: [(String, String)], _ type: String, _ body: String) async -> WebhookInbox.Answer {
      await bench.schedules.receive(
        Delivery(
          fields: [("Content-Type", type)], query: query.map { (name: $0.0, value: $0.1) }, body: Array(body.utf8)),
        at: "hook")
    }
    func replied(_ text: String) -> WebhookInbox.Answer {
      .replied(Webhook.Reply(status: 200, body: .string(text)), isVerified: false)
    }
    // The first of a repeated name counts.
    let token = [("validationToken", "a <b> & c"), ("validationToken", "second")]
    #expect(await post(token, "text/plain", "") == replied("a <b> & c"))
    #expect(await post([], "text/plain; charset=utf-8", "ping") == replied("pong ping"))
    // There is no secret here, so that nothing else is taken.
    for (query, type, body) in [
      ([], "text/plain", "pang"), ([], "application/json", "{"), ([], "application/json", "{}"),
      ([("validationToken", String(repeating: "x", count: 257))], "text/plain", ""),
      ([("validationToken", "x")], "text/plain", String(repeating: "x", count: 64 << 10 + 1)),
    ] as [([(String, String)], String, String)] {
      #expect(await post(query, type, body) == .unavailable, "\(query) \(type) \(body.prefix(8))")
    }
    let longest = String(repeating: "x", count: 256)
    #expect(await post([("validationToken", longest)], "text/plain", "") == replied(longest))
    func get(_ query: [(String, String)], at path: String = "hook") -> WebhookInbox.Answer {
      bench.schedules.webhooks.answer(
        toGet: Delivery(fields: [], query: query.map { (name: $0.0, value: $0.1) }, body: []), at: path)
    }
    #expect(get([("hub.verify_token", "spring"), ("hub.challenge", "1158201444")]) == replied("1158201444"))
    #expect(get([("hub.verify_token", "autumn"), ("hub.challenge", "1")]) == .unverified)
    #expect(get([("hub.verify_token", "spring")]) == .unverified)
    #expect(get([], at: "other") == .unknownPath)
    #expect(await bench.agent.store.events(EventQuery()).isEmpty)
    #expect(try await bench.agent.store.slots(SlotQuery()).isEmpty)
  }
}
