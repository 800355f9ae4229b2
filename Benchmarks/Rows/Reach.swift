import Basics
import CBaselines
import Foundation
import Glibc
import HTTPClient

/// Measures the answers of `errand serve` over HTTP: its budgets for programs, webhooks and pages.
///
/// The client is written in C with a socket for each connection, so that it takes little of the processors that it
/// shares with the agent.
struct Reach {
  let serving: Serving
  let folder: WorkFolder

  init(_ folder: WorkFolder) {
    self.folder = folder
    serving = Serving(folder)
  }

  private static let recipes = [
    "sum": """
    inputs: { n: { type: int, default: 1 } }
    steps: [{ let: { m: "${{ inputs.n + 1 }}" } }]
    outputs: { m: "${{ m }}" }

    """,
    "patient": "steps: [{ wait: { event: never } }]\n",
    "items": """
    steps: [{ id: each, forEach: "${{ lists.range(10000) }}", as: n, steps: [{ let: { m: "${{ n + 1 }}" } }] }]

    """,
    "loop": """
    steps:
      - { id: each, forEach: "${{ lists.range(10000) }}", as: n, steps: [{ let: { m: "${{ n + 1 }}" } }] }
      - wait: { event: never }

    """,
    "hook": """
    inputs: { n: { type: int } }
    on:
      - webhook: { verify: { standard: "${{ secrets.HOOK }}" }, type: { n: int } }
        overlap: allowAll
        inputs: { n: "${{ event.data.n }}" }
    steps: [{ let: { m: "${{ inputs.n }}" } }]

    """,
  ]
  private static let key = [UInt8](repeating: 7, count: 24)

  // MARK: Programs

  func programs() async throws -> [Row] {
    let sync = cbaselines_slow_sync(folder.path("baseline"), 400, 500)
    guard sync > 0 else { throw NotMeasured("cannot append to \(folder.path("baseline"))") }
    let agent = try Agent(self, "reach")
    defer { serving.end(agent.process) }
    var rows: [Row] = []
    let started = try agent.ask(
      (0..<500).map { agent.request("POST", "/api/v1/recipes/sum/runs", "{\"inputs\":{\"n\":\($0)}}") }, 202)
    let late = (started.slowest - sync) * 1000
    rows.append(
      Row(
        "a start over HTTP, p99 above fdatasync", late, "ms",
        .atMost(2).missed(at: 3.93, because: "the slowest of a hundred waits for syncs of other runs, too"),
        of: displayedTime(started.slowest),
        beside: "\(displayedTime(sync)): C append + fdatasync, p99"))
    let run = try await agent.start("sum")
    let reads = 20_000
    let read = try agent.ask((0..<reads).map { _ in agent.request("GET", "/api/v1/runs/\(run)") }, 200, over: 8)
    rows.append(
      .processor(
        "1,000 GETs of a run: processor", read.processor * 1000 / Double(reads),
        .atMost(200).missed(at: 550, because: "not explained yet: the parts of an answer aren't measured"),
        beside: "\(displayed(Double(reads) / read.seconds))/s"))
    let waiting = try await agent.start("patient")
    rows += try streams(agent, waiting)
    // A run of many items, as a page.
    let items = try await agent.start("items")
    try await agent.end(of: items)
    let page = try agent.ask((0..<50).map { _ in agent.request("GET", "/runs/\(items)") }, 200)
    rows.append(page.row("page of a run with 10,000 items: processor", .atMost(100)))
    rows.append(Row("page of a run with 10,000 items: as sent", Double(page.bytes) / 1000, "KB", .atMost(200)))
    func sent(_ names: String...) throws -> Double {
      let sizes = try names.map { try agent.ask([agent.request("GET", "/assets/\($0)")], 200).bytes }
      return Double(sizes.reduce(0, +)) / 1000
    }
    rows.append(
      Row(
        "files of the pages: as sent", try sent("errand.css", "errand.js", "errand.svg", "htmx.js"), "KB", .atMost(60)))
    rows.append(
      Row(
        "files of the editor: as sent", try sent("edit.css", "edit.js", "codemirror.css", "codemirror.js"), "KB",
        .atMost(95)))
    return rows
  }

  /// As many streams as there may be, while nothing happens.
  private func streams(_ agent: Agent, _ run: String) throws -> [Row] {
    let count = 200
    let before = Double(try residentBytes(of: agent.process.processIdentifier))
    var request = agent.request("GET", "/api/v1/runs/\(run)/events")
    var sockets: [Int32] = []
    defer { for socket in sockets { close(socket) } }
    for _ in 0..<count {
      let socket = try connected(to: agent.port)
      sockets.append(socket)
      guard send(socket, &request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
        throw NotMeasured("a stream can't be asked for")
      }
      var bytes = [UInt8](repeating: 0, count: 4096)
      var text: [UInt8] = []
      while !String(decoding: text, as: UTF8.self).contains("event: snapshot") {
        let count = recv(socket, &bytes, bytes.count, 0)
        guard count > 0 else { throw NotMeasured("a stream ended early") }
        text += bytes[..<count]
      }
    }
    Thread.sleep(forTimeInterval: 1)
    let processor = try processorSeconds(of: agent.process)
    Thread.sleep(forTimeInterval: 10)
    let used = try processorSeconds(of: agent.process) - processor
    let grown = Double(try residentBytes(of: agent.process.processIdentifier)) - before
    return [
      Row("200 idle streams: memory", grown / 1_048_576, "MB", .atMost(10)),
      .processor("200 idle streams: processor of 10 s", used, .atMost(50)),
    ]
  }

  private func connected(to port: Int) throws -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    let code = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard code == 0 else { throw NotMeasured("the agent accepts no connection") }
    return descriptor
  }

  // MARK: A run that is watched

  /// The page of an open run of many items, and the answer to a browser that has it already.
  func watching() async throws -> [Row] {
    let agent = try Agent(self, "watching")
    defer { serving.end(agent.process) }
    let run = try await agent.start("loop")
    try await agent.end(of: run, as: "waiting")
    let path = "/runs/\(run)"
    let page = try agent.ask((0..<50).map { _ in agent.request("GET", path) }, 200)
    let text = try await agent.text(path)
    let start = "Errand-Seen&quot;:&quot;"
    guard let seen = text.components(separatedBy: start).dropFirst().first?.prefix(while: { $0 != "&" }) else {
      throw NotMeasured("the page has no version")
    }
    let same = try agent.ask((0..<5_000).map { _ in agent.request("GET", path, seen: String(seen)) }, 204)
    // A browser asks for the page of a long run every six seconds.
    let share = 100 * 10 * page.processor / Double(page.times.count) / 6
    return [
      page.row("page of an open loop of 10,000 items: processor", .atMost(13)),
      Row("page of an open loop of 10,000 items: as sent", Double(page.bytes) / 1000, "KB", .atMost(15)),
      Row("ten browsers on a running loop of 10,000 items: of a processor", share, "%", .atMost(5)),
      same.row("204 for a page that is up to date: processor", .atMost(0.13)),
    ]
  }

  // MARK: Webhooks

  /// Deliveries, each with a signature and a run of its own.
  func webhooks() async throws -> [Row] {
    let agent = try Agent(self, "hooks")
    defer { serving.kill(agent.process) }
    let now = Int(Date().timeIntervalSince1970)
    let requests = (0..<10_000).map { number -> [UInt8] in
      let body = "{\"n\":\(number)}"
      let code = MessageAuthentication.code(of: Array("msg_\(number).\(now).\(body)".utf8), key: Self.key) ?? []
      let lines = [
        "POST /hooks/hook HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json",
        "Content-Length: \(body.utf8.count)", "webhook-id: msg_\(number)", "webhook-timestamp: \(now)",
        "webhook-signature: v1,\(code.base64)", "", body,
      ]
      return Array(lines.joined(separator: "\r\n").utf8)
    }
    let answered = try agent.ask(requests, 202, orAgainAfter: 503, over: 32)
    let rate = Double(requests.count) / answered.seconds
    let floor = try Durability(folder).syncsPerSecond(500)
    return [
      Row(
        "deliveries acknowledged", rate / floor, "×",
        .atLeast(0.4).missed(
          at: 0.07,
          because: "not explained yet: deliveries get 503 while 500 wait to start, so it is the rate of starts"),
        of: "\(displayed(rate))/s",
        beside: "\(displayed(floor))/s: C append + fdatasync, one by one"),
      .processor(
        "1,000 deliveries acknowledged: processor", answered.processor * 1000 / Double(requests.count),
        .atMost(500).missed(
          at: 3527, because: "not explained yet: it includes the runs and all attempts that get 503")),
      Row(
        "a delivery acknowledged, from its first attempt, p99", answered.slowest * 1000, "ms",
        .atMost(20).missed(
          because: "deliveries get 503 while 500 wait to start, and are sent again until there is room")),
    ]
  }

  // MARK: A long history

  /// Pages and a list, beside a million runs that are over and a thousand that are open, with 200 recipes and 300
  /// schedules.
  func history() async throws -> [Row] {
    let home = try serving.newHome("long")
    try await HistorySearches(folder).fill(home.appending(path: ".errand").path, until: SystemTime().now(), failing: 50)
    let recipes = home.appending(path: "recipes")
    try FileManager.default.createDirectory(at: recipes, withIntermediateDirectories: true)
    for number in 0..<200 {
      let entries = (0...number % 2).map { "{ id: e\($0), cron: '\(number % 60) \($0) 29 2 *' }" }
      let text = "on: [\(entries.joined(separator: ", "))]\nsteps: [{ let: { a: 1 } }]\n"
      try Data(text.utf8).write(to: recipes.appending(path: "recipe-\(number).yaml"))
    }
    let agent = try Agent(self, "long")
    defer { serving.end(agent.process) }
    _ = try agent.ask(
      (0..<1000).map { _ in agent.request("POST", "/api/v1/recipes/patient/runs", "{}") }, 202, over: 16)
    try serving.waitUntilIdle(agent.process)
    let list = try agent.ask((0..<100).map { _ in agent.request("GET", "/api/v1/runs?limit=50&status=succeeded") }, 200)
    var rows = [list.row("a list of 50 of a million runs: processor", .atMost(20))]
    // The last two months are counted with the first page.
    let first = try agent.ask([agent.request("GET", "/")], 200)
    rows.append(first.row("the first page, before anything is counted: processor", .atMost(1500)))
    for (what, path) in [
      ("the first page", "/"), ("the runs", "/runs"), ("the recipes", "/recipes"), ("a recipe", "/recipes/recipe-7"),
      ("the schedules", "/schedules"), ("the questions", "/approvals"),
    ] {
      let page = try agent.ask((0..<50).map { _ in agent.request("GET", path) }, 200)
      // 50 ms of an otherwise idle machine are about 30 units.
      rows.append(page.row("\(what), 1,000 open runs of a million: processor", .atMost(30)))
      rows.append(Row("\(what): as sent", Double(page.bytes) / 1000, "KB", .atMost(20)))
    }
    return rows
  }

  // MARK: At rest

  /// The program's memory with a thousand schedules and an address.
  func rest() throws -> Row {
    let row = try serving.idle("idle-reach", "server: { listen: 127.0.0.1:0 }\n")[0]
    return Row("idle serve with 'server', 1,000 schedules: memory", row.value, "MB", .atMost(26))
  }

  // MARK: The agent

  /// The results of some requests.
  private struct Outcome {
    /// How long all of them took, and the processor time of the agent meanwhile.
    var seconds: Double
    var processor: Double
    /// The time of each request, sorted.
    var times: [Double]
    var median: Double { times.isEmpty ? 0 : times[times.count / 2] }
    /// The slowest of a hundred.
    var slowest: Double { times.isEmpty ? 0 : times[times.count * 99 / 100] }
    /// The size of the last answer, its head included.
    var bytes: Int

    /// The processor time of one request, beside the median wall time.
    func row(_ what: String, _ bar: Bar) -> Row {
      .processor(what, processor / Double(times.count), bar, beside: "\(displayedTime(median)): wall time, the median")
    }
  }

  private struct Agent {
    let process: Process
    let port: Int
    private let token: String
    private let folder: URL

    init(_ reach: Reach, _ name: String) throws {
      let home = try reach.serving.newHome(name)
      folder = home
      let recipes = home.appending(path: "recipes")
      try FileManager.default.createDirectory(at: recipes, withIntermediateDirectories: true)
      for (name, text) in Reach.recipes {
        try Data(text.utf8).write(to: recipes.appending(path: "\(name).yaml"))
      }
      setenv("HOOK", "whsec_\(Reach.key.base64)", 1)
      let process = try reach.serving.serve(home, "server: { listen: 127.0.0.1:0 }\n")
      self.process = process
      try reach.serving.wait(for: 60, process) { try reach.serving.log(home).contains("\"serving\"") }
      let log = try reach.serving.log(home)
      let digits = log.components(separatedBy: "listens on http://127.0.0.1:").last?.prefix { $0.isNumber } ?? ""
      guard let port = Int(digits) else { throw NotMeasured("serve says no address: \(log)") }
      self.port = port
      let made = Process()
      let out = Pipe()
      made.executableURL = reach.serving.errand
      made.arguments = [
        "token", "new", "bench", "--scope", "read", "--scope", "data", "--scope", "start", "--scope", "steer",
        "--scope", "approve",
      ]
      made.currentDirectoryURL = home
      made.standardOutput = out
      made.standardError = FileHandle.nullDevice
      try made.run()
      let text = String(decoding: out.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      made.waitUntilExit()
      token = text.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// - Parameter seen: The version of a page that is there already.
    func request(_ method: String, _ path: String, _ body: String? = nil, seen: String? = nil) -> [UInt8] {
      var text = "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(token)\r\n"
      text += "Accept-Encoding: gzip\r\n"
      if let seen { text += "Errand-Seen: \(seen)\r\n" }
      if let body { text += "Content-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n" }
      return Array("\(text)\r\n\(body ?? "")".utf8)
    }

    /// Asks until each request is answered with the status; a request that is told to come again does, as senders of
    /// webhooks do.
    ///
    /// The time of a request is from its first attempt to the answer that accepts it.
    func ask(
      _ requests: [[UInt8]], _ status: Int, orAgainAfter busy: Int, over connections: Int
    ) throws -> Outcome {
      var whole = Outcome(seconds: 0, processor: 0, times: [], bytes: 0)
      var waiting = requests.map { (request: $0, began: Double?.none) }
      for _ in 0..<10_000 where !waiting.isEmpty {
        let asked = try answers(to: waiting.map { $0.request }, over: connections)
        whole.seconds += asked.seconds
        whole.processor += asked.processor
        whole.bytes = asked.answers.last?.size ?? 0
        var refused: [(request: [UInt8], began: Double?)] = []
        for (sent, answer) in zip(waiting, asked.answers) {
          let began = sent.began ?? answer.began
          switch answer.status {
          case status: whole.times.append(answer.began + answer.seconds - began)
          case busy: refused.append((sent.request, began))
          default: throw NotMeasured("the agent answered with \(answer.status)")
          }
        }
        waiting = refused
      }
      guard waiting.isEmpty else { throw NotMeasured("the agent never has room for \(waiting.count) of them") }
      whole.times.sort()
      return whole
    }

    /// Asks each request once; each has to be answered with the status.
    func ask(_ requests: [[UInt8]], _ status: Int, over connections: Int = 1) throws -> Outcome {
      let asked = try answers(to: requests, over: connections)
      if let other = asked.answers.first(where: { $0.status != status }) {
        throw NotMeasured("the agent answered with \(other.status)")
      }
      return Outcome(
        seconds: asked.seconds, processor: asked.processor, times: asked.answers.map(\.seconds).sorted(),
        bytes: asked.answers.last?.size ?? 0)
    }

    /// The agent's answer to a request.
    private struct Answer {
      let status: Int
      /// When the request was sent, in seconds of the monotonic clock.
      let began: Double
      let seconds: Double
      let size: Int
    }

    /// The answers to requests in their order, and the time and the agent's processor time of all.
    private func answers(
      to requests: [[UInt8]], over connections: Int
    ) throws -> (answers: [Answer], seconds: Double, processor: Double) {
      let bytes = requests.flatMap { $0 }
      return try bytes.withUnsafeBytes { bytes in
        guard let start = bytes.baseAddress else { throw NotMeasured("nothing is asked") }
        var place = 0
        var asked = requests.map { request in
          defer { place += request.count }
          return CBaselinesRequest(
            bytes: start + place, size: request.count, began: 0, seconds: 0, status: 0, answer: 0)
        }
        let before = try processorSeconds(of: process)
        let seconds = cbaselines_ask(Int32(port), &asked, Int32(asked.count), Int32(connections))
        guard seconds >= 0 else { throw NotMeasured("the agent doesn't answer") }
        let processor = try processorSeconds(of: process) - before
        let answers = asked.map {
          Answer(status: Int($0.status), began: $0.began, seconds: $0.seconds, size: Int($0.answer))
        }
        return (answers, seconds, processor)
      }
    }

    /// Starts a run, and gives its name.
    func start(_ recipe: String) async throws -> String {
      let answer = try await answer("POST", "/api/v1/recipes/\(recipe)/runs", "{}")
      guard let run = answer["run"]?.string else { throw NotMeasured("no run was started: \(JSON.displayed(answer))") }
      return run
    }

    /// Waits until a run has a status.
    func end(of run: String, as status: String = "succeeded") async throws {
      let end = ContinuousClock.now + .seconds(120)
      while try await answer("GET", "/api/v1/runs/\(run)", nil)["status"]?.string != status {
        if ContinuousClock.now > end { throw NotMeasured("the run doesn't end") }
      }
    }

    private func answer(_ method: String, _ path: String, _ body: String?) async throws -> Value {
      try JSON.parse(Array(try await text(path, method, body).utf8))
    }

    /// The text of an answer.
    func text(_ path: String, _ method: String = "GET", _ body: String? = nil) async throws -> String {
      var headers: HTTPHeaders = ["Authorization": "Bearer \(token)"]
      if body != nil { headers["Content-Type"] = "application/json" }
      let answer = try await HTTPClient().send(
        HTTPRequest(method, "http://127.0.0.1:\(port)\(path)", headers: headers, body: body.map { Array($0.utf8) }))
      return String(decoding: answer.body, as: UTF8.self)
    }
  }
}
