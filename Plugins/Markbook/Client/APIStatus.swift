import ActionKit

/// The verdict that every answer carries.
public enum APIStatus: Hashable, Sendable, CustomStringConvertible {
  /// It was done.
  case okay
  /// A backup is scheduled and not built yet; `getBackupURL` alone says so.
  case errorPending
  /// No backup is scheduled; `getBackupURL` alone says so.
  case errorNoBackup
  /// Anything else, in the service's own words.
  ///
  /// No text but the three above is known for certain: do not branch on it.
  case error(String)

  /// Reads the text of an answer's `status`, which is compared exactly.
  public init(_ text: String) {
    switch text {
    case "OKAY": self = .okay
    case "ERROR:pending": self = .errorPending
    case "ERROR:no backup": self = .errorNoBackup
    default: self = .error(text)
    }
  }

  /// The text on the wire.
  public var description: String {
    switch self {
    case .okay: "OKAY"
    case .errorPending: "ERROR:pending"
    case .errorNoBackup: "ERROR:no backup"
    case .error(let text): text
    }
  }
}

/// The used fields of the envelope that begins every answer.
///
/// Only the status is always present.
struct ResponseEnvelope {
  let status: APIStatus
  /// When it was answered, in seconds since 1970 (UTC).
  let seconds: Int?
  let schoolName: String?

  init(_ answer: Payload) throws(MarkbookError) {
    status = APIStatus(try answer.text("status"))
    // The rest only informs, so nothing in it is worth failing for.
    seconds = try? answer.optionalInt("seconds")
    schoolName = try? answer.optionalText("schoolname")
  }
}
