import Basics
import Foundation
import HTTPClient
import Testing

@testable import errand

/// The pages of `errand serve`, as a browser without scripts uses them.
@Suite(.timeLimit(.minutes(5))) struct PagesTests {
  /// A browser: it keeps its cookie, and says which page a form is of.
  private struct Browser {
    let bench: APITests.Bench
    var cookie = ""

    /// Logs in by the link of `errand open`.
    init(_ bench: APITests.Bench) async throws {
      self.bench = bench
      let link = try await bench.program.call("open", "--print", "--quiet").out.trimmingCharacters(in: .newlines)
      let entered = try await get(String(link.dropFirst(bench.url.count)))
      #expect(entered.status == 303)
      cookie = String((entered.headers["Set-Cookie"] ?? "").prefix { $0 != ";" })
      #expect(entered.headers["Set-Cookie"]?.contains("HttpOnly; SameSite=Strict") == true)
      // The link is used up.
      #expect(try await get(String(link.dropFirst(bench.url.count))).status == 401)
    }

    func get(
      _ path: String, _ headers: HTTPHeaders = [:]
    ) async throws -> (status: Int, text: String, headers: HTTPHeaders) {
      try await send("GET", path, nil, headers)
    }

    func post(
      _ path: String, _ form: HTTPQuery, origin: String? = nil
    ) async throws -> (status: Int, text: String, headers: HTTPHeaders) {
      try await send(
        "POST", path, form.encoded,
        ["Content-Type": "application/x-www-form-urlencoded", "Origin": origin ?? bench.url])
    }

    private func send(
      _ method: String, _ path: String, _ body: String?, _ more: HTTPHeaders
    ) async throws -> (status: Int, text: String, headers: HTTPHeaders) {
      var headers = more
      if !cookie.isEmpty { headers["Cookie"] = cookie }
      let answer = try await HTTPClient().send(
        HTTPRequest(
          method, bench.url + path, headers: headers, body: body.map { Array($0.utf8) }, redirects: .none))
      return (answer.status, String(decoding: answer.body, as: UTF8.self), answer.headers)
    }
  }

  @Test func `a person starts, approves and understands a run with forms alone`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    let recipe = try await browser.get("/recipes/ask")
    #expect(recipe.text.contains("name=\"input.name\""))
    let form: HTTPQuery = ["key": "form-1", "input.name": "<script>alert(1)</script>"]
    let started = try await browser.post("/recipes/ask/start", form)
    #expect(started.status == 303)
    let path = try #require(started.headers["Location"])
    // A second click starts nothing.
    #expect(try await browser.post("/recipes/ask/start", form).headers["Location"] == path)
    var page = try await browser.get(path)
    while !page.text.contains("/approvals/") { page = try await browser.get(path) }
    // What comes from outside is text.
    #expect(!page.text.contains("<script>alert") && page.text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"))
    let run = String(path.dropFirst("/runs/".count))
    let question = try await browser.get("/approvals/\(run)/ask")
    #expect(question.text.contains("Greet &lt;script&gt;"))
    #expect(try await browser.get("/").text.contains("Needs attention"))
    let decided = try await browser.post(
      "/runs/\(run)/decide", ["step": "ask", "choice": "approve", "comment": "fine"])
    #expect(decided.status == 303)
    while !page.text.contains("s-succeeded") { page = try await browser.get(path) }
    #expect(page.text.contains("Hello &lt;script&gt;"))
    for other in ["/runs", "/approvals", "/recipes", "/schedules", "/schedules/sum", "/state", "/help"] {
      let page = try await browser.get(other)
      #expect(page.status == 200 && page.text.hasPrefix("<!doctype html>"), "\(other)")
      #expect(page.headers["Content-Security-Policy"]?.hasPrefix("default-src 'none'; script-src 'self'") == true)
    }
    #expect(try await browser.get("/nothing").status == 404)
    #expect(try await browser.post("/logout", [:]).status == 303)
    #expect(try await browser.get(path).headers["Location"]?.hasPrefix("/login") == true)
    await bench.end()
  }

  @Test func `the calendar shows each day's slots, and where the clock changes`() async throws {
    let bench = try await APITests.Bench()
    try bench.program.write(
      "on: [{ id: early, cron: '0 5 * * *' }, { id: often, cron: '*/5 * * * *' }]\nsteps: [{ let: { a: 1 } }]\n",
      to: "recipes/daily.yaml")
    let browser = try await Browser(bench)
    // Any day of a week names it; the clocks of Berlin change on the last Sunday of March.
    var page = try await browser.get("/schedules?week=2126-03-29")
    while !page.text.contains("/schedules/daily") { page = try await browser.get("/schedules?week=2126-03-29") }
    #expect(page.text.contains("From 2126-03-25 to 2126-03-31"))
    #expect(page.text.contains("The clock goes forward: 02:00 is 03:00."))
    let slot = #"<li><time datetime="2126-03-25T04:00:00Z">05:00</time><span class="status s-upcoming">to come</span>"#
    #expect(page.text.contains(slot + #"<a href="/schedules/daily%2Fearly">daily/early</a></li>"#))
    // Clocks skip an hour of Sunday.
    #expect(page.text.contains(#"00:00 to 23:55</time><span class="status s-upcoming">276 to come"#))
    #expect(page.text.contains(#"<a class="button" rel="next" href="/schedules?week=2126-04-01">"#))
    #expect(try await browser.get("/schedules?week=9999-12-31").status == 400)
    await bench.end()
  }

  @Test func `a form of another site does nothing, and a token shows only what it may`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    let foreign = try await browser.post("/recipes/sum/start", [:], origin: "http://evil.example")
    #expect(foreign.status == 403)
    #expect(try await bench.program.call("runs", "list", "--json").json["finished"]?.list == [])
    let token = try await bench.token("reader")
    var reader = browser
    reader.cookie = ""
    #expect(try await reader.post("/login", ["token": "errand_0"]).status == 401)
    let entered = try await reader.post("/login", ["token": token, "to": "//evil.example/"])
    #expect(entered.status == 303 && entered.headers["Location"] == "/")
    reader.cookie = String((entered.headers["Set-Cookie"] ?? "").prefix { $0 != ";" })
    #expect(try await browser.post("/recipes/ask/start", ["input.name": "Ada"]).status == 303)
    let seen = try await reader.get("/runs/last")
    #expect(seen.status == 200 && !seen.text.contains("Ada") && !seen.text.contains("Cancel"))
    #expect(try await reader.post("/runs/last/cancel", [:]).status == 403)
    // With its token a session ends.
    #expect(try await bench.program.call("token", "revoke", "reader").code == 0)
    #expect(try await reader.get("/runs").status == 303)
    await bench.end()
  }

  @Test func `a form that is refused keeps what was typed, and says what is wrong beside the field`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    let refused = try await browser.post("/recipes/sum/start", ["input.n": "many"])
    #expect(refused.status == 422)
    #expect(refused.text.contains("value=\"many\""))
    #expect(refused.text.contains("aria-invalid=\"true\" aria-describedby=\"input-n-wrong\""))
    #expect(
      refused.text.contains(
        "<p class=\"wrong\" id=\"input-n-wrong\">&#39;inputs.n&#39; must be an int, but found &#39;many&#39;</p>"))
    #expect(try await bench.program.call("runs", "list", "--json").json["finished"]?.list == [])
    await bench.end()
  }

  @Test func `the items of a loop are counted, filtered and paged`() async throws {
    let bench = try await APITests.Bench()
    let loop = """
      steps:
        - id: each
          forEach: ${{ lists.range(250) }}
          as: n
          onItemError: continue
          steps: [{ id: odd, if: "n == 7", fail: "seven" }]
      """
    try bench.program.write(loop, to: "recipes/loop.yaml")
    let browser = try await Browser(bench)
    while try await browser.get("/recipes/loop").status != 200 {}
    let started = try await browser.post("/recipes/loop/start", ["key": "form-1"])
    let path = try #require(started.headers["Location"])
    var page = try await browser.get(path)
    while page.text.contains("hx-get") { page = try await browser.get(path) }
    #expect(page.text.contains(">250 items</a>") && page.text.contains(">1 failed</a>"))
    #expect(!page.text.contains("each[0]"))
    let items = try await browser.get("\(path)?in=each&from=200")
    #expect(items.text.contains("201 to 250 of 250") && items.text.contains("<code>each[249]</code>") == false)
    #expect(items.text.contains("steps/each%5B249%5D"))
    let failed = try await browser.get("\(path)?in=each&only=failed")
    #expect(failed.text.contains("steps/each%5B7%5D") && !failed.text.contains("steps/each%5B8%5D"))
    let step = try await browser.get("\(path)/steps/each%5B7%5D")
    #expect(step.status == 200 && step.text.contains("seven"))
    #expect(try await browser.get("\(path)/steps/none").status == 404)
    await bench.end()
  }

  @Test func `a page that hasn't changed is not sent again`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    let page = try await browser.get("/approvals")
    let version = try #require(page.text.components(separatedBy: "Errand-Seen&quot;:&quot;").last?.prefix { $0 != "&" })
    let again = try await browser.get("/approvals", ["Errand-Seen": String(version)])
    #expect(again.status == 204 && again.text.isEmpty)
    await bench.end()
  }

  @Test(arguments: [
    ("errand.css", "text/css; charset=utf-8"), ("errand.js", "text/javascript; charset=utf-8"),
    ("errand.svg", "image/svg+xml"), ("htmx.js", "text/javascript; charset=utf-8"),
  ])
  func `the files of pages are small, and need no login`(_ name: String, _ type: String) async throws {
    let bench = try await APITests.Bench()
    let file = try await HTTPClient().send(HTTPRequest("GET", "\(bench.url)/assets/\(name)"))
    #expect(file.status == 200 && file.headers["Content-Type"] == type)
    #expect(!file.body.isEmpty && file.body.count <= 60_000)
    await bench.end()
  }
}
