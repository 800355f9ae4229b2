import ActionKit
import Foundation
import PluginList
import Recipes
import Testing

@testable import errand

@Suite(.timeLimit(.minutes(20))) struct HelpTopicsTests {
  private static let parts = KeyReference.all(ActionCatalog(everyPlugin))

  @Test func `a key is displayed with its sentence, its values and an example`() {
    #expect(
      HelpTopics(Self.parts, columns: 60).text("maxParallel", besidesCommand: false) == """
        maxParallel, a key of a step
          How many items run at once. Values: 1 to 1024; default 1.

        maxParallel, a key of 'limits of a connection'
          How many calls may be in flight at once, across all runs.
          Values: 1 to 1000.

        Examples:
          inputs: { names: list(string) }
          steps:
            - forEach: inputs.names
              as: name
              indexAs: i
              where: name != ''
              maxParallel: 4
              onItemError: continue
              uses: file.write
              with: { path: "letters/${{ i }}.txt", text: "Dear ${{ name }}," }

          connections:
            shop: { plugin: http, baseURL: "https://shop.example", limits: { maxParallel: 4, requests: 60, per: 1m } }
        """)
  }

  @Test func `a key with keys of its own shows them`() throws {
    let text = try #require(HelpTopics(Self.parts, columns: 100).text("retry", besidesCommand: false))
    #expect(text.contains("retry, a key of a step\n"))
    #expect(text.contains("defaults.retry, a key of a recipe\n"))
    #expect(
      text.contains(
        "Keys of 'retry':\n  maxAttempts  How many attempts to make, including the first. Values: 1 to 1000; default 3.\n"
      ), "\(text)"
    )
    #expect(text.contains("    retry: { maxAttempts: 5, initial: 2s }"))
  }

  @Test(arguments: parts.flatMap(\.keys).map(\.name)) func `there is help on every key, with an example`(_ name: String)
  {
    let text = HelpTopics(Self.parts, columns: 80).text(name, besidesCommand: false) ?? ""
    #expect(text.contains("\nExample"), "\(name)")
    for line in text.components(separatedBy: "\nExample")[0].split(separator: "\n") {
      #expect(line.count <= 80, "\(line)")
    }
  }

  @Test func `a command's page comes first, and the list has every topic`() async throws {
    let program = try await Program()
    let run = try await program.call("help", "run")
    #expect(run.out == (try await program.call("run", "--help").out))
    let test = try await program.call("help", "test")
    #expect(test.out.hasPrefix("Tests recipes in sandboxes, "))
    #expect(
      test.out.contains("\nKeys of a test file:\n  recipe ") && test.out.contains("  The path of the tested recipe"),
      "\(test.out)")
    let file = try await program.call("help", "errand.yaml")
    #expect(file.out.hasPrefix("Keys of 'errand.yaml':\n  state "), "\(file.out)")
    let list = try await program.call("help")
    #expect(list.code == 0)
    for word in ["retry", "forEach", "errand.yaml", "schedule", "advanceTo"] { #expect(list.out.contains(word)) }
    let near = try await program.call("help", "forEech")
    #expect(near.code == 64)
    #expect(near.error == "error: there is no help on 'forEech'; did you mean 'forEach'?\n")
    let none = try await program.call("help", "quite", "another")
    #expect(none.error == "error: there is no help on 'quite another'; 'errand help' lists the topics\n")
    await program.remove()
  }
}
