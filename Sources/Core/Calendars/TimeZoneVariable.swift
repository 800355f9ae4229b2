import Basics

extension TimeZoneDatabase {
  /// The zone that the variable TZ names, in each of its forms; nil if it names none.
  ///
  /// POSIX (Base Definitions, 8.3) and glibc know `Europe/Berlin`, the same after a colon, the path of a zone file, a rule
  /// such as `CET-1CEST,M3.5.0,M10.5.0/3`, and nothing, which is UTC.
  package func rules(ofVariable text: String) -> TimeZoneRules? {
    var name = text.hasPrefix(":") ? String(text.dropFirst()) : text
    // The same zones, in a folder of their own where there are others with leap seconds.
    if name.hasPrefix("posix/") { name.removeFirst("posix/".count) }
    if name.isEmpty { return .utc }
    if let rules = try? rules(named: name) { return rules }
    guard name.hasPrefix("/") else { return TimeZoneRules(rule: name) }
    guard let file = try? Files.read(name, limit: 1 << 20) else { return nil }
    let parts = name.split(separator: "/")
    let known = parts.firstIndex(of: "zoneinfo").map { parts[($0 + 1)...].joined(separator: "/") }
    return try? TimeZoneRules(name: known ?? "local time", file: file)
  }
}
