import Agent
import Basics
import RunState

// The page of state machines. No table declares the transitions: each machine is put into every reachable state, every
// event is applied to it there, and the resulting states are drawn.

/// The page.
func statePage() -> String {
  """
  # State machines

  The states of a run, a step, an attempt, a schedule and the agent's work on a run, and the events that lead from one
  state to the next. The generator tries every event in every state with the code that decides it, so that the diagrams
  show the events that the code accepts.

  ## Run

  The status of a run in the state. The events are the journal's events ([`StateEvent.swift`](../Sources/Runtime/RunState/StateEvent.swift)); [`State.swift`](../Sources/Runtime/RunState/State.swift) folds them. An ended run accepts no more events.

  \(runDiagram.mermaid)

  ## Step

  The status of a step in the record of its run. An ended step begins again in a `repeat`, in a `retry` around it, or after a person's `--retry`.

  \(stepDiagram.mermaid)

  ## Attempt

  One try of an action. It is in flight before anything is sent. If the next attempt begins while the end of this one is unknown, this one is in doubt.

  \(attemptDiagram.mermaid)

  ## Schedule

  The status of a schedule. It decides the slots that fall due while it is active. [`Scheduler.swift`](../Sources/Runtime/Scheduler/Scheduler.swift) explains which outcome a slot has.

  \(scheduleDiagram.mermaid)

  ## A run in the agent

  The agent's work on a run, decided by [`RunLifecycle.swift`](../Sources/Runtime/Agent/RunLifecycle.swift). The word after the slash is the next action of [`RunHost.swift`](../Sources/Runtime/Agent/RunHost.swift). The word in brackets is the status of the run in the state, where it matters.

  \(lifecycleDiagram.mermaid)

  """
}

/// A machine as it is found by trying.
private struct StateDiagram {
  private struct Arrow: Hashable {
    var from: String
    var to: String
  }

  private var labels: [Arrow: [String]] = [:]
  private var order: [Arrow] = []
  private var groups: [(name: String, states: [String])] = []

  /// Tries every event in every reachable state.
  ///
  /// - Parameters:
  ///   - key: Identifies a state of the machine.
  ///   - name: Returns the page's name of a state.
  ///   - groups: States that are drawn in a box; a transition that all of them share is drawn once.
  ///   - events: Each returns a label, and the machine after an event; nil if the event cannot happen.
  init<Machine>(
    from start: Machine, groups: [(name: String, states: [String])] = [], key: (Machine) -> String,
    name: (Machine) -> String, events: [(Machine) -> (label: String, next: Machine)?]
  ) {
    self.groups = groups
    var known = [key(start)]
    var open = [start]
    while !open.isEmpty {
      let machine = open.removeFirst()
      for event in events {
        guard let (label, next) = event(machine) else { continue }
        add(label, from: name(machine), to: name(next))
        if known.contains(key(next)) { continue }
        known.append(key(next))
        open.append(next)
      }
    }
    for group in groups { draw(group.states, as: group.name) }
  }

  private mutating func add(_ label: String, from: String, to: String) {
    let arrow = Arrow(from: from, to: to)
    if labels[arrow] == nil { order.append(arrow) }
    if labels[arrow]?.contains(label) != true { labels[arrow, default: []].append(label) }
  }

  /// Draws what all states of a group do alike as done by the group.
  private mutating func draw(_ states: [String], as group: String) {
    let all = order.flatMap { arrow in (labels[arrow] ?? []).map { (arrow, $0) } }
    for (arrow, label) in all where arrow.from == states.first {
      let alike = states.map { Arrow(from: $0, to: arrow.to) }
      guard alike.allSatisfy({ labels[$0]?.contains(label) == true }) else { continue }
      for arrow in alike { labels[arrow]?.removeAll { $0 == label } }
      add(label, from: group, to: arrow.to)
    }
  }

  var mermaid: String {
    var lines = ["```mermaid", "stateDiagram-v2"]
    for group in groups {
      lines.append("  state \(group.name) {")
      lines += group.states.map { "    \($0)" } + ["  }"]
    }
    for arrow in order {
      // An event without an effect isn't drawn.
      let labels = (labels[arrow] ?? []).filter { arrow.from != arrow.to || $0.contains("/") }
      if labels.isEmpty { continue }
      lines.append("  \(arrow.from) --> \(arrow.to): \(labels.joined(separator: ", "))")
    }
    return (lines + ["```"]).joined(separator: "\n")
  }
}

// MARK: - The effects of the journal's events on the state

/// Applies an event to a state; returns the label of the transition, and the next state.
private typealias Trial = (State) -> (label: String, next: State)?

/// The trial of an event of the journal; nil if the state refuses it.
private func trial(_ label: String, _ event: StateEvent) -> Trial {
  { state in
    var next = state
    return (try? next.apply(event)) == nil ? nil : (label, next)
  }
}

private let now = Timestamp.earliest

private let runCreated = RunCreated(
  run: "r", at: now, recipe: "r", file: "r.yaml", texts: .inline(.null), inputs: .null, program: "",
  cause: RunCause(.slot, schedule: "s", slot: now))
private let scheduleSet = ScheduleSet(
  at: now, schedule: "s", recipe: "r", file: "r.yaml", spec: "", remainingRuns: 1, pausesOnFailure: true)

/// The state after some events.
private func state(after events: StateEvent...) -> State {
  events.reduce(into: State()) { state, event in try? state.apply(event) }
}

private var runDiagram: StateDiagram {
  func name(_ state: State) -> String { (state.runs["r"] ?? state.ended.last)?.status.rawValue ?? "[*]" }
  let created = trial("runCreated", .runCreated(runCreated))
  return StateDiagram(
    from: state(after: .scheduleSet(scheduleSet)),
    groups: [("open", RunStatus.allCases.filter { !$0.isEnded }.map(\.rawValue))], key: name, name: name,
    // An id is never given twice.
    events: [{ state in state.ended.isEmpty ? created(state) : nil }]
      + RunStatus.allCases.flatMap { status in
        [
          trial("runStatusChanged", .runStatusChanged(RunStatusChanged(run: "r", at: now, status: status))),
          trial("runEnded", .runEnded(RunEnded(run: "r", at: now, status: status))),
        ]
      })
}

private var attemptTrials: [Trial] {
  [
    trial("attemptBegan", .attemptBegan(AttemptBegan(run: "r", at: now, step: "s", number: 1))),
    trial("attemptEnded", .attemptEnded(AttemptEnded(run: "r", at: now, step: "s", number: 1))),
    trial(
      "attemptEnded with retryAt", .attemptEnded(AttemptEnded(run: "r", at: now, step: "s", number: 1, retryAt: now))),
  ]
}

private var stepDiagram: StateDiagram {
  func name(_ state: State) -> String { state.runs["r"]?.steps["s"]?.status.rawValue ?? "[*]" }
  let ends = [StepStatus.running, .uncertain] + StepStatus.allCases.filter(\.isEnded)
  return StateDiagram(
    from: state(after: .scheduleSet(scheduleSet), .runCreated(runCreated)),
    groups: [
      ("open", [StepStatus.running, .retrying, .waiting, .uncertain].map(\.rawValue)),
      ("ended", StepStatus.allCases.filter(\.isEnded).map(\.rawValue)),
    ], key: name, name: name,
    events: [
      trial("stepBegan", .stepBegan(StepBegan(run: "r", at: now, step: "s", now: now))),
      trial("stepWaits", .stepWaits(StepWaits(run: "r", at: now, step: "s", now: now, wait: WaitRecord(.until)))),
    ] + attemptTrials
      + ends.map { trial("stepEnded", .stepEnded(StepEnded(run: "r", at: now, step: "s", now: now, status: $0))) })
}

private var attemptDiagram: StateDiagram {
  func name(_ state: State) -> String {
    guard let attempt = state.runs["r"]?.steps["s"]?.lastAttempt else { return "[*]" }
    return attempt.endedAt == nil ? "inFlight" : attempt.retryAt == nil ? "over" : "overAndRetried"
  }
  return StateDiagram(
    from: state(
      after: .scheduleSet(scheduleSet), .runCreated(runCreated),
      .stepBegan(StepBegan(run: "r", at: now, step: "s", now: now))), key: name, name: name,
    // Only an attempt in flight can end.
    events: attemptTrials.enumerated().map { place, trial in
      { state in place == 0 || name(state) == "inFlight" ? trial(state) : nil }
    })
}

private var scheduleDiagram: StateDiagram {
  func name(_ state: State) -> String {
    guard let schedule = state.schedules["s"] else { return "[*]" }
    return schedule.pause != nil ? "paused" : schedule.remainingRuns == 0 ? "usedUp" : "active"
  }
  let pause = PauseRecord(at: now, origin: .person)
  let slot = SlotRecord(
    schedule: "s", slot: now, outcome: .started, at: now, cause: RunCause(.slot, schedule: "s", slot: now))
  return StateDiagram(
    from: State(), key: { "\(name($0)) \($0.runs.count) \($0.schedules["s"]?.remainingRuns ?? 0)" }, name: name,
    events: [
      trial("scheduleSet", .scheduleSet(scheduleSet)),
      trial("scheduleRemoved", .scheduleRemoved(ScheduleRemoved(at: now, schedule: "s"))),
      trial("schedulePaused", .schedulePaused(SchedulePaused(schedule: "s", pause: pause))),
      trial("schedulePaused without a pause", .schedulePaused(SchedulePaused(schedule: "s", pause: nil))),
      trial("slotDecided as started", .slotDecided(slot)),
      trial("runCreated", .runCreated(runCreated)),
      trial("runEnded as failed", .runEnded(RunEnded(run: "r", at: now, status: .failed))),
    ])
}

// MARK: - The agent's actions

private typealias Life = RunLifecycle<String>

/// The trial of an event that happens to a run in its agent.
private func trial(
  _ label: String, _ event: @escaping (inout Life) -> Life.Effect?
) -> (Life) -> (label: String, next: Life)? {
  { life in
    var next = life
    let effect = event(&next).map { " / " + String("\($0)".prefix { $0 != "(" }) }
    return (label + (effect ?? ""), next)
  }
}

private func run(_ status: RunStatus, isCancelled: Bool = false) -> RunRecord {
  var run = RunRecord(runCreated)
  run.status = status
  if isCancelled { run.pendingCancel = CancelRequested(run: "r", at: now) }
  return run
}

private var lifecycleDiagram: StateDiagram {
  func name(_ life: Life) -> String { String("\(life.phase)".prefix { $0 != "(" }) }
  let proceeds: (Life) -> (label: String, next: Life)? = { life in
    life.walk == nil ? trial("proceed") { $0.proceed(run(.waiting), isOverPause: false) }(life) : nil
  }
  let began: (Life) -> (label: String, next: Life)? = { life in
    guard case .beginning = life.phase else { return nil }
    return trial("stillProceeds / walk, began") { life in
      life.began("walk")
      return nil
    }(life)
  }
  let left: [(Life) -> (label: String, next: Life)?] = [RunStatus.succeeded, .waiting, .uncertain].map { status in
    let left = trial("walkLeft [\(status.isEnded ? "ended" : status.rawValue)]") { life in
      life.walkLeft(run(status), kept: status.isEnded ? nil : run(status), isStopping: false)
    }
    return { life in life.walk == nil ? nil : left(life) }
  }
  // A second pause only counts one more that keeps it.
  let paused: (Life) -> (label: String, next: Life)? = { life in
    switch life.phase {
    case .away, .beginning, .walked: trial("pause") { $0.pause("") }(life)
    case .pausing, .keepingPause: nil
    }
  }
  return StateDiagram(
    from: Life(), key: { "\($0.phase) \($0.hasNews)" }, name: name,
    events: [proceeds, began, paused] + left + [
      trial("beginningEnded") { $0.beginningEnded(isStopping: false) },
      trial("resume") { life in
        life.resume()
        return nil
      },
      trial("changed") { $0.changed(run(.waiting)) },
      trial("cancelled") { $0.cancelled(run(.waiting, isCancelled: true)) },
      trial("pauseKept") { $0.pauseKept(run(.paused), isStopping: false) },
      trial("pauseFailed") { $0.pauseFailed() },
      trial("walkFailed") { life in
        life.walkFailed()
        return nil
      },
    ])
}
