package import Agent
package import Operations
package import Basics
package import RunState

/// The requests of one command, to the folder's agent or to this process in its place.
package struct AgentRequests: Sendable {
  package let connection: AgentConnection
  /// Where the next agent is found, if this one ends.
  private let access: AgentAccess?

  package init(connection: AgentConnection, access: AgentAccess? = nil) {
    self.connection = connection
    self.access = access
  }

  /// Runs an operation; throws if the agent refuses.
  ///
  /// If the agent ends before it has answered, the next one is asked the same, where that does nothing twice.
  package func ask<Asked: Operation>(_ operation: Asked) async throws(RuntimeError) -> Asked.Answer {
    if let answer = try await askOnce(operation) { return answer }
    guard operation.mayBeRepeated else {
      throw RuntimeError(
        .unavailable,
        "the agent ended before it answered, so it isn't known whether it was done; look before you try again")
    }
    guard let access else { throw RuntimeError(.unavailable, "the agent ended; try again") }
    let next = try await access.connection()
    let result: Result<Asked.Answer?, RuntimeError>
    do throws(RuntimeError) { result = .success(try await AgentRequests(connection: next).askOnce(operation)) } catch {
      result = .failure(error)
    }
    await next.leave()
    guard let answer = try result.get() else { throw RuntimeError(.unavailable, "the agent ended; try again") }
    return answer
  }

  /// Runs an operation; nil if the agent ended, which may have done it.
  package func askOnce<Asked: Operation>(_ operation: Asked) async throws(RuntimeError) -> Asked.Answer? {
    do { return try await connection.answer(to: operation) } catch {
      if let error = RuntimeError(unanswered: error, isStateElsewhere: connection.isStateElsewhere) { throw error }
      return nil
    }
  }

  /// Reads the content of an answer that is read when it is needed.
  private func read<Content>(
    _ content: () async throws(RequestRefusedError) -> Content
  ) async throws(RuntimeError) -> Content {
    do throws(RequestRefusedError) { return try await content() } catch {
      throw RuntimeError(error, isStateElsewhere: connection.isStateElsewhere)
    }
  }

  /// The value that a record refers to; null for none.
  package func value(_ stored: StoredValue?) async throws(RuntimeError) -> Value {
    switch stored {
    case nil: return .null
    case .inline(let value)?: return value
    case .blob(let reference)?:
      return try await read(try await ask(ReadValue(reference)).value)
    }
  }

  /// Reads what programs of a run printed from a position on, and passes it on piece by piece; returns where to read on.
  package func printed(
    ofRun run: String, step: StepPath? = nil, from position: Int = 0, _ take: ([PrintedLine]) -> Void
  ) async throws(RuntimeError) -> Int {
    var position = position
    while true {
      let piece = try await ask(
        ReadLogs.with {
          $0.run = run
          $0.step = step
          $0.from = position
          $0.lines = ReadLogs.mostLines
        })
      take(piece.lines)
      position = piece.next
      if piece.isLast { return position }
    }
  }

  package func runs(_ query: RunListQuery = RunListQuery()) async throws(RuntimeError) -> RunList {
    try await ask(ListRuns(query))
  }

  package func schedules() async throws(RuntimeError) -> [ScheduleRecord] {
    try await ask(ListSchedules()).schedules
  }

  /// Whether a permanent agent is running, which wakes waiting runs and starts due slots.
  package func isServed() async throws(RuntimeError) -> Bool {
    if connection.isAgent { return false }
    return try await ask(ShowStatus()).isServing
  }

  /// Whether a program decides when slots are due: this folder's agent, or another that shares the state.
  package func isDeciding() async throws(RuntimeError) -> Bool {
    let report = try await ask(ShowStatus())
    return report.hasLeader ?? (report.isServing && !connection.isAgent)
  }

  /// The zone of recipes that name none, if the agent's errand.yaml names one.
  package func zone() async throws(RuntimeError) -> String? {
    try await ask(ShowStatus()).served?.zone
  }

  /// Why a run is in its state, as the agent explains it.
  package func explanation(of run: String) async throws(RuntimeError) -> Explanation {
    try await ask(ExplainRun.with { $0.run = run }).explanation
  }

  /// The run that a text names.
  package func run(_ name: String?) async throws(RuntimeError) -> RunReference { try await found(name).run }

  /// The run that a text names, and, while it is open, its record as lists show it.
  package func found(_ name: String?) async throws(RuntimeError) -> (run: RunReference, open: RunRecord?) {
    let found = try await ask(FindRun.with { $0.run = name ?? "" })
    return (found.run, found.open)
  }

  /// The record of the run that a text names.
  package func displayed(_ name: String?) async throws(RuntimeError) -> RunRecord {
    try await read(try await ask(ShowRun.with { $0.run = name ?? "" }).record)
  }

  /// The facts around a run, and the temporary process that is running it.
  ///
  /// - Parameter hasValues: Whether the values that its records refer to are read as well.
  package func facts(
    about run: RunRecord, hasValues: Bool = true
  ) async throws(RuntimeError) -> (RunFacts, holder: Int?) {
    let answer = try await ask(CollectFacts.with { $0.about = Stored(RunFacts.Question(about: run)) })
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
      case .notAllowed, .ended, .planChanged: .failed
      case .request: .usage
      case .inputs, .usedKey, .tooLarge: .invalid
      case .state: isStateElsewhere ? .unavailable : .cannotCreate
      case .configuration, .forbidden: .configuration
      case .serving: .locked
      case .conflict, .notServing, .busy, .full, .timeout: .unavailable
      }
    self.init(kind, refusal.message)
  }

  /// Translates the reason why an operation wasn't answered; nil if the agent ended.
  ///
  /// - Parameter isStateElsewhere: Whether this user can't mend the state, but try again later.
  package init?(unanswered error: any Error, isStateElsewhere: Bool) {
    switch error {
    case let error as RuntimeError: self = error
    case let refusal as RequestRefusedError: self.init(refusal, isStateElsewhere: isStateElsewhere)
    case let error as RecordError:
      self.init(.unavailable, "the agent's answer cannot be read: \(error.message)")
    default: return nil
    }
  }

  /// Translates the reason why an agent can't be asked.
  package init(_ error: AgentError) {
    self.init(error.kind == .held ? .locked : .unavailable, error.message)
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
