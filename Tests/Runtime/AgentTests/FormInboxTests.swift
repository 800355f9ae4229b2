import Basics
import Operations
import ProcessTestKit
import Recipes
import RunState
import Testing

@testable import Agent

/// Forms that people send: which of them count, on a clock that the test moves.
@Suite(.timeLimit(.minutes(20))) struct FormInboxTests {
  private static func recipe(_ open: String, _ more: String = "") -> String {
    """
    inputs: { who: { type: string } }
    on:
      - form:
          path: rooms
          open: \(open)
          fields: { who: { type: string, max: 80 }, day: "date?" }
          done: "Thank you, ${{ event.data.who }}. Your number is ${{ event.id }}."
    \(more)
        overlap: allowAll
        inputs: { who: "${{ event.data.who }}" }
    steps: [{ let: { x: "${{ inputs.who }}" } }]
    outputs: { who: "${{ x }}" }
    """
  }

  /// An agent that serves a form.
  private struct Bench {
    let host: HostBench
    let folder: TemporaryFolder
    let entry: FormInbox.Entry
    var forms: FormInbox { host.schedules.forms }

    init(_ recipe: String) async throws {
      folder = try ScheduleHostTests.folder(["request": recipe])
      host = await HostBench(folder: folder.path)
      await host.serve()
      entry = try #require(host.schedules.forms.entry(at: "rooms"))
    }

    func key() async throws -> String { try await forms.newKey(for: entry.form) }

    func send(
      _ key: String, who: String = "Ada", link: String? = nil, from address: String = "a", isOfRobot: Bool = false
    ) async -> FormInbox.Answer {
      await host.schedules.receive(
        FormInbox.Sent(
          values: ValueMap([("who", .string(who))]), key: key, link: link, address: address, isOfRobot: isOfRobot),
        to: entry)
    }

    /// The outcomes of the ledger, once as many are there.
    func rows(reaching count: Int) async throws -> [SlotOutcome] {
      while true {
        let rows = try await host.agent.store.slots(SlotQuery(limit: .max))
        if rows.count >= count || Task.isCancelled { return rows.map(\.outcome) }
        await Task.yield()
      }
    }
  }

  private static func number(of key: String) -> String {
    key.split(separator: ".").dropFirst().first.map { String($0) } ?? ""
  }

  @Test func `a page is sent once, and a second click shows the same again`() async throws {
    let bench = try await Bench(Self.recipe("public"))
    let key = try await bench.key()
    let done = FormInbox.Answer.done("Thank you, Ada. Your number is rooms:\(Self.number(of: key)).")
    let answers = await withTaskGroup(of: FormInbox.Answer.self) { group in
      for _ in 0..<5 { group.addTask { await bench.send(key) } }
      return await group.reduce(into: []) { $0.append($1) }
    }
    #expect(answers == Array(repeating: done, count: 5))
    #expect(await bench.send(key, who: "Bob") == .keyIsUsed)
    #expect(try await bench.rows(reaching: 1) == [.started])
    let event = try #require(await bench.host.agent.store.event("rooms:\(Self.number(of: key))"))
    #expect(event.delivery?.schedule == "request" && event.consumedBy == "request")
    // A clock that moves on doesn't make it new.
    bench.host.time.advance(by: .seconds(3600))
    #expect(await bench.send(key) == done)
    #expect(try await bench.rows(reaching: 1).count == 1)
  }

  @Test func `a key is of its form and of its day`() async throws {
    let bench = try await Bench(Self.recipe("public"))
    let key = try await bench.key()
    var changed = key
    changed.removeLast()
    changed.append(key.last == "0" ? "1" : "0")
    let parts = key.split(separator: ".", omittingEmptySubsequences: false)
    let later = (["\((Int(parts[0]) ?? 0) + 60)"] + parts.dropFirst().map { String($0) }).joined(separator: ".")
    var other = bench.entry.form
    other.path = "other"
    let foreign = try await bench.forms.newKey(for: other)
    for key in [changed, later, foreign, "", ".", "..", "1.2.3", String(repeating: "1.", count: 500)] {
      #expect(await bench.send(key) == .keyIsOld, "\(key)")
    }
    let link = try await bench.forms.newLink(
      to: bench.entry.form, uses: 1, until: try #require(bench.host.time.now().advanced(by: .seconds(60))))
    #expect(await bench.send(link) == .keyIsOld)
    bench.host.time.advance(by: FormKey.lifetime)
    #expect(await bench.send(key) == .keyIsOld)
    #expect(try await bench.rows(reaching: 0).isEmpty)
  }

  @Test func `a robot is thanked, and nothing is kept`() async throws {
    let bench = try await Bench(Self.recipe("public"))
    let key = try await bench.key()
    let thanks = await bench.send(key, isOfRobot: true)
    #expect(thanks == .done("Thank you, Ada. Your number is rooms:\(Self.number(of: key))."))
    #expect(await bench.host.agent.store.events(EventQuery()).isEmpty)
    #expect(try await bench.rows(reaching: 0).isEmpty)
  }

  @Test func `an address and all together have their limits`() async throws {
    let bench = try await Bench(Self.recipe("public", "      limit: { requests: 3, per: 10m, perDay: 5 }"))
    func send(from address: String) async throws -> FormInbox.Answer {
      await bench.send(try await bench.key(), from: address)
    }
    func isDone(_ answer: FormInbox.Answer) -> Bool { if case .done = answer { true } else { false } }
    for _ in 0..<3 { #expect(isDone(try await send(from: "a"))) }
    bench.host.time.advance(by: .seconds(60))
    #expect(try await send(from: "a") == .tooMany(.seconds(540)))
    // A second click isn't another form.
    let key = try await bench.key()
    for address in ["b", "a"] { #expect(isDone(await bench.send(key, from: address))) }
    #expect(isDone(try await send(from: "c")))
    // Five were sent that day.
    let day = TimeSpan.seconds(86_400)
    #expect(try await send(from: "d") == .tooMany(day - .seconds(60)))
    bench.host.time.advance(by: day - .seconds(60))
    #expect(isDone(try await send(from: "a")))
    #expect(try await bench.rows(reaching: 6).count == 6)
  }

  @Test func `a link is for its form, its uses and its time`() async throws {
    let bench = try await Bench(Self.recipe("link"))
    let until = try #require(bench.host.time.now().advanced(by: .seconds(3600)))
    let link = try await bench.forms.newLink(to: bench.entry.form, uses: 2, until: until)
    let key = try await bench.key()
    for text in [nil, "", "x", key, link + "0", link.replacing(".2.", with: ".9.")] {
      #expect(await bench.send(key, link: text) == .linkIsUsed, "\(text ?? "none")")
    }
    var keys = [key]
    for _ in 0..<2 { keys.append(try await bench.key()) }
    for key in keys.prefix(2) {
      let done = FormInbox.Answer.done("Thank you, Ada. Your number is rooms:\(Self.number(of: key)).")
      #expect(await bench.send(key, link: link) == done)
      // A second click uses nothing up.
      #expect(await bench.send(key, link: link) == done)
    }
    #expect(await bench.send(keys[2], link: link) == .linkIsUsed)
    let other = try await bench.forms.newLink(to: bench.entry.form, uses: 1, until: until)
    #expect(try await bench.forms.isLink(other, to: bench.entry.form))
    bench.host.time.advance(by: .seconds(3600))
    #expect(try await !bench.forms.isLink(other, to: bench.entry.form))
    #expect(await bench.send(keys[2], link: other) == .linkIsUsed)
    #expect(try await bench.rows(reaching: 2).count == 2)
  }

  @Test func `a paused form is closed, and one that doesn't match has a row`() async throws {
    let bench = try await Bench(Self.recipe("public", "      match: event.data.who != 'Mallory'"))
    #expect(await !bench.forms.isClosed(bench.entry))
    let key = try await bench.key()
    #expect(
      await bench.send(key, who: "Mallory")
        == .done("Thank you, Mallory. Your number is rooms:\(Self.number(of: key))."))
    #expect(try await bench.rows(reaching: 1) == [.unmatched])
    _ = try await bench.host.schedules.pause("request", note: "Holidays.")
    #expect(await bench.forms.isClosed(bench.entry))
    _ = try await bench.host.schedules.resume("request")
    #expect(await !bench.forms.isClosed(bench.entry))
  }

  @Test func `a form without any value starts a run`() async throws {
    let recipe =
      "on: [{ form: { path: rooms, open: public, fields: { note: \"string?\" } } }]\nsteps: [{ let: { x: 1 } }]\n"
    let bench = try await Bench(recipe)
    let answer = await bench.host.schedules.receive(
      FormInbox.Sent(values: ValueMap(), key: try await bench.key(), link: nil, address: "a", isOfRobot: false),
      to: bench.entry)
    #expect(answer == .done("Thank you. Your form was received."))
    #expect(try await bench.rows(reaching: 1) == [.started])
  }

  @Test func `the fields of a form are read by their types`() async throws {
    let bench = try await Bench(Self.recipe("public"))
    let form = bench.entry.form
    let (values, faults) = form.values(from: ["who": "Ada", "day": "2026-12-01"])
    #expect(faults.isEmpty && values["who"] == .string("Ada") && values["day"] == .string("2026-12-01"))
    // One that may be left out is absent.
    #expect(form.values(from: ["who": "Ada"]).values == ValueMap([("who", .string("Ada"))]))
    let wrong = form.values(from: ["day": "soon", "who": String(repeating: "x", count: 81)]).faults
    #expect(wrong.map(\.name) == ["day", "who"])
    #expect(form.values(from: [:]).faults.map(\.fault.message) == ["field 'who' (string) is missing"])
  }
}
