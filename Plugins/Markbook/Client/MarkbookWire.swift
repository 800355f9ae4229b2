import ActionKit
import HTTPClient

/// Takes requests to the service and answers back, as far as all of them are alike.
struct MarkbookWire: Sendable {
  /// The parameters whose values never show up in an error, a log or a record.
  static let secretParameters: Set<String> = ["apikey", "apiuser", "apipassword", "sessiontoken", "sessionkey"]

  let baseURL: String
  let http: HTTPClient
  let limits: HTTPLimits
  let time: any TimeSource

  init(baseURL: String, http: HTTPClient, limits: HTTPLimits, time: any TimeSource) {
    self.baseURL = baseURL.withoutSlashesAtEnd
    self.http = http
    self.limits = limits
    self.time = time
  }

  /// Sends a request with a query, as all actions but one need it, writes included.
  func get(_ query: HTTPQuery, action: String) async throws(MarkbookError) -> Payload {
    try await payload(HTTPRequest("GET", "\(baseURL)?\(query.encoded)"), action)
  }

  /// Sends a form.
  func post(_ form: HTTPQuery, to page: String, action: String) async throws(MarkbookError) -> Payload {
    let headers: HTTPHeaders = ["Content-Type": "application/x-www-form-urlencoded"]
    return try await payload(
      HTTPRequest("POST", "\(baseURL)/\(page)", headers: headers, body: Array(form.encoded.utf8)), action)
  }

  /// Opens a session.
  func logIn(username: String, password: String) async throws(MarkbookError) -> MarkbookSession {
    do throws(MarkbookError) {
      let answer = try await post(
        ["apiuser": username, "apipassword": password], to: "authenticate.lc", action: "authentication")
      let envelope = try ResponseEnvelope(answer)
      guard envelope.status == .okay, let session = try MarkbookSession(answer, schoolName: envelope.schoolName) else {
        var refusal = MarkbookError.refused("authentication", envelope.status)
        refusal.message +=
          " Check username and password, that the user may administer users, and that no code by e-mail is asked for."
        throw refusal
      }
      return session
    } catch {
      throw .authenticationFailed(error)
    }
  }

  /// Sends a request once and reads the answer as one object, whose status is still to be judged.
  private func payload(_ request: HTTPRequest, _ action: String) async throws(MarkbookError) -> Payload {
    var request = request
    request.limits = limits
    request.redactedParameters = Self.secretParameters
    let response: HTTPResponse
    do throws(HTTPError) {
      response = try await http.send(request)
    } catch {
      throw MarkbookError(network: error, action: action)
    }
    guard response.isSuccess else {
      var error = MarkbookError(
        .httpError(statusCode: response.status), action: action,
        message: "Markbook Online answered \(request.method) '\(action)' with HTTP status \(response.status).",
        // A request that the server rejects as the client's fault has not been executed.
        effect: (400..<500).contains(response.status) && response.status != 408 ? .none : .unknown)
      error.detail = response.reason
      error.retryAfter = response.retryAfter(now: time.now())
      throw error
    }
    return try Payload(MarkbookError.reading(response, action: action), action: action)
  }
}
