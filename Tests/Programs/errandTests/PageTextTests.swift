import Basics
import Foundation
import HTTPClient
import Testing

@testable import errand

/// The words of pages: names of steps and links, places of errors, instants and lengths of time, and no paths of the
/// machine.
@Suite(.timeLimit(.minutes(20))) struct PageTextTests {
  private typealias Browser = PagesTests.Browser

  @Test func `the pages of a run have the names of its steps`() async throws {
    let bench = try await APITests.Bench([
      "named": """
      inputs: { at: { type: timestamp }, span: { type: duration } }
      steps:
        - { id: first, name: Fetch the <book>, uses: shell.run, with: { effect: read, script: echo 1 } }
        - { id: plain, uses: shell.run, with: { effect: read, script: echo 2 } }
        - id: each
          forEach: ${{ [1, 2] }}
          as: n
          steps: [{ id: one, name: Say one, uses: shell.run, with: { effect: read, script: "echo ${{ n }}" } }]
      outputs: { at: "${{ inputs.at }}", span: "${{ inputs.span }}" }
      """
    ])
    let browser = try await Browser(bench)
    let form: HTTPQuery = ["input.at": "2026-11-20T06:30:00Z", "input.span": "2h4m"]
    let path = try #require(try await browser.post("/recipes/named/start", form).headers["Location"])
    let page = try await browser.ended(path)
    #expect(page.contains("/steps/first\">Fetch the &lt;book&gt; <code>first</code></a>"), "\(page)")
    #expect(page.contains("/steps/plain\"><code>plain</code></a>"))
    // Instants and lengths of time are in words, and exact for people who point at them.
    #expect(page.contains("title=\"2026-11-20T06:30:00Z\">Fri 2026-11-20 07:30 CET</time>"), "\(page)")
    #expect(page.contains(">2 h 4 min</span>"), "\(page)")
    let item = try await browser.get("\(path)?in=each%5B1%5D").text
    #expect(item.contains(">Say one <code>one</code></a>"), "\(item)")
    let step = try await browser.get("\(path)/steps/first").text
    #expect(step.contains("<h1>Fetch the &lt;book&gt; <code>first</code> "), "\(step)")
    #expect(try await browser.get("\(path)/steps/plain").text.contains("<h1><code>plain</code> "))
    let token = try await bench.token("all", "--scope", "read", "--scope", "data")
    let steps = try await bench.send("GET", "/api/v1\(path)/steps", token).json["items"]?.list ?? []
    #expect(steps.first?["name"]?.string == "Fetch the <book>" && steps.dropFirst().first?["name"] == nil, "\(steps)")
    let one = try await bench.send("GET", "/api/v1\(path)/steps/each%5B0%5D%2Fone", token).json
    #expect(one["step"]?["name"]?.string == "Say one", "\(one)")
    await bench.end()
  }

  @Test func `a link and a button say what they are about`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    let path = try #require(
      try await browser.post("/recipes/ask/start", ["input.name": "Ada"]).headers["Location"])
    let run = String(path.dropFirst("/runs/".count))
    var list = try await browser.get("/approvals").text
    while !list.contains("/approvals/\(run)/ask") { list = try await browser.get("/approvals").text }
    let about = ">Decide<span class=\"hidden\">: Greet Ada? (ask)</span></a>"
    #expect(list.contains(about), "\(list)")
    #expect(try await browser.get("/").text.contains(">Decide<span class=\"hidden\"> step ask of ask, run …"))
    _ = try await bench.token("ann")
    _ = try await bench.token("bob")
    let tokens = try await browser.get("/tokens").text
    for name in ["ann", "bob"] {
      #expect(tokens.contains("<summary>Revoke<span class=\"hidden\"> \(name)</span></summary>"), "\(tokens)")
    }
    let triggered = try await browser.post("/schedules/sum/trigger", [:])
    let started = try #require(triggered.headers["Location"])
    let slots = try await browser.get("/schedules/sum").text
    #expect(slots.contains("<a href=\"\(started)\">run …\(started.suffix(8))</a>"), "\(slots)")
    await bench.end()
  }

  @Test func `an error of a recipe names its line, and leads there`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    try bench.program.write("steps:\n  - uses: shell.rum\n  - wait: soon\n", to: "recipes/faulty.yaml")
    var page = try await browser.get("/recipes/faulty")
    while page.status != 200 { page = try await browser.get("/recipes/faulty") }
    let notice = try #require(page.text.components(separatedBy: "so it isn&#39;t served").last?.prefix(2_000))
    for line in [2, 3] {
      #expect(
        notice.contains("<div class=\"finding\"><a href=\"/recipes/faulty#line-\(line)\">Line \(line)</a>: error: "))
      #expect(page.text.contains("<li id=\"line-\(line)\">"))
    }
    // The text that is shown is the one before, so there is no line to lead to.
    try bench.program.write("steps:\n  - uses: shell.rum\n", to: "recipes/sum.yaml")
    var sum = try await browser.get("/recipes/sum").text
    while !sum.contains("Errand uses the version before it") { sum = try await browser.get("/recipes/sum").text }
    #expect(sum.contains("<div class=\"finding\">Line 2: error: "), "\(sum)")
    // An error far down is on a page of its own.
    let long = (1...900).map { "  - let: { a\($0): 1 }\n" }.joined()
    try bench.program.write("steps:\n\(long)  - uses: shell.rum\n", to: "recipes/long.yaml")
    page = try await browser.get("/recipes/long")
    while page.status != 200 { page = try await browser.get("/recipes/long") }
    #expect(
      page.text.contains("<a href=\"/recipes/long?from=892#line-902\">Line 902</a>"), "\(page.text.prefix(3_000))")
    #expect(try await browser.get("/recipes/long?from=892").text.contains("<li id=\"line-902\">"))
    await bench.end()
  }

  @Test func `help lists the actions with their fields, and the functions`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    let help = try await browser.get("/help")
    #expect(help.status == 200 && help.text.utf8.count <= 100_000)
    for part in [
      "<a href=\"/actions/shell.run\"><code>shell.run</code></a>", "<strong><code>effect</code></strong>",
      "<a href=\"/help/functions#part-1\">", "<code>stats</code></a>: stats.mean, ",
    ] { #expect(help.text.contains(part), "\(part): \(help.text)") }
    let functions = try await browser.get("/help/functions")
    #expect(functions.status == 200 && functions.text.utf8.count <= 100_000)
    for part in [
      "<code>has(a.b)</code>", "<code>stats.mean(list(double)) -&gt; double</code>", "id=\"part-1\"",
      "aria-label=\"Functions: stats\"",
    ] { #expect(functions.text.contains(part), "\(part)") }
    #expect(try await browser.get("/help/nothing").status == 404)
    await bench.end()
  }

  @Test func `pages, and answers to tokens, have no paths of the machine`() async throws {
    let bench = try await APITests.Bench()
    let folder = bench.program.folder.path
    try bench.program.write("KEY: planted-s3cret\n", to: "secrets.yaml")
    #expect(try await bench.program.shell("chmod 600 secrets.yaml").code == 0)
    let http = #"  http: { baseURL: "http://127.0.0.1:1", secretHeaders: { X-Token: "${{ secrets.KEY }}" } }"#
    let old = try bench.program.read("errand.yaml").replacing("connections:\n", with: "connections:\n\(http)\n")
    try bench.program.write(old + "secrets: { files: [secrets.yaml] }\n", to: "errand.yaml")
    try bench.program.write("steps:\n  - uses: shell.rum\n", to: "recipes/faulty.yaml")
    bench.agent.signal(SIGHUP)
    _ = try #require(await bench.agent.line(with: "errand.yaml is read again: "))
    let browser = try await Browser(bench)
    while !(try await browser.get("/state").text.contains("recipes/faulty.yaml:2:")) {}
    let scopes = ["read", "data", "start", "steer"].flatMap { ["--scope", $0] }
    let token = try await bench.token("all", scopes)
    for path in ["/state", "/connections", "/workers", "/recipes/faulty", "/schedules/sum"] {
      let page = try await browser.get(path).text
      #expect(!page.contains(folder), "\(path): \(page)")
    }
    for path in ["/status", "/connections", "/recipes/faulty", "/schedules/sum/why"] {
      let answer = try await bench.send("GET", "/api/v1\(path)", token)
      #expect(!JSON.displayed(answer.json).contains(folder), "\(path): \(answer.json)")
    }
    let connections = try await browser.get("/connections").text
    #expect(connections.contains("&#39;secrets.yaml&#39;"), "\(connections)")
    // A command elsewhere is a caller elsewhere; one of the machine sees the paths.
    try bench.program.write("\(token)\n", to: "token")
    #expect(try await bench.program.shell("chmod 600 token").code == 0)
    let elsewhere = try await bench.program.call(
      "status", "--remote", bench.url, environment: ["ERRAND_TOKEN_FILE": "token"])
    #expect(elsewhere.code == 0 && !elsewhere.out.contains(folder), "\(elsewhere)")
    let here = try await bench.program.call("status")
    #expect(here.out.contains(folder), "\(here)")
    await bench.end()
  }
}
