import Basics
import Foundation
import HTTPServer
import Synchronization
import Testing

/// Replays, `why` and `runs logs` report the truth, with the real binary.
@Suite(.timeLimit(.minutes(20))) struct ReplayTruthTests {
  private static func withService(
    _ answer: @escaping @Sendable (HTTPServerRequest) async -> HTTPServerResponse = { _ in
      .text("{}", type: "application/json")
    }, _ body: (Program) async throws -> Void
  ) async throws {
    let program = try await Program()
    let server = try HTTPServer { await answer($0) }
    try program.write("connections: { http: { baseURL: \"\(server.baseURL)\" } }\n", to: "errand.yaml")
    try await body(program)
    await server.stop()
    await program.remove()
  }

  private static let test = """
    recipe: some.yaml
    replay: some.json
    cases:
      - case: as it was
        do: [{ run: {}, expect: { status: succeeded } }]

    """

  /// Steps that catch every failure, with the requests in them.
  static let catching = [
    "{ id: got, uses: http.get, with: { url: /one }, onError: continue }",
    "{ id: got, uses: http.get, with: { url: /one }, onError: [ { let: { a: 1 } } ] }",
    "{ id: got, forEach: '[1]', onItemError: continue, uses: http.get, with: { url: /one } }",
    "{ id: got, onError: continue, steps: [ { uses: http.get, with: { url: /one } } ] }",
    "{ id: got, uses: shell.run, with: { effect: read, program: echo, arguments: [/one] }, onError: continue }",
  ]

  @Test(arguments: catching)
  func `no handler catches a mismatch with a recording, and a test fails by it`(step: String) async throws {
    try await Self.withService { program in
      try program.write("recipe: some\nsteps:\n  - \(step)\n", to: "some.yaml")
      let run = try await program.call("run", "some.yaml", "--record", "some.json")
      #expect(run.code == 0, "\(run.error)")
      try program.write(Self.test, to: "some.test.yaml")
      let before = try await program.call("test", "some.test.yaml")
      #expect(before.code == 0, "\(before.out)\(before.error)")

      try program.write(
        "recipe: some\nsteps:\n  - \(step.replacingOccurrences(of: "/one", with: "/two"))\n", to: "some.yaml")
      let replay = try await program.call("run", "some.yaml", "--replay", "some.json")
      #expect(replay.code == 1, "\(replay.error)")
      #expect(replay.error.contains("The recording holds no "), "\(replay.error)")
      let after = try await program.call("test", "some.test.yaml")
      #expect(after.code == 1)
      #expect(after.out.contains("The recording holds no "), "\(after.out)")
      // Also where the case expects the failure.
      try program.write(Self.test.replacingOccurrences(of: "succeeded", with: "failed"), to: "some.test.yaml")
      #expect(try await program.call("test", "some.test.yaml").code == 1)
    }
  }

  @Test func `a recording of an interrupted run says so`() async throws {
    try await Self.withService { program in
      try program.write(
        "recipe: some\nsteps:\n  - { uses: http.get, with: { url: /one } }\n  - wait: 10h\n", to: "some.yaml")
      let run = try program.serve("run", "some.yaml", "--record", "some.json")
      #expect(await run.line(with: "waiting until") != nil, "\(run.before)")
      run.signal(SIGINT)
      #expect(await run.line(with: "the run was interrupted, so what it does from here on can't be replayed") != nil)
      #expect(await run.end() == 130)
      let replay = try await program.call("run", "some.yaml", "--replay", "some.json")
      #expect(
        replay.error.hasPrefix(
          "the recording is of a run that was interrupted; what the run did after that isn't in it\n"),
        "\(replay.error)")
      #expect(replay.code == 0)
    }
  }

  private static let document = """
    {"openapi": "3.1.0", "servers": [{"url": "S"}], "paths": {
      "/form": {"post": {"operationId": "send_form", "requestBody": {"required": true, "content": {
        "multipart/form-data": {"schema": {"properties": {"f": {"type": "string", "format": "binary"}}}}}}}},
      "/raw": {"post": {"operationId": "send_raw", "requestBody": {"required": true, "content": {
        "application/octet-stream": {}}}}}}}
    """

  /// Steps that send a file, which is there or which the run makes.
  static let uploads = [
    "{ uses: shop.sendForm, with: { body: { f: in.txt } } }", "{ uses: shop.sendRaw, with: { body: in.txt } }",
    "{ uses: http.post, with: { url: /form, multipart: { files: [{ field: f, path: in.txt }] } } }",
    "{ uses: file.write, with: { path: in.txt, text: made } }\n  - { uses: shop.sendRaw, with: { body: in.txt } }\n"
      + "  - { uses: file.write, with: { path: in.txt, text: again } }\n  - { uses: shop.sendRaw, with: { body: in.txt } }",
  ]

  @Test(arguments: uploads) func `a run that sends a file is replayed with what was in it`(step: String) async throws {
    try await Self.withService { program in
      let settings = try program.read("errand.yaml")
      let url = try #require(settings.split(separator: "\"").dropFirst().first)
      try program.write(Self.document.replacingOccurrences(of: "\"S\"", with: "\"\(url)\""), to: "shop.json")
      let added = try await program.call("plugin", "add", "openapi", "shop", "shop.json")
      #expect(added.code == 0, "\(added.error)")
      try program.write("hello\n", to: "in.txt")
      try program.write("recipe: some\nsteps:\n  - \(step)\n", to: "some.yaml")
      let run = try await program.call("run", "some.yaml", "--record", "some.json")
      #expect(run.code == 0, "\(run.error)")
      // The file's content by now doesn't matter.
      try FileManager.default.removeItem(at: program.folder.appending(path: "in.txt"))
      let replay = try await program.call("run", "some.yaml", "--replay", "some.json")
      #expect(replay.code == 0, "\(replay.error)")
      try program.write(Self.test, to: "some.test.yaml")
      let test = try await program.call("test", "some.test.yaml")
      #expect(test.code == 0, "\(test.out)\(test.error)")
      guard !step.contains("file.write") else { return }
      // A test's own files take precedence over the files of the recording.
      for (text, code) in [("hello\\n", 0), ("other", 1)] {
        try program.write(Self.test + "files: { in.txt: \"\(text)\" }\n", to: "some.test.yaml")
        let test = try await program.call("test", "some.test.yaml")
        #expect(test.code == Int32(code), "\(test.out)\(test.error)")
      }
    }
  }

  @Test func `a test fails by unused exchanges of its recording`() async throws {
    try await Self.withService { program in
      let steps = ["one", "two"].map { "  - { uses: http.get, with: { url: /\($0) } }\n" }
      try program.write("recipe: some\nsteps:\n\(steps.joined())", to: "some.yaml")
      let run = try await program.call("run", "some.yaml", "--record", "some.json")
      #expect(run.code == 0, "\(run.error)")
      try program.write("recipe: some\nsteps:\n\(steps[0])", to: "some.yaml")
      try program.write(Self.test, to: "some.test.yaml")
      let test = try await program.call("test", "some.test.yaml")
      #expect(test.code == 1)
      #expect(test.out.contains("recorded, but not requested: GET http://127.0.0.1:"), "\(test.out)")
    }
  }

  @Test func `a recording replaces a file only on request`() async throws {
    try await Self.withService { program in
      try program.write("recipe: some\nsteps:\n  - { uses: http.get, with: { url: /one } }\n", to: "some.yaml")
      try program.write("precious", to: "some.json")
      let refused = try await program.call("run", "some.yaml", "--record", "some.json")
      #expect(refused.code == 73)
      #expect(
        refused.error
          == "error: --record: 'some.json' already exists; name another file, or replace it with --force. Nothing was "
          + "started\n")
      #expect(try String(contentsOf: program.folder.appending(path: "some.json"), encoding: .utf8) == "precious")
      let forced = try await program.call("run", "some.yaml", "--record", "some.json", "--force")
      #expect(forced.code == 0, "\(forced.error)")
      #expect(try await program.call("run", "some.yaml", "--replay", "some.json").code == 0)
    }
  }

  @Test func `rounds, outputs and called recipes have the same now in a replay`() async throws {
    try await Self.withService { program in
      try program.write("recipe: inner\nsteps: [{ wait: 10ms }]\noutputs: { at: \"${{ now }}\" }\n", to: "inner.yaml")
      try program.write(
        """
        recipe: some
        steps:
          - id: polled
            uses: http.put
            with: { url: /round, text: "${{ string(now) }}" }
            repeat: { until: "now > run.startedAt + duration('30ms')", every: 10ms, timeout: 1m }
          - { id: called, call: inner.yaml }
          - id: block
            steps: [{ wait: 10ms }]
            outputs: { at: "${{ now }}" }
          - { uses: http.put, with: { url: /over, text: "${{ string(steps.called.at) + string(steps.block.at) }}" } }
          - { wait: 10ms }
        outputs: { at: "${{ now }}", inner: "${{ steps.called.at }}", block: "${{ steps.block.at }}" }

        """, to: "some.yaml")
      let run = try await program.call("run", "some.yaml", "--record", "some.json", "--json")
      #expect(run.code == 0, "\(run.error)")
      let replay = try await program.call("run", "some.yaml", "--replay", "some.json", "--json")
      #expect(replay.code == 0, "\(replay.error)")
      #expect(try JSON.text(replay.json["outputs"] ?? .null) == JSON.text(run.json["outputs"] ?? .null))
    }
  }

  private static let asking = """
    recipe: asking
    steps:
      - { uses: http.put, with: { url: /begun, text: "${{ run.id }} at ${{ string(now) }}" } }
      - id: ask
        approve: { prompt: "Go on?", onReject: continue, timeout: 1d }
      - { id: paid, wait: { event: paid } }
      - uses: http.put
        with: { url: /over, text: "${{ string(steps.ask.approved) }} ${{ string(steps.ask.at) }} ${{ string(now) }}" }
    outputs:
      run: ${{ run.id }}
      by: ${{ steps.ask.by }}
      comment: ${{ steps.ask.?comment.orValue('none') }}
      at: ${{ steps.ask.at }}
      event: ${{ steps.paid.event.data }}

    """

  /// The id of the folder's open run, once it waits in a step.
  private static func waiting(_ program: Program, for word: String) async throws -> String {
    for _ in 0..<200 {
      let runs = try await program.call("runs", "list")
      if let line = runs.out.split(separator: "\n").first(where: { $0.contains(" waiting ") && $0.contains(word) }) {
        return String(line.prefix { $0 != " " })
      }
    }
    Issue.record("no run waits for '\(word)'")
    return ""
  }

  @Test(arguments: ["approve", "reject"])
  func `a run with a decision and an event is replayed to the same end, with the same id and outputs`(
    decision: String
  ) async throws {
    try await Self.withService { program in
      try program.write(Self.asking, to: "asking.yaml")
      let running = try program.start(["run", "asking.yaml", "--record", "asking.json", "--json"])
      let id = try await Self.waiting(program, for: "asks ")
      let why = try await program.call("why", id)
      #expect(why.out.contains("Process \(running.process.processIdentifier) wakes it then, as long as it runs."))
      #expect(!why.out.contains("No agent is running"), "\(why.out)")
      let decided = try await program.call(
        "runs", decision, id, "ask", "--by", "ana", "--comment", "as far as I know")
      #expect(decided.code == 0, "\(decided.error)")
      _ = try await Self.waiting(program, for: "event")
      let sent = try await program.call("runs", "signal", id, "paid", "--data", "{\"sum\": 12}")
      #expect(sent.code == 0, "\(sent.error)")
      let run = await running.outcome()
      #expect(run.code == 0, "\(run.error)")

      let replay = try await program.call("run", "asking.yaml", "--replay", "asking.json", "--json")
      #expect(replay.code == 0, "\(replay.error)")
      #expect(try JSON.text(replay.json["outputs"] ?? .null) == JSON.text(run.json["outputs"] ?? .null))
      #expect(replay.json["run"]?.string?.hasSuffix(id) == true)
      #expect(!replay.error.contains("not asked for"), "\(replay.error)")
    }
  }

  @Test func `why names the process that runs a run in the foreground`() async throws {
    let isAsked = Mutex(false)
    let isOver = Mutex(false)
    try await Self.withService({ _ in
      isAsked.withLock { $0 = true }
      while !isOver.withLock({ $0 }) { await Task.yield() }
      return .text("{}", type: "application/json")
    }) { program in
      try program.write("recipe: slow\nsteps:\n  - { id: got, uses: http.get, with: { url: /one } }\n", to: "slow.yaml")
      let running = try program.start(["run", "slow.yaml"])
      while !isAsked.withLock({ $0 }) { await Task.yield() }
      let why = try await program.call("why", "slow")
      #expect(why.out.hasPrefix("slow is running, in 'got' since "), "\(why.out)\(why.error)")
      #expect(
        why.out.contains("Process \(running.process.processIdentifier) is running it."), "\(why.out)")
      #expect(!why.out.contains("nothing is running it"), "\(why.out)")
      isOver.withLock { $0 = true }
      #expect(await running.outcome().code == 0)
    }
  }

  @Test func `the logs of a run show every attempt, also those before a person's retry`() async throws {
    let count = Mutex(0)
    try await Self.withService({ _ in
      let number = count.withLock { count in
        count += 1
        return count
      }
      var response = HTTPServerResponse.text("busy \(number)")
      response.status = number < 3 || number == 4 ? 503 : 200
      return response
    }) { program in
      try program.write(
        """
        recipe: some
        steps:
          - id: got
            uses: http.get
            retry: { maxAttempts: 3, initial: 10ms, jitter: none }
            with: { url: /one }
          - { id: sent, uses: http.post, with: { url: /two, text: a } }

        """, to: "some.yaml")
      let run = try await program.call("run", "some.yaml")
      #expect(run.code == 4, "\(run.error)")
      let id = try #require(try await program.call("runs", "list").out.split(separator: "\n").dropFirst().first)
        .prefix { $0 != " " }
      func attempts() async throws -> [String] {
        let logs = try await program.call("runs", "logs", String(id))
        return logs.out.split(separator: "\n").filter { $0.contains("  attempt ") }
          .map { $0.split(separator: " ").prefix(5).joined(separator: " ") }
      }
      let first = (1...3).map { "got http.get attempt \($0) \($0 < 3 ? "failed" : "succeeded")" }
      #expect(try await attempts() == first + ["sent http.post attempt 1 uncertain"])
      let resolved = try await program.call("runs", "resolve", String(id), "sent", "--retry")
      #expect(resolved.code == 0, "\(resolved.error)")
      let sent = ["uncertain", "succeeded"].map { "sent http.post attempt 1 \($0)" }
      #expect(try await attempts() == first + sent)
    }
  }
}
