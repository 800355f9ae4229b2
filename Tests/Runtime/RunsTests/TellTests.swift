import ActionKit
import Basics
import RunState
import Synchronization
import Testing

@testable import Runs

/// Telling people of a question: the steps of `tell`, and the links that they send.
@Suite struct TellTests {
  static func recipe(_ tell: String, _ more: String = "") -> String {
    """
    summary: Sends letters.
    steps:
      - id: ask
        approve:
          prompt: Send 3 letters?
          by: [ana, ben]
          yes: Sends them.
          timeout: 2d\(more)
          tell:
    \(tell)
      - { id: send, uses: bench.put, with: { name: send } }
      - { uses: bench.put, with: { name: "over ${{ steps.ask.via }}" } }
    """
  }

  static let links = """
            - forEach: ${{ question.links }}
              as: person
              steps:
                - { uses: bench.put, with: { name: "${{ person.name }} ${{ person.link }}" } }
    """
  private static func bench(_ recipe: String, dyingAt point: CrashingStore.Point? = nil) throws -> Bench {
    let bench = try Bench(recipe, dyingAt: point, base: "https://errand.example")
    // No days pass while people are told.
    bench.time.long.withLock { $0 = WaitRegistry.suspendThreshold }
    return bench
  }

  /// The text of a link in the name of a call.
  private static func link(in name: String) -> String? {
    name.contains(" https://errand.example/d/") ? name.split(separator: "/").last.map { String($0) } : nil
  }

  @Test func `each person gets a link once the question is on disk, and no record has its text`() async throws {
    let bench = try Self.bench(Self.recipe(Self.links))
    let run = try await bench.run()
    #expect(run.status == .waiting)
    #expect(bench.service.names.map { $0.prefix { $0 != " " } } == ["ana", "ben"])
    let texts = try bench.service.names.map { try #require(Self.link(in: $0)) }
    #expect(texts.allSatisfy { $0.hasPrefix("edl_") && $0.utf8.count == 36 } && texts[0] != texts[1])
    let question = try #require(run.steps["ask"]?.wait?.question)
    #expect(question.links.map(\.name) == ["ana", "ben"])
    #expect(try question.links.map(\.sha256) == texts.map { try LinkKey.digest(of: $0) })
    #expect(question.links.map(\.until) == [run.steps["ask"]?.wait?.wakeAt, run.steps["ask"]?.wait?.wakeAt])
    #expect(question.yes == "Sends them." && question.no == nil && question.summary == "Sends letters.")
    #expect(question.next == ["send (bench.put)", "bench.put"])
    for (text, name) in zip(texts, ["ana", "ben"]) {
      #expect(try await bench.store.right(of: text)?.name == name)
      #expect(try await bench.store.right(of: String(text.dropLast()) + (text.hasSuffix("A") ? "B" : "A")) == nil)
    }
    let asked = bench.store.events.firstIndex { $0.word == "stepWaits" }
    let told = bench.store.events.firstIndex { event in
      if case .stepBegan(let began) = event { began.step.hasPrefix("ask/#tell/") } else { false }
    }
    #expect(try #require(asked) < #require(told))
    for event in bench.store.events {
      let kept = try JSON.text(event.encoded())
      #expect(!texts.contains(where: kept.contains), "\(kept)")
    }
    try await bench.decide("ask", true)
    let ended = try await bench.resume()
    #expect(ended.status == .succeeded && bench.service.names.suffix(2) == ["send", "over command"])
  }

  @Test func `whenever the program dies, the same links are sent and one decision is made`() async throws {
    var deaths = 0
    for append in 1...12 {
      for isAfter in [false, true] {
        let bench = try Self.bench(Self.recipe(Self.links), dyingAt: .init(append: append, isAfter: isAfter))
        do {
          #expect(try await bench.run().status == .waiting)
        } catch {
          #expect(error as? StateError == CrashingStore.death)
          deaths += 1
          #expect(try await bench.resume().status == .waiting)
        }
        var isDecided = true
        do { try await bench.decide("ask", true) } catch {
          #expect(error as? StateError == CrashingStore.death)
          deaths += 1
          isDecided = isAfter
        }
        var run = try await bench.resume()
        if !isDecided {
          #expect(run.status == .waiting)
          try await bench.decide("ask", true)
          run = try await bench.resume()
        }
        #expect(run.status == .succeeded)
        let sent = Set(bench.service.names.compactMap(Self.link))
        #expect(sent.count == 2, "\(append) \(isAfter): \(bench.service.names)")
        for link in sent { #expect(try await bench.store.right(of: link)?.step == "ask") }
        #expect(bench.service.done["send"] == 1)
      }
    }
    #expect(deaths > 8)
  }

  @Test func `a decision that comes meanwhile counts, and the step ends when all are told`() async throws {
    let bench = try Self.bench(
      Self.recipe("        - { id: mail, uses: bench.put, with: { name: mail } }"))
    let (arrived, release) = (Latch(), Latch())
    bench.service.script("mail", .gated(arrived: arrived, release: release))
    try await bench.create()
    let engine = try bench.engine()
    async let walk = engine.run()
    await arrived.wait()
    let asking = try #require(bench.store.run("r1")?.steps["ask"])
    #expect(asking.asksPerson)
    try await bench.decide("ask", true)
    engine.poke()
    // It is recorded, and the step isn't over.
    #expect(bench.store.run("r1")?.steps["ask"]?.decision?.by == "ana")
    #expect(bench.store.run("r1")?.steps["ask"]?.status == .waiting)
    #expect(bench.service.done["send"] == nil)
    release.open()
    #expect(try await walk.status == .succeeded)
    #expect(bench.service.done["send"] == 1)
  }

  @Test func `a run whose question is decided waits for the steps that tell of it`() async throws {
    let bench = try Self.bench(
      Self.recipe("        - { wait: 30m }\n        - { uses: bench.put, with: { name: mail } }"))
    var run = try await bench.run()
    let start = bench.time.now()
    #expect(run.status == .waiting && run.wakeAt == start.advanced(by: .seconds(1800)))
    try await bench.decide("ask", true)
    #expect(try bench.record.hasUnseenDecision == false && bench.record.rests)
    run = try await bench.resume()
    #expect(run.status == .waiting && bench.service.names == [])
    bench.time.advance(by: .seconds(1800))
    run = try await bench.resume()
    #expect(run.status == .succeeded && bench.service.names == ["mail", "send", "over command"])
  }

  @Test(arguments: [false, true])
  func `if people cannot be told, the question is withdrawn and the step fails`(isHandled: Bool) async throws {
    let recipe = Self.recipe("        - { id: mail, uses: bench.post, with: { name: mail } }")
    let bench = try Self.bench(
      isHandled
        ? recipe.replacing("  - { id: send", with: "    onError: continue\n  - { id: send")
          .replacing("over ${{ steps.ask.via }}", with: "over") : recipe)
    bench.service.script("mail", .fail(ActionError(.validation, "no such mailbox", effect: ActionError.Effect.none)))
    let run = try await bench.run()
    #expect(run.status == (isHandled ? .succeeded : .failed))
    let step = try #require(run.steps["ask"])
    #expect(step.status == .failed && step.error?.message == "no such mailbox" && !step.asksPerson)
    #expect(step.error?.step == "ask/#tell/mail")
    #expect(bench.service.names == ["mail"] + (isHandled ? ["send", "over"] : []))
  }

  @Test func `a rejection that comes meanwhile ends the run when all are told`() async throws {
    let bench = try Self.bench(Self.recipe("        - { id: mail, uses: bench.post, with: { name: mail } }"))
    let (arrived, release) = (Latch(), Latch())
    bench.service.script("mail", .gated(arrived: arrived, release: release))
    try await bench.create()
    let engine = try bench.engine()
    async let walk = engine.run()
    await arrived.wait()
    try await bench.decide("ask", false)
    engine.poke()
    release.open()
    let run = try await walk
    #expect(run.status == .rejected && run.error?.message == "'ask' was rejected by ana")
    #expect(run.steps["ask"]?.isRejected == true)
  }

  @Test func `a step in tell waits an hour at most`() async throws {
    let bench = try Self.bench(
      Self.recipe("        - { wait: { until: \"now + duration('2h')\" } }"))
    let run = try await bench.run()
    #expect(run.status == .failed && run.error?.message == "a step in 'tell' waits at most 1h")
  }

  @Test func `links need an address, which a sandbox makes up`() async throws {
    let bench = try Bench(Self.recipe(Self.links))
    let run = try await bench.run()
    #expect(run.status == .failed && run.error?.kind == .configuration)
    #expect(
      run.error?.message
        == "a link to the question needs an address; add to errand.yaml: server: { listen: 127.0.0.1:7373 }")
  }

  @Test func `a plan shows what would be told`() async throws {
    let bench = try Self.bench(Self.recipe(Self.links))
    let plan = try await bench.plan()
    let lines = plan.entries.map { "\($0)" }.joined(separator: "\n")
    #expect(lines.contains("would ask ana, ben: Send 3 letters? (assumed approved)"))
    #expect(bench.service.names == [])
  }

  @Test func `the first decision counts, and none after the end of the step`() async throws {
    let bench = try Self.bench(ApprovalTests.recipe(""))
    _ = try await bench.run()
    try await bench.decide("ask", true, comment: "first")
    try await bench.decide("ask", false, comment: "second")
    #expect(bench.store.run("r1")?.steps["ask"]?.decision?.comment == "first")
    let run = try await bench.resume()
    #expect(run.status == .succeeded)
  }
}
