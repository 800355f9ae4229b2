import ActionKit
import HTTPClient
import LocalFiles

/// The input of `post`, `put` and `patch`.
struct SendingFields: ValidatedFieldSet {
  @Field("Address, or path below the connection's `baseURL`.", .notEmpty) var url: String
  @Field("Query parameters; a list gives one parameter for each of its values.", .mayHoldSecret) var query: ValueMap?
  @Field("Header fields, beside the connection's own.", .mayHoldSecret) var headers: [String: String]?
  @Field("A value to send as JSON.", .mayHoldSecret) var json: Value?
  @Field("Fields to send as a web form.", .mayHoldSecret) var form: ValueMap?
  @Field("Fields and files to send as a web form with files (multipart/form-data).") var multipart: MultipartFields?
  @Field("A text to send.", .mayHoldSecret) var text: String?
  @Field("Media type of the text or the JSON; absent means text/plain; charset=utf-8, or application/json.", .notEmpty)
  var contentType: String?
  @Field("The expected statuses; absent means 200 to 299.", .notEmpty, .each(.range(200...599)))
  var expect: [Int]?
  @Field("The form that the answer must have.") var answer = AnswerKind.auto
  @Field(
    "The encoding of a text; auto follows a byte order mark, then the answer's charset, and otherwise means UTF-8.")
  var encoding = ReadEncoding.auto

  func conflicts() -> [Conflict] {
    if [json != nil, form != nil, multipart != nil, text != nil].count(where: { $0 }) > 1 {
      return [Conflict("takes one of 'json', 'form', 'multipart' and 'text'")]
    }
    let names = headers?.keys.map { $0.lowercased() } ?? []
    if let twice = names.first(where: { name in names.count { $0 == name } > 1 }) {
      return [Conflict("has the field '\(twice)' twice, and only one can be sent", at: "headers")]
    }
    guard let contentType else { return [] }
    if form != nil || multipart != nil {
      return [Conflict("is for 'json' and 'text', and a form has a type of its own; leave it out", at: "contentType")]
    }
    if names.contains("content-type") {
      return [Conflict("is sent as the field Content-Type, which 'headers' has, too; leave one out", at: "contentType")]
    }
    return WebBody.fault(of: text ?? "", writtenAs: contentType).map { [Conflict($0, at: "contentType")] } ?? []
  }

  func call(_ method: String, body: WebBody?, in context: ActionContext) -> WebClient.Call {
    WebClient.Call(
      method: method, url: url, query: query, headers: headers, body: body, expected: expect,
      secrets: context.secrets)
  }

  /// The body to send; reads the files of a form.
  func body(on service: WebClient, in context: ActionContext) async throws(ActionError) -> WebBody? {
    if let multipart { return try await multipart.body(on: service, in: context) }
    if let json {
      guard let contentType else { return try .json(json) }
      return try .json(json, writtenAs: contentType)
    }
    if let form { return .form(HTTPQuery(try WebBody.items(of: form, called: "form"))) }
    return try text.map { text throws(ActionError) in try WebBody.text(text, writtenAs: contentType) }
  }

  /// The change that a plan shows; the files of a form needn't exist yet.
  func preview(_ method: String, on service: WebClient, in context: ActionContext) async throws -> [Change] {
    let words: String
    if let multipart {
      for file in multipart.files { _ = try service.files.file(file.path, in: context) }
      let names = (multipart.fields?.members.compactMap(\.name) ?? []) + multipart.files.map { "'\($0.path)'" }
      words = "multipart/form-data, \(names.joined(separator: ", "))"
    } else {
      _ = try await body(on: service, in: context)
      words = WebBody.displayed(json ?? form.map(Value.map) ?? text.map(Value.string) ?? .null, in: context)
    }
    return [
      Change("\(method) \(try service.request(call(method, body: nil, in: context)).redactedURL)", from: nil, to: words)
    ]
  }
}

extension WebClient {
  /// Sends a request that must not be repeated, with the step's idempotency key if the service honours keys.
  func change(_ method: String, _ input: SendingFields, in context: ActionContext) async throws -> AnswerFields {
    var request = try request(input.call(method, body: try await input.body(on: self, in: context), in: context))
    if honoursKeys {
      // A key among the step's own header fields overrides it.
      if input.headers?.keys.contains(where: { $0.lowercased() == "idempotency-key" }) != true {
        request.headers["Idempotency-Key"] = WebClient.headerText(context.idempotencyKey)
      }
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
