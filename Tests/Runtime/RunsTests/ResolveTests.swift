import ActionKit
import Basics
import Recipes
import RunState
import Testing

@testable import Runs

@Suite struct ResolveTests {
  private func uncertain(onError: String = "") async throws -> Bench {
    let bench = try Bench(
      """
      steps:
        - id: block
          steps:
            - { id: a, uses: bench.post, with: { name: a }\(onError) }
        - { id: b, uses: bench.read, with: { name: b } }
      outputs: { a: "${{ has(steps.block.a) ? steps.block.a.value : -1 }}" }
      finally:
        - { uses: bench.read, with: { name: over } }
      """)
    bench.service.script("a", .doneThenFail(TryTests.lost))
    let run = try await bench.run()
    #expect(run.status == .uncertain)
    #expect(run.reason == "'block/a': bench.post may or may not have been done: the answer is lost")
    #expect(bench.service.names == ["a"])
    return bench
  }

  @Test func `done gives the step its output, and the run goes on`() async throws {
    let bench = try await uncertain(onError: ", onError: continue")
    let run = try await bench.resolve("block/a", as: .done(.object(["name": .string("a"), "value": .int(5)])))
    #expect(run.status == .queued)
    #expect(run.steps["block/a"]?.status == .succeeded)
    #expect(try await bench.resume().outputText == #"{"a":5}"#)
    #expect(bench.service.names == ["a", "b", "over"])
  }

  @Test func `retry begins the step anew, with its key`() async throws {
    let bench = try await uncertain(onError: ", onError: continue")
    _ = try await bench.resolve("block/a", as: .retry)
    let run = try await bench.resume()
    #expect(run.status == .succeeded)
    #expect(bench.service.names == ["a", "a", "b", "over"])
    #expect(bench.service.calls[0] == bench.service.calls[1])
  }

  @Test func `fail is a failure like any other`() async throws {
    let bench = try await uncertain(
      onError: ", onError: [{ uses: bench.read, with: { name: \"${{ error.message }}\" } }]")
    _ = try await bench.resolve("block/a", as: .fail("it is not there"))
    let run = try await bench.resume()
    #expect(run.status == .succeeded)
    #expect(run.outputText == #"{"a":-1}"#)
    #expect(bench.service.names == ["a", "it is not there", "b", "over"])
    #expect(run.steps["block/a"]?.error?.kind == .network)
  }

  @Test func `fail without a handler ends the run`() async throws {
    let bench = try await uncertain(onError: ", onError: continue".replacing("continue", with: "continue"))
    _ = try await bench.resolve("block/a", as: .fail(nil))
    let run = try await bench.resume()
    #expect(run.status == .succeeded)
    #expect(
      run.steps["block/a"]?.error?.message
        == "resolved as failed: bench.post may or may not have been done: the answer is lost")
  }

  struct Refusal: Sendable {
    var path: String
    var resolution: Resolution
    var message: String
  }

  @Test(arguments: [
    Refusal(
      path: "block/a", resolution: .done(nil),
      message:
        "bench.post has an output that later steps may read, so 'done' needs it; fill in: --done --output '{\"name\":\"…\",\"value\":\"0…\"}'"
    ),
    Refusal(
      path: "block/a", resolution: .done(.object(["name": .string("a"), "value": .string("5")])),
      message:
        "bench.post gives a different output: 'output.value' must be an int, but found a string; write it without quotes, 5"
    ),
    Refusal(
      path: "block/a", resolution: .done(.object(["name": .string("…"), "value": .int(5)])),
      message: "'output.name' is still to be filled in, with what bench.post gave"),
    Refusal(
      path: "block/b", resolution: .retry,
      message: "no step 'block/b' of the run is uncertain; did you mean 'block/a'?"),
    Refusal(
      path: "somewhere", resolution: .retry,
      message: "no step 'somewhere' of the run is uncertain; these are: block/a"),
  ])
  func `what does not fit is refused, and nothing changes`(refusal: Refusal) async throws {
    let bench = try await uncertain(onError: ", onError: continue")
    let before = try bench.record
    do {
      _ = try await bench.resolve(refusal.path, as: refusal.resolution)
      Issue.record("it was taken")
    } catch let fault as ResolutionError {
      #expect(fault.message == refusal.message)
    }
    #expect(try bench.record == before)
  }

  @Test func `a run that is not uncertain has nothing to resolve`() async throws {
    let bench = try Bench("steps:\n  - { id: a, uses: bench.read, with: { name: a } }")
    try await bench.create()
    await #expect(throws: ResolutionError.self) { try await bench.resolve("a", as: .retry) }
  }

  static let places = """
    steps:
      - id: each
        forEach: "[1]"
        steps:
          - parallel:
              left:
                - { id: l, uses: bench.read, with: { name: l }, onError: [{ id: h, uses: bench.read, with: { name: h } }] }
      - { call: sub.yaml, with: { n: 1 } }
    finally:
      - { uses: bench.read, with: { name: last } }
    """

  @Test(arguments: [
    ("each[0]/#1/left/l", "l"), ("each[0]~2/#1/left/l!/h", "h"), ("#2/a", "a"), ("#2/#finally/#1", "#1"),
    ("#finally/#1", "#1"), ("#finally/nothing", nil), ("each[0]/l", nil), ("each/#1", "#1"),
  ])
  func `a path of the records leads to its step`(path: String, element: String?) throws {
    let bench = try Bench(ResolveTests.places, calling: ["sub.yaml": WholeRecipeTests.sub])
    #expect(bench.recipe.step(at: path)?.element == element)
  }
}
