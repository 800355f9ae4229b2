/// The part of the state that a batch of events reads and changes.
///
/// A store of several machines holds the state as rows: the log of each run, and an item for everything else that has a
/// name. It reads the rows that a batch of events needs (`StateNeeds`), folds the batch into them with the one fold
/// that there is (`State.apply`), and writes what has changed (`StateChanges`). So what a batch means, and which batch
/// is refused, is the same as in a folder, which holds everything.
package import Basics

/// The kinds of items, in the order that batches lock them, so that no two batches wait for each other.
package enum ItemKind: String, Sendable, CaseIterable {
  case schedule, event, value, connection, token, session, dismissal, delivery, link
  /// The run of a caller's key; read last, because a slot's needs the recipe of its schedule.
  case key
}

/// The name of an item.
package struct ItemName: Sendable, Hashable, Comparable {
  package var kind: ItemKind
  /// The public name of a schedule, an event, a value, a connection or a token; an id or a digest for the other kinds.
  package var name: String

  package init(_ kind: ItemKind, _ name: String) {
    self.kind = kind
    self.name = name
  }

  package static func < (left: ItemName, right: ItemName) -> Bool {
    left.kind == right.kind ? left.name.precedesByScalars(right.name) : left.rank < right.rank
  }

  private var rank: Int { ItemKind.allCases.firstIndex(of: kind) ?? 0 }
}

/// An item as it is kept.
package struct StoredItem: Sendable, Equatable {
  package var name: ItemName
  /// The record's JSON.
  package var text: String
  /// Another way to find it: the recipe that a schedule follows, the name of an event.
  package var reference: String?
  /// When an event came, or until when a delivery, a link or a dismissal is known.
  package var at: Timestamp?
  /// The run that has a key, or the run or schedule that consumed an event.
  package var holder: String?

  package init(_ name: ItemName, text: String, reference: String? = nil, at: Timestamp? = nil, holder: String? = nil) {
    self.name = name
    self.text = text
    self.reference = reference
    self.at = at
    self.holder = holder
  }
}

/// The records to read before a batch of events can be folded.
package struct StateNeeds: Sendable, Equatable {
  /// The open runs whose records the batch reads or changes.
  package var runs: Set<String> = []
  package var items: Set<ItemName> = []
  /// The recipes whose followers the end of a run tells: every schedule that follows one of them.
  package var followed: Set<String> = []
  /// The schedules whose latest slot may become a row with the next one.
  package var ledgers: Set<String> = []
  /// The events that runs begin to wait for, or that come for any run that waits.
  package var eventNames: Set<String> = []

  package init() {}

  package var isEmpty: Bool {
    runs.isEmpty && items.isEmpty && followed.isEmpty && ledgers.isEmpty && eventNames.isEmpty
  }

  package func subtracting(_ other: StateNeeds) -> StateNeeds {
    var rest = self
    rest.runs.subtract(other.runs)
    rest.items.subtract(other.items)
    rest.followed.subtract(other.followed)
    rest.ledgers.subtract(other.ledgers)
    rest.eventNames.subtract(other.eventNames)
    return rest
  }

  package mutating func formUnion(_ other: StateNeeds) {
    runs.formUnion(other.runs)
    items.formUnion(other.items)
    followed.formUnion(other.followed)
    ledgers.formUnion(other.ledgers)
    eventNames.formUnion(other.eventNames)
  }
}

/// The changes by a batch of events.
package struct StateChanges: Sendable {
  /// The runs that it created.
  package var created: Set<String> = []
  /// The runs that it changed, each with its events in the order of the batch; the runs that ended come last, in the
  /// order of their ends.
  package var runs: [(record: RunRecord, events: [StateEvent])] = []
  package var items: [StoredItem] = []
  package var removed: [ItemName] = []
  /// The slots that were settled.
  package var slots: [SlotRecord] = []
  /// The rows of slots that became longer.
  package var grown: [SlotRecord] = []
  /// The names of the events that came for any run that waits.
  package var came: Set<String> = []
  /// The runs that received events of their own.
  package var addressed: Set<String> = []
  /// Whether a scheduler that was made before no longer knows the schedules.
  package var isSteering = false
  /// Whether it concerns something that the leader of the schedules has to check.
  package var concernsSchedules = false
}

/// The part of the state that was read for a batch of events, and the fold of the batch into it.
package struct StateSlice: Sendable {
  private var state = State()
  /// The records that were asked for, even if they don't exist.
  private var known = StateNeeds()
  private var rows = 0

  package init() {}

  /// Adds records that were read.
  ///
  /// - Parameters:
  ///   - needs: The records that were asked for.
  ///   - open: The runs of keys among the items that are open.
  package mutating func add(
    _ needs: StateNeeds, runs: [RunRecord] = [], items: [StoredItem] = [], slots: [SlotRecord] = [],
    open: Set<String> = []
  ) throws(StateError) {
    known.formUnion(needs)
    for run in runs { state.runs[run.id] = run }
    for item in items {
      known.items.insert(item.name)
      do throws(RecordError) { try state.add(item) } catch {
        throw StateError(.damaged, "the \(item.name.kind) '\(item.name.name)' can't be read: \(error.message)")
      }
    }
    state.slots += slots
    rows = state.slots.count
    state.openElsewhere.formUnion(open)
    state.index()
  }

  /// Reads an item only to find out whether that can be done.
  package static func check(_ item: StoredItem) throws(RecordError) {
    var state = State()
    try state.add(item)
  }

  /// The records still to be read before the events can be folded.
  package func missing(for events: [StateEvent]) throws(StateError) -> StateNeeds {
    do throws(RecordError) { return try state.needs(of: events).subtracting(known) } catch {
      throw StateError(.invalid, error.message)
    }
  }

  /// Folds events, all or none; what they need has to be there.
  package mutating func fold(_ events: [StateEvent]) throws(StateError) -> StateChanges {
    let before = state
    do throws(StateError) {
      for event in events { try state.fold(event) }
      return try changes(since: before, by: events)
    } catch {
      state = before
      throw error
    }
  }

  /// The holder of a caller's key at an instant; the key must have been read.
  package func run(ofKey key: RunKey, of recipe: String, at instant: Timestamp) throws(StateError) -> KeyedRun? {
    do throws(RecordError) { return try state.run(ofKey: key, of: recipe, at: instant) } catch {
      throw StateError(.unavailable, error.message)
    }
  }

  /// A run as the last fold left it, open or ended.
  private func run(_ id: String) -> RunRecord? { state.runs[id] ?? state.endedRun(id) }

  private mutating func changes(since before: State, by events: [StateEvent]) throws(StateError) -> StateChanges {
    var changes = StateChanges()
    var places: [String: Int] = [:]
    for event in events {
      if case .runCreated(let event) = event { changes.created.insert(event.run) }
      if case .eventsForgotten(let event) = event {
        // Forgetting needs no reading of them; the events that were read are among the names.
        changes.removed += Set(event.ids.map { ItemName(.event, $0) }).subtracting(known.items).sorted()
      }
      if case .eventReceived(let event) = event, event.delivery == nil {
        if let run = event.run { changes.addressed.insert(run) } else { changes.came.insert(event.name) }
      }
      guard let id = event.changedRun, let record = run(id) else { continue }
      if let place = places[id] {
        changes.runs[place].events.append(event)
      } else {
        places[id] = changes.runs.count
        changes.runs.append((record, [event]))
      }
    }
    // As they come in the history.
    let order = Dictionary(state.ended.enumerated().map { ($1.id, $0) }) { $1 }
    changes.runs.sort { (order[$0.record.id] ?? -1) < (order[$1.record.id] ?? -1) }
    for name in known.items.sorted() {
      switch try state.change(of: name, since: before) {
      case .none: break
      case .some(let item?): changes.items.append(item)
      case .some(nil): changes.removed.append(name)
      }
    }
    changes.slots = Array(state.slots.dropFirst(rows))
    changes.grown = zip(before.slots, state.slots).filter { $0 != $1 }.map(\.1)
    rows = state.slots.count
    let isPausedByEnd = before.schedules.contains { id, schedule in
      schedule.pause == nil && state.schedules[id]?.pause != nil
    }
    changes.isSteering = isPausedByEnd || events.contains(where: \.steersSchedules)
    changes.concernsSchedules =
      changes.isSteering || changes.items.contains { $0.name.kind == .schedule }
      || events.contains { if case .eventReceived = $0 { true } else { false } }
    return changes
  }
}

extension StateEvent {
  /// Whether it changes a schedule otherwise than the end of a run does.
  fileprivate var steersSchedules: Bool {
    switch self {
    case .scheduleSet, .scheduleRemoved, .schedulePaused, .scheduleReset, .slotDecided, .eventGathered, .filesSeen: true
    case .runCreated(let event): event.cause.schedule != nil
    default: false
    }
  }
}

extension StateEvent {
  /// The run whose record the event changes, if it changes one.
  package var changedRun: String? {
    switch self {
    case .runCreated(let event): event.run
    case .runClaimed(let event): event.run
    case .runStatusChanged(let event): event.run
    case .cancelRequested(let event): event.run
    case .stepBegan(let event): event.run
    case .attemptBegan(let event): event.run
    case .attemptEnded(let event): event.run
    case .stepEnded(let event): event.run
    case .runEnded(let event): event.run
    case .runNoted(let event): event.run
    case .runPlaced(let event): event.run
    case .stepWaits(let event): event.run
    case .decisionGiven(let event), .answerGiven(let event): event.run
    case .linkMade(let event): event.run
    case .linksEnded(let event): event.run
    case .valueSet(let event): event.change?.run
    case .valueRemoved(let event): event.change?.run
    case .eventReceived, .eventConsumed, .eventsForgotten, .eventGathered, .failureDismissed, .filesSeen, .scheduleSet,
      .scheduleRemoved, .schedulePaused, .scheduleReset, .slotDecided, .connectionUsed, .tokenIssued, .tokenRevoked,
      .sessionBegan, .sessionEnded, .accessUsed:
      nil
    }
  }
}

extension State {
  /// The needs of events, as far as the records read so far determine them.
  fileprivate func needs(of events: [StateEvent]) throws(RecordError) -> StateNeeds {
    var needs = StateNeeds()
    func need(_ kind: ItemKind, _ name: String) { needs.items.insert(ItemName(kind, name)) }
    var origins: [String: RunCreated] = [:]
    var recipes: [String: String] = [:]
    for event in events {
      if let run = event.changedRun { needs.runs.insert(run) }
      switch event {
      case .runCreated(let event):
        origins[event.run] = event
        if let schedule = event.cause.schedule { need(.schedule, schedule) }
        if let key = event.key { need(.key, try key.digest(of: event.recipe)) }
      case .runEnded(let event):
        guard let origin = origins[event.run] ?? runs[event.run]?.origin else { break }
        needs.followed.insert(origin.recipe)
        if let schedule = origin.cause.schedule { need(.schedule, schedule) }
        if let key = origin.key { need(.key, try key.digest(of: origin.recipe)) }
      case .valueSet(let event): need(.value, event.name)
      case .valueRemoved(let event): need(.value, event.name)
      case .stepWaits(let event):
        if let name = event.wait.event { needs.eventNames.insert(name) }
        for link in event.wait.question?.links ?? [] { need(.link, link.sha256) }
      case .linkMade(let event): need(.link, event.link.sha256)
      case .linksEnded(let event): for link in event.links { need(.link, link) }
      case .eventReceived(let event):
        need(.event, event.id)
        guard let delivery = event.delivery else {
          needs.eventNames.insert(event.name)
          break
        }
        need(.schedule, delivery.schedule)
        for key in delivery.keys { need(.delivery, key) }
      case .eventConsumed(let event): need(.event, event.id)
      case .eventGathered(let event): need(.schedule, event.schedule)
      case .failureDismissed(let event): need(.dismissal, event.group)
      case .filesSeen(let event): need(.schedule, event.schedule)
      case .scheduleSet(let event):
        need(.schedule, event.schedule)
        recipes[event.schedule] = event.recipe
        if let followed = event.follows { needs.followed.insert(followed) }
      case .scheduleRemoved(let event): need(.schedule, event.schedule)
      case .schedulePaused(let event): need(.schedule, event.schedule)
      case .scheduleReset(let event): need(.schedule, event.schedule)
      case .slotDecided(let event):
        need(.schedule, event.schedule)
        needs.ledgers.insert(event.schedule)
        if let key = event.key, let recipe = recipes[event.schedule] ?? schedules[event.schedule]?.recipe {
          need(.key, try key.digest(of: recipe))
        }
      case .connectionUsed(let event): need(.connection, event.connection)
      case .tokenIssued(let event): need(.token, event.name)
      case .tokenRevoked(let event): need(.token, event.name)
      case .sessionBegan(let event): need(.session, event.sha256)
      case .sessionEnded(let event): for session in event.sessions { need(.session, session) }
      case .accessUsed(let event):
        if let name = event.token { need(.token, name) }
        if let session = event.session { need(.session, session) }
      case .runClaimed, .runStatusChanged, .cancelRequested, .stepBegan, .attemptBegan, .attemptEnded, .stepEnded,
        .runNoted, .runPlaced, .decisionGiven, .answerGiven, .eventsForgotten:
        break
      }
    }
    return needs
  }

  /// A state of nothing but open runs and items.
  package init(runs: [RunRecord], items: [StoredItem]) throws(StateError) {
    self.init()
    for run in runs { self.runs[run.id] = run }
    var (known, keyed): ([String: Timestamp], [String: KeyedRun]) = ([:], [:])
    var linked: [String: LinkedQuestion] = [:]
    for item in items {
      do throws(RecordError) {
        switch item.name.kind {
        // Both kept at once, because there may be many.
        case .delivery: known[item.name.name] = try Timestamp(text: item.text)
        case .key: keyed[item.name.name] = try KeyedRun(text: item.text)
        case .link: linked[item.name.name] = try LinkedQuestion(text: item.text)
        default: try add(item)
        }
      } catch {
        throw StateError(.damaged, "the \(item.name.kind) '\(item.name.name)' can't be read: \(error.message)")
      }
    }
    deliveries = DeliveryKeys(known)
    links = KnownLinks(linked)
    keys = RunKeys(keyed) { self.runs[$0] != nil }
    index()
  }

  /// Everything that isn't a run's own.
  package var items: [StoredItem] {
    get throws(StateError) {
      let names: [(ItemKind, [String])] = [
        (.schedule, Array(schedules.keys)), (.event, Array(events.keys)), (.value, Array(values.keys)),
        (.connection, Array(connections.keys)), (.token, Array(tokens.keys)),
        (.session, Array(sessions.keys)), (.dismissal, Array(dismissals.keys)),
        (.delivery, Array(deliveries.known.keys)), (.link, Array(links.known.keys)), (.key, Array(keys.runs.keys)),
      ]
      let nothing = State()
      var items: [StoredItem] = []
      for (kind, names) in names {
        for name in names {
          if case .some(let item?) = try change(of: ItemName(kind, name), since: nothing) { items.append(item) }
        }
      }
      return items.sorted { $0.name < $1.name }
    }
  }

  fileprivate mutating func add(_ item: StoredItem) throws(RecordError) {
    let name = item.name.name
    switch item.name.kind {
    case .schedule: schedules[name] = try ScheduleRecord(text: item.text)
    case .event: events[name] = try EventRecord(text: item.text)
    case .value: values[name] = try StoredValue(text: item.text)
    case .connection: connections[name] = try ConnectionUse(text: item.text)
    case .token: tokens[name] = try TokenIssued(text: item.text)
    case .session: sessions[name] = try SessionBegan(text: item.text)
    case .dismissal: dismissals[name] = try FailureDismissed(text: item.text)
    case .delivery:
      var known = deliveries.known
      known[name] = try Timestamp(text: item.text)
      deliveries = DeliveryKeys(known)
    case .link:
      var known = links.known
      known[name] = try LinkedQuestion(text: item.text)
      links = KnownLinks(known)
    case .key:
      var known = keys.runs
      known[name] = try KeyedRun(text: item.text)
      keys = RunKeys(known) { [runs, openElsewhere] in runs[$0] != nil || openElsewhere.contains($0) }
    }
  }

  /// The change of an item since an earlier state: nil if it is the same, and an inner nil if it is gone.
  fileprivate func change(of name: ItemName, since before: State) throws(StateError) -> StoredItem?? {
    func changed<Kept: Recordable & Equatable>(
      _ old: Kept?, _ new: Kept?, _ finish: (inout StoredItem, Kept) -> Void = { _, _ in }
    ) throws(StateError) -> StoredItem?? {
      if old == new { return .none }
      guard let new else { return .some(nil) }
      var item = StoredItem(name, text: try new.storedText)
      finish(&item, new)
      return .some(item)
    }
    let key = name.name
    switch name.kind {
    case .schedule: return try changed(before.schedules[key], schedules[key]) { $0.reference = $1.follows }
    case .event:
      return try changed(before.events[key], events[key]) {
        ($0.reference, $0.at, $0.holder) = ($1.name, $1.receivedAt, $1.consumedBy)
      }
    case .value: return try changed(before.values[key], values[key])
    case .connection: return try changed(before.connections[key], connections[key])
    case .token: return try changed(before.tokens[key], tokens[key])
    case .session: return try changed(before.sessions[key], sessions[key]) { $0.at = $1.forgottenAt }
    case .dismissal: return try changed(before.dismissals[key], dismissals[key]) { $0.at = $1.forgottenAt }
    case .delivery: return try changed(before.deliveries.known[key], deliveries.known[key]) { $0.at = $1 }
    case .link: return try changed(before.links.known[key], links.known[key]) { $0.at = $1.forgottenAt }
    case .key:
      return try changed(before.keys.runs[key], keys.runs[key]) { item, keyed in
        item.at = keyed.at
        if !keyed.run.isEmpty { item.holder = keyed.run }
      }
    }
  }
}

extension Recordable {
  /// The record's JSON.
  package var storedText: String {
    get throws(StateError) {
      String(decoding: try recordedBytes(of: self), as: UTF8.self)
    }
  }

  /// Reads what `storedText` gave.
  package init(text: String) throws(RecordError) {
    let value: Value
    do throws(JSONError) { value = try JSON.parse(text, limits: StateFormat.limits) } catch {
      throw RecordError(error.message)
    }
    try self.init(reading: value)
  }
}
