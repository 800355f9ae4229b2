public import ActionKit
import HTTPClient

/// Which board is wanted, and how old it may be.
public struct BoardQuery: Sendable {
  /// The stop or station: `Parent8507000`, `8507000` or the platform `8507000:0:8`.
  public var stopId: String
  /// The most departures to read.
  public var limit = 20
  /// Whether to read alerts.
  public var includesAlerts = true
  /// The language of alerts; nil leaves it to the service.
  public var language: BoardLanguage?
  /// How far ahead departures are looked for, in minutes; nil leaves it to the service.
  public var windowMinutes: Int?
  /// Whether the service may say that nothing is new, where a board is held.
  public var onlyIfNew = false
  /// How old the board may be on arrival; nil for any age.
  public var maxAge: TimeSpan?
  /// How old an earlier board may be that stands in when the service fails.
  ///
  /// Without it one stands in only for an answer that is empty because the service ran out of time, and only while
  /// something on it is still to leave.
  public var standIn: TimeSpan?
  /// The identifier of the request in the logs of both sides.
  public var requestID: String?

  /// The values of `limit` that the service accepts.
  public static let limits = 1...20
  /// The values of `windowMinutes` that the service accepts.
  public static let windows = 30...720
  /// The most characters that the service takes as `stopId`.
  public static let mostStopCharacters = 100

  /// Creates a query for a stop.
  public init(_ stopId: String) { self.stopId = stopId }

  /// The fault of the query as a sentence, or nil.
  ///
  /// The service itself would silently change an invalid value.
  var fault: String? {
    if stopId.isEmpty || stopId.unicodeScalars.count > Self.mostStopCharacters
      || stopId.unicodeScalars.contains(where: { $0.value < 32 })
    {
      return "A stop has to be given, such as Parent8507000, in at most \(Self.mostStopCharacters) characters."
    }
    if !Self.limits.contains(limit) { return "A board has \(Self.limits.words) departures, not \(limit)." }
    if let windowMinutes, !Self.windows.contains(windowMinutes) {
      return "Departures are looked for \(Self.windows.words) minutes ahead, not \(windowMinutes)."
    }
    return nil
  }

  /// Whether a board with its age is as young as was wanted.
  func allows(_ board: Board) -> Bool {
    guard let maxAge, let age = board.age else { return true }
    return age <= maxAge
  }

  /// The path and query, without the parameters that refer to a held board.
  var target: String {
    var query: HTTPQuery = ["stop_id": stopId, "limit": "\(limit)", "include_alerts": includesAlerts ? "1" : "0"]
    if let language { query.items.append(HTTPQuery.Item("lang", language.rawValue)) }
    if let windowMinutes { query.items.append(HTTPQuery.Item("window_minutes", "\(windowMinutes)")) }
    return "/api/stationboard?\(query.encoded)"
  }
}

extension ClosedRange<Int> {
  /// The bounds in a message: `1 to 20`.
  var words: String { "\(lowerBound) to \(upperBound)" }
}

/// A language of alerts.
public enum BoardLanguage: String, Choice {
  case de, fr, it, en
}
