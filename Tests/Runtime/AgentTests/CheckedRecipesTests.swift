import ActionKit
import Basics
import Recipes
import Testing

@testable import Agent

/// A checked recipe is found again as long as every text is the same, and dropped when unused.
@Suite struct CheckedRecipesTests {
  private func recipe(_ file: String, _ text: String, calling others: [String: String] = [:]) throws -> Recipe {
    let environment = RecipeEnvironment(catalog: ActionCatalog([]), zone: "UTC") { path throws(FileError) in
      guard let text = others[path] else { throw FileError(.read, path, .system(2)) }
      return Source(name: path, text: text)
    }
    let checked = Recipe.check(Source(name: file, text: text), in: environment)
    return try #require(checked.recipe, "\(Diagnostics(checked.diagnostics).rendered())")
  }

  private static func text(_ mark: String) -> String { "steps: [{ let: { a: \(mark) } }]" }

  @Test func `a recipe is found by its file and its text`() throws {
    let known = CheckedRecipes()
    let (one, two) = (try recipe("r.yaml", Self.text("1")), try recipe("r.yaml", Self.text("2")))
    known.keep(one)
    known.keep(two)
    #expect(known.recipe("r.yaml", among: .map(one.texts), zone: "UTC") === one)
    #expect(known.recipe("r.yaml", among: .map(two.texts), zone: "UTC") === two)
    #expect(known.recipe("s.yaml", among: .map(one.texts), zone: "UTC") == nil)
    #expect(known.recipe("r.yaml", among: .map(one.texts), zone: "Asia/Tokyo") == nil)
    #expect(known.recipe("r.yaml", among: .object(["r.yaml": .string(Self.text("3"))]), zone: "UTC") == nil)
  }

  @Test func `a recipe counts as changed if a recipe that it calls has changed`() throws {
    let known = CheckedRecipes()
    let caller = "steps: [{ call: part.yaml }]"
    let one = try recipe("r.yaml", caller, calling: ["part.yaml": Self.text("1")])
    known.keep(one)
    #expect(known.recipe("r.yaml", among: .map(one.texts), zone: "UTC") === one)
    var texts = one.texts
    texts["part.yaml"] = .string(Self.text("2"))
    #expect(known.recipe("r.yaml", among: .map(texts), zone: "UTC") == nil)
  }

  @Test func `recipes without a run are dropped beyond a limit, and those with a run are kept`() throws {
    let known = CheckedRecipes()
    let held = try recipe("held.yaml", Self.text("0"))
    known.keep(held)
    let padding = "# " + String(repeating: "x", count: 4000) + "\n"
    var texts: [ValueMap] = []
    for number in 0..<20 {
      let recipe = try recipe("r\(number).yaml", padding + Self.text("\(number)"))
      known.keep(recipe)
      texts.append(recipe.texts)
    }
    #expect(known.recipe("held.yaml", among: .map(held.texts), zone: "UTC") === held)
    let found = (0..<20).map { known.recipe("r\($0).yaml", among: .map(texts[$0]), zone: "UTC") != nil }
    #expect(found.filter { $0 }.count < 9 && found.last == true && found.first == false)
  }
}
