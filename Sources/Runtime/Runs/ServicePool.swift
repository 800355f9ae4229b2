import ActionKit
package import Basics
package import Recipes
package import RunState
import Synchronization

/// The services that the runs of one program share, so that each account has one session.
///
/// The key of a service is its plugin and all of its settings, secrets included: two connections with the same settings
/// are the same account. A service is made when a run first needs it, and kept a while after the last run has left it,
/// so that a schedule of every minute doesn't log in every minute. No timer watches the idle ones: they are bounded in
/// number, and dropped when the pool is next used.
package final class ServicePool: Sendable {
  struct Key: Hashable, Sendable {
    var plugin: String
    /// As JSON.
    var settings: [UInt8]
    /// The connection, if it has limits of its own.
    var limited: String?
  }

  typealias Making = Task<Result<any Sendable, ActionError>, Never>

  private struct Entry {
    var making: Making
    var users = 0
    var idleSince: TimeSpan?
  }

  private let time: any TimeSource
  private let entries = Mutex<[Key: Entry]>([:])
  /// By the names of their connections.
  private let limiters = Mutex<[String: ConnectionLimiter]>([:])
  /// Counts the calls under way, where time jumps.
  let pace: CallPace?

  private static let longestIdle = TimeSpan.seconds(600)
  private static let mostIdle = 16

  /// - Parameter pace: Counts the calls under way, where a sleep on `time` lets it jump.
  package init(time: any TimeSource, pace: CallPace? = nil) {
    self.time = time
    self.pace = pace
  }

  /// The limiters of connections, which continue from the recorded use in the state.
  package func limiters(
    _ limits: [String: ConnectionLimits], keptIn store: any StateStore
  ) async -> [String: ConnectionLimiter] {
    var found: [String: ConnectionLimiter] = [:]
    for (name, limits) in limits {
      let use = limiters.withLock { $0[name] } == nil ? await store.connectionUse(of: name) : nil
      found[name] = limiters.withLock { limiters in
        if let known = limiters[name] {
          known.use(limits)
          return known
        }
        let limiter = ConnectionLimiter(name, limits, after: use, sharing: store.sharing, time: time, pace: pace) {
          event throws(StateError) in try await store.append(.connectionUsed(event))
        }
        limiters[name] = limiter
        return limiter
      }
    }
    return found
  }

  /// How many services there are, in use or idle.
  package var count: Int { entries.withLock { $0.count } }

  /// The service of a key, created if it isn't there; the caller uses it until it releases it.
  func borrow(
    _ key: Key, _ make: @escaping @Sendable () async -> Result<any Sendable, ActionError>
  ) async throws(ActionError) -> any Sendable {
    let now = time.elapsed()
    let making = entries.withLock { entries in
      ServicePool.tidy(&entries, at: now)
      // Not cancelled with the caller: others wait for the same service. It ends when the service is made.
      var entry = entries[key] ?? Entry(making: Task { await make() })
      entry.users += 1
      entry.idleSince = nil
      entries[key] = entry
      return entry.making
    }
    let result = await making.value
    if case .failure = result {
      // The next caller that needs it tries again.
      entries.withLock { if $0[key]?.making == making { $0[key] = nil } }
    }
    return try result.get()
  }

  /// Releases services.
  func release(_ keys: [Key]) {
    let now = time.elapsed()
    entries.withLock { entries in
      for key in keys {
        guard var entry = entries[key] else { continue }
        entry.users -= 1
        if entry.users == 0 { entry.idleSince = now }
        entries[key] = entry
      }
      ServicePool.tidy(&entries, at: now)
    }
  }

  private static func tidy(_ entries: inout [Key: Entry], at now: TimeSpan) {
    var idle = entries.compactMap { key, entry in entry.idleSince.map { (key: key, since: $0) } }
    if idle.isEmpty { return }
    idle.sort { $0.since > $1.since }
    for (index, old) in idle.enumerated() where index >= mostIdle || now - old.since >= longestIdle {
      entries[old.key] = nil
    }
  }
}
