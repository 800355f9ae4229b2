import ActionKit
import Basics
import Foundation
import PluginList
import RecipeEditing
import Recipes

let everyAction = ActionCatalog(everyPlugin)

/// Files in memory as an editor has them, one of them with `¦` where the cursor is.
struct EditedFolder {
  private(set) var files: [String: Source] = [:]
  /// The file with the cursor, and where it is there.
  private(set) var source = Source(name: "recipe.yaml", text: "")
  private(set) var offset = 0

  /// - Parameter text: The files, each after a line `%% PATH`; the first needs none and is `recipe.yaml`.
  init(_ text: String) {
    var path = "recipe.yaml"
    var lines: [Substring] = []
    func file() -> (String, String) { (path, lines.joined(separator: "\n")) }
    var texts: [(String, String)] = []
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("%% ") {
        texts.append(file())
        (path, lines) = (String(line.dropFirst(3)), [])
      } else {
        lines.append(line)
      }
    }
    for (path, text) in texts + [file()] {
      let parts = text.split(separator: "¦", omittingEmptySubsequences: false)
      files[path] = Source(name: path, text: parts.joined())
      if parts.count == 2 { (source, offset) = (files[path] ?? source, parts[0].utf8.count) }
    }
  }

  init(_ files: [String: Source]) { self.files = files }

  /// The recipes of the repository and their tests.
  static let repository: EditedFolder = {
    let root = (1...4).reduce(URL(fileURLWithPath: #filePath)) { url, _ in url.deletingLastPathComponent() }
    var files: [String: Source] = [:]
    for folder in ["recipes", "recipes/tests"] {
      for name in (try? Files.list(root.appending(path: folder).path)) ?? [] where name.hasSuffix(".yaml") {
        let path = "\(folder)/\(name)"
        files[path] = (try? Files.read(root.appending(path: path).path)).map { Source(name: path, bytes: $0) }
      }
    }
    return EditedFolder(files)
  }()

  /// A folder as its files would be after edits.
  func edited(_ edits: [FileEdits]) -> EditedFolder {
    var files = files
    for file in edits {
      guard let source = files[file.path] else { continue }
      files[file.path] = Source(name: file.path, bytes: file.edits.applied(to: source.bytes))
    }
    return EditedFolder(files)
  }

  var service: EditorService { EditorService(editorFolder) }

  var editorFolder: EditorFolder {
    let environment = environment
    let paths = files.keys.filter { EditedFileKind(path: $0) != .configuration && $0.hasSuffix(".yaml") }.sorted()
    return EditorFolder(
      catalog: everyAction, environment: { _ in environment }, files: { paths }, secretNames: { [] },
      now: { Timestamp("2026-11-27T18:04:00Z") ?? .earliest })
  }

  var environment: RecipeEnvironment {
    let files = files
    var environment = RecipeEnvironment(catalog: everyAction) { path throws(FileError) in
      guard let source = files[path] else { throw FileError(.read, path, .system(2)) }
      return source
    }
    if let configuration = files["errand.yaml"] {
      environment.connections = Configuration.read(configuration, catalog: everyAction).configuration.plugins
    }
    return environment
  }

  /// The diagnostics of each file.
  var diagnostics: [String: [Diagnostic]] {
    files.mapValues(diagnostics)
  }

  func diagnostics(of source: Source) -> [Diagnostic] {
    switch EditedFileKind(path: source.name) {
    case .recipe: Recipe.check(source, in: environment).diagnostics
    case .test: RecipeTestFile.check(source, in: environment).diagnostics
    case .configuration: Configuration.read(source, catalog: everyAction).diagnostics
    }
  }
}

extension Diagnostic.Location {
  /// `recipe.yaml:3:5 text`.
  var displayed: String {
    let position = source.position(at: range.lowerBound)
    return "\(source.name):\(position.line):\(position.column) \(String(decoding: source.bytes[range], as: UTF8.self))"
  }
}
