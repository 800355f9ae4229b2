package import Agent
package import Basics
package import RunState
package import Runs

/// An agent's answer.
package indirect enum AgentReply: Sendable {
  /// The run is on disk; an agent that serves runs it.
  ///
  /// - Parameter known: The status of a run that has the caller's key already.
  case accepted(run: String, isServing: Bool, known: RunStatus? = nil)
  /// The progress of the followed run.
  case progress(Progress)
  /// The followed run is suspended.
  case waits(RunWait)
  /// A change of some run, for a watcher of all runs.
  case notice(RunNotice)
  /// The last answer about a followed run. If the record's status is open, the run waits for a person, or the agent
  /// ended first.
  case ended(RunRecord)
  case paused(run: String)
  case cancelled(run: String)
  /// - Parameter known: The status of a retry that has the caller's key already.
  case retried(run: String, as: String, known: RunStatus? = nil)
  case deleted(run: String)
  case resolved(run: String)
  case decided(step: StepPath, run: String)
  case received(event: String, isNew: Bool)
  case runs(RunList)
  /// - Parameter open: The record as lists show it, while the run is open.
  case found(RunReference, open: RunRecord?)
  case run(RunRecord)
  case value(Value)
  /// Some lines that programs of a run printed.
  case printed(PrintedPiece)
  case facts(RunFacts.Answer)
  /// - Parameter words: When each is due; known only to an agent that serves.
  case schedules([ScheduleRecord], words: [String: String] = [:])
  case slots([SlotRecord])
  case upcoming([UpcomingSlot])
  /// The slots that a backfill would start.
  case dueSlots([Timestamp], hasMore: Bool)
  /// - Parameter next: How many steps come before the next page, if there is one.
  case steps([StepRecord], next: Int?)
  /// - Parameter id: The run or the schedule that it is about.
  case explained(id: String, Explanation)
  case recipes([RecipeRecord])
  case recipe(RecipeRecord)
  case tools([ToolRecord])
  case plan(PlanRecord)
  case tokens([TokenIssued])
  case workers([WorkerRecord])
  /// A link by which a browser logs in once.
  case link(String)
  case connections([ConnectionRecord], secrets: [SecretRecord])
  case status(AgentReport)
  case yielded
  case refused(RequestRefusedError)
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

/// The agent's identity and workload.
package struct AgentReport: Record, Equatable {
  /// 0, and the folder empty, for a caller who sees only some recipes.
  package var pid: Int
  package var program: String
  package var isServing: Bool
  package var since: Timestamp
  /// The folder of the state; with a database, the folder of the lock and the sockets.
  package var folder: String
  /// The URL of the database that the state is in, if it is in one.
  package var database: String?
  /// How many open runs have each status.
  package var runs: [String: Int]
  /// Whether a program decides on the schedules that share the state with others; nil if it isn't shared.
  package var hasLeader: Bool?
  /// Known only to an agent that serves, and told only to callers that see all recipes.
  package var served: Served?

  package struct Served: Sendable, Equatable {
    package var recipes: Int
    package var schedules: Int
    package var nextSlot: Timestamp?
    /// The faults of recipes, each as people see it.
    package var faults: [String]
    /// The zone of recipes that name none, if errand.yaml names one.
    package var zone: String?
  }

  init(of agent: AgentStatus, runs: [String: Int]) {
    pid = agent.pid
    program = agent.program
    isServing = agent.isServing
    since = agent.since
    folder = agent.folder
    database = agent.database
    self.runs = runs
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    pid = try member("pid", record?.pid)
    program = try member("program", record?.program)
    isServing = try member("isServing", record?.isServing)
    since = try member("since", record?.since)
    folder = try member("folder", record?.folder)
    database = try member("database", record?.database)
    runs = try member("runs", record?.runs, default: [:])
    hasLeader = try member("hasLeader", record?.hasLeader)
    let recipes: Int? = try member("recipes", record?.served?.recipes)
    let schedules: Int? = try member("schedules", record?.served?.schedules)
    let nextSlot: Timestamp? = try member("nextSlot", record?.served?.nextSlot)
    let faults = try member("faults", record?.served?.faults, default: [])
    let zone: String? = try member("zone", record?.served?.zone)
    if let recipes, let schedules {
      served = Served(recipes: recipes, schedules: schedules, nextSlot: nextSlot, faults: faults, zone: zone)
    }
  }
}

/// Receives the answers to a request: unchanged for a caller in this process, or as JSON for a socket.
package protocol AgentReplies: Sendable {
  /// Whether the caller has much to read still, so that what can be read later should be left out.
  var isBehind: Bool { get }
  /// Sends a small answer at once.
  func give(_ reply: AgentReply)
  /// Sends an answer that may be large, as soon as there is room for it.
  func giveInTurn(_ reply: AgentReply) async
  /// Sends the record of a run, open or finished, as `.run` or `.ended`.
  func give(_ run: StoredRun, isEnd: Bool) async throws(RequestRefusedError)
  /// Sends a value that is kept in a file.
  func give(_ blob: BlobReference, from store: any StateStore) async throws(RequestRefusedError)
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

/// The answers to a request from this process, which are not encoded.
package struct LocalReplies: AgentReplies {
  private let receive: @Sendable (AgentReply) -> Void

  package init(_ receive: @escaping @Sendable (AgentReply) -> Void) { self.receive = receive }

  package var isBehind: Bool { false }
  package func give(_ reply: AgentReply) { receive(reply) }
  package func giveInTurn(_ reply: AgentReply) async { receive(reply) }

  package func give(_ run: StoredRun, isEnd: Bool) async throws(RequestRefusedError) {
    let record = try await run.record()
    receive(isEnd ? .ended(record) : .run(record))
  }

  package func give(_ blob: BlobReference, from store: any StateStore) async throws(RequestRefusedError) {
    do throws(StateError) { receive(.value(try await store.value(.blob(blob)))) } catch {
      throw RequestRefusedError(error)
    }
  }
}

/// Some runs, on one page.
package struct RunList: Sendable {
  /// The records as lists show them.
  package var open: [RunRecord] = []
  package var finished: [RunSummary] = []
  /// The run after which the next page begins, if there is one.
  package var next: String?
  /// How many open runs match, on this page and after it.
  package var openCount = 0
  /// Why no worker can claim open runs that are due, by run id; nil if the state isn't shared.
  package var unclaimable: [String: String]?

  package init(
    open: [RunRecord] = [], finished: [RunSummary] = [], next: String? = nil, openCount: Int = 0,
    unclaimable: [String: String]? = nil
  ) {
    self.open = open
    self.finished = finished
    self.next = next
    self.openCount = openCount
    self.unclaimable = unclaimable
  }

  /// The open runs; for an unclaimable run the reason says why.
  package var openWithReasons: [RunRecord] {
    open.map { run in
      var run = run
      run.reason = unclaimable?[run.id] ?? run.reason
      return run
    }
  }
}
