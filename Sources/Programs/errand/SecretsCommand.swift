import AgentRuntime
import Basics
import CommandLineParser
import Recipes
import RunState
import SecretSources

/// `errand secrets check`: shows which recipes need which secrets, where each comes from, and which are missing or
/// faulty.
///
/// Every source is asked, commands too, because only that shows whether a run would find its secrets. The output says
/// nothing about a value, except that it is too short to be found in texts.
struct SecretsCommand: DispatchedCommand {
  let dispatch: Dispatch
  private let workspace: Workspace

  init(_ dispatch: Dispatch) throws(RuntimeError) {
    self.dispatch = dispatch
    workspace = try dispatch.workspace(besides: dispatch.parsed["recipe"].texts.first)
  }

  /// A secret with everything that needs it.
  private struct Row {
    var name: String
    var recipes: [(name: String, file: String)] = []
    var uses: [NeededSecret] = []
    /// Where it comes from; nil if it is missing or unavailable.
    var origin: SecretSources.Origin?
    var fault: String?
    /// Whether it is too short to be searched for in the texts of services.
    var isShort = false
  }

  func run() async throws(RuntimeError) -> ExitCode {
    let given = parsed["recipe"].texts
    var rows: [Row] = []
    var open: [(recipe: String, input: String)] = []
    var unset: [String] = []
    for path in try workspace.recipeFiles(of: given) {
      let recipe = try workspace.recipe(at: path, show: console.show)
      unset += workspace.missingConnections(of: recipe).filter { !unset.contains($0) }
      for need in needs(of: recipe, &open) {
        let index = rows.firstIndex { $0.name.hasSameScalars(as: need.name) } ?? rows.endIndex
        if index == rows.endIndex { rows.append(Row(name: need.name)) }
        if rows[index].recipes.last?.file != path { rows[index].recipes.append((recipe.name, path)) }
        if !rows[index].uses.contains(where: { $0.text == need.text }) { rows[index].uses.append(need) }
      }
    }
    for need in given.isEmpty ? workspace.databaseSecrets : []
    where !rows.contains(where: { $0.name.hasSameScalars(as: need.name) }) {
      rows.append(Row(name: need.name))
    }
    let sources = workspace.secretSources()
    var faults = unset + (await sources.faults().map(\.message))
    for index in rows.indices {
      do throws(SecretError) {
        let found = try await sources.find(rows[index].name)
        rows[index].origin = found?.origin
        rows[index].isShort = found?.value.map { $0.utf8.count < SecretFinder.shortest } ?? false
      } catch {
        rows[index].fault = error.message
        if !faults.contains(error.message) { faults.append(error.message) }
      }
    }
    rows.sort { $0.name.precedesByScalars($1.name) }
    if asJSON { showJSON(rows, faults) } else { showText(rows, faults, open) }
    return faults.isEmpty && rows.allSatisfy { $0.origin != nil } ? .done : .failed
  }

  /// The secrets that the recipe itself, its connections and the inputs of its schedules need; `open` are the secret
  /// inputs that only the caller of a run can give.
  private func needs(of recipe: Recipe, _ open: inout [(recipe: String, input: String)]) -> [NeededSecret] {
    let needs = workspace.neededSecretsWithSchedules(of: recipe)
    for input in recipe.inputs where input.isSecret && !needs.contains(where: { $0.input == input.name }) {
      open.append((recipe.name, input.name))
    }
    return needs
  }

  private func showText(_ rows: [Row], _ faults: [String], _ open: [(recipe: String, input: String)]) {
    if !rows.isEmpty {
      let cells = rows.map { row in
        [
          row.name,
          row.fault != nil ? "unavailable" : row.origin?.text ?? "missing",
          row.uses.map { $0.connection ?? "" }.filter { !$0.isEmpty }.withoutRepeats.joined(separator: ", "),
          row.recipes.map(\.name).withoutRepeats.joined(separator: ", "),
        ]
      }
      console.out(
        console.table(["SECRET", "COMES FROM", "CONNECTIONS", "RECIPES"], cells, cutFirst: ["RECIPES", "CONNECTIONS"]))
    }
    for input in open {
      console.say("the input '\(input.input)' of \(input.recipe) is given by name: -i \(input.input)=@secret:NAME")
    }
    let error = Style.red.applied(to: "error", console.colourError)
    for fault in faults { console.error("\(error): \(fault.safe)") }
    for warning in workspace.secretSources().warnings() {
      console.error("\(Style.yellow.applied(to: "warning", console.colourError)): \(warning.safe)")
    }
    for row in rows where row.isShort {
      console.error(
        "\(Style.yellow.applied(to: "warning", console.colourError)): '\(row.name)' has fewer than "
          + "\(SecretFinder.shortest) bytes, so it is neither masked nor kept out of the state where a service sends it "
          + "back; choose a longer one")
    }
    let missing = rows.filter { $0.origin == nil && $0.fault == nil }
    for row in missing {
      let places = row.uses.compactMap(\.place)
      console.error(
        "\(error): '\(row.name)' is missing\(places.isEmpty ? "" : ", which \(places.withoutRepeats.joined(separator: ", ")) needs")"
      )
    }
    if !missing.isEmpty {
      console.say(
        "Set the environment variable of that name, or name another source under 'secrets' in errand.yaml: a file of "
          + "mode 0600, one that age encrypted, or a command")
    } else if faults.isEmpty {
      console.say(rows.isEmpty ? "no secret is needed" : "every secret was found")
    }
  }

  private func showJSON(_ rows: [Row], _ faults: [String]) {
    let secrets = rows.map { row -> Value in
      var map = ValueMap()
      map["name"] = .string(row.name)
      map["status"] = .string(row.fault != nil ? "fault" : row.origin != nil ? "found" : "missing")
      map["source"] = row.origin.map { .string($0.kind) }
      map["from"] = row.origin.map { .string($0.text) }
      map["isShort"] = row.isShort ? .bool(true) : nil
      map["fault"] = row.fault.map { .string($0) }
      map["recipes"] = .list(
        row.recipes.map { .object(["recipe": .string($0.name), "file": .string($0.file)]) })
      map["neededBy"] = .list(
        row.uses.map { use in
          var need = ValueMap()
          need["connection"] = use.connection.map { .string($0) }
          need["input"] = use.input.map { .string($0) }
          need["place"] = use.place.map { .string($0) }
          return .map(need)
        })
      return .map(map)
    }
    let document = Value.object(["secrets": .list(secrets), "faults": .list(faults.map { .string($0) })])
    console.out(json: document)
  }
}

extension SecretSources.Origin {
  /// The kind of source in the output of `--json`.
  fileprivate var kind: String {
    switch self {
    case .command: "command"
    case .file: "file"
    case .ageFile: "age"
    case .credential: "credential"
    case .environment: "environment"
    }
  }
}
