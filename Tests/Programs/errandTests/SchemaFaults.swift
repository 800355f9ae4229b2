import Recipes

extension SchemaTests {
  /// A file of each kind that uses as many keys as possible.
  static let good: [FileSchema: String] = [
    .recipe: """
    recipe: good-one
    summary: Everything that a recipe may say.
    zone: Europe/Bucharest
    inputs:
      markbook: { type: int, summary: Key of the markbook., min: 1, default: 3 }
      into: { type: string, default: Average, choices: [Average, Term] }
      people: { type: "list(map(string, double))", default: [] }
    on:
      - id: weekly
        cron: "30 17 * * FRI"
        overlap: bufferAll
        catchup: all
        catchupLimit: 5
        jitter: 5m
        start: 2026-01-01T00:00:00Z
      - id: paid
        event: { name: paid, type: { amount: double }, match: event.data.amount > 10.0 }
      - id: monthly
        calendar: { hour: 7, dayOfMonth: L }
    defaults: { timeout: 3m }
    concurrencyGroup: { name: books, limit: 2, onLimit: queue }
    steps:
      - id: book
        uses: markbook.getMarkbook
        with: { markbookKey: "${{ inputs.markbook }}" }
        retry: { maxAttempts: 4, initial: 1s, factor: 1.5, jitter: full, on: [network] }
        timeout: { attempt: 10s, total: 1m }
      - id: each
        forEach: steps.book.students
        as: student
        maxParallel: 8
        onItemError: continue
        steps:
          - uses: markbook.putStudentResult
            with:
              markbookKey: 1207731
              studentKey: ${{ student.key }}
              sid: ${{ student.sid }}
              taskKey: 7
              taskName: Average
              result: "80"
        outputs: { of: "${{ student.sid }}" }
      - wait: 90m
      - wait: { event: letter, type: { amount: double }, match: event.data.amount > 1.0, timeout: 6d, onTimeout: continue }
      - id: ask
        approve: { prompt: Shall it go on?, by: [ann, bob], timeout: 2d, onReject: continue }
      - parallel:
          left:
            - let: { one: 1 }
          right:
            - if: inputs.markbook > 3
              fail: Too much.
      - id: backup
        uses: markbook.downloadBackup
        with: { to: backup.zip }
        repeat: { until: result.state != 'pending', every: 1h, timeout: 20h }
    outputs:
      key: ${{ inputs.markbook }}
    finally:
      - let: { two: 2 }

    """,
    .test: """
    recipe: good.yaml
    start: 2026-03-06T06:00:00Z
    inputs: { markbook: 1207731 }
    secrets: { PASSWORD: sesame }
    sandboxes: { markbook: { fault: { kind: refuse, times: 2 } } }
    cases:
      - case: everything that a test may say
        do:
          - serve
          - run: { into: Term }
          - advance: 1d
            expect: { status: waiting, waitsUntil: 2026-03-08T04:00:00Z }
          - advanceTo: 2026-03-09T04:00:00Z
          - fault: { markbook: [{ kind: refuse }, { kind: reset }] }
          - signal: { name: letter, id: a, data: { amount: 12 } }
          - approve: { step: ask, by: ana }
            expect:
              status: failed
              error: { kind: network, status: 500 }
              steps: { book: succeeded, ask: absent }
              outputs: { key: 3 }
              runs: [succeeded]
              that: [outputs.key > 0, runs.size() == 1]

    """,
    .errand: """
    state: var/errand
    zone: Europe/Bucharest
    recipes: [recipes, more]
    secrets:
      environment: false
      files: [secrets.yaml]
      age: { files: [school.age], identity: key.txt }
      commands:
        KEY: [pass, show, school]
        NAME: { run: [pass, show, name], timeout: 10s }
    history: { keepRuns: 10000, keepFor: forever, keepSlotsFor: 30d }
    connections:
      markbook:
        baseURL: https://example.org/api
        apiKey: ${{ secrets.KEY }}
        username: ${{ secrets.NAME }}
        password: ${{ secrets.PASSWORD }}
      other:
        plugin: markbook
        baseURL: https://example.org/other
        apiKey: ${{ secrets.KEY }}
        username: ${{ secrets.NAME }}
        password: ${{ secrets.PASSWORD }}

    """,
  ]

  static let faults: [Fault] = [
    // Keys and names.
    Fault(.recipe, "summary: Every", "sumary: Every"),
    Fault(.recipe, "recipe: good-one", "recipe: good one"),
    Fault(.recipe, "steps:\n  - id: book", "stepz:\n  - id: book"),
    Fault(.recipe, "id: book", "id: Book"),
    Fault(.recipe, "as: student", "as: the-student"),
    Fault(.recipe, "markbook: { type", "mark-book: { type"),
    Fault(.recipe, "onLimit: queue", "onLimt: queue"),
    // Inputs.
    Fault(.recipe, "type: int,", "type: integer,"),
    Fault(.recipe, "{ type: int, summary", "{ summary"),
    Fault(.recipe, "map(string, double)", "map(int, double)"),
    Fault(.recipe, "choices: [Average, Term]", "choices: []"),
    Fault(.recipe, "choices: [Average, Term]", "choices: Average"),
    // Triggers.
    Fault(.recipe, "30 17 * * FRI", "30 17 * *"),
    Fault(.recipe, "overlap: bufferAll", "overlap: bufferNone"),
    Fault(.recipe, "catchupLimit: 5", "catchupLimit: 0"),
    Fault(.recipe, "jitter: 5m", "jitter: 5"),
    Fault(.recipe, "start: 2026-01-01T00:00:00Z", "start: 2026-01-01"),
    Fault(.recipe, "event: { name: paid, type", "event: { type"),
    Fault(.recipe, "event: { name: paid,", "overlap: skip\n    event: { name: paid,"),
    Fault(.recipe, "hour: 7", "hours: 7"),
    Fault(.recipe, "hour: 7", "hour: 7 8"),
    Fault(.recipe, "calendar: { hour: 7, dayOfMonth: L }", "calendar: { hour: 7 }\n    cron: 0 7 * * *"),
    // Actions.
    Fault(.recipe, "uses: markbook.getMarkbook", "uses: markbook.getMarkbok"),
    Fault(.recipe, "{ markbookKey: \"", "{ markbokKey: \""),
    Fault(.recipe, "\n    with: { markbookKey: \"${{ inputs.markbook }}\" }", ""),
    Fault(.recipe, "taskKey: 7", "taskKey: seven"),
    Fault(.recipe, "taskKey: 7", "taskKey: 7.5"),
    Fault(.recipe, "          sid: ${{ student.sid }}\n", ""),
    Fault(.recipe, "maxAttempts: 4", "maxAttempts: 0"),
    Fault(.recipe, "factor: 1.5", "factor: 0.5"),
    Fault(.recipe, "on: [network]", "on: [net]"),
    Fault(.recipe, "attempt: 10s", "attempt: 10"),
    Fault(.recipe, "total: 1m", "totl: 1m"),
    Fault(.recipe, "every: 1h", "evry: 1h"),
    Fault(.recipe, "until: result.state != 'pending', ", ""),
    // Steps.
    Fault(.recipe, "  - wait: 90m", "  - wait: 90 minutes"),
    Fault(.recipe, "  - wait: 90m", "  - wait: { timeout: 1h, until: now }"),
    Fault(.recipe, "  - wait: 90m", "  - wait: 90m\n    with: { a: 1 }"),
    Fault(.recipe, "  - wait: 90m", "  - wait: 90m\n    retry: { maxAttempts: 2 }"),
    Fault(.recipe, "  - wait: 90m", "  - wait: 90m\n    let: { three: 3 }"),
    Fault(.recipe, "  - wait: 90m", "  - id: nothing"),
    Fault(.recipe, "    forEach: steps.book.students\n", ""),
    Fault(.recipe, "maxParallel: 8", "maxParallel: 0"),
    Fault(.recipe, "onTimeout: continue", "onTimeout: goOn"),
    Fault(.recipe, "prompt: Shall it go on?, ", ""),
    Fault(.recipe, "      left:\n        - let: { one: 1 }", "      left: []"),
    Fault(.recipe, "left:", "Left:"),
    Fault(.recipe, "  - let: { two: 2 }", "  let: { two: 2 }"),
    // Tests.
    Fault(.test, "recipe: good.yaml\n", ""),
    Fault(.test, "start: 2026-03-06T06:00:00Z", "start: 2026-03-06"),
    Fault(.test, "sesame }", "sesame }\nreplay: exchanges.json"),
    Fault(.test, "sandboxes: { markbook:", "sandboxes: { markbok:"),
    Fault(.test, "- serve", "- serv"),
    Fault(.test, "- serve", "- advance"),
    Fault(.test, "advance: 1d", "advance: 1 day"),
    Fault(.test, "advance: 1d", "advance: 1d\n        stop: true"),
    Fault(.test, "status: waiting,", "status: waits,"),
    Fault(.test, "ask: absent", "ask: gone"),
    Fault(.test, "error: { kind:", "error: { kid:"),
    Fault(.test, "runs: [succeeded]", "runs: succeeded"),
    Fault(.test, "that: [", "than: ["),
    Fault(.test, "name: letter, ", ""),
    Fault(.test, "step: ask, by", "steps: ask, by"),
    Fault(.test, "  - case: everything that a test may say\n    do:", "  - do:"),
    // errand.yaml.
    Fault(.errand, "zone: Europe", "zones: Europe"),
    Fault(.errand, "environment: false", "environment: no"),
    Fault(.errand, ", identity: key.txt", ""),
    Fault(.errand, "KEY: [pass, show, school]", "KEY: pass show school"),
    Fault(.errand, "KEY: [pass, show, school]", "KEY: []"),
    Fault(.errand, "timeout: 10s", "timeout: 10"),
    Fault(.errand, "keepRuns: 10000", "keepRuns: 10"),
    Fault(.errand, "keepFor: forever", "keepFor: always"),
    Fault(.errand, "plugin: markbook", "plugin: markbok"),
    Fault(.errand, "    plugin: markbook\n", ""),
    Fault(.errand, "baseURL: https://example.org/api", "baseURI: https://example.org/api"),
    Fault(.errand, "files: [secrets.yaml]", "files: [12]"),
    Fault(.errand, "  other:", "  Other One:"),
  ]
}
