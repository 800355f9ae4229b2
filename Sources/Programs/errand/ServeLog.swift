import Agent
import Basics
import Glibc
import RunState
import Synchronization

/// The log of `errand serve`: one line for each run that begins, waits or ends, and for each fault.
///
/// Each line has the time unless systemd's journal adds it.
final class ServeLog: Sendable {
  enum Level: String, Sendable { case info, warning, error }

  private let console: Console
  private let format: ProgressDisplay.Format
  private let time: any TimeSource
  private let isStamped: Bool
  /// The zone of the times, which may change with errand.yaml.
  private let zone: Mutex<LocalZone>

  init(_ console: Console, format: ProgressDisplay.Format, time: any TimeSource, zone: LocalZone) {
    self.zone = Mutex(zone)
    self.console = console
    self.format = format
    self.time = time
    isStamped = getenv("JOURNAL_STREAM") == nil
  }

  /// The clock of the folder.
  var clock: WallClock { zone.withLock { $0 }.clock(at: time.now()) }

  /// Shows times in another zone from now on.
  func use(_ zone: LocalZone) { self.zone.withLock { $0 = zone } }

  /// Logs an event; `members` are for programs that read the log.
  func say(_ event: String, _ text: String, _ level: Level = .info, _ members: [(String, String?)] = []) {
    if level == .info, console.isQuiet { return }
    let now = time.now()
    switch format {
    case .json:
      var map = ValueMap()
      map["at"] = .string("\(now)")
      map["level"] = .string(level.rawValue)
      map["event"] = .string(event)
      map["message"] = .string(text)
      for (name, member) in members { map[name] = member.map { .string($0) } }
      console.error(json: .map(map))
    case .github where level != .info: console.error("::\(level.rawValue)::\(text.safe)")
    case .text, .github:
      let colour = console.colourError
      let stamp = isStamped ? Style.dim.applied(to: clock.stamp(now), colour) + "  " : ""
      let word =
        switch level {
        case .info: ""
        case .warning: Style.yellow.applied(to: "warning", colour) + ": "
        case .error: Style.red.applied(to: "error", colour) + ": "
        }
      console.error(stamp + word + text.safeText())
    }
  }

  /// Tells a person at a terminal what can be done.
  func advise(_ text: String) {
    if format == .text, isatty(STDERR_FILENO) == 1 { console.say(text) }
  }

  /// Shows faults of a file as `check` does.
  func show(_ faults: [Diagnostic]) {
    for fault in faults {
      guard format == .text else {
        let place = fault.location.map { location in
          let position = location.source.position(at: location.range.lowerBound)
          return "\(location.source.name):\(position.line):\(position.column): "
        }
        say("fault", "\(place ?? "")\(fault.message)", fault.severity == .error ? .error : .warning)
        continue
      }
      if fault.severity == .error || !console.isQuiet {
        console.error(Diagnostics([fault]).rendered(colour: console.colourError))
      }
    }
  }

  // MARK: Runs

  func say(_ news: RunNews) {
    switch news {
    case .began(let run):
      let verb = run.steps.isEmpty ? "begins" : "resumes"
      let slot = run.origin.cause.slot.map { " for \(clock.date($0))" } ?? ""
      say("runBegan", "\(run.recipe) \(run.id) \(verb)\(slot)", .info, members(of: run))
    case .waits(let run):
      let until = run.wakeAt.map { " until \(clock.date($0))" } ?? ""
      // For a run that waits only for an instant, the reason repeats that instant.
      let why = run.reason?.hasPrefix("waits until ") == true ? "" : why(run)
      say("runWaits", "\(run.recipe) \(run.id) waits\(until)\(why)", .info, members(of: run))
    case .parked(let run):
      let text = "\(run.recipe) \(run.id) is \(run.status.rawValue)\(why(run))"
      say("runStands", text, run.status == .queued ? .info : .warning, members(of: run))
    case .ended(let run):
      let took = ((run.endedAt ?? run.now).span(since: run.createdAt) ?? .zero).spoken
      let error = run.error.map { ": \($0.message.safe)" } ?? ""
      let isFine = [.succeeded, .skipped].contains(run.status)
      say(
        "runEnded", "\(run.recipe) \(run.id) \(run.status.rawValue) after \(took)\(error)", isFine ? .info : .warning,
        members(of: run))
    // The schedules report the effects of an event.
    case .event: break
    case .unreported(let run, let reason):
      say(
        "unreported", "onFailure starts nothing for the run \(run.id) of \(run.recipe.safe): \(reason.safe)", .error,
        [("run", run.id), ("recipe", run.recipe)])
    case .refused(let run, let reason): say("refused", "the run \(run): \(reason.safe)", .error, [("run", run)])
    case .shared(let news): say(news)
    case .failed(let error): say("stateFailed", error.message.safe, .error)
    }
  }

  private func say(_ news: SharedNews) {
    switch news {
    case .lost(let error?):
      say(
        "leaseLost",
        "the lease has expired, because it couldn't be renewed (\(error.safe)); other workers may resume "
          + "the runs that ran here", .warning)
    case .lost(nil):
      say(
        "leaseLost",
        "the lease has ended, because this machine was suspended, or 'errand workers evict' ended it; other workers "
          + "may resume the runs that ran here", .warning)
    case .barred(let reason):
      say("leaseRefused", "there is no new lease on runs, so that nothing runs here: \(reason.safe)", .error)
    case .back: say("leaseBack", "there is a new lease, and this worker claims runs")
    case .expired(let names):
      for name in names {
        say(
          "workerGone", "the worker \(name.safe) hasn't renewed its lease; other workers claim its runs", .warning,
          [("worker", name)])
      }
    case .tookOver:
      say(
        "databaseTookOver",
        "another database server has taken over; runs with missing records wait for a person", .warning)
    case .cut(let run, let reason):
      say("runCut", "\(run) is paused: \(reason.safe)", .warning, [("run", run), ("reason", reason)])
    case .missing(let run, let recipe):
      say(
        "runVanished",
        "\(recipe.safe) \(run) is gone: it was begun when the database server that took over was behind already; look "
          + "what was done, and start it again if need be; a schedule may start its slot again", .error,
        [("run", run), ("recipe", recipe)])
    case .draining(true):
      say("draining", "draining, as 'errand workers drain' asked: claims no more runs, and finishes the running ones")
    case .draining(false): say("drainingUndone", "no longer draining; this worker claims runs again")
    case .claimed, .told, .fenced: break
    }
  }

  // MARK: Schedules

  func say(_ news: ScheduleNews) {
    switch news {
    case .decided(let slot):
      // A run that begins has its own line.
      if slot.outcome == .started { return }
      let rows = slot.until.map { " to \(clock.date($0)), \(slot.count) slots" } ?? ""
      let reason = slot.reason.map { ": \($0.safe)" } ?? ""
      let level: Level = slot.outcome == .refused || slot.outcome == .dropped ? .warning : .info
      say(
        "slot", "\(slot.schedule) at \(clock.date(slot.slot))\(rows): \(slot.outcome.rawValue)\(reason)", level,
        [("schedule", slot.schedule), ("slot", "\(slot.slot)"), ("outcome", slot.outcome.rawValue)])
    case .refuses(let schedule, let reason):
      say("refusing", "slots of \(schedule) will be refused: \(reason.safe)", .warning, [("schedule", schedule)])
    case .isAhead(let schedule, let until):
      say(
        "ahead",
        "\(schedule) starts nothing before \(clock.date(until)), because the clock was once ahead; to go back to now: errand schedule reset \(schedule.shellQuoted)",
        .warning, [("schedule", schedule), ("until", "\(until)")])
    case .followsNone(let schedule, let reason):
      say("followsNone", "\(schedule): \(reason.safe)", .warning, [("schedule", schedule)])
    case .passedOver(let schedule, let count):
      say(
        "passedOver",
        "\(schedule) passes over \(counted(count, "file")) that \(count == 1 ? "is" : "are") there already; with 'existing: run' they start runs",
        .info, [("schedule", schedule), ("files", "\(count)")])
    case .gathered(let event):
      let what = event.file.map { "the file '\($0.path.safe)'" } ?? "the event \(event.id.safe)"
      say(
        "gathered", "\(event.schedule) gathers \(what) until \(clock.date(event.due))", .info,
        [("schedule", event.schedule), ("id", event.id), ("until", "\(event.due)")])
    case .untaken(let id):
      say("event", "event \(id.safe) is kept; no run and no schedule waits for it", .info, [("id", id)])
    case .lacks(let id, let reason):
      say(
        "eventLacks",
        "event \(id.safe) starts nothing yet: \(reason.safe), or let a machine lead the schedules that has it",
        .warning,
        [("id", id)])
    case .unanswered(let schedule, let reason):
      say("unanswered", "\(schedule): \(reason.safe)", .warning, [("schedule", schedule)])
    case .seesNone(let schedule, let reason):
      say("seesNone", "\(schedule): \(reason.safe)", .warning, [("schedule", schedule)])
    case .madeAgain(let reason):
      say("madeAgain", "the schedules are read again from the state: \(reason.safe)", .warning)
    }
  }

  private func why(_ run: RunRecord) -> String {
    guard let reason = run.reason else { return "" }
    // The record has the instant in UTC.
    if reason.hasPrefix("waits until "), let due = run.wakeAt { return ": waits until \(clock.date(due))" }
    // A question may have hundreds of lines.
    return ": \(reason.safe.shortened(to: 400))"
  }

  private func members(of run: RunRecord) -> [(String, String?)] {
    [
      ("run", run.id), ("recipe", run.recipe), ("status", run.status.rawValue),
      ("schedule", run.origin.cause.schedule), ("slot", run.origin.cause.slot.map { "\($0)" }),
    ]
  }
}
