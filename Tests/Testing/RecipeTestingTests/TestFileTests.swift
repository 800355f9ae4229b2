import Basics
import RecipeTesting
import Testing

/// The diagnostics of test files, and the texts written into them.
@Suite struct TestFileTests {
  private static let recipe = """
    inputs: { n: int, by: { type: int, default: 2 } }
    steps:
      - let: { sum: "${{ inputs.n + inputs.by }}" }
      - id: each
        forEach: "['a', 'b']"
        as: x
        steps: [{ id: inner, if: "x == 'b'", steps: [{ let: { y: "${{ x }}" } }] }]
    outputs: { sum: "${{ sum }}", parts: "${{ [inputs.n, inputs.by] }}", text: "${{ 'n is ' + string(inputs.n) }}" }
    """

  private static func bench(_ test: String) throws -> Bench {
    try Bench(["r.yaml": recipe, "r.test.yaml": test])
  }

  @Test(arguments: [
    (
      """
      recipe: r.yaml
      strat: 2026-03-02T10:00:00Z
      cases:
        - case: x
          do: [runn, { advance: 1 }, { sandbox: { markbok: {} } }]
      """,
      """
      r.test.yaml:2:1: error: a test file has no key 'strat'; did you mean 'start'?
        strat: 2026-03-02T10:00:00Z
        ^~~~~
      r.test.yaml:5:10: error: nothing is called 'runn' here; did you mean 'run'?
            do: [runn, { advance: 1 }, { sandbox: { markbok: {} } }]
                 ^~~~
      r.test.yaml:5:27: error: 'advance' takes a duration such as 90s, 5m, 1h30m, 2d, but found 1; say the \
      unit: 1s, 1m or 1h
            do: [runn, { advance: 1 }, { sandbox: { markbok: {} } }]
                                  ^
      r.test.yaml:5:45: error: the recipe uses no plugin 'markbok'; it uses none
            do: [runn, { advance: 1 }, { sandbox: { markbok: {} } }]
                                                    ^~~~~~~
      """
    ),
    (
      """
      recipe: r.yaml
      inputs: { by: "${{ 1 + 1 }}" }
      cases:
        - case: x
          inputs: { n: "${{ now }}" }
          do:
            - run: { n: "${{ inputs.by }}" }
            - signal: { name: e, data: { a: ["${{ 1 }}"] } }
              expect: { outputs: { text: "${{ x }}" } }
      """,
      """
      r.test.yaml:2:15: error: an expression isn't allowed here; write the value out
        inputs: { by: "${{ 1 + 1 }}" }
                      ^~~~~~~~~~~~~~
      r.test.yaml:5:18: error: an expression isn't allowed here; write the value out
            inputs: { n: "${{ now }}" }
                         ^~~~~~~~~~~~
      r.test.yaml:7:19: error: an expression isn't allowed here; write the value out
              - run: { n: "${{ inputs.by }}" }
                          ^~~~~~~~~~~~~~~~~~
      r.test.yaml:8:40: error: an expression isn't allowed here; write the value out
              - signal: { name: e, data: { a: ["${{ 1 }}"] } }
                                               ^~~~~~~~~~
      """
    ),
    (
      """
      recipe: r.yaml
      cases:
        - case: x
          do:
            - run: { m: 1 }
              expect:
                status: suceeded
                steps: { "each[0]/iner": skipped }
                outputs: { smu: 3 }
                error: { knd: timeout }
                that: outputs.sum == 'three'
      """,
      """
      r.test.yaml:5:9: error: the run needs the input 'n' (int); add it under 'inputs' or 'run'
              - run: { m: 1 }
                ^~~
      r.test.yaml:5:16: error: the recipe has no input 'm'; it takes n, by
              - run: { m: 1 }
                       ^
      r.test.yaml:7:19: error: 'status' cannot be 'suceeded'; did you mean 'succeeded'?
                  status: suceeded
                          ^~~~~~~~
      r.test.yaml:8:20: error: the recipe has no step 'iner'; did you mean 'inner'?
                  steps: { "each[0]/iner": skipped }
                           ^~~~~~~~~~~~~~
      r.test.yaml:9:22: error: the recipe has no output 'smu'; did you mean 'sum'?
                  outputs: { smu: 3 }
                             ^~~
      r.test.yaml:10:20: error: an error has no member 'knd'; did you mean 'kind'?
                  error: { knd: timeout }
                           ^~~
      r.test.yaml:11:17: error: `==` does not compare an int with a string
                  that: outputs.sum == 'three'
                        ^~~~~~~~~~~~~~~~~~~~~~
      """
    ),
    (
      """
      recipe: r.yaml
      inputs: { n: 1 }
      cases:
        - case: x
          do:
            - run
            - expect:
                status: failed
                steps: { "each[0]/inner": succeeded }
                outputs: { sum: 4, parts: [1, 3], text: { a: 1 } }
                that:
                  - outputs.sum > 3
                  - has(run.wakeAt)
                  - outputs.parts.size() + 1 == outputs.sum + 1 && true
                  - outputs.parts == [1, 3]
            - approve
            - run
      """,
      """
      r.test.yaml:8:19: error: status is "succeeded", but "failed" is expected
                  status: failed
                          ^~~~~~
      r.test.yaml:9:37: error: steps.each[0]/inner is "skipped", but "succeeded" is expected
                  steps: { "each[0]/inner": succeeded }
                                            ^~~~~~~~~
      r.test.yaml:10:27: error: outputs.sum is 3, but 4 is expected
                  outputs: { sum: 4, parts: [1, 3], text: { a: 1 } }
                                  ^
      r.test.yaml:10:37: error: outputs.parts is not as expected
                  outputs: { sum: 4, parts: [1, 3], text: { a: 1 } }
                                            ^~~~~~
              …
                1,
            -   3
            +   2
              ]
      r.test.yaml:10:51: error: outputs.text is not as expected
                  outputs: { sum: 4, parts: [1, 3], text: { a: 1 } }
                                                          ^~~~~~~~
            - {
            -   "a": 1
            - }
            + n is 1
      r.test.yaml:12:15: error: this does not hold: outputs.sum is 3
                    - outputs.sum > 3
                      ^~~~~~~~~~~~~~~
      r.test.yaml:13:15: error: this does not hold: run.wakeAt is absent
                    - has(run.wakeAt)
                      ^~~~~~~~~~~~~~~
      r.test.yaml:14:15: error: this does not hold: outputs.sum is 3, the left side is 3, the right side is 4
                    - outputs.parts.size() + 1 == outputs.sum + 1 && true
                      ^~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~
      r.test.yaml:15:15: error: this does not hold: the left side is [1, 2]
                    - outputs.parts == [1, 3]
                      ^~~~~~~~~~~~~~~~~~~~~~~
      r.test.yaml:16:9: error: no run asks for a decision
              - approve
                ^~~~~~~
      """
    ),
  ])
  func `what is wrong is said at its place, all at once`(_ test: String, _ wanted: String) async throws {
    let bench = try Self.bench(test)
    #expect(bench.text(try await bench.run()) == wanted)
  }

  @Test func `what is recorded is written anew, and nothing else changes`() async throws {
    let bench = try Self.bench(
      """
      recipe: r.yaml # a comment
      inputs: { n: 1 }
      cases:
        - case: x
          do:
            - run
            - expect:
                status: succeeded
                outputs:
                  sum: 4 # was it?
                  parts:
                    - 1
                    - 3
                    - 5
                  text: "no: text"
                runs: []

      """)
    let outcome = try await bench.run()
    #expect(
      outcome.updated.map { String(decoding: $0, as: UTF8.self) } == """
        recipe: r.yaml # a comment
        inputs: { n: 1 }
        cases:
          - case: x
            do:
              - run
              - expect:
                  status: succeeded
                  outputs:
                    sum: 3 # was it?
                    parts:
                      - 1
                      - 2
                    text: "n is 1"
                  runs: [succeeded]

        """)
    try Files.write(outcome.updated ?? [], to: "\(bench.folder)/r.test.yaml")
    let again = try await bench.run()
    #expect(bench.text(again) == "")
    #expect(again.updated == nil)
  }

  @Test func `programs read outcomes as JSON, JUnit's XML and commands of GitHub`() async throws {
    let bench = try Self.bench(
      """
      recipe: r.yaml
      inputs: { n: 1 }
      cases:
        - case: it adds
          do: [run, { expect: { outputs: { sum: 3 } } }]
        - case: <it> fails
          do: [run, { expect: { outputs: { parts: [1, 3] } } }]
      """)
    var outcome = try await bench.run()
    outcome.file = "r.test.yaml"
    outcome.took = .milliseconds(40)
    for index in outcome.cases.indices { outcome.cases[index].took = .milliseconds(20) }
    let report = TestReport([outcome])
    #expect((report.passed, report.failed, report.hasFaults) == (1, 1, false))
    func clean(_ text: String) -> String { text.replacing("\(bench.folder)/", with: "") }
    #expect(
      clean(report.github) == """
        ::error file=r.test.yaml,line=7,col=45::outputs.parts is not as expected%0A  …%0A    1,%0A-   3%0A\
        +   2%0A  ]
        """)
    #expect(
      clean(report.junit) == """
        <?xml version="1.0" encoding="UTF-8"?>
        <testsuites tests="2" failures="1" errors="0" time="0.04">
          <testsuite name="r.test.yaml" tests="2" failures="1" errors="0" time="0.04">
            <testcase name="it adds" classname="r.test.yaml" time="0.02"/>
            <testcase name="&lt;it&gt; fails" classname="r.test.yaml" time="0.02">
              <failure message="outputs.parts is not as expected">
        r.test.yaml:7:45: error: outputs.parts is not as expected
              do: [run, { expect: { outputs: { parts: [1, 3] } } }]
                                                      ^~~~~~
                …
                  1,
              -   3
              +   2
                ]</failure>
            </testcase>
          </testsuite>
        </testsuites>
        """)
    #expect(
      clean(report.json) == """
        {
          "passed": 1,
          "failed": 1,
          "files": [
            {
              "file": "r.test.yaml",
              "seconds": 0.04,
              "faults": [],
              "cases": [
                {
                  "case": "it adds",
                  "status": "passed",
                  "seconds": 0.02,
                  "failures": []
                },
                {
                  "case": "<it> fails",
                  "status": "failed",
                  "seconds": 0.02,
                  "failures": [
                    {
                      "severity": "error",
                      "message": "outputs.parts is not as expected",
                      "file": "r.test.yaml",
                      "line": 7,
                      "column": 45,
                      "difference": [
                        "  …",
                        "    1,",
                        "-   3",
                        "+   2",
                        "  ]"
                      ]
                    }
                  ]
                }
              ]
            }
          ]
        }
        """)
  }
}
