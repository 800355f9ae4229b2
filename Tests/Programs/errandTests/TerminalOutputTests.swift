import Basics
import Foundation
import HTTPClient
import HTTPServer
import Synchronization
import Testing

/// Text from arguments, files and agents reaches a terminal without control characters.
@Suite(.timeLimit(.minutes(20))) struct TerminalOutputTests {
  private static let hostile =
    "\u{1B}]0;T\u{07}\u{1B}[2J\u{1B}[31m\u{1B}]52;c;eA==\u{07}\r\u{9B}1m\u{202E}\u{2066}\u{7F}"

  /// The control characters of an output that a terminal would obey.
  private static func obeyed(_ outcome: Program.Outcome) -> [String] {
    (outcome.out + outcome.error).unicodeScalars.filter { scalar in
      switch scalar.value {
      case 0x09, 0x0A: false
      case 0..<0x20, 0x7F..<0xA0, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
      default: false
      }
    }.map { String($0.value, radix: 16) }
  }

  @Test func `arguments and names of files are displayed safely by every command`() async throws {
    let program = try await Program()
    let x = Self.hostile + "gone"
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try program.write("steps: [{ uses: no.thing }]\n", to: "recipes/\(Self.hostile.replacing("/", with: "")).yaml")
    try program.write(
      "summary: \"\u{202E}gone\"\nsteps: [{ let: { a: \"\u{9B}2J\" } }]\noutputs: { a: \"${{ a }}\" }\n", to: "odd.yaml"
    )
    let commands: [[String]] = [
      [x], ["--\(x)"], ["run", x], ["run", "odd.yaml"], ["run", "odd.yaml", "--json"],
      ["run", "odd.yaml", "-i", "\(x)=1"],
      ["run", "odd.yaml", "--log-format", "json"], ["run", "odd.yaml", "--state", x + "/y"], ["plan", x],
      ["check", x], ["check", "odd.yaml"], ["check", "odd.yaml", "--format", "json"], ["check", "--format", x],
      ["lint", x],
      ["check", "recipes"], ["check"], ["test", x], ["runs", x], ["runs", "list", "--recipe", x], ["runs", "show", x],
      ["runs", "logs", x], ["runs", "approve", x], ["runs", "list", "--status", x], ["schedule", "next", x],
      ["schedule", "pause", x], ["why", x], ["new", "recipe", x], ["new", "recipe", "a", "--uses", x],
      ["new", "recipe", "a", "--from", x], ["new", "test", x], ["new", "shape", x], ["new", "folder", x + "/y/z"],
      ["new", "plugin", x], ["help", x], ["graph", x], ["graph", "odd.yaml"], ["graph", "odd.yaml", "--format", "dot"],
      ["actions", x], ["eval", x], ["eval", "'\(x.replacing("\r", with: ""))'"],
      ["eval", "--json", "'\\u202e\\u009b'"], ["eval", "'\\u202e\\u009b'"],
      ["schema", x], ["plugin", "add", "openapi", "a", x], ["plugin", "add", "mcp", "a", "--", x],
      ["plugin", "remove", x], ["plugin", "add", "openapi", x, "a"], ["state", "import", x], ["token", "revoke", x],
      ["token", "new", x], ["secrets", x], ["doctor", "--state", x], ["manual", x], ["completions", x],
      ["completions", "bash", "errand", "run", x], ["completions", "bash", "errand", "check", ""],
      ["runs", "list", "--config", x],
      ["runs", "list", "--remote", "https://\(x)"],
      ["runs", "list", "--remote", "http://127.0.0.1:1", "--token-file", x],
      ["runs", "list", "--since", x], ["serve", "--config", x],
    ]
    for command in commands {
      let outcome = try await program.call(command)
      #expect(Self.obeyed(outcome).isEmpty, "\(command): \(outcome)")
    }
    let value = try await program.call("eval", "--json", "'\\u202e\\u009b'")
    #expect(value.json.string == "\u{202E}\u{9B}" && value.out == "\"\\u202e\\u009b\"\n", "\(value)")
    await program.remove()
  }

  private static let answer = "application/vnd.errand.exact+json"
  private static let events = "application/vnd.errand.exact+jsonl"
  private static let problem = "application/problem+json"

  @Test func `what an agent elsewhere answers is displayed safely, and has a limit`() async throws {
    let program = try await Program()
    let text = JSON.displayed(.string(Self.hostile + "gone"))
    let refusal = #"{"failed":{"kind":"notFound","message":\#(text)}}"#
    let answers: [(status: Int, type: String, body: String, command: [String])] = [
      (404, Self.answer, refusal, ["runs", "list"]), (200, Self.answer, refusal, ["runs", "list"]),
      (404, Self.answer, refusal, ["why", "last"]), (200, Self.answer, "{\"open\":[\n" + refusal, ["runs", "list"]),
      (404, Self.answer, #"{"refused":{"kind":"notFound","message":\#(text)}}"#, ["runs", "list"]),
      (409, Self.answer, #"{"failed":{"kind":\#(text),"message":\#(text)}}"#, ["schedule", "list"]),
      (
        409, Self.answer, #"{"failed":{"kind":"planChanged","message":\#(text),"changes":[\#(text)]}}"#,
        ["schedule", "list"]
      ),
      (200, Self.answer, text, ["runs", "list"]), (200, Self.answer, #"{\#(text):1}"#, ["runs", "show", "x"]),
      (200, Self.answer, "{\(Self.hostile)", ["runs", "list"]),
      (409, Self.problem, #"{"kind":"held","detail":\#(text)}"#, ["runs", "list"]),
      (401, Self.problem, #"{"kind":"unauthorized","detail":\#(text)}"#, ["runs", "list"]),
      (409, Self.problem, #"{"kind":\#(text),"detail":\#(text)}"#, ["status"]),
      (
        409, Self.problem, #"{"kind":"planChanged","detail":\#(text),"changes":[\#(text)],"moves":[\#(text)]}"#,
        ["runs", "list"]
      ),
      (500, "text/plain", Self.hostile, ["runs", "list"]),
      (200, Self.events, refusal, ["runs", "watch"]), (200, Self.events, text, ["runs", "watch"]),
      (200, Self.events, #"{"notice":{"kind":\#(text)}}"#, ["runs", "watch"]),
      (200, Self.events, #"{\#(text):1}"#, ["runs", "watch", "--json"]),
      (200, Self.events, "{\(Self.hostile)", ["runs", "watch"]),
    ]
    let body = OneBody()
    let server = try HTTPServer(host: "127.0.0.1", port: 0) { _ in body.response }
    let environment = ["ERRAND_REMOTE": "http://127.0.0.1:\(server.port)", "ERRAND_TOKEN": "errand_0"]
    for (status, type, answer, command) in answers {
      body.set(Array("\(answer)\n".utf8), type, status: status)
      let outcome = try await program.call(command, environment: environment)
      #expect(outcome.code != 0 && !outcome.error.isEmpty, "\(answer): \(outcome)")
      #expect(Self.obeyed(outcome).isEmpty, "\(answer): \(outcome)")
    }
    for (status, type, most, command, error) in [
      (200, Self.events, 16 << 20, "watch", "it is longer than 16 MiB, the most that is read of an event"),
      (500, Self.problem, 64 << 10, "list", "it is longer than 64 KiB, the most that is read of a problem"),
      (200, "application/jsonl", 64 << 10, "list", "it is longer than 64 KiB, the most that is read of a problem"),
    ] {
      body.set([UInt8](repeating: 0x61, count: most + 1), type, status: status)
      let outcome = try await program.call("runs", command, environment: environment)
      let whole = "error: the answer of the agent at http://127.0.0.1:\(server.port) can't be read: \(error)\n"
      #expect(outcome.code == 69 && outcome.error == whole, "\(outcome)")
    }
    await server.stop()
    await program.remove()
  }

  /// The answer that comes next.
  private final class OneBody: Sendable {
    private let content = Mutex(HTTPServerResponse())

    func set(_ bytes: [UInt8], _ type: String, status: Int) {
      let headers: HTTPHeaders = ["Content-Type": type, "Errand-Program": "errand 0.0"]
      content.withLock { $0 = HTTPServerResponse(status: status, headers: headers, body: .bytes(bytes)) }
    }

    var response: HTTPServerResponse { content.withLock { $0 } }
  }
}
