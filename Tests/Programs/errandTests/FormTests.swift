import Basics
import Foundation
import HTTPClient
import Testing

@testable import errand

/// Forms of recipes over real HTTP, as people, programs and other sites send them.
@Suite(.timeLimit(.minutes(20))) struct FormTests {
  private static func recipe(_ open: String, _ more: String = "") -> String {
    """
    summary: Asks for a room.
    inputs: { who: { type: string }, seats: { type: int } }
    on:
      - id: request
        form:
          path: rooms
          title: Ask for a <room>
          text: You will get a mail within a day.
          open: \(open)
          fields:
            who: { type: string, max: 80, summary: Your name. }
            seats: { type: int, min: 1, max: 200 }
            note: string?
          done: "Thank you, ${{ event.data.who }}. Your number is ${{ event.id }}."
    \(more)
        overlap: allowAll
        inputs: { who: "${{ event.data.who }}", seats: "${{ event.data.seats }}" }
    steps: [{ let: { x: "${{ inputs.who }}" } }]
    outputs: { words: "${{ x }} ${{ inputs.seats }}" }
    """
  }

  /// A person without a login.
  private struct Person {
    let bench: APITests.Bench

    func get(_ path: String = "/forms/rooms") async throws -> (status: Int, text: String, headers: HTTPHeaders) {
      let answer = try await HTTPClient().send(HTTPRequest("GET", bench.url + path, redirects: .none))
      return (answer.status, String(decoding: answer.body, as: UTF8.self), answer.headers)
    }

    /// - Parameter origin: An empty one is left out.
    func post(
      _ form: HTTPQuery, origin: String? = nil, _ more: HTTPHeaders = [:]
    ) async throws -> (status: Int, text: String, headers: HTTPHeaders) {
      var headers = more
      headers["Content-Type"] = "application/x-www-form-urlencoded"
      if origin != "" { headers["Origin"] = origin ?? bench.url }
      let answer = try await HTTPClient().send(
        HTTPRequest(
          "POST", bench.url + "/forms/rooms", headers: headers, body: Array(form.encoded.utf8), redirects: .none))
      return (answer.status, String(decoding: answer.body, as: UTF8.self), answer.headers)
    }

    /// The value of a hidden field of a page.
    static func hidden(_ name: String, in page: String) throws -> String {
      let start = try #require(page.range(of: "name=\"\(name)\" value=\""), "\(page)").upperBound
      return String(page[start...].prefix { $0 != "\"" })
    }

    func filled(_ who: String = "Ada", seats: String = "30", path: String = "/forms/rooms") async throws -> HTTPQuery {
      let key = try Self.hidden("key", in: try await get(path).text)
      return ["key": key, "website": "", "field.who": who, "field.seats": seats, "field.note": ""]
    }
  }

  /// The rows of the ledger.
  private static func rows(_ bench: APITests.Bench, reaching count: Int = 0) async throws -> [Value] {
    while true {
      let log = try await bench.program.call("schedule", "log", "request/request", "-n", "10000", "--json")
      let rows = log.json.list ?? []
      if rows.count >= count || Task.isCancelled { return rows }
    }
  }

  @Test func `a person without a login sends a form, and a double click is one run`() async throws {
    let bench = try await APITests.Bench(["request": Self.recipe("public")])
    let person = Person(bench: bench)
    let page = try await person.get()
    #expect(page.status == 200)
    for part in [
      "<h1>Ask for a &lt;room&gt;</h1>", "You will get a mail within a day.", "Your name.", "name=\"field.who\"",
      "maxlength=\"80\"", "max=\"200\"", "action=\"/forms/rooms\"", "method=\"post\"",
    ] { #expect(page.text.contains(part), "\(part) isn't in \(page.text)") }
    // Nobody sees it, also without a style.
    #expect(page.text.contains("<p hidden><label for=\"website\">"), "\(page.text)")
    #expect(page.headers["X-Frame-Options"] == "DENY" && page.headers["Cache-Control"] == "no-store")
    #expect(page.headers["Content-Security-Policy"]?.contains("frame-ancestors 'none'") == true)
    let form = try await person.filled("<b>Ada</b>")
    let answers = try await withThrowingTaskGroup(of: (Int, String).self) { group in
      for _ in 0..<4 {
        group.addTask {
          let answer = try await person.post(form)
          return (answer.status, answer.text)
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    for (status, text) in answers {
      #expect(status == 200 && text.contains("Thank you, &lt;b&gt;Ada&lt;/b&gt;. Your number is rooms:"), "\(text)")
    }
    let rows = try await Self.rows(bench, reaching: 1)
    #expect(rows.count == 1 && rows[0]["outcome"]?.string == "started", "\(rows)")
    let run = try #require(rows[0]["run"]?.string)
    var displayed = try await bench.program.call("runs", "show", run, "--json")
    while displayed.json["status"]?.string != "succeeded" {
      displayed = try await bench.program.call("runs", "show", run, "--json")
    }
    #expect(displayed.json["outputs"]?["words"]?.string == "<b>Ada</b> 30", "\(displayed.out)")
    // Back, and another name.
    let changed: HTTPQuery = ["key": form["key"] ?? "", "field.who": "Bob", "field.seats": "30"]
    let again = try await person.post(changed)
    #expect(again.status == 409 && again.text.contains("value=\"Bob\""), "\(again.text)")
    let list = try await bench.program.call("schedule", "list")
    #expect(list.out.contains("on the form /forms/rooms"), "\(list.out)")
    await bench.end()
  }

  @Test func `faults are beside their fields, with what was typed`() async throws {
    let bench = try await APITests.Bench(["request": Self.recipe("public")])
    let person = Person(bench: bench)
    let long = String(repeating: "x", count: 81)
    let answer = try await person.post(try await person.filled(long, seats: "201"))
    #expect(answer.status == 422)
    for part in [
      "<title>Error: Ask for a &lt;room&gt;", "value=\"\(long)\"", "value=\"201\"", "id=\"field-who-wrong\"",
      "id=\"field-seats-wrong\"", "aria-invalid=\"true\"",
    ] { #expect(answer.text.contains(part), "\(part) isn't in \(answer.text)") }
    // The new page is as good as the first.
    let key = try Person.hidden("key", in: answer.text)
    let sent = try await person.post(["key": key, "field.who": "Ada", "field.seats": "2"])
    #expect(sent.status == 200 && sent.text.contains("Thank you, Ada."), "\(sent.text)")
    #expect(try await Self.rows(bench, reaching: 1).count == 1)
    await bench.end()
  }

  @Test func `other sites, robots, replays and large bodies start nothing`() async throws {
    let bench = try await APITests.Bench(["request": Self.recipe("public")])
    let person = Person(bench: bench)
    let form = try await person.filled()
    for origin in ["", "https://evil.example", "null"] {
      #expect(try await person.post(form, origin: origin).status == 403, "\(origin)")
    }
    #expect(try await person.post(form, ["Sec-Fetch-Site": "cross-site"]).status == 403)
    var robot = form
    robot.items.removeAll { $0.name == "website" }
    robot.items.append(.init("website", "https://spam.example"))
    let thanked = try await person.post(robot)
    #expect(thanked.status == 200 && thanked.text.contains("Thank you, Ada."), "\(thanked.text)")
    for key in ["", "1.2.3", (form["key"] ?? "") + "0"] {
      let old = try await person.post(["key": key, "field.who": "Eve", "field.seats": "1"])
      #expect(old.status == 403 && old.text.contains("value=\"Eve\""), "\(old.text)")
    }
    var large = form
    large.items.append(.init("field.note", String(repeating: "x", count: 64 << 10)))
    #expect(try await person.post(large).status == 413)
    let file = try await HTTPClient().send(
      HTTPRequest(
        "POST", "\(bench.url)/forms/rooms",
        headers: ["Origin": bench.url, "Content-Type": "multipart/form-data; boundary=x"], body: Array("--x--".utf8)))
    #expect(file.status == 422)
    #expect(try await person.get("/forms/other").status == 404)
    #expect(try await Self.rows(bench).isEmpty)
    await bench.end()
  }

  @Test func `a flood from one address ends at the limit`() async throws {
    let bench = try await APITests.Bench(["request": Self.recipe("public", "      limit: { requests: 3, per: 1h }")])
    let person = Person(bench: bench)
    var statuses: [Int] = []
    for _ in 0..<6 { statuses.append(try await person.post(try await person.filled()).status) }
    #expect(statuses == [200, 200, 200, 429, 429, 429])
    // Without `publicURL` no one chooses an address.
    let other = try await person.post(try await person.filled(), ["X-Forwarded-For": "203.0.113.9"])
    #expect(other.status == 429 && other.headers["Retry-After"] != nil && other.text.contains("value=\"Ada\""))
    #expect(try await Self.rows(bench, reaching: 3).count == 3)
    await bench.end()
  }

  @Test func `a form is closed while its entry is paused`() async throws {
    let bench = try await APITests.Bench(["request": Self.recipe("public")])
    let person = Person(bench: bench)
    let form = try await person.filled()
    #expect(try await bench.program.call("schedule", "pause", "request/request").code == 0)
    for answer in [try await person.get(), try await person.post(form)] {
      #expect(answer.status == 403 && answer.text.contains("This form is closed."), "\(answer.text)")
    }
    #expect(try await bench.program.call("schedule", "resume", "request/request").code == 0)
    #expect(try await person.post(form).status == 200)
    await bench.end()
  }

  @Test func `a link lets its owner send a form once`() async throws {
    let bench = try await APITests.Bench(["request": Self.recipe("link")])
    let person = Person(bench: bench)
    let without = try await person.get()
    #expect(without.status == 403 && without.text.contains("Ask for a new one."), "\(without.text)")
    let made = try await bench.program.call("form", "link", "request/request", "--for", "7d")
    #expect(made.code == 0, "\(made.error)")
    let link = made.out.trimmingCharacters(in: .newlines)
    #expect(link.hasPrefix("\(bench.url)/forms/rooms?link="), "\(link)")
    let path = String(link.dropFirst(bench.url.count))
    // Looking uses nothing up.
    for _ in 0..<3 { #expect(try await person.get(path).status == 200) }
    var form = try await person.filled(path: path)
    #expect(try await person.post(form).status == 403)
    form.items.append(.init("link", try Person.hidden("link", in: try await person.get(path).text)))
    for _ in 0..<2 { #expect(try await person.post(form).status == 200) }
    var second = try await person.filled(path: path)
    second.items.append(.init("link", form["link"] ?? ""))
    #expect(try await person.post(second).status == 403)
    #expect(try await Self.rows(bench, reaching: 1).count == 1)
    for wrong in [["sum"], ["request/request", "--for", "91d"], ["request/request", "--uses", "0"]] {
      #expect(try await bench.program.call(["form", "link"] + wrong).code != 0)
    }
    await bench.end()
  }

  @Test func `a form for those who are logged in needs the scope to start`() async throws {
    let bench = try await APITests.Bench(["request": Self.recipe("login")])
    let person = Person(bench: bench)
    let away = try await person.get()
    #expect(away.status == 303 && away.headers["Location"] == "/login?to=%2Fforms%2Frooms", "\(away)")
    let browser = try await PagesTests.Browser(bench)
    let page = try await browser.get("/forms/rooms")
    #expect(page.status == 200)
    let form: HTTPQuery = [
      "key": try Person.hidden("key", in: page.text), "field.who": "Ada", "field.seats": "2",
    ]
    // The typed texts are kept for after the login.
    let lost = try await person.post(form)
    #expect(lost.status == 401 && lost.text.contains("Your login has ended"), "\(lost.text)")
    #expect(try await browser.post("/forms/rooms", form).status == 200)
    let token = try await bench.token("reader", "--scope", "read")
    let reader = try await HTTPClient().send(
      HTTPRequest("GET", "\(bench.url)/forms/rooms", headers: ["Authorization": "Bearer \(token)"]))
    #expect(reader.status == 403)
    #expect(try await Self.rows(bench, reaching: 1).count == 1)
    await bench.end()
  }

  @Test func `without fields a form asks for the inputs, and check warns of what everyone may write`() async throws {
    let text = """
      inputs: { wish: { type: string }, count: { type: int, default: 3 }, key: { type: string, secret: true } }
      on:
        - form: { path: rooms, open: public }
          inputs: { key: "@secret:WISH_KEY" }
      steps: [{ uses: file.write, with: { path: wish.txt, text: "${{ inputs.wish }}" } }]
      """
    let bench = try await APITests.Bench(["request": text])
    let checked = try await bench.program.call("check", "recipes/request.yaml")
    #expect(
      checked.error.contains(
        "everyone who reaches the form can start this recipe, which writes ('file.write'): add an 'approve' step, or say how often with limit: { requests: 10, per: 10m, perDay: 500 }"
      ), "\(checked.error)")
    let page = try await Person(bench: bench).get()
    #expect(page.text.contains("name=\"field.wish\"") && page.text.contains("name=\"field.count\""), "\(page.text)")
    #expect(!page.text.contains("name=\"field.key\""))
    for better in [
      text.replacingOccurrences(of: "open: public", with: "open: public, limit: { requests: 3 }"),
      text.replacingOccurrences(of: "steps: [", with: "steps: [{ approve: { prompt: Write? } }, "),
    ] {
      try bench.program.write(better, to: "recipes/request.yaml")
      let checked = try await bench.program.call("check", "recipes/request.yaml")
      #expect(!checked.error.contains("everyone who reaches"), "\(checked.error)")
    }
    await bench.end()
  }
}
