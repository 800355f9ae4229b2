import ActionKit
import Basics
import Recipes
import RunState
import Testing

@testable import Runs

@Suite struct PlannerTests {
  /// The text of a plan: a line for each entry, then the outputs or the error.
  private static func story(_ plan: Plan) -> [String] {
    var lines = plan.entries.map { entry in
      var line = entry.path
      if !entry.conditions.isEmpty { line += " <\(entry.conditions.joined(separator: ", "))>" }
      switch entry.event {
      case .write(let call, .changes(let changes)):
        let texts = changes.map { "\($0.subject) \($0.before ?? "nothing") → \($0.after ?? "nothing")" }
        return "\(line) \(call.action): \(texts.joined(separator: "; "))"
      case .write(let call, .opaque(let reason)):
        let input = call.input.withUnknowns { .string("(\($0))") }
        return "\(line) \(call.action) \((try? JSON.text(input)) ?? ""): \(reason.text)"
      default: return "\(line): \(entry.note?.text ?? "")"
      }
    }
    if let error = plan.error { lines.append("error: \(error.message)") }
    let outputs = plan.outputs.withUnknowns { .string("(\($0))") }
    if let map = outputs.map, !map.isEmpty { lines.append((try? JSON.text(outputs)) ?? "") }
    return lines
  }

  private func expect(
    _ recipe: String, calling files: [String: String] = [:], values: [String: Value] = [:], gives story: [String],
    prepare: (Bench) -> Void = { _ in }, sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let bench = try Bench(recipe, calling: files)
    prepare(bench)
    let plan = try await bench.plan(values)
    #expect(PlannerTests.story(plan) == story, sourceLocation: sourceLocation)
    // A plan that is read from its document has the same document.
    let document = try JSON.parse(JSON.write(plan.document(ValueMap())))
    let read = try JSON.parse(JSON.write(Plan(document: document).document(ValueMap())))
    #expect(read == document, sourceLocation: sourceLocation)
    // Nothing was written by any recipe.
    let written = bench.service.done.keys.filter { $0.hasPrefix("w") }
    #expect(written.isEmpty, sourceLocation: sourceLocation)
    #expect(bench.store.appends == 0, sourceLocation: sourceLocation)
  }

  @Test func `reads and computes for real, and shows writes item by item`() async throws {
    try await expect(
      """
      steps:
        - { id: a, uses: bench.read, with: { name: a, value: 2 } }
        - { id: b, uses: bench.compute, with: { name: b, value: "${{ steps.a.value + 1 }}" } }
        - id: each
          forEach: "[1, 2, 3]"
          as: n
          indexAs: i
          where: n != 2
          steps:
            - { id: w, if: n < steps.b.value, uses: bench.putShown, with: { name: "w${{ i }}", value: "${{ n * 10 }}" } }
      outputs: { n: "${{ steps.each.size() }}", did: "${{ steps.each.map(e, has(e.w)) }}" }
      """,
      gives: [
        "each[0]/w bench.putShown: w0 0 → 10",
        "each[2]/w: bench.putShown is left out",
        #"{"n":2,"did":[true,false]}"#,
      ])
  }

  @Test func `what only a write can tell stays unknown in later steps`() async throws {
    try await expect(
      """
      steps:
        - { id: make, uses: bench.post, with: { name: w, value: 1 } }
        - let: { key: "${{ steps.make.value }}", name: "${{ 'no. ' + string(steps.make.value) }}", safe: 5 }
        - { id: inner, uses: bench.putShown, with: { name: "${{ name }}", value: "${{ safe }}" } }
        - { id: seen, uses: bench.read, with: { name: r } }
        - { id: pure, uses: bench.compute, with: { name: p, value: "${{ key }}" } }
        - if: key == 3
          fail: "the key is ${{ key }}"
        - { id: either, if: key > 3 || safe == 5, uses: bench.compute, with: { name: e, value: 7 } }
      outputs:
        key: ${{ key }}
        either: ${{ steps.?either.?value.orValue(0) }}
        pure: "p ${{ steps.pure.value }}"
        both: { a: "${{ safe }}", b: "${{ key }}" }
      """,
      gives: [
        #"make bench.post {"name":"w","value":1}: bench.post cannot say beforehand what it changes"#,
        #"inner bench.putShown {"name":"(known after 'make')","value":5}: it needs a value that is known after 'make'"#,
        "seen: bench.read can only be called in the run: 'make' writes there before",
        "#6 <if `key == 3` (known after 'make')>: the run may fail here: the key is (known after 'make')",
        #"{"key":"(known after 'make')","either":7,"pure":"(known after 'make')","#
          + #""both":{"a":5,"b":"(known after 'make')"}}"#,
      ])
  }

  @Test func `undecided branches are planned, and marked with what decides them`() async throws {
    try await expect(
      """
      steps:
        - { id: make, uses: bench.post, with: { name: w, value: 1 } }
        - id: more
          if: steps.make.value > 1
          steps:
            - { id: put, uses: bench.putShown, with: { name: w2, value: 4 } }
            - { id: never, if: "false", uses: bench.put, with: { name: w3 } }
        - { id: quiet, if: steps.make.value > 2, uses: bench.compute, with: { name: c } }
        - if: has(steps.more)
          let: { x: "${{ steps.more.put.value }}" }
      outputs: { more: "${{ has(steps.more) }}", x: "${{ x.orValue(0) }}" }
      """,
      gives: [
        #"make bench.post {"name":"w","value":1}: bench.post cannot say beforehand what it changes"#,
        "more/put <if `steps.make.value > 1` (known after 'make')> bench.putShown: w2 0 → 4",
        "more/never <if `steps.make.value > 1` (known after 'make')>: bench.put is left out",
        "quiet <if `steps.make.value > 2` (known after 'make')>: this may be done",
        #"{"more":"(known after 'make')","x":"(known after 'make')"}"#,
      ])
  }

  @Test func `of several cases the one that is known is planned, or else each from the same beginning`() async throws {
    try await expect(
      """
      steps:
        - { id: known, uses: bench.read, with: { name: r, value: 1 } }
        - if: steps.known.value > 1
          steps: [{ id: never, uses: bench.putShown, with: { name: w0, value: 1 } }]
          else: [{ id: always, uses: bench.putShown, with: { name: w1, value: 1 } }]
        - { id: make, uses: bench.postKeyed, with: { name: w, value: 1 } }
        - id: either
          if: steps.make.value > 1
          steps: [{ id: one, uses: bench.putShown, with: { name: w2, value: 2 } }, { wait: 1h }]
          outputs: { n: 1, m: 1 }
          else:
            steps: [{ id: two, uses: bench.putShown, with: { name: w2, value: 3 } }]
            outputs: { n: 2 }
        - id: sort
          switch: steps.make.name
          cases:
            a: [{ id: a, uses: bench.putShown, with: { name: w3, value: 4 } }]
            b: [{ id: b, uses: bench.compute, with: { name: c } }]
          default: []
      outputs: { n: "${{ steps.either.n }}", m: "${{ has(steps.either.m) }}", late: "${{ string(now) }}" }
      """,
      gives: [
        "#2/#else/always bench.putShown: w1 0 → 1",
        #"make bench.postKeyed {"name":"w","value":1}: bench.postKeyed cannot say beforehand what it changes"#,
        "either/one <if `steps.make.value > 1` (known after 'make')> bench.putShown: w2 0 → 2",
        "either/#2 <if `steps.make.value > 1` (known after 'make')>: would wait 1h",
        "either/#else/two <unless `steps.make.value > 1` (known after 'make')> bench.putShown: w2 0 → 3",
        "sort/#case1/a <if `steps.make.name` is \"a\" (known after 'make')> bench.putShown: w3 0 → 4",
        "sort/#case2 <if `steps.make.name` is \"b\" (known after 'make')>: this may be done",
        #"{"n":"(known after 'make')","m":"(known after 'make')","late":"(known after 'make')"}"#,
      ])
  }

  @Test func `a value instead of an error is planned beside the other`() async throws {
    try await expect(
      """
      steps:
        - id: read
          uses: bench.read
          with: { name: refused }
          onError: { value: { name: "${{ error.kind }}", value: 5 } }
        - { if: steps.read.value == 5, uses: bench.put, with: { name: w4 } }
        - id: made
          uses: bench.post
          with: { name: w, value: 1 }
          onError:
            steps: [{ id: h, uses: bench.put, with: { name: w2 } }]
            value: { name: none, value: 0 }
        - { if: steps.made.value == 0, uses: bench.put, with: { name: w3 } }
      outputs: { made: "${{ steps.made.value }}", read: "${{ steps.read.name }}" }
      """,
      gives: [
        #"#2 bench.put {"name":"w4"}: bench.put cannot say beforehand what it changes"#,
        #"made bench.post {"name":"w","value":1}: bench.post cannot say beforehand what it changes"#,
        #"made!/h <if 'made' fails> bench.put {"name":"w2"}: bench.put cannot say beforehand what it changes"#,
        "#4 <if `steps.made.value == 0` (known after 'made')> "
          + #"bench.put {"name":"w3"}: bench.put cannot say beforehand what it changes"#,
        #"{"made":"(known after 'made')","read":"conflict"}"#,
      ],
      prepare: { $0.service.script("refused", [BenchService.Act](repeating: .fail(WalkTests.refusal), count: 9)) })
  }

  @Test func `whether a step that is caught succeeds is not known`() async throws {
    try await expect(
      """
      steps:
        - { id: read, uses: bench.read, with: { name: b }, onError: continue }
      outputs: { isThere: "${{ has(steps.read) }}", is: "${{ 1 < 2 }}" }
      """,
      gives: [#"{"isThere":"(decided by whether 'read' fails)","is":true}"#])
  }

  @Test func `an unknown list is planned for any item it may have`() async throws {
    try await expect(
      """
      steps:
        - { id: make, uses: bench.post, with: { name: w, value: 2 } }
        - id: each
          forEach: ${{ [1, 2].filter(n, n < steps.make.value) }}
          where: item != 7
          uses: bench.put
          with: { name: w, value: "${{ item }}" }
        - id: some
          forEach: "[1, 2]"
          where: item < steps.make.value
          uses: bench.putShown
          with: { name: "w${{ item }}", value: 1 }
      outputs: { each: "${{ steps.each.size() }}", some: "${{ steps.some.size() }}" }
      """,
      gives: [
        #"make bench.post {"name":"w","value":2}: bench.post cannot say beforehand what it changes"#,
        "each[*] <for each item of `[1, 2].filter(n, n < steps.make.value)` (known after 'make') where `item != 7`> "
          + #"bench.put {"name":"w","value":"(known after 'make')"}: it needs a value that is known after 'make'"#,
        "some[0] <where `item < steps.make.value` (known after 'make')> bench.putShown: w1 0 → 1",
        "some[1] <where `item < steps.make.value` (known after 'make')> bench.putShown: w2 0 → 1",
        #"{"each":"(known after 'make')","some":"(known after 'make')"}"#,
      ])
  }

  @Test func `waits and approvals are passed by, and the clock with them`() async throws {
    try await expect(
      """
      steps:
        - let: { begun: "${{ now }}" }
        - wait: 2h
        - let: { after: "${{ now - begun >= duration('2h') }}" }
        - wait: { until: "begun + duration('30h')" }
        - let: { later: "${{ now == begun + duration('30h') }}" }
        - id: ask
          approve: { prompt: "Go on after ${{ later }}?", by: [ana], timeout: 3d }
        - let: { approved: "${{ steps.ask.approved }}", at: "${{ now > begun }}" }
        - id: paid
          wait: { event: paid }
        - { id: w, uses: bench.putShown, with: { name: w, value: 1 } }
      outputs:
        after: ${{ after }}
        later: ${{ later }}
        approved: ${{ approved }}
        at: ${{ at }}
        event: ${{ steps.paid.event.data }}
      """,
      gives: [
        "#2: would wait 2h",
        "#4: would wait until 2026-11-21T15:30:00Z",
        "ask: would ask ana: Go on after true? (assumed approved)",
        "paid: would wait for the event 'paid'",
        "w bench.putShown: w 0 → 1",
        #"{"after":true,"later":true,"approved":true,"at":"(known after 'ask')","event":"(known after 'paid')"}"#,
      ])
  }

  @Test func `questions for values are answered by values that are known later`() async throws {
    try await expect(
      """
      steps:
        - id: room
          ask:
            prompt: Which room?
            fields: { room: string, seats: int, note: "string?" }
            by: [ana]
        - id: late
          ask: { prompt: Sure?, fields: { isSure: bool }, timeout: 1d, onTimeout: continue }
        - { id: w, uses: bench.putShown, with: { name: w, value: 1 } }
      outputs:
        room: ${{ steps.room.fields.room }}
        seats: ${{ steps.room.fields.seats + 1 }}
      """,
      gives: [
        "room: would ask ana for room, seats, note: Which room? (assumed answered)",
        "late: would ask for isSure: Sure? (assumed answered)",
        "w bench.putShown: w 0 → 1",
        #"{"room":"(known after 'room')","seats":"(known after 'room')"}"#,
      ])
  }

  @Test func `what uses something up is not called, and what repeats is asked once`() async throws {
    try await expect(
      """
      steps:
        - { id: url, uses: bench.consume, with: { name: w } }
        - id: poll
          uses: bench.ask
          with: { name: poll }
          repeat: { until: result.value > 2, every: 1h }
        - id: once
          uses: bench.ask
          with: { name: at once }
          repeat: { until: result.value > 0, every: 1h }
      outputs: { url: "${{ steps.url.value }}", poll: "${{ steps.poll.value }}", once: "${{ steps.once.value }}" }
      """,
      gives: [
        "url: bench.consume uses something up, so it is not called for a plan",
        "poll: would be done every 1h until `result.value > 2`",
        #"{"url":"(known after 'url')","poll":"(known after 'poll')","once":1}"#,
      ])
  }

  @Test func `of a repeated block the first round is planned, and once what any later round may do`() async throws {
    try await expect(
      """
      steps:
        - id: a
          repeat: { carry: { n: 1 }, next: { n: "${{ n + 1 }}" }, collect: "[n]", until: result.look.value > 1, every: 1m }
          steps:
            - { id: look, uses: bench.ask, with: { name: state } }
            - { if: steps.look.value > 1, uses: bench.putShown, with: { name: w ready } }
            - { id: put, uses: bench.putShown, with: { name: "w ${{ n }}" } }
        - { id: after, uses: bench.putShown, with: { name: "w after ${{ steps.a.rounds }}" } }
      """,
      gives: [
        "a/#round1/#2: bench.putShown is left out",
        "a/#round1/put bench.putShown: w 1 0 → 0",
        "a: would be done every 1m until `result.look.value > 1`",
        "a/#round*/look <in each later round, until `result.look.value > 1`>: bench.ask can only be called in the run: "
          + "what is there then is known in that round",
        "a/#round*/#2 <in each later round, until `result.look.value > 1`, if `steps.look.value > 1` "
          + #"(known after 'a/#round*/look')> bench.putShown {"name":"w ready"}: 'bench.putShown' may write there before"#,
        "a/#round*/put <in each later round, until `result.look.value > 1`> "
          + #"bench.putShown {"name":"(known in that round)"}: it needs a value that is known in that round"#,
        #"after bench.putShown {"name":"(known after 'a')"}: it needs a value that is known after 'a'"#,
      ])
  }

  @Test func `a repeat that is over after the first round is planned as that`() async throws {
    try await expect(
      """
      steps:
        - id: a
          repeat: { carry: { n: 1 }, next: { n: "${{ n + 1 }}" }, collect: "[result.look.value]", until: n == 2 }
          steps: [{ id: look, uses: bench.ask, with: { name: state } }]
        - { id: after, uses: bench.putShown, with: { name: "w ${{ steps.a.n }} ${{ steps.a.collected[0] }}" } }
      """,
      gives: ["after bench.putShown: w 2 1 0 → 0"])
  }

  @Test func `a guard that holds ends the plan as it would the run`() async throws {
    try await expect(
      """
      steps:
        - { id: a, uses: bench.read, with: { name: a, value: 2 } }
        - if: steps.a.value == 2
          fail: "it is ${{ steps.a.value }}"
        - { uses: bench.putShown, with: { name: w } }
      onFailure:
        - { id: tell, uses: bench.putShown, with: { name: "w ${{ error.message }}" } }
      finally:
        - { id: end, uses: bench.putShown, with: { name: w end } }
      """,
      gives: [
        "#onFailure/tell bench.putShown: w it is 2 0 → 0",
        "#finally/end bench.putShown: w end 0 → 0",
        "error: it is 2",
      ])
  }

  @Test func `a read that fails is tried again, and its handler planned`() async throws {
    try await expect(
      """
      steps:
        - { id: a, uses: bench.readPatiently, with: { name: a, value: 2 } }
        - id: each
          forEach: "['c', 'd']"
          onItemError: continue
          uses: bench.read
          with: { name: "${{ item }}" }
        - { id: b, uses: bench.read, with: { name: b }, onError: [ { id: w, uses: bench.putShown, with: { name: "w ${{ error.kind }}" } } ] }
      outputs: { a: "${{ steps.a.value }}", b: "${{ has(steps.b) }}", each: "${{ steps.each.map(e, e.status) }}" }
      """,
      gives: [
        "b!/w bench.putShown: w conflict 0 → 0",
        #"{"a":2,"b":"(decided by whether 'b' succeeds)","each":["succeeded","failed"]}"#,
      ]
    ) { bench in
      bench.service.script("a", .fail(TryTests.lost))
      bench.service.script("b", .fail(WalkTests.refusal))
      bench.service.script("d", .fail(WalkTests.refusal))
    }
  }

  @Test func `a preview that fails ends the plan, unless a write before may mend it`() async throws {
    let second = """
        - { uses: bench.putShown, with: { name: w2, value: 1 } }
      """
    try await expect(
      "steps:\n" + second,
      gives: ["error: it is there already"], prepare: { $0.service.script("preview of w2", .fail(WalkTests.refusal)) })
    try await expect(
      "steps:\n  - { uses: bench.putShown, with: { name: w1, value: 1 } }\n" + second,
      gives: [
        "#1 bench.putShown: w1 0 → 1",
        #"#2 bench.putShown {"name":"w2","value":1}: as things are, it is there already"#,
      ], prepare: { $0.service.script("preview of w2", .fail(WalkTests.refusal)) })
  }

  @Test func `a second write begins where the first one ends`() async throws {
    try await expect(
      """
      steps:
        - { uses: bench.putShown, with: { name: w, value: 1 } }
        - { uses: bench.putShown, with: { name: w, value: 2 } }
      """,
      gives: ["#1 bench.putShown: w 0 → 1", "#2 bench.putShown: w 1 → 2"])
  }

  @Test func `values that outlive runs are read, and what builds on a change before is not guessed`() async throws {
    try await expect(
      """
      steps:
        - { id: last, uses: store.get, with: { name: n } }
        - { uses: store.delete, with: { name: n } }
        - { uses: store.increment, with: { name: n } }
        - { uses: store.increment, with: { name: m, by: 2 } }
      outputs: { last: "${{ steps.last.?value.orValue(0) }}" }
      """,
      values: ["n": .int(5)],
      gives: [
        "#2 store.delete: The stored value 'n' 5 → nothing",
        #"#3 store.increment {"name":"n"}: a step before changes what it builds on: The stored value 'n'"#,
        "#4 store.increment: The stored value 'm' nothing → 2",
        #"{"last":5}"#,
      ])
  }

  @Test func `branches and called recipes are planned in their order`() async throws {
    try await expect(
      """
      steps:
        - { id: make, uses: bench.post, with: { name: w } }
        - id: fan
          parallel:
            left: [ { id: l, uses: bench.compute, with: { name: l, value: 1 } } ]
            right: [ { id: r, uses: bench.putShown, with: { name: wr, value: 2 } } ]
        - { id: sub, call: sub.yaml, with: { n: "${{ steps.make.value }}", m: 4 } }
      outputs: { l: "${{ steps.fan.left.l.value }}", twice: "${{ steps.sub.twice }}", n: "${{ steps.sub.n }}" }
      """,
      calling: [
        "sub.yaml": """
        recipe: sub
        inputs: { n: int, m: int }
        steps:
          - { id: a, uses: bench.put, with: { name: wsub, value: "${{ inputs.n }}" } }
        outputs: { twice: "${{ inputs.m * 2 }}", n: "${{ inputs.n }}" }
        """
      ],
      gives: [
        #"make bench.post {"name":"w"}: bench.post cannot say beforehand what it changes"#,
        "fan/right/r bench.putShown: wr 0 → 2",
        #"sub/a bench.put {"name":"wsub","value":"(known after 'make')"}: it needs a value that is known after 'make'"#,
        #"{"l":1,"twice":8,"n":"(known after 'make')"}"#,
      ])
  }

  @Test func `branches wait beside each other, and what waits for too long may fail`() async throws {
    try await expect(
      """
      steps:
        - id: fan
          parallel:
            left: [ { wait: 1h } ]
            right: [ { wait: 2h }, { wait: 30m } ]
        - let: { passed: "${{ now - run.startedAt }}" }
        - id: slow
          timeout: 10m
          steps: [ { wait: 20m } ]
      outputs: { passed: "${{ passed == duration('2h30m') }}", end: "${{ now - run.startedAt == duration('2h50m') }}" }
      """,
      gives: [
        "fan/left/#1: would wait 1h", "fan/right/#1: would wait 2h", "fan/right/#2: would wait 30m",
        "slow/#1: would wait 20m",
        "slow: the run may fail here: what it waits for takes longer than its 'timeout' of 10m",
        #"{"passed":true,"end":true}"#,
      ])
  }

  @Test func `a block that fails is planned again as its retry says`() async throws {
    try await expect(
      """
      steps:
        - id: block
          retry: { maxAttempts: 2, initial: 1s, jitter: none, on: [conflict] }
          steps:
            - { id: w, uses: bench.putShown, with: { name: wa, value: 1 } }
            - { id: a, uses: bench.compute, with: { name: a, value: 2 } }
      outputs: { a: "${{ steps.block.a.value }}" }
      """,
      gives: ["block/w bench.putShown: wa 0 → 1", #"{"a":2}"#]
    ) { $0.service.script("a", .fail(ActionError(.conflict, "busy"))) }
  }

  @Test func `what is planned is what is run`() async throws {
    // The recipe with all features, except values that are only known in the run.
    let bench = try Bench(WholeRecipeTests.recipe, calling: ["sub.yaml": WholeRecipeTests.sub])
    let plan = try await bench.plan()
    #expect(plan.error == nil)
    let writes = plan.entries.compactMap { entry -> String? in
      guard case .write(let call, _) = entry.event, entry.conditions.isEmpty else { return nil }
      return call.input["name"]?.string
    }
    let reads = Set(plan.reads.compactMap { $0.call.input["name"]?.string })
    bench.service.forget()
    let run = try await bench.run()
    #expect(run.status == .succeeded)
    let actual = bench.service.done.flatMap { Array(repeating: $0.key, count: $0.value) }
    #expect(writes.sorted() == actual.filter { !["book", "r", "tried", "caught", "s"].contains($0) }.sorted())
    #expect(reads == ["book"])
  }
}

@Suite struct PlanDocumentTests {
  private static func document(_ recipe: String, _ change: (inout ValueMap) -> Void = { _ in }) async throws -> Value {
    let bench = try Bench(recipe, secrets: ["TOKEN": "hunter2-secret"])
    var heading = ValueMap([("recipe", .string("test")), ("sha256", .string("a")), ("sandbox", .bool(false))])
    heading["inputs"] = .object(["n": .int(1)])
    heading["overrides"] = .map(ValueMap())
    change(&heading)
    return try JSON.parse(JSON.write(try await bench.plan().document(heading)))
  }

  private static func recipe(read: Int = 1, put: String = "w", value: String = "${{ steps.a.value }}") -> String {
    """
    steps:
      - { id: a, uses: bench.read, with: { name: a, value: \(read) } }
      - { id: put, uses: bench.putShown, with: { name: \(put), value: "\(value)" } }
      - { id: plain, uses: bench.post, with: { name: w, value: "${{ steps.put.value }}" } }
    """
  }

  @Test func `a plan is kept as it is displayed`() async throws {
    let document = try await Self.document(Self.recipe())
    #expect(document["format"] == .int(2))
    let read = try #require(document["reads"]?.list?.first)
    #expect(read["path"]?.string == "a")
    #expect(read["output"]?["value"]?.string?.utf8.count == 64)
    #expect(
      try JSON.text(document["writes"] ?? .null)
        == #"[{"path":"put","action":"bench.putShown","connection":"bench","input":{"name":"w","value":1},"#
        + #""changes":[{"subject":"w","before":"0","after":"1"}]},"#
        + #"{"path":"plain","action":"bench.post","connection":"bench","#
        + #""input":{"name":"w","value":{"$unknown":"known after 'put'"}},"#
        + #""opaque":"it needs a value that is known after 'put'"}]"#)
    #expect(
      try JSON.text(document["tally"] ?? .null)
        == #"{"added":0,"changed":1,"removed":0,"unchanged":0,"opaque":1,"undecided":0}"#)
  }

  @Test func `a plan made again of the same things has not moved`() async throws {
    #expect(
      Plan.changes(from: try await Self.document(Self.recipe()), to: try await Self.document(Self.recipe())) == [])
  }

  @Test func `what has moved is told`() async throws {
    let old = try await Self.document(Self.recipe())
    #expect(
      Plan.changes(
        from: old,
        to: try await Self.document(Self.recipe()) { heading in
          heading["sha256"] = .string("b")
          heading["sandbox"] = .bool(true)
          heading["inputs"] = .object(["n": .int(2), "m": .string("x")])
          heading["overrides"] = .object(["connections.bench.service": .string("s")])
        }) == [
          "the text of the recipe has changed", "the plan was made outside the sandbox", "input 'n' was 1, and is 2",
          "input 'm' was nothing, and is \"x\"",
          "'--set connections.bench.service' was nothing, and is \"s\"",
        ])
    #expect(
      Plan.changes(from: old, to: try await Self.document(Self.recipe(put: "v"))) == [
        "w: planned \"0\" → \"1\", now no change",
        "v: planned no change, now \"0\" → \"1\"",
      ])
    #expect(
      Plan.changes(from: old, to: try await Self.document(Self.recipe(value: "${{ 8 }}"))) == [
        "w: planned \"0\" → \"1\", now \"0\" → \"8\""
      ])
    #expect(
      Plan.changes(from: old, to: try await Self.document(Self.recipe(read: 2))) == [
        "'a' (bench.read) has another input", "w: planned \"0\" → \"1\", now \"0\" → \"2\"",
      ])
    #expect(
      Plan.changes(from: .object(["format": .int(7)]), to: old) == [
        "the plan was made by another version of errand; make it again"
      ])
  }

  @Test func `another answer to the same question has moved`() async throws {
    let recipe = "steps:\n  - { id: a, uses: bench.ask, with: { name: a } }\n"
    let bench = try Bench(recipe)
    var documents: [Value] = []
    for _ in 0..<2 { documents.append(try await bench.plan().document(ValueMap())) }
    #expect(Plan.changes(from: documents[0], to: documents[1]) == ["'a' (bench.ask) reads other values in 'value'"])
  }

  @Test func `an error that comes or goes has moved`() async throws {
    let fails = try await Self.document("steps:\n  - fail: no\n")
    let runs = try await Self.document("steps:\n  - let: { a: 1 }\n")
    #expect(Plan.changes(from: fails, to: runs) == ["the run would not fail any more"])
    #expect(Plan.changes(from: runs, to: fails) == ["the run would fail: \"no\""])
  }

  @Test func `no secret is in a plan`() async throws {
    let recipe = """
      steps:
        - { id: a, uses: bench.read, with: { name: "hunter2-secret in plain", value: 1 } }
        - { id: put, uses: bench.putShown, with: { name: "hunter2-secret", value: 1 } }
        - let: { t: "${{ secrets.TOKEN }}" }
      """
    let text = try JSON.text(try await Self.document(recipe))
    #expect(!text.contains("hunter2"))
    #expect(text.contains("•••"))
  }
}
