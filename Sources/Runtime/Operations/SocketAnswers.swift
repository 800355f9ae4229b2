// Operations for clients on the socket: a line asks, and the answer is lines.
//
// The request is an object whose member `ask` names the operation; the others are its inputs in their exact form. The
// answer is an object, in its exact form, or the events of an operation that follows runs (`RunEvent`); a refusal is
// `{"failed":{"kind":…,"message":…}}`. A large answer comes in parts (`AnswerParts`).
package import Agent
package import Basics
import RunState
import Runs

extension AgentParts {
  /// Serves a request that is a line of JSON; all answers have been sent when this returns.
  package func handle(_ line: RequestLine) async { await handle(line.value, to: line, for: line.caller) }

  /// - Parameter isElsewhere: Whether the client is on another machine; on this one it gets recipes as their files are,
  ///   so that it plans as the agent does.
  package func handle(
    _ request: Value, to line: RequestLine, for caller: AgentCaller, isElsewhere: Bool = false
  ) async {
    let answers = SocketAnswers(to: line, hiding: store.secrets, isElsewhere: isElsewhere) { newID() }
    do throws(RequestRefusedError) {
      let operation = try OperationList.read(request)
      if let operation = operation as? any StreamingOperation {
        try await follow(operation, for: caller, to: answers)
      } else {
        try await answers.send(try await performed(operation, for: caller))
      }
    } catch {
      answers.refuse(error)
    }
  }

  /// Apart from the others: each of many streams holds the room of its async functions.
  private func follow(
    _ operation: any StreamingOperation, for caller: AgentCaller, to events: SocketAnswers
  ) async throws(RequestRefusedError) { try await perform(operation, for: caller, to: events) }
}

extension OperationList {
  /// Reads a client's request.
  package static func read(_ line: Value) throws(RequestRefusedError) -> any Operation {
    let word = line["ask"]?.string ?? ""
    guard var inputs = line.map, let type = named(word) else {
      throw RequestRefusedError(.request, "unknown request '\(word.shortened(to: 80))'")
    }
    inputs["ask"] = nil
    return try type.init(inputs: inputs, isExact: true)
  }
}

extension Operation {
  /// The request as a client on the socket sends it.
  package var line: Value {
    var line = ValueMap([("ask", .string(Self.name))])
    for member in exactInputs.members { line[member.name ?? ""] = member.value }
    return .map(line)
  }
}

/// The answers to a client on the socket.
struct SocketAnswers: RunEvents {
  private let line: RequestLine
  private let secrets: SecretRegistry
  private let isElsewhere: Bool
  private let newID: @Sendable () -> String

  /// - Parameter secrets: What is masked in the answers.
  init(
    to line: RequestLine, hiding secrets: SecretRegistry, isElsewhere: Bool = false,
    newID: @escaping @Sendable () -> String
  ) {
    self.isElsewhere = isElsewhere
    self.line = line
    self.secrets = secrets
    self.newID = newID
  }

  var isBehind: Bool { line.isBehind }

  func refuse(_ refusal: RequestRefusedError) {
    line.reply(.object(["failed": secrets.shown(refusal.encoded())]))
  }

  func tell(_ event: RunEvent) { line.reply(secrets.shown(event.encoded())) }

  func tellInTurn(_ event: RunEvent) async { await line.replyInTurn(secrets.shown(event.encoded())) }

  func tell(_ run: StoredRun, isEnd: Bool) async throws(RequestRefusedError) {
    try await send(run, as: isEnd ? "ended" : "run")
  }

  /// Sends an answer, which may be large, as soon as there is room for it.
  func send(_ answer: any OperationAnswer) async throws(RequestRefusedError) {
    if let run = (answer as? ShowRun.Answer)?.stored { return try await send(run, as: "run") }
    if let value = (answer as? ReadValue.Answer)?.kept { return try await send(value) }
    // The caller makes its plans from the unmasked recipes.
    let hidden: SecretRegistry? = answer is ListSchedules.Answer && !isElsewhere ? nil : secrets
    var parts = PartedAnswer(to: line, id: newID(), hiding: hidden)
    var rest = ValueMap()
    for member in try await answer.exact().map?.members ?? [] {
      let name = member.name ?? ""
      guard let items = member.value.list else {
        rest[name] = member.value
        continue
      }
      rest[name] = await send(items, as: name, of: &parts)
    }
    await parts.end(rest)
  }

  /// Sends a list page by page; returns the list if it fits one page.
  private func send(_ items: [Value], as name: String, of answer: inout PartedAnswer) async -> Value? {
    var page: [Value] = []
    var bytes = 0
    var isWhole = true
    for value in items {
      page.append(value)
      bytes += ValueExtent(of: value)?.bytes ?? PartedAnswer.page
      if bytes < PartedAnswer.page { continue }
      await answer.send(items: page, at: [name])
      isWhole = false
      (page, bytes) = ([], 0)
      guard answer.isHeard else { return nil }
    }
    if isWhole { return .list(page) }
    if !page.isEmpty { await answer.send(items: page, at: [name]) }
    return nil
  }

  /// Sends a run in pages while it is in memory, and otherwise as the text in its files.
  ///
  /// Each page is taken from the current state, so that no copy of a large run is held meanwhile. If the run's status
  /// changes in between, everything is sent again.
  private func send(_ run: StoredRun, as name: String) async throws(RequestRefusedError) {
    var answer = PartedAnswer(to: line, id: newID(), hiding: secrets)
    var sent: RunRecord?
    var next = 0
    while answer.isHeard, let record = await run.recordInMemory {
      let head = record.withoutSteps
      if let sent, !sent.matches(head) {
        await answer.beginAnew()
        next = 0
      }
      sent = head
      let (page, end) = SocketAnswers.page(of: record.stepsInOrder, from: next)
      let isLast = end == record.steps.count
      let isWhole = isLast && next == 0
      if !isWhole, !page.isEmpty { await answer.send(members: page, at: [name, "steps"]) }
      if isLast {
        var map = recorded(head).map ?? ValueMap()
        if isWhole, !page.isEmpty { map["steps"] = .map(page) }
        return await answer.end(ValueMap([(name, .map(map))]))
      }
      next = end
    }
    guard answer.isHeard else { return }
    await answer.beginAnew()
    var cursor = LogCursor(run.id)
    while answer.isHeard, !cursor.isOver {
      let read: (bytes: [UInt8], next: LogCursor)?
      do throws(StateError) { read = try await run.store.finishedRunText(cursor, most: PartedAnswer.page) } catch {
        throw RequestRefusedError(error)
      }
      guard let (bytes, place) = read else {
        throw RequestRefusedError(.notFound, "the run \(run.id) is not kept any more")
      }
      if !bytes.isEmpty { await answer.send(text: bytes, at: [name]) }
      cursor = place
    }
    await answer.end(ValueMap())
  }

  /// The next steps of a run that fit a page, and how many steps have been sent after it.
  private static func page(of steps: StepRecords, from first: Int) -> (page: ValueMap, end: Int) {
    var page = ValueMap()
    var bytes = 0
    var next = first
    while next < steps.count, bytes < PartedAnswer.page {
      let value = recorded(steps[next])
      bytes += ValueExtent(of: value)?.bytes ?? PartedAnswer.page
      page.append(value, asNew: steps[next].path)
      next += 1
    }
    return (page, next)
  }

  /// Sends a value as it is in its file; the client verifies it.
  private func send(_ value: KeptValue) async throws(RequestRefusedError) {
    var answer = PartedAnswer(to: line, id: newID(), hiding: secrets)
    var rest: [UInt8] = []
    var offset = 0
    while answer.isHeard, offset < value.blob.size {
      let bytes: [UInt8]
      do throws(StateError) {
        bytes = try await value.store.blob(value.blob, from: offset, most: PartedAnswer.page)
      } catch {
        throw RequestRefusedError(error)
      }
      guard !bytes.isEmpty else { break }
      offset += bytes.count
      rest += bytes
      let whole = rest.dropLast(offset < value.blob.size ? rest.bytesOfCutCharacter : 0)
      await answer.send(text: whole, at: ["value"])
      rest.removeFirst(whole.count)
    }
    await answer.send(sha256: value.blob.sha256, at: ["value"])
    await answer.end(ValueMap())
  }
}

extension RunRecord {
  /// Whether two records are equal except for their steps.
  fileprivate func matches(_ other: RunRecord) -> Bool {
    status == other.status && reason == other.reason && wakeAt == other.wakeAt && endedAt == other.endedAt
  }
}
