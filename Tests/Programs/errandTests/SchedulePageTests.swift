import Basics
import Foundation
import HTTPClient
import Testing

@testable import errand

/// The pages of schedules: filters, a schedule's inputs, and starts out of turn.
@Suite(.timeLimit(.minutes(20))) struct SchedulePageTests {
  typealias Browser = PagesTests.Browser

  private static let report = """
    inputs:
      day: { type: string, default: Monday }
      count: { type: int, min: 1 }
      who: { type: string, default: "" }
    on:
      - id: daily
        cron: "0 5 * * *"
        inputs: { count: 3, day: Friday }
      - id: asked
        event: { name: report-asked }
        inputs: { count: 7, who: "${{ event.data.who }}" }
    steps: [{ let: { said: "${{ inputs.day }} ${{ inputs.count }} ${{ inputs.who }}" } }]
    outputs: { said: "${{ said }}" }
    """

  private static func ready(_ bench: APITests.Bench, _ browser: Browser, _ path: String) async throws -> String {
    var page = try await browser.get(path)
    // The agent reads the schedules of a recipe one after another.
    while page.status != 200 { page = try await browser.get(path) }
    return page.text
  }

  @Test func `a schedule shows its inputs, its next ten slots, and starts a run with other inputs`() async throws {
    let bench = try await APITests.Bench(["report": Self.report])
    let browser = try await Browser(bench)
    let page = try await Self.ready(bench, browser, "/schedules/report%2Fdaily")
    #expect(page.contains("<td>count</td><td><code>3</code></td><td></td>"), "\(page)")
    #expect(page.contains("<td>day</td><td><code>&quot;Friday&quot;</code></td><td></td>"), "\(page)")
    let coming = page.components(separatedBy: "<h2>Next slots</h2>").last?.components(separatedBy: "</ul>").first ?? ""
    #expect(coming.components(separatedBy: "<li>").count == 11, "\(coming)")
    // The form has what the schedule gives.
    #expect(page.contains("name=\"input.count\" type=\"number\" value=\"3\""), "\(page)")
    #expect(page.contains("name=\"input.day\" type=\"text\" value=\"Friday\""), "\(page)")
    let form: HTTPQuery = ["key": "form-1", "inputs": "given", "input.count": "12", "input.day": "Sunday"]
    let path = "/schedules/report%2Fdaily/trigger"
    let started = try await browser.post(path, form)
    let run = try #require(started.headers["Location"])
    #expect(started.status == 303 && run.hasPrefix("/runs/"), "\(started)")
    // A double click is one run.
    #expect(try await browser.post(path, form).headers["Location"] == run)
    let text = try await browser.ended(run)
    #expect(text.contains("Sunday 12"), "\(text)")
    let wrong = try await browser.post(
      path, ["key": "form-2", "inputs": "given", "input.count": "0", "input.day": "Sun"])
    #expect(
      wrong.status == 422 && wrong.text.contains("value=\"0\"") && wrong.text.contains("value=\"Sun\""), "\(wrong)")
    #expect(wrong.text.contains("<details class=\"action\" id=\"trigger\" open>"), "\(wrong)")
    let plain = try await browser.post(path, ["key": "form-3"])
    #expect(plain.headers["Location"]?.hasPrefix("/runs/") == true, "\(plain)")
    await bench.end()
  }

  @Test func `inputs that an event would give are asked for`() async throws {
    let bench = try await APITests.Bench(["report": Self.report])
    let browser = try await Browser(bench)
    let page = try await Self.ready(bench, browser, "/schedules/report%2Fasked")
    #expect(page.contains("<code>${{ event.data.who }}</code></td><td>for each run</td>"), "\(page)")
    let path = "/schedules/report%2Fasked/trigger"
    let plain = try await browser.post(path, ["key": "form-1"])
    #expect(plain.status == 422 && plain.text.contains("computed from an event"), "\(plain)")
    #expect(plain.text.contains("id=\"trigger\" open>"), "\(plain)")
    let given = try await browser.post(
      path, ["key": "form-2", "inputs": "given", "input.count": "7", "input.day": "Monday", "input.who": "ada"])
    let run = try #require(given.headers["Location"], "\(given)")
    let text = try await browser.ended(run)
    #expect(text.contains("Monday 7 ada"), "\(text)")

    // Without the scope 'data' there are no inputs and no form for them.
    let token = try await bench.token("steerer", "--scope", "read", "--scope", "steer")
    let shown = try await bench.send("GET", "/api/v1/schedules/report%2Fdaily", token)
    #expect(shown.status == 200 && shown.json["inputs"]?.list?.isEmpty ?? true, "\(shown)")
    let all = try await bench.token("all", "--scope", "read", "--scope", "data")
    let inputs = try await bench.send("GET", "/api/v1/schedules/report%2Fasked", all).json["inputs"]?.list
    #expect(inputs?.first?["value"]?.int == 7 && inputs?.last?["computed"]?.string == "${{ event.data.who }}")
    #expect(try await bench.send("GET", "/api/v1/schedules/none", all).status == 404)
    let command = try await bench.program.call("schedule", "show", "report/daily")
    #expect(
      command.code == 0 && command.out.contains("count") && command.out.contains("every day at 05:00"), "\(command)")
    await bench.end()
  }

  @Test func `schedules are found by recipe, and those that are paused or late`() async throws {
    var recipes: [String: String] = [:]
    let steps = "steps: [{ let: { a: 1 } }]\n"
    for number in 0..<60 { recipes["bulk\(number)"] = "on: [{ cron: '*/10 * * * *' }]\n\(steps)" }
    recipes["slow"] = "on: [{ cron: '0 5 * * *', overlap: bufferOne }]\nsteps: [{ wait: { event: never } }]\n"
    let bench = try await APITests.Bench(recipes)
    let browser = try await Browser(bench)
    _ = try await Self.ready(bench, browser, "/schedules/slow")
    var all = try await browser.get("/schedules").text
    while !all.contains("1 to 50 of 62") { all = try await browser.get("/schedules").text }
    // With more than fifty, a day is shown, with at most a hundred rows.
    #expect(all.contains(">Today</a>") && all.contains("<option value=\"bulk7\">"), "\(all)")
    #expect(all.components(separatedBy: "to come</span>").count <= 101)
    let found = try await browser.get("/schedules?recipe=SLO").text
    #expect(found.contains("Schedules that match<span class=\"count\">1</span>"), "\(found)")
    #expect(found.contains("/schedules/slow") && !found.contains("/schedules/bulk"), "\(found)")
    // The filter stays while the days pass.
    #expect(found.contains("/schedules?recipe=SLO&amp;week="), "\(found)")
    #expect(try await browser.get("/schedules?recipe=nothing").text.contains("No schedule matches."))
    #expect(try await browser.get("/schedules?late=yes").text.contains("No schedule matches."))
    // One run is open, and the start after it waits.
    _ = try await browser.post("/schedules/slow/trigger", ["key": "form-1"])
    _ = try await browser.post("/schedules/slow/trigger", ["key": "form-2"])
    let late = try await browser.get("/schedules?late=yes").text
    #expect(late.contains("/schedules/slow") && !late.contains("/schedules/bulk1\""), "\(late)")
    #expect(try await browser.get("/schedules/slow").text.contains("<dt>Late since</dt>"))
    _ = try await browser.post("/schedules/bulk1/pause", ["note": "holidays"])
    let paused = try await browser.get("/schedules?paused=yes").text
    #expect(paused.contains("/schedules/bulk1\"") && !paused.contains("/schedules/slow"), "\(paused)")
    let token = try await bench.token("reader")
    let listed = try await bench.send("GET", "/api/v1/schedules", token).json["items"]?.list ?? []
    #expect(listed.filter { $0["lateSince"] != nil }.map { $0["id"]?.string } == ["slow"])
    let slots = try await bench.send("GET", "/api/v1/upcoming?recipes=bulk2&recipes=bulk3&limit=4", token)
    #expect(
      Set(slots.json["items"]?.list?.compactMap { $0["schedule"]?.string } ?? []) == ["bulk2", "bulk3"], "\(slots)")
    await bench.end()
  }

  @Test func `the ledger of a schedule has pages`() async throws {
    let bench = try await APITests.Bench()
    let browser = try await Browser(bench)
    _ = try await Self.ready(bench, browser, "/schedules/sum")
    let from = "2026-01-01", to = "2026-03-02"
    let filled = try await browser.post(
      "/schedules/sum/backfill", ["from": from, "to": to, "start": "true", "zone": "Asia/Tokyo"])
    #expect(filled.status == 303, "\(filled)")
    let page = try await browser.get("/schedules/sum").text
    let older = try #require(
      page.components(separatedBy: "rel=\"next\" href=\"").last?.components(separatedBy: "\"").first)
    #expect(older.contains("cursor=") && older.hasSuffix("#slots"), "\(older)")
    let next = older.replacingOccurrences(of: "&amp;", with: "&").components(separatedBy: "#").first ?? ""
    let rest = try await browser.get(next)
    #expect(rest.status == 200 && !rest.text.contains("Older slots"), "\(rest)")
    await bench.end()
  }
}
