// The people who use a simulated program.
//
// A command asks the agent of another process over the wire, and calls the operation itself where it is the agent. Both
// must get the same answer. So half of the requests, as the seed chooses, go through a loopback: it writes the request,
// the answer or the refusal, and the events of a run in the exact form, and reads them again. The audit reports each
// difference to the request that was made and to the answer that the agent gave. Nothing is masked on the way, because
// masked texts would differ.
//
// All of it happens on the simulated thread, and nothing here waits for time to pass.
import Agent
import Basics
import Operations
import RunState

/// A client of a simulated program's agent.
struct SimulatedClient: Sendable {
  private let agent: AgentParts
  private let audit: Audit
  /// Chooses the requests that are encoded and the things that people look at.
  ///
  /// No other part of a life draws from it.
  private let random: SharedRandom
  private let caller = AgentCaller(name: "ana")

  private static let limits = ExactForm.limits(ExactForm.mostOfAnswer)
  /// How often an answer is read again that has changed while it was written.
  private static let mostTries = 4
  /// People look at something once in so many chances.
  private static let lookInterval = 3

  init(_ agent: AgentParts, _ audit: Audit, random: SharedRandom) {
    self.agent = agent
    self.audit = audit
    self.random = random
  }

  /// Chooses whether the next request is encoded.
  private func choosesCoding() -> Bool { random.next() < 0.5 }

  /// Runs an operation for a person of the agent's own account.
  func perform<Asked: Operation>(_ operation: Asked) async throws(RequestRefusedError) -> Asked.Answer {
    guard choosesCoding() else { return try await agent.perform(operation, for: caller) }
    let request = coded(operation)
    do throws(RequestRefusedError) {
      return try await coded(try await agent.perform(request, for: caller), to: Asked.self)
    } catch {
      throw coded(error)
    }
  }

  /// Decides about a step, or answers it; what isn't approved is answered by a value of another type, which is refused.
  func decide(_ run: String, _ step: StepRecord, isApproved: Bool) async throws(RequestRefusedError) {
    if step.wait?.kind == .ask {
      _ = try await perform(
        AnswerStep.with {
          $0.run = run
          $0.step = step.path
          $0.fields = ValueMap([("count", isApproved ? .int(2) : .string("two"))])
        })
      return
    }
    _ = try await perform(
      DecideStep.with {
        $0.run = run
        $0.step = step.path
        $0.approved = isApproved
      })
  }

  /// Follows a run until it ends, is left by the program, or is refused.
  func follow(_ run: String) async {
    let isCoded = choosesCoding()
    let request = FollowRun.with { $0.run = run }
    let events = LocalEvents { [self] event in if isCoded { check(event) } }
    do throws(RequestRefusedError) {
      try await agent.perform(isCoded ? coded(request) : request, for: caller, to: events)
    } catch {
      if isCoded { _ = coded(error) }
    }
  }

  // MARK: Looking

  /// Looks at something, once in a while; returns at once.
  ///
  /// - Parameters:
  ///   - runs: The open runs, of which one may be looked at.
  ///   - mayFollow: Whether to follow some of them, too.
  func lookAround(at runs: @autoclosure () -> [String], mayFollow: Bool) {
    guard random.next(in: 0..<SimulatedClient.lookInterval) == 0 else { return }
    // The last one names no run, and the others may not do so either; then the request is refused.
    let names = runs() + ["last", "last:r1", "r0", "r9"]
    let name = names[random.next(in: 0..<names.count)]
    let choice = random.next(in: 0..<(mayFollow ? 10 : 8))
    let count = random.next(in: 0..<5)
    audit.note("look \(choice) at \(name)")
    // Ends with the answer, or when the run that is followed ends or the program does.
    Task {
      switch choice {
      case 0:
        var page = ListRuns.with {
          $0.limit = count
          $0.paged = count > 1
        }
        page.cursor = (try? await perform(page))?.next
        if page.cursor != nil { await look(page) }
        await look(CountRuns())
      case 1:
        await look(ShowRun.with { $0.run = name })
        await look(ListSteps.with { ($0.run, $0.parent, $0.outlined) = (name, "", true) })
      case 2: await look(ListSlots.with { $0.limit = count })
      case 3:
        let listed = try? await perform(ListSchedules())
        if let id = listed?.schedules.first?.id { await look(ShowSchedule.with { $0.id = id }) }
      case 4: await look(ShowStatus())
      case 5: await look(ListApprovals.with { $0.limit = count })
      case 6: await look(ExplainRun.with { $0.run = name })
      case 7: await look(ListUpcoming.with { $0.limit = count })
      default: await follow(name)
      }
    }
  }

  private func look(_ operation: some Operation) async { _ = try? await perform(operation) }

  // MARK: The loopback

  /// The request as an agent reads it.
  private func coded<Asked: Operation>(_ operation: Asked) -> Asked {
    let inputs = operation.exactInputs
    do {
      let body = try JSON.parse(JSON.write(.map(inputs)), limits: SimulatedClient.limits)
      let read = try Asked(inputs: body.map ?? ValueMap(), isExact: true)
      let after = read.exactInputs
      if after != inputs {
        audit.fail("the request '\(Asked.name)' is read as \(text(.map(after))), and is \(text(.map(inputs)))")
      }
      return read
    } catch {
      audit.fail("the request '\(Asked.name)' can't be read: \(error)")
      return operation
    }
  }

  /// The answer as a client reads it.
  private func coded<Asked: Operation>(
    _ answer: Asked.Answer, to asked: Asked.Type
  ) async throws(RequestRefusedError) -> Asked.Answer {
    // A run's record is read when it is written, and the run may change meanwhile.
    for _ in 0..<SimulatedClient.mostTries {
      let before = try await answer.exact()
      guard let read = try await written(answer, to: asked) else { return answer }
      guard try await answer.exact() == before else { continue }
      let after = try await read.exact()
      if after != before {
        audit.fail("the answer to '\(Asked.name)' is read as \(text(after)), and is \(text(before))")
      }
      return read
    }
    return answer
  }

  /// The answer as it is read from its text; nil if it can't be read.
  ///
  /// Throws the refusal with which an answer breaks off.
  private func written<Asked: Operation>(
    _ answer: Asked.Answer, to _: Asked.Type
  ) async throws(RequestRefusedError) -> Asked.Answer? {
    var bytes: [UInt8] = []
    var writer = ExactWriter(hiding: nil) { bytes += $0 }
    do {
      try await answer.write(to: &writer)
      try await writer.flush()
      return try Asked.Answer(reading: JSON.parse(bytes, limits: SimulatedClient.limits))
    } catch let refusal as RequestRefusedError {
      throw refusal
    } catch {
      audit.fail("the answer to '\(Asked.name)' can't be read: \(error)")
      return nil
    }
  }

  /// The refusal as a client reads it: its texts are safe for terminals.
  private func coded(_ refusal: RequestRefusedError) -> RequestRefusedError {
    var safe = refusal
    safe.message = refusal.message.safeText()
    safe.overHTTP = refusal.overHTTP?.safeText()
    safe.changes = refusal.changes.map { $0.safeText() }
    safe.faults = refusal.faults.map { fault in
      RequestRefusedError.Fault(message: fault.message.safeText(), pointer: fault.pointer.safeText())
    }
    do {
      let body = try JSON.parse(JSON.write(ExactForm.refused(refusal)), limits: SimulatedClient.limits)
      let read = try RequestRefusedError(reading: body["failed"] ?? .null)
      if read.encoded() != safe.encoded() {
        audit.fail("a refusal is read as \(text(read.encoded())), and is \(text(safe.encoded()))")
      }
      return read
    } catch {
      audit.fail("the refusal \(text(refusal.encoded())) can't be read: \(error)")
      return refusal
    }
  }

  /// Checks that an event is read as it is.
  private func check(_ event: RunEvent) {
    let value = event.encoded()
    do {
      let read = try RunEvent(reading: JSON.parse(JSON.write(value), limits: SimulatedClient.limits)).encoded()
      if read != value { audit.fail("an event is read as \(text(read)), and is \(text(value))") }
    } catch {
      audit.fail("the event \(text(value)) can't be read: \(error)")
    }
  }

  private func text(_ value: Value) -> String { JSON.displayed(value, .sorted) }
}
