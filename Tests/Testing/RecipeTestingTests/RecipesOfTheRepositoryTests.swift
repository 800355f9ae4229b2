import ActionTestKit
import Basics
import Foundation
import PluginList
import RecipeTesting
import Testing

/// The tests of the repository's own recipes.
@Suite struct RecipesOfTheRepositoryTests {
  private static let recipes = packageFolder.appending(path: "recipes").path

  private static func names(in folder: String, ending: String) throws -> [String] {
    try Files.list(folder).filter { $0.hasSuffix(ending) }.map { String($0.dropLast(ending.utf8.count)) }
  }

  @Test func `every recipe has a test file, and every test passes`() async throws {
    let folder = Self.recipes
    let tests = try Self.names(in: "\(folder)/tests", ending: ".test.yaml")
    let recipes = try Self.names(in: folder, ending: ".yaml").filter { !$0.hasSuffix(".test") }
    #expect(recipes.filter { !tests.contains($0) } == [])
    let run = TestRun(TestSurroundings(environment: Bench.environment(in: folder), clock: SystemTime()))
    for outcome in await run.run(tests.map { "\(folder)/tests/\($0).test.yaml" }, width: 2) {
      #expect(Diagnostics(outcome.faults).rendered() == "")
      for test in outcome.cases {
        #expect(test.hasPassed, "\(test.failures.map { $0.rendered(colour: false) }.joined(separator: "\n"))")
      }
    }
  }
}
