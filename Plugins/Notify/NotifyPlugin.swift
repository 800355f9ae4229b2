public import ActionKit

/// Lets recipes notify people through a chat's webhook, or on their phones through ntfy.
public enum NotifyPlugin: ClientLibrary, WebPlugin {
  public static let name = "notify"
  public static let summary = "Notifies people through a webhook, or through ntfy on their phones."
  public static let actions: [any Action<NotifyClient>.Type] = [Webhook.self, Ntfy.self]
  public static let usage = """
    var settings = NotifySettings()
    settings.topic = "a-topic-that-nobody-guesses"
    try await NotifyClient(settings).publish(NtfyMessage("The backup is done."))
    """

  /// The settings of a connection: the destinations of messages, and time limits.
  public struct Configuration: FieldSet {
    @Field("Address of the webhook; a secret, because anyone who knows it can post there.", .notEmpty)
    var webhookURL: Secret<String>?
    @Field("Header fields that are sent to the webhook, such as Authorization.")
    var webhookHeaders: [String: Secret<String>] = [:]
    @Field(
      "The secret that signs messages to the webhook, if a step says so: whsec_ and a key in Base64.", .notEmpty)
    var signingSecret: Secret<String>?
    @Field("The ntfy server's address.", .pattern(.baseURL)) var ntfyURL = NotifySettings().ntfyURL
    @Field(
      "The ntfy topic; on a server without tokens, anyone who knows it can read the messages.", .notEmpty,
      .secretUnless("token"))
    var topic: String?
    @Field("Access token of the ntfy server.", .notEmpty) var token: Secret<String>?
    @Field("File with certificates, in PEM, that are trusted beside the system's.", .notEmpty)
    var certificateAuthorities: String?
    @Field("Time limit for connecting.", .min(.milliseconds(1)))
    var connectTimeout = NotifySettings().connectTimeout
    @Field("Time limit for one request.", .min(.milliseconds(1)))
    var requestTimeout = NotifySettings().requestTimeout

    public init() {}
  }

  public static func connect(_ configuration: Configuration, in context: PluginContext) -> NotifyClient {
    var settings = NotifySettings()
    settings.webhookURL = configuration.webhookURL?.reveal()
    settings.webhookHeaders = configuration.webhookHeaders.mapValues { $0.reveal() }
    settings.signingSecret = configuration.signingSecret?.reveal()
    settings.ntfyURL = configuration.ntfyURL
    settings.topic = configuration.topic
    settings.token = configuration.token?.reveal()
    settings.connectTimeout = configuration.connectTimeout
    settings.requestTimeout = configuration.requestTimeout
    return NotifyClient(
      settings, http: context.httpClient(trusting: configuration.certificateAuthorities), time: context.time)
  }
}
