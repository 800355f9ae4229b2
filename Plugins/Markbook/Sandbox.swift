public import ActionKit
import Calendars
import SandboxKit
import Synchronization

// The sandbox: a school on a loopback port that behaves as the service's contract says.
//
// The API lies under /markbook/api/v1.5, zips under /markbook/download. Beside them, for tests from outside:
//
//   /sandbox/log                                    how often each write was done, as JSON
//   /sandbox/fault?kind=K&call=C&skip=N&times=N   makes a call go wrong (`SandboxFault`); `kind=none` takes all back
//   /sandbox/clock?advance=25h                      lets the school's time pass

extension MarkbookPlugin: SandboxedPlugin {
  public static func startSandbox(_ options: SandboxOptions) async throws -> any RunningSandbox {
    try MarkbookSandbox(options)
  }
}

/// A school that answers on a loopback port.
final class MarkbookSandbox: RunningSandbox {
  static let root = "/markbook/api/v1.5"

  let handler: SandboxHandler
  private let server: HTTPServer

  init(_ options: SandboxOptions, school: SandboxSchool = .wattleCreek) throws {
    let handler = SandboxHandler(school, time: options.time)
    self.handler = handler
    server = try HTTPServer(port: options.port) { request in await handler.answer(request) }
    handler.setOrigin(server.baseURL)
  }

  var baseURL: String { server.baseURL + Self.root }

  var configuration: Value {
    let school = handler.school
    return .object([
      "baseURL": .string(baseURL), "apiKey": .string(school.apiKey), "username": .string(school.username),
      "password": .string(school.password),
    ])
  }

  func summaryLines() -> [String] { handler.summaryLines() }

  func stop() async { await server.stop() }
}

/// Answers the sandbox's requests, one after another.
final class SandboxHandler: Sendable {
  fileprivate struct State {
    var school: SandboxSchool
    var faults = SandboxFaults<SchoolFault>()
    var log = SandboxLog()
    /// How far the school's time is ahead.
    var ahead = TimeSpan.zero
  }

  private let state: Mutex<State>
  private let time: any TimeSource

  init(_ school: SandboxSchool, time: any TimeSource) {
    state = Mutex(State(school: school))
    self.time = time
  }

  var school: SandboxSchool { state.withLock(\.school) }
  var log: SandboxLog { state.withLock(\.log) }

  func setOrigin(_ origin: String) { state.withLock { $0.school.origin = origin } }
  func add(_ fault: MarkbookFault) { state.withLock { $0.faults.add(fault) } }
  func summaryLines() -> [String] { state.withLock { $0.log.lines($0.school) } }

  /// Answers a request.
  func answer(_ request: HTTPServerRequest) async -> HTTPServerResponse {
    let path = request.path
    switch (request.method, path) {
    case ("GET", MarkbookSandbox.root), ("GET", MarkbookSandbox.root + "/"):
      let parameters = SandboxParameters(request.query)
      return await call(parameters["action"] ?? "", parameters)
    case ("POST", MarkbookSandbox.root + "/authenticate.lc"):
      return await call("authentication", SandboxParameters(request.form))
    case ("POST", MarkbookSandbox.root + "/post.lc"):
      let parameters = SandboxParameters(request.form)
      return await call(parameters["apiaction"] ?? "", parameters, isForm: true)
    case ("GET", _) where path.hasPrefix(SandboxSchool.downloads):
      return await download(String(path.dropFirst(SandboxSchool.downloads.count)))
    case (_, "/sandbox/log"): return .json(log.value)
    case (_, "/sandbox/fault"): return state.withLock { $0.faults.order(request.query) }
    case (_, "/sandbox/clock"): return setClock(request.query)
    default: return .page("Not found", status: 404)
    }
  }

  // MARK: The API

  private func call(
    _ action: String, _ parameters: SandboxParameters, isForm: Bool = false
  ) async -> HTTPServerResponse {
    let fault = state.withLock { state in
      state.log.requests += 1
      return state.faults.strike([action])
    }
    switch fault?.kind {
    case .refuse: return .dropped
    case .html: return .page("Down for maintenance")
    case .serverError: return .page("Internal error", status: 500)
    case .status: return notToday(fault)
    case .redirect:
      return HTTPServerResponse(status: 302, headers: ["Location": "http://elsewhere.example\(MarkbookSandbox.root)"])
    case .refusal:
      return .json(envelope(action, SandboxAnswer(status: .error(fault?.text ?? "ERROR:not today")), at: now()))
    case .expired: state.withLock { $0.school.endSessions() }
    default: break
    }
    let now = now()
    var answer = state.withLock { $0.answer(action, parameters, isForm: isForm, at: now) }
    if fault?.kind == .doneRefusal { answer = SandboxAnswer(status: .error(fault?.text ?? "ERROR:not today")) }
    return await spoilt(envelope(action, answer, at: now), by: fault)
  }

  /// Damages or delays the answer to a call that was done.
  private func spoilt(_ answer: Value, by fault: MarkbookFault?) async -> HTTPServerResponse {
    guard let fault else { return .json(answer) }
    let text = JSON.displayed(answer)
    switch fault.kind {
    case .lostAnswer: return .dropped
    case .truncated:
      let bytes = Array(text.utf8)
      return HTTPServerResponse(body: .truncated(bytes, after: bytes.count / 2))
    case .slow:
      // The client may have left already.
      try? await time.sleep(for: fault.delay)
      return .json(answer)
    case .oversized:
      return HTTPServerResponse(
        body: .stream { writer in
          let blank = [UInt8](repeating: ASCII.space, count: 1 << 16)
          for _ in 0...fault.size / blank.count { try await writer.write(blank) }
          try await writer.write(text)
        })
    case .trailingComma: return .text(withTrailingCommas(text), type: "application/json")
    case .wrongType: return .json(withoutLists(answer))
    case .refuse, .html, .serverError, .redirect, .refusal, .doneRefusal, .expired, .status: return .json(answer)
    }
  }

  private func withoutLists(_ answer: Value) -> Value {
    var map = answer.map ?? ValueMap()
    for member in map.members where member.value.list != nil { map[member.key] = .string("soon") }
    return .map(map)
  }

  private func download(_ name: String) async -> HTTPServerResponse {
    let now = now()
    let (fault, zip) = state.withLock { ($0.faults.strike(["download"]), $0.school.download(name, at: now)) }
    guard let zip else { return .page("Not found", status: 404) }
    let headers: HTTPHeaders = ["Content-Type": "application/zip"]
    return switch fault?.kind {
    case .truncated: HTTPServerResponse(headers: headers, body: .truncated(zip, after: zip.count / 2))
    case .refuse, .lostAnswer: .dropped
    case .html: .page("Down for maintenance")
    case .status: notToday(fault)
    case .wrongType: HTTPServerResponse(headers: headers, body: .bytes(zip.map { $0 &+ ($0 == 0x50 ? 0 : 1) }))
    default: HTTPServerResponse(headers: headers, body: .bytes(zip))
    }
  }

  private func notToday(_ fault: MarkbookFault?) -> HTTPServerResponse {
    var answer = HTTPServerResponse.page("Not today", status: fault?.status ?? 503)
    answer.headers["Retry-After"] = fault?.retryAfter
    return answer
  }

  /// The seven fields that every answer begins with, and the rest of the answer.
  private func envelope(_ action: String, _ answer: SandboxAnswer, at now: Timestamp) -> Value {
    var map = ValueMap([
      ("source", .string("Markbook Online")), ("api", .string(school.origin + MarkbookSandbox.root)),
      ("seconds", .int(now.seconds)), ("date", .string(wireDate(now))), ("schoolname", .string(school.name)),
      ("action", .string(action)), ("status", .string(answer.status.description)),
    ])
    for member in answer.payload.members { map[member.key] = member.value }
    return .map(map)
  }

  private func now() -> Timestamp {
    let ahead = state.withLock(\.ahead)
    return time.now().advanced(by: ahead) ?? time.now()
  }

  // MARK: From outside

  private func setClock(_ query: HTTPQuery) -> HTTPServerResponse {
    guard let span = query["advance"].flatMap({ TimeSpan($0) }) else {
      return .text("Say by how much, as in /sandbox/clock?advance=25h.\n", status: 400)
    }
    state.withLock { $0.ahead = $0.ahead + span }
    return .json(.object(["now": .string(now().description)]))
  }
}

extension SandboxHandler.State {
  /// Does what a call asks and takes it down.
  fileprivate mutating func answer(
    _ action: String, _ parameters: SandboxParameters, isForm: Bool, at now: Timestamp
  ) -> SandboxAnswer {
    guard action != "authentication" else {
      let answer = school.logIn(username: parameters["apiuser"], password: parameters["apipassword"], at: now)
      if answer.status == .okay { log.logins += 1 }
      return answer
    }
    // The form takes one action, and the query all others.
    guard isForm == (action == "createmarkbook") else { return .refused("invalid action") }
    let before = school.result(parameters)
    let answer = school.answer(action, parameters, at: now)
    guard answer.status == .okay else { return answer }
    log.count(action, parameters)
    if action == "putstudentresult", let (put, raw) = before { log.keep(put, was: raw) }
    return answer
  }
}

extension SandboxSchool {
  /// The result that a call speaks of, as it is.
  fileprivate func result(_ parameters: SandboxParameters) -> (put: SandboxLog.Put, raw: String)? {
    guard let key = parameters.int("key"), let student = parameters.int("studentkey"),
      let task = parameters.int("taskkey")
    else { return nil }
    let row = markbooks.first { $0.head.markbookKey == key }?.students.first { $0.student.key == student }
    return (SandboxLog.Put(markbook: key, student: student, task: task), row?.results[task] ?? "")
  }
}

extension SandboxParameters {
  /// Keeps the first value of a name that is given twice.
  fileprivate init(_ query: HTTPQuery) {
    values = Dictionary(query.items.map { ($0.name, $0.value) }) { first, _ in first }
  }
}

/// A moment as the service writes it: `Tue, 20 May 2025 09:30:00 +1000`, in Sydney.
func wireDate(_ now: Timestamp) -> String {
  let offset = SandboxBackup.sydney.offset(at: now)
  let local = CivilTime(secondsSinceEpoch: now.seconds + offset)
  let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
  func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
  let date = "\(days[local.date.weekday]), \(two(local.date.day)) \(months[local.date.month - 1]) \(local.date.year)"
  let time = "\(two(local.hour)):\(two(local.minute)):\(two(local.second))"
  return "\(date) \(time) +\(two(offset / 3600))\(two(offset / 60 % 60))"
}
