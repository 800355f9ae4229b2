import Agent
import AgentRuntime
import Basics
import Calendars
import Glibc
import Recipes

extension Timestamp {
  /// The instant in the user's local time: `Sat 02:00`, with its date if it is days away.
  func localText(at now: Timestamp) -> String {
    var seconds = time_t(self.seconds)
    var parts = tm()
    guard localtime_r(&seconds, &parts) != nil else { return toSeconds }
    let isNear = (span(since: now) ?? .zero) < .seconds(6 * 86_400)
    var text = [CChar](repeating: 0, count: 64)
    let length = strftime(&text, text.count, isNear ? "%a %H:%M:%S" : "%a %Y-%m-%d %H:%M", &parts)
    guard length > 0 else { return toSeconds }
    return String(decoding: text[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

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
