import ActionKit

enum FindBusStops: Action {
  static let name = "findBusStops"
  static let summary = "Lists the bus stops near exits in the installed data, by station, code or bus service."
  static let effect = Effect.read
  static let examples = [
    Example("Near a station", "station: NS61"), Example("Where a service stops", "service: 97e"),
    Example("Which exits are near a stop", "code: '91011'"),
  ]

  struct Input: FieldSet {
    @Field("Code or name of the station.", .notEmpty) var station: String?
    @Field("Code of the bus stop, leading zeros included.", .pattern(.digits(5))) var code: String?
    @Field("Number of a bus service, in any case.", .notEmpty) var service: String?
  }

  struct Output: FieldSet {
    @Field("The bus stops, one entry for each exit that they are near.") var busStops: [BusStopMatchFields]
  }

  static func run(_ input: Input, on rail: TransitDataClient, in context: ActionContext) async throws -> Output {
    let data = try await rail.installed().data
    let station: Station? = if let text = input.station { try data.station(text) } else { nil }
    let stops = data.busStops(of: station, code: input.code, service: input.service)
    return try Output { $0.busStops = stops.map(BusStopMatchFields.init) }
  }
}
