import Basics
import Foundation
import HTTPClient
import Testing

@testable import errand

/// The pages beside runs and recipes: checks, actions, workers, tokens, and the forms of events and schedules.
@Suite(.timeLimit(.minutes(20))) struct ToolPagesTests {
  /// A page as a program with a token gets it, or the answer to a form.
  private static func ask(
    _ bench: APITests.Bench, _ method: String, _ path: String, _ token: String, _ form: HTTPQuery? = nil
  ) async throws -> (status: Int, text: String) {
    var headers: HTTPHeaders = ["Authorization": "Bearer \(token)", "Accept": "text/html"]
    if form != nil { headers["Content-Type"] = "application/x-www-form-urlencoded" }
    let answer = try await HTTPClient().send(
      HTTPRequest(
        method, bench.url + path, headers: headers, body: form.map { Array($0.encoded.utf8) }, redirects: .none))
    return (answer.status, String(decoding: answer.body, as: UTF8.self))
  }

  @Test func `a text is checked on a page, and displayed again with its findings`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await PagesTests.Browser(bench)
    #expect(try await browser.get("/recipes").text.contains("<a href=\"/check\">Check</a>"))
    let form = try await browser.get("/check")
    #expect(form.status == 200 && form.text.contains("name=\"file\" value=\"recipe.yaml\""), "\(form.text)")
    let text = "\nsummary: A <b>.\nsteps: [{ uses: shell.rum }]\n"
    let wrong = try await browser.post("/check", ["text": text, "file": "mine.yaml"])
    #expect(wrong.status == 200 && wrong.text.contains("It has 1 error."), "\(wrong.text)")
    #expect(wrong.text.contains("<a href=\"#line-3\">line 3</a>"))
    #expect(wrong.text.contains("&#39;shell.run&#39;"), "\(wrong.text)")
    #expect(wrong.text.contains("<div class=\"finding\">error: "))
    // The text is the same when it is sent again: a browser leaves out the first end of line.
    #expect(wrong.text.contains(">\n\nsummary: A &lt;b&gt;.\nsteps: [{ uses: shell.rum }]\n</textarea>"))
    #expect(wrong.text.contains("name=\"file\" value=\"mine.yaml\""))
    let good = try await browser.post("/check", ["text": "summary: Adds.\nsteps: [{ let: { a: 1 } }]\n"])
    #expect(good.status == 200 && good.text.contains("It has no errors"), "\(good.text)")
    // A file that it names is one that is served.
    let calling = try await browser.post("/check", ["text": "steps: [{ call: nowhere.yaml }]\n"])
    #expect(calling.status == 200 && calling.text.contains("href=\"#line-1\""), "\(calling.text)")
    let long = "# " + String(repeating: "x", count: 256 << 10)
    let refused = try await browser.post("/check", ["text": long])
    #expect(refused.status == 400 && refused.text.contains("it may have 256 KiB"))
    #expect(refused.text.contains(">\n\(long)</textarea>"))
    let limited = try await bench.token("limited", "--scope", "read", "--recipe", "sum")
    for form: HTTPQuery? in [nil, ["text": text]] {
      let answer = try await Self.ask(bench, form == nil ? "GET" : "POST", "/check", limited, form)
      #expect(answer.status == 403 && answer.text.contains("the token is limited to sum"), "\(answer.text)")
    }
    #expect(try await Self.ask(bench, "GET", "/recipes", limited).text.contains("/check") == false)
    await bench.end()
  }

  @Test func `each action has a page with its fields, effect and a step`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await PagesTests.Browser(bench)
    let all = try await browser.get("/actions").text
    let known = try await bench.program.call("actions", "--json").json.list ?? []
    #expect(known.count > 50)
    for action in known {
      let id = try #require(action["id"]?.string)
      #expect(all.contains("<a href=\"/actions/\(id)\"><code>\(id)</code></a>"), "\(id)")
      let page = try await browser.get("/actions/\(id)")
      #expect(page.status == 200 && page.text.contains("- uses: \(id)\n"), "\(id)")
      for part in ["input", "output"] {
        for field in action[part]?["properties"]?.map?.members ?? [] {
          #expect(page.text.contains("<code>\(field.name ?? "")</code>"), "\(id): \(field.name ?? "")")
        }
      }
    }
    #expect(all.contains("<h2 id=\"plugin-store\">store<span class=\"count\">"))
    let put = try await browser.get("/actions/store.put").text
    #expect(put.contains("<td><code>name</code></td><td>string</td><td>required</td>"), "\(put)")
    #expect(put.contains("<dt>Effect</dt><dd><code>"))
    let missing = try await browser.get("/actions/store.putt")
    #expect(missing.status == 404 && missing.text.contains("did you mean &#39;store.put&#39;?"))
    // A recipe's page leads to the actions that it calls.
    let recipe = try await browser.recipe(
      "keeps", "steps: [{ uses: store.put, with: { name: a, value: 1 } }]\n")
    #expect(recipe.contains("<a href=\"/actions/store.put\"><code>store.put</code></a>"))
    await bench.end()
  }

  @Test func `a folder has no workers, and the page says where they are`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await PagesTests.Browser(bench)
    let page = try await browser.get("/workers")
    #expect(page.status == 200 && page.text.contains("Workers share a state in PostgreSQL"), "\(page.text)")
    #expect(!page.text.contains("action=\"/workers/"))
    let refused = try await browser.post("/workers/lab/drain", [:])
    #expect(refused.status == 422 && refused.text.contains("which one agent has for itself"), "\(refused.text)")
    await bench.end()
  }

  @Test func `a token is made, displayed once, listed and revoked on a page`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await PagesTests.Browser(bench)
    #expect(try await browser.get("/state").text.contains("<a href=\"/tokens\">Tokens</a>"))
    #expect(try await browser.get("/tokens").text.contains("There are no tokens."))
    let form: HTTPQuery = [
      "name": "phone", "scope": "approve", "scope": "start", "recipes": "ask\nsum\n", "end": "90d",
    ]
    let made = try await browser.post("/tokens", form)
    #expect(made.status == 200 && made.headers["Cache-Control"] == "no-store", "\(made.text)")
    let text = try #require(made.text.firstMatch(of: /<code>(errand_[0-9a-f]{64})<\/code>/)?.1)
    #expect(made.text.contains("<dd>ask, sum</dd>"))
    // Who approves has to read.
    #expect(try await bench.send("GET", "/api/v1/runs", String(text)).status == 200)
    #expect(try await bench.send("GET", "/api/v1/recipes/keep", String(text)).status == 404)
    let list = try await browser.get("/tokens").text
    #expect(!list.contains(text) && list.contains("read, start, approve; only ask, sum"), "\(list)")
    #expect(list.contains("action=\"/tokens/phone/revoke\""))
    let again = try await browser.post("/tokens", form)
    #expect(again.status == 409 && again.text.contains("there is a token &#39;phone&#39; already"), "\(again.text)")
    #expect(again.text.contains("name=\"name\" value=\"phone\"") && again.text.contains(">ask\nsum\n</textarea>"))
    #expect(again.text.contains("value=\"start\" checked") && !again.text.contains("value=\"steer\" checked"))
    for (form, fault) in [
      (["name": "b", "scope": "read", "end": "soon"], "<p class=\"wrong\" id=\"end-wrong\">"),
      (["name": "b", "scope": "read", "end": "2020-01-01"], "<p class=\"wrong\" id=\"end-wrong\">"),
      (["name": "b"], "Choose at least one scope."),
    ] as [(HTTPQuery, String)] {
      let refused = try await browser.post("/tokens", form)
      #expect(refused.status == 422 && refused.text.contains(fault), "\(refused.text)")
    }
    #expect(try await browser.post("/tokens", ["name": "a b", "scope": "read"]).status == 400)
    #expect(try await bench.program.call("token", "list", "--json").json.list?.count == 1)
    #expect(try await browser.post("/tokens/phone/revoke", [:]).headers["Location"] == "/tokens")
    #expect(try await bench.send("GET", "/api/v1/runs", String(text)).status == 401)
    #expect(try await browser.post("/tokens/phone/revoke", [:]).status == 404)
    await bench.end()
  }

  @Test func `a visitor makes only tokens that may do less`() async throws {
    let bench = try await APITests.Bench()
    let keeper = try await bench.token("keeper", "--scope", "read", "--scope", "tokens")
    let page = try await Self.ask(bench, "GET", "/tokens", keeper)
    #expect(page.status == 200 && page.text.contains("<strong>keeper</strong> (yours)"), "\(page.text)")
    #expect(page.text.contains("value=\"tokens\"") && !page.text.contains("value=\"steer\""))
    let greedy = try await Self.ask(bench, "POST", "/tokens", keeper, ["name": "more", "scope": "steer"])
    #expect(greedy.status == 403, "\(greedy.text)")
    #expect(try await bench.program.call("token", "list", "--json").json.list?.count == 1)
    let reader = try await bench.token("reader")
    #expect(try await Self.ask(bench, "GET", "/tokens", reader).status == 403)
    #expect(try await Self.ask(bench, "POST", "/tokens", reader, ["name": "x", "scope": "read"]).status == 403)
    #expect(try await Self.ask(bench, "POST", "/tokens/keeper/revoke", reader, [:]).status == 403)
    #expect(try await Self.ask(bench, "GET", "/state", reader).text.contains("/tokens") == false)
    await bench.end()
  }

  @Test func `a person sends a run the event that it waits for`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await PagesTests.Browser(bench)
    _ = try await browser.recipe(
      "pays",
      """
      steps:
        - { id: pay, wait: { event: paid, type: { amount: double }, match: event.data.amount > 10.0 } }
      outputs: { amount: "${{ steps.pay.event.data.amount }}" }

      """)
    let path = try #require(try await browser.post("/recipes/pays/start", [:]).headers["Location"])
    var page = try await browser.get(path).text
    while !page.contains("It waits for the event &#39;paid&#39;") { page = try await browser.get(path).text }
    let reader = try await bench.token("reader")
    #expect(try await Self.ask(bench, "GET", path, reader).text.contains("Send the event") == false)
    #expect(try await Self.ask(bench, "POST", "\(path)/events", reader, ["name": "paid"]).status == 403)
    #expect(page.contains("<form class=\"card\" method=\"post\" action=\"\(path)/events\">"))
    let key = String(try #require(page.firstMatch(of: /name="key" value="([^"]*)"/)?.1))
    // The form is the same for as long as the run waits, so that the page needn't be sent again.
    #expect(try await browser.get(path).text.contains("name=\"key\" value=\"\(key)\""))
    func send(_ data: String) async throws -> (status: Int, text: String, headers: HTTPHeaders) {
      try await browser.post("\(path)/events", ["key": key, "name": "paid", "data": data])
    }
    let wrong = try await send("{amount")
    #expect(wrong.status == 422 && wrong.text.contains("the data isn&#39;t valid JSON: "), "\(wrong.text)")
    // What the wait doesn't take leaves it waiting, and the form takes other data.
    #expect(try await send("{\"amount\": 5.0}").headers["Location"] == path)
    #expect(try await send("{\"amount\": 12.5}").headers["Location"] == path)
    page = try await browser.ended(path)
    #expect(page.contains("12.5") && !page.contains("Send the event"), "\(page)")
    // A second click sends nothing more.
    #expect(try await send("{\"amount\": 12.5}").status == 303)
    await bench.end()
  }

  @Test func `a backfill lists its slots first, and starts exactly these`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await PagesTests.Browser(bench)
    let page = try await browser.get("/schedules/sum").text
    #expect(page.contains("action=\"/schedules/sum/backfill\"") && page.contains(">Why</h2>"), "\(page)")
    // The clock was never ahead.
    #expect(!page.contains("/schedules/sum/reset"))
    let wrong = try await browser.post("/schedules/sum/backfill", ["from": "yesterday", "to": "2026-01-13"])
    #expect(
      wrong.status == 422 && wrong.text.contains("id=\"from\" name=\"from\" value=\"yesterday\""), "\(wrong.text)")
    #expect(wrong.text.contains("id=\"from-wrong\">This isn&#39;t a date or a time.</p>"))
    #expect(wrong.text.contains("value=\"2026-01-13\"") && !wrong.text.contains("id=\"to-wrong\""))
    let turned = try await browser.post("/schedules/sum/backfill", ["from": "2026-01-13", "to": "2026-01-10"])
    #expect(turned.status == 422 && turned.text.contains("id=\"to-wrong\">This has to be later than the start.</p>"))
    let form: HTTPQuery = ["from": "2026-01-10", "to": "2026-01-13 05:00", "overlap": "allowAll"]
    let listed = try await browser.post("/schedules/sum/backfill", form)
    #expect(listed.status == 200 && listed.text.contains(">Start 3 runs</button>"), "\(listed.text)")
    #expect(listed.text.contains("Sat 2026-01-10 05:00 CET") && !listed.text.contains(">Tue 2026-01-13 05:00 CET"))
    #expect(try await bench.program.call("runs", "list", "--json").json["finished"]?.list == [])
    var sent = HTTPQuery()
    for name in ["from", "to", "overlap", "start"] {
      let field = try Regex("name=\"\(name)\" value=\"([^\"]*)\"", as: (Substring, Substring).self)
      sent.items.append(.init(name, String(try #require(listed.text.firstMatch(of: field)?.1))))
    }
    #expect(sent["from"] == "2026-01-09T23:00:00Z" && sent["to"] == "2026-01-13T04:00:00Z")
    let started = try await browser.post("/schedules/sum/backfill", sent)
    #expect(started.status == 303 && started.headers["Location"] == "/schedules/sum", "\(started.text)")
    var ended = 0
    while ended < 3 {
      ended = try await bench.program.call("runs", "list", "--json").json["finished"]?.list?.count ?? 0
    }
    #expect(try await browser.get("/schedules/sum").text.contains("Sat 2026-01-10 05:00 CET"))
    let rest = try await browser.post("/schedules/sum/backfill", form)
    #expect(rest.status == 200 && rest.text.contains(" has a run already, or there is none."), "\(rest.text)")
    #expect(!rest.text.contains("name=\"start\""))
    let reader = try await bench.token("reader")
    #expect(try await Self.ask(bench, "GET", "/schedules/sum", reader).text.contains("Backfill") == false)
    #expect(try await Self.ask(bench, "POST", "/schedules/sum/backfill", reader, form).status == 403)
    await bench.end()
  }

  @Test func `the page of a schedule says why as the API does`() async throws {
    let bench = try await APITests.Bench()
    let reader = try await bench.token("reader", "--scope", "read", "--recipe", "sum")
    let why = try await bench.send("GET", "/api/v1/schedules/sum/why", reader)
    let first = try #require(why.json["sentences"]?.list?.first?["text"]?.string)
    let page = try await Self.ask(bench, "GET", "/schedules/sum", reader)
    let displayed = page.text.replacing("&#39;", with: "'").replacing("&quot;", with: "\"")
    // The rest says how long it is until the slot, which differs from one second to the next.
    #expect(page.status == 200 && displayed.contains(">\(first.prefix(24))"), "\(first): \(page.text)")
    await bench.end()
  }
}
