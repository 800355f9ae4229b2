// How people name a run.
//
//     0199a5c2               an id, or the beginning of one that no other run's begins with
//     8f3a21                 the end of one, of at least four characters; lists show it, because it is random
//     last                   the run that was created last
//     last:weekly-report     the last one of that recipe
//     weekly-report          the same, unless several runs of it are open and the request changes one
import Agent
import Basics
import RunState

extension AgentParts {
  /// The run that a text names, open or finished.
  ///
  /// A caller who is limited to recipes finds only their runs: a run of another recipe, a missing one and several are
  /// refused alike.
  ///
  /// - Parameter isOpen: Whether only an open run will do, so that a recipe's name means its one open run.
  func find(
    _ name: String, isOpen: Bool = false, for caller: AgentCaller? = nil
  ) async throws(RequestRefusedError) -> RunReference {
    let recipes = VisibleRecipes(caller?.recipes ?? [])
    let found: RunReference
    do throws(RequestRefusedError) { found = try await lookUp(name, isOpen: isOpen, in: recipes) } catch {
      guard !recipes.areAll, [.notFound, .ambiguous].contains(error.kind) else { throw error }
      throw RequestRefusedError(.notFound, "there is no such run")
    }
    if isOpen { await learnSecrets(of: found.id) }
    return found
  }

  /// Finds out about the secrets of a run that is walked elsewhere, so that what people say of it is kept without them.
  private func learnSecrets(of run: String) async {
    guard store.sharing != nil, store.run(run) == nil, let record = await store.openRun(run) else { return }
    await store.secrets.learn(named: (record.origin.needs + record.needs).compactMap(RunNeed.secret(in:)))
  }

  private func lookUp(
    _ name: String, isOpen: Bool, in recipes: VisibleRecipes
  ) async throws(RequestRefusedError) -> RunReference {
    if let run = await store.openRun(name) ?? store.endedRun(name), recipes.contain(run.recipe) {
      return RunReference(run)
    }
    if name.isEmpty { throw RequestRefusedError(.notFound, "a run is missing; \(AgentParts.names)") }
    if name == "last" {
      if let run = try await latest(of: nil, in: recipes) { return run }
      throw RequestRefusedError(.notFound, "there is no run yet")
    }
    if name.hasPrefix("last:") {
      let recipe = String(name.dropFirst(5))
      if let run = try await latest(of: recipe, in: recipes) { return run }
      throw try await unknown(recipe, "no recipe called '\(recipe.shortened(to: 200))' ever ran")
    }
    if let run = try await only(
      OpenRunQuery(idPrefix: name), HistoryQuery(limit: 6, idPrefix: name), name, "begin", in: recipes)
    {
      return run
    }
    if name.couldBeRunID, name.utf8.count >= AgentParts.leastTail,
      let run = try await only(
        OpenRunQuery(idSuffix: name), HistoryQuery(limit: 6, idSuffix: name), name, "end", in: recipes)
    {
      return run
    }
    let open = recipes.contain(name) ? await store.openRuns(OpenRunQuery(recipe: name)) : []
    if isOpen, open.count > 1 {
      throw ambiguous(open.map(\.id), "several runs of '\(name)' are open")
    }
    if isOpen, let run = open.first { return RunReference(run) }
    if let run = try await latest(of: name, in: recipes) { return run }
    throw try await unknown(
      name,
      name.couldBeRunID
        ? "no run's id begins or ends with '\(name.shortened(to: 200))'"
        : "no run is called '\(name.shortened(to: 200))'")
  }

  /// The id of a run that was found; refused if it has ended.
  func openRun(_ run: RunReference) async throws(RequestRefusedError) -> String { try await openRecord(run).id }

  /// The record of a run that was found; refused if it has ended.
  func openRecord(_ run: RunReference) async throws(RequestRefusedError) -> RunRecord {
    if let record = await store.openRun(run.id) { return record }
    // It may have ended since it was found.
    let status = run.status.isEnded ? run.status : try await stored(run.id).record().status
    throw RequestRefusedError(.ended, "the run \(run.id) is over: \(status.rawValue)")
  }

  private static let leastTail = 4
  private static let names = "give its id, the beginning or the end of it, a recipe's name, or last"
  /// Among how many runs that ended last the one is looked for that was created last.
  private static let latestEnds = 100

  /// The one run that matches; nil if there is none.
  private func only(
    _ open: OpenRunQuery, _ finished: HistoryQuery, _ name: String, _ verb: String, in recipes: VisibleRecipes
  ) async throws(RequestRefusedError) -> RunReference? {
    var asked = open
    asked.recipes = recipes.names
    let open = await store.openRuns(asked).map { RunReference($0) }
    let finished = try await finishedRuns(finished, in: recipes)
    // An open run may have ended meanwhile.
    let runs = finished + open.filter { run in !finished.contains { $0.id == run.id } }
    if runs.count > 1, !runs.contains(where: { $0.id.hasSameScalars(as: name) }) {
      throw ambiguous(runs.map(\.id), "several runs \(verb) with '\(name)'")
    }
    return runs.count == 1 ? runs.first : runs.first { $0.id.hasSameScalars(as: name) }
  }

  /// The finished runs that match, which the history finds by recipe.
  private func finishedRuns(
    _ query: HistoryQuery, in recipes: VisibleRecipes
  ) async throws(RequestRefusedError) -> [RunReference] {
    var found: [RunReference] = []
    for recipe in recipes.areAll ? [query.recipe] : recipes.names.map({ .some($0) }) {
      var query = query
      query.recipe = recipe
      let asked = query
      found += try await kept { () async throws(StateError) in try await store.finishedRuns(asked) }
        .map { RunReference($0) }
    }
    return found
  }

  private func ambiguous(_ ids: [String], _ what: String) -> RequestRefusedError {
    let ids = ids.sorted { $0.precedesByScalars($1) }
    let more = ids.count > 5 ? " and others" : ""
    return RequestRefusedError(.ambiguous, "\(what): \(ids.prefix(5).joined(separator: ", "))\(more)")
  }

  /// The run that was created last.
  private func latest(
    of recipe: String?, in recipes: VisibleRecipes
  ) async throws(RequestRefusedError) -> RunReference? {
    if let recipe, !recipes.contain(recipe) { return nil }
    var asked = OpenRunQuery(recipe: recipe)
    if recipe == nil { asked.recipes = recipes.names }
    let open = await store.openRuns(asked).map { RunReference($0) }
    let query = HistoryQuery(limit: AgentParts.latestEnds, recipe: recipe)
    let finished = try await finishedRuns(query, in: recipe == nil ? recipes : VisibleRecipes([]))
    return (open + finished).max {
      $0.createdAt == $1.createdAt ? $0.id.precedesByScalars($1.id) : $0.createdAt < $1.createdAt
    }
  }

  private func unknown(_ name: String, _ what: String) async throws(RequestRefusedError) -> RequestRefusedError {
    let query = HistoryQuery(limit: AgentParts.latestEnds)
    let finished = try await kept { () async throws(StateError) in try await store.finishedRuns(query) }
    let recipes = await store.openRuns(OpenRunQuery()).map(\.recipe) + finished.map(\.recipe)
    return RequestRefusedError(
      what, meaning: name, among: Array(Set(recipes)).map { ($0, $0) },
      otherwise: "\(AgentParts.names); 'errand runs list' shows the latest")
  }
}

extension String {
  /// Whether it could be a part of a run's id.
  package var couldBeRunID: Bool {
    utf8.allSatisfy { $0 == ASCII.minus || ASCII.digits.contains($0) || (0x61...0x66).contains($0) }
  }
}
