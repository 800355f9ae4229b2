package import ActionKit
package import Basics
package import RunState

/// The tokens of the state, each without its text, which the state doesn't have.
package struct TokenList: Record, UnlimitedAnswer {
  package var tokens: [TokenIssued]

  package init(_ tokens: [TokenIssued]) { self.tokens = tokens }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    tokens = try member("tokens", record?.tokens)
  }
}

/// One token.
package struct TokenAnswer: FieldSet {
  @Field("The token's name. Decisions are recorded under it.") package var name: String
  @Field("The scopes that the token allows.") package var scopes: [String]
  @Field("The recipes that the token is limited to; all if empty.") package var recipes: [String]
  @Field("When the token was made.") package var createdAt: Timestamp
  @Field("When the token expires; absent if it never does.") package var expiresAt: Timestamp?

  package init() {}

  package init(_ token: TokenIssued) {
    name = token.name
    scopes = token.scopes.map(\.rawValue)
    recipes = token.recipes
    createdAt = token.at
    expiresAt = token.expiresAt
  }
}

/// The tokens, without their texts.
package struct TokenListAnswer: FieldSet {
  @Field("The tokens, in the order of their names.") package var items: [TokenAnswer]

  package init() {}
}
