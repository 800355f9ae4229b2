import AgentRuntime
import Basics
import Foundation
import RunState
import Testing

@testable import errand

/// A recipe that asks a person, then waits for an event, in a real binary.
private let letters = """
  recipe: letters
  inputs: { count: int }
  steps:
    - if: inputs.count < 1
      fail: nothing to send
    - id: ask
      approve: { prompt: "Send ${{ inputs.count }} letters?", by: [ann, bob] }
    - id: paid
      wait: { event: paid, match: event.data.amount > 10, timeout: 30d }
  outputs:
    by: ${{ steps.ask.by }}
    amount: ${{ steps.paid.event.data.amount }}
  """

extension Program {
  /// The only open run of a state, once it has the status.
  fileprivate func openRun(_ status: String, _ why: String = "") async throws -> String {
    while true {
      let list = try await call("runs", "list", "--json")
      if let run = list.json["open"]?.list?.first, run["status"]?.string == status, list.out.contains(why) {
        return run["id"]?.string ?? ""
      }
    }
  }
}

@Suite(.timeLimit(.minutes(20))) struct SteeringTests {
  @Test func `a run is displayed, decided on and woken, by an agent that serves`() async throws {
    let program = try await Program()
    try program.write(letters, to: "letters.yaml")
    let agent = try program.serve("serve")
    _ = await agent.line(with: " serves ")
    let started = try await program.call("run", "letters.yaml", "-i", "count=412", "--detach")
    #expect(started.code == 0, "\(started.error)")
    let run = try await program.openRun("waiting", "asks")

    let list = try await program.call("runs", "list")
    #expect(list.out.contains("asks 'Send 412 letters?'"), "\(list.out)")
    #expect(
      list.out.contains(
        """
        ? letters asks (ann or bob): Send 412 letters?
            errand runs approve \(run.suffix(6)) ask
            errand runs reject \(run.suffix(6)) ask
        """), "\(list.out)")

    let stranger = try await program.call("runs", "approve", run, "--by", "eve")
    #expect(stranger.code == 1)
    #expect(stranger.error == "error: 'ask' asks ann, bob, and not 'eve'\n")
    let misspelt = try await program.call("runs", "reject", run, "aks", "--by", "ann")
    #expect(misspelt.code == 66)
    let approved = try await program.call(
      "runs", "approve", run, "--comment", "As agreed.", environment: ["USER": "ann"])
    #expect(approved.code == 0)
    #expect(approved.error == "approved 'ask' of \(run) as ann\n")

    _ = try await program.openRun("waiting", "for the event")
    let small = try await program.call("runs", "signal", run, "paid", "--data", #"{"amount": 5}"#, "--id", "e1")
    #expect(small.error == "received 'paid' as e1 for \(run)\n")
    let again = try await program.call("runs", "signal", run, "paid", "--data", #"{"amount": 5}"#, "--id", "e1")
    #expect(again.error == "the event e1 was received before; nothing changed\n")
    let other = try await program.call("runs", "signal", "any", "paid", "--data", #"{"amount": 50}"#, "--id", "e1")
    #expect(
      other.error
        == "error: another event has the id 'e1', with another name, other data or for another run; give each event an id of its own\n"
    )
    // While it examines the event it isn't waiting.
    var why = try await program.call("why", run)
    while why.out.contains("is running") { why = try await program.call("why", run) }
    #expect(why.code == 0)
    #expect(why.out.contains("letters waits for the event 'paid', in 'paid'; it times out on "), "\(why.out)")
    #expect(why.out.contains("One came, and did not match.\n    errand runs signal \(run) paid\n"), "\(why.out)")
    #expect(why.out.contains("  The folder's agent wakes it then.\n"), "\(why.out)")
    try program.write(#"{"amount": 50}"#, to: "event.json")
    let paid = try await program.call("runs", "signal", "any", "paid", "--data", "@event.json", "--json")
    #expect(paid.json["isNew"]?.bool == true)

    while try await program.call("runs", "list", "--json").json["open"]?.list?.isEmpty == false {}
    let show = try await program.call("runs", "show", run)
    #expect(show.out.contains("cause    Started by hand on "), "\(show.out)")
    #expect(show.out.contains("person   ann approved 'ask' on "), "\(show.out)")
    #expect(show.out.contains(": As agreed.\n"), "\(show.out)")
    #expect(show.out.contains("event    It took the event 'paid' ("), "\(show.out)")
    let told = try await program.call("why", "letters", "--json")
    let sentences = told.json.list?.first?["sentences"]?.list ?? []
    #expect(told.json.list?.first?["run"]?.string == run)
    #expect(sentences.compactMap { $0["topic"]?.string } == ["status", "cause", "person", "event", "branch"])
    #expect(
      sentences.last?["text"]?.string
        == "'#1' (fail, letters.yaml:4) was skipped: `inputs.count < 1` was false (inputs.count = 412).")

    agent.signal(SIGTERM)
    #expect(await agent.end() == 0)
    await program.remove()
  }

  @Test func `a list as JSON has the columns of an open run, and nothing of its steps`() async throws {
    let program = try await Program()
    try program.write(
      """
      steps:
        - forEach: "[1, 2, 3]"
          maxParallel: 3
          steps: [{ wait: { event: go } }]
        - { id: ask, approve: { prompt: "Go on?", by: [ann] } }
      """, to: "waits.yaml")
    let call = try program.start(["run", "waits.yaml"])
    let run = try await program.openRun("waiting", "for the event")
    func listed() async throws -> Value? {
      try await program.call("runs", "list", "--json").json["open"]?.list?.first
    }
    let waiting = try await listed()
    #expect(waiting?.map?.members.compactMap(\.name) == ["id", "recipe", "status", "createdAt", "cause", "why"])
    #expect(waiting?["why"]?.string == "for the event 'go'")
    #expect(Timestamp(waiting?["createdAt"]?.string ?? "") != nil)
    for _ in 1...3 { _ = try await program.call("runs", "signal", run, "go") }
    _ = try await program.openRun("waiting", "asks")
    let asking = try await listed()
    #expect(asking?["asks"] == (try JSON.parse(#"[{"step":"ask","prompt":"Go on?","by":["ann"]}]"#)))
    call.signal(SIGINT)
    _ = await call.outcome()
    await program.remove()
  }

  @Test func `without an agent every request is recorded, with how to resume`() async throws {
    let program = try await Program()
    try program.write(letters, to: "letters.yaml")
    let call = try program.start(["run", "letters.yaml", "-i", "count=1"])
    let run = try await program.openRun("waiting", "asks")
    call.signal(SIGINT)
    _ = await call.outcome()

    let why = try await program.call("why", String(run.prefix(13)))
    #expect(
      why.out.contains(
        """
          No agent is running, so nothing hears of it. Start one, or resume the run:
              errand serve
              errand runs resume \(run)
        """), "\(why.out)")
    let rejected = try await program.call("runs", "reject", run, "--by", "bob", "--comment", "Too early.")
    #expect(
      rejected.error == """
        rejected 'ask' of \(run) as bob
        No agent is running. To resume it, start 'errand serve', or: errand runs resume \(run)

        """)
    let ended = try await program.call("runs", "resume", run)
    #expect(ended.code == 1, "\(ended.error)")
    let told = try await program.call("why", run)
    #expect(told.out.hasPrefix("letters was rejected on "), "\(told.out)")
    #expect(told.out.contains("bob rejected 'ask' on "), "\(told.out)")
    #expect(told.out.contains(": Too early.\n"), "\(told.out)")
    await program.remove()
  }

  @Test func `schedules are listed before any agent has read them`() async throws {
    let program = try await Program()
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try program.write(
      """
      recipe: weekly
      on:
        - cron: "30 17 * * 1-5"
          zone: Australia/Sydney
      steps:
        - wait: 1s
      """, to: "recipes/weekly.yaml")
    let list = try await program.call("schedule")
    #expect(list.code == 0, "\(list.error)")
    #expect(list.out.contains("weekly    every weekday at 17:30  Australia/Sydney  "), "\(list.out)")
    #expect(list.out.contains("no agent has read it yet"), "\(list.out)")
    #expect(list.error.contains("No agent is running to start them. Start one with: errand serve"))
    let next = try await program.call("schedule", "next", "weekly", "-n", "3", "--json").json.list ?? []
    #expect(next.count == 3)
    #expect(next.allSatisfy { $0["local"]?.string?.contains(" 17:30 +1") == true }, "\(next)")
    let why = try await program.call("why", "weekly", "--at", "2026-11-20 17:31")
    #expect(
      why.out.hasPrefix(
        "weekly had no slot on Fri 2026-11-20 17:31 AEDT: it is due every weekday at 17:30; the nearest are Fri 2026-11-20 17:30 AEDT and Mon 2026-11-23 17:30 AEDT.\n"
      ),
      "\(why.out)")
    let log = try await program.call("schedule", "log", "weekly")
    #expect(log.error == "the ledger holds no such slot\n")
    let pause = try await program.call("schedule", "pause", "weekly")
    #expect(pause.code == 69)
    #expect(
      pause.error
        == "error: no agent has read 'weekly' yet, so there is nothing to steer; start one with: errand serve\n")
    await program.remove()
  }

  static let mistakes: [(arguments: [String], code: Int32, says: String)] = [
    (["why", "wekly"], 66, "nothing called 'wekly' has a schedule or ever ran; 'errand schedule list'"),
    (["why", "0199", "--at", "17:30"], 66, "nothing called '0199' has a schedule, which --at needs"),
    (["why", "0199"], 66, "no run's id begins or ends with '0199'"),
    (["schedule", "next", "nothing"], 66, "no schedule is called 'nothing'; no recipe has an 'on:'"),
    (["schedule", "log", "--from", "yesterday"], 64, "--from takes '2026-11-20', '2026-11-20 17:30', '17:30' or RFC"),
    (["runs", "approve", "0199", "--by", " "], 64, "say who decides with --by NAME"),
    (["runs", "signal", "any", "paid", "--data", "paid"], 64, "a text needs its quotes"),
    (["runs", "resolve", "0199", "put"], 64, "give the step's outcome: one of --done, --retry, --fail"),
    (["schedule", "trigger", "x", "--overlap", "skp"], 64, "did you mean 'skip'?"),
  ]

  @Test(arguments: mistakes)
  func `mistakes are reported with what to type`(_ mistake: (arguments: [String], code: Int32, says: String))
    async throws
  {
    let program = try await Program()
    let outcome = await (try program.start(mistake.arguments)).outcome()
    #expect(outcome.code == mistake.code)
    #expect(outcome.error.contains(mistake.says), "\(outcome.error)")
    await program.remove()
  }

  @Test func `the list names the steps of an uncertain run, and the commands to type`() async throws {
    let program = try await Program()
    try program.write(
      """
      recipe: lost
      steps:
        - id: send
          forEach: "[1, 2, 3, 4, 5]"
          as: i
          maxParallel: 5
          onItemError: continue
          steps: [{ id: one, uses: shell.run, with: { effect: write, script: 'kill -9 $$' } }]
      """, to: "lost.yaml")
    let run = try await program.call("run", "lost.yaml")
    #expect(run.code == 4, "\(run.error)")
    let id = try await program.openRun("uncertain")
    let output = #"{"exitCode":"0…","output":"…","errors":"…","isRun":"true|false"}"#
    for words in [["runs"], ["runs", "list"]] {
      let list = try await program.call(words).out
      let first = try #require(list.firstMatch(of: /check '(send\[[0-4]\]\/one)'/)?.1)
      #expect(
        list.contains(
          """

          ? lost needs a person to check '\(first)': shell.run may or may not have been done: 'sh' was ended by signal 9
              errand runs resolve \(id.suffix(6)) '\(first)' --done --output '\(output)'
              errand runs resolve \(id.suffix(6)) '\(first)' --retry
              errand runs resolve \(id.suffix(6)) '\(first)' --fail

          """), "\(list)")
      #expect(list.contains("\n  2 more steps of it are uncertain: errand why \(id.suffix(6))\n"), "\(list)")
    }
    _ = try await program.call("runs", "resolve", String(id.suffix(6)), "send[*]/one", "--fail")
    #expect(!(try await program.call("runs").out.contains("needs a person")))
    await program.remove()
  }

  static let uncertain: [([String], [String]?)] = [
    (["put[3]/write"], ["put[3]/write"]), (["put[*]/write"], ["put[0]/write", "put[3]/write"]),
    (["put[*]/write", "put[0]/write", "note"], ["put[0]/write", "put[3]/write", "note"]), (["put[*]"], nil),
    (["book[*]/write"], nil),
  ]

  @Test(arguments: uncertain)
  func `paths with [*] name the uncertain steps of all items`(_ asked: [String], _ expected: [String]?) throws {
    let instant = try #require(Timestamp("2026-11-20T09:00:00Z"))
    var run = RunRecord(
      RunCreated(
        run: "r1", at: instant, recipe: "put", file: "put.yaml", texts: .inline(.null), inputs: .null, program: "test"))
    for (path, status) in [
      ("put[0]/write", StepStatus.uncertain), ("put[1]/write", .succeeded), ("put[3]/write", .uncertain),
      ("note", .uncertain),
    ] {
      try run.apply(.stepEnded(StepEnded(run: "r1", at: instant, step: path, status: status)))
    }
    if let expected {
      #expect(try RunSteering.steps(asked, of: run) == expected)
    } else {
      #expect(throws: RuntimeError.self) { try RunSteering.steps(asked, of: run) }
    }
  }
}
