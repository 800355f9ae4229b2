import RecipeTesting
import Testing

/// Running a recipe on a clock that only its test moves.
@Suite struct VirtualTimeTests {
  @Test(arguments: [
    (
      "a wait of two days",
      "steps: [{ wait: 2d }, { let: { x: \"${{ now }}\" } }]\noutputs: { at: \"${{ x }}\" }\n",
      """
      start: 2026-03-02T10:00:00Z
      cases:
        - case: it waits, and goes on by itself
          do:
            - run: {}
              expect: { status: waiting, waitsUntil: 2026-03-04T10:00:00Z }
            - advance: 47h
              expect: { status: waiting }
            - advance: 1h
              expect: { status: succeeded, outputs: { at: 2026-03-04T10:00:00Z } }
      """
    ),
    (
      "the made-up address of a run's page",
      "steps: [{ id: ask, approve: { prompt: Go?, link: true } }]\noutputs: { at: \"${{ run.?url.orValue('') }}\" }\n",
      """
      start: 2026-03-02T10:00:00Z
      cases:
        - case: it is the same when the run goes on
          do:
            - run: {}
              expect: { status: waiting }
            - approve: ask
              expect:
                status: succeeded
                that: ["outputs.at.matches('^https://errand[.]example/runs/[0-9a-f-]{36}$')"]
      """
    ),
    (
      "a schedule over five days, an agent that is away, and catch-up",
      "on: [{ cron: \"0 9 * * *\" }]\nsteps: [{ let: { x: 1 } }]\n",
      """
      start: 2026-03-02T10:00:00Z
      cases:
        - case: it fires each day
          do:
            - serve
            - advance: 5d
              expect:
                runs: [succeeded, succeeded, succeeded, succeeded, succeeded]
                that: ["slots.all(s, s.outcome == 'started')", "now == timestamp('2026-03-07T10:00:00Z')"]
        - case: what was missed is superseded but for the last
          do:
            - serve
            - stop
            - advance: 4d
            - restart
            - expect:
                slots: ["2026-03-03T09:00:00Z ×3 superseded", "2026-03-06T09:00:00Z started"]
                runs: [succeeded]
      """
    ),
    (
      "the clocks of spring and autumn",
      "on: [{ cron: \"30 2 * * *\", zone: Europe/Berlin }]\nsteps: [{ let: { x: 1 } }]\n",
      """
      cases:
        - case: the hour that is not there
          start: 2026-03-27T12:00:00Z
          do:
            - serve
            - advance: 3d
              expect:
                slots: ["2026-03-28T01:30:00Z started", "2026-03-29T01:00:00Z started", "2026-03-30T00:30:00Z started"]
        - case: the hour that is there twice
          start: 2026-10-24T12:00:00Z
          do:
            - serve
            - advance: 2d
              expect: { slots: ["2026-10-25T00:30:00Z started", "2026-10-26T01:30:00Z started"] }
      """
    ),
    (
      "events, approvals and cancelling",
      """
      steps:
        - id: came
          wait: { event: ready, match: event.data.size > 1, timeout: 1d }
        - id: ask
          approve: { prompt: Go on?, by: [ana], timeout: 2d }
      finally: [{ let: { x: 1 } }]
      """,
      """
      cases:
        - case: an event of the wrong size, the right one, and a person
          do:
            - run
            - signal: { name: ready, data: { size: 1 } }
              expect: { steps: { came: waiting } }
            - signal: { name: ready, data: { size: 2 } }
              expect: { steps: { came: succeeded, ask: waiting } }
            - stop
            - advance: 1d
            - restart
            - approve: { by: ana }
              expect: { status: succeeded }
        - case: a rejection
          do:
            - run
            - signal: { name: ready, data: { size: 2 } }
            - reject: { step: ask, by: ana, comment: not now }
              expect: { status: rejected }
        - case: nobody says anything
          do:
            - run
            - advance: 1d
              expect: { status: timedOut, error: { kind: timeout, step: came } }
        - case: somebody cancels
          do:
            - run
            - cancel
            - expect: { status: cancelled }
      """
    ),
    (
      "a clock that is set, which changes no wait",
      "steps: [{ wait: 1h }]\n",
      """
      start: 2026-03-02T10:00:00Z
      cases:
        - case: forward past the wait
          do:
            - run
            - setClock: 2026-03-02T12:00:00Z
              expect: { status: succeeded }
        - case: back
          do:
            - run
            - setClock: 2026-03-02T09:00:00Z
              expect: { status: waiting }
            - advanceTo: 2026-03-02T11:00:00Z
              expect: { status: succeeded }
      """
    ),
  ])
  func `a case`(_ name: String, _ recipe: String, _ test: String) async throws {
    let bench = try Bench(["r.yaml": recipe, "r.test.yaml": "recipe: r.yaml\n\(test)\n"])
    let outcome = try await bench.run()
    #expect(bench.text(outcome) == "", "\(bench.text(outcome))")
    #expect(!outcome.cases.isEmpty)
  }

  @Test func `a fault, what is asked again, and what the recipe gives in the end`() async throws {
    let bench = try Bench([
      "r.yaml": """
      steps:
        - id: book
          uses: markbook.markbookList
      outputs: { count: "${{ steps.book.markbooks.size() }}" }
      """,
      "r.test.yaml": """
      recipe: r.yaml
      cases:
        - case: two dropped connections
          sandboxes: { markbook: { fault: { kind: refuse, call: markbooklist, times: 2 } } }
          do:
            - run
            - advance: 1m
            - expect:
                status: succeeded
                that: [steps.book.attempts == 3, "requests.filter(r, has(r.status)).size() == 2"]
        - case: the second run finds another fault
          do:
            - run
            - fault: { markbook: { kind: html, times: 10 } }
            - run
            - advance: 1m
              expect: { runs: [succeeded, failed] }
      """,
    ])
    let found = bench.text(try await bench.run())
    #expect(found == "", "\(found)")
  }

  @Test func `trouble of mail and of commands is rehearsed like that of services`() async throws {
    let bench = try Bench([
      "r.yaml": """
      steps:
        - id: table
          uses: csv.write
          with: { path: out/t.csv, rows: [{ place: Zürich }], encoding: latin-1 }
        - id: look
          uses: shell.run
          with: { effect: read, program: wc, arguments: [-c, t.csv], folder: out }
          retry: { maxAttempts: 2, initial: 1m, on: [plugin, timeout] }
        - id: sent
          uses: mail.send
          with: { to: [ana@example.org], subject: The table, text: "${{ steps.look.output }}", attachments: [{ path: out/t.csv }] }
      outputs: { said: "${{ steps.look.output }}" }
      """,
      "r.test.yaml": """
      recipe: r.yaml
      cases:
        - case: nothing is the matter
          do:
            - run
            - expect: { status: succeeded, outputs: { said: 13 t.csv } }
        - case: a command that fails once
          sandboxes: { shell: { fault: { kind: exit, status: 2, call: wc } } }
          do:
            - run
            - advance: 2m
              expect: { status: succeeded, that: steps.look.attempts == 2 }
        - case: one that takes too long, each time
          sandboxes: { shell: { fault: { kind: timeOut, times: 9 } } }
          do:
            - run
            - advance: 2m
              expect: { status: timedOut }
        - case: a recipient whom nobody knows
          sandboxes: { mail: { fault: { kind: recipient, call: ana@ } } }
          do:
            - run
            - expect: { status: failed, error: { kind: validation, step: sent } }
        - case: an answer that is lost
          sandboxes: { mail: { fault: { kind: lostAnswer } } }
          do:
            - run
            - expect: { status: uncertain }
      """,
    ])
    let found = bench.text(try await bench.run())
    #expect(found == "", "\(found)")
  }
}
