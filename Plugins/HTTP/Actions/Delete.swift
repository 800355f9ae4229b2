import ActionKit
import HTTPClient

enum Delete: AddressedAction, PreviewingAction {
  static let name = "delete"
  static let summary = "Sends an HTTP DELETE request; succeeds if the resource is already gone."
  // RFC 9110, section 9.2.2.
  static let effect = Effect.idempotentWrite(within: .forever)
  static let examples = [Example("One item", "url: /items/1")]

  struct Input: FieldSet {
    @Field("Address, or path below the connection's `baseURL`.", .pattern(.webAddress)) var url: String
    @Field("Query parameters; a list gives one parameter for each of its values.", .mayHoldSecret) var query: ValueMap?
    @Field("Header fields, beside the connection's own.", .mayHoldSecret) var headers: [String: String]?
    @Field("The expected statuses; absent means 200 to 299, 404 and 410.", .notEmpty, .each(.range(200...599)))
    var expect: [Int]?
  }

  struct Output: FieldSet {
    @Field("The HTTP status.") var status: Int
    @Field("Whether there was something to remove.") var deleted: Bool
    @Field(
      "The header fields, by name in lowercase; the values of a repeated field are joined with commas.",
      .volatile)
    var headers: [String: String]
  }

  private static func call(_ input: Input, in context: ActionContext) -> WebClient.Call {
    WebClient.Call(
      method: "DELETE", url: input.url, query: input.query, headers: input.headers, expected: input.expect,
      secrets: context.secrets)
  }

  static func preview(_ input: Input, on service: WebClient, in context: ActionContext) throws -> [Change] {
    [Change("DELETE \(try service.request(call(input, in: context)).redactedURL)", from: "there", to: nil)]
  }

  static func run(_ input: Input, on service: WebClient, in context: ActionContext) async throws -> Output {
    let request = try service.request(call(input, in: context))
    let response = try await service.write(request)
    let isGone = input.expect == nil && response.isGone
    if !isGone { try service.check(response, to: request, expecting: input.expect, isWrite: true) }
    return try Output {
      $0.status = response.status
      // A redirect deletes nothing, and a resource that is already gone is a success without a deletion.
      $0.deleted = (200...299).contains(response.status)
      $0.headers = AnswerFields.headers(of: response)
    }
  }
}
