import Basics
import Foundation
import HTTPClient
import PostgresClient
import PostgresTestKit
import RunState
import Testing

/// A state in PostgreSQL, with the real binary.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed"), .timeLimit(.minutes(20)))
struct DatabaseStateTests {
  /// A folder whose errand.yaml names a new database, and its URL.
  private static func program(_ more: String = "") async throws -> (program: Program, url: String) {
    let program = try await Program()
    let settings = try await PostgresServer.database()
    let url = "postgres://\(settings.user)@\(settings)/\(settings.database)"
    let answer = "postgres: { password: \"${{ secrets.ERRAND_DB }}\", answerWithin: 1m }"
    try program.write("state: \(url)\n\(answer)\n\(more)\(try program.read("errand.yaml"))", to: "errand.yaml")
    return (program, url)
  }

  private static let password = ["ERRAND_DB": "hunter2hunter2"]

  @Test func `the tables are made by a command, and before that nothing works`() async throws {
    let (program, url) = try await DatabaseStateTests.program()
    let environment = DatabaseStateTests.password
    let secretless = try await program.call("runs", "list")
    #expect(secretless.code == 78)
    #expect(
      secretless.error.hasPrefix("error: missing secret: ERRAND_DB (") && secretless.error.contains("errand.yaml:2:"),
      "\(secretless.error)")
    for command in [["runs", "list"], ["state", "migrate"], ["serve"]] {
      let unmade = try await program.call(command, environment: environment)
      #expect(unmade.code == 78)
      #expect(
        unmade.error == "error: there is no state in the database yet; make one with: errand state init\n", "\(command)"
      )
    }
    let made = try await program.call("state", "init", environment: environment)
    #expect((made.code, made.error) == (0, "the state in \(url) is made\n"))
    let again = try await program.call("state", "init", environment: environment)
    #expect((again.code, again.error) == (0, "there is a state in \(url) already\n"))
    let migrated = try await program.call("state", "migrate", environment: environment)
    #expect((migrated.code, migrated.error) == (0, "the tables in \(url) are up to date\n"))
    let list = try await program.call("runs", "list", environment: environment)
    #expect((list.code, list.error) == (0, "no runs in \(url)\n"), "\(list.error)")
    let export = try await program.call("state", "export", "all.archive", environment: environment)
    #expect(export.code == 0 && export.error.hasPrefix("0 open runs, "), "\(export.error)")
    let doctor = try await program.call("doctor", environment: environment)
    #expect(doctor.code == 0, "\(doctor.out)\(doctor.error)")
    #expect(doctor.out.contains(url) && doctor.out.contains("takes writes, PostgreSQL "), "\(doctor.out)")
    let examined = try await program.call("doctor", "--json", environment: environment).json
    #expect(examined["database"]?.string == url)
    #expect(examined["servers"]?.list?.first?["standby"] == .bool(false))
    let repair = try await program.call("doctor", "--repair", environment: environment)
    #expect(repair.code == 64)
    #expect(repair.error.hasPrefix("error: --repair is for a state in a folder, and this one is in \(url)"))
    // The files on this machine include no journal.
    let names = try FileManager.default.contentsOfDirectory(atPath: program.folder.appending(path: ".errand").path)
    #expect(!names.contains { $0.hasPrefix("journal") || $0.hasPrefix("state") }, "\(names)")
    await program.remove()
  }

  /// The records of finished runs of a recipe, as the database has them.
  private static func finished(_ recipe: String, at url: String) async throws -> [Value] {
    let settings = try #require(try PostgresSettings.hosts(inURL: url).first)
    let connection = try await PostgresConnection.open(settings)
    defer { connection.close() }
    let rows = try await connection.run("select text from errand.finished where recipe = $1", .text(recipe)).rows
    return try rows.map { try JSON.parse($0.text(0)) }
  }

  @Test func `a run is carried on by a machine that takes from its queue`() async throws {
    let (lab, url) = try await DatabaseStateTests.program("worker: { name: lab, queues: [nightly] }\n")
    let environment = DatabaseStateTests.password
    #expect(try await lab.call("state", "init", environment: environment).code == 0)
    // Another machine on the same state.
    let desk = try await Program()
    try desk.write("state: \(url)\npostgres: { answerWithin: 1m }\nworker: { name: desk }\n", to: "errand.yaml")
    try desk.write("queue: nightly\n\(ServeTests.done)", to: "night.yaml")
    try desk.write(ServeTests.done, to: "day.yaml")
    let night = try await desk.call("run", "night.yaml", "--detach")
    #expect(night.code == 4, "\(night.error)")
    let day = try await desk.call("run", "day.yaml", "--detach")
    #expect(day.code == 4, "\(day.error)")
    func listed(_ recipe: String) async throws -> Value? {
      let runs = try await desk.call("runs", "--json").json["open"]?.list
      return runs?.first { $0["recipe"] == .string(recipe) }?["why"]
    }
    #expect(try await listed("day") == .string("no agent is running"))
    let atDesk = try desk.serve("serve")
    // The run may be over before everything was said of the start.
    let dayID = day.out.trimmingCharacters(in: .newlines)
    for text in ["its state is in \(url)", "day \(dayID) succeeded"] {
      #expect(await atDesk.says(text), "\(atDesk.before)")
    }
    #expect(
      try await listed("night") == .string("no worker can take it up: none takes from its queue 'nightly'"))
    let atLab = try lab.serve("serve", environment: environment)
    let nightID = night.out.trimmingCharacters(in: .newlines)
    #expect(await atLab.line(with: "night \(nightID) succeeded") != nil, "\(atLab.before)")
    for serve in [atDesk, atLab] {
      serve.signal(SIGTERM)
      #expect(await serve.line(with: "stopped") != nil)
      #expect(await serve.end() == 0, "\(serve.before)")
    }
    #expect(!atDesk.before.contains("night"), "\(atDesk.before)")
    let records = try await DatabaseStateTests.finished("night", at: url)
    #expect(records.map { $0["origin"]?["queue"]?.string } == ["nightly"])
    await lab.remove()
    await desk.remove()
  }

  @Test func `a schedule starts runs that another machine carries on, because only that has the secret`() async throws {
    let (desk, url) = try await DatabaseStateTests.program("worker: { name: desk }\n")
    let environment = DatabaseStateTests.password
    #expect(try await desk.call("state", "init", environment: environment).code == 0)
    let folder = desk.folder.appending(path: "recipes")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    try desk.write(
      "on: [{ every: 1h }]\nsteps: [{ let: { key: \"${{ secrets.ONLY_AT_LAB }}\" } }]\n", to: "recipes/keyed.yaml")
    let lab = try await Program()
    try lab.write("state: \(url)\npostgres: { answerWithin: 1m }\nworker: { name: lab }\n", to: "errand.yaml")
    let checked = try await desk.call("check", environment: environment)
    #expect(checked.code == 0)
    #expect(
      checked.error.contains(
        "warning: the secret 'ONLY_AT_LAB' is not set here; a run would be left to another machine that has it"),
      "\(checked.error)")
    // It has no recipes, and so leaves the schedules to others.
    let atLab = try lab.serve("serve", "--no-schedules", environment: ["ONLY_AT_LAB": "a secret of the lab"])
    #expect(await atLab.line(with: "its state is in \(url)") != nil, "\(atLab.before)")
    let atDesk = try desk.serve("serve", environment: environment)
    #expect(await atDesk.line(with: "its state is in \(url)") != nil, "\(atDesk.before)")
    let trigger = try await desk.call("schedule", "trigger", "keyed", environment: environment)
    #expect(trigger.code == 0, "\(trigger.error) \(atDesk.before)")
    #expect(await atLab.line(with: " succeeded after ") != nil, "\(atLab.before) \(atDesk.before)")
    for serve in [atDesk, atLab] {
      serve.signal(SIGTERM)
      #expect(await serve.line(with: "stopped") != nil)
      #expect(await serve.end() == 0, "\(serve.before)")
    }
    let records = try await DatabaseStateTests.finished("keyed", at: url)
    #expect(records.map { $0["status"]?.string } == ["succeeded"])
    #expect(records.first?["origin"]?["needs"]?.list?.contains(.string("secret:ONLY_AT_LAB")) == true)
    #expect(!JSON.displayed(.list(records), .pretty).contains("a secret of the lab"))
    await desk.remove()
    await lab.remove()
  }

  @Test func `a state moves into a database with its open runs, and back into a folder`() async throws {
    let program = try await Program()
    let inFolder = try program.read("errand.yaml")
    try program.write(
      """
      steps:
        - { let: { key: "${{ secrets.LAB_KEY }}" } }
        - { wait: { event: go, timeout: 2d } }
        - { id: put, uses: shell.run, with: { script: wc -c, input: "${{ key }}", effect: read } }
        - { wait: { event: back, timeout: 2d } }

      """, to: "wait.yaml")
    try program.write(ServeTests.done, to: "done.yaml")
    let environment = DatabaseStateTests.password.merging(["LAB_KEY": "a secret of the lab"]) { $1 }
    func call(_ arguments: String...) async throws -> Program.Outcome {
      try await program.call(arguments, environment: environment)
    }
    #expect(try await call("run", "done.yaml").code == 0)
    let detached = try await call("run", "wait.yaml", "--detach")
    #expect(detached.code == 4, "\(detached.error)")
    let run = detached.out.trimmingCharacters(in: .newlines)
    func serve(until line: String) async throws {
      let serve = try program.serve("serve", environment: environment)
      #expect(await serve.line(with: line) != nil, "\(serve.before)")
      serve.signal(SIGTERM)
      #expect(await serve.line(with: "stopped") != nil, "\(serve.before)")
      #expect(await serve.end() == 0, "\(serve.before)")
    }
    try await serve(until: "wait \(run) waits")
    let moved = try await call("state", "export", "--move", "lab.archive")
    #expect(moved.code == 0, "\(moved.error)")
    for command in [["serve"], ["runs", "list"], ["run", "done.yaml"]] {
      let refused = try await program.call(command, environment: environment)
      #expect(refused.code == 73 && refused.error.contains("was moved to \(program.folder.path)/lab.archive"))
    }
    let (other, url) = try await DatabaseStateTests.program()
    try program.write(try other.read("errand.yaml"), to: "errand.yaml")
    #expect(try await call("state", "init").code == 0)
    let taken = try await call("state", "import", "lab.archive")
    #expect(taken.code == 0 && taken.error.hasPrefix("1 open run, "), "\(taken.error)")
    #expect(!taken.error.contains("note:"), "\(taken.error)")
    let again = try await call("state", "import", "lab.archive")
    #expect(again.code == 0 && again.error.contains("was imported into \(url) before; nothing was changed"))
    let mark = try program.read(".errand/moved.json")
    #expect(mark.contains(url), "\(mark)")
    let why = try await call("why", run)
    #expect(why.code == 0 && why.out.contains("go"), "\(why.out)\(why.error)")
    let finished = try await call("runs", "list", "--json").json["finished"]?.list
    #expect(finished?.count == 1)

    #expect(try await call("runs", "signal", run, "go").code == 0)
    try await serve(until: "'back'")
    let logs = try await call("runs", "logs", run)
    #expect(logs.out.contains("19"), "\(logs.out)")
    let back = try await call("state", "export", "--move", "back.archive")
    #expect(back.code == 0, "\(back.error)")
    let closed = try await call("runs", "list")
    #expect(closed.code == 78 && closed.error.contains("was moved to \(program.folder.path)/back.archive"))
    try program.write("state: home\n\(inFolder)", to: "errand.yaml")
    #expect(try await call("state", "import", "back.archive").code == 0)
    #expect(try await call("runs", "signal", run, "back").code == 0)
    try await serve(until: "wait \(run) succeeded")
    let all = try await call("runs", "list", "--json").json["finished"]?.list
    #expect(all?.count == 2)
    await program.remove()
    await other.remove()
  }

  @Test func `a run says what it needs, where the state is shared`() async throws {
    let (program, url) = try await DatabaseStateTests.program()
    let environment = DatabaseStateTests.password
    #expect(try await program.call("state", "init", environment: environment).code == 0)
    let averages = Program.root.appending(path: "recipes/markbook-averages.yaml").path
    let arguments = ["run", averages, "--config", "errand.yaml", "-i", "markbook=1207731"]
    let shared = try await program.call(arguments, environment: environment)
    #expect(shared.code == 0, "\(shared.error)")
    let records = try await DatabaseStateTests.finished("markbook-averages", at: url)
    let needs = records.first?["origin"]?["needs"]?.list?.compactMap(\.string)
    #expect(
      needs == [
        "connection:markbook", "format:\(StateFormat.version)", "plugin:markbook", "secret:MARKBOOK_API_KEY",
        "secret:MARKBOOK_PASSWORD", "secret:MARKBOOK_USERNAME",
      ])
    // A plan reads the stored values.
    try program.write("steps: [{ uses: store.increment, with: { name: visits } }]\n", to: "count.yaml")
    for _ in 0..<2 { #expect(try await program.call("run", "count.yaml", environment: environment).code == 0) }
    let plan = try await program.call("plan", "count.yaml", environment: environment)
    let change = plan.out.split(separator: "\n").first { $0.contains("The stored value 'visits'") }
    #expect(change?.split(separator: " ").suffix(2) == ["2", "3"], "\(plan.out)\(plan.error)")
    await program.remove()
    // A state in a folder has one program, so its records hold no needs and no queue.
    let alone = try await Program()
    #expect(try await alone.call(arguments).code == 0)
    try alone.write("queue: nightly\n\(ServeTests.done)", to: "night.yaml")
    #expect(try await alone.call("run", "night.yaml").code == 0)
    let texts = try await alone.shell("cat .errand/*.json* .errand/history/*.jsonl")
    #expect(texts.out.contains("queue: nightly") && texts.out.contains("markbook-averages"))
    #expect(!texts.out.contains("\"needs\"") && !texts.out.contains("\"queue\""))
    for (arguments, message) in [
      (["--queue", "nightly"], "--queue is for a state in PostgreSQL, and this one is in the folder "),
      (["--capacity", "3"], "--capacity is for a state in PostgreSQL, and this one is in the folder "),
    ] {
      let refused = try await alone.call(["serve"] + arguments)
      #expect(refused.code == 64)
      #expect(refused.error.contains(message), "\(refused.error)")
    }
    await alone.remove()
  }

  @Test func `a configuration that is read again changes what the machine takes up, and not its state`() async throws {
    let (program, url) = try await DatabaseStateTests.program()
    let environment = DatabaseStateTests.password
    #expect(try await program.call("state", "init", environment: environment).code == 0)
    let text = try program.read("errand.yaml")
    let settings = try #require(try PostgresSettings.hosts(inURL: url).first)
    let connection = try await PostgresConnection.open(settings)
    defer { connection.close() }
    func worker() async throws -> String {
      let row = try await connection.run(
        """
        select name || ' ' || array_to_string(queues, ',') || ' ' || capacity || ' ' || ('connection:shop' = any(offers))
        from errand.worker
        """
      ).first
      return try row?.text(0) ?? "none"
    }
    let serve = try program.serve("serve", "--capacity", "7", environment: environment)
    #expect(await serve.line(with: "its state is in \(url)") != nil, "\(serve.before)")
    #expect(try await worker().hasSuffix(" default 7 false"))
    let shop = "  shop: { plugin: http, baseURL: \"https://shop.example\" }\n"
    try program.write("worker: { name: lab, queues: [nightly], capacity: 5 }\n\(text)\(shop)", to: "errand.yaml")
    serve.signal(SIGHUP)
    #expect(await serve.line(with: "errand.yaml is read again") != nil, "\(serve.before)")
    // The command line counts more than the file.
    #expect(try await worker() == "lab nightly 7 true")
    for other in ["", "state: postgres://errand@127.0.0.1:1/other\n"] {
      let rest = text.split(separator: "\n").dropFirst(2).joined(separator: "\n")
      try program.write("\(other)\(rest)\n", to: "errand.yaml")
      serve.signal(SIGHUP)
      let line = await serve.line(with: "errand.yaml is not reloaded")
      #expect(line?.contains("it names another state, ") == true, "\(line ?? "")")
    }
    serve.signal(SIGTERM)
    #expect(await serve.line(with: "stopped") != nil)
    #expect(await serve.end() == 0)
    #expect(try await worker() == "none")
    await program.remove()
  }

  @Test func `a worker is listed, drained and evicted on a page`() async throws {
    let (program, _) = try await DatabaseStateTests.program("worker: { name: lab }\nserver: { listen: 127.0.0.1:0 }\n")
    let environment = DatabaseStateTests.password
    #expect(try await program.call("state", "init", environment: environment).code == 0)
    let serve = try program.serve("serve", environment: environment)
    let line = try #require(await serve.line(with: "listens on http://"), "\(serve.before)")
    let url = "http://" + (line.components(separatedBy: "http://").last ?? "")
    func token(_ name: String, _ scopes: String...) async throws -> String {
      let made = try await program.call(
        ["token", "new", name] + scopes.flatMap { ["--scope", $0] }, environment: environment)
      #expect(made.code == 0, "\(made.error)")
      return made.out.trimmingCharacters(in: .newlines)
    }
    let (steering, reading) = (try await token("ann", "read", "steer"), try await token("bob", "read"))
    func ask(_ path: String, _ token: String, _ form: HTTPQuery? = nil) async throws -> (status: Int, text: String) {
      var headers: HTTPHeaders = ["Authorization": "Bearer \(token)", "Accept": "text/html"]
      if form != nil { headers["Content-Type"] = "application/x-www-form-urlencoded" }
      let answer = try await HTTPClient().send(
        HTTPRequest(
          form == nil ? "GET" : "POST", url + path, headers: headers, body: form.map { Array($0.encoded.utf8) },
          redirects: .none))
      return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }
    var page = try await ask("/workers", steering).text
    #expect(page.contains("<h2>lab <span class=\"status s-running\">working</span></h2>"), "\(page)")
    #expect(page.contains("plugin:markbook") && page.contains("0 of at most 64"), "\(page)")
    #expect(page.contains("action=\"/workers/lab/drain\"") && page.contains("action=\"/workers/lab/evict\""))
    let looking = try await ask("/workers", reading)
    #expect(looking.status == 200 && !looking.text.contains("action=\"/workers/"), "\(looking.text)")
    #expect(try await ask("/workers/lab/drain", reading, [:]).status == 403)
    #expect(try await ask("/workers/lab/drain", steering, [:]).status == 303)
    #expect(await serve.line(with: "draining, as 'errand workers drain' asked") != nil, "\(serve.before)")
    page = try await ask("/workers", steering).text
    #expect(page.contains("s-paused\">draining</span>") && page.contains("name=\"undo\" value=\"true\""), "\(page)")
    #expect(try await ask("/workers/lab/drain", steering, ["undo": "true"]).status == 303)
    #expect(await serve.line(with: "no longer draining") != nil, "\(serve.before)")
    // A worker that may be running is evicted only by the form that says what follows.
    let refused = try await ask("/workers/lab/evict", steering, [:])
    #expect(refused.status == 409 && refused.text.contains("so it may still be running"), "\(refused.text)")
    #expect(page.contains("name=\"force\" value=\"true\"") && page.contains("Its lease is valid"))
    #expect(try await ask("/workers/lab/evict", steering, ["force": "true"]).status == 303)
    #expect(await serve.line(with: "this worker claims runs") != nil, "\(serve.before)")
    #expect(try await ask("/workers/none/drain", steering, [:]).status == 404)
    serve.signal(SIGTERM)
    #expect(await serve.end() == 0, "\(serve.before)")
    await program.remove()
  }

  @Test func `workers are listed, drained and evicted, and what one holds is free when it ends`() async throws {
    let (desk, url) = try await DatabaseStateTests.program("worker: { name: lab }\n")
    let environment = DatabaseStateTests.password
    #expect(try await desk.call("state", "init", environment: environment).code == 0)
    let none = try await desk.call("workers", environment: environment)
    #expect(
      (none.code, none.error) == (
        0, "no workers on \(url); open runs wait for one; start it with: errand serve\n"
      ))
    let steps = "recipe: slow\nsteps: [{ wait: 50s }, { let: { x: 1 } }]\n"
    try desk.write(steps, to: "slow.yaml")
    let atDesk = try desk.serve("serve", environment: environment)
    #expect(await atDesk.line(with: "its state is in \(url)") != nil, "\(atDesk.before)")
    let slow = try await desk.call("run", "slow.yaml", "--detach", environment: environment)
    #expect(slow.code == 0, "\(slow.error)")
    let run = slow.out.trimmingCharacters(in: .newlines)
    // Two workers have the same name by mistake.
    let lab = try await Program()
    try lab.write("state: \(url)\npostgres: { answerWithin: 1m }\nworker: { name: lab }\n", to: "errand.yaml")
    let atLab = try lab.serve("serve")
    #expect(await atLab.line(with: "another worker is called 'lab' too, in ") != nil, "\(atLab.before)")
    let twins = try await desk.call("workers", "--json", environment: environment).json.list ?? []
    #expect(twins.map { $0["name"] } == [.string("lab"), .string("lab")])
    #expect(twins.map { $0["runs"] } == [.int(1), .int(0)])
    #expect(twins.first?["offers"]?.list?.contains(.string("plugin:markbook")) == true)
    let ids = twins.compactMap { $0["id"].map { JSON.displayed($0) } }
    try #require(ids.count == 2)
    let ambiguous = try await desk.call("workers", "drain", "lab", environment: environment)
    #expect(
      ambiguous.error.hasPrefix("error: several workers are called 'lab'; name one by its id: \(ids[0]) ("),
      "\(ambiguous.error)")
    let drained = try await desk.call("workers", "drain", ids[0], environment: environment)
    #expect(
      (drained.code, drained.error) == (
        0, "the worker 'lab' claims no more runs, and holds 1; to see when it has finished: errand workers\n"
      ))
    #expect(await atDesk.line(with: "draining, as 'errand workers drain' asked") != nil, "\(atDesk.before)")
    var table = try await desk.call("workers", environment: environment)
    #expect(table.out.contains(" draining"), "\(table.out)")
    #expect(table.out.contains("WORKER") && table.out.contains("1/64"), "\(table.out)")
    let undone = try await desk.call("workers", "drain", "--undo", ids[0], environment: environment)
    #expect((undone.code, undone.error) == (0, "the worker 'lab' claims runs again\n"))
    #expect(await atDesk.line(with: "no longer draining") != nil, "\(atDesk.before)")
    let refused = try await desk.call("workers", "evict", ids[1], environment: environment)
    #expect(refused.code != 0 && refused.error.hasPrefix("error: the lease of the worker '"), "\(refused.error)")
    let evicted = try await desk.call("workers", "evict", ids[1], "--force", environment: environment)
    #expect(
      (evicted.code, evicted.error) == (0, "the worker 'lab' is evicted; 0 runs can be claimed by other workers\n"))
    #expect(await atLab.line(with: "this worker claims runs") != nil, "\(atLab.before)")
    // It ends while it holds the run, which the other has at once, and not after the lease of 15 seconds.
    let begin = ContinuousClock.now
    atDesk.signal(SIGTERM)
    #expect(await atDesk.end() == 0, "\(atDesk.before)")
    let ended = begin.duration(to: .now)
    #expect(await atLab.line(with: "slow \(run) resumes") != nil, "\(atLab.before)")
    #expect(begin.duration(to: .now) - ended < .seconds(8))
    table = try await lab.call("workers")
    #expect(table.out.split(separator: "\n").count == 2, "\(table.out)")
    atLab.signal(SIGTERM)
    #expect(await atLab.end() == 0, "\(atLab.before)")
    await desk.remove()
    await lab.remove()
  }

  @Test func `the API lists, drains and evicts workers`() async throws {
    let (program, _) = try await DatabaseStateTests.program(
      "worker: { name: lab }\nserver: { listen: 127.0.0.1:0 }\n")
    let environment = DatabaseStateTests.password
    #expect(try await program.call("state", "init", environment: environment).code == 0)
    let agent = try program.serve("serve", environment: environment)
    let line = try #require(await agent.line(with: "listens on http://"), "\(agent.before)")
    let address = "http://" + (line.components(separatedBy: "http://").last ?? "")
    func token(_ name: String, _ scope: String) async throws -> String {
      let made = try await program.call(
        "token", "new", name, "--scope", "read", "--scope", scope, environment: environment)
      #expect(made.code == 0, "\(made.error)")
      return made.out.trimmingCharacters(in: .newlines)
    }
    func send(
      _ method: String, _ path: String, _ token: String, _ body: String? = nil
    ) async throws -> (status: Int, json: Value) {
      var headers: HTTPHeaders = ["Authorization": "Bearer \(token)"]
      if body != nil { headers["Content-Type"] = "application/json" }
      let answer = try await HTTPClient().send(
        HTTPRequest(method, "\(address)/api/v1/workers\(path)", headers: headers, body: body.map { Array($0.utf8) }))
      return (answer.status, (try? JSON.parse(answer.body)) ?? .null)
    }
    let reader = try await token("reader", "read")
    let steerer = try await token("steerer", "steer")
    var listed = try await send("GET", "", reader)
    while listed.json["items"]?.list?.isEmpty != false { listed = try await send("GET", "", reader) }
    let worker = try #require(listed.json["items"]?.list?.first)
    #expect(worker["name"]?.string == "lab" && worker["capacity"] == .int(64), "\(worker)")
    #expect(worker["isDraining"] == .bool(false) && worker["isOver"] == .bool(false), "\(worker)")
    #expect(worker["pid"] == .int(Int(agent.pid)) && worker["home"] == nil, "\(worker)")
    let offers = worker["offers"]?.list?.compactMap(\.string) ?? []
    #expect(offers.contains("plugin:markbook"), "\(offers)")
    #expect(!offers.contains { $0.hasPrefix("connection:") || $0.hasPrefix("secret:") }, "\(offers)")

    #expect(try await send("POST", "/lab/drain", reader).status == 403)
    let drained = try await send("POST", "/lab/drain", steerer)
    #expect(drained.status == 200 && drained.json["isDraining"] == .bool(true), "\(drained)")
    #expect(await agent.line(with: "draining, as 'errand workers drain' asked") != nil, "\(agent.before)")
    listed = try await send("GET", "", reader)
    #expect(listed.json["items"]?.list?.first?["isDraining"] == .bool(true), "\(listed)")
    let id = try #require(worker["id"]?.int)
    let undone = try await send("POST", "/\(id)/drain", steerer, #"{"undo":true}"#)
    #expect(undone.status == 200 && undone.json["isDraining"] == .bool(false), "\(undone)")
    #expect(await agent.line(with: "no longer draining") != nil, "\(agent.before)")

    #expect(try await send("POST", "/lab/evict", reader).status == 403)
    #expect(try await send("POST", "/desk/evict", steerer).status == 404)
    let refused = try await send("POST", "/lab/evict", steerer)
    #expect(refused.status == 409 && refused.json["kind"]?.string == "conflict", "\(refused)")
    #expect(refused.json["detail"]?.string?.hasSuffix(#"send "force": true"#) == true, "\(refused)")
    let evicted = try await send("POST", "/lab/evict", steerer, #"{"force":true}"#)
    #expect(evicted.status == 200 && evicted.json["id"] == .int(id), "\(evicted)")
    // The worker comes back with a new lease.
    listed = try await send("GET", "", reader)
    while listed.json["items"]?.list?.contains(where: { $0["id"] != .int(id) && $0["name"]?.string == "lab" }) != true {
      listed = try await send("GET", "", reader)
    }
    agent.signal(SIGTERM)
    #expect(await agent.end() == 0, "\(agent.before)")
    await program.remove()
  }

  @Test func `a state in a folder has no workers`() async throws {
    let program = try await Program()
    for arguments in [
      ["workers"], ["workers", "list"], ["workers", "drain", "a"], ["workers", "evict", "a", "--force"],
    ] {
      let refused = try await program.call(arguments)
      #expect(refused.code == 78)
      #expect(
        refused.error.hasPrefix("error: the state is in the folder ")
          && refused.error.contains("errand.yaml names: state: postgres://USER@HOST/DATABASE"), "\(refused.error)")
    }
    await program.remove()
  }

  @Test func `only a state in a database is made by a command`() async throws {
    let program = try await Program()
    for command in ["init", "migrate"] {
      let refused = try await program.call("state", command)
      #expect(refused.code == 64)
      #expect(
        refused.error.hasPrefix("error: the state is in the folder ")
          && refused.error.contains("write to errand.yaml: state: postgres://USER@HOST/DATABASE"), "\(refused.error)")
    }
    try program.write("state: postgres://errand@localhost/errand\n", to: "errand.yaml")
    for (arguments, message) in [
      (
        ["--queue", "a b"],
        "--queue: 'a b' isn't the name of a queue, which has only a–z, A–Z, 0–9, '-', '_' and '.', at most 64 in all"
      ),
      (["--capacity", "x"], "--capacity takes a number from 1 to 10000, but is 'x'"),
    ] {
      let refused = try await program.call(["serve"] + arguments)
      #expect((refused.code, refused.error) == (64, "error: \(message)\n"))
    }
    let named = try await program.call("--state", "postgres://errand@localhost/errand", "runs", "list")
    #expect(named.code == 64)
    #expect(
      named.error == "error: --state takes a folder; a database is named by 'state' in errand.yaml\n", "\(named.error)")
    await program.remove()
  }
}
