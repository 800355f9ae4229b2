import ActionKit
import Agent
import Basics
import Operations
import RunState
import Runs
import Testing

@testable import Simulator

/// Half of the requests of simulated people are encoded, and what the coding loses is found.
@Suite struct SimulatedClientTests {
  private static let start = Timestamp(seconds: 1_795_167_000) ?? .earliest

  /// The fault that is found when a person asks for the same thing many times.
  private static func fault(ofAsking operation: some Operation) async -> String? {
    await SimulatedThread.run(seed: 1) { thread -> String in
      let services = SimulatedServices(seed: 1, on: thread, at: start)
      services.start()
      guard let client = services.program?.client else { return "no program" }
      _ = services.perform("ask") {
        for _ in 0..<20 { _ = try? await client.perform(operation) }
      }
      return services.audit.fault ?? "no fault"
    }
  }

  @Test func `an answer that loses something is found`() async throws {
    let fault = await SimulatedClientTests.fault(ofAsking: Count.with { $0.last = 7 })
    #expect(try #require(fault) == #"the answer to 'count' is read as {"counted":0}, and is {"counted":7}"#)
  }

  @Test func `a request that loses something is found`() async throws {
    let fault = await SimulatedClientTests.fault(ofAsking: Whisper.with { $0.word = Faint(text: "one") })
    #expect(try #require(fault) == #"the request 'whisper' is read as {"word":""}, and is {"word":"one"}"#)
  }

  @Test func `half of the refusals come with texts that are safe for terminals`() async throws {
    let messages = await SimulatedThread.run(seed: 1) { thread -> [String] in
      let services = SimulatedServices(seed: 1, on: thread, at: SimulatedClientTests.start)
      services.start()
      guard let client = services.program?.client else { return ["no program"] }
      let messages = services.perform("ask") { () async -> Set<String> in
        var messages: Set<String> = []
        for _ in 0..<20 {
          do throws(RequestRefusedError) {
            _ = try await client.perform(ShowRun.with { $0.run = "\u{1B}[2J" })
          } catch {
            messages.insert(error.message)
          }
        }
        return messages
      }
      services.stop()
      return Array(messages ?? []) + [services.audit.fault ?? "no fault"]
    }
    let found = try #require(messages)
    let raw = try #require(found.first { $0.unicodeScalars.contains("\u{1B}") })
    #expect(Set(found) == [raw, raw.safeText(), "no fault"])
  }

  @Test(arguments: 0..<10 as Range<UInt64>)
  func `a run that a person begins and follows comes to its end`(seed: UInt64) async throws {
    let story = await SimulatedThread.run(seed: seed) { thread -> [String] in
      let services = SimulatedServices(seed: seed, on: thread, at: SimulatedClientTests.start)
      services.serve("r", "recipe: r\nsteps: [{ wait: 2s }, { uses: sim.put }]\n")
      services.start()
      guard let client = services.program?.client, let created = services.newRun(of: "r", id: "r1") else {
        return ["no program"]
      }
      let accepted = services.perform("begin") {
        (try? await client.perform(SubmitRun.with { $0.run = Stored(created) }))?.run ?? "none"
      }
      _ = services.perform("follow") { await client.follow("r1") }
      services.settle()
      services.stop()
      let end = services.audit.ended["r1"]?.status.rawValue
      return [accepted ?? "nothing", end ?? "open", services.audit.fault ?? "no fault"]
    }
    #expect(try #require(story) == ["r1", "succeeded", "no fault"])
  }

  @Test(arguments: 0..<20 as Range<UInt64>)
  func `a run whose steps are resolved at once goes on, though nobody resumes it`(seed: UInt64) async throws {
    let story = await SimulatedThread.run(seed: seed) { thread -> [String] in
      let services = SimulatedServices(seed: seed, on: thread, at: SimulatedClientTests.start)
      let branches = ["left", "middle", "right"].map { "\($0): [{ uses: sim.post }]" }.joined(separator: ", ")
      services.serve("r", "recipe: r\nsteps: [{ id: all, parallel: { \(branches) } }]\n")
      services.start()
      guard let program = services.program, let created = services.newRun(of: "r", id: "r1") else {
        return ["no program"]
      }
      services.service.mood = .losing
      _ = services.perform("begin") {
        _ = try? await program.client.perform(SubmitRun.with { $0.run = Stored(created) })
      }
      services.settle()
      services.service.mood = .healthy
      let before = program.store.run("r1")?.status.rawValue ?? "ended"
      for _ in 0..<10 {
        for step in program.store.run("r1")?.uncertainSteps ?? [] {
          let resolution = ResolveStep.with {
            $0.run = "r1"
            $0.step = step.path
            $0.as = Word(.fail)
          }
          // Ends when the run continues.
          Task { _ = try? await program.client.perform(resolution) }
        }
        services.settle()
      }
      services.stop()
      let end = services.audit.ended["r1"]?.status.rawValue
      return [before, end ?? "open", services.audit.fault ?? "no fault"]
    }
    #expect(try #require(story) == ["uncertain", "failed", "no fault"])
  }
}

// MARK: - Operations that lose something

/// Its answer is read as another one.
private struct Count: Operation {
  static let name = "count"
  static let summary = "Counts up to a number."
  static let scopes = Scopes.token(.read)

  @Field("The last number.") var last = 0

  init() {}

  var target: Void { () }

  struct Answer: UnlimitedAnswer {
    var counted: Int

    init(counted: Int) { self.counted = counted }
    init(reading value: Value) throws(RecordError) { counted = 0 }
    func exact() async throws(RequestRefusedError) -> Value { .object(["counted": .int(counted)]) }
  }

  func run(on _: Anyone, in agent: AgentParts, for caller: AgentCaller) async throws(RequestRefusedError) -> Answer {
    Answer(counted: last)
  }

  static func view(_ answer: Answer, for caller: AgentCaller) -> NoContent { NoContent() }
}

/// Its input is read as another one.
private struct Whisper: Operation {
  static let name = "whisper"
  static let summary = "Hears a word."
  static let scopes = Scopes.token(.read)

  @Field("The word.") var word: Faint

  init() {}

  var target: Void { () }

  func run(
    on _: Anyone, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> AcceptedRun { AcceptedRun(run: "r1", isServing: true) }
}

/// A word that gets lost when it is read.
private struct Faint: FieldValue {
  var text: String

  static var fieldType: FieldType { .dyn }

  init(text: String) { self.text = text }
  init(reading value: Value) throws(ValueError) { text = "" }
  func encoded() -> Value { .string(text) }
}
