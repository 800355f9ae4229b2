import Agent
import Basics
import Calendars
import Glibc
import Recipes
import RunState

/// The questions of one command, to the folder's agent or to this process in its place.
struct Asker {
  let seat: Seat

  /// The one answer to a question; what an agent refuses is thrown.
  func ask(_ word: String, _ members: KeyValuePairs<String, Value?> = [:]) async throws(CommandFailure) -> Value {
    var request = ValueMap()
    request["ask"] = .string(word)
    for (name, value) in members { request[name] = value }
    var first: Value?
    do {
      for try await value in try seat.ask(.map(request)) {
        first = value
        break
      }
    } catch {
      // Told below: nothing came.
    }
    guard let value = first else { throw CommandFailure(.unavailable, "the agent went away; try again") }
    if let failed = value["failed"] { throw CommandFailure(refusal: failed) }
    return value
  }

  /// A record out of an answer.
  func record<Member: Recordable>(_ value: Value?, as _: Member.Type = Member.self) throws(CommandFailure) -> Member {
    do throws(RecordFault) { return try Member(reading: value ?? .null) } catch {
      throw CommandFailure(.unavailable, "the answer cannot be read: \(error.message)")
    }
  }

  /// The records out of a list of an answer.
  func records<Member: Recordable>(
    _ value: Value?, as _: Member.Type = Member.self
  ) throws(CommandFailure) -> [Member] {
    var members: [Member] = []
    for item in value?.list ?? [] { members.append(try record(item)) }
    return members
  }

  /// A value of a run out of an answer; null for none.
  func value(_ value: Value?) throws(CommandFailure) -> Value {
    do throws(RecordFault) { return try restored(value) } catch {
      throw CommandFailure(.unavailable, "the answer cannot be read: \(error.message)")
    }
  }

  /// Whether an agent is there for good, which wakes what waits and starts what is due.
  func isServed() async throws(CommandFailure) -> Bool {
    if seat.isAgent { return false }
    return try await ask("status")["isServing"]?.bool ?? false
  }

  /// The one run whose id begins so.
  func run(_ prefix: String?) async throws(CommandFailure) -> RunRecord {
    try record(try await ask("show", ["run": .string(prefix ?? "")])["run"])
  }
}

extension RunSession {
  /// Takes a seat for a few questions.
  ///
  /// - Parameter isReading: Whether they change nothing, so that a disk that can only be read is enough.
  func asking<Output>(
    isReading: Bool = false, _ body: (Asker) async throws(CommandFailure) -> Output
  ) async throws(CommandFailure) -> Output {
    let isReadOnly = isReading && access(workspace.stateFolder, W_OK) != 0 && errno == EROFS
    let seat = isReadOnly ? try await readingSeat() : try await self.seat()
    let result: Result<Output, CommandFailure>
    do throws(CommandFailure) { result = .success(try await body(Asker(seat: seat))) } catch {
      result = .failure(error)
    }
    await seat.leave()
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
