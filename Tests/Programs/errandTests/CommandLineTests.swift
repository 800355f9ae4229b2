import CommandLineParser
import Foundation
import Testing

@testable import errand

@Suite struct CommandLineTests {
  @Test func `describes itself without a fault, and its examples parse`() {
    #expect(program.faults() == [])
  }

  @Test(arguments: [
    ("history", "runs list"), ("watch", "runs watch"), ("approvals", "runs approvals"),
    ("logs 0199a", "runs logs 0199a"), ("list", "runs list"), ("start", "run RECIPE"),
    ("stop", "runs cancel RUN"), ("init", "new folder"), ("validate a.yaml", "check a.yaml"), ("ps", "runs list"),
    ("exec a.yaml", "run a.yaml"), ("apply a.yaml", "run a.yaml"), ("cancel 0199a", "runs cancel 0199a"),
    ("show 0199a", "runs show 0199a"), ("retry 0199a", "runs retry 0199a"), ("approve 0199a", "runs approve 0199a"),
    ("runs kill 0199a", "runs cancel 0199a"), ("schedule disable weekly", "schedule pause weekly"),
    ("version", "--version"),
  ])
  func `names the command that other programs call otherwise`(_ words: String, _ call: String) {
    do throws(UsageError) {
      _ = try program.parse(words.split(separator: " ").map(String.init))
      Issue.record("'\(words)' was taken")
    } catch {
      let advice = error.message.components(separatedBy: "; write: errand ").last ?? ""
      #expect(advice == call || advice.hasPrefix("\(call) ("), "\(error.message)")
    }
  }

  @Test func `takes the options of the default command`() throws {
    for words in [["runs", "--json"], ["runs", "-n", "3", "--json"], ["schedule", "--json"]] {
      guard case .run(let parsed) = try program.parse(words) else { continue }
      #expect(parsed.command == [words[0], "list"])
      #expect(parsed["json"].isGiven)
    }
  }

  @Test func `draws tables by what terminals make of the cells`() {
    let table = Table(
      headings: ["student", "average", "written"],
      rows: [["明华 李", "99.1", "true"], ["Zoë McAllister", "8", "false"]])
    #expect(
      table.lines(colour: false).joined(separator: "\n") == """
        student         average  written
        明华 李            99.1  true
        Zoë McAllister        8  false
        """)
  }
}
