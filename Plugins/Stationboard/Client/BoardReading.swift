import ActionKit

// How boards are read: tolerantly, because a board that lacks something is still useful, and an unreadable row must not
// hide the others (contract, section 11).
//
// Only `departures` is required. A member that isn't declared is ignored; one that is null, empty or of another type
// counts as absent. A departure needs a time. One whose `cancelled` or `platformChanged` isn't a boolean is unreadable
// too, because it would be unknown whether it leaves. Unreadable rows are left out and counted.

extension Value {
  /// The value in the form of a declared type; nil if it cannot be read as that.
  func tidied(_ type: FieldType) -> Value? {
    switch (type, content) {
    case (.bool, .bool), (.int, .int), (.double, .double), (.double, .int), (.timestamp, .timestamp),
      (.duration, .duration):
      return self
    case (.int, .double(let number)): return Int(exactly: number).map { .int($0) }
    case (.string, .string(let text)): return text.isEmpty ? nil : self
    case (.timestamp, .string(let text)): return Timestamp(text).map { .timestamp($0) }
    case (.choice(let options), .string(let text)): return options.contains(text) ? self : nil
    case (.list(let element), .list(let items)): return .list(items.compactMap { $0.tidied(element) })
    case (.object(let schema), .map(let map)): return map.tidied(schema).map { .map($0) }
    default: return nil
    }
  }
}

extension ValueMap {
  fileprivate func tidied(_ schema: ObjectSchema) -> ValueMap? {
    var tidy = ValueMap()
    tidy.reserveCapacity(schema.fields.count)
    let hasSnakes = members.contains { $0.name?.utf8.contains(ASCII.underscore) ?? false }
    for field in schema.fields {
      guard let given = self[field.name] ?? (hasSnakes ? self[field.name.inSnakeCase] : nil), !given.isNull else {
        if field.isRequired { return nil }
        continue
      }
      if let value = given.tidied(field.type) {
        tidy.append(value, asNew: field.name)
      } else if field.isRequired {
        return nil
      } else if case .bool = field.type, field.fallback != nil {
        return nil
      }
    }
    return tidy
  }
}

extension String {
  /// `stop_id` of `stopId`.
  fileprivate var inSnakeCase: String {
    String(
      decoding: utf8.flatMap { ASCII.uppercase.contains($0) ? [ASCII.underscore, $0 | 0x20] : [$0] }, as: UTF8.self)
  }
}

extension Board {
  /// A departure stays on the board until that long after it was expected to leave.
  static let lingering = TimeSpan.seconds(45)
  /// How far ahead the service looks by default.
  static let window = TimeSpan.seconds(210 * 60)

  // Made once, because making them takes longer than reading a row.
  private static let form = schema
  private static let row = Departure.fieldType

  /// Reads an answer; nil if it has no list of departures.
  init?(answer: Value, receivedAt: Timestamp) throws(ValueError) {
    guard var map = answer.map, let rows = map["departures"]?.list else { return nil }
    map["departures"] = .list([])
    // Renamed, since `rt` and `alerts` suggest the contents of the two feeds, and hold only their state.
    map["realtimeFeed"] = map["rt"]
    map["alertsFeed"] = map["alerts"]
    map["noService"] = map["noService"]?.noService
    map["receivedAt"] = .timestamp(receivedAt)
    for derived in ["isDegraded", "isRealtimeReduced", "isCurrent", "isWithoutService", "isStale", "isUnchanged"] {
      map[derived] = nil
    }
    for derived in ["fromCache", "staleReason", "unreadable", "rowCount", "age", "delivery"] { map[derived] = nil }
    guard let tidy = map.tidied(Board.form) else { return nil }
    try self.init(reading: .map(tidy))
    for row in rows {
      if let tidy = row.departure?.tidied(Board.row) { departures.append(try Departure(reading: tidy)) }
    }
    rowCount = rows.count
    unreadable = rows.count - departures.count
    sort()
    derive()
  }

  /// Creates an empty board, with nothing known but the time of the answer.
  init(nothingAt receivedAt: Timestamp) {
    self.init()
    departures = []
    self.receivedAt = receivedAt
  }

  /// Sorts by the time of leaving; what leaves at the same time stays in the service's order.
  private mutating func sort() {
    // As the service sends them; a departure is large, and is copied a few times where they are sorted.
    let isSorted = departures.indices.dropFirst().allSatisfy { index in
      departures[index - 1].departsAt <= departures[index].departsAt
    }
    if isSorted { return }
    departures = departures.enumerated().sorted {
      ($0.element.departsAt, $0.offset) < ($1.element.departsAt, $1.offset)
    }.map(\.element)
  }

  /// Sets the derived fields (contract, sections 7.4, 11 and 14).
  private mutating func derive() {
    isDegraded = meta.responseMode != "full"
    let age = meta.rtPollAgeMs ?? meta.rtCacheAgeMs
    isRealtimeReduced = meta.rtStatus != "applied" || (age ?? 0) > 45_000
    let stale = ["degraded_static", "stale_cache_fallback", "static_timeout_fallback"]
    isCurrent = !stale.contains(meta.responseMode ?? "")
    isWithoutService = departures.isEmpty && unreadable == 0 && noService?.reason == "no_service_in_time_window"
  }

  /// Whether the service had nothing to send in time.
  var isTimeout: Bool { meta.responseMode == "static_timeout_fallback" }

  /// The board with its age at an instant.
  func dated(_ now: Timestamp) -> Board {
    var board = self
    board.age = meta.serverTime.flatMap { now.span(since: $0) }.map { max($0, .zero) }
    return board
  }

  /// The board some time after the service sent it: older, and without the departures that have left since.
  ///
  /// The service's clock decides which departures have left. It may differ from this machine's by minutes, so only the
  /// time elapsed since the answer is taken from this machine.
  func seen(at now: Timestamp, sentAt: Timestamp) -> Board {
    var board = dated(now)
    let passed = max(now.span(since: sentAt) ?? .zero, .zero)
    let there = meta.serverTime.map { $0.advanced(by: passed) ?? .latest } ?? now
    board.departures.removeAll { ($0.departsAt.advanced(by: Board.lingering) ?? .latest) < there }
    return board
  }
}

extension Value {
  /// The row with its derived fields; nil if it isn't an object, or its time cannot be read.
  fileprivate var departure: Value? {
    guard var row = map, let scheduled = row["scheduledDeparture"]?.tidied(.timestamp) else { return nil }
    let expected = row["realtimeDeparture"]?.tidied(.timestamp)
    row["departsAt"] = expected ?? scheduled
    let isConfirmed = row["flags"]?.list?.contains { $0.string == "RT_CONFIRMED" } ?? false
    row["hasRealtime"] = .bool(isConfirmed || row["delayMin"]?.tidied(.int) != nil)
    if row["key"]?.tidied(.string) == nil {
      let parts = [row["line"]?.string ?? "", row["destination"]?.string ?? "", scheduled.timestamp?.description ?? ""]
      row["key"] = .string(parts.joined(separator: "|"))
    }
    return .map(row)
  }

  /// The reason why there is no service, with each instant of the window only in UTC.
  fileprivate var noService: Value {
    guard var map, let window = map["window"]?.map else { return self }
    map["window"] = .map(window.mapValues { $0["utc"] ?? .null })
    return .map(map)
  }
}
