/// The revisions of the protocol, which are named by dates.
///
/// Up to 2025-11-25 a connection begins with a handshake: the client sends `initialize` with the version that it wants
/// and its capabilities, the server answers with the version that is spoken from then on, and the client confirms with
/// `notifications/initialized`. The server may then send requests, such as `elicitation/create`.
///
/// From 2026-07-28 on there is no handshake and no session. Each request says version and capabilities in `_meta`
/// (`RequestEnvelope`), a client asks what a server offers with `server/discover`, and only clients send requests: a
/// server that needs an answer gives a result of the type `input_required`, and the client repeats the request with it.
package enum ProtocolVersion: String, Sendable, CaseIterable {
  case y2024 = "2024-11-05"
  case early2025 = "2025-03-26"
  case mid2025 = "2025-06-18"
  case late2025 = "2025-11-25"
  case y2026 = "2026-07-28"

  /// Whether each request says its version, without a handshake.
  package var isStateless: Bool { self == .y2026 }

  /// The newest version with a handshake, which a server offers to a client that wants one that it doesn't know.
  package static let latestHandshake = ProtocolVersion.late2025
  package static let latest = ProtocolVersion.y2026

  /// Those without a handshake.
  package static var stateless: [ProtocolVersion] { allCases.filter(\.isStateless) }

  /// Whether a client may be asked by `elicitation/create`.
  package var knowsElicitation: Bool { self == .mid2025 || self == .late2025 || self == .y2026 }

  /// Whether results of tools may be values, and tools have schemas of them.
  package var knowsStructuredContent: Bool { knowsElicitation }
}
