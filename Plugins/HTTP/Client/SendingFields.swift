import ActionKit
import HTTPClient
import LocalFiles

/// What `post`, `put` and `patch` take.
struct SendingFields: ValidatedFieldSet {
  @Field("Address, or path from the connection's `baseURL` on.", .notEmpty) var url: String
  @Field("Parameters of the query; a list gives one for each of its values.", .mayHoldSecret) var query: ValueMap?
  @Field("Header fields beside those of the connection.", .mayHoldSecret) var headers: [String: String]?
  @Field("A value to send as JSON.", .mayHoldSecret) var json: Value?
  @Field("Fields to send as a web form does.", .mayHoldSecret) var form: ValueMap?
  @Field("Fields and files to send as a web form with files does (multipart/form-data).") var multipart:
    MultipartFields?
  @Field("A text to send.", .mayHoldSecret) var text: String?
  @Field("Type of the text.", .notEmpty) var contentType = "text/plain; charset=utf-8"
  @Field("The statuses that are expected; absent means 200 to 299.", .notEmpty, .each(.range(100...599)))
  var expect: [Int]?
  @Field("What the answer must be.") var answer = AnswerKind.auto
  @Field("How a text is written; auto goes by a byte order mark, then by the answer's charset, else it is UTF-8.")
  var encoding = ReadEncoding.auto

  func conflicts() -> [Conflict] {
    [json != nil, form != nil, multipart != nil, text != nil].count { $0 } > 1
      ? [Conflict("takes one of 'json', 'form', 'multipart' and 'text'")] : []
  }

  func call(_ method: String, body: WebBody?, in context: ActionContext) -> WebClient.Call {
    WebClient.Call(
      method: method, url: url, query: query, headers: headers, body: body, secrets: context.secrets)
  }

  /// What is sent, with what is in the files that belong to it.
  func body(on service: WebClient, in context: ActionContext) async throws(ActionError) -> WebBody? {
    if let multipart { return try await multipart.body(on: service, in: context) }
    if let json { return try .json(json) }
    if let form { return .form(HTTPQuery(try WebBody.items(of: form, called: "form"))) }
    return text.map { .text($0, type: contentType) }
  }

  /// What a plan shows; files may be there only when the step comes.
  func preview(_ method: String, on service: WebClient, in context: ActionContext) async throws -> [Change] {
    let words: String
    if let multipart {
      for file in multipart.files { _ = try service.files.file(file.path, in: context) }
      let names = (multipart.fields?.members.compactMap(\.name) ?? []) + multipart.files.map { "'\($0.path)'" }
      words = "multipart/form-data, \(names.joined(separator: ", "))"
    } else {
      _ = try await body(on: service, in: context)
      words = WebBody.shown(json ?? form.map(Value.map) ?? text.map(Value.string) ?? .null, in: context)
    }
    return [
      Change("\(method) \(try service.request(call(method, body: nil, in: context)).redactedURL)", from: nil, to: words)
    ]
  }
}

extension WebClient {
  /// Sends what must not be done twice, with the step's key where the service honours keys.
  func change(_ method: String, _ input: SendingFields, in context: ActionContext) async throws -> AnswerFields {
    var request = try request(input.call(method, body: try await input.body(on: self, in: context), in: context))
    if honoursKeys {
      request.headers["Idempotency-Key"] = WebClient.headerText(context.idempotencyKey)
    } else if context.isKeyNamed {
      throw ActionError(
        .configuration,
        "The step has a 'key', and its connection does not say that the service does nothing twice for the same one; if it "
          + "does, say 'honoursIdempotencyKey: true' there.")
    }
    let response = try await write(request)
    try check(response, to: request, expecting: input.expect, isWrite: true)
    return try AnswerFields(response, to: request, as: input.answer, in: input.encoding, isWrite: true)
  }
}
