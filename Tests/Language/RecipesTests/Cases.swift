// Tables of recipes and their diagnostics, in files that read like both:
//
//     %% case the name of the case
//     recipe: …
//     %% file called.yaml
//     recipe: …
//     %% says
//     recipe.yaml:3:5: error: …
//
// With RECORD_CASES in the environment the texts after `%% says` are written anew, and the tests fail.
import ActionKit
import Basics
import Foundation
import MarkbookPlugin
import Testing

@testable import Recipes

struct Case: Sendable, CustomTestStringConvertible {
  var name: String
  /// The texts by file; the file to check is `recipe.yaml`.
  var files: [String: String] = [:]
  /// The names of the files in order, for writing them again.
  var order: [String] = []
  var says = ""

  var testDescription: String { name }
}

struct CaseFile {
  let path: String
  let cases: [Case]

  init(_ name: String, besides file: String = #filePath) {
    path = URL(fileURLWithPath: file).deletingLastPathComponent().appendingPathComponent("Fixtures/\(name).cases").path
    let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
    var cases: [Case] = []
    var target: String?
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("%% case ") {
        cases.append(Case(name: String(line.dropFirst(8))))
        target = CaseFile.main
        cases[cases.count - 1].order.append(CaseFile.main)
      } else if line.hasPrefix("%% file ") {
        let name = String(line.dropFirst(8))
        target = name
        cases[cases.count - 1].order.append(name)
      } else if line == "%% says" {
        target = nil
      } else if cases.isEmpty {
        continue
      } else if let target {
        cases[cases.count - 1].files[target, default: ""] += line + "\n"
      } else {
        cases[cases.count - 1].says += line + "\n"
      }
    }
    self.cases = cases
  }

  static let main = "recipe.yaml"
  static let isRecording = ProcessInfo.processInfo.environment["RECORD_CASES"] != nil

  /// Compares each case's diagnostics with the file, or records them.
  func expect(_ answer: (Case) -> String) throws {
    #expect(!cases.isEmpty, "there are no cases in \(path)")
    var text = ""
    for var one in cases {
      let answered = answer(one)
      if CaseFile.isRecording {
        one.says = answered.isEmpty ? "" : answered + "\n"
      } else {
        #expect(answered == one.says.trimmed, "\(one.name)")
      }
      text += "%% case \(one.name)\n"
      for (index, file) in one.order.enumerated() {
        if index > 0 { text += "%% file \(file)\n" }
        text += one.files[file] ?? ""
      }
      text += one.says.trimmed.isEmpty ? "%% says\n" : "%% says\n\(one.says.trimmed)\n"
    }
    guard CaseFile.isRecording else { return }
    try text.write(toFile: path, atomically: true, encoding: .utf8)
    Issue.record("recorded \(path)")
  }
}

extension String {
  var trimmed: String { trimmingCharacters(in: .newlines) }
}

extension RecipeEnvironment {
  static let catalog = ActionCatalog([DeskPlugin.self, MarkbookPlugin.self])

  /// An environment with only the files of a case.
  static func test(
    _ files: [String: String] = [:], connections: [String: String]? = nil, zone: String? = nil
  ) -> RecipeEnvironment {
    RecipeEnvironment(catalog: catalog, connections: connections, zone: zone) { path throws(FileError) in
      guard let text = files[path] else { return Source(name: path, bytes: try Files.read("/nowhere/\(path)")) }
      return Source(name: path, text: text)
    }
  }
}

extension Case {
  /// All that is said about the recipe.
  var diagnostics: String {
    let source = Source(name: CaseFile.main, text: files[CaseFile.main] ?? "")
    let connections = ["desk": "desk", "archive": "desk", "markbook": "markbook"]
    let checked = Recipe.check(source, in: .test(files, connections: connections))
    let faults = Diagnostics(checked.diagnostics)
    #expect((checked.recipe == nil) == faults.hasErrors, "\(name): a recipe is given exactly if it has no error")
    return faults.rendered()
  }
}
