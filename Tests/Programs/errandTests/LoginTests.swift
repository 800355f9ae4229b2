import Basics
import Foundation
import HTTPClient
import PostgresClient
import PostgresTestKit
import Testing

@testable import errand

/// Logins that outlive the agent, the zone of a person, and a reload, over real HTTP.
@Suite(.timeLimit(.minutes(20))) struct LoginTests {
  typealias Browser = PagesTests.Browser

  /// The cookie of a browser for the same agent at another port: each port has a cookie of its own.
  private static func cookie(_ cookie: String, at url: String) -> String {
    "errand_session_\(url.split(separator: ":").last ?? "")=\(cookie.split(separator: "=").last ?? "")"
  }

  private static func logIn(_ bench: APITests.Bench, _ token: String) async throws -> Browser {
    var browser = try await Browser(bench)
    browser.cookie = ""
    let entered = try await browser.post("/login", ["token": token, "to": "/runs"])
    #expect(entered.status == 303 && entered.headers["Location"] == "/runs", "\(entered)")
    browser.cookie = String((entered.headers["Set-Cookie"] ?? "").prefix { $0 != ";" })
    return browser
  }

  // MARK: Logins

  @Test func `a login holds after a restart, and the state doesn't have its text`() async throws {
    var bench = try await APITests.Bench()
    let token = try await bench.token("ada", "--scope", "read")
    let browsers = [try await Browser(bench), try await Self.logIn(bench, token)]
    let before = bench
    bench = try await bench.restarted()
    let files = try await bench.program.shell("cat .errand/*.json*")
    #expect(files.out.contains("sessions"), "\(files.out)")
    for var browser in browsers {
      let text = String(browser.cookie.split(separator: "=").last ?? "")
      #expect(text.utf8.count == 64 && !files.out.contains(text))
      #expect(!before.agent.before.contains(text))
      browser = Browser(bench, cookie: Self.cookie(browser.cookie, at: bench.url))
      #expect(try await browser.get("/runs").status == 200)
    }
    // The page of tokens says when each was last used.
    let own = Browser(bench, cookie: Self.cookie(browsers[0].cookie, at: bench.url))
    let tokens = try await own.get("/tokens").text
    #expect(tokens.contains(", last used on 20"), "\(tokens)")
    let listed = try await bench.program.call("token", "list", "--json")
    #expect(listed.json.list?.first?["usedOn"]?.string?.hasSuffix("T00:00:00Z") == true, "\(listed.out)")
    await bench.end()
  }

  @Test func `the login page says why a login has ended, and leads back`() async throws {
    let bench = try await APITests.Bench()
    let token = try await bench.token("ada", "--scope", "read")
    let browser = try await Self.logIn(bench, token)
    func page(_ path: String) async throws -> String {
      let away = try await browser.get(path)
      let target = try #require(away.headers["Location"])
      #expect(away.status == 303 && target.hasPrefix("/login?to="), "\(away)")
      return try await browser.get(target).text
    }
    #expect(try await bench.program.call("token", "revoke", "ada").code == 0)
    let revoked = try await page("/runs?recipe=sum")
    #expect(revoked.contains("Your login has ended: its token was revoked or has expired."), "\(revoked)")
    #expect(revoked.contains("name=\"to\" value=\"/runs?recipe=sum\""), "\(revoked)")
    let lost = try await browser.post("/recipes/sum/start", ["key": "form-1", "input.n": "4"])
    #expect(lost.status == 401 && lost.text.contains("its token was revoked or has expired. The form was not sent;"))
    // A reason that isn't known is no text of the page.
    #expect(!(try await browser.get("/login?why=%3Cb%3Eout").text.contains("b&gt;out")))
    // Without a login before, there is nothing to say.
    let new = Browser(bench, cookie: "")
    #expect(try await new.get("/runs").headers["Location"] == "/login?to=%2Fruns")
    #expect(!(try await new.get("/login?to=%2Fruns").text.contains("has ended")))
    await bench.end()
  }

  @Test func `a person logs out everywhere, and those of others stay`() async throws {
    let bench = try await APITests.Bench()
    let token = try await bench.token("ada", "--scope", "read")
    let own = [try await Browser(bench), try await Browser(bench)]
    let others = [try await Self.logIn(bench, token), try await Self.logIn(bench, token)]
    #expect(try await own[0].get("/state").text.contains("Log out everywhere"))
    #expect(try await others[0].post("/state/logins/end", ["all": "true"]).status == 403)
    #expect(try await own[0].post("/state/logins/end", [:], origin: "http://evil.example").status == 403)
    #expect(try await own[0].post("/state/logins/end", [:]).headers["Location"] == "/login")
    for browser in own {
      let away = try await browser.get("/runs").headers["Location"] ?? ""
      #expect(away == "/login?to=%2Fruns&why=ended")
      #expect(try await browser.get(away).text.contains("you were logged out"))
    }
    for browser in others { #expect(try await browser.get("/runs").status == 200) }
    let ended = try await bench.send("DELETE", "/api/v1/sessions", token)
    #expect(ended.status == 200 && ended.json["ended"]?.int == 2, "\(ended)")
    for browser in others { #expect(try await browser.get("/runs").status == 303) }
    let last = try await Browser(bench)
    let command = try await bench.program.call("open", "--log-out", "--everyone")
    #expect(command.code == 0 && command.error.contains("1 login ended"), "\(command)")
    #expect(try await last.get("/runs").status == 303)
    #expect(try await bench.program.call("open", "--everyone").code == 64)
    await bench.end()
  }

  @Test(.enabled(if: PostgresServer.isInstalled, "PostgreSQL isn't installed"))
  func `a login that one machine made holds on the other machine of a database`() async throws {
    let settings = try await PostgresServer.database()
    var programs: [Program] = []
    var agents: [(agent: Serving, url: String)] = []
    for name in ["one", "two"] {
      let program = try await Program()
      let old = try program.read("errand.yaml")
      try program.write(
        "state: postgres://\(settings.user)@\(settings)/\(settings.database)\npostgres: { answerWithin: 1m }\n"
          + "worker: { name: \(name) }\nserver: { listen: 127.0.0.1:0 }\n\(old)", to: "errand.yaml")
      if programs.isEmpty { #expect(try await program.call("state", "init").code == 0) }
      let agent = try program.serve("serve")
      let line = try #require(await agent.line(with: "listens on http://"), "\(agent.before)")
      agents.append((agent, "http://" + (line.components(separatedBy: "http://").last ?? "")))
      #expect(await agent.line(with: " serves ") != nil, "\(agent.before)")
      programs.append(program)
    }
    func get(_ path: String, _ cookie: String, at index: Int) async throws -> Int {
      try await HTTPClient().send(
        HTTPRequest("GET", agents[index].url + path, headers: ["Cookie": cookie], redirects: .none)
      ).status
    }
    let link = try await programs[0].call("open", "--print", "--quiet").out.trimmingCharacters(in: .newlines)
    let entered = try await HTTPClient().send(HTTPRequest("GET", link, redirects: .none))
    let cookie = String((entered.headers["Set-Cookie"] ?? "").prefix { $0 != ";" })
    #expect(try await get("/runs", cookie, at: 0) == 200)
    #expect(try await get("/runs", Self.cookie(cookie, at: agents[1].url), at: 1) == 200)
    // Ended on one, it is ended on both.
    #expect(try await programs[1].call("open", "--log-out").code == 0)
    #expect(try await get("/runs", cookie, at: 0) == 303)
    for (agent, _) in agents {
      agent.signal(SIGTERM)
      #expect(await agent.end() == 0, "\(agent.before)")
    }
    for program in programs { await program.remove() }
  }

  // MARK: Time zones

  @Test func `times are in the zone that the browser tells or the person chooses, and each page says which`()
    async throws
  {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    func at(_ cookies: String) -> Browser { Browser(bench, cookie: "\(browser.cookie)\(cookies)") }
    for (cookies, zone) in [
      ("", "Europe/Berlin"), ("; errand_zone=Asia/Tokyo", "Asia/Tokyo"), ("; errand_zone=Mars/Base", "Europe/Berlin"),
      ("; errand_zone=..%2Fetc", "Europe/Berlin"),
      ("; errand_zone=Asia/Tokyo; errand_zone_choice=folder", "Europe/Berlin"),
      ("; errand_zone=Asia/Tokyo; errand_zone_choice=America/New_York", "America/New_York"),
      ("; errand_zone=Asia/Tokyo; errand_zone_choice=nowhere", "Asia/Tokyo"),
    ] {
      for path in ["/state", "/runs", "/schedules", "/schedules/sum", "/help"] {
        let page = try await at(cookies).get(path).text
        #expect(page.contains("<p>Times are in \(zone). <a"), "\(path) with '\(cookies)'")
      }
    }
    let calendar = try await at("; errand_zone=Asia/Tokyo").get("/schedules?day=2126-03-01").text
    // 05:00 in Berlin.
    #expect(calendar.contains("<time datetime=\"2126-03-01T04:00:00Z\">13:00</time>"), "\(calendar)")
    let why = try await at("; errand_zone_choice=Asia/Tokyo").get("/schedules/sum").text
    #expect(why.contains("JST"), "\(why)")

    let chosen = try await browser.post("/state/zone/choose", ["which": "zone", "zone": "Asia/Tokyo"])
    #expect(chosen.status == 303 && chosen.headers["Location"] == "/state#zone")
    #expect(
      chosen.headers["Set-Cookie"] == "errand_zone_choice=Asia/Tokyo; Path=/; Max-Age=31536000; HttpOnly; SameSite=Lax")
    let page = try await at("; errand_zone_choice=Asia/Tokyo").get("/state").text
    #expect(page.contains("name=\"which\" value=\"zone\" checked>"), "\(page)")
    let undone = try await browser.post("/state/zone/choose", ["which": "browser"])
    #expect(undone.headers["Set-Cookie"]?.hasPrefix("errand_zone_choice=; Path=/; Max-Age=0;") == true)
    for (which, zone, fault) in [
      ("zone", "Mars/Base", "There is no time zone &#39;Mars/Base&#39;."), ("zone", "", "Write the name of a zone"),
      ("zone", "Asia/Tokyo; Path=/x", "There is no time zone"), ("", "", "Choose one of these."),
    ] {
      let refused = try await browser.post("/state/zone/choose", ["which": which, "zone": zone])
      #expect(refused.status == 422 && refused.headers["Set-Cookie"] == nil, "\(which) \(zone)")
      #expect(refused.text.contains(fault), "\(refused)")
      #expect(refused.text.contains("<title>Error: State · Errand</title>"))
    }
    await bench.end()
  }

  @Test func `a live page with other times is another page`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    let page = try await browser.get("/schedules").text
    let seen = try #require(page.components(separatedBy: "Errand-Seen&quot;:&quot;").last?.prefix { $0 != "&" })
    let version: HTTPHeaders = ["Errand-Seen": String(seen)]
    #expect(try await browser.get("/schedules", version).status == 204)
    let other = Browser(bench, cookie: "\(browser.cookie); errand_zone=Asia/Tokyo")
    #expect(try await other.get("/schedules", version).status == 200)
    await bench.end()
  }

  // MARK: Reading errand.yaml again

  @Test func `errand.yaml is read again by a request with the scope edit, and the zone of explanations follows`()
    async throws
  {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    let editor = try await bench.token("editor", "--scope", "read", "--scope", "edit")
    let reader = try await bench.token("reader", "--scope", "read", "--scope", "steer")
    let narrow = try await bench.token("narrow", "--scope", "read", "--scope", "edit", "--recipe", "sum")
    let configuration = try bench.program.read("errand.yaml")
    let path = "/api/v1/reload"
    for token in [reader, narrow] { #expect(try await bench.send("POST", path, token, "{}").status == 403) }
    #expect(try await browser.get("/state").text.contains("action=\"/state/configuration/reload\""))
    try bench.program.write(configuration.replacing("Europe/Berlin", with: "Asia/Tokyo"), to: "errand.yaml")
    let command = try await bench.program.call("reload")
    #expect(
      command.code == 0 && command.error == "errand.yaml is read again: 2 recipes, 1 schedule\n", "\(command)")
    #expect(try await browser.get("/schedules").text.contains("Times are in Asia/Tokyo."))
    #expect(try await browser.get("/schedules/sum").text.contains("every day at 05:00, Asia/Tokyo"))
    // The agent's explanations of runs, too.
    let run = try await browser.post("/recipes/sum/start", ["key": "form-1"]).headers["Location"] ?? ""
    _ = try await browser.ended(run)
    let all = try await bench.token("all", "--scope", "read", "--scope", "data")
    let why = try await bench.send("GET", "/api/v1\(run)/why", all)
    #expect(JSON.displayed(why.json).contains("JST"), "\(why)")
    let inBerlin = try await bench.send("GET", "/api/v1\(run)/why?zone=Europe/Berlin", all)
    let text = JSON.displayed(inBerlin.json)
    #expect(text.contains("CET") || text.contains("CEST"), "\(inBerlin)")
    #expect(try await bench.send("GET", "/api/v1\(run)/why?zone=Mars/Base", all).status == 400)

    // A faulty file changes nothing.
    try bench.program.write(configuration + "\nzoone: x\n", to: "errand.yaml")
    for answer in [
      try await browser.post("/state/configuration/reload", [:]),
      (try await bench.program.call("reload")).asAnswer,
    ] {
      #expect(answer.text.contains("zoone"), "\(answer)")
    }
    #expect(try await browser.get("/schedules").text.contains("Times are in Asia/Tokyo."))
    try bench.program.write(configuration, to: "errand.yaml")
    let again = try await browser.post("/state/configuration/reload", [:])
    #expect(again.status == 303 && again.headers["Location"] == "/state")
    #expect(try await browser.get("/schedules").text.contains("Times are in Europe/Berlin."))
    // A token may read the file again where errand.yaml allows editing.
    try bench.program.write(
      configuration.replacing("listen: 127.0.0.1:0", with: "listen: 127.0.0.1:0, edit: true"), to: "errand.yaml")
    #expect(try await bench.program.call("reload").code == 0)
    let byToken = try await bench.send("POST", path, editor, "{}")
    #expect(byToken.status == 200 || byToken.json["detail"]?.string?.contains("edit: true") == true, "\(byToken)")
    await bench.end()
  }

  @Test func `the page of the state leads to the line of an error, and says how large the state is`() async throws {
    let bench = try await APITests.Bench(["broken": "steps: [{ let: { a: 1 } }]\n"])
    let browser = try await Browser(bench)
    try bench.program.write("steps:\n  - lett: { a: 1 }\n", to: "recipes/broken.yaml")
    var page = try await browser.get("/state").text
    while !page.contains("lett") { page = try await browser.get("/state").text }
    #expect(
      page.contains("/edit/recipes%2Fbroken.yaml?line=2#line-2\">Edit line 2 of recipes/broken.yaml</a>"), "\(page)")
    #expect(page.contains("<dt>Size of the state</dt>"), "\(page)")
    let reader = try await Self.logIn(bench, try await bench.token("reader"))
    #expect(!(try await reader.get("/state").text.contains("/edit/")))
    let all = try await bench.token("all")
    let status = try await bench.send("GET", "/api/v1/status?size=true", all)
    #expect(status.json["bytes"]?.int ?? 0 > 1000, "\(status)")
    #expect(try await bench.send("GET", "/api/v1/status", all).json["bytes"] == nil)
    await bench.end()
  }
}

extension Program.Outcome {
  /// The output of the command, as the answer to a form has it.
  fileprivate var asAnswer: (status: Int, text: String, headers: HTTPHeaders) { (Int(code), out + error, [:]) }
}
