// Recordings of HTTP exchanges, and of calls of actions that reach the outside in another way.
//
//     { "recording": 2, "recipe": "markbook-averages", "at": "2026-11-20T09:30:00Z", "folder": "/srv/site",
//       "steps": { "book": "2026-11-20T09:30:00.012Z" },
//       "connections": { "markbook": { "baseURL": "https://…" } },
//       "exchanges": [
//         { "connection": "markbook",
//           "request": { "method": "GET", "url": "https://…/?action=getmarkbook&apitoken=***" },
//           "response": { "status": 200, "headers": { "Content-Type": "application/json" }, "json": { … } } },
//         { "connection": "markbook", "request": { … }, "error": { "kind": "connect", "message": "…", "sent": "nothing" } } ],
//       "calls": [
//         { "connection": "shell", "action": "shell.run", "input": { "program": "date", … }, "output": { "exitCode": 0, … } },
//         { "connection": "mail", "action": "mail.send", "input": { … }, "error": { "kind": "network", … } } ] }
//
// `"run"` is the run's id, which requests may hold. `"acts"` are the acts of people and other programs that let the run
// continue: `{"step": "ask", "decision": {…}}`, `{"event": {…}, "data": …}`, both as the state has them.
//
// `at` is when the run began, and `steps` has the value of `now` for each step: requests may hold the time, so a replay
// uses these instants.
//
// `zone` is the zone of errand.yaml then, for recipes that name none.
//
// `folder` is where relative paths started: a replay writes files elsewhere, and reports them as if they were there.
//
// A body is `json` where writing that gives the same bytes again, else `text`, else `base64`. A body that is larger
// than 8 MiB, or that holds a secret that can't be taken out, is `omitted`, and can't be replayed.
//
// A call holds values as the state does (`StoredValue`). With `part` it is the look at a write that can be reconciled:
// `baseline` before it, or its `outcome`. An output is `omitted` under the same conditions as a body. A recording of
// form 1 has no calls, because replays repeated them when it was made.
//
// `"files"` are the files that actions over HTTP read, for example to send them, in the order of reading:
// `{"path": "/srv/site/in.csv", "text": "…"}` with a body as above, `"absent": true` for a missing file, and
// `"reads": 3` for three equal reads in a row. A replay finds in a file what the run found there, unless the replay has
// written the file.
//
// A recording holds no secret. By type it omits the values of parameters and header fields that a request declares
// secret, in URLs and forms, and the settings of connections and inputs of calls that are declared so. By value it
// omits every secret that is kept out of the state, and every value found in such a place in any request, wherever it
// occurs and however it is spelled.
import ActionKit
package import Basics
import HTTPClient
import HTTPTypes
import RunState
import Runs

/// Recorded exchanges and calls, which answer the requests of a replay.
package struct Recording: Sendable {
  /// One request and its outcome.
  struct Exchange: Sendable {
    var connection: String
    var request: Request
    var outcome: Outcome
  }

  struct Request: Sendable {
    var method: String
    /// Without secrets.
    var url: String
    var body: Body?

    /// The request as people see it.
    var displayed: String { HTTPRequest.displayed(recorded: "\(method) \(url)") }
  }

  enum Outcome: Sendable {
    case response(status: Int, headers: [HTTPHeaders.Field], body: Body?)
    case failure(kind: String, message: String, sent: HTTPError.Sent)
  }

  enum Body: Sendable {
    case json(Value)
    case text(String)
    case base64(String)
    case omitted
  }

  /// The content of a file, as one or several reads in a row found it.
  struct ReadFile: Sendable {
    /// As `place(of:)` has it.
    var path: String
    /// nil if the file wasn't there.
    var body: Body?
    var reads: Int
  }

  /// The path from the root, without `.`, `..` and empty parts: where the file is in a replay's folder.
  static func place(of path: String) -> String {
    "/" + path.split(separator: "/").filter { $0 != "." && $0 != ".." }.joined(separator: "/")
  }

  package var recipe: String
  /// The id of the run; nil if it wasn't recorded.
  package var run: String?
  /// When the run began.
  package var at: Timestamp
  /// Whether the recording ends before the run, which continued elsewhere or still may.
  package var isPartial = false
  /// Where the run's paths started; nil if it wasn't recorded.
  package var folder: String?
  /// The zone of the run's recipe if that names none; nil if it wasn't recorded.
  package var zone: String?
  /// The URL of the agent's pages; nil if it had none.
  package var base: String?
  /// The value of `now` for each step, in the order the steps began.
  package var steps: [(path: String, now: Timestamp)] = []
  /// The acts of people and other programs that let the run continue, in the order of time.
  package var acts: [RecordedAct] = []
  /// The settings of the connections, with placeholders for secrets.
  package var connections: [String: Value]
  var exchanges: [Exchange]
  /// The reads of files by actions over HTTP, in order.
  var files: [ReadFile] = []
  /// The calls as the file has them; nil if it has none because of its form.
  var calls: [Value]?

  /// The files that were read whose content isn't in the recording.
  package var filesLeftOut: [String] {
    files.compactMap { file in if case .omitted? = file.body { file.path } else { nil } }
  }

  /// How many exchanges and calls there are: `2 exchanges and 1 call are`.
  package var tally: String {
    let (requests, calls) = (exchanges.count, calls?.count ?? 0)
    let made = "\(requests) exchange\(requests == 1 ? "" : "s")"
    let called = "\(calls) call\(calls == 1 ? "" : "s")"
    return (calls == 0 ? made : requests == 0 ? called : "\(made) and \(called)")
      + (requests + calls == 1 ? " is" : " are")
  }
}

// MARK: - Bodies

extension Recording.Body {
  static let largest = 8 << 20

  /// A body without secrets; nil for none.
  init?(_ bytes: [UInt8], redact: (String) -> String) {
    guard !bytes.isEmpty else { return nil }
    guard bytes.count <= Recording.Body.largest else {
      self = .omitted
      return
    }
    // Control characters would be written in six bytes each.
    let isBinary = bytes.contains { $0 < 0x20 && ![ASCII.tab, ASCII.newline, ASCII.carriageReturn].contains($0) }
    guard !isBinary, let text = String(validating: bytes, as: UTF8.self) else {
      self = bytes.holdSecret(redact) ? .omitted : .base64(bytes.base64)
      return
    }
    let redacted = redact(text)
    if let value = try? JSON.parse(text), value.list != nil || value.map != nil,
      // Cutting a secret number out of the text could leave invalid JSON.
      (try? JSON.text(value))?.hasSameScalars(as: text) ?? false || (try? JSON.parse(redacted)) == nil
    {
      self = .json(value.scrubbed(redact))
    } else {
      self = .text(redacted)
    }
  }

  /// The bytes as they came; nil if they were omitted.
  var bytes: [UInt8]? {
    switch self {
    case .json(let value): (try? JSON.text(value)).map { Array($0.utf8) }
    case .text(let text): Array(text.utf8)
    case .base64(let text): [UInt8](base64: text)
    case .omitted: nil
    }
  }

  var member: (name: String, value: Value) {
    switch self {
    case .json(let value): ("json", value)
    case .text(let text): ("text", .string(text))
    case .base64(let text): ("base64", .string(text))
    case .omitted: ("omitted", .bool(true))
    }
  }

  init?(reading map: ValueMap) {
    if let value = map["json"] {
      self = .json(value)
    } else if let text = map["text"]?.string {
      self = .text(text)
    } else if let text = map["base64"]?.string {
      self = .base64(text)
    } else if map["omitted"]?.bool == true {
      self = .omitted
    } else {
      return nil
    }
  }
}

// MARK: - Files

extension Recording {
  /// The file's text.
  package var text: String {
    var connections = ValueMap()
    for (name, settings) in self.connections.sorted(by: { $0.key.precedesByScalars($1.key) }) {
      connections[name] = settings
    }
    var document = ValueMap()
    document["recording"] = .int(calls == nil ? 1 : 2)
    document["recipe"] = .string(recipe)
    document["run"] = run.map { .string($0) }
    document["at"] = .string("\(at)")
    if isPartial { document["isPartial"] = .bool(true) }
    document["folder"] = folder.map { .string($0) }
    document["zone"] = zone.map { .string($0) }
    document["base"] = base.map { .string($0) }
    if !steps.isEmpty { document["steps"] = .map(ValueMap(steps.map { ($0.path, .string("\($0.now)")) })) }
    if !acts.isEmpty { document["acts"] = .list(acts.map { $0.value { $0 } }) }
    document["connections"] = .map(connections)
    document["exchanges"] = .list(exchanges.map(\.value))
    if !files.isEmpty { document["files"] = .list(files.map(\.value)) }
    document["calls"] = calls.map { .list($0) }
    return JSON.displayed(.map(document), .pretty) + "\n"
  }

  /// Reads a file.
  package init(reading source: Source) throws(Diagnostics) {
    let root: Value
    do throws(JSONError) { root = try JSON.parse(source.bytes) } catch {
      throw Diagnostics([error.diagnostic(in: source)])
    }
    func fault(_ message: String, at value: Value) -> Diagnostics {
      Diagnostics([Diagnostic(message, at: Diagnostic.Location(source, at: value.place.offset ?? 0))])
    }
    guard let form = root["recording"]?.int, (1...2).contains(form) else {
      throw fault("this isn't a recording that this version of errand can read; 'run --record' makes one", at: root)
    }
    guard let at = root["at"]?.string.flatMap({ Timestamp($0) }), let exchanges = root["exchanges"]?.list else {
      throw fault("a recording needs 'at', an instant, and 'exchanges', a list", at: root)
    }
    recipe = root["recipe"]?.string ?? ""
    self.at = at
    isPartial = root["isPartial"]?.bool ?? false
    folder = root["folder"]?.string
    zone = root["zone"]?.string
    base = root["base"]?.string
    run = root["run"]?.string
    for act in root["acts"]?.list ?? [] {
      guard let act = RecordedAct(reading: act) else {
        throw fault("an act needs 'step' and 'decision', or 'event', as the state has them", at: act)
      }
      acts.append(act)
    }
    for member in root["steps"]?.map?.members ?? [] {
      guard let path = member.key.string, let now = member.value.string.flatMap({ Timestamp($0) }) else {
        throw fault("'steps' takes an instant for each step", at: member.value)
      }
      steps.append((path, now))
    }
    connections = [:]
    for member in root["connections"]?.map?.members ?? [] {
      if let name = member.key.string { connections[name] = member.value }
    }
    self.exchanges = []
    for value in exchanges {
      guard let exchange = Exchange(reading: value) else {
        throw fault(
          "an exchange needs 'connection', 'request' with 'method' and 'url', and 'response' with 'status' or 'error'",
          at: value)
      }
      self.exchanges.append(exchange)
    }
    for value in root["files"]?.list ?? [] {
      guard let file = ReadFile(reading: value) else {
        throw fault("a file needs 'path', and what was in it or 'absent'", at: value)
      }
      files.append(file)
    }
    if form == 1 { return }
    calls = []
    for call in root["calls"]?.list ?? [] {
      guard call["connection"]?.string != nil, call["action"]?.string != nil, call["input"] != nil,
        call["omitted"] != nil || Recording.result(of: call) != nil
      else {
        throw fault("a call needs 'connection', 'action', 'input', and 'output', 'error' or 'omitted'", at: call)
      }
      calls?.append(call)
    }
  }
}

extension Recording.ReadFile {
  fileprivate var value: Value {
    var map = ValueMap([("path", .string(path))])
    if reads > 1 { map["reads"] = .int(reads) }
    let member = body?.member ?? ("absent", .bool(true))
    map[member.name] = member.value
    return .map(map)
  }

  fileprivate init?(reading value: Value) {
    guard let map = value.map, let path = map["path"]?.string else { return nil }
    self.path = path
    body = Recording.Body(reading: map)
    reads = map["reads"]?.int ?? 1
    guard body != nil || map["absent"]?.bool == true, (1...1_000_000_000).contains(reads) else { return nil }
  }
}

extension Recording.Exchange {
  fileprivate var value: Value {
    var map = ValueMap()
    map["connection"] = .string(connection)
    var request = ValueMap()
    request["method"] = .string(self.request.method)
    request["url"] = .string(self.request.url)
    if let member = self.request.body?.member { request[member.name] = member.value }
    map["request"] = .map(request)
    switch outcome {
    case .response(let status, let headers, let body):
      var response = ValueMap()
      response["status"] = .int(status)
      var fields = ValueMap()
      for field in headers {
        // A field that came several times becomes one with all values (RFC 9110, section 5.3).
        let before = fields[field.name]?.string.map { "\($0), " } ?? ""
        fields[field.name] = .string(before + field.value)
      }
      response["headers"] = .map(fields)
      if let member = body?.member { response[member.name] = member.value }
      map["response"] = .map(response)
    case .failure(let kind, let message, let sent):
      map["error"] = .object([
        "kind": .string(kind), "message": .string(message), "sent": .string(sent == .nothing ? "nothing" : "maybe"),
      ])
    }
    return .map(map)
  }

  fileprivate init?(reading value: Value) {
    guard let connection = value["connection"]?.string, let request = value["request"]?.map,
      let method = request["method"]?.string, let url = request["url"]?.string
    else { return nil }
    self.connection = connection
    self.request = Recording.Request(method: method, url: url, body: Recording.Body(reading: request))
    if let response = value["response"]?.map, let status = response["status"]?.int {
      let fields = (response["headers"]?.map?.members ?? []).compactMap { member in
        member.key.string.flatMap { name in member.value.string.map { HTTPHeaders.Field(name, $0) } }
      }
      outcome = .response(status: status, headers: fields, body: Recording.Body(reading: response))
    } else if let error = value["error"]?.map, let kind = error["kind"]?.string,
      let message = error["message"]?.string
    {
      outcome = .failure(kind: kind, message: message, sent: error["sent"]?.string == "nothing" ? .nothing : .maybe)
    } else {
      return nil
    }
  }
}

extension Value {
  /// The value as the state holds it, as JSON.
  var stored: Value { StoredValue.inline(self).encoded() }

  /// Reads a value in the state's form; nil if it isn't one.
  init?(stored: Value) {
    guard case .inline(let value)? = try? StoredValue(reading: stored) else { return nil }
    self = value
  }
}

extension Recording {
  /// A call without secrets, as the file has it.
  static func call(_ call: ServiceCall, _ result: Result<Value, ActionError>, _ redactor: Redactor) -> Value {
    var map = ValueMap([("connection", .string(call.connection)), ("action", .string(call.action))])
    if call.part != .run { map["part"] = .string(call.part.rawValue) }
    map["input"] = Scrubbing.input(of: call, redactor)
    switch result {
    case .success(let output):
      let scrubbed = output.stored.scrubbed(redactor.redact)
      let bytes = try? JSON.write(scrubbed)
      if output.hidesSecret(redactor) || bytes?.count ?? .max > Recording.Body.largest {
        map["omitted"] = .bool(true)
      } else {
        map["output"] = scrubbed
      }
    case .failure(let error):
      let kept = RunError(
        error.kind, error.message, detail: error.detail, status: error.status, retryable: error.retryable,
        retryAfter: error.retryAfter, effect: error.effect)
      map["error"] = kept.encoded().scrubbed(redactor.redact)
    }
    return .map(map)
  }

  /// The outcome of a call, for a replay; nil if it was omitted, or isn't one.
  static func result(of call: Value) -> Result<Value, ActionError>? {
    if let output = call["output"] { return Value(stored: output).map { .success($0) } }
    guard let error = call["error"], let read = try? RunError(reading: error) else { return nil }
    return .failure(
      ActionError(
        read.kind, read.message, detail: read.detail, status: read.status, retryable: read.retryable,
        retryAfter: read.retryAfter, effect: read.effect))
  }
}

extension HTTPError.Kind {
  private static let names: [(name: String, kind: HTTPError.Kind)] = [
    ("invalidRequest", .invalidRequest), ("resolve", .resolve), ("connect", .connect), ("tls", .tls),
    ("connectTimeout", .timeout(.connect)), ("attemptTimeout", .timeout(.attempt)), ("totalTimeout", .timeout(.total)),
    ("stallTimeout", .timeout(.stall)), ("cancelled", .cancelled), ("tooLarge", .tooLarge), ("redirect", .redirect),
    ("malformedResponse", .malformedResponse), ("interrupted", .interrupted), ("file", .file),
    ("missingLibrary", .missingLibrary),
  ]

  /// The kind as recordings name it.
  var name: String { HTTPError.Kind.names.first { $0.kind == self }?.name ?? "malformedResponse" }

  init(named name: String) {
    self = HTTPError.Kind.names.first { $0.name.hasSameScalars(as: name) }?.kind ?? .malformedResponse
  }
}

// MARK: - Time

extension Recording {
  /// The value of `now` for each step of a replayed run that began when the recorded one did; moves the clock there.
  package func instants(on clock: ManualClock) -> @Sendable (String) -> Timestamp? {
    let instants = Dictionary(steps.map { ($0.path, $0.now) }) { first, _ in first }
    return { path in
      guard let now = instants[path] else { return nil }
      if let span = now.span(since: clock.now()), span > .zero { clock.advance(by: span) }
      return now
    }
  }
}
