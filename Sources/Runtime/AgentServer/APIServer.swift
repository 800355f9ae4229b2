/// The agent over HTTP: its operations, for programs of its own account, and for programs and people elsewhere.
///
/// Each request goes through the same steps: is the agent meant (`Host`), may the page ask (`Origin`), what is asked
/// (`Entrance`, `Routes`), who asks (the kernel for a Unix socket, else a token), may the caller (its scopes and recipes),
/// and only then is it read and handed to the agent. Every answer that isn't good is a `Problem`.
package import Agent
import AgentPages
package import Operations
import ActionKit
import AssistantTools
package import Basics
import Glibc
package import HTTPServer
package import Recipes
import RunState
import Runs
import Synchronization

package final class APIServer: Sendable {
  let service: AgentParts
  private let store: any StateStore
  private let authenticator: Authenticator
  private let tools: ToolService
  private let linkLimit = LinkLimit()
  /// How deliveries to webhooks were answered.
  package let webhookCounts = HookCounts()
  /// What the agent has done, for `/metrics`.
  package let metrics = Metrics()
  private let settings: ServerSettings
  private let time: any TimeSource
  /// The program with its version, and the configuration.
  private let identity: AgentIdentity
  private var program: String { identity.program }
  /// The clock of the people who look at pages.
  private let clock: @Sendable () -> WallClock
  private let content = Mutex(Content())

  private struct Content {
    var servers: [HTTPServer] = []
    var streams = 0
    /// The streams over the Unix socket, which have places of their own.
    var ownStreams = 0
    /// Told when the last of them ends.
    var waiters: [CheckedContinuation<Void, Never>] = []
    var isReady = false
    /// The document of the API, made when it is asked for first.
    var document: String?

    mutating func takeWaiters() -> [CheckedContinuation<Void, Never>] {
      defer { waiters = [] }
      return waiters
    }
  }

  /// The most streams at once, so that some connections stay for requests that only ask something.
  private static let mostStreams = min(200, mostOwnStreams)
  /// The most streams over the Unix socket, likewise.
  private static let mostOwnStreams: Int = {
    // Few files leave few connections.
    let connections = FileLimit.connections(wanted: limits.connections)
    return connections - max(4, connections / 4)
  }()
  /// How long an agent that ends waits for its clients to read the last events of their runs.
  private static let patience = TimeSpan.seconds(1)
  /// How long a caller may wait for the end of a run that it starts.
  static let longestWait = 300

  package init(
    _ service: AgentParts, settings: ServerSettings, identity: AgentIdentity, time: any TimeSource,
    clock: @escaping @Sendable () -> WallClock
  ) {
    self.clock = clock
    self.service = service
    store = service.store
    self.settings = settings
    self.identity = identity
    self.time = time
    authenticator = Authenticator(store: store, sessions: service.sessions, settings: settings, time: time)
    tools = ToolService(
      settings.tools, version: identity.program.split(separator: " ").last.map { String($0) } ?? identity.program,
      time: time)
    if let url = settings.publicURL { service.sessions.setBase(url) }
    service.webhooks?.setLocal(settings.publicURL == nil && settings.listen.allSatisfy(\.isLoopback))
  }

  // MARK: Life

  /// Makes a server of a socket that listens already.
  ///
  /// - Parameter isOwn: Whether only this account's programs reach it, whose recipes and inputs may be large.
  package func server(of descriptor: Int32, isOwn: Bool) throws(HTTPServerError) -> HTTPServer {
    var limits = APIServer.limits
    if isOwn { limits.bodyBytes = JSON.Limits().bytes }
    return try HTTPServer(listening: descriptor, limits: limits, refusal: refusal) { [self] in await answer($0) }
  }

  /// Listens on a socket that was made elsewhere, such as one of systemd's.
  package func listen(on descriptor: Int32) throws(HTTPServerError) {
    add(try server(of: descriptor, isOwn: false))
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

  /// Waits for the programs of this account to read the last events of their runs, when no run continues here.
  package func settle() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await self.ownStreamsEnd() }
      group.addTask { [time] in try? await time.sleep(for: APIServer.patience) }
      await group.next()
      group.cancelAll()
      // Those that still wait are told that nothing more is waited for.
      for waiter in content.withLock({ $0.takeWaiters() }) { waiter.resume() }
    }
  }

  private func ownStreamsEnd() async {
    await withCheckedContinuation { continuation in
      let isOver = content.withLock { content in
        if content.ownStreams > 0 { content.waiters.append(continuation) }
        return content.ownStreams == 0
      }
      if isOver { continuation.resume() }
    }
  }

  /// Accepts nothing more on the addresses, ends the streams, and returns when what was asked is answered.
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
      response = displayed(error, to: request, context)
      if context.isKnown { response = masked(response) }
    }
    // Masking is for texts.
    if context.isCompressed { response = response.compressed(for: request) }
    metrics.count(status: response.status, after: time.elapsed() - began)
    if request.rawPath.hasPrefix(ExactForm.path) {
      response.headers[ExactForm.program] = identity.program
      if request.account != nil { response.headers[ExactForm.process] = "\(getpid())" }
    }
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
    /// Whether the answer is compressed, if the client takes that.
    var isCompressed = false
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
      return APIServer.withSecurityHeaders(displayed(problem, to: request, context(of: request)))
    }
  }

  /// A problem as a person sees it, or as a program reads it.
  private func displayed(_ problem: Problem, to request: HTTPServerRequest, _ context: RequestContext)
    -> HTTPServerResponse
  {
    guard context.isPage else { return problem.response }
    if Entrance(path: request.rawPath) == .links {
      return LinkPages(
        name: settings.name, contact: settings.contact, isSandbox: service.agent.isSandbox, clock: clock(for: request)
      ).problem(problem)
    }
    let isForm = request.method == "POST" && problem.kind != .foreignOrigin
    let path = isForm ? request.pageOfForm : request.query.items.isEmpty ? nil : request.rawPath
    return ProblemPage.response(
      of: problem, page: path, isKnown: context.isKnown, isSandbox: service.agent.isSandbox, clock: clock())
  }

  /// The answer without the secrets that are known now; of a stream, each event is masked.
  ///
  /// Only for callers who are known: before that, an answer holds nothing but what was sent, and masked it would say which
  /// of many guesses is a secret.
  private func masked(_ response: HTTPServerResponse) -> HTTPServerResponse {
    guard case .bytes(let bytes) = response.body else { return response }
    var response = response
    let isJSON = response.headers["Content-Type"]?.hasPrefix("text/") != true
    response.body = .bytes(store.secrets.displayed(bytes, isJSON: isJSON))
    return response
  }

  /// Checks a request, in the one order that holds for all of them, and has the part answer it that it is for.
  private func answered(
    _ request: HTTPServerRequest, _ context: inout RequestContext
  ) async throws(Problem) -> HTTPServerResponse {
    let entrance = Entrance(path: request.rawPath)
    context.isCompressed = entrance.isCompressed && request.account == nil
    guard service.agent.isServing || entrance.isOfEveryAgent else {
      // The path of a link is written nowhere.
      let path = entrance == .links ? "links" : request.rawPath.shortened
      throw Problem(.noSuchPath, "only 'errand serve' has \(path); this agent ends with its command")
    }
    try authenticator.checkHost(request)
    try authenticator.checkOrigin(request)
    context.isPage = [.pages, .login, .forms, .links].contains(entrance) || context.isPage && entrance != .tools
    try entrance.check(method: request.method)
    let routed =
      entrance == .api
      ? try Routes.operation(request.method, String(Substring(request.rawPath.utf8.dropFirst(apiRoot.utf8.count))))
      : nil
    let caller: AgentCaller
    switch entrance.identity {
    case .anyone: return try await answer(request, at: entrance)
    case .token:
      let local = entrance == .operations ? ExactHandler.caller(of: request) : nil
      if let local { caller = local } else { caller = try await authenticator.caller(of: request) }
    case .visitor:
      switch try await authenticator.visit(of: request) {
      case .here(let visitor): caller = visitor
      case .away(let end): return loginPage.answer(toUnknown: request, end)
      }
    }
    context.isKnown = true
    if let scope = entrance.scope { try check(.token(scope), for: caller) }
    switch entrance {
    case .metrics: return .text(try await figures(for: caller), type: Metrics.type)
    case .tools: return try await toolAnswer(request, caller)
    case .operations: return try await exact(request, caller)
    case .pages: return try await page(request, caller)
    default:
      guard let routed else { throw Problem(.noSuchPath, "there is nothing at \(request.rawPath.shortened)") }
      return try await answer(request, to: routed, from: caller)
    }
  }

  /// The answer of a part that anyone may ask.
  private func answer(_ request: HTTPServerRequest, at entrance: Entrance) async throws(Problem) -> HTTPServerResponse {
    switch entrance {
    case .hooks:
      return await WebhookHandler(
        service: service, counts: webhookCounts, isReady: content.withLock { $0.isReady }, masked: masked
      ).answer(request)
    case .forms:
      return try await FormHandler(
        service: service, authenticator: authenticator, login: loginPage, isReady: content.withLock { $0.isReady }
      ).answer(request)
    case .health: return .text("ok\n")
    case .readiness:
      guard content.withLock({ $0.isReady }) else {
        throw Problem(.refusal(.notServing), "the agent is starting or stopping", headers: ["Retry-After": "1"])
      }
      return .text("ready\n")
    case .document: return .json(document())
    case .requests:
      throw Problem(
        .held, "this agent is \(program), whose commands ask in another form; use \(program)", status: 410)
    case .login: return try await loginPage.answer(request)
    case .links:
      // The link is a permission to see what it shows, except for secrets.
      return masked(
        try await LinkHandler(
          service: service, authenticator: authenticator, limit: linkLimit, clock: clock(for: request)
        ).answer(request))
    default:
      if let asset = PageAssets.answer(to: request) { return asset }
      guard let kind = ProblemPage.kind(at: request.rawPath) else {
        throw Problem(.noSuchPath, "there is nothing at \(request.rawPath.shortened)")
      }
      return ProblemPage.response(of: kind)
    }
  }

  /// The answer to a request of the API, whose caller is known.
  private func answer(
    _ request: HTTPServerRequest, to routed: RoutedOperation, from caller: AgentCaller
  ) async throws(Problem) -> HTTPServerResponse {
    do throws(RequestRefusedError) { try routed.operation.admit(caller) } catch { throw Problem(error) }
    let operation = try routed.request(request)
    if routed.operation.isStream, let operation = operation as? any StreamingOperation {
      // A run that isn't there is told of before the stream begins.
      do throws(RequestRefusedError) { try await service.check(operation, for: caller) } catch {
        throw Problem(error, withData: caller.seesData)
      }
      return stream(operation, for: caller, lease: try lease(request))
    }
    return masked(try await answer(operation, request, caller, status: routed.route.status))
  }

  /// The answer to an operation, as its declaration says.
  private func answer(
    _ operation: any Operation, _ request: HTTPServerRequest, _ caller: AgentCaller, status: Int
  ) async throws(Problem) -> HTTPServerResponse {
    func answer<Asked: Operation>(_ operation: Asked) async throws(Problem) -> HTTPServerResponse {
      let answer: Asked.Answer
      do throws(RequestRefusedError) { answer = try await service.perform(operation, for: caller) } catch {
        throw Problem(error, withData: caller.seesData)
      }
      let head = Asked.head(answer)
      var headers: HTTPHeaders = [:]
      if let location = head.location { headers["Location"] = apiRoot + location }
      if let next = head.next { headers["Link"] = request.linkToNext(next) }
      if operation is StartRun, let accepted = answer as? AcceptedRun, let seconds = request.secondsToWait,
        caller.scopes.contains(.read)
      {
        headers["Preference-Applied"] = "wait=\(seconds)"
        let run = try await ended(accepted.run, within: seconds, caller)
        guard await authenticator.isStillIn(caller) else {
          throw authenticator.unauthorized("the token was revoked, or has expired, while the run was waited for")
        }
        if let run {
          return try APIServer.response(RunAnswer(run, withData: caller.seesData), status: 200, headers)
        }
      }
      let view: Asked.View
      do throws(RequestRefusedError) {
        if let body = try await Asked.body(answer, for: caller) { return body.response(hiding: store.secrets) }
        view = try await Asked.view(answer, for: caller)
      } catch {
        throw Problem(service.displayed(error, to: caller), withData: caller.seesData)
      }
      if view is NoContent { return HTTPServerResponse(status: head.status ?? status, headers: headers) }
      return try APIServer.response(view, status: head.status ?? status, headers)
    }
    return try await answer(operation)
  }

  /// The response with an answer as JSON.
  private static func response(
    _ answer: any FieldSet, status: Int, _ headers: HTTPHeaders
  ) throws(Problem) -> HTTPServerResponse {
    guard let value = try? answer.encoded(), let text = try? JSON.text(value) else {
      throw Problem(.fault, "the answer can't be written as JSON")
    }
    var response = HTTPServerResponse.json(text, status: status)
    response.headers.fields += headers.fields
    return response
  }

  /// The metrics of all recipes, which aren't for tokens that are limited to some.
  private func figures(for caller: AgentCaller) async throws(Problem) -> String {
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

  func check(_ needed: Scopes, for caller: AgentCaller, _ need: String = "this needs") throws(Problem) {
    guard let scopes = needed.token else {
      throw Problem(.forbidden, "this is only for programs of the agent's account")
    }
    do throws(RequestRefusedError) { try caller.check(scopes, need) } catch { throw Problem(error) }
  }

  // MARK: Pages

  /// The clock of the person who sends a request.
  private func clock(for request: HTTPServerRequest) -> WallClock { ViewerZone.clock(clock(), for: request) }

  private var loginPage: LoginPage {
    LoginPage(authenticator: authenticator, sessions: service.sessions, isSandbox: service.agent.isSandbox)
  }

  private func page(_ request: HTTPServerRequest, _ caller: AgentCaller) async throws(Problem) -> HTTPServerResponse {
    let path = request.rawPath
    let parts = Routes.segments(of: path).map { PercentEncoding.decode($0, plusIsSpace: false) }
    let version = await PageVersion(of: request, parts, for: caller, in: service, at: time.now())
    if version.isSeen { return HTTPServerResponse(status: 204) }
    let asking = PageRequest(
      http: request, caller: caller, parts: parts, agent: service, clock: clock(for: request),
      isSandbox: service.agent.isSandbox, version: version)
    if let answer = try await Pages.answer(asking) { return masked(answer) }
    throw Problem(.noSuchPath, "there is no page at \(path.shortened)")
  }

  // MARK: Answers

  /// The run if it ends in time.
  private func ended(_ run: String, within seconds: Int, _ caller: AgentCaller) async throws(Problem) -> RunRecord? {
    let end = Mutex<RunRecord?>(nil)
    let events = LocalEvents { event in if case .ended(let run) = event { end.withLock { $0 = run } } }
    await withTaskGroup(of: Void.self) { [service, time] group in
      group.addTask { try? await service.perform(FollowRun.with { $0.run = run }, for: caller, to: events) }
      group.addTask { try? await time.sleep(for: .seconds(seconds)) }
      await group.next()
      group.cancelAll()
    }
    return end.withLock { $0 }.flatMap { $0.status.isEnded ? $0 : nil }
  }

  // MARK: Tools

  private func toolAnswer(_ request: HTTPServerRequest, _ caller: AgentCaller) async throws(Problem)
    -> HTTPServerResponse
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
      return handler.stream(id, method, params, of: client, from: asking, as: caller, lease: try lease(request))
    }
  }

  /// The caller of tools, who may do what its token allows.
  private func toolCaller(_ caller: AgentCaller) -> ToolCaller {
    ToolCaller(
      principal: caller.token ?? "account:\(caller.account)",
      answer: { [service] operation, recipes throws(RequestRefusedError) in
        try await service.performed(operation, for: caller.limited(to: recipes))
      },
      follow: { [service] run throws(RequestRefusedError) in
        let (stream, sink) = AsyncThrowingStream<RunEvent, any Error>.makeStream()
        // Ends with the run; cancelled when its end is no longer waited for.
        let task = Task {
          do throws(RequestRefusedError) {
            try await service.perform(
              FollowRun.with { $0.run = run }, for: caller, to: LocalEvents { sink.yield($0) })
            sink.finish()
          } catch {
            sink.finish(throwing: error)
          }
        }
        sink.onTermination = { _ in task.cancel() }
        return stream
      }, sees: { caller.sees(recipe: $0) }, seesData: caller.seesData,
      hide: { [store] in store.secrets.displayed($0) })
  }

  // MARK: Streams

  /// Answers a request in the exact form.
  private func exact(_ request: HTTPServerRequest, _ caller: AgentCaller) async throws(Problem) -> HTTPServerResponse {
    let handler = ExactHandler(service: service, authenticator: authenticator, identity: identity)
    try handler.checkIdentity(request)
    let (operation, caller) = try handler.operation(of: request, for: caller)
    guard ExactHandler.wantsEvents(request), let operation = operation as? any StreamingOperation else {
      return await handler.response(to: operation, from: caller, isLocal: request.account != nil)
    }
    return handler.events(of: operation, for: caller, lease: try lease(request))
  }

  /// A place among the streams.
  private func lease(_ request: HTTPServerRequest) throws(Problem) -> StreamLease {
    let isOwn = request.account != nil
    let hasRoom = content.withLock { content in
      guard isOwn ? content.ownStreams < APIServer.mostOwnStreams : content.streams < APIServer.mostStreams else {
        return false
      }
      if isOwn { content.ownStreams += 1 } else { content.streams += 1 }
      return true
    }
    guard hasRoom else {
      let most = isOwn ? APIServer.mostOwnStreams : APIServer.mostStreams
      throw Problem(
        .tooMany, "\(most) streams are open, and more aren't possible", headers: ["Retry-After": "15"])
    }
    return StreamLease { [self] in
      let waiters = content.withLock { content in
        if isOwn { content.ownStreams -= 1 } else { content.streams -= 1 }
        return isOwn && content.ownStreams == 0 ? content.takeWaiters() : []
      }
      for waiter in waiters { waiter.resume() }
    }
  }

  private func stream(
    _ asked: any StreamingOperation, for caller: AgentCaller, lease: StreamLease
  ) -> HTTPServerResponse {
    var response = HTTPServerResponse(headers: [
      "Content-Type": "text/event-stream", "Cache-Control": "no-store", "X-Accel-Buffering": "no",
    ])
    response.body = .stream { [service, store, authenticator] writer in
      defer { withExtendedLifetime(lease) {} }
      let events = EventStream(writer, for: caller, hiding: store.secrets)
      let refusal = await withTaskGroup(of: RequestRefusedError?.self) { group in
        group.addTask {
          do throws(RequestRefusedError) {
            try await service.perform(asked, for: caller, to: events)
            return nil
          } catch {
            return error
          }
        }
        group.addTask {
          await authenticator.repeatSign(to: caller) { (try? await writer.write(": still here\n\n")) != nil }
          return nil
        }
        let first = await group.next() ?? nil
        group.cancelAll()
        return first
      }
      if let refusal {
        await events.send(
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
