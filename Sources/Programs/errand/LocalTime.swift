import Agent
import AgentRuntime
import Basics
import Calendars
import Recipes
import Synchronization

/// The zone of the clock that people are shown, which is read when the first time is shown.
final class LocalZone: Sendable {
  private let read: @Sendable () -> TimeZoneRules
  private let known = Mutex<TimeZoneRules?>(nil)

  init(_ read: @escaping @Sendable () -> TimeZoneRules) { self.read = read }

  /// The zone of a folder's clock.
  convenience init(of workspace: Workspace) { self.init { workspace.wallClock(.epoch).zone } }

  func clock(at now: Timestamp) -> WallClock {
    let zone = known.withLock { known in
      let zone = known ?? read()
      known = zone
      return zone
    }
    return WallClock(zone, now: now)
  }
}
