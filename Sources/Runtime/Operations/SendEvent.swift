package import ActionKit
package import Agent
package import Basics
package import RunState

package struct SendEvent: Operation {
  package static let name = "signal"
  package static let summary = "Sends an event to a given run, or to the first run that waits for it."
  package static let scopes = Scopes.token(.start)
  package static let route: Route? = .post("/events", status: 202)
  package static let command: String? = "runs signal"
  package static let page: String? = "/runs/{run}"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns.union([.ended, .full])
  package static let repeats = Repeats.eventID

  /// The most bytes of an event's id.
  package static let mostIDBytes = 256
  /// With a source, a longer id is replaced by its digest.
  package static let lengths = ["id": 1...mostIDBytes]

  @Field("The name of the event.", .minLength(1)) package var name: String
  @Field("The event's id, 1 to 256 bytes. An id counts once. Generated if left out.", .minLength(1))
  package var id: String?
  @Field("The event's data.") package var data: Value?
  @Field("The run, named as in other requests. If left out, the first run that waits for the event.")
  package var run: String?
  @Field(
    "Where the event comes from, as a URI. With another source, the same id is another event.", .minLength(1),
    .pattern(.withoutBlanks))
  package var source: String?

  package init() {}

  package var target: String? { run }

  package struct Answer: Record, UnlimitedAnswer {
    /// The event's id.
    package var received: String
    /// False if the id came before.
    package var isNew: Bool

    package init(_ event: String, isNew: Bool) {
      received = event
      self.isNew = isNew
    }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      received = try member("received", record?.received)
      isNew = try member("isNew", record?.isNew)
    }
  }

  package func run(
    on receiver: EventReceiver, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer {
    // Requests of this process aren't checked against the limits of the fields.
    guard !name.isEmpty else { throw RequestRefusedError(.request, "an event needs a name") }
    let id = try fullID(in: agent, for: caller)
    // A delivery whose id is taken would count as one that came before.
    if let path = agent.webhooks?.path(ofID: id) ?? agent.forms?.path(ofID: id) {
      throw RequestRefusedError(
        .request, "ids that begin with '\(path):' are those of deliveries to the webhook '\(path)'; choose another id")
    }
    var run: String?
    if let found = receiver.run {
      // An event that comes again is answered as before, though its run may be over.
      let isKnown = await agent.store.event(id)?.run == found.id
      run = isKnown ? found.id : try await agent.openRun(found)
    }
    let outcome = try await agent.kept { () async throws(StateError) -> Intake.Outcome in
      var stored: StoredValue?
      if let data, !data.isNull { stored = try await agent.store.keep(data) }
      let record = EventRecord(id: id, name: name, data: stored, run: run, receivedAt: agent.time.now())
      guard let schedules = agent.schedules else { return try await agent.host.receive(record) ? .new : .known }
      return try await schedules.takeIn(record)
    }
    switch outcome {
    case .new, .known: return Answer(id, isNew: outcome == .new)
    case .full, .unserved:
      throw RequestRefusedError(
        .full, "\(Intake.most) events '\(name)' or starts of what they start are waiting; send it again later")
    }
  }

  /// The id with the source, by which the event counts once.
  private func fullID(in agent: AgentParts, for caller: AgentCaller) throws(RequestRefusedError) -> String {
    var (id, source) = (self.id, self.source)
    if !caller.recipes.isEmpty {
      // Ids of its own, so that it can't take those of others.
      let own = "\(caller.account)/"
      if let given = source { source = own + given } else { id = id.map { own + $0 } }
    }
    var full = id ?? agent.newID()
    if let source, !full.isEmpty {
      // The blank tells where the id begins.
      guard TextPattern.withoutBlanks.matches(source) else {
        throw RequestRefusedError(.request, "the 'source' of an event is a URI, which has no blanks")
      }
      full = "\(source) \(full)"
      // As with deliveries, half of the digest tells more events apart than there will ever be.
      if full.utf8.count > SendEvent.mostIDBytes {
        full = String((SHA256.digest(of: Array(full.utf8)) ?? "").prefix(32))
      }
    }
    guard !full.isEmpty, full.utf8.count <= SendEvent.mostIDBytes else {
      throw RequestRefusedError(.request, "an event's id has 1 to 256 bytes")
    }
    return full
  }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> ReceivedAnswer {
    filled(ReceivedAnswer()) {
      $0.event = answer.received
      $0.isNew = answer.isNew
    }
  }

  /// An event that came before is answered with 200.
  package static func head(_ answer: Answer) -> ViewHead { ViewHead(status: answer.isNew ? nil : 200) }
}

/// The run that an event is for; nil for the first one that waits for it.
package struct EventReceiver: OperationTarget {
  package var run: RunReference?

  package static func find(
    _ name: String?, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> EventReceiver {
    if let name { return EventReceiver(run: try await agent.find(name, isOpen: true, for: caller)) }
    guard caller.recipes.isEmpty else {
      throw RequestRefusedError(
        .forbidden, "the token is limited to some recipes: name the run that the event is for in 'run'")
    }
    return EventReceiver(run: nil)
  }
}

extension TextPattern {
  /// A URI, of which nothing is checked but that it has no blanks.
  package static let withoutBlanks = TextPattern(
    "a URI without blanks", regex: #"^\S+$"#, accepted: ["/shop", "https://example.org/orders"],
    refused: ["a shop", "/shop ", ""]
  ) { text in !text.isEmpty && text.unicodeScalars.allSatisfy { !$0.properties.isWhitespace } }
}
