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
      (
        "steps: [{ wait: 1s, ti¦meout: 1h }]",
        "**timeout**: `duration`\n\nHow long a step may take, with all its attempts."
      ),
      (
        "steps:\n  - uses: markbook.getMarkbook\n    with: { mark¦bookKey: 1 }",
        "**markbookKey**: `int` (required)\n\nKey of the markbook."
      ),
      (recipe + "  - let: { a: \"${{ inputs.mark¦book }}\" }", "**markbook**: `int`\n\nThe key."),
      (
        recipe + "  - let: { a: '${{ steps.book.tasks.ma¦p(t, t.name) }}' }",
        "```cel\nmap(x, value)\n```\n\nA list with a value for each item.\n\nGives `list(string)`"
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
      (
        "steps: [{ approve: { prompt: a, onTime¦out: fail } }]",
        "**onTimeout**: `fail | continue`\n\nWhether the step fails or the run continues when the time has run out.\n\nDefault: `fail`"
      ),
      ("steps: [{ approve: { prompt: a, onTimeout: fa¦il } }]", "**fail**\n\nThe step fails as timed out."),
      ("on: [{ every: 1h, overlap: sk¦ip }]", "**skip**\n\nThe slot starts nothing."),
      ("on:\n  - every: 1h\n    dstGap: 'shi¦ft'", "**shift**\n\nThe slot is due at the first instant after the gap."),
      (
        "steps: [{ wait: 1s, retry: { on: [network, server¦] } }]",
        "**server**\n\nThe service reported that it failed."
      ),
      (
        "steps:\n  - uses: file.read\n    retry:\n      on:\n        - time¦out",
        "**timeout**\n\nNo answer arrived in time."
      ),
      (
        "steps: [{ uses: shell.run, with: { effect: pu¦re } }]",
        "**pure**\n\nComputes only."
      ),
      ("on: [{ every: 1h, overlap: sk¦ }]", nil),
      ("steps: [{ u¦ses: file.read, with: { path: a } }]", "**uses**\n\nThe action, as plugin.action."),
      ("steps: [{ let: { na¦me: '${{ 1 + 2 }}' } }]", "**name**: `int`"),
      (
        recipe + "  - if: has(steps.book.tasks[0].max¦imum)\n    fail: no",
        """
        **maximum**: `double`

        The highest possible result; absent for a task that isn't marked in numbers.

        May be absent.
        """
      ),
      // Types that need more than their name to describe.
      (
        recipe + "  - let: { al¦l: '${{ steps.book.classes }}' }",
        """
        **all**: a list of objects

        - `key`: `int`. Key of the class in its markbook.
        - `name`: `string`. Name of the class, unique in the markbook.
        - `teacherName1`: `string`. The teacher's family name, according to the service; some schools enter the given name here.
        - `teacherName2`: `string`. The teacher's given name, according to the service.
        """
      ),
      (
        recipe + "  - let: { all: '${{ steps.book.cl¦asses }}' }",
        """
        **classes**: a list of objects

        The classes.

        - `key`: `int`. Key of the class in its markbook.
        - `name`: `string`. Name of the class, unique in the markbook.
        - `teacherName1`: `string`. The teacher's family name, according to the service; some schools enter the given name here.
        - `teacherName2`: `string`. The teacher's given name, according to the service.
        """
      ),
      (
        "steps:\n  - id: ro¦unds\n    forEach: '${{ [1, 2] }}'\n    uses: file.read\n    with: { path: a }",
        "**rounds**: a list of objects\n\n- `text`: `string`. The file's content, without a byte order mark.\n- `path`: `string`. Full path of the file."
      ),
      (
        "steps: [{ let: { x¦: \"${{ [[{'b': 1}]] }}\" } }]",
        "**x**: `list(list(object))`, whose objects have\n\n- `b`: `int`"
      ),
      (
        recipe + "  - let: { a¦: '${{ steps.book.tasks[0].?maximum }}' }", "**a**: `optional double`"
      ),
      (
        "steps: [{ let: { a: \"${{ optional.of([1]).or¦Value([2]) }}\" } }]",
        """
        ```cel
        (optional A).orValue(A) -> A
        ```

        The optional's value, or the given value if it is empty.

        For example: `{'a': 1}.?a.orValue(0) == 1`
        """
      ),
      ("a¦", nil),
      ("¦", nil),
    ] as [(String, String?)])
  func `tells what is pointed at`(_ text: String, _ displayed: String?) {
    let (folder, source, offset) = split(text)
    #expect(folder.service.hover(in: source, at: offset)?.text == displayed)
  }

  @Test(
    arguments: [
      (
        "inputs: { na¦me: { type: string, choices: [Ada, Alan], default: Ada, summary: The name to greet. } }",
        "**name**: `'Ada' or 'Alan'` (default `Ada`)\n\nThe name to greet."
      ),
      ("inputs: { name¦: int }", "**name**: `int` (required)"),
      (
        "inputs: { people¦: { type: [{ name: string }], default: [{ name: Ada }], summary: Who comes. } }",
        "**people**: a list of objects (default `[{ name: Ada }]`)\n\nWho comes.\n\n- `name`: `string`"
      ),
      (
        "inputs:\n  names¦:\n    type: list(string)\n    default:\n      - Ada\n      - Alan\n",
        "**names**: `list(string)`"
      ),
      ("inputs: { key¦: { type: string, secret: true, default: PLANTED } }", "**key**: `secret(string)`"),
      ("steps: [{ wait: 1s }]\noutputs: { to¦tal: \"${{ 1 + 2 }}\" }", "**total**: `int`"),
      ("steps: [{ wait: 1s }]\noutputs: { to¦tal: \"It is ${{ 1 + 2 }}\" }", "**total**: `string`"),
      // In a recipe with errors, and of a block.
      ("steps: [{ wiat: 1s }]\noutputs: { to¦tal: \"${{ 1 + 2 }}\" }", "**total**: `int`"),
      ("steps: [{ wiat: 1s }]\noutputs: { to¦tal: \"It is ${{ 1 + 2 }}\" }", nil),
      (
        "steps: [{ id: a, steps: [{ wait: 1s }], outputs: { to¦tal: \"${{ 1.5 }}\" } }]", "**total**: `double`"
      ),
      ("steps: [{ call: other.yaml, with: { cla¦ss: a } }]", "**class**: `string` (required)\n\nThe class."),
      ("steps: [{ call: other.yaml, with: { pag¦es: 1 } }]", "**pages**: `int` (default `3`)"),
      (
        "steps: [{ call: oth¦er.yaml }]",
        """
        **other.yaml**

        Does it.

        Inputs:

        - `pages`: `int`, default `3`
        - `class`: `string`, required. The class.
        """
      ),
      (
        "inputs: { day: { type: int, summary: Which day. } }\non: [{ every: 1h, inputs: { d¦ay: 1 } }]",
        "**day**: `int` (required)\n\nWhich day."
      ),
    ] as [(String, String?)])
  func `tells what inputs and outputs are`(_ text: String, _ displayed: String?) {
    var (folder, source, offset) = split(text)
    folder.texts["recipes/other.yaml"] = """
      summary: Does it.
      inputs:
        pages: { type: int, default: 3 }
        class: { type: string, summary: The class. }
      steps: [{ wait: 1s }]
      """
    #expect(folder.service.hover(in: source, at: offset)?.text == displayed)
  }

  @Test(
    arguments: [
      ("ha¦s(run.slot)", "```cel\nhas(a.b)\n```\n\nWhether a field that may be absent exists."),
      ("c¦el.bind(x, 1, x)", "```cel\ncel.bind(x, value, result)\n```\n\nThe result, where x is the value."),
      (
        "cel.bi¦nd(x, 1, x)",
        "```cel\ncel.bind(x, value, result)\n```\n\nThe result, where x is the value.\n\nGives `int`"
      ),
      (
        "[1].fil¦ter(x, x > 1)",
        "```cel\nfilter(x, condition)\n```\n\nThe items that meet the condition.\n\nGives `list(int)`"
      ),
      (
        "{'a': 1}.transformMap¦Entry(k, v, {k: v})",
        "```cel\ntransformMapEntry(key, x, {newKey: value})\n```\n\nA map of the entries computed from each key and its value.\n\nGives `map(string, int)`"
      ),
      ("in¦t( 1.5 )", "The double without its fraction.\n\nFor example: `int(-3.9) == -3`"),
      ("int¦(run.id)", "The decimal number in a text.\n\nFor example: `int('-12') == -12`"),
      (
        "int¦(true ? 1.5 : 2.5)",
        "Converts `uint`, `double`, `string`, `timestamp` or `duration` to `int`.\n\nFor example: `int(7u) == 7`"
      ),
      (
        "int¦()",
        "Converts `uint`, `double`, `string`, `timestamp` or `duration` to `int`.\n\nFor example: `int(7u) == 7`"
      ),
    ] as [(String, String?)])
  func `tells what looks like a function`(_ expression: String, _ displayed: String?) {
    let (folder, source, offset) = split("steps: [{ let: { a: \"${{ \(expression) }}\" } }]")
    let text = folder.service.hover(in: source, at: offset)?.text
    #expect(
      text == displayed || displayed.map { text?.hasSuffix("```\n\n\($0)") ?? false } ?? false, "\(text ?? "nil")")
  }

  @Test func `tells the functions of a namespace`() {
    let (folder, source, offset) = split("steps: [{ let: { a: \"${{ st¦ats.mean([1]) }}\" } }]")
    let text = folder.service.hover(in: source, at: offset)?.text ?? ""
    #expect(text.hasPrefix("**stats**: functions\n\n- `stats.mean`: The arithmetic mean.\n- "))
  }

  @Test func `tells of an action what a step needs to know`() {
    let (folder, source, offset) = split("steps: [{ uses: file.re¦ad }]")
    #expect(
      folder.service.hover(in: source, at: offset)?.text == """
        **file.read**

        Reads a file as UTF-8 text.

        Effect: `read`. Reads only; run again freely.

        Inputs:

        - `path`: `string`, required. Path of the file.

        Outputs:

        - `text`: `string`. The file's content, without a byte order mark.
        - `path`: `string`. Full path of the file.

        `errand actions file.read` tells more.
        """)
    let (_, board, place) = split("steps: [{ uses: stationboard.getBo¦ard }]")
    let text = folder.service.hover(in: board, at: place)?.text ?? ""
    #expect(text.split(separator: "\n").count < 45 && !text.contains("[]"), "\(text)")
  }

  @Test(
    arguments: [
      ("${{ has(¦", "has(a.b)", 0),
      ("${{ cel.bind(x, ¦", "cel.bind(x, value, result)", 1),
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

  /// Masking a secret in messages doesn't shift the places of later faults or remove the fixes of faults beside it.
  @Test func `finds what is at fault in a text with a secret in it`() {
    let text = "connections:\n  http: { token: PLANTED-secret, baseUrl: https://a.example }\n"
    let source = Source(name: "errand.yaml", text: text)
    let mended = text.replacing("baseUrl", with: "baseURL")
    let found = RecipesFolder.all.service.diagnostics(of: source)
    let displayed = found.map { fault in
      let place = fault.location.map { $0.source.position(at: $0.range.lowerBound) }
      let fixes = fault.fixes.map { String(decoding: $0.edits.applied(to: source.bytes), as: UTF8.self) }
      return "\(place?.line ?? 0):\(place?.column ?? 0) \(fault.message) \(fixes)"
    }
    #expect(
      displayed == [
        "2:18 'http.token' is a secret in plain text; put it into the environment or a file of secrets, and write ${{ secrets.NAME }} []",
        "2:34 'http' has no field 'baseUrl'; did you mean 'baseURL'? \([mended])",
      ])
    #expect(!found.contains { $0.description.contains("PLANTED") })
    let all = RecipesFolder.all.service.mendingEdits(of: source).applied(to: source.bytes)
    #expect(String(decoding: all, as: UTF8.self) == mended)
  }
}
