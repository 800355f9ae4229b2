/// The recent requests on connections that have limits, kept so that a restart doesn't forget them.
///
/// A request counts from the instant before it is sent. The permission to send it is on disk first, so a crash never
/// lets more requests out than the limit allows. The state keeps the instants for as long as they count (`per`), and
/// the end of the pause that the service asked for.
package import Basics

/// Requests are about to be sent on a connection, or its service asked to wait.
package struct ConnectionUsed: Record, Equatable {
  package var at: Timestamp
  package var connection: String
  /// How many requests, or calls where the plugin doesn't use HTTP.
  package var requests: Int
  /// How long they count.
  package var per: TimeSpan
  /// Until when nothing more may be sent.
  package var heldUntil: Timestamp?
  /// The most requests that may count, with these, where several programs share the state; a request above it is
  /// refused.
  ///
  /// The instants are then by the clock that they share. Isn't recorded.
  package var limit: Int?

  package init(
    at: Timestamp, connection: String, requests: Int = 0, per: TimeSpan, heldUntil: Timestamp? = nil,
    limit: Int? = nil
  ) {
    self.at = at
    self.connection = connection
    self.requests = requests
    self.per = per
    self.heldUntil = heldUntil
    self.limit = limit
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    at = try member("at", record?.at)
    connection = try member("connection", record?.connection)
    requests = try member("requests", record?.requests, default: 0)
    per = try member("per", record?.per)
    heldUntil = try member("heldUntil", record?.heldUntil)
  }
}

/// The latest requests on a connection that still count for its limit.
package struct ConnectionUse: Record, Equatable {
  /// When each was about to be sent, in the order of the events.
  package var sent: [Timestamp]
  package var per: TimeSpan
  package var heldUntil: Timestamp?

  /// The most requests that a limit may count.
  package static let most = 10_000

  init(per: TimeSpan) {
    sent = []
    self.per = per
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    sent = try member("sent", record?.sent, default: [])
    per = try member("per", record?.per)
    heldUntil = try member("heldUntil", record?.heldUntil)
  }

  /// Whether nothing of it counts at an instant.
  func isOver(at instant: Timestamp) -> Bool {
    !(heldUntil.map { $0 > instant } ?? false) && !(sent.last.map { counts($0, at: instant) } ?? false)
  }

  private func counts(_ sent: Timestamp, at instant: Timestamp) -> Bool {
    sent.advanced(by: per).map { $0 > instant } ?? true
  }

  /// How long requests have to wait that have a limit; nil if they may go.
  func wait(of event: ConnectionUsed) -> TimeSpan? {
    guard let limit = event.limit, event.requests > 0 else { return nil }
    if let held = heldUntil, held > event.at { return held.span(since: event.at) ?? event.per }
    let counting = sent.filter { counts($0, at: event.at) }
    let excess = counting.count + event.requests - limit
    guard excess > 0, !counting.isEmpty else { return nil }
    // Requests of other programs may be recorded out of order.
    let free = counting.sorted()[min(excess, counting.count) - 1].advanced(by: per)
    return free.flatMap { $0.span(since: event.at) } ?? event.per
  }

  mutating func apply(_ event: ConnectionUsed) {
    per = event.per
    if let held = event.heldUntil { heldUntil = max(held, heldUntil ?? held) }
    sent += Array(repeating: event.at, count: min(max(0, event.requests), ConnectionUse.most))
    // Not before half of them are over, so that each is moved only a few times.
    if sent.count > ConnectionUse.most || sent.count > 1 && !counts(sent[sent.count / 2], at: event.at) {
      sent = sent.filter { counts($0, at: event.at) }.suffix(ConnectionUse.most)
    }
  }
}
