import Basics
import RunState
import Testing

@testable import Runs

/// An absent optional leaves its key out of a map, and functions of times go by the recipe's zone.
@Suite struct LeftOutTests {
  private static let given = """
    inputs: { day: { type: { next: string?, count: int? } } }
    """

  @Test(arguments: [
    (ValueMap(), #"{"query":{"limit":1},"deep":[{}],"step":"{\"limit\":1}","has":false}"#),
    (
      ValueMap([("next", .string("a")), ("count", .int(2))]),
      #"{"query":{"after":"a","limit":1},"deep":[{"count":2}],"step":"{\"after\":\"a\",\"limit\":1}","has":true}"#
    ),
  ])
  func `an absent optional leaves its key out`(day: ValueMap, outputs: String) async throws {
    let bench = try Bench(
      """
      \(Self.given)
      steps:
        - let:
            query: { after: "${{ inputs.day.?next }}", limit: 1 }
            deep: [{ count: "${{ inputs.day.?count }}" }]
        - id: a
          uses: bench.readOpen
          with: { name: a, body: { after: "${{ inputs.day.?next }}", limit: 1 } }
        - { uses: bench.post, with: { name: b, value: "${{ inputs.day.?count }}" } }
      outputs:
        query: ${{ query }}
        deep: ${{ deep }}
        step: ${{ json.format(steps.a.body) }}
        has: ${{ has(query.after) && query.after != '' }}
      """, inputs: ValueMap([("day", .map(day))]))
    #expect(try await bench.run().outputText == outputs)
    let plan = try await bench.plan()
    #expect(plan.error == nil)
  }

  @Test func `a required field refuses an optional`() throws {
    let fault = #expect(throws: Bench.Unchecked.self) {
      _ = try Bench(
        """
        \(Self.given)
        steps:
          - { uses: bench.post, with: { name: "${{ inputs.day.?next }}" } }
          - { uses: bench.readOpen, with: { name: a, body: "${{ inputs.day.?next }}" } }
        """)
    }
    #expect(
      fault?.description.split(separator: "\n").filter { $0.contains("error") }.map(String.init) == [
        "test.yaml:4:44: error: a string is expected here, but this is an optional string; write "
          + "`inputs.day.?next.orValue(…)`",
        "test.yaml:5:57: error: a value is needed here, but this is an optional string; write "
          + "`inputs.day.?next.orValue(…)`",
      ])
  }

  @Test func `a secret that is absent is left out, and no other is displayed`() async throws {
    let bench = try Bench(
      """
      inputs: { pin: { type: string, secret: true } }
      steps:
        - { if: "1 > 2", id: never, uses: bench.readOpen, with: { name: n, body: 1 } }
        - let: { q: { a: "${{ steps.?never.body }}" } }
        - id: a
          uses: bench.readOpen
          with: { name: a, body: { a: "${{ steps.?never.body }}", b: 2 } }
      outputs: { a: "${{ json.format(steps.a.body) }}", q: "${{ has(q.a) }}" }
      """, inputs: ValueMap([("pin", .object(["secret": .string("PIN")]))]), secrets: ["PIN": "s3cret-pin"])
    #expect(try await bench.run().outputText == #"{"a":"{\"b\":2}","q":false}"#)
  }

  @Test(arguments: [("zone: Asia/Tokyo\n", "2026-11-21 08:30"), ("", "2026-11-20 23:30")])
  func `functions of times go by the recipe's zone, else by UTC`(zone: String, text: String) async throws {
    let bench = try Bench(
      """
      \(zone)steps:
        - let: { at: "${{ time.format(timestamp('2026-11-20T23:30:00Z'), '%Y-%m-%d %H:%M') }}" }
        - { if: "now > timestamp('2020-01-01T00:00:00Z')", uses: bench.compute, with: { name: "${{ time.weekday(now) }}" } }
      outputs: { at: "${{ at }}" }
      """)
    #expect(try await bench.run().outputText == "{\"at\":\"\(text)\"}")
  }
}
