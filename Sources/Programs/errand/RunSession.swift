import ActionKit
import Agent
import Operations
import AgentRuntime
import Basics
import Glibc
import LocalFiles
import Recipes
import Recordings
import RunState
import Runs
import SecretSources
import Synchronization

/// A command's run: walked here or by the folder's agent, in a sandbox or from a recording, and shown meanwhile.
struct RunSession: Sendable {
  var access: AgentAccess
  let console: Console
  let display: ProgressDisplay
  /// The acts of people and other programs while the replayed run was recorded.
  var acts: [RecordedAct] = []

  var workspace: Workspace { access.workspace }
  var secrets: SecretSources { access.secrets }
  var time: any TimeSource { access.time }

  /// - Parameter person: The person who decides and resolves; the user of the terminal if nil.
  init(
    _ workspace: Workspace, _ secrets: SecretSources, _ console: Console, time: any TimeSource,
    format: ProgressDisplay.Format = .text, isApart: Bool = false, person: String? = nil
  ) {
    access = AgentAccess(
      workspace: workspace, secrets: secrets, time: time, version: version,
      person: person ?? RunSession.user
    ) { notice in
      switch notice {
      case .state(let text):
        console.error("\(Style.yellow.applied(to: "note", console.colourError)): \(text.safeText())")
      case .madeUp(let secret, let text):
        console.error("the secret '\(secret.safe)' of a webhook is made up here; sign deliveries with \(text)")
      case .waits(let text): console.say(text.safeText())
      case .waitsForFolder:
        console.say("waiting for the run that holds the folder to finish what is in flight and hand it over")
      }
    }
    self.console = console
    display = ProgressDisplay(
      console, format: format, time: time, zone: LocalZone(of: workspace), isApart: isApart)
  }

  /// The user at the terminal: `$USER`, or the account's name.
  private static var user: String {
    if let user = String(environment: "USER"), !user.trimmed.isEmpty { return user }
    return getpwuid(geteuid()).flatMap { entry in entry.pointee.pw_name.map { String(cString: $0) } } ?? ""
  }

  // MARK: In a sandbox

  /// Calls a closure while the sandboxes of a recipe's plugins are running.
  ///
  /// - Parameter isTold: Whether a summary of the requests to the sandboxes is shown afterwards.
  func inSandboxes(
    of recipe: Recipe, isTold: Bool, _ body: (Sandboxes) async throws(RuntimeError) -> ExitCode
  ) async throws(RuntimeError) -> ExitCode {
    let sandboxes = try await Sandboxes(of: recipe, in: workspace, time: time)
    for (plugin, url) in sandboxes.addresses { sayDimly("sandbox of \(plugin) at \(url)") }
    let result: Result<ExitCode, RuntimeError>
    do throws(RuntimeError) { result = .success(try await body(sandboxes)) } catch { result = .failure(error) }
    if isTold, case .success = result { for line in await sandboxes.summaryLines() { sayDimly(line) } }
    // A program that reads JSON looks at no files, and removes none.
    let written = await sandboxes.stop(keepsWritten: isTold)
    if !written.isEmpty {
      for file in written { sayDimly("\(file.path.safe): \(file.bytes) bytes") }
      console.say("files were written to a copy of the folder: \(sandboxes.copy.folder.shellQuoted)")
    }
    return try result.get()
  }

  private func sayDimly(_ line: String) { console.say(Style.dim.applied(to: line, console.colourError)) }

  /// Runs against the plugins' sandboxes, with a state of its own that is discarded with the process.
  func run(
    _ origin: RunCreated, in sandboxes: Sandboxes, asJSON: Bool
  ) async throws(RuntimeError) -> ExitCode {
    var factory = access.factory(connectionOverrides: sandboxes.settings)
    factory.copy = sandboxes.copy
    return try await runApart(origin, factory, asJSON: asJSON)
  }

  /// Runs against a recording, with a state of its own that is discarded with the process, at the time of the
  /// recording.
  ///
  /// Nothing waits: the clock is stopped, and jumps to the next instant when something is due once nothing else can
  /// happen. Nothing outside is touched: calls that aren't requests are answered from the recording too, and the files
  /// that answers are written to are discarded with the run.
  func replay(
    _ recording: Recording, _ origin: RunCreated, of recipe: Recipe, asJSON: Bool
  ) async throws(RuntimeError) -> ExitCode {
    if recording.isPartial {
      console.say("the recording is of a run that was interrupted; what the run did after that isn't in it")
    }
    let clock = ManualClock(recording.at)
    let passing = AutoAdvancingClock(clock: clock)
    var factory = RunFactory(
      workspace: workspace, secrets: secrets, pool: ServicePool(time: passing), time: passing)
    factory.instants = { $0.createdAt == recording.at ? recording.instants(on: clock) : nil }
    var madeUp = await workspace.secretsApart(of: recipe, inputs: origin.inputs, from: secrets)
    for secret in workspace.neededSecrets(of: recipe, inputs: origin.inputs, isApart: true) {
      madeUp[secret.name] = madeUp[secret.name] ?? "made-up-\(secret.name)"
    }
    var hidden = Array(madeUp.values)
    for name in recipe.connectionNames {
      let plugin = workspace.configuration.plugins[name] ?? name
      guard let schema = workspace.catalog.plugin(plugin)?.configuration else { continue }
      let settings = schema.withNeededSecrets(recording.connections[name]?.map ?? ValueMap())
      factory.connectionOverrides[name] = .map(settings)
      hidden += schema.secrets(in: settings)
    }
    factory.secrets = SecretSources(madeUp)
    let folder = try RuntimeError.creating { () throws(FileError) in try Files.makeTemporaryFolder("errand-replay") }
    defer { Files.removeTree(folder) }
    let known = await workspace.knownSecrets(secrets).map(\.text)
    let replay = Replay(recording, secrets: hidden, known: known, folder: folder)
    factory.interceptor = { connection, _ in replay.transport(of: connection) }
    factory.calls = replay
    factory.folder = recording.folder
    var played = self
    played.acts = recording.acts
    let code = try await played.runApart(origin, factory, on: clock, asJSON: asJSON)
    for request in replay.unplayed { console.say("recorded, but not requested: \(request)") }
    return code
  }

  /// - Parameter clock: A stopped clock, for a run that waits for nothing.
  private func runApart(
    _ origin: RunCreated, _ factory: RunFactory, on clock: ManualClock? = nil, asJSON: Bool
  ) async throws(RuntimeError) -> ExitCode {
    let connection = await access.agentApart(factory, on: clock)
    guard let agent = connection.agent else { return .unavailable }
    // Cancelled when the run is over.
    var passing: Task<Void, Never>?
    if let clock {
      let (waits, wait) = AsyncStream.makeStream(of: Void.self)
      await agent.host.observe { if case .waits = $0 { wait.yield() } }
      passing = Task {
        var acts = acts[...]
        for await _ in waits { await pass(clock, for: agent, origin.run, &acts) }
      }
    }
    defer { passing?.cancel() }
    let following = try await following(connection, SubmitRun.with { $0.run = Stored(origin) })
    await connection.leave()
    switch following {
    case .ended(let record, let outputs): return report(record, outputs, asJSON: asJSON, isApart: true)
    case .interrupted(let signal): return signal
    case .lost: throw RuntimeError(.unavailable, "the run was lost with its services")
    }
  }

  /// Moves a stopped clock to the instant when a waiting run resumes.
  private func pass(
    _ clock: ManualClock, for agent: LocalAgent, _ run: String, _ acts: inout ArraySlice<RecordedAct>
  ) async {
    let due = await agent.host.nextAlarm
    if let act = acts.first, due.map({ act.at <= $0 }) ?? true {
      acts.removeFirst()
      clock.advance(by: max(act.at.span(since: clock.now()) ?? .zero, .zero))
      return await repeatAct(act, for: agent, run)
    }
    guard let due else {
      console.say("the recording holds nothing that ends this wait")
      return await agent.host.stop()
    }
    clock.advance(by: max(due.span(since: clock.now()) ?? .zero, .zero))
    await agent.host.lookAtClock()
  }

  /// Repeats an act that was recorded with a run.
  private func repeatAct(_ act: RecordedAct, for agent: LocalAgent, _ run: String) async {
    do {
      switch act.kind {
      case .decision(let step, let decision):
        if let fields = decision.fields {
          let source = Source(name: "the recording", text: "")
          let given = (fields.map?.members ?? []).map {
            (name: $0.key.plainText, input: GivenInput.value($0.value, source))
          }
          _ = try await agent.host.decisions.answer(run, step: step, given, decision)
        } else {
          _ = try await agent.host.decisions.decide(run, step: step, decision)
        }
      case .event(var event, let data):
        event.run = run
        event.consumedBy = nil
        event.data = if let data { try await agent.store.keep(data) } else { nil }
        _ = try await agent.host.receive(event)
      }
    } catch {
      console.error("recorded, but nothing waits for it: \(act.words)")
      await agent.host.stop()
    }
  }

  // MARK: Resuming and following

  /// How following a run ended.
  private enum Following {
    case ended(RunRecord, outputs: Value)
    /// The agent ended before the run did.
    case lost
    case interrupted(ExitCode)
  }

  /// Accepts a run, and walks or follows it until it ends.
  ///
  /// - Parameters:
  ///   - secrets: The names of the secrets that it reads, which must not be kept.
  ///   - key: The caller's key; a run that has it already is followed in place of this one.
  func run(
    _ origin: RunCreated, reading secrets: [String], key: String? = nil, asJSON: Bool
  ) async throws(RuntimeError) -> ExitCode {
    let submit = SubmitRun.with {
      $0.run = Stored(origin)
      $0.secrets = secrets
      $0.key = key
    }
    return try await follow(origin.run, asking: submit, asJSON: asJSON)
  }

  /// Says that a run has the given key already.
  func tellOfKey(_ run: String, _ status: RunStatus) {
    let retry =
      status.isEnded && status != .succeeded && status != .skipped
      ? ", and may have written; to keep what succeeded and do the rest: errand runs retry \(run)" : ""
    console.say("no run was started: \(run) has this key; it \(status.asVerb)\(retry)")
  }

  /// The hint for resuming a run that no agent is running.
  static func howToResume(with run: String) -> String {
    "To resume it, start 'errand serve', or: errand runs resume \(run)"
  }

  /// Hands a run to the folder's agent, and returns once it is on disk there.
  func detach(
    _ origin: RunCreated, reading secrets: [String], key: String? = nil
  ) async throws(RuntimeError) -> ExitCode {
    var run = origin.run
    var known: RunStatus?
    var isServed: Bool?
    var submit = SubmitRun.with {
      $0.run = Stored(origin)
      $0.secrets = secrets
      $0.key = key
    }
    var losses = Losses()
    while isServed == nil {
      let connection = try await access.connection()
      do throws(RuntimeError) {
        // An agent that ended may or may not have accepted the run; the next agent knows.
        if let answer = try await AgentRequests(connection: connection).askOnce(submit) {
          (run, isServed, known) = (answer.run, answer.isServing, answer.known)
        }
      } catch {
        await connection.leave()
        throw error
      }
      await connection.leave()
      submit.again = true
      if isServed == nil { try await losses.count(heard: 0, time) }
    }
    console.out(run)
    if let known {
      tellOfKey(run, known)
      if known.isEnded { return .done }
    }
    if isServed == true {
      console.say("an agent is running it; follow it with: errand runs follow \(run)")
      return .done
    }
    console.error("The run is accepted, but nothing is running it yet. \(RunSession.howToResume(with: run))")
    return .waiting
  }

  /// Resumes an open run, and walks or follows it until it ends.
  ///
  /// - Parameter isOneOfAll: Whether this process, if it is the agent, resumes all other runs meanwhile.
  func resume(_ run: String, isOneOfAll: Bool = false, asJSON: Bool) async throws(RuntimeError) -> ExitCode {
    try await follow(run, asking: ResumeRun.with { $0.run = run }, isOneOfAll: isOneOfAll, asJSON: asJSON)
  }

  /// Follows a run that a process is running, or reports that none is; of a run that has ended it shows the end.
  func follow(_ run: String, isOver: Bool) async throws(RuntimeError) -> ExitCode {
    if let remote = access.remote { return try await follow(run, at: remote) }
    let connection = try await access.connection()
    guard isOver || !connection.isAgent else {
      await connection.leave()
      throw RuntimeError(.waiting, "nothing is running that run; resume it: errand runs resume \(run)")
    }
    let following = try await following(connection, FollowRun.with { $0.run = run })
    await connection.leave()
    switch following {
    case .ended(let record, let outputs): return report(record, outputs, asJSON: false)
    case .interrupted(let code): return code
    case .lost: throw RuntimeError(.waiting, "the agent ended; resume the run: errand runs resume \(run)")
    }
  }

  /// Sends a request and follows the run; when the agent ends before the run, this process takes its place.
  private func follow(
    _ run: String, asking request: any StreamingOperation, isOneOfAll: Bool = false, asJSON: Bool
  ) async throws(RuntimeError) -> ExitCode {
    if let remote = access.remote { return try await follow(run, at: remote, asking: request, asJSON: asJSON) }
    var request = request
    let followed = FollowedRun(run)
    var losses = Losses()
    while true {
      let connection = try await access.connection()
      if let text = losses.text(isAgent: connection.isAgent) { console.say(text) }
      if isOneOfAll { _ = await connection.agent?.host.recover(in: workspace.stateFolder) }
      await connection.agent?.host.observe { [console] news in
        if case .unreported(_, let reason) = news {
          console.error("onFailure of errand.yaml starts nothing: \(reason.safe)")
        }
      }
      let following = try await following(connection, request, followed)
      if case .ended = following { await finishFailureRuns(connection.agent?.host) }
      await connection.leave()
      switch following {
      case .interrupted(let code):
        if connection.isAgent {
          console.error("The run is not over. \(RunSession.howToResume(with: followed.id))")
        } else if request is SubmitRun, followed.answers == 0 {
          console.error(
            "The agent hasn't answered, so it isn't known whether it has the run. Look with: errand runs list")
        } else {
          console.error("The agent is still running it. Follow it with: errand runs follow \(followed.id)")
        }
        return code
      case .ended(let record, let outputs):
        let isLeft = [.queued, .running, .waiting].contains(record.status)
        if isLeft, !connection.isAgent { break }
        guard isLeft, await connection.isHandedOver else { return report(record, outputs, asJSON: asJSON) }
        console.say("errand serve takes over and continues the run")
        await access.awaitSuccessor()
        request = RunSession.again(request)
        continue
      case .lost: break
      }
      try await losses.count(heard: followed.answers, time)
      request = RunSession.again(request)
    }
  }

  /// How often a connection that was cut is made again before the command gives up.
  private static let mostReconnections = 5

  /// Sends a request to an agent elsewhere, and follows the run until it ends, also where the connection is cut.
  func follow(
    _ run: String, at remote: RemoteAgent, asking first: (any StreamingOperation)? = nil, asJSON: Bool = false
  ) async throws(RuntimeError) -> ExitCode {
    let connection = AgentConnection.remote(remote)
    var request = first ?? FollowRun.with { $0.run = run }
    let followed = FollowedRun(run)
    var failures = 0
    var heard = 0
    while true {
      var following = Following.lost
      do throws(RuntimeError) { following = try await self.following(connection, request, followed) } catch {
        // Until the agent has answered once, it is the address or the token that is wrong.
        guard error.kind == .unavailable, followed.answers > 0 else { throw error }
      }
      switch following {
      case .interrupted(let code):
        console.error("The agent is still running it. Follow it with: \(remote.command) runs follow \(run)")
        return code
      case .ended(let record, let outputs):
        // An agent that ends says where its runs are.
        guard [.queued, .running, .waiting].contains(record.status) else {
          return report(record, outputs, asJSON: asJSON)
        }
      case .lost: break
      }
      if followed.answers > heard { failures = 0 }
      heard = followed.answers
      guard failures < RunSession.mostReconnections else {
        throw RuntimeError(
          .unavailable,
          "the agent at \(remote.url) can't be reached any more; the run continues as soon as it is served. Follow it then with: \(remote.command) runs follow \(run)"
        )
      }
      if failures == 0 { console.say("the connection to the agent at \(remote.url) was cut; connecting again") }
      failures += 1
      try? await time.sleep(for: .milliseconds(250 << failures))
      if let code = Signals.shared.received { return code }
      request = FollowRun.with { $0.run = run }
      followed.noteCut()
    }
  }

  /// Waits for the runs that report failures, since no other process would run them.
  private func finishFailureRuns(_ host: RunHost?) async {
    let runs = await host?.finishFailureRuns { console.say("onFailure of errand.yaml starts the run \($0)") } ?? []
    for run in runs where run.status != .succeeded {
      let reason = (run.error?.message ?? run.reason).map { ": \($0.safe)" } ?? ""
      console.error(
        "The run that tells of the failure, of '\(run.recipe.safe)', is \(run.status.rawValue)\(reason); see: errand runs show \(run.id)"
      )
    }
  }

  /// The request to repeat: the agent that ended may or may not have carried it out.
  private static func again(_ request: any StreamingOperation) -> any StreamingOperation {
    guard var submit = request as? SubmitRun else { return request }
    submit.again = true
    return submit
  }

  private func following(
    _ connection: AgentConnection, _ request: any StreamingOperation, _ followed: FollowedRun? = nil
  ) async throws(RuntimeError) -> Following {
    let events: AsyncThrowingStream<RunEvent, any Error>
    // An agent that ended between the connection and the request has answered nothing.
    do throws(AgentError) { events = try connection.events(of: request, leavingOut: display.ignores) } catch {
      return .lost
    }
    let animation = Task { await display.animate() }
    defer { animation.cancel() }
    // Whichever is first: the end of the run, or a key press at the terminal. The task ends with either.
    let reading = Task { () -> Result<Following, RuntimeError> in
      do throws(RuntimeError) { return .success(try await read(events, connection, followed)) } catch {
        return .failure(error)
      }
    }
    let interruption = Task { () -> ExitCode? in
      let code = await Signals.shared.next()
      if Task.isCancelled { return nil }
      if let agent = connection.agent {
        console.say("\nfinishing what is in flight; press again to end at once")
        await agent.host.stop()
      }
      reading.cancel()
      return code
    }
    let result = await reading.value
    if let code = Signals.shared.received {
      if case .success(.ended(let record, _)) = result, record.status.isEnded {} else { return .interrupted(code) }
    }
    interruption.cancel()
    return try result.get()
  }

  /// Shows progress until the run ends or the replies do.
  private func read(
    _ events: AsyncThrowingStream<RunEvent, any Error>, _ connection: AgentConnection, _ followed: FollowedRun?
  ) async throws(RuntimeError) -> Following {
    var accepted: String?
    do {
      for try await event in events {
        followed?.hear()
        switch event {
        case .run(let record):
          if followed?.isAgain == true { console.say("connected again; the run is \(record.status.rawValue)") }
        case .accepted(let answer):
          accepted = answer.run
          followed?.note(answer.run)
          if let known = answer.known { tellOfKey(answer.run, known) }
        case .progress(let progress): display.show(progress)
        case .waits(let wait): display.wait(until: wait.until, for: wait.reason, at: wait.url)
        case .ended(let record):
          display.show(.runEnded(record))
          if let recorder = access.recorder {
            recorder.note(steps: record.stepsInOrder.map { ($0.path, $0.now) })
            recorder.note(acts: try await acts(of: record, in: connection))
          }
          return .ended(
            record, outputs: try await AgentRequests(connection: connection, access: access).value(record.outputs))
        // Only a request for the changes of all runs gets these.
        case .notice: break
        }
      }
      return .lost
    } catch {
      guard var failure = RuntimeError(unanswered: error, isStateElsewhere: connection.isStateElsewhere) else {
        return .lost
      }
      if let accepted, (error as? RequestRefusedError)?.kind == .state {
        failure.message += " The run is not over. \(RunSession.howToResume(with: accepted))"
      }
      throw failure
    }
  }

  /// The acts of people and other programs that let a run continue.
  private func acts(of record: RunRecord, in connection: AgentConnection) async throws -> [RecordedAct] {
    var acts = record.stepsInOrder.compactMap { step in
      step.decision.map { RecordedAct(.decision(step.path, $0)) }
    }
    guard let agent = connection.agent else { return acts }
    for event in await agent.store.events(EventQuery(consumer: record.id)) {
      // A recording holds no secret and no reference to one.
      let data = if let stored = event.data { try await agent.store.value(stored).displayed } else { Value?.none }
      acts.append(RecordedAct(.event(event, data: data)))
    }
    return acts
  }

  private func report(_ record: RunRecord, _ outputs: Value, asJSON: Bool, isApart: Bool = false) -> ExitCode {
    let report = Report(
      record: record, outputs: outputs, console: console, isApart: isApart, isBesideJSON: display.isJSON)
    if asJSON { report.showJSON() } else { report.showText() }
    return report.exitCode
  }
}

/// The agents that a command has lost, each before the run was over.
private struct Losses {
  private var heard = 0
  /// How many in a row didn't answer at all.
  private var silent = 0
  private var isTold = true

  /// So many agents in a row may fall silent before a command gives up: more don't end, but give no whole answer.
  private static let most = 20

  /// Notes another one, and waits a moment if it hadn't answered.
  ///
  /// - Parameter heard: How many answers came in all.
  mutating func count(heard: Int, _ time: any TimeSource) async throws(RuntimeError) {
    isTold = false
    if heard > self.heard { silent = 0 } else { silent += 1 }
    self.heard = heard
    guard silent <= Losses.most else {
      throw RuntimeError(
        .unavailable,
        "the agent takes requests and gives no whole answer; see whether it is one: errand status, errand doctor")
    }
    if silent > 1 { try? await time.sleep(for: .milliseconds(min(50 << min(silent, 5), 1000))) }
  }

  /// Says who is next, once after each loss.
  mutating func text(isAgent: Bool) -> String? {
    if isTold { return nil }
    isTold = true
    if isAgent { return "the agent ended; this process takes over" }
    return silent > 1 ? nil : "the agent ended; another process has the folder now"
  }
}

/// The run that a command follows: its own, or the one that has its key.
private final class FollowedRun: Sendable {
  private let content: Mutex<(id: String, answers: Int, isAgain: Bool)>

  init(_ id: String) { content = Mutex((id, 0, false)) }

  var id: String { content.withLock { $0.id } }
  /// How many answers came.
  var answers: Int { content.withLock { $0.answers } }

  func note(_ id: String) { content.withLock { $0.id = id } }
  func hear() { content.withLock { $0.answers += 1 } }
  /// Notes that the connection was cut, and is made again.
  func noteCut() { content.withLock { $0.isAgain = true } }
  /// Whether the connection was made again.
  var isAgain: Bool { content.withLock { $0.isAgain } }
}

extension RunStatus {
  /// The status as the verb of a sentence about the run.
  fileprivate var asVerb: String {
    switch self {
    case .succeeded, .failed: rawValue
    case .timedOut: "timed out"
    case .cancelled, .rejected, .skipped: "was \(rawValue)"
    case .queued, .running, .waiting, .paused, .uncertain: "is \(rawValue)"
    }
  }
}
