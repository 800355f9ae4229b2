import Basics
import Foundation
import HTTPClient
import Testing

@testable import errand

/// The pages of `errand serve`, as a browser without scripts uses them.
@Suite(.timeLimit(.minutes(20))) struct PagesTests {
  /// A browser: it keeps its cookie, and says which page a form is of.
  struct Browser {
    let bench: APITests.Bench
    var cookie = ""

    /// Logs in by the link of `errand open`.
    init(_ bench: APITests.Bench, link given: String? = nil) async throws {
      self.bench = bench
      let printed = given == nil ? try await bench.program.call("open", "--print", "--quiet").out : ""
      let link = given ?? printed.trimmingCharacters(in: .newlines)
      let entered = try await get(String(link.dropFirst(bench.url.count)))
      #expect(entered.status == 303)
      cookie = String((entered.headers["Set-Cookie"] ?? "").prefix { $0 != ";" })
      #expect(entered.headers["Set-Cookie"]?.contains("HttpOnly; SameSite=Strict") == true)
      // The link is used up.
      #expect(try await get(String(link.dropFirst(bench.url.count))).status == 401)
    }

    /// A browser that has a cookie already.
    init(_ bench: APITests.Bench, cookie: String) {
      self.bench = bench
      self.cookie = cookie
    }

    /// Waits until a recipe is served.
    func recipe(_ name: String, _ text: String) async throws -> String {
      try bench.program.write(text, to: "recipes/\(name).yaml")
      while true {
        let page = try await get("/recipes/\(name)")
        if page.status == 200 { return page.text }
      }
    }

    /// Waits until a run has ended, and answers its page.
    ///
    /// A step shows its end before the run does.
    func ended(_ run: String, _ status: String = "succeeded") async throws -> String {
      while true {
        let page = try await get(run).text
        guard let shown = page.firstMatch(of: /s-([A-Za-z]+)">[^<]*<\/span><\/h1>/)?.1,
          [status, "succeeded", "failed", "cancelled", "timedOut"].contains(String(shown))
        else { continue }
        #expect(shown == status, "\(page)")
        return page
      }
    }

    func get(
      _ path: String, _ headers: HTTPHeaders = [:]
    ) async throws -> (status: Int, text: String, headers: HTTPHeaders) {
      try await send("GET", path, nil, headers)
    }

    /// - Parameter origin: The page's; an empty one is left out.
    func post(
      _ path: String, _ form: HTTPQuery, _ more: HTTPHeaders = [:], origin: String? = nil
    ) async throws -> (status: Int, text: String, headers: HTTPHeaders) {
      var headers = more
      headers["Content-Type"] = "application/x-www-form-urlencoded"
      if origin != "" { headers["Origin"] = origin ?? bench.url }
      return try await send("POST", path, form.encoded, headers)
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

  @Test func `the page of an uncertain run says why it is uncertain`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    _ = try await browser.recipe(
      "lost", "steps: [{ id: send, uses: shell.run, with: { effect: write, script: 'kill -9 $$' } }]\n")
    let started = try await browser.post("/recipes/lost/start", ["key": "form-1"])
    let path = try #require(started.headers["Location"])
    var page = try await browser.get(path).text
    while !page.contains("What happened to send?") { page = try await browser.get(path).text }
    #expect(
      page.contains("was ended by signal 9. Look at the service, and say what you find.</p>"), "\(page)")
    #expect(!page.contains("The program stopped"))
    await bench.end()
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
    // Text from outside is escaped.
    #expect(!page.text.contains("<script>alert") && page.text.contains("&lt;script&gt;alert(1)&lt;/script&gt;"))
    let run = String(path.dropFirst("/runs/".count))
    let question = try await browser.get("/approvals/\(run)/ask")
    #expect(question.text.contains("Greet &lt;script&gt;"))
    #expect(try await browser.get("/").text.contains("Questions<span class=\"count\">1</span>"))
    let decided = try await browser.post(
      "/runs/\(run)/decide", ["step": "ask", "choice": "approve", "comment": "fine"])
    #expect(decided.status == 303)
    #expect(try await browser.ended(path).contains("Hello &lt;script&gt;"))
    for other in [
      "/runs", "/approvals", "/recipes", "/check", "/actions", "/actions/shell.run", "/schedules", "/schedules/sum",
      "/state", "/workers", "/tokens", "/help",
    ] {
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
      "on: [{ id: early, cron: '0 5 * * *' }, { id: often, cron: '*/5 * * * *' }, { id: far, cron: '0 15 * * FRI', zone: Australia/Sydney }]\nsteps: [{ let: { a: 1 } }]\n",
      to: "recipes/daily.yaml")
    let browser = try await Browser(bench)
    // Any day of a week names it; the clocks of Berlin change on the last Sunday of March.
    var page = try await browser.get("/schedules?week=2126-03-29")
    // The agent reads the schedules of a recipe one after another.
    while !page.text.contains("Australia/Sydney") { page = try await browser.get("/schedules?week=2126-03-29") }
    #expect(page.text.contains("From 2126-03-25 to 2126-03-31"))
    #expect(page.text.contains("The clock goes forward: 02:00 is 03:00."))
    // Descriptions in one zone are shown beside times of another.
    #expect(page.text.contains("Times are in Europe/Berlin."))
    #expect(page.text.contains("<span class=\"quiet\">every day at 05:00, Europe/Berlin</span>"))
    #expect(page.text.contains("<span class=\"quiet\">every Friday at 15:00, Australia/Sydney</span>"))
    let schedules = try await bench.send("GET", "/api/v1/schedules", try await bench.token("reader"))
    #expect(schedules.json["items"]?.list?.first?["when"]?.string == "every day at 05:00, Europe/Berlin")
    let slot = #"<li><time datetime="2126-03-25T04:00:00Z">05:00</time><span class="status s-upcoming">to come</span>"#
    #expect(page.text.contains(slot + #"<a href="/schedules/daily%2Fearly">daily/early</a></li>"#))
    // Clocks skip an hour of Sunday.
    #expect(page.text.contains(#"00:00 to 23:55</time><span class="status s-upcoming">276 to come"#))
    #expect(page.text.contains(#"<a class="button" rel="next" href="/schedules?week=2126-04-01">"#))
    #expect(try await browser.get("/schedules?week=9999-12-31").status == 400)
    await bench.end()
  }

  @Test func `a person plans before a run, and runs exactly that`() async throws {
    let bench = try await APITests.Bench()
    try bench.program.write(APITests.keep, to: "recipes/keep.yaml")
    let browser = try await Browser(bench)
    var recipe = try await browser.get("/recipes/keep")
    while recipe.status != 200 { recipe = try await browser.get("/recipes/keep") }
    #expect(recipe.text.contains("<button class=\"main\" formaction=\"/recipes/keep/plan\""))
    let refused = try await browser.post("/recipes/keep/plan", [:])
    #expect(refused.status == 422 && refused.text.contains("id=\"input-words-wrong\""))
    let planned = try await browser.post("/recipes/keep/plan", ["input.words": "<b>first</b>"])
    #expect(planned.status == 303)
    let path = try #require(planned.headers["Location"])
    #expect(path.hasPrefix("/plans/"))
    let page = try await browser.get(path)
    #expect(page.text.contains("1 added. Nothing was written."))
    #expect(page.text.contains("<span class=\"after\">") && page.text.contains("&lt;b&gt;first"))
    #expect(page.text.contains("action=\"\(path)/run\"") && page.text.contains("errand plan "))
    #expect(try await bench.program.call("runs", "list", "--json").json["finished"]?.list == [])
    let started = try await browser.post("\(path)/run", ["key": "plan-1"])
    let run = try #require(started.headers["Location"])
    #expect(started.status == 303 && run.hasPrefix("/runs/"))
    _ = try await browser.ended(run)
    // A second click starts nothing; a new start finds that things have moved.
    #expect(try await browser.post("\(path)/run", ["key": "plan-1"]).headers["Location"] == run)
    let moved = try await browser.post("\(path)/run", ["key": "plan-2"])
    #expect(moved.status == 409 && moved.text.contains("the plan no longer holds"))
    #expect(moved.text.contains("<li>&#39;old&#39; (store.get) reads other values in "))
    #expect(!moved.text.contains("action=\"\(path)/run\""))
    let again = try await browser.post("\(path)/again", [:])
    #expect(again.status == 303 && again.headers["Location"]?.hasPrefix("/plans/") == true)
    #expect(try await browser.get(again.headers["Location"] ?? "").text.contains("No changes. Nothing was written."))
    #expect(try await browser.get("/plans/00").status == 404)
    let connections = try await browser.get("/connections")
    #expect(connections.status == 200 && connections.text.contains("Connections and secrets"))
    await bench.end()
  }

  @Test func `from a plan a person goes back to the form with its inputs`() async throws {
    let bench = try await APITests.Bench()
    try bench.program.write("KEY: planted-s3cret\n", to: "secrets.yaml")
    #expect(try await bench.program.shell("chmod 600 secrets.yaml").code == 0)
    try bench.program.write(
      try bench.program.read("errand.yaml") + "secrets: { files: [secrets.yaml] }\n", to: "errand.yaml")
    bench.agent.signal(SIGHUP)
    _ = try #require(await bench.agent.line(with: "errand.yaml is read again: "))
    let browser = try await Browser(bench)
    _ = try await browser.recipe(
      "picky",
      """
      inputs:
        names: { type: list(string) }
        sizes: { type: list(int), default: [1, 2] }
        of: { type: dyn, default: all }
        key: { type: string, secret: true }
        note: { type: string, default: none }
      steps: [{ if: inputs.names.size() > 1, fail: too many names }]

      """)
    let form: HTTPQuery = [
      "input.names": " Ada \r\n\r\nAlan\r\n", "input.sizes": "3\n4", "input.of": "{\"a\": 1}", "input.note": "",
      "input.key": "@secret:KEY",
    ]
    let planned = try await browser.post("/recipes/picky/plan", form)
    #expect(planned.status == 303, "\(planned.text)")
    let plan = try #require(planned.headers["Location"])
    let page = try await browser.get(plan).text
    #expect(page.contains("The run would fail"))
    let link = "/recipes/picky?plan=\(plan.dropFirst("/plans/".count))"
    #expect(page.contains("<a class=\"button main\" href=\"\(link)\">Change the inputs</a>"))
    let back = try await browser.get(link).text
    #expect(back.contains(">Ada\nAlan</textarea>") && back.contains(">3\n4</textarea>"), "\(back)")
    #expect(back.contains(">{&quot;a&quot;:1}</textarea>") && back.contains("name=\"input.note\" type=\"text\" value"))
    #expect(back.contains("name=\"input.key\" type=\"text\" value=\"@secret:KEY\""))
    #expect(!back.contains("class=\"wrong\""))
    // Lists that lines can't give are JSON.
    let other =
      try await browser.post(
        "/recipes/picky/plan",
        ["input.names": "[\" Ada\"]", "input.sizes": "[]", "input.key": "@secret:KEY", "input.of": "1"]
      ).headers["Location"] ?? ""
    let json = try await browser.get("/recipes/picky?plan=\(other.dropFirst("/plans/".count))").text
    #expect(json.contains(">[&quot; Ada&quot;]</textarea>") && json.contains(">[]</textarea>"), "\(json)")
    let gone = try await browser.get("/recipes/picky?plan=00")
    #expect(gone.status == 404 && gone.text.contains("<a href=\"/recipes/picky\">Back to the page</a>"))
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
    // A login that names no page could be another site's, and one without a right to read would lead to refusals only.
    let nameless = try await reader.post("/login", ["token": token], origin: "")
    #expect(nameless.status == 403 && nameless.headers["Set-Cookie"] == nil)
    let blind = try await reader.post("/login", ["token": try await bench.token("starter", "--scope", "start")])
    #expect(blind.headers["Set-Cookie"] == nil)
    #expect(blind.text.contains("This token lacks the scope &#39;read&#39;, which the pages need."))
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

  @Test func `lists count all open runs and show some of them`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    _ = try await browser.recipe("patient", "steps: [{ wait: { event: never } }]\n")
    func rows(_ page: String) -> Int { page.components(separatedBy: "<li>").count - 1 }
    for _ in 0..<120 { #expect(try await browser.post("/recipes/patient/start", [:]).status == 303) }
    #expect(try await browser.post("/recipes/ask/start", ["input.name": "Ada"]).status == 303)
    var now = try await browser.get("/").text
    while !now.contains("Decide") { now = try await browser.get("/").text }
    #expect(now.contains("Questions<span class=\"count\">1</span>"))
    #expect(now.contains("Running<span class=\"count\">120</span>"))
    #expect(now.contains("The latest 20 are shown."))
    #expect(rows(now) == 22)
    let first = try await browser.get("/runs").text
    #expect(rows(first) == 50)
    let link = try #require(first.components(separatedBy: "rel=\"next\" href=\"").last?.prefix { $0 != "\"" })
    #expect(link.hasPrefix("/runs?cursor=open%3A"))
    let second = try await browser.get(String(link)).text
    #expect(rows(second) == 50)
    let third = second.components(separatedBy: "rel=\"next\" href=\"").last?.prefix { $0 != "\"" } ?? ""
    #expect(rows(try await browser.get(String(third)).text) == 21)
    let wrong = try await browser.get("/runs?status=wating")
    #expect(wrong.status == 400 && wrong.text.contains("<a href=\"/runs\">Back to the page</a>"))
    #expect(wrong.text.contains("no run has the status &#39;wating&#39;; did you mean &#39;waiting&#39;?"))
    #expect(try await browser.get("/runs?status=nope").text.contains("there are queued, running, waiting, paused,"))
    await bench.end()
  }

  @Test func `the same form twice is one start, a changed one another, and an emptied text is given empty`()
    async throws
  {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    let recipe = """
      inputs:
        word: { type: string, default: usual }
        n: { type: int, default: 3 }
        kind: { type: string, choices: [a, b], default: a }
      steps: [{ let: { said: "[${{ inputs.word }}${{ inputs.n }}${{ inputs.kind }}]" } }]
      outputs: { said: "${{ said }}" }

      """
    let page = try await browser.recipe("says", recipe)
    #expect(page.contains("<label for=\"input-n\">n<span class=\"quiet\"> (optional; 3 if empty)</span></label>"))
    #expect(page.contains("<option value=\"a\" selected>a</option>") && !page.contains("<option value></option>"))
    func started(_ form: HTTPQuery) async throws -> String {
      let started = try await browser.post("/recipes/says/start", form)
      #expect(started.status == 303)
      return try #require(started.headers["Location"])
    }
    let first = try await started(["key": "form-1", "input.word": "", "input.n": "", "input.kind": "b"])
    #expect(try await started(["key": "form-1", "input.word": "", "input.n": "", "input.kind": "b"]) == first)
    // Unknown and repeated fields are errors.
    for form: HTTPQuery in [["input.wrod": "x"], ["input.word": "x", "input.word": "y"]] {
      #expect(try await browser.post("/recipes/says/start", form).status == 422)
    }
    let other = try await started(["key": "form-1", "input.word": "x", "input.n": "4", "input.kind": "b"])
    #expect(other != first)
    // A long text has a box that scrolls.
    let long = String(repeating: "long ", count: 500)
    let boxed = try await started(["key": "form-1", "input.word": long])
    for (run, said) in [(boxed, "<div class=\"lines-kept tall\" tabindex=\"0\""), (first, "[3b]"), (other, "[x4b]")] {
      #expect(try await browser.ended(run).contains(said))
    }
    await bench.end()
  }

  @Test func `fields are made for what an input is`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    let others = (0..<9).map { "  o\($0): { type: string, default: none }\n" }.joined()
    let page = try await browser.recipe(
      "much", "inputs:\n\(others)  key: { type: string, secret: true, summary: A key. }\nsteps: [{ let: { a: 1 } }]\n")
    // Required inputs come first, and the buttons stay in sight.
    let form = try #require(page.components(separatedBy: "<h3>Needed</h3>").last)
    #expect(form.contains("<h3>Optional</h3>") && form.contains("<div class=\"actions near\">"))
    let needed = form.components(separatedBy: "<h3>Optional</h3>")[0]
    #expect(needed.contains("id=\"input-key\""))
    #expect(form.contains("A key. Give the name of a secret, as @secret:NAME; never its value."))
    #expect(form.contains("id=\"input-key\" name=\"input.key\" type=\"text\" required"))
    // A value that was typed there isn't shown again.
    let refused = try await browser.post("/recipes/much/start", ["input.key": "hunter2"])
    #expect(refused.status == 422 && !refused.text.contains("hunter2"))
    // Lists of plain values have an entry a line, or are JSON.
    let lists = try await browser.recipe(
      "lists",
      """
      inputs:
        a: { type: list(string), default: [x, y], summary: Some. }
        n: { type: list(int) }
        m: { type: "list(map(string, int))", default: [] }
      steps: [{ let: { all: "${{ json.format(inputs.a) + json.format(inputs.n) }}" } }]
      outputs: { all: "${{ all }}" }

      """)
    #expect(lists.contains(">Some. Write one entry a line.</p>") && lists.contains(">x\ny</textarea>"))
    #expect(lists.contains("id=\"input-m-hint\">Write JSON, such as […, …].</p>"))
    let wrong = try await browser.post("/recipes/lists/start", ["input.n": "1\ntwo"])
    #expect(wrong.text.contains("&#39;inputs.n[1]&#39; must be an int, but found a string</p>"), "\(wrong.text)")
    #expect(wrong.text.contains(">1\ntwo</textarea>"))
    for (n, a) in [("1\r\n2", "[\"a\", \"2\"]"), ("[1, 2]", "a\n2")] {
      let run = try await browser.post("/recipes/lists/start", ["input.n": n, "input.a": a]).headers["Location"] ?? ""
      let page = try await browser.ended(run)
      #expect(page.contains("[&quot;a&quot;,&quot;2&quot;][1,2]"), "\(page)")
    }
    let missing = try await browser.post("/recipes/much/start", [:])
    #expect(missing.text.contains("<p class=\"wrong\" id=\"input-key-wrong\">This is needed.</p>"))
    await bench.end()
  }

  @Test func `a form that is sent after the login has ended is kept until there is one again`() async throws {
    let bench = try await APITests.Bench()
    var browser = try await Browser(bench)
    let token = try await bench.token("ada", "--scope", "read", "--scope", "data", "--scope", "start")
    browser.cookie = ""
    let asked = try await browser.post("/recipes/ask/start", ["key": "form-1", "input.name": "<Ada>"])
    #expect(asked.status == 401 && asked.text.contains("The form was not sent; log in, and you can send it as it is."))
    #expect(asked.text.contains("name=\"to\" value=\"/recipes/ask\""))
    #expect(asked.text.contains("name=\"kept.input.name\" value=\"&lt;Ada&gt;\""))
    let kept: HTTPQuery = [
      "to": "/recipes/ask", "kept.path": "/recipes/ask/start", "kept.key": "form-1", "kept.input.name": "<Ada>",
    ]
    func login(_ token: String) -> HTTPQuery { HTTPQuery(kept.items + [HTTPQuery.Item("token", token)]) }
    let wrong = try await browser.post("/login", login("errand_0"))
    #expect(wrong.status == 401 && wrong.text.contains("name=\"kept.input.name\" value=\"&lt;Ada&gt;\""))
    let entered = try await browser.post("/login", login(token))
    #expect(entered.status == 200 && entered.text.contains("The form was not sent yet."))
    #expect(entered.text.contains("<form method=\"post\" action=\"/recipes/ask/start\">"))
    #expect(entered.text.contains("name=\"input.name\" value=\"&lt;Ada&gt;\""))
    browser.cookie = String((entered.headers["Set-Cookie"] ?? "").prefix { $0 != ";" })
    #expect(try await browser.post("/recipes/ask/start", ["key": "form-1", "input.name": "<Ada>"]).status == 303)
    // It leads nowhere else.
    let foreign = try await browser.post(
      "/login", ["to": "/", "kept.path": "//evil.example/", "kept.a": "b", "token": token])
    #expect(foreign.text.contains("<form method=\"post\" action=\"/\">"))
    await bench.end()
  }

  @Test func `a second decision is answered with who decided and when`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    let long = String(repeating: "word ", count: 99) + "end"
    _ = try await browser.recipe(
      "asks", "steps: [{ id: ask, approve: { prompt: \"\(long)\" } }, { wait: { event: never } }]\n")
    let path = try #require(try await browser.post("/recipes/asks/start", [:]).headers["Location"])
    let run = String(path.dropFirst("/runs/".count))
    var page = try await browser.get("/approvals/\(run)/ask").text
    while !page.contains("Approve") { page = try await browser.get("/approvals/\(run)/ask").text }
    // A long question has a title that is cut, and is there whole in a box that scrolls.
    #expect(page.contains("…</h1>"))
    #expect(page.contains("class=\"lines-kept card\""))
    #expect(page.contains(">\(long)</p>"))
    // The page is updated live, and shows that the decision was made elsewhere.
    let question = try await browser.get("/approvals/\(run)/ask")
    let version = try #require(
      question.text.components(separatedBy: "Errand-Seen&quot;:&quot;").last?.prefix { $0 != "&" })
    let seen: HTTPHeaders = ["Errand-Seen": String(version)]
    #expect(question.text.contains("hx-trigger=\"every 5s\""))
    #expect(try await browser.get("/approvals/\(run)/ask", seen).status == 204)
    let form: HTTPQuery = ["step": "ask", "choice": "approve"]
    #expect(try await browser.post("\(path)/decide", form).status == 303)
    let decided = try await browser.get("/approvals/\(run)/ask", seen)
    #expect(decided.status == 200 && !decided.text.contains("hx-get"))
    #expect(decided.text.contains("aria-live=\"polite\">Your decision is recorded.</p>"), "\(decided.text)")
    let late = try await browser.post("\(path)/decide", ["step": "ask", "choice": "reject"])
    #expect(late.status == 409 && late.text.contains("You approved on "))
    let token = try await bench.token("ada", "--scope", "approve")
    let asked = try await bench.send("POST", "/api/v1\(path)/decisions", token, #"{"step":"ask","approved":true}"#)
    #expect(asked.status == 409)
    #expect(asked.json["detail"]?.string?.hasPrefix("'ask' of the run \(run) was approved by ") == true)
    await bench.end()
  }

  @Test func `starting a schedule's run twice with one form starts it once`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    #expect(try await browser.get("/schedules/sum").text.contains("name=\"key\" value=\"form-"))
    let first = try await browser.post("/schedules/sum/trigger", ["key": "form-1"])
    #expect(first.status == 303 && first.headers["Location"]?.hasPrefix("/runs/") == true)
    let second = try await browser.post("/schedules/sum/trigger", ["key": "form-1"])
    #expect(second.headers["Location"] == first.headers["Location"])
    // An input that only a delivery supplies is described in the words of the pages.
    _ = try await browser.recipe(
      "hook",
      "inputs: { n: { type: int } }\non: [{ webhook: { verify: { none: true }, type: { n: int } }, inputs: { n: '${{ event.data.n }}' } }]\nsteps: [{ let: { a: 1 } }]\n"
    )
    let refused = try await browser.post("/schedules/hook/trigger", ["key": "form-2"])
    #expect(refused.status == 422 && !refused.text.contains("-i n="))
    // The page has a form for it.
    #expect(refused.text.contains("computed from a delivery, and a start out of turn has none"), "\(refused)")
    #expect(refused.text.contains("<details class=\"action\" id=\"trigger\" open>"), "\(refused)")
    // A visitor who doesn't see inputs is led to the recipe's own page.
    let steerer = try await bench.token("steerer", "--scope", "read", "--scope", "steer")
    let answer = try await HTTPClient().send(
      HTTPRequest(
        "POST", bench.url + "/schedules/hook/trigger",
        headers: [
          "Authorization": "Bearer \(steerer)", "Content-Type": "application/x-www-form-urlencoded",
          "Accept": "text/html",
        ], body: Array("key=form-3".utf8), redirects: .none))
    let led = String(decoding: answer.body, as: UTF8.self)
    #expect(answer.status == 422 && led.contains("start the recipe on its own page instead"), "\(led)")
    await bench.end()
  }

  @Test func `a run that is to be cancelled says so, and shows the last lines that it printed`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    _ = try await browser.recipe(
      "prints",
      "steps: [{ uses: shell.run, with: { effect: read, script: 'for n in $(seq 1 300); do echo line $n.; done; until [ -e gate ]; do sleep 0.05; done' } }, { wait: 1h }]\n"
    )
    let path = try #require(try await browser.post("/recipes/prints/start", [:]).headers["Location"])
    var page = try await browser.get(path).text
    while !page.contains("line 300.") { page = try await browser.get(path).text }
    #expect(page.contains("Printed: the latest 200 lines") && page.contains("All lines"))
    #expect(page.contains("line 101.") && !page.contains("line 100."))
    #expect(try await browser.post("\(path)/cancel", [:]).status == 303)
    page = try await browser.get(path).text
    #expect(
      page.contains("<span class=\"status s-cancelling\">cancelling</span>") && !page.contains(">Cancel</button>"))
    #expect(try await browser.get("/").text.contains("s-cancelling"))
    try bench.program.write("", to: "gate")
    while !page.contains("s-cancelled") { page = try await browser.get(path).text }
    await bench.end()
  }

  @Test func `a recipe that lacks a connection says which, and what to do`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    let page = try await browser.recipe(
      "lacks",
      "summary: Sends a message.\nsteps: [{ uses: mail.send, with: { from: errand@example.org, to: [ada@example.org], subject: Hello, text: Hello } }]\n"
    )
    #expect(page.contains("A run of it would be refused: errand.yaml has no connection &#39;mail&#39;"))
    #expect(page.contains("Add &#39;mail&#39; to errand.yaml below the key <code>connections</code>."))
    // It is offered neither for a plan nor for a run.
    #expect(!page.contains("action=\"/recipes/lacks/start\"") && !page.contains("/recipes/lacks/plan"))
    let list = try await browser.get("/recipes").text
    #expect(list.contains("<span class=\"status s-uncertain\">needs connection mail</span>"))
    #expect(list.contains("<span class=\"quiet\">Sends a message.</span>"))
    #expect(list.components(separatedBy: "needs connection").count == 2)
    await bench.end()
  }

  @Test func `each page of a sandbox says that it is one`() async throws {
    let bench = try await APITests.Bench(isSandbox: true)
    let line = try #require(await bench.agent.line(with: "/login?link="))
    let link = line.components(separatedBy: " ").first { $0.contains("/login?link=") }
    var browser = try await Browser(bench, link: link)
    for path in ["/", "/recipes/ask", "/help", "/nothing"] {
      #expect(try await browser.get(path).text.contains("<strong>Sandbox: </strong>"), "\(path)")
    }
    browser.cookie = ""
    #expect(try await browser.get("/login").text.contains("<strong>Sandbox: </strong>"))
    await bench.end()
    let real = try await APITests.Bench()
    #expect(try await Browser(real).get("/").text.contains("Sandbox") == false)
    await real.end()
  }

  @Test func `a run that failed and was retried needs no one, however many have ended since`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    _ = try await browser.recipe(
      "shaky",
      "steps: [{ uses: shell.run, with: { effect: read, script: 'until [ -e gate ]; do [ -e wait ] || exit 1; sleep 0.05; done' } }]\n"
    )
    _ = try await browser.recipe("quick", "steps: [{ let: { a: 1 } }]\n")
    let failed = try #require(try await browser.post("/recipes/shaky/start", [:]).headers["Location"])
    _ = try await browser.ended(failed, "failed")
    let attention = try await browser.get("/").text
    #expect(attention.contains("<h2>Needs attention") && attention.contains("shaky"), "\(attention)")
    try bench.program.write("", to: "wait")
    let retry = try #require(try await browser.post("\(failed)/retry", [:]).headers["Location"])
    for _ in 0..<51 { #expect(try await browser.post("/recipes/quick/start", [:]).status == 303) }
    var now = try await browser.get("/").text
    #expect(now.contains("being retried") && now.contains("<h2>Needs attention"), "\(now)")
    try bench.program.write("", to: "gate")
    _ = try await browser.ended(retry)
    for _ in 0..<51 {
      let run = try #require(try await browser.post("/recipes/quick/start", [:]).headers["Location"])
      _ = try await browser.ended(run)
    }
    now = try await browser.get("/").text
    #expect(now.contains("succeeded since") && now.contains("<h2>Needs attention"), "\(now)")
    let listed = try await bench.program.call("runs", "failures", "--json").json["items"]?.list?.first
    #expect(listed?["recipe"]?.string == "shaky" && listed?["hasSucceeded"] == .bool(true))
    #expect(listed?["message"]?.string?.contains("#") == true && listed?["count"]?.int == 1)
    let table = try await bench.program.call("runs", "failures").out
    #expect(table.contains("succeeded since") && table.contains(listed?["id"]?.string ?? "-"))
    let statistics = try await bench.program.call("runs", "statistics", "shaky").out
    #expect(statistics.contains("50 % of 2"), "\(statistics)")
    let dismiss = try #require(now.components(separatedBy: "action=\"").first { $0.contains("/dismiss\"") })
    let address = String(dismiss.prefix { $0 != "\"" })
    let seen = try #require(dismiss.components(separatedBy: "name=\"seen\" value=\"").last?.prefix { $0 != "\"" })
    #expect(try await browser.post(address, ["seen": String(seen)]).headers["Location"] == "/")
    #expect(try await browser.get("/").text.contains("Nothing: no run needs a person"))
    #expect(try await bench.program.call("runs", "failures").error.contains("no run failed in the last 30 days"))
    let all = try await bench.program.call("runs", "failures", "--all", "--json").json["items"]?.list?.first
    #expect(all?["isDismissed"] == .bool(true) && all?["dismissedAt"]?.string != nil)
    let unknown = try await bench.program.call("runs", "dismiss", "0000000000000000")
    #expect(unknown.code != 0 && unknown.error.contains("see: errand runs failures"))
    let list = try await browser.get("/recipes?find=SHAK").text
    #expect(list.contains("<i class=\"s-failed\"></i><i class=\"s-succeeded\"></i>"), "\(list)")
    #expect(!list.contains("/recipes/quick"))
    let recipe = try await browser.get("/recipes/shaky").text
    #expect(recipe.contains("<dd>50 % of 2</dd>") && recipe.contains("failures on 1 day\""), "\(recipe)")
    await bench.end()
  }

  @Test func `what is refused before a page is made is a page for browsers`() async throws {
    let bench = try await APITests.Bench()
    func refused(_ path: String, _ headers: HTTPHeaders, _ body: Int = 0) async throws -> (Int, String) {
      let request = HTTPRequest(
        body > 0 ? "POST" : "GET", bench.url + path, headers: headers,
        body: body > 0 ? [UInt8](repeating: 0x61, count: body) : nil, redirects: .none)
      let answer = try await HTTPClient().send(request)
      return (answer.status, String(decoding: answer.body, as: UTF8.self))
    }
    let browser: HTTPHeaders = [
      "Accept": "text/html,application/xhtml+xml", "Content-Type": "application/x-www-form-urlencoded",
      "Referer": "\(bench.url)/recipes/ask",
    ]
    let large = try await refused("/recipes/ask/start", browser, 4 << 20 + 1)
    #expect(large.0 == 413 && large.1.hasPrefix("<!doctype html>"))
    #expect(large.1.contains("<h1>The form is too large.</h1>") && large.1.contains(">Send less: at most 4 MiB, "))
    #expect(large.1.contains("&#39;errand run&#39; reads a large input from a file: -i NAME=@FILE.</p>"))
    #expect(large.1.contains("<a href=\"/recipes/ask\">Back to the page</a>") && !large.1.contains("Log out"))
    let foreign = try await refused("/", ["Accept": "text/html", "Host": "evil.example"])
    #expect(foreign.0 == 421 && foreign.1.hasPrefix("<!doctype html>"))
    let long = try await refused("/", ["Accept": "text/html", "X": String(repeating: "x", count: 17 << 10)])
    #expect(long.0 == 431 && long.1.contains("Send fewer and shorter fields"))
    // Programs get a problem.
    let problem = try JSON.parse(try await refused("/api/v1/recipes/ask/runs", ["Accept": "*/*"], 4 << 20 + 1).1)
    #expect(problem["kind"]?.string == "tooLarge" && problem["status"]?.int == 413)
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
    ("edit.css", "text/css; charset=utf-8"), ("edit.js", "text/javascript; charset=utf-8"),
    ("codemirror.css", "text/css; charset=utf-8"), ("codemirror.js", "text/javascript; charset=utf-8"),
  ])
  func `the files of pages are small, and need no login`(_ name: String, _ type: String) async throws {
    let bench = try await APITests.Bench()
    let file = try await HTTPClient().send(HTTPRequest("GET", "\(bench.url)/assets/\(name)"))
    #expect(file.status == 200 && file.headers["Content-Type"] == type)
    // The component has a bound of its own.
    #expect(!file.body.isEmpty && file.body.count <= (name == "codemirror.js" ? 300_000 : 60_000))
    await bench.end()
  }

  @Test func `the files of the editor are loaded on its page alone, and all are small as they are sent`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    let (usual, editor) = (try await browser.get("/").text, try await browser.get("/edit/recipes%2Fask.yaml").text)
    func files(_ page: String) -> [String] {
      page.components(separatedBy: "\"/assets/").dropFirst().map { "/assets/\($0.prefix { $0 != "\"" })" }
    }
    func sent(_ paths: [String]) async throws -> Int {
      var sum = 0
      for path in Set(paths) {
        // The client decodes a body, so the length of one is asked for.
        let file = try await HTTPClient().send(
          HTTPRequest("HEAD", bench.url + path, headers: ["Accept-Encoding": "gzip"]))
        #expect(file.status == 200 && file.headers["Content-Encoding"] == "gzip", "\(path)")
        sum += Int(try #require(file.headers["Content-Length"])) ?? .max
      }
      return sum
    }
    let own = files(editor).filter { path in ["edit", "codemirror"].contains { path.hasPrefix("/assets/\($0).") } }
    #expect(own.count == 4 && !usual.contains("codemirror") && !usual.contains("/assets/edit."))
    #expect(try await sent(own) <= 95_000)
    #expect(try await sent(files(usual)) <= 32_000)
    let script = try await HTTPClient().send(HTTPRequest("GET", "\(bench.url)/assets/edit.js"))
    #expect(script.body.count <= 14 << 10)
    await bench.end()
  }
}
