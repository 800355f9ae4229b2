import Basics
import RecipeEditing
import Testing

@Suite struct HoverTests {
  private static let recipe = """
    inputs: { markbook: { type: int, summary: The key. } }
    steps:
      - id: book
        uses: markbook.getMarkbook
        with: { markbookKey: "${{ inputs.markbook }}" }

    """

  private func split(_ text: String) -> (RecipesFolder, Source, Int) {
    let parts = text.split(separator: "¦", omittingEmptySubsequences: false).map(String.init)
    var folder = RecipesFolder.all
    folder.texts["recipes/a.yaml"] = parts.joined()
    return (folder, folder.source("recipes/a.yaml"), parts[0].utf8.count)
  }

  @Test(
    arguments: [
      ("ste¦ps: [{ wait: 1s }]", "**steps**: `list`\n\nThe steps, which run one after another."),
      ("steps: [{ wait: 1s, ti¦meout: 1h }]", "**timeout**: `duration`\n\nHow long it may take, with all its tries."),
      (
        "steps:\n  - uses: markbook.getMarkbook\n    with: { mark¦bookKey: 1 }",
        "**markbookKey**: `int` (required)\n\nKey of the markbook."
      ),
      (recipe + "  - let: { a: \"${{ inputs.mark¦book }}\" }", "**markbook**: `int`\n\nThe key."),
      (
        recipe + "  - let: { a: '${{ steps.book.tasks.ma¦p(t, t.name) }}' }",
        "```cel\nmap(x, value)\n```\n\nGives `list(string)`"
      ),
      (
        recipe + "  - let: { a: \"${{ 'a'.starts¦With('b') }}\" }",
        """
        ```cel
        string.startsWith(string) -> bool
        ```

        Whether the text begins with the other.

        For example: `'blueberry'.startsWith('blue')`
        """
      ),
      (
        recipe + "  - let: { a: '${{ [1.0].map(x, stats.me¦an([x])) }}' }",
        """
        ```cel
        stats.mean(list(int)) -> double
        stats.mean(list(double)) -> double
        ```

        The arithmetic mean.

        For example: `stats.mean([80, 90, 75]) > 81.6`
        """
      ),
      (recipe + "  - let: { a: '${{ nothing¦ }}' }", "**nothing**: `dyn`"),
      ("a¦", nil),
      ("¦", nil),
    ] as [(String, String?)])
  func `tells what is pointed at`(_ text: String, _ shown: String?) {
    let (folder, source, offset) = split(text)
    #expect(folder.service.hover(in: source, at: offset)?.text == shown)
  }

  @Test(
    arguments: [
      ("${{ 'a'.substring(1, ¦ }}", "string.substring(int, int) -> string", 1),
      ("${{ stats.round(stats.mean(¦", "stats.mean(list(int)) -> double", 0),
      ("${{ [1].map(x, ¦", "map(x, value)", 1),
      ("${{ (¦", nil, 0),
    ] as [(String, String?, Int)])
  func `shows the function whose arguments are written`(_ text: String, _ form: String?, _ argument: Int) {
    let (folder, source, offset) = split(Self.recipe + "  - let:\n      a: \(text)")
    let help = folder.service.signatureHelp(in: source, at: offset)
    #expect(help.map { $0.forms[$0.active].text } == form)
    #expect(help?.argument ?? 0 == argument)
  }

  @Test func `finds what is at fault in this file`() {
    let (folder, source, _) = split("steps:\n  - uses: file.raed¦\n")
    let found = folder.service.diagnostics(of: source)
    #expect(found.map(\.message) == ["no action is named 'file.raed'; did you mean 'file.read'?"])
  }
}
