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
    @Field("The repository's owner on GitHub.", .notEmpty) var owner = standard.owner
    @Field("The repository whose releases hold the data set.", .notEmpty) var repository = standard.repository
    @Field("Name of the station file among the files of a release.", .notEmpty) var assetName = standard.assetName
    @Field("The address of GitHub's API.", .pattern(.baseURL)) var apiBase = standard.apiBase
    @Field("The address to download files from.", .pattern(.baseURL)) var webBase = standard.webBase
    @Field("A token, which raises the API's quota from 60 to 5,000 requests an hour.", .notEmpty)
    var token: Secret<String>?
    @Field("How long to use an answer of the API before asking again.", .min(.zero))
    var minInterval = standard.minInterval
    @Field("The largest station file to accept, in bytes.", .range(1024...1 << 30))
    var maxFileBytes = standard.maxFileBytes
    @Field("Whether to accept a station file without a checksum; a file with a wrong checksum is never accepted.")
    var allowUnverified = standard.allowsUnverified
    @Field(
      "The folder of the station files to install, relative to errand.yaml's folder; absent means errand.yaml's folder.",
      .notEmpty)
    var folder: String?
    @Field("File with certificates, in PEM, that are trusted beside the system's.", .notEmpty)
    var certificateAuthorities: String?
    @Field("Time limit for connecting.", .min(.milliseconds(1)))
    var connectTimeout = standard.connectTimeout
    @Field("Time limit for an answer of the API, and for silence during a download.", .min(.milliseconds(1)))
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
