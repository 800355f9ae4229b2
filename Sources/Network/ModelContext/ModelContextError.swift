package import Basics

/// Why a request has no result.
package struct ModelContextError: Error, Sendable {
  /// The codes of JSON-RPC 2.0, and the codes that the protocol reserves from -32020 on.
  package enum Code: Int, Sendable, CaseIterable {
    case parseError = -32700
    case invalidRequest = -32600
    case methodNotFound = -32601
    case invalidParams = -32602
    case internalError = -32603
    /// Header fields don't match the body, or are missing.
    case headerMismatch = -32020
    /// The client didn't declare a capability that the request takes.
    case missingClientCapability = -32021
    /// `data` names the versions that are spoken: `supported`, and the one that was `requested`.
    case unsupportedVersion = -32022
  }

  /// The code, which may be one that isn't known here.
  package var code: Int
  /// One sentence.
  package var message: String
  package var data: Value?

  package init(_ code: Code, _ message: String, data: Value? = nil) {
    self.code = code.rawValue
    self.message = message
    self.data = data
  }

  /// Reads the member `error` of a response; what is missing in it fails nothing more.
  package init(reading value: Value) {
    code = value["code"]?.int ?? Code.internalError.rawValue
    message = value["message"]?.string ?? "the other side gave no reason"
    data = value["data"]
  }

  package var value: Value {
    var members = ValueMap([("code", .int(code)), ("message", .string(message))])
    if let data { members["data"] = data }
    return .map(members)
  }

  /// A request in a version that isn't spoken.
  package static func unsupported(_ requested: String) -> ModelContextError {
    ModelContextError(
      .unsupportedVersion, "protocol version '\(requested.excerpt(60))' isn't supported",
      data: .object([
        "supported": .list(ProtocolVersion.stateless.map { .string($0.rawValue) }),
        "requested": .string(requested.excerpt(60)),
      ]))
  }

  /// The status of an HTTP response that holds the error.
  package var status: Int {
    switch Code(rawValue: code) {
    case .methodNotFound: 404
    case .internalError, nil: 200
    default: 400
    }
  }
}
