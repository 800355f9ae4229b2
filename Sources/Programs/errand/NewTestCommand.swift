import ActionKit
import AgentRuntime
import Basics
import CommandLineParser
import RecipeTesting
import Recipes

/// `errand new test`: writes a test of a recipe that passes, which its author then makes a stricter one.
struct NewTestCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() async throws(RuntimeError) -> ExitCode {
    let recipePath = parsed["recipe"].text ?? ""
    let workspace = try dispatch.workspace(besides: recipePath)
    let recipe = try workspace.recipe(at: recipePath, show: console.show)
    let folder = Workspace.folder(of: recipePath)
    let file = recipePath.split(separator: "/").last.map(String.init) ?? ""
    let stem = file.split(separator: ".").first.map(String.init) ?? recipe.name
    let path = (folder == "." ? "" : "\(folder)/") + "tests/\(stem).test.yaml"
    let advice = "'errand test \(path.shellQuoted)' runs it"
    if Files.exists(path) {
      throw RuntimeError(.cannotCreate, "'\(path)' already exists and was left unchanged; \(advice)")
    }
    if let apart = workspace.connectionWithoutSandbox(of: recipe) {
      throw RuntimeError(
        .failed,
        "nothing was written: '\(apart)' has no sandbox; record a run with 'errand run \(recipePath.shellQuoted) --record "
          + "FILE', and have a case replay it ('errand help replay')")
    }
    guard let (text, status) = await passing(NewTestCommand.inputs(of: recipe), file: file, path, workspace) else {
      throw RuntimeError(
        .failed,
        "nothing was written: no run of '\(recipe.name)' ends in a sandbox; 'errand run \(recipePath.shellQuoted) "
          + "--sandbox' shows why")
    }
    try NewFile.write(text, to: path, orElse: advice)
    console.out(path)
    if status == "failed" {
      console.say("the run fails in its sandbox, and the test expects that: give it other inputs under 'run'")
    }
    console.say("next: errand test \(path.shellQuoted)")
    return .done
  }

  /// A test of one run, and the status that the run has in its sandbox.
  private func passing(
    _ inputs: (values: String, secrets: [String]), file: String, _ path: String, _ workspace: Workspace
  ) async -> (text: String, status: String)? {
    for status in ["succeeded", "waiting", "failed", "timedOut", "skipped"] {
      let text = NewTestCommand.text(recipe: file, inputs: inputs, status: status)
      var environment = workspace.environment(isApart: true)
      let onDisk = environment.read
      environment.read = { read throws(FileError) in
        read == path ? Source(name: path, text: text) : try onDisk(read)
      }
      let run = TestRun(TestSurroundings(environment: environment, clock: SystemTime()))
      let outcome = await run.run([path], width: 1).first
      if let outcome, outcome.faults.isEmpty, outcome.cases.allSatisfy(\.hasPassed) { return (text, status) }
    }
    return nil
  }

  /// The text of a test file with one case.
  static func text(
    recipe file: String, inputs: (values: String, secrets: [String]) = ("{}", []), status: String
  ) -> String {
    let secrets = inputs.secrets.map { "\($0): made-up" }.joined(separator: ", ")
    return """
      recipe: ../\(file)
      \(secrets.isEmpty ? "" : "secrets: { \(secrets) }\n")
      cases:
        - case: it runs in a sandbox
          do:
            - run: \(inputs.values)
              expect:
                status: \(status)
                # that: size(outputs) > 0     # a condition; 'errand help expect' has more to expect

      """
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
      members.append("\(input.name): \(JSON.shown(given ?? input.sample))")
    }
    return (members.isEmpty ? "{}" : "{ \(members.joined(separator: ", ")) }", secrets)
  }
}

extension Workspace {
  /// A connection of a recipe whose service has no sandbox, though it needs one; nil if there is none.
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
