import Basics
import Foundation
import HTTPClient
import RecipeEditing
import Testing

@testable import AgentPages
@testable import errand

/// The pages that edit files, as a browser without scripts uses them, and as the script does.
@Suite(.timeLimit(.minutes(20))) struct EditPagesTests {
  private static let good = """
    summary: Is edited on a page.
    steps:
      - id: one
        uses: shell.run
        with: { effect: read, script: echo one }

    """
  private static let faulty = good.replacing("shell.run", with: "shell.rum")

  private struct Bench {
    let bench: APITests.Bench
    let browser: PagesTests.Browser
    let path = "/edit/recipes%2Fedited.yaml"

    init() async throws {
      bench = try await APITests.Bench(["edited": EditPagesTests.good])
      browser = try await PagesTests.Browser(bench)
    }

    var file: String { get throws { try bench.program.read("recipes/edited.yaml") } }

    func get() async throws -> Page { Page(try await browser.get(path)) }

    func post(_ form: HTTPQuery, to path: String? = nil, isPart: Bool = false) async throws -> Page {
      Page(try await browser.post(path ?? self.path, form, isPart ? ["Errand-Part": "yes"] : [:]))
    }
  }

  private struct Page {
    let status: Int
    let html: String

    init(_ answer: (status: Int, text: String, headers: HTTPHeaders)) { (status, html) = (answer.status, answer.text) }

    private static func plain(_ text: String) -> String {
      [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")].reduce(text) {
        $0.replacing($1.0, with: $1.1)
      }
    }

    /// The text in the field.
    var text: String? {
      guard let start = html.range(of: "<textarea id=\"text\""),
        let open = html.range(of: ">\n", range: start.upperBound..<html.endIndex),
        let end = html.range(of: "</textarea>", range: open.upperBound..<html.endIndex)
      else { return nil }
      return Page.plain(String(html[open.upperBound..<end.lowerBound]))
    }

    /// The value of the first field or button of a name.
    func value(_ name: String) -> String? {
      guard let start = html.range(of: "name=\"\(name)\" value=\""),
        let end = html.range(of: "\"", range: start.upperBound..<html.endIndex)
      else { return nil }
      return Page.plain(String(html[start.upperBound..<end.lowerBound]))
    }

    /// The outcome on the page.
    var outcome: String {
      html.components(separatedBy: "id=\"notices\"").last?.components(separatedBy: "</p>").first ?? ""
    }
  }

  @Test func `a file is broken, mended and saved with buttons alone`() async throws {
    let bench = try await Bench()
    let list = try await bench.browser.get("/edit").text
    #expect(list.contains("href=\"\(bench.path)\"") && list.contains("href=\"/edit/errand.yaml\""))
    let first = try await bench.get()
    #expect(first.text == EditPagesTests.good)
    #expect(
      first.html.contains(">saved</span>") && first.html.contains("<p id=\"count\" class=\"quiet\">"))
    let base = try #require(first.value("base"))
    // The check finds the fault, and says so below its line.
    let form: HTTPQuery = ["base": base, "key": "form-1", "text": EditPagesTests.faulty, "do": "check"]
    let checked = try await bench.post(form)
    #expect(checked.status == 200 && checked.text == EditPagesTests.faulty)
    #expect(
      checked.html.contains("<p id=\"count\" class=\"wrong\">1 error") && checked.html.contains(">not saved</span>")
    )
    #expect(checked.html.contains("href=\"#line-4\" data-place=\"3,10\">line 4</a>"))
    #expect(checked.html.contains("<li id=\"line-4\">"))
    // A text with an error isn't saved.
    var saving = form
    saving.items.removeLast()
    saving.items.append(.init("do", "save"))
    let refused = try await bench.post(saving)
    #expect(
      refused.status == 422 && refused.text == EditPagesTests.faulty && refused.outcome.contains("It wasn&#39;t saved"))
    #expect(refused.html.contains("<title>Error: Edit recipes/edited.yaml"))
    #expect(try bench.file == EditPagesTests.good)
    // The fix changes the text of the field, and nothing else.
    let fix = try #require(checked.value("fix"))
    let fixed = try await bench.post(["base": base, "key": "form-2", "text": EditPagesTests.faulty, "fix": fix])
    #expect(fixed.text == EditPagesTests.good && fixed.html.contains("<p id=\"count\" class=\"quiet\">"))
    let all = try await bench.post(["base": base, "key": "form-3", "text": EditPagesTests.faulty, "do": "fixAll"])
    #expect(all.text == EditPagesTests.good)
    // A fix of another form is refused, and the text stays.
    for other in ["[[0,0,9,0,\"a\"],[0,0,1,0,\"b\"]]", "[[0,0]]", "{", "[[\"0\",0,0,0,\"\"]]"] {
      let answer = try await bench.post(["base": base, "key": "form-4", "text": EditPagesTests.good, "fix": other])
      #expect(answer.status == 400 && answer.text == EditPagesTests.good, "\(other)")
    }
    // Saved; the same form again is the same save.
    let changed = EditPagesTests.good.replacing("echo one", with: "echo two")
    let save: HTTPQuery = ["base": base, "key": "form-5", "text": changed, "do": "save"]
    for _ in 0..<2 {
      let saved = try await bench.post(save)
      #expect(saved.status == 200 && saved.outcome.contains("Saved"), "\(saved.outcome)")
      #expect(saved.text == changed && saved.html.contains(">saved</span>"))
      #expect(try bench.file == changed)
    }
    await bench.bench.end()
  }

  @Test func `both texts of a file that two people edit are shown, and none is lost`() async throws {
    let bench = try await Bench()
    let base = try #require(try await bench.get().value("base"))
    let (mine, theirs) = (EditPagesTests.good + "# Mine.\n", EditPagesTests.good + "# Theirs.\n")
    let other = try await bench.post(["base": base, "key": "form-1", "text": theirs, "do": "save"])
    #expect(other.status == 200)
    let conflict = try await bench.post(["base": base, "key": "form-2", "text": mine, "do": "save"])
    #expect(conflict.status == 409 && conflict.text == mine)
    #expect(conflict.html.contains("<del>- # Theirs.\n</del>") && conflict.html.contains("<ins>+ # Mine.\n</ins>"))
    #expect(try bench.file == theirs)
    // Nothing else becomes the base but the text that was shown.
    #expect(conflict.value("base") == base)
    let over = try #require(conflict.value("over"))
    let saved = try await bench.post(["base": base, "key": "form-3", "text": mine, "over": over])
    #expect(saved.status == 200)
    #expect(try bench.file == mine)
    // The first text comes back.
    let versions = try await bench.post(["base": over, "key": "form-4", "text": mine, "do": "versions"])
    let all = versions.html.components(separatedBy: "name=\"version\" value=\"").dropFirst().map {
      $0.prefix { $0 != "\"" }
    }
    #expect(all.count >= 3, "\(versions.html)")
    let version = String(try #require(all.last))
    let shown = try await bench.post(["base": over, "key": "form-5", "text": mine, "version": version])
    #expect(shown.html.contains("<ins>+ # Mine.\n</ins>") && shown.text == mine)
    let digest = try #require(saved.value("base"))
    let restored = try await bench.post(["base": digest, "key": "form-6", "text": mine, "restore": version])
    #expect(restored.status == 200 && restored.text == EditPagesTests.good, "\(restored.outcome)")
    #expect(try bench.file == EditPagesTests.good)
    await bench.bench.end()
  }

  @Test func `each refusal has the text that was typed`() async throws {
    let bench = try await Bench()
    let base = try #require(try await bench.get().value("base"))
    let hostile = "# </textarea><script>alert(1)</script> & \u{1F600}\r\n"
    let plain = hostile.replacing("\r\n", with: "\n")
    for path in [
      "/edit/..%2Foutside.yaml", "/edit/recipes%2F..%2F..%2Foutside.yaml", "/edit/%2Fetc%2Fpasswd", "/edit/a%0Ab.yaml",
      "/edit/recipes/nothing.yaml", "/edit/.errand%2Fjournal",
    ] {
      let answer = try await bench.post(["base": base, "key": "form-1", "text": hostile, "do": "save"], to: path)
      #expect((400..<500).contains(answer.status) && answer.text == plain, "\(path): \(answer.status)")
      #expect(!answer.html.contains("<script>alert"))
      #expect((400..<500).contains(try await bench.browser.get(path).status))
    }
    let long = String(repeating: "#", count: 256 << 10 + 1)
    let answer = try await bench.post(["base": base, "key": "form-1", "text": long, "do": "check"])
    #expect(answer.status == 413 && answer.text == long)
    #expect(try bench.file == EditPagesTests.good)
    // Without a login the form is kept.
    var stranger = bench.browser
    stranger.cookie = ""
    let kept = try await stranger.post(bench.path, ["base": base, "key": "form-2", "text": plain, "do": "save"])
    #expect(
      kept.status == 401 && kept.text.contains("name=\"kept.text\"") && kept.text.contains("alert(1)&lt;/script&gt;"))
    await bench.bench.end()
  }

  @Test func `a new file begins with a template, and gets an address when it is saved`() async throws {
    let bench = try await Bench()
    let choice = try await bench.browser.get("/edit/new").text
    #expect(choice.contains("<option value>") && choice.contains("<option value=\"hello\""))
    let begun = Page(try await bench.browser.get("/edit/new?from=hello&name=begun"))
    #expect(begun.status == 200 && begun.value("path") == "recipes/begun.yaml")
    let text = try #require(begun.text)
    #expect(text.contains("begun") && begun.value("base") == nil)
    let saved = try await bench.post(
      ["path": "recipes/begun.yaml", "key": "form-1", "text": text, "do": "save"], to: "/edit/new")
    #expect(saved.status == 200 && saved.html.contains("action=\"/edit/recipes%2Fbegun.yaml\""), "\(saved.outcome)")
    #expect(try bench.bench.program.read("recipes/begun.yaml") == text)
    // Another one of that name isn't begun, and isn't overwritten.
    #expect(try await bench.browser.get("/edit/new?from=hello&name=begun").status == 409)
    let again = try await bench.post(
      ["path": "recipes/begun.yaml", "key": "form-2", "text": EditPagesTests.good, "do": "save"], to: "/edit/new")
    #expect(again.status == 409 && again.text == EditPagesTests.good)
    let unknown = try await bench.browser.get("/edit/new?from=nothing")
    #expect((400..<500).contains(unknown.status) && unknown.text.contains("<title>Error: New file"))
    await bench.bench.end()
  }

  @Test func `plans and tests are of the text in the field, which nothing writes`() async throws {
    let bench = try await Bench()
    let base = try #require(try await bench.get().value("base"))
    let text = "inputs: { n: { type: int } }\n" + EditPagesTests.good
    let missing = try await bench.post(["base": base, "text": text, "do": "plan", "inputs": ""])
    #expect(
      missing.text == text && missing.html.contains("name=\"inputs\"") && missing.status == 422, "\(missing.status)")
    let planned = try await bench.post(["base": base, "text": text, "do": "plan", "inputs": "n=3\n"])
    #expect(planned.status == 200 && planned.html.contains("Nothing was written.") && planned.text == text)
    let tested = try await bench.post(["base": base, "text": text, "do": "test"])
    #expect(tested.html.contains("href=\"/edit/new?test=recipes%2Fedited.yaml\""))
    let different = try await bench.post(["base": base, "text": text, "do": "difference"])
    #expect(different.html.contains("<ins>+ inputs: { n: { type: int } }\n</ins>"))
    #expect(try bench.file == EditPagesTests.good)
    await bench.bench.end()
  }

  @Test func `a script gets the parts that differ`() async throws {
    let bench = try await Bench()
    let base = try #require(try await bench.get().value("base"))
    let check = try await bench.post(
      ["base": base, "text": EditPagesTests.faulty, "do": "check"], isPart: true)
    #expect(check.status == 200 && !check.html.contains("<html") && !check.html.contains("id=\"standing\""))
    for id in ["notices", "count", "result"] { #expect(check.html.contains("id=\"\(id)\""), "\(id)") }
    #expect(check.html.contains("data-from=\"3,10\" data-to=\"3,19\" data-severity=\"error\""))
    let refused = try await bench.post(["base": base, "text": EditPagesTests.faulty, "do": "save"], isPart: true)
    #expect(refused.status == 200 && refused.html.contains("id=\"notices\" data-refused=\"true\""))
    let all = try await bench.post(["base": base, "text": EditPagesTests.faulty, "do": "fixAll"], isPart: true)
    #expect(
      all.html.contains("id=\"edits\" data-edits=\"[[3,0,4,0,&quot;    uses: shell.run\\n&quot;]]\""), "\(all.html)")
    let completed = try await bench.post(
      ["base": base, "text": EditPagesTests.good + "zon", "do": "complete", "line": "5", "column": "3"], isPart: true)
    let items = try JSON.parse(completed.html)["items"]?.list ?? []
    #expect(items.contains { $0["label"]?.string?.hasPrefix("zone") == true }, "\(completed.html)")
    let explained = try await bench.post(
      ["base": base, "text": EditPagesTests.good, "do": "hover", "line": "0", "column": "2"], isPart: true)
    #expect(explained.html.contains("data-from=\"0,0\" data-to=\"0,7\"") && explained.html.contains("<strong>summary"))
    let nothing = try await bench.post(
      ["base": base, "text": EditPagesTests.good, "do": "hover", "line": "99", "column": "-1"], isPart: true)
    #expect(nothing.status == 204)
    await bench.bench.end()
  }

  @Test func `a text with a secret isn't put into a field, where it would be another text`() async throws {
    let bench = try await Bench()
    let program = bench.bench.program
    try program.write("TOKEN: planted-s3cret\n", to: "secrets.yaml")
    #expect(try await program.shell("chmod 600 secrets.yaml").code == 0)
    try program.write(try program.read("errand.yaml") + "secrets: { files: [secrets.yaml] }\n", to: "errand.yaml")
    bench.bench.agent.signal(SIGHUP)
    _ = try #require(await bench.bench.agent.line(with: "errand.yaml is read again: "))
    // A plan makes the secret known.
    let token = try await bench.bench.token("ada", "--scope", "read", "--scope", "data", "--scope", "start")
    let made = try await bench.bench.send("POST", "/api/v1/recipes/sum/plans", token, "{}")
    #expect(made.status == 201, "\(made.json)")
    let text = EditPagesTests.good + "# planted-s3cret\n"
    let base = try #require(try await bench.get().value("base"))
    for button in ["check", "save", "difference"] {
      for isPart in [false, true] {
        let answer = try await bench.post(["base": base, "key": "form-1", "text": text, "do": button], isPart: isPart)
        #expect(answer.status == (isPart ? 200 : 422) && answer.text == nil, "\(button)")
        #expect(answer.html.contains("holds the value of a secret") && !answer.html.contains("planted-s3cret"))
      }
    }
    #expect(try bench.file == EditPagesTests.good)
    // One that is in the file is neither shown nor put into a field.
    try program.write(text, to: "recipes/edited.yaml")
    let page = try await bench.get()
    #expect(page.status == 403 && page.text == nil && !page.html.contains("planted-s3cret"), "\(page)")
    await bench.bench.end()
  }

  @Test func `a person whose token may not edit sees no file`() async throws {
    let bench = try await APITests.Bench(["edited": EditPagesTests.good])
    let browser = try await PagesTests.Browser(bench)
    #expect(try await browser.get("/recipes/edited").text.contains("href=\"/edit/recipes%2Fedited.yaml\""))
    let token = try await bench.token("reader", "--scope", "read", "--scope", "data")
    for path in ["/edit", "/edit/new", "/edit/recipes%2Fedited.yaml"] {
      let answer = try await HTTPClient().send(
        HTTPRequest("GET", bench.url + path, headers: ["Authorization": "Bearer \(token)"], redirects: .none))
      let page = String(decoding: answer.body, as: UTF8.self)
      #expect(answer.status == 403 && !page.contains("Is edited on a page"), "\(path)")
    }
    await bench.end()
  }
}

@Suite struct EditedTextTests {
  private static let text = "a: \u{1F600}b\nsecond: é\n\nlast"

  @Test(arguments: [
    ("[]", text), ("[[0,0,0,1,\"x\"]]", "x: \u{1F600}b\nsecond: é\n\nlast"),
    // Columns are UTF-16 units.
    ("[[0,5,0,6,\"c\"]]", "a: \u{1F600}c\nsecond: é\n\nlast"),
    ("[[1,8,1,9,\"e\"],[0,0,0,1,\"k\"]]", "k: \u{1F600}b\nsecond: e\n\nlast"),
    ("[[0,3,3,0,\"\"]]", "a: last"),
    // Places beyond the end are the end.
    ("[[99,0,99,9,\"!\"]]", text + "!"), ("[[3,99,3,99,\"\\n\"]]", text + "\n"),
    ("[[-1,-1,0,1,\"x\"]]", "x" + text.dropFirst()),
  ])
  func `edits of a form change the text`(_ json: String, _ result: String) throws {
    #expect(try #require(TextEdits(json)).applied(to: EditedTextTests.text) == result)
  }

  @Test(arguments: ["", "{}", "[1]", "[[0,0,0,\"\"]]", "[[0,0,0,0,1]]", "[[0,0,0,0.5,\"\"]]", "[[0,0,0,0,\"\",0]]"])
  func `what isn't an edit is refused`(_ json: String) { #expect(TextEdits(json) == nil) }

  @Test func `edits of the same part, and those that end before they begin, are refused`() throws {
    for json in ["[[0,0,0,3,\"\"],[0,2,0,4,\"\"]]", "[[1,3,1,1,\"\"]]"] {
      #expect(try #require(TextEdits(json)).applied(to: EditedTextTests.text) == nil, "\(json)")
    }
  }

  @Test func `edits are read as they are written`() throws {
    let edits = TextEdits(replacing: EditedTextTests.text, with: "new\r\n\"text\"")
    #expect(edits.json == "[[0,0,3,4,\"new\\n\\\"text\\\"\"]]")
    #expect(try #require(TextEdits(edits.json)).applied(to: EditedTextTests.text) == "new\n\"text\"")
  }

  @Test(
    arguments: [
      ("", [:], nil), ("a=1\n\n  b = x=y\n", ["a": "1", "b": " x=y"], nil),
      ("a=1\na=2", [:], "the input 'a' is given twice"),
      ("a", [:], "'a' isn't an input; write one a line, as name=value"),
      (" = 1", [:], "' = 1' isn't an input; write one a line, as name=value"),
    ] as [(String, [String: String], String?)])
  func `inputs of a plan are one a line`(_ text: String, _ texts: [String: String], _ fault: String?) {
    let read = EditPanels.inputs(text)
    #expect(read.texts == texts && read.fault == fault)
  }

  @Test(arguments: [
    ("**a**: `b`\n\nSee [c](d.md).", "<p><strong>a</strong>: <code>b</code></p><p>See c.</p>"),
    ("- one\n- two\n\nend", "<ul><li>one</li><li>two</li></ul><p>end</p>"),
    ("# Title\ntext\nmore", "<p><strong>Title</strong> text more</p>"),
    ("```yaml\na: <b>\n```\nx", "<pre>a: &lt;b&gt;</pre><p>x</p>"), ("```\nopen", "<pre>open</pre>"),
    ("<script>`<i>`", "<p>&lt;script&gt;<code>&lt;i&gt;</code></p>"), ("", ""), ("`", ""), ("**", ""),
  ])
  func `words about a name become markup`(_ text: String, _ html: String) { #expect(Part.markdown(text).text == html) }
}
