/// The answers of an agent over HTTP, declared field by field, so that the answers, their schemas and the pages agree.
///
/// They are made from the records of the state and hold less: a record may change with every version, while an answer
/// may only gain fields.
///
/// The data of a run (inputs, outputs, messages, questions) is included only for callers with the scope `data`.
package import ActionKit
package import Agent
package import Basics
import Recipes
package import RunState

/// The answer to a request that started a run; the run continues without the caller.
package struct AcceptedAnswer: FieldSet {
  @Field("The id of the run.") package var run: String
  @Field("Whether a run was started; false if this run already had the key.") package var isNew: Bool
  @Field("The status of the run that already had the key.") package var status: String?
  @Field("The run that this one retries.") package var retries: String?

  package init() {}
}

/// A request changed a run.
package struct ChangedAnswer: FieldSet {
  @Field("The id of the run.") package var run: String
  @Field("The path of the step.") package var step: String?

  package init() {}
}

/// An event is kept.
package struct ReceivedAnswer: FieldSet {
  @Field("The event's id.") package var event: String
  @Field("Whether it is new; false if its id came before.") package var isNew: Bool

  package init() {}
}

/// The cause of a run.
package struct CauseAnswer: FieldSet {
  @Field("manual, slot, trigger, backfill, event, afterRecipe, file, retry or failure.") package var kind: String
  @Field("The schedule that started the run.") package var schedule: String?
  @Field("The slot that was due.") package var slot: Timestamp?
  @Field("The id of the event, which its sender chose; with the scope data.") package var event: String?
  @Field("The path of the file.") package var path: String?
  @Field("The run that this one follows, retries or reports.") package var run: String?
  @Field("Who asked for the run: the name of the token or the person; absent for the agent's own account.")
  package var by: String?
  @Field("Whether a token asked for the run, whose name is 'by'.") package var isToken: Bool?
  @Field("The assistant that asked for the run, by the name that it gives itself.") package var assistant: String?

  package init() {}

  init(_ cause: RunCause, withData: Bool) {
    kind = cause.kind.rawValue
    schedule = cause.schedule
    slot = cause.slot
    event = withData ? cause.event : nil
    path = cause.path
    run = cause.run
    by = cause.by
    isToken = cause.isToken ? true : nil
    assistant = cause.assistant
  }
}

/// An error of a run.
package struct ErrorAnswer: FieldSet {
  @Field("The kind, such as network, timeout or validation.") package var kind: String
  @Field("The problem and its fix; with the scope data.") package var message: String?
  @Field("The step that failed.") package var step: String?
  @Field("Whether the step had its effect: none, done or unknown.") package var effect: String
  @Field("The line of the recipe.") package var line: Int?

  package init() {}

  init(_ error: RunError, withData: Bool) {
    kind = error.kind.rawValue
    message = withData ? error.message : nil
    step = error.step
    effect = error.effect.rawValue
    line = error.line
  }
}

/// A person's decision.
package struct DecisionAnswer: FieldSet {
  @Field("Whether the person approved.") package var approved: Bool
  @Field("Who decided.") package var by: String
  @Field("When.") package var at: Timestamp
  @Field("How it came: link, login, token, command or chat.") package var via: String?
  @Field("The comment; with the scope data.") package var comment: String?

  package init() {}

  init(_ decision: DecisionRecord, withData: Bool) {
    approved = decision.isApproved
    by = decision.by
    at = decision.at
    via = decision.via?.rawValue
    comment = withData ? decision.comment : nil
  }
}

/// One step of a run.
package struct StepAnswer: FieldSet {
  @Field("The step's path, such as book or put[3]/write.") package var path: String
  @Field("The name that the recipe gives the step; in lists of a run's steps.") package var name: String?
  @Field("The status.") package var status: String
  @Field("When it began.") package var startedAt: Timestamp
  @Field("When it ended.") package var endedAt: Timestamp?
  @Field("How many attempts it had.") package var attempts: Int
  @Field("The kind of the wait: until, event, approval, ask, poll or limit.") package var waitsFor: String?
  @Field("When the wait ends even if nothing happens.") package var wakeAt: Timestamp?
  @Field("The event that the step waits for.") package var event: String?
  @Field("The question to the person; with the scope data.") package var prompt: String?
  @Field("The JSON Schema of the answer, if the question asks for values; with the scope data.")
  package var fields: Value?
  @Field("The people who may decide; anyone if empty.") package var by: [String] = []
  @Field("The address of the decision's page, if the recipe asks for it.") package var url: String?
  @Field("The person's decision, if the step asked for one.") package var decision: DecisionAnswer?
  @Field("The error of the step, or of its last attempt.") package var error: ErrorAnswer?
  @Field("The output, if it isn't large; with the scope data.") package var output: Value?

  package init() {}

  package init(_ record: StepRecord, withData: Bool) {
    path = record.path
    status = record.status.rawValue
    startedAt = record.startedAt
    endedAt = record.endedAt
    attempts = record.attempts
    if record.status.isEnded == false, let wait = record.wait {
      waitsFor = wait.kind.rawValue
      wakeAt = wait.wakeAt
      event = wait.event
      prompt = withData ? wait.prompt : nil
      fields = withData ? wait.fields.flatMap(Recipe.Input.schema) : nil
      by = wait.by
      url = wait.url
    }
    decision = record.decision.map { DecisionAnswer($0, withData: withData) }
    error = (record.error ?? record.lastAttempt?.error).map { ErrorAnswer($0, withData: withData) }
    if withData, case .inline(let value)? = record.output { output = value.asPlainJSON }
  }
}

/// One run.
package struct RunAnswer: FieldSet {
  @Field("The run's id.") package var id: String
  @Field("The recipe's name.") package var recipe: String
  @Field("The status.") package var status: String
  @Field("Why the run waits, is paused or failed, in a sentence; with the scope data.") package var reason: String?
  @Field("When it was accepted.") package var createdAt: Timestamp
  @Field("When it ended.") package var endedAt: Timestamp?
  @Field("When a waiting run continues even if nothing happens.") package var wakeAt: Timestamp?
  @Field("The cause of the run.") package var cause: CauseAnswer?
  @Field("Whether the run uses made-up services.") package var isSandbox: Bool?
  @Field("The error of a failed run.") package var error: ErrorAnswer?
  @Field("The inputs, with secrets masked; with the scope data.") package var inputs: Value?
  @Field("In lists: the inputs as short texts, with secrets masked; with the scope data.")
  package var inputsInShort: Value?
  @Field("The outputs, if they aren't large; with the scope data.") package var outputs: Value?
  @Field("How many steps have begun.") package var stepCount: Int?
  @Field("The steps that wait, are being retried or need a person; at most 100.") package var openSteps: [StepAnswer] =
    []

  package init() {}

  /// A run as it is shown alone.
  package init(_ record: RunRecord, withData: Bool) {
    self.init(listed: record, withData: withData)
    error = record.error.map { ErrorAnswer($0, withData: withData) }
    isSandbox = record.origin.sandbox
    stepCount = record.steps.count
    inputsInShort = nil
    guard withData else { return }
    inputs = record.origin.inputs.asPlainJSON
    if case .inline(let value)? = record.outputs { outputs = value.asPlainJSON }
  }

  /// An open run as lists show it.
  package init(listed record: RunRecord, withData: Bool) {
    id = record.id
    recipe = record.recipe
    status = record.status.rawValue
    reason = withData ? record.reason : nil
    createdAt = record.createdAt
    endedAt = record.endedAt
    wakeAt = record.wakeAt
    cause = CauseAnswer(record.origin.cause, withData: withData)
    let listed = record.listed
    openSteps = listed.stepsInOrder.filter { $0.status != .running }.map { StepAnswer($0, withData: withData) }
    inputsInShort = withData ? listed.origin.inputs : nil
  }

  /// A finished run as lists show it.
  package init(_ summary: RunSummary, withData: Bool) {
    id = summary.id
    recipe = summary.recipe
    status = summary.status.rawValue
    reason = withData ? summary.reason : nil
    createdAt = summary.createdAt
    endedAt = summary.endedAt
    cause = summary.cause.map { CauseAnswer($0, withData: withData) }
    inputsInShort = withData ? summary.inputs : nil
  }
}

/// A page of runs.
package struct RunListAnswer: FieldSet {
  @Field("The open runs, latest first, then the finished ones, latest first.") package var items: [RunAnswer]
  @Field("The cursor of the next page, if there is one.") package var next: String?

  package init() {}

  package init(_ list: RunList, withData: Bool) {
    items =
      list.openWithReasons.reversed().map { RunAnswer(listed: $0, withData: withData) }
      + list.finished.map { RunAnswer($0, withData: withData) }
    next = list.next
  }
}

/// One question of a run to a person.
package struct ApprovalAnswer: FieldSet {
  @Field("The run's id.") package var run: String
  @Field("The recipe's name.") package var recipe: String
  @Field("The path of the step that asks.") package var step: String
  @Field("When it asked.") package var askedAt: Timestamp
  @Field("When the question times out.") package var until: Timestamp?
  @Field("The question; with the scope data.") package var prompt: String?
  @Field("The JSON Schema of the answer, if it asks for values; with the scope data.") package var fields: Value?
  @Field("The people who may decide; anyone if empty.") package var by: [String] = []
  @Field("The address of the decision's page, if the recipe asks for it.") package var url: String?

  package init() {}

  init(_ step: StepRecord, of run: RunRecord, withData: Bool) {
    self.run = run.id
    recipe = run.recipe
    self.step = step.path
    askedAt = step.startedAt
    until = step.wait?.wakeAt
    prompt = withData ? step.wait?.prompt : nil
    fields = withData ? step.wait?.fields.flatMap(Recipe.Input.schema) : nil
    by = step.wait?.by ?? []
    url = step.wait?.url
  }
}

/// A page of open questions to people.
package struct ApprovalListAnswer: FieldSet {
  @Field("The questions, the oldest run's first.") package var items: [ApprovalAnswer]
  @Field("The cursor of the next page, if there is one.") package var next: String?

  package init() {}

  package init(_ runs: [RunRecord], next: String?, withData: Bool) {
    items = runs.flatMap { run in
      run.stepsInOrder.filter(\.asksPerson).map { ApprovalAnswer($0, of: run, withData: withData) }
    }
    self.next = next
  }
}

/// The findings in the text of a recipe.
package struct FindingListAnswer: FieldSet {
  @Field("The findings.") package var items: [FindingAnswer]

  package init() {}

  package init(_ findings: [FindingRecord]) { items = findings.map { FindingAnswer($0) } }
}

/// The actions that recipes can use.
package struct ActionListAnswer: FieldSet {
  @Field("The actions: id, summary, effect, and the JSON Schemas of input and output.") package var items: [Value]

  package init() {}
}

/// A page of a run's steps.
package struct StepListAnswer: FieldSet {
  @Field("The steps, in the order of their start.") package var items: [StepAnswer]
  @Field("Where to continue, if there are more.") package var next: Int?
  @Field("With 'outlined': the steps in the order of the recipe.") package var outline: [OutlinedStepAnswer] = []

  package init() {}
}

/// A step in the order of the recipe, or a heading of steps.
package struct OutlinedStepAnswer: FieldSet {
  @Field("The path of the step; of a heading, the path that those of its steps begin with.") package var path: String
  @Field("The id, or # and the number of a step without one; of a heading, the name of a branch or a case.")
  package var title: String
  @Field("The name that the recipe gives the step.") package var name: String?
  @Field("How many steps it is inside.") package var depth: Int
  @Field("Whether it is a heading.") package var isHeading: Bool?
  @Field("The status, if the step has begun.") package var status: String?

  package init() {}

  init(_ step: OutlinedStep) {
    path = step.path
    title = step.title
    name = step.name
    depth = step.depth
    isHeading = step.isHeading ? true : nil
    status = step.status?.rawValue
  }
}

/// Why a run is in its state, or why a schedule ran or didn't.
package struct ExplanationAnswer: FieldSet {
  @Field("The id of the run, if it is about one.") package var run: String?
  @Field("The id of the schedule, if it is about one.") package var schedule: String?
  @Field("All sentences as one text.") package var text: String
  @Field("The sentences, the most important one first.") package var sentences: [SentenceAnswer]

  package init() {}

  package init(_ explanation: Explanation, ofRun run: String? = nil, ofSchedule schedule: String? = nil) {
    self.run = run
    self.schedule = schedule
    text = explanation.text
    sentences = explanation.sentences.map { SentenceAnswer($0) }
  }
}

/// One sentence of an explanation.
package struct SentenceAnswer: FieldSet {
  @Field("The topic, such as status, wait or error.") package var topic: String
  @Field("The sentence.") package var text: String
  @Field("Commands to run next.") package var commands: [String] = []
  @Field("The step that the sentence is about.") package var step: String?
  @Field("Another run that the sentence is about.") package var run: String?
  @Field("The instant that the sentence is about.") package var at: Timestamp?

  package init() {}

  package init(_ sentence: Explanation.Sentence) {
    topic = sentence.topic.rawValue
    text = sentence.text
    commands = sentence.commands
    step = sentence.step
    run = sentence.run
    at = sentence.at
  }
}

/// A recipe that is served.
package struct RecipeAnswer: FieldSet {
  @Field("The recipe's name.") package var name: String
  @Field("The recipe's file.") package var file: String
  @Field("The purpose of the recipe.") package var summary: String?
  @Field("The JSON Schema of the inputs.") package var inputs: Value?
  @Field("The ids of the recipe's schedules.") package var schedules: [String] = []
  @Field("The effects of the actions that the recipe can call, by name.") package var actions: [String: String] = [:]
  @Field("In a list: the latest results of the last 60 days, at most ten, the latest first.")
  package var latest: [ResultAnswer] = []
  @Field("In a list: the next slot of its schedules.") package var next: Timestamp?
  @Field("In a list: how many of its schedules are paused.") package var pausedSchedules: Int?
  @Field("The text of the file.") package var text: String?
  @Field("The findings of the check, errors and warnings.") package var findings: [FindingAnswer] = []

  package init() {}

  package init(_ record: RecipeRecord) {
    name = record.name
    file = record.file
    summary = record.summary
    inputs = record.inputs
    schedules = record.schedules
    actions = record.actions
    text = record.text
    findings = record.findings.map { FindingAnswer($0) }
  }
}

/// A finding at a place in a recipe's file.
package struct FindingAnswer: FieldSet {
  @Field("error, warning or hint.") package var severity: String
  @Field("The problem and its fix.") package var message: String
  @Field("The file; absent if the finding has no single place.") package var file: String?
  @Field("The line, from 1.") package var line: Int?
  @Field("The column, from 1.") package var column: Int?
  @Field("The line where the place ends.") package var endLine: Int?
  @Field("The column where the place ends.") package var endColumn: Int?

  package init() {}

  package init(_ record: FindingRecord) {
    severity = record.severity
    message = record.message
    file = record.file
    line = record.line
    column = record.column
    endLine = record.endLine
    endColumn = record.endColumn
  }
}

/// The recipes that are served.
package struct RecipeListAnswer: FieldSet {
  @Field("The recipes, in the order of their names.") package var items: [RecipeAnswer]

  package init() {}
}

/// A step that a plan has.
package struct PlannedStepAnswer: FieldSet {
  @Field("The step's path.") package var path: String
  @Field("The action.") package var action: String
  @Field("The connection.") package var connection: String
  @Field("How many changes the step would make, if known.") package var changes: Int?

  package init() {}

  init(_ step: Value) {
    path = step["path"]?.string ?? ""
    action = step["action"]?.string ?? ""
    connection = step["connection"]?.string ?? ""
    changes = step["changes"]?.list?.count
  }
}

/// The plan of a run.
package struct PlanAnswer: FieldSet {
  @Field("The plan's digest, which starts a run with this plan.") package var digest: String
  @Field("The recipe's name.") package var recipe: String
  @Field("When the plan was made.") package var madeAt: Timestamp
  @Field("Whether a run would fail; such a plan starts no run.") package var wouldFail: Bool
  @Field("How many things would be added, changed, removed, and so on.") package var tally: [String: Int] = [:]
  @Field("The steps that read something while the plan was made.") package var reads: [PlannedStepAnswer] = []
  @Field("The steps that would write something.") package var writes: [PlannedStepAnswer] = []
  @Field("The whole plan, as `errand plan --json` prints it; with the scope data.") package var document: Value?

  package init() {}

  package init(_ plan: PlanRecord, withData: Bool) {
    let document = plan.document
    digest = plan.digest
    recipe = plan.recipe
    madeAt = plan.madeAt
    wouldFail = plan.wouldFail
    tally = PlanAnswer.counts(in: document["tally"])
    reads = (document["reads"]?.list ?? []).map { PlannedStepAnswer($0) }
    writes = (document["writes"]?.list ?? []).map { PlannedStepAnswer($0) }
    self.document = withData ? document : nil
  }

  // A function of its own: inside the initializer, the optimizer of Swift 6.3 crashes on it.
  @inline(never)
  private static func counts(in tally: Value?) -> [String: Int] {
    var counts: [String: Int] = [:]
    for member in tally?.map?.members ?? [] {
      guard let name = member.name, let count = member.value.int else { continue }
      counts[name] = count
    }
    return counts
  }
}

/// A connection of errand.yaml.
package struct ConnectionAnswer: FieldSet {
  @Field("The name.") package var name: String
  @Field("The plugin.") package var plugin: String
  @Field("The address of the service, if errand.yaml has it; with the scope data.") package var address: String?
  @Field("How many calls may be in flight at a time.") package var maxParallel: Int?
  @Field("How many requests may be sent within `per`.") package var requests: Int?
  @Field("The length of time for `requests`, in seconds.") package var per: Double?
  @Field("The instant when the service accepts requests again.") package var heldUntil: Timestamp?
  @Field("The recipes that use the connection.") package var recipes: [String] = []

  package init() {}

  package init(_ record: ConnectionRecord, withData: Bool) {
    name = record.name
    plugin = record.plugin
    address = withData ? record.address : nil
    maxParallel = record.maxParallel
    requests = record.requests
    per = record.per?.inSeconds
    heldUntil = record.heldUntil
    recipes = record.recipes
  }
}

/// A secret that is needed; nothing is said of its value.
package struct SecretAnswer: FieldSet {
  @Field("The name.") package var name: String
  @Field("found, missing, unavailable, or notAsked if a command gives it.") package var status: String
  @Field("The source of the secret; with the scope data.") package var source: String?
  @Field("Why the source can't be read; with the scope data.") package var fault: String?
  @Field("The connections that need the secret.") package var connections: [String] = []
  @Field("The recipes that need the secret.") package var recipes: [String] = []

  package init() {}

  package init(_ record: SecretRecord, withData: Bool) {
    name = record.name
    status = record.status.rawValue
    source = withData ? record.source : nil
    fault = withData ? record.fault : nil
    connections = record.connections
    recipes = record.recipes
  }
}

/// The connections and the secrets that are needed.
package struct ConnectionListAnswer: FieldSet {
  @Field("The connections of errand.yaml.") package var connections: [ConnectionAnswer]
  @Field("The secrets that recipes and connections need, in the order of their names.")
  package var secrets: [SecretAnswer]
  @Field("The names of these and of all other secrets that are known without running a program.")
  package var secretNames: [String] = []

  package init() {}
}

/// One slot of the ledger.
package struct SlotAnswer: FieldSet {
  @Field("The schedule's id.") package var schedule: String
  @Field("When the slot was due, or the first slot of several.") package var slot: Timestamp
  @Field("When the last slot was due, if there are several.") package var until: Timestamp?
  @Field("How many slots the entry covers.") package var count: Int
  @Field("The outcome, such as started or skippedOverlap.") package var outcome: String
  @Field("When the outcome was decided.") package var at: Timestamp
  @Field("The cause of the slot.") package var cause: CauseAnswer
  @Field("The run that the slot started, or the run that blocked it.") package var run: String?
  @Field("The reason, in a sentence; with the scope data.") package var reason: String?

  package init() {}

  package init(_ record: SlotRecord, withData: Bool) {
    schedule = record.schedule
    slot = record.slot
    until = record.until
    count = record.count
    outcome = record.outcome.rawValue
    at = record.at
    cause = CauseAnswer(record.cause, withData: withData)
    run = record.run
    reason = withData ? record.reason : nil
  }
}

/// Slots of the ledger, latest first, or the slots that a backfill would start.
package struct SlotListAnswer: FieldSet {
  @Field("The slots.") package var items: [SlotAnswer]
  @Field("The past slots without a run, when a backfill only lists them.")
  package var due: [Timestamp] = []
  @Field("Whether there are more such slots than are listed.") package var hasMore = false
  @Field("The cursor of the next page of slots, if there is one.") package var next: String?

  package init() {}
}

/// A slot that is to come.
package struct UpcomingAnswer: FieldSet {
  @Field("The schedule's id.") package var schedule: String
  @Field("The slot.") package var slot: Timestamp

  package init() {}
}

/// Slots that are to come, earliest first.
package struct UpcomingListAnswer: FieldSet {
  @Field("The slots.") package var items: [UpcomingAnswer]

  package init() {}
}

/// One schedule.
package struct ScheduleAnswer: FieldSet {
  @Field("The recipe's name, and the entry's id after a slash if it has one.") package var id: String
  @Field("The recipe's name.") package var recipe: String
  @Field("The recipe's file.") package var file: String
  @Field("When it is due, in words with the time zone.") package var when: String?
  @Field("When the agent first found the schedule.") package var createdAt: Timestamp
  @Field("The instant up to which its slots are decided.") package var processedUntil: Timestamp
  @Field("Since when it is paused.") package var pausedAt: Timestamp?
  @Field("Why it is paused: recipe, person or failure.") package var pausedBy: String?
  @Field("The note of the pause; with the scope data.") package var note: String?
  @Field("How many more slots may start a run.") package var remainingRuns: Int?
  @Field("How many slots had each outcome.") package var counts: [String: Int] = [:]
  @Field("Its open runs, oldest first.") package var openRuns: [String] = []
  @Field("Its latest run.") package var lastRun: String?
  @Field("The status of its run that ended last.") package var lastStatus: String?
  @Field("The first slot whose start waits, or that is due and not decided.") package var lateSince: Timestamp?
  @Field("The inputs that it gives its runs; with the scope data, and where one schedule is asked for.")
  package var inputs: [ScheduleInputAnswer] = []

  package init() {}

  package init(_ record: ScheduleRecord, when words: String?, late: Timestamp? = nil, withData: Bool) {
    id = record.id
    when = words
    recipe = record.recipe
    file = record.file
    createdAt = record.createdAt
    processedUntil = record.processedUntil
    pausedAt = record.pause?.at
    pausedBy = record.pause?.origin.rawValue
    note = withData ? record.pause?.note : nil
    remainingRuns = record.remainingRuns
    counts = record.counts
    openRuns = record.openRuns
    lastRun = record.lastRun
    lastStatus = record.lastStatus?.rawValue
    lateSince = late
  }
}

/// An input that a schedule gives its runs.
package struct ScheduleInputAnswer: FieldSet {
  @Field("The input's name.") package var name: String
  @Field("The value.") package var value: Value?
  @Field("The name of a secret, whose value the agent reads when a run needs it.") package var secret: String?
  @Field("The expression that computes the value for each run.") package var computed: String?

  package init() {}

  package init(_ input: ScheduleInput) {
    name = input.name
    value = input.value
    secret = input.secret
    computed = input.computed
  }
}

/// The schedules.
package struct ScheduleListAnswer: FieldSet {
  @Field("The schedules, in the order of their ids.") package var items: [ScheduleAnswer]

  package init() {}
}

/// One line that a program of a run printed.
package struct LineAnswer: FieldSet {
  @Field("The number of the line in the log, from 1.") package var number: Int
  @Field("When it was printed.") package var at: Timestamp
  @Field("The path of the step.") package var step: String
  @Field("The attempt, from 1.") package var attempt: Int
  @Field("output, errors, or note for a remark of Errand's own.") package var stream: String
  @Field("The line as it was printed, with its control sequences.") package var text: String
  @Field("With `find`: whether the line shows the text; the other lines are around one that does.")
  package var isMatch: Bool?

  package init() {}
}

/// Lines that programs of a run printed.
package struct LogAnswer: FieldSet {
  @Field("The lines, in order.") package var items: [LineAnswer]
  @Field("Where to continue.") package var next: Int
  @Field("How many lines are before these, if there are any: `before` reads the last of them.")
  package var earlier: Int?
  @Field("Whether these are the last lines so far.") package var isLast: Bool

  package init() {}
}

/// A file that an action wrote.
package struct FileAnswer: FieldSet {
  @Field("The number, for the path of the file.") package var number: Int
  @Field("The path below the folder of errand.yaml, or the name alone of a file elsewhere.") package var name: String
  @Field("The path of the step.") package var step: String
  @Field("The size when it was written, if the action says it.") package var bytes: Int?
  @Field("When the step ended.") package var writtenAt: Timestamp

  package init() {}
}

/// The files that the actions of a run wrote.
package struct FileListAnswer: FieldSet {
  @Field("The files, in the order of their steps.") package var items: [FileAnswer]

  package init() {}
}

/// The agent and the tasks ahead of it.
package struct StatusAnswer: FieldSet {
  @Field("The program with its version.") package var program: String
  @Field("When the agent started.") package var since: Timestamp
  @Field("Whether the agent serves: resumes open runs and starts the runs of schedules.") package var isServing: Bool
  @Field("How many open runs have each status.") package var runs: [String: Int] = [:]
  @Field("How many recipes the agent serves.") package var recipes: Int?
  @Field("How many schedules the agent has.") package var schedules: Int?
  @Field("The next slot.") package var nextSlot: Timestamp?
  @Field("How many faults the recipes have.") package var faults: Int?
  @Field("How many bytes the state takes on its disk or in its database, if that was asked for.")
  package var bytes: Int?

  package init() {}
}

extension Value {
  /// The value as JSON has it: instants and lengths of time are texts, octets are Base64.
  package var asPlainJSON: Value { (try? JSON.parse(JSON.text(self))) ?? .null }
}
