import Basics
import Foundation
import HTTPClient
import Testing

@testable import errand

/// Forms that are refused: every fault at once, each with a link to its field, and no text of a secret.
@Suite(.timeLimit(.minutes(20))) struct RefusedFormTests {
  private typealias Browser = PagesTests.Browser

  private static let picky = """
    inputs:
      sizes: { type: "list(map(string, int))" }
      n: { type: int }
      room: { type: string, pattern: "[A-Z]\\\\d+", summary: "A room, such as B12." }
      code: { type: string, pattern: "(?i)[a-z]+", default: x }
      key: { type: string, secret: true }
    steps: [{ let: { a: 1 } }]

    """

  /// The part of a page that lists the faults.
  private static func faults(_ page: String) -> String {
    let parts = page.components(separatedBy: "<div class=\"notice fault\" id=\"faults\"")
    #expect(parts.count == 2, "\(page)")
    return parts.last?.components(separatedBy: "</div>").first ?? ""
  }

  @Test func `all faults of a form are listed on top, those of JSON among them`() async throws {
    let bench = try await APITests.Bench(["picky": Self.picky])
    let browser = try await Browser(bench)
    for verb in ["start", "plan"] {
      let form: HTTPQuery = [
        "key": "form-1", "input.sizes": "[{", "input.n": "many", "input.room": "b12", "input.old": "x",
      ]
      let refused = try await browser.post("/recipes/picky/\(verb)", form)
      #expect(refused.status == 422)
      #expect(refused.text.contains("<title>Error: picky · Errand</title>"), "\(refused.text)")
      let list = Self.faults(refused.text)
      let outcome = verb == "start" ? "No run was started." : "Nothing was planned."
      for part in [
        "role=\"alert\" tabindex=\"-1\" autofocus>", outcome,
        "<li><a href=\"#input-sizes\">&#39;inputs.sizes&#39; isn&#39;t valid JSON: ",
        "<li><a href=\"#input-n\">&#39;inputs.n&#39; must be an int, but found &#39;many&#39;</a></li>",
        "<li><a href=\"#input-room\">&#39;inputs.room&#39; must be of the form ",
        "<li><a href=\"#input-key\">input &#39;key&#39; is needed</a></li>",
        // An input that the recipe doesn't have any more has no field.
        "<li>recipe &#39;picky&#39; has no input &#39;old&#39;",
      ] { #expect(list.contains(part), "\(part): \(list)") }
      for field in ["sizes", "n", "room", "key"] {
        #expect(refused.text.contains("<p class=\"wrong\" id=\"input-\(field)-wrong\">"), "\(field)")
      }
      #expect(refused.text.contains(">[{</textarea>") && refused.text.contains("value=\"b12\""))
      // It is above the form.
      let (top, form1) = (refused.text.range(of: "id=\"faults\""), refused.text.range(of: "<form class=\"card\""))
      #expect(try #require(top).lowerBound < (try #require(form1)).lowerBound)
    }
    #expect(try await bench.program.call("runs", "list", "--json").json["finished"]?.list == [])
    // A page that wasn't refused has no such part.
    let page = try await browser.get("/recipes/picky").text
    #expect(!page.contains("id=\"faults\"") && page.contains("<title>picky · Errand</title>"))
    await bench.end()
  }

  @Test func `a browser checks a pattern where it can, and secrets are chosen by name`() async throws {
    let bench = try await APITests.Bench(["picky": Self.picky])
    try bench.program.write("FIRST_KEY: planted-s3cret\nsecond: planted-t00\n", to: "secrets.yaml")
    #expect(try await bench.program.shell("chmod 600 secrets.yaml").code == 0)
    try bench.program.write(
      try bench.program.read("errand.yaml") + "secrets: { files: [secrets.yaml] }\n", to: "errand.yaml")
    bench.agent.signal(SIGHUP)
    _ = try #require(await bench.agent.line(with: "errand.yaml is read again: "))
    let browser = try await Browser(bench)
    let page = try await browser.get("/recipes/picky").text
    #expect(page.contains("pattern=\"[A-Z]\\d+\" title=\"A room, such as B12.\""), "\(page)")
    #expect(page.components(separatedBy: " pattern=").count == 2)
    #expect(
      page.contains("id=\"input-key\" name=\"input.key\" type=\"text\" required list=\"secret-names\""), "\(page)")
    #expect(page.contains("<datalist id=\"secret-names\">"))
    for name in ["FIRST_KEY", "second", "MARKBOOK_PASSWORD"] {
      #expect(page.contains("<option value=\"@secret:\(name)\"></option>"), "\(name): \(page)")
    }
    #expect(!page.contains("planted"))
    // Without the scope 'steer', or limited to some recipes, no names are suggested.
    for (name, more) in [("start", []), ("limited", ["--scope", "steer", "--recipe", "picky"])] {
      let token = try await bench.token(name, ["--scope", "read", "--scope", "start"] + more)
      var other = browser
      other.cookie = ""
      let entered = try await other.post("/login", ["token": token])
      other.cookie = String((entered.headers["Set-Cookie"] ?? "").prefix { $0 != ";" })
      let seen = try await other.get("/recipes/picky").text
      #expect(seen.contains("id=\"input-key\"") && !seen.contains("FIRST_KEY") && !seen.contains("datalist"), "\(name)")
    }
    let token = try await bench.token("steer", "--scope", "read", "--scope", "steer")
    let names = try await bench.send("GET", "/api/v1/connections", token).json["secretNames"]?.list?.compactMap(
      \.string)
    #expect(names?.contains("FIRST_KEY") == true && names?.contains("second") == true, "\(names ?? [])")
    await bench.end()
  }

  @Test func `a form that is kept for after the login has no text of a secret`() async throws {
    let bench = try await APITests.Bench(["picky": Self.picky])
    var browser = try await Browser(bench)
    let page = try await browser.get("/recipes/picky").text
    #expect(page.contains("<input type=\"hidden\" name=\"secret\" value=\"input.key\">"))
    let token = try await bench.token("ada", "--scope", "read", "--scope", "data", "--scope", "start")
    browser.cookie = ""
    func asked(_ key: String) async throws -> String {
      let form: HTTPQuery = ["key": "form-1", "input.n": "3", "input.key": key, "secret": "input.key"]
      let asked = try await browser.post("/recipes/picky/start", form)
      #expect(asked.status == 401)
      return asked.text
    }
    let typed = try await asked("hunter2-typed")
    #expect(!typed.contains("hunter2-typed") && typed.contains("name=\"kept.input.n\" value=\"3\""), "\(typed)")
    #expect(try await asked("@secret:KEY").contains("name=\"kept.input.key\" value=\"@secret:KEY\""))
    let kept: HTTPQuery = [
      "kept.path": "/recipes/picky/start", "kept.input.n": "3", "kept.secret": "input.key", "token": token,
    ]
    let offered = try await browser.post("/login", kept).text
    #expect(offered.contains("<dt>n</dt>") && !offered.contains("<dt>secret</dt>"), "\(offered)")
    #expect(offered.contains("<dt>key</dt><dd><span class=\"quiet\">not kept, because "), "\(offered)")
    await bench.end()
  }

  @Test func `a wrong resolution, and a wrong event, are shown in their forms`() async throws {
    let lost = "steps: [{ id: send, uses: shell.run, with: { effect: write, script: 'kill -9 $$' } }]\n"
    let bench = try await APITests.Bench(["lost": lost, "hears": "steps: [{ wait: { event: word } }]\n"])
    let browser = try await Browser(bench)
    let path = try #require(try await browser.post("/recipes/lost/start", [:]).headers["Location"])
    while !(try await browser.get(path).text.contains("What happened to send?")) {}
    let wrong: [(HTTPQuery, String)] = [
      (["step": "send", "as": "done", "output": "{\"code\": }"], "the output isn&#39;t valid JSON: "),
      (["step": "send", "output": "{\"code\": 1}"], "choose what happened: done, retry or fail"),
    ]
    for (form, fault) in wrong {
      let refused = try await browser.post("\(path)/resolve", form)
      #expect(refused.status == 422 && refused.text.contains("<title>Error: lost uncertain"), "\(refused.text)")
      let list = Self.faults(refused.text)
      #expect(list.contains("Nothing was recorded.") && list.contains("<a href=\"#output-1\">\(fault)"), "\(list)")
      #expect(refused.text.contains("id=\"output-1\" name=\"output\""), "\(refused.text)")
      #expect(refused.text.contains(">{&quot;code&quot;: "), "\(refused.text)")
      // Nothing replaces the text that was typed.
      #expect(!refused.text.contains("hx-get"))
    }
    #expect(try await browser.get(path).text.contains("s-uncertain"))
    // For a step that isn't uncertain there is no form.
    #expect(try await browser.post("\(path)/resolve", ["step": "other", "as": "done"]).status != 422)
    #expect(try await browser.post("\(path)/resolve", ["step": "send", "as": "fail"]).status == 303)
    let hears = try #require(try await browser.post("/recipes/hears/start", [:]).headers["Location"])
    while !(try await browser.get(hears).text.contains("It waits for the event")) {}
    let event = try await browser.post("\(hears)/events", ["name": "word", "key": "k", "data": "{"])
    #expect(event.status == 422 && event.text.contains(">{</textarea>"), "\(event.text)")
    let list = Self.faults(event.text)
    #expect(
      list.contains("The event wasn&#39;t sent.") && list.contains("#data-1\">the data isn&#39;t valid"), "\(list)")
    #expect(try await browser.post("\(hears)/events", ["name": "word", "key": "k", "data": "1"]).status == 303)
    await bench.end()
  }

  @Test func `forms for tokens, backfills, questions and texts list their faults, too`() async throws {
    let bench = try await APITests.Bench([
      "asks":
        "steps: [{ id: room, ask: { prompt: Which?, fields: { room: { type: string, pattern: 'B.' }, n: int } } }]\n"
    ])
    let browser = try await Browser(bench)
    let path = try #require(try await browser.post("/recipes/asks/start", [:]).headers["Location"])
    while !(try await browser.get(path).text.contains("/approvals/")) {}
    let long = String(repeating: "x", count: 257 << 10)
    let refused: [(path: String, form: HTTPQuery, title: String, faults: [String])] = [
      (
        "/tokens", ["name": "b", "end": "soon"], "Tokens",
        ["No token was made.", "<a href=\"#scopes\">Choose at least one scope.", "<a href=\"#end\">End: "]
      ),
      (
        "/schedules/sum/backfill", ["from": "yesterday", "to": "x"], "sum",
        ["<a href=\"#from\">From: This isn&#39;t a date", "<a href=\"#to\">To: This isn&#39;t a date"]
      ),
      (
        "\(path)/answer", ["step": "room", "field.room": "A1", "field.n": "x", "field.more": "1"], "Answer",
        [
          "This wasn&#39;t recorded.", "<a href=\"#field-room\">", "<a href=\"#field-n\">",
          "<li>step &#39;room&#39; has no",
        ]
      ),
      ("/check", ["text": long], "Check", ["Nothing was checked.", "<a href=\"#text\">"]),
    ]
    for (path, form, title, faults) in refused {
      let answer = try await browser.post(path, form)
      #expect((400..<500).contains(answer.status), "\(path)")
      #expect(answer.text.contains("<title>Error: \(title) · Errand</title>"), "\(path): \(answer.text.prefix(2_000))")
      let list = Self.faults(answer.text)
      for fault in faults {
        #expect(list.contains(fault), "\(path): \(list)")
        // Each link leads to a field.
        guard let id = fault.components(separatedBy: "href=\"#").dropFirst().first?.prefix(while: { $0 != "\"" }) else {
          continue
        }
        #expect(answer.text.contains(" id=\"\(id)\""), "\(path): \(id)")
      }
    }
    #expect(try await browser.get(path).text.contains("/approvals/"))
    await bench.end()
  }
}
