public import ActionKit

// The answers of the searches for stops.

/// The stops that a search found.
public struct StopSearch: FieldSet {
  @Field("The stops, the likeliest or nearest first, one for each station.") public var stops: [Stop]
  @Field("Whether the service's search was limited, and may have missed stops.")
  public var isFallback = false
  @Field("Why the search was limited.") public var fallbackReason: String?

  /// How many stops the service gives.
  public static let limits = 1...50
  /// How many characters the service takes of a name.
  public static let lengths = 2...200

  public init() {}
}

/// A stop that can be asked for its board.
public struct Stop: FieldSet, Hashable {
  @Field("The id that getBoard needs.") public var id: String
  @Field("Its name.") public var name: String?
  @Field("The stop that the search found, which may be a platform of the station.") public var rawStopId: String?
  @Field("The station that it belongs to.") public var parentStation: String?
  @Field("The town.") public var city: String?
  @Field("Whether the search found a whole station.") public var isParent: Bool?
  @Field("Whether the search found a platform.") public var isPlatform: Bool?
  @Field("Kind of place in the timetable's data.") public var locationType: String?
  @Field("How busy it is: the number of departures in the timetable.") public var nbStopTimes: Int?
  @Field("The distance in metres, in a search by place.") public var distanceM: Double?
  @Field("Other names of the stop that matched.") public var aliasesMatched: [String] = []

  public init() {}
}

/// How the service feels.
public struct Health: FieldSet {
  @Field("Whether the service says that it works.") public var isHealthy: Bool
  @Field("Why the service doesn't work.") public var reason: String?
  @Field("Whether it reaches its database.") public var db: Bool?
  @Field("Whether it uses realtime.") public var usesRealtime: Bool?
  @Field("Whether it has the key to the realtime.") public var hasToken: Bool?
  @Field("The port that it listens on.") public var port: Int?

  public init() {}
}

extension StopSearch {
  /// Reads an answer; nil if it has no list of stops.
  ///
  /// A stop without any id is ignored.
  init?(answer: Value) throws(ValueError) {
    guard let rows = answer["stops"]?.list else { return nil }
    let stops = rows.compactMap { row -> Value? in
      guard var map = row.map else { return nil }
      map["id"] = ["stationId", "group_id", "stop_id", "id", "raw_stop_id", "parent_station"].firstText(in: row)
      map["name"] = ["stop_name", "name", "stationName"].firstText(in: row)
      return Value.map(map).tidied(Stop.fieldType)
    }
    try self.init(reading: .object(["stops": .list(stops)]))
  }
}

extension Health {
  /// Reads an answer of any status.
  init(answer: Value, status: Int) throws(ValueError) {
    var map = answer.map ?? ValueMap()
    map["isHealthy"] = .bool(status == 200 && answer["ok"]?.bool == true)
    map["usesRealtime"] = map["ENABLE_RT"]
    map["reason"] = map["error"]
    try self.init(reading: Value.map(map).tidied(Health.fieldType) ?? .null)
  }
}

extension [String] {
  /// The first of these members that is a text and not empty.
  fileprivate func firstText(in value: Value) -> Value? {
    lazy.compactMap { value[$0]?.tidied(.string) }.first
  }
}
