import ActionKit
import Basics
import Recipes
import RunState
import Testing

@testable import Runs

/// `else`, `switch`, and values instead of errors: their results, and that a case is chosen once.
@Suite struct CasesTests {
  static let examples: [WalkTests.Example] = [
    .init(
      name: "one of 'steps' and 'else' runs, and gives what both name",
      recipe: """
        steps:
          - { id: n, uses: bench.read, with: { name: n, value: 3 } }
          - id: price
            if: steps.n.value > 3
            steps: [{ id: cut, uses: bench.read, with: { name: cut, value: 5 } }]
            outputs: { total: "${{ steps.cut.value }}", saved: 1 }
            else:
              steps: [{ id: full, uses: bench.read, with: { name: full, value: 7 } }]
              outputs: { total: "${{ steps.full.value }}" }
        outputs: { total: "${{ steps.price.total }}", saved: "${{ has(steps.price.saved) }}" }
        """,
      calls: ["n", "full"], outputs: #"{"total":7,"saved":false}"#),
    .init(
      name: "'else' may be a list, and gives its ids",
      recipe: """
        steps:
          - forEach: "[1, 2]"
            id: each
            steps:
              - id: either
                if: item == 1
                steps: [{ id: a, uses: bench.read, with: { name: a } }]
                else: [{ id: b, uses: bench.read, with: { name: b } }]
        outputs: { b: "${{ steps.each.map(e, has(e.either.b)) }}" }
        """,
      calls: ["a", "b"], outputs: #"{"b":[false,true]}"#),
    .init(
      name: "'switch' runs the case of its value, or the default",
      recipe: """
        steps:
          - id: each
            forEach: "['one', 'two', 'three']"
            steps:
              - id: chosen
                switch: item
                cases:
                  one: [{ uses: bench.read, with: { name: first } }]
                  two: { steps: [{ id: t, uses: bench.read, with: { name: second, value: 2 } }], outputs: { n: "${{ steps.t.value }}" } }
                default: { steps: [], outputs: { n: 0 } }
        outputs: { n: "${{ steps.each.map(e, e.chosen.?n.orValue(-1)) }}" }
        """,
      calls: ["first", "second"], outputs: #"{"n":[-1,2,0]}"#),
    .init(
      name: "'switch' takes ints, and a case that always fails takes nothing away",
      recipe: """
        steps:
          - id: size
            switch: size('ab')
            cases:
              1: [{ fail: too few }]
              2: { steps: [], outputs: { word: two } }
            default: [{ fail: too many }]
        outputs: { word: "${{ steps.size.word }}" }
        """,
      calls: [], outputs: #"{"word":"two"}"#),
    .init(
      name: "'if' and 'onError' stand beside 'switch'",
      recipe: """
        steps:
          - { id: a, if: 1 > 2, switch: "'x'", cases: { x: [] }, default: [] }
          - id: b
            switch: "'x'"
            cases: { x: [{ fail: no }] }
            default: { steps: [], outputs: { n: 1 } }
            onError: { value: { n: 7 } }
        outputs: { a: "${{ has(steps.a) }}", b: "${{ steps.b.n }}" }
        """,
      calls: [], outputs: #"{"a":false,"b":7}"#),
    .init(
      name: "a value stands for what failed, and sees the error and its handler",
      recipe: """
        steps:
          - id: a
            uses: bench.post
            with: { name: refused }
            onError:
              steps: [{ id: h, uses: bench.read, with: { name: handler, value: 4 } }]
              value: { name: "${{ error.kind }}", value: "${{ steps.h.value }}" }
          - { id: b, uses: bench.read, with: { name: b, value: 1 }, onError: { value: { name: none, value: 2 } } }
        outputs: { a: "${{ steps.a.name }} ${{ steps.a.value }}", b: "${{ steps.b.value }}" }
        """,
      calls: ["refused", "handler", "b"], outputs: #"{"a":"conflict 4","b":1}"#),
    .init(
      name: "in a loop a value is about the items, which give a plain list",
      recipe: """
        steps:
          - id: each
            forEach: "['a', 'refused', 'b']"
            maxParallel: 2
            uses: bench.post
            with: { name: "${{ item }}", value: 1 }
            onError: { value: { name: "no ${{ item }}", value: 0 } }
        outputs: { names: "${{ steps.each.map(e, e.name) }}" }
        """,
      calls: ["a", "refused", "b"], outputs: #"{"names":["a","no refused","b"]}"#),
    .init(
      name: "a value stands for a block, a call and what timed out",
      recipe: """
        steps:
          - id: rate
            steps: [{ id: get, uses: bench.post, with: { name: refused } }]
            outputs: { eur: "${{ double(steps.get.value) }}" }
            onError: { value: { eur: 1 } }
          - id: both
            parallel: { left: [{ fail: no }] }
            onError: { value: { left: {} } }
        outputs: { eur: "${{ steps.rate.eur }}", left: "${{ has(steps.both.left) }}" }
        """, calls: ["refused"], outputs: #"{"eur":1.0,"left":true}"#),
  ]

  @Test(arguments: examples)
  func `a recipe makes its calls and gives its outputs`(example: WalkTests.Example) async throws {
    let bench = try Bench(example.recipe)
    bench.service.script("refused", .fail(WalkTests.refusal))
    let run = try await bench.run()
    #expect(run.status == .succeeded, "\(run.error?.message ?? "")")
    #expect(bench.service.names.sorted() == example.calls.sorted())
    #expect(run.outputText == example.outputs)
  }

  @Test func `the record has the case, and of a value instead of an error both`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: price
          if: 1 > 2
          steps: [{ uses: bench.read, with: { name: never } }]
          else: [{ id: full, uses: bench.read, with: { name: full } }]
        - id: sort
          switch: "'b'"
          cases: { a: [], b: [{ uses: bench.read, with: { name: b } }] }
          default: []
        - { id: a, uses: bench.post, with: { name: refused }, onError: { value: { name: x, value: 2 } } }
      """)
    bench.service.script("refused", .fail(WalkTests.refusal))
    let run = try await bench.run()
    #expect(
      run.story == [
        "price succeeded", "price/#else/full succeeded", "sort succeeded", "sort/#case2/#1 succeeded", "a failed",
      ])
    #expect(run.steps["price"]?.case == "else")
    #expect(run.steps["sort"]?.case == "case2")
    #expect(run.steps["a"]?.error?.kind == .conflict)
    #expect(run.steps["a"]?.outputText == #"{"name":"x","value":2}"#)
    #expect(bench.recipe.step(at: "price/#else/full")?.id == "full")
    #expect(bench.recipe.step(at: "sort/#case2/#1")?.element == "#1")
    let replay = StepReplay(of: bench.recipe, run) { step in
      if case .inline(let value)? = step.output { value } else { nil }
    }
    #expect(replay.input(at: "sort/#case2/#1") == .value(.object(["name": .string("b")])))
    #expect(replay.input(at: "price/#else/full") == .value(.object(["name": .string("full")])))
  }

  @Test func `a value that fails is the step's failure, with the first as its cause`() async throws {
    let bench = try Bench(
      """
      steps:
        - id: a
          uses: bench.post
          with: { name: refused }
          onError: { value: { name: "${{ [error.message][1] }}", value: 0 } }
      """)
    bench.service.script("refused", .fail(WalkTests.refusal))
    let run = try await bench.run()
    #expect(run.status == .failed)
    #expect(run.error?.kind == .expression)
    #expect(run.error?.cause?.kind == .conflict)
    #expect(run.steps["a"]?.status == .failed)
    #expect(run.steps["a"]?.output == nil)
    // A new run tries the step again.
    #expect(!run.takenOver(by: "r2", of: bench.recipe, at: bench.time.now()).contains { $0.isBegin(of: "a") })
  }

  @Test(
    arguments: [
      ("2026-11-22", nil),
      ("2026-02-31", "'value.body.d' must be a date such as 2026-11-20, but found '2026-02-31'"),
    ] as [(String, String?)])
  func `a value instead of an error keeps to the shape`(given: String, fault: String?) async throws {
    let bench = try Bench(
      """
      inputs: { d: string }
      steps:
        - id: a
          uses: bench.readOpen
          with: { name: refused, body: 1 }
          shape: { body: { d: date } }
          onError: { value: { name: x, body: { d: "${{ inputs.d }}" } } }
      outputs: { d: "${{ steps.a.body.d }}" }
      """, inputs: ValueMap([("d", .string(given))]))
    bench.service.script("refused", .fail(WalkTests.refusal))
    let run = try await bench.run()
    #expect(run.error?.message == fault.map { "the value of 'onError': \($0)" })
    #expect(fault != nil || run.outputText == #"{"d":"\#(given)"}"#)
  }

  @Test func `a value of no known type that does not fit fails the step`() async throws {
    let bench = try Bench(
      """
      steps:
        - { id: d, uses: store.get, with: { name: d } }
        - id: a
          uses: bench.post
          with: { name: refused }
          onError: { value: { name: x, value: "${{ steps.d.?value.orValue('none') }}" } }
      """)
    bench.service.script("refused", .fail(WalkTests.refusal))
    let run = try await bench.run()
    #expect(run.error?.message == "the value of 'onError': 'value.value' must be an int, but found a string")
    #expect(run.error?.line == 7)
    #expect(run.error?.column == 23)
    #expect(run.error?.cause?.kind == .conflict)
  }

  @Test func `a graph shows each case with its steps`() throws {
    let graph = RecipeGraph(try Self.bench().recipe)
    let sections = graph.nodes.flatMap { node in
      node.sections.compactMap { section in
        section.label.map { "\($0): \(section.nodes.map { graph.nodes[$0].path }.joined(separator: ", "))" }
      }
    }
    #expect(
      sections == [
        "if: price/#1", "else: price/#else/full, price/#else/more", "a: each/sort/#case1/x", "b: each/sort/#case2/y",
        "default: each/sort/#default/z", "on error: caught!/h",
      ])
  }

  // MARK: Crashes

  static let whole = """
    steps:
      - { id: n, uses: bench.read, with: { name: n, value: 3 } }
      - id: price
        if: steps.n.value > 3 || now < timestamp('2000-01-01T00:00:00Z')
        steps: [{ uses: bench.post, with: { name: never } }]
        outputs: { total: 0 }
        else:
          steps:
            - { id: full, uses: bench.postLooked, with: { name: full, value: 7 } }
            - { id: more, uses: bench.put, with: { name: more, value: 1 } }
          outputs: { total: "${{ steps.full.value + steps.more.value }}" }
      - id: each
        forEach: "['a', 'b', 'c']"
        maxParallel: 2
        steps:
          - id: sort
            switch: item
            cases:
              a: [{ id: x, uses: bench.postLooked, with: { name: in a, value: 1 } }]
              b: { steps: [{ id: y, uses: bench.put, with: { name: in b, value: 2 } }], outputs: { y: "${{ steps.y.value }}" } }
            default: [{ id: z, uses: bench.postLooked, with: { name: in rest, value: 3 } }]
      - id: caught
        uses: bench.read
        with: { name: caught }
        onError:
          steps: [{ id: h, uses: bench.postLooked, with: { name: handler, value: 4 } }]
          value: { name: "${{ error.kind }}", value: "${{ steps.h.value }}" }
      - id: alone
        forEach: "[1, 2]"
        uses: bench.read
        with: { name: "alone ${{ item }}" }
        onError: { value: { name: none, value: "${{ item }}" } }
    outputs:
      total: ${{ steps.price.total }}
      sorted: "${{ steps.each.map(e, has(e.sort.x) ? 1 : has(e.sort.z) ? 3 : 2) }}"
      caught: ${{ steps.caught.name }} ${{ steps.caught.value }}
      alone: ${{ steps.alone.map(a, a.value) }}
    """

  static let outputs = #"{"total":8,"sorted":[1,2,3],"caught":"conflict 4","alone":[1,0]}"#

  private static func bench() throws -> Bench {
    let bench = try Bench(whole)
    for name in ["caught", "alone 1"] {
      bench.service.script(name, [BenchService.Act](repeating: .fail(WalkTests.refusal), count: 5))
    }
    return bench
  }

  @Test func `the recipe gives its outputs, whenever its program dies`() async throws {
    let undisturbed = try Self.bench()
    let run = try await undisturbed.run()
    #expect(run.status == .succeeded, "\(run.error?.message ?? run.reason ?? "")")
    #expect(run.outputText == Self.outputs)
    for append in 1...undisturbed.store.appends {
      for isAfter in [false, true] {
        let point = CrashingStore.Point(append: append, isAfter: isAfter)
        let bench = try Self.bench()
        bench.restart(dyingAt: point)
        var end: RunRecord?
        do { end = try await bench.run() } catch { #expect(error as? StateError == CrashingStore.death, "\(point)") }
        if end == nil { end = bench.store.run("r1") == nil ? try bench.finished : try await bench.resume() }
        #expect(end?.status == .succeeded, "\(point): \(end?.error?.message ?? "")")
        #expect(end?.outputText == Self.outputs, "\(point)")
        #expect(end?.story.sorted() == run.story.sorted(), "\(point)")
        for name in ["full", "in a", "in rest", "handler"] {
          #expect(bench.service.count(of: name) == 1, "\(point): \(name)")
        }
        #expect(bench.service.count(of: "never") == 0)
      }
    }
  }

  @Test func `a new run keeps the case and the values that the old one had`() async throws {
    let bench = try Bench(Self.whole + "\nfinally: [{ fail: no }]")
    bench.service.script("caught", .fail(WalkTests.refusal))
    bench.service.script("alone 1", .fail(WalkTests.refusal))
    let run = try await bench.run()
    #expect(run.status == .failed)
    var old = run
    old.steps = StepRecords()
    for step in run.stepsInOrder where step.path != "price" { old.steps.put(step) }
    var price = try #require(run.steps["price"])
    price.status = .cancelled
    old.steps.put(price)
    let events = old.takenOver(by: "r2", of: bench.recipe, at: bench.time.now())
    let begins = events.compactMap { event in if case .stepBegan(let begin) = event { begin } else { nil } }
    #expect(begins.map(\.step) == ["n", "price", "price/#else/full", "price/#else/more"])
    #expect(begins[1].case == "else")
    let kept = run.takenOver(by: "r2", of: bench.recipe, at: bench.time.now())
    let ends = kept.compactMap { event in if case .stepEnded(let end) = event { end } else { nil } }
    let caught = try #require(ends.first { $0.step == "caught" })
    #expect(caught.status == .failed && caught.output != nil && caught.error != nil)
  }
}

extension StateEvent {
  fileprivate func isBegin(of path: StepPath) -> Bool {
    if case .stepBegan(let begin) = self { begin.step == path } else { false }
  }
}
