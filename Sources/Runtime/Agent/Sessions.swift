/// The browsers that are logged in, and the links to log in with.
///
/// All of it is in memory: after a restart people log in again, and nothing that opens anything lies on a disk. A link
/// is good once and for a minute; a session for half a day, or for as long as the token that it was made with.
package import Basics
import Synchronization

package final class SessionTable: Sendable {
  /// Who uses a browser.
  package enum Visitor: Sendable, Equatable {
    /// The person of an account of this machine, who may do everything.
    case account(AgentCaller)
    /// The owner of a token, which is looked up again with each request.
    case token(sha256: String)
  }

  private struct Ticket {
    var visitor: Visitor
    var end: Timestamp
  }

  private struct Content {
    var base: String?
    var links: [String: Ticket] = [:]
    var sessions: [String: Ticket] = [:]
  }

  package static let linkLifetime = TimeSpan.seconds(60)
  package static let sessionLifetime = TimeSpan.seconds(12 * 3600)
  /// The most of each; the ones that end first go.
  private static let most = 1000

  private let content = Mutex(Content())

  package init() {}

  /// The agent's URL for browsers; nil without one.
  package var base: String? { content.withLock { $0.base } }
  /// Sets the URL, unless it is set.
  package func setBase(_ url: String) { content.withLock { if $0.base == nil { $0.base = url } } }

  /// Makes the secret part of a link.
  package func makeLink(for visitor: Visitor, at now: Timestamp) -> String {
    let text = [UInt8].random(32).hexadecimal
    content.withLock { SessionTable.put(visitor, text, SessionTable.linkLifetime, now, into: &$0.links) }
    return text
  }

  /// Begins a session with a link, which is used up.
  package func open(link: String, at now: Timestamp) -> String? {
    guard let ticket = content.withLock({ $0.links.removeValue(forKey: link) }), now < ticket.end else { return nil }
    return begin(for: ticket.visitor, at: now)
  }

  /// Begins a session; gives what the browser keeps.
  package func begin(for visitor: Visitor, at now: Timestamp) -> String {
    let text = [UInt8].random(32).hexadecimal
    content.withLock { SessionTable.put(visitor, text, SessionTable.sessionLifetime, now, into: &$0.sessions) }
    return text
  }

  package func visitor(of session: String, at now: Timestamp) -> Visitor? {
    content.withLock { content in
      guard let ticket = content.sessions[session] else { return nil }
      if now < ticket.end { return ticket.visitor }
      content.sessions[session] = nil
      return nil
    }
  }

  package func end(_ session: String) { content.withLock { $0.sessions[session] = nil } }

  private static func put(
    _ visitor: Visitor, _ text: String, _ span: TimeSpan, _ now: Timestamp, into tickets: inout [String: Ticket]
  ) {
    if tickets.count >= most { tickets = tickets.filter { now < $0.value.end } }
    if tickets.count >= most, let first = tickets.min(by: { $0.value.end < $1.value.end }) { tickets[first.key] = nil }
    tickets[text] = Ticket(visitor: visitor, end: now.advanced(by: span) ?? .latest)
  }
}
