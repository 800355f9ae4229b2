/// The messages of the Model Context Protocol, in the form of JSON-RPC 2.0: requests and notifications by both sides,
/// and responses to requests.
///
/// A request has an id chosen by its sender, an int or a text, and the response repeats it; a notification has none and
/// is never answered. `params` and `result` are objects. JSON-RPC's lists of messages aren't part of the protocol. On
/// standard streams a message is a line (`LineReader`), over HTTP it is a body (`TransportFields`).
package import Basics

/// The id of a request, by its sender.
package enum MessageID: Hashable, Sendable {
  case int(Int)
  case text(String)

  package init?(_ value: Value?) {
    switch value?.content {
    case .int(let number): self = .int(number)
    // JSON doesn't tell 1.0 from 1, and some programs read and write all numbers so.
    case .double(let number):
      guard let number = Int(exactly: number) else { return nil }
      self = .int(number)
    case .string(let text): self = .text(text)
    default: return nil
    }
  }

  package var value: Value {
    switch self {
    case .int(let number): .int(number)
    case .text(let text): .string(text)
    }
  }

  /// The number that it is, also of a peer that repeats numbers as texts.
  package var number: Int? {
    switch self {
    case .int(let number): number
    case .text(let text): Int(text)
    }
  }
}

/// A message from one side to the other.
package enum ModelContextMessage: Sendable {
  case request(MessageID, method: String, params: ValueMap)
  case notification(method: String, params: ValueMap)
  case result(MessageID, ValueMap)
  /// The id is nil in the response to an unreadable message.
  case failure(MessageID?, ModelContextError)

  /// Why a text isn't a message, with the id of the request, which is told so, if it has one.
  package struct Fault: Error, Sendable {
    package var id: MessageID?
    package var error: ModelContextError
  }

  package init(reading bytes: [UInt8], limits: JSON.Limits = .init(bytes: LineReader.longest)) throws(Fault) {
    // A mark at the beginning means nothing in UTF-8 (RFC 8259, section 8.1).
    let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
    let bytes = bytes.starts(with: mark) ? Array(bytes.dropFirst(mark.count)) : bytes
    let value: Value
    do throws(JSONError) { value = try JSON.parse(bytes, limits: limits, allowing: .halfPairs) } catch {
      throw Fault(error: ModelContextError(.parseError, "the message isn't valid JSON: \(error.description)"))
    }
    // An id that was mended is another one, which its sender wouldn't know.
    if value["id"]?.string?.unicodeScalars.contains("\u{FFFD}") == true, (try? JSON.parse(bytes, limits: limits)) == nil
    {
      throw Fault(
        error: ModelContextError(
          .invalidRequest, "the id holds half of a surrogate pair, which isn't valid Unicode"))
    }
    try self.init(value)
  }

  /// The id of the request that an unreadable text answers, if the text is certain to be its result; else nil.
  package static func idOfResult(_ bytes: [UInt8]) -> Int? {
    // The members before the result: none of them is nested.
    let openings = bytes.indices.lazy.filter { bytes[$0] == ASCII.openBrace || bytes[$0] == ASCII.openBracket }.prefix(
      2)
    guard let end = openings.dropFirst().first else { return nil }
    let head = String(decoding: bytes[..<end], as: UTF8.self).filter { !$0.isWhitespace }
    let members = head.dropFirst().split(separator: ",")
    guard members.last == "\"result\":" else { return nil }
    return members.first { $0.hasPrefix("\"id\":") }.flatMap { Int($0.dropFirst("\"id\":".count)) }
  }

  package init(_ value: Value) throws(Fault) {
    let id = MessageID(value["id"])
    func fault(_ message: String) -> Fault { Fault(id: id, error: ModelContextError(.invalidRequest, message)) }
    guard let members = value.map else {
      throw fault("a message must be an object, not \(value.kindName); send each message on its own")
    }
    guard members["jsonrpc"]?.string == "2.0" else { throw fault("a message must have 'jsonrpc' with the value '2.0'") }
    if let word = members["method"] {
      guard let method = word.string else { throw fault("'method' must be a string, not \(word.kindName)") }
      let params: ValueMap
      switch members["params"]?.content {
      case nil, .null: params = ValueMap()
      case .map(let map): params = map
      // A notification is never answered, also if it isn't valid.
      case _ where members["id"] == nil: params = ValueMap()
      default: throw fault("'params' must be an object")
      }
      switch (id, members["id"]) {
      case (let id?, _): self = .request(id, method: method, params: params)
      case (nil, nil): self = .notification(method: method, params: params)
      case (nil, let given?): throw fault("the id of a request must be an int or a string, not \(given.kindName)")
      }
    } else if let error = members["error"], !error.isNull || members["result"] == nil {
      self = .failure(id, ModelContextError(reading: error))
    } else if let result = members["result"]?.map, let id {
      self = .result(id, result)
    } else {
      throw fault("a message must have a 'method', or an 'id' with a 'result' or an 'error'")
    }
  }

  package var value: Value {
    var members = ValueMap([("jsonrpc", .string("2.0"))])
    switch self {
    case .request(let id, let method, let params):
      members["id"] = id.value
      members["method"] = .string(method)
      if !params.isEmpty { members["params"] = .map(params) }
    case .notification(let method, let params):
      members["method"] = .string(method)
      if !params.isEmpty { members["params"] = .map(params) }
    case .result(let id, let result):
      members["id"] = id.value
      members["result"] = .map(result)
    case .failure(let id, let error):
      members["id"] = id?.value ?? .null
      members["error"] = error.value
    }
    return .map(members)
  }

  /// The message in JSON, without a line end; a result that JSON can't hold becomes an error that says so.
  package var bytes: [UInt8] {
    do throws(JSONError) { return try JSON.write(value) } catch {
      guard case .result(let id, _) = self else { return Array(JSON.displayed(value).utf8) }
      let fault = ModelContextError(.internalError, "the result can't be written as JSON: \(error.message)")
      return Array(JSON.displayed(ModelContextMessage.failure(id, fault).value).utf8)
    }
  }
}
