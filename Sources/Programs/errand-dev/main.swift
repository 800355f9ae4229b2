import CommandLineParser
import Foundation

/// The tool for developers of errand itself; it isn't shipped.
let program = Command(
  "errand-dev", "Generates and checks files, and answers test suites.",
  subcommands: [
    Command("generate", "Writes every generated file: the plugins' pages, the schemas, the functions' page."),
    Command(
      "verify",
      "Finds outdated generated files, wrong imports and dependencies between targets, and too many hard phrases."),
    Command("vendor", "Makes the files of the pages' editor out of its Debian packages."),
    Command("lines", "Counts the lines of Swift by folder, without blanks and comments."),
    Command(
      "words", "Counts the lines of comments and pages that have phrases which are hard to read, by folder.",
      options: [.flag("lines", "Lists the lines instead.")]),
    Command(
      "cel", "Reads lines of an expression suite from standard input, and writes the result of each.",
      examples: [.init("cel", "For example with cel-pure.jsonl of the CEL suite as standard input.")]),
    Command(
      "cron", "Reads lines {expr, zone, start} from standard input, and writes the next five times of each."),
    Command(
      "new-plugin", "Creates a starter plugin that builds, and adds it to the manifest and the list of plugins.",
      arguments: [.required("name", "The name of the plugin's folder, such as Timetable.")],
      examples: [.init("new-plugin Timetable", "Writes Plugins/Timetable and Tests/Plugins/TimetablePluginTests.")]),
  ])

do {
  switch try program.parse(Array(CommandLine.arguments.dropFirst())) {
  case .help(let page):
    print(page, terminator: "")
  case .run(let parsed):
    switch parsed.command.first {
    case "generate":
      let root = try Package.root()
      let files = try generatedFiles(in: root)
      // This program has the list that it was built with.
      let isOther = files.contains {
        $0.path == operationListPath && (try? root.appending(path: $0.path).text()) != $0.text
      }
      for file in files {
        try file.write(in: root)
        print("wrote \(file.path)")
      }
      if isOther {
        print("Next: the list of operations is another one now; run '\(GeneratedFile.command)' again for their page.")
      }
    case "verify":
      let faults = try await Verification(root: try Package.root()).faults()
      for fault in faults { print(fault) }
      exit(faults.isEmpty ? 0 : 1)
    case "vendor":
      let editor = try VendoredEditor()
      try editor.write(in: try Package.root())
      for file in editor.files { print("wrote \(file.path)") }
      print("Next: NOTICE has to have each of these:", editor.facts.joined(separator: "\n  "), separator: "\n  ")
    case "lines":
      let count = try LineCount(of: try Package.root())
      for folder in count.folders { print("\(folder.path): \(folder.lines)") }
      print("together: \(count.total)")
    case "words":
      let count = try WordCount(of: try Package.root())
      print(parsed["lines"].isGiven ? count.found.joined(separator: "\n") : count.table)
    case "cel": answerLines(answerSuiteLine)
    case "cron": answerLines(answerCronLine)
    default:
      for path in try NewPlugin(parsed["name"].text ?? "", in: try Package.root()).write() { print("wrote \(path)") }
      print("Next: describe the service in the client, add actions, and run 'make generate'.")
    }
  }
} catch let error as UsageError {
  stop("\(error)", code: 64)
} catch let failure as ToolError {
  stop("error: \(failure.message)", code: 1)
}

/// Exits with a message for people.
func stop(_ message: String, code: Int32) -> Never {
  FileHandle.standardError.write(Data("\(message)\n".utf8))
  exit(code)
}
