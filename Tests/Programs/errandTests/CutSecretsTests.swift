import Basics
import Foundation
import HTTPServer
import Testing

// If a text from outside were cut before its secrets are taken out, part of a secret would remain at the cut.

@Suite(.timeLimit(.minutes(20))) struct CutSecretsTests {
  private static let token = "tok-5Xw9QzLr7TnB2xWc9LmZ4kVb8HsJ3pGd6Ye"

  /// The parts that reveal a secret: any eight consecutive characters.
  private static func parts(of secret: String) -> [String] {
    let letters = Array(secret)
    return (0...(letters.count - 8)).map { String(letters[$0..<$0 + 8]) }
  }

  private static func expectNothing(of secret: String, in program: Program, _ outcome: Program.Outcome) throws {
    var texts = [("what was said", outcome.out + outcome.error)]
    let state = program.folder.appending(path: ".errand").path
    for path in FileManager.default.enumerator(atPath: state)?.compactMap({ $0 as? String }) ?? [] {
      if let data = FileManager.default.contents(atPath: "\(state)/\(path)") {
        texts.append((path, String(decoding: data, as: UTF8.self)))
      }
    }
    for part in parts(of: secret) {
      for (what, text) in texts { try #require(!text.contains(part), "'\(part)' is in \(what)") }
    }
  }

  private func run(
    _ recipe: String, secret: String, isKnown: Bool = true, header: String = "${{ secrets.TOKEN }}",
    baseURL: String = "http://127.0.0.1:1", of check: String
  ) async throws {
    let program = try await Program()
    try program.write(
      "connections:\n  http:\n    baseURL: \(baseURL)\n    secretHeaders: { X-Token: \"\(header)\" }\n",
      to: "errand.yaml")
    try program.write(recipe, to: "cut.yaml")
    let outcome = try await program.call(
      "run", "cut.yaml", "--json", environment: ["TOKEN": isKnown ? secret : Self.token])
    #expect(outcome.code == 1, "\(outcome.error)")
    #expect(outcome.out.contains(check), "\(outcome.out)")
    try CutSecretsTests.expectNothing(of: secret, in: program, outcome)
    await program.remove()
  }

  @Test(arguments: [0, 30, 462, 480, 499, 500])
  func `an answer's reason is cut after its secrets are taken out`(_ before: Int) async throws {
    let answer = "{\"message\": \"\(String(repeating: "x", count: before))\(Self.token)\"}"
    let server = try HTTPServer { _ in .text(answer, status: 400, type: "application/json") }
    try await run(
      "steps:\n  - uses: http.get\n    with: { url: /a }\n", secret: Self.token, baseURL: server.baseURL,
      of: before < 400 ? "•••" : "xxxx")
    await server.stop()
  }

  @Test(arguments: [
    "-----BEGIN KEY-----\nMIIEvQIBADANBgkq\nhkiG9w0BAQEFAASC\n-----END KEY-----\n", "correct  horse battery\tstaple ",
  ])
  func `line ends and blanks of a secret in an answer's reason change nothing`(_ secret: String) async throws {
    for type in ["text/plain", "application/json"] {
      let words = "no: \(secret)"
      let body = type == "text/plain" ? words : try JSON.text(.object(["message": .string(words)]))
      let server = try HTTPServer { _ in .text(body, status: 400, type: type) }
      try await run(
        "steps:\n  - uses: http.post\n    with: { url: /a, json: { key: \"${{ secrets.TOKEN }}\" } }\n", secret: secret,
        header: "none", baseURL: server.baseURL, of: "no: ")
      await server.stop()
    }
  }

  @Test func `an input that doesn't match is cut after its secrets are taken out`() async throws {
    let program = try await Program()
    try program.write(
      "connections:\n  http:\n    baseURL: http://127.0.0.1:1\n    secretHeaders: { X-Token: \"${{ secrets.TOKEN }}\" }\n",
      to: "errand.yaml")
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try program.write(
      "inputs: { s: { type: string, pattern: \"[a-z]+\" } }\nsteps: [{ uses: http.get, with: { url: /a } }]\n",
      to: "recipes/matched.yaml")
    let agent = try program.serve("serve", environment: ["TOKEN": Self.token])
    _ = await agent.line(with: " serves ")
    for count in [20, 36, 48, 56] {
      let given = String(repeating: "X", count: count) + Self.token
      let outcome = try await program.call("runs", "start", "matched", "-i", "s=\(given)")
      #expect(outcome.error.contains("must be of the form [a-z]+, but is 'XXX"), "\(outcome.error)")
      #expect(!outcome.error.contains("tok-"), "\(outcome.error)")
    }
    agent.signal(SIGTERM)
    #expect(await agent.end() == 0)
    await program.remove()
  }

  @Test(arguments: ["json", "csv"])
  func `an unreadable answer isn't quoted if it holds a secret`(
    _ form: String
  ) async throws {
    let secret = "hunterTwo,blueMoon]rises"
    let server = try HTTPServer { _ in .text(form == "json" ? secret : "a,b\n\(secret)\n", type: "text/plain") }
    let reading =
      form == "json"
      ? "  - { uses: http.get, with: { url: /a, answer: json } }\n"
      : """
        - { id: a, uses: http.get, with: { url: /a, answer: text } }
        - { uses: csv.parse, with: { text: "${{ steps.a.body }}", columns: { a: int, b: int } } }

      """
    try await run(
      "steps:\n\(reading)", secret: secret, baseURL: server.baseURL,
      of: form == "json" ? "isn't valid JSON" : "cannot be read")
    await server.stop()
  }

  @Test func `the secret query of a redirect is taken out of what the service says`() async throws {
    let server = try HTTPServer { request in
      guard request.path == "/a" else {
        return .text("denied: sig+SIGsecret+998877 of \(request.target)", status: 403)
      }
      return HTTPServerResponse(status: 302, headers: ["Location": "/final?sig=sig%2BSIGsecret%2B998877"])
    }
    try await run(
      "steps:\n  - uses: http.get\n    with: { url: /a }\n", secret: "sig+SIGsecret+998877", isKnown: false,
      baseURL: server.baseURL, of: "denied")
    await server.stop()
  }

  @Test(arguments: [1, 1950, 1975, 1999, 2000])
  func `what a command wrote is cut after its secrets are taken out`(_ after: Int) async throws {
    let script = "printf %s \\\"$T\\\" | base64 -w0 >&2; head -c \(after) /dev/zero | tr '\\\\0' y >&2; exit 3"
    let encoded = Data(Self.token.utf8).base64EncodedString()
    let program = try await Program()
    try program.write(
      """
      steps:
        - uses: shell.run
          with: { effect: read, script: "\(script)", secretEnvironment: { T: "${{ secrets.TOKEN }}" } }
      """, to: "cut.yaml")
    let outcome = try await program.call("run", "cut.yaml", "--json", environment: ["TOKEN": Self.token])
    #expect(outcome.code == 1 && outcome.out.contains("y"), "\(outcome.error)")
    try Self.expectNothing(of: encoded, in: program, outcome)
    await program.remove()
  }

  /// It is killed while it writes a secret.
  @Test(arguments: [8, 20, 38])
  func `the beginning of a secret where a killed command's output ends is taken out as well`(_ kept: Int) async throws {
    let program = try await Program()
    try program.write(
      """
      steps:
        - uses: shell.run
          with:
            effect: read
            script: 'printf "%s" "because: $T" | head -c \(9 + kept) >&2; kill -9 $$'
            secretEnvironment: { T: "${{ secrets.TOKEN }}" }
      """, to: "cut.yaml")
    let outcome = try await program.call("run", "cut.yaml", "--json", environment: ["TOKEN": Self.token])
    #expect(outcome.out.contains("because"), "\(outcome.out)")
    try Self.expectNothing(of: String(Self.token.prefix(kept)), in: program, outcome)
    await program.remove()
  }

  @Test func `a value in a message of an expression is cut after its secrets are taken out`() async throws {
    let server = try HTTPServer { _ in
      .text("{\"n\": \"\(String(repeating: "x", count: 12))\(Self.token)\"}", status: 200, type: "application/json")
    }
    try await run(
      """
      steps:
        - { id: a, uses: http.get, with: { url: /a } }
        - let: { n: "${{ int(string(steps.a.body.n)) }}" }
      """, secret: Self.token, baseURL: server.baseURL, of: "xxxx")
    await server.stop()
  }
}
