import Basics

/// A message of JSON-RPC 2.0, as it came.
enum Message: Sendable {
  case request(id: Value, method: String, params: Value)
  case notification(method: String, params: Value)
  /// The answer to a request of the server's.
  case response
  /// An unreadable message; the id is the request's, if it has one.
  case fault(id: Value, ResponseError)

  init(_ body: [UInt8]) {
    let value: Value
    // An editor may send half of a surrogate pair; refusing it would lose the message.
    do throws(JSONError) { value = try JSON.parse(body, allowing: .halfPairs) } catch {
      self = .fault(id: .null, ResponseError(.parseError, error.description))
      return
    }
    if value.list != nil {
      self = .fault(
        id: .null, ResponseError(.invalidRequest, "a list of messages isn't accepted; send each on its own"))
      return
    }
    guard value.map != nil else {
      self = .fault(id: .null, ResponseError(.invalidRequest, "a message must be an object, not \(value.kindName)"))
      return
    }
    let id = value["id"]
    let isKnownID = id?.int != nil || id?.string != nil
    guard let method = value["method"]?.string else {
      if value["result"] != nil || value["error"] != nil {
        self = .response
      } else {
        self = .fault(
          id: isKnownID ? id ?? .null : .null, ResponseError(.invalidRequest, "a message must have a 'method'"))
      }
      return
    }
    guard let id else {
      self = .notification(method: method, params: value["params"] ?? .null)
      return
    }
    guard isKnownID else {
      self = .fault(
        id: .null, ResponseError(.invalidRequest, "the id of a request must be an int or a string, not \(id.kindName)"))
      return
    }
    self = .request(id: id, method: method, params: value["params"] ?? .null)
  }
}

/// Why a request isn't answered.
struct ResponseError: Error, Sendable {
  /// The codes of JSON-RPC 2.0 and of LSP 3.17.
  enum Code: Int, Sendable {
    case parseError = -32700
    case invalidRequest = -32600
    case methodNotFound = -32601
    case invalidParams = -32602
    case serverNotInitialized = -32002
    case requestFailed = -32803
    case requestCancelled = -32800
  }

  var code: Code
  var message: String

  init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }
}
