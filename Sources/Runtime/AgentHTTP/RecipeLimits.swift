// What a token that is limited to some recipes may ask, and what it is shown.
//
// It finds nothing of other recipes: not their runs, slots, schedules and plans, nor which of them exist.
import Agent
import Operations
import Basics
import RunState

extension APIServer {
  /// The request as a caller may make it: one whose token names recipes finds nothing of the others.
  func narrowed(_ asked: AgentRequest, for caller: APICaller) async throws(Problem) -> AgentRequest {
    var asked = asked
    if case .explainSchedule(let id, let at, _, _) = asked {
      asked = .explainSchedule(id: id, at: at, isAlone: !caller.recipes.isEmpty, withData: caller.seesData)
    }
    if caller.recipes.isEmpty { return asked }
    func check(recipe: String, _ what: String) throws(Problem) {
      guard caller.sees(recipe: recipe) else { throw Problem(.refusal(.notFound), "there is no such \(what)") }
    }
    func check(schedule id: String) throws(Problem) {
      try check(recipe: String(Substring(id.utf8.prefix { $0 != ASCII.slash })), "schedule")
    }
    switch asked {
    case .start(let recipe, _, _, _, _, _), .plan(let recipe, _, _, _), .recipe(let recipe):
      try check(recipe: recipe, "recipe")
    case .showPlan(let digest):
      guard case .plan(let plan) = try await reply(to: .showPlan(digest: digest), from: caller),
        caller.sees(recipe: plan.recipe)
      else { throw Problem(.refusal(.notFound), "there is no such plan") }
    case .runs(var query):
      for recipe in query.seen { try check(recipe: recipe, "recipe") }
      if let recipe = query.recipe {
        try check(recipe: recipe, "recipe")
      } else if query.seen.isEmpty {
        query.seen = caller.recipes
      }
      return .runs(query)
    case .slots(var query):
      if let schedule = query.schedule { try check(schedule: schedule) } else { query.recipes = caller.recipes }
      return .slots(query)
    case .upcoming(var query):
      if let schedule = query.schedule { try check(schedule: schedule) } else { query.recipes = caller.recipes }
      return .upcoming(query)
    case .pauseSchedule(let id, _), .resumeSchedule(let id), .resetSchedule(let id), .trigger(let id, _, _, _, _),
      .backfill(let id, _, _, _, _), .explainSchedule(let id, _, _, _):
      try check(schedule: id)
    case .signal(var event):
      guard let run = event.run else {
        throw Problem(.forbidden, "the token is limited to some recipes: name the run that the event is for in 'run'")
      }
      try await find(run, for: caller)
      // Ids of its own, so that it can't take those of others.
      let own = "\(caller.caller.account)/"
      if let source = event.source { event.source = own + source } else { event.id = event.id.map { own + $0 } }
      return .signal(event)
    case .resume(let run, _), .follow(let run, _), .pause(let run, _), .cancel(let run, _, _), .retry(let run, _, _, _),
      .delete(let run), .resolve(let run, _, _, _), .decide(let run, _, _, _, _), .find(let run), .show(let run),
      .logs(let run, _, _), .steps(let run, _, _):
      try await find(run, for: caller)
    case .schedules, .recipes, .tools, .status, .approvals, .actions, .watch: break
    case .explain(let run, _):
      try await find(run, for: caller)
      return .explain(run: run, isAlone: true)
    case .why(let question):
      try await find(question.subject.run, for: caller)
      if let schedule = question.subject.schedule { try check(schedule: schedule) }
      return .why(question.alone)
    // It may call the recipes that are served, and what is found says what they take.
    case .check, .connections, .submit, .value, .issueToken, .revokeToken, .tokens, .workers, .drainWorker,
      .evictWorker, .issueLink, .yield:
      throw Problem(
        .forbidden, "'\(asked.verb.name)' is about all recipes, and the token is limited to \(joined(caller.recipes))")
    }
    return asked
  }

  private func find(_ run: String, for caller: APICaller) async throws(Problem) {
    guard !run.hasSameScalars(as: "last") else {
      throw Problem(
        .refusal(.notFound),
        "the token is limited to \(joined(caller.recipes)): name the run by its id, or as last:RECIPE")
    }
    var found: RunReference?
    do throws(Problem) {
      if case .found(let run, _) = try await reply(to: .find(run: run), from: caller) { found = run }
    } catch  where error.kind != .refusal(.ambiguous) && error.kind != .refusal(.notFound) { throw error } catch {
      // The message would name runs, or recipes, of others.
    }
    guard let found, caller.sees(recipe: found.recipe) else {
      throw Problem(.refusal(.notFound), "there is no such run")
    }
  }
}

extension AgentReply {
  /// The answer for a caller who sees only some recipes: without what belongs to runs of others.
  var alone: AgentReply {
    switch self {
    case .runs(var list):
      list.open = list.open.map(\.alone)
      return .runs(list)
    case .run(let run): return .run(run.alone)
    case .ended(let run): return .ended(run.alone)
    case .slots(var slots):
      for index in slots.indices { slots[index].cause = slots[index].cause.alone }
      return .slots(slots)
    default: return self
    }
  }
}
