package import Agent
package import Operations
package import Basics
package import RunState

/// The requests of one command, to the folder's agent or to this process in its place.
package struct AgentRequests: Sendable {
  package let connection: AgentConnection

  package init(connection: AgentConnection) { self.connection = connection }

  /// Returns the one answer to a request; throws if the agent refuses.
  ///
  /// - Parameter read: Takes what the caller needs from the answer; nil if the answer is of the wrong kind.
  package func ask<Answer: Sendable>(
    _ request: AgentRequest, _ read: (AgentReply) -> Answer?
  ) async throws(RuntimeError) -> Answer {
    if let answer = try await askOnce(request, read) { return answer }
    throw RuntimeError(.unavailable, "the agent ended; try again")
  }

  /// Returns the one answer to a request; nil if the agent ended, which may have carried the request out.
  package func askOnce<Answer: Sendable>(
    _ request: AgentRequest, _ read: (AgentReply) -> Answer?
  ) async throws(RuntimeError) -> Answer? {
    let first: AgentReply?
    do {
      var replies = try connection.ask(request).makeAsyncIterator()
      first = try await replies.next()
    } catch let error as RecordError {
      throw RuntimeError(.unavailable, "the answer cannot be read: \(error.message)")
    } catch let error as RuntimeError {
      throw error
    } catch {
      return nil
    }
    guard let first else { return nil }
    if case .refused(let refusal) = first {
      throw RuntimeError(refusal, isStateElsewhere: connection.isStateElsewhere)
    }
    guard let answer = read(first) else { throw RuntimeError(.unavailable, "the agent answered something else") }
    return answer
  }

  /// Sends a request whose answer says only that it was carried out; throws if the agent refuses.
  package func tell(_ request: AgentRequest) async throws(RuntimeError) { _ = try await ask(request) { $0 } }

  /// The value that a record refers to; null for none.
  package func value(_ stored: StoredValue?) async throws(RuntimeError) -> Value {
    switch stored {
    case nil: return .null
    case .inline(let value)?: return value
    case .blob(let reference)?:
      return try await ask(.value(reference)) { if case .value(let value) = $0 { value } else { nil } }
    }
  }

  /// Reads what programs of a run printed from a position on, and passes it on piece by piece; returns where to read on.
  package func printed(
    ofRun run: String, step: StepPath? = nil, from position: Int = 0, _ take: ([PrintedLine]) -> Void
  ) async throws(RuntimeError) -> Int {
    var position = position
    while true {
      let piece = try await ask(.logs(run: run, step: step, from: position)) {
        if case .printed(let piece) = $0 { piece } else { nil }
      }
      take(piece.lines)
      position = piece.next
      if piece.isLast { return position }
    }
  }

  package func runs(_ query: RunListQuery = RunListQuery()) async throws(RuntimeError) -> RunList {
    try await ask(.runs(query)) { if case .runs(let list) = $0 { list } else { nil } }
  }

  package func schedules() async throws(RuntimeError) -> [ScheduleRecord] {
    try await ask(.schedules) { if case .schedules(let schedules, _) = $0 { schedules } else { nil } }
  }

  /// The slots in the answer to a request about schedules.
  package func slots(_ request: AgentRequest) async throws(RuntimeError) -> [SlotRecord] {
    try await ask(request) { if case .slots(let slots) = $0 { slots } else { nil } }
  }

  /// Whether a permanent agent is running, which wakes waiting runs and starts due slots.
  package func isServed() async throws(RuntimeError) -> Bool {
    if connection.isAgent { return false }
    return try await ask(.status) { if case .status(let report) = $0 { report.isServing } else { nil } }
  }

  /// Whether a program decides when slots are due: this folder's agent, or another that shares the state.
  package func isDeciding() async throws(RuntimeError) -> Bool {
    let report = try await ask(.status) { if case .status(let report) = $0 { report } else { nil } }
    return report.hasLeader ?? (report.isServing && !connection.isAgent)
  }

  /// The zone of recipes that name none, if the agent's errand.yaml names one.
  package func zone() async throws(RuntimeError) -> String? {
    try await ask(.status) { if case .status(let report) = $0 { .some(report.served?.zone) } else { nil } }
  }

  /// Why a run is in its state, or a schedule ran or didn't, as the agent explains it.
  package func explanation(asking request: AgentRequest) async throws(RuntimeError) -> Explanation {
    try await ask(request) { if case .explained(_, let explanation) = $0 { explanation } else { nil } }
  }

  /// The run that a text names.
  package func run(_ name: String?) async throws(RuntimeError) -> RunReference { try await found(name).run }

  /// The run that a text names, and, while it is open, its record as lists show it.
  package func found(_ name: String?) async throws(RuntimeError) -> (run: RunReference, open: RunRecord?) {
    try await ask(.find(run: name ?? "")) { if case .found(let run, let open) = $0 { (run, open) } else { nil } }
  }

  /// The record of the run that a text names.
  package func shown(_ name: String?) async throws(RuntimeError) -> RunRecord {
    try await ask(.show(run: name ?? "")) { if case .run(let record) = $0 { record } else { nil } }
  }

  /// The facts around a run, and the temporary process that is running it.
  ///
  /// - Parameter hasValues: Whether the values that its records refer to are read as well.
  package func facts(
    about run: RunRecord, hasValues: Bool = true
  ) async throws(RuntimeError) -> (RunFacts, holder: Int?) {
    let answer = try await ask(.why(RunFacts.Question(about: run))) {
      if case .facts(let facts) = $0 { facts } else { nil }
    }
    var facts = RunFacts(run, answering: answer)
    if hasValues {
      for (name, blob) in facts.missingValues { facts.values[name] = try await value(.blob(blob)) }
    }
    return (facts, answer.holder)
  }
}

extension RuntimeError {
  /// Translates an agent's refusal for the user.
  ///
  /// - Parameter isStateElsewhere: Whether this user can't mend the state, but try again later.
  package init(_ refusal: RequestRefusedError, isStateElsewhere: Bool) {
    let kind: Kind =
      switch refusal.kind {
      case .notFound, .ambiguous, .notAsked: .noInput
      case .notAllowed, .ended, .moved: .failed
      case .request: .usage
      case .inputs, .usedKey: .invalid
      case .state: isStateElsewhere ? .unavailable : .cannotCreate
      case .configuration: .configuration
      case .serving: .locked
      case .conflict, .notServing, .busy, .full, .timeout: .unavailable
      }
    self.init(kind, refusal.message)
  }

  /// Translates a fault of the state for the user.
  ///
  /// - Parameter isShared: Whether the state is in a database, which is back some time; a folder has to be mended.
  package init(_ error: StateError, isShared: Bool = false) {
    let kind: Kind =
      switch error.kind {
      case .invalid, .damaged, .newer, .secret: .configuration
      case .unavailable, .fatal, .closed, .fenced: isShared ? .unavailable : .cannotCreate
      }
    self.init(kind, error.message)
  }

  /// Calls what writes files, and says of a failure that it cannot.
  package static func creating<Output>(_ body: () throws(FileError) -> Output) throws(RuntimeError) -> Output {
    do throws(FileError) { return try body() } catch { throw RuntimeError(.cannotCreate, error.description) }
  }
}
