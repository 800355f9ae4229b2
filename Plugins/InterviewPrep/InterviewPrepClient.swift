public import ActionKit
public import HTTPClient

/// Everything that an interview preparation backend can be asked.
///
/// Programs that want to be tested without one take this protocol; `InterviewPrepClient` is the real one. All but
/// `health` is paid for, each time, and gives something else each time.
public protocol InterviewPrepClientProtocol: Sendable {
  /// Asks whether the backend answers, which says nothing about its language model; throws if it does not.
  func health() async throws(InterviewPrepError)
  /// Generates a routine for the week.
  func generateRoutine(for profile: Profile) async throws(InterviewPrepError) -> Generated<WeekPlan>
  /// Generates a prep pack.
  func generatePrep(for profile: Profile) async throws(InterviewPrepError) -> Generated<PrepPack>
  /// Regenerates one section of a plan, and returns the whole plan with it.
  func reroll(
    _ section: PlanSection, of plan: WeekPlan, for profile: Profile
  ) async throws(InterviewPrepError) -> Generated<WeekPlan>
}

/// Something that was made for a person.
public struct Generated<Content: Sendable>: Sendable {
  /// The generated content.
  public var content: Content
  /// Whether the backend's language model failed, so that the content is a canned answer or the unchanged section.
  public var isCanned: Bool
  /// One sentence for each part that was left out because it cannot be read.
  public var warnings: [String] = []
}

/// A client of an interview preparation backend.
///
///     let client = InterviewPrepClient()
///     let me = try Profile(name: "Jo", stage: "Recent Grad", targetRole: "iOS", hoursPerDay: 2, days: [.mon, .wed])
///     for day in try await client.generateRoutine(for: me).content.days { print(day.date, day.tasks) }
///
/// Both generations of the backend are understood: the older one plans by the clock, the newer one by hours. Each call
/// is sent once; `InterviewPrepError.isRetryable` says whether it is worth sending again. An invalid profile or plan is
/// refused before it is sent. A client can be shared by any number of tasks.
public final class InterviewPrepClient: InterviewPrepClientProtocol {
  /// A backend on this machine.
  public static let defaultBaseURL = "http://localhost:8081"

  let baseURL: String
  let paidCalls: PaidCalls
  private let http: HTTPClient
  private let limits: HTTPLimits
  private let healthTimeout: TimeSpan
  private let time: any TimeSource
  private let isOnline: @Sendable () -> Bool

  /// Creates a client; nothing is sent before the first call.
  ///
  /// - Parameters:
  ///   - baseURL: The backend's address; a slash at the end does not matter.
  ///   - http: Sends the requests; share one among all clients of a process.
  ///   - limits: How long a generation may take and how large an answer may be.
  ///   - healthTimeout: Time limit for the health check.
  ///   - time: Tells how long a wait is that ends at an instant.
  public convenience init(
    baseURL: String = defaultBaseURL, http: HTTPClient = HTTPClient(),
    limits: HTTPLimits = HTTPLimits(attempt: .seconds(15), maxBodyBytes: 4 << 20),
    healthTimeout: TimeSpan = .seconds(5), time: any TimeSource = SystemTime()
  ) {
    self.init(
      baseURL: baseURL, http: http, limits: limits, healthTimeout: healthTimeout, time: time, paidCalls: PaidCalls())
  }

  init(
    baseURL: String, http: HTTPClient = HTTPClient(), limits: HTTPLimits, healthTimeout: TimeSpan = .seconds(5),
    time: any TimeSource, paidCalls: PaidCalls, isOnline: @escaping @Sendable () -> Bool = Reachability.isOnline
  ) {
    self.baseURL = baseURL.withoutSlashesAtEnd
    self.http = http
    self.limits = limits
    self.healthTimeout = healthTimeout
    self.time = time
    self.paidCalls = paidCalls
    self.isOnline = isOnline
  }
}

extension InterviewPrepClient {
  public func health() async throws(InterviewPrepError) {
    var limits = limits
    limits.attempt = healthTimeout
    let request = HTTPRequest("GET", "\(baseURL)/health", limits: limits, redirects: .none)
    let response = try await answer(request, isPaid: false)
    // Any 200 is health, with any body, and nothing else is.
    guard response.status == 200 else {
      throw InterviewPrepError(response, to: request, isPaid: false, now: time.now())
    }
  }

  public func generateRoutine(for profile: Profile) async throws(InterviewPrepError) -> Generated<WeekPlan> {
    try await make(.routine(for: profile))
  }

  public func generatePrep(for profile: Profile) async throws(InterviewPrepError) -> Generated<PrepPack> {
    try await make(.prep(for: profile))
  }

  public func reroll(
    _ section: PlanSection, of plan: WeekPlan, for profile: Profile
  ) async throws(InterviewPrepError) -> Generated<WeekPlan> {
    try await make(.reroll(section, of: plan, for: profile))
  }

  /// Sends a paid call and reads its answer.
  func make<Content>(_ call: PaidCall<Content>) async throws(InterviewPrepError) -> Generated<Content> {
    // A redirect is never followed: it could make the call twice.
    let request = HTTPRequest(
      "POST", baseURL + call.path, headers: ["Content-Type": "application/json", "Accept": "application/json"],
      body: call.body, limits: limits, redirects: .none, acceptsCompression: true)
    return try call.read(try await answer(request, isPaid: true).body)
  }

  /// The answer to a request, which is one of success.
  private func answer(_ request: HTTPRequest, isPaid: Bool) async throws(InterviewPrepError) -> HTTPResponse {
    let response: HTTPResponse
    do throws(HTTPError) {
      response = try await http.send(request)
    } catch {
      let isHere = HTTPURL(request.url)?.isLoopback ?? false
      throw InterviewPrepError(error, isPaid: isPaid, isOffline: !isHere && !isOnline())
    }
    guard response.isSuccess else {
      throw InterviewPrepError(response, to: request, isPaid: isPaid, now: time.now())
    }
    return response
  }
}
