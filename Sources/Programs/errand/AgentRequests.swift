import Agent
import Basics
import Calendars
import Glibc
import Recipes
import RunState

/// The questions of one command, to the folder's agent or to this process in its place.
struct AgentRequests {
  let connection: AgentConnection

  /// The one answer to a question; what an agent refuses is thrown.
  func ask(_ word: String, _ members: KeyValuePairs<String, Value?> = [:]) async throws(CommandError) -> Value {
    var request = ValueMap()
    request["ask"] = .string(word)
    for (name, value) in members { request[name] = value }
    var first: Value?
    do {
      for try await value in try connection.ask(.map(request)) {
        first = value
        break
      }
    } catch {
      // Told below: nothing came.
    }
    guard let value = first else { throw CommandError(.unavailable, "the agent went away; try again") }
    if let failed = value["failed"] { throw CommandError(refusal: failed) }
    return value
  }

  /// A record out of an answer.
  func record<Member: Recordable>(_ value: Value?, as _: Member.Type = Member.self) throws(CommandError) -> Member {
    do throws(RecordError) { return try Member(reading: value ?? .null) } catch {
      throw CommandError(.unavailable, "the answer cannot be read: \(error.message)")
    }
  }

  /// The records out of a list of an answer.
  func records<Member: Recordable>(
    _ value: Value?, as _: Member.Type = Member.self
  ) throws(CommandError) -> [Member] {
    var members: [Member] = []
    for item in value?.list ?? [] { members.append(try record(item)) }
    return members
  }

  /// What a record names and may not hold; null for none.
  func value(_ stored: StoredValue?) async throws(CommandError) -> Value {
    switch stored {
    case nil: return .null
    case .inline(let value)?: return value
    case .blob(let reference)?: return try record(try await ask("value", ["blob": reference.encoded()])["value"])
    }
  }

  /// Whether an agent is there for good, which wakes what waits and starts what is due.
  func isServed() async throws(CommandError) -> Bool {
    if connection.isAgent { return false }
    return try await ask("status")["isServing"]?.bool ?? false
  }

  /// The one run whose id begins so.
  func run(_ prefix: String?) async throws(CommandError) -> RunGist { try await found(prefix).run }

  /// The one run whose id begins so, and, while it is open, its record as lists show it.
  func found(_ prefix: String?) async throws(CommandError) -> (run: RunGist, open: RunRecord?) {
    let answer = try await ask("find", ["run": .string(prefix ?? "")])
    return (try record(answer["run"]), try answer["open"].map { value throws(CommandError) in try record(value) })
  }

  /// The record of the one run whose id begins so.
  func shown(_ prefix: String?) async throws(CommandError) -> RunRecord {
    try record(try await ask("show", ["run": .string(prefix ?? "")])["run"])
  }

  /// All that has to do with a run, and the process that carries it on and will not be there for good.
  ///
  /// - Parameter hasValues: Whether what its records name is read as well.
  func facts(about run: RunRecord, hasValues: Bool = true) async throws(CommandError) -> (RunFacts, holder: Int?) {
    let answer = try await ask("why", ["about": RunFacts.Question(about: run).encoded()])
    var facts: RunFacts
    do throws(RecordError) { facts = try RunFacts(run, answering: answer) } catch {
      throw CommandError(.unavailable, "the answer cannot be read: \(error.message)")
    }
    if hasValues {
      for (name, blob) in facts.missingValues { facts.values[name] = try await value(.blob(blob)) }
    }
    return (facts, answer["holder"]?.int)
  }
}

extension RunSession {
  /// Connects for a few questions.
  ///
  /// - Parameter isReading: Whether they change nothing, so that a disk that can only be read is enough.
  func asking<Output>(
    isReading: Bool = false, _ body: (AgentRequests) async throws(CommandError) -> Output
  ) async throws(CommandError) -> Output {
    let isReadOnly = isReading && access(workspace.stateFolder, W_OK) != 0 && errno == EROFS
    let connection = isReadOnly ? try await readingConnection() : try await self.connection()
    let result: Result<Output, CommandError>
    do throws(CommandError) { result = .success(try await body(AgentRequests(connection: connection))) } catch {
      result = .failure(error)
    }
    await connection.leave()
    return try result.get()
  }
}

extension Workspace {
  /// The clock of whoever sits at the terminal: in the zone of `$TZ`, else of errand.yaml, else of the machine.
  func wallClock(_ now: Timestamp) -> WallClock {
    if let name = String(environment: "TZ") ?? configuration.zone {
      return WallClock((try? TimeZoneDatabase.system.rules(named: name)) ?? .utc, now: now)
    }
    let machine = (try? Files.read("/etc/localtime", limit: 1 << 20)).flatMap {
      try? TimeZoneRules(name: "local time", file: $0)
    }
    return WallClock(machine ?? .utc, now: now)
  }
}
