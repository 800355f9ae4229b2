import ActionKit
import Basics
import Foundation
import Glibc
import HTTPServer
import MailPlugin
import Testing

/// `--record` and `--replay`, tests with a recording, and `--watch`, with the real binary.
@Suite(.timeLimit(.minutes(20))) struct ReplayTests {
  /// Every request holds the time, to the nanosecond.
  private static let recipe = """
    recipe: timed
    steps:
      - id: first
        uses: http.get
        with: { url: /first, query: { at: "${{ string(now) }}" } }
      - id: nap
        wait: 30ms
      - id: each
        forEach: "[1, 2]"
        as: n
        uses: http.put
        with: { url: "/each/${{ n }}", json: { at: "${{ string(now) }}" } }
      - id: second
        uses: http.post
        with:
          url: /second
          json: { at: "${{ string(now) }}", began: "${{ string(run.startedAt) }}", first: "${{ steps.first.body }}" }
    outputs:
      first: ${{ steps.first.body }}
      second: ${{ steps.second.body }}
    """

  private static func recorded(_ text: String = recipe) async throws -> (Program, outputs: Value) {
    let program = try await Program()
    let server = try HTTPServer { request in
      .text(
        "{\"target\":\(JSON.quoted(request.target)),\"body\":\(JSON.quoted(String(decoding: request.body, as: UTF8.self)))}",
        type: "application/json")
    }
    for folder in ["recipes", "recipes/tests"] {
      try FileManager.default.createDirectory(
        at: program.folder.appending(path: folder), withIntermediateDirectories: true)
    }
    try program.write("connections: { http: { baseURL: \"\(server.baseURL)\" } }\n", to: "errand.yaml")
    try program.write(text, to: "recipes/timed.yaml")
    let run = try await program.call("run", "recipes/timed.yaml", "--record", "timed.json", "--json")
    #expect(run.code == 0, "\(run.error)")
    #expect(run.error.contains("4 exchanges are recorded in timed.json"))
    await server.stop()
    return (program, run.json["outputs"] ?? .null)
  }

  @Test func `a run is replayed at the time of its recording, without its service`() async throws {
    let (program, outputs) = try await Self.recorded()
    let replay = try await program.call("run", "recipes/timed.yaml", "--replay", "timed.json", "--json")
    #expect(replay.code == 0, "\(replay.error)")
    #expect(try JSON.text(replay.json["outputs"] ?? .null) == JSON.text(outputs))
    let recording = try JSON.parse(try Files.read(program.folder.appending(path: "timed.json").path))
    #expect(recording["at"]?.string == replay.json["createdAt"]?.string)
    #expect(
      recording["steps"]?.map?.members.compactMap(\.name)
        == ["first", "nap", "each", "each[0]", "each[1]", "second", "#outputs"])
    await program.remove()
  }

  @Test func `requests of another recipe are refused, and unused exchanges are reported`() async throws {
    let (program, _) = try await Self.recorded()
    let changed = Self.recipe.replacingOccurrences(of: "/second", with: "/third")
    try program.write(changed, to: "recipes/timed.yaml")
    let replay = try await program.call("run", "recipes/timed.yaml", "--replay", "timed.json")
    #expect(replay.code == 1)
    #expect(replay.error.contains("The recording holds no request POST http://127.0.0.1:"), "\(replay.error)")
    #expect(replay.error.contains("/third instead of http://127.0.0.1:"), "\(replay.error)")
    #expect(replay.error.contains("recorded, but not requested: POST http://127.0.0.1:"), "\(replay.error)")
    await program.remove()
  }

  @Test func `days pass at once, and a wait for a person ends the replay`() async throws {
    let (program, _) = try await Self.recorded()
    let longer = Self.recipe.replacingOccurrences(of: "wait: 30ms", with: "wait: 3d")
      .replacingOccurrences(
        of: "outputs:", with: "  - wait: { until: \"time.next(now, '02:00', 'UTC')\" }\noutputs:")
    try program.write(longer, to: "recipes/timed.yaml")
    let replay = try await program.call("run", "recipes/timed.yaml", "--replay", "timed.json", "--json")
    #expect(replay.code == 0, "\(replay.error)")
    let began = try #require(replay.json["createdAt"]?.string.flatMap { Timestamp($0) })
    let ended = try #require(replay.json["endedAt"]?.string.flatMap { Timestamp($0) })
    #expect(try #require(ended.span(since: began)) >= .seconds(3 * 86_400))
    try program.write(
      Self.recipe.replacingOccurrences(of: "wait: 30ms", with: "wait: { event: paid }"), to: "recipes/timed.yaml")
    let waiting = try await program.call("run", "recipes/timed.yaml", "--replay", "timed.json", "--json")
    #expect(waiting.code == 4)
    #expect(waiting.error.contains("the recording holds nothing that ends this wait"), "\(waiting.error)")
    await program.remove()
  }

  // MARK: Calls besides HTTP

  /// A recipe that writes to a local file, sends a mail, and uses stored values.
  private static let acting = """
    recipe: acting
    steps:
      - id: mark
        uses: shell.run
        with:
          effect: write
          script: echo "$1" >> marker && wc -l < marker && echo "$TOKEN"
          arguments: [one]
          secretEnvironment: { TOKEN: "${{ secrets.TOKEN }}" }
      - { id: last, uses: store.get, with: { name: last } }
      - { id: keep, uses: store.put, with: { name: last, value: "${{ steps.mark.output }}" } }
      - { id: note, uses: file.append, with: { path: notes.txt, text: "noted\\n" } }
      - { id: notes, uses: file.read, with: { path: notes.txt } }
      - id: mail
        uses: mail.send
        with: { to: [ana@example.org], subject: Done, text: "It says ${{ steps.mark.output }}" }
      - id: load
        uses: http.download
        with: { url: /report, to: report.txt }
      - { id: report, uses: file.read, with: { path: "${{ steps.load.path }}" } }
      - id: gone
        uses: shell.run
        onError: continue
        with: { effect: read, program: "false" }
    outputs:
      mark: ${{ steps.mark.output }}
      last: ${{ steps.last }}
      notes: ${{ steps.notes.text }}
      message: ${{ steps.mail.messageID }}
      report: ${{ [steps.load.path, steps.report.text] }}
      gone: ${{ has(steps.gone) }}

    """

  @Test func `a replay sends nothing, runs nothing and writes nothing`() async throws {
    let program = try await Program()
    let office = try await MailPlugin.startSandbox(SandboxOptions(time: SystemTime()))
    let server = try HTTPServer { _ in .text("a report") }
    let settings = try JSON.text(office.configuration)
    try program.write(
      "connections:\n  mail: \(settings)\n  http: { baseURL: \"\(server.baseURL)\" }\n", to: "errand.yaml")
    try program.write(Self.acting, to: "acting.yaml")
    let secret = ["TOKEN": "hunter2-hunter2"]
    func text(_ name: String) throws -> String {
      String(decoding: try Files.read(program.folder.appending(path: name).path), as: UTF8.self)
    }
    // A value that is only in the state of this folder.
    let first = try await program.call("run", "acting.yaml", environment: secret)
    #expect(first.code == 0, "\(first.error)")
    let run = try await program.call("run", "acting.yaml", "--record", "acting.json", "--json", environment: secret)
    #expect(run.code == 0, "\(run.error)")
    #expect(run.error.contains("1 exchange and 9 calls are recorded in acting.json"), "\(run.error)")
    #expect(try !text("acting.json").contains("hunter2"))
    let mails = await office.summaryLines()
    #expect(mails == ["mail to ana@example.org: Done", "mail to ana@example.org: Done"])
    await server.stop()
    try Files.remove(program.folder.appending(path: "report.txt").path)

    let replay = try await program.call("run", "acting.yaml", "--replay", "acting.json", "--json")
    #expect(replay.code == 0, "\(replay.error)")
    #expect(try JSON.text(replay.json["outputs"] ?? .null) == JSON.text(run.json["outputs"] ?? .null))
    #expect(replay.json["outputs"]?["mark"]?.string == "2\n•••")
    #expect(try text("marker") == "one\none\n")
    #expect(try text("notes.txt") == "noted\nnoted\n")
    #expect(await office.summaryLines() == mails)
    #expect(!FileManager.default.fileExists(atPath: program.folder.appending(path: "report.txt").path))

    // The same in a test.
    try program.write(
      """
      recipe: acting.yaml
      replay: acting.json
      cases:
        - case: as it was
          do: [{ run: {}, expect: { status: succeeded, outputs: { mark: "2\\n•••" } } }]

      """, to: "acting.test.yaml")
    let test = try await program.call("test", "acting.test.yaml")
    #expect(test.code == 0, "\(test.out)\(test.error)")
    #expect(try text("marker") == "one\none\n")
    #expect(await office.summaryLines() == mails)

    try program.write(
      Self.acting.replacingOccurrences(of: "[one]", with: "[two]").replacingOccurrences(
        of: "to: report.txt", with: "to: r.txt"),
      to: "acting.yaml")
    let changed = try await program.call("run", "acting.yaml", "--replay", "acting.json")
    #expect(changed.code == 1)
    #expect(
      changed.error.contains(
        "The recording holds no such call of shell.run; in the nearest one input.arguments[0] is \"two\" instead of "
          + "\"one\"."), "\(changed.error)")
    #expect(changed.error.contains("recorded, but not requested: mail.send"), "\(changed.error)")
    #expect(try text("marker") == "one\none\n")
    await office.stop()
    await program.remove()
  }

  private static func test(_ status: String) -> String {
    """
    recipe: ../timed.yaml
    replay: ../../timed.json
    cases:
      - case: as it was
        do:
          - run
          - advance: 1s
            expect: { status: \(status), that: "requests.size() == 4" }
    """
  }

  @Test func `a test is replayed from a recording, and again when it is changed`() async throws {
    let (program, _) = try await Self.recorded()
    try program.write(Self.test("succeeded"), to: "recipes/tests/timed.test.yaml")
    let once = try await program.call("test", "recipes/tests/timed.test.yaml")
    #expect(once.code == 0, "\(once.out)\(once.error)")

    let watching = try program.serve("test", "--watch")
    #expect(await watching.line(with: "1 file: 1 passed") != nil, "\(watching.before)")
    #expect(await watching.line(with: "watching ") != nil)
    try program.write(Self.test("failed"), to: "recipes/tests/timed.test.yaml")
    #expect(await watching.line(with: "1 file: 0 passed, 1 failed") != nil, "\(watching.before)")
    #expect(await watching.line(with: "watching ") != nil)
    try program.write(Self.recipe.replacingOccurrences(of: "/second", with: "/third"), to: "recipes/timed.yaml")
    #expect(await watching.line(with: "1 file: ") != nil, "\(watching.before)")
    watching.signal(SIGINT)
    #expect(await watching.end() == 130)
    await program.remove()
  }

  @Test func `an expression, a replay and a test with a recording use the right zone`() async throws {
    let program = try await Program()
    for folder in ["recipes", "recipes/tests"] {
      try FileManager.default.createDirectory(
        at: program.folder.appending(path: folder), withIntermediateDirectories: true)
    }
    let hour = "time.format(timestamp('2026-01-05T00:30:00Z'), '%H:%M')"
    try program.write("zone: Asia/Tokyo\n", to: "errand.yaml")
    try program.write(
      "recipe: hours\nsteps: [{ let: { h: \"${{ \(hour) }}\" } }]\noutputs: { h: \"${{ h }}\" }\n",
      to: "recipes/hours.yaml")
    try program.write(
      "recipe: ../hours.yaml\nreplay: hours.json\ncases:\n  - case: replayed\n    do:\n      - run\n      - expect: { outputs: { h: \"09:30\" } }\n",
      to: "recipes/tests/hours.test.yaml")
    #expect(try await program.call("eval", hour).out.hasPrefix("\"09:30\""))
    let run = try await program.call("run", "recipes/hours.yaml", "--record", "recipes/tests/hours.json", "--json")
    #expect(run.json["outputs"]?["h"]?.string == "09:30", "\(run.error)")
    // The folder moves to another zone.
    try program.write("zone: UTC\n", to: "errand.yaml")
    #expect(try await program.call("eval", hour).out.hasPrefix("\"00:30\""))
    let replay = try await program.call("run", "recipes/hours.yaml", "--replay", "recipes/tests/hours.json", "--json")
    #expect(replay.json["outputs"]?["h"]?.string == "09:30", "\(replay.error)")
    let test = try await program.call("test", "recipes/tests/hours.test.yaml")
    #expect(test.code == 0, "\(test.out)\(test.error)")
    await program.remove()
  }
}
