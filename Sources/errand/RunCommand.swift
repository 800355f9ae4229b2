import ActionKit
import Agent
import Basics
import CommandLineParser
import Recipes
import RunState
import Runs

/// `errand run`: from the command line to a run that is over, or stands where it can be resumed.
struct RunCommand {
  private let dispatch: Dispatch
  private var parsed: Parsed { dispatch.parsed }
  private var console: Console { dispatch.console }

  init(_ dispatch: Dispatch) { self.dispatch = dispatch }

  func run() async throws(CommandFailure) -> ExitCode {
    let path = parsed["recipe"].text ?? ""
    let workspace = try dispatch.workspace(besides: path)
    let recipe = try workspace.recipe(at: path, console: console)
    if let fault = recipe.notRunnableYet { throw CommandFailure(.invalid, fault) }
    let inputs = try inputs(of: recipe)
    let overrides = try overrides(for: recipe, in: workspace)
    let isSandbox = parsed["sandbox"].isGiven
    let secrets = try workspace.secrets()
    if !isSandbox { try workspace.requireSecrets(of: recipe, inputs: .map(inputs), in: secrets) }

    let time = SystemTime()
    var random = SystemRandomNumberGenerator()
    var texts = ValueMap()
    for recipe in recipe.all {
      texts[recipe.source.name] = .string(String(decoding: recipe.source.bytes, as: UTF8.self))
    }
    let now = time.now()
    let origin = RunCreated(
      run: UUID7(at: now, using: &random).description, at: now, recipe: recipe.name, file: path,
      texts: .inline(.map(texts)), inputs: .map(inputs), overrides: overrides, sandbox: isSandbox, program: version)
    let display = ProgressDisplay(
      console, format: parsed["log-format"].text.flatMap(ProgressDisplay.Format.init(rawValue:)) ?? .text, time: time)
    let session = RunSession(workspace: workspace, secrets: secrets, console: console, time: time, display: display)
    if isSandbox {
      return try await session.runInSandbox(origin, of: recipe, asJSON: parsed["json"].isGiven)
    }
    return try await session.run(origin, asJSON: parsed["json"].isGiven)
  }

  // MARK: What is given

  private func inputs(of recipe: Recipe) throws(CommandFailure) -> ValueMap {
    var given: [(name: String, input: GivenInput)] = []
    if let path = parsed["inputs"].text {
      let document = try dispatch.document(at: path)
      let source = Source(name: path, bytes: (try? Files.read(path)) ?? [])
      for member in document.map?.members ?? [] {
        guard let name = member.name else { continue }
        if let text = member.value.string, text.hasPrefix("@secret:") {
          given.append((name, .secret(name: String(text.dropFirst(8)))))
        } else {
          given.append((name, .value(member.value, source)))
        }
      }
    }
    for text in parsed["input"].texts {
      guard let equals = text.firstIndex(of: "=") else {
        throw CommandFailure(.usage, "-i takes NAME=VALUE, but found '\(text)'")
      }
      let name = String(text[..<equals])
      let value = String(text[text.index(after: equals)...])
      // The command line counts more than a file.
      given.removeAll { $0.name == name }
      if value.hasPrefix("@secret:") {
        given.append((name, .secret(name: String(value.dropFirst(8)))))
      } else if value.hasPrefix("@") {
        do throws(FileError) {
          let bytes = try Files.read(String(value.dropFirst()), limit: 16 << 20)
          given.append((name, .text(String(decoding: bytes, as: UTF8.self))))
        } catch {
          throw CommandFailure(.noInput, "input '\(name)': \(error)")
        }
      } else {
        given.append((name, .text(value)))
      }
    }
    switch recipe.inputs(from: given) {
    case .success(let inputs): return inputs
    case .failure(let faults):
      console.error(faults.rendered(colour: console.colourError))
      throw CommandFailure(.invalid, "the inputs of '\(recipe.name)' are not as it declares them")
    }
  }

  private func overrides(for recipe: Recipe, in workspace: Workspace) throws(CommandFailure) -> [String: Value] {
    var overrides: [String: Value] = [:]
    for text in parsed["set"].texts {
      let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
      let path = parts[0].split(separator: ".").map(String.init)
      guard parts.count == 2, path.count == 3, path[0] == "connections" else {
        throw CommandFailure(.usage, "--set takes connections.NAME.SETTING=VALUE, but found '\(text)'")
      }
      let names = recipe.connectionNames
      guard names.contains(path[1]) else {
        let guess = path[1].nearest(among: names).map { "; did you mean '\($0)'?" } ?? ""
        throw CommandFailure(.usage, "--set: the recipe uses no connection '\(path[1])'\(guess)")
      }
      let plugin = workspace.configuration.plugins[path[1]] ?? path[1]
      let schema = workspace.catalog.plugin(plugin)?.configuration
      guard let field = schema?.fields.first(where: { $0.name == path[2] }) else {
        let guess = path[2].nearest(among: schema?.fields.map(\.name) ?? []).map { "; did you mean '\($0)'?" } ?? ""
        throw CommandFailure(.usage, "--set: connection '\(path[1])' has no setting '\(path[2])'\(guess)")
      }
      if field.type.isSecret {
        throw CommandFailure(
          .usage, "--set: '\(path[2])' is a secret, which the record of the run must not hold; set it in errand.yaml")
      }
      overrides[parts[0]] = field.type.value(ofText: parts[1])
    }
    return overrides
  }
}

extension FieldType {
  /// Whether a value of it must not be kept.
  fileprivate var isSecret: Bool {
    switch self {
    case .secret: true
    case .optional(let wrapped): wrapped.isSecret
    default: false
    }
  }

  /// A setting as the command line writes it.
  fileprivate func value(ofText text: String) -> Value {
    switch self {
    case .int: Int(text).map { .int($0) } ?? .string(text)
    case .double: Double(text).map { .double($0) } ?? .string(text)
    case .bool: text == "true" ? .bool(true) : text == "false" ? .bool(false) : .string(text)
    case .optional(let wrapped): wrapped.value(ofText: text)
    default: .string(text)
    }
  }
}
