import Basics
import Foundation
import HTTPClient
import Testing

@testable import errand

/// The list of runs as people use it: they filter it, change many runs at once, and start one again.
@Suite(.timeLimit(.minutes(20))) struct RunListPageTests {
  private static let recipes = [
    "quick":
      "summary: Fails at once.\ninputs: { class: { type: string, default: 7a }, times: { type: int, default: 5 } }\nsteps: [{ id: check, name: Look at it, fail: 'class ${{ inputs.class }} is <empty>' }, { id: later, wait: 1h }]\n",
    "patient": "steps: [{ id: nap, wait: { event: never } }]\n",
  ]

  private struct Setting {
    let bench: APITests.Bench
    let browser: PagesTests.Browser

    init() async throws {
      bench = try await APITests.Bench(RunListPageTests.recipes)
      browser = try await PagesTests.Browser(bench)
    }

    /// Starts a run, and waits until its page shows a status; gives its id.
    func start(_ recipe: String, _ form: HTTPQuery = [:], until status: String) async throws -> String {
      let answer = try await browser.post("/recipes/\(recipe)/start", form)
      let path = try #require(answer.headers["Location"], "\(answer.text)")
      while !(try await browser.get(path).text.contains("s-\(status)")) {}
      return String(path.dropFirst("/runs/".count))
    }

    /// The runs that the list shows, latest first.
    func runs(_ query: String = "") async throws -> [String] {
      let page = try await browser.get("/runs\(query)")
      #expect(page.status == 200, "\(page.text)")
      return page.text.components(separatedBy: "class=\"grow\"><a href=\"/runs/").dropFirst().map {
        String($0.prefix { $0 != "\"" })
      }
    }

    func inputs(of run: String) async throws -> Value {
      let token = try await bench.token("data", "--scope", "read", "--scope", "data")
      return try await bench.send("GET", "/api/v1/runs/\(run)", token).json["inputs"] ?? .null
    }

    /// The value of a hidden field of a page.
    func hidden(_ name: String, _ page: String) -> String? {
      page.components(separatedBy: "name=\"\(name)\" value=\"").dropFirst().first.map {
        String($0.prefix { $0 != "\"" })
      }
    }
  }

  @Test func `rows differ, and filters and counts find them`() async throws {
    let own = try await Setting()
    let one = try await own.start("quick", until: "failed")
    let two = try await own.start("quick", ["input.class": "8b"], until: "failed")
    let open = try await own.start("patient", until: "waiting")
    let page = try await own.browser.get("/runs").text
    #expect(page.contains("<a href=\"/runs/\(two)\">quick <code>\(two.suffix(8))</code></a>"))
    #expect(
      page.contains("<span class=\"quiet\">class 8b, times 5</span>") && page.contains("class 8b is &lt;empty&gt;"))
    #expect(page.contains("at <code>nap</code>") && page.contains("by hand, began "))
    // The counts are links that add a status to the filter.
    #expect(page.contains("<a class=\"status s-failed\" href=\"/runs?status=failed\">2 failed</a>"))
    #expect(page.contains("<datalist id=\"recipe-names\"><option value=\"ask\">") && page.contains("\"class=8b\""))
    let failed = try await own.browser.get("/runs?status=failed").text
    #expect(failed.contains("aria-current=\"true\" href=\"/runs\">2 failed</a>"))
    #expect(failed.contains("href=\"/runs?status=failed&amp;status=waiting\">1 waiting</a>"))
    for (query, wanted) in [
      ("", [open, two, one]), ("?recipe=quick", [two, one]), ("?recipe=QUI", [two, one]), ("?recipe=nothing", []),
      ("?status=failed&status=waiting", [open, two, one]), ("?status=waiting", [open]), ("?text=CLASS+8b", [two]),
      ("?input=class%3D7a", [one]), ("?cause=manual", [open, two, one]), ("?cause=slot", []),
      ("?recipe=quick&input=class%3D8b&status=failed", [two]),
    ] {
      #expect(try await own.runs(query) == wanted, "\(query)")
    }
    #expect(try await own.browser.get("/runs?input=class").status == 400)
    #expect(try await own.browser.get("/runs?cause=sloth").text.contains("did you mean &#39;slot&#39;?"))
    // Without the data of runs, there is nothing to look for in them.
    let token = try await own.bench.token("eye", "--scope", "read")
    #expect(try await own.bench.send("GET", "/api/v1/runs?recipePart=UI", token).json["items"]?.list?.count == 2)
    #expect(try await own.bench.send("GET", "/api/v1/runs?text=empty", token).status == 403)
    let counted = try await own.bench.send("GET", "/api/v1/runs/count?recipe=quick", token)
    #expect(counted.json["statuses"] == .object(["failed": .int(2)]) && counted.json["count"]?.int == 2)
    await own.bench.end()
  }

  @Test func `older and newer pages lead to each other`() async throws {
    let own = try await Setting()
    for _ in 0..<110 { #expect(try await own.browser.post("/recipes/patient/start", [:]).status == 303) }
    func link(_ relation: String, _ page: String) -> String? {
      page.components(separatedBy: "rel=\"\(relation)\" href=\"").dropFirst().first.map {
        String($0.prefix { $0 != "\"" }).replacingOccurrences(of: "&amp;", with: "&")
      }
    }
    var pages: [[String]] = []
    var address = "/runs?recipe=patient"
    var last = ""
    for _ in 0..<3 {
      last = try await own.browser.get(address).text
      pages.append(try await own.runs(String(address.dropFirst("/runs".count))))
      if let next = link("next", last) { address = next }
    }
    #expect(pages.map(\.count) == [50, 50, 10] && Set(pages.joined()).count == 110)
    #expect(link("next", last) == nil)
    let second = try #require(link("prev", last))
    #expect(try await own.runs(String(second.dropFirst("/runs".count))) == pages[1])
    let first = try #require(link("prev", try await own.browser.get(second).text))
    #expect(first == "/runs?recipe=patient")
    await own.bench.end()
  }

  @Test func `a person retries marked runs, and all that match, and never more than were shown`() async throws {
    let own = try await Setting()
    var failed: [String] = []
    for _ in 0..<3 { failed.append(try await own.start("quick", until: "failed")) }
    let open = try await own.start("patient", until: "waiting")
    let page = try await own.browser.get("/runs").text
    #expect(page.contains("name=\"run\" value=\"\(open)\" form=\"steer\" autocomplete=\"off\""))
    #expect(page.contains("aria-label=\"Mark patient \(open.suffix(8))\""))
    #expect(page.contains(">Retry all 3</button>") && page.contains(">Cancel the one that matches</button>"))
    let key = try #require(own.hidden("key", page))
    let form: HTTPQuery = ["key": key, "do": "retry", "run": failed[0]]
    let done = try await own.browser.post("/runs", form)
    #expect(done.status == 200 && done.text.contains("<h1>1 of 1 run retried</h1>"), "\(done.text)")
    // The form twice is one retry.
    #expect(try await own.browser.post("/runs", form).text.contains("<h1>1 of 1 run retried</h1>"))
    #expect(try await own.browser.post("/runs", form, origin: "http://127.0.0.1:1").status == 403)
    #expect(try await own.browser.post("/runs", ["key": key, "do": "retry"]).status == 400)
    #expect(try await own.browser.post("/runs", ["key": key, "do": "delete", "run": open]).status == 400)
    // Meanwhile another one has failed: the retry.
    while try await own.runs("?status=failed").count < 4 {}
    let grown = try await own.browser.post("/runs", ["key": key, "do": "retry all", "expected-retry": "3"])
    #expect(grown.status == 409 && grown.text.contains("4 runs match now, and 3 are meant"), "\(grown.text)")
    #expect(try await own.runs("?status=failed").count == 4)
    let filtered = try await own.browser.get("/runs?recipe=quick&status=failed").text
    #expect(filtered.contains(">Retry all 4</button>") && !filtered.contains(">Cancel all"))
    let all = try await own.browser.post(
      "/runs",
      [
        "key": try #require(own.hidden("key", filtered)), "do": "retry all", "recipe": "quick", "status": "failed",
        "expected-retry": try #require(own.hidden("expected-retry", filtered)),
      ])
    // One of them was retried before.
    #expect(all.text.contains("<h1>3 of 4 runs retried</h1>") && all.text.contains("was retried as"), "\(all.text)")
    #expect(all.text.contains("href=\"/runs?recipe=quick&amp;status=failed\">Back to the list</a>"))
    let cancelled = try await own.browser.post("/runs", ["key": key, "do": "cancel", "run": open])
    #expect(cancelled.text.contains("is being cancelled"))
    while !(try await own.browser.get("/runs/\(open)").text.contains("s-cancelled")) {}
    await own.bench.end()
  }

  @Test func `a run is started again from a form with its inputs, and both lead to each other`() async throws {
    let own = try await Setting()
    let first = try await own.start("quick", ["input.class": "8b", "input.times": "7"], until: "failed")
    let page = try await own.browser.get("/runs/\(first)").text
    #expect(page.contains("href=\"/recipes/quick?like=\(first)\">Run again…</a>"))
    #expect(page.contains("action=\"/runs/\(first)/retry\""))
    let form = try await own.browser.get("/recipes/quick?like=\(first)").text
    #expect(
      form.contains("name=\"input.class\" type=\"text\" value=\"8b\"") && form.contains("type=\"number\" value=\"7\""))
    #expect(own.hidden("like", form) == first)
    // An input that is emptied isn't taken from the run.
    let again = try await own.start(
      "quick", ["like": first, "input.class": "9c", "input.times": ""], until: "failed")
    #expect(try await own.inputs(of: again) == .object(["class": .string("9c"), "times": .int(5)]))
    let later = try await own.browser.get("/runs/\(again)").text
    #expect(later.contains("with the inputs of <a href=\"/runs/\(first)\">quick <code>\(first.suffix(8))</code></a>"))
    let retry = try #require(try await own.browser.post("/runs/\(first)/retry", ["key": "form-1"]).headers["Location"])
    let old = try await own.browser.get("/runs/\(first)").text
    #expect(old.contains("<dt>Repeated as</dt><dd><a href=\"/runs/\(again)\">"), "\(old)")
    #expect(old.contains("<dt>Retried as</dt><dd><a href=\"\(retry)\">"))
    // It is retried once.
    #expect(!old.contains("action=\"/runs/\(first)/retry\""))
    #expect(try await own.browser.get("/recipes/patient?like=\(first)").status == 400)
    // Whoever may not see the inputs may not use them, nor guess at them.
    let starter = try await own.bench.token("starter", "--scope", "read", "--scope", "start")
    let refused = try await own.bench.send("POST", "/api/v1/recipes/quick/runs", starter, "{\"like\": \"\(first)\"}")
    #expect(refused.status == 403 && refused.json["detail"]?.string?.contains("'like' needs") == true, "\(refused)")
    let list = try await own.browser.get("/runs?cause=retry").text
    #expect(list.contains(">quick <code>\(retry.suffix(8))</code></a>") && !list.contains("\(again)"))
    await own.bench.end()
  }

  @Test func `the page of a run has the steps to come, in grey`() async throws {
    let own = try await Setting()
    let run = try await own.start("quick", until: "failed")
    let page = try await own.browser.get("/runs/\(run)").text
    #expect(page.contains("href=\"/runs/\(run)/steps/check\">Look at it <code>check</code></a>"), "\(page)")
    #expect(page.contains("<span class=\"quiet\"><code>later</code></span>"))
    #expect(page.contains("<span class=\"quiet\">not begun</span>"))
    let token = try await own.bench.token("eye", "--scope", "read")
    let steps = try await own.bench.send("GET", "/api/v1/runs/\(run)/steps?parent=&outlined=true", token)
    let rows = steps.json["outline"]?.list ?? []
    #expect(rows.map { $0["title"]?.string } == ["check", "later"], "\(steps.json)")
    #expect(rows.map { $0["status"]?.string } == ["failed", nil] && rows.first?["name"]?.string == "Look at it")
    await own.bench.end()
  }

  @Test func `commands filter, count and steer`() async throws {
    let own = try await Setting()
    var failed: [String] = []
    for name in ["7a", "8b"] { failed.append(try await own.start("quick", ["input.class": name], until: "failed")) }
    _ = try await own.start("patient", until: "waiting")
    let program = own.bench.program
    let list = try await program.call("runs", "list", "--name", "QUI", "-i", "class=8b", "--json").json
    #expect(list["finished"]?.list?.map { $0["id"]?.string } == [failed[1]], "\(list)")
    #expect(list["finished"]?.list?.first?["inputs"]?["class"] == .string("8b"))
    let counts = try await program.call("runs", "count", "--json").json
    #expect(counts["statuses"] == .object(["waiting": .int(1), "failed": .int(2)]), "\(counts)")
    let table = try await program.call("runs", "count", "--text", "is <empty>").out
    #expect(table.contains("failed") && table.contains("all") && !table.contains("waiting"))
    #expect(try await program.call("runs", "steer", "retry").code == 64)
    #expect(try await program.call("runs", "steer", "retry", failed[0], "--recipe", "quick").code == 64)
    let unsure = try await program.call("runs", "steer", "retry", "--recipe", "quick")
    #expect(unsure.code == 64 && unsure.error.contains("nothing was changed; say --yes to change 2 runs"))
    let grown = try await program.call("runs", "steer", "retry", "--recipe", "quick", "--expected", "1")
    #expect(grown.code != 0 && grown.error.contains("2 runs match now, and 1 are meant"), "\(grown.error)")
    let done = try await program.call("runs", "steer", "retry", "--recipe", "quick", "--yes", "--json")
    #expect(done.code == 0, "\(done.error)")
    #expect(done.json.list?.map { $0["run"]?.string } == [failed[1], failed[0]])
    let like = try await program.call("runs", "start", "quick", "--like", failed[1])
    #expect(like.code == 0, "\(like.error)")
    #expect(try await own.inputs(of: like.out.trimmingCharacters(in: .newlines))["class"] == .string("8b"))
    await own.bench.end()
  }
}
