import ActionKit
import Basics
import Foundation
import PluginList
import Recipes
import RecipeTesting
import Testing

/// Test files in a folder of their own, run as the program runs them.
final class Bench: Sendable {
  let folder: String

  init(_ files: [String: String]) throws {
    folder = FileManager.default.temporaryDirectory.appending(path: "errand-\(UUID().uuidString)").path
    try Files.makeFolder(folder)
    for (name, text) in files { try Files.write(Array(text.utf8), to: "\(folder)/\(name)") }
  }

  deinit { try? FileManager.default.removeItem(atPath: folder) }

  static func environment(in folder: String) -> RecipeEnvironment {
    RecipeEnvironment(catalog: ActionCatalog(everyPlugin), zone: "UTC") { path throws(FileError) in
      Source(name: path, bytes: try Files.read(path))
    }
  }

  func run(_ name: String = "r.test.yaml") async throws -> FileOutcome {
    let run = TestRun(TestSurroundings(environment: Bench.environment(in: folder), clock: SystemTime()))
    return try #require(await run.run(["\(folder)/\(name)"], width: 1).first)
  }

  /// All that is said about a file, with the folder left out.
  func text(_ outcome: FileOutcome) -> String {
    let failures = outcome.cases.flatMap(\.failures).map { $0.rendered(colour: false) }
    return (outcome.faults.map { $0.rendered() } + failures).joined(separator: "\n")
      .replacing("\(folder)/", with: "")
  }
}
