import ActionKit
import Basics
import RunState
import Testing

@testable import Runs

/// The values that outlive runs are changed once by each step, wherever the program dies.
@Suite struct StepValuesTests {
  private static let counting = """
    steps:
      - { id: one, uses: store.increment, with: { name: n } }
      - { id: take, uses: store.compareAndSet, with: { name: n, expected: 1, value: 10 } }
      - id: each
        forEach: "[100, 1000]"
        as: by
        uses: store.increment
        with: { name: n, by: "${{ by }}" }
      - { id: put, uses: store.put, with: { name: last, value: "${{ steps.each[1].value }}" } }
      - { id: gone, uses: store.delete, with: { name: last } }
    outputs:
      one: ${{ steps.one.value }}
      taken: ${{ steps.take.isSet }}
      each: ${{ steps.each.map(e, e.value) }}
      gone: ${{ steps.gone.existed }}
    """

  private static let story = #"{"one":1,"taken":true,"each":[110,1110],"gone":true}"#

  @Test func `each step changes its value once, whichever append is the last`() async throws {
    let whole = try Bench(StepValuesTests.counting)
    #expect(try await whole.run().outputText == StepValuesTests.story)
    let appends = whole.store.appends
    #expect(appends >= 12)
    for append in 1...appends {
      for isAfter in [false, true] {
        let point = CrashingStore.Point(append: append, isAfter: isAfter)
        let bench = try Bench(StepValuesTests.counting, dyingAt: point)
        try await bench.runUntilDeath()
        // If the program died after the last append, the run has ended and isn't open.
        let end = bench.store.run("r1") == nil ? try bench.finished : try await bench.resume()
        #expect(end.outputText == StepValuesTests.story, "\(point)")
        #expect(bench.store.state.values == ["n": .inline(.int(1110))], "\(point)")
      }
    }
  }

  @Test func `a change by another step between death and recovery does not hide ours`() async throws {
    let bench = try Bench(
      """
      steps: [{ id: one, uses: store.increment, with: { name: n } }]
      outputs: { one: "${{ steps.one.value }}" }
      """, dyingAt: .init(append: 3, isAfter: true))
    try await bench.runUntilDeath()
    #expect(bench.store.state.values == ["n": .inline(.int(1))])
    try await bench.store.memory.append([
      .valueSet(ValueSet(at: bench.time.now(), name: "n", value: .inline(.int(50))))
    ])
    #expect(try await bench.resume().outputText == #"{"one":1}"#)
    #expect(bench.store.state.values == ["n": .inline(.int(50))])
  }

  @Test func `each try of a block makes its changes anew`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: block
          retry: { maxAttempts: 2 }
          steps:
            - { id: more, uses: store.increment, with: { name: n, by: 10 } }
            - if: steps.more.value < 20
              uses: bench.read
              with: { name: failing }
      outputs: { block: "${{ steps.block.more.value }}" }
      """)
    bench.service.script("failing", .fail(TryTests.lost), .fail(TryTests.lost), .fail(TryTests.lost))
    #expect(try await bench.run().outputText == #"{"block":20}"#)
  }
}
