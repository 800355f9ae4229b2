public import ActionKit
import SandboxKit
import Synchronization

// The sandbox: a backend on a loopback port that behaves as the contract says, with a language model that makes
// something else of the same request each time, and can fail. Beside what every sandbox has (`SandboxServer`):
//
//   /sandbox/backend?generation=older|newer&failures=N
//                                   makes it the older or the newer backend, and lets the model fail N times

extension InterviewPrepPlugin: SandboxedPlugin {
  public static func startSandbox(_ options: SandboxOptions) async throws -> any RunningSandbox {
    try InterviewPrepSandbox(options)
  }
}

/// A backend that answers on a loopback port.
final class InterviewPrepSandbox: ServedSandbox {
  let server: SandboxServer
  let backend = SandboxBackend()

  init(_ options: SandboxOptions) throws {
    let backend = backend
    server = try SandboxServer(port: options.port, time: options.time) { request, now in
      backend.answer(request, at: now)
    }
  }

  var configuration: Value { .object(["baseURL": .string(baseURL)]) }
}

/// The backend behind the port.
final class SandboxBackend: Sendable {
  enum Generation: String, CaseIterable, Sendable {
    case older, newer
  }

  struct State: Sendable {
    var generation = Generation.newer
    /// How many times the language model fails before it works again.
    var failures = 0
    /// How many answers the language model has made.
    var generations = 0
    /// The minute of the last request, and how many came in it.
    var minute = (start: 0, requests: 0)
    /// The bodies of the requests for something paid, for tests.
    var bodies: [[UInt8]] = []
  }

  let state = Mutex(State())
  private static let requestsAMinute = 60

  func answer(_ request: HTTPServerRequest, at now: Timestamp) -> HTTPServerResponse {
    if request.path == "/sandbox/backend" { return setUp(request.query) }
    let minute = now.seconds.flooredDivision(by: 60)
    let count = state.withLock { state in
      state.minute = state.minute.start == minute ? (minute, state.minute.requests + 1) : (minute, 1)
      return state.minute.requests
    }
    var response: HTTPServerResponse
    if count > Self.requestsAMinute {
      response = .failure(429, "Too many requests, please try again later.", id: nil)
      response.headers["Retry-After"] = "\(60 - now.seconds.flooredRemainder(by: 60))"
    } else {
      response = respond(to: request, at: now)
    }
    response.headers["RateLimit-Limit"] = "\(Self.requestsAMinute)"
    response.headers["RateLimit-Remaining"] = "\(max(0, Self.requestsAMinute - count))"
    return response
  }

  private func respond(to request: HTTPServerRequest, at now: Timestamp) -> HTTPServerResponse {
    switch (request.method, request.path) {
    case ("GET", "/health"): return .json(.object(["status": .string("ok")]))
    case ("POST", "/generate/routine"), ("POST", "/generate/prep"), ("POST", "/reroll/timeBlocks"),
      ("POST", "/reroll/resources"), ("POST", "/reroll/dailyTasks"):
      break
    case ("POST", let path) where path.hasPrefix("/generate/") || path.hasPrefix("/reroll/"):
      return .failure(400, "Unknown section.")
    default: return .json(.object(["error": .string("Not Found"), "path": .string(request.path)]), status: 404)
    }
    guard request.body.count <= 1 << 20 else { return .failure(413, "The body is too large.", id: nil) }
    guard let body = try? JSON.parse(request.body) else { return .failure(400, "The body isn't valid JSON.", id: nil) }
    let (generation, isFailing, number) = state.withLock { state in
      state.bodies.append(request.body)
      let isFailing = state.failures > 0
      if isFailing { state.failures -= 1 } else { state.generations += 1 }
      return (state.generation, isFailing, state.generations)
    }
    let model = SandboxModel(generation: generation, number: number, now: now)
    if request.path.hasPrefix("/reroll/") {
      return reroll(String(request.path.dropFirst("/reroll/".count)), body, isFailing, model)
    }
    let isRoutine = request.path == "/generate/routine"
    let profile = body["profile"].flatMap { try? Profile(checking: $0, as: "profile") }
    guard let profile, !isFailing else {
      // The newer backend hides what went wrong.
      if generation == .newer { return .json(isRoutine ? model.cannedRoutine : model.cannedPrep) }
      return profile == nil ? .failure(400, "The profile is missing or invalid.") : .failure(502, "The model failed.")
    }
    return .json(
      isRoutine ? .object(["plan": model.plan(for: profile)]) : .object(["prep": model.prep(for: profile)]))
  }

  private func reroll(
    _ section: String, _ body: Value, _ isFailing: Bool, _ model: SandboxModel
  ) -> HTTPServerResponse {
    guard let given = body["profile"], let plan = body["currentPlan"] else {
      return .failure(400, "Both 'profile' and 'currentPlan' are needed.")
    }
    guard let profile = try? Profile(checking: given, as: "profile") else {
      return .failure(400, "The profile is invalid.")
    }
    let faults = model.faults(in: plan)
    guard faults.isEmpty else { return .failure(400, "The plan is invalid.", details: faults) }
    guard !isFailing else {
      if model.generation == .older { return .failure(502, "The model failed.") }
      return .json(.object([section: plan[section] ?? .null]))
    }
    return .json(.object([section: model.plan(for: profile)[section] ?? .null]))
  }

  private func setUp(_ query: HTTPQuery) -> HTTPServerResponse {
    let generation = query["generation"].map { Generation(rawValue: $0) } ?? state.withLock(\.generation)
    let failures = query["failures"].map { Int($0) } ?? state.withLock(\.failures)
    guard let generation, let failures, failures >= 0 else {
      return .text(
        "Say which it is, as in /sandbox/backend?generation=older, or how often its model fails, as in "
          + "/sandbox/backend?failures=2.\n", status: 400)
    }
    state.withLock { state in
      state.generation = generation
      state.failures = failures
    }
    return .json(.object(["generation": .string(generation.rawValue), "failures": .int(failures)]))
  }
}

extension HTTPServerResponse {
  /// An error as the backend words it.
  fileprivate static func failure(
    _ status: Int, _ error: String, id: String? = "0d3b8c5e-2f41-4a77-9c1d-6b0e5a9f1234", details: [Value] = []
  ) -> HTTPServerResponse {
    var map = ValueMap([("error", .string(error))])
    map["traceId"] = id.map { .string($0) }
    if !details.isEmpty { map["details"] = .list(details) }
    return .json(.map(map), status: status)
  }
}
