import Basics
import Expressions
import Testing

@Suite struct LibraryExampleTests {
  @Test(arguments: FunctionLibrary.standard.declarations.filter { !$0.example.isEmpty }.map(\.example))
  func `every example is true`(_ example: String) {
    #expect(outcome(example) == "true")
  }

  @Test func `every function has a sentence and an example`() {
    var shown: Set<String> = []
    for declaration in FunctionLibrary.standard.declarations where !declaration.example.isEmpty {
      shown.insert(declaration.name)
    }
    for declaration in FunctionLibrary.standard.declarations {
      #expect(declaration.summary.hasSuffix("."), "\(declaration.signature)")
      // dyn() is refused where examples are checked.
      #expect(shown.contains(declaration.name) || declaration.name == "dyn", "\(declaration.signature)")
    }
  }

  @Test func `no form is declared twice`() {
    var seen: Set<String> = []
    for declaration in FunctionLibrary.standard.declarations {
      let key =
        "\(declaration.receiver.map { "\($0)." } ?? "")\(declaration.name)\(declaration.parameters)\(declaration.isVariadic)"
      #expect(seen.insert(key).inserted, "\(declaration.signature)")
    }
  }
}
