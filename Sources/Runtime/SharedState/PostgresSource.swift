import Basics
import PostgresClient
import Synchronization

/// The servers of a state, and the highest timeline of which one of them was seen.
///
/// A server that was promoted begins a new timeline. One of a lower timeline is a primary that was replaced, and does not
/// know it yet: what it acknowledges is lost.
final class PostgresTimeline: Sendable {
  let hosts: [PostgresSettings]
  private let highest = Mutex(0)

  init(_ hosts: [PostgresSettings]) { self.hosts = hosts }

  /// The highest that was seen; 0 before there was a connection.
  var seen: Int { highest.withLock { $0 } }

  /// Looks whether there is a server of a higher timeline than those that are connected.
  func survey() async {
    if let found = try? await connect() { found.connection.close() }
  }

  /// Asks all servers at once, and connects to the one that takes writes.
  func connect() async throws(PostgresError) -> (connection: PostgresConnection, timeline: Int) {
    var found: [(connection: PostgresConnection, timeline: Int)] = []
    var reasons: [PostgresError] = []
    await withTaskGroup(of: Result<(PostgresConnection, Int), PostgresError>.self) { group in
      for host in hosts {
        group.addTask {
          do throws(PostgresError) { return .success(try await PostgresTimeline.look(at: host)) } catch {
            return .failure(error)
          }
        }
      }
      for await result in group {
        switch result {
        case .success(let answer): found.append(answer)
        case .failure(let error): reasons.append(error)
        }
      }
    }
    let best = found.max { $0.timeline < $1.timeline }
    let isNewest = best.map { best in
      highest.withLock { highest in
        highest = max(highest, best.timeline)
        return best.timeline == highest
      }
    }
    for other in found where other.connection !== best?.connection || isNewest == false { other.connection.close() }
    if let best, isNewest == true { return best }
    if best != nil {
      throw PostgresError(
        .unreachable, "the only server that takes writes was replaced by another, which doesn't answer")
    }
    guard var error = reasons.first(where: { !$0.isReadOnly }) ?? reasons.first else {
      throw PostgresError(.unreachable, "the state's URL names no server")
    }
    // The first decides what is done about it, and people have to know of all.
    let others = reasons.map(\.message).filter { $0 != error.message }
    error.message = ([error.message] + others).joined(separator: "; ")
    throw error
  }

  /// The timeline of a server that takes writes, in SQL.
  static let expression = "('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int8"

  private static func look(at host: PostgresSettings) async throws(PostgresError) -> (PostgresConnection, Int) {
    let connection = try await PostgresConnection.open(host)
    do throws(PostgresError) {
      let row = try await connection.run(
        "select case when pg_is_in_recovery() then 0 else \(expression) end"
      ).first
      guard let timeline = try row?.int64(0), timeline > 0 else {
        var error = PostgresError(.unreachable, "\(host) is a standby, which takes no writes")
        error.sqlState = "25006"
        throw error
      }
      try await connection.run("set search_path to errand")
      return (connection, timeline)
    } catch {
      connection.close()
      throw error
    }
  }
}

/// One connection to the state, made anew when it was lost.
actor PostgresSource {
  private let timeline: PostgresTimeline
  private var opening: Task<Result<(connection: PostgresConnection, timeline: Int), PostgresError>, Never>?
  /// Whether there was a connection.
  private var hasConnected = false
  private var isClosed = false
  private var channel: (name: String, hear: @Sendable (String) -> Void)?

  init(_ timeline: PostgresTimeline) { self.timeline = timeline }

  private func connection() async throws(PostgresError) -> PostgresConnection {
    while true {
      if isClosed { throw PostgresError(.unreachable, "the connection to the state was closed") }
      // Callers that come meanwhile wait for the same attempt.
      let task =
        opening
        ?? Task { [timeline] in
          do throws(PostgresError) {
            let found = try await timeline.connect()
            try await begin(found.connection)
            return .success(found)
          } catch { return .failure(error) }
        }
      opening = task
      switch await task.value {
      case .success(let found):
        // One of a server that was replaced is of no use, though it may answer.
        if found.timeline < timeline.seen { found.connection.close() }
        hasConnected = true
        if !found.connection.isClosed { return found.connection }
        if opening == task { opening = nil }
      case .failure(let error):
        if opening == task { opening = nil }
        throw error
      }
    }
  }

  /// Has a listener hear what others say on a channel, on this connection and on those that follow it.
  func listen(to name: String, _ hear: @escaping @Sendable (String) -> Void) async {
    channel = (name, hear)
    if case .success(let found) = await opening?.value { try? await begin(found.connection) }
  }

  private func begin(_ connection: PostgresConnection) async throws(PostgresError) {
    guard let channel else { return }
    try await connection.listen(to: channel.name)
    let notifications = connection.notifications
    // Notifications sent before this were lost, so the listener has to look.
    for payload in ["due", "schedules"] { channel.hear(payload) }
    // Ends with the connection.
    Task { for await notification in notifications { channel.hear(notification.payload) } }
  }

  func ask<Answer: Sendable>(
    _ body: @Sendable (PostgresConnection) async throws(PostgresError) -> Answer
  ) async throws(DatabaseError) -> Answer {
    let connection = try await reached()
    do throws(PostgresError) { return try await body(connection) } catch { throw DatabaseError(error) }
  }

  /// The connection; what a server refuses that has let this program in before may be allowed again.
  private func reached() async throws(DatabaseError) -> PostgresConnection {
    do throws(PostgresError) { return try await connection() } catch {
      throw hasConnected ? .unavailable(error.message) : DatabaseError(error)
    }
  }

  func transact<Outcome: Sendable>(
    _ body: @Sendable (PostgresTransaction) async throws(PostgresError) -> Outcome
  ) async throws(DatabaseError) -> Outcome {
    try await transact(throwing: DatabaseError.self) { transaction throws(DatabaseError) in
      do throws(PostgresError) { return try await body(transaction) } catch { throw DatabaseError(error) }
    }
  }

  func transact<Outcome: Sendable>(
    throwing: DatabaseError.Type, _ body: @Sendable (PostgresTransaction) async throws(DatabaseError) -> Outcome
  ) async throws(DatabaseError) -> Outcome {
    let connection = try await reached()
    do { return try await connection.transaction { transaction in try await body(transaction) } } catch {
      throw error as? DatabaseError ?? (error as? PostgresError).map { DatabaseError($0) } ?? .unusable("\(error)")
    }
  }

  func close() async {
    isClosed = true
    if case .success(let found) = await opening?.value { found.connection.close() }
  }
}
