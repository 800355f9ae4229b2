import ActionKit
import HTTPClient

/// What is sent.
struct RequestBody {
  var type: String
  var bytes: [UInt8]

  /// The items of a query or a form: a list is one item for each of its values, null is none.
  static func items(of map: ValueMap, called what: String) throws(ActionError) -> [HTTPQuery.Item] {
    var items: [HTTPQuery.Item] = []
    for member in map.members {
      let name = member.name ?? ""
      for value in member.value.list ?? [member.value] where !value.isNull {
        guard let text = value.csvField else {
          throw ActionError(
            .validation, "'\(name)' of '\(what)' is \(value.kindName), which it cannot hold.",
            effect: ActionError.Effect.none)
        }
        items.append(.init(name, text))
      }
    }
    return items
  }
}

/// What `post`, `put` and `patch` take.
struct SendingFields: ValidatedFieldSet {
  @Field("Address, or path from the connection's `baseURL` on.", .notEmpty) var url: String
  @Field("Parameters of the query; a list gives one for each of its values.") var query: ValueMap?
  @Field("Header fields beside those of the connection; they are no place for secrets.") var headers: [String: String]?
  @Field("A value to send as JSON.") var json: Value?
  @Field("Fields to send as a web form does.") var form: ValueMap?
  @Field("A text to send.") var text: String?
  @Field("Type of the text.", .notEmpty) var contentType = "text/plain; charset=utf-8"
  @Field("The statuses that are expected; absent means 200 to 299.", .notEmpty, .each(.range(100...599)))
  var expect: [Int]?
  @Field("What the answer must be.") var answer = AnswerKind.auto

  func conflicts() -> [Conflict] {
    [json != nil, form != nil, text != nil].count { $0 } > 1
      ? [Conflict("takes one of 'json', 'form' and 'text'")] : []
  }

  func call(_ method: String) throws(ActionError) -> WebService.Call {
    var body: RequestBody?
    if let json {
      do throws(JSONError) { body = RequestBody(type: "application/json", bytes: try JSON.write(json)) } catch {
        throw ActionError(
          .validation, "The body cannot be JSON: \(error.description).", effect: ActionError.Effect.none, cause: error)
      }
    } else if let form {
      let items = try RequestBody.items(of: form, called: "form")
      body = RequestBody(type: "application/x-www-form-urlencoded", bytes: Array(HTTPQuery(items).encoded.utf8))
    } else if let text {
      body = RequestBody(type: contentType, bytes: Array(text.utf8))
    }
    return WebService.Call(method: method, url: url, query: query, headers: headers, body: body)
  }

  /// What a plan shows.
  func preview(_ method: String, on service: WebService) throws -> [Change] {
    let call = try call(method)
    let body = call.body.map { "\($0.type), \($0.bytes.count) bytes" } ?? "nothing"
    return [Change("\(method) \(try service.request(call).redactedURL)", from: nil, to: body)]
  }
}

extension WebService {
  /// Sends what must not be done twice, with the step's key where the service honours keys.
  func change(_ method: String, _ input: SendingFields, in context: ActionContext) async throws -> AnswerFields {
    var request = try request(try input.call(method))
    if honoursKeys {
      // A key may be any text, and a header holds only plain ones.
      let key = context.idempotencyKey
      request.headers["Idempotency-Key"] = key.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? key : key.percentEncoded
    } else if context.isKeyNamed {
      throw ActionError(
        .configuration,
        "The step has a 'key', and its connection does not say that the service does nothing twice for the same one; if it "
          + "does, say 'honoursIdempotencyKey: true' there.", effect: ActionError.Effect.none)
    }
    let response = try await write(request)
    try check(response, to: request, expecting: input.expect, isWrite: true)
    return try AnswerFields(response, to: request, as: input.answer, isWrite: true)
  }
}
