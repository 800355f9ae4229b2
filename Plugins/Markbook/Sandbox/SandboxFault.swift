import ActionKit
import SandboxKit

/// The faults that the school can simulate.
///
/// A call has the wire name of its action; logins are `authentication`, zips `download`.
enum SchoolFault: String, SandboxFaultKind {
  /// The connection is dropped before anything is done.
  case refuse
  /// It is done, and the connection is dropped before the answer.
  case lostAnswer
  /// It is done, and the answer breaks off half-way.
  case truncated
  /// It is done, and the answer comes late.
  case slow
  /// It is done, and the answer is too large.
  case oversized
  /// It is done, and the answer has a comma before each closing bracket.
  case trailingComma
  /// It is done, and every list in the answer is a text.
  case wrongType
  /// Nothing is done, and the answer is a web page with status 200.
  case html
  /// Nothing is done, and the status is 500.
  case serverError
  /// Nothing is done, and the answer leads to another host.
  case redirect
  /// Nothing is done, and the answer's status is a text of the service's own.
  case refusal
  /// It is done, and the answer's status is a text of the service's own.
  case doneRefusal
  /// All sessions end, and then what is asked for is done or not.
  case expired
  /// Nothing is done, and the answer is a web page with the fault's status.
  case status

  var keys: Set<SandboxFaultKey> {
    switch self {
    case .slow: [.delay]
    case .oversized: [.size]
    case .refusal, .doneRefusal: [.text]
    case .status: [.status, .retryAfter]
    default: []
    }
  }

  var standardStatus: Int { 503 }
  static let statuses = 200...599
}

typealias MarkbookFault = SandboxFault<SchoolFault>

/// A JSON text with a comma before each bracket that closes something not empty.
func withTrailingCommas(_ json: String) -> String {
  var bytes: [UInt8] = []
  var isInString = false
  var isEscaped = false
  for byte in json.utf8 {
    if isInString {
      isInString = isEscaped || byte != ASCII.quote
      isEscaped = !isEscaped && byte == ASCII.backslash
    } else if byte == ASCII.quote {
      isInString = true
    } else if byte == ASCII.closeBracket || byte == ASCII.closeBrace, let last = bytes.last,
      last != ASCII.openBracket, last != ASCII.openBrace
    {
      bytes.append(ASCII.comma)
    }
    bytes.append(byte)
  }
  return String(decoding: bytes, as: UTF8.self)
}
