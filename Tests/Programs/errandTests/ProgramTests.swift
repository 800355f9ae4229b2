import ActionKit
import Basics
import Foundation
import Testing

/// The averages' recipe, which the repository ships.
private let averages = Program.root.appending(path: "recipes/markbook-averages.yaml").path

/// A recipe with plain writes, which must not be done twice.
private let enrol = """
  recipe: enrol
  inputs:
    sids: list(string)
  steps:
    - id: book
      uses: markbook.getMarkbook
      with: { markbookKey: 1207731 }
    - forEach: ${{ inputs.sids }}
      as: sid
      uses: markbook.createStudent
      with:
        markbookKey: 1207731
        sid: ${{ sid }}
        familyName: Ng
        givenName: ${{ 'Student ' + sid }}
        preferredName: ""
        gender: other
        classKey: ${{ steps.book.classes[0].key }}
  """

@Suite(.timeLimit(.minutes(ProcessInfo.processInfo.environment["ERRAND_KILLS"] == nil ? 20 : 600)))
struct ProgramTests {
  @Test func `averages are computed, written and displayed`() async throws {
    let program = try await Program()
    let outcome = try await program.call("run", averages, "--config", "errand.yaml", "-i", "markbook=1207731", "--json")
    #expect(outcome.code == 0, "\(outcome.error)")
    #expect(outcome.json["outputs"]?["written"]?.int == 23)
    let writes = try await program.writes("putstudentresult")
    #expect(writes.count == 23)
    #expect(writes.values.allSatisfy { $0 == 1 })
    await program.remove()
  }

  @Test func `a run that is killed at random continues, and repeats no plain write`() async throws {
    let program = try await Program()
    try program.write(enrol, to: "enrol.yaml")
    // Bounded for the gate; ERRAND_KILLS makes it a soak.
    let rounds = ProcessInfo.processInfo.environment["ERRAND_KILLS"].flatMap { Int($0) } ?? 6
    var random = SystemRandomNumberGenerator()
    for round in 0..<rounds {
      let sids = "[" + (0..<12).map { "\"S\(round)x\($0)\"" }.joined(separator: ",") + "]"
      for arguments in [
        ["run", averages, "--config", "errand.yaml", "-i", "markbook=1207731"],
        ["run", "enrol.yaml", "-i", "sids=\(sids)"],
      ] {
        let before = try await program.call("runs", "list", "--json", "-n", "10000").json["finished"]?.list?.count
        let first = try program.start(arguments)
        try await Task.sleep(for: .milliseconds(Int.random(in: 20...400, using: &random)))
        first.signal(SIGKILL)
        _ = await first.outcome()
        var again = try program.start(["runs", "resume"])
        try await Task.sleep(for: .milliseconds(Int.random(in: 20...300, using: &random)))
        again.signal(SIGKILL)
        _ = await again.outcome()
        again = try program.start(["runs", "resume"])
        let outcome = await again.outcome()
        #expect(outcome.code == 0, "\(outcome.error)")
        let list = try await program.call("runs", "list", "--json", "-n", "10000")
        #expect(list.json["open"]?.list?.isEmpty == true, "\(list.out)")
        // A run that was killed before it was accepted leaves nothing behind, and is started again.
        if list.json["finished"]?.list?.count == before {
          let outcome = try await program.call(arguments[0], Array(arguments.dropFirst()))
          #expect(outcome.code == 0, "\(outcome.error)")
        }
      }
    }
    let written = try await program.writes("putstudentresult")
    #expect(written.count == 23)
    let created = try await program.writes("createstudent")
    #expect(created.count == rounds * 12)
    #expect(created.values.allSatisfy { $0 == 1 }, "\(created.filter { $0.value != 1 })")
    await program.remove()
  }

  @Test(arguments: zip([SIGINT, SIGTERM, SIGHUP], [130, 143, 143] as [Int32]))
  func `an interrupted run says how to resume`(_ signal: Int32, _ code: Int32) async throws {
    let program = try await Program()
    try await program.control("fault?kind=slow&call=putstudentresult&times=1000&delay=100ms")
    let run = try program.start(["run", averages, "--config", "errand.yaml", "-i", "markbook=1207731"])
    try await program.waitForWrites("putstudentresult", atLeast: 1)
    run.signal(signal)
    let outcome = await run.outcome()
    #expect(outcome.code == code)
    #expect(
      outcome.error.contains("The run is not over. To resume it, start 'errand serve', or: "))
    try await program.control("fault?kind=none")
    let resumed = try await program.call("runs", "resume", "--json")
    #expect(resumed.code == 0, "\(resumed.error)")
    #expect(resumed.json["outputs"]?["written"]?.int == 23)
    let writes = try await program.writes("putstudentresult")
    #expect(writes.values.allSatisfy { $0 == 1 })
    await program.remove()
  }

  @Test func `a second command is the client of the first, and takes its place when it dies`() async throws {
    let program = try await Program()
    try await program.control("fault?kind=slow&call=putstudentresult&times=1000&delay=50ms")
    let arguments = ["run", averages, "--config", "errand.yaml", "-i", "markbook=1207731", "--json"]
    let agent = try program.start(arguments)
    try await program.waitForWrites("putstudentresult", atLeast: 1)
    let client = try program.start(arguments)
    while try await program.call("runs", "list", "--json").json["open"]?.list?.count != 2 {}
    agent.signal(SIGKILL)
    _ = await agent.outcome()
    try await program.control("fault?kind=none")
    let outcome = await client.outcome()
    #expect(outcome.code == 0, "\(outcome.error)")
    #expect(outcome.error.contains("the agent ended; this process takes over"))
    #expect(outcome.json["outputs"]?["written"]?.int == 23)
    await program.remove()
  }

  @Test func `an agent of another configuration is not disturbed`() async throws {
    let program = try await Program()
    try await program.control("fault?kind=slow&call=putstudentresult&times=1000&delay=50ms")
    let agent = try program.start(["run", averages, "--config", "errand.yaml", "-i", "markbook=1207731"])
    try await program.waitForWrites("putstudentresult", atLeast: 1)
    try program.write("state: .errand\n", to: "other.yaml")
    let outcome = try await program.call("runs", "list", "--config", "other.yaml")
    #expect(outcome.code == 75)
    #expect(outcome.error.contains("is held by process \(agent.process.processIdentifier)"))
    agent.signal(SIGKILL)
    _ = await agent.outcome()
    await program.remove()
  }

  @Test func `secrets are nowhere in the state or the output`() async throws {
    let program = try await Program()
    for fault in ["serverError", "html", "wrongType"] {
      try await program.control("fault?kind=\(fault)&call=getmarkbook&times=1")
      let outcome = try await program.call("run", averages, "--config", "errand.yaml", "-i", "markbook=1207731", "-v")
      for name in ["apiKey", "password"] {
        let secret = try #require(program.sandbox.configuration[name]?.string)
        #expect(!(outcome.out + outcome.error).contains(secret))
        // 1 means that nothing was found.
        #expect(await run("/usr/bin/grep", "-rqF", secret, program.folder.appending(path: ".errand").path) == 1)
      }
    }
    await program.remove()
  }

  struct Case: Sendable, CustomTestStringConvertible {
    var name: String
    var arguments: [String]
    var code: Int32
    var says: String
    var testDescription: String { name }
  }

  @Test(arguments: [
    Case(name: "no such command", arguments: ["rum"], code: 64, says: "did you mean 'run'?"),
    Case(name: "plugins", arguments: ["plugins", "list"], code: 64, says: "write: errand plugin list"),
    Case(name: "rm of plugin", arguments: ["plugin", "rm", "a"], code: 64, says: "write: errand plugin remove a"),
    Case(name: "show of plugin", arguments: ["plugin", "show", "a"], code: 64, says: "write: errand actions a"),
    Case(
      name: "no such option", arguments: ["run", "a.yaml", "--sandbx"], code: 64, says: "did you mean '--sandbox'?"),
    Case(
      name: "no such recipe", arguments: ["run", "nowhere.yaml"], code: 66,
      says: "cannot read 'nowhere.yaml': no such file"),
    Case(
      name: "misspelt input", arguments: ["run", averages, "--config", "errand.yaml", "-i", "markbok=1"], code: 3,
      says: "has no input 'markbok'; did you mean 'markbook'?"),
    Case(
      name: "input of another type", arguments: ["run", averages, "--config", "errand.yaml", "-i", "markbook=forty"],
      code: 3,
      says: "'inputs.markbook' must be an int, but found 'forty'"),
    Case(
      name: "no such setting",
      arguments: [
        "run", averages, "--config", "errand.yaml", "-i", "markbook=1", "--set", "connections.markbook.baseUrl=x",
      ],
      code: 64, says: "did you mean 'baseURL'?"),
    Case(
      name: "a secret by --set",
      arguments: [
        "run", averages, "--config", "errand.yaml", "-i", "markbook=1", "--set", "connections.markbook.password=x",
      ],
      code: 64, says: "'password' is a secret"),
    Case(
      name: "service down",
      arguments: [
        "run", averages, "--config", "errand.yaml", "-i", "markbook=1", "--set",
        "connections.markbook.baseURL=http://127.0.0.1:9/x",
      ], code: 1, says: "127.0.0.1"),
    Case(
      name: "a task that is not there",
      arguments: ["run", averages, "--config", "errand.yaml", "-i", "markbook=1207731", "-i", "into=Nothing"],
      code: 1, says: "0 tasks are named 'Nothing'; exactly one is needed."),
    Case(
      name: "a state where none can be", arguments: ["runs", "list", "--state", "/dev/null/x"], code: 73,
      says: "/dev/null"),
    Case(
      name: "no such run", arguments: ["runs", "show", "0199"], code: 66, says: "no run's id begins or ends with '0199'"
    ),
    Case(
      name: "an expression of a recipe on its own", arguments: ["eval", "inputs.n"], code: 3,
      says: "'errand eval' reads no recipe; give values by --with FILE, which has a line such as inputs: { … }"),
    Case(
      name: "a faulty expression", arguments: ["eval", "size('a') + 1.5"], code: 3,
      says: "write `double(size('a')) + 1.5`"),
    Case(
      name: "no such action", arguments: ["actions", "markbook.getMarkbok"], code: 66,
      says: "did you mean 'markbook.getMarkbook'?"),
  ])
  func `reports the fault, and exits with the right code`(_ test: Case) async throws {
    let program = try await Program()
    let outcome = try await program.start(test.arguments).outcome()
    #expect(outcome.code == test.code)
    #expect(outcome.error.contains(test.says), "\(outcome.error)")
    await program.remove()
  }

  @Test func `a wrong password fails once, with the service's own words`() async throws {
    let program = try await Program()
    let outcome = try await program.call(
      "run", averages, "--config", "errand.yaml", "-i", "markbook=1207731",
      environment: ["MARKBOOK_PASSWORD": "wrong horse"])
    #expect(outcome.code == 1)
    #expect(outcome.error.contains("Logging in to Markbook Online failed"))
    #expect(!outcome.error.contains("wrong horse"))
    await program.remove()
  }

  @Test func `a missing secret is named before anything runs`() async throws {
    let program = try await Program()
    try program.write(
      "connections:\n  markbook:\n    apiKey: ${{ secrets.NOT_SET_ANYWHERE }}\n    username: a\n    password: b\n",
      to: "errand.yaml")
    let outcome = try await program.call("run", averages, "--config", "errand.yaml", "-i", "markbook=1207731")
    #expect(outcome.code == 78)
    #expect(outcome.error.contains("missing secret: NOT_SET_ANYWHERE of connection 'markbook' (errand.yaml:3:17); set"))
    await program.remove()
  }

  @Test func `a plain write whose answer is lost is looked up and not repeated`() async throws {
    let program = try await Program()
    try program.write(enrol, to: "enrol.yaml")
    try await program.control("fault?kind=lostAnswer&call=createstudent&skip=1&times=1")
    let outcome = try await program.call("run", "enrol.yaml", "-i", #"sids=["A1","A2","A3"]"#)
    #expect(outcome.code == 0, "\(outcome.error)")
    let created = try await program.writes("createstudent")
    #expect(created.count == 3)
    #expect(created.values.allSatisfy { $0 == 1 })
    await program.remove()
  }

  @Test func `a full disk ends the run with a clear message and loses nothing`() async throws {
    let program = try await Program()
    let disk = program.folder.appending(path: "disk")
    try FileManager.default.createDirectory(at: disk, withIntermediateDirectories: true)
    guard await run("/bin/mount", "-t", "tmpfs", "-o", "size=48k,mode=700", "tmpfs", disk.path) == 0 else {
      print("skipped: a small disk can be mounted by root only")
      await program.remove()
      return
    }
    let outcome = try await program.call(
      "run", averages, "--config", "errand.yaml", "-i", "markbook=1207731", "--state", disk.path)
    #expect(outcome.code == 73)
    #expect(outcome.error.contains("no space left on device"), "\(outcome.error)")
    // The start was on disk before the disk filled up, and the client hears of it.
    let runs = try await program.call("runs", "list", "--config", "errand.yaml", "--state", disk.path).out
    #expect(runs.contains("averages"), "\(runs)")
    #expect(outcome.error.contains("The run is not over. To resume it, start 'errand serve'"), "\(outcome.error)")
    #expect(await run("/bin/umount", "-l", disk.path) == 0)
    await program.remove()
  }
}

extension Program {
  fileprivate func call(_ command: String, _ arguments: [String]) async throws -> Outcome {
    try await start([command] + arguments).outcome()
  }

  /// Returns once the sandbox has seen so many writes.
  fileprivate func waitForWrites(_ action: String, atLeast count: Int) async throws {
    while try await writes(action).values.reduce(0, +) < count {}
  }
}
