import ActionKit
import HTTPClient

/// A plugin as `errand-dev new-plugin` makes one: a client that asks a service by HTTP, and an action.
enum Made: WebPlugin {
  static let name = "made"
  static let summary = "Uses the service Made."
  static let actions: [any Action<MadeClient>.Type] = [GetMadeStatus.self]

  struct Configuration: FieldSet {
    @Field("The service's address.", .pattern(.baseURL)) var baseURL: String
  }

  static func connect(_ configuration: Configuration, in context: PluginContext) -> MadeClient {
    MadeClient(baseURL: configuration.baseURL, http: context.httpClient())
  }
}

/// A client of Made.
actor MadeClient {
  private let baseURL: String
  private let http: HTTPClient

  init(baseURL: String, http: HTTPClient) {
    self.baseURL = baseURL
    self.http = http
  }

  /// The HTTP status of the service's answer.
  func status() async throws(MadeError) -> Int {
    do throws(HTTPError) {
      return try await http.send(HTTPRequest("GET", baseURL)).status
    } catch {
      throw MadeError(message: "Asking Made for its status failed. \(error.message)", cause: error)
    }
  }
}

/// A call of Made that failed.
struct MadeError: ActionErrorConvertible, CustomStringConvertible {
  let message: String
  let cause: HTTPError

  var description: String { message }
  var actionError: ActionError {
    ActionError(
      cause.errorKind, message, effect: cause.sent == .nothing ? ActionError.Effect.none : .unknown, cause: self)
  }
}

enum GetMadeStatus: Action {
  static let name = "getStatus"
  static let summary = "Checks whether Made answers."
  static let effect = Effect.read
  static let examples = [Example("Any answer counts", "")]

  struct Input: FieldSet {}

  struct Output: FieldSet {
    @Field("The HTTP status of the answer.") var status: Int
  }

  static func run(_ input: Input, on client: MadeClient, in context: ActionContext) async throws -> Output {
    let status = try await client.status()
    return try Output { $0.status = status }
  }
}
