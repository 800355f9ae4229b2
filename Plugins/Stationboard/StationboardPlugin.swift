public import ActionKit
import HTTPClient

/// Lets recipes read the departure boards of Switzerland.
public enum StationboardPlugin: ClientLibrary, WebPlugin {
  public static let name = "stationboard"
  public static let summary = "Reads the departure boards of Swiss public transport: delays, platforms, alerts, stops."
  public static let actions: [any Action<StationboardClient>.Type] = [
    GetBoard.self, FindDeparture.self, SearchStops.self, NearbyStops.self, CheckHealth.self,
  ]
  public static let usage = """
    let client = StationboardClient()
    let bern = try await client.board(BoardQuery("Parent8507000"))
    for train in bern.departures { print(train.line ?? "", train.destination ?? "", train.delayMin ?? 0) }
    """

  /// The settings of a connection to the service; the public service needs none.
  public struct Configuration: FieldSet {
    @Field(
      "The service's address; https://mesdeparts-ch.fly.dev is the same service without the cache before it.",
      .pattern(.baseURL)) var baseURL = StationboardClient.defaultBaseURL
    @Field(
      "Shortest time between two requests for the same board; the service has nothing new sooner.",
      .min(StationboardClient.defaultMinimumInterval))
    var minimumInterval = StationboardClient.defaultMinimumInterval
    @Field("File with certificates, in PEM, that are trusted beside the system's.", .notEmpty)
    var certificateAuthorities: String?
    @Field("Time limit for connecting.", .min(.milliseconds(1)))
    var connectTimeout = StationboardClient.defaultLimits.connect
    @Field("Time limit for one request; the service gives itself five seconds.", .min(.milliseconds(1)))
    var requestTimeout = TimeSpan.seconds(8)
    @Field("The largest answer that is read, in bytes.", .range(1024...1 << 30))
    var maxAnswerBytes = StationboardClient.defaultLimits.maxBodyBytes

    public init() {}
  }

  public static func connect(_ configuration: Configuration, in context: PluginContext) -> StationboardClient {
    let http = context.httpClient(trusting: configuration.certificateAuthorities)
    return StationboardClient(
      baseURL: configuration.baseURL, minimumInterval: configuration.minimumInterval, http: http,
      limits: HTTPLimits(
        connect: configuration.connectTimeout, attempt: configuration.requestTimeout,
        maxBodyBytes: configuration.maxAnswerBytes),
      time: context.time, keptIn: context.cacheFolder)
  }
}
