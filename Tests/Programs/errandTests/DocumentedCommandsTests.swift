import CommandLineParser
import Foundation
import Testing

@testable import errand

/// The commands that README, the pages of `docs` and `--help` print, as a reader types them: in a new folder, as an
/// ordinary user.
@Suite(.timeLimit(.minutes(20))) struct DocumentedCommandsTests {
  typealias Page = DocumentationPage

  /// Commands that keep running, that need another machine, a service, a database or root, or that name the reader's
  /// own runs.
  private static let apart = [
    "errand serve", "errand sandbox", "errand lsp", "errand mcp", "errand open", "errand workers", "--follow",
    "runs follow", "--watch", "--remote", "plugin add", "plugin update", "plugin remove", "state init",
    "state migrate", "--move", "owner.yaml", "sudo ", "RECIPE", "NAME", "01a1f71c", "0199a", "8f3a21", "weekly-report",
    "week=46", "runs approve", "runs reject", "errand why markbook-backup", "errand run markbook-averages",
    "--record", "--replay",
  ]

  /// Commands that don't succeed, with their exit codes.
  private static let otherwise: [(part: String, code: Int32)] = [
    // It asks a question, and there is no terminal.
    ("--confirm", 64),
    // The page shows the files, for the reader to write.
    ("timetable-changes.test.yaml", 66), ("values.json", 66), ("inputs.json", 66), ("recipes/weekly.yaml", 66),
    (" report.yaml", 66), ("jobs.json", 66), ("order-received -i", 66),
    // It reads what isn't given.
    ("--from-crontab -", 66), ("new shape -", 3),
    // No run asks for values, no recipe has a form, and nothing failed.
    ("runs answer", 66), ("form link", 66), ("runs dismiss", 66),
    // The run waits for a person.
    ("--detach", 4),
    // No agent is running.
    ("errand recipes", 69), ("errand reload", 69), ("runs watch", 69), ("plan --show", 69),
  ]

  /// A command without its comment.
  private static func command(_ line: String) -> String {
    let line = line.hasPrefix("$ ") ? String(line.dropFirst(2)) : line
    let parts = line.components(separatedBy: "   ")[0].components(separatedBy: " #")[0]
    return parts.trimmingCharacters(in: .whitespaces)
  }

  /// The commands in the code of a page, in their order.
  private static func commands(of page: Page) -> [String] {
    page.blocks("").flatMap { $0.split(separator: "\n").map(String.init) }.map(command).filter {
      $0.hasPrefix("errand ")
    }
  }

  @Test func `each recipe that a command names can be made`() {
    let templates = Set(RecipeTemplates.all.map(\.name))
    for page in Page.all {
      var made = templates
      for line in DocumentedCommandsTests.commands(of: page) {
        if let match = line.firstMatch(of: /errand new recipe ([a-z-]+) --from/) { made.insert(String(match.1)) }
        for match in line.matches(of: /recipes\/([a-z-]+)\.yaml/) {
          #expect(made.contains(String(match.1)), "\(page.path): \(line)")
        }
      }
    }
  }

  /// A folder of an ordinary user with only errand.yaml, where commands are run.
  private struct Reader {
    let program: Program

    init() async throws {
      program = try await Program()
      let zone = "zone: UTC\n"
      let settings = """
          http: { baseURL: "http://127.0.0.1:9" }
          mail: { host: 127.0.0.1, security: none }
          notify: { topic: a-topic-of-tests, ntfyURL: "http://127.0.0.1:9" }
          timetable: { baseURL: "http://127.0.0.1:9" }

        """
      try program.write(zone + program.read("errand.yaml") + settings, to: "errand.yaml")
      if getuid() == 0 { #expect(try await program.shell("chown -R 65534:65534 .").code == 0) }
    }

    func run(_ line: String) async throws -> Program.Outcome {
      try program.write("errand() { '\(Program.binary.path)' \"$@\"; }\n\(line)\n", to: "line.sh")
      let user = getuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : ""
      return try await program.shell("HOME=$PWD TMPDIR=$PWD exec \(user)sh line.sh")
    }
  }

  private static func expect(_ lines: [String], on page: String) async throws {
    let reader = try await Reader()
    // The first recipe, which is run once.
    for line in [
      "errand new recipe --from hello", "errand new test recipes/hello.yaml", "errand run recipes/hello.yaml",
    ] {
      let outcome = try await reader.run(line)
      #expect(outcome.code == 0, "\(line): \(outcome.error)")
    }
    // A page may show what another page, or a folder that it makes, has.
    for name in Set(lines.flatMap { $0.matches(of: /recipes\/([a-z-]+)\.yaml/).map { String($0.1) } }).sorted()
    where RecipeTemplates.all.contains(where: { $0.name == name })
      && !lines.contains("errand new recipe --from \(name)")
    {
      _ = try await reader.run("errand new recipe --from \(name)")
    }
    for line in lines where !apart.contains(where: line.contains) {
      // The page has another run's id.
      let line = line.replacing(/[0-9a-f]{8}-[0-9a-f-]{27}/, with: "last")
      let outcome = try await reader.run(line)
      // It asks a question, and there is no terminal.
      let code = line == "errand new recipe" ? 64 : otherwise.first { line.contains($0.part) }?.code ?? 0
      #expect(outcome.code == code, "\(page): \(line): \(outcome.code) \(outcome.error)")
    }
    await reader.program.remove()
  }

  @Test(arguments: Page.all.filter { $0.path != "docs/commands.md" })
  func `each command of a page works in a new folder`(_ page: Page) async throws {
    let lines = DocumentedCommandsTests.commands(of: page)
    if lines.contains(where: { line in !DocumentedCommandsTests.apart.contains(where: line.contains) }) {
      try await DocumentedCommandsTests.expect(lines, on: page.path)
    }
  }

  @Test func `each example of the help works in a new folder`() async throws {
    let commands = program.subcommands.flatMap { [$0] + $0.subcommands }
    let examples = commands.flatMap(\.examples).map { "errand \($0.call)" }
    #expect(examples.count > 40)
    try await DocumentedCommandsTests.expect(examples, on: "--help")
  }
}
