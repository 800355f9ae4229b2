import ActionKit
import Basics
import CommandLineParser
import Foundation
import PluginList
import Recipes
import Testing

@testable import errand

/// What README shows, against the program: its commands parse, its recipes check, its links lead somewhere.
@Suite struct ReadmeTests {
  private static let text: String = {
    let path = Program.root.appending(path: "README.md")
    return (try? String(contentsOf: path, encoding: .utf8)) ?? ""
  }()

  /// The code blocks of a language.
  private static func blocks(_ language: String) -> [String] {
    var blocks: [String] = []
    var open: (language: Substring, lines: [Substring])?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if let block = open {
        if line == "```" {
          if block.language == language { blocks.append(block.lines.joined(separator: "\n") + "\n") }
          open = nil
        } else {
          open?.lines.append(line)
        }
      } else if line.hasPrefix("```") {
        open = (line.dropFirst(3), [])
      }
    }
    return blocks
  }

  /// Everything that is written as a command of errand, in a block or within a sentence.
  private static let commands: [String] = {
    let lines = blocks("").flatMap { $0.split(separator: "\n").map(String.init) }
      .map { $0.hasPrefix("$ ") ? String($0.dropFirst(2)) : $0 }
    let spans = text.split(separator: "\n").filter { !$0.hasPrefix("    ") }
      .flatMap { $0.split(separator: "`", omittingEmptySubsequences: false).enumerated() }
      .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
    return (lines + spans).filter { $0.hasPrefix("errand ") && !$0.hasPrefix("errand (") }
  }()

  /// The commands by their names, as sentences speak of them.
  private static let names = Set(
    program.subcommands.flatMap { command in
      ["errand \(command.name)"] + command.subcommands.map { "errand \(command.name) \($0.name)" }
    })

  /// The command lines that a line stands for: without its comment, `[…]` given, and each of `a|b` in turn.
  private static func variants(of line: String) -> [[String]] {
    var words: [[String]] = []
    var word = ""
    var quote: Character?
    var blanks = 0
    func end() {
      if !word.isEmpty { words.append(word.split(separator: "|").map(String.init)) }
      word = ""
    }
    scan: for character in line {
      if let open = quote {
        if character == open { quote = nil } else { word.append(character) }
        continue
      }
      blanks = character == " " ? blanks + 1 : 0
      switch character {
      case " ":
        end()
        // What stands apart is what the line says of itself.
        if blanks == 3 { break scan }
      case "#" where word.isEmpty: break scan
      case "|" where word.isEmpty: break scan
      case "'", "\"": quote = character
      case "[" where word.isEmpty, "]", "…": continue
      default: word.append(character)
      }
    }
    end()
    return words.reduce([[]]) { lines, choices in lines.flatMap { line in choices.map { line + [$0] } } }
  }

  @Test func `every command parses`() {
    #expect(ReadmeTests.commands.count > 40)
    for line in ReadmeTests.commands {
      for words in ReadmeTests.variants(of: line) {
        do throws(UsageError) { _ = try program.parse(Array(words.dropFirst())) } catch {
          // A command's bare name within a sentence is no command line.
          if !ReadmeTests.names.contains(line) { Issue.record("README.md: \(line): \(error)") }
        }
      }
    }
  }

  @Test(arguments: [
    (
      "errand state export|import FILE   the whole state",
      [["errand", "state", "export", "FILE"], ["errand", "state", "import", "FILE"]]
    ),
    ("errand run RECIPE [-i k=v]… [--json]", [["errand", "run", "RECIPE", "-i", "k=v", "--json"]]),
    (
      "errand runs resolve r 'put[*]/write' --retry # all",
      [["errand", "runs", "resolve", "r", "put[*]/write", "--retry"]]
    ),
    ("errand serve --systemd-unit | sudo tee x", [["errand", "serve", "--systemd-unit"]]),
  ])
  func `a line stands for command lines`(_ line: String, _ words: [[String]]) {
    #expect(ReadmeTests.variants(of: line) == words)
  }

  @Test func `every command of the program is named`() {
    let named = Set(
      ReadmeTests.commands.flatMap(ReadmeTests.variants).map { $0.dropFirst().prefix(2).joined(separator: " ") })
    for command in program.subcommands {
      #expect(named.contains { $0 == command.name || $0.hasPrefix(command.name + " ") }, "\(command.name)")
      for part in command.subcommands {
        #expect(named.contains("\(command.name) \(part.name)"), "\(command.name) \(part.name)")
      }
    }
  }

  @Test func `every recipe that is shown whole checks`() {
    let environment = RecipeEnvironment(catalog: ActionCatalog(everyPlugin), zone: "UTC") { path throws(FileError) in
      throw FileError(.read, path, .system(2))
    }
    let recipes = ReadmeTests.blocks("yaml").filter { $0.contains("steps:\n") && !$0.contains(": …") }
    #expect(!recipes.isEmpty)
    for text in recipes {
      let checked = Recipe.check(Source(name: "README.md", text: text), in: environment)
      #expect(checked.recipe != nil, "\(Diagnostics(checked.diagnostics).rendered())")
    }
  }

  @Test func `every link to a file leads to one`() {
    let links = ReadmeTests.text.split(separator: "](").dropFirst().compactMap { $0.split(separator: ")").first }
      .filter { !$0.hasPrefix("http") }
    #expect(links.count > 5)
    for link in links {
      #expect(FileManager.default.fileExists(atPath: Program.root.appending(path: String(link)).path), "\(link)")
    }
  }
}
