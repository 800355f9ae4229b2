/// The agent over HTTP: the same requests as on its socket (`AgentVerb`), for programs and people elsewhere.
///
/// Each request goes through the same steps: is the agent meant (`Host`), may the page ask (`Origin`), what is asked
/// (`Entrance`, `Routes`), who asks (the kernel for a Unix socket, else a token), may the caller (its scopes and recipes),
/// and only then is it read and handed to the agent. Every answer that isn't good is a `Problem`.
package import Agent
package import Operations
import ActionKit
import AssistantTools
package import Basics
import Glibc
package import HTTPServer
package import Recipes
package import RunState
import Runs
import Synchronization

package final class APIServer: Sendable {
  private let service: AgentParts
  private let store: any StateStore
  private let authenticator: Authenticator
  private let tools: ToolService
  /// How deliveries to webhooks were answered.
  package let webhookCounts = HookCounts()
  /// What the agent has done, for `/metrics`.
  package let metrics = Metrics()
  private let settings: ServerSettings
  private let time: any TimeSource
  /// The program with its version.
  private let program: String
  /// The clock of the people who look at pages.
  private let clock: @Sendable () -> WallClock
  private let content = Mutex(Content())

  private struct Content {
    var servers: [HTTPServer] = []
    var streams = 0
    var isReady = false
    /// The document of the API, made when it is asked for first.
    var document: String?
  }

  /// The most streams at once.
  static let mostStreams = 200
  /// How long a caller may wait for the end of a run that it starts.
  static let longestWait = 300

  package init(
    _ service: AgentParts, store: any StateStore, settings: ServerSettings, program: String, time: any TimeSource,
    clock: @escaping @Sendable () -> WallClock
  ) {
    self.clock = clock
    self.service = service
    self.store = store
    self.settings = settings
    self.program = program
    self.time = time
    authenticator = Authenticator(store: store, settings: settings, time: time)
    tools = ToolService(
      settings.tools, version: program.split(separator: " ").last.map { String($0) } ?? program, time: time)
    if let url = settings.publicURL { service.sessions.setBase(url) }
    service.webhooks?.setLocal(settings.publicURL == nil && settings.listen.allSatisfy(\.isLoopback))
  }

  // MARK: Life

  /// Listens on a socket that was made elsewhere, such as `api.sock` or one of systemd's.
  package func listen(on descriptor: Int32) throws(HTTPServerError) {
    add(
      try HTTPServer(listening: descriptor, limits: APIServer.limits, refusal: refusal) { [self] in await answer($0) })
  }

  /// Listens on an address; gives the port.
  @discardableResult
  package func listen(on address: ServerSettings.Address) throws(HTTPServerError) -> Int {
    let server = try HTTPServer(
      host: address.host, port: address.port, limits: APIServer.limits, refusal: refusal
    ) { [self] in await answer($0) }
    add(server)
    service.sessions.setBase("http://\(ServerSettings.Address(host: address.host, port: server.port).text)")
    return server.port
  }

  private static let limits = HTTPServerLimits(bodyBytes: 4 << 20, connections: 400)

  private func add(_ server: HTTPServer) { content.withLock { $0.servers.append(server) } }

  /// Says that the agent has read its recipes and resumed its runs.
  package func becomeReady() { content.withLock { $0.isReady = true } }

  /// Accepts nothing more, ends the streams, and returns when what was asked is answered.
  package func stop() async {
    let servers = content.withLock { content in
      defer { content.servers = [] }
      content.isReady = false
      return content.servers
    }
    for server in servers { await server.stop() }
  }

  // MARK: Answering

  private func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
    var response: HTTPServerResponse
    let began = time.elapsed()
    var context = context(of: request)
    do throws(Problem) { response = try await answered(request, &context) } catch {
      response = shown(error, to: request, context)
      if context.isKnown { response = masked(response) }
    }
    metrics.count(status: response.status, after: time.elapsed() - began)
    return APIServer.withSecurityHeaders(response)
  }

  /// The answer as no cache keeps it and no browser misreads it.
  private static func withSecurityHeaders(_ response: HTTPServerResponse) -> HTTPServerResponse {
    var response = response
    // What is shown is the caller's alone, and no page is made of it.
    if response.headers["Cache-Control"] == nil { response.headers["Cache-Control"] = "no-store" }
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
  }

  /// What is known of a request while it is answered.
  private struct RequestContext {
    /// Whether it is known who asks.
    var isKnown = false
    /// Whether the answer is a page, for a person.
    var isPage: Bool
  }

  private func context(of request: HTTPServerRequest) -> RequestContext {
    RequestContext(
      isPage: request.headers["Accept"]?.contains("text/html") == true && !request.rawPath.hasPrefix("\(apiRoot)/"))
  }

  /// The answer to a request that can't be read.
  private var refusal: HTTPServer.Refusal {
    { [self] request, status, text in
      let kind: Problem.Kind =
        switch status {
        case 413: .tooLarge
        case 414, 431: .headTooLarge
        default: .refusal(.request)
        }
      let problem = Problem(kind, kind == .refusal(.request) ? text : kind.remedy)
      return APIServer.withSecurityHeaders(shown(problem, to: request, context(of: request)))
    }
  }

  /// A problem as a person sees it, or as a program reads it.
  private func shown(_ problem: Problem, to request: HTTPServerRequest, _ context: RequestContext) -> HTTPServerResponse
  {
    guard context.isPage else { return problem.response }
    let isForm = request.method == "POST" && problem.kind != .foreignOrigin
    let path = isForm ? request.pageOfForm : request.query.items.isEmpty ? nil : request.rawPath
    return ProblemPage.response(
      of: problem, page: path, isKnown: context.isKnown, isSandbox: service.agent.isSandbox)
  }

  /// The answer without the secrets that are known now; of a stream, each event is masked.
  ///
  /// Only for callers who are known: before that, an answer holds nothing but what was sent, and masked it would say which
  /// of many guesses is a secret.
  private func masked(_ response: HTTPServerResponse) -> HTTPServerResponse {
    guard case .bytes(let bytes) = response.body else { return response }
    var response = response
    let isJSON = response.headers["Content-Type"]?.hasPrefix("text/") != true
    response.body = .bytes(store.secrets.shown(bytes, isJSON: isJSON))
    return response
  }

  /// Checks a request, in the one order that holds for all of them, and has the part answer it that it is for.
  private func answered(
    _ request: HTTPServerRequest, _ context: inout RequestContext
  ) async throws(Problem) -> HTTPServerResponse {
    let entrance = Entrance(path: request.rawPath)
    try authenticator.checkHost(request)
    try authenticator.checkOrigin(request)
    context.isPage = entrance == .pages || entrance == .login || context.isPage && entrance != .tools
    try entrance.check(method: request.method)
    let routed =
      entrance == .api
      ? try Routes.verb(request.method, String(Substring(request.rawPath.utf8.dropFirst(apiRoot.utf8.count)))) : nil
    let caller: APICaller
    switch entrance.identity {
    case .anyone: return try await answer(request, at: entrance)
    case .token: caller = try await authenticator.caller(of: request)
    case .visitor:
      guard let visitor = try await authenticator.visitor(of: request, service.sessions) else {
        return unknown(request)
      }
      caller = visitor
    }
    context.isKnown = true
    if let scope = entrance.scope { try check(.token(scope), for: caller, entrance.need) }
    switch entrance {
    case .metrics: return .text(try await figures(for: caller), type: Metrics.type)
    case .tools: return try await toolAnswer(request, caller)
    case .lines: return try await lines(request, caller)
    case .pages: return try await page(request, caller)
    default:
      guard let routed else { throw Problem(.noSuchPath, "there is nothing at \(request.rawPath.brief)") }
      return try await answer(request, to: routed, from: caller)
    }
  }

  /// The answer of a part that anyone may ask.
  private func answer(_ request: HTTPServerRequest, at entrance: Entrance) async throws(Problem) -> HTTPServerResponse {
    switch entrance {
    case .hooks:
      return await WebhookHandler(service: service, counts: webhookCounts, isReady: content.withLock { $0.isReady })
        .answer(request)
    case .health: return .text("ok\n")
    case .readiness:
      guard content.withLock({ $0.isReady }) else {
        throw Problem(.refusal(.notServing), "the agent is starting or stopping", headers: ["Retry-After": "1"])
      }
      return .text("ready\n")
    case .document: return .json(document())
    case .login: return try await loginPage.answer(request)
    default:
      if let asset = PageAssets.answer(request.rawPath) { return asset }
      guard let kind = ProblemPage.kind(at: request.rawPath) else {
        throw Problem(.noSuchPath, "there is nothing at \(request.rawPath.brief)")
      }
      return ProblemPage.response(of: kind)
    }
  }

  /// The answer to a request of the API, whose caller is known.
  private func answer(
    _ request: HTTPServerRequest, to routed: RoutedVerb, from caller: APICaller
  ) async throws(Problem) -> HTTPServerResponse {
    try check(routed.verb.scope, for: caller)
    let asked = try await permitted(try routed.request(request), for: caller)
    switch asked {
    case .follow, .watch: return try stream(asked, for: caller)
    default: break
    }
    let reply = try await reply(to: asked.withOneMore, from: caller)
    var waited: (seconds: Int, run: RunRecord?)?
    if case .accepted(let run, _, _) = reply, case .start = asked, let seconds = request.secondsToWait,
      caller.scopes.contains(.read)
    {
      waited = (seconds, try await ended(run, within: seconds, caller))
    }
    return masked(try response(to: asked, reply, routed, request, caller, waited))
  }

  /// The request as the caller may make it: refused without its scope, and of a caller who sees some recipes about these.
  private func permitted(_ asked: AgentRequest, for caller: APICaller) async throws(Problem) -> AgentRequest {
    try check(asked.verb.scope, for: caller)
    return try await narrowed(asked, for: caller)
  }

  /// The metrics of all recipes, which aren't for tokens that are limited to some.
  private func figures(for caller: APICaller) async throws(Problem) -> String {
    guard caller.recipes.isEmpty else {
      throw Problem(.forbidden, "the token is limited to some recipes, but the metrics cover all of them")
    }
    return metrics.text(
      Metrics.Present(
        version: program.split(separator: " ").last.map { String($0) } ?? program, since: service.agent.since,
        openRuns: await store.openRunCounts(), streams: content.withLock { $0.streams },
        deliveries: webhookCounts.all))
  }

  private func document() -> String {
    if let known = content.withLock({ $0.document }) { return known }
    let text = OpenAPIDocument.text(program: program, servers: settings.publicURL.map { [$0] } ?? [])
    content.withLock { $0.document = text }
    return text
  }

  func check(
    _ needed: AgentVerb.Scope, for caller: APICaller, _ need: String = "this needs"
  ) throws(Problem) {
    guard case .token(let scope) = needed, caller.scopes.contains(scope) else {
      throw Problem(.forbidden, "the token lacks the scope '\(needed.name)', which \(need)")
    }
  }

  // MARK: Pages

  private var loginPage: LoginPage {
    LoginPage(authenticator: authenticator, sessions: service.sessions, isSandbox: service.agent.isSandbox)
  }

  /// The answer to a browser that hasn't logged in.
  private func unknown(_ request: HTTPServerRequest) -> HTTPServerResponse {
    request.method == "POST"
      ? loginPage.answer(toForm: request) : Pages.redirect(pagePath("login", query: [("to", request.target)]))
  }

  private func page(_ request: HTTPServerRequest, _ caller: APICaller) async throws(Problem) -> HTTPServerResponse {
    let path = request.rawPath
    let asking = PageRequest(
      http: request, caller: caller,
      parts: Routes.segments(of: path).map { PercentEncoding.decode($0, plusIsSpace: false) },
      ask: { [self] asked throws(Problem) in
        try await reply(to: try await permitted(asked, for: caller), from: caller)
      },
      input: { [service] run, step throws(Problem) in
        do throws(RequestRefusedError) { return try await service.input(ofStep: step, in: run) } catch {
          throw Problem(error, withData: caller.seesData)
        }
      }, clock: clock(), isSandbox: service.agent.isSandbox)
    if let answer = try await Pages.answer(asking) { return masked(answer) }
    throw Problem(.noSuchPath, "there is no page at \(path.brief)")
  }

  func reply(to asked: AgentRequest, from caller: APICaller) async throws(Problem) -> AgentReply {
    let first = Mutex<AgentReply?>(nil)
    await service.handle(
      asked, from: caller.caller, to: LocalReplies { reply in first.withLock { $0 = $0 ?? reply } })
    switch first.withLock({ $0 }) {
    case .refused(let refusal)?: throw Problem(refusal, withData: caller.seesData)
    case let reply?: return caller.recipes.isEmpty ? reply : reply.alone
    case nil: throw Problem(.refusal(.state), "the agent is stopping", headers: ["Retry-After": "5"])
    }
  }

  // MARK: Answers

  /// - Parameter waited: How long the caller waited for the end of the run that it started, and the run if it ended.
  private func response(
    to asked: AgentRequest, _ reply: AgentReply, _ routed: RoutedVerb, _ request: HTTPServerRequest,
    _ caller: APICaller, _ waited: (seconds: Int, run: RunRecord?)?
  ) throws(Problem) -> HTTPServerResponse {
    var status = routed.route.status
    var headers: HTTPHeaders = [:]
    var answer: (any FieldSet)?
    let seesData = caller.seesData
    switch reply {
    case .accepted(let run, _, let known):
      headers["Location"] = "\(apiRoot)/runs/\(run)"
      if let waited {
        headers["Preference-Applied"] = "wait=\(waited.seconds)"
        if let record = waited.run {
          status = 200
          answer = RunAnswer(record, withData: seesData)
          break
        }
      }
      answer = filled(AcceptedAnswer()) {
        $0.run = run
        $0.isNew = known == nil
        $0.status = known?.rawValue
      }
    case .retried(let run, let id, let known):
      headers["Location"] = "\(apiRoot)/runs/\(id)"
      answer = filled(AcceptedAnswer()) {
        $0.run = id
        $0.isNew = known == nil
        $0.status = known?.rawValue
        $0.retries = run
      }
    case .paused(let run), .cancelled(let run), .resolved(let run):
      answer = filled(ChangedAnswer()) { $0.run = run }
    case .decided(let step, let run):
      answer = filled(ChangedAnswer()) {
        $0.run = run
        $0.step = step
      }
    case .deleted: break
    case .received(let event, let isNew):
      if !isNew { status = 200 }
      answer = filled(ReceivedAnswer()) {
        $0.event = event
        $0.isNew = isNew
      }
    case .runs(let list):
      let (open, next) = (list.openWithReasons, list.next)
      if let next { headers["Link"] = request.linkToNext(next) }
      if case .approvals = asked {
        answer = ApprovalListAnswer(open.filter { caller.sees(recipe: $0.recipe) }, next: next, withData: seesData)
      } else {
        answer = RunListAnswer(list, withData: seesData)
      }
    case .run(let record), .ended(let record): answer = RunAnswer(record, withData: seesData)
    case .schedules(let schedules, let words):
      answer = filled(ScheduleListAnswer()) {
        $0.items = schedules.filter { caller.sees(recipe: $0.recipe) }.map {
          ScheduleAnswer($0, when: words[$0.id], withData: seesData)
        }
      }
    case .upcoming(let slots):
      answer = filled(UpcomingListAnswer()) {
        $0.items = slots.map { slot in
          filled(UpcomingAnswer()) {
            $0.schedule = slot.schedule
            $0.slot = slot.slot
          }
        }
      }
    case .slots(var slots):
      var next: String?
      if case .slots(let query) = asked, slots.count > query.limit {
        slots = Array(slots.prefix(query.limit))
        next = slots.last?.cursor
      }
      if let next { headers["Link"] = request.linkToNext(next) }
      answer = filled(SlotListAnswer()) {
        $0.items = slots.map { SlotAnswer($0, withData: seesData) }
        $0.next = next
      }
    case .dueSlots(let slots, let hasMore):
      answer = filled(SlotListAnswer()) {
        $0.items = []
        $0.due = slots
        $0.hasMore = hasMore
      }
    case .printed(let piece):
      answer = filled(LogAnswer()) {
        $0.items = piece.lines.map { line in
          filled(LineAnswer()) {
            $0.at = line.at
            $0.step = line.step
            $0.attempt = line.attempt
            $0.text = line.text
          }
        }
        $0.next = piece.next
        $0.isLast = piece.isLast
      }
    case .steps(let steps, let next):
      answer = filled(StepListAnswer()) {
        $0.items = steps.map { StepAnswer($0, withData: seesData) }
        $0.next = next
      }
    case .explained(let id, let explanation):
      if case .explainSchedule = asked {
        answer = ExplanationAnswer(explanation, ofSchedule: id)
      } else {
        answer = ExplanationAnswer(explanation, ofRun: id)
      }
    case .recipes(let recipes):
      answer = filled(RecipeListAnswer()) {
        $0.items = recipes.filter { caller.sees(recipe: $0.name) }.map { RecipeAnswer($0) }
      }
    case .recipe(let recipe): answer = RecipeAnswer(recipe)
    case .plan(let plan):
      if case .plan = asked { headers["Location"] = "\(apiRoot)/plans/\(plan.digest)" }
      answer = PlanAnswer(plan, withData: seesData)
    case .connections(let connections, let secrets):
      answer = filled(ConnectionListAnswer()) {
        $0.connections = connections.map { ConnectionAnswer($0, withData: seesData) }
        $0.secrets = secrets.map { SecretAnswer($0, withData: seesData) }
      }
    case .status(let report):
      answer = filled(StatusAnswer()) {
        $0.program = report.program
        $0.since = report.since
        $0.isServing = report.isServing
        $0.runs = report.runs
        $0.recipes = report.served?.recipes
        $0.schedules = report.served?.schedules
        $0.nextSlot = report.served?.nextSlot
        $0.faults = report.served?.faults.count
      }
    case .value(let value):
      if case .check = asked {
        answer = FindingListAnswer(value)
      } else {
        answer = filled(ActionListAnswer()) { $0.items = value.asPlainJSON.list ?? [] }
      }
    case .progress, .waits, .notice, .found, .facts, .tools, .tokens, .workers, .link, .yielded, .refused: break
    }
    guard let answer else {
      guard routed.route.answer == nil else { throw Problem(.fault, "the agent answered something else") }
      return HTTPServerResponse(status: status, headers: headers)
    }
    guard let value = try? answer.encoded(), let text = try? JSON.text(value) else {
      throw Problem(.fault, "the answer can't be written as JSON")
    }
    var response = HTTPServerResponse.json(text, status: status)
    response.headers.fields += headers.fields
    return response
  }

  /// The run if it ends in time.
  private func ended(_ run: String, within seconds: Int, _ caller: APICaller) async throws(Problem) -> RunRecord? {
    let end = Mutex<RunRecord?>(nil)
    let replies = LocalReplies { reply in if case .ended(let run) = reply { end.withLock { $0 = run } } }
    await withTaskGroup(of: Void.self) { [service, time] group in
      group.addTask { await service.handle(.follow(run: run), from: caller.caller, to: replies) }
      group.addTask { try? await time.sleep(for: .seconds(seconds)) }
      await group.next()
      group.cancelAll()
    }
    return end.withLock { $0 }.flatMap { $0.status.isEnded ? $0 : nil }
  }

  // MARK: Tools

  private func toolAnswer(_ request: HTTPServerRequest, _ caller: APICaller) async throws(Problem) -> HTTPServerResponse
  {
    let handler = ToolHandler(tools: tools, authenticator: authenticator)
    try handler.checkForm(request)
    switch handler.message(in: request) {
    case .answer(let response): return masked(response)
    case .request(let id, let method, let params, let client):
      let isLooking = ToolService.isLooking(method, params)
      if !isLooking { try check(.token(.start), for: caller) }
      let asking = toolCaller(caller)
      guard !isLooking, request.acceptsEvents else {
        return masked(await handler.response(to: id, method, params, of: client, from: asking))
      }
      return handler.stream(id, method, params, of: client, from: asking, as: caller, lease: try lease())
    }
  }

  /// The caller of tools, who may do what its token allows.
  private func toolCaller(_ caller: APICaller) -> ToolCaller {
    ToolCaller(
      principal: caller.token ?? "account:\(caller.caller.account)",
      ask: { [self] asked throws(RequestRefusedError) in
        do throws(Problem) {
          // A large output, which only the record of a run of the caller's names.
          if case .value = asked {
            try check(asked.verb.scope, for: caller)
            return try await reply(to: asked, from: caller)
          }
          return try await reply(to: try await permitted(asked, for: caller), from: caller)
        } catch { throw error.refusal }
      },
      follow: { [service] run throws(RequestRefusedError) in
        let (stream, sink) = AsyncStream.makeStream(of: AgentReply.self)
        // Ends with the run; cancelled when its end is no longer waited for.
        let task = Task {
          await service.handle(.follow(run: run), from: caller.caller, to: LocalReplies { sink.yield($0) })
          sink.finish()
        }
        sink.onTermination = { _ in task.cancel() }
        return stream
      }, sees: { caller.sees(recipe: $0) }, seesData: caller.seesData,
      hide: { [store] in store.secrets.shown($0) })
  }

  // MARK: Streams

  /// Answers a request of the command line as lines.
  private func lines(_ request: HTTPServerRequest, _ caller: APICaller) async throws(Problem) -> HTTPServerResponse {
    let handler = RequestDoor(service: service, authenticator: authenticator, program: program)
    let given = try handler.asked(request) { scope throws(Problem) in try check(scope, for: caller) }
    let asked = try await permitted(given, for: caller)
    return handler.response(to: asked, from: caller, lease: RequestDoor.isStream(asked) ? try lease() : nil)
  }

  /// A place among the streams.
  private func lease() throws(Problem) -> StreamLease {
    let hasRoom = content.withLock { content in
      guard content.streams < APIServer.mostStreams else { return false }
      content.streams += 1
      return true
    }
    guard hasRoom else {
      throw Problem(
        .tooMany, "\(APIServer.mostStreams) streams are open, and more aren't possible", headers: ["Retry-After": "15"])
    }
    return StreamLease { [self] in content.withLock { $0.streams -= 1 } }
  }

  private func stream(_ asked: AgentRequest, for caller: APICaller) throws(Problem) -> HTTPServerResponse {
    let lease = try lease()
    var response = HTTPServerResponse(headers: [
      "Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
    ])
    response.body = .stream { [service, store, authenticator] writer in
      defer { withExtendedLifetime(lease) {} }
      let replies = EventStreamReplies(writer, for: caller, hiding: store.secrets)
      await withTaskGroup(of: Void.self) { group in
        group.addTask {
          await service.handle(asked, from: caller.caller, to: replies)
        }
        group.addTask {
          await authenticator.repeatSign(to: caller) { (try? await writer.write(": still here\n\n")) != nil }
        }
        await group.next()
        group.cancelAll()
      }
      if let refusal = replies.refusal {
        await replies.send(
          "problem",
          .object(["kind": .string(refusal.kind.rawValue), "detail": .string(refusal.overHTTP ?? refusal.message)]))
      }
    }
    return response
  }
}

/// A place among the streams, which is given back when nothing of the answer is left.
final class StreamLease: Sendable {
  private let giveBack: @Sendable () -> Void

  init(_ giveBack: @escaping @Sendable () -> Void) { self.giveBack = giveBack }

  deinit { giveBack() }
}

extension AgentRequest {
  /// The request for one slot more, which shows whether there is a next page.
  fileprivate var withOneMore: AgentRequest {
    guard case .slots(var query) = self else { return self }
    query.limit += 1
    return .slots(query)
  }
}

extension HTTPServerRequest {
  /// The link to the page that a cursor names (RFC 8288).
  fileprivate func linkToNext(_ cursor: String) -> String {
    let items = self.query.items.filter { $0.name != "cursor" }.map { ($0.name, $0.value) } + [("cursor", cursor)]
    let text = items.map { "\(PercentEncoding.encode($0))=\(PercentEncoding.encode($1))" }.joined(separator: "&")
    return "<\(rawPath)?\(text)>; rel=\"next\""
  }

  /// How long the caller prefers to wait, in seconds (RFC 7240, section 4.3).
  fileprivate var secondsToWait: Int? {
    for field in headers.values("Prefer") {
      for preference in field.split(separator: ",") {
        let parts = preference.split(separator: "=", maxSplits: 1).map { String($0).trimmed }
        if parts.count == 2, parts[0].lowercasedASCII == "wait", let seconds = Int(parts[1]), seconds > 0 {
          return min(seconds, APIServer.longestWait)
        }
      }
    }
    return nil
  }
}

extension AgentVerb.Scope {
  var name: String { if case .token(let scope) = self { scope.rawValue } else { "own" } }
}

/// A set with its fields given.
private func filled<Answer: FieldSet>(_ answer: Answer, _ fill: (inout Answer) -> Void) -> Answer {
  var answer = answer
  fill(&answer)
  return answer
}
