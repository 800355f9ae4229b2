// Recordings of HTTP exchanges.
//
//     { "recording": 1, "recipe": "markbook-averages", "at": "2026-11-20T09:30:00Z",
//       "steps": { "book": "2026-11-20T09:30:00.012Z" },
//       "connections": { "markbook": { "baseURL": "https://…" } },
//       "exchanges": [
//         { "connection": "markbook",
//           "request": { "method": "GET", "url": "https://…/?action=getmarkbook&apitoken=***" },
//           "response": { "status": 200, "headers": { "Content-Type": "application/json" }, "json": { … } } },
//         { "connection": "markbook", "request": { … }, "error": { "kind": "connect", "message": "…", "sent": "nothing" } } ] }
//
// `at` is when the run was begun, and `steps` says what each step called `now`: requests may hold the time, so a run that is
// played goes by these instants.
//
// A body is `json` where writing that gives the same bytes again, else `text`, else `base64`. One that is larger than
// 8 MiB, or that holds a secret where it cannot be taken out, is `omitted`, and cannot be played.
//
// No secret is in it. By type: the values of parameters and header fields that a request calls secret, in URLs and
// forms, and the settings of connections that are declared so. By value: what is known as a secret, and what stood in
// such a place in any request, wherever it occurs, plain, as JSON, in base64 and percent-encoded.
package import Basics
import HTTPClient
import HTTPTypes

/// Exchanges that were made once, to be answered from again.
package struct Recording: Sendable {
  /// One request and what came of it.
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

  package var recipe: String
  /// When it was begun.
  package var at: Timestamp
  /// What each step called `now`, in the order in which they began.
  package var steps: [(path: String, now: Timestamp)] = []
  /// The settings of the connections, with something made up for what is secret in them.
  package var connections: [String: Value]
  var exchanges: [Exchange]

  /// How many exchanges there are.
  package var count: Int { exchanges.count }
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
    guard let text = String(validating: bytes, as: UTF8.self) else {
      // As the text in which each byte is a scalar, so that a secret of ASCII can be seen.
      var scalars = String.UnicodeScalarView()
      for byte in bytes { scalars.append(UnicodeScalar(byte)) }
      let text = String(scalars)
      self = redact(text).hasSameScalars(as: text) ? .base64(bytes.base64) : .omitted
      return
    }
    let redacted = redact(text)
    if let value = try? JSON.parse(text), value.list != nil || value.map != nil,
      // A number that is a secret leaves no JSON behind where it is cut out of the text.
      (try? JSON.text(value))?.hasSameScalars(as: text) ?? false || (try? JSON.parse(redacted)) == nil
    {
      self = .json(value.scrubbed(redact))
    } else {
      self = .text(redacted)
    }
  }

  /// The bytes as they came; nil if they were left out.
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
    document["recording"] = .int(1)
    document["recipe"] = .string(recipe)
    document["at"] = .string("\(at)")
    if !steps.isEmpty { document["steps"] = .map(ValueMap(steps.map { ($0.path, .string("\($0.now)")) })) }
    document["connections"] = .map(connections)
    document["exchanges"] = .list(exchanges.map(\.value))
    return ((try? JSON.text(.map(document), .pretty)) ?? "{}") + "\n"
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
    guard root["recording"]?.int == 1 else {
      throw fault("this is no recording that this version of errand knows; 'run --record' makes one", at: root)
    }
    guard let at = root["at"]?.string.flatMap({ Timestamp($0) }), let exchanges = root["exchanges"]?.list else {
      throw fault("a recording needs 'at', an instant, and 'exchanges', a list", at: root)
    }
    recipe = root["recipe"]?.string ?? ""
    self.at = at
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
        // A field that came several times is one with all values (RFC 9110, section 5.3).
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
  /// What `now` is of the steps of a run that was begun when the recorded one was; the clock is moved there.
  package func instants(on clock: StandingTime) -> @Sendable (String) -> Timestamp? {
    let instants = Dictionary(steps.map { ($0.path, $0.now) }) { first, _ in first }
    return { path in
      guard let now = instants[path] else { return nil }
      if let span = now.span(since: clock.now()), span > .zero { clock.advance(by: span) }
      return now
    }
  }
}
