/// The records of waiting runs, so that nothing else has to be held for them.
///
/// A step that waits is `waiting`, with a `WaitRecord`; its run is `waiting` with the instant at which the first of its
/// steps continues (`wakeAt`). Nothing in memory belongs to it: the current agent walks the run again at that instant,
/// when an event comes that it waits for, or when a person decides or answers.
///
/// The record of an `ask` holds the fields as the recipe declares them, by name, with computed defaults. So a form can be
/// made and an answer checked without the recipe.
///
/// Events are kept from the moment they are received until a step or a schedule consumes one, which happens in the same
/// batch as its effects. No id is accepted twice. Events that were not consumed for seven days are forgotten, and so
/// are the ids of consumed ones. Deliveries to webhooks are events too; the keys that distinguish them are kept for as
/// long as their entries say (`DeliveryKeys`).
package import Basics

/// The condition that a step waits for.
package struct WaitRecord: Record, Equatable {
  package enum Kind: String, Recordable, CaseIterable {
    /// An instant.
    case until
    /// An event by its name.
    case event
    /// A person's decision.
    case approval
    /// A person's answer.
    case ask
    /// The next round of a repeated action.
    case poll
    /// The limits of a connection.
    case limit

    /// Whether a person is asked.
    package var isQuestion: Bool { self == .approval || self == .ask }
    /// The question that a person is asked.
    package var wanted: String { self == .ask ? "an answer" : "a decision" }
  }

  package var kind: Kind
  /// When the wait ends on its own: the instant waited for, or the time limit of the others; never if absent.
  package var wakeAt: Timestamp?
  /// The name of the event.
  package var event: String?
  /// The question to the person.
  package var prompt: String?
  /// The people who may decide; anyone if empty.
  package var by: [String]
  /// The address of the question's page, if the recipe asks for it.
  package var url: String?
  /// The declarations of the values that the person is asked for, by name.
  @Boxed package var fields: Value? = nil
  /// How many rounds there were so far.
  package var rounds: Int?
  /// The connection's limit that it waits for, in words.
  package var limit: String?
  /// The instant from which it waits for a connection's limit.
  package var since: Timestamp?
  /// The rest of the question to the person; nil for one that a version before 0.7.0 asked.
  @Boxed package var question: QuestionRecord? = nil

  package init(
    _ kind: Kind, wakeAt: Timestamp? = nil, event: String? = nil, prompt: String? = nil, by: [String] = [],
    url: String? = nil, rounds: Int? = nil, limit: String? = nil, since: Timestamp? = nil,
    question: QuestionRecord? = nil
  ) {
    self.question = question
    self.kind = kind
    self.wakeAt = wakeAt
    self.event = event
    self.prompt = prompt
    self.by = by
    self.url = url
    self.rounds = rounds
    self.limit = limit
    self.since = since
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    kind = try member("kind", record?.kind)
    wakeAt = try member("wakeAt", record?.wakeAt)
    event = try member("event", record?.event)
    prompt = try member("prompt", record?.prompt)
    by = try member("by", record?.by, default: [])
    url = try member("url", record?.url)
    fields = try member("fields", record?.fields)
    rounds = try member("rounds", record?.rounds)
    limit = try member("limit", record?.limit)
    since = try member("since", record?.since)
    question = try member("question", record?.question)
  }
}

/// The parts of a question beside its text, and the links to it.
package struct QuestionRecord: Record, Equatable {
  /// The consequences of a yes and of a no, in the recipe's words.
  package var yes: String?
  package var no: String?
  /// The next steps up to the next question, by their titles, each with its action.
  package var next: [String] = []
  /// Whether the run continues after a no, and after the time has run out.
  package var goesOnAfterNo = false
  package var goesOnAfterTimeout = false
  /// The recipe's summary.
  package var summary: String?
  /// How long a link is valid at most, if the recipe says so.
  package var linkFor: TimeSpan?
  /// The valid links.
  package var links: [LinkRecord] = []
  /// How often links were ended.
  package var round = 0

  package init() {}

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    yes = try member("yes", record?.yes)
    no = try member("no", record?.no)
    next = try member("next", record?.next, default: [])
    goesOnAfterNo = try member("goesOnAfterNo", record?.goesOnAfterNo, default: false)
    goesOnAfterTimeout = try member("goesOnAfterTimeout", record?.goesOnAfterTimeout, default: false)
    summary = try member("summary", record?.summary)
    linkFor = try member("linkFor", record?.linkFor)
    links = try member("links", record?.links, default: [])
    round = try member("round", record?.round, default: 0)
  }

  /// When a link that is made at an instant ends, at the latest.
  ///
  /// - Parameter limit: When the question itself does.
  package func end(ofLinkMadeAt now: Timestamp, until limit: Timestamp?) -> Timestamp {
    let span = min(linkFor ?? LinkKey.longest, LinkKey.longest)
    let end = now.advanced(by: span) ?? .latest
    return limit.map { min($0, end) } ?? end
  }

  /// The record without its texts and names.
  var erased: QuestionRecord {
    var question = QuestionRecord()
    question.round = round
    return question
  }
}

/// How a person's decision or answer came.
package enum DecisionWay: String, Recordable, CaseIterable {
  /// By a link that carries the right.
  case link
  /// On a page, after logging in.
  case login
  /// By a program with a token.
  case token
  /// By a command of an account of the machine.
  case command
  case chat
}

/// A person's decision about a step that asked, or their answer.
package struct DecisionRecord: Record, Equatable {
  /// True for an answer.
  package var isApproved: Bool
  /// The answer to an `ask`, by the names of its fields; nil for a decision.
  @Boxed package var fields: Value? = nil
  /// Who decided, as they call themselves.
  package var by: String
  package var at: Timestamp
  package var comment: String?
  /// How it came; nil if a version before 0.7.0 recorded it.
  package var via: DecisionWay?
  /// The SHA-256 of the link that it came by.
  package var link: String?
  /// The digest of the request's key, to recognise a repeated request.
  package var key: RunKey?

  package init(
    isApproved: Bool, by: String, at: Timestamp, comment: String? = nil, via: DecisionWay? = nil, link: String? = nil
  ) {
    self.isApproved = isApproved
    self.by = by
    self.at = at
    self.comment = comment
    self.via = via
    self.link = link
  }

  /// The act of the person, as in `ann approved it`.
  package var verb: String { fields != nil ? "answered" : isApproved ? "approved" : "rejected" }
  /// The act, by whom and how: `approved by ann by link`.
  package var words: String { "\(verb) by \(by)\(way)" }
  /// How it came, if it needs to be said after the name.
  package var way: String {
    switch via {
    case .link: by.hasSuffix(DecisionRecord.byLink) ? "" : " by link"
    case .chat: " in a chat"
    case .login, .token, .command, nil: ""
    }
  }
  /// The end of a name that a person gave on the page of a link for anyone.
  package static let byLink = " (by link)"

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    isApproved = try member("isApproved", record?.isApproved)
    fields = try member("fields", record?.fields)
    by = try member("by", record?.by)
    at = try member("at", record?.at)
    comment = try member("comment", record?.comment)
    via = try member("via", record?.via)
    link = try member("link", record?.link)
    key = try member("key", record?.key)
  }
}

/// A person's resolution of an uncertain step.
package struct ResolutionRecord: Record, Equatable {
  /// `done`, `retry` or `fail`.
  package var choice: String
  /// The name of the person, if it is known.
  package var by: String?
  package var at: Timestamp
  /// Why the step was uncertain.
  package var doubt: String?
  /// The digest of the request's key, to recognise a repeated request.
  package var key: RunKey?

  package init(choice: String, by: String?, at: Timestamp, doubt: String?) {
    self.choice = choice
    self.by = by
    self.at = at
    self.doubt = doubt
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    choice = try member("choice", record?.choice)
    by = try member("by", record?.by)
    at = try member("at", record?.at)
    doubt = try member("doubt", record?.doubt)
    key = try member("key", record?.key)
  }
}

/// An event that was received, and its consumer.
package struct EventRecord: Record, Equatable {
  /// The id, which is accepted only once.
  package var id: String
  package var name: String
  package var data: StoredValue?
  /// The only run that may consume it, if it was sent to one.
  package var run: String?
  package var receivedAt: Timestamp
  /// The run or the schedule that consumed it.
  package var consumedBy: String?
  /// The details of a delivery to a webhook, which only that webhook's schedule may consume.
  package var delivery: DeliveryRecord?

  package init(
    id: String, name: String, data: StoredValue? = nil, run: String? = nil, receivedAt: Timestamp,
    consumedBy: String? = nil, delivery: DeliveryRecord? = nil
  ) {
    self.delivery = delivery
    self.id = id
    self.name = name
    self.data = data
    self.run = run
    self.receivedAt = receivedAt
    self.consumedBy = consumedBy
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    id = try member("id", record?.id)
    name = try member("name", record?.name)
    data = try member("data", record?.data)
    run = try member("run", record?.run)
    receivedAt = try member("receivedAt", record?.receivedAt)
    consumedBy = try member("consumedBy", record?.consumedBy)
    delivery = try member("delivery", record?.delivery)
  }
}

/// A delivery to a webhook.
package struct DeliveryRecord: Record, Equatable {
  package var schedule: String
  /// Digests that identify the delivery; another delivery with one of them is the same.
  package var keys: [String]
  /// Until when the keys are known.
  package var until: Timestamp
  /// The fields of its head that expressions may read, by the names that the entry gives them.
  package var headers: StoredValue?
  /// The query of its address, with the first text of each name.
  package var query: StoredValue?
  /// Why its body can't be read, in a sentence.
  package var fault: String?
  /// The id of the delivery that it repeats; it has no keys of its own then, and starts nothing.
  package var repeats: String?

  package init(
    schedule: String, keys: [String], until: Timestamp, headers: StoredValue? = nil, query: StoredValue? = nil,
    fault: String? = nil, repeats: String? = nil
  ) {
    self.query = query
    self.repeats = repeats
    self.schedule = schedule
    self.keys = keys
    self.until = until
    self.headers = headers
    self.fault = fault
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    schedule = try member("schedule", record?.schedule)
    keys = try member("keys", record?.keys, default: [])
    until = try member("until", record?.until)
    headers = try member("headers", record?.headers)
    query = try member("query", record?.query)
    fault = try member("fault", record?.fault)
    repeats = try member("repeats", record?.repeats)
  }
}

// MARK: - Events

/// A step starts to wait, or waits for something else now.
package struct StepWaits: Record, Equatable {
  package var run: String
  package var at: Timestamp
  package var step: StepPath
  /// The instant that the step's expressions call `now`.
  package var now: Timestamp
  package var wait: WaitRecord

  package init(run: String, at: Timestamp, step: StepPath, now: Timestamp, wait: WaitRecord) {
    self.run = run
    self.at = at
    self.step = step
    self.now = now
    self.wait = wait
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    at = try member("at", record?.at)
    step = try member("step", record?.step)
    now = try member("now", record?.now)
    wait = try member("wait", record?.wait)
  }
}

/// A person decided about a step that asks (`decisionGiven`), or answered it (`answerGiven`).
package struct DecisionGiven: Record, Equatable {
  package var run: String
  package var step: StepPath
  package var decision: DecisionRecord

  package init(run: String, step: StepPath, decision: DecisionRecord) {
    self.run = run
    self.step = step
    self.decision = decision
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    step = try member("step", record?.step)
    decision = try member("decision", record?.decision)
  }
}

/// An event was consumed by a run, whose step ends in the same batch, or by a schedule, whose run is created in it.
package struct EventConsumed: Record, Equatable {
  package var at: Timestamp
  package var id: String
  package var by: String

  package init(at: Timestamp, id: String, by: String) {
    self.at = at
    self.id = id
    self.by = by
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    at = try member("at", record?.at)
    id = try member("id", record?.id)
    by = try member("by", record?.by)
  }
}

/// Old events were forgotten.
package struct EventsForgotten: Record, Equatable {
  package var at: Timestamp
  package var ids: [String]

  package init(at: Timestamp, ids: [String]) {
    self.at = at
    self.ids = ids
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    at = try member("at", record?.at)
    ids = try member("ids", record?.ids, default: [])
  }
}
