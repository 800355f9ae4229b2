import Basics
import Foundation
import MarkbookPlugin
import RunState
import Testing

/// Recipes that run for days, under an agent that serves them; 16:00 in Sydney is 05:00 UTC in summer and 06:00 in
/// winter.
@Suite(.timeLimit(.minutes(20))) struct BackupDaysTests {
  /// A Friday evening in Sydney.
  static let friday = "2026-11-20T09:30:00Z"

  @Test func `Sunday's slot asks for a backup, and Monday has the zip, though the power fails in between`() async throws
  {
    let days = try await Days("markbook-backup", at: BackupDaysTests.friday)
    try await days.pass(to: "2026-11-22T05:00:00Z")
    let waiting = try await days.run()
    #expect(waiting.status == .waiting)
    let why = try await days.why(waiting)
    #expect(
      why == """
        markbook-backup waits until Mon 2026-11-23 02:00 AEDT (in 10 h), in 'night'.
          The folder's agent wakes it then.
          It ran for the slot of Sun 2026-11-22 16:00 AEDT of the schedule 'markbook-backup', and began on Sun 2026-11-22 16:00 AEDT.
        """)
    try await days.crash()
    try await days.pass(to: "2026-11-22T09:00:00Z")
    try await days.serve()
    try await days.pass(to: "2026-11-22T15:00:00Z")
    let end = try await days.run()
    #expect(end.status == .succeeded, "\(end.error?.message ?? "")")
    #expect(days.backups() == ["markbooks-2026-11-23.zip"])
    let outputs = try await days.outputs(end)
    let zip = try #require(FileManager.default.contents(atPath: outputs["path"]?.string ?? ""))
    #expect(zip.count == outputs["bytes"]?.int)
    #expect(zip.range(of: Data("1207731.csv".utf8)) != nil)
    #expect(try await days.writes("schedulebackup") == ["2026": 1])
    #expect(try await days.ledger() == ["2026-11-22T05:00:00Z started"])
    await days.remove()
  }

  @Test func `a machine that was off for a week catches up on the last Sunday only`() async throws {
    let days = try await Days("markbook-backup", at: BackupDaysTests.friday)
    try await days.pass(to: "2026-11-22T05:00:00Z")
    _ = try await days.run()
    try await days.crash()
    // Ten days later, Monday's zip is long due; it is there, because its address hasn't been requested.
    try await days.pass(to: "2026-12-07T01:00:00Z")
    try await days.serve()
    let first = try await days.run()
    #expect(first.status == .succeeded, "\(first.error?.message ?? "")")
    #expect(days.backups() == ["markbooks-2026-12-07.zip"])
    #expect(
      try await days.ledger() == [
        "2026-11-22T05:00:00Z started", "2026-11-29T05:00:00Z superseded", "2026-12-06T05:00:00Z skippedOverlap",
      ])
    await days.remove()
  }

  @Test func `a backup that another person downloaded in the night is reported gone`() async throws {
    let days = try await Days("markbook-backup", at: BackupDaysTests.friday)
    try await days.pass(to: "2026-11-22T05:00:00Z")
    _ = try await days.run()
    // At 1 AM; the zip is deleted an hour later.
    try await days.pass(to: "2026-11-22T14:00:00Z")
    #expect(try await days.somebodyElse().getBackupURL().state != .none)
    try await days.pass(to: "2026-11-22T15:00:00Z")
    let end = try await days.run()
    #expect(end.status == .failed)
    #expect(
      end.error?.message == "The server holds no backup any more; it may have been downloaded or replaced.")
    #expect(days.backups() == [])
    await days.remove()
  }

  @Test func `the wait for a replaced backup ends before its replacement is built`() async throws {
    let days = try await Days("markbook-backup", at: BackupDaysTests.friday)
    try await days.pass(to: "2026-11-22T05:00:00Z")
    _ = try await days.run()
    try await days.pass(to: "2026-11-22T14:30:00Z")
    _ = try await days.somebodyElse().scheduleBackup(matching: "History")
    try await days.pass(to: "2026-11-22T15:00:00Z")
    let (end, woke) = try await days.runToItsEnd()
    // Every hour, and last at the timeout, three hours before the other one is built.
    #expect(woke.count == 20)
    #expect(woke.last == "2026-11-23T11:00:00Z")
    #expect(end.status == .timedOut)
    #expect(
      end.error?.message
        == "'backup' was not as wanted after 21 rounds in 20h; the last one gave {\"state\":\"pending\",\"bytes\":0}")
    #expect(days.backups() == [])
    await days.remove()
  }

  @Test func `a school that is unreachable at night is asked again, at first without delay`() async throws {
    let days = try await Days("markbook-backup", at: BackupDaysTests.friday)
    try await days.pass(to: "2026-11-22T05:00:00Z")
    let run = try await days.run()
    try await days.control("fault?kind=serverError&times=7")
    try await days.pass(to: "2026-11-22T15:00:00Z")
    for _ in 0..<6 { try await days.passToNextTry(of: run) }
    // After 1, 2, 4, 8, 16 and 32 seconds the agent leaves the run until it is due.
    let (end, woke) = try await days.runToItsEnd()
    #expect(woke == ["2026-11-22T15:02:07Z"])
    #expect(end.status == .succeeded, "\(end.error?.message ?? "")")
    #expect(days.backups() == ["markbooks-2026-11-23.zip"])
    await days.remove()
  }

  /// Started by hand on a Saturday evening, before the clocks change.
  static let changes = [
    // 02:00 does not exist: the first instant after the gap, 03:00.
    (start: "2026-10-03T09:00:00Z", wakes: "2026-10-03T16:00:00Z", zip: "markbooks-2026-10-04.zip"),
    // 02:00 comes twice: the first.
    (start: "2027-04-03T08:00:00Z", wakes: "2027-04-03T15:00:00Z", zip: "markbooks-2027-04-04.zip"),
  ]

  @Test(arguments: changes)
  func `a night in which the clocks change is a night`(start: String, wakes: String, zip: String) async throws {
    let days = try await Days("markbook-backup", at: start)
    try await days.start("markbook-backup")
    let (end, woke) = try await days.runToItsEnd()
    #expect(woke == [wakes])
    // The sandbox has this year's markbooks only; a zip without entries is one too.
    #expect(end.status == .succeeded, "\(end.error?.message ?? "")")
    #expect(days.backups() == [zip])
    await days.remove()
  }
}

@Suite(.timeLimit(.minutes(20))) struct ReportDaysTests {
  @Test func `a report each Monday at seven, on both sides of a clock change, and once for what was missed`()
    async throws
  {
    let days = try await Days("weekly-report", at: "2026-09-25T02:00:00Z")
    try await days.pass(to: "2026-09-27T21:00:00Z")
    let first = try await days.run()
    #expect(first.status == .succeeded, "\(first.error?.message ?? "")")
    let outputs = try await days.outputs(first)
    #expect(outputs["title"]?.string == "2026 Y8 Geography, week of 28 September 2026")
    #expect(
      outputs["table"]?.string == """
        Class                             marked    mean  median
        8GEO-B                                12    74.1    80.6
        8GEO-R & Ext.                         11    69.6    66.2
        Task                              marked    mean  median
        Mapping Skills Quiz                   23    73.5    75.0
        Rivers & Coasts Report                22    74.0    75.0
        Half-Yearly Exam (50% = pass)         22    68.9    67.3
        Presentation + Q/A                    21    72.9    73.3
        Effort                                 0       -       -
        Excursion #1: Minnamurra 🌿            20    74.0    75.0
        """)
    #expect(outputs["csv"]?.string?.hasPrefix("name,marked,mean,median\n8GEO-B,12,74.1,80.6\n") == true)
    #expect(
      outputs["behind"]?.list?.compactMap(\.string) == [
        "Rory Fitzgibbon (8GEO-B): 31.8", "Deniz Öztürk (8GEO-R & Ext.): 48.5", "Sione Tupou (8GEO-B): 38.7",
      ])
    #expect(outputs["unmarked"]?.list?.compactMap(\.string) == ["Sam Quinn"])
    // The clocks went forward in between: an hour less than a week.
    try await days.pass(to: "2026-10-04T20:00:00Z")
    #expect(try await days.run().status == .succeeded)
    await days.stop()
    // Two Mondays later.
    try await days.pass(to: "2026-10-18T23:30:00Z")
    try await days.serve()
    let late = try await days.run()
    #expect(
      try await days.ledger() == [
        "2026-09-27T21:00:00Z started", "2026-10-04T20:00:00Z started", "2026-10-11T20:00:00Z superseded",
        "2026-10-18T20:00:00Z started late by 12600 s",
      ])
    let why = try await days.why(late)
    #expect(
      why == """
        weekly-report succeeded on Mon 2026-10-19 10:30 AEDT, after less than a second.
          It ran for the slot of Mon 2026-10-19 07:00 AEDT of the schedule 'weekly-report', and began on Mon 2026-10-19 10:30 AEDT, 3 h 30 min late.
        """)
    await days.remove()
  }
}

@Suite(.timeLimit(.minutes(20))) struct ApprovalDaysTests {
  /// The Friday afternoon of the approval: 15:00 in Sydney.
  private static func asked() async throws -> (Days, RunRecord) {
    let days = try await Days("approve-averages", at: "2026-11-18T22:00:00Z")
    try await days.pass(to: "2026-11-20T04:00:00Z")
    let run = try await days.run()
    #expect(run.status == .waiting)
    return (days, run)
  }

  @Test func `the displayed changes are written after the approval, and the next week needs none`() async throws {
    let (days, run) = try await ApprovalDaysTests.asked()
    let prompt = try #require(run.steps["decision"]?.wait?.prompt)
    #expect(
      prompt.split(separator: "\n").prefix(3) == [
        "Write 23 averages into Average of 2026 Y8 Geography?", "Lachlan Abernethy: none → 80.0",
        "Anika Bhattacharya: none → 94.3",
      ])
    #expect(try await days.writes("putstudentresult") == [:])
    // Saturday; the agent was restarted in the night.
    try await days.crash()
    try await days.pass(to: "2026-11-21T01:00:00Z")
    try await days.serve()
    #expect(try await days.decide(run, approved: true, comment: "Looks right.") == nil)
    let end = try await days.run()
    #expect(end.status == .succeeded, "\(end.error?.message ?? "")")
    #expect(try await days.outputs(end) == .object(["written": .int(23), "by": .string("ana")]))
    let writes = try await days.writes("putstudentresult")
    #expect(writes.count == 23 && writes.values.allSatisfy { $0 == 1 })
    #expect(try await days.why(end).contains("ana approved 'decision' on Sat 2026-11-21 12:00 AEDT: Looks right."))

    try await days.pass(to: "2026-11-27T04:00:00Z")
    let second = try await days.run()
    #expect(
      try await days.outputs(second) == .object(["written": .int(0), "by": .string("no approval was needed")]))
    #expect(try await days.writes("putstudentresult") == writes)
    await days.remove()
  }

  @Test func `a rejection ends it, and nothing is written`() async throws {
    let (days, run) = try await ApprovalDaysTests.asked()
    #expect(try await days.decide(run, approved: false, comment: "The exam counts twice.") == nil)
    let end = try await days.run()
    #expect(end.status == .rejected)
    #expect(end.error?.message == "'decision' was rejected by ana: The exam counts twice.")
    #expect(try await days.writes("putstudentresult") == [:])
    await days.remove()
  }

  @Test func `after two days an approval is too late`() async throws {
    let (days, run) = try await ApprovalDaysTests.asked()
    let (end, woke) = try await days.runToItsEnd(from: run)
    #expect(woke == ["2026-11-22T04:00:00Z"])
    #expect(end.status == .timedOut)
    #expect(end.error?.message == "no decision within 2d")
    let refusal = try await days.decide(run, approved: true)
    #expect(refusal == "the run \(run.id) is over: timedOut")
    #expect(try await days.writes("putstudentresult") == [:])
    await days.remove()
  }

  @Test func `a deadline that passed while the machine was off is over, and an approval too late is refused`()
    async throws
  {
    let (days, run) = try await ApprovalDaysTests.asked()
    try await days.crash()
    try await days.pass(to: "2026-11-22T04:00:01Z")
    try await days.serve()
    let end = try await days.run()
    #expect(end.status == .timedOut)
    let refusal = try await days.decide(run, approved: true)
    #expect(refusal == "the run \(run.id) is over: timedOut")
    await days.remove()
  }

  @Test func `two days are forty-eight hours, also when the clocks go back`() async throws {
    let days = try await Days("approve-averages", at: "2027-04-01T22:00:00Z")
    // 15:00 in summer time; two days later it is 14:00.
    try await days.pass(to: "2027-04-02T04:00:00Z")
    let run = try await days.run()
    #expect(run.wakeAt == Timestamp("2027-04-04T04:00:00Z"))
    let why = try await days.why(run)
    #expect(
      why == """
        approve-averages waits for a person to decide, in 'decision': Write 23 averages into Average of 2026 Y8 Geography? … It times out on Sun 2027-04-04 14:00 AEST (in 2 days).
            errand runs approve \(run.id) decision
            errand runs reject \(run.id) decision
          The folder's agent wakes it then.
          It ran for the slot of Fri 2027-04-02 15:00 AEDT of the schedule 'approve-averages', and began on Fri 2027-04-02 15:00 AEDT.
          '#3' was skipped: its condition was false.
        """)
    await days.remove()
  }
}
