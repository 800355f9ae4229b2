import ActionKit
import Basics
import HTTPClient
import HTTPTypes
import Runs

/// Takes secrets out of requests, for storing and for comparing them.
enum Scrubbing {
  /// The mark that replaces a secret in an address, a form or a header field.
  private static let mark = "***"
  /// Header fields of answers that only describe the transfer, or that carry a session.
  private static let dropped: Set<String> = [
    "connection", "content-encoding", "content-length", "keep-alive", "set-cookie", "set-cookie2", "transfer-encoding",
  ]

  /// The request without secrets.
  static func request(_ request: HTTPRequest, _ redactor: Redactor) -> Recording.Request {
    var body = request.body
    if isForm(request), let bytes = body {
      let query = HTTPQuery(
        HTTPQuery(decoding: String(decoding: bytes, as: UTF8.self)).items.map { item in
          isSecret(item.name, of: request) || request.secrets.contains(item.value)
            ? HTTPQuery.Item(item.name, mark) : item
        })
      body = Array(query.encoded.utf8)
    }
    return Recording.Request(
      method: request.method, url: redactor.redact(request.recordedURL),
      body: body.flatMap { Recording.Body($0, redact: hiding(request.secrets, redactor)) })
  }

  /// Takes out secrets, and the whole of any part that was made with one.
  private static func hiding(_ secrets: [String], _ redactor: Redactor) -> (String) -> String {
    let secrets = Set(secrets)
    return { secrets.contains($0) ? "•••" : redactor.redact($0) }
  }

  /// The header fields of an answer that are kept.
  static func fields(_ headers: HTTPHeaders, of request: HTTPRequest, _ redactor: Redactor) -> [HTTPHeaders.Field] {
    let secret = Set(request.credentialHeaders.map(\.lowercasedASCII))
    return headers.fields.compactMap { field in
      let name = field.name.lowercasedASCII
      if dropped.contains(name) { return nil }
      // The target of a redirect may be signed.
      if name == "location" {
        return HTTPHeaders.Field(field.name, redactor.redact(HTTPRequest.hidingQuery(of: field.value, by: mark)))
      }
      return HTTPHeaders.Field(field.name, secret.contains(name) ? mark : redactor.redact(field.value))
    }
  }

  /// The secret values in a request.
  static func secrets(in request: HTTPRequest) -> [String] {
    var items = HTTPQuery(decoding: HTTPURL(request.url)?.query ?? "").items
    if isForm(request), let body = request.body {
      items += HTTPQuery(decoding: String(decoding: body, as: UTF8.self)).items
    }
    var found = items.filter { isSecret($0.name, of: request) }.map(\.value) + request.secrets
    for name in request.credentialHeaders {
      for value in request.headers.values(name) {
        found.append(value)
        // The credentials without their scheme (RFC 9110, section 11.4).
        if let blank = value.firstIndex(of: " ") { found.append(String(value[value.index(after: blank)...])) }
      }
    }
    if let url = HTTPURL(request.url) {
      if let info = url.userInfo { found.append(info) }
      if request.hidesQuery, let query = url.query {
        // The signature may be among the longer values of the query.
        found.append(query)
        found += items.map(\.value).filter { $0.utf8.count >= 16 }
      }
      if request.hidesPath { found.append(url.query.map { "\(url.path)?\($0)" } ?? url.path) }
    }
    return found
  }

  /// The input of a call, without secrets, as JSON.
  static func input(of call: ServiceCall, _ redactor: Redactor) -> Value {
    guard !call.input.hidesSecret(redactor) else { return .string("(left out)") }
    // Placeholders come last, because the placeholders of a replay are its secrets.
    let scrubbed = call.input.scrubbed(hiding(call.secrets, redactor))
    return Value.map(call.schema.withMadeUpSecrets(scrubbed.map ?? ValueMap())).stored
  }

  /// The secret values in a call's input.
  static func secrets(in call: ServiceCall) -> [String] {
    call.schema.secrets(in: call.input.map ?? ValueMap()) + call.secrets
  }

  private static func isSecret(_ name: String, of request: HTTPRequest) -> Bool {
    request.redactedParameters.contains { $0.lowercasedASCII.hasSameScalars(as: name.lowercasedASCII) }
  }

  static func isForm(_ request: HTTPRequest) -> Bool {
    request.headers["Content-Type"]?.lowercasedASCII.hasPrefix("application/x-www-form-urlencoded") ?? false
  }
}

extension Value {
  /// Whether bytes in the value hold a secret, which can't be taken out of them.
  func hidesSecret(_ redactor: Redactor) -> Bool {
    switch content {
    case .bytes(let bytes): bytes.holdSecret(redactor.redact)
    case .list(let items): items.contains { $0.hidesSecret(redactor) }
    case .map(let map): map.members.contains { $0.value.hidesSecret(redactor) }
    case .optional(let value): value?.hidesSecret(redactor) ?? false
    default: false
    }
  }

  /// The value with secrets taken out of its texts and keys, and with 1 in place of a secret number.
  ///
  /// Its depth is limited where it is read.
  func scrubbed(_ redact: (String) -> String) -> Value {
    switch content {
    case .string(let text): return .string(redact(text))
    case .int(let number): return redact("\(number)").hasSameScalars(as: "\(number)") ? self : .int(1)
    case .double(let number): return redact("\(number)").hasSameScalars(as: "\(number)") ? self : .double(1)
    case .list(let items): return .list(items.map { $0.scrubbed(redact) })
    case .map(let map):
      var scrubbed = ValueMap()
      for member in map.members { scrubbed[redact(member.key.string ?? "")] = member.value.scrubbed(redact) }
      return .map(scrubbed)
    default: return self
    }
  }
}

extension [UInt8] {
  /// Whether the text, read as one scalar per byte, contains an ASCII secret.
  func holdSecret(_ redact: (String) -> String) -> Bool {
    var scalars = String.UnicodeScalarView()
    for byte in self { scalars.append(UnicodeScalar(byte)) }
    let text = String(scalars)
    return !redact(text).hasSameScalars(as: text)
  }
}
