public import ActionKit
import HTTPClient
import LocalFiles

/// Lets recipes use any service that speaks HTTP.
public enum HTTPPlugin: ClientLibrary, WebPlugin {
  public static let name = "http"
  public static let summary = "Calls HTTP services that have no plugin, and downloads files."
  public static let actions: [any Action<WebClient>.Type] = [
    Get.self, GetAll.self, Download.self, Post.self, Put.self, Patch.self, Delete.self,
  ]

  public static let usage = """
    let shop = WebClient(baseURL: "https://shop.example/api", token: token)
    let made = try await shop.send("POST", "/items", body: .json(.object(["name": .string("Pen")])), key: "order 17")
    print(made.status, try JSON.parse(try await shop.get("/items", query: ["limit": "2"]).body))
    """

  /// The settings of a connection; none are needed if steps give whole addresses and no credentials.
  public struct Configuration: ValidatedFieldSet {
    @Field("The service's address; paths that begin with a slash start from it.", .pattern(.baseURL))
    package var baseURL: String?
    @Field("Whether steps may also send requests to other hosts, without the credentials; only with `baseURL`.")
    var allowOtherHosts = false
    @Field("Header fields of every request to the service.") package var headers: [String: String] = [:]
    @Field("Header fields that hold secrets, such as X-API-Key.")
    package var secretHeaders: [String: Secret<String>] = [:]
    @Field("Query parameters of every request that hold secrets, such as a key.")
    package var secretQuery: [String: Secret<String>] = [:]
    @Field("A token, sent as `Authorization: Bearer`.", .notEmpty) package var token: Secret<String>?
    @Field("The user name for `Authorization: Basic`.", .notEmpty, .mayHoldSecret) package var username: String?
    @Field("The user's password.") var password: Secret<String>?
    @Field("Whether the service does nothing twice for the same Idempotency-Key, so that steps may name a `key`.")
    var honoursIdempotencyKey = false
    @Field(
      "The folder that files are in, relative to errand.yaml's folder; absent means errand.yaml's folder.", .notEmpty)
    package var folder: String?
    @Field("File with certificates, in PEM, that are trusted beside the system's.", .notEmpty)
    var certificateAuthorities: String?
    @Field("Time limit for connecting.", .min(.milliseconds(1)))
    var connectTimeout = TimeSpan.seconds(10)
    @Field("Time limit for one request, and for silence during a download.", .min(.milliseconds(1)))
    var requestTimeout = TimeSpan.seconds(30)
    @Field("The largest answer that is read, in bytes.", .range(1...1 << 30)) var maxAnswerBytes = 16 << 20
    @Field("The most bytes of files that are sent in one form.", .range(1...1 << 30)) var maxUploadBytes = 64 << 20
    @Field("The largest file that is downloaded, in bytes.", .range(1...1 << 40)) var maxDownloadBytes = 8 << 30

    public init() {}

    public func conflicts() -> [Conflict] {
      var conflicts: [Conflict] = []
      let hasCredentials = token != nil || username != nil || !secretHeaders.isEmpty || !secretQuery.isEmpty
      if baseURL == nil, hasCredentials {
        conflicts.append(Conflict("has credentials and needs 'baseURL', so that they are sent nowhere else"))
      }
      if (username == nil) != (password == nil) {
        conflicts.append(Conflict("needs 'username' and 'password' or neither"))
      }
      if token != nil, username != nil {
        conflicts.append(Conflict("must not be given beside 'token'", at: "username"))
      }
      let names = secretHeaders.keys.sorted()
      if let doubled = names.first(where: { name in names.contains { $0 < name && $0.lowercased() == name.lowercased() }
      }) {
        conflicts.append(
          Conflict("has '\(doubled)' twice, because the case of a header's name says nothing", at: "secretHeaders"))
      }
      return conflicts
    }
  }

  public static func connect(_ configuration: Configuration, in context: PluginContext) -> WebClient {
    let http = context.httpClient(trusting: configuration.certificateAuthorities)
    return WebClient(configuration, http: http, cacheFolder: context.cacheFolder, time: context.time)
  }
}
