package import Basics
package import Recipes
package import RunState
import Scheduler
import Synchronization

/// Events of schedules, for the observer of all of them.
package enum ScheduleNews: Sendable {
  /// The outcome of a slot, or of a row of them.
  case decided(SlotRecord)
  /// A schedule's slots will be refused until a person fixes the cause.
  case refuses(schedule: String, reason: String)
  /// A schedule starts nothing for some time, because the clock was once ahead.
  case isAhead(schedule: String, until: Timestamp)
  /// A schedule follows a recipe that doesn't exist.
  case followsNone(schedule: String, reason: String)
  /// A schedule that watches files ignored the files that were there at its first look.
  case passedOver(schedule: String, count: Int)
  /// A schedule took an event into its batch.
  case gathered(EventGathered)
  /// No schedule took an event that no run waits for.
  case untaken(event: String)
  /// An event can't be read here, and waits for a leader that has its secrets.
  case lacks(event: String, reason: String)
  /// A delivery to a schedule's webhook doesn't get the answer of its entry.
  case unanswered(schedule: String, reason: String)
  /// A schedule can't see its files now.
  case seesNone(schedule: String, reason: String)
  /// The schedules were read from the state again, because the state differs from the scheduler's assumptions.
  case madeAgain(reason: String)
}

/// The news that schedules still have to be told.
///
/// Ends of runs come first, so that a start that waits for one doesn't wait for all events before it as well; events come
/// in turn, so that many of one kind don't hold up another's.
final class Unreported: Sendable {
  private let content = Mutex((ends: TurnQueue<RunNews>(), events: TurnQueue<RunNews>()))

  /// - Parameter queue: The queue of an event; nil for the end of a run.
  func add(_ news: RunNews, to queue: String?) {
    content.withLock { content in
      if let queue { content.events.add(news, to: queue) } else { content.ends.add(news, to: "") }
    }
  }

  func next() -> RunNews? { content.withLock { $0.ends.next() ?? $0.events.next() } }
}

/// Hosts the recipes of an agent and carries out their schedules.
///
/// The scheduler decides, and this actor records and carries out its decisions: it writes the batches to the state in
/// the order of the decisions, and a run begins once the batch that creates it is on disk. One alarm is set for the
/// first slot of all schedules. Everything in between (a run ends, an event comes, a person steers) is passed to the
/// scheduler in the order in which it happens.
///
/// When the state refuses a batch, say because another process consumed an event meanwhile, the scheduler no longer
/// matches the state and is made again from it. A state that can no longer be written ends the agent.
///
/// In a state that several programs share, only the leader fires slots (`ScheduleHost+Sharing`).
package actor ScheduleHost {
  package nonisolated let store: any StateStore
  package nonisolated let host: RunHost
  package nonisolated let time: any TimeSource
  package nonisolated let program: String
  /// Whether every service is made up.
  package nonisolated let isSandbox: Bool
  /// Does a request that came to another program, and gives the answer for it.
  let perform: @Sendable (CarriedRequest, ScheduleHost) async -> Value
  let refusal: @Sendable (Recipe, _ inputs: Value) async -> String?
  package nonisolated let newID: @Sendable (Timestamp) -> String
  var registry: RecipeRegistry
  var scheduler: Scheduler
  var plans: [String: [SchedulePlan]] = [:]
  var clock: AlarmClock<Bool>?
  private var news: Task<Void, Never>?
  /// The news that the schedules haven't been told yet.
  private let unreported = Unreported()
  private var observers: [@Sendable (ScheduleNews) -> Void] = []
  /// Told what a look found that a save asked for.
  var recipesObserver: (@Sendable ([RecipeRegistry.News]) -> Void)?
  /// When each file was read as it is served.
  var servedSince: [String: Timestamp] = [:]
  /// Records the latest decisions; ends when they are on disk.
  private(set) var keeping: Task<Result<Void, StateError>, Never>?
  /// Counts the looks that found recipes or the configuration changed.
  private var changes = 0
  /// Counts how often the scheduler was given entries; each time the state is read.
  private(set) var settings = 0
  /// Counts the schedulers; decisions of an earlier one that are not recorded yet are void.
  private(set) var generation = 0
  /// The events that wait for a secret which is missing here, and when they were offered last.
  var missing: [String: TimeSpan] = [:]
  /// The schedules reported to follow a recipe that doesn't exist, with that recipe.
  private var misplaced: [String: String] = [:]
  /// The schedules reported to have a mark ahead of the clock.
  private var ahead: Set<String> = []
  let watched: WatchedFolder?
  /// Receives deliveries to webhooks.
  package nonisolated let webhooks: WebhookInbox
  /// Receives forms.
  package nonisolated let forms: FormInbox
  /// The files of each schedule that aren't unchanged for long enough, and why some can't be seen.
  var settling: [String: SettlingFiles] = [:]
  var unseen: [String: String] = [:]
  /// The paths of each schedule that were refused because they hold a secret.
  var refused: [String: Set<String>] = [:]
  /// The schedules whose files wait for a place in the queue.
  var crowded: Set<String> = []
  /// The keys of the starts out of turn that are under way, with their callers.
  private var triggering: Set<String> = []
  /// The latest look for files, and the one that hasn't begun.
  var lastLook: Task<Void, Never>?
  var nextLook: Task<Void, Never>?
  var foldersObserver: (@Sendable ([String]) -> Void)?
  /// Whether the recipes are served.
  private(set) var isServing = false
  /// Whether recipes are found by their names though no schedule is fired.
  var namesRecipes = false
  /// The tools that were made, by their files, each with the texts that it was made from.
  var knownTools: [String: (texts: ValueMap, tool: ToolRecord)] = [:]
  /// Whether slots are fired, which of a shared state only the leader does.
  package private(set) var isLeading = false
  /// When the schedules were read again of late.
  private var makings: [TimeSpan] = []
  /// How the schedules are decided on that several programs share; nil where this one decides.
  package nonisolated let sharing: (any ScheduleSharing)?
  /// The version of the shared schedules that the scheduler knows; nil if they have to be read from the state.
  var term: ScheduleTerm?
  /// Follow changes of the leader and of other programs; `stop` cancels them.
  private var watching: [Task<Void, Never>] = []
  /// Whether a check for changes of other programs is under way, and whether another is wanted.
  var isLooking = false
  var wantsLook = false
  /// The unconsumed events that were offered to the schedules.
  var offered: Set<String> = []
  /// The recipes in force as the state has them, by their files.
  private var kept: [String: (texts: StoredValue, language: Int, recipe: Recipe)] = [:]

  package init(
    _ host: RunHost, _ store: any StateStore, time: any TimeSource, program: String, isSandbox: Bool = false,
    serving served: ServedRecipes,
    perform: @escaping @Sendable (CarriedRequest, ScheduleHost) async -> Value
  ) {
    self.perform = perform
    host.inbox.awaitSchedules(true)
    self.isSandbox = isSandbox
    self.store = store
    sharing = store.scheduling
    self.host = host
    self.time = time
    self.program = program
    refusal = served.refusal
    newID = served.newID
    watched = served.watched
    webhooks = WebhookInbox(host, store, time: time, secret: served.secret)
    forms = FormInbox(store, time: time)
    registry = RecipeRegistry(served.folders, in: served.environment, files: served.files)
    scheduler = Scheduler(newID: newID)
  }

  /// Makes a unique id for a run.
  package static let newID: @Sendable (Timestamp) -> String = { instant in
    var random = SystemRandomNumberGenerator()
    return UUID7(at: instant, using: &random).description
  }

  /// Sets the observer of schedules; it must not wait.
  package func observe(_ observer: @escaping @Sendable (ScheduleNews) -> Void) { observers.append(observer) }

  func tell(_ news: ScheduleNews) {
    if case .decided(let slot) = news, let event = slot.cause.event { webhooks.waits.wake(event) }
    for observer in observers { observer(news) }
  }

  // MARK: Recipes

  /// The recipes in force.
  package var recipes: [RecipeRegistry.Item] { registry.items }
  /// The faults of the faulty files.
  package var faults: [Diagnostic] { registry.faults }
  /// A text that changes with everything that is served: the recipes, the configuration, and the schedules as they are decided on.
  package var version: String {
    "\(changes) \(settings) \(generation) \(isServing) \(isLeading) \(webhooks.faults.count)"
  }
  /// Whether the next look should be soon.
  package var looksAgain: Bool { registry.hasMissingFile }
  /// How many schedules there are, and when the first of them is due.
  package var count: Int { get async { isElsewhere ? await store.schedules().count : scheduler.count } }
  package var nextDue: Timestamp? {
    get async {
      isElsewhere ? await upcoming(SlotQuery(limit: 1, isFirst: true)).first?.slot : scheduler.nextDue
    }
  }
  /// When each schedule is due, in words.
  package var words: [String: String] {
    get async {
      guard isElsewhere else { return scheduler.words }
      let known = await schedulesElsewhere().map { ($0.record.id, $0.trigger?.wordsWithZone) }
      return Dictionary(known) { first, _ in first }.compactMapValues(\.self)
    }
  }

  /// The coming slots, earliest first.
  package func upcoming(_ query: SlotQuery) async -> [UpcomingSlot] {
    let now = time.now()
    if isElsewhere { return await upcomingElsewhere(query, at: now) }
    let found = scheduler.upcoming(
      of: query.schedule, from: max(query.from ?? now, now), before: query.before ?? .latest, limit: query.limit,
      isFirst: query.isFirst, recipes: query.recipes)
    return found.map { UpcomingSlot(schedule: $0.schedule, slot: $0.slot) }
  }

  /// How long a slot may be due before its schedule counts as late.
  private static let punctual = TimeSpan.seconds(5)

  /// Since when schedules are late, by their ids: the first slot whose start waits, or that is due and not decided.
  package var late: [String: Timestamp] {
    get async {
      let due = time.now().advanced(by: .zero - ScheduleHost.punctual) ?? .earliest
      let query = SlotQuery(limit: .max, before: due, isFirst: true)
      var late: [String: Timestamp] = [:]
      if isElsewhere {
        for slot in await upcomingElsewhere(query, at: .earliest) { late[slot.schedule] = slot.slot }
      } else {
        let slots = scheduler.upcoming(from: .earliest, before: due, limit: .max, isFirst: true)
        for slot in slots { late[slot.schedule] = slot.slot }
      }
      for record in await store.schedules() {
        guard let first = record.buffered.map(\.slot).min() else { continue }
        late[record.id] = min(first, late[record.id] ?? first)
      }
      return late
    }
  }

  /// Reads the recipes that have changed, and applies the changes.
  package func look() async -> [RecipeRegistry.News] {
    if registry.isNew { await rememberLastGood() }
    let news = registry.look()
    note(news)
    if !news.isEmpty {
      changes += 1
      for item in news { if let file = item.file { plans[file] = nil } }
      await setEntries()
    }
    return news
  }

  /// Changes the configuration, and reads everything again.
  package func use(_ folders: [String], in environment: RecipeEnvironment) async -> [RecipeRegistry.News] {
    changes += 1
    registry.use(folders, in: environment)
    let news = registry.look()
    note(news)
    // The zone, the connections or the secrets may differ now.
    (plans, knownTools) = ([:], [:])
    offered.subtract(missing.keys)
    await setEntries()
    return news
  }

  /// Gives the registry the versions that were in force when the state was last written.
  private func rememberLastGood() async {
    var known: [String: (texts: ValueMap, language: Int)] = [:]
    for schedule in await store.schedules() where known[schedule.file] == nil {
      guard let stored = schedule.texts, let texts = try? await store.restored(stored, as: "the recipe").map else {
        continue
      }
      known[schedule.file] = (texts, schedule.language)
    }
    registry.remember(known)
  }

  /// Passes the current entries to the scheduler.
  private func setEntries() async { while await !passEntries() {} }

  /// Passes the current entries to the scheduler, unless others are while the state is read; false then.
  private func passEntries() async -> Bool {
    // The entries may change while these are prepared.
    while true {
      let unplanned = registry.items.filter { plans[$0.file] == nil }
      if unplanned.isEmpty { break }
      for item in unplanned { plans[item.file] = await plans(of: item) }
    }
    let entries = registry.items.flatMap { plans[$0.file] ?? [] }.map { ScheduleEntry($0) }
    tellMisplaced(entries)
    let before = settings
    // A schedule that has just been removed must not come back with its old state.
    _ = await keeping?.value
    // Before the state is read, so that changes from then on are noticed.
    let term = if let term { term } else { await sharing?.term() }
    if let sharing, isLeading, term?.isLeading != true { return await follow(sharing) }
    let earlier = await earlierPlans(entries)
    let completed = await completedSlots()
    let (records, gathered, outputs) = await recordsToSet(completing: completed)
    if settings != before { return false }
    settings += 1
    self.term = term
    let now = time.now()
    // A file that cannot be read now may be back later; its schedule keeps its past.
    let kept = records.filter { registry.isUnreadable($0.file) }.map(\.id)
    // Slots that were due before this look are decided by the rule before the edit.
    let due = isLeading ? decide { $0.due(at: now) } : []
    let events = decide {
      $0.set(
        entries, keeping: Set(kept), after: earlier, gathered: gathered, outputs: outputs, records: records, at: now)
    }
    guard isLeading else {
      if isServing { await openWebhooks() }
      return true
    }
    await carryOut(due + [Decision(schedule: "", events: completed.map { .slotDecided($0) } + events)])
    planAlarm()
    await tellAhead()
    await lookForFiles()
    await openWebhooks()
    return true
  }

  /// The state's schedules with their gathered events, and the data of schedules that are new to the scheduler.
  ///
  /// These are the inputs of waiting starts, and the outputs of runs whose ends still have to be handled.
  private func recordsToSet(
    completing completed: [SlotRecord]
  ) async -> (
    records: [ScheduleRecord], gathered: [String: Result<EventRecord.Whole, StateError>],
    outputs: [String: Result<Value?, StateError>]
  ) {
    var records = await store.schedules()
    var gathered: [String: Result<EventRecord.Whole, StateError>] = [:]
    var outputs: [String: Result<Value?, StateError>] = [:]
    for index in records.indices {
      // An entry that was edited may read anew what it has gathered.
      for id in records[index].batch?.events ?? [] where gathered[id] == nil {
        guard let event = await store.event(id) else { continue }
        let head = try? await head(of: event).get()
        gathered[id] = await data(of: event).map { EventRecord.Whole(event, $0, head: head ?? EventForm.Head()) }
      }
      if scheduler.knows(records[index].id) { continue }
      for place in records[index].buffered.indices {
        let waiting = records[index].buffered[place]
        let inputs =
          waiting.inputs
          ?? completed.first {
            $0.schedule == records[index].id && $0.slot == waiting.slot && $0.cause == waiting.cause
          }?.inputs
        guard let inputs else { continue }
        // If a secret in the inputs has changed, the inputs are missing, and the start is refused.
        records[index].buffered[place].inputs = try? await store.secrets.restored(inputs, as: "the inputs")
      }
      for end in records[index].endsToFollow where outputs[end.run] == nil {
        outputs[end.run] = await self.outputs(of: try? await store.keptRun(end.run))
      }
    }
    return (records, gathered, outputs)
  }

  /// A run's outputs, or the reason why they can't be read.
  func outputs(of run: RunRecord?) async -> Result<Value?, StateError> {
    guard let stored = run?.outputs else { return .success(nil) }
    do throws(StateError) { return .success(try await store.restored(stored, as: "the outputs")) } catch {
      return .failure(error)
    }
  }

  /// The starts that an earlier version left waiting without inputs, completed by the recipe that was in force.
  ///
  /// That version computed the inputs only when a run started.
  private func completedSlots() async -> [SlotRecord] {
    guard isLeading else { return [] }
    var completed: [SlotRecord] = []
    for record in await store.schedules() where record.language == 1 && !scheduler.knows(record.id) {
      let waiting = record.buffered.filter { $0.inputs == nil && $0.cause.slot == nil }
      guard !waiting.isEmpty, let (recipe, trigger) = await inForce(record) else { continue }
      let starting = StartingInputs(trigger, of: recipe)
      guard starting.readsEvent else { continue }
      for slot in waiting {
        guard let event = await event(of: slot.cause, for: trigger) else { continue }
        let run = newID(time.now())
        let start = StartingRun(id: run, recipe: recipe.name, at: time.now(), event: event)
        guard case .success(let values) = starting.values(for: start) else { continue }
        completed.append(
          SlotRecord(
            schedule: record.id, slot: slot.slot, outcome: .buffered, at: slot.at, cause: slot.cause,
            run: starting.readsRun ? run : nil, inputs: .map(starting.lasting(values))))
      }
    }
    return completed
  }

  /// The value of the event that started a run, as in the first version of the language.
  private func event(of cause: RunCause, for trigger: Trigger) async -> Value? {
    if let id = cause.event, let event = await store.event(id), case .event(_, _, let form) = trigger.kind,
      case .success(let data) = await data(of: event),
      case .success(let value) = form.value(id: id, time: event.receivedAt, name: event.name, data: data)
    {
      return value
    }
    guard cause.kind == .afterRecipe, let id = cause.run else { return nil }
    return (try? await store.keptRun(id)).map { .object(["run": .string(id), "status": .string($0.status.rawValue)]) }
  }

  /// The recipe and the entry of a schedule as the state has them, if they are still valid.
  func inForce(_ record: ScheduleRecord) async -> (Recipe, Trigger)? {
    guard let stored = record.texts else { return nil }
    let recipe: Recipe
    if let known = kept[record.file], known.texts == stored, known.language == record.language {
      recipe = known.recipe
    } else {
      guard let texts = try? await store.restored(stored, as: "the recipe").map,
        let read = registry.recipe(of: record.file, from: texts, in: record.language)
      else { return nil }
      recipe = read
      // Where another leads, they are asked for again and again.
      if isElsewhere { kept[record.file] = (stored, record.language, read) }
    }
    let trigger = recipe.triggers.first { ScheduleEntry.id(of: $0, in: recipe.name).hasSameScalars(as: record.id) }
    return trigger.map { (recipe, $0) }
  }

  private func data(of event: EventRecord) async -> Result<Value, StateError> {
    guard let data = event.data else { return .success(.null) }
    do throws(StateError) { return .success(try await store.restored(data, as: "the event")) } catch {
      return .failure(error)
    }
  }

  /// How long it is until an event is offered again that waits for a secret.
  static let untilOffered = TimeSpan.seconds(60)

  /// Reports each schedule once whose slots are decided until some time to come.
  private func tellAhead() async {
    let now = time.now()
    var found: Set<String> = []
    for record in await store.schedules() {
      guard let until = record.decidedAhead(of: now) else { continue }
      found.insert(record.id)
      if !ahead.contains(record.id) { tell(.isAhead(schedule: record.id, until: until)) }
    }
    ahead = found
  }

  /// Reports each entry once that follows a recipe that doesn't exist.
  private func tellMisplaced(_ entries: [ScheduleEntry]) {
    // The missing recipe may be in a faulty file.
    guard registry.faults.isEmpty else { return }
    let names = registry.items.map(\.name)
    var found: [String: String] = [:]
    for entry in entries {
      guard let name = entry.plan.follows, !names.contains(where: name.hasSameScalars) else { continue }
      found[entry.id] = name
      if misplaced[entry.id] != name {
        tell(.followsNone(schedule: entry.id, reason: Trigger.followsNone(name, of: names)))
      }
    }
    misplaced = found
  }

  /// The plans that an earlier process had in force, for changed or removed schedules; the scheduler knows its own.
  private func earlierPlans(_ entries: [ScheduleEntry]) async -> [String: SchedulePlan] {
    guard isLeading else { return [:] }
    let specs = Dictionary(entries.map { ($0.id, $0.plan.spec) }) { first, _ in first }
    var earlier: [String: SchedulePlan] = [:]
    for record in await store.schedules() where !scheduler.knows(record.id) && specs[record.id] != record.spec {
      guard let stored = record.texts, let (recipe, trigger) = await inForce(record) else { continue }
      earlier[record.id] = SchedulePlan(
        recipe: recipe.name, file: record.file, texts: stored, language: record.language, inputs: .null,
        needs: needs(of: recipe, .null), queue: queue(of: recipe), program: program, trigger: trigger)
    }
    return earlier
  }

  private func plans(of item: RecipeRegistry.Item) async -> [SchedulePlan] {
    guard let recipe = registry.takeRecipe(of: item) else { return [] }
    // Made here, where the recipe is at hand: it isn't kept.
    if namesRecipes || item.isTool { _ = tool(of: item, recipe) }
    guard !recipe.triggers.isEmpty else { return [] }
    await store.secrets.learn(named: (recipe.allSecrets + recipe.webhookSecrets).map(\.name))
    var texts = StoredValue.inline(.map(item.texts))
    do throws(StateError) { texts = try await store.keep(.map(item.texts), inRecords: recipe.triggers.count) } catch {
      if host.keeper.isFailure(error) { host.keeper.fail(error) }
    }
    var plans: [SchedulePlan] = []
    for trigger in recipe.triggers {
      var inputs = Value.map(ValueMap())
      var reason: String?
      switch recipe.inputs(from: trigger.inputs) {
      case .success(let map): inputs = .map(map)
      // The check has reported it already, unless the version in force is older than the check.
      case .failure(let faults): reason = faults.sentence
      }
      if reason == nil { reason = await refusal(recipe, inputs) }
      let plan = SchedulePlan(
        recipe: recipe.name, file: item.file, texts: texts, language: item.language, inputs: inputs,
        starting: StartingInputs(trigger, of: recipe), isSandbox: isSandbox, group: recipe.group,
        zone: recipe.folderZone, needs: needs(of: recipe, inputs), queue: queue(of: recipe), program: program,
        trigger: trigger, refusal: reason)
      if let reason { tell(.refuses(schedule: ScheduleEntry(plan).id, reason: reason)) }
      plans.append(plan)
    }
    return plans
  }

  // MARK: Serving

  /// Fires slots from now on, beginning with missed and leftover ones.
  ///
  /// Call it after the first look at the recipes. In a state that several programs share, it fires slots while it
  /// leads.
  ///
  /// - Parameter mayLead: Whether it may lead where several programs share the state.
  package func serve(mayLead: Bool = true) async {
    isServing = true
    // One pending element is enough: any news since the loop's last pass is worth one more pass.
    let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    let (activity, intake) = (host.activity, host.intake)
    let unreported = unreported
    // The state has the rest.
    let dropUnreported: @Sendable () -> Void = { while unreported.next() != nil { activity?.end() } }
    await host.observe { news in
      switch news {
      case .ended: unreported.add(news, to: nil)
      case .event(let id): unreported.add(news, to: intake.hold(id) ?? "")
      default: return
      }
      activity?.begin()
      if case .terminated = continuation.yield() { dropUnreported() }
    }
    // Cancelled by `stop`.
    news = Task {
      for await _ in stream {
        while !Task.isCancelled, let item = unreported.next() {
          await handle(item)
          if case .event(let id) = item { intake.leave(id) }
          activity?.end()
        }
      }
      dropUnreported()
    }
    // The tasks that it starts end on their own.
    clock = AlarmClock(time, countedBy: activity) { [weak self] isForSlots in
      Task {
        if isForSlots { await self?.fire() } else { await self?.lookForFiles() }
        activity?.end()
      }
    }
    if let sharing {
      await setEntries()
      let leads = await sharing.seekLead(isWilling: mayLead)
      if leads { await lead(sharing) }
      watching = watch(sharing, leads: leads)
    } else {
      await begin()
      let left = await store.events(EventQuery(isUnconsumed: true))
      for event in left { host.intake.take(event) }
      for event in left {
        await offer(event.id)
        host.intake.leave(event.id)
      }
      host.inbox.awaitSchedules(false)
      await host.planForgetting()
      planAlarm()
    }
  }

  /// Fires slots from now on, beginning with the state's schedules.
  func begin() async {
    isLeading = true
    forget()
    await setEntries()
    planAlarm()
  }

  /// Fires no slots until `begin`.
  func end() {
    isLeading = false
    host.inbox.awaitSchedules(true)
    forget()
    clock?.set(true, at: nil)
    clock?.set(false, at: nil)
    foldersObserver?([])
  }

  /// Forgets all that is known of schedules but their entries; what was decided and isn't recorded is void.
  private func forget() {
    generation += 1
    scheduler = Scheduler(newID: newID)
    (term, offered) = (nil, [])
    (settling, unseen, refused, crowded) = ([:], [:], [:], [])
  }

  /// Stops firing slots; decisions already made are recorded.
  package func stop() async {
    isServing = false
    isLeading = false
    clock?.stop()
    news?.cancel()
    for task in watching { task.cancel() }
    _ = await keeping?.value
    // Another leads while this program finishes what is in flight.
    if let sharing, !watching.isEmpty { await sharing.seekLead(isWilling: false) }
  }

  /// When the alarm for the first slot is due.
  package var nextAlarm: Timestamp? { clock?.next }
  /// Fires due slots after the clock was moved.
  package func lookAtClock() { clock?.look() }

  func planAlarm() { clock?.set(true, at: isLeading ? scheduler.nextDue : nil) }

  private func fire() async {
    guard isLeading else { return }
    await carryOut(decide { $0.due(at: time.now()) })
    planAlarm()
  }

  private func handle(_ news: RunNews) async {
    guard isLeading else { return }
    // A look finds the ends and events of all programs, this one included.
    if let sharing { return await look(sharing) }
    switch news {
    case .ended(let run):
      let outputs = scheduler.readsOutputs(of: run.recipe) ? await outputs(of: run) : .success(nil)
      await carryOut(decide { $0.runEnded(run, outputs: outputs, at: time.now()) })
      await lookForCrowded(run)
    case .event(let id): if await !offer(id) { tell(.untaken(event: id)) }
    default: return
    }
    planAlarm()
  }

  /// Looks for files that had no place in the queue of the schedule of a run that ended.
  func lookForCrowded(_ run: RunRecord) async {
    guard let id = run.origin.cause.schedule, crowded.contains(id),
      scheduler.files(of: id)?.waiting ?? 0 <= Scheduler.mostWaitingFiles / 2
    else { return }
    await lookForFiles()
  }

  /// Offers an event that no run has taken to the schedules that listened for it when it came; false if none takes it.
  @discardableResult func offer(_ id: String) async -> Bool {
    guard let event = await store.event(id), event.consumedBy == nil, isLeading else { return true }
    let data = await data(of: event)
    let head = await head(of: event)
    if sharing != nil, scheduler.listens(for: event), let error = data.error ?? head.error, error.missing != nil {
      // It is kept for a leader that has the secret, or until this one has it.
      if missing.updateValue(time.elapsed(), forKey: id) == nil { tell(.lacks(event: id, reason: error.message)) }
      return true
    }
    let known = (try? head.get()) ?? EventForm.Head()
    guard let decision = decide({ $0.eventReceived(event, with: data, head: known, at: time.now()) }) else {
      return false
    }
    await carryOut([decision])
    return true
  }

  /// Reads the schedules from the state, for a single decision in a program that doesn't follow their changes.
  private func readAgain() async {
    forget()
    await setEntries()
  }

  // MARK: Decisions

  /// Calls the scheduler; its texts about values hold no secrets, even when they are shortened.
  func decide<Output>(_ body: (inout Scheduler) -> Output) -> Output { withoutSecrets { body(&scheduler) } }

  /// Makes messages of values, without the secrets in these, however they are shortened.
  func withoutSecrets<Output>(_ body: () -> Output) -> Output {
    let finder = store.secrets.finder
    if finder.isEmpty { return body() }
    return OutsideText.redactedAtOnce(by: { finder.redact($0, isCut: $1) }, body)
  }

  /// Records decisions, after all earlier ones, and carries out their effects; returns when they are recorded, or why
  /// they are void.
  @discardableResult func carryOut(_ decisions: [Decision]) async -> Result<Void, StateError> {
    let decisions = decisions.filter { !$0.events.isEmpty || !$0.effects.isEmpty }
    if decisions.isEmpty { return .success(()) }
    let (before, generation) = (keeping, generation)
    // Ends when the decisions are recorded; it is never cancelled.
    let task = Task { () -> Result<Void, StateError> in
      _ = await before?.value
      guard generation == self.generation else {
        return .failure(StateError(.invalid, "the schedules were read from the state again meanwhile"))
      }
      return await keep(decisions)
    }
    keeping = task
    return await task.value
  }

  private func keep(_ decisions: [Decision]) async -> Result<Void, StateError> {
    if let failure = host.keeper.failure { return .failure(failure) }
    let events = decisions.flatMap(\.events).map { event in
      if case .runCreated(let run) = event { host.keeper.creation(of: run) } else { event }
    }
    do throws(StateError) { if !events.isEmpty { try await record(events) } } catch {
      // Events that may not have been stored are read again with the rest.
      if error.kind == .invalid || sharing != nil && error.kind != .closed { makeAgain(because: error.message) }
      return .failure(error)
    }
    for event in events {
      switch event {
      case .slotDecided(var slot):
        slot.reason = slot.reason.map { store.secrets.finder.redact($0) }
        tell(.decided(slot))
      case .eventGathered(let event): tell(.gathered(event))
      default: break
      }
    }
    // A run that is created while no agent serves is left for the next agent.
    let effects = isServing ? decisions.flatMap(\.effects) : []
    // Ends when the runs have begun or were told to end; nothing that it begins outlives the host's `stop`.
    guard !effects.isEmpty else { return .success(()) }
    host.activity?.begin()
    Task {
      for effect in effects { await carryOut(effect) }
      host.activity?.end()
    }
    return .success(())
  }

  /// Records what was decided, if the scheduler knows all that was before it.
  private func record(_ events: [StateEvent]) async throws(StateError) {
    guard let sharing else { return try await host.keeper.append(events) }
    let generation = generation
    // If no scheduler here follows the schedules, a person's request is recorded with the state's current version.
    let known = if let term { term } else { await sharing.term() }
    guard let known else { throw StateError(.closed, "the state is closed") }
    do throws(StateError) {
      let next = try await sharing.append(events, in: known)
      if generation == self.generation { term = next }
    } catch {
      if host.keeper.isFailure(error) { host.keeper.fail(error) }
      throw error
    }
  }

  private func carryOut(_ effect: Decision.Effect) async {
    switch effect {
    // A run that cannot begin is paused with the reason, which the host reports.
    case .start(let run): try? await host.continueRun(run)
    // The host has reported a state that fails.
    case .send(let event): await host.offer(event)
    case .cancel(let run, let reason): _ = try? await host.cancel(run, reason: reason)
    case .terminate(let run, let reason): _ = try? await host.cancel(run, reason: reason, isHard: true)
    }
  }

  func makeAgain(because reason: String) {
    tell(.madeAgain(reason: reason))
    // If the state refuses again and again, the retries have pauses.
    let now = time.elapsed()
    makings = makings.filter { now - $0 < ScheduleHost.remembered } + [now]
    let pause = makings.count > ScheduleHost.mostMakings ? ScheduleHost.pause : .zero
    generation += 1
    scheduler = Scheduler(newID: newID)
    (term, offered) = (nil, [])
    // Recorded after the decisions made so far; ends when it is recorded.
    host.activity?.begin()
    Task {
      if pause > .zero { try? await time.sleep(for: pause) }
      await setEntries()
      if let sharing { await look(sharing) }
      host.activity?.end()
    }
  }

  /// How many times in how long the schedules are read again at once, and how long after that they are waited for.
  private static let (mostMakings, remembered) = (5, TimeSpan.seconds(20))
  private static let pause = TimeSpan.seconds(2)
}

// MARK: - Requests of people

extension ScheduleHost {
  /// The schedule with its entry in the recipe in force.
  package func schedule(_ id: String) async throws(RequestRefusedError) -> KnownSchedule {
    let record = try await store.knownSchedule(id)
    let trigger = if !isElsewhere, let plan = scheduler.plan(of: id) { plan.trigger } else { await inForce(record)?.1 }
    return KnownSchedule(record, trigger)
  }

  /// The first fault of a recipe's file as it is now.
  package func fault(ofFile file: String) -> String? { registry.fault(of: file) }

  private func served(_ id: String) async throws(RequestRefusedError) {
    let file = try await store.knownSchedule(id).file
    if isLeading { return }
    if isServing {
      throw RequestRefusedError(
        .notServing,
        "no machine decides on the schedules now, and only one that does starts their runs; see errand workers, then try again"
      )
    }
    throw RequestRefusedError(
      .notServing,
      "no agent is serving, and only an agent starts runs of schedules; start errand serve, or: errand run \(file)")
  }

  private func decided(_ decisions: [Decision]?) async throws(RequestRefusedError) -> [SlotRecord] {
    guard let decisions else {
      throw RequestRefusedError(.notFound, "the recipe of the schedule cannot be read now; errand serve says why")
    }
    let outcome = await carryOut(decisions)
    planAlarm()
    if let failure = await host.failure { throw RequestRefusedError(.state, failure.message) }
    switch outcome {
    case .success: break
    case .failure(let error) where error.kind == .unavailable:
      throw RequestRefusedError(
        .state, "\(error.message); it isn't known whether it was done: see errand schedule list before you ask again")
    case .failure: throw RequestRefusedError(.conflict, "the schedule changed meanwhile; try again")
    }
    return decisions.flatMap(\.events).compactMap { if case .slotDecided(let slot) = $0 { slot } else { nil } }
  }

  /// Pauses a schedule: it starts nothing until it is resumed.
  package func pause(_ id: String, note: String?) async throws(RequestRefusedError) -> [SlotRecord] {
    _ = try await store.knownSchedule(id)
    if isLeading, let decisions = decide({ $0.pause(id, note: note, at: time.now()) }) {
      return try await decided(decisions)
    }
    if !isLeading { term = nil }
    let pause = PauseRecord(at: time.now(), origin: .person, note: note)
    let event = StateEvent.schedulePaused(SchedulePaused(schedule: id, pause: pause))
    return try await decided([Decision(schedule: id, events: [event])])
  }

  /// Resumes a schedule; the slots of the pause are recorded.
  package func resume(_ id: String) async throws(RequestRefusedError) -> [SlotRecord] {
    _ = try await store.knownSchedule(id)
    // Without a serving agent the recipes have not been read yet.
    if !isServing { _ = await look() }
    if isElsewhere { await readAgain() }
    return try await decided(decide { $0.resume(id, at: time.now()) })
  }

  /// Decides again on slots that were decided while the clock was ahead, except slots that have a run.
  package func reset(_ id: String) async throws(RequestRefusedError) -> [SlotRecord] {
    let record = try await store.knownSchedule(id)
    let now = time.now()
    guard let until = record.decidedAhead(of: now) else {
      throw RequestRefusedError(
        .ended,
        "the slots of '\(id)' are decided until \(record.processedUntil), which isn't ahead of the clock, so there is nothing to reset"
      )
    }
    let started = try await startedSlots(of: id, from: now).union(record.started).union(record.buffered.map(\.slot))
    let slots = started.filter { $0 > now }.sorted()
    if isLeading, let decisions = decide({ $0.reset(id, to: now, started: slots, at: now) }) {
      ahead.remove(id)
      return try await decided(decisions)
    }
    if !isLeading { term = nil }
    return try await decided([
      Decision(
        schedule: id,
        events: [
          .scheduleReset(ScheduleReset(at: now, schedule: id, processedUntil: now, started: slots)),
          .slotDecided(.reset(id, from: until, to: now, started: slots.count, at: now)),
        ])
    ])
  }

  /// The slots of a schedule that started a run.
  private func startedSlots(
    of id: String, from: Timestamp, before: Timestamp? = nil
  ) async throws(RequestRefusedError) -> Set<Timestamp> {
    do throws(StateError) {
      let slots = try await store.slots(SlotQuery(limit: .max, schedule: id, from: from, before: before))
      return Set(slots.filter { $0.outcome == .started }.map(\.slot))
    } catch {
      throw RequestRefusedError(error)
    }
  }

  /// Starts a run of a schedule out of turn.
  ///
  /// - Parameters:
  ///   - given: Inputs that replace the entry's; if the entry computes inputs from an event, these must be given.
  ///   - key: The caller's key; a start that has it already, or waits with it, is the answer.
  package func trigger(
    _ id: String, overlap: Trigger.Overlap?, given: [(name: String, input: GivenInput)] = [], key: RunKey? = nil,
    as asked: RunCause = RunCause(.trigger)
  ) async throws(RequestRefusedError) -> [SlotRecord] {
    try await served(id)
    if let key {
      // Until the first is on disk, a second one at the same time can't be answered as it will be.
      guard triggering.insert(key.key + "\n" + key.caller).inserted else {
        throw RequestRefusedError(.conflict, "a request with the same key is under way; try again")
      }
    }
    defer { if let key { triggering.remove(key.key + "\n" + key.caller) } }
    if let key {
      if let known = try await start(of: id, withKey: key) { return [known] }
      do throws(StateError) { try store.secrets.check(key.key, RunKey.words) } catch {
        throw RequestRefusedError(error)
      }
    }
    if let plan = scheduler.plan(of: id), let starting = plan.starting {
      let faults = starting.faults(of: given)
      guard faults.isEmpty else { throw RequestRefusedError(faults, in: given) }
      let missing = starting.namesReadingEvent.filter { name in !given.contains { $0.name.hasSameScalars(as: name) } }
      guard missing.isEmpty else {
        let source =
          switch plan.trigger.kind {
          case .file: "a file"
          case .webhook, .form: "a delivery"
          case .timed, .event, .afterRecipe: "an event"
          }
        let why = "computed from \(source), and a start out of turn has none"
        let options = missing.map { "-i \($0)=…" }.joined(separator: " ")
        let members = missing.map { "\"\($0)\": …" }.joined(separator: ", ")
        var refusal = RequestRefusedError(missing.map { ($0, Diagnostic("input '\($0)' is \(why)")) })
        refusal.message = "the inputs of '\(id)' are \(why); give them: \(options)"
        refusal.overHTTP = "the inputs of '\(id)' are \(why); send \"inputs\": {\(members)}"
        throw refusal
      }
    }
    return try await decided(
      decide { $0.trigger(id, overlap: overlap, given: given, key: key, as: asked, at: time.now()) })
  }

  /// The result of an earlier start out of turn with the same key; nil if there was none.
  private func start(of id: String, withKey key: RunKey) async throws(RequestRefusedError) -> SlotRecord? {
    guard let schedule = await store.schedule(id) else { return nil }
    let keyed: KeyedRun?
    var record: RunRecord?
    do throws(StateError) {
      keyed = try await store.keyed(key, of: schedule.recipe, at: time.now())
      if let keyed, keyed.settled == nil { record = try await store.keptRun(keyed.run) }
    } catch {
      throw RequestRefusedError(error)
    }
    guard let keyed else { return nil }
    let displayed = store.secrets.finder.redact(key.key)
    if let settled = keyed.settled {
      guard settled.key?.request == key.request else { throw RequestRefusedError(.usedKey, keyed.isTaken(displayed)) }
      return settled
    }
    let run = keyed.run
    let waiting = await store.schedule(id)?.buffered.first { $0.run?.hasSameScalars(as: run) == true }
    guard let known = record?.erasedAt == nil ? record?.origin.key ?? waiting?.key : nil else {
      throw RequestRefusedError(
        .ended,
        "the key '\(displayed)' belongs to the run \(run), which never began or whose data was deleted; use another key"
      )
    }
    guard known.request == key.request else {
      throw RequestRefusedError(.usedKey, keyed.isTaken(displayed))
    }
    if let record {
      return SlotRecord(
        schedule: id, slot: record.origin.cause.slot ?? record.createdAt, outcome: .started, at: record.createdAt,
        cause: record.origin.cause, run: run)
    }
    return waiting.map {
      SlotRecord(schedule: id, slot: $0.slot, outcome: .buffered, at: $0.at, cause: $0.cause, run: run)
    }
  }

  /// The most slots that one backfill starts.
  private static let mostBackfilled = 1000
  /// The most slots that one backfill looks at; the schedules wait while it does.
  private static let mostSearched = 10_000

  /// The past slots in a range that have no run, oldest first.
  ///
  /// Besides, the first slot that is left out, if there may be more than one backfill starts.
  package func slotsToBackfill(
    _ id: String, from: Timestamp, to: Timestamp
  ) async throws(RequestRefusedError) -> (slots: [Timestamp], rest: Timestamp?) {
    try await served(id)
    guard
      var found = scheduler.slotsToBackfill(id, from: from, to: to, started: [], limit: ScheduleHost.mostSearched)
    else {
      throw RequestRefusedError(.notFound, "the recipe of '\(id)' cannot be read now; errand serve says why")
    }
    guard let first = found.slots.first, let last = found.slots.last else { return ([], nil) }
    var rest: Timestamp?
    if found.hasMore { rest = found.slots.removeLast() }
    let started = try await startedSlots(of: id, from: first, before: last.advanced(by: TimeSpan(nanoseconds: 1)))
    let slots = found.slots.filter { !started.contains($0) }
    if let rest, slots.isEmpty {
      throw RequestRefusedError(
        .request,
        "the first \(found.slots.count) slots of '\(id)' from \(from) have a run each; begin later, with 'from' \(rest)"
      )
    }
    if slots.count > ScheduleHost.mostBackfilled { rest = slots[ScheduleHost.mostBackfilled] }
    return (Array(slots.prefix(ScheduleHost.mostBackfilled)), rest)
  }

  /// Starts runs for past slots, oldest first.
  package func backfill(
    _ id: String, _ slots: [Timestamp], overlap: Trigger.Overlap?, as asked: RunCause = RunCause(.backfill)
  ) async throws(RequestRefusedError) -> [SlotRecord] {
    try await served(id)
    return try await decided(decide { $0.backfill(id, slots, overlap: overlap, as: asked, at: time.now()) })
  }
}

extension Recipe {
  /// The group whose limit the recipe's runs keep to, as they record it.
  package var group: RunGroup? {
    concurrency.map { RunGroup(name: $0.name, limit: $0.limit, onLimit: $0.onLimit.rawValue) }
  }
}

extension KeyedRun {
  /// What to say of another request with the key.
  package func isTaken(_ key: String) -> String {
    let holder = settled.map { "to a start of '\($0.schedule)' at \(at)" } ?? "to the run \(run)"
    return
      "the key '\(key)' belongs \(holder), which another request \(settled == nil ? "started" : "asked for"); use another key"
  }
}
