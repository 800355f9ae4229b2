import ActionKit
import HTTPClient
import LocalFiles

enum Get: AddressedAction {
  static let name = "get"
  static let summary = "Sends an HTTP GET request."
  static let effect = Effect.read
  static let examples = [
    Example("A list in JSON", "url: /items\nquery: { limit: 2 }\nanswer: json"),
    Example("A text, cached in case the network fails", "url: /notes.txt\ncached: true\nfallback: true"),
  ]

  struct Input: ValidatedFieldSet {
    @Field("Address, or path below the connection's `baseURL`.", .pattern(.webAddress)) var url: String
    @Field("Query parameters; a list gives one parameter for each of its values.", .mayHoldSecret) var query: ValueMap?
    @Field("Header fields, beside the connection's own.", .mayHoldSecret) var headers: [String: String]?
    @Field("The expected statuses; absent means 200 to 299.", .notEmpty, .each(.range(200...599)))
    var expect: [Int]?
    @Field("The form that the answer must have.") var answer = AnswerKind.auto
    @Field(
      "The encoding of a text; auto follows a byte order mark, then the answer's charset, and otherwise means UTF-8.")
    var encoding = ReadEncoding.auto
    @Field("Whether to cache the answer: it is used for as long as the service says, and then revalidated by its ETag.")
    var cached = false
    @Field("Whether to use a cached answer, however old, when the network or the service fails; needs `cached`.")
    var fallback = false

    func conflicts() -> [Conflict] {
      fallback && !cached ? [Conflict("must not be true without 'cached'", at: "fallback")] : []
    }
  }

  struct Output: FieldSet {
    @Field("The HTTP status.") var status: Int
    @Field(
      "The header fields, by name in lowercase; the values of a repeated field are joined with commas.",
      .volatile)
    var headers: [String: String]
    @Field("The answer's body: a value if it is JSON, otherwise a text; null if it is empty.") var body: Value
    @Field("Whether the answer is JSON.") var isJSON: Bool
    @Field("Whether the answer came from the cache, and not over the network now.", .volatile) var fromCache: Bool
    @Field("When the answer came over the network.", .volatile) var cachedAt: Timestamp
    @Field("Why a cached answer replaces a current one, as a sentence; absent if none does.", .volatile)
    var staleReason: String?
  }

  static func run(_ input: Input, on service: WebClient, in context: ActionContext) async throws -> Output {
    let request = try service.request(
      .init(
        method: "GET", url: input.url, query: input.query, headers: input.headers, expected: input.expect,
        secrets: context.secrets))
    let read = { @Sendable (response: HTTPResponse) throws(ActionError) -> (body: Value, isJSON: Bool) in
      try service.check(response, to: request, expecting: input.expect, isWrite: false)
      return try AnswerFields.body(of: response, to: request, as: input.answer, in: input.encoding, isWrite: false)
    }
    // An unreadable response isn't cached: it would replace a readable one, and fail again when read from the cache.
    let keeping = WebClient.Keeping(isAsked: input.cached, fallsBack: input.fallback)
    let answer = try await service.read(request, keeping: keeping) { new, kept in
      do throws(ActionError) {
        let isJSON = try read(new).isJSON
        // A step that accepts any response still expects data, and a web page in its place is usually a maintenance
        // page.
        guard !isJSON, new.isPage, let kept, (try? read(kept).isJSON) == true else { return nil }
        return AnswerFields.page(in: request)
      } catch {
        return error.message
      }
    }
    let response = answer.response
    let (body, isJSON) = try read(response)
    return try Output {
      $0.status = response.status
      $0.headers = AnswerFields.headers(of: response)
      $0.body = body
      $0.isJSON = isJSON
      $0.fromCache = answer.fromCache
      $0.cachedAt = answer.cachedAt
      $0.staleReason = answer.staleReason
    }
  }
}
