import Basics
import Testing

@testable import Recipes

@Suite struct `Hints about recipes` {
  @Test func `Each is given where it is due, and nowhere else`() throws {
    try CaseFile("hints").expect { one in
      let source = Source(name: CaseFile.main, text: one.files[CaseFile.main] ?? "")
      let checked = Recipe.check(source, in: .test(one.files, zone: "UTC"))
      #expect(checked.recipe != nil, "\(one.name): \(Diagnostics(checked.diagnostics).rendered())")
      return Diagnostics(checked.recipe?.hints ?? []).rendered()
    }
  }
}
