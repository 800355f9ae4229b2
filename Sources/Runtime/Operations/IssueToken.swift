package import ActionKit
package import Agent
package import Basics
import Recipes
package import RunState

package struct IssueToken: Operation {
  package static let name = "issueToken"
  package static let summary = "Makes a token, and shows its text this one time."
  package static let scopes = Scopes.token(.tokens)
  package static let route: Route? = .post("/tokens", status: 201)
  package static let command: String? = "token new"
  package static let page: String? = "/tokens"
  package static let refusals: Set<RequestRefusedError.Kind> = [.conflict]
  package static let repeats = Repeats.once(
    "a repeated request is refused with 409, because the name is taken, and the text of the token isn't kept")

  @Field("The token's name. Decisions are recorded under it.", .pattern(.tokenName)) package var name: String
  @Field("The scopes that the token allows, each one of the caller's own.", .minLength(1))
  package var scopes: [Word<TokenScope>]
  @Field("The recipes that the token is limited to. If left out, those of the caller.")
  package var recipes: [String] = []
  @Field("When the token expires, no later than the caller's own token. If left out, when that one does.")
  package var expiresAt: Timestamp?

  package init() {}

  package var target: Void { () }

  /// Each request of a token looks at all of them.
  static let mostRecipes = 200

  /// A token with its text.
  ///
  /// Nothing else has the text: the state, the journal and the log never do. So this is never the answer of a request
  /// that another program carries out (`Place.leader`), because the state keeps such answers.
  package struct Answer: Record, UnlimitedAnswer {
    package var token: TokenIssued
    package var text: String

    package init(_ token: TokenIssued, text: String) {
      self.token = token
      self.text = text
    }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      token = try member("token", record?.token)
      text = try member("text", record?.text)
    }
  }

  package func run(
    on _: Everything, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    // Requests of this process aren't checked against the limits of the fields.
    if let fault = TokenIssued.fault(ofName: name) { throw RequestRefusedError(.request, fault) }
    let wanted = TokenScope.allCases.filter { scope in self.scopes.contains { $0.word == scope } }
    if wanted.isEmpty { throw RequestRefusedError(.request, "a token needs a scope, such as read") }
    let now = agent.time.now()
    if let expiresAt, expiresAt <= now {
      throw RequestRefusedError(.request, "the token would have expired on \(expiresAt); choose a later instant")
    }
    let limited = VisibleRecipes(recipes).names
    guard limited.count <= IssueToken.mostRecipes else {
      throw RequestRefusedError(.request, "a token is limited to \(IssueToken.mostRecipes) recipes at most")
    }
    if let name = limited.first(where: { !Recipe.isName($0) }) {
      throw RequestRefusedError(.request, "'\(name.shortened(to: 80))' can't be a recipe's name")
    }
    if let excess = excess(of: wanted, for: caller) { throw RequestRefusedError(.forbidden, excess) }
    // 256 random bits; the prefix lets people and programs recognise a token.
    let text = "errand_" + [UInt8].random(32).hexadecimal
    guard let digest = SHA256.digest(of: Array(text.utf8)) else {
      throw RequestRefusedError(.state, "libcrypto, which makes hashes, can't be used here")
    }
    let token = TokenIssued(
      at: now, name: name, sha256: digest, scopes: wanted, recipes: limited, expiresAt: expiresAt ?? caller.expiresAt)
    do throws(StateError) { try await agent.store.append(.tokenIssued(token)) } catch {
      guard error.isConflict else { throw RequestRefusedError(error) }
      var refusal = RequestRefusedError(
        .conflict, "there is a token '\(name)' already; revoke it first: errand token revoke \(name)")
      refusal.overHTTP =
        "there is a token '\(name)' already, and its text isn't kept; revoke it first (DELETE /api/v1/tokens/\(name)), "
        + "or choose another name"
      throw refusal
    }
    return Answer(token, text: text)
  }

  /// Why a caller can't give so much; nil if it can.
  ///
  /// Its recipes needn't be looked at: a caller that is limited to some is refused before, because the target is
  /// `Everything`.
  private func excess(of wanted: [TokenScope], for caller: AgentCaller) -> String? {
    let missing = wanted.filter { !caller.scopes.contains($0) }.map { "'\($0.rawValue)'" }
    var faults: [String] = []
    if !missing.isEmpty {
      faults.append("it lacks the scope\(missing.count == 1 ? "" : "s") \(joined(missing))")
    }
    if let end = caller.expiresAt, let expiresAt, expiresAt > end { faults.append("it expires on \(end) itself") }
    return faults.isEmpty ? nil : "the token can't give more than it has: \(joined(faults))"
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> IssuedTokenAnswer {
    filled(IssuedTokenAnswer()) {
      $0.name = answer.token.name
      $0.scopes = answer.token.scopes.map(\.rawValue)
      $0.recipes = answer.token.recipes
      $0.expiresAt = answer.token.expiresAt
      $0.token = answer.text
    }
  }
}

/// A token that was just made, with its text.
package struct IssuedTokenAnswer: FieldSet {
  @Field("The token's name. Decisions are recorded under it.") package var name: String
  @Field("The scopes that the token allows.") package var scopes: [String]
  @Field("The recipes that the token is limited to; all if empty.") package var recipes: [String]
  @Field("When the token expires; absent if it never does.") package var expiresAt: Timestamp?
  @Field("The text of the token, which is shown only here. Save it now.") package var token: String

  package init() {}
}

extension TextPattern {
  /// A text that is fit for the name of a token.
  package static let tokenName = TextPattern(
    "1 to \(TokenIssued.mostCharacters) letters, digits, dots, '-' and '_', with a letter or digit first, such as phone",
    regex: "^[A-Za-z0-9][A-Za-z0-9._-]{0,\(TokenIssued.mostCharacters - 1)}$", accepted: ["phone", "lab-3.x_Y"],
    refused: [
      "", "a phone", "..", "--help", "téléphone", String(repeating: "a", count: TokenIssued.mostCharacters + 1),
    ]
  ) { TokenIssued.fault(ofName: $0) == nil }
}
