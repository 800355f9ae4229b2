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
      ("steps: [{ u¦ses: file.read, with: { path: a } }]", "**uses**\n\nThe action, as plugin.action."),
      ("steps: [{ let: { na¦me: '${{ 1 + 2 }}' } }]", "**name**: `int`"),
      (
        recipe + "  - if: has(steps.book.tasks[0].max¦imum)\n    fail: no",
        """
        **maximum**: `double`

        The most that can be reached; absent for a task that is not marked in numbers.

        May be absent.
        """
      ),
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

  @Test(
    arguments: [
      ("steps:\n  - uses: file.raed", ["2:11 no action is named 'file.raed'; did you mean 'file.read'?"]),
      (
        "steps:\n  - call: faulty.yaml\n  - call: faulty.yaml",
        ["2:11 'faulty.yaml' has an error in line 1: a wrong key, in short"]
      ),
      (
        "steps:\n  - call: calling.yaml",
        ["1:1 'faulty.yaml' has an error in line 1: a wrong key, in short"]
      ),
    ] as [(String, [String])])
  func `finds what is at fault in this file, or in one that stops it`(_ text: String, _ found: [String]) {
    var (folder, source, _) = split(text)
    folder.texts["recipes/faulty.yaml"] = "stpes: [{ wait: 1s }]"
    folder.texts["recipes/calling.yaml"] = "steps: [{ call: faulty.yaml }]"
    let diagnostics = folder.service.diagnostics(of: source)
    #expect(
      diagnostics.map { fault in
        let place = fault.location.map { $0.source.position(at: $0.range.lowerBound) }
        let key = "a recipe has no key 'stpes'; did you mean 'steps'?"
        return
          "\(place?.line ?? 0):\(place?.column ?? 0) \(fault.message.replacing(key, with: "a wrong key, in short"))"
      } == found)
  }

  /// What is hidden of a text in messages moves what stands behind it.
  @Test func `tells where faults are in a text with a secret in it`() {
    let text = "connections:\n  markbook: { apiKey: a-long-secret-text }\n  csv: { folder: 1 }\n"
    let source = Source(name: "errand.yaml", text: text)
    let lines = RecipesFolder.all.service.diagnostics(of: source).compactMap { fault in
      fault.location.map { $0.source === source ? $0.source.position(at: $0.range.lowerBound).line : 0 }
    }
    #expect(lines.contains(3) && !lines.contains(0), "\(lines)")
  }
}
