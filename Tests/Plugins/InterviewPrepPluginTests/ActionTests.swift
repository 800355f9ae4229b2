import ActionKit
import ActionTestKit
import SandboxKit
import Synchronization
import Testing

@testable import InterviewPrepPlugin

private let catalog = ActionCatalog([InterviewPrepPlugin.self])
private let profile =
  #"{"name":"Jo","stage":"Recent Grad","targetRole":"iOS","timeBudgetHoursPerDay":2,"availableDays":["Mon","Wed"]}"#

/// Runs an action with its input as JSON.
private func run(_ name: String, _ input: String, on client: InterviewPrepClient) async throws -> Value {
  let action = try #require(catalog.action("interviewPrep.\(name)"))
  let value = try JSON.parse(input)
  #expect(action.input.check(value, as: "with").map(\.message) == [])
  let output = try await action.run(value, on: client, in: .testing(step: name))
  #expect(action.output.check(output, as: "output").map(\.message) == [])
  return output
}

@Suite struct ActionTests {
  @Test func `is well formed`() { expectWellFormed(InterviewPrepPlugin.self) }

  @Test func `runs its examples in the sandbox`() async { await expectExamplesRun(of: InterviewPrepPlugin.self) }

  @Test func `has the seed's delays for what is paid, and one try for a look`() throws {
    for name in ["generateRoutine", "generatePrep", "reroll"] {
      let action = try #require(catalog.action("interviewPrep.\(name)"))
      #expect(action.effect == .consume(repeats: 4))
      #expect(action.retry?.maxAttempts == 4)
      #expect(action.retry?.delays == .listed([.milliseconds(200), .milliseconds(500), .seconds(1)]))
      #expect(action.retry?.jitter == RetrySchedule.Jitter.none)
      #expect(action.retry?.kinds == [.timeout, .network, .server])
    }
    #expect(catalog.action("interviewPrep.health")?.retry?.maxAttempts == 1)
    var configuration = InterviewPrepPlugin.Configuration()
    configuration.maxPaidCalls = 3
    #expect(configuration.requestTimeout == .seconds(15))
    #expect(configuration.healthTimeout == .seconds(5))
    #expect(configuration.baseURL == "http://localhost:8081")
  }

  @Test func `a routine is a plan, and its days with dates`() async throws {
    try await withBackend { sandbox, _ in
      let output = try await run("generateRoutine", #"{"profile":\#(profile)}"#, on: client(sandbox.baseURL))
      #expect(output["canned"]?.bool == false)
      let days = try #require(output["days"]?.list)
      #expect(days.compactMap { $0["date"]?.string }.first == "2026-11-16")
      #expect(days.map { $0["tasks"]?.list?.count } == [2, 0, 2, 0, 0, 0, 0])
      #expect(output["plan"]?["weekOf"]?.string == "2026-11-16")
    }
  }

  @Test(arguments: [
    ("generateRoutine", #"{"profile":\#(profile)}"#), ("generatePrep", #"{"profile":\#(profile)}"#),
    ("reroll", nil),
  ])
  func `a ready-made answer fails, unless the recipe takes it`(_ name: String, _ input: String?) async throws {
    try await withBackend { sandbox, _ in
      let service = client(sandbox.baseURL)
      var given = input
      if given == nil {
        let made = try await run("generateRoutine", #"{"profile":\#(profile)}"#, on: service)
        let plan = try JSON.text(try #require(made["plan"]))
        given = #"{"section":"resources","profile":\#(profile),"plan":\#(plan)}"#
      }
      let input = try #require(given)
      sandbox.backend.state.withLock { $0.failures = 2 }
      let error = await #expect(throws: ActionError.self) { _ = try await run(name, input, on: service) }
      #expect(
        error?.message == "The backend could not make anything. It gave a ready-made answer, or the one that it was "
          + "sent, as it does when its language model fails or is late. Try later, or take such answers with 'onCanned: "
          + "keep'. The call may have been paid.")
      #expect(error?.kind == .server)
      #expect(error?.retryable == false)
      #expect(try await run(name, input.dropLast() + #","onCanned":"keep"}"#, on: service)["canned"]?.bool == true)
      #expect(try await run(name, input, on: service)["canned"]?.bool == false)
    }
  }

  @Test func `says whether the backend is well, and why not`() async throws {
    try await withBackend { sandbox, _ in
      let service = client(sandbox.baseURL)
      #expect(try await run("health", "{}", on: service) == .object(["healthy": .bool(true)]))
      sandbox.server.add(ServiceFault(.status))
      let output = try await run("health", "{}", on: service)
      #expect(output["healthy"]?.bool == false)
      #expect(
        output["reason"]?.string?.replacing(sandbox.baseURL, with: "URL")
          == "Server issue. Please try again shortly. GET URL/health was answered with HTTP status 503.")
      #expect(sandbox.server.count("/health") == 2)
    }
    let gone = try await run("health", "{}", on: client("http://127.0.0.1:9"))
    #expect(gone["healthy"]?.bool == false)
    await #expect(throws: ActionError.self) { _ = try await run("health", "{}", on: client("nowhere")) }
  }
}
