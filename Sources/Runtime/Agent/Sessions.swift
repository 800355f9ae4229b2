/// The logins of browsers, and the links to log in with.
///
/// A link is good once and for a minute, and only this program knows it. A session lasts half a day, or as long as the
/// token that it was made with; the state keeps it (`LoginSession.swift`).
package import Basics
package import RunState
import Synchronization

package final class SessionTable: Sendable {
  private struct Ticket {
    var caller: AgentCaller
    var end: Timestamp
  }

  private struct Content {
    var base: String?
    var links: [String: Ticket] = [:]
    /// The UTC day that `noted` is about.
    var day = Timestamp.earliest
    /// The tokens and sessions whose use was recorded on that day, or was to be.
    var noted: Set<String> = []
  }

  package static let linkLifetime = TimeSpan.seconds(60)
  package static let sessionLifetime = TimeSpan.seconds(12 * 3600)
  /// The most links; the ones that end first go.
  private static let mostLinks = 1000
  /// The most uses that are noted on a day.
  private static let mostNoted = 10_000

  private let store: any StateStore
  private let content = Mutex(Content())

  package init(_ store: any StateStore) { self.store = store }

  /// The agent's URL for browsers; nil without one.
  package var base: String? { content.withLock { $0.base } }
  /// Sets the URL, unless it is set.
  package func setBase(_ url: String) { content.withLock { if $0.base == nil { $0.base = url } } }

  // MARK: Logging in

  /// Makes the secret part of a link.
  package func makeLink(for caller: AgentCaller, at now: Timestamp) -> String {
    let text = [UInt8].random(32).hexadecimal
    let ticket = Ticket(caller: caller, end: now.advanced(by: SessionTable.linkLifetime) ?? .latest)
    content.withLock { content in
      if content.links.count >= SessionTable.mostLinks { content.links = content.links.filter { now < $0.value.end } }
      if content.links.count >= SessionTable.mostLinks,
        let first = content.links.min(by: { $0.value.end < $1.value.end })
      {
        content.links[first.key] = nil
      }
      content.links[text] = ticket
    }
    return text
  }

  /// Begins a session with a link, which is used up; nil if the link is known no more.
  package func open(link: String, at now: Timestamp) async throws(StateError) -> String? {
    guard let ticket = content.withLock({ $0.links.removeValue(forKey: link) }), now < ticket.end else { return nil }
    return try await begin(for: ticket.caller, at: now)
  }

  /// Begins a session; gives the text that the browser keeps.
  package func begin(for caller: AgentCaller, at now: Timestamp) async throws(StateError) -> String {
    let text = [UInt8].random(32).hexadecimal
    let end = now.advanced(by: SessionTable.sessionLifetime) ?? .latest
    let session = SessionBegan(
      at: now, sha256: try sha256(Array(text.utf8)), name: caller.name, token: caller.token,
      account: caller.isToken ? nil : caller.account, until: min(end, caller.expiresAt ?? end))
    let replaced = SessionBegan.replaced(among: await store.sessions(), at: now)
    let ended = replaced.isEmpty ? [] : [StateEvent.sessionEnded(SessionEnded(at: now, sessions: replaced))]
    try await store.append(ended + [.sessionBegan(session)])
    return text
  }

  /// The session of a browser, also one that is over; nil if there is none.
  package func session(_ text: String) async -> SessionBegan? {
    guard text.utf8.count == 64, let digest = try? sha256(Array(text.utf8)) else { return nil }
    return await store.session(digest)
  }

  // MARK: Logging out

  package func end(_ text: String, at now: Timestamp) async throws(StateError) {
    guard let session = await session(text) else { return }
    try await end([session], at: now)
  }

  /// Ends the sessions of a caller in all browsers, or of all people; gives how many weren't over yet.
  package func end(of caller: AgentCaller?, at now: Timestamp) async throws(StateError) -> Int {
    let ended = await store.sessions().filter { session in
      guard let caller else { return true }
      return caller.isToken ? session.token == caller.token : session.account == caller.account
    }
    try await end(ended, at: now)
    return ended.count { now < $0.until }
  }

  private func end(_ sessions: [SessionBegan], at now: Timestamp) async throws(StateError) {
    if sessions.isEmpty { return }
    try await store.append(.sessionEnded(SessionEnded(at: now, sessions: sessions.map(\.sha256))))
  }

  // MARK: Uses

  /// Records that a token and a session are used, each once a UTC day.
  package func note(_ token: TokenIssued?, _ session: SessionBegan? = nil, at now: Timestamp) async {
    let day = now.utcDay
    let token = token.flatMap { ($0.usedOn ?? .earliest) < day ? $0 : nil }
    let session = session.flatMap { ($0.usedOn ?? .earliest) < day ? $0 : nil }
    if token == nil, session == nil { return }
    let isFirst = content.withLock { content in
      if content.day != day { (content.day, content.noted) = (day, []) }
      // A state that can't be written isn't asked with each request.
      guard content.noted.count < SessionTable.mostNoted else { return false }
      return content.noted.insert("\(token?.sha256 ?? "") \(session?.sha256 ?? "")").inserted
    }
    guard isFirst else { return }
    // Nothing depends on it: a use that can't be recorded is answered all the same.
    try? await store.append(.accessUsed(AccessUsed(at: now, token: token?.name, session: session?.sha256)))
  }
}
