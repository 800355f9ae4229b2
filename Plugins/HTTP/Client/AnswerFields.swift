package import ActionKit
package import HTTPClient
package import LocalFiles

/// What an answer must be.
package enum AnswerKind: String, Choice {
  case auto, json, text
}

/// What a service answered.
package struct AnswerFields: FieldSet {
  package init() {}

  @Field("The HTTP status.") var status: Int
  @Field("The header fields, by their names in small letters; of one that is repeated the values with commas between.")
  var headers: [String: String]
  @Field("What was answered: the value if it is JSON, else a text; null if it is empty.") var body: Value
  @Field("Whether the answer is JSON.") var isJSON: Bool
}

extension AnswerFields {
  /// Reads an answer; `isWrite` says that something was changed by it.
  init(_ response: HTTPResponse, to request: HTTPRequest, as kind: AnswerKind, in encoding: ReadEncoding, isWrite: Bool)
    throws
  {
    let (body, isJSON) = try Self.body(of: response, to: request, as: kind, in: encoding, isWrite: isWrite)
    try self.init {
      $0.status = response.status
      $0.headers = Self.headers(of: response)
      $0.body = body
      $0.isJSON = isJSON
    }
  }

  private static let isPage =
    "is a web page and not JSON; check the address, and that the service is not down for maintenance."

  /// What is said of a web page in the place of data.
  static func page(in request: HTTPRequest) -> String {
    "the answer to \(request.method) \(request.redactedURL) \(isPage)"
  }

  static func headers(of response: HTTPResponse) -> [String: String] {
    var headers: [String: String] = [:]
    for field in response.headers.fields {
      let name = field.name.lowercased()
      // A cookie is a credential, and outputs are kept.
      if name == "set-cookie" { continue }
      headers[name] = headers[name].map { "\($0), \(field.value)" } ?? field.value
    }
    return headers
  }

  /// The body as what it says it is, or as what it must be.
  package static func body(
    of response: HTTPResponse, to request: HTTPRequest, as kind: AnswerKind, in encoding: ReadEncoding = .auto,
    isWrite: Bool
  ) throws(ActionError) -> (Value, isJSON: Bool) {
    let type = response.headers["Content-Type"].map { $0.prefix { $0 != ";" }.lowercased() } ?? ""
    let saysJSON = type.trimmed == "application/json" || type.trimmed.hasSuffix("+json")
    if response.body.isEmpty, kind != .json || response.status == 204 { return (.null, isJSON: false) }
    let name = "the answer to \(request.method) \(request.redactedURL)"
    func fault(_ message: String) -> ActionError {
      .unusable("\(name) \(message)", status: response.status, isWrite: isWrite)
    }
    guard kind == .json || kind == .auto && saysJSON else {
      do throws(ActionError) {
        var encoding = encoding
        if encoding == .auto, !response.hasByteOrderMark {
          encoding = response.charset.flatMap { ReadEncoding(charset: $0) } ?? .auto
        }
        return (.string(try encoding.text(of: response.body, called: name)), isJSON: false)
      } catch {
        throw .unusable(error.message, status: response.status, isWrite: isWrite)
      }
    }
    do throws(JSONError) {
      let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
      let body = response.body.starts(with: mark) ? Array(response.body.dropFirst(mark.count)) : response.body
      return (try JSON.parse(body), isJSON: true)
    } catch {
      if response.isPage {
        // It may be one that asks to log in.
        var error = fault(isPage)
        if isWrite { (error.kind, error.effect) = (.plugin, .unknown) }
        throw error
      }
      throw fault("isn't valid JSON: \(error.description).")
    }
  }
}

extension HTTPResponse {
  /// The `charset` of the body's type.
  fileprivate var charset: String? {
    let parameters = (headers["Content-Type"] ?? "").split(separator: ";").dropFirst().map { String($0).trimmed }
    let value = parameters.first { $0.lowercased().hasPrefix("charset=") }?.dropFirst("charset=".utf8.count)
    return value.map { $0.filter { $0 != "\"" } }
  }

  /// Whether the body says by its first bytes how it is written.
  fileprivate var hasByteOrderMark: Bool {
    [[0xEF, 0xBB, 0xBF], [0xFE, 0xFF], [0xFF, 0xFE]].contains { body.starts(with: $0) }
  }
}
