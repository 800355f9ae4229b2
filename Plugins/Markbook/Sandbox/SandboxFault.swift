import ActionKit

/// Something that goes wrong on demand, so that recipes and tests meet it before the real service does it.
struct SandboxFault: Hashable, Sendable {
  /// What goes wrong.
  enum Kind: String, CaseIterable, Sendable {
    /// The connection is dropped before anything is done.
    case refuse
    /// It is done, and the connection is dropped before the answer.
    case lostAnswer
    /// It is done, and the answer breaks off half-way.
    case truncated
    /// It is done, and the answer comes late.
    case slow
    /// It is done, and the answer is larger than anybody wants.
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
  }

  var kind: Kind
  /// The action it strikes, as the wire calls it; nil strikes any.
  ///
  /// Logins are `authentication`, zips `download`.
  var action: String?
  /// How many such calls go well first.
  var skip = 0
  /// How many are struck after that.
  var times = 1
  /// How late a slow answer is.
  var delay = TimeSpan.seconds(60)
  /// How large an oversized answer is, in bytes.
  var size = 80 << 20
  /// What a refusal says.
  var text = "ERROR:not today"

  init(_ kind: Kind, action: String? = nil, skip: Int = 0, times: Int = 1) {
    self.kind = kind
    self.action = action
    self.skip = skip
    self.times = times
  }
}

/// The faults that wait for their call.
struct SandboxFaults: Sendable {
  private var waiting: [SandboxFault] = []

  mutating func add(_ fault: SandboxFault) { waiting.append(fault) }
  mutating func clear() { waiting = [] }

  /// The fault that strikes this call; of several the first, and the others count the call as well.
  mutating func strike(_ action: String) -> SandboxFault? {
    var struck: SandboxFault?
    for index in waiting.indices where waiting[index].action == nil || waiting[index].action == action {
      if waiting[index].skip > 0 {
        waiting[index].skip -= 1
      } else if struck == nil {
        struck = waiting[index]
        waiting[index].times -= 1
      }
    }
    waiting.removeAll { $0.times <= 0 }
    return struck
  }
}

/// A JSON text with a comma before each bracket that closes something not empty.
func withTrailingCommas(_ json: String) -> String {
  var bytes: [UInt8] = []
  var isInString = false
  var isEscaped = false
  for byte in json.utf8 {
    if isInString {
      isInString = isEscaped || byte != UInt8(ascii: "\"")
      isEscaped = !isEscaped && byte == UInt8(ascii: "\\")
    } else if byte == UInt8(ascii: "\"") {
      isInString = true
    } else if byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}"), let last = bytes.last,
      last != UInt8(ascii: "["), last != UInt8(ascii: "{")
    {
      bytes.append(UInt8(ascii: ","))
    }
    bytes.append(byte)
  }
  return String(decoding: bytes, as: UTF8.self)
}
