package import Agent
package import Basics
package import RunState

/// The agent's identity and workload.
package struct AgentReport: Record, UnlimitedAnswer, Equatable {
  /// 0 for a caller who sees only some recipes.
  package var pid: Int
  package var program: String
  package var isServing: Bool
  package var since: Timestamp
  /// The folder of the state; with a database, the folder of the lock and the sockets.
  ///
  /// Empty for a caller elsewhere, and for one who sees only some recipes.
  package var folder: String
  /// The URL of the database that the state is in, if it is in one.
  package var database: String?
  /// How many open runs have each status.
  package var runs: [String: Int]
  /// How many bytes the state takes; nil unless that is asked for.
  package var bytes: Int?
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
    /// The places of the first of them, as far as they have one.
    package var findings: [FindingRecord]
    /// The zone of recipes that name none, if errand.yaml names one.
    package var zone: String?
  }

  /// The size of the state in words, such as `3.2 MB`.
  package var size: String? {
    bytes.map { bytes in
      for (unit, name) in [(1_000_000_000, "GB"), (1_000_000, "MB"), (1_000, "kB")] where bytes >= unit {
        let tenths = bytes / (unit / 10)
        return "\(tenths / 10).\(tenths % 10) \(name)"
      }
      return counted(bytes, "byte")
    }
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
    bytes = try member("bytes", record?.bytes)
    hasLeader = try member("hasLeader", record?.hasLeader)
    let recipes: Int? = try member("recipes", record?.served?.recipes)
    let schedules: Int? = try member("schedules", record?.served?.schedules)
    let nextSlot: Timestamp? = try member("nextSlot", record?.served?.nextSlot)
    let faults = try member("faults", record?.served?.faults, default: [])
    let findings = try member("findings", record?.served?.findings, default: [])
    let zone: String? = try member("zone", record?.served?.zone)
    if let recipes, let schedules {
      served = Served(
        recipes: recipes, schedules: schedules, nextSlot: nextSlot, faults: faults, findings: findings,
        zone: zone)
    }
  }
}
