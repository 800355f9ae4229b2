import ActionKit
import ActionTestKit
import Basics
import Foundation
import HTTPClient
import OpenAPIPlugins
import PluginLocks
import Testing

/// A plugin from the document of a real service, Jupyter's, which PyPI has.
@Suite(.timeLimit(.minutes(20))) struct OpenAPIServerTests {
  private static let token = "t0ken-of-jupyter"

  /// Writes its port once it listens.
  private static let server = """
    import os, sys
    folder = sys.argv[2]
    for name in ("HOME", "JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        os.environ[name] = folder + "/.own"
    from jupyter_server.serverapp import ServerApp
    app = ServerApp.instance()
    app.initialize([
        "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", "--ServerApp.port=0", "--ServerApp.port_retries=0",
        "--IdentityProvider.token=" + sys.argv[1], "--ServerApp.root_dir=" + folder])
    app.io_loop.add_callback(
        lambda: print([s.getsockname()[1] for s in app.http_server._sockets.values()][0], flush=True))
    app.start()
    """

  /// Makes files whose names the service chooses, which would be two if made twice, and one more for each by its name.
  private static let recipe = """
    recipe: notes
    inputs: { n: int }
    steps:
      - id: all
        forEach: "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20]"
        as: i
        steps:
          - id: make
            uses: jupyter.postContentsByPath
            with: { path: made, body: { type: file, ext: .txt } }
          - id: keep
            uses: jupyter.putContentsByPath
            with:
              path: kept/${{ inputs.n }}-${{ i }}.txt
              body: { type: file, format: text, content: "${{ steps.make.body.path }}" }
    outputs: { count: "${{ steps.all.size() }}" }
    """

  private static let look = """
    recipe: look
    steps:
      - uses: jupyter.putContentsByPath
        with: { path: kept/look.txt, body: { type: file, format: text, content: Hello } }
      - id: one
        uses: jupyter.getContentsByPath
        with: { path: kept/look.txt }
      - id: none
        uses: jupyter.deleteContentsByPath
        with: { path: kept/nothing.txt }
    outputs: { type: "${{ steps.one.body.type }}", at: "${{ timestamp(steps.one.body.last_modified) > timestamp('2020-01-01T00:00:00Z') }}", gone: "${{ steps.none.status }}" }
    """

  @Test func `a real Jupyter server is written to once by each step, through kills`() async throws {
    guard let python = await pythonInterpreter(with: [PythonPackage("jupyter_server", "2.21.1")]) else { return }
    let environment = ProcessInfo.processInfo.environment
    // A few rounds for the gate; ERRAND_KILLS sets how many.
    let rounds = environment["ERRAND_KILLS"].flatMap { Int($0) } ?? 3
    let seed = environment["ERRAND_SEED"].flatMap { UInt64($0) } ?? UInt64.random(in: 0...UInt64.max)
    var random = SeededNumbers(seed)
    let program = try await Program()
    let notebooks = program.folder.appending(path: "notebooks")
    for name in ["made", "kept"] {
      try FileManager.default.createDirectory(
        at: notebooks.appending(path: name), withIntermediateDirectories: true)
    }
    try program.write(Self.server, to: "server.py")
    let command = "\(python) server.py \(Self.token) notebooks 2> server.log"
    try await OutsideServersTests.serving(program, command) { port in
      try await Self.addPlugin(to: program, port)
      var kills = 0
      var (done, repeated) = (0, 0)
      var accepted = 0
      for round in 1...rounds {
        let before = accepted * 20
        let run = try program.start(["run", "notes.yaml", "-i", "n=\(round)"], environment: Self.secrets)
        // The kill comes anywhere: before the first request, between two, within one.
        try await Task.sleep(for: .milliseconds(Int.random(in: 20...450, using: &random)))
        run.signal(SIGKILL)
        if await run.outcome().code == -SIGKILL { kills += 1 }
        // A step whose outcome is unknown waits for a person, who looks how many files there are.
        while true {
          let resumed = try await program.call("runs", "resume", environment: Self.secrets)
          let printed = resumed.out + resumed.error
          guard let line = printed.split(separator: "\n").first(where: { $0.contains("  errand runs resolve ") }) else {
            #expect(resumed.code == 0 || printed.contains("no open run"), "seed \(seed): \(printed)")
            break
          }
          let words = line.split(separator: " ").map(String.init)
          let (id, step) = (try #require(words.dropFirst(3).first), try #require(words.dropFirst(4).first))
          let number = try #require(
            step.split(whereSeparator: { "[]".contains($0) }).dropFirst().first.flatMap { Int($0) })
          let isDone = try Self.files("made", of: notebooks) == before + number + 1
          if isDone { done += 1 } else { repeated += 1 }
          let answer = isDone ? ["--done", "--output", Self.output] : ["--retry"]
          let resolved = try await program.call(
            ["runs", "resolve", id, step.filter { $0 != "'" }] + answer, environment: Self.secrets)
          try #require(resolved.code == 0, "seed \(seed): \(resolved.error)")
        }
        // A run that was killed before it was on disk never was.
        let runs = try await program.call("runs", "list", "-n", "1000", "--json").json
        #expect(runs["open"]?.list?.count == 0, "seed \(seed), round \(round)")
        accepted = runs["finished"]?.list?.count ?? 0
        for name in ["made", "kept"] {
          #expect(try Self.files(name, of: notebooks) == accepted * 20, "seed \(seed), round \(round): \(name)")
        }
      }
      let looked = try await program.call("run", "look.yaml", "--json", environment: Self.secrets)
      #expect(looked.code == 0, "\(looked.error)")
      #expect(looked.json["outputs"] == .object(["type": .string("file"), "at": .bool(true), "gone": .int(404)]))
      let hidden = try await program.shell("grep -rl \(Self.token) .errand *.yaml plugins || echo none")
      #expect(hidden.out == "none\n")
      print(
        "jupyter: seed \(seed): \(kills) kills in \(rounds) rounds, \(accepted) runs, \(done) unknown writes were done, \(repeated) weren't"
      )
    }
    await program.remove()
  }

  private static let secrets = ["JUPYTER_TOKEN": token]

  /// Jupyter's answer, as a person enters it.
  private static let output = """
    {"status": 201, "body": {"name": "x", "path": "x", "type": "file", "writable": true, "mimetype": "", "format": "", \
    "content": "", "created": "2026-11-20T09:30:00Z", "last_modified": "2026-11-20T09:30:00Z"}}
    """

  private static func files(_ name: String, of notebooks: URL) throws -> Int {
    try FileManager.default.contentsOfDirectory(atPath: notebooks.appending(path: name).path)
      .count { $0.hasSuffix(".txt") }
  }

  /// Writes the lock of the document that the server itself has.
  private static func addPlugin(to program: Program, _ port: Int) async throws {
    let address = "http://127.0.0.1:\(port)"
    let request = HTTPRequest("GET", "\(address)/api/spec.yaml", headers: ["Authorization": "Bearer \(token)"])
    let answer = try await HTTPClient().send(request)
    try #require(answer.status == 200)
    let lock = try OpenAPIKind.lock(
      name: "jupyter", document: answer.body, source: "\(address)/api/spec.yaml", only: [], effects: [:],
      file: "plugins/jupyter.lock.json")
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "plugins"), withIntermediateDirectories: true)
    try Data(try lock.written()).write(to: program.folder.appending(path: "plugins/jupyter.lock.json"))
    try program.write(
      "connections:\n  jupyter:\n    baseURL: \(address)\n    token: ${{ secrets.JUPYTER_TOKEN }}\n", to: "errand.yaml")
    try program.write(recipe, to: "notes.yaml")
    try program.write(look, to: "look.yaml")
    let checked = try await program.call("check", "notes.yaml", "look.yaml")
    try #require(checked.code == 0, "\(checked.out)\(checked.error)")
  }
}
