/// An error between this program and a PostgreSQL server.
///
/// The message is a sentence without the values that were sent. `detail` may repeat them, so it isn't for showing.
package struct PostgresError: Error, Hashable, Sendable {
  package enum Kind: String, Sendable {
    /// The request isn't valid, and nothing was sent.
    case invalid
    /// There is no connection, and nothing was sent.
    case unreachable
    /// The server answered with an error, and the transaction was rolled back.
    case refused
    /// The connection broke, or no answer came in time, or the server doubts its own: the transaction may be committed.
    case unknown
    /// The answer isn't what was asked for.
    case protocolError
  }

  package var kind: Kind
  /// A sentence without the full stop.
  package var message: String
  /// The server's code (PostgreSQL's appendix A); empty if the server said nothing.
  package var sqlState = ""
  /// `ERROR`, `FATAL` or `PANIC`; empty if the server said nothing.
  package var severity = ""
  /// The server's detail; may repeat values.
  package var detail = ""
  /// The constraint that was violated, if it was one.
  package var constraint = ""
  /// The table it is about, if it is about one.
  package var table = ""

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  /// Advice for a connection to a pooler instead of the server, as a part of a sentence.
  static let needsSessions =
    "is it a pooler such as PgBouncer? Errand needs a session of its own: name the server itself in 'state' of errand.yaml"

  /// Whether a pooler has given one session to several connections: a statement is prepared already that this
  /// connection hasn't prepared, or isn't there that it has.
  package var hasSharedSession: Bool { sqlState == "42P05" }

  /// A row with the same key is there already.
  package var isUniqueViolation: Bool { sqlState == "23505" }
  /// Another transaction came between: the same again may succeed.
  package var isSerializationFailure: Bool { sqlState == "40001" || sqlState == "40P01" }
  /// The server is shutting down, starting or ended the session.
  package var isShutdown: Bool { ["57P01", "57P02", "57P03"].contains(sqlState) }
  /// The server is a standby, or accepts no writes.
  package var isReadOnly: Bool { sqlState == "25006" }
  /// The server lacks something for a while, such as room on its disk, memory or connections, or its system failed
  /// (classes 53 and 58, and errors that have no code of their own).
  package var isInTrouble: Bool {
    ["53", "58"].contains(sqlState.prefix(2)) || sqlState == "XX000"
  }
  /// The statement was cancelled, or took longer than the server allows: in all, for a lock, or between two
  /// statements of a transaction.
  package var wasGivenUp: Bool { ["57014", "55P03", "25P03", "25P04"].contains(sqlState) }
  /// There is no table, or no schema, of that name.
  package var isWithoutTable: Bool { sqlState == "42P01" || sqlState == "3F000" }
}

extension PostgresError: CustomStringConvertible {
  package var description: String { message }
}
