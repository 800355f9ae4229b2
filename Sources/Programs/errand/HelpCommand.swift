import AgentRuntime
import Basics
import CommandLineParser
import Recipes

/// `errand help`: the page of a command, or of a key of the files that people write.
struct HelpCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() throws(RuntimeError) -> ExitCode {
    let words = parsed["topic"].texts
    let topics = HelpTopics(KeyReference.all(dispatch.catalog), columns: min(100, console.width ?? 100))
    guard let first = words.first else {
      console.out(topics.list)
      return .done
    }
    let page = program.helpPage(words)
    let part = words.count == 1 ? topics.text(first, besidesCommand: page != nil) : nil
    let text = [page, part].compactMap { $0 }.joined(separator: "\n\n")
    guard !text.isEmpty else {
      let word = words.joined(separator: " ")
      let guess = word.nearest(among: topics.names).map { "did you mean '\($0)'?" } ?? "'errand help' lists the topics"
      throw RuntimeError(.usage, "there is no help on '\(word.safe)'; \(guess)")
    }
    console.out(text)
    return .done
  }
}

/// The topics of `errand help` beside the commands: the keys of recipes, of their tests and of errand.yaml.
struct HelpTopics {
  private let parts: [KeyReference]
  private let columns: Int

  init(_ parts: [KeyReference], columns: Int) {
    self.parts = parts
    self.columns = columns
  }

  /// The topics of the parts that aren't named by their titles, and their names in sentences.
  private static let words: [String: (topic: String, phrase: String)] = [
    "Recipe": ("recipe", "a recipe"), "Input": ("input", "an input"), "Entry of `on`": ("on", "an entry of 'on'"),
    "Step": ("step", "a step"), "Test file": ("test", "a test file"), "Case": ("case", "a case of a test"),
    "Item of `do`": ("do", "'do' of a test"), "`expect`": ("expect", "'expect' of a test"),
    "`approve` and `reject` of a test": ("reject", "'approve' and 'reject' of a test"),
  ]

  private func topic(of part: KeyReference) -> String {
    HelpTopics.words[part.title]?.topic ?? part.title.withoutCodeMarks
  }

  private func phrase(of part: KeyReference) -> String {
    HelpTopics.words[part.title]?.phrase ?? "'\(part.title.withoutCodeMarks)'"
  }

  /// Every word that there is help on.
  var names: [String] {
    program.subcommands.map(\.name) + parts.map(topic) + parts.flatMap(\.keys).map(\.name)
  }

  /// The list of all topics.
  var list: String {
    func keys(_ schema: FileSchema) -> [(name: String, text: String)] {
      parts.filter { $0.schema == schema }.map { part in
        (topic(of: part), part.keys.map(\.name).filter { !$0.contains(".") }.joined(separator: " "))
      }
    }
    return [
      "'errand help TOPIC' explains a command or a key.",
      helpTable("Commands:", program.subcommands.map { ($0.name, $0.summary) }, columns: columns),
      helpTable("Keys of recipes:", keys(.recipe), columns: columns),
      helpTable("Keys of tests:", keys(.test), columns: columns),
      helpTable("Keys of errand.yaml:", keys(.errand), columns: columns),
    ].joined(separator: "\n\n")
  }

  /// The help on a word, or nil if there is none.
  ///
  /// - Parameter besidesCommand: Whether the page of a command comes first; then only whole parts are added.
  func text(_ word: String, besidesCommand: Bool) -> String? {
    let whole = parts.filter { $0.title.withoutCodeMarks == word || topic(of: $0) == word }
    var sections: [String] = []
    var examples: [String] = []
    let found = parts.flatMap { part in part.keys.map { (part: part, key: $0) } }
    // The keys of steps and recipes come before keys of the same name inside others.
    let exact = found.filter { $0.key.name == word }
    let nested = found.filter { $0.key.name.hasSuffix(".\(word)") }
    for (part, key) in besidesCommand ? [] : exact + nested {
      let values = key.values.isEmpty ? "" : " Values: \(key.values.withoutCodeMarks)."
      let lines = (key.meaning.withoutCodeMarks + values).wrapped(to: columns - 2).map { "  \($0)" }
      sections.append("\(key.name), a key of \(phrase(of: part))\n" + lines.joined(separator: "\n"))
      let below = part.keys.filter { $0.name.hasPrefix("\(key.name).") }
      if !below.isEmpty { sections.append(table("Keys of '\(key.name)':", below)) }
      examples += part.examples.first { $0.keys.contains(key.name) }.map { [$0.text] } ?? []
    }
    for part in whole {
      sections.append(table("Keys of \(phrase(of: part)):", part.keys))
      examples += part.examples.prefix(1).map(\.text)
    }
    guard !sections.isEmpty else { return nil }
    var displayed: [String] = []
    for example in examples where !displayed.contains(example) && displayed.count < 2 { displayed.append(example) }
    let texts = displayed.map { $0.split(separator: "\n").map { "  \($0)" }.joined(separator: "\n") }
    if !texts.isEmpty {
      sections.append((texts.count == 1 ? "Example:\n" : "Examples:\n") + texts.joined(separator: "\n\n"))
    }
    return sections.joined(separator: "\n\n")
  }

  private func table(_ title: String, _ keys: [KeyReference.Key]) -> String {
    let rows = keys.map { key in
      (key.name, ([key.meaning] + (key.values.isEmpty ? [] : ["Values: \(key.values)."])).joined(separator: " "))
    }
    return helpTable(title, rows.map { ($0.0, $0.1.withoutCodeMarks) }, columns: columns)
  }
}
