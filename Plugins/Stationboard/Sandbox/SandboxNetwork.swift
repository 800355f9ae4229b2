import ActionKit
import Glibc
import SandboxKit

// The sandbox's data: four stops of Bern and its surroundings with a timetable that is the same every hour. Realtime is
// known an hour ahead: RE1 is always three and a half minutes late, IR15 has none, everything else is on time.

/// The delay, platform change or cancellation of a line's departures.
struct SandboxTrouble: Sendable {
  var delay = TimeSpan.zero
  var platform: String?
  /// `trip` or `stop`.
  var cancelled: String?
  /// How long before a departure the service learns of it.
  var known = TimeSpan.seconds(3600)
}

extension SandboxTrouble {
  /// Reads what a test asks for; nil if it asks for nothing.
  init?(_ query: HTTPQuery) {
    guard query["delay"] ?? query["platform"] ?? query["cancelled"] != nil else { return nil }
    self.init(
      delay: query["delay"].flatMap { TimeSpan($0) } ?? .zero, platform: query["platform"],
      cancelled: query["cancelled"], known: query["known"].flatMap { TimeSpan($0) } ?? .seconds(3600))
  }
}

/// A stop of the sandbox.
struct SandboxStation: Sendable {
  var id: String
  var name: String
  var latitude: Double
  var longitude: Double

  /// Its number: the id without the prefix of stations.
  var number: String { String(id.dropFirst("Parent".count)) }

  var searched: Value {
    .object([
      "id": .string(id), "name": .string(name), "stop_id": .string(id), "stationId": .string(id),
      "stationName": .string(name), "group_id": .string(id), "raw_stop_id": .string(id), "stop_name": .string(name),
      "parent_station": .null, "location_type": .string(""), "nb_stop_times": .int(4021), "city": .string("Bern"),
      "canton": .null, "isParent": .bool(true), "isPlatform": .bool(false),
    ])
  }

  func nearby(at distance: Double) -> Value {
    .object([
      "stop_id": .string(id), "group_id": .string(id), "raw_stop_id": .string("\(number):0:1"),
      "stop_name": .string(name), "parent_station": .string(id), "nb_stop_times": .int(4021),
      "distance_m": .double((distance * 100).rounded() / 100),
    ])
  }

  /// Metres, on a globe that is flat nearby.
  func distance(latitude: Double, longitude: Double) -> Double {
    let degree = 111_195.0
    return hypot(
      (latitude - self.latitude) * degree, (longitude - self.longitude) * degree * cos(latitude * .pi / 180))
  }
}

/// A line at a stop.
struct SandboxLine: Sendable {
  var stop: String
  var line: String
  var category: String
  var destination: String
  var `operator`: String
  var platform: String
  /// The first minute of the hour.
  var minute: Int
  /// Minutes from one to the next.
  var period: Int
}

/// The service's data at an instant.
struct SandboxNetwork {
  var troubles: [String: SandboxTrouble] = [:]
  var hasRealtime = true

  static let stations = [
    SandboxStation(id: "Parent8507000", name: "Bern", latitude: 46.9489, longitude: 7.4380),
    SandboxStation(id: "Parent8507083", name: "Bern Wankdorf", latitude: 46.9676, longitude: 7.4655),
    SandboxStation(id: "Parent8590010", name: "Bern, Hirschengraben", latitude: 46.9475, longitude: 7.4365),
    SandboxStation(id: "Parent8591234", name: "Hinterwald, Alp", latitude: 46.6012, longitude: 7.9087),
  ]

  static let lines = """
    8507000|IC61|IC|Interlaken Ost|Schweizerische Bundesbahnen SBB|5|4|30
    8507000|S3|S|Belp|BLS AG (bls)|12|6|30
    8507000|IC5|IC|Zürich HB|Schweizerische Bundesbahnen SBB|7|5|30
    8507000|RE1|RE|Zweisimmen|BLS AG (bls)|2|39|60
    8507000|S1|S|Thun|BLS AG (bls)|3|12|30
    8507000|IR15|IR|Luzern|Schweizerische Bundesbahnen SBB|8|48|60
    8507000|IC8|IC|Brig|Schweizerische Bundesbahnen SBB|6|7|60
    8507083|S3|S|Bern|BLS AG (bls)|1|1|30
    8507083|S1|S|Fribourg/Freiburg|BLS AG (bls)|4|16|30
    8590010|10|B|Köniz, Schliern|Städtische Verkehrsbetriebe Bern|B|3|10
    8590010|6|T|Worb Dorf|Städtische Verkehrsbetriebe Bern|A|7|15
    """.split(separator: "\n").map { row in
      let parts = row.split(separator: "|").map(String.init)
      return SandboxLine(
        stop: parts[0], line: parts[1], category: parts[2], destination: parts[3], operator: parts[4],
        platform: parts[5], minute: Int(parts[6]) ?? 0, period: Int(parts[7]) ?? 60)
    }

  /// The stop of an id in any of its forms.
  static func station(id: String) -> SandboxStation? {
    let number = String((id.hasPrefix("Parent") ? id.dropFirst("Parent".count) : id[...]).prefix { $0 != ":" })
    return stations.first { $0.number == number }
  }

  /// The realtime changes every quarter of a minute.
  static func realtimeFetched(before now: Timestamp) -> Timestamp {
    Timestamp(seconds: now.seconds - now.seconds.flooredRemainder(by: 15)) ?? now
  }

  /// An instant as the service writes it.
  static func text(_ instant: Timestamp) -> String {
    let text = instant.description
    return text.utf8.count == 20 ? "\(text.dropLast()).000Z" : text
  }

  private static func instant(_ instant: Timestamp?) -> Value { instant.map { .string(text($0)) } ?? .null }

  // MARK: Boards

  func board(
    of station: SandboxStation, at now: Timestamp, limit: Int, minutes: Int, isWithAlerts: Bool, language: String
  ) -> ValueMap {
    let rows = Self.lines.filter { $0.stop == station.number }
      .flatMap { departures(of: $0, at: now, minutes: minutes, isWithAlerts: isWithAlerts, language: language) }
      .sorted { $0.at < $1.at }
    let fetchedAt = Self.realtimeFetched(before: now)
    let age = (now.span(since: fetchedAt)?.nanoseconds ?? 0) / 1_000_000
    var board = ValueMap()
    board["station"] = .object(["id": .string(station.id), "name": .string(station.name)])
    board["departures"] = .list(rows.prefix(limit).map { $0.row() })
    board["resolved"] = .object([
      "canonicalId": .string(station.id), "source": .string("direct"), "childrenCount": .int(12),
    ])
    if rows.isEmpty {
      let end = now.advanced(by: .seconds(minutes * 60)) ?? now
      func both(_ instant: Timestamp) -> Value {
        .object(["utc": Self.instant(instant), "zurich": .string("\(Self.text(instant)) Europe/Zurich")])
      }
      board["noService"] = .object([
        "reason": .string("no_service_in_time_window"),
        "window": .object(["now": both(now), "start": both(now), "end": both(end)]),
      ])
    }
    board["rt"] = .object([
      "available": .bool(hasRealtime), "applied": .bool(hasRealtime),
      "reason": .string(hasRealtime ? "fresh" : "missing"),
      "feedKey": .string("rt_parsed_tables"), "fetchedAt": Self.instant(fetchedAt), "cacheAgeMs": .int(age),
      "freshnessThresholdMs": .int(45_000), "cacheStatus": .string(hasRealtime ? "FRESH" : "MISS"),
      "lastError": .null, "rtSource": .string("parsed"),
    ])
    board["alerts"] = .object([
      "available": .bool(isWithAlerts), "applied": .bool(isWithAlerts),
      "reason": .string(isWithAlerts ? "applied" : "not_requested"), "includeRequested": .bool(isWithAlerts),
      "includeApplied": .bool(isWithAlerts), "fetchedAt": Self.instant(fetchedAt), "entities": .list([]),
    ])
    let isStruck = isWithAlerts && station.number == "8507000" && !troubles.isEmpty
    board["banners"] = .list(isStruck ? [banner(of: station, language)] : [])
    board["meta"] = .object([
      "serverTime": Self.instant(now), "responseMode": .string("full"), "rtStatus": .string("applied"),
      "rtFetchedAt": Self.instant(fetchedAt), "rtCacheAgeMs": .int(age),
      "rtAppliedCount": .int(rows.prefix(limit).count { $0.isConfirmed }), "totalBackendMs": .double(21.5),
      "skippedSteps": .list([]), "alertsStatus": .string(isWithAlerts ? "applied" : "disabled"),
    ])
    return board
  }

  private func banner(of station: SandboxStation, _ language: String) -> Value {
    let header = ["fr": "Perturbations", "it": "Perturbazioni", "en": "Disruptions"][language] ?? "Störungen"
    return .object([
      "severity": .string("warning"), "header": .string(header), "description": .string(""),
      "affected": .object(["stop_id": .string(station.id)]),
    ])
  }

  private func departures(
    of line: SandboxLine, at now: Timestamp, minutes: Int, isWithAlerts: Bool, language: String
  ) -> [(at: Timestamp, isConfirmed: Bool, row: () -> Value)] {
    // Late ones of the hour before are still to come.
    let hour = now.seconds - now.seconds.flooredRemainder(by: 3600) - 2 * 3600
    let end = now.seconds + minutes * 60
    return stride(from: hour + line.minute * 60, to: end, by: line.period * 60).compactMap { seconds in
      guard let scheduled = Timestamp(seconds: seconds) else { return nil }
      let isKnown = hasRealtime && line.line != "IR15" && seconds - now.seconds <= 3600
      let trouble = isKnown ? troubles[line.line].flatMap { isDue($0, scheduled, now) ? $0 : nil } : nil
      let isLate = line.line == "RE1" && isKnown
      let delay = trouble?.delay ?? (isLate ? .seconds(204) : .zero)
      let expected = scheduled.advanced(by: delay) ?? scheduled
      guard let gone = expected.advanced(by: .seconds(45)), gone >= now else { return nil }
      // Most of them are beyond the limit, and their rows are never asked for.
      return (
        expected, isKnown, { row(line, scheduled, expected, isKnown: isKnown, trouble, isWithAlerts, language) }
      )
    }
  }

  private func isDue(_ trouble: SandboxTrouble, _ scheduled: Timestamp, _ now: Timestamp) -> Bool {
    scheduled.span(since: now).map { $0 <= trouble.known } ?? false
  }

  private func alert(of line: SandboxLine, _ language: String) -> Value {
    let header =
      ["fr": "Train supprimé", "it": "Treno soppresso", "en": "Train cancelled"][language] ?? "Zug fällt aus"
    return .object([
      "id": .string("sandbox-\(line.line)"), "severity": .string("severe"), "header": .string(header),
      "description": .null,
    ])
  }

  private func row(
    _ line: SandboxLine, _ scheduled: Timestamp, _ expected: Timestamp, isKnown: Bool, _ trouble: SandboxTrouble?,
    _ isWithAlerts: Bool, _ language: String
  ) -> Value {
    let delay = (expected.span(since: scheduled)?.nanoseconds ?? 0) / 1_000_000_000
    // Under half a minute late is on time; else it is rounded up.
    let minutes = delay < 30 ? 0 : (delay + 59) / 60
    let stop = "\(line.stop):0:\(line.platform)"
    let trip = "\(scheduled.seconds / 60 % 1440).TA.91-\(line.line)-sandbox-1.H"
    let isOther = trouble?.platform.map { $0 != line.platform } ?? false
    let isCancelled = trouble?.cancelled != nil
    let isSkipped = trouble?.cancelled == "stop"
    let status =
      isSkipped
      ? "SKIPPED_STOP" : isCancelled ? "CANCELLED" : !isKnown ? "UNKNOWN" : minutes > 0 ? "DELAYED" : "ON_TIME"
    let flags =
      (isSkipped ? ["STOP_SKIPPED"] : isCancelled ? ["TRIP_CANCELLED"] : []) + (isKnown ? ["RT_CONFIRMED"] : [])
    return .object([
      "key": .string("\(trip)|\(stop)|\(Self.text(scheduled))"), "trip_id": .string(trip),
      "route_id": .string("91-\(line.line)-sandbox-1"), "stop_id": .string(stop), "stop_sequence": .int(4),
      "line": .string(line.line), "category": .string(line.category),
      "number": .string(
        line.line.hasPrefix(line.category) ? String(line.line.dropFirst(line.category.count)) : line.line),
      "destination": .string(line.destination), "operator": .string(line.operator),
      "scheduledDeparture": Self.instant(scheduled), "realtimeDeparture": Self.instant(expected),
      "delayMin": isKnown ? .int(minutes) : .null,
      "platform": .string(isOther ? trouble?.platform ?? line.platform : line.platform),
      "platformChanged": .bool(isOther), "previousPlatform": isOther ? .string(line.platform) : .null,
      "cancelled": .bool(isCancelled),
      "cancelReasonCode": isSkipped ? .string("SKIPPED_STOP") : isCancelled ? .string("CANCELED_TRIP") : .null,
      "replacementType": .null, "alerts": .list(isCancelled && isWithAlerts ? [alert(of: line, language)] : []),
      "status": .string(status), "flags": .list(flags.map { .string($0) }),
      "stopEvent": isSkipped ? .string("SKIPPED") : .null, "rawDelaySec": .int(delay), "rawDelayMin": .int(delay / 60),
      "displayedDelayMin": .int(isKnown ? minutes : 0),
    ])
  }
}
