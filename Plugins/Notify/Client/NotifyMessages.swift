public import ActionKit

/// The destinations of messages, and time limits.
public struct NotifySettings: Sendable {
  /// Address of the webhook.
  public var webhookURL: String?
  /// Header fields of requests to the webhook.
  public var webhookHeaders: [String: String] = [:]
  /// The secret that messages to the webhook are signed with, such as `whsec_…`.
  public var signingSecret: String?
  /// Address of the ntfy server, without a slash at the end.
  public var ntfyURL = "https://ntfy.sh"
  /// The topic of messages that name none.
  public var topic: String?
  /// Access token of the ntfy server.
  public var token: String?
  /// Time limit for connecting.
  public var connectTimeout = TimeSpan.seconds(10)
  /// Time limit for one request.
  public var requestTimeout = TimeSpan.seconds(30)

  /// Creates settings without a destination; nothing can be sent until one is set.
  public init() {}
}

/// A message for the subscribers of a topic (docs.ntfy.sh, "Publish as JSON").
public struct NtfyMessage: Sendable {
  /// The priority of a message.
  public enum Priority: Int, Sendable {
    case min = 1
    case low, normal, high, max
  }

  /// The text; at most `mostBytes` of UTF-8, because a server turns a longer text into a file.
  public var text: String
  /// The title above the text.
  public var title: String?
  /// The priority.
  public var priority: Priority
  /// Words below the text; names of emoji are shown as emoji.
  public var tags: [String]
  /// The address that is opened when the message is tapped.
  public var click: String?
  /// Whether the text is Markdown.
  public var isMarkdown: Bool
  /// The topic, if it isn't the settings' topic.
  public var topic: String?

  /// The maximum size of a message in bytes.
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

/// An ntfy server's response to an accepted message.
public struct NtfyReceipt: Sendable {
  /// The server's id of the message.
  public var id: String
  /// When the server accepted the message, to the second.
  public var takenAt: Timestamp?
}

/// A webhook's response to an accepted request.
public struct WebhookAnswer: Sendable {
  /// The status, 200 to 299.
  public var status: Int
  /// The body, as far as it is text.
  public var text: String
}
