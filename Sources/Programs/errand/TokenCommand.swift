import Agent
import Operations
import AgentRuntime
import Basics
import CommandLineParser
import Recipes
import RunState

/// `errand token`: makes, lists and revokes the tokens of callers over HTTP.
///
/// The agent makes the text of a token. It is printed once, and the state has only its hash.
struct TokenCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() async throws(RuntimeError) -> ExitCode {
    let session = try await dispatch.session()
    let isReading = parsed.command.last == "list"
    return try await session.access.asking(isReading: isReading) { requests throws(RuntimeError) in
      switch parsed.command.last {
      case "new": return try await issue(requests, session.workspace, session.time.now())
      case "revoke":
        let name = parsed["name"].text ?? ""
        _ = try await requests.ask(RevokeToken.with { $0.name = name })
        console.say("the token '\(name.safe)' is revoked")
        return .done
      default: return try await list(requests, session.workspace.wallClock(session.time.now()))
      }
    }
  }

  private func issue(
    _ requests: AgentRequests, _ workspace: Workspace, _ now: Timestamp
  ) async throws(RuntimeError) -> ExitCode {
    let name = parsed["name"].text ?? ""
    if let fault = TokenIssued.fault(ofName: name) { throw RuntimeError(.usage, fault) }
    var expiresAt: Timestamp?
    if let text = parsed["expires"].text {
      guard let span = TimeSpan(text), span > .zero, let end = now.advanced(by: span) else {
        throw RuntimeError(.usage, "--expires takes a length of time such as 90d or 12h, not '\(text.safe)'")
      }
      expiresAt = end
    }
    let given = parsed["scope"].texts.compactMap(TokenScope.init(rawValue:))
    var wanted = Set(given.isEmpty ? [.read] : given)
    // Approving, showing values and editing need the scope 'read' too.
    for (scope, verb) in [(TokenScope.approve, "approve"), (.data, "show"), (.edit, "edit")]
    where wanted.contains(scope) && wanted.insert(.read).inserted {
      console.say("added the scope 'read', without which there is nothing to \(verb)")
    }
    if wanted.contains(.metrics), parsed["recipe"].isGiven {
      console.say("this token doesn't show the figures of /metrics, which cover all recipes: leave out --recipe")
    }
    if wanted.contains(.tokens), parsed["recipe"].isGiven {
      console.say("this token can't list, make or revoke tokens, which cover all recipes: leave out --recipe")
    }
    let made = try await requests.ask(
      IssueToken.with {
        $0.name = name
        $0.scopes = TokenScope.allCases.filter(wanted.contains).map { Word($0) }
        $0.recipes = parsed["recipe"].texts
        $0.expiresAt = expiresAt
      })
    await warn(ofMissing: parsed["recipe"].texts, for: name, requests, workspace)
    if expiresAt == nil, let end = made.token.expiresAt {
      console.say("the token expires on \(workspace.wallClock(now).date(end)), as the one that made it does")
    }
    if wanted.contains(.edit) {
      console.say(
        "this token can change recipes, and whoever can change a recipe can run any program as the agent's account")
      if !workspace.isElsewhere, !workspace.configuration.server.allowsEditing {
        console.say("it edits nothing until errand.yaml allows it; write server: { edit: true }")
      }
    }
    if wanted.contains(.approve), !wanted.contains(.data) {
      console.say(
        "this token doesn't show the questions that are to be decided, which need the scope 'data': add --scope data")
    }
    console.say("Save this token now; it isn't shown again. Anyone who has it can act as '\(name)':")
    console.out(made.text)
    return .done
  }

  /// Warns of recipes that a token is limited to and that don't exist, which they may later.
  ///
  /// It never fails: the token is made, and its text has still to be printed.
  private func warn(
    ofMissing recipes: [String], for token: String, _ requests: AgentRequests, _ workspace: Workspace
  ) async {
    if recipes.isEmpty { return }
    // A token for an agent elsewhere may be unable to see them.
    guard var names = try? await requests.ask(ListRecipes.with { $0.brief = true }).recipes.map(\.name) else { return }
    // Only an agent that serves has read them.
    if names.isEmpty, !workspace.isElsewhere {
      names = ((try? workspace.recipeFiles()) ?? []).compactMap { workspace.recipe($0, among: .null).recipe?.name }
    }
    for recipe in recipes where !names.contains(where: recipe.hasSameScalars) {
      let guess = recipe.nearest(among: names).map { " (did you mean '\($0)'?)" } ?? ""
      console.error(
        "warning: no recipe is called '\(recipe.safe)'\(guess); to name another, revoke the token first: errand token revoke \(token.shellQuoted)"
      )
    }
  }

  private func list(_ requests: AgentRequests, _ clock: WallClock) async throws(RuntimeError) -> ExitCode {
    let tokens = try await requests.ask(ListTokens()).tokens
    if asJSON {
      // The hash opens nothing.
      let displayed = tokens.map { token -> Value in
        var map = token.encoded().map ?? ValueMap()
        map["sha256"] = nil
        return .map(map)
      }
      console.out(json: .list(displayed))
      return .done
    }
    guard !tokens.isEmpty else {
      console.say("there are no tokens; make one with: errand token new NAME")
      return .done
    }
    let rows = tokens.map { token in
      [
        token.name, token.scopes.map(\.rawValue).joined(separator: ", "),
        token.recipes.isEmpty ? "all" : token.recipes.map(\.safe).joined(separator: ", "), clock.date(token.at),
        token.expiresAt.map { (token.isExpired(at: clock.now) ? "expired on " : "") + clock.date($0) } ?? "never",
        token.usedOn?.utcDate ?? "never",
      ]
    }
    console.out(
      console.table(["TOKEN", "SCOPES", "RECIPES", "MADE", "EXPIRES", "USED"], rows, cutFirst: ["MADE", "RECIPES"]))
    return .done
  }
}
