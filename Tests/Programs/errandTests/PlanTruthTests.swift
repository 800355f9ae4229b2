import ActionKit
import Basics
import Foundation
import HTTPServer
import PluginList
import Synchronization
import Testing

/// A plan shows everything that the run then writes, with the real binary.
@Suite(.timeLimit(.minutes(20))) struct PlanTruthTests {
  /// A service with a list, which can grow with each request, and a record of the writes it received.
  private final class Desk: Sendable {
    private let content = Mutex((asked: 0, writes: [String](), grows: false, refuses: ""))

    func answer(_ request: HTTPServerRequest) -> HTTPServerResponse {
      content.withLock { content in
        guard request.method == "GET" else {
          content.writes.append("\(request.method) \(request.target) \(String(decoding: request.body, as: UTF8.self))")
          return .text("[1]", type: "application/json")
        }
        if !content.refuses.isEmpty, request.target.hasPrefix(content.refuses) {
          return HTTPServerResponse(status: 404)
        }
        content.asked += 1
        let count = content.grows ? content.asked : 1
        return .text("[\((1...count).map { "\($0)" }.joined(separator: ","))]", type: "application/json")
      }
    }

    var writes: [String] { content.withLock { $0.writes } }
    func grow() { content.withLock { $0.grows = true } }
    func refuse(_ path: String) { content.withLock { $0.refuses = path } }
  }

  private static func withDesk(_ body: (Program, Desk, _ port: Int) async throws -> Void) async throws {
    let program = try await Program()
    let desk = Desk()
    let server = try HTTPServer { desk.answer($0) }
    let port = try #require(server.baseURL.split(separator: ":").last.flatMap { Int($0) })
    try program.write(
      """
      connections:
        http: { baseURL: "http://127.0.0.1:\(port)" }
        alias: { plugin: http, baseURL: "http://LocalHost:\(port)" }
        below: { plugin: file, folder: sub }
        roundabout: { plugin: json, folder: sub/../linked/. }

      """, to: "errand.yaml")
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "sub"), withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: program.folder.appending(path: "linked").path, withDestinationPath: "sub")
    try program.write("name\na\nb\n", to: "in.csv")
    try program.write("[1, 2]", to: "sub/in.json")
    try await body(program, desk, port)
    await server.stop()
    await program.remove()
  }

  /// Writes of a plan with their conditions: `PUT /a <if 'x' fails>`.
  private static func displayed(_ plan: Program.Outcome) -> [String] {
    (plan.json["writes"]?.list ?? []).map { write in
      let conditions = (write["if"]?.list ?? []).compactMap(\.string)
      let place = write["input"]?["url"]?.string ?? write["input"]?["path"]?.string ?? write["action"]?.string ?? ""
      return conditions.isEmpty ? place : "\(place) <\(conditions.joined(separator: ", "))>"
    }
  }

  @Test func `a retried block writes again in the plan, which says so where it may`() async throws {
    try await Self.withDesk { program, desk, _ in
      try program.write(
        """
        recipe: again
        steps:
          - onError: continue
            retry: { maxAttempts: 3, initial: 1ms, on: [validation] }
            steps: [{ uses: http.put, with: { url: /a } }, { fail: always }]
          - retry: { maxAttempts: 2, initial: 1ms, on: [server] }
            steps: [{ uses: http.put, with: { url: /b } }]

        """, to: "again.yaml")
      let plan = try await program.call("plan", "again.yaml", "--json")
      #expect(Self.displayed(plan) == ["/a", "/a", "/a", "/b"])
      let told = try await program.call("plan", "again.yaml").out
      #expect(told.contains("would be tried again if it fails, 2 times at most, and may then write more"), "\(told)")
      #expect(try await program.call("run", "again.yaml", "--json").code == 0)
      #expect(desk.writes.map { String($0.prefix(6)) } == ["PUT /a", "PUT /a", "PUT /a", "PUT /b"])
    }
  }

  @Test func `what a write of another plugin changes is read in the run, and the plan says so`() async throws {
    try await Self.withDesk { program, desk, _ in
      try program.write(
        """
        recipe: rows
        steps:
          - { uses: file.append, with: { path: in.csv, text: "c\\n" } }
          - { id: rows, uses: csv.read, with: { path: ./in.csv } }
          - id: put
            forEach: ${{ steps.rows.rows }}
            as: row
            uses: http.put
            with: { url: /x, text: "${{ string(row.name) }}" }

        """, to: "rows.yaml")
      let plan = try await program.call("plan", "rows.yaml", "--json", "--out", "plan.json")
      #expect(plan.code == 0, "\(plan.error)")
      #expect(
        Self.displayed(plan) == ["in.csv", "/x <for each item of `steps.rows.rows` (known after 'rows')>"])
      let run = try await program.call("run", "rows.yaml", "--plan", "plan.json")
      #expect(run.code == 0, "\(run.error)")
      #expect(desk.writes == ["PUT /x a", "PUT /x b", "PUT /x c"])
    }
  }

  /// Steps; the last one may read a file or value that an earlier one writes.
  private static let readsAfterWrites: [(steps: [String], isKnown: Bool)] = [
    (
      [
        "{ uses: csv.write, with: { path: new.csv, rows: [{ a: 1 }] } }",
        "{ uses: file.read, with: { path: new.csv } }",
      ], false
    ),
    (
      [
        "{ uses: file.write, with: { path: sub/in.json, text: '[3]' } }",
        "{ uses: json.read, connection: roundabout, with: { path: in.json } }",
      ], false
    ),
    (
      [
        "{ uses: file.write, connection: below, with: { path: new.txt, text: a } }",
        "{ uses: file.list, with: { folder: sub } }",
      ], false
    ),
    (
      ["{ uses: file.move, with: { from: sub, to: other } }", "{ uses: json.read, with: { path: sub/in.json } }"], false
    ),
    (
      ["{ uses: http.download, with: { url: /list, to: in.csv } }", "{ uses: csv.read, with: { path: in.csv } }"], false
    ),
    (["{ uses: http.post, with: { url: /a } }", "{ uses: http.get, connection: alias, with: { url: /list } }"], false),
    (
      ["{ uses: shell.run, with: { effect: write, program: 'true' } }", "{ uses: csv.read, with: { path: in.csv } }"],
      false
    ),
    (
      ["{ uses: shell.run, with: { effect: write, program: 'true' } }", "{ uses: http.get, with: { url: /list } }"],
      false
    ),
    (
      [
        "{ uses: file.append, with: { path: in.csv, text: a } }",
        "{ uses: shell.run, with: { effect: read, program: 'true' } }",
      ], false
    ),
    (
      [
        "{ uses: http.post, with: { url: /a } }",
        "{ uses: file.write, with: { path: '${{ string(steps.w.body) }}', text: a } }",
        "{ uses: csv.read, with: { path: in.csv } }",
      ], false
    ),
    (
      ["{ uses: file.write, with: { path: in.csv.old, text: a } }", "{ uses: csv.read, with: { path: in.csv } }"], true
    ),
    (["{ uses: file.append, with: { path: in.csv, text: a } }", "{ uses: http.get, with: { url: /list } }"], true),
    (["{ uses: http.put, with: { url: /a } }", "{ uses: csv.read, with: { path: in.csv } }"], true),
    (["{ uses: store.put, with: { name: a, value: 1 } }", "{ uses: store.get, with: { name: b } }"], true),
    (["{ uses: store.put, with: { name: a, value: 1 } }", "{ uses: store.list }"], false),
  ]

  @Test(arguments: readsAfterWrites)
  func `a read waits for the run exactly if something before it may change what it reads`(
    steps: [String], isKnown: Bool
  ) async throws {
    try await Self.withDesk { program, _, _ in
      let lines = steps.enumerated().map { index, step in
        "  - { id: \(index == 0 ? "w" : index == steps.count - 1 ? "r" : "v"),\(step.dropFirst())"
      }
      try program.write("recipe: some\nsteps:\n\(lines.joined(separator: "\n"))\n", to: "some.yaml")
      let plan = try await program.call("plan", "some.yaml", "--json")
      let waiting = (plan.json["notes"]?.list ?? []).filter { $0["kind"]?.string == "notRead" }
      #expect(plan.code == 0, "\(plan.error)")
      #expect(waiting.map { $0["path"]?.string } == (isKnown ? [] : ["r"]))
    }
  }

  /// Recipes with parallel steps, and the lines of their plans.
  private static let sideBySide: [(name: String, recipe: String, displayed: [String])] = [
    (
      "a later branch writes what an earlier one reads",
      """
      steps:
        - parallel:
            b:
              - { wait: 100ms }
              - { id: r, uses: csv.read, with: { path: in.csv } }
              - { forEach: steps.r.rows, as: row, uses: http.put, with: { url: /x, text: "${{ string(row.name) }}" } }
            a: [{ uses: file.append, with: { path: in.csv, text: "c\\n" } }]
      """,
      ["/x <for each item of `steps.r.rows` (known after '#1/b/r')>", "in.csv"]
    ),
    (
      "a later branch writes what decides a condition",
      """
      steps:
        - parallel:
            b:
              - { wait: 100ms }
              - { id: r, uses: store.get, with: { name: flag } }
              - { if: has(steps.r.value), uses: http.put, with: { url: /x, json: 1 } }
            a: [{ uses: store.put, with: { name: flag, value: 1 } }]
      """,
      ["/x <if `has(steps.r.value)` (known after '#1/b/r')>", "store.put"]
    ),
    (
      "an item reads what a later one writes",
      """
      steps:
        - id: each
          forEach: "[1, 2]"
          as: n
          maxParallel: 2
          steps:
            - { if: n == 1, wait: 100ms }
            - { id: r, uses: store.get, with: { name: "k${{ n }}" } }
            - { if: has(steps.r.value), uses: http.put, with: { url: "/${{ n }}", json: 1 } }
            - { uses: store.put, with: { name: "k${{ n - 1 }}", value: 1 } }
      """,
      ["/1 <if `has(steps.r.value)` (known after 'each[0]/r')>", "store.put", "store.put"]
    ),
    (
      "what is written is in a called recipe, a loop and a handler",
      """
      steps:
        - parallel:
            b:
              - call: inner.yaml
            a:
              - { uses: http.get, with: { url: /gone }, onError: [{ uses: store.put, with: { name: one, value: 1 } }] }
              - { forEach: "[1]", as: n, steps: [{ uses: store.put, with: { name: two, value: 1 } }] }
      """,
      [
        "/one <if '#1/a/#1' fails (`has(steps.r.value)`)>",
        "/two <if `has(steps.s.value)` (known after '#1/b/#1/#1/two/s')>", "/three", "store.put <if '#1/a/#1' fails>",
        "store.put",
      ]
    ),
    (
      "an item of a list that is not known reads what the one before it writes",
      """
      steps:
        - { id: made, uses: http.put, with: { url: /list, json: 1 } }
        - forEach: steps.made.body
          as: n
          steps:
            - { id: r, uses: store.get, with: { name: k } }
            - { if: has(steps.r.value), uses: http.put, with: { url: /x, json: 1 } }
            - { uses: store.put, with: { name: k, value: 1 } }
      """,
      [
        "/list",
        "/x <for each item of `steps.made.body` (known after 'made'), "
          + "if `has(steps.r.value)` (known after '#2[*]/r')>",
        "store.put <for each item of `steps.made.body` (known after 'made')>",
      ]
    ),
    (
      "a branch writes before another fails",
      """
      steps:
        - id: both
          onError: continue
          parallel:
            a: [{ id: stop, fail: it is so }]
            b: [{ uses: http.put, with: { url: /b, json: 1 } }]
            c: [{ uses: http.put, with: { url: /c, json: 1 } }]
      """,
      ["/b <unless 'both/a/stop' fails first>", "/c <unless 'both/a/stop' fails first>"]
    ),
    (
      "a later branch fails, and a later item",
      """
      steps:
        - id: both
          onError: continue
          parallel:
            a: [{ uses: http.put, with: { url: /a, json: 1 } }]
            b: [{ id: stop, fail: it is so }]
        - id: each
          onError: continue
          steps:
            - id: all
              forEach: "[1, 2, 3]"
              as: n
              maxParallel: 2
              steps:
                - { id: end, if: n == 2, fail: it is so }
                - { uses: http.put, with: { url: "/${{ n }}", json: 1 } }
      """,
      [
        "/a <unless 'both/b/stop' fails first>", "/1", "/3 <unless 'each/all[1]/end' fails first>",
      ]
    ),
    (
      "branches and items that touch different things",
      """
      steps:
        - parallel:
            b:
              - { id: r, uses: csv.read, with: { path: in.csv } }
              - { forEach: steps.r.rows, as: row, uses: http.put, with: { url: /x, text: "${{ string(row.name) }}" } }
            a: [{ uses: file.append, with: { path: other.csv, text: a } }]
        - forEach: "[1, 2]"
          as: n
          maxParallel: 2
          steps:
            - { id: s, uses: store.get, with: { name: "k${{ n }}" } }
            - { if: has(steps.s.value), uses: http.put, with: { url: /y, json: 1 } }
            - { uses: store.put, with: { name: "k${{ n }}", value: 1 } }
      """,
      ["/x", "/x", "other.csv", "store.put", "store.put"]
    ),
  ]

  @Test(arguments: sideBySide)
  func `parallel steps may run in any order, and the plan says so`(
    name: String, recipe: String, displayed: [String]
  ) async throws {
    try await Self.withDesk { program, desk, _ in
      desk.refuse("/gone")
      try program.write(
        """
        steps:
          - parallel:
              one:
                - { id: r, uses: store.get, with: { name: one } }
                - { if: has(steps.r.value), uses: http.put, with: { url: /one, json: 1 } }
              two:
                - { id: s, uses: store.get, with: { name: two } }
                - { if: has(steps.s.value), uses: http.put, with: { url: /two, json: 1 } }
        finally:
          - { uses: http.put, with: { url: /three, json: 1 } }

        """, to: "inner.yaml")
      try program.write("recipe: some\n\(recipe)\n", to: "some.yaml")
      let plan = try await program.call("plan", "some.yaml", "--json", "--out", "plan.json")
      #expect(plan.code == 0, "\(plan.error)")
      #expect(Self.displayed(plan) == displayed)
      let run = try await program.call("run", "some.yaml", "--plan", "plan.json")
      #expect(run.code == 0, "\(run.error)")
      // In any order.
      for write in desk.writes {
        let target = write.split(separator: " ")[1]
        #expect(displayed.contains { $0 == target || $0.hasPrefix("\(target) <") }, "\(write)")
      }
    }
  }

  @Test func `what is written only if something fails is displayed with that condition`() async throws {
    try await Self.withDesk { program, desk, _ in
      try program.write(
        """
        recipe: fallback
        steps:
          - id: got
            uses: http.get
            with: { url: /list }
            onError:
              - { uses: http.put, with: { url: /failed, text: a } }
          - { if: "!has(steps.got)", uses: http.put, with: { url: /missing, text: b } }
          - { uses: http.put, with: { url: /first, text: c } }
          - { uses: http.put, with: { url: /second, text: d } }
        onFailure:
          - { uses: http.put, with: { url: /end, text: e } }

        """, to: "fallback.yaml")
      let plan = try await program.call("plan", "fallback.yaml", "--json", "--out", "plan.json")
      #expect(plan.code == 0, "\(plan.error)")
      #expect(
        Self.displayed(plan) == [
          "/failed <if 'got' fails>", "/missing <if 'got' fails (`!has(steps.got)`)>", "/first", "/second",
          "/end <if the run fails>",
        ])
      #expect(desk.writes == [])
      let run = try await program.call("run", "fallback.yaml", "--plan", "plan.json")
      #expect(run.code == 0, "\(run.error)")
      #expect(desk.writes == ["PUT /first c", "PUT /second d"])
    }
  }

  @Test func `a certain failure after a write fails the plan`() async throws {
    try await Self.withDesk { program, desk, _ in
      try program.write(
        """
        recipe: certain
        steps:
          - { id: got, uses: http.get, with: { url: /list } }
          - { uses: http.put, with: { url: /first, text: c } }
          - { uses: http.put, with: { url: /second, text: d, expect: "${{ steps.got.body }}" } }

        """, to: "certain.yaml")
      let plan = try await program.call("plan", "certain.yaml", "--json")
      #expect(plan.code == 1)
      #expect(plan.json["error"]?["kind"]?.string == "validation")
      #expect(Self.displayed(plan) == ["/first"])
      #expect(desk.writes == [])
    }
  }

  @Test func `a confirmed run is planned again, and refused if the service changed meanwhile`() async throws {
    try await Self.withDesk { program, desk, _ in
      desk.grow()
      try program.write(
        """
        recipe: growing
        steps:
          - { id: got, uses: http.get, with: { url: /list } }
          - id: put
            forEach: ${{ steps.got.body }}
            as: n
            uses: http.put
            with: { url: "/${{ string(n) }}", text: a }

        """, to: "growing.yaml")
      let outcome = try await program.shell(
        "printf 'y\\n' | NO_COLOR=1 script -qec '\(Program.binary.path) run growing.yaml --confirm' /dev/null")
      #expect(outcome.out.contains("Run growing? [y/N]"), "\(outcome.out) \(outcome.error)")
      #expect(outcome.code == 1)
      #expect(outcome.out.contains("changed: 'got' (http.get) reads other values in 'body'"))
      #expect(outcome.out.contains("changed: 'put[1]' (http.put) would be written, but wasn't in the plan"))
      #expect(desk.writes == [])
    }
  }

  @Test func `every plugin says what its actions touch, but for those that compute and the one that runs commands`() {
    for plugin in everyPlugin where plugin.name != "shell" {
      let computes = PluginDescriptor(plugin).actions.allSatisfy { $0.effect == .pure }
      #expect(computes || plugin is any FootprintPlugin.Type, "\(plugin.name)")
    }
  }

  @Test func `resources in several spellings are one, and those that only begin alike are two`() {
    let folder = FileManager.default.temporaryDirectory.path
    #expect(Resource.file("\(folder)/./a//b").overlaps(.file("\(folder)/x/../a/b")))
    #expect(Resource.file("\(folder)/x/y/../../a") == .file("\(folder)/a"))
    #expect(Resource.file("\(folder)/a").overlaps(.file("\(folder)/a/b")))
    #expect(!Resource.file("\(folder)/a").overlaps(.file("\(folder)/ab")))
    #expect(Resource.file("/").overlaps(.file("\(folder)/a")))
    #expect(!Resource.file("/").overlaps(.service("https://example.org")))
    #expect(Resource.service("https://EXAMPLE.org/a").overlaps(.service("http://example.org:80/b")))
    #expect(Resource.service("http://localhost:81").overlaps(.service("http://127.0.0.1:81")))
    #expect(!Resource.service("http://localhost:81").overlaps(.service("http://localhost:82")))
    #expect(Resource.service("no address").overlaps(.file("/a")))
    #expect(Resource.everything.overlaps(.own("store", "n")))
  }
}
