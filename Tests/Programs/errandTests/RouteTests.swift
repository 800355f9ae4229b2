import Agent
import Operations
import Basics
import Foundation
import HTTPClient
import RunState
import Testing

@testable import AgentServer
@testable import errand

/// Every address of `errand serve`: none skips a check, and none reveals other recipes.
@Suite(.timeLimit(.minutes(20))) struct RouteTests {
  /// An address and a request to it; `{name}` in a path is filled in.
  private struct Address {
    var method: String
    var path: String
    var body: String?
    var entrance: Entrance { Entrance(path: path) }
  }

  /// The paths of all verbs, and one of each other part.
  private static func addresses(_ values: [String: String]) -> [Address] {
    var found = OperationList.all.compactMap { operation in
      operation.route.map { route in
        let segments = Routes.segments(of: "\(apiRoot)\(route.path)").map { segment in
          Routes.parameter(in: segment).map {
            PercentEncoding.encode(values[$0] ?? "x") + Routes.suffix(of: segment)
          } ?? segment
        }
        return Address(
          method: route.method.rawValue, path: "/" + segments.joined(separator: "/"),
          body: route.method == .post ? "{}" : nil)
      }
    }
    for path in [
      "/healthz", "/readyz", "/openapi.json", "/problems/forbidden", "/assets/errand.css", "/metrics", "/login", "/",
      "/d/edl_x",
      "/runs", "/approvals", "/recipes", "/check", "/actions", "/actions/shell.run", "/schedules", "/connections",
      "/workers", "/tokens", "/state", "/help",
      "/recipes/\(values["recipe"] ?? "x")", "/schedules/\(PercentEncoding.encode(values["schedule"] ?? "x"))",
      "/runs/\(values["run"] ?? "x")", "/runs/\(values["run"] ?? "x")/steps/ask", "/runs/\(values["run"] ?? "x")/logs",
      "/runs/\(values["run"] ?? "x")/logs.txt", "/runs/\(values["run"] ?? "x")/outputs",
      "/runs/\(values["run"] ?? "x")/outputs.json", "/runs/\(values["run"] ?? "x")/outputs/x.csv",
      "/runs/\(values["run"] ?? "x")/files/1",
      "/approvals/\(values["run"] ?? "x")/ask", "/plans/0", "/forms/y",
    ] { found.append(Address(method: "GET", path: path)) }
    found += [
      Address(method: "POST", path: "/hooks/x", body: "{}"), Address(method: "POST", path: "/logout", body: ""),
      Address(method: "POST", path: "/mcp", body: #"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#),
      Address(method: "POST", path: "\(ExactForm.path)status", body: "{}"),
      Address(method: "POST", path: "\(ExactForm.path)runs", body: "{}"),
      Address(method: "POST", path: "\(ExactForm.path)show", body: #"{"run":"\#(values["run"] ?? "x")"}"#),
      Address(
        method: "POST", path: "\(ExactForm.path)explainSchedule", body: #"{"id":"\#(values["schedule"] ?? "x")"}"#),
      Address(method: "POST", path: "\(apiRoot)/requests", body: #"{"ask":"status"}"#),
      Address(method: "POST", path: "/runs/\(values["run"] ?? "x")/cancel", body: ""),
      Address(method: "POST", path: "/schedules/\(PercentEncoding.encode(values["schedule"] ?? "x"))/pause", body: ""),
      Address(method: "POST", path: "/runs/\(values["run"] ?? "x")/events", body: ""),
      Address(method: "POST", path: "/runs/\(values["run"] ?? "x")/unlink", body: ""),
      Address(
        method: "POST", path: "/schedules/\(PercentEncoding.encode(values["schedule"] ?? "x"))/backfill", body: ""),
      Address(method: "POST", path: "/schedules/\(PercentEncoding.encode(values["schedule"] ?? "x"))/reset", body: ""),
      Address(
        method: "POST", path: "/schedules/\(PercentEncoding.encode(values["schedule"] ?? "x"))/trigger", body: ""),
      Address(method: "POST", path: "/state/zone/choose", body: ""),
      Address(method: "POST", path: "/state/logins/end", body: ""),
      Address(method: "POST", path: "/state/configuration/reload", body: ""),
      Address(method: "POST", path: "/runs", body: ""),
      Address(method: "POST", path: "/check", body: ""), Address(method: "POST", path: "/tokens", body: ""),
      Address(method: "POST", path: "/tokens/x/revoke", body: ""),
      Address(method: "POST", path: "/workers/x/drain", body: ""),
      Address(method: "POST", path: "/workers/x/evict", body: ""),
    ]
    return found
  }

  private static func ask(
    _ bench: APITests.Bench, _ address: Address, _ headers: HTTPHeaders = [:]
  ) async throws -> (status: Int, text: String) {
    var headers = headers
    if let body = address.body, headers["Content-Type"] == nil {
      headers["Content-Type"] = body.isEmpty ? "application/x-www-form-urlencoded" : "application/json"
    }
    if address.entrance == .operations { headers["Errand-Program"] = Program.identity }
    let answer = try await HTTPClient().send(
      HTTPRequest(
        address.method, bench.url + address.path, headers: headers, body: address.body.map { Array($0.utf8) },
        limits: HTTPLimits(total: .seconds(10)), redirects: .none))
    return (answer.status, String(decoding: answer.body, as: UTF8.self))
  }

  @Test func `every address checks host, origin and token in this order`() async throws {
    let hook = "on: [{ webhook: { path: x, verify: { none: true } } }]\nsteps: [{ let: { a: 1 } }]\n"
    let form = "on: [{ form: { path: y, open: public } }]\nsteps: [{ let: { a: 1 } }]\n"
    let bench = try await APITests.Bench(["hook": hook, "form": form])
    let token = try await bench.token("all", RunState.TokenScope.allCases.flatMap { ["--scope", $0.rawValue] })
    let all: HTTPHeaders = ["Authorization": "Bearer \(token)"]
    let addresses = Self.addresses(["recipe": "sum", "schedule": "sum", "run": "last"])
    #expect(Set(addresses.map(\.entrance)) == Set(Entrance.allCases))
    let foreign: [HTTPHeaders] = [
      ["Origin": "https://evil.example"], ["Origin": "null"], ["Origin": "http://127.0.0.1:1"],
      ["Origin": "http://evil.example/\(bench.url)"], ["Sec-Fetch-Site": "cross-site"], ["Sec-Fetch-Site": "same-site"],
      ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"],
      ["Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "iframe"],
    ]
    for address in addresses {
      let name = "\(address.method) \(address.path)"
      var elsewhere = all
      elsewhere["Host"] = "evil.example"
      elsewhere["Origin"] = "https://evil.example"
      #expect(try await Self.ask(bench, address, elsewhere).status == 421, "\(name)")
      for headers in foreign {
        var headers = headers
        headers["Authorization"] = all["Authorization"]
        #expect(try await Self.ask(bench, address, headers).status == 403, "\(name): \(headers)")
      }
      if address.entrance.identity != .anyone {
        let wanted = address.entrance == .pages && address.method == "GET" ? 303 : 401
        #expect(try await Self.ask(bench, address).status == wanted, "\(name)")
        #expect(
          try await Self.ask(bench, address, ["Authorization": "Bearer errand_0"]).status == 401, "\(name)")
      }
    }
    // Links lead to pages, and the agent's own pages may ask.
    let link: HTTPHeaders = [
      "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document",
      "Authorization": "Bearer \(token)",
    ]
    #expect(try await Self.ask(bench, Address(method: "GET", path: "/runs"), link).status == 200)
    #expect(try await Self.ask(bench, Address(method: "POST", path: "/hooks/x", body: "{}"), link).status == 403)
    for own in [["Origin": bench.url], ["Sec-Fetch-Site": "same-origin"], ["Sec-Fetch-Site": "none"]] as [HTTPHeaders] {
      #expect(try await Self.ask(bench, Address(method: "POST", path: "/hooks/x", body: "{}"), own).status == 202)
    }
    // A HEAD looks at a link and leaves it.
    let printed = try await bench.program.call("open", "--print", "--quiet").out
    let path = String(printed.trimmingCharacters(in: .newlines).dropFirst(bench.url.count))
    #expect(try await Self.ask(bench, Address(method: "HEAD", path: path)).status == 200)
    #expect(try await Self.ask(bench, Address(method: "PUT", path: path)).status == 405)
    #expect(try await Self.ask(bench, Address(method: "GET", path: path)).status == 303)
    #expect(try await Self.ask(bench, Address(method: "GET", path: path)).status == 401)
    await bench.end()
  }

  @Test func `no address asks less than its scope, and none names what a limited token may not see`() async throws {
    let secret = "salaries-secret"
    let other = """
      inputs: { n: { type: int, default: 1 } }
      on: [{ id: nightly, cron: "0 \(Program.farHour) * * *" }]
      steps: [{ id: ask, approve: { prompt: "Pay?" } }]
      """
    let bench = try await APITests.Bench([secret: other, "mine": "steps: [{ let: { a: 1 } }]\n"])
    let started = try await bench.program.call("run", "recipes/\(secret).yaml", "--detach", "--quiet")
    #expect(started.code == 0, "\(started.error)")
    let run = started.out.trimmingCharacters(in: .whitespacesAndNewlines)
    let scopes = RunState.TokenScope.allCases.flatMap { ["--scope", $0.rawValue] }
    let limited: HTTPHeaders = [
      "Authorization": "Bearer \(try await bench.token("limited", scopes + ["--recipe", "mine"]))"
    ]
    // Its own name where no such schedule, run or recipe is, a name that is nearly another's, and another's.
    for (schedule, recipe, run) in [
      ("mine", "mine", "mine"), ("mine/nightly", "mine", "last:mine"),
      ("salaries-secre/nightly", "salaries-secre", "last"),
      ("\(secret)/nightly", secret, run), ("mine", "mine", String(run.prefix(6))),
    ] {
      for address in Self.addresses(["recipe": recipe, "schedule": schedule, "run": run, "digest": "0", "step": "ask"])
      where !address.path.hasSuffix("/events") {
        let answer = try await Self.ask(bench, address, limited)
        // An answer may repeat the text of its own request.
        let told = answer.text.replacing(address.path, with: "").replacing(PercentEncoding.encode(schedule), with: "")
          .replacing(schedule, with: "").replacing(recipe, with: "")
        #expect(!told.contains("salaries"), "\(address.method) \(address.path): \(answer.status) \(told.prefix(600))")
        #expect(!told.contains("Pay?"), "\(address.method) \(address.path)")
      }
    }
    let why = try await bench.send(
      "GET", "/api/v1/schedules/mine/why", String(limited["Authorization"]?.dropFirst(7) ?? ""))
    #expect(why.json["detail"]?.string == "there is no schedule 'mine'; there is none", "\(why.json)")
    // A token with no scope but one that isn't asked for.
    let bare: HTTPHeaders = ["Authorization": "Bearer \(try await bench.token("bare", "--scope", "metrics"))"]
    for address in Self.addresses(["recipe": "sum", "schedule": "sum", "run": "last"]) {
      guard address.entrance.identity != .anyone, address.entrance != .metrics, address.path != "/help" else {
        continue
      }
      let answer = try await Self.ask(bench, address, bare)
      #expect(answer.status == 403 || answer.status == 404, "\(address.method) \(address.path): \(answer.status)")
      #expect(!answer.text.contains(secret), "\(address.method) \(address.path)")
    }
    await bench.end()
  }

  @Test func `who decides sees the question, and who may not decide sees whom it asks`() async throws {
    let ask = "steps: [{ id: d, approve: { prompt: 'Delete all 812 marks?', by: [ann, bob], timeout: 2d } }]\n"
    let bench = try await APITests.Bench(["decide": ask])
    let started = try await bench.program.call("run", "recipes/decide.yaml", "--detach", "--quiet")
    let run = started.out.trimmingCharacters(in: .whitespacesAndNewlines)
    func page(_ name: String, _ scopes: String...) async throws -> String {
      let token = try await bench.token(name, scopes.flatMap { ["--scope", $0] })
      while true {
        let answer = try await Self.ask(
          bench, Address(method: "GET", path: "/approvals/\(run)/d"), ["Authorization": "Bearer \(token)"])
        // The step begins after the run.
        if answer.text.contains("Nothing to decide") { continue }
        return answer.text.split(separator: "<main").last.map { String($0) } ?? ""
      }
    }
    let whole = try await page("ann", "read", "data", "approve")
    #expect(whole.contains("Delete all 812 marks?") && whole.contains("value=\"approve\""))
    let blind = try await page("bob", "read", "approve")
    #expect(!blind.contains("812 marks") && !blind.contains("<button"), "\(blind)")
    #expect(blind.contains("This token lacks the scope &#39;data&#39;, so the question can&#39;t be shown."))
    let other = try await page("eve", "read", "data", "approve")
    #expect(!other.contains("<button") && other.contains("This decision is for ann and bob; you are logged in as eve."))
    let looking = try await page("ann2", "read", "data")
    #expect(!looking.contains("<button"))
    await bench.end()
  }

  @Test func `the page of a step shows its input, whatever became of the step`() async throws {
    let bench = try await APITests.Bench()
    try bench.program.write(
      "steps:\n  - { id: good, uses: file.write, with: { path: a.txt, text: the-text-42 } }\n"
        + "  - { id: bad, uses: file.read, with: { path: missing-43.txt } }\n", to: "recipes/inputs.yaml")
    let ended = try await bench.program.call("run", "recipes/inputs.yaml", "--quiet")
    #expect(ended.code == 1)
    let (seeing, blind) = (
      try await bench.token("seeing", "--scope", "read", "--scope", "data"), try await bench.token("blind")
    )
    for (step, text) in [("good", "the-text-42"), ("bad", "missing-43.txt")] {
      let path = "/runs/last/steps/\(step)"
      let page = try await Self.ask(bench, Address(method: "GET", path: path), ["Authorization": "Bearer \(seeing)"])
      #expect(page.status == 200 && page.text.contains(">Input<") && page.text.contains(text), "\(step)")
      let other = try await Self.ask(bench, Address(method: "GET", path: path), ["Authorization": "Bearer \(blind)"])
      #expect(other.status == 200 && !other.text.contains(text), "\(step)")
    }
    await bench.end()
  }

  @Test func `a token that approves reads, and says that questions need data`() async throws {
    let program = try await Program()
    let made = try await program.call("token", "new", "ann", "--scope", "approve")
    #expect(made.code == 0)
    #expect(made.error.contains("added the scope 'read', without which there is nothing to approve\n"))
    #expect(
      made.error.contains(
        "this token doesn't show the questions that are to be decided, which need the scope 'data': add --scope data\n")
    )
    #expect(try await program.call("token", "list").out.contains("read, approve"))
    let whole = try await program.call(
      "token", "new", "bob", "--scope", "approve", "--scope", "data", "--scope", "read")
    #expect(!whole.error.contains("scope"))
    await program.remove()
  }

  @Test func `the cookie of a session has the name of its port`() async throws {
    let bench = try await APITests.Bench()
    let printed = try await bench.program.call("open", "--print", "--quiet").out
    let answer = try await HTTPClient().send(
      HTTPRequest("GET", printed.trimmingCharacters(in: .newlines), redirects: .none))
    let port = bench.url.split(separator: ":").last ?? ""
    let cookie = String((answer.headers["Set-Cookie"] ?? "").prefix { $0 != ";" })
    #expect(cookie.hasPrefix("errand_session_\(port)="))
    let path = Address(method: "GET", path: "/runs")
    #expect(try await Self.ask(bench, path, ["Cookie": cookie]).status == 200)
    // Another agent's cookie, which the browser sends as well.
    let other = cookie.replacing("_\(port)=", with: "_1=")
    #expect(try await Self.ask(bench, path, ["Cookie": other]).status == 303)
    #expect(try await Self.ask(bench, path, ["Cookie": "\(other); \(cookie)"]).status == 200)
    await bench.end()
  }
}
