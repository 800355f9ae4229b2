public import ActionKit
import HTTPClient
import LocalFiles

/// Lets recipes use a data set of every rail station of Singapore with its exits, and keep it up to date.
public enum TransitDataPlugin: ClientLibrary, WebPlugin {
  public static let name = "transitData"
  public static let summary =
    "Keeps a data set of Singapore's rail stations up to date, and answers from it: stations, exits, bus stops, access."
  public static let actions: [any Action<TransitDataClient>.Type] = [
    LatestRelease.self, GetRelease.self, ListReleases.self, CheckForUpdate.self, Update.self, Install.self,
    GetInstalled.self, GetStation.self, FindStations.self, NearestExits.self, FindBusStops.self, FindLandmarks.self,
  ]
  public static let usage = """
    let client = try TransitDataClient(folder: "rail-data")
    try await client.update()
    let here = Position(latitude: 1.3048, longitude: 103.8318)
    for found in try await client.installed().data.exits(near: here, within: 300) { print(found.exit.code) }
    """

  /// The settings of a connection to one published data set; the producer's own data set needs none.
  public struct Configuration: FieldSet {
    @Field("Who owns the repository on GitHub.", .notEmpty) var owner = standard.owner
    @Field("The repository whose releases hold the data set.", .notEmpty) var repository = standard.repository
    @Field("Name of the station file among the files of a release.", .notEmpty) var assetName = standard.assetName
    @Field("Where GitHub's API is.", .pattern(.baseURL)) var apiBase = standard.apiBase
    @Field("Where files are downloaded from.", .pattern(.baseURL)) var webBase = standard.webBase
    @Field("A token, which raises the API's quota from 60 requests an hour to 5,000.", .notEmpty)
    var token: Secret<String>?
    @Field("How long an answer of the API serves before it is asked again.", .min(.zero)) var minInterval =
      standard.minInterval
    @Field("The largest station file that is taken, in bytes.", .range(1024...1 << 30)) var maxFileBytes =
      standard.maxFileBytes
    @Field("Whether a station file without a checksum is taken; one with a wrong checksum never is.")
    var allowUnverified = standard.allowsUnverified
    @Field(
      "The folder that station files to install are in, from that of errand.yaml on; absent means that one.", .notEmpty)
    var folder: String?
    @Field("File with certificates, in PEM, that are trusted beside the system's.", .notEmpty)
    var certificateAuthorities: String?
    @Field("Time limit for connecting.", .min(.milliseconds(1))) var connectTimeout =
      standard.connectTimeout
    @Field("How long an answer of the API may take, and how long a download may be silent.", .min(.milliseconds(1)))
    var requestTimeout = standard.requestTimeout

    private static var standard: TransitDataSettings { TransitDataSettings() }

    public init() {}
  }

  public static func connect(
    _ configuration: Configuration, in context: PluginContext
  ) throws -> TransitDataClient {
    let http = context.httpClient(trusting: configuration.certificateAuthorities)
    var settings = TransitDataSettings()
    settings.owner = configuration.owner
    settings.repository = configuration.repository
    settings.assetName = configuration.assetName
    settings.apiBase = configuration.apiBase
    settings.webBase = configuration.webBase
    settings.token = configuration.token?.reveal()
    settings.minInterval = configuration.minInterval
    settings.maxFileBytes = configuration.maxFileBytes
    settings.allowsUnverified = configuration.allowUnverified
    settings.connectTimeout = configuration.connectTimeout
    settings.requestTimeout = configuration.requestTimeout
    return try TransitDataClient(
      settings, folder: context.cacheFolder.map { "\($0)/\(settings.folderName)" }, http: http, time: context.time,
      files: LocalFiles(folder: configuration.folder, limit: "maxFileBytes"))
  }
}
