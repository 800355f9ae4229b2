import Agent
import AgentRuntime
import Basics
import Calendars
import Recipes
import Synchronization

extension Workspace {
  /// The user's clock: in the zone of `$TZ`, else of errand.yaml, else of the machine.
  func wallClock(_ now: Timestamp) -> WallClock {
    if let name = String(environment: "TZ") ?? configuration.zone {
      return WallClock((try? TimeZoneDatabase.system.rules(named: name)) ?? .utc, now: now)
    }
    let machine = (try? Files.read("/etc/localtime", limit: 1 << 20)).flatMap {
      try? TimeZoneRules(name: "local time", file: $0)
    }
    return WallClock(machine ?? .utc, now: now)
  }
}

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
