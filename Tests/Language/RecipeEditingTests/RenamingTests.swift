import Basics
import Foundation
import RecipeEditing
import Recipes
import Testing

@Suite struct RenamingTests {
  /// A folder with `¦` where the cursor is, a new name, and the lines that change.
  struct Case: CustomTestStringConvertible, Sendable {
    var text: String
    var name: String
    var changed: [String]

    init(_ text: String, _ name: String, _ changed: String...) {
      (self.text, self.name, self.changed) = (text, name, changed)
    }

    var testDescription: String { text }
  }

  @Test(arguments: [
    Case(
      "steps:\n  - { id: ¦a, uses: file.list, with: { folder: x } }\n  - fail: ${{ string(steps.a.entries) + steps['a'].entries }}",
      "b", "recipe.yaml:2:   - { id: b, uses: file.list, with: { folder: x } }",
      "recipe.yaml:3:   - fail: ${{ string(steps.b.entries) + steps['b'].entries }}"),
    // A quoted key stays quoted, and an escape in it is written out.
    Case(
      "inputs:\n  \"day\": string\nsteps:\n  - fail: \"${{ inputs[\\\"d¦ay\\\"] + inputs.\\u0064ay + inputs['d\\\\u0061y'] }}\"",
      "date", "recipe.yaml:2:   \"date\": string",
      "recipe.yaml:4:   - fail: \"${{ inputs[\\\"date\\\"] + inputs.date + inputs['date'] }}\""),
    Case(
      "inputs: { day: string }\nsteps:\n  - fail: '${{ inputs[''d¦ay''] }}'", "date",
      "recipe.yaml:1: inputs: { date: string }", "recipe.yaml:3:   - fail: '${{ inputs[''date''] }}'"),
    Case(
      "inputs: { day: string }\nsteps:\n  - fail: >-\n      ${{ inputs.d¦ay +\n      inputs.day }}", "date",
      "recipe.yaml:1: inputs: { date: string }", "recipe.yaml:4:       ${{ inputs.date +",
      "recipe.yaml:5:       inputs.date }}"),
    Case(
      "steps:\n  - let: { \"¦a\": 1 }\n  - if: a > 1\n    wait: 1s", "b", "recipe.yaml:2:   - let: { \"b\": 1 }",
      "recipe.yaml:3:   - if: b > 1"),
    // Callers and tests.
    Case(
      "steps: [{ call: shop.yaml, with: { 'day': a } }]\n%% shop.yaml\ninputs: { d¦ay: string }\nsteps: [{ wait: 1s }]\n"
        + "%% shop.test.yaml\nrecipe: shop.yaml\ninputs: { day: a }\ncases: [{ case: a, do: [{ run: { day: b } }] }]\n"
        + "%% other.yaml\ninputs: { day: string }\nsteps: [{ wait: 1s }]", "date",
      "recipe.yaml:1: steps: [{ call: shop.yaml, with: { 'date': a } }]",
      "shop.test.yaml:2: inputs: { date: a }", "shop.test.yaml:3: cases: [{ case: a, do: [{ run: { date: b } }] }]",
      "shop.yaml:1: inputs: { date: string }"),
    // From a test, the paths of steps in called recipes.
    Case(
      "steps: [{ id: o, call: shop.yaml }]\n%% shop.yaml\nsteps: [{ id: ask, approve: { prompt: a } }, { id: o, wait: 1s }]\n"
        + "%% o.test.yaml\nrecipe: recipe.yaml\n"
        + "cases: [{ case: a, do: [run, { approve: o/a¦sk, expect: { steps: { o/ask: succeeded, o: running }, that: \"steps['o/ask'].attempts == 1\" } }] }]",
      "question",
      "o.test.yaml:2: cases: [{ case: a, do: [run, { approve: o/question, expect: { steps: { o/question: succeeded, o: running }, that: \"steps['o/question'].attempts == 1\" } }] }]",
      "shop.yaml:1: steps: [{ id: question, approve: { prompt: a } }, { id: o, wait: 1s }]"),
    // Ids that a type holds.
    Case(
      "steps:\n  - id: a\n    steps: [{ id: ¦b, uses: file.list, with: { folder: x } }]\n  - let: { c: \"${{ steps.a }}\" }\n  - if: c.b.entries.size() > 0\n    wait: 1s",
      "d", "recipe.yaml:3:     steps: [{ id: d, uses: file.list, with: { folder: x } }]",
      "recipe.yaml:5:   - if: c.d.entries.size() > 0"),
    Case(
      "steps:\n  - id: a\n    uses: file.list\n    with: { folder: x }\n    repeat: { carry: { ¦n: 1 }, next: { n: \"${{ n + 1 }}\" }, until: n > 3 }\n  - if: steps.a.n > 1\n    wait: 1s",
      "m", "recipe.yaml:5:     repeat: { carry: { m: 1 }, next: { m: \"${{ m + 1 }}\" }, until: m > 3 }",
      "recipe.yaml:6:   - if: steps.a.m > 1"),
    // Two blocks declare the same name: only the one at the cursor is renamed.
    Case(
      "steps:\n  - steps: [{ let: { a: 1 } }, { if: a == 1, wait: 1s }]\n  - steps: [{ let: { ¦a: 2 } }, { if: a == 1, wait: 1s }]",
      "b", "recipe.yaml:3:   - steps: [{ let: { b: 2 } }, { if: b == 1, wait: 1s }]"),
    Case(
      "steps:\n  - let: { ¦a: 1, b: \"${{ a + 1 }}\" }\n  - if: \"[1].map(a, a).size() > a\"\n    wait: 1s", "c",
      "recipe.yaml:2:   - let: { c: 1, b: \"${{ c + 1 }}\" }", "recipe.yaml:3:   - if: \"[1].map(a, a).size() > c\""),
    Case(
      "steps:\n  - forEach: \"[1]\"\n    as: ¦a\n    where: a > 1\n    wait: 1s", "b",
      "recipe.yaml:3:     as: b", "recipe.yaml:4:     where: b > 1"),
    Case(
      "steps:\n  - { forEach: \"[1]\", as: ¦a, where: a > 1, steps: [{ if: a > 2, wait: 1s }] }", "b",
      "recipe.yaml:2:   - { forEach: \"[1]\", as: b, where: b > 1, steps: [{ if: b > 2, wait: 1s }] }"),
    // While a line is half written.
    Case(
      "inputs: { d¦ay: string }\nst\nsteps:\n  - fail: ${{ inputs.day }}", "date",
      "recipe.yaml:1: inputs: { date: string }", "recipe.yaml:4:   - fail: ${{ inputs.date }}"),
    Case(
      "on: [{ id: ¦a, cron: \"0 7 * * *\" }]\nsteps: [{ wait: 1s }]\n%% a.test.yaml\nrecipe: recipe.yaml\n"
        + "cases: [{ case: a, do: [serve, { trigger: a }] }]", "b",
      "a.test.yaml:2: cases: [{ case: a, do: [serve, { trigger: b }] }]",
      "recipe.yaml:1: on: [{ id: b, cron: \"0 7 * * *\" }]"),
    Case(
      "steps: [{ uses: http.get, connection: sh¦op, with: { url: /a } }]\n"
        + "%% errand.yaml\nconnections: { shop: { plugin: http, baseURL: \"https://a.example\" } }", "depot",
      "errand.yaml:1: connections: { depot: { plugin: http, baseURL: \"https://a.example\" } }",
      "recipe.yaml:1: steps: [{ uses: http.get, connection: depot, with: { url: /a } }]"),
    Case(
      "steps: [{ uses: http.get, with: { url: \"/${{ secrets.A.size() }}\" } }]\n"
        + "%% errand.yaml\nconnections: { http: { baseURL: \"https://a.example\", token: \"${{ secrets.¦A }}\" } }\nsecrets: { commands: { A: [pass, a] } }",
      "B_1",
      "errand.yaml:1: connections: { http: { baseURL: \"https://a.example\", token: \"${{ secrets.B_1 }}\" } }",
      "errand.yaml:2: secrets: { commands: { B_1: [pass, a] } }",
      "recipe.yaml:1: steps: [{ uses: http.get, with: { url: \"/${{ secrets.B_1.size() }}\" } }]"),
    // Secrets that are named where no expression is evaluated.
    Case(
      "inputs: { t: { type: string, secret: true } }\non: [{ webhook: { verify: { token: { header: X-T, secret: [\"${{ secrets.¦A }}\", \"${{ secrets.B }}\"] } } } }]\nsteps: [{ wait: 1s }]\n"
        + "%% a.test.yaml\nrecipe: recipe.yaml\nsecrets: { A: x }\ncases: [{ case: a, do: [{ run: { t: \"@secret:A\" } }] }]\n"
        + "%% errand.yaml\nsecrets: { commands: { A: [pass, a] } }",
      "C", "a.test.yaml:2: secrets: { C: x }",
      "a.test.yaml:3: cases: [{ case: a, do: [{ run: { t: \"@secret:C\" } }] }]",
      "errand.yaml:1: secrets: { commands: { C: [pass, a] } }",
      "recipe.yaml:2: on: [{ webhook: { verify: { token: { header: X-T, secret: [\"${{ secrets.C }}\", \"${{ secrets.B }}\"] } } } }]"
    ),
    // A test is followed by its form while its recipe has an error.
    Case(
      "steps:\n  - id: p\n    forEach: \"[1]\"\n    as: item\n    steps: [{ id: ¦ask, approve: { prompt: a } }]\n"
        + "%% a.test.yaml\nrecipe: recipe.yaml\n"
        + "cases: [{ case: a, do: [run, { approve: 'p[0]/ask', expect: { that: [\"steps['p[0]/ask'].attempts == 1\", has(steps.ask)] } }] }]",
      "question",
      "a.test.yaml:2: cases: [{ case: a, do: [run, { approve: 'p[0]/question', expect: { that: [\"steps['p[0]/question'].attempts == 1\", has(steps.question)] } }] }]",
      "recipe.yaml:5:     steps: [{ id: question, approve: { prompt: a } }]"),
    // The keys of the outputs that a test expects.
    Case(
      "steps:\n  - id: all\n    forEach: \"[1]\"\n    as: n\n    steps:\n      - { id: ¦book, uses: file.list, with: { folder: x } }\n"
        + "outputs: { all: \"${{ steps.all }}\", other: { book: 1 } }\n%% a.test.yaml\nrecipe: recipe.yaml\n"
        + "cases: [{ case: a, do: [{ run: {}, expect: { outputs: { all: [{ book: { entries: [] } }], other: { book: 1 } }, that: \"outputs.all[0].book.entries.size() == 0\" } }] }]",
      "shelf",
      "a.test.yaml:2: cases: [{ case: a, do: [{ run: {}, expect: { outputs: { all: [{ shelf: { entries: [] } }], other: { book: 1 } }, that: \"outputs.all[0].shelf.entries.size() == 0\" } }] }]",
      "recipe.yaml:6:       - { id: shelf, uses: file.list, with: { folder: x } }"),
    Case(
      "steps: [{ id: s, call: shop.yaml }, { if: steps.s.size == 1, wait: 1s }]\n%% shop.yaml\nsteps: [{ wait: 1s }]\noutputs: { ¦size: 1 }\n"
        + "%% shop.test.yaml\nrecipe: shop.yaml\ncases: [{ case: a, do: [{ run: {}, expect: { outputs: { size: 1 }, that: outputs.size == 1 } }] }]",
      "count", "recipe.yaml:1: steps: [{ id: s, call: shop.yaml }, { if: steps.s.count == 1, wait: 1s }]",
      "shop.test.yaml:2: cases: [{ case: a, do: [{ run: {}, expect: { outputs: { count: 1 }, that: outputs.count == 1 } }] }]",
      "shop.yaml:2: outputs: { count: 1 }"),
  ])
  func `changes every place that names it`(_ sample: Case) throws {
    let folder = EditedFolder(sample.text)
    let edits = try folder.service.rename(in: folder.source, at: folder.offset, to: sample.name)
    let edited = folder.edited(edits)
    var changed: [String] = []
    for (path, source) in folder.files.sorted(by: { $0.key < $1.key }) {
      guard let other = edited.files[path] else { continue }
      let lines = zip(
        source.bytes.split(separator: 10, omittingEmptySubsequences: false),
        other.bytes.split(separator: 10, omittingEmptySubsequences: false))
      for (index, (old, new)) in lines.enumerated() where old != new {
        changed.append("\(path):\(index + 1): \(String(decoding: new, as: UTF8.self))")
      }
    }
    #expect(changed == sample.changed)
  }

  @Test(arguments: [
    Case("steps: [{ ¦wait: 1s }]", "a", "nothing that can be renamed is named here"),
    Case(
      "recipe: ¦a\nsteps: [{ wait: 1s }]", "b",
      "a recipe isn't renamed here, because its runs are recorded under its name"),
    Case(
      "inputs: { ¦a: int }\nsteps: [{ wait: 1s }]", "A-b",
      "'A-b' isn't a name: a name begins with a lowercase letter, and letters and digits follow, as in 'taskKey2'; write 'aB'"
    ),
    Case(
      "inputs: { ¦a: int }\nsteps: [{ wait: 1s }]", "steps",
      "'steps' has a meaning of its own in recipes; choose another name"),
    Case("inputs: { ¦a: int, b: int }\nsteps: [{ wait: 1s }]", "b", "'b' is another input"),
    Case("steps: [{ id: ¦a, wait: 1s }, { id: b, wait: 1s }]", "b", "'b' is the id of another step"),
    Case(
      "steps: [{ let: { ¦a: 1 } }, { let: { b: 1 } }]", "b",
      "'a' can't become 'b': recipe.yaml:1: 'b' is declared already; shadowing is not allowed, choose another name"),
    Case(
      "steps: [{ let: { ¦a: 1 } }, { if: \"[1].map(b, a).size() > 0\", wait: 1s }]", "b",
      "'b' has another meaning where 'a' is read; choose another name"),
    Case(
      "steps: [{ let: { b: 1 } }, { forEach: \"[1]\", as: ¦item, wait: 1s }]", "b",
      "'item' can't become 'b': recipe.yaml:1: 'b' is declared already; shadowing is not allowed, choose another name"),
    Case(
      "steps: [{ id: all, steps: [{ id: ¦book, uses: file.list, with: { folder: x } }] }, { fail: \"${{ nothing }}\" }]\n"
        + "outputs: { all: \"${{ steps.all }}\" }\n%% a.test.yaml\nrecipe: recipe.yaml\n"
        + "cases: [{ case: a, do: [{ run: {}, expect: { outputs: { all: { book: { entries: [] } } } } }] }]", "shelf",
      "'book' can't be renamed while 'recipe.yaml' has errors: a.test.yaml:2 may name it too"),
    Case(
      "steps: [{ id: all, steps: [{ id: ¦book, uses: file.list, with: { folder: x } }] }, { fail: \"${{ nothing }}\" }]\n"
        + "outputs: { all: \"${{ steps.all }}\" }\n%% a.test.yaml\nrecipe: recipe.yaml\n"
        + "cases: [{ case: a, do: [{ run: {}, expect: { that: outputs.all.book.entries.size() == 1 } }] }]", "shelf",
      "'book' can't be renamed while 'recipe.yaml' has errors: a.test.yaml:2 may name it too"),
    Case(
      "steps: [{ uses: http.get, with: { url: /a } }]\n"
        + "%% errand.yaml\nconnections: { ¦http: { baseURL: \"https://a.example\" } }", "shop",
      "'http' is the connection of the plugin of that name, and steps that name no connection use it"),
    Case(
      "steps: [{ fail: \"${{ secrets.¦A.size() }}\" }]\n%% errand.yaml\nsecrets: { commands: { A: [pass, a] } }", "a-b",
      "'a-b' isn't a name of a secret: letters, digits and _"),
    Case(
      "steps: [{ fail: \"${{ secrets.¦A.size() }}\" }]", "B",
      "'A' can't be renamed here: the secret's value is stored under this name, and no command of 'secrets' in errand.yaml gives it"
    ),
    Case(
      "inputs: { ¦message: string }\nsteps: [{ wait: 1s }]\n%% errand.yaml\nonFailure: recipe.yaml", "note",
      "'message' can't be renamed here: 'onFailure' in errand.yaml names this recipe, which is given its inputs by these names"
    ),
    Case(
      "inputs: { d¦ay: string }\nsteps:\n  - fail: ${{ inputs.day }}\n  - let: { a: [inputs.day }\n", "date",
      "'day' can't be renamed while 'recipe.yaml' isn't YAML; mend that first"),
  ])
  func `says why something can't be renamed`(_ sample: Case) {
    let folder = EditedFolder(sample.text)
    let error = #expect(throws: RenameError.self) {
      _ = try folder.service.rename(in: folder.source, at: folder.offset, to: sample.name)
    }
    #expect(error?.message == sample.changed.first)
  }

  /// Every tenth declaration gets a new name, and every tenth a name that something else has; all with EVERY_RENAMING.
  @Test func `after any renaming the recipes of the repository check as before, and it can be undone`() async throws {
    let folder = EditedFolder.repository
    #expect(folder.files.count > 50)
    let before = folder.diagnostics
    var (count, refused) = (0, 0)
    for (path, source) in folder.files.sorted(by: { $0.key < $1.key }) where EditedFileKind(path: path) == .recipe {
      let names = folder.names(in: source)
      for (index, offset) in names.enumerated() {
        count += 1
        // Lets other tests run during this long loop.
        await Task.yield()
        let taken = names[(index + 1) % names.count]
        for name in Self.isThorough || count % 10 == 0 ? ["anotherName"] : [] {
          let edits = try folder.service.rename(in: source, at: offset, to: name)
          try check(edits, of: source, at: offset, in: folder, before)
        }
        for name in Self.isThorough || count % 10 == 1 ? [folder.name(in: source, at: taken)] : [] {
          guard let edits = try? folder.service.rename(in: source, at: offset, to: name) else {
            refused += 1
            continue
          }
          if !edits.isEmpty { try check(edits, of: source, at: offset, in: folder, before) }
        }
      }
    }
    #expect(count > 150)
    #expect(refused > 2)
  }

  private func check(
    _ edits: [FileEdits], of source: Source, at offset: Int, in folder: EditedFolder, _ before: [String: [Diagnostic]]
  ) throws {
    let edited = folder.edited(edits)
    let stem = source.name.split(separator: "/").last?.split(separator: ".").first.map(String.init) ?? ""
    for (path, source) in edited.files where String(decoding: source.bytes, as: UTF8.self).contains(stem) {
      #expect(edited.diagnostics(of: source).count == before[path]?.count, "\(path) after \(edits)")
    }
    let own = try #require(edits.first { $0.path == source.name })
    let moved = own.edits.filter { $0.range.upperBound <= offset }.reduce(offset) {
      $0 + $1.text.utf8.count - $1.range.count
    }
    let renamed = try #require(edited.files[source.name])
    let back = try edited.service.rename(in: renamed, at: moved, to: folder.name(in: source, at: offset))
    let undone = edited.edited(back)
    for (path, source) in folder.files { #expect(undone.files[path]?.bytes == source.bytes, "\(path) after \(edits)") }
  }

  private static let isThorough = ProcessInfo.processInfo.environment["EVERY_RENAMING"] != nil
}

extension EditedFolder {
  /// The places of the names that a recipe declares.
  fileprivate func names(in source: Source) -> [Int] {
    let observer = CheckObserver()
    var environment = environment
    environment.observer = observer
    _ = Recipe.check(source, in: environment)
    let outline = TextOutline(source.bytes)
    let outputs = outline.child("outputs", of: 0).map { outline.nodes[$0].children } ?? []
    return observer.declarations.filter { $0.location.source === source }.map(\.location.range.lowerBound)
      + outputs.map { outline.nodes[$0].nameRange.lowerBound }
  }

  fileprivate func name(in source: Source, at offset: Int) -> String {
    String(
      decoding: source.bytes[offset...].prefix {
        ("a"..."z").contains(Character(UnicodeScalar($0 | 0x20))) || ("0"..."9").contains(Character(UnicodeScalar($0)))
      }, as: UTF8.self)
  }
}
