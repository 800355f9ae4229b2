import ActionKit
import Basics
import Foundation
import Glibc
import HTTPServer
import Synchronization
import Testing

// Every step gets exactly what a service sends; and no file of the state holds a secret, however it is spelled there.

@Suite(.timeLimit(.minutes(20))) struct KeptSecretsTests {
  private static func state(of program: Program) -> [(path: String, data: Data)] {
    let state = program.folder.appending(path: ".errand").path
    return (FileManager.default.enumerator(atPath: state)?.compactMap { $0 as? String } ?? []).compactMap { path in
      FileManager.default.contents(atPath: "\(state)/\(path)").map { (path, $0) }
    }
  }

  private static func expectNothing(of secret: String, in program: Program) {
    let files = state(of: program)
    #expect(files.contains { $0.path == "state.json" || $0.path.hasPrefix("journal-") })
    for form in SpelledSecret.forms(of: secret) {
      for (path, data) in files where data.range(of: Data(form.utf8)) != nil {
        Issue.record("'\(form)' is in \(path)")
      }
    }
  }

  /// Configures a connection to a server with the secret TOKEN.
  private static func connect(_ program: Program, to server: HTTPServer) throws {
    try program.write(
      """
      connections:
        http: { baseURL: "\(server.baseURL)", secretHeaders: { X-Token: "${{ secrets.TOKEN }}" } }
      """, to: "errand.yaml")
  }

  @Test func `a student who is named as the login is written back with that name`() async throws {
    let program = try await Program()
    let name = try #require(program.sandbox.configuration["username"]?.string)
    try program.write(
      """
      recipe: rename
      steps:
        - id: old
          uses: markbook.getMarkbook
          with: { markbookKey: 1207731 }
        - uses: markbook.createStudent
          with:
            markbookKey: 1207731
            sid: S4711
            familyName: \(name)
            givenName: Sam
            gender: other
            classKey: ${{ steps.old.classes[0].key }}
        - id: book
          uses: markbook.getMarkbook
          with: { markbookKey: 1207731 }
        - forEach: ${{ steps.book.students.filter(s, s.sid == 'S4711') }}
          as: student
          uses: markbook.updateStudent
          with:
            markbookKey: 1207731
            studentKey: ${{ student.key }}
            sid: ${{ student.sid }}
            familyName: ${{ student.familyName }}
            givenName: Samuel
            preferredName: ""
            gender: other
        - id: new
          uses: markbook.getMarkbook
          with: { markbookKey: 1207731 }
        - uses: file.write
          with:
            path: names.txt
            text: ${{ steps.new.students.filter(s, s.sid == 'S4711').map(s, s.familyName + ' ' + s.givenName).join() }}
      outputs:
        students: ${{ steps.new.students.filter(s, s.sid == 'S4711') }}
      """, to: "rename.yaml")
    let outcome = try await program.call("run", "rename.yaml", "--json")
    #expect(outcome.code == 0, "\(outcome.error)")
    let names = try String(contentsOf: program.folder.appending(path: "names.txt"), encoding: .utf8)
    #expect(names == "\(name) Samuel")
    #expect(outcome.json["outputs"]?["students"]?.list?.first?["familyName"]?.string == "•••")
    #expect(!outcome.out.contains(name))
    Self.expectNothing(of: name, in: program)
    await program.remove()
  }

  @Test func `a train goes to the town that the topic is named after`() async throws {
    let program = try await Program()
    let asked = Mutex<[String]>([])
    let server = try HTTPServer { request in
      asked.withLock { $0.append(request.target) }
      let body = request.path == "/town" ? #"{"to":"Konstanz","Konstanz":["Konstanz"]}"# : #"{"id":"1","time":1}"#
      return .text(body, type: "application/json")
    }
    try program.write(
      """
      connections:
        http: { baseURL: "\(server.baseURL)" }
        notify: { ntfyURL: "\(server.baseURL)", topic: "${{ secrets.TOPIC }}" }
      """, to: "errand.yaml")
    try program.write(
      """
      recipe: train
      steps:
        - { id: town, uses: http.get, with: { url: /town } }
        - uses: http.get
          with: { url: "${{ '/trains/' + string(steps.town.body.to) + '/' + string(steps.town.body.Konstanz[0]) }}" }
        - { uses: notify.ntfy, with: { message: gone } }
      """, to: "train.yaml")
    let outcome = try await program.call("run", "train.yaml", "--json", environment: ["TOPIC": "Konstanz"])
    #expect(outcome.code == 0, "\(outcome.error)")
    #expect(asked.withLock { $0 }.contains("/trains/Konstanz/Konstanz"), "\(asked.withLock { $0 })")
    Self.expectNothing(of: "Konstanz", in: program)
    await server.stop()
    await program.remove()
  }

  // MARK: Every spelling, everywhere, and kills

  /// A service that sends a secret in every spelling, and receives the values that the steps saw.
  private final class Mirror: Sendable {
    struct Content {
      var seen: [String: Value] = [:]
      var requests = 0
      var dying: (number: Int, isAnswered: Bool)?
      var victim: Call?
    }
    let content = Mutex(Content())
    let sent: [String: Value]

    init(_ secret: String) {
      let spellings = SpelledSecret.forms(of: secret) + SpelledSecret.odd(secret)
      var sent: [String: Value] = [:]
      sent["list"] = .list(spellings.map { .string($0) })
      sent["keys"] = .map(ValueMap(spellings.map { ($0, Value.string("x \($0) y \($0)")) }))
      sent["deep"] = .object(["a": .list([.object([secret: .list([.null, .string("<\(secret)>"), .int(4711)])])])])
      // Too large for an event, so that it is in a blob.
      let rest = String(repeating: "-", count: 120)
      sent["large"] = .list(
        (0..<700).map { .string("row \($0) of \(spellings[$0 % spellings.count]) and \(secret) \(rest)") })
      self.sent = sent
    }

    func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
      let (isVictim, isAnswered) = content.withLock { content -> (Bool, Bool) in
        content.requests += 1
        guard let dying = content.dying, dying.number == content.requests else { return (false, true) }
        content.dying = nil
        if !dying.isAnswered { content.victim?.signal(SIGKILL) }
        return (dying.isAnswered, dying.isAnswered)
      }
      let parts = request.path.split(separator: "/").map(String.init)
      if parts.count == 2, parts[0] == "seen" {
        let value = try? JSON.parse(request.body)
        content.withLock { $0.seen[parts[1]] = value }
      }
      // Some time after the answer, while it is being processed.
      if isVictim, isAnswered {
        Task {
          try? await Task.sleep(for: .milliseconds(3))
          content.withLock { $0.victim }?.signal(SIGKILL)
        }
      }
      let body = parts.count == 2 && parts[0] == "sent" ? sent[parts[1]] : nil
      return .text((try? JSON.text(body ?? .object([:]))) ?? "", type: "application/json")
    }
  }

  private static let mirrored = """
    recipe: mirrored
    steps:
      - { id: rows, uses: http.get, with: { url: /sent/list } }
      - { uses: http.put, with: { url: /seen/list, json: "${{ steps.rows.body }}" } }
      - { id: keys, uses: http.get, with: { url: /sent/keys } }
      - let: { again: "${{ steps.keys.body }}", at: "${{ now }}" }
      - { uses: http.put, with: { url: /seen/keys, json: "${{ again }}" } }
      - { id: deep, uses: http.get, with: { url: /sent/deep } }
      - uses: store.put
        with: { name: deep, value: "${{ steps.deep.body }}" }
      - id: each
        forEach: ${{ [steps.deep.body] }}
        maxParallel: 2
        steps:
          - { id: kept, uses: store.get, with: { name: deep } }
          - { uses: http.put, with: { url: /seen/deep, json: "${{ steps.kept.?value.orValue(null) }}" } }
          - { uses: http.put, with: { url: /seen/item, json: "${{ item }}" } }
      - { id: large, uses: http.get, with: { url: /sent/large } }
      - { uses: http.put, with: { url: /seen/large, json: "${{ steps.large.body }}" } }
      - { uses: http.put, with: { url: /seen/first, json: "${{ steps.rows.body }}" } }
    outputs:
      list: ${{ steps.rows.body }}
      deep: ${{ steps.deep.body }}
    """

  @Test(arguments: ["p\u{E4}\"ss/w+ &<%41>\\ 😀", "Konstanz", "svc.automation"])
  func `each step sees the secret that was sent and no file holds it, whenever the program is killed`(
    _ secret: String
  ) async throws {
    let program = try await Program()
    let mirror = Mirror(secret)
    let server = try HTTPServer { await mirror.answer($0) }
    try program.write(
      """
      connections:
        http: { baseURL: "\(server.baseURL)", secretQuery: { key: "${{ secrets.TOKEN }}" } }
      """, to: "errand.yaml")
    try program.write(Self.mirrored, to: "mirrored.yaml")
    let environment = ["TOKEN": secret]
    for number in [0, 2, 5, 8, 11] {
      for isAnswered in [false, true] where number > 0 || isAnswered {
        mirror.content.withLock { content in
          content.seen = [:]
          content.requests = 0
          content.dying = number > 0 ? (number, isAnswered) : nil
        }
        let call = try program.start(["run", "mirrored.yaml", "--json"], environment: environment)
        mirror.content.withLock { $0.victim = call }
        var outcome = await call.outcome()
        if outcome.code == -SIGKILL {
          Self.expectNothing(of: secret, in: program)
          outcome = try await program.call("runs", "resume", environment: environment)
        }
        #expect(outcome.code == 0, "\(number): \(outcome.error)")
        #expect(!(outcome.out + outcome.error).contains(secret))
        let seen = mirror.content.withLock { $0.seen }
        for name in ["list", "keys", "deep", "large"] {
          let isAsSent = seen[name] == mirror.sent[name]
          #expect(isAsSent, "\(name), killed at \(number)")
        }
        let isAsSent = seen["item"] == mirror.sent["deep"] && seen["first"] == mirror.sent["list"]
        #expect(isAsSent, "killed at \(number)")
        Self.expectNothing(of: secret, in: program)
      }
    }
    #expect(Self.state(of: program).contains { $0.path.hasPrefix("blobs/") })
    await server.stop()
    await program.remove()
  }

  // MARK: Another secret

  @Test func `a run goes on with the newest text where a service repeated a secret that is renewed`() async throws {
    let program = try await Program()
    let asked = Mutex<[String]>([])
    let server = try HTTPServer { request in
      let token = request.headers["Authorization"] ?? "none"
      asked.withLock { $0.append("\(request.target) \(token)") }
      return .text("{\"token\":\"\(token)\"}", type: "application/json")
    }
    try program.write("tok1-sesame", to: "token")
    try program.write(
      """
      secrets: { commands: { TOKEN: { run: [cat, token], renew: 10m } } }
      connections: { http: { baseURL: "\(server.baseURL)", token: "${{ secrets.TOKEN }}" } }
      """, to: "errand.yaml")
    try program.write(
      """
      recipe: renewed
      steps:
        - { id: told, uses: http.get, with: { url: /token } }
        - { wait: { event: go } }
        - { uses: http.post, with: { url: /last, json: "${{ steps.told.body.token }}" } }
      """, to: "renewed.yaml")
    let first = try program.serve("run", "renewed.yaml")
    #expect(await first.line(with: "waits for the event") != nil)
    first.signal(SIGTERM)
    _ = await first.end()
    try program.write("tok2-another", to: "token")
    _ = try await program.call("runs", "signal", "any", "go")
    let resumed = try await program.call("runs", "resume", "last:renewed")
    #expect(resumed.code == 0, "\(resumed.out)\(resumed.error)")
    #expect(asked.withLock { $0 } == ["/token Bearer tok1-sesame", "/last Bearer tok2-another"])
    await server.stop()
    await program.remove()
  }

  @Test func `a run whose secret has changed is paused with the reason, and continues when it is put back`()
    async throws
  {
    let program = try await Program()
    let asked = Mutex<[String]>([])
    let server = try HTTPServer { request in
      asked.withLock { $0.append(request.target) }
      return .text(#"{"token":"Bearer-sesame-4711"}"#, type: "application/json")
    }
    try Self.connect(program, to: server)
    try program.write(
      """
      recipe: changed
      steps:
        - { id: told, uses: http.get, with: { url: /token } }
        - { wait: { event: go } }
        - { uses: http.get, with: { url: "${{ '/with/' + string(steps.told.body.token) }}" } }
      """, to: "changed.yaml")
    let first = try program.serve("run", "changed.yaml", environment: ["TOKEN": "sesame-4711"])
    #expect(await first.line(with: "waits for the event") != nil)
    first.signal(SIGTERM)
    _ = await first.end()
    let runs = try await program.call("runs", "list", "--json").json["open"]?.list
    let run = try #require(runs?.first?["id"]?.string)
    _ = try await program.call("runs", "signal", "any", "go", environment: ["TOKEN": "sesame-4711"])
    let changed = try await program.call("runs", "resume", run, "--json", environment: ["TOKEN": "another-1234"])
    let reason = """
      the secret 'TOKEN' has changed since the output of 'told' was kept, which holds its former text; set 'TOKEN' to \
      that text, then: errand runs resume \(run); or give it up with: errand runs cancel \(run)
      """
    #expect(changed.json["status"]?.string == "paused" && changed.json["reason"]?.string == reason, "\(changed.out)")
    let back = try await program.call("runs", "resume", run, "--json", environment: ["TOKEN": "sesame-4711"])
    #expect(back.code == 0 && back.json["status"]?.string == "succeeded", "\(back.out)\(back.error)")
    #expect(asked.withLock { $0 }.last == "/with/Bearer-sesame-4711", "\(asked.withLock { $0 })")
    Self.expectNothing(of: "sesame-4711", in: program)
    await server.stop()
    await program.remove()
  }

  @Test func `a stored value whose secret has changed pauses the run that reads it`() async throws {
    let program = try await Program()
    let server = try HTTPServer { _ in .text(#"{"token":"sesame-4711"}"#, type: "application/json") }
    try Self.connect(program, to: server)
    try program.write(
      """
      recipe: put
      steps:
        - { id: told, uses: http.get, with: { url: /token } }
        - { uses: store.put, with: { name: kept, value: "${{ steps.told.body.token }}" } }
      """, to: "put.yaml")
    try program.write(
      """
      recipe: get
      steps:
        - { id: kept, uses: store.get, with: { name: kept } }
        - { uses: file.write, with: { path: kept.txt, text: "${{ string(steps.kept.?value.orValue('')) }}" } }
      """, to: "get.yaml")
    #expect(try await program.call("run", "put.yaml", environment: ["TOKEN": "sesame-4711"]).code == 0)
    let changed = try await program.call("run", "get.yaml", "--json", environment: ["TOKEN": "another-1234"])
    let run = try #require(changed.json["run"]?.string ?? changed.json["id"]?.string)
    #expect(
      changed.json["reason"]?.string?.hasPrefix(
        "the secret 'TOKEN' has changed since the stored value 'kept' was kept") == true, "\(changed.out)")
    let back = try await program.call("runs", "resume", run, environment: ["TOKEN": "sesame-4711"])
    #expect(back.code == 0, "\(back.error)")
    #expect(
      try String(contentsOf: program.folder.appending(path: "kept.txt"), encoding: .utf8) == "sesame-4711")
    Self.expectNothing(of: "sesame-4711", in: program)
    await server.stop()
    await program.remove()
  }

  @Test func `a stored value whose secret has changed can be replaced and deleted`() async throws {
    let program = try await Program()
    let server = try HTTPServer { _ in .text(#"{"token":"sesame-4711"}"#, type: "application/json") }
    try Self.connect(program, to: server)
    try program.write(
      """
      recipe: put
      steps:
        - { id: told, uses: http.get, with: { url: /token } }
        - { uses: store.put, with: { name: kept, value: "${{ steps.told.body.token }}" } }
        - { uses: store.put, with: { name: old, value: "${{ [steps.told.body.token] }}" } }
      """, to: "put.yaml")
    try program.write(
      """
      recipe: renew
      steps:
        - { id: new, uses: store.put, with: { name: kept, value: another } }
        - { id: gone, uses: store.delete, with: { name: old } }
      outputs: { isChanged: "${{ steps.new.isChanged }}", existed: "${{ steps.gone.existed }}" }
      """, to: "renew.yaml")
    #expect(try await program.call("run", "put.yaml", environment: ["TOKEN": "sesame-4711"]).code == 0)
    let now = ["TOKEN": "another-1234"]
    let plan = try await program.call("plan", "renew.yaml", environment: now)
    #expect(plan.code == 0 && plan.out.contains("•••") && !plan.out.contains("?!"), "\(plan.out)\(plan.error)")
    let renewed = try await program.call("run", "renew.yaml", "--json", environment: now)
    #expect(renewed.code == 0, "\(renewed.out)\(renewed.error)")
    #expect(renewed.json["outputs"] == .object(["isChanged": .bool(true), "existed": .bool(true)]), "\(renewed.out)")
    // A run that needs the value itself waits for its secret, as before.
    #expect(try await program.call("run", "put.yaml", environment: ["TOKEN": "sesame-4711"]).code == 0)
    try program.write(
      "steps: [{ uses: store.compareAndSet, with: { name: kept, expected: x, value: y } }]\n", to: "compare.yaml")
    let compared = try await program.call("run", "compare.yaml", "--json", environment: now)
    #expect(compared.json["status"]?.string == "paused", "\(compared.out)")
    await server.stop()
    await program.remove()
  }

  @Test func `recordings and plans hide each secret that is known, play, and compare`() async throws {
    let program = try await Program()
    let asked = Mutex<[String]>([])
    let server = try HTTPServer { request in
      asked.withLock { $0.append(request.target) }
      let body = #"{"v":"sesame-4711","list":["by sesame-4711!"],"n":83920175,"deep":{"sesame-4711":1}}"#
      return .text(request.path == "/give" ? body : #"{"ok":true}"#, type: "application/json")
    }
    try program.write(
      "secrets: { files: [secrets.yaml] }\nconnections: { http: { baseURL: \"\(server.baseURL)\" } }\n",
      to: "errand.yaml")
    try program.write("OTHER: sesame-4711\nPIN: \"83920175\"\n", to: "secrets.yaml")
    let mode: [FileAttributeKey: Any] = [.posixPermissions: 0o600]
    try FileManager.default.setAttributes(mode, ofItemAtPath: program.folder.appending(path: "secrets.yaml").path)
    try program.write(
      """
      recipe: told
      inputs: { note: { type: string, default: none } }
      steps:
        - { id: a, uses: http.get, with: { url: /give } }
        - uses: http.put
          with:
            url: /put
            query: { q: "${{ steps.a.body.v }}", n: "${{ steps.a.body.n }}", note: "${{ inputs.note }}" }
            json: { a: "${{ steps.a.body }}", note: "${{ inputs.note }}", pin: "83920175" }
        - { uses: http.put, with: { url: /text, text: "it is ${{ string(steps.a.body.v) }}" } }
        - { uses: store.put, with: { name: v, value: "${{ steps.a.body }}" } }
      outputs: { a: "${{ steps.a.body.v }}" }
      """, to: "told.yaml")
    func hides(_ text: String) -> Bool { !text.contains("sesame-4711") && !text.contains("83920175") }
    func content(_ name: String) throws -> String {
      try String(contentsOf: program.folder.appending(path: name), encoding: .utf8)
    }
    let note = "note=for sesame-4711"
    let run = try await program.call("run", "told.yaml", "-i", note, "--record", "told.json", "--json")
    #expect(run.code == 0 && run.json["outputs"] == .object(["a": .string("•••")]), "\(run.out)\(run.error)")
    let recorded = try content("told.json")
    #expect(hides(run.out + run.error) && hides(recorded), "\(recorded)")
    #expect(asked.withLock { $0 }.contains { $0.contains("note=for%20sesame-4711") }, "\(asked.withLock { $0 })")
    asked.withLock { $0 = [] }
    for secrets in [try content("secrets.yaml"), "OTHER: something else\n"] {
      try program.write(secrets, to: "secrets.yaml")
      try FileManager.default.setAttributes(mode, ofItemAtPath: program.folder.appending(path: "secrets.yaml").path)
      let replay = try await program.call("run", "told.yaml", "-i", note, "--replay", "told.json", "--json")
      #expect(replay.code == 0 && replay.json["outputs"] == run.json["outputs"], "\(replay.out)\(replay.error)")
    }
    #expect(asked.withLock { $0 } == [])
    try program.write("OTHER: sesame-4711\nPIN: \"83920175\"\n", to: "secrets.yaml")
    try FileManager.default.setAttributes(mode, ofItemAtPath: program.folder.appending(path: "secrets.yaml").path)
    for options in [[], ["--json"]] {
      let plan = try await program.start(["plan", "told.yaml", "-i", note, "--out", "plan.json"] + options).outcome()
      #expect(plan.code == 0 && plan.out.contains("•••"), "\(plan.out)\(plan.error)")
      let kept = try content("plan.json")
      #expect(hides(plan.out + plan.error) && hides(kept), "\(plan.out)\(kept)")
    }
    asked.withLock { $0 = [] }
    let planned = try await program.call("run", "told.yaml", "--plan", "plan.json")
    #expect(planned.code == 0 && hides(planned.out + planned.error), "\(planned.out)\(planned.error)")
    #expect(asked.withLock { $0 }.contains { $0.contains("note=for%20sesame-4711") }, "\(asked.withLock { $0 })")
    await server.stop()
    await program.remove()
  }

  // MARK: Masked output

  @Test func `outputs are masked for people and programs, with the places`() async throws {
    let program = try await Program()
    let server = try HTTPServer { _ in
      .text(#"{"rows":[{"a":"x"},{"a":"by sesame-4711!"}],"sesame-4711":1}"#, type: "application/json")
    }
    try Self.connect(program, to: server)
    try program.write(
      """
      recipe: shown
      steps:
        - { id: told, uses: http.get, with: { url: /token } }
        - { if: "steps.told.body.rows[1].a == 'by sesame-4712!'", fail: never }
        - { onError: continue, steps: [{ fail: "it is ${{ string(steps.told.body.rows[1].a) }}" }] }
      outputs: { body: "${{ steps.told.body }}" }
      """, to: "shown.yaml")
    let environment = ["TOKEN": "sesame-4711"]
    let run = try await program.call("run", "shown.yaml", "--json", environment: environment)
    #expect(run.code == 0, "\(run.error)")
    #expect(run.json["outputs"]?["body"]?["rows"]?.list?.last?["a"]?.string == "by •••!")
    #expect(
      run.json["masked"]
        == .list([.string("outputs.body.rows[1].a"), .string("outputs.body.•••")]), "\(run.out)")
    let id = try #require(run.json["run"]?.string)
    let logs = try await program.call("runs", "logs", id, "--json", environment: environment)
    #expect(logs.out.contains("by •••!") && logs.out.contains("\"output.body.$map[0][1][1].a\""), "\(logs.out)")
    #expect(!logs.out.contains("$masked"), "\(logs.out)")
    for command in [
      ["runs", "show", id], ["runs", "show", id, "--json"], ["runs", "logs", id], ["why", id], ["runs", "list"],
      ["plan", "shown.yaml"], ["plan", "shown.yaml", "--json"],
    ] {
      let outcome = try await program.start(command, environment: environment).outcome()
      #expect(!(outcome.out + outcome.error).contains("sesame-4711"), "\(command): \(outcome.out)")
    }
    await server.stop()
    await program.remove()
  }

  @Test func `a name that holds a secret is refused`() async throws {
    let program = try await Program()
    try program.write(
      "connections:\n  http: { baseURL: \"http://127.0.0.1:1\", secretQuery: { key: \"${{ secrets.TOKEN }}\" } }\n",
      to: "errand.yaml")
    try program.write(
      """
      recipe: named
      inputs: { name: string }
      steps: [{ uses: store.put, with: { name: "${{ inputs.name }}", value: 1 } }]
      """, to: "named.yaml")
    let environment = ["TOKEN": "sesame-4711"]
    let put = try await program.call("run", "named.yaml", "-i", "name=of sesame-4711", environment: environment)
    let words = "holds the secret 'TOKEN', and names are kept as they are; use another"
    // A remote caller isn't told which one.
    let hidden = "holds a secret, and names are kept as they are; use another"
    #expect(put.code == 1 && put.error.contains("the name of a stored value \(words)"), "\(put.error)")
    let event = try await program.call("runs", "signal", "any", "sesame-4711", environment: environment)
    #expect(event.code != 0 && event.error.contains("the name of an event \(hidden)"), "\(event.error)")
    let id = try await program.call("runs", "signal", "any", "go", "--id", "x-sesame-4711", environment: environment)
    #expect(id.code != 0 && id.error.contains("the id of an event \(hidden)"), "\(id.error)")
    Self.expectNothing(of: "sesame-4711", in: program)
    await program.remove()
  }

  // MARK: Secrets stored by earlier versions

  @Test func `a secret that was kept before it was known is found and removed`() async throws {
    let program = try await Program()
    let secret = "sesame/4711"
    try program.write("connections: {}\n", to: "errand.yaml")
    try program.write(
      """
      recipe: old
      steps:
        - { id: a, uses: store.put, with: { name: kept, value: { key: "a \(secret) b", rows: [1, "\(secret)"] } } }
        - id: large
          uses: shell.run
          with: { effect: read, script: 'for i in $(seq 4000); do echo "$i \(secret) and more"; done' }
        - { id: waits, wait: { event: go } }
      outputs: { large: "${{ steps.large.output }}" }
      """, to: "old.yaml")
    try program.write(
      """
      recipe: over
      steps: [{ id: a, uses: shell.run, with: { effect: read, script: "echo \(secret)" } }]
      outputs: { a: "${{ steps.a.output }}" }
      """, to: "over.yaml")
    #expect(try await program.call("run", "over.yaml").code == 0)
    let first = try program.serve("run", "old.yaml")
    #expect(await first.line(with: "waits for the event") != nil)
    first.signal(SIGTERM)
    _ = await first.end()
    let answers = program.folder.appending(path: ".errand/cache/http")
    try FileManager.default.createDirectory(at: answers, withIntermediateDirectories: true)
    try Data("an answer with \(secret)".utf8).write(to: answers.appending(path: "0123.answer"))
    try Data("{\"n\":1,\"damaged\": \"\(secret)\"}\n".utf8).write(
      to: program.folder.appending(path: ".errand/journal-1.damaged.jsonl"))
    _ = try await program.shell("chmod -R go-rwx .errand")

    // From now on it is a secret.
    try program.write(
      "connections:\n  http: { baseURL: \"http://127.0.0.1:1\", secretQuery: { key: \"${{ secrets.TOKEN }}\" } }\n",
      to: "errand.yaml")
    let environment = ["TOKEN": secret]
    let found = try await program.call("doctor", "--json", environment: environment)
    #expect(found.code == 1)
    let messages = found.json["findings"]?.list?.compactMap { $0["message"]?.string } ?? []
    for part in ["/state.json ", "/history/", "/blobs/", "/cache/http/0123.answer ", "/journal-1.damaged.jsonl "] {
      #expect(
        messages.contains { $0.contains(part) && $0.contains("holds the secret 'TOKEN'") }, "\(part): \(messages)")
    }
    #expect(!found.out.contains(secret))
    let repaired = try await program.call("doctor", "--repair", environment: environment)
    #expect(repaired.code == 0, "\(repaired.out)\(repaired.error)")
    Self.expectNothing(of: secret, in: program)
    #expect(try await program.call("doctor", environment: environment).out.hasSuffix("no faults\n"))

    // It opens, and its run continues.
    _ = try await program.call("runs", "signal", "any", "go", environment: environment)
    let end = try await program.call("runs", "resume", environment: environment)
    #expect(end.code == 0, "\(end.out)\(end.error)")
    let runs = try await program.call("runs", "list", "--json", environment: environment).json["finished"]?.list ?? []
    #expect(runs.count == 2 && runs.allSatisfy { $0["status"]?.string == "succeeded" })
    try program.write(
      """
      recipe: get
      steps:
        - { id: kept, uses: store.get, with: { name: kept } }
        - { uses: file.write, with: { path: kept.txt, text: "${{ has(steps.kept.value) ? string(steps.kept.value.key) : '' }}" } }
      """, to: "get.yaml")
    let get = try await program.call("run", "get.yaml", environment: environment)
    #expect(get.code == 0, "\(get.error)")
    let kept = try? String(contentsOf: program.folder.appending(path: "kept.txt"), encoding: .utf8)
    #expect(kept == "a \(secret) b")
    Self.expectNothing(of: secret, in: program)
    await program.remove()
  }
}

/// Ways to write a secret.
enum SpelledSecret {
  /// The usual ones.
  static func forms(of text: String) -> [String] {
    let data = Data(text.utf8)
    let hex = data.map { String(format: "%02x", $0) }.joined()
    let quoted = String(JSON.quoted(text).dropFirst().dropLast())
    let percent = text.percentEncoded
    let small = text.utf8.map { byte in
      percentEncodes(byte) ? String(format: "%%%02x", byte) : String(UnicodeScalar(byte))
    }.joined()
    return [
      text, data.base64EncodedString(), hex, hex.uppercased(), percent, small,
      percent.replacingOccurrences(of: "%20", with: "+"), percent.percentEncoded, quoted,
      quoted.replacingOccurrences(of: "/", with: "\\/"), String(JSON.quoted(quoted).dropFirst().dropLast()),
      text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
        .replacingOccurrences(of: "\"", with: "&quot;"),
      data.base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_"),
    ]
  }

  private static func percentEncodes(_ byte: UInt8) -> Bool {
    String(UnicodeScalar(byte)).percentEncoded.utf8.count > 1
  }

  /// Unusual ways, which a finder must know too.
  static func odd(_ text: String) -> [String] {
    let scalars = text.unicodeScalars
    func all(_ form: (Unicode.Scalar) -> String) -> String { scalars.map(form).joined() }
    var forms = [
      all { String(format: "&#%d;", $0.value) }, all { String(format: "&#x%X;", $0.value) },
      all { String(format: "&#X%06x;", $0.value) }, all { "\($0)".utf8.map { String(format: "%%%02X", $0) }.joined() },
      all { "\($0)".utf8.map { String(format: "%%2525%02x", $0) }.joined() },
      all { "\($0)".utf16.map { String(format: "\\u%04x", $0) }.joined() },
      all { "\($0)".utf16.map { String(format: "\\\\u%04X", $0) }.joined() },
      // Each character in another way.
      scalars.enumerated().map { index, scalar in
        index % 2 == 0 ? "\(scalar)" : "\(scalar)".utf8.map { String(format: "%%%02x", $0) }.joined()
      }.joined(),
    ]
    for before in ["x", "xy", "xyz"] { forms.append(Data("\(before)\(text)-".utf8).base64EncodedString()) }
    return forms
  }
}
