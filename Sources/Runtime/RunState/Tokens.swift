/// The tokens of programs and browsers that use an agent over HTTP.
///
/// A token's text is shown once, to the caller that makes it. The state keeps its SHA-256: the text has 256 random
/// bits, so it can't be guessed, and a backup holds nothing that opens the agent. An expired token stays until it is
/// revoked or replaced by one of the same name.
package import Basics

/// A permission that a token grants.
package enum TokenScope: String, Recordable, CaseIterable {
  /// Shows the names, times and statuses of runs, schedules and recipes.
  case read
  /// Shows the data of runs: inputs, outputs, messages and printed lines.
  case data
  /// Starts runs and sends events.
  case start
  /// Pauses, resumes, cancels, retries and resolves runs, and steers schedules.
  case steer
  /// Makes the decisions that runs ask people for.
  case approve
  /// Changes recipes, their tests and errand.yaml, and so may run any program as the agent's account.
  case edit
  /// Reads the figures of `/metrics`.
  case metrics
  /// Lists, makes and revokes tokens. No other scope includes it.
  case tokens
}

/// A token is made.
package struct TokenIssued: Record, Equatable {
  package var at: Timestamp
  /// Who its caller is: decisions are recorded under this name.
  package var name: String
  /// The SHA-256 of its text, in lower-case hexadecimal.
  package var sha256: String
  package var scopes: [TokenScope]
  /// The recipes whose runs it sees and steers; all if empty.
  package var recipes: [String]
  package var expiresAt: Timestamp?
  /// The beginning of the UTC day of its latest use; the event has none.
  package internal(set) var usedOn: Timestamp?

  package init(
    at: Timestamp, name: String, sha256: String, scopes: [TokenScope], recipes: [String] = [],
    expiresAt: Timestamp? = nil
  ) {
    self.at = at
    self.name = name
    self.sha256 = sha256
    self.scopes = scopes
    self.recipes = recipes
    self.expiresAt = expiresAt
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    at = try member("at", record?.at)
    name = try member("name", record?.name)
    sha256 = try member("sha256", record?.sha256)
    scopes = try member("scopes", record?.scopes)
    recipes = try member("recipes", record?.recipes, default: [])
    expiresAt = try member("expiresAt", record?.expiresAt)
    usedOn = try member("usedOn", record?.usedOn)
  }

  package func isExpired(at instant: Timestamp) -> Bool { expiresAt.map { $0 <= instant } ?? false }

  /// The most characters of a token's name.
  package static let mostCharacters = 60

  /// Why a text can't be a token's name; nil if it can.
  package static func fault(ofName text: String) -> String? {
    let isSound = text.utf8.allSatisfy { byte in
      switch byte {
      case ASCII.digits, ASCII.uppercase, ASCII.lowercase, ASCII.minus, ASCII.dot, ASCII.underscore: true
      default: false
      }
    }
    // Commands would take '-' for an option, and addresses '.' for another path.
    let isFit = text.utf8.first.map { $0 != ASCII.minus && $0 != ASCII.dot && $0 != ASCII.underscore } ?? false
    if isSound, isFit, (1...mostCharacters).contains(text.utf8.count) { return nil }
    return
      "a token's name has 1 to \(mostCharacters) letters, digits, dots, '-' and '_', and begins with a letter or a digit"
  }
}

/// A token is valid no longer.
package struct TokenRevoked: Record, Equatable {
  package var at: Timestamp
  package var name: String

  package init(at: Timestamp, name: String) {
    self.at = at
    self.name = name
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    at = try member("at", record?.at)
    name = try member("name", record?.name)
  }
}
