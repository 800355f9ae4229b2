import ActionKit
import HTTPClient
import LocalFiles

enum Download: AddressedAction, TimedAction, PreviewingAction {
  static let name = "download"
  static let summary = "Downloads a file with HTTP GET; it appears whole and checked, or not at all."
  static let effect = Effect.idempotentWrite(within: .forever)
  static let timeout = TimeSpan.seconds(3600)
  static let examples = [
    Example("An archive, checked", "url: /files/report.zip\nto: downloads/report.zip\nverify: zip"),
    Example("A table", "url: /files/items.csv\nto: items.csv"),
  ]

  struct Input: FieldSet {
    @Field("Address, or path below the connection's `baseURL`.", .pattern(.webAddress)) var url: String
    @Field("Query parameters; a list gives one parameter for each of its values.", .mayHoldSecret) var query: ValueMap?
    @Field("Header fields, beside the connection's own.", .mayHoldSecret) var headers: [String: String]?
    @Field("Path of the file in the connection's folder; an existing file is replaced.", .notEmpty) var to: String
    @Field("The SHA-256 that the file must have, in hexadecimal digits.", .pattern(.sha256)) var sha256: String?
    @Field("The size that the file must have, in bytes.", .range(0...1 << 40)) var bytes: Int?
    @Field("Whether to compare every entry of a zip with its checksum before keeping the file.")
    var verify = Verification.none
    @Field("Whether to resume an interrupted download, if the service supports that and still has the same file.")
    var resume = true
  }

  enum Verification: String, Choice {
    case none, zip
  }

  struct Output: FieldSet {
    @Field("Full path of the file.", .isFile) var path: String
    @Field("Its size.") var bytes: Int
    @Field("Its SHA-256 in hexadecimal digits.") var sha256: String
    @Field("How many of its bytes came from an earlier attempt, and weren't sent again.") var resumedBytes: Int
  }

  private static func request(
    _ input: Input, _ service: WebClient, in context: ActionContext
  ) throws(ActionError) -> HTTPRequest {
    var request = try service.request(
      .init(
        method: "GET", url: input.url, query: input.query, headers: input.headers, accept: "*/*",
        secrets: context.secrets))
    // An address with a query usually comes from a response, and may be signed.
    request.hidesQuery = input.url.utf8.contains(ASCII.question)
    return request
  }

  static func preview(_ input: Input, on service: WebClient, in context: ActionContext) async throws -> [Change] {
    let file = try service.files.file(input.to, in: context)
    let old = try await file.status().map { "\($0.bytes) bytes" }
    return [
      Change(
        "the file '\(file.path)'", from: old, to: "what is at \(try request(input, service, in: context).redactedURL)")
    ]
  }

  static func run(_ input: Input, on service: WebClient, in context: ActionContext) async throws -> Output {
    let request = try request(input, service, in: context)
    let place = try await service.files.file(input.to, in: context).prepared()
    let file = try await service.downloaded(
      request, to: place, bytes: input.bytes, sha256: input.sha256, resumes: input.resume,
      verifiesZip: input.verify == .zip)
    return try Output {
      $0.path = place.path
      $0.bytes = file.bytes
      $0.sha256 = file.sha256
      $0.resumedBytes = file.resumedBytes
    }
  }
}

extension TextPattern {
  /// A SHA-256.
  static let sha256 = TextPattern(
    "a SHA-256 of 64 hexadecimal digits", regex: "^[0-9A-Fa-f]{64}$",
    accepted: [String(repeating: "0aF9", count: 16)],
    refused: [String(repeating: "0aF9", count: 15), String(repeating: "0aG9", count: 16), ""]
  ) { text in
    text.utf8.count == 64
      && text.utf8.allSatisfy {
        ASCII.digits.contains($0) || (0x41...0x46).contains($0 & 0xDF)
      }
  }
}
