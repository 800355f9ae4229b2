package import Agent
package import Basics
package import Calendars
package import Recipes
package import RunState
package import Runs

extension Workspace {
  /// The user's clock: in the zone of `$TZ`, else of errand.yaml, else of the machine.
  package func wallClock(_ now: Timestamp) -> WallClock {
    if let text = String(environment: "TZ") {
      return WallClock(TimeZoneDatabase.system.rules(ofVariable: text) ?? .utc, now: now)
    }
    if let name = configuration.zone {
      return WallClock((try? TimeZoneDatabase.system.rules(named: name)) ?? .utc, now: now)
    }
    let machine = (try? Files.read("/etc/localtime", limit: 1 << 20)).flatMap {
      try? TimeZoneRules(name: "local time", file: $0)
    }
    return WallClock(machine ?? .utc, now: now)
  }

  /// Why a run is in its state; secrets are masked.
  ///
  /// - Parameters:
  ///   - zone: The zone of the times, if it isn't the user's.
  ///   - holder: The temporary process that is running the run.
  package func explanation(
    of facts: RunFacts, in zone: TimeZoneRules? = nil, isServed: Bool, holder: Int?, tellsDistance: Bool = true
  ) async -> Explanation {
    let registry = await secretRegistry(secretSources())
    // The values that conditions read; secrets in the shown texts are masked.
    let seen = await facts.restored(by: registry)
    let conditions = recipe(of: seen).map { recipe in
      StepReplay(of: recipe, seen.run) { seen.output(of: $0) }
    }
    var clock = zone.map { WallClock($0, now: facts.now) } ?? wallClock(facts.now)
    clock.tellsDistance = tellsDistance
    return Explanation(of: seen, conditions: conditions, clock: clock, isServed: isServed, holder: holder).mapTexts {
      registry.finder.redact($0)
    }
  }

  /// The recipe of a run, which may have been checked to run it; nil if it no longer checks.
  private func recipe(of facts: RunFacts) -> Recipe? { recipe(of: facts.run.origin, among: facts.texts) }

  private func recipe(of origin: RunCreated, among texts: Value) -> Recipe? {
    let isCurrent = origin.language == LanguageVersion.current
    let known = isCurrent ? checkedRecipes.recipe(origin.file, among: texts, zone: origin.zone) : nil
    return known ?? recipe(origin.file, among: texts, of: origin).recipe
  }

  /// The names that a run's recipe gives its steps, by the paths of their records.
  package func names(ofStepsAt paths: [StepPath], of run: RunRecord, among texts: Value) -> [StepPath: String] {
    // Most recipes name no step, and need no look.
    guard texts.map?.members.contains(where: { $0.value.string?.contains("name:") ?? false }) ?? false,
      let recipe = recipe(of: run.origin, among: texts)
    else { return [:] }
    let replay = StepReplay(of: recipe, run) { _ in nil }
    var names: [StepPath: String] = [:]
    for path in paths { names[path] = replay.name(ofStepAt: path) }
    return names
  }

  /// The input of a step, computed again from the record as when a run is resumed, the step's action, and its place in
  /// the recipe.
  ///
  /// Secrets in the input are masked.
  package func input(
    ofStep path: StepPath, in facts: RunFacts
  ) async -> (input: StepReplay.Input, work: String, place: RecipePlace?) {
    let registry = await secretRegistry(secretSources())
    let seen = await facts.restored(by: registry)
    guard let recipe = recipe(of: seen) else { return (.unknown, "", nil) }
    let replay = StepReplay(of: recipe, seen.run, output: { seen.output(of: $0) }, items: { seen.items(of: $0) })
    var input = facts.run.erasedAt == nil ? replay.input(at: path) : .unknown
    // A restored output may hold a secret.
    if case .value(let value) = input { input = (try? registry.masked(value)).map { .value($0) } ?? .unknown }
    var place = replay.location(ofStepAt: path).map { Workspace.place(at: $0, hiding: registry) }
    place?.name = replay.name(ofStepAt: path).map { registry.finder.redact($0) }
    return (input, replay.work(ofStepAt: path) ?? "", place)
  }

  /// The order of the steps of a run's recipe; nil if it no longer checks.
  package func outline(of run: RunRecord, among texts: Value) async -> [OutlinePlace]? {
    let registry = await secretRegistry(secretSources())
    let texts = (try? await registry.restored(texts, as: "it")) ?? texts
    return recipe(of: run.origin, among: texts)?.outline.map { place in
      var place = place
      place.title = registry.finder.redact(place.title)
      place.name = place.name.map { registry.finder.redact($0) }
      return place
    }
  }

  /// The most lines of a step that are shown.
  private static let mostLines = 40

  /// The lines of a step: its first one, and the following ones that are indented further.
  private static func place(at location: Diagnostic.Location, hiding registry: SecretRegistry) -> RecipePlace {
    let position = location.source.position(at: location.range.lowerBound)
    let lines = location.source.bytes.split(separator: ASCII.newline, omittingEmptySubsequences: false)
      .dropFirst(position.line - 1)
    func indent(_ line: ArraySlice<UInt8>) -> Int { line.prefix { $0 == ASCII.space }.count }
    let first = lines.first.map(indent) ?? 0
    let rest = lines.dropFirst().prefix { $0.allSatisfy { $0 == ASCII.space } || indent($0) > first }
    let text = (lines.prefix(1) + rest.prefix(mostLines - 1)).map { String(decoding: $0, as: UTF8.self) }
    return RecipePlace(
      file: location.source.name, line: position.line, text: registry.finder.redact(text.joined(separator: "\n")))
  }
}
