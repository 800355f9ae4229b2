package import Agent
package import Basics
package import Recipes
package import RunState
package import Runs

/// A request to an agent; `AgentVerb.all` declares the meaning of each, and its form on the socket.
package indirect enum AgentRequest: Sendable {
  /// - Parameters:
  ///   - secrets: The names of the secrets that the run reads, which must not be kept.
  ///   - isDetached: Whether the answer ends once the run is on disk.
  ///   - isAgain: Whether an earlier agent may have accepted the run already.
  ///   - key: The caller's key; the run that has it already is the answer in place of this one.
  case submit(
    RunCreated, secrets: [String] = [], isDetached: Bool = false, isAgain: Bool = false, key: String? = nil)
  /// - Parameters:
  ///   - plan: The digest of a plan that must still hold, whose inputs are taken.
  ///   - assistant: What the assistant calls itself that asks for the run; nil if none does.
  case start(
    recipe: String, inputs: ValueMap, texts: [String: String], key: String? = nil, plan: String? = nil,
    assistant: String? = nil)
  /// - Parameter plan: The digest of an earlier plan, whose inputs are taken.
  case plan(recipe: String, inputs: ValueMap, texts: [String: String], plan: String? = nil)
  case showPlan(digest: String)
  /// - Parameter isDetached: Whether the answer ends once the run continues.
  case resume(run: String, isDetached: Bool = false)
  /// - Parameter withSnapshot: Whether the record of the run comes first.
  case follow(run: String, withSnapshot: Bool = false)
  case watch
  case pause(run: String, reason: String?)
  case cancel(run: String, reason: String?, key: String? = nil)
  /// - Parameters:
  ///   - step: The write that `output` is of; nil if there is only one.
  ///   - output: What a write gave whose answer didn't fit its shape.
  ///   - key: The caller's key; the retry that has it already is the answer.
  case retry(run: String, step: StepPath? = nil, output: Value? = nil, key: String? = nil)
  case delete(run: String)
  case resolve(run: String, step: StepPath, as: Resolution, key: String? = nil)
  case decide(run: String, step: StepPath?, isApproved: Bool, comment: String?, key: String? = nil)
  case signal(SentEvent)
  case runs(RunListQuery)
  /// - Parameter after: The last run of the page before.
  case approvals(limit: Int = 50, after: String? = nil)
  case find(run: String)
  case show(run: String)
  /// - Parameter from: How many steps come before the first that is listed.
  case steps(run: String, limit: Int = 100, from: Int = 0)
  /// - Parameter isAlone: Whether other runs are left out, for a caller who sees only some recipes.
  case explain(run: String, isAlone: Bool = false)
  /// - Parameters:
  ///   - isAlone: Whether other schedules are left out, for a caller who sees only some recipes.
  ///   - withData: Whether the caller may see the reasons in the ledger and the note of a pause.
  case explainSchedule(id: String, at: Timestamp?, isAlone: Bool = false, withData: Bool = true)
  case recipes
  case recipe(name: String)
  /// - Parameter patterns: The names of recipes that are tools besides those that say so.
  case tools(patterns: [String] = [])
  /// - Parameter file: What the recipe's file would be called, by which the recipe is named.
  case check(text: String, file: String = "recipe.yaml")
  case actions
  case value(BlobReference)
  /// - Parameter from: Where to read on, as the answer before named it; 0 is the beginning, and a negative number counts
  ///   lines from the end.
  case logs(run: String, step: StepPath? = nil, from: Int = 0)
  case why(RunFacts.Question)
  case schedules
  case slots(SlotQuery)
  case upcoming(SlotQuery)
  case pauseSchedule(id: String, note: String?)
  case resumeSchedule(id: String)
  case resetSchedule(id: String)
  /// - Parameters:
  ///   - inputs: Inputs in the place of those that the entry gives.
  ///   - texts: More of them, as texts that are read as the input's type wants.
  ///   - key: The caller's key; the start that has it already is the answer.
  case trigger(
    id: String, overlap: Trigger.Overlap?, inputs: ValueMap = ValueMap(), texts: [String: String] = [:],
    key: String? = nil)
  case backfill(id: String, from: Timestamp, to: Timestamp, overlap: Trigger.Overlap?, isDry: Bool)
  case issueToken(TokenIssued)
  case revokeToken(name: String)
  case tokens
  case workers
  /// - Parameter isUndone: Whether the worker may claim runs again.
  case drainWorker(name: String, isUndone: Bool = false)
  /// - Parameter isForced: Whether a worker whose lease lasts is evicted too.
  case evictWorker(name: String, isForced: Bool = false)
  case issueLink
  case connections
  case status
  case yield
}

/// Which runs to list; a member that is nil or empty matches every run.
package struct RunListQuery: Sendable {
  /// The most finished runs, or of a page the most runs.
  package var limit: Int
  package var recipe: String?
  /// The recipes that the caller sees; all if empty.
  package var seen: [String] = []
  package var statuses: [RunStatus]
  /// Only runs that were created at that instant or later.
  package var since: Timestamp?
  /// Only runs that were created before that instant.
  package var until: Timestamp?
  /// Only finished runs that ended at that instant or later.
  package var endedSince: Timestamp?
  /// Only retries of these runs, if there are any.
  package var retriesOf: Set<String> = []
  /// The last run of the page before, as its answer named it: the end and the id of a finished one, after which no open
  /// runs are listed, or of pages also an open one after `open:`.
  package var after: String?
  /// Whether the open runs come in pages too, latest first.
  package var isPaged: Bool
  /// Only open runs that a person has to look at, or only the other open ones.
  package var needsPerson: Bool?

  package init(
    limit: Int = 20, recipe: String? = nil, seen: [String] = [], statuses: [RunStatus] = [], since: Timestamp? = nil,
    until: Timestamp? = nil, after: String? = nil, isPaged: Bool = false, needsPerson: Bool? = nil
  ) {
    self.isPaged = isPaged
    self.needsPerson = needsPerson
    self.limit = limit
    self.recipe = recipe
    self.seen = seen
    self.statuses = statuses
    self.since = since
    self.until = until
    self.after = after
  }
}

/// An event from its sender.
package struct SentEvent: Sendable {
  /// Its id; generated if left out.
  package var id: String?
  /// Where it comes from; ids of different sources are different.
  package var source: String?
  package var name: String
  package var data: Value?
  /// The run it is for, by its id or the beginning of it; the first waiting run if left out.
  package var run: String?

  package init(id: String? = nil, source: String? = nil, name: String, data: Value? = nil, run: String? = nil) {
    self.id = id
    self.source = source
    self.name = name
    self.data = data
    self.run = run
  }
}

/// An object of plain JSON.
struct PlainMap: Recordable {
  var map: ValueMap

  init(map: ValueMap) { self.map = map }

  init(reading value: Value) throws(RecordError) {
    guard let map = value.map else { throw RecordError("expected an object, not \(value.kindName)") }
    self.map = map
  }

  func encoded() -> Value { .map(map) }
}
