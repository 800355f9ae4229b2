import AgentPages
import Basics
import Foundation
import HTTPClient
import Testing

@testable import errand

/// Links that carry the right to decide, as mail programs, scanners and people use them.
@Suite(.timeLimit(.minutes(20))) struct LinkTests {
  /// Tells ann and bob by files in the folder.
  static let ask = """
    summary: Writes each student's average.
    steps:
      - id: decision
        approve:
          prompt: "Write 2 averages?\\nAda: 61.0 → 64.5\\nBen: none → 50.0"
          by: [ann, bob]
          timeout: 2d
          yes: Writes them into the markbook.
          no: Leaves the markbook as it is.
          link: { for: 1d }
          tell:
            - forEach: ${{ question.links }}
              as: person
              steps:
                - uses: file.write
                  with: { path: "mail-${{ person.name }}.txt", text: "${{ question.prompt }}\\n${{ person.link }}" }
      - id: mail
        uses: file.write
        with: { path: done.txt, text: "${{ steps.decision.by }} ${{ steps.decision.via }}" }
    """
  static let anyone = """
    steps:
      - id: room
        approve: { prompt: "Is B12 free?", link: true, onReject: continue }
      - { uses: file.write, with: { path: said.txt, text: "${{ steps.room.approved }} ${{ steps.room.by }}" } }
    """

  /// A person who has nothing but a link.
  struct Stranger {
    let bench: APITests.Bench
    let path: String

    init(_ bench: APITests.Bench, _ link: String) {
      self.bench = bench
      path = String(link.trimmingCharacters(in: .whitespacesAndNewlines).dropFirst(bench.url.count))
    }

    var text: String { String(path.dropFirst("/d/".count)) }

    func send(
      _ method: String, _ headers: HTTPHeaders = [:], _ form: HTTPQuery? = nil, path: String? = nil
    ) async throws -> (status: Int, text: String, headers: HTTPHeaders) {
      var headers = headers
      if form != nil { headers["Content-Type"] = "application/x-www-form-urlencoded" }
      let answer = try await HTTPClient().send(
        HTTPRequest(
          method, bench.url + (path ?? self.path), headers: headers, body: form.map { Array($0.encoded.utf8) },
          redirects: .none))
      return (answer.status, String(decoding: answer.body, as: UTF8.self), answer.headers)
    }

    /// The digest of the question that the page shows.
    func question() async throws -> String {
      let page = try await send("GET").text
      let rest = page.components(separatedBy: "name=\"question\" value=\"").last ?? ""
      return String(rest.prefix { $0 != "\"" })
    }

    func decide(
      _ choice: String, _ more: [(String, String)] = [], question: String? = nil, origin: String? = nil
    ) async throws -> (status: Int, text: String, headers: HTTPHeaders) {
      let digest = if let question { question } else { try await self.question() }
      let items = [("choice", choice), ("question", digest)] + more
      let headers: HTTPHeaders = origin == "" ? [:] : ["Origin": origin ?? bench.url]
      return try await send("POST", headers, HTTPQuery(items.map { .init($0.0, $0.1) }))
    }
  }

  /// Starts the recipe `ask`; gives the run and the links that were sent.
  private static func asked(_ bench: APITests.Bench) async throws -> (run: String, ann: Stranger, bob: Stranger) {
    let started = try await bench.program.call("runs", "start", "ask")
    #expect(started.code == 0, "\(started)")
    let run = started.out.trimmingCharacters(in: .newlines)
    _ = await bench.agent.line(with: "\(run) waits")
    func link(_ name: String) throws -> Stranger {
      let mail = try bench.program.read("mail-\(name).txt")
      return Stranger(bench, try #require(mail.split(separator: "\n").last.map { String($0) }))
    }
    return (run, try link("ann"), try link("bob"))
  }

  /// The journal of the state, whose lines nothing but a decision adds to.
  private static func journal(_ bench: APITests.Bench) throws -> Int {
    let state = bench.program.folder.appending(path: ".errand")
    let names = try FileManager.default.contentsOfDirectory(atPath: state.path).filter { $0.hasPrefix("journal-") }
    return try names.reduce(0) { try $0 + Data(contentsOf: state.appending(path: $1)).count }
  }

  @Test func `fetching a link decides and writes nothing, however often`() async throws {
    let bench = try await APITests.Bench(["ask": Self.ask])
    let (run, ann, _) = try await Self.asked(bench)
    let before = try Self.journal(bench)
    for number in 0..<60 {
      let method = number % 2 == 0 ? "GET" : "HEAD"
      let answer = try await ann.send(method, ["User-Agent": "Link scanner", "Accept": "*/*"])
      #expect(answer.status == 200)
      #expect(answer.headers["Cache-Control"] == "no-store")
      #expect(answer.headers["X-Robots-Tag"] == "noindex, nofollow")
      #expect(answer.headers["Referrer-Policy"] == "same-origin")
      #expect(answer.headers["Content-Encoding"] == nil)
      #expect(answer.headers["Set-Cookie"] == nil)
    }
    // A person comes from a mailbox on another site; another page can't make the browser send a form.
    let link: HTTPHeaders = [
      "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document",
    ]
    let page = try await ann.send("GET", link)
    #expect(page.status == 200 && page.text.utf8.count <= 12 << 10)
    for part in [
      "<title>Write 2 averages?</title>", "asks you, ann", "<em>Writes each student&#39;s average.</em>",
      "<h1>Write 2 averages?</h1>", "<h2>2 changes</h2>",
      "<strong>If you approve:</strong> Writes them into the markbook.",
      "Then: <code>mail (file.write)</code>.",
      "<strong>If you reject:</strong> Leaves the markbook as it is. The run ends; nothing more is done.",
      "<strong>If nobody decides</strong> by ", "the run ends as timed out.", "method=\"post\"",
    ] { #expect(page.text.contains(part), "\(part): \(page.text)") }
    // Nothing but the question: no run, no other link, no way to another page, no focus on a button.
    for part in [run, ann.text, "edl_", "/runs/", "/login", "<nav", "autofocus", "prefetch", "htmx.js", "bob"] {
      #expect(!page.text.contains(part), "\(part): \(page.text)")
    }
    for (headers, status) in [
      (["Origin": "https://evil.example"], 403), (["Origin": "null"], 403), ([:], 403),
      (["Sec-Fetch-Site": "cross-site", "Origin": bench.url], 403),
    ] as [(HTTPHeaders, Int)] {
      let answer = try await ann.send("POST", headers, ["choice": "approve"])
      #expect(answer.status == status && !answer.text.contains(ann.text), "\(headers): \(answer)")
    }
    #expect(try await ann.send("PUT").status == 405)
    #expect(try Self.journal(bench) == before)
    let shown = try await bench.program.call("runs", "show", run, "--json")
    #expect(shown.json["status"]?.string == "waiting")
    await bench.end()
  }

  @Test func `a decision by a link is recorded once, and said ever after`() async throws {
    let bench = try await APITests.Bench(["ask": Self.ask])
    let (run, ann, bob) = try await Self.asked(bench)
    let question = try await ann.question()
    // Another question than the one that the page showed.
    let other = try await ann.decide("approve", question: "0011")
    #expect(other.status == 409 && other.text.contains("Another question is asked now."))
    #expect(try await ann.decide("maybe").status == 422)
    let decided = try await ann.decide("approve", [("comment", "as agreed")])
    #expect(decided.status == 200 && decided.text.contains("<h1>Your decision is recorded.</h1>"), "\(decided)")
    #expect(decided.text.contains("You approved on ") && decided.text.contains("You can close this page."))
    #expect(!decided.text.contains("/runs/"))
    // A double click, the button Back, and a look at the link later.
    #expect(try await ann.decide("approve", question: question).text.contains("Your decision is recorded."))
    #expect(try await ann.send("GET").text.contains("Your decision is recorded."))
    // The same person can't take it back, and the other is told who was faster.
    let back = try await ann.decide("reject", question: question)
    #expect(back.status == 409 && back.text.contains("ann approved this by link on "))
    let late = try await bob.decide("reject", question: question)
    #expect(late.status == 409 && late.text.contains("ann approved this by link on "))
    #expect(try await bob.send("GET").text.contains("ann approved this by link on "))
    let token = try await bench.token("bob", "--scope", "approve", "--scope", "data")
    let asked = try await bench.send("POST", "/api/v1/runs/\(run)/decisions", token, #"{"approved":false}"#)
    #expect(asked.status == 409)
    _ = try await bench.program.call("runs", "follow", run)
    #expect(try bench.program.read("done.txt") == "ann link")
    let why = try await bench.program.call("why", run).out
    #expect(why.contains("ann approved 'decision' by link on "), "\(why)")
    let steps = try await bench.send("GET", "/api/v1/runs/\(run)/steps", token).json["items"]?.list ?? []
    let decision = steps.first { $0["path"]?.string == "decision" }?["decision"]
    #expect(decision?["by"]?.string == "ann" && decision?["via"]?.string == "link", "\(steps)")
    #expect(decision?["comment"]?.string == "as agreed")
    #expect(try await ann.send("GET").text.contains("Your decision is recorded."))
    await bench.end()
  }

  @Test func `of two people at the same moment, one decides and the other is told`() async throws {
    let bench = try await APITests.Bench(["ask": Self.ask])
    for _ in 0..<8 {
      let (run, ann, bob) = try await Self.asked(bench)
      let question = try await ann.question()
      async let first = ann.decide("approve", question: question)
      async let second = bob.decide("approve", question: question)
      let answers = try await [(first, "ann"), (second, "bob")]
      #expect(answers.map(\.0.status).sorted() == [200, 409])
      let winner = answers.first { $0.0.status == 200 }?.1 ?? ""
      let loser = answers.first { $0.0.status == 409 }?.0.text ?? ""
      #expect(loser.contains("\(winner) approved this by link on "), "\(loser)")
      _ = try await bench.program.call("runs", "follow", run)
      #expect(try bench.program.read("done.txt") == "\(winner) link")
    }
    await bench.end()
  }

  @Test func `a link that is ended, changed or unknown is answered as one that never was`() async throws {
    let bench = try await APITests.Bench(["ask": Self.ask])
    let (run, ann, bob) = try await Self.asked(bench)
    let changed = Stranger(bench, bench.url + String(ann.path.dropLast()) + (ann.path.hasSuffix("A") ? "B" : "A"))
    let unknown = try await changed.send("GET")
    #expect(unknown.status == 404 && unknown.text.contains("This link isn&#39;t valid"), "\(unknown)")
    func expectNone(_ stranger: Stranger, _ comment: Comment) async throws {
      let answer = try await stranger.send("GET")
      #expect(answer.status == 404 && answer.text == unknown.text, comment)
      #expect(try await stranger.decide("approve", question: "").status == 404, comment)
    }
    try await expectNone(changed, "a changed character")
    for path in ["/d/", "/d/edl_", "/d/\(ann.text)x", "/d/\(ann.text)/", "/d/\(ann.text.uppercased())", "/d/..%2f"] {
      #expect(try await ann.send("GET", path: path).text == unknown.text, "\(path)")
    }
    #expect(try await bench.program.call("runs", "unlink", run, "--for", "ann").code == 0)
    try await expectNone(ann, "unlinked")
    #expect(try await bob.send("GET").status == 200)
    // A link that is made afterwards is another one, and asking again gives the same.
    let made = try await bench.program.call("runs", "link", run, "--for", "ann")
    #expect(made.code == 0 && made.out.hasPrefix("\(bench.url)/d/edl_") && !made.out.contains(ann.text), "\(made)")
    #expect(try await bench.program.call("runs", "link", run, "decision", "--for", "ann").out == made.out)
    #expect(try await Stranger(bench, made.out).send("GET").text.contains("asks you, ann"))
    try await expectNone(ann, "unlinked, and made again")
    for (arguments, words) in [
      (["--for", "eve"], "asks ann, bob, and not 'eve'"), ([], "name one of them with --for"),
    ] {
      let refused = try await bench.program.call(["runs", "link", run] + arguments)
      #expect(refused.code != 0 && refused.error.contains(words), "\(refused)")
    }
    let token = try await bench.token("ops", "--scope", "read", "--scope", "steer")
    let ended = try await bench.send("POST", "/api/v1/runs/\(run)/unlink", token, #"{"for":"bob"}"#)
    #expect(ended.status == 200 && ended.json["ended"]?.int == 1)
    try await expectNone(bob, "unlinked over the API")
    let looking = try await bench.token("eyes", "--scope", "read")
    #expect(try await bench.send("POST", "/api/v1/runs/\(run)/unlink", looking, "{}").status == 403)
    #expect(try await bench.program.call("runs", "unlink", "--all").code == 0)
    try await expectNone(Stranger(bench, made.out), "all are unlinked")
    #expect(try await bench.program.call("runs", "unlink").code == 64)
    // The question is open, and can be decided otherwise.
    #expect(try await bench.program.call("runs", "approve", run, "--by", "ann").code == 0)
    try await expectNone(ann, "decided otherwise")
    await bench.end()
  }

  @Test func `an address that tries many links waits a minute, and its own link works`() async throws {
    let bench = try await APITests.Bench(["ask": Self.ask])
    let (_, ann, _) = try await Self.asked(bench)
    var statuses: [Int] = []
    for number in 0..<33 {
      let text = "edl_" + String(repeating: "x", count: 30) + String(format: "%02d", number)
      statuses.append(try await ann.send("GET", path: "/d/\(text)").status)
    }
    #expect(statuses == [Int](repeating: 404, count: 30) + [429, 429, 429])
    #expect(try await ann.send("GET").status == 200)
    await bench.end()
  }

  @Test func `anyone who decides says their name, which is no token's`() async throws {
    let bench = try await APITests.Bench(["room": Self.anyone])
    let started = try await bench.program.call("runs", "start", "room")
    let run = started.out.trimmingCharacters(in: .newlines)
    _ = await bench.agent.line(with: "\(run) waits")
    // A recipe that shows the question's address has made no link.
    let shown = try await bench.program.call("runs", "show", run)
    #expect(shown.out.contains("/approvals/\(run)/room") && !shown.out.contains("/d/"))
    let stranger = Stranger(bench, try await bench.program.call("runs", "link", run).out)
    let page = try await stranger.send("GET").text
    #expect(page.contains("name=\"name\"") && page.contains("<strong>If you reject:</strong> The run continues."))
    for name in ["", "   ", String(repeating: "x", count: 81), "a\nb"] {
      let refused = try await stranger.decide("approve", [("name", name), ("comment", "kept <b>")])
      #expect(refused.status == 422 && refused.text.contains("kept &lt;b&gt;</textarea>"), "\(name)")
    }
    let long = try await stranger.decide(
      "approve", [("name", "Ann"), ("comment", String(repeating: "x", count: 4001))])
    #expect(long.status == 422)
    let decided = try await stranger.decide("reject", [("name", " Ann O'Neil ")])
    #expect(decided.status == 200 && decided.text.contains("You rejected on "), "\(decided)")
    _ = try await bench.program.call("runs", "follow", run)
    #expect(try bench.program.read("said.txt") == "false Ann O'Neil (by link)")
    let again = try await stranger.decide("reject", [("name", "Ann O'Neil")], question: "")
    #expect(again.status == 200 && again.text.contains("You rejected on "))
    // The link is anyone's: whoever comes later is told who decided, also with the same choice.
    let other = try await stranger.decide("reject", [("name", "Somebody else")], question: "")
    #expect(other.status == 409 && other.text.contains("(by link) rejected this"), "\(other.text)")
    let later = try await stranger.send("GET")
    #expect(later.status == 200 && later.text.contains("(by link) rejected this"), "\(later.text)")
    await bench.end()
  }

  @Test func `a link and a run outlive a restart, and a question that ended says how`() async throws {
    var bench = try await APITests.Bench(["ask": Self.ask])
    let (run, first, _) = try await Self.asked(bench)
    bench = try await bench.restarted()
    let ann = Stranger(bench, bench.url + first.path)
    #expect(try await ann.send("GET").status == 200)
    #expect(try await bench.program.call("runs", "cancel", run).code == 0)
    let ended = try await ann.send("GET")
    #expect(ended.status == 200 && ended.text.contains("It was cancelled on "), "\(ended)")
    #expect(try await ann.decide("approve", question: "").status == 409)
    await bench.end()
  }

  @Test func `no file, log, answer or page has the text of a link`() async throws {
    let bench = try await APITests.Bench(["ask": Self.ask])
    let (run, ann, bob) = try await Self.asked(bench)
    let token = try await bench.token(
      "all", "--scope", "read", "--scope", "data", "--scope", "approve", "--scope", "metrics", "--scope", "steer")
    for path in [
      "/api/v1/runs/\(run)", "/api/v1/runs/\(run)/steps", "/api/v1/runs/\(run)/logs", "/api/v1/runs/\(run)/why",
      "/api/v1/approvals", "/api/v1/runs", "/metrics", "/runs/\(run)", "/approvals/\(run)/decision",
      "/runs/\(run)/steps/decision%2F%23tell%2F%231%5B0%5D%2F%231", "/runs/\(run)/logs",
    ] {
      let answer = try await ann.send("GET", ["Authorization": "Bearer \(token)"], path: path)
      #expect(answer.status == 200 && !answer.text.contains("edl_"), "\(path): \(answer)")
    }
    for arguments in [["runs", "show", run], ["runs", "show", run, "--json"], ["why", run], ["runs", "logs", run]] {
      let told = try await bench.program.call(arguments)
      #expect(!told.out.contains(ann.text) && !told.out.contains(bob.text), "\(arguments): \(told)")
    }
    // A person's own text is hidden, too.
    let comment = try await ann.decide("approve", [("comment", "I came by \(bob.text)")])
    #expect(comment.status == 200)
    _ = try await bench.program.call("runs", "follow", run)
    #expect(try await bench.program.call("state", "export", "backup.errand").code == 0)
    let log = bench.agent.before
    bench.agent.signal(SIGTERM)
    #expect(await bench.agent.end() == 0)
    #expect(!log.contains("edl_"))
    let state = bench.program.folder.appending(path: ".errand")
    let files = try FileManager.default.subpathsOfDirectory(atPath: state.path).map { state.appending(path: $0) }
    for file in files + [bench.program.folder.appending(path: "backup.errand")] {
      guard let bytes = try? Data(contentsOf: file) else { continue }
      let text = String(decoding: bytes, as: UTF8.self)
      #expect(!text.contains(ann.text) && !text.contains(bob.text), "\(file.lastPathComponent)")
    }
    let key = try FileManager.default.attributesOfItem(atPath: state.appending(path: "link.key").path)
    #expect(key[.posixPermissions] as? Int == 0o600)
    await bench.program.remove()
  }

  @Test func `who asks is on the page of a link and on the login page`() async throws {
    let bench = try await APITests.Bench(["ask": Self.ask])
    let text = try bench.program.read("errand.yaml")
      .replacing("listen: 127.0.0.1:0", with: "listen: 127.0.0.1:0, name: School <office>, contact: office@example.org")
    try bench.program.write(text, to: "errand.yaml")
    let again = try await bench.restarted()
    let (_, ann, _) = try await Self.asked(again)
    let page = try await ann.send("GET").text
    #expect(page.contains("<strong>School &lt;office&gt;</strong> asks you, ann"), "\(page)")
    #expect(page.contains("Ask office@example.org if you weren&#39;t expecting this."))
    let login = try await ann.send("GET", path: "/login").text
    #expect(login.contains("School &lt;office&gt;") && login.contains("office@example.org"))
    await again.end()
  }

  @Test func `a long question is filtered and shown by parts, with the buttons in sight`() async throws {
    let lines = (1...450).map { "Student \($0): \($0).0 → \($0).5" }.joined(separator: "\\n")
    let recipe = "steps: [{ id: ask, approve: { prompt: \"Write them?\\n\(lines)\" } }]\n"
    let bench = try await APITests.Bench(["long": recipe])
    let started = try await bench.program.call("runs", "start", "long")
    let run = started.out.trimmingCharacters(in: .newlines)
    _ = await bench.agent.line(with: "\(run) waits")
    let stranger = Stranger(bench, try await bench.program.call("runs", "link", run).out)
    let page = try await stranger.send("GET").text
    #expect(page.contains("<h2>450 changes</h2>") && page.contains("1 to 200 of 450"))
    #expect(page.contains("<td>Student 200</td>") && !page.contains("<td>Student 201</td>"))
    #expect(page.contains("class=\"actions near\""))
    let next = try await stranger.send("GET", path: "\(stranger.path)?find=&from=400").text
    #expect(next.contains("<td>Student 401</td>") && next.contains("401 to 450 of 450"))
    let found = try await stranger.send("GET", path: "\(stranger.path)?find=student%2044").text
    #expect(found.contains("11 of 450 match") && found.contains("<td>Student 449</td>"))
    #expect(try await stranger.send("GET", path: "\(stranger.path)?find=nobody").text.contains("Nothing matches."))
    for from in ["-1", "9999999999999999999", "x", "450"] {
      #expect(try await stranger.send("GET", path: "\(stranger.path)?from=\(from)").status == 200)
    }
    // The filter changes nothing about the decision.
    let digest = try await stranger.question()
    let decided = try await stranger.send(
      "POST", ["Origin": bench.url], ["choice": "approve", "question": digest, "name": "Ann"],
      path: "\(stranger.path)?find=44")
    #expect(decided.status == 200)
    await bench.end()
  }
}
