import ActionKit
import AgentRuntime
import Basics
import CommandLineParser
import RecipeEditing
import RecipeTesting
import Recipes
import YAMLReader

/// `errand new test`: writes a test of a recipe that passes, which its author then makes a stricter one.
struct NewTestCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() async throws(RuntimeError) -> ExitCode {
    let recipePath = parsed["recipe"].text ?? ""
    let workspace = try dispatch.workspace(besides: recipePath)
    let recipe = try workspace.recipe(at: recipePath, show: console.show)
    let path = NewTestCommand.path(ofTestOf: recipe, at: recipePath)
    let advice = "'errand test \(path.shellQuoted)' runs it"
    if Files.exists(path) {
      throw RuntimeError(.cannotCreate, "'\(path)' already exists and was left unchanged; \(advice)")
    }
    let (text, status) = try await NewTestCommand.test(of: recipe, at: recipePath, workspace)
    try NewFile.write(text, to: path, orElse: advice)
    console.out(path)
    if status == "failed" {
      console.say("the run fails in its sandbox, and the test expects that: give it other inputs under 'run'")
    }
    console.say("next: errand test \(path.shellQuoted)")
    return .done
  }

  /// The path of a recipe's test.
  static func path(ofTestOf recipe: Recipe, at recipePath: String) -> String {
    let folder = Workspace.folder(of: recipePath)
    let file = recipePath.split(separator: "/").last.map(String.init) ?? ""
    let stem = file.split(separator: ".").first.map(String.init) ?? recipe.name
    return (folder == "." ? "" : "\(folder)/") + "tests/\(stem).test.yaml"
  }

  /// A test of one run that passes, and the status that the run has in its sandbox.
  static func test(
    of recipe: Recipe, at recipePath: String, _ workspace: Workspace
  ) async throws(RuntimeError) -> (text: String, status: String) {
    if let apart = workspace.connectionWithoutSandbox(of: recipe) {
      throw RuntimeError(
        .failed,
        "nothing was written: '\(apart)' has no sandbox; record a run with 'errand run \(recipePath.shellQuoted) --record "
          + "FILE', and have a case replay it ('errand help replay')")
    }
    let file = recipePath.split(separator: "/").last.map(String.init) ?? ""
    guard let found = await passing(recipe, file: file, path(ofTestOf: recipe, at: recipePath), workspace) else {
      throw RuntimeError(
        .failed,
        "nothing was written: no run of '\(recipe.name)' ends in a sandbox; 'errand run \(recipePath.shellQuoted) "
          + "--sandbox' shows why")
    }
    return found
  }

  private static func passing(
    _ recipe: Recipe, file: String, _ path: String, _ workspace: Workspace
  ) async -> (text: String, status: String)? {
    let inputs = inputs(of: recipe)
    let files = files(of: recipe, in: workspace)
    for status in ["succeeded", "waiting", "failed", "timedOut", "skipped"] {
      let text = text(recipe: file, inputs: inputs, files: files, status: status)
      let open = OpenFiles()
      open.set(path, to: Source(name: path, text: text))
      let run = TestRun(workspace.surroundingsOfTests(open))
      let outcome = await run.run([path], width: 1).first
      if let outcome, outcome.faults.isEmpty, outcome.cases.allSatisfy(\.hasPassed) { return (text, status) }
    }
    return nil
  }

  /// The text of a test file with one case.
  static func text(
    recipe file: String, inputs: (values: String, secrets: [String]) = ("{}", []),
    files: [(path: String, text: String)] = [], status: String
  ) -> String {
    let secrets = inputs.secrets.map { "\($0.asYAML): made-up" }.joined(separator: ", ")
    let isPlain = file.split(separator: ".").allSatisfy { Recipe.isName(String($0)) }
    let given =
      files.isEmpty
      ? "" : "files:\n" + files.map { "  \($0.path.asYAML): \(JSON.quoted($0.text))\n" }.joined()
    return """
      recipe: \(isPlain ? "../\(file)" : JSON.quoted("../\(file)"))
      \(secrets.isEmpty ? "" : "secrets: { \(secrets) }\n")\(given)
      cases:
        - case: it runs in a sandbox
          do:
            - run: \(inputs.values)
              expect:
                status: \(status)
                # that: size(outputs) > 0     # a condition; 'errand help expect' has more to expect

      """
  }

  /// The files that a test brings along at most, and the bytes of each.
  private static let most = (files: 10, bytes: 16 << 10)

  /// The folder's files that the recipe names, which its test has in their place.
  private static func files(of recipe: Recipe, in workspace: Workspace) -> [(path: String, text: String)] {
    guard let document = try? YAMLReader.read(recipe.source) else { return [] }
    let folders = recipe.connectionNames.compactMap { name in
      workspace.catalog.plugin(workspace.configuration.plugins[name] ?? name).flatMap {
        workspace.configuration.knownSettings(of: name, $0)?["folder"]?.string
      }
    }
    let roots = [workspace.root] + folders.map { Workspace.absolute($0, in: workspace.root) }
    let own = (workspace.recipeFolders + [workspace.stateFolder]).map { $0 + "/" }
    var found: [(path: String, text: String)] = []
    for name in document.root.texts.withoutRepeats where found.count < most.files {
      guard !name.isEmpty, !name.hasPrefix("/"), name.utf8.count < 200, !name.contains("\n") else { continue }
      let paths = roots.map { "\($0)/\(name)" }.filter { path in !own.contains(where: path.hasPrefix) }
      let isMine = { (path: String) in path != workspace.configurationPath && !workspace.holdsSecrets(path) }
      for path in paths where isMine(path) && (try? Files.kind(of: path)) == .file {
        guard let bytes = try? Files.read(path, limit: most.bytes), let text = String(validating: bytes, as: UTF8.self)
        else { continue }
        found.append((name, text))
        break
      }
    }
    return found
  }

  /// A value for each input that a run needs, from an entry of `on` if one gives it, and the secrets that they name.
  private static func inputs(of recipe: Recipe) -> (values: String, secrets: [String]) {
    var members: [String] = []
    var secrets = recipe.secrets.map(\.name)
    for input in recipe.inputs where input.isRequired {
      if input.isSecret {
        let name = input.name.uppercased()
        members.append("\(input.name): \"@secret:\(name)\"")
        if !secrets.contains(name) { secrets.append(name) }
        continue
      }
      let given = recipe.triggers.lazy.flatMap(\.inputs).compactMap { given -> Value? in
        if case .value(let value, _) = given.input, given.name == input.name { value } else { nil }
      }.first
      members.append("\(input.name): \(JSON.displayed(given ?? input.sample))")
    }
    return (members.isEmpty ? "{}" : "{ \(members.joined(separator: ", ")) }", secrets)
  }
}

extension Value {
  /// All texts in it.
  fileprivate var texts: [String] {
    switch content {
    case .string(let text): [text]
    case .list(let items): items.flatMap(\.texts)
    case .map(let map): map.members.flatMap(\.value.texts)
    default: []
    }
  }
}

extension Workspace {
  /// A connection of a recipe whose service needs a sandbox and has none; nil if all have one.
  func connectionWithoutSandbox(of recipe: Recipe) -> String? {
    recipe.connectionNames.first { name in
      catalog.plugin(configuration.plugins[name] ?? name).map { !$0.isLocal && !$0.hasSandbox } ?? false
    }
  }
}

extension Recipe.Input {
  /// A value of the type, as plain as one can be.
  fileprivate var sample: Value {
    switch declaration.type {
    case .bool: .bool(false)
    case .int: .int(1)
    case .double: .double(1)
    case .choice(let words): .string(words.first ?? "")
    case .list: .list([])
    case .map, .object: .map(ValueMap())
    case .duration: .string("1m")
    case .date: .string("2026-01-01")
    case .timestamp: .string("2026-01-01T00:00:00Z")
    default: .string("x")
    }
  }
}
