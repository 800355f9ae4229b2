package import RunState

/// The tokens of the state, each without its text, which the state doesn't have.
package struct TokenList: Record, UnlimitedAnswer {
  package var tokens: [TokenIssued]

  package init(_ tokens: [TokenIssued]) { self.tokens = tokens }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    tokens = try member("tokens", record?.tokens)
  }
}
