import Basics

/// A notification that another session sent with `notify`.
package struct PostgresNotification: Hashable, Sendable {
  package var channel: String
  package var payload: String

  package init(channel: String, payload: String) {
    self.channel = channel
    self.payload = payload
  }
}

/// A connection to one server, for statements one after another.
///
/// Any task may use it; a statement waits for the statements before it. Cancelling the task doesn't cancel its
/// statement: it is answered, or the connection is closed after `answerWithin`, and its outcome is unknown.
package final class PostgresConnection: Sendable {
  package let settings: PostgresSettings
  /// The notifications on the channels of `listen`; keeps at most the last 1,024 that weren't taken, and ends with the
  /// connection.
  package let notifications: AsyncStream<PostgresNotification>
  private let session: PostgresSession

  /// Connects; a server that doesn't answer is given up after `answerWithin`.
  package static func open(_ settings: PostgresSettings) async throws(PostgresError) -> PostgresConnection {
    try await onThread { PostgresOpening(settings).connect() }.get()
  }

  init(_ settings: PostgresSettings, owning connection: OpaquePointer) throws(PostgresError) {
    let (stream, continuation) = AsyncStream.makeStream(
      of: PostgresNotification.self, bufferingPolicy: .bufferingNewest(1024))
    self.settings = settings
    notifications = stream
    session = PostgresSession(owning: connection, settings, continuation)
    guard PostgresLoop.shared.add(session) else {
      throw PostgresError(.unreachable, "the system has no thread or descriptor left")
    }
  }

  deinit { session.close() }

  /// Closes the connection; the outcome of a statement that is running is unknown then, and waiting statements are
  /// refused.
  package func close() { session.close() }

  package var isClosed: Bool { session.isClosed }

  /// Carries out statements as one transaction, in one round trip: all of them, or, if one fails, none.
  ///
  /// They may not begin or end transactions themselves.
  package func run(_ statements: [PostgresStatement]) async throws(PostgresError) -> [PostgresResult] {
    try await session.run(statements, .alone)
  }

  /// Carries out one statement.
  @discardableResult package func run(
    _ text: String, _ values: PostgresValue...
  ) async throws(PostgresError) -> PostgresResult {
    var statement = PostgresStatement(text)
    statement.values = values
    return try await session.run(statement, .alone)
  }

  /// Runs statements that depend on the answers before, as one transaction; other callers' statements wait.
  ///
  /// It is committed when the body returns, and rolled back when that throws. It isn't done before this has returned:
  /// the commit may be refused, or its outcome unknown. The body must use only the transaction: a statement that it
  /// sends over the connection itself would wait for the body's own end.
  package func transaction<Outcome>(_ body: (PostgresTransaction) async throws -> Outcome) async throws -> Outcome {
    let number = try await session.beginTransaction()
    defer { session.endTransaction(number) }
    let transaction = PostgresTransaction(session: session, number: number)
    do {
      let outcome = try await body(transaction)
      let end = try await session.run(PostgresStatement("commit"), .ending(number))
      // The server rolls back at a commit if a statement failed and the body didn't pass the error on.
      guard end.command == "COMMIT" else {
        throw PostgresError(.refused, "PostgreSQL rolled the transaction back, because one of its statements failed")
      }
      return outcome
    } catch {
      // Fails only if the connection is closed, and with it the transaction; after a commit there is nothing to undo.
      _ = try? await session.run(PostgresStatement("rollback"), .ending(number))
      throw error
    }
  }

  /// Subscribes to a channel; its notifications arrive in `notifications`.
  package func listen(to channel: String) async throws(PostgresError) {
    var name = "\""
    for scalar in channel.unicodeScalars {
      if scalar == "\"" { name.unicodeScalars.append(scalar) }
      name.unicodeScalars.append(scalar)
    }
    try await run("listen \(name)\"")
  }
}

/// An open transaction, for the time of its body.
package struct PostgresTransaction: Sendable {
  fileprivate let session: PostgresSession
  fileprivate let number: Int

  /// Carries out statements in one round trip; after one that fails the transaction can only be rolled back.
  package func run(_ statements: [PostgresStatement]) async throws(PostgresError) -> [PostgresResult] {
    try await session.run(statements, .within(number))
  }

  /// Carries out one statement.
  @discardableResult package func run(
    _ text: String, _ values: PostgresValue...
  ) async throws(PostgresError) -> PostgresResult {
    var statement = PostgresStatement(text)
    statement.values = values
    return try await session.run(statement, .within(number))
  }
}

extension PostgresSession {
  fileprivate func run(
    _ statements: [PostgresStatement], _ place: PostgresGroup.Place
  ) async throws(PostgresError) -> [PostgresResult] {
    if statements.isEmpty { return [] }
    var encoded: [(text: String, parameters: PostgresParameters)] = []
    for statement in statements {
      guard !statement.text.utf8.contains(0) else { throw PostgresError(.invalid, "a statement has a zero byte") }
      encoded.append((statement.text, try PostgresParameters(statement.values)))
    }
    let sent = encoded
    return try await withCheckedContinuation { submit(PostgresGroup(sent, place, $0)) }.get()
  }

  fileprivate func run(
    _ statement: PostgresStatement, _ place: PostgresGroup.Place
  ) async throws(PostgresError) -> PostgresResult {
    // As many results as statements, as the session checks.
    guard let result = try await run([statement], place).first else {
      throw PostgresError(.protocolError, "the server gave no result")
    }
    return result
  }
}
