// The frame around operations: scope, target, place, the operation itself, and the part of the answer that its caller sees.
package import Agent
import Basics
package import RunState

extension Operation {
  /// Refuses a caller that may not ask this, whatever the inputs.
  package static func admit(_ caller: AgentCaller) throws(RequestRefusedError) {
    guard let scopes = scopes.token else {
      guard caller.isOwn else {
        throw RequestRefusedError(
          .forbidden, "'\(name)' is only for programs of the agent's account on its machine, through its socket")
      }
      return
    }
    try caller.check(scopes)
    if Target.isEverything, !caller.recipes.isEmpty {
      throw RequestRefusedError(
        .forbidden, "'\(name)' is about all recipes, and the token is limited to \(joined(caller.recipes))")
    }
  }
}

extension AgentCaller {
  /// Refuses a caller that lacks one of some scopes.
  package func check(_ scopes: Set<TokenScope>, _ need: String = "this needs") throws(RequestRefusedError) {
    for scope in TokenScope.allCases where scopes.contains(scope) && !self.scopes.contains(scope) {
      throw RequestRefusedError(.forbidden, "the token lacks the scope '\(scope.rawValue)', which \(need)")
    }
  }
}

extension AgentParts {
  /// Runs an operation of a kind that isn't known here.
  package func performed(
    _ operation: any Operation, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> any OperationAnswer {
    func perform<Asked: Operation>(_ operation: Asked) async throws(RequestRefusedError) -> any OperationAnswer {
      try await self.perform(operation, for: caller)
    }
    return try await perform(operation)
  }

  /// Runs an operation for a caller: the only way to do so.
  // One for all operations: a copy for each would be larger than everything else here.
  @_semantics("optimize.sil.specialize.generic.never")
  @inline(never)
  package func perform<Asked: Operation>(
    _ operation: Asked, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Asked.Answer {
    do throws(RequestRefusedError) {
      let target = try await admitted(operation, for: caller)
      var answer: Asked.Answer
      if Asked.place == .leader, let schedules, let given = try await schedules.carried(operation, from: caller) {
        answer = given
      } else {
        answer = try await operation.run(on: target, in: self, for: caller)
      }
      if !caller.recipes.isEmpty { answer = answer.limited(to: VisibleRecipes(caller.recipes)) }
      return answer
    } catch {
      throw displayed(error, to: caller)
    }
  }

  /// Runs an operation that tells what happens to runs; all has been told when this returns.
  @_semantics("optimize.sil.specialize.generic.never")
  @inline(never)
  package func perform<Asked: StreamingOperation>(
    _ operation: Asked, for caller: AgentCaller, to events: any RunEvents
  ) async throws(RequestRefusedError) {
    let seen: any RunEvents =
      caller.recipes.isEmpty ? events : LimitedEvents(events: events, recipes: VisibleRecipes(caller.recipes))
    do throws(RequestRefusedError) {
      let target = try await admitted(operation, for: caller)
      try await operation.run(on: target, in: self, for: caller, to: seen)
    } catch {
      throw displayed(error, to: caller)
    }
  }

  /// Refuses an operation that its caller may not run, or whose target the caller doesn't find.
  package func check(_ operation: some Operation, for caller: AgentCaller) async throws(RequestRefusedError) {
    do throws(RequestRefusedError) { _ = try await admitted(operation, for: caller) } catch {
      throw displayed(error, to: caller)
    }
  }

  /// A refusal as its caller sees it: without other recipes than its own, and elsewhere without paths of this machine.
  package func displayed(_ refusal: RequestRefusedError, to caller: AgentCaller) -> RequestRefusedError {
    let displayed = refusal.displayed(to: caller)
    return caller.isElsewhere ? displayed.mapTexts(agent.told) : displayed
  }

  /// A recipe as its caller sees it.
  func displayed(_ recipe: RecipeRecord, to caller: AgentCaller) -> RecipeRecord {
    caller.isElsewhere ? recipe.told(by: agent.paths) : recipe
  }

  /// A text of the agent as its caller sees it.
  func displayed(_ text: String, to caller: AgentCaller) -> String {
    caller.isElsewhere ? agent.told(text) : text
  }

  /// The target of an operation, after its caller was admitted.
  private func admitted<Asked: Operation>(
    _ operation: Asked, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Asked.Target {
    try await reach()
    try Asked.admit(caller)
    try caller.check(operation.moreScopes)
    if Asked.scopes.token?.contains(.edit) == true { try checkEditing(caller) }
    return try await Asked.Target.find(operation.target, in: self, for: caller)
  }
}
