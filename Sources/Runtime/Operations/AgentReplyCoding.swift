/// The form of answers on the socket: each is an object, recognised by its members.
///
///     {"accepted":id,"isServing":bool,"known":status?}
///     {"cancelled":id} {"paused":id} {"resolved":id} {"deleted":id}
///     {"accepted":new id,"retries":id,"known":status?}
///     {"decided":path,"run":id}
///     progress (`ProgressCoding`)               {"received":id,"isNew":bool}
///     {"waits":{"until":…?,"status":…,"reason":…?,"url":…?}}
///     {"notice":{"kind":watching, began, waits, parked, ended or missed,"run":record?}}
///     {"ended":record}                          {"run":record}
///     {"open":[record, as lists show it…],"finished":[summary…],"next":id?}
///     {"run":reference,"open":record?}          {"value":…}
///     {"facts":…,"others":[…],"events":[…],"holder":pid?}
///     {"schedules":[record with its texts…],"words":{id:text…}}    {"slots":[slot record…]}
///     {"slots":[instant…],"hasMore":bool}       {"lines":[printed line…],"next":position,"isLast":bool}
///     {"steps":[step record…],"next":position?}  {"explained":id,"sentences":[…]}
///     {"recipes":[recipe…]}                     {"recipe":recipe}
///     {"tools":[tool…]}
///     {"plan":plan}                             {"connections":[connection…],"secrets":[secret…]}
///     {"tokens":[token…]}                       {"link":URL}
///     {"workers":[worker…]}
///     {"yielded":true}                          {"failed":{"kind":…,"message":…}}
///     the members of `AgentReport`
///
/// A large answer comes in parts (`AnswerParts`).
import Agent
package import Basics
package import RunState
import Runs

/// The answers to a client on the socket.
struct SocketReplies: AgentReplies {
  private let line: RequestLine
  private let sees: @Sendable (_ recipe: String) -> Bool
  private let secrets: SecretRegistry
  private let isElsewhere: Bool
  private let newID: @Sendable () -> String

  /// - Parameters:
  ///   - sees: Whether the client sees what belongs to a recipe, in lists of all.
  ///   - secrets: What is masked in the answers.
  ///   - isElsewhere: Whether the client is on another machine; on this one it gets recipes as their files are, so that
  ///     it plans as the agent does.
  init(
    to line: RequestLine, sees: @escaping @Sendable (String) -> Bool = { _ in true }, hiding secrets: SecretRegistry,
    isElsewhere: Bool = false, newID: @escaping @Sendable () -> String
  ) {
    self.isElsewhere = isElsewhere
    self.line = line
    self.sees = sees
    self.secrets = secrets
    self.newID = newID
  }

  var isBehind: Bool { line.isBehind }

  func give(_ reply: AgentReply) {
    let (members, lists) = reply.parts
    var answer = members
    for list in lists { answer[list.name] = .list((0..<list.count).map(list.item)) }
    line.reply(secrets.shown(.map(answer)))
  }

  func giveInTurn(_ reply: AgentReply) async {
    var hidden: SecretRegistry? = secrets
    if case .schedules = reply, !isElsewhere { hidden = nil }
    var answer = PartedAnswer(to: line, id: newID(), hiding: hidden)
    var (rest, lists) = reply.narrowed(sees).parts
    for list in lists { rest[list.name] = await send(list, of: &answer) }
    await answer.end(rest)
  }

  /// Sends a list page by page, encoding each page only when it is sent; returns the list if it fits one page.
  private func send(_ list: AgentReply.List, of answer: inout PartedAnswer) async -> Value? {
    var page: [Value] = []
    var bytes = 0
    var isWhole = true
    for index in 0..<list.count {
      let value = list.item(index)
      page.append(value)
      bytes += ValueExtent(of: value)?.bytes ?? PartedAnswer.page
      if bytes < PartedAnswer.page { continue }
      await answer.send(items: page, at: [list.name])
      isWhole = false
      (page, bytes) = ([], 0)
      guard answer.isHeard else { return nil }
    }
    if isWhole { return .list(page) }
    if !page.isEmpty { await answer.send(items: page, at: [list.name]) }
    return nil
  }

  /// Sends a run in pages while it is in memory, and otherwise as the text in its files.
  ///
  /// Each page is taken from the current state, so that no copy of a large run is held meanwhile. If the run's status
  /// changes in between, everything is sent again.
  func give(_ run: StoredRun, isEnd: Bool) async throws(RequestRefusedError) {
    var answer = PartedAnswer(to: line, id: newID(), hiding: secrets)
    let name = isEnd ? "ended" : "run"
    var sent: RunRecord?
    var next = 0
    while answer.isHeard, let record = await run.recordInMemory {
      let head = record.withoutSteps
      if let sent, !sent.matches(head) {
        await answer.beginAnew()
        next = 0
      }
      sent = head
      let (page, end) = SocketReplies.page(of: record.stepsInOrder, from: next)
      let isLast = end == record.steps.count
      let isWhole = isLast && next == 0
      if !isWhole, !page.isEmpty { await answer.send(members: page, at: [name, "steps"]) }
      if isLast {
        var map = head.encoded().map ?? ValueMap()
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
      let value = steps[next].encoded()
      bytes += ValueExtent(of: value)?.bytes ?? PartedAnswer.page
      page.append(value, asNew: steps[next].path)
      next += 1
    }
    return (page, next)
  }

  /// Sends a blob as it is in its file; the client verifies it.
  func give(_ blob: BlobReference, from store: any StateStore) async throws(RequestRefusedError) {
    var answer = PartedAnswer(to: line, id: newID(), hiding: secrets)
    var rest: [UInt8] = []
    var offset = 0
    while answer.isHeard, offset < blob.size {
      let bytes: [UInt8]
      do throws(StateError) { bytes = try await store.blob(blob, from: offset, most: PartedAnswer.page) } catch {
        throw RequestRefusedError(error)
      }
      guard !bytes.isEmpty else { break }
      offset += bytes.count
      rest += bytes
      let whole = rest.dropLast(offset < blob.size ? rest.bytesOfCutCharacter : 0)
      await answer.send(text: whole, at: ["value"])
      rest.removeFirst(whole.count)
    }
    await answer.send(sha256: blob.sha256, at: ["value"])
    await answer.end(ValueMap())
  }
}

extension RunRecord {
  /// Whether two records are equal except for their steps.
  fileprivate func matches(_ other: RunRecord) -> Bool {
    status == other.status && reason == other.reason && wakeAt == other.wakeAt && endedAt == other.endedAt
  }
}

extension AgentReply {
  /// The answer without the recipes, and the schedules of recipes, that a client doesn't see.
  fileprivate func narrowed(_ sees: (String) -> Bool) -> AgentReply {
    switch self {
    case .schedules(let schedules, let words):
      .schedules(
        schedules.filter { sees($0.recipe) },
        words: words.filter { sees(String(Substring($0.key.utf8.prefix { $0 != ASCII.slash }))) })
    case .runs(let list):
      .runs(
        RunList(
          open: list.open.filter { sees($0.recipe) }, finished: list.finished.filter { sees($0.recipe) },
          next: list.next, openCount: list.openCount, unclaimable: list.unclaimable))
    case .recipes(let recipes): .recipes(recipes.filter { sees($0.name) })
    case .tools(let tools): .tools(tools.filter { sees($0.name) })
    default: self
    }
  }

  /// A member of an answer that may have many items.
  fileprivate struct List {
    var name: String
    var count: Int
    var item: (Int) -> Value

    init(_ name: String, _ items: [some Recordable]) {
      self.name = name
      count = items.count
      item = { items[$0].encoded() }
    }
  }

  /// The members of the answer's object, and its lists.
  fileprivate var parts: (members: ValueMap, lists: [List]) {
    func object(_ members: KeyValuePairs<String, Value?>) -> (ValueMap, [List]) {
      var map = ValueMap()
      for (name, value) in members { map[name] = value }
      return (map, [])
    }
    switch self {
    case .accepted(let run, let isServing, let known):
      return object([
        "accepted": .string(run), "isServing": .bool(isServing), "known": known.map { .string($0.rawValue) },
      ])
    case .progress(let progress): return (progress.value.map ?? ValueMap(), [])
    case .notice(let notice): return object(["notice": notice.encoded()])
    case .waits(let wait): return object(["waits": wait.encoded()])
    case .ended(let record): return object(["ended": record.encoded()])
    case .paused(let run): return object(["paused": .string(run)])
    case .cancelled(let run): return object(["cancelled": .string(run)])
    case .retried(let run, let id, let known):
      return object([
        "accepted": .string(id), "retries": .string(run), "known": known.map { .string($0.rawValue) },
      ])
    case .deleted(let run): return object(["deleted": .string(run)])
    case .resolved(let run): return object(["resolved": .string(run)])
    case .decided(let step, let run): return object(["decided": .string(step), "run": .string(run)])
    case .received(let event, let isNew): return object(["received": .string(event), "isNew": .bool(isNew)])
    case .runs(let list):
      let (members, _) = object([
        "next": list.next.map { .string($0) }, "openCount": .int(list.openCount),
        "unclaimable": list.unclaimable?.encoded(),
      ])
      return (members, [List("open", list.open), List("finished", list.finished)])
    case .found(let run, let open): return object(["run": run.encoded(), "open": open?.encoded()])
    case .run(let record): return object(["run": record.encoded()])
    case .value(let value): return object(["value": value.encoded()])
    case .facts(let facts):
      let (members, _) = object(["facts": facts.around.encoded(), "holder": facts.holder.map { .int($0) }])
      return (members, [List("others", facts.others), List("events", facts.events)])
    case .schedules(let schedules, let words):
      let (members, _) = object(["words": words.isEmpty ? nil : words.encoded()])
      return (members, [List("schedules", schedules)])
    case .upcoming(let slots): return (ValueMap(), [List("slots", slots)])
    case .slots(let slots): return (ValueMap(), [List("slots", slots)])
    case .dueSlots(let slots, let hasMore):
      return object(["slots": .list(slots.map { $0.encoded() }), "hasMore": .bool(hasMore)])
    case .printed(let piece):
      return (ValueMap([("next", .int(piece.next)), ("isLast", .bool(piece.isLast))]), [List("lines", piece.lines)])
    case .steps(let steps, let next):
      let (members, _) = object(["next": next.map { .int($0) }])
      return (members, [List("steps", steps)])
    case .explained(let id, let explanation):
      return object(["explained": .string(id), "sentences": explanation.value])
    case .recipes(let recipes): return (ValueMap(), [List("recipes", recipes)])
    case .recipe(let recipe): return object(["recipe": recipe.encoded()])
    case .tools(let tools): return (ValueMap(), [List("tools", tools)])
    case .plan(let plan): return object(["plan": plan.encoded()])
    case .link(let url): return object(["link": .string(url)])
    case .tokens(let tokens): return (ValueMap(), [List("tokens", tokens)])
    case .workers(let workers): return (ValueMap(), [List("workers", workers)])
    case .connections(let connections, let secrets):
      return (ValueMap(), [List("connections", connections), List("secrets", secrets)])
    case .status(let report): return (report.encoded().map ?? ValueMap(), [])
    case .yielded: return object(["yielded": .bool(true)])
    case .refused(let refusal):
      return object([
        "failed": .object(["kind": .string(refusal.kind.rawValue), "message": .string(refusal.message)])
      ])
    }
  }

  /// Reads a whole answer to a request with a verb.
  package init(reading answer: Value, to verb: String) throws(RecordError) {
    func list<Item: Recordable>(_ name: String, of _: Item.Type = Item.self) throws(RecordError) -> [Item] {
      var items: [Item] = []
      for item in answer[name]?.list ?? [] { items.append(try Item(reading: item)) }
      return items
    }
    func text(_ name: String) throws(RecordError) -> String { try String(reading: answer[name] ?? .null) }
    // First, because its members have names of their own, such as how many items of a loop 'failed'.
    if answer["progress"] != nil { self = .progress(try Progress(reading: answer)); return }
    if let failed = answer["failed"] {
      guard let kind = failed["kind"]?.string.flatMap(RequestRefusedError.Kind.init(rawValue:)) else {
        throw RecordError("a refusal of an unknown kind: \(failed["message"]?.string ?? "")")
      }
      self = .refused(RequestRefusedError(kind, failed["message"]?.string ?? ""))
      return
    }
    if let wait = answer["waits"] { self = .waits(try RunWait(reading: wait)); return }
    if let notice = answer["notice"] { self = .notice(try RunNotice(reading: notice)); return }
    if let record = answer["ended"] { self = .ended(try RunRecord(reading: record)); return }
    switch verb {
    case "retry":
      self = .retried(
        run: try text("retries"), as: try text("accepted"),
        known: answer["known"]?.string.flatMap(RunStatus.init(rawValue:)))
    case "pause": self = .paused(run: try text("paused"))
    case "cancel": self = .cancelled(run: try text("cancelled"))
    case "delete": self = .deleted(run: try text("deleted"))
    case "resolve": self = .resolved(run: try text("resolved"))
    case "decide": self = .decided(step: try text("decided"), run: try text("run"))
    case "signal": self = .received(event: try text("received"), isNew: answer["isNew"]?.bool ?? false)
    case "runs", "approvals":
      self = .runs(
        RunList(
          open: try list("open"), finished: try list("finished"), next: answer["next"]?.string,
          openCount: answer["openCount"]?.int ?? 0,
          unclaimable: try answer["unclaimable"].map { value throws(RecordError) in try [String: String](reading: value)
          }))
    case "find":
      let open = answer["open"]
      self = .found(
        try RunReference(reading: answer["run"] ?? .null),
        open: try open.map { value throws(RecordError) in try RunRecord(reading: value) })
    case "show", "follow": self = .run(try RunRecord(reading: answer["run"] ?? .null))
    case "value", "check", "actions": self = .value(try Value(reading: answer["value"] ?? .null))
    case "logs":
      self = .printed(
        PrintedPiece(
          lines: try list("lines"), next: try Int(reading: answer["next"] ?? .null),
          isLast: try Bool(reading: answer["isLast"] ?? .null)))
    case "why":
      self = .facts(
        RunFacts.Answer(
          around: try RunFacts.Surroundings(reading: answer["facts"] ?? .null), others: try list("others"),
          events: try list("events"), holder: answer["holder"]?.int))
    case "schedules":
      let words = try answer["words"].map { value throws(RecordError) in try [String: String](reading: value) }
      self = .schedules(try list("schedules"), words: words ?? [:])
    case "upcoming": self = .upcoming(try list("slots"))
    case "backfill" where answer["hasMore"] != nil:
      self = .dueSlots(try list("slots"), hasMore: answer["hasMore"]?.bool ?? false)
    case "slots", "pauseSchedule", "resumeSchedule", "resetSchedule", "trigger", "backfill":
      self = .slots(try list("slots"))
    case "steps": self = .steps(try list("steps"), next: answer["next"]?.int)
    case "explain", "explainSchedule":
      self = .explained(id: try text("explained"), try Explanation(reading: answer["sentences"] ?? .null))
    case "recipes": self = .recipes(try list("recipes"))
    case "recipe": self = .recipe(try RecipeRecord(reading: answer["recipe"] ?? .null))
    case "tools": self = .tools(try list("tools"))
    case "plan", "showPlan": self = .plan(try PlanRecord(reading: answer["plan"] ?? .null))
    case "issueLink": self = .link(try text("link"))
    case "tokens", "issueToken", "revokeToken": self = .tokens(try list("tokens"))
    case "workers", "drainWorker", "evictWorker": self = .workers(try list("workers"))
    case "connections": self = .connections(try list("connections"), secrets: try list("secrets"))
    case "status": self = .status(try AgentReport(reading: answer))
    case "yield": self = .yielded
    default:
      self = .accepted(
        run: try text("accepted"), isServing: answer["isServing"]?.bool ?? false,
        known: answer["known"]?.string.flatMap(RunStatus.init(rawValue:)))
    }
  }
}
