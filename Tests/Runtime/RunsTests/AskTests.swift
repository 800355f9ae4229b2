import ActionKit
import Basics
import RunState
import Testing

@testable import Runs

/// Asking a person for values: the record of the question, the answer, and the end of the step.
@Suite struct AskTests {
  private static let room = """
    steps:
      - { id: n, uses: bench.read, with: { name: n, value: 3 } }
      - id: room
        ask:
          prompt: Which room for ${{ steps.n.value }}?
          fields:
            room: { type: string, pattern: "[A-Z][0-9]+" }
            seats: { type: int, max: 200, default: "${{ steps.n.value }}" }
            from: { type: timestamp, default: "${{ now }}" }
            note: string?
          by: [ana, ben]
          timeout: 2d
      - { uses: bench.put, with: { name: "${{ steps.room.fields.room }}" } }
    outputs:
      seats: ${{ steps.room.fields.seats }}
      note: ${{ has(steps.room.fields.note) }}
    """
  private static let optional = """
    steps:
      - id: room
        ask: { prompt: Which room?, fields: { room: string }, timeout: 2d, onTimeout: continue }
      - { uses: bench.post, with: { name: "${{ has(steps.room) ? steps.room.fields.room : 'none' }}" } }
    """
  private static let given = Value.object([
    "room": .string("B12"), "seats": .int(30), "from": .timestamp(Timestamp("2027-01-15T08:00:00Z") ?? .earliest),
  ])

  private func answer(_ bench: Bench, _ fields: Value = AskTests.given, comment: String? = nil) async throws {
    var answer = DecisionRecord(isApproved: true, by: "ana", at: bench.time.now(), comment: comment)
    answer.fields = fields
    try await bench.store.append(.answerGiven(DecisionGiven(run: "r1", step: "room", decision: answer)))
  }

  @Test func `an answer ends the step, and its fields have their types`() async throws {
    let bench = try Bench(AskTests.room)
    var run = try await bench.run()
    #expect(run.status == .waiting)
    #expect(run.reason == "waits for an answer: Which room for 3?")
    let wait = try #require(run.steps["room"]?.wait)
    #expect(wait.kind == .ask && wait.by == ["ana", "ben"])
    // The fields are kept as the recipe declares them, with the computed defaults.
    let fields = try JSON.text(#require(wait.fields))
    #expect(
      fields
        == #"{"room":{"type":"string","pattern":"[A-Z][0-9]+"},"seats":{"type":"int","max":200,"default":3},"from":{"type":"timestamp","default":"2026-11-20T09:30:00Z"},"note":"string?"}"#
    )
    bench.time.advance(by: .seconds(3600))
    try await answer(bench, comment: "with a piano")
    // Another program finds the answer, as after a crash.
    run = try await bench.resume()
    #expect(run.status == .succeeded)
    #expect(
      run.steps["room"]?.outputText
        == #"{"fields":{"room":"B12","seats":30,"from":"2027-01-15T08:00:00Z"},"by":"ana","at":"2026-11-20T10:30:00Z","via":"command","comment":"with a piano"}"#
    )
    #expect(bench.service.names == ["n", "B12"])
    #expect(run.outputText == #"{"seats":30,"note":false}"#)
  }

  @Test func `a crash anywhere asks once, and takes the answer once`() async throws {
    for point in (1...8).flatMap({ [(append: $0, isAfter: false), (append: $0, isAfter: true)] }) {
      let bench = try Bench(AskTests.room)
      let asked = try await bench.run().steps["room"]
      try await answer(bench)
      do { _ = try await bench.resume(dyingAt: .init(append: point.append, isAfter: point.isAfter)) } catch {
        #expect(error as? StateError == CrashingStore.death)
      }
      if bench.store.run("r1") == nil { continue }
      let run = try await bench.resume()
      #expect(run.status == .succeeded)
      #expect(run.steps["room"]?.startedAt == asked?.startedAt)
      #expect(run.steps["room"]?.wait == asked?.wait)
      #expect(bench.service.names.contains("B12"))
    }
  }

  @Test func `without an answer the step times out`() async throws {
    let bench = try Bench(AskTests.room)
    #expect(try await bench.run().status == .waiting)
    let run = try await bench.driven().run
    #expect(run.status == .timedOut && run.steps["room"]?.status == .timedOut)
    #expect(run.error?.message == "no answer within 2d")
    #expect(bench.service.names == ["n"])
  }

  @Test func `without an answer the value is absent, if the recipe continues`() async throws {
    let bench = try Bench(AskTests.optional)
    #expect(try await bench.run().status == .waiting)
    let run = try await bench.driven().run
    #expect(run.status == .succeeded && run.steps["room"]?.status == .succeeded)
    #expect(bench.service.names == ["none"])
  }

  @Test func `an answer before the limit counts, and one for a step that isn't asking is refused by the state`()
    async throws
  {
    let bench = try Bench(AskTests.optional)
    _ = try await bench.run()
    bench.time.advance(by: .seconds(2 * 86_400 - 1))
    try await answer(bench, .object(["room": .string("A1")]))
    await #expect(throws: StateError.self) { try await answer(bench, .object(["room": .string("A2")])) }
    // It is found only after the limit.
    bench.time.advance(by: .seconds(10))
    #expect(try await bench.resume().status == .succeeded)
    #expect(bench.service.names == ["A1"])
  }

  @Test func `people are told of the question, whose record says what an answer leads to`() async throws {
    let told = """
            yes: Books it.
            tell:
              - forEach: ${{ question.links }}
                as: person
                steps:
                  - { uses: bench.put, with: { name: "${{ person.name }} ${{ person.link }}" } }
            timeout: 2d
      """
    let bench = try Bench(
      AskTests.room.replacing("      timeout: 2d", with: told), base: "https://errand.example")
    let run = try await bench.run()
    #expect(run.status == .waiting && run.reason == "waits for an answer: Which room for 3?")
    #expect(bench.service.names.map { $0.prefix { $0 != " " } } == ["n", "ana", "ben"])
    let question = try #require(run.steps["room"]?.wait?.question)
    #expect(question.yes == "Books it." && question.no == nil && question.links.map(\.name) == ["ana", "ben"])
    #expect(question.next == ["bench.put"])
    let link = try #require(bench.service.names[1].split(separator: "/").last.map { String($0) })
    #expect(try await bench.store.right(of: link)?.name == "ana")
    #expect(try await bench.store.right(of: link)?.step == "room")
    try await answer(bench)
    #expect(try await bench.resume().status == .succeeded)
    #expect(bench.service.names.last == "B12")
  }

  @Test func `a computed default keeps to the limits of its field`() async throws {
    let bench = try Bench(AskTests.room.replacing("value: 3", with: "value: 999"))
    let run = try await bench.run()
    #expect(run.status == .failed)
    #expect(run.error?.message == "'fields.seats.default' must be at most 200, but is 999")
  }

  @Test func `a computed default holds no secret`() async throws {
    let bench = try Bench(
      """
      steps:
        - let: { token: "${{ secrets.TOKEN }}" }
        - { id: a, uses: bench.read, with: { name: open sesame } }
        - { id: ask, ask: { prompt: Go?, fields: { word: { type: string, default: "${{ steps.a.name }}" } } } }
      """, secrets: ["TOKEN": "sesame"])
    let run = try await bench.run()
    #expect(
      run.error?.message == "the fields hold a secret, or more than a question may; they are shown and kept")
  }
}
