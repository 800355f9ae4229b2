import Basics
import RecipeEditing
import Testing

@Suite struct NavigationTests {
  /// A folder with `¦` at the cursor, and the places found from there.
  struct Case: CustomTestStringConvertible, Sendable {
    var text: String
    var found: [String]

    init(_ text: String, _ found: String...) { (self.text, self.found) = (text, found) }

    var testDescription: String { text }
  }

  private static let shop = """
    recipe: shop
    inputs: { day: string }
    steps:
      - id: book
        uses: json.write
        with: { path: a.json, value: "${{ inputs.day }}" }
    outputs: { size: "${{ steps.book.bytes }}" }
    """

  @Test(arguments: [
    // Within a recipe.
    Case("inputs: { day: string }\nsteps:\n  - fail: ${{ inputs.d¦ay }}", "recipe.yaml:1:11 day"),
    Case("inputs: { day: string }\nsteps:\n  - fail: ${{ inputs['da¦y'] }}", "recipe.yaml:1:11 day"),
    Case("inputs:\n  \"day\": string\nsteps:\n  - fail: ${{ ¦inputs.day }}"),
    Case("inputs:\n  \"day\": string\nsteps:\n  - fail: ${{ inputs.day¦ }}", "recipe.yaml:2:4 day"),
    Case("steps:\n  - { id: a, wait: 1s }\n  - fail: ${{ string(steps.¦a) }}", "recipe.yaml:2:11 a"),
    Case("steps:\n  - { id: a, wait: 1s }\n  - if: has(steps.¦a)\n    wait: 1s", "recipe.yaml:2:11 a"),
    Case("steps:\n  - let: { a: 1, b: \"${{ ¦a + 1 }}\" }", "recipe.yaml:2:12 a"),
    Case("steps:\n  - forEach: [1, 2].map(a, a¦)\n    as: a\n    wait: 1s"),
    Case(
      "steps:\n  - { forEach: \"[1]\", as: a, indexAs: i, steps: [{ if: a == ¦i, wait: 1s }] }", "recipe.yaml:2:39 i"),
    // Two blocks declare the same name: the block around the cursor counts.
    Case(
      "steps:\n  - steps: [{ let: { a: 1 } }, { if: a == 1, wait: 1s }]\n"
        + "  - steps: [{ let: { a: 2 } }, { if: ¦a == 1, wait: 1s }]", "recipe.yaml:3:22 a"),
    Case(
      "steps:\n  - uses: file.list\n    with: { folder: a }\n    repeat:\n      carry: { n: 1 }\n"
        + "      next: { ¦n: \"${{ n + 1 }}\" }\n      until: n > 2", "recipe.yaml:5:16 n"),
    Case(
      "steps:\n  - id: a\n    uses: file.list\n    with: { folder: a }\n    repeat:\n      carry: { n: 1 }\n"
        + "      until: n > 2\n  - if: steps.a.¦n > 1\n    wait: 1s", "recipe.yaml:6:16 n"),
    Case(
      "steps:\n  - id: a\n    steps: [{ id: b, uses: file.list, with: { folder: a } }]\n"
        + "  - if: steps.a.¦b.entries.size() > 1\n    wait: 1s", "recipe.yaml:3:19 b"),
    Case(
      "steps:\n  - id: a\n    parallel: { c: [{ id: b, uses: file.list, with: { folder: a } }] }\n"
        + "  - if: steps.a.c.¦b.entries.size() > 1\n    wait: 1s", "recipe.yaml:3:27 b"),
    Case(
      "steps:\n  - id: a\n    parallel: { c: [{ id: b, uses: file.list, with: { folder: a } }] }\n"
        + "  - if: steps.a.¦c.b.entries.size() > 1\n    wait: 1s", "recipe.yaml:3:17 c"),
    // While a line is half written.
    Case("inputs: { day: string }\nsteps:\n  - fail: ${{ inputs.¦day }}\n  - us\n", "recipe.yaml:1:11 day"),
    Case("inputs: { day: string }\nst\nsteps:\n  - fail: ${{ inputs.¦day }}", "recipe.yaml:1:11 day"),
    // Other files.
    Case("steps:\n  - call: shop¦.yaml\n%% shop.yaml\n\(shop)", "shop.yaml:1:9 shop"),
    Case("steps:\n  - { call: shop.yaml, with: { ¦day: a } }\n%% shop.yaml\n\(shop)", "shop.yaml:2:11 day"),
    Case(
      "steps:\n  - { id: s, call: shop.yaml, with: { day: a } }\n  - if: steps.s.siz¦e > 1\n    wait: 1s\n%% shop.yaml\n"
        + shop, "shop.yaml:7:12 size"),
    Case("on: [{ afterRecipe: sho¦p }]\nsteps: [{ wait: 1s }]\n%% shop.yaml\n\(shop)", "shop.yaml:1:9 shop"),
    Case("on: [{ cron: \"0 7 * * *\", except: da¦ys.ics }]\n%% days.ics\nBEGIN:VCALENDAR", "days.ics:1:1 "),
    Case("%% shop.yaml\n\(shop)\n%% shop.test.yaml\nrecipe: s¦hop.yaml", "shop.yaml:1:9 shop"),
    Case("%% t/shop.yaml\n\(shop)\n%% t/a/shop.test.yaml\nrecipe: ../s¦hop.yaml", "t/shop.yaml:1:9 shop"),
    Case(
      "%% shop.yaml\n\(shop)\n%% shop.test.yaml\nrecipe: shop.yaml\ninputs: { d¦ay: a }", "shop.yaml:2:11 day"),
    Case(
      "%% shop.yaml\n\(shop)\n%% shop.test.yaml\nrecipe: shop.yaml\ncases: [{ case: a, do: [{ run: { d¦ay: a } }] }]",
      "shop.yaml:2:11 day"),
    Case(
      "%% shop.yaml\n\(shop)\n%% shop.test.yaml\nrecipe: shop.yaml\n"
        + "cases: [{ case: a, do: [{ run: { day: a }, expect: { steps: { bo¦ok: succeeded } } }] }]",
      "shop.yaml:4:9 book"),
    Case(
      "%% shop.yaml\n\(shop)\n%% shop.test.yaml\nrecipe: shop.yaml\n"
        + "cases: [{ case: a, do: [{ run: { day: a }, expect: { that: \"steps['b¦ook'].attempts == 1\" } }] }]",
      "shop.yaml:4:9 book"),
    Case(
      "%% shop.yaml\n\(shop)\n%% shop.test.yaml\nrecipe: shop.yaml\n"
        + "cases: [{ case: a, do: [{ run: { day: a }, expect: { that: outputs.siz¦e > 1 } }] }]", "shop.yaml:7:12 size"),
    Case(
      "%% shop.yaml\n\(shop)\n%% shop.test.yaml\nrecipe: shop.yaml\ncases: [{ case: a, do: [{ approve: b¦ook }] }]",
      "shop.yaml:4:9 book"),
    Case(
      "%% outer.yaml\nsteps: [{ id: o, call: shop.yaml, with: { day: a } }]\n%% shop.yaml\n\(shop)\n"
        + "%% outer.test.yaml\nrecipe: outer.yaml\ncases: [{ case: a, do: [{ approve: { step: o/b¦ook } }] }]",
      "shop.yaml:4:9 book"),
    Case(
      "steps:\n  - { uses: http.get, connection: sh¦op, with: { url: /a } }\n"
        + "%% errand.yaml\nconnections: { shop: { plugin: http, baseURL: \"https://a.example\" } }",
      "errand.yaml:1:16 shop"),
    Case(
      "%% recipes/a.yaml\nsteps:\n  - { uses: ht¦tp.get, with: { url: /a } }\n"
        + "%% errand.yaml\nconnections: { http: { baseURL: \"https://a.example\" } }", "errand.yaml:1:16 http"),
    Case(
      "steps: [{ fail: \"${{ secrets.A¦.size() }}\" }]\n%% errand.yaml\nsecrets: { commands: { A: [pass, a] } }",
      "errand.yaml:1:24 A"),
    Case("inputs: { day: string }\nsteps:\n  - fail: ${{ inputs.da¦y + }}", "recipe.yaml:1:11 day"),
    Case("inputs: { day: string }\nsteps:\n  - fail: a ${{ inputs.day }} ${{ inputs.da¦y +", "recipe.yaml:1:11 day"),
    Case("steps: [{ wa¦it: 1s }]"),
  ])
  func `finds where a name is declared`(_ sample: Case) {
    let folder = EditedFolder(sample.text)
    let found = folder.service.definition(in: folder.source, at: folder.offset)
    #expect(found?.displayed == sample.found.first)
  }

  @Test(arguments: [
    Case(
      "inputs: { d¦ay: string }\nsteps:\n  - { id: a, uses: file.write, with: { path: a, text: \"${{ inputs.day }}\" } }\n"
        + "  - fail: ${{ inputs[\"day\"] + inputs.?day.orValue('') }}",
      "recipe.yaml:1:11 day", "recipe.yaml:3:67 day", "recipe.yaml:4:23 day", "recipe.yaml:4:39 day"),
    Case(
      "steps: [{ call: shop.yaml, with: { day: a } }]\n%% shop.yaml\n\(shop.replacing("day: string", with: "d¦ay: string"))\n"
        + "%% shop.test.yaml\nrecipe: shop.yaml\ninputs: { day: a }\ncases: [{ case: a, do: [{ run: { day: b } }] }]",
      "shop.yaml:2:11 day", "shop.yaml:6:46 day", "recipe.yaml:1:36 day", "shop.test.yaml:2:11 day",
      "shop.test.yaml:3:34 day"),
    Case(
      "%% shop.yaml\n\(shop.replacing("id: book", with: "id: ¦book"))\n"
        + "%% shop.test.yaml\nrecipe: shop.yaml\ncases: [{ case: a, do: [{ expect: { steps: { \"book\": succeeded } } }] }]",
      "shop.yaml:4:9 book", "shop.yaml:7:29 book", "shop.test.yaml:2:47 book"),
    Case(
      "steps: [{ call: shop.yaml, with: { day: a } }]\n%% shop.yaml\n\(shop.replacing("recipe: shop", with: "recipe: sh¦op"))\n"
        + "%% next.yaml\non: [{ afterRecipe: shop }]\nsteps: [{ wait: 1s }]\n%% shop.test.yaml\nrecipe: shop.yaml",
      "shop.yaml:1:9 shop", "next.yaml:1:21 shop", "recipe.yaml:1:17 shop.yaml", "shop.test.yaml:1:9 shop.yaml"),
    // The type of a block holds the ids of its steps, so a name for the block finds them too.
    Case(
      "steps:\n  - id: a\n    steps: [{ id: ¦b, uses: file.list, with: { folder: a } }]\n  - let: { c: \"${{ steps.a }}\" }\n"
        + "  - if: steps.a.b.entries.size() + c.b.entries.size() > 1\n    wait: 1s",
      "recipe.yaml:3:19 b", "recipe.yaml:5:17 b", "recipe.yaml:5:38 b"),
    Case(
      "steps: [{ fail: \"${{ secrets.TOK¦EN.size() }}\" }]\n%% errand.yaml\nconnections: { http: { token: \"${{ secrets.TOKEN }}\" } }\n"
        + "%% a.test.yaml\nrecipe: recipe.yaml\nsecrets: { TOKEN: a }",
      "errand.yaml:1:44 TOKEN", "a.test.yaml:2:12 TOKEN", "recipe.yaml:1:30 TOKEN"),
    Case(
      "on: [{ webhook: { verify: { github: \"${{ secrets.TOK¦EN }}\" } } }]\nsteps: [{ wait: 1s }]\n"
        + "%% errand.yaml\nsecrets: { commands: { TOKEN: [pass, a] } }",
      "errand.yaml:1:24 TOKEN", "recipe.yaml:1:50 TOKEN"),
    Case(
      "recipe: ¦told\nsteps: [{ wait: 1s }]\n%% errand.yaml\nonFailure: recipe.yaml",
      "recipe.yaml:1:9 told", "errand.yaml:1:12 recipe.yaml"),
    // Secrets of the same name of another errand.yaml are others.
    Case(
      "steps: [{ fail: \"${{ secrets.TOK¦EN.size() }}\" }]\n%% errand.yaml\nsecrets: { commands: { TOKEN: [pass, a] } }\n"
        + "%% other/errand.yaml\nsecrets: { commands: { TOKEN: [pass, a] } }\n"
        + "%% other/b.yaml\nsteps: [{ fail: \"${{ secrets.TOKEN.size() }}\" }]",
      "errand.yaml:1:24 TOKEN", "recipe.yaml:1:30 TOKEN"),
  ])
  func `finds where a name is used`(_ sample: Case) {
    let folder = EditedFolder(sample.text)
    let found = folder.service.references(in: folder.source, at: folder.offset, withDeclaration: true)
    #expect(found.map(\.displayed) == sample.found)
    let uses = folder.service.references(in: folder.source, at: folder.offset, withDeclaration: false)
    let declaration = folder.service.definition(in: folder.source, at: folder.offset)?.displayed
    #expect(uses.map(\.displayed) == sample.found.filter { $0 != declaration })
  }

  @Test(arguments: [
    Case("steps: [{ id: \"bo¦ok\", wait: 1s }]", "recipe.yaml:1:16 book"),
    Case("inputs: { day: string }\nsteps: [{ fail: \"${{ inputs['da¦y'] }}\" }]", "recipe.yaml:2:30 day"),
    Case("steps: [{ uses: ¦http.get }]\n%% errand.yaml\nconnections: { http: { baseURL: \"https://a.example\" } }"),
    Case("recipe: a¦b\nsteps: [{ wait: 1s }]"),
    Case("steps: [{ fail: \"${{ ru¦n.id }}\" }]"),
  ])
  func `finds what can be renamed`(_ sample: Case) {
    let folder = EditedFolder(sample.text)
    let range = folder.service.renameRange(in: folder.source, at: folder.offset)
    #expect(range.map { Diagnostic.Location(folder.source, $0).displayed } == sample.found.first)
  }

  @Test func `finds the files that a file names`() {
    let folder = EditedFolder(
      """
      on: [{ cron: "0 7 * * *", except: "days.ics" }]
      steps:
        - call: a/b.yaml
        - { steps: [{ call: '../c.yaml' }] }
        - call: |
            no
      %% x/a.test.yaml
      recipe: ../recipe.yaml
      replay: run.json
      cases:
        - { case: a, replay: other.json }
      %% errand.yaml
      onFailure: recipes/alarm.yaml
      """)
    func links(_ path: String) -> [String] {
      guard let source = folder.files[path] else { return [] }
      return folder.service.links(in: source).map {
        "\(Diagnostic.Location(source, $0.range).displayed) → \($0.path)"
      }
    }
    #expect(
      links("recipe.yaml") == [
        "recipe.yaml:1:36 days.ics → days.ics", "recipe.yaml:3:11 a/b.yaml → a/b.yaml",
        "recipe.yaml:4:24 ../c.yaml → ../c.yaml",
      ])
    #expect(
      links("x/a.test.yaml") == [
        "x/a.test.yaml:1:9 ../recipe.yaml → recipe.yaml", "x/a.test.yaml:2:9 run.json → x/run.json",
        "x/a.test.yaml:4:24 other.json → x/other.json",
      ])
    #expect(links("errand.yaml") == ["errand.yaml:1:12 recipes/alarm.yaml → recipes/alarm.yaml"])
  }
}
