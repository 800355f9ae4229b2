package import Basics
package import RunState
import Runs

/// What an agent does for whoever asks, in its own process or behind the socket.
///
/// A request is `{"ask": …}` with what it needs; the answers to it are
///
///     {"ask":"submit","run":{…}}                 {"accepted":id}, progress, then {"ended":record,"outputs":…}
///     {"ask":"resume"|"follow","run":id}         progress, then {"ended":record,"outputs":…}
///     {"ask":"cancel","run":id,"reason":…}       {"cancelled":id}
///     {"ask":"runs","limit":n,"recipe":…}        {"open":[record…],"finished":[summary…]}
///     {"ask":"show","run":prefix}                {"run":record,"outputs":…}
///     {"ask":"resolve","run":id,"step":path,…}   {"resolved":id}
///
/// or `{"failed":{"kind":…,"message":…}}`. A record in `ended` that is not over says that the agent ended first.
package struct RunService: Sendable {
  private let host: RunHost
  private let store: any StateStore
  private let time: any TimeSource

  package init(_ host: RunHost, _ store: any StateStore, time: any TimeSource) {
    self.host = host
    self.store = store
    self.time = time
  }

  /// Why a request was not done.
  private struct Refusal: Error {
    var kind: String
    var message: String

    init(_ kind: String, _ message: String) {
      self.kind = kind
      self.message = message
    }

    init(_ error: StateError) { self.init("state", error.message) }
  }

  package func handle(_ request: Value, reply: @escaping @Sendable (Value) -> Void) async {
    do throws(Refusal) {
      switch request["ask"]?.string {
      case "submit": try await submit(request, reply)
      case "resume": try await carryOn(try await openRun(request), reply)
      case "follow": try await follow(try await openRun(request), reply)
      case "cancel": try await cancel(request, reply)
      case "runs": try await list(request, reply)
      case "show": try await show(request, reply)
      case "resolve": try await resolve(request, reply)
      default: throw Refusal("request", "the agent does not know what '\(request["ask"]?.string ?? "")' asks for")
      }
    } catch {
      reply(.object(["failed": .object(["kind": .string(error.kind), "message": .string(error.message)])]))
    }
  }

  // MARK: Carrying on

  private func submit(_ request: Value, _ reply: @escaping @Sendable (Value) -> Void) async throws(Refusal) {
    let run: RunCreated
    do throws(RecordFault) { run = try RunCreated(reading: request["run"] ?? .null) } catch {
      throw Refusal("request", "the run cannot be read: \(error.message)")
    }
    let accepted = run
    try await kept { () async throws(StateError) in
      var run = accepted
      if case .inline(let texts) = run.texts { run.texts = try await store.keep(texts) }
      try await host.create(run)
    }
    reply(.object(["accepted": .string(run.run)]))
    try await carryOn(run.run, reply)
  }

  private func carryOn(_ run: String, _ reply: @escaping @Sendable (Value) -> Void) async throws(Refusal) {
    let record: RunRecord?
    do throws(NotRunnable) { record = try await host.run(run) { reply($0.value) } } catch {
      throw Refusal("configuration", error.message)
    }
    if let record { return try await ended(record, reply) }
    if let failure = await host.failure { throw Refusal(failure) }
  }

  private func follow(_ run: String, _ reply: @escaping @Sendable (Value) -> Void) async throws(Refusal) {
    for await progress in await host.follow(run) { reply(progress.value) }
    guard !Task.isCancelled else { return }
    try await ended(try await record(run), reply)
  }

  private func ended(_ record: RunRecord, _ reply: @Sendable (Value) -> Void) async throws(Refusal) {
    reply(.object(["ended": record.encoded(), "outputs": try await outputs(of: record)]))
  }

  // MARK: Looking

  private func list(_ request: Value, _ reply: @Sendable (Value) -> Void) async throws(Refusal) {
    let recipe = request["recipe"]?.string
    let open = store.openRuns.filter { recipe == nil || $0.recipe == recipe }
    let query = HistoryQuery(limit: request["limit"]?.int ?? 20, recipe: recipe)
    let finished = try await kept { () async throws(StateError) in try await store.finishedRuns(query) }
    reply(.object(["open": .list(open.map { $0.encoded() }), "finished": .list(finished.map { $0.encoded() })]))
  }

  private func show(_ request: Value, _ reply: @Sendable (Value) -> Void) async throws(Refusal) {
    let record = try await record(request["run"]?.string ?? "")
    reply(.object(["run": record.encoded(), "outputs": try await outputs(of: record)]))
  }

  private func outputs(of record: RunRecord) async throws(Refusal) -> Value {
    guard let outputs = record.outputs else { return .null }
    return try await kept { () async throws(StateError) in try await store.value(outputs).encoded() }
  }

  /// The one run whose id begins so, open or finished.
  private func record(_ prefix: String) async throws(Refusal) -> RunRecord {
    let open = store.openRuns.filter { $0.id.utf8.starts(with: prefix.utf8) }
    if open.isEmpty, let record = try await kept({ () async throws(StateError) in try await store.finishedRun(prefix) })
    {
      return record
    }
    let finished = try await kept { () async throws(StateError) in
      try await store.finishedRuns(HistoryQuery(limit: 3, idPrefix: prefix))
    }
    let ids = open.map { $0.id } + finished.map { $0.id }
    guard ids.count <= 1 else {
      throw Refusal("ambiguous", "several runs begin with '\(prefix)': \(ids.joined(separator: ", "))")
    }
    if let record = open.first { return record }
    if let id = ids.first,
      let record = try await kept({ () async throws(StateError) in try await store.finishedRun(id) })
    {
      return record
    }
    throw Refusal("notFound", "no run begins with '\(prefix)'; 'errand runs list' shows the latest")
  }

  /// What the store does, with its faults as refusals.
  private func kept<Output>(_ body: () async throws(StateError) -> Output) async throws(Refusal) -> Output {
    do throws(StateError) { return try await body() } catch { throw Refusal(error) }
  }

  /// The id of the open run that a request names.
  private func openRun(_ request: Value) async throws(Refusal) -> String {
    let record = try await record(request["run"]?.string ?? "")
    guard store.run(record.id) != nil else {
      throw Refusal("ended", "the run \(record.id) is over: \(record.status.rawValue)")
    }
    return record.id
  }

  // MARK: Steering

  private func cancel(_ request: Value, _ reply: @escaping @Sendable (Value) -> Void) async throws(Refusal) {
    let run = try await openRun(request)
    _ = try await kept { () async throws(StateError) in try await host.cancel(run, reason: request["reason"]?.string) }
    reply(.object(["cancelled": .string(run)]))
  }

  private func resolve(_ request: Value, _ reply: @escaping @Sendable (Value) -> Void) async throws(Refusal) {
    let run = try await openRun(request)
    let resolution: Resolution
    switch request["as"]?.string {
    case "done":
      do throws(RecordFault) {
        resolution = .done(try request["output"].map { value throws(RecordFault) in try Value(reading: value) })
      } catch { throw Refusal("request", "the output cannot be read: \(error.message)") }
    case "retry": resolution = .retry
    default: resolution = .fail(request["reason"]?.string)
    }
    do throws(NotRunnable) {
      try await host.resolve(run, step: request["step"]?.string ?? "", as: resolution)
    } catch { throw Refusal("ended", error.message) }
    reply(.object(["resolved": .string(run)]))
  }
}
