public import ActionKit
import HTTPClient
import LocalFiles

/// Lets recipes read and write the markbooks of Markbook Online (also sold as SM-Marks Online).
public enum MarkbookPlugin: ClientLibrary, WebPlugin {
  public static let name = "markbook"
  public static let summary = "Reads and writes the markbooks of a school in Markbook Online (SM-Marks Online)."
  public static let actions: [any Action<MarkbookClient>.Type] = [
    MarkbookList.self, UserList.self, GetMarkbook.self, GetMarkbookAlt.self, GetOutcomes.self, GetOutcomesAlt.self,
    PutStudentResult.self, CreateStudent.self, UpdateStudent.self, UpdateStudentClass.self, DeleteStudent.self,
    CreateClass.self, CreateMarkbook.self, ScheduleBackup.self, GetBackupURL.self, DownloadBackup.self,
  ]
  public static let usage = """
    let client = MarkbookClient(apiKey: key, username: "admin", password: password)
    for markbook in try await client.markbookList().markbooks { print(markbook.name) }
    """

  /// The settings of a connection to one school.
  public struct Configuration: FieldSet {
    @Field("The service's address.", .pattern(.baseURL)) var baseURL = MarkbookClient.defaultBaseURL
    @Field("The school's key: Other administration actions, Show API Key.", .notEmpty) var apiKey: Secret<String>
    @Field("Login name of a user who may administer users.", .notEmpty, .mayHoldSecret) var username: String
    @Field("That user's password; a login that asks for a code by e-mail doesn't work here.", .notEmpty)
    var password: Secret<String>
    @Field("The folder for backups, relative to errand.yaml's folder; absent means errand.yaml's folder.", .notEmpty)
    var folder: String?
    @Field("File with certificates, in PEM, that are trusted beside the system's.", .notEmpty)
    var certificateAuthorities: String?
    @Field("Time limit for connecting.", .min(.milliseconds(1)))
    var connectTimeout = TimeSpan.seconds(10)
    @Field("Time limit for one call.", .min(.milliseconds(1))) var requestTimeout = TimeSpan.seconds(30)
    @Field("The largest answer that is read, in bytes.", .min(1024), .max(1 << 30)) var maxAnswerBytes = 64 << 20

    public init() {}
  }

  public static func connect(_ configuration: Configuration, in context: PluginContext) -> MarkbookClient {
    let http = context.httpClient(trusting: configuration.certificateAuthorities)
    return MarkbookClient(
      baseURL: configuration.baseURL, apiKey: configuration.apiKey.reveal(),
      username: configuration.username, password: configuration.password.reveal(), http: http,
      limits: HTTPLimits(
        connect: configuration.connectTimeout, attempt: configuration.requestTimeout,
        maxBodyBytes: configuration.maxAnswerBytes),
      time: context.time, files: LocalFiles(folder: configuration.folder))
  }
}
