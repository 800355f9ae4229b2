import Basics
import Expressions
import Testing

@Suite struct LibraryDeclarationTests {
  @Test func `no form is declared twice`() {
    var seen: Set<String> = []
    for form in FunctionLibrary.standard.declarations {
      let types = (form.receiver.map { [$0] } ?? []) + form.parameters
      let key = "\(form.name) \(form.receiver == nil) \(types) \(form.isVariadic)"
      #expect(seen.insert(key).inserted, "\(form.signature)")
    }
  }
}
