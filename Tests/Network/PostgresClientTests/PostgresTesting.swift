import Basics
import PostgresClient
import PostgresTestKit
import Testing

/// Runs a body with a connection to a database of its own, or to the one of some settings.
func connected(
  to settings: PostgresSettings? = nil, answerWithin: TimeSpan = .seconds(60),
  _ body: (PostgresConnection) async throws -> Void
) async throws {
  var place: PostgresSettings
  if let settings { place = settings } else { place = try await PostgresServer.database() }
  place.answerWithin = answerWithin
  let connection = try await PostgresConnection.open(place)
  defer { connection.close() }
  try await body(connection)
}

/// The error that something ends with.
func failure<Outcome>(
  _ body: () async throws -> Outcome, sourceLocation: SourceLocation = #_sourceLocation
) async -> PostgresError? {
  do {
    _ = try await body()
    Issue.record("no error", sourceLocation: sourceLocation)
  } catch let error as PostgresError {
    return error
  } catch {
    Issue.record("\(error)", sourceLocation: sourceLocation)
  }
  return nil
}

extension Trait where Self == ConditionTrait {
  /// Skips tests, with a note, if no server is installed.
  static var needsPostgres: Self { .enabled(if: PostgresServer.isInstalled, "needs the Debian package postgresql") }
}

/// Waits until something is so that another session sees of a statement.
func waitUntil(_ connection: PostgresConnection, _ query: String) async throws {
  let end = ContinuousClock.now + .seconds(30)
  while try await connection.run(query).isEmpty {
    try #require(ContinuousClock.now < end, "\(query)")
    await Task.yield()
  }
}
