import Basics
import RecipeEditing
import Testing

/// Faults as editors show them.
@Suite struct ShownDiagnosticsTests {
  @Test func `places count lines and UTF-16 units from 0, and a note has its own file`() {
    let source = Source(name: "/srv/a.yaml", text: "x: 1\n# 😀é\ny: \"😀\" z\n")
    let other = Source(name: "/srv/b.yaml", text: "é: 1\n")
    let offset = Array("x: 1\n# 😀é\ny: \"😀\" ".utf8).count
    let fault = Diagnostic(
      "'/srv/b.yaml' is odd", at: Diagnostic.Location(source, offset..<offset + 1), severity: .warning,
      notes: [Diagnostic.Note("here", at: Diagnostic.Location(other, 3..<4)), Diagnostic.Note("and so on")],
      fixes: [Diagnostic.Fix("write 'w'", [Diagnostic.Edit(offset..<offset + 1, "w")])])
    let shown = EditorFaultAnswer(fault, TextPositions(source.bytes), paths: ServerPaths(root: "/srv"))
    #expect(shown.severity == "warning" && shown.message == "'b.yaml' is odd")
    #expect(shown.from.position == TextPosition(line: 2, character: 8))
    #expect(shown.to.position == TextPosition(line: 2, character: 9))
    #expect(shown.notes.map(\.path) == ["b.yaml", nil] && shown.notes.first?.from?.column == 2)
    #expect(shown.fixes.first?.isCertain == true && shown.fixes.first?.edits.first?.from == shown.from)
    #expect(shown.fixes.first?.edits.first?.text == "w")
  }

  @Test func `errors in other files count if the text makes them`() {
    let folder = EditedFolder(
      """
      recipe: report
      steps:
        - let: { n: 1 }
      outputs: { n: "${{ n }}" }
      %% caller.yaml
      recipe: caller
      steps:
        - { id: r, call: recipe.yaml }
        - let: { m: "${{ steps.r.n + 1 }}" }
        - let: { o: "${{ nothing }}" }
      """)
    let before = folder.editorFolder
    func elsewhere(_ text: String) -> [String] {
      let source = Source(name: "recipe.yaml", text: text)
      let after = EditedFolder(folder.files.merging(["recipe.yaml": source]) { $1 })
      return EditorService(after.editorFolder).errorsElsewhere(of: source, before: before).map {
        "\($0.location?.source.name ?? "") \($0.message)"
      }
    }
    #expect(elsewhere("recipe: report\nsteps:\n  - let: { n: 2 }\noutputs: { n: \"${{ n }}\" }\n") == [])
    let broken = elsewhere("recipe: report\nsteps:\n  - let: { n: 2 }\n")
    #expect(broken.count == 1 && broken.first?.hasPrefix("caller.yaml ") == true, "\(broken)")
  }
}
