import ActionKit
import Basics
import Foundation
import PluginList
import Testing

@testable import Recipes
@testable import errand

@Suite(.timeLimit(.minutes(20))) struct NewRecipeTests {
  /// The faults and hints of a recipe.
  private static func findings(of text: String) -> String {
    let environment = RecipeEnvironment(catalog: ActionCatalog(everyPlugin)) { path throws(FileError) in
      throw FileError(.read, path, .system(2))
    }
    let checked = Recipe.check(Source(name: "recipe.yaml", text: text), in: environment)
    return Diagnostics(checked.diagnostics + (checked.recipe?.hints ?? [])).rendered()
  }

  @Test(arguments: RecipeTemplates.all.map(\.name)) func `every template checks, without a hint`(_ name: String) throws
  {
    let template = try #require(RecipeTemplates.all.first { $0.name == name })
    let text = StarterRecipe(template: template, name: "mine").text
    #expect(text.hasPrefix("recipe: mine\nsummary: "))
    #expect(NewRecipeTests.findings(of: text) == "")
    // A template is one of the repository's recipes, and each of these has a test.
    #expect(Files.exists(Program.root.appending(path: "recipes/tests/\(name).test.yaml").path))
  }

  @Test func `every template and every action gives a file in a fresh folder`() async throws {
    let program = try await Program()
    try program.write("zone: UTC\n", to: "errand.yaml")
    var sources = RecipeTemplates.all.map { ["--from", $0.name] }
    let actions = ActionCatalog(everyPlugin).plugins.flatMap(\.actions)
    sources += actions.map { ["--uses", $0.id] }
    var connections = ""
    for (index, source) in sources.enumerated() {
      let outcome = try await program.call(["new", "recipe", "r\(index)"] + source)
      #expect(outcome.code == 0, "\(source): \(outcome.error)")
      #expect(Files.exists(program.folder.appending(path: "recipes/r\(index).yaml").path), "\(source)")
      // The printed lines to paste into errand.yaml.
      let parts = outcome.error.components(separatedBy: "\nconnections:\n")
      #expect(parts.count == 2 || !outcome.error.contains("note: "), "\(outcome.error)")
      if parts.count == 2 { connections += parts[1].components(separatedBy: "\n\n")[0] + "\n" }
    }
    // Each connection once, with all the settings that any recipe needs of it; a template names its own secrets.
    var settings: [String: [String]] = [:]
    var name = ""
    for line in connections.split(separator: "\n").map(String.init) {
      if line.hasPrefix("    ") {
        let key = line.prefix { $0 != ":" } + ":"
        if settings[name]?.contains(where: { $0.hasPrefix(key) }) == false { settings[name]?.append(line) }
      } else {
        name = line
        settings[name] = settings[name] ?? []
      }
    }
    let pasted = settings.sorted { $0.key < $1.key }.flatMap { [$0.key] + $0.value }.joined(separator: "\n")
    try program.write("zone: UTC\nconnections:\n\(pasted)\n", to: "errand.yaml")
    let checked = try await program.call("check")
    #expect(checked.code == 0, "\(pasted)\n\(checked.error)")
    await program.remove()
  }

  @Test func `there are templates for what most begin with, and few recipes beside them`() throws {
    #expect(RecipeTemplates.all.count >= 10)
    let recipes = try FileManager.default.contentsOfDirectory(atPath: Program.root.appending(path: "recipes").path)
      .filter { $0.hasSuffix(".yaml") }
    #expect(recipes.count - RecipeTemplates.all.count <= 12)
  }

  @Test(arguments: RecipeTemplates.all.map(\.name)) func `a template takes every name`(_ name: String) throws {
    let template = try #require(RecipeTemplates.all.first { $0.name == name })
    for name in ["true", "NULL", "12", "1e3", "0x1F", "off", "-", "--", "2026-11-20"] {
      let text = StarterRecipe(template: template, name: name).text
      #expect(NewRecipeTests.findings(of: text) == "", "\(name)")
    }
  }

  /// A line of a template after its input was given.
  @Test(arguments: [
    ("hello", "name", "Ada", "  name: { type: string, default: \"Ada\", summary: The name to greet. }"),
    ("hello", "times", "3", "  times: { type: int, default: 3, min: 1, max: 10, summary: The number of greetings. }"),
    ("weekly-mail", "to", "[a@b.org]", "  to: { type: list(string), default: [a@b.org], summary: The recipients. }"),
    ("markbook-averages", "markbook", "7", "  markbook: { default: 7, type: int, summary: Key of the markbook. }"),
    ("markbook-averages", "markbook", "7", "    inputs: { markbook: 7 }"),
  ])
  func `an input that is given is its default`(
    _ template: String, _ input: String, _ answer: String, _ line: String
  ) throws {
    let template = try #require(RecipeTemplates.all.first { $0.name == template })
    var starter = StarterRecipe(template: template, name: "mine")
    let environment = RecipeEnvironment(catalog: ActionCatalog(everyPlugin)) { path throws(FileError) in
      throw FileError(.read, path, .system(2))
    }
    let recipe = Recipe.check(Source(name: "a.yaml", text: starter.text), in: environment).recipe
    starter.set(try #require(recipe?.inputs.first { $0.name == input }), to: answer)
    #expect(starter.text.split(separator: "\n").contains { $0 == line }, "\(starter.text)")
    #expect(NewRecipeTests.findings(of: starter.text) == "")
  }

  @Test func `a starter recipe for any action checks, without a hint`() {
    let actions = ActionCatalog(everyPlugin).plugins.flatMap(\.actions)
    #expect(actions.count > 60)
    for action in actions {
      #expect(NewRecipeCommand.canBegin(with: action), "\(action.id)")
      for cron in [nil, "30 17 * * FRI"] {
        let beginning = NewRecipeCommand.beginning(action, cron: cron, zone: "Europe/Bucharest")
        let text = beginning.text(beginning.name)
        if cron != nil, text.contains("\ninputs:\n") { continue }
        #expect(Recipe.isName(beginning.name))
        #expect(NewRecipeTests.findings(of: text) == "", "\(text)")
      }
    }
  }

  @Test func `an action, its example and its times make a recipe`() async throws {
    let program = try await Program()
    try program.write("zone: Europe/Bucharest\n", to: "errand.yaml")
    let made = try await program.call("new", "recipe", "--uses", "store.increment", "--cron", "0 7 * * *")
    #expect(made.code == 0, "\(made.error)")
    #expect(made.out == "recipes/increment.yaml\n")
    #expect(
      made.error == """
        next: errand check recipes/increment.yaml
              errand run recipes/increment.yaml --sandbox
              errand new test recipes/increment.yaml

        """)
    let path = program.folder.appending(path: "recipes/increment.yaml")
    #expect(
      try String(contentsOf: path, encoding: .utf8) == """
        recipe: increment
        summary: "Adds to a stored int exactly once, even if the program stops meanwhile; a missing value counts as 0."

        on:
          - cron: "0 7 * * *"
            zone: Europe/Bucharest
            paused: Its values are an example. Put in your own, then remove this line.

        steps:
          - id: answer
            uses: store.increment
            with:
              name: streak

        outputs:
          answer: ${{ steps.answer }}

        """)
    let run = try await program.call("run", "recipes/increment.yaml", "--sandbox", "--json")
    #expect(run.code == 0, "\(run.error)")
    await program.remove()
  }

  @Test func `a starter recipe returns the small parts of an answer, and counts its lists`() async throws {
    let program = try await Program()
    let made = try await program.call("new", "recipe", "--uses", "markbook.getMarkbook")
    #expect(made.code == 0, "\(made.error)")
    let text = try String(contentsOf: program.folder.appending(path: "recipes/get-markbook.yaml"), encoding: .utf8)
    #expect(text.contains("\n  students: ${{ steps.answer.students.size() }}\n"), "\(text)")
    #expect(text.contains("\n  markbookName: ${{ steps.answer.markbookName }}\n"), "\(text)")
    let run = try await program.call("run", "recipes/get-markbook.yaml", "--sandbox", "--json")
    #expect(run.code == 0, "\(run.error)")
    #expect(run.json["outputs"]?["students"]?.int == 24, "\(run.out)")
    #expect(run.out.utf8.count < 2000)
    await program.remove()
  }

  @Test func `a template is written into the folder of the recipes, and runs`() async throws {
    let program = try await Program()
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    let made = try await program.call("new", "recipe", "mine", "--from", "markbook-averages")
    #expect(made.code == 0, "\(made.error)")
    #expect(made.out == "recipes/mine.yaml\n")
    #expect(
      made.error == """
        next: errand check recipes/mine.yaml
              errand run recipes/mine.yaml --sandbox -i markbook=…
              errand new test recipes/mine.yaml

        """)
    let run = try await program.call("run", "recipes/mine.yaml", "--sandbox", "-i", "markbook=1207731", "--json")
    #expect(run.code == 0, "\(run.error)")
    #expect(run.json["outputs"]?["averages"]?.list?.count == 24)
    await program.remove()
  }

  @Test func `a connection that errand.yaml lacks is named`() async throws {
    let program = try await Program()
    try program.write("zone: Europe/Berlin\n", to: "errand.yaml")
    let made = try await program.call("new", "recipe", "mine", "--from", "nightly-backup")
    #expect(made.code == 0, "\(made.error)")
    #expect(
      made.error == """
        note: errand.yaml has no connection 'notify', which needs 'topic' here; add it under 'connections'
        put this into errand.yaml, with your own values:

        connections:
          notify:
            topic: ${{ secrets.NTFY_TOPIC }}

        next: errand run recipes/mine.yaml --sandbox
              errand new test recipes/mine.yaml
              errand check recipes/mine.yaml

        """)
    let run = try await program.call("run", "recipes/mine.yaml", "--sandbox")
    #expect(run.code == 0, "\(run.error)")
    await program.remove()
  }

  /// The content of errand.yaml, where to paste the printed lines, those lines, and the result.
  @Test(arguments: [
    (
      "zone: UTC\n", "put this into errand.yaml, with your own values:",
      "connections:\n  notify:\n    topic: ${{ secrets.NTFY_TOPIC }}", "zone: UTC\n%\n"
    ),
    (
      "connections:\n  http: { baseURL: https://a.example }\n",
      "put this into errand.yaml under 'connections', with your own values:",
      "  notify:\n    topic: ${{ secrets.NTFY_TOPIC }}", "connections:\n  http: { baseURL: https://a.example }\n%\n"
    ),
    (
      "connections:\n  notify:\n    ntfyURL: https://a.example\n",
      "put this into errand.yaml under 'connections.notify', with your own values:",
      "    topic: ${{ secrets.NTFY_TOPIC }}", "connections:\n  notify:\n    ntfyURL: https://a.example\n%\n"
    ),
  ])
  func `what is printed can be pasted where it says`(
    _ configuration: String, _ place: String, _ lines: String, _ pasted: String
  ) async throws {
    let program = try await Program()
    try program.write(configuration, to: "errand.yaml")
    let made = try await program.call("new", "recipe", "--from", "nightly-backup")
    #expect(made.code == 0, "\(made.error)")
    #expect(made.error.contains("\n\(place)\n\n\(lines)\n\nnext: "), "\(made.error)")
    try program.write(pasted.replacing("%", with: lines), to: "errand.yaml")
    let checked = try await program.call("check", environment: ["NTFY_TOPIC": "a-topic-of-ours"])
    #expect(checked.code == 0, "\(checked.error)")
    await program.remove()
  }

  @Test func `a secret has the name that errand.yaml proposes`() async throws {
    let program = try await Program()
    try program.write(
      "# connections:\n#   notify:\n#     topic: ${{ secrets.OUR_TOPIC }}\n\nzone: UTC\n", to: "errand.yaml")
    let made = try await program.call("new", "recipe", "--uses", "notify.ntfy")
    #expect(made.error.contains("\n    topic: ${{ secrets.OUR_TOPIC }}\n"), "\(made.error)")
    await program.remove()
  }

  @Test func `a recipe that waits for a file is to be given one`() async throws {
    let program = try await Program()
    try program.write("zone: UTC\n", to: "errand.yaml")
    let made = try await program.call("new", "recipe", "--from", "inbox-import")
    #expect(made.error.contains("      errand run recipes/inbox-import.yaml --sandbox -i path=…\n"), "\(made.error)")
    await program.remove()
  }

  @Test func `no file is overwritten, and no faulty one is written`() async throws {
    let program = try await Program()
    try Files.makeFolder(program.folder.appending(path: "recipes").path)
    try program.write("mine\n", to: "recipes/taken.yaml")
    let taken = try await program.call("new", "recipe", "taken", "--from", "streak")
    #expect(taken.code == 73)
    #expect(
      taken.error == "error: 'recipes/taken.yaml' already exists and was left unchanged; give the recipe another name\n"
    )
    #expect(try String(contentsOf: program.folder.appending(path: "recipes/taken.yaml"), encoding: .utf8) == "mine\n")
    let times = try await program.call("new", "recipe", "late", "--uses", "store.get", "--cron", "0 7 *")
    #expect(times.code == 3)
    #expect(times.error.hasSuffix("error: nothing was written: 1 error\n"), "\(times.error)")
    #expect(!Files.exists(program.folder.appending(path: "recipes/late.yaml").path))
    let cases: [([String], Int32, String)] = [
      (["two words"], 64, "'two words' isn't a recipe name: use letters, digits, - and _, as in weekly-report"),
      (["--from", "streak", "--uses", "store.get"], 64, "--from and --uses exclude each other; give one of them"),
      (["--from", "streak", "--cron", "0 7 * * *"], 64, "--cron needs --uses"),
      (
        ["mine", "--from-crontab", "-"], 64,
        "--from-crontab names each recipe after its command; leave the name out"
      ),
      (["--uses", "store.gte"], 66, "no action is named 'store.gte'; did you mean 'store.get'?"),
      (
        [], 64,
        "say what to start from: --uses ACTION ('errand actions' lists them), or --from TEMPLATE, one of "
          + RecipeTemplates.all.map(\.name).joined(separator: ", ")
      ),
    ]
    for (words, code, message) in cases {
      let outcome = try await program.start(["new", "recipe"] + words).outcome()
      #expect(outcome.code == code, "\(words)")
      #expect(outcome.error == "error: \(message)\n")
    }
    await program.remove()
  }

  @Test func `questions at a terminal make a recipe`() async throws {
    let program = try await Program()
    // `script` gives the program a terminal.
    guard await run("/usr/bin/env", "sh", "-c", "command -v script > /dev/null") == 0 else {
      return print("The test of questions at a terminal is skipped: there is no 'script' here")
    }
    let script = "script -qec '\(Program.binary.path) new recipe"
    let action = try await program.shell(
      #"printf 'nothing\naction\nstore\n2\n0 7 * * *\n'"# + " | \(script) asked' /dev/null")
    #expect(action.out.contains("'nothing' isn't one of them"), "\(action.out)")
    var text = try String(contentsOf: program.folder.appending(path: "recipes/asked.yaml"), encoding: .utf8)
    #expect(text.hasPrefix("recipe: asked\n"))
    #expect(text.contains("    zone: UTC\n"))
    #expect(text.contains("uses: store."))
    let template = try await program.shell(#"printf '1\ngreeting\nAda\nmany\n3\n'"# + " | \(script)' /dev/null")
    #expect(template.out.contains("  1  hello "), "\(template.out)")
    #expect(template.out.contains("times: The number of greetings. [2] "), "\(template.out)")
    #expect(template.out.contains("'many' isn't an int"), "\(template.out)")
    text = try String(contentsOf: program.folder.appending(path: "recipes/greeting.yaml"), encoding: .utf8)
    #expect(text.hasPrefix("recipe: greeting\n"))
    #expect(text.contains("  name: { type: string, default: \"Ada\","), "\(text)")
    #expect(text.contains("  times: { type: int, default: 3,"), "\(text)")
    await program.remove()
  }
}
