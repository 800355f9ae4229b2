import AgentServer
import Basics
import Foundation
import HTTPClient
import RunState
import Testing

/// The metrics for Prometheus: the events that they count, the number of series, and the permission to read them.
@Suite(.timeLimit(.minutes(20))) struct MetricsTests {
  static let now = Timestamp("2026-11-20T09:00:00Z") ?? .earliest

  static func created(_ run: String, _ cause: RunCause) -> StateEvent {
    .runCreated(
      RunCreated(
        run: run, at: now, recipe: "sum", file: "sum.yaml", texts: .inline(.null), inputs: .null, program: "0.1",
        language: 1, cause: cause))
  }

  static func slot(_ outcome: SlotOutcome, count: Int = 1, lateBy: TimeSpan? = nil) -> StateEvent {
    .slotDecided(
      SlotRecord(
        schedule: "sum", slot: now, count: count, outcome: outcome, at: now, cause: RunCause(.slot), lateBy: lateBy))
  }

  static func text(_ metrics: Metrics) -> String {
    let hooks = HookCounts()
    hooks.add("shop/\"paid\"", 202)
    hooks.add("", 404)
    return metrics.text(
      Metrics.Present(
        version: "0.1", since: now, openRuns: [.waiting: 2], streams: 1, deliveries: hooks.all))
  }

  @Test func `what became durable is counted, and written as Prometheus reads it`() {
    let metrics = Metrics()
    let error = RunError(.network, "gone")
    var attempt = AttemptEnded(run: "a", at: Self.now, step: "x", number: 1, error: error)
    attempt.action = "http.get"
    var step = StepEnded(run: "a", at: Self.now, step: "x", attempt: 2, status: .succeeded)
    step.action = "http.get"
    metrics.count(
      [
        Self.created("a", RunCause(.slot)), Self.created("b", RunCause(.manual)), Self.slot(.started),
        Self.slot(.started, lateBy: .seconds(90)), Self.slot(.missedWindow, count: 3), Self.slot(.reset),
        .attemptEnded(attempt), .stepEnded(step),
        .stepEnded(StepEnded(run: "a", at: Self.now, step: "y", status: .running, error: error)),
        .stepEnded(StepEnded(run: "a", at: Self.now, step: "y", status: .skipped)),
      ], syncTime: .microseconds(500)
    ) { $0 == "a" ? "sum" : nil }
    metrics.count(
      [.runEnded(RunEnded(run: "a", at: Self.now, status: .succeeded))], syncTime: .milliseconds(2)
    ) { _ in "sum" }
    #expect(
      Self.text(metrics) == """
        # HELP errand_build_info The version of the program, in a label.
        # TYPE errand_build_info gauge
        errand_build_info{version="0.1"} 1
        # HELP errand_start_time_seconds When the agent started, in seconds since 1970.
        # TYPE errand_start_time_seconds gauge
        errand_start_time_seconds 1795165200
        # HELP errand_runs_open Open runs by status.
        # TYPE errand_runs_open gauge
        errand_runs_open{status="queued"} 0
        errand_runs_open{status="running"} 0
        errand_runs_open{status="waiting"} 2
        errand_runs_open{status="paused"} 0
        errand_runs_open{status="uncertain"} 0
        # HELP errand_runs_started_total Runs that were accepted, by cause.
        # TYPE errand_runs_started_total counter
        errand_runs_started_total{cause="manual"} 1
        errand_runs_started_total{cause="slot"} 1
        # HELP errand_runs_ended_total Runs that ended, by recipe and status.
        # TYPE errand_runs_ended_total counter
        errand_runs_ended_total{recipe="sum",status="succeeded"} 1
        # HELP errand_steps_ended_total Steps that ended or became uncertain, by recipe, action and status.
        # TYPE errand_steps_ended_total counter
        errand_steps_ended_total{recipe="sum",action="",status="skipped"} 1
        errand_steps_ended_total{recipe="sum",action="http.get",status="succeeded"} 1
        # HELP errand_attempts_ended_total Attempts of steps that ended, by recipe, action and status.
        # TYPE errand_attempts_ended_total counter
        errand_attempts_ended_total{recipe="sum",action="http.get",status="failed"} 1
        errand_attempts_ended_total{recipe="sum",action="http.get",status="succeeded"} 1
        # HELP errand_slots_total Slots of schedules, by outcome.
        # TYPE errand_slots_total counter
        errand_slots_total{outcome="missedWindow"} 3
        errand_slots_total{outcome="started"} 2
        # HELP errand_slot_lateness_seconds How late the runs of slots were started.
        # TYPE errand_slot_lateness_seconds histogram
        errand_slot_lateness_seconds_bucket{le="0.1"} 1
        errand_slot_lateness_seconds_bucket{le="0.5"} 1
        errand_slot_lateness_seconds_bucket{le="1.0"} 1
        errand_slot_lateness_seconds_bucket{le="5.0"} 1
        errand_slot_lateness_seconds_bucket{le="15.0"} 1
        errand_slot_lateness_seconds_bucket{le="60.0"} 1
        errand_slot_lateness_seconds_bucket{le="300.0"} 2
        errand_slot_lateness_seconds_bucket{le="1800.0"} 2
        errand_slot_lateness_seconds_bucket{le="3600.0"} 2
        errand_slot_lateness_seconds_bucket{le="21600.0"} 2
        errand_slot_lateness_seconds_bucket{le="86400.0"} 2
        errand_slot_lateness_seconds_bucket{le="+Inf"} 2
        errand_slot_lateness_seconds_sum 90.0
        errand_slot_lateness_seconds_count 2
        # HELP errand_webhook_deliveries_total Answers to deliveries, by the webhook's path and the status.
        # TYPE errand_webhook_deliveries_total counter
        errand_webhook_deliveries_total{path="",status="404"} 1
        errand_webhook_deliveries_total{path="shop/\\"paid\\"",status="202"} 1
        # HELP errand_journal_sync_seconds How long syncs of the journal to disk took.
        # TYPE errand_journal_sync_seconds histogram
        errand_journal_sync_seconds_bucket{le="0.00025"} 0
        errand_journal_sync_seconds_bucket{le="0.0005"} 1
        errand_journal_sync_seconds_bucket{le="0.001"} 1
        errand_journal_sync_seconds_bucket{le="0.0025"} 2
        errand_journal_sync_seconds_bucket{le="0.005"} 2
        errand_journal_sync_seconds_bucket{le="0.01"} 2
        errand_journal_sync_seconds_bucket{le="0.025"} 2
        errand_journal_sync_seconds_bucket{le="0.05"} 2
        errand_journal_sync_seconds_bucket{le="0.1"} 2
        errand_journal_sync_seconds_bucket{le="0.25"} 2
        errand_journal_sync_seconds_bucket{le="1.0"} 2
        errand_journal_sync_seconds_bucket{le="+Inf"} 2
        errand_journal_sync_seconds_sum 0.0025
        errand_journal_sync_seconds_count 2
        # HELP errand_http_request_seconds How long requests took until their answer began, by status.
        # TYPE errand_http_request_seconds histogram
        # HELP errand_streams_open Streams of server-sent events that are open.
        # TYPE errand_streams_open gauge
        errand_streams_open 1

        """)
  }

  @Test func `there are at most 1,000 series, however many recipes and webhooks there are`() {
    let metrics = Metrics()
    let hooks = HookCounts()
    for number in 0..<2000 {
      for status in [StepStatus.succeeded, .failed, .timedOut, .cancelled, .skipped, .uncertain] {
        var step = StepEnded(run: "a", at: Self.now, step: "x", attempt: 1, status: status)
        step.action = "http.get\(number % 50)"
        metrics.count([.stepEnded(step)], syncTime: .zero) { _ in "recipe\(number)" }
      }
      hooks.add("path\(number)", 202)
      hooks.add("path\(number)", 401)
    }
    let text = metrics.text(
      Metrics.Present(version: "0.1", since: Self.now, openRuns: [:], streams: 0, deliveries: hooks.all))
    let series = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
    #expect(series.count <= 1000, "\(series.count)")
    // Series that were merged are still counted.
    func sum(_ name: String) -> Int {
      series.filter { $0.hasPrefix("\(name){") }.reduce(0) { $0 + (Int($1.split(separator: " ").last ?? "") ?? 0) }
    }
    #expect(sum("errand_steps_ended_total") == 12000)
    #expect(sum("errand_attempts_ended_total") == 12000)
    #expect(sum("errand_webhook_deliveries_total") == 4000)
    #expect(text.contains("errand_steps_ended_total{recipe=\"other\",action=\"other\",status=\"uncertain\"}"))
  }

  @Test func `the figures are for tokens with their scope, and for those of all recipes`() async throws {
    let bench = try await APITests.Bench()
    let token = try await bench.token("prometheus", "--scope", "metrics")
    let narrow = try await bench.token("narrow", "--scope", "metrics", "--recipe", "sum")
    let reader = try await bench.token("reader", "--scope", "read", "--scope", "start")
    let none = try await bench.send("GET", "/metrics", nil)
    #expect(none.status == 401)
    let other = try await bench.send("GET", "/metrics", reader)
    #expect(other.json["detail"]?.string == "the token lacks the scope 'metrics', which this needs")
    let limited = try await bench.send("GET", "/metrics", narrow)
    #expect(
      limited.json["detail"]?.string
        == "the token is limited to some recipes, but the metrics cover all of them")
    try bench.program.write(
      """
      steps:
        - uses: file.write
          with: { path: note.txt, text: Hello }
        - id: twice
          uses: shell.run
          with: { effect: read, script: exit 1 }
          retry: { maxAttempts: 2, initial: 1ms, on: [plugin, validation, server] }
          onError: { steps: [{ let: { b: 1 } }] }
        - if: false
          uses: file.append
          with: { path: note.txt, text: Hello }
      """, to: "recipes/note.yaml")
    _ = await bench.agent.line(with: "note")
    for recipe in ["sum", "note"] {
      let run = try await bench.send(
        "POST", "/api/v1/recipes/\(recipe)/runs", reader, "{}", headers: ["Prefer": "wait=30"])
      #expect(run.status == 200 && run.json["status"]?.string == "succeeded", "\(run.json)")
    }
    let answer = try await HTTPClient().send(
      HTTPRequest("GET", "\(bench.url)/metrics", headers: ["Authorization": "Bearer \(token)"]))
    #expect(answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8")
    let text = String(decoding: answer.body, as: UTF8.self)
    #expect(text.contains("errand_runs_started_total{cause=\"manual\"} 2\n"), "\(text)")
    #expect(text.contains("errand_runs_ended_total{recipe=\"sum\",status=\"succeeded\"} 1\n"))
    let ended = text.split(separator: "\n").filter { $0.contains("s_ended_total{recipe=\"note\",action=") }
    #expect(
      ended == [
        "errand_steps_ended_total{recipe=\"note\",action=\"\",status=\"skipped\"} 1",
        "errand_steps_ended_total{recipe=\"note\",action=\"file.write\",status=\"succeeded\"} 1",
        "errand_steps_ended_total{recipe=\"note\",action=\"shell.run\",status=\"failed\"} 1",
        "errand_attempts_ended_total{recipe=\"note\",action=\"file.write\",status=\"succeeded\"} 1",
        "errand_attempts_ended_total{recipe=\"note\",action=\"shell.run\",status=\"failed\"} 2",
      ])
    #expect(text.contains("errand_http_request_seconds_count{class=\"4xx\"} 3\n"))
    await bench.end()
  }

  @Test(.enabled(if: Clients.python != nil, Clients.reason))
  func `the parser of Prometheus's own client reads the figures`() async throws {
    let (code, output) = try await Clients.run(
      "metrics.py", [Program.binary.path], with: try #require(Clients.python))
    #expect(code == 0, "\(output)")
  }

  @Test(.enabled(if: Clients.prometheus != nil, "Debian's prometheus isn't there; `make clients` unpacks it"))
  func `Prometheus reads the figures as the page sets it up, and promtool finds no fault`() async throws {
    let (code, output) = try await Clients.run(
      "prometheus.py", [Program.binary.path, try #require(Clients.prometheus)], with: Clients.systemPython)
    #expect(code == 0, "\(output)")
  }
}
