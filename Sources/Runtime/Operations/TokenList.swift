package import ActionKit
package import Basics
package import RunState

/// The tokens of the state, each without its text, which the state doesn't have.
package struct TokenList: Record, UnlimitedAnswer {
  package var tokens: [TokenIssued]
  /// The recipes whose questions name a person in `by`, by the names; none if no agent serves.
  package var deciders: [String: [String]]

  package init(_ tokens: [TokenIssued], deciders: [String: [String]] = [:]) {
    self.tokens = tokens
    self.deciders = deciders
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    tokens = try member("tokens", record?.tokens)
    deciders = try member("deciders", record?.deciders, default: [:])
  }
}

/// One token.
package struct TokenAnswer: FieldSet {
  @Field("The token's name. Decisions are recorded under it.") package var name: String
  @Field("The scopes that the token allows.") package var scopes: [String]
  @Field("The recipes that the token is limited to; all if empty.") package var recipes: [String]
  @Field("When the token was made.") package var createdAt: Timestamp
  @Field("When the token expires; absent if it never does.") package var expiresAt: Timestamp?
  @Field("The UTC day on which the token was last used, such as 2026-11-20; absent if it never was.")
  package var lastUsedOn: String?
  @Field("The recipes that name the token in 'by' of a question.") package var decidesIn: [String]

  package init() {}

  package init(_ token: TokenIssued, decidesIn recipes: [String]) {
    name = token.name
    scopes = token.scopes.map(\.rawValue)
    self.recipes = token.recipes
    createdAt = token.at
    expiresAt = token.expiresAt
    lastUsedOn = token.usedOn?.utcDate
    decidesIn = recipes
  }
}

/// The tokens, without their texts.
package struct TokenListAnswer: FieldSet {
  @Field("The tokens, in the order of their names.") package var items: [TokenAnswer]

  package init() {}
}
