public import ActionKit
import HTTPClient

/// Lets recipes have weekly routines and interview prep packs made.
public enum InterviewPrepPlugin: ClientLibrary, WebPlugin {
  public static let name = "interviewPrep"
  public static let summary =
    "Generates weekly study routines and interview prep packs, through a backend that pays a language model for each."
  public static let actions: [any Action<InterviewPrepClient>.Type] = [
    Health.self, GenerateRoutine.self, GeneratePrep.self, Reroll.self,
  ]
  public static let usage = """
    let client = InterviewPrepClient()
    let me = try Profile(name: "Jo", stage: "Recent Grad", targetRole: "iOS", hoursPerDay: 2, days: [.mon, .wed])
    for day in try await client.generateRoutine(for: me).content.days { print(day.date, day.tasks) }
    """

  /// The settings of a connection to one backend; a backend on this machine needs none.
  ///
  /// The backend has no accounts. The requests go to the backend and its language model, and newer backends keep them
  /// in their logs, with the name; a made-up name works as well.
  public struct Configuration: FieldSet {
    @Field("The backend's address.", .pattern(.baseURL)) var baseURL = InterviewPrepClient.defaultBaseURL
    @Field("File with certificates, in PEM, that are trusted beside the system's.", .notEmpty)
    var certificateAuthorities: String?
    @Field("Time limit for connecting.", .min(.milliseconds(1)))
    var connectTimeout = TimeSpan.seconds(10)
    @Field(
      "Time limit for a generation; newer backends need up to a minute, and an abandoned generation is still paid for.",
      .min(.milliseconds(1)))
    var requestTimeout = TimeSpan.seconds(15)
    @Field("Time limit for the health check.", .min(.milliseconds(1)))
    var healthTimeout = TimeSpan.seconds(5)
    @Field("The most possibly paid calls that one run may make, restarts included.", .range(1...1000))
    var maxPaidCalls = 12
    @Field("The largest answer that is read, in bytes.", .range(1024...1 << 26)) var maxAnswerBytes = 4 << 20

    public init() {}
  }

  public static func connect(_ configuration: Configuration, in context: PluginContext) -> InterviewPrepClient {
    let http = context.httpClient(trusting: configuration.certificateAuthorities)
    return InterviewPrepClient(
      baseURL: configuration.baseURL, http: http,
      limits: HTTPLimits(
        connect: configuration.connectTimeout, attempt: configuration.requestTimeout,
        maxBodyBytes: configuration.maxAnswerBytes),
      healthTimeout: configuration.healthTimeout, time: context.time,
      paidCalls: PaidCalls(connection: context.connection, limit: configuration.maxPaidCalls))
  }
}
