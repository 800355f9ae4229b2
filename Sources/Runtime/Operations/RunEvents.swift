/// The events of runs, as operations that follow them tell them.
package import Agent
package import Basics
package import RunState
package import Runs

/// One of the things that happen. As a record it is an object, recognised by its members:
///
///     {"accepted":id,"isServing":bool,"known":status?}
///     {"progress":kind,…}                       (`ProgressCoding`)
///     {"waits":{"until":…?,"status":…,"reason":…?,"url":…?}}
///     {"notice":{"kind":watching, began, waits, parked, ended or missed,"run":record?}}
///     {"run":record}                            {"ended":record}
package indirect enum RunEvent: Sendable {
  /// The run is on disk.
  case accepted(AcceptedRun)
  case progress(Progress)
  /// The followed run is suspended.
  case waits(RunWait)
  /// A change of some run, for a watcher of all runs.
  case notice(RunNotice)
  /// The followed run as it is at the beginning.
  case run(RunRecord)
  /// The last of a followed run. If the record's status is open, the run waits for a person, or the agent ended first.
  case ended(RunRecord)
}

extension RunEvent: Recordable {
  package init(reading value: Value) throws(RecordError) {
    // First, because its members have names of their own, such as how many items of a loop 'failed'.
    if value["progress"] != nil {
      self = .progress(try Progress(reading: value))
    } else if let wait = value["waits"] {
      self = .waits(try RunWait(reading: wait))
    } else if let notice = value["notice"] {
      self = .notice(try RunNotice(reading: notice))
    } else if let record = value["ended"] {
      self = .ended(try RunRecord(reading: record))
    } else if let record = value["run"] {
      self = .run(try RunRecord(reading: record))
    } else {
      self = .accepted(try AcceptedRun(reading: value))
    }
  }

  package func encoded() -> Value {
    switch self {
    case .accepted(let run): recorded(run)
    case .progress(let progress): progress.value
    case .waits(let wait): .object(["waits": recorded(wait)])
    case .notice(let notice): .object(["notice": recorded(notice)])
    case .run(let run): .object(["run": recorded(run)])
    case .ended(let run): .object(["ended": recorded(run)])
    }
  }

  /// The event without the things of other recipes; nil if nothing is left of it.
  package func limited(to recipes: VisibleRecipes) -> RunEvent? {
    switch self {
    case .accepted, .progress, .waits: return self
    case .run(let run): return recipes.contain(run.recipe) ? .run(run.alone) : nil
    case .ended(let run): return recipes.contain(run.recipe) ? .ended(run.alone) : nil
    case .notice(var notice):
      if let run = notice.run {
        guard recipes.contain(run.recipe) else { return nil }
        notice.run = run.alone
      }
      return .notice(notice)
    }
  }
}

/// Takes what happens to runs: unchanged in this process, or for the other end of a connection.
package protocol RunEvents: Sendable {
  /// Whether the caller has much to read still, so that what can be read later should be left out.
  var isBehind: Bool { get }
  /// Tells a small thing at once.
  func tell(_ event: RunEvent)
  /// Tells something as soon as there is room for it.
  func tellInTurn(_ event: RunEvent) async
  /// Tells the record of a run, open or finished, as `.run` or `.ended`.
  func tell(_ run: StoredRun, isEnd: Bool) async throws(RequestRefusedError)
}

/// Tells a caller in this process; nothing is encoded.
package struct LocalEvents: RunEvents {
  private let receive: @Sendable (RunEvent) -> Void

  package init(_ receive: @escaping @Sendable (RunEvent) -> Void) { self.receive = receive }

  package var isBehind: Bool { false }
  package func tell(_ event: RunEvent) { receive(event) }
  package func tellInTurn(_ event: RunEvent) async { receive(event) }

  package func tell(_ run: StoredRun, isEnd: Bool) async throws(RequestRefusedError) {
    let record = try await run.record()
    receive(isEnd ? .ended(record) : .run(record))
  }
}

/// Leaves out what a caller doesn't see who is limited to recipes.
struct LimitedEvents: RunEvents {
  let events: any RunEvents
  let recipes: VisibleRecipes

  var isBehind: Bool { events.isBehind }
  func tell(_ event: RunEvent) { if let event = event.limited(to: recipes) { events.tell(event) } }
  func tellInTurn(_ event: RunEvent) async {
    if let event = event.limited(to: recipes) { await events.tellInTurn(event) }
  }

  func tell(_ run: StoredRun, isEnd: Bool) async throws(RequestRefusedError) {
    let record = try await run.record()
    await tellInTurn(isEnd ? .ended(record) : .run(record))
  }
}

/// Why a followed run waits.
package struct RunWait: Record, Equatable {
  package var until: Timestamp?
  package var status: RunStatus
  package var reason: String?
  /// The address of the page of a decision that it waits for, if the recipe asks for it.
  package var url: String?

  package init(of run: RunRecord) {
    until = run.wakeAt
    status = run.status
    reason = run.reason
    url = run.askingSteps.lazy.compactMap { $0.wait?.url }.first
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    until = try member("until", record?.until)
    status = try member("status", record?.status)
    reason = try member("reason", record?.reason)
    url = try member("url", record?.url)
  }
}

/// A run in the state, which may be too large to hold in memory twice.
package struct StoredRun: Sendable {
  let id: String
  let store: any StateStore

  /// The record if it is in memory: the run is open, or not in the history's files yet.
  var recordInMemory: RunRecord? { get async { await store.openRun(id) ?? store.endedRun(id) } }

  /// The whole record.
  package func record() async throws(RequestRefusedError) -> RunRecord {
    if let run = await recordInMemory { return run }
    let finished: RunRecord?
    do throws(StateError) { finished = try await store.finishedRun(id) } catch { throw RequestRefusedError(error) }
    guard let finished else { throw RequestRefusedError(.notFound, "there is no run \(id)") }
    return finished
  }
}
