import ActionKit
import Basics
import Expressions
import Foundation
import PluginList
import RecipeEditing
import Recipes

/// The repository's recipes and tests, as an editor has them open.
struct RecipesFolder: Sendable {
  static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().deletingLastPathComponent()

  /// The texts of the files, by their paths from the root.
  var texts: [String: String]
  var connections: [String: String]? = ["markbook": "markbook", "school": "markbook", "files": "files"]

  init(_ texts: [String: String]) { self.texts = texts }

  /// All recipes of the repository and their tests.
  static let all: RecipesFolder = {
    var texts: [String: String] = [:]
    for folder in ["recipes", "recipes/tests"] {
      let names = (try? FileManager.default.contentsOfDirectory(atPath: root.path + "/" + folder)) ?? []
      for name in names where name.hasSuffix(".yaml") {
        texts["\(folder)/\(name)"] = try? String(contentsOfFile: "\(root.path)/\(folder)/\(name)", encoding: .utf8)
      }
    }
    return RecipesFolder(texts)
  }()

  var paths: [String] { texts.keys.sorted() }

  func source(_ path: String) -> Source { Source(name: path, text: texts[path] ?? "") }

  static let catalog = ActionCatalog(everyPlugin)

  var service: EditorService {
    EditorService(
      EditorFolder(
        catalog: RecipesFolder.catalog,
        environment: { _ in
          var environment = RecipeEnvironment(
            catalog: RecipesFolder.catalog, connections: connections, zone: "Europe/Bucharest"
          ) { path throws(FileError) in
            guard let text = texts[path] else { throw FileError(.read, path, .system(ENOENT)) }
            return Source(name: path, text: text)
          }
          environment.hasFolder = { _ in true }
          return environment
        }, files: { paths }, secretNames: { ["MARKBOOK_TOKEN", "SMTP_PASSWORD"] },
        now: { Timestamp("2026-11-27T18:00:00Z") ?? .earliest }))
  }
}

extension EditorService {
  /// The ranges of the names that follow a dot in the expressions of a file, except names of an unknown type.
  func memberAccesses(in source: Source) -> [Range<Int>] {
    observed(source).texts.filter { $0.source === source }.flatMap { text -> [Range<Int>] in
      let parts = text.expressions.flatMap { text.names.parts(of: text.value, $0) }.filter { part in
        if case .field(of: .dyn) = part.kind { return false }
        return part.mark.lowerBound > 0 && text.value[part.mark.lowerBound - 1] == ASCII.dot
      }
      return text.locations(of: parts.map(\.mark)).compactMap { $0?.range }
    }
  }
}
