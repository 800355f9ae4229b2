public import ActionKit

/// Where messages go, and how long that may take.
public struct NotifySettings: Sendable {
  /// Address of the webhook.
  public var webhookURL: String?
  /// Header fields that are sent to the webhook.
  public var webhookHeaders: [String: String] = [:]
  /// The secret that messages to the webhook are signed with, such as `whsec_…`.
  public var signingSecret: String?
  /// Where the ntfy server is, without a slash at the end.
  public var ntfyURL = "https://ntfy.sh"
  /// The topic of messages that name none.
  public var topic: String?
  /// Access token of the ntfy server.
  public var token: String?
  /// Time limit for connecting.
  public var connectTimeout = TimeSpan.seconds(10)
  /// How long one request may take.
  public var requestTimeout = TimeSpan.seconds(30)

  /// Creates settings; as they are, nothing can be sent.
  public init() {}
}

/// A message for the subscribers of a topic (docs.ntfy.sh, "Publish as JSON").
public struct NtfyMessage: Sendable {
  /// How loud a message is.
  public enum Priority: Int, Sendable {
    case min = 1
    case low, normal, high, max
  }

  /// What it says; at most `mostBytes` of UTF-8, because a server makes a file of what is longer.
  public var text: String
  /// Title above it.
  public var title: String?
  /// How loud it is.
  public var priority: Priority
  /// Words under it; names of emoji are shown as emoji.
  public var tags: [String]
  /// What is opened when it is tapped.
  public var click: String?
  /// Whether the text is Markdown.
  public var isMarkdown: Bool
  /// The topic, if not that of the settings.
  public var topic: String?

  /// The most bytes that a server takes as a message.
  public static let mostBytes = 4096

  /// Creates a message.
  public init(
    _ text: String, title: String? = nil, priority: Priority = .normal, tags: [String] = [], click: String? = nil,
    isMarkdown: Bool = false, topic: String? = nil
  ) {
    self.text = text
    self.title = title
    self.priority = priority
    self.tags = tags
    self.click = click
    self.isMarkdown = isMarkdown
    self.topic = topic
  }
}

/// What an ntfy server said of a message that it took.
public struct NtfyReceipt: Sendable {
  /// The server's id of the message.
  public var id: String
  /// When the server took it, to the second.
  public var takenAt: Timestamp?
}

/// What a webhook answered to something that it took.
public struct WebhookAnswer: Sendable {
  /// The status, 200 to 299.
  public var status: Int
  /// The answer, as far as it is text.
  public var text: String
}
