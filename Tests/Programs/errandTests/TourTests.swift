import Basics
import Foundation
import Testing

/// Replays the sessions on pages: each command is called as shown, and prints the lines below it.
@Suite(.timeLimit(.minutes(20))) struct TourTests {
  /// A session that a page shows, either in a section or over the whole page.
  struct Tour: Sendable, CustomTestStringConvertible {
    var page: String
    var section: String?
    var commands: Set<String>

    var testDescription: String { page }
  }

  static let tours = [
    Tour(page: "README.md", section: "Five minutes", commands: ["new", "check", "plan", "run", "why"]),
    Tour(
      page: "docs/tutorial.md", section: "The tour",
      commands: ["new", "check", "plan", "run", "test", "why", "runs", "graph"]),
    Tour(page: "docs/plans.md", commands: ["plan"]),
    Tour(page: "docs/testing-recipes.md", commands: ["test"]),
  ]

  /// A command, and the shown lines of its output; `…` is any number of lines.
  private struct Stop {
    var command: String
    var lines: [String] = []
  }

  private static func stops(of tour: Tour) throws -> [Stop] {
    var text = DocumentationPage(tour.page).text
    if let section = tour.section {
      text = try #require(text.components(separatedBy: "\n## \(section)\n").dropFirst().first)
        .components(separatedBy: "\n## ")[0]
      #expect(text.split(separator: "\n").count <= 80, "the tour is longer than two screens")
    }
    var stops: [Stop] = []
    var isCode = false
    var isSession = false
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("```") {
        isCode.toggle()
        isSession = false
      } else if isCode, line.hasPrefix("$ ") {
        // The text after three blanks is the line's comment.
        let command = String(line.dropFirst(2)).components(separatedBy: "   ")[0]
        stops.append(Stop(command: command.trimmingCharacters(in: .whitespaces)))
        isSession = true
      } else if isSession, !line.allSatisfy(\.isWhitespace) {
        stops[stops.count - 1].lines.append(String(line))
      }
    }
    return stops
  }

  // A regular expression is Sendable if its captures are; the compiler can't check that yet.
  nonisolated(unsafe) private static let id = /[0-9a-f]{8}-[0-9a-f-]{27}/

  /// A line without the parts that change each time: ids, lengths of time, dates.
  private static func lasting(_ line: String) -> String {
    line.replacing(id, with: "ID")
      .replacing(/[A-Z][a-z]{2} [0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}(:[0-9]{2})? [A-Z]+/, with: "DATE")
      .replacing(/\+?[0-9]+(\.[0-9])? ?m?s\b/, with: "TIME").replacing(/█+/, with: "BAR")
      .replacing(/after ([0-9]+ s|less than a second)/, with: "after TIME").replacing(/\ +/, with: " ")
  }

  @Test(arguments: tours) func `each command says what the page shows`(_ tour: Tour) async throws {
    let stops = try TourTests.stops(of: tour)
    #expect(Set(stops.map { String($0.command.split(separator: " ").dropFirst().first ?? "") }) == tour.commands)
    let program = try await Program()
    // A recipe that the page creates isn't there before.
    if !tour.commands.contains("new") {
      let recipes = program.folder.appending(path: "recipes")
      try FileManager.default.copyItem(at: Program.root.appending(path: "recipes"), to: recipes)
    }
    var run: String?
    for stop in stops {
      var words = stop.command.split(separator: " ").map(String.init)
      #expect(words.removeFirst() == "errand", "\(stop.command)")
      // The page has another run's id.
      if let run { words = words.map { $0.firstMatch(of: TourTests.id) == nil ? $0 : run } }
      let outcome = try await program.start(words).outcome()
      #expect(outcome.code == 0, "\(stop.command): \(outcome.error)")
      run = run ?? (outcome.error + outcome.out).firstMatch(of: TourTests.id).map { String($0.output) }
      // A terminal shows both streams, in the order of writing.
      let printed = [outcome.out, outcome.error].map {
        $0.split(separator: "\n").map { TourTests.lasting(String($0)) }
      }
      let wanted = stop.lines.filter { !$0.hasSuffix("…") }.map(TourTests.lasting)
      let missing = wanted.filter { line in !printed.contains { $0.contains(line) } }
      #expect(missing == [], "\(stop.command) says\n\(printed.joined().joined(separator: "\n"))")
      for stream in printed {
        let displayed = wanted.filter(stream.contains)
        let places = displayed.compactMap(stream.firstIndex)
        #expect(places == places.sorted(), "\(stop.command) says it in another order")
      }
    }
    await program.remove()
  }

  @Test func `each test file that a page shows passes`() async throws {
    let program = try await Program()
    let recipes = program.folder.appending(path: "recipes")
    try FileManager.default.copyItem(at: Program.root.appending(path: "recipes"), to: recipes)
    // A recording isn't part of a page.
    let files = DocumentationPage.all.flatMap { $0.blocks("yaml") }
      .filter { $0.contains("\ncases:\n") && !$0.contains("replay:") }
    #expect(!files.isEmpty)
    for file in files {
      try program.write(file, to: "recipes/tests/shown.test.yaml")
      let outcome = try await program.start(["test", "recipes/tests/shown.test.yaml"]).outcome()
      #expect(outcome.code == 0, "\(outcome.out)\(outcome.error)")
    }
    await program.remove()
  }
}
