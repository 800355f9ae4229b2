/// The logins of browsers that use an agent's pages, and when they and the tokens were last used.
///
/// A browser keeps the text of its session in a cookie. The state keeps the SHA-256 of the text, which has 256 random
/// bits: so a login outlives a restart and holds on each machine of a shared state, and neither the state nor a backup
/// holds anything that opens the agent. Uses are kept by the day, in UTC, so that each costs one write a day.
package import Basics

/// A browser logged in.
package struct SessionBegan: Record, Equatable {
  package var at: Timestamp
  /// The SHA-256 of the session's text, in lower-case hexadecimal.
  package var sha256: String
  /// The person who logged in.
  package var name: String
  /// The SHA-256 of the token that it was made with; nil if a program of this machine's accounts made it.
  package var token: String?
  /// The account of the machine; nil if it was made with a token.
  package var account: String?
  package var until: Timestamp
  /// The beginning of the UTC day of the latest use; the event has none.
  package internal(set) var usedOn: Timestamp?

  package init(
    at: Timestamp, sha256: String, name: String, token: String? = nil, account: String? = nil, until: Timestamp
  ) {
    self.at = at
    self.sha256 = sha256
    self.name = name
    self.token = token
    self.account = account
    self.until = until
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    at = try member("at", record?.at)
    sha256 = try member("sha256", record?.sha256)
    name = try member("name", record?.name)
    token = try member("token", record?.token)
    account = try member("account", record?.account)
    until = try member("until", record?.until)
    usedOn = try member("usedOn", record?.usedOn)
  }

  /// How many sessions a state keeps at most.
  package static let most = 1000
  /// How long the state says of a session that it is over, so that the login page can tell why.
  package static let remembered = TimeSpan.seconds(7 * 86_400)

  /// When nothing is known of it any more.
  var forgottenAt: Timestamp { until.advanced(by: SessionBegan.remembered) ?? .latest }

  /// The sessions that a new one replaces: long ended ones, and if there are too many, the ones that end first.
  ///
  /// They are ended by an event beside the new one, so that a store that reads only a part of the state does the same.
  package static func replaced(among known: [SessionBegan], at now: Timestamp) -> [String] {
    let forgotten = known.filter { $0.forgottenAt <= now }
    let rest = known.filter { now < $0.forgottenAt }.sorted {
      $0.until == $1.until ? $0.sha256.precedesByScalars($1.sha256) : $0.until < $1.until
    }
    return (forgotten + rest.prefix(max(0, rest.count + 1 - most))).map(\.sha256)
  }
}

/// Browsers are logged in no longer.
package struct SessionEnded: Record, Equatable {
  package var at: Timestamp
  /// The SHA-256 of each session's text.
  package var sessions: [String]

  package init(at: Timestamp, sessions: [String]) {
    self.at = at
    self.sessions = sessions
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    at = try member("at", record?.at)
    sessions = try member("sessions", record?.sessions)
  }
}

/// A token or a session was used for the first time on a UTC day.
package struct AccessUsed: Record, Equatable {
  package var at: Timestamp
  /// The name of the token.
  package var token: String?
  /// The SHA-256 of the session's text.
  package var session: String?

  package init(at: Timestamp, token: String? = nil, session: String? = nil) {
    self.at = at
    self.token = token
    self.session = session
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    at = try member("at", record?.at)
    token = try member("token", record?.token)
    session = try member("session", record?.session)
  }
}

extension Timestamp {
  /// The beginning of its day in UTC.
  package var utcDay: Timestamp { Timestamp(seconds: seconds &- ((seconds % 86_400) &+ 86_400) % 86_400) ?? .earliest }

  /// Its day in UTC, such as `2026-11-20`.
  package var utcDate: String { String("\(utcDay)".prefix { $0 != "T" }) }
}
