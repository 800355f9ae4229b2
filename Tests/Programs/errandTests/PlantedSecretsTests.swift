import Basics
import Foundation
import Glibc
import HTTPServer
import Synchronization
import Testing

// Every possible source of secrets gets its own secret, which is sent to a service that echoes it in every spelling,
// and to commands that print it. Then every command of the program is called, and every byte that was written anywhere
// is searched.

/// A service that echoes its requests.
private final class EchoService: Sendable {
  /// The texts that it received.
  ///
  /// This is a separate class, because the server starts before the service is initialised.
  private final class Sight: Sendable {
    let texts = Mutex<Set<String>>([])
  }

  let server: HTTPServer
  private let sight: Sight
  private let gate: AsyncStream<Void>.Continuation
  private let arrivals: AsyncStream<Void>

  init() throws {
    let sight = Sight()
    let (closed, gate) = AsyncStream.makeStream(of: Void.self)
    let (arrivals, arrival) = AsyncStream.makeStream(of: Void.self)
    server = try HTTPServer { request in
      let values = request.headers.fields.map(\.value) + request.query.items.map(\.value)
      sight.texts.withLock { $0.formUnion(values) }
      if request.path == "/slow" {
        arrival.yield()
        for await _ in closed {}
      }
      let body = EchoService.echo(values + [request.target, String(decoding: request.body, as: UTF8.self)])
      var response = HTTPServerResponse.text(
        body, status: request.path == "/fail" ? 400 : 200,
        type: request.path == "/json" ? "application/json" : "text/plain")
      if request.path == "/quiet" { response.body = .bytes(Array("quiet".utf8)) }
      if request.path != "/quiet" { response.headers["X-Echo"] = request.headers["X-Command"] }
      response.headers["Cache-Control"] = "max-age=1000"
      response.headers["Vary"] = "X-File, Authorization"
      return response
    }
    (self.sight, self.gate, self.arrivals) = (sight, gate, arrivals)
  }

  /// Returns when a request for the slow page arrives.
  func arrival() async { for await _ in arrivals { break } }
  /// Answers the slow requests.
  func open() { gate.finish() }
  func hasSeen(_ secret: String) -> Bool { sight.texts.withLock { $0.contains { $0.contains(secret) } } }

  private static func echo(_ values: [String]) -> String {
    var texts: [Value] = []
    for value in values {
      texts += ([value] + Planted.forms(of: value)).map { .string($0) }
      // Inside a longer text, at each alignment of base64.
      for before in ["x", "xx", "user:"] {
        texts.append(.string(Data("\(before)\(value)\(before)".utf8).base64EncodedString()))
      }
    }
    return (try? JSON.text(.object(["echo": .list(texts)]))) ?? ""
  }
}

/// A secret, and everything that shows it.
private struct Planted: Sendable {
  let name: String
  let value: String

  /// - Parameter tail: A tail that makes its encodings differ from it.
  init(_ name: String, tail: String = #" /+"&<%41>\ end"#) {
    self.name = name
    value = "pl4nted-\(name.lowercased())\(tail)"
  }

  /// Other ways to write a text.
  static func forms(of text: String) -> [String] {
    let data = Data(text.utf8)
    let base64 = data.base64EncodedString()
    let hex = data.map { String(format: "%02x", $0) }.joined()
    let quoted = JSON.quoted(text).dropFirst().dropLast()
    let unicode = text.unicodeScalars.map { $0.isASCII ? "\($0)" : JSON.unicodeEscape($0) }.joined()
    let percent = text.percentEncoded
    return [
      base64, base64.replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_"),
      base64.trimmingCharacters(in: ["="]), hex, hex.uppercased(), percent,
      percent.replacingOccurrences(of: "%20", with: "+"), String(quoted),
      String(quoted).replacingOccurrences(of: "/", with: "\\/"), unicode,
      text.replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
        .replacingOccurrences(of: "\"", with: "&quot;"),
    ]
  }

  /// The searched texts: every spelling, and of base64 the digits that are independent of the neighbours.
  var traces: [(form: String, bytes: Data)] {
    var traces = ["itself": value]
    for (index, form) in Planted.forms(of: value).enumerated() { traces["form \(index)"] = form }
    for offset in 0..<3 {
      let text = Data(([UInt8](repeating: 0, count: offset) + Array(value.utf8))).base64EncodedString()
      traces["base64 from \(offset)"] = String(text.dropFirst(4).prefix(value.utf8.count))
    }
    // Parts of it reveal as much.
    traces["its name"] = "pl4nted-\(name.lowercased())"
    return traces.map { ($0.key, Data($0.value.utf8)) }
  }
}

extension JSON {
  fileprivate static func unicodeEscape(_ scalar: Unicode.Scalar) -> String {
    String(scalar).utf16.map { String(format: "\\u%04x", $0) }.joined()
  }
}

/// All output.
private final class Ear: Sendable {
  private let words = Mutex<[(what: String, text: Data)]>([])

  func hear(_ what: String, _ text: String) { words.withLock { $0.append((what, Data(text.utf8))) } }
  var heard: [(what: String, text: Data)] { words.withLock { $0 } }
}

@Suite(.timeLimit(.minutes(20))) struct PlantedSecretsTests {
  private static let recipe = """
    recipe: planted
    inputs:
      token: { type: string, secret: true }
    steps:
      - id: page
        uses: http.get
        with: { url: /text, cached: true, fallback: true }
      - id: quiet
        uses: http.get
        with: { url: /quiet, cached: true }
      - id: data
        uses: http.get
        with: { url: /json }
      - id: shell
        uses: shell.run
        with:
          effect: read
          script: 'printf "%s" "$TOKEN"; printf "%s" "$TOKEN" | base64 -w0; printf "%s" "$TOKEN" | od -An -tx1 | tr -d " \\n"'
          secretEnvironment: { TOKEN: "${{ inputs.token + secrets.IN_RECIPE }}" }
      - id: fail
        onError: continue
        uses: http.get
        with: { url: /fail }
      - id: grumble
        onError: continue
        uses: shell.run
        with:
          effect: read
          script: 'printf "%s" "$TOKEN" >&2; exit 3'
          secretEnvironment: { TOKEN: "${{ inputs.token }}" }
      - id: post
        uses: http.post
        with: { url: /text, json: { a: 1 } }
      - id: save
        uses: file.write
        with: { path: saved.txt, text: "${{ string(steps.page.body) + steps.shell.output }}" }
      - if: steps.shell.output.contains('nothing like it')
        fail: "${{ steps.shell.output }}"
    outputs:
      page: ${{ steps.page.body }}
      data: ${{ steps.data.body }}
      headers: ${{ steps.page.headers }}
      shell: ${{ steps.shell.output }}
    """

  private static let slow = """
    recipe: slow
    steps:
      - uses: http.get
        with: { url: /slow }
      - uses: http.get
        with: { url: /fail }
    """

  @Test func `no secret is found anywhere`() async throws {
    let program = try await Program()
    let service = try EchoService()
    let ear = Ear()
    let planted = [
      Planted("ENVIRONMENT"), Planted("FILE"), Planted("AGE"), Planted("CREDENTIAL"), Planted("COMMAND"),
      Planted("QUERY", tail: " äé😀/+&\"\\ end"), Planted("PASSWORD"), Planted("PLAIN", tail: "-in-the-file-itself"),
      Planted("GIVEN", tail: " ä😀\"\\/&+% end"), Planted("IN_RECIPE"),
    ]
    let values = Dictionary(uniqueKeysWithValues: planted.map { ($0.name, $0.value) })
    func quoted(_ name: String) -> String { "'\((values[name] ?? "").replacingOccurrences(of: "'", with: "''"))'" }

    // Sources.
    let folder = program.folder.path
    for name in ["hidden", "hidden/credentials", "recipes", "recipes/tests"] {
      try FileManager.default.createDirectory(atPath: "\(folder)/\(name)", withIntermediateDirectories: true)
    }
    func hide(_ text: String, in name: String, mode: Int = 0o600) throws {
      try program.write(text, to: "hidden/\(name)")
      try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: "\(folder)/hidden/\(name)")
    }
    try hide("FILE: \(quoted("FILE"))\nIN_RECIPE: \(quoted("IN_RECIPE"))\n", in: "secrets.yaml")
    try hide("\(values["COMMAND"] ?? "")\n", in: "command")
    try hide(values["CREDENTIAL"] ?? "", in: "credentials/CREDENTIAL")
    try hide("", in: "identity")
    try hide("AGE: \(quoted("AGE"))\n", in: "secrets.age")
    // In place of the program, which need not be installed; its own test has the real one.
    try hide("#!/bin/sh\nfor file; do :; done\ncat \"$file\"\n", in: "age", mode: 0o700)
    try program.write(
      """
      secrets:
        files: hidden/secrets.yaml
        age: { files: hidden/secrets.age, identity: hidden/identity }
        commands: { COMMAND: [sh, -c, "cat hidden/command; cat hidden/command >&2"] }
      connections:
        http:
          baseURL: \(service.server.baseURL)
          username: ana
          password: ${{ secrets.PASSWORD }}
          secretQuery: { key: "${{ secrets.QUERY }}" }
          secretHeaders:
            X-Environment: ${{ secrets.ENVIRONMENT }}
            X-File: ${{ secrets.FILE }}
            X-Age: ${{ secrets.AGE }}
            X-Credential: ${{ secrets.CREDENTIAL }}
            X-Command: ${{ secrets.COMMAND }}
            X-Plain: \(values["PLAIN"] ?? "")
      """, to: "errand.yaml")
    try program.write(Self.recipe, to: "recipes/planted.yaml")
    try program.write(Self.slow, to: "recipes/slow.yaml")
    try program.write(
      """
      recipe: ../planted.yaml
      replay: ../../recording.json
      inputs: { token: "@secret:GIVEN" }
      cases:
        - case: as recorded
          do: [{ run: {}, expect: { status: failed } }]
      """, to: "recipes/tests/planted.test.yaml")
    var environment = ["CREDENTIALS_DIRECTORY": "\(folder)/hidden/credentials"]
    environment["PATH"] = "\(folder)/hidden:/usr/local/bin:/usr/bin:/bin"
    for name in ["ENVIRONMENT", "QUERY", "PASSWORD", "GIVEN"] { environment[name] = values[name] }

    @discardableResult
    func call(_ arguments: [String], endsWith code: Int32?) async throws -> Program.Outcome {
      let outcome = try await program.start(arguments, environment: environment).outcome()
      ear.hear(arguments.joined(separator: " "), outcome.out + outcome.error)
      if let code { #expect(outcome.code == code, "\(arguments): \(outcome.error)\n\(outcome.out)") }
      return outcome
    }
    let planting = ["recipes/planted.yaml", "-i", "token=@secret:GIVEN"]

    // Before anything runs.
    try await call(["check", "recipes/planted.yaml", "recipes/slow.yaml"], endsWith: 0)
    try await call(["check", "--format", "json", "recipes/planted.yaml"], endsWith: 0)
    try await call(["secrets", "check"], endsWith: 0)
    try await call(["secrets", "check", "--json"], endsWith: 0)
    try await call(["plan"] + planting + ["--out", "plan.json"], endsWith: 0)
    try await call(["plan"] + planting + ["--json"], endsWith: 0)

    // Runs.
    let run = try await call(["run"] + planting + ["--record", "recording.json", "--json", "-v"], endsWith: 0)
    for secret in planted where !["GIVEN", "IN_RECIPE", "PASSWORD"].contains(secret.name) {
      #expect(service.hasSeen(secret.value), "\(secret.name) was not sent")
    }
    let login = Data("ana:\(values["PASSWORD"] ?? "")".utf8).base64EncodedString()
    #expect(service.hasSeen(login))
    let outputs = try #require(run.json["outputs"])
    for name in ["page", "data", "headers", "shell"] {
      #expect(try JSON.text(outputs[name] ?? .null).contains("•••"), "\(name)")
    }
    try await call(["run"] + planting, endsWith: 0)
    // The saved file exists now, unlike when the plan was made.
    try await call(["run"] + planting + ["--plan", "plan.json"], endsWith: 1)
    try await call(["run"] + planting + ["--replay", "recording.json", "--json"], endsWith: 0)
    try await call(["test", "-v"], endsWith: nil)

    // A crash in the middle of a request.
    let crashing = try program.start(["run", "recipes/slow.yaml"], environment: environment)
    await service.arrival()
    let lines = try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { Int($0) != nil }
      .compactMap { FileManager.default.contents(atPath: "/proc/\($0)/cmdline") }
    #expect(lines.contains { $0.contains(text: "recipes/slow.yaml") })
    for line in lines { ear.hear("a command line", String(decoding: line, as: UTF8.self)) }
    crashing.signal(SIGKILL)
    let crashed = await crashing.outcome()
    ear.hear("run recipes/slow.yaml", crashed.out + crashed.error)
    #expect(crashed.code == -SIGKILL)
    service.open()
    try await call(["runs", "resume"], endsWith: nil)

    // A permanent agent.
    let serve = try program.serve("serve", "--log-format", "json", environment: environment)
    #expect(await serve.line(with: "serves") != nil, "\(serve.before)")
    try await call(["run"] + planting + ["--json"], endsWith: 0)
    serve.signal(SIGHUP)
    await serve.line(with: "read again")
    serve.signal(SIGTERM)
    #expect(await serve.end() == 0)
    ear.hear("serve", serve.before)

    // Afterwards.
    let list = try await call(["runs", "list", "--json"], endsWith: 0)
    let ids = (list.json["finished"]?.list ?? []).compactMap { $0["run"]?.string ?? $0["id"]?.string }
    #expect(ids.count == 4)
    for id in ids {
      for command in [["runs", "show", id], ["runs", "show", id, "--json"], ["runs", "logs", id], ["why", id]] {
        try await call(command, endsWith: 0)
      }
    }
    for command in [
      ["why", "planted"], ["runs"], ["schedule"], ["state", "export", "export.archive"], ["doctor", "--json"],
      ["actions", "http.get"],
    ] {
      try await call(command, endsWith: nil)
    }

    expectNothing(of: planted, in: folder, ear)
    await service.server.stop()
    await program.remove()
  }

  /// Searches all output and all files, except the files that were there before.
  private func expectNothing(of planted: [Planted], in folder: String, _ ear: Ear) {
    var texts = ear.heard
    // A recipe writes the services' answers.
    let given = ["errand.yaml", "hidden/", "saved.txt"]
    for path in FileManager.default.enumerator(atPath: folder)?.compactMap({ $0 as? String }) ?? []
    where !given.contains(where: path.hasPrefix) {
      if let data = FileManager.default.contents(atPath: "\(folder)/\(path)") { texts.append((path, data)) }
    }
    for wanted in ["recording.json", "plan.json", "export.archive", ".errand/state.json"] {
      #expect(texts.contains { $0.what == wanted && !$0.text.isEmpty }, "there is no \(wanted)")
    }
    #expect(texts.contains { $0.what.hasPrefix(".errand/cache/") }, "nothing was kept in the cache")
    for secret in planted {
      for (form, bytes) in secret.traces {
        for (what, text) in texts {
          if let range = text.range(of: bytes) {
            let around = text[max(text.startIndex, range.lowerBound - 100)..<min(text.endIndex, range.upperBound + 40)]
            Issue.record("\(secret.name) (\(form)) is in \(what): …\(String(decoding: around, as: UTF8.self))…")
          }
        }
      }
    }
  }
}

extension Data {
  fileprivate func contains(text: String) -> Bool { range(of: Data(text.utf8)) != nil }
}
