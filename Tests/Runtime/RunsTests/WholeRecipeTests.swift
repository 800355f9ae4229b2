import ActionKit
import Basics
import RunState
import Testing

@testable import Runs

/// A recipe with everything in it, whose program dies before and after each append in turn.
@Suite struct WholeRecipeTests {
  static let recipe = """
    steps:
      - { id: book, uses: bench.read, with: { name: book, value: 3 } }
      - let: { begun: "${{ now }}", n: "${{ steps.book.value }}" }
      - { id: skipped, if: n > 3, uses: bench.post, with: { name: never } }
      - id: each
        forEach: "[1, 2, 3, 4]"
        maxParallel: 2
        onItemError: continue
        steps:
          - { id: look, uses: bench.postLooked, with: { name: "looked ${{ item }}", value: "${{ item * n }}" } }
          - { id: put, uses: bench.put, with: { name: "put ${{ item }}", value: "${{ steps.look.value }}" } }
          - if: item == 3
            fail: three is refused
      - id: fan
        parallel:
          left:
            - { id: l, uses: bench.postKeyed, key: "key", with: { name: l, value: 5 }, retry: { initial: 1s } }
          right:
            - { id: r, uses: bench.readPatiently, with: { name: r, value: 6 } }
            - { id: s, uses: bench.compute, with: { name: s, value: 7 } }
      - id: block
        retry: { maxAttempts: 2, initial: 1s, on: [conflict] }
        steps:
          - { uses: bench.put, with: { name: in block } }
          - { id: tried, uses: bench.read, with: { name: tried, value: 8 } }
        outputs: { tried: "${{ steps.tried.value }}" }
      - id: plain
        uses: bench.post
        with: { name: plain, value: 9 }
      - id: caught
        uses: bench.read
        with: { name: caught }
        onError:
          - { uses: bench.postLooked, with: { name: "caught ${{ error.kind }}" } }
      - { id: sub, call: sub.yaml, with: { n: 2 } }
    outputs:
      each: "${{ steps.each.map(e, has(e.output) ? e.output.put.value : -1) }}"
      fan: "${{ steps.fan.left.l.value + steps.fan.right.r.value + steps.fan.right.s.value }}"
      tried: "${{ steps.block.tried }}"
      plain: "${{ steps.plain.value }}"
      sub: "${{ steps.sub.twice }}"
      late: "${{ now >= begun }}"
    finally:
      - { uses: bench.postLooked, with: { name: over } }
    """

  static let sub = """
    recipe: sub
    inputs: { n: int }
    steps:
      - { id: a, uses: bench.put, with: { name: sub, value: "${{ inputs.n * 2 }}" } }
    outputs: { twice: "${{ steps.a.value }}" }
    finally:
      - { uses: bench.put, with: { name: sub over } }
    """

  static let outputs = #"{"each":[3,6,-1,12],"fan":18,"tried":8,"plain":9,"sub":4,"late":true}"#
  /// The writes that may be done only once.
  static let writes = [
    "looked 1", "looked 2", "looked 3", "looked 4", "l", "plain", "caught conflict", "over",
  ]

  private static func bench() throws -> Bench {
    let bench = try Bench(recipe, calling: ["sub.yaml": sub])
    bench.service.script("r", .fail(TryTests.lost))
    bench.service.script("tried", .fail(WalkTests.refusal))
    bench.service.script("caught", .fail(WalkTests.refusal), .fail(WalkTests.refusal), .fail(WalkTests.refusal))
    return bench
  }

  @Test func `the recipe gives its outputs, whenever its program dies`() async throws {
    let undisturbed = try WholeRecipeTests.bench()
    let run = try await undisturbed.run()
    #expect(run.status == .succeeded, "\(run.error?.message ?? run.reason ?? "")")
    #expect(run.outputText == WholeRecipeTests.outputs)
    let count = undisturbed.store.appends
    #expect(count > 20)
    for append in 1...count {
      for isAfter in [false, true] {
        try await dies(at: CrashingStore.Point(append: append, isAfter: isAfter), undisturbed)
      }
    }
  }

  private func dies(at point: CrashingStore.Point, _ undisturbed: Bench) async throws {
    let comment: Comment = "dies \(point)"
    let bench = try WholeRecipeTests.bench()
    bench.restart(dyingAt: point)
    var run: RunRecord?
    do { run = try await bench.run() } catch { #expect(error as? StateError == CrashingStore.death, comment) }
    if run == nil, let ended = bench.store.state.ended.last {
      // It died when all was kept.
      run = ended
    } else if run == nil {
      let kept = try bench.record
      run = try await bench.resume()
      // An ended step is unchanged: it wasn't begun again, and it has the same output and instant.
      let after = try #require(run)
      for step in kept.stepsInOrder where step.status.isEnded { #expect(after.steps[step.path] == step, comment) }
      for step in kept.stepsInOrder { #expect(after.steps[step.path]?.now == step.now, comment) }
    }
    if run?.status == .uncertain {
      // The one plain write: a person looks, and resolves it.
      #expect(run?.uncertainSteps.map(\.path) == ["plain"], comment)
      let output = Value.object(["name": .string("plain"), "value": .int(9)])
      _ = try await bench.resolve("plain", as: bench.service.count(of: "plain") == 1 ? .done(output) : .retry)
      run = try await bench.resume()
    }
    let end = try #require(run)
    #expect(end.status == .succeeded, "\(comment): \(end.error?.message ?? end.reason ?? "")")
    #expect(end.outputText == WholeRecipeTests.outputs, comment)
    for name in WholeRecipeTests.writes { #expect(bench.service.count(of: name) == 1, "\(comment): \(name)") }
    #expect(Set(bench.service.done.keys) == Set(undisturbed.service.done.keys), comment)
    // Only calls that were in flight are repeated.
    #expect(bench.service.calls.count <= undisturbed.service.calls.count + 2, comment)
    // A call that failed once may succeed after a restart, so the block's second try may not be needed.
    let paths = [end, try undisturbed.finished].map {
      $0.stepsInOrder.map(\.path).filter { !$0.hasPrefix("block~2") }.sorted()
    }
    #expect(paths[0] == paths[1], comment)
  }
}

extension Bench {
  /// The run's record, once it is over.
  var finished: RunRecord { get throws { try #require(store.state.ended.last) } }
}
