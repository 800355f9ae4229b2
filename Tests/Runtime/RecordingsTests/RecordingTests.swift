import ActionKit
import Basics
import HTTPClient
import Runs
import Testing

@testable import Recordings

/// Recording exchanges, and answering from the recording.
@Suite struct RecordingTests {
  private static let at = Timestamp("2026-11-20T09:30:00Z") ?? .earliest

  /// Sends requests through a recorder, against a script.
  private static func recorded(
    _ requests: [HTTPRequest], _ steps: [ScriptedTransport.Step], secrets: [String] = []
  ) async -> Recording {
    let recorder = Recorder()
    recorder.note("site", settings: .object(["baseURL": .string("https://a.example")]), secrets: secrets)
    let transport = recorder.transport(of: "site", over: ScriptedTransport(steps))
    for request in requests { _ = try? await transport.send(request, into: nil) }
    recorder.begin(at: at)
    recorder.note(folder: "/srv/site")
    recorder.note(steps: [("b/c", at), ("a", at)])
    return recorder.recording(of: "r")
  }

  private static func get(_ url: String, secret: Set<String> = []) -> HTTPRequest {
    HTTPRequest("GET", url, redactedParameters: secret)
  }

  @Test func `the query of an address in an answer isn't recorded, and the address can be replayed`()
    async throws
  {
    var signed = Self.get("https://b.example/f.zip?sig=c2lnbmF0dXJlLXY0&se=2026")
    signed.hidesQuery = true
    let recording = await Self.recorded(
      [Self.get("https://a.example/url"), Self.get("https://a.example/f"), signed],
      [
        .on("GET", "https://a.example/url", #"{"url":"https://b.example/f.zip?sig=c2lnbmF0dXJlLXY0&se=2026"}"#),
        .on(
          "GET", "https://a.example/f", status: 302,
          headers: ["Location": "https://b.example/f.zip?sig=c2lnbmF0dXJlLXY0&se=2026"]),
        .on("GET", signed.url, status: 403, "c2lnbmF0dXJlLXY0 is over"),
      ])
    let text = recording.text
    #expect(!text.contains("c2lnbmF0dXJlLXY0") && !text.contains("se=2026"))
    let address = "https://b.example/f.zip?***"
    #expect(text.ranges(of: address).count == 3)
    let replay = Replay(recording, secrets: [], folder: "/tmp")
    var played = Self.get(address)
    played.hidesQuery = true
    #expect(try await replay.transport(of: "site").send(played, into: nil).status == 403)
  }

  @Test func `a form with a secret is the same with another one, whose boundary differs`() async throws {
    func form(_ secret: String, _ boundary: String) -> HTTPRequest {
      let lines = ["--\(boundary)", "Content-Disposition: form-data; name=\"a\"", "", secret, "--\(boundary)--", ""]
      return HTTPRequest("POST", "https://a.example/f", body: Array(lines.joined(separator: "\r\n").utf8))
    }
    let recording = await Self.recorded(
      [form("hunter22", "errand-1")], [.on("POST", "https://a.example/f", "{}")], secrets: ["hunter22"])
    let replay = Replay(recording, secrets: ["made-up"], folder: "/tmp")
    #expect(try await replay.transport(of: "site").send(form("made-up", "errand-2"), into: nil).status == 200)
  }

  @Test func `each read of a file finds what it found in the run, and the folder's own files come first`() async throws
  {
    let recorder = Recorder()
    recorder.begin(at: Self.at)
    let missing = ActionError(.notFound, "There is no such file.")
    func read(
      _ path: String, from interceptor: any FileInterceptor, _ result: Result<[UInt8], ActionError>
    ) async -> String {
      do throws(ActionError) {
        let bytes = try await interceptor.read(path) { () async throws(ActionError) in try result.get() }
        return String(decoding: bytes, as: UTF8.self)
      } catch {
        return "\(error.kind)"
      }
    }
    let found: [Result<[UInt8], ActionError>] = [
      .failure(missing), .success(Array("a".utf8)), .success(Array("a".utf8)), .success([]), .success([0xFF]),
    ]
    for result in found { _ = await read("/srv/./site/in.txt", from: recorder, result) }
    let text = recorder.recording(of: "r").text
    #expect(text.contains(#""reads": 2"#))
    let recording = try Recording(reading: Source(name: "r.json", text: text))
    let replay = Replay(recording, secrets: [], folder: "/tmp/replay")
    var replayed: [String] = []
    for _ in 0...found.count {
      replayed.append(await read("/tmp/replay/srv/site/in.txt", from: replay, .failure(missing)))
    }
    #expect(replayed == ["notFound", "a", "a", "", "\u{FFFD}", "\u{FFFD}"])
    #expect(await read("/tmp/replay/srv/site/in.txt", from: replay, .success(Array("own".utf8))) == "own")
    #expect(await read("/tmp/replay/srv/site/other", from: replay, .failure(missing)) == "notFound")
  }

  @Test func `a recording can be read by people and by programs`() async throws {
    let recording = await Self.recorded(
      [
        Self.get("https://a.example/list?page=1"),
        HTTPRequest(
          "POST", "https://a.example/form", headers: ["Content-Type": "application/x-www-form-urlencoded"],
          body: Array("user=ana&pin=4711+4711".utf8), redactedParameters: ["PIN"]),
        Self.get("https://a.example/zip"), Self.get("https://a.example/gone"),
      ],
      [
        .on("GET", "https://a.example/list?page=1", headers: ["Content-Type": "application/json"], #"{"a":[1,2.5]}"#),
        .on("POST", "https://a.example/form", status: 201, headers: ["Set-Cookie": "s=1"], "made for 4711 4711\n"),
        .on("GET", "https://a.example/zip") { _ in HTTPResponse(body: [0x50, 0xFF, 0x00]) },
        .on("GET", "https://a.example/gone", fail: HTTPError(.timeout(.attempt), "too late", sent: .maybe)),
      ])
    let wanted = """
      {
        "recording": 2,
        "recipe": "r",
        "at": "2026-11-20T09:30:00Z",
        "folder": "/srv/site",
        "steps": {
          "b/c": "2026-11-20T09:30:00Z",
          "a": "2026-11-20T09:30:00Z"
        },
        "connections": {
          "site": {
            "baseURL": "https://a.example"
          }
        },
        "exchanges": [
          {
            "connection": "site",
            "request": {
              "method": "GET",
              "url": "https://a.example/list?page=1"
            },
            "response": {
              "status": 200,
              "headers": {
                "Content-Type": "application/json"
              },
              "json": {
                "a": [
                  1,
                  2.5
                ]
              }
            }
          },
          {
            "connection": "site",
            "request": {
              "method": "POST",
              "url": "https://a.example/form",
              "text": "user=ana&pin=%2A%2A%2A"
            },
            "response": {
              "status": 201,
              "headers": {},
              "text": "made for •••\\n"
            }
          },
          {
            "connection": "site",
            "request": {
              "method": "GET",
              "url": "https://a.example/zip"
            },
            "response": {
              "status": 200,
              "headers": {},
              "base64": "UP8A"
            }
          },
          {
            "connection": "site",
            "request": {
              "method": "GET",
              "url": "https://a.example/gone"
            },
            "error": {
              "kind": "attemptTimeout",
              "message": "too late",
              "sent": "maybe"
            }
          }
        ],
        "calls": []
      }

      """
    #expect(recording.text == wanted)
    #expect(try Recording(reading: Source(name: "r.json", text: recording.text)).text == wanted)
  }

  @Test(arguments: [
    "hunter2 & more", "p@ss/wörd\"quoted\"", "line\nbreak", "plainsecret",
  ])
  func `no secret is recorded in any form`(_ secret: String) async throws {
    let encoded = PercentEncoding.encode(secret)
    let quoted = JSON.quoted(secret)
    let base64 = Array(secret.utf8).base64
    let token = "session-of-ana"
    let recording = await Self.recorded(
      [
        HTTPRequest(
          "POST", "https://ana:\(encoded)@a.example/log/\(encoded)?key=\(encoded)&t=\(token)",
          headers: ["Authorization": "Bearer \(token)", "Content-Type": "application/json"],
          body: Array("{\"a\":\(quoted),\"b\":[\"\(base64)\"]}".utf8), redactedParameters: ["key", "T"]),
        Self.get("https://a.example/next"),
      ],
      [
        .on(
          "POST", "https://ana…", headers: ["Authorization": "again \(token)", "X-Seen": base64],
          "{\"echo\":\(quoted),\"token\":\"\(token)\"}"),
        .on("GET", "https://a.example/next", "\(secret) \(encoded.replacing("%20", with: "+")) \(base64)"),
      ], secrets: [secret])
    let text = recording.text
    #expect(recording.tally == "2 exchanges are")
    for form in [secret, encoded, String(quoted.dropFirst().dropLast()), base64, token] {
      #expect(!text.contains(form), "\(form) is in \(text)")
      // As a text inside a text.
      #expect(!text.contains(String(JSON.quoted(form).dropFirst().dropLast())))
    }
  }

  @Test func `a secret path isn't recorded, and a placeholder takes its place`() async throws {
    func post(_ path: String) -> HTTPRequest {
      HTTPRequest("POST", "https://chat.example\(path)", body: Array("{}".utf8), hidesPath: true)
    }
    let recording = await Self.recorded(
      [post("/services/T0?k=s3cret")],
      [.on("POST", "https://chat.example/…", "unknown: /services/T0?k=s3cret")])
    #expect(!recording.text.contains("services") && !recording.text.contains("s3cret"), "\(recording.text)")
    #expect(recording.text.contains(#""url": "https://chat.example/…""#), "\(recording.text)")
    let response = try await Replay(recording, secrets: [], folder: "/nowhere").transport(of: "site").send(
      post("/made-up"), into: nil)
    #expect(Self.text(response) == "unknown: •••")
  }

  @Test func `a body that isn't text is omitted if it holds a secret`() async throws {
    let body = [0xFF] + Array("plainsecret".utf8) + [0xFE]
    let recording = await Self.recorded(
      [Self.get("https://a.example/x")], [.on("GET", "https://a.example/x") { _ in HTTPResponse(body: body) }],
      secrets: ["plainsecret"])
    #expect(recording.text.contains("\"omitted\": true"))
    let transport = Replay(recording, secrets: [], folder: "/nowhere").transport(of: "site")
    await #expect {
      try await transport.send(Self.get("https://a.example/x"), into: nil)
    } throws: { error in
      (error as? HTTPError)?.message
        == "The recording left the body of this answer out, because of its size or a secret."
    }
  }

  // MARK: Answering

  private static func played() async throws -> Replay {
    let recording = await recorded(
      [
        get("https://a.example/list?a=1&b=2&key=secret", secret: ["key"]),
        HTTPRequest("PUT", "https://a.example/item", body: Array(#"{"x":1,"y":[true]}"#.utf8)),
        get("https://a.example/again"), get("https://a.example/again"),
      ],
      [
        .on("GET", "https://a.example/list…", "list"), .on("PUT", "https://a.example/item", status: 204),
        .on("GET", "https://a.example/again", "first"), .on("GET", "https://a.example/again", "second"),
      ])
    return Replay(try Recording(reading: Source(name: "r.json", text: recording.text)), secrets: [], folder: "/nowhere")
  }

  private static func text(_ response: HTTPResponse) -> String { String(decoding: response.body, as: UTF8.self) }

  @Test func `a request with the same meaning is answered, in any order of its parts`() async throws {
    let replay = try await Self.played()
    let transport = replay.transport(of: "site")
    let put = HTTPRequest("PUT", "https://a.example/item", body: Array("{ \"y\": [true], \"x\": 1 }".utf8))
    #expect(try await transport.send(put, into: nil).status == 204)
    let list = Self.get("https://a.example/list?key=other&b=2&a=1", secret: ["key"])
    #expect(Self.text(try await transport.send(list, into: nil)) == "list")
    #expect(replay.unplayed == ["GET https://a.example/again", "GET https://a.example/again"])
    for wanted in ["first", "second"] {
      #expect(Self.text(try await transport.send(Self.get("https://a.example/again"), into: nil)) == wanted)
    }
    #expect(replay.unplayed == [])
  }

  @Test(arguments: [
    (
      get("https://a.example/list?a=1&b=3&key=x", secret: ["key"]),
      "The recording holds no request GET https://a.example/list?a=1&b=3&key=•••; the nearest is "
        + "GET https://a.example/list?a=1&b=2&key=•••: 'b=3' is not recorded, 'b=2' is missing."
    ),
    (
      HTTPRequest("PUT", "https://a.example/item", body: Array(#"{"x":"1","y":[true],"z":null}"#.utf8)),
      "The recording holds no request PUT https://a.example/item; the nearest is PUT https://a.example/item: "
        + "body.x is \"1\" instead of 1."
    ),
    (
      HTTPRequest("DELETE", "https://a.example/again"),
      "The recording holds no request DELETE https://a.example/again; the nearest is GET https://a.example/again: "
        + "DELETE instead of GET."
    ),
  ])
  func `a request that differs in meaning is refused, with the difference`(_ request: HTTPRequest, _ wanted: String)
    async throws
  {
    let transport = try await Self.played().transport(of: "site")
    await #expect {
      try await transport.send(request, into: nil)
    } throws: { error in
      let error = error as? HTTPError
      #expect(error?.message == wanted)
      return error?.kind == .invalidRequest && error?.sent == .nothing
    }
  }

  @Test func `an exchange is replayed once, and only for its connection`() async throws {
    let replay = try await Self.played()
    let again = Self.get("https://a.example/list?a=1&b=2&key=x", secret: ["key"])
    await #expect {
      try await replay.transport(of: "other").send(again, into: nil)
    } throws: { error in
      (error as? HTTPError)?.message
        == "The recording holds no request GET https://a.example/list?a=1&b=2&key=•••; all that it holds of 'other' "
        + "has been replayed."
    }
  }

  // MARK: Calls

  struct Letter: FieldSet {
    @Field("Whom it is for.") var to: String
    @Field("What it says.") var text: String?
    @Field("What opens it.") var key: Secret<String>?
    @Field("What is in it.") var picture: [UInt8]?
  }

  private static func letter(
    _ text: String, to: String = "ana", key: String = "s3cret-key", picture: [UInt8]? = nil, isLocal: Bool = false
  ) -> ServiceCall {
    var input = ValueMap([("to", .string(to)), ("text", .string(text)), ("key", .string(key))])
    input["picture"] = picture.map { .bytes($0) }
    return ServiceCall(
      connection: "post", action: "post.send", part: .run, input: .map(input), schema: Letter.schema, isLocal: isLocal)
  }

  private static func recorded(
    _ calls: [(ServiceCall, Result<Value, ActionError>)], secrets: [String] = []
  ) async throws -> Recording {
    let recorder = Recorder()
    recorder.note("post", settings: .map(ValueMap()), secrets: secrets)
    for (call, result) in calls { _ = await recorder.carry(call) { result } }
    recorder.begin(at: at)
    return try Recording(reading: Source(name: "r.json", text: recorder.recording(of: "r").text))
  }

  /// The recorded answer of a call, which isn't made.
  private static func answer(_ call: ServiceCall, _ replay: Replay) async -> Result<Value, ActionError> {
    await replay.carry(call) {
      Issue.record("it was made")
      return .success(.null)
    }
  }

  @Test func `a call is recorded without secrets, and replayed exactly`() async throws {
    let output = Value.object([
      "at": .timestamp(Self.at), "took": .duration(.seconds(2)), "picture": .bytes([1, 255]), "many": .double(2),
      "list": .list([.null, .string("opened with s3cret-key")]), "none": Value(.optional(nil)),
    ])
    let failure = ActionError(
      .rateLimited, "slow down, hunter2-hunter2", detail: "429", status: 429, retryAfter: .seconds(3), effect: .unknown)
    let recording = try await Self.recorded(
      [(Self.letter("hunter2-hunter2"), .failure(failure)), (Self.letter("hunter2-hunter2"), .success(output))],
      secrets: ["hunter2-hunter2"])
    #expect(recording.tally == "2 calls are")
    #expect(!recording.text.contains("hunter2"), "\(recording.text)")
    #expect(!recording.text.contains("s3cret"), "\(recording.text)")
    // The secrets differ now.
    let replay = Replay(recording, secrets: ["made-up-token"], folder: "/nowhere")
    #expect(replay.unplayed == ["post.send", "post.send"])
    guard case .failure(let first) = await Self.answer(Self.letter("made-up-token", key: "made-up"), replay) else {
      Issue.record("the first one failed")
      return
    }
    #expect(first.kind == .rateLimited && first.message == "slow down, •••" && first.detail == "429")
    #expect(first.status == 429 && first.retryAfter == .seconds(3) && first.effect == .unknown && first.retryable)
    let second = try await Self.answer(Self.letter("made-up-token", key: "made-up"), replay).get()
    #expect(
      second
        == .object([
          "at": .timestamp(Self.at), "took": .duration(.seconds(2)), "picture": .bytes([1, 255]), "many": .double(2),
          "list": .list([.null, .string("opened with •••")]), "none": Value(.optional(nil)),
        ]))
    #expect(replay.unplayed == [])
  }

  @Test func `a call of another meaning is refused, with the difference`() async throws {
    let replay = Replay(
      try await Self.recorded([(Self.letter("one"), .success(.int(1)))]), secrets: [], folder: "/nowhere")
    func message(_ call: ServiceCall) async -> String? {
      guard case .failure(let error) = await Self.answer(call, replay) else { return nil }
      #expect(error.kind == .validation && error.effect == ActionError.Effect.none && !error.retryable)
      return error.message
    }
    #expect(
      await message(Self.letter("two", to: "ben"))
        == "The recording holds no such call of post.send; in the nearest one "
        + "input.to is \"ben\" instead of \"ana\", input.text is \"two\" instead of \"one\".")
    #expect(try await Self.answer(Self.letter("one"), replay).get() == .int(1))
    #expect(
      await message(Self.letter("one"))
        == "The recording holds no such call of post.send; all that it holds of 'post' has been replayed.")
  }

  @Test(arguments: [
    ("a ••• b", "a s3 b", true), ("•••", "Basic •••", true), ("a •••", "a ", true), ("a •••", "b s3", false),
    ("••• b ••• c", "x b y b z c", true), ("••• b •••", "x c y", false), ("a", "a", false), ("ab•••bc", "abc", false),
  ])
  func `a text equals another one except for what was taken out of it`(
    _ pattern: String, _ text: String, _ isSame: Bool
  ) {
    #expect(RequestMeaning.isSame(text, as: pattern) == isSame)
  }

  @Test func `an output whose bytes hold a secret is omitted`() async throws {
    let picture = [0xFF] + Array("plainsecret".utf8)
    let recording = try await Self.recorded(
      [(Self.letter("one", picture: picture), .success(.object(["back": .bytes(picture)])))], secrets: ["plainsecret"])
    #expect(recording.text.contains(#""input": "(left out)""#) && recording.text.contains(#""omitted": true"#))
    #expect(!recording.text.contains(Array(picture).base64))
    guard
      case .failure(let error) = await Self.answer(
        Self.letter("one", picture: picture), Replay(recording, secrets: ["plainsecret"], folder: "/nowhere"))
    else {
      Issue.record("it was answered")
      return
    }
    #expect(error.message == "The recording left the output of this call out, because of its size or a secret.")
  }

  @Test func `a recording of the earlier form answers no call, and lets the state be used`() async throws {
    let text = #"{"recording":1,"recipe":"r","at":"2026-11-20T09:30:00Z","connections":{},"exchanges":[]}"#
    let replay = Replay(try Recording(reading: Source(name: "r.json", text: text)), secrets: [], folder: "/nowhere")
    guard case .failure(let error) = await Self.answer(Self.letter("one"), replay) else {
      Issue.record("it was answered")
      return
    }
    #expect(
      error.message == "The recording has an older format, which holds no calls of post.send; record the run again.")
    #expect(try await replay.carry(Self.letter("one", isLocal: true)) { .success(.int(2)) }.get() == .int(2))
  }

  @Test func `a snapshot asks once, until something fails`() async throws {
    let script = ScriptedTransport([
      .on("GET", "https://a.example/list", "one"), .on("GET", "https://a.example/gone", status: 404, "gone"),
      .on("GET", "https://a.example/list", "two"), .on("GET", "https://a.example/list", "three"),
    ])
    let snapshot = Snapshot()
    let site = snapshot.transport(of: "site", over: script)
    let list = Self.get("https://a.example/list")
    for _ in 0..<3 { #expect(Self.text(try await site.send(list, into: nil)) == "one") }
    #expect(Self.text(try await site.send(Self.get("https://a.example/gone"), into: nil)) == "gone")
    #expect(Self.text(try await site.send(list, into: nil)) == "two")
    #expect(Self.text(try await snapshot.transport(of: "other", over: script).send(list, into: nil)) == "three")
    #expect(Self.text(try await site.send(list, into: nil)) == "two")
  }

  @Test func `a download is recorded with its body, and comes from the recording`() async throws {
    let recorder = Recorder()
    let bytes: [UInt8] = [1, 2, 3, 255]
    let script = ScriptedTransport([.on("GET", "https://a.example/f") { _ in HTTPResponse(body: bytes) }])
    let request = Self.get("https://a.example/f")
    let path = "/tmp/errand-recording-\(UInt64.random(in: 0 ... .max))"
    let first = HTTPClient(transport: recorder.transport(of: "site", over: script))
    #expect(try await first.download(request, to: path).file?.bytes == 4)
    try Files.remove(path)
    let replay = Replay(recorder.recording(of: "r"), secrets: [], folder: "/nowhere")
    let second = HTTPClient(transport: replay.transport(of: "site"))
    #expect(try await second.download(request, to: path).file?.bytes == 4)
    #expect(try Files.read(path) == bytes)
    try Files.remove(path)
  }

  @Test(arguments: [
    ("{", "r.json:1:2: error: "),
    ("{}", "r.json:1:1: error: this isn't a recording that this version of errand can read"),
    (#"{"recording":1}"#, "r.json:1:1: error: a recording needs 'at', an instant, and 'exchanges', a list"),
    (
      #"{"recording":1,"at":"2026-11-20T09:30:00Z","steps":{"a":1},"exchanges":[]}"#,
      "r.json:1:57: error: 'steps' takes an instant for each step"
    ),
    (
      #"{"recording":1,"at":"2026-11-20T09:30:00Z","exchanges":[{}]}"#,
      "r.json:1:57: error: an exchange needs 'connection', 'request' with 'method' and 'url'"
    ),
    (
      #"{"recording":2,"at":"2026-11-20T09:30:00Z","exchanges":[],"calls":[{"input":{},"output":1}]}"#,
      "r.json:1:68: error: a call needs 'connection', 'action', 'input', and 'output', 'error' or 'omitted'"
    ),
    (#"{"recording":3}"#, "r.json:1:1: error: this isn't a recording that this version of errand can read"),
  ])
  func `an invalid recording is refused with the place`(_ text: String, _ wanted: String) {
    do throws(Diagnostics) {
      _ = try Recording(reading: Source(name: "r.json", text: text))
      Issue.record("it was read")
    } catch {
      #expect(error.rendered().hasPrefix(wanted), "\(error.rendered())")
    }
  }
}
