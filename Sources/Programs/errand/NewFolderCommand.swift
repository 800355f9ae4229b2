import ActionKit
import AgentRuntime
import Basics
import CommandLineParser
import Recipes

/// `errand new folder`: makes a folder for recipes, with a first one.
struct NewFolderCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() throws(RuntimeError) -> ExitCode {
    let folder = parsed["dir"].text.map { $0.count > 1 && $0.hasSuffix("/") ? String($0.dropLast()) : $0 } ?? "."
    let start = folder == "." ? "" : "\(folder)/"
    // Written first: if errand.yaml exists, the folder was created before, and nothing is changed.
    try NewFile.write(configuration, to: "\(start)errand.yaml", orElse: "'errand new recipe' adds a recipe")
    console.out("\(start)errand.yaml")
    let hello = RecipeTemplates.all.first { $0.name == "hello" }?.text ?? ""
    var files = [
      (".gitignore", "# The state: runs, history, stored values.\n.errand/\n"),
      ("recipes/hello.yaml", "# yaml-language-server: $schema=recipe.schema.json\n\(hello)"),
      ("recipes/tests/hello.test.yaml", NewTestCommand.text(recipe: "hello.yaml", status: "succeeded")),
    ]
    for schema in FileSchema.allCases {
      let text = JSON.displayed(schema.document(dispatch.catalog), .pretty)
      files.append(("recipes/\(schema.rawValue).schema.json", text + "\n"))
    }
    for (name, text) in files {
      let path = start + name
      if Files.exists(path) {
        console.say("'\(path)' already exists and was left unchanged")
        continue
      }
      try NewFile.write(text, to: path, orElse: "nothing else was changed")
      console.out(path)
    }
    console.say("next: \(folder == "." ? "" : "cd \(folder.shellQuoted) && ")errand run recipes/hello.yaml -i name=Ada")
    console.say("      errand test")
    console.say("      errand new recipe")
    return .done
  }

  private var configuration: String {
    """
    # yaml-language-server: $schema=recipes/errand.schema.json
    zone: \(MachineZone.name ?? "UTC")

    # Services, with the names of their secrets; 'errand actions PLUGIN' says what each takes.
    # connections:
    #   notify:
    #     topic: ${{ secrets.NTFY_TOPIC }}

    # Pages and an API while 'errand serve' runs; 'errand open' opens the pages.
    # server:
    #   listen: 127.0.0.1:7373

    """
  }
}

/// The text that `errand` without arguments prints in a folder with nothing to run.
enum FirstSteps {
  /// Three lines; nil in or below a folder of recipes, where the help is of more use.
  static var text: String? {
    var folder = Workspace.workingFolder
    if Files.exists("\(folder)/recipes") { return nil }
    while true {
      if Files.exists("\(folder)/errand.yaml") { return nil }
      let above = Workspace.folder(of: folder)
      if above == folder || above == "." { break }
      folder = above
    }
    return """
      There are no recipes here yet. 'errand new folder' makes a folder for them, with a first recipe and its test.
      'errand new recipe' writes a recipe: a backup, a poll of an API, a weekly mail, an approval, or from your crontab.
      'errand help' lists all commands and topics; 'errand actions' lists what a recipe can do.
      """
  }
}
