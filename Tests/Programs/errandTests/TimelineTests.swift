import Agent
import Basics
import Calendars
import CommandLineParser
import RunState
import Testing

@testable import errand

@Suite struct TimelineTests {
  private static func at(_ seconds: Double) -> Timestamp { Timestamp(seconds: 1_800_000_000 + Int(seconds)) ?? .epoch }

  private static func step(
    _ path: String, _ status: StepStatus, _ from: Double, _ to: Double?, attempts: Int = 1, last: Double? = nil,
    error: RunError? = nil, wait: WaitRecord? = nil, decision: DecisionRecord? = nil
  ) -> StepRecord {
    StepRecord(
      path: path, ordinal: 0, status: status, now: at(from), startedAt: at(from), endedAt: to.map(at),
      attempts: attempts, lastAttempt: last.map { AttemptRecord(number: attempts, startedAt: at($0)) }, error: error,
      wait: wait, decision: decision)
  }

  private static let timeline = Timeline(
    began: at(0), ended: at(1000),
    steps: [
      step("book", .succeeded, 0, 100, attempts: 3, last: 80),
      step("night", .succeeded, 100, 500, wait: WaitRecord(.until, wakeAt: at(500))),
      step("put[0]/write", .skipped, 500, 500),
      step("paid", .succeeded, 500, 600, wait: WaitRecord(.event, event: "paid")),
      step("backup", .running, 600, nil, attempts: 4, last: 950, wait: WaitRecord(.poll, rounds: 4)),
      step(
        "字の名前", .failed, 900, 950,
        error: RunError(.network, "The service at 127.0.0.1 did not answer within 10s")),
      step("ask", .waiting, 990, nil, attempts: 0, wait: WaitRecord(.approval)),
    ], clock: WallClock(.utc, now: at(1000)))

  @Test func `each step has its start, its bar, its duration, its attempts and its waits`() {
    #expect(
      TimelineTests.timeline.lines(width: 90, colour: false).joined(separator: "\n") == """
        STEP          START     0s               16m 40s  TOOK    STATUS
        book          +0.0s     ▒██                       1m 40s  succeeded, 3 tries
        night         +1m 40s     ░░░░░░░░░░              6m 40s  succeeded, waited
        put[0]/write  +8m 20s               █                     skipped
        paid          +8m 20s               ░░░           1m 40s  succeeded, waited for event paid
        backup        +10m 00s                ▒▒▒▒▒▒▒▒▒█  6m 40s  running, 4 rounds
        字の名前      +15m 00s                       ██   50s     failed
            network: The service at 127.0.0.1 did not answer within 10s
        ask           +16m 30s                         ░  10s     waiting, for a decision
        """)
  }

  @Test func `a loop that went on without some items says how many failed`() {
    let timeline = Timeline(
      began: Self.at(0), ended: Self.at(4),
      steps: [
        Self.step("put", .succeeded, 0, 4), Self.step("put[0]", .failed, 0, 1), Self.step("put[1]/in", .failed, 1, 2),
        Self.step("put[1]", .timedOut, 1, 2), Self.step("put[2]", .succeeded, 2, 4),
      ], clock: WallClock(.utc, now: Self.at(4)))
    let lines = timeline.lines(width: 80, colour: false)
    #expect(
      lines.dropFirst().compactMap { $0.split(separator: "s  ").last } == [
        "succeeded, 2 failed", "failed", "failed", "timedOut", "succeeded",
      ])
  }

  @Test func `a narrow terminal gets no starts and cut texts, a narrower one no bars, and a narrower one no times`() {
    #expect(
      TimelineTests.timeline.lines(width: 60, colour: false).joined(separator: "\n") == """
        STEP                    TOOK    STATUS
        book          █         1m 40s  succeeded, 3 tries
        night         ░░░░      6m 40s  succeeded, waited
        put[0]/write      █             skipped
        paid              ░     1m 40s  succeeded, waited for event…
        backup            ▒▒▒█  6m 40s  running, 4 rounds
        字の名前             █  50s     failed
            network: The service at 127.0.0.1 did not answer within
            10s
        ask                  ░  10s     waiting, for a decision
        """)
    #expect(
      TimelineTests.timeline.lines(width: 40, colour: false).joined(separator: "\n") == """
        STEP          TOOK    STATUS
        book          1m 40s  succeeded, 3 tries
        night         6m 40s  succeeded, waited
        put[0]/write          skipped
        paid          1m 40s  succeeded, waited…
        backup        6m 40s  running, 4 rounds
        字の名前      50s     failed
            network: The service at 127.0.0.1
            did not answer within 10s
        ask           10s     waiting, for a de…
        """)
    #expect(
      TimelineTests.timeline.lines(width: 16, colour: false).joined(separator: "\n") == """
        STEP   STATUS
        book   succeede…
        night  succeede…
        put[…  skipped
        paid   succeede…
        back…  running,…
        字の…  failed
            network: The
            service at
            127.0.0.1
            did not
            answer
            within 10s
        ask    waiting,…
        """)
  }

  @Test func `output that isn't for a terminal isn't cut`() {
    var timeline = TimelineTests.timeline
    timeline.steps = [TimelineTests.step(String(repeating: "a/", count: 70) + "b", .succeeded, 0, 1000)]
    let lines = timeline.lines(width: nil, colour: false)
    #expect(lines[1].hasPrefix(timeline.steps[0].path))
    #expect(lines[1].hasSuffix("  succeeded"))
    #expect(!lines[1].contains("…"))
  }

  @Test(arguments: Array(4...200)) func `no line is wider than the terminal`(_ width: Int) {
    for line in TimelineTests.timeline.lines(width: width, colour: false) {
      #expect(line.displayWidth <= max(width, 12), "\(width): \(line)")
    }
  }

  @Test func `a run that took no time has a cell for each step`() {
    var timeline = TimelineTests.timeline
    timeline.ended = timeline.began
    timeline.steps = [TimelineTests.step("a", .succeeded, 0, 0), TimelineTests.step("b", .succeeded, 0, 0)]
    #expect(
      timeline.lines(width: 60, colour: false).joined(separator: "\n") == """
        STEP  START  0s                        0.0s  TOOK  STATUS
        a     +0.0s  █                               0.0s  succeeded
        b     +0.0s  █                               0.0s  succeeded
        """)
  }

  @Test(arguments: [
    ("one two three", 7, ["one two", "three"]), ("abcdefghij", 4, ["abcd", "efgh", "ij"]), ("", 5, [""]),
    ("字字字", 4, ["字字", "字"]), ("字", 1, ["字"]), ("a abcdefgh", 4, ["a", "abcd", "efgh"]),
  ])
  func `text is broken at blanks`(_ text: String, _ width: Int, _ lines: [String]) {
    #expect(text.wrapped(to: width) == lines)
  }
}
