package import ActionKit
package import HTTPClient
package import LocalFiles

/// How to read the body of a response.
package enum AnswerKind: String, Choice {
  case auto, json, text
}

/// The status, header fields and body of a response.
package struct AnswerFields: FieldSet {
  package init() {}

  @Field("The HTTP status.") var status: Int
  @Field("The header fields, by name in lowercase; the values of a repeated field are joined with commas.")
  var headers: [String: String]
  @Field("The answer's body: a value if it is JSON, otherwise a text; null if it is empty.") var body: Value
  @Field("Whether the answer is JSON.") var isJSON: Bool
}

extension AnswerFields {
  /// Reads a response; `isWrite` says that the request changed something.
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

  /// The message for a web page in place of data.
  static func page(in request: HTTPRequest) -> String {
    "the answer to \(request.method) \(request.redactedURL) \(isPage)"
  }

  static func headers(of response: HTTPResponse) -> [String: String] {
    var headers: [String: String] = [:]
    for field in response.headers.fields {
      let name = field.name.lowercased()
      // A cookie is a credential, and outputs are stored.
      if name == "set-cookie" { continue }
      headers[name] = headers[name].map { "\($0), \(field.value)" } ?? field.value
    }
    return headers
  }

  /// Reads the body as its media type says, or as the step requires.
  ///
  /// - Parameter encoding: The encoding that the step names; nil for an action without such an input.
  package static func body(
    of response: HTTPResponse, to request: HTTPRequest, as kind: AnswerKind, in encoding: ReadEncoding? = nil,
    isWrite: Bool
  ) throws(ActionError) -> (Value, isJSON: Bool) {
    let type = ContentType(response.headers["Content-Type"])
    if response.body.isEmpty, kind != .json || response.status == 204 { return (.null, isJSON: false) }
    // Computed only for errors, because it is searched for secrets.
    var name: String { "the answer to \(request.method) \(request.redactedURL)" }
    func fault(_ message: String) -> ActionError {
      .unusable("\(name) \(message)", status: response.status, isWrite: isWrite)
    }
    let isJSON = kind == .json || kind == .auto && type.isJSON
    let body: [UInt8]
    do throws(ActionError) {
      body =
        if let encoding {
          try encoding.utf8(ofBody: response.body, type, called: name)
        } else {
          try ReadEncoding.utf8(ofUnlabelledBody: response.body, type, called: name)
        }
    } catch {
      // A web page in place of data is reported as a page in any encoding.
      guard isJSON, response.isPage else { throw .unusable(error.message, status: response.status, isWrite: isWrite) }
      body = response.body
    }
    guard isJSON else { return (.string(String(decoding: body, as: UTF8.self)), isJSON: false) }
    do throws(JSONError) { return (try JSON.parse(body, allowing: .halfPairs), isJSON: true) } catch {
      if response.isPage {
        // The page may ask the user to log in.
        var error = fault(isPage)
        if isWrite { (error.kind, error.effect) = (.plugin, .unknown) }
        throw error
      }
      throw fault("isn't valid JSON: \(error.description).")
    }
  }
}
