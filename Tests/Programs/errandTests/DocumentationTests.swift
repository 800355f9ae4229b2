import ActionKit
import Basics
import CommandLineParser
import Foundation
import PluginList
import Recipes
import Testing

@testable import errand

/// Checks README and the pages of `docs` against the program and the tree: commands parse, recipes check, links have
/// targets, and the files and types that are named exist.
@Suite struct DocumentationTests {
  typealias Page = DocumentationPage

  private static let environment = RecipeEnvironment(catalog: ActionCatalog(everyPlugin), zone: "UTC") {
    path throws(FileError) in
    throw FileError(.read, path, .system(2))
  }

  private static func exists(_ path: String) -> Bool {
    FileManager.default.fileExists(atPath: Program.root.appending(path: path).path)
  }

  private static func text(of path: String) throws -> String {
    try String(contentsOf: Program.root.appending(path: path), encoding: .utf8)
  }

  // MARK: Commands

  /// The commands' names, as sentences use them.
  private static let names = Set(
    program.subcommands.flatMap { command in
      ["errand \(command.name)"] + command.subcommands.map { "errand \(command.name) \($0.name)" }
    })

  /// The command lines that a line expands to: without its comment, `[…]` given, and each of `a|b` in turn.
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
        // The text after three blanks is the line's comment.
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

  @Test(arguments: Page.all) func `every command parses`(_ page: Page) {
    // The program looks for `--version` before it parses.
    for line in page.commands("errand") where line != "errand --version" {
      for words in DocumentationTests.variants(of: line) {
        do throws(UsageError) { _ = try program.parse(Array(words.dropFirst())) } catch {
          // A command's bare name within a sentence isn't a command line.
          if !DocumentationTests.names.contains(line) { Issue.record("\(page.path): \(line): \(error)") }
        }
      }
    }
  }

  @Test func `there are commands to look at`() {
    #expect(Page.all.flatMap { $0.commands("errand") }.count > 80)
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
  func `a line expands to command lines`(_ line: String, _ words: [[String]]) {
    #expect(DocumentationTests.variants(of: line) == words)
  }

  @Test func `every recipe to start from is a template, and every template is named`() {
    let rows = Page("docs/recipes.md").text.split(separator: "\n").drop { !$0.hasPrefix("| To | Start from |") }
      .dropFirst(2).prefix { $0.hasPrefix("|") }
    let named = rows.flatMap { row in
      row.split(separator: "`", omittingEmptySubsequences: false).enumerated()
        .filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
    }
    #expect(named.sorted() == RecipeTemplates.all.map(\.name).sorted())
  }

  @Test func `every command of the program is named`() {
    let lines = Page("docs/commands.md").commands("errand")
    let named = Set(lines.flatMap(DocumentationTests.variants).map { $0.dropFirst().prefix(2).joined(separator: " ") })
    for command in program.subcommands {
      #expect(named.contains { $0 == command.name || $0.hasPrefix(command.name + " ") }, "\(command.name)")
      for part in command.subcommands {
        #expect(named.contains("\(command.name) \(part.name)"), "\(command.name) \(part.name)")
      }
    }
  }

  @Test(arguments: Page.all) func `every target of make and command of errand-dev exists`(_ page: Page) throws {
    let targets = try DocumentationTests.text(of: "Makefile").split(separator: "\n")
      .compactMap { $0.split(separator: ":").first.map(String.init) }
    let lines = page.blocks("").flatMap { $0.split(separator: "\n").map(String.init) } + page.spans
    for line in lines {
      let words = line.split(separator: " ").map(String.init)
      if let make = words.firstIndex(of: "make"), words[..<make].allSatisfy({ $0.contains("=") }),
        let target = words.dropFirst(make + 1).first
      {
        #expect(targets.contains(target), "\(page.path): \(line)")
      }
      if line.hasPrefix("swift run errand-dev "), let name = words.dropFirst(3).first {
        let tool = try DocumentationTests.text(of: "Sources/Programs/errand-dev/main.swift")
        #expect(tool.contains("\"\(name)\""), "\(page.path): \(line)")
      }
    }
  }

  // MARK: Blocks

  /// A YAML block is a recipe, part of a file of `recipes`, a test file, or `errand.yaml`.
  @Test(arguments: Page.all) func `every YAML block checks`(_ page: Page) throws {
    // The blocks of the page of keys are parts of files, and `KeyExampleTests` checks them.
    for text in page.path == "docs/keys.md" ? [] : page.blocks("yaml") {
      let source = Source(name: page.path, text: text)
      if text.contains("…\n") {
        let name = try #require(text.firstMatch(of: /^recipe: ([a-z-]+)\n/)).1
        expect(text, isPartOf: try DocumentationTests.text(of: "recipes/\(name).yaml"), on: page)
      } else if text.contains("steps:\n") && !text.contains("cases:\n") {
        let checked = Recipe.check(source, in: DocumentationTests.environment)
        #expect(checked.recipe != nil, "\(Diagnostics(checked.diagnostics).rendered())")
      } else if !text.contains("cases:\n") {
        let catalog =
          DocumentedPlugins.pages.contains(page.path) ? try DocumentedPlugins.catalog() : ActionCatalog(everyPlugin)
        let faults = Diagnostics(Configuration.read(source, catalog: catalog).diagnostics)
        #expect(!faults.hasErrors, "\(faults.rendered())")
      }
    }
  }

  /// The code of a Swift block is in the file that the page names.
  @Test(arguments: Page.all) func `every Swift block is code of the tree`(_ page: Page) throws {
    let sources = page.links.map { page.target(of: $0).path }.filter { $0.hasSuffix(".swift") }
    for block in page.blocks("swift") {
      expect(block, isPartOf: try sources.map(DocumentationTests.text).joined(separator: "\n"), on: page)
    }
  }

  /// Expects the lines of a block in the text, in their order; `…` is any number of lines, or the rest of one.
  private func expect(_ block: String, isPartOf text: String, on page: Page) {
    func lines(_ text: String) -> [String] {
      text.split(separator: "\n").map { line in
        let code = line.trimmingCharacters(in: .whitespaces).components(separatedBy: " #")[0]
        return code.trimmingCharacters(in: .whitespaces)
      }.filter { !$0.isEmpty && !$0.hasPrefix("#") }
    }
    var rest = lines(text)[...]
    for line in lines(block) where line != "…" {
      let displayed = line.hasSuffix("…") ? line.dropLast().trimmingCharacters(in: .whitespaces) : line
      guard let place = rest.firstIndex(where: { line.hasSuffix("…") ? $0.hasPrefix(displayed) : $0 == displayed })
      else {
        Issue.record("\(page.path) shows a line that isn't in the file, or not in this order: \(line)")
        return
      }
      rest = rest[(place + 1)...]
    }
  }

  // MARK: Tables

  @Test func `every entry of the table of schedules checks`() {
    let entries = Page("docs/schedules.md").cells(under: "| Entry | Due |").filter { !$0.contains("…") }
    #expect(entries.count > 3)
    for entry in entries { expectToCheck("on:\n  - \(entry)\nsteps:\n  - let: { one: 1 }\n") }
  }

  @Test func `every step of the table of waits checks`() {
    let steps = Page("docs/waits-and-approvals.md").cells(under: "| Step | Waits for |")
    #expect(steps.count > 4)
    for step in steps {
      let isAround = step.hasPrefix("repeat:") || step.hasPrefix("retry:")
      expectToCheck(
        """
        steps:
          - id: letters
            forEach: "${{ [1] }}"
            steps: [{ let: { one: 1 } }]
          - \(step)
            \(isAround ? "uses: markbook.downloadBackup\n    with: { to: a.zip }" : "name: It")

        """)
    }
  }

  private func expectToCheck(_ text: String) {
    let checked = Recipe.check(Source(name: "table.yaml", text: text), in: DocumentationTests.environment)
    #expect(checked.recipe != nil, "\(Diagnostics(checked.diagnostics).rendered())")
  }

  // MARK: The tree

  @Test(arguments: Page.all) func `every link leads to a file and a heading`(
    _ page: Page
  ) {
    for link in page.links where !link.hasPrefix("http") {
      let (path, anchor) = page.target(of: link)
      #expect(DocumentationTests.exists(path), "\(page.path): \(link)")
      if let anchor, path.hasSuffix(".md") {
        #expect(Page(path).anchors.contains(anchor), "\(page.path): \(link)")
      }
    }
  }

  @Test func `every page can be reached from README`() {
    var reached: Set<String> = []
    var open = ["README.md"]
    while let path = open.popLast() {
      guard path.hasSuffix(".md"), reached.insert(path).inserted else { continue }
      let page = Page(path)
      open += page.links.filter { !$0.hasPrefix("http") }.map { page.target(of: $0).path }
    }
    let templates = Page.all.filter { $0.path.contains("TEMPLATE") }.map(\.path)
    #expect(Set(Page.all.map(\.path)).subtracting(reached).subtracting(templates) == [])
  }

  @Test(arguments: Page.all) func `every file and folder that is named exists`(_ page: Page) {
    let folders = ["Sources/", "Tests/", "Plugins/", "Benchmarks/", "docs/", ".github/", ".ci/"]
    for span in page.spans where folders.contains(where: span.hasPrefix) {
      if span.contains(where: { " <>*…{}".contains($0) }) { continue }
      #expect(DocumentationTests.exists(span), "\(page.path): \(span)")
    }
  }

  /// Contributors look the types up, so a renamed type must be renamed there, too.
  @Test(arguments: ["docs/architecture.md", "docs/glossary.md"].map(Page.init))
  func `every type that is named exists`(_ page: Page) throws {
    let named = Set(page.spans.filter { $0.wholeMatch(of: /[A-Z]+[a-z][A-Za-z0-9]*(\.[A-Z][A-Za-z0-9]+)*/) != nil })
    var known: Set<String> = []
    for folder in ["Benchmarks", "Plugins", "Sources"] {
      let root = Program.root.appending(path: folder)
      let files = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
      for file in files {
        // Folders have the names of targets.
        known.formUnion(file.split(separator: "/").dropLast().map(String.init))
        guard file.hasSuffix(".swift") else { continue }
        let text = try String(contentsOf: root.appending(path: file), encoding: .utf8)
        for match in text.matches(of: /\b(?:actor|class|enum|protocol|struct|typealias) ([A-Z][A-Za-z0-9]*)/) {
          known.insert(String(match.1))
        }
      }
    }
    for name in named {
      let last = String(name.split(separator: ".").last ?? "")
      #expect(known.contains(last) || DocumentationTests.exists(name), "\(page.path): \(name)")
    }
  }

  @Test func `README and the root of the package stay small`() throws {
    let readme = try DocumentationTests.text(of: "README.md")
    #expect(readme.split(separator: "\n", omittingEmptySubsequences: false).count <= 201)
    let ignored =
      try DocumentationTests.text(of: ".gitignore").split(separator: "\n")
      .map { $0.trimmingCharacters(in: ["/"]) } + [".git"]
    let entries = try FileManager.default.contentsOfDirectory(atPath: Program.root.path)
      .filter { name in !ignored.contains(name) && !name.hasSuffix(".xcodeproj") }
    #expect(entries.count <= 16, "\(entries.sorted())")
  }
}
