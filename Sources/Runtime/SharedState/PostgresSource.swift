import Basics
import PostgresClient
import Synchronization

/// The servers of a state, and the highest timeline that one of them was seen on.
///
/// A promoted server begins a new timeline. A server on a lower timeline is a primary that was replaced and doesn't
/// know it yet: writes that it acknowledges are lost.
final class PostgresTimeline: Sendable {
  private let settings: Mutex<[PostgresSettings]>
  private let highest = Mutex(0)

  init(_ hosts: [PostgresSettings]) { settings = Mutex(hosts) }

  /// The servers, and how connections to them are made from now on.
  var hosts: [PostgresSettings] {
    get { settings.withLock { $0 } }
    set { settings.withLock { $0 = newValue } }
  }

  /// The highest that was seen; 0 before there was a connection.
  var seen: Int { highest.withLock { $0 } }

  /// Asks one of the servers again and again whether it has taken over, by a connection of its own, until it is cancelled.
  ///
  /// It notices long before another program may claim runs that are held here (`SharedWorker.lease`).
  func watch(_ index: Int, _ time: any TimeSource) async {
    var kept: PostgresConnection?
    while (try? await time.sleep(for: PostgresTimeline.untilLooked)) != nil {
      do throws(PostgresError) {
        let hosts = hosts
        guard index < hosts.count else { break }
        let connection: PostgresConnection
        if let kept { connection = kept } else { connection = try await PostgresConnection.open(hosts[index]) }
        kept = connection
        note(try await PostgresTimeline.timeline(of: connection))
      } catch {
        kept?.close()
        kept = nil
      }
    }
    kept?.close()
  }

  private static let untilLooked = TimeSpan.seconds(3)

  /// Notes a timeline; whether it is the highest.
  @discardableResult private func note(_ timeline: Int) -> Bool {
    highest.withLock { highest in
      highest = max(highest, timeline)
      return timeline == highest
    }
  }

  /// Asks all servers at once, and connects to the one that takes writes.
  ///
  /// Once one of them is found, the others are awaited only for a moment: one that is without power never answers.
  func connect() async throws(PostgresError) -> (connection: PostgresConnection, timeline: Int) {
    typealias Answer = Result<(connection: PostgresConnection, timeline: Int), PostgresError>
    let hosts = hosts
    if hosts.isEmpty { throw PostgresError(.unreachable, "the state's URL names no server") }
    let (answers, giving) = AsyncStream.makeStream(of: Answer?.self)
    for host in hosts {
      // Ends with the answer, even if the caller no longer waits for it.
      Task {
        do throws(PostgresError) {
          let found = try await PostgresTimeline.look(at: host)
          if case .terminated = giving.yield(.success(found)) { found.connection.close() }
        } catch {
          giving.yield(.failure(error))
        }
      }
    }
    var found: [(connection: PostgresConnection, timeline: Int)] = []
    var reasons: [PostgresError] = []
    for await answer in answers {
      switch answer {
      case .success(let one):
        // Ends after that moment.
        if found.isEmpty {
          Task {
            try? await SystemTime().sleep(for: PostgresTimeline.moment)
            giving.yield(nil)
          }
        }
        found.append(one)
      case .failure(let error): reasons.append(error)
      case nil: giving.finish()
      }
      if found.count + reasons.count == hosts.count { giving.finish() }
    }
    let best = found.max { $0.timeline < $1.timeline }
    let isNewest = best.map { note($0.timeline) }
    for other in found where other.connection !== best?.connection || isNewest == false { other.connection.close() }
    if let best, isNewest == true { return best }
    if best != nil {
      throw PostgresError(
        .unreachable, "the only server that takes writes was replaced by another, which doesn't answer")
    }
    guard var error = reasons.first(where: { !$0.isReadOnly }) ?? reasons.first else {
      throw PostgresError(.unreachable, "no server answers")
    }
    // The first decides what is done about it, and people have to know of all.
    let others = reasons.map(\.message).filter { $0 != error.message }
    error.message = ([error.message] + others).joined(separator: "; ")
    throw error
  }

  private static let moment = TimeSpan.seconds(1)

  /// The timeline of a server that takes writes, in SQL.
  static let expression = "('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::int8"

  /// The timeline of a server, if it takes writes; 0 for a standby.
  private static func timeline(of connection: PostgresConnection) async throws(PostgresError) -> Int {
    try await connection.run("select case when pg_is_in_recovery() then 0 else \(expression) end").first?.int64(0) ?? 0
  }

  private static func look(
    at host: PostgresSettings
  ) async throws(PostgresError) -> (connection: PostgresConnection, timeline: Int) {
    let connection = try await PostgresConnection.open(host)
    do throws(PostgresError) {
      let timeline = try await timeline(of: connection)
      guard timeline > 0 else {
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

  /// Sets a function to call with notifications on a channel, from this connection and its successors.
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
