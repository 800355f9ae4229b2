import Basics
import Testing

@testable import RunState

@Suite struct StateTests {
  @Test func `a run is the fold of its events`() throws {
    let lost = RunError(.network, "the answer was lost", step: "put[0]", attempt: 1, retryable: true, effect: .unknown)
    let state = try Example.fold([
      Example.created("r", at: 0),
      .runStatusChanged(RunStatusChanged(run: "r", at: instant(1), status: .running)),
      .stepBegan(
        StepBegan(
          run: "r", at: instant(2), step: "put", now: instant(2), items: .inline(.list([.int(7)])))),
      .stepBegan(StepBegan(run: "r", at: instant(3), step: "put[0]", now: instant(2), key: "r/put#0")),
      .attemptBegan(
        AttemptBegan(run: "r", at: instant(4), step: "put[0]", number: 1, baseline: .inline(.int(4)))),
      .attemptEnded(
        AttemptEnded(run: "r", at: instant(5), step: "put[0]", number: 1, error: lost, retryAt: instant(6))),
      .stepEnded(StepEnded(run: "r", at: instant(1), step: "skip", status: .skipped)),
      .cancelRequested(CancelRequested(run: "r", at: instant(7), reason: "enough")),
    ])
    let run = try #require(state.runs["r"])
    #expect(run.status == .running)
    #expect(run.now == instant(2))
    #expect(run.pendingCancel?.reason == "enough")
    #expect(run.stepsInOrder.map(\.path) == ["put", "put[0]", "skip"])
    #expect(
      run.steps["put[0]"]
        == StepRecord(
          path: "put[0]", ordinal: 1, status: .retrying, now: instant(2), startedAt: instant(3), key: "r/put#0",
          attempts: 1, doubts: 1,
          lastAttempt: AttemptRecord(
            number: 1, startedAt: instant(4), endedAt: instant(5), baseline: .inline(.int(4)), error: lost,
            retryAt: instant(6))))
    #expect(run.steps["skip"]?.now == instant(2))
  }

  @Test func `an uncertain step is resolved by ending it again`() throws {
    var state = try Example.fold([Example.created("r"), Example.began("r", "put")])
    let error = RunError(.uncertain, "it may have been put", effect: .unknown)
    try state.apply(.stepEnded(StepEnded(run: "r", at: instant(1), step: "put", status: .uncertain, error: error)))
    #expect(state.runs["r"]?.steps["put"]?.endedAt == nil)
    try state.apply(.stepEnded(StepEnded(run: "r", at: instant(9), step: "put", status: .succeeded)))
    #expect(state.runs["r"]?.steps["put"]?.error == nil)
    #expect(state.runs["r"]?.steps["put"]?.endedAt == instant(9))
  }

  @Test func `the run's now never goes back`() throws {
    let state = try Example.fold([
      Example.created("r", at: 5), Example.began("r", "a", at: 9), Example.began("r", "b", at: 3),
    ])
    #expect(state.runs["r"]?.now == instant(9))
    #expect(state.runs["r"]?.steps["b"]?.now == instant(3))
  }

  @Test func `a run's notes are its own, survive being written, and go with it`() throws {
    var state = try Example.fold([Example.created("r"), Example.created("s"), Example.began("r", "a")])
    func note(_ value: Int, over old: Int?, of run: String = "r") -> StateEvent {
      .runNoted(
        RunNoted(
          run: run, at: instant(1), name: "n", value: .inline(.int(value)),
          condition: ValueState(old.map { .inline(.int($0)) })))
    }
    try state.apply(note(1, over: nil))
    try state.apply(note(2, over: 1))
    // Neither another attempt nor another start of a step changes them.
    for event in [Example.attempted("r", "a", 2, at: 2), Example.began("r", "a", at: 3)] { try state.apply(event) }
    #expect(state.runs["r"]?.notes == ["n": .inline(.int(2))])
    #expect(state.runs["s"]?.notes == [:] && state.values.isEmpty)
    #expect(try State(reading: JSON.parse(JSON.write(state.encoded()))) == state)
    let event = note(2, over: 1)
    #expect(try StateEvent(reading: JSON.parse(JSON.write(event.encoded()))) == event)
    for (event, message) in [
      (note(3, over: 1), "the note 'n' of the run r is not what it was"),
      (note(3, over: nil, of: "x"), "the run x is not open"),
    ] {
      let before = state
      #expect { try state.apply(event) } throws: { ($0 as? RecordError)?.message == message }
      #expect(state == before)
    }
    try state.apply(Example.over("r", at: 9))
    #expect(state.runs["r"] == nil)
  }

  @Test func `a step remembers its change of a value, until it ends or starts again`() throws {
    var state = try Example.fold([Example.created("r"), Example.began("r", "a"), Example.attempted("r", "a")])
    let change = StepReference(run: "r", step: "a")
    func remembered() -> ValueState? { state.runs["r"]?.steps["a"]?.change }
    try state.apply(
      .valueSet(
        ValueSet(at: instant(1), name: "x", value: .inline(.int(1)), condition: ValueState(nil), change: change)))
    #expect(remembered() == ValueState(.inline(.int(1))))
    #expect(state.values == ["x": .inline(.int(1))])
    // It survives another attempt, and writing and reading the state.
    try state.apply(Example.attempted("r", "a", 2, at: 2))
    #expect(try State(reading: JSON.parse(JSON.write(state.encoded()))) == state)
    #expect(remembered() == ValueState(.inline(.int(1))))
    try state.apply(Example.began("r", "a", at: 3))
    #expect(remembered() == nil)
    try state.apply(
      .valueRemoved(
        ValueRemoved(at: instant(4), name: "x", condition: ValueState(.inline(.int(1))), change: change)))
    #expect(remembered() == ValueState(nil))
    #expect(state.values.isEmpty)
    try state.apply(Example.ended("r", "a", at: 5))
    #expect(remembered() == nil)
  }

  @Test(arguments: [
    (Example.created("r"), "the run r exists already"),
    (Example.began("x", "a"), "the run x is not open"),
    (Example.attempted("r", "b"), "the step 'b' of the run r has not begun"),
    (Example.over("x"), "the run x is not open"),
    (Example.over("r", .waiting), "a run cannot end as waiting"),
    (
      .valueSet(ValueSet(at: instant(0), name: "x", value: .inline(.int(2)), condition: ValueState(.inline(.int(1))))),
      "the value 'x' is not what it was"
    ),
    (
      .valueSet(ValueSet(at: instant(0), name: "y", value: .inline(.int(1)), condition: ValueState(nil))),
      "the value 'y' is not what it was"
    ),
    (
      .valueRemoved(ValueRemoved(at: instant(0), name: "y", change: StepReference(run: "r", step: "b"))),
      "the step 'b' of the run r has not begun"
    ),
    (
      .valueSet(
        ValueSet(at: instant(0), name: "y", value: .inline(.null), change: StepReference(run: "x", step: "a"))),
      "the run x is not open"
    ),
    (
      .runStatusChanged(RunStatusChanged(run: "r", at: instant(0), status: .failed)),
      "a run ends by 'runEnded', not by a change to failed"
    ),
  ])
  func `an event that does not fit changes nothing`(_ event: StateEvent, _ message: String) throws {
    var state = try Example.fold([Example.created("r"), Example.began("r", "a"), Example.set("y", .int(0))])
    let before = state
    #expect { try state.apply(event) } throws: { ($0 as? RecordError)?.message == message }
    #expect(state == before)
  }

  static let cause = RunError(.server, "HTTP 503", status: 503, retryable: true, retryAfter: .milliseconds(1500))
  static let blob = BlobReference(sha256: String(repeating: "0a", count: 32), size: 70_000)

  @Test(
    arguments: [
      Example.created("r", inputs: .object(["when": .timestamp(instant(1)), "n": .double(.nan)])),
      .runCreated(
        RunCreated(
          run: "r", at: instant(0), recipe: "é", file: "e\u{301}.yaml", texts: .blob(blob), inputs: .null,
          overrides: ["connections.markbook.baseURL": .string("http://127.0.0.1")], sandbox: true, program: "errand 0.1"
        )),
      .runStatusChanged(RunStatusChanged(run: "r", at: instant(0), status: .paused, reason: "a step is gone")),
      .cancelRequested(CancelRequested(run: "r", at: instant(0))),
      .stepBegan(
        StepBegan(run: "r", at: instant(0), step: "#2", now: instant(0), status: .waiting, key: "k", items: .blob(blob))
      ),
      .attemptBegan(AttemptBegan(run: "r", at: instant(0), step: "a", number: 3, baseline: .inline(.list([])))),
      .attemptBegan(
        AttemptBegan(
          run: "r", at: instant(0), step: "a", number: 4, carried: .inline(.object(["page": .int(2)])),
          collected: [.inline(.list([.int(1)])), .inline(.list([]))])),
      .attemptEnded(
        AttemptEnded(
          run: "r", at: instant(0), step: "a", number: 3,
          error: RunError(
            .timeout, "no answer", detail: "30 s", step: "a", attempt: 3, file: "r.yaml", line: 4, column: 9,
            effect: .unknown, cause: cause), retryAt: instant(5),
          exchanges: [.object(["method": .string("GET"), "status": .int(503)])])),
      .stepEnded(
        StepEnded(run: "r", at: instant(0), step: "a", now: instant(0), status: .timedOut, error: cause)),
      .runEnded(RunEnded(run: "r", at: instant(0), status: .rejected, outputs: .inline(.object([:])), error: cause)),
      Example.set("x", .bytes([0, 255])),
      .valueRemoved(ValueRemoved(at: instant(0), name: "x")),
      .valueSet(
        ValueSet(
          at: instant(0), name: "x", value: .blob(blob), condition: ValueState(.inline(.int(1))),
          change: StepReference(run: "r", step: "put[0]"))),
      .valueRemoved(
        ValueRemoved(
          at: instant(0), name: "x", condition: ValueState(nil), change: StepReference(run: "r", step: "a"))),
    ] as [StateEvent])
  func `every event survives JSON unchanged`(_ event: StateEvent) throws {
    let bytes = try JSON.write(event.encoded())
    // The journal's text, written without the value in between.
    #expect(try recordedBytes(of: event) == bytes)
    let read = try StateEvent(reading: try JSON.parse(bytes))
    // NaN differs from itself, so texts are compared.
    #expect(try JSON.write(read.encoded()) == bytes)
    let sorted = try StateEvent(reading: try JSON.parse(try JSON.write(event.encoded(), .prettySorted)))
    #expect(try JSON.write(sorted.encoded(), .sorted) == JSON.write(event.encoded(), .sorted))
  }

  @Test(arguments: [
    (#"{"event":"later"}"#, "the event 'later' is not known to this version"),
    (#"{"event":"valueRemoved","at":"2026-11-20T09:00:00Z"}"#, "'name' is missing"),
    (
      #"{"event":"valueRemoved","at":"yesterday","name":"x"}"#,
      #"in 'at': expected an instant such as "2026-11-20T09:30:00Z""#
    ),
    (#"{"event":"valueRemoved","at":"2026-11-20T09:00:00Z","name":1}"#, "in 'name': expected a string, not an int"),
    (#"{"event":"valueRemoved","at":"2026-11-20T09:00:00Z","name":"x","why":"y"}"#, "'why' is not known"),
    (#"{"at":"2026-11-20T09:00:00Z","why":1,"name":"x","event":"valueRemoved"}"#, "'why' is not known"),
    (
      #"{"event":"runEnded","run":"r","at":"2026-11-20T09:00:00Z","status":"canceled"}"#,
      "in 'status': 'canceled' isn't a known name"
    ),
    (#"["event"]"#, "expected an object, not a list"),
  ])
  func `a record with an unknown part is refused`(_ text: String, _ message: String) throws {
    let value = try JSON.parse(text)
    #expect { try StateEvent(reading: value) } throws: { ($0 as? RecordError)?.message == message }
  }

  @Test func `a chain of causes is kept eight long`() {
    var error = RunError(.plugin, "0")
    for number in 1...20 { error = RunError(.plugin, "\(number)", cause: error) }
    var messages: [String] = []
    var next: RunError? = error
    while let error = next {
      messages.append(error.message)
      next = error.cause
    }
    #expect(messages == ["20", "19", "18", "17", "16", "15", "14", "13", "12"])
  }
}

@Suite struct StoredValueTests {
  @Test(
    arguments: [
      (.null, "null"), (.int(-7), "-7"), (.double(1), "1.0"), (.double(-.infinity), #"{"$double":"-Infinity"}"#),
      (.double(.infinity), #"{"$double":"Infinity"}"#), (.uint(.max), #"{"$uint":"18446744073709551615"}"#),
      (.bytes(Array("hello".utf8)), #"{"$bytes":"aGVsbG8="}"#),
      (.timestamp(instant(0)), #"{"$timestamp":"2026-11-20T09:00:00Z"}"#),
      (.duration(TimeSpan(nanoseconds: .min)), #"{"$duration":"-9223372036.854775808s"}"#),
      (Value(.optional(nil)), #"{"$optional":[]}"#), (Value(.optional(.null)), #"{"$optional":[null]}"#),
      (Value(.type("int")), #"{"$type":"int"}"#), (.object(["a": .list([.uint(1)])]), #"{"a":[{"$uint":"1"}]}"#),
      (.object(["$uint": .string("1")]), #"{"$map":[["$uint","1"]]}"#),
      (.object(["$blob": .int(1), "b": .int(2)]), #"{"$blob":1,"b":2}"#),
      (
        .object(["a": .list([.bytes([]), .object(["$b": .bytes([0])])]), "b": .object(["c": .bytes([255])])]),
        #"{"a":[{"$bytes":""},{"$map":[["$b",{"$bytes":"AA=="}]]}],"b":{"c":{"$bytes":"/w=="}}}"#
      ),
    ] as [(Value, String)])
  func `any value survives JSON unchanged`(_ value: Value, _ text: String) throws {
    let written = try JSON.text(StoredValue.inline(value).encoded())
    #expect(written == text)
    #expect(try recordedBytes(of: StoredValue.inline(value)) == Array(text.utf8))
    #expect(try StoredValue(reading: try JSON.parse(written)) == .inline(value))
  }

  @Test func `keys that aren't strings are kept`() throws {
    var map = ValueMap()
    map[.int(1)] = .string("a")
    map[.bool(true)] = .null
    let written = try JSON.text(StoredValue.inline(.map(map)).encoded())
    #expect(written == #"{"$map":[[1,"a"],[true,null]]}"#)
    #expect(try StoredValue(reading: try JSON.parse(written)) == .inline(.map(map)))
  }

  @Test(arguments: [
    (#"{"$uint":"-1"}"#, "'$uint' doesn't denote a value here"),
    (#"{"$later":1}"#, "'$later' doesn't denote a value here"),
    (#"{"$map":[[1,2],[1,3]]}"#, "a '$map' has a key twice"),
    (
      #"{"$blob":{"sha256":"../../etc/passwd","size":1}}"#,
      "'../../etc/passwd' is not a SHA-256 in lower-case hexadecimal"
    ),
  ])
  func `an unknown form is refused`(_ text: String, _ message: String) throws {
    let value = try JSON.parse(text)
    #expect { try StoredValue(reading: value) } throws: { ($0 as? RecordError)?.message == message }
  }

  @Test func `a run's size in lists does not grow with the run`() throws {
    var events = [Example.created("r", inputs: .object(["text": .string(String(repeating: "x", count: 50_000))]))]
    for item in 0..<5000 { events += [Example.began("r", "put[\(item)]"), Example.ended("r", "put[\(item)]")] }
    for item in 5000..<6000 {
      events.append(
        .stepWaits(
          StepWaits(
            run: "r", at: instant(1), step: "put[\(item)]", now: instant(1),
            wait: WaitRecord(.until, wakeAt: instant(60)))))
    }
    let run = try #require(try Example.fold(events).runs["r"])
    let listed = run.listed
    #expect(listed.steps.count == RunRecord.mostListed)
    #expect(listed.steps["put[5000]"]?.wait?.wakeAt == instant(60))
    #expect((listed.id, listed.recipe, listed.status) == (run.id, run.recipe, run.status))
    #expect(try JSON.write(listed.encoded()).count < 40_000)
    #expect(try RunRecord(reading: listed.encoded()) == listed)
  }
}
