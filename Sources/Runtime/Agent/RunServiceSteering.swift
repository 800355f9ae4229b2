package import Basics
import RunState
import Runs

// What a request does to a run.
extension RunService {
  func cancel(_ request: Value) async throws(RequestError) -> Value {
    let run = try await openRun(request)
    _ = try await kept { () async throws(StateError) in try await host.cancel(run, reason: request["reason"]?.string) }
    return .object(["cancelled": .string(run)])
  }

  func pause(_ request: Value) async throws(RequestError) -> Value {
    let run = try await openRun(request)
    let reason = request["reason"]?.string ?? "somebody paused it"
    do throws(RunRefusedError) { try await host.pause(run, reason: reason) } catch {
      throw RequestError("ended", error.message)
    }
    return .object(["paused": .string(run)])
  }

  func retry(_ request: Value) async throws(RequestError) -> Value {
    let ended = try await record(try await gist(request["run"]?.string ?? "").id)
    do throws(RunRefusedError) {
      let origin = try await host.retries.retry(ended, as: newID(), program: agent.version)
      if agent.isServing { try await host.carryOn(origin.run) }
      return .object(["accepted": .string(origin.run), "retries": .string(ended.id)])
    } catch {
      throw RequestError("ended", error.message)
    }
  }

  func resolve(_ request: Value) async throws(RequestError) -> Value {
    let run = try await openRun(request)
    let resolution: Resolution
    switch request["as"]?.string {
    case "done":
      do throws(RecordError) {
        resolution = .done(try request["output"].map { value throws(RecordError) in try Value(reading: value) })
      } catch { throw RequestError("request", "the output cannot be read: \(error.message)") }
    case "retry": resolution = .retry
    default: resolution = .fail(request["reason"]?.string)
    }
    do throws(RunRefusedError) {
      try await host.resolutions.resolve(
        run, step: request["step"]?.string ?? "", as: resolution, by: request["by"]?.string)
    } catch { throw RequestError("ended", error.message) }
    return .object(["resolved": .string(run)])
  }

  // MARK: What comes from outside

  func signal(_ request: Value) async throws(RequestError) -> Value {
    guard let event = request["event"], let name = event["name"]?.string, !name.isEmpty else {
      throw RequestError("request", "an event needs a name")
    }
    let id = event["id"]?.string ?? newID()
    guard !id.isEmpty, id.utf8.count <= 256 else { throw RequestError("request", "an event's id has 1 to 256 bytes") }
    var run: String?
    if let prefix = event["run"]?.string { run = try await openRun(.object(["run": .string(prefix)])) }
    let received = run
    let isNew = try await kept { () async throws(StateError) in
      var data: StoredValue?
      if let value = event["data"], !value.isNull { data = try await store.keep(value) }
      return try await host.receive(
        EventRecord(id: id, name: name, data: data, run: received, receivedAt: time.now()))
    }
    return .object(["received": .string(id), "isNew": .bool(isNew)])
  }

  func decide(_ request: Value) async throws(RequestError) -> Value {
    let run = try await openRun(request)
    guard let isApproved = request["approved"]?.bool, let by = request["by"]?.string, !by.isEmpty else {
      throw RequestError("request", "a decision needs 'approved' and 'by'")
    }
    let decision = DecisionRecord(
      isApproved: isApproved, by: by, at: time.now(), comment: request["comment"]?.string)
    do throws(DecisionError) {
      let path = try await host.decisions.decide(run, step: request["step"]?.string, decision)
      return .object(["decided": .string(path), "run": .string(run)])
    } catch {
      throw RequestError(error.kind.rawValue, error.message)
    }
  }

  func newID() -> String {
    var random = SystemRandomNumberGenerator()
    return UUID7(at: time.now(), using: &random).description
  }

  // MARK: The agent itself

  func status() async -> Value {
    var runs: [String: Int] = [:]
    for run in store.openRuns { runs[run.status.rawValue, default: 0] += 1 }
    var writer = RecordWriter()
    writer.set("pid", agent.pid)
    writer.set("program", agent.program)
    writer.set("isServing", agent.isServing)
    writer.set("since", agent.since)
    writer.set("folder", agent.folder)
    writer.set("runs", runs)
    if let schedules, agent.isServing {
      writer.set("recipes", await schedules.recipes.count)
      writer.set("schedules", await schedules.count)
      writer.set("nextSlot", await schedules.nextDue)
      writer.set("faults", await schedules.faults.map { Diagnostics([$0]).rendered() })
    }
    return .map(writer.map)
  }
}

/// What an agent says about itself.
package struct AgentStatus: Sendable {
  package var pid: Int
  /// The program's version, as runs name it.
  package var version: String
  /// Whether it stays until it is told to end, and carries on whatever is open.
  package var isServing: Bool
  package var since: Timestamp
  /// The folder of the state.
  package var folder: String

  package init(pid: Int, version: String, isServing: Bool, since: Timestamp, folder: String) {
    self.pid = pid
    self.version = version
    self.isServing = isServing
    self.since = since
    self.folder = folder
  }

  var program: String { "errand \(version)" }
}
