/// The requests to an agent, each declared once: its name, its purpose, the permission it needs, its parameters, its
/// answer, why it may be refused, and where it is found over HTTP. Every server of requests reads these declarations.
///
/// On the socket a request is an object: `ask` holds the verb's name, and the other members are those declared here.
package import ActionKit
package import Agent
package import Basics
package import Recipes
package import RunState
import Runs

package struct AgentVerb: Sendable {
  /// The permission that a caller needs.
  package enum Scope: Sendable, Equatable, CaseIterable {
    case token(TokenScope)
    /// Reserved for programs of the agent's own account.
    case own

    package static let allCases = TokenScope.allCases.map { Scope.token($0) } + [.own]
  }

  /// Where a verb is found over HTTP, below `/api/v1`.
  package struct Route: Sendable {
    package enum Method: String, Sendable { case get = "GET", post = "POST", delete = "DELETE" }

    package var method: Method
    /// The path, in which `{name}` is a parameter.
    package var path: String
    /// The status of a good answer.
    package var status: Int
    /// What the answer is; nil if it has no body.
    package var answer: (any FieldSet.Type)?

    static func get(_ path: String, _ answer: any FieldSet.Type) -> Route {
      Route(method: .get, path: path, status: 200, answer: answer)
    }

    /// - Parameter status: 202 where the request is on disk and the agent works on it after the answer.
    static func post(_ path: String, _ answer: any FieldSet.Type, status: Int = 200) -> Route {
      Route(method: .post, path: path, status: status, answer: answer)
    }
  }

  /// A parameter of a request.
  package struct Parameter: Sendable {
    package var name: String
    /// What it is for, in a sentence or two.
    package var summary: String
    package var isRequired: Bool
    package var type: FieldType
    /// How many characters a text may have, as far as what reads it limits that.
    package var length: ClosedRange<Int>?
    /// The regular expression of a text, likewise.
    package var pattern: String?
    /// The member without which it is refused.
    package var companion: String?
  }

  /// The regular expression of a text without blanks, as a URI is.
  package static let withoutBlanks = #"^\S+$"#
  /// The most bytes of an event's id.
  package static let mostIDBytes = 256

  package var name: String
  /// One sentence.
  package var summary: String
  package var scope: Scope
  package var parameters: [Parameter]
  /// Why the request may be refused, except for a malformed request and an unusable state.
  package var refusals: Set<RequestRefusedError.Kind>
  /// Nil for a request that only the socket takes.
  package var route: Route?
  /// The command that makes it, without `errand`; nil if there is none of its own.
  package var command: String?
  /// The page where people find it; nil if there is none.
  package var page: String?
  fileprivate let read: @Sendable (inout RecordReader) throws(RecordError) -> AgentRequest
  fileprivate let write: @Sendable (AgentRequest, inout RecordWriter) -> Bool

  /// - Parameters:
  ///   - make: Makes the request from the values of the members.
  ///   - values: The values of the members in a request of this verb; nil for another request.
  // One for all verbs: a copy for each kind of request would be larger than everything else here.
  @_semantics("optimize.sil.specialize.generic.never")
  @inline(never)
  fileprivate init<each Part: Sendable>(
    _ name: String, _ summary: String, _ scope: Scope, at route: Route? = nil, by command: String? = nil,
    on page: String? = nil, refusals: Set<RequestRefusedError.Kind> = [], _ members: repeat Member<each Part>,
    make: @escaping @Sendable (repeat each Part) -> AgentRequest,
    values: @escaping @Sendable (AgentRequest) -> (repeat each Part)?
  ) {
    self.name = name
    self.summary = summary
    self.scope = scope
    self.route = route
    self.command = command
    self.page = page
    self.refusals = refusals
    var parameters: [Parameter] = []
    repeat parameters.append((each members).parameter)
    self.parameters = parameters
    read = { (record: inout RecordReader) throws(RecordError) in make(repeat try (each members).read(&record)) }
    write = { request, record in
      guard let values = values(request) else { return false }
      repeat (each members).write(each values, &record)
      return true
    }
  }

  /// A part of a request: how it is declared, read and written.
  fileprivate struct Member<Part: Sendable>: Sendable {
    var parameter: Parameter
    var read: @Sendable (inout RecordReader) throws(RecordError) -> Part
    var write: @Sendable (Part, inout RecordWriter) -> Void
  }
}

extension AgentVerb.Member {
  /// The member with the limit of what reads it, which a test keeps to that.
  fileprivate func limited(to length: ClosedRange<Int>, pattern: String? = nil) -> Self {
    var member = self
    member.parameter.length = length
    member.parameter.pattern = pattern
    return member
  }

  /// The member, which is refused without another one.
  fileprivate func beside(_ name: String) -> Self {
    var member = self
    member.parameter.companion = name
    return member
  }
}

extension AgentVerb.Member where Part: Recordable {
  @inline(never)
  static func required(_ name: String, _ summary: String) -> Self {
    Self(parameter: .init(name: name, summary: summary, isRequired: true, type: declaredType(of: Part.self))) {
      (record: inout RecordReader) throws(RecordError) in
      try record.read(name)
    } write: {
      $1.set(name, $0)
    }
  }

  /// A member with a default.
  @inline(never)
  static func optional(_ name: String, or value: Part, _ summary: String) -> Self {
    Self(parameter: .init(name: name, summary: summary, isRequired: false, type: declaredType(of: Part.self))) {
      (record: inout RecordReader) throws(RecordError) in
      try record.readIfPresent(name) ?? value
    } write: {
      $1.set(name, $0)
    }
  }
}

extension AgentVerb.Member {
  @inline(never)
  static func optional<Wrapped: Recordable>(_ name: String, _ summary: String) -> Self where Part == Wrapped? {
    Self(parameter: .init(name: name, summary: summary, isRequired: false, type: declaredType(of: Wrapped.self))) {
      (record: inout RecordReader) throws(RecordError) in
      try record.readIfPresent(name)
    } write: {
      $1.set(name, $0)
    }
  }
}

/// The type of a parameter, as schemas have it.
private func declaredType(of type: any Recordable.Type) -> FieldType {
  switch type {
  case is String.Type: .string
  case is Int.Type: .int
  case is Bool.Type: .bool
  case is Timestamp.Type: .timestamp
  case is PlainMap.Type: .map(.dyn)
  case is [String: String].Type: .map(.string)
  case let list as any ListMember.Type: .list(declaredType(of: list.element))
  case let choice as any (CaseIterable & Recordable).Type: .choice(words(of: choice))
  default: .dyn
  }
}

private protocol ListMember {
  static var element: any Recordable.Type { get }
}

extension Array: ListMember where Element: Recordable {
  fileprivate static var element: any Recordable.Type { Element.self }
}

/// The words of a choice, which are the names of its cases.
private func words<Choice: CaseIterable>(of _: Choice.Type) -> [String] { Choice.allCases.map { "\($0)" } }

// MARK: - On the socket

extension AgentRequest {
  /// Reads a client's request.
  package init(reading line: Value) throws(RequestRefusedError) {
    let word = line["ask"]?.string ?? ""
    guard var members = line.map, let verb = AgentVerb.all.first(where: { $0.name.hasSameScalars(as: word) }) else {
      throw RequestRefusedError(.request, "unknown request '\(word)'")
    }
    members["ask"] = nil
    do throws(RecordError) { try self.init(verb, members) } catch {
      throw RequestRefusedError(.request, "the request '\(word)' isn't valid: \(error.message)")
    }
  }

  /// Reads the members of a request of a verb.
  package init(_ verb: AgentVerb, _ members: ValueMap) throws(RecordError) {
    var reader = RecordReader(members)
    self = try verb.read(&reader)
    try reader.finish()
  }

  /// The object that a client sends, and the verb's name.
  package func encoded() -> (line: Value, verb: String) {
    let verb = verb
    var writer = RecordWriter()
    writer.set("ask", verb.name)
    _ = verb.write(self, &writer)
    return (.map(writer.map), verb.name)
  }

  /// The verb that it is a request of.
  package var verb: AgentVerb {
    var members = RecordWriter()
    guard let verb = AgentVerb.all.first(where: { $0.write(self, &members) }) else {
      preconditionFailure("a request has no verb; a test makes one of each")
    }
    return verb
  }
}

// MARK: - The verbs

extension AgentVerb {
  private static let run = Member<String>.required(
    "run",
    "The run: its id, the beginning or end of its id, a recipe's name for its latest run, `last` or `last:RECIPE`.")
  private static let key = Member<String?>.optional(
    "key",
    "A key that the caller chooses. If a run of the recipe already has it, the answer is that run, and none starts.")
  private static let decisionKey = Member<String?>.optional(
    "key", "A key that the caller chooses. The same decision with the same key gets the same answer.")
  private static let scheduleID = Member<String>.required("id", "The schedule's id.")
  private static let worker = Member<String>.required("name", "The worker's name, or its id.")
  private static let recipe = Member<String>.required("recipe", "The recipe's name.")
  private static let inputs = Member<PlainMap?>.optional("inputs", "The values of the inputs, by name.")
  private static let texts = Member<[String: String]>.optional(
    "texts", or: [:], "More inputs, as text that is read as the input's type.")
  private static let overlap = Member<Trigger.Overlap?>.optional(
    "overlap", "The overlap policy if a run is open, instead of the recipe's policy.")

  package static let all: [AgentVerb] = [
    AgentVerb(
      "submit", "Accepts a run that the caller has prepared, and follows it unless 'detach' is set.", .own,
      by: "run FILE",
      refusals: [.configuration, .inputs, .ended, .usedKey],
      Member<RunCreated>.required("run", "The run's record."),
      Member<[String]>.optional("secrets", or: [], "The names of the secrets that the run reads."),
      Member<Bool>.optional("detach", or: false, "Whether to end the answer once the run is on disk."),
      Member<Bool>.optional("again", or: false, "Whether an earlier agent may have accepted the run already."), key,
      make: { .submit($0, secrets: $1, isDetached: $2, isAgain: $3, key: $4) },
      values: {
        guard case .submit(let run, let secrets, let detach, let again, let key) = $0 else { return nil }
        return (run, secrets, detach, again, key)
      }),
    AgentVerb(
      "start", "Starts a run of a served recipe.", .token(.start),
      at: .post("/recipes/{recipe}/runs", AcceptedAnswer.self, status: 202), by: "runs start", on: "/recipes/{recipe}",
      refusals: [.notFound, .inputs, .configuration, .ended, .notServing, .moved, .busy, .timeout, .usedKey],
      recipe, inputs, texts, key,
      Member<String?>.optional(
        "plan",
        "The digest of a plan, whose inputs are used. The run starts only if it would still do what the plan says."),
      Member<String?>.optional("assistant", "The name of the assistant that asks for the run, if one does."),
      make: { .start(recipe: $0, inputs: $1?.map ?? ValueMap(), texts: $2, key: $3, plan: $4, assistant: $5) },
      values: {
        guard case .start(let recipe, let inputs, let texts, let key, let plan, let assistant) = $0 else { return nil }
        return (recipe, PlainMap(map: inputs), texts, key, plan, assistant)
      }),
    AgentVerb(
      "plan", "Plans a run of a served recipe: reads what the run would read, and writes nothing.", .token(.start),
      at: .post("/recipes/{recipe}/plans", PlanAnswer.self, status: 201), by: "plan", on: "/recipes/{recipe}",
      refusals: [.notFound, .inputs, .configuration, .notServing, .busy, .timeout],
      recipe, inputs, texts,
      Member<String?>.optional("plan", "The digest of an earlier plan, whose inputs are used."),
      make: { .plan(recipe: $0, inputs: $1?.map ?? ValueMap(), texts: $2, plan: $3) },
      values: {
        guard case .plan(let recipe, let inputs, let texts, let plan) = $0 else { return nil }
        return (recipe, PlainMap(map: inputs), texts, plan)
      }),
    AgentVerb(
      "showPlan", "Shows a plan that was made within the last hour.", .token(.read),
      at: .get("/plans/{digest}", PlanAnswer.self),
      on: "/plans/{digest}",
      refusals: [.notFound],
      Member<String>.required("digest", "The plan's digest."),
      make: { .showPlan(digest: $0) }, values: { if case .showPlan(let digest) = $0 { digest } else { nil } }),
    AgentVerb(
      "resume", "Resumes an interrupted or paused run, and follows it.", .token(.steer),
      at: .post("/runs/{run}/resume", AcceptedAnswer.self, status: 202), by: "runs resume", on: "/runs/{run}",
      refusals: [.notFound, .ambiguous, .configuration, .ended], run,
      Member<Bool>.optional("detach", or: false, "Whether to end the answer once the run continues."),
      make: { .resume(run: $0, isDetached: $1) },
      values: { if case .resume(let run, let isDetached) = $0 { (run, isDetached) } else { nil } }),
    AgentVerb(
      "follow", "Reports the progress of a run until it ends.", .token(.read),
      at: .get("/runs/{run}/events", RunAnswer.self), by: "runs follow", on: "/runs/{run}",
      refusals: [.notFound, .ambiguous], run,
      Member<Bool>.optional("snapshot", or: false, "Whether to send the run's record first."),
      make: { .follow(run: $0, withSnapshot: $1) },
      values: { if case .follow(let run, let withSnapshot) = $0 { (run, withSnapshot) } else { nil } }),
    AgentVerb(
      "watch", "Reports the changes of all runs: when they begin, wait, pause or end.", .token(.read),
      at: .get("/events", RunAnswer.self), make: { .watch },
      values: { if case .watch = $0 { () } else { nil } }),
    AgentVerb(
      "pause", "Pauses a run: no further step begins until it is resumed.", .token(.steer),
      at: .post("/runs/{run}/pause", ChangedAnswer.self), by: "runs pause", on: "/runs/{run}",
      refusals: [.notFound, .ambiguous, .ended], run,
      Member<String?>.optional("reason", "The reason to record."),
      make: { .pause(run: $0, reason: $1) },
      values: { if case .pause(let run, let reason) = $0 { (run, reason) } else { nil } }),
    AgentVerb(
      "cancel", "Cancels a run: actions in flight finish, then its 'finally' steps run.", .token(.steer),
      at: .post("/runs/{run}/cancel", ChangedAnswer.self, status: 202), by: "runs cancel", on: "/runs/{run}",
      refusals: [.notFound, .ambiguous, .ended, .usedKey], run,
      Member<String?>.optional("reason", "The reason to record."), decisionKey,
      make: { .cancel(run: $0, reason: $1, key: $2) },
      values: { if case .cancel(let run, let reason, let key) = $0 { (run, reason, key) } else { nil } }),
    AgentVerb(
      "delete", "Deletes an ended run, with its values and its commands' output.", .token(.steer),
      at: Route(method: .delete, path: "/runs/{run}", status: 204), by: "runs delete", on: "/runs/{run}",
      refusals: [.notFound, .ambiguous, .conflict], run,
      make: { .delete(run: $0) }, values: { if case .delete(let run) = $0 { run } else { nil } }),
    AgentVerb(
      "retry", "Retries an ended run in a new run, keeping what succeeded.", .token(.steer),
      at: .post("/runs/{run}/retry", AcceptedAnswer.self, status: 202), by: "runs retry", on: "/runs/{run}",
      refusals: [.notFound, .ambiguous, .ended, .usedKey], run,
      Member<String?>.optional("step", "With 'output': the path of the step. Needed only if several steps qualify.")
        .beside("output"),
      Member<Value?>.optional(
        "output", "The output of a write whose answer didn't fit its shape. The write isn't repeated."),
      Member<String?>.optional(
        "key", "A key that the caller chooses. If a retry already has it, the answer is that retry."),
      make: { .retry(run: $0, step: $1, output: $2, key: $3) },
      values: {
        if case .retry(let run, let step, let output, let key) = $0 { (run, step, output, key) } else { nil }
      }),
    AgentVerb(
      "resolve", "Records what happened to an uncertain step, so that its run can continue.", .token(.steer),
      at: .post("/runs/{run}/resolutions", ChangedAnswer.self), by: "runs resolve", on: "/runs/{run}",
      refusals: [.notFound, .ambiguous, .ended, .usedKey], run,
      Member<String>.required("step", "The step's path."),
      Member<ResolutionWord>.required(
        "as", "The outcome: done, retry (not done; do it now) or fail (count it as failed)."),
      Member<Value?>.optional("output", "With 'done': the output of the step."),
      Member<String?>.optional("reason", "With 'fail': the reason."), decisionKey,
      make: { .resolve(run: $0, step: $1, as: $2.resolution(output: $3, reason: $4), key: $5) },
      values: {
        guard case .resolve(let run, let step, let resolution, let key) = $0 else { return nil }
        switch resolution {
        case .done(let output): return (run, step, .done, output, nil, key)
        case .retry: return (run, step, .retry, nil, nil, key)
        case .fail(let reason): return (run, step, .fail, nil, reason, key)
        }
      }),
    AgentVerb(
      "decide", "Records the caller's decision on a step that asks for one.", .token(.approve),
      at: .post("/runs/{run}/decisions", ChangedAnswer.self), by: "runs approve", on: "/approvals/{run}/{step}",
      refusals: [.notFound, .ambiguous, .ended, .notAsked, .notAllowed, .usedKey], run,
      Member<String?>.optional("step", "The path of the step that asks. Needed only if several do."),
      Member<Bool>.required("approved", "Whether the caller approves."),
      Member<String?>.optional("comment", "A comment to record with the decision."), decisionKey,
      make: { .decide(run: $0, step: $1, isApproved: $2, comment: $3, key: $4) },
      values: {
        guard case .decide(let run, let step, let isApproved, let comment, let key) = $0 else { return nil }
        return (run, step, isApproved, comment, key)
      }),
    AgentVerb(
      "signal", "Sends an event to a given run, or to the first run that waits for it.", .token(.start),
      at: .post("/events", ReceivedAnswer.self, status: 202), by: "runs signal",
      refusals: [.notFound, .ambiguous, .ended, .full],
      Member<String>.required("name", "The name of the event.").limited(to: 1...Int.max),
      Member<String?>.optional("id", "The event's id, 1 to 256 bytes. An id counts once. Generated if left out.")
        .limited(to: 1...mostIDBytes),
      Member<PlainJSON?>.optional("data", "The event's data."),
      Member<String?>.optional(
        "run", "The run, named as in other requests. If left out, the first run that waits for the event."),
      Member<String?>.optional(
        "source", "Where the event comes from, as a URI. With another source, the same id is another event."
      ).limited(to: 1...Int.max, pattern: withoutBlanks),
      make: { .signal(SentEvent(id: $1, source: $4, name: $0, data: $2?.value, run: $3)) },
      values: {
        guard case .signal(let event) = $0 else { return nil }
        return (event.name, event.id, event.data.map { PlainJSON(value: $0) }, event.run, event.source)
      }),
    AgentVerb(
      "runs", "Lists the open runs, and the latest finished ones.", .token(.read),
      at: .get("/runs", RunListAnswer.self), by: "runs list", on: "/runs",
      Member<Int>.optional("limit", or: 20, "How many runs to list at most; without 'paged', how many finished ones."),
      Member<String?>.optional("recipe", "Only runs of this recipe."),
      Member<[RunStatus]>.optional("status", or: [], "Only runs with one of these statuses."),
      Member<Timestamp?>.optional("since", "Only runs created at this instant or later."),
      Member<Timestamp?>.optional("until", "Only runs created before this instant."),
      Member<String?>.optional(
        "cursor", "Where this page starts: 'next' of the page before."
      ).limited(to: 1...Int.max),
      Member<Bool>.optional(
        "paged", or: false, "Whether to list the open runs in pages, too. Otherwise the first page has all of them."),
      Member<Bool?>.optional(
        "needsPerson", "Only open runs that need a person (true), or only the other open ones (false)."),
      Member<[String]>.optional("recipes", or: [], "Only runs of these recipes."),
      make: {
        .runs(
          RunListQuery(
            limit: $0, recipe: $1, seen: $8, statuses: $2, since: $3, until: $4, after: $5, isPaged: $6,
            needsPerson: $7))
      },
      values: {
        guard case .runs(let query) = $0 else { return nil }
        return (
          query.limit, query.recipe, query.statuses, query.since, query.until, query.after, query.isPaged,
          query.needsPerson, query.seen
        )
      }),
    AgentVerb(
      "approvals", "Lists the open runs that wait for a decision, oldest first.", .token(.read),
      at: .get("/approvals", ApprovalListAnswer.self), on: "/approvals",
      Member<Int>.optional("limit", or: 50, "How many runs to list at most."),
      Member<String?>.optional("cursor", "Where this page starts: 'next' of the page before."),
      make: { .approvals(limit: $0, after: $1) },
      values: { if case .approvals(let limit, let after) = $0 { (limit, after) } else { nil } }),
    AgentVerb(
      "find", "Finds a run by its name.", .token(.read), refusals: [.notFound, .ambiguous], run,
      make: { .find(run: $0) }, values: { if case .find(let run) = $0 { run } else { nil } }),
    AgentVerb(
      "show", "Shows the whole record of a run.", .token(.read),
      at: .get("/runs/{run}", RunAnswer.self), by: "runs show", on: "/runs/{run}", refusals: [.notFound, .ambiguous],
      run,
      make: { .show(run: $0) }, values: { if case .show(let run) = $0 { run } else { nil } }),
    AgentVerb(
      "steps", "Lists the steps of a run in the order of their start.", .token(.read),
      at: .get("/runs/{run}/steps", StepListAnswer.self), by: "runs show", on: "/runs/{run}",
      refusals: [.notFound, .ambiguous], run,
      Member<Int>.optional("limit", or: 100, "How many steps to list at most."),
      Member<Int>.optional("from", or: 0, "Where to continue: 'next' of the answer before."),
      make: { .steps(run: $0, limit: $1, from: $2) },
      values: { if case .steps(let run, let limit, let from) = $0 { (run, limit, from) } else { nil } }),
    AgentVerb(
      "explain", "Says why a run is in its state.", .token(.data),
      at: .get("/runs/{run}/why", ExplanationAnswer.self), by: "why", on: "/runs/{run}",
      refusals: [.notFound, .ambiguous], run,
      Member<Bool>.optional("alone", or: false, "Whether to leave out other runs."),
      make: { .explain(run: $0, isAlone: $1) },
      values: { if case .explain(let run, let isAlone) = $0 { (run, isAlone) } else { nil } }),
    AgentVerb(
      "recipes", "Lists the served recipes.", .token(.read), at: .get("/recipes", RecipeListAnswer.self),
      on: "/recipes",
      make: { .recipes }, values: { if case .recipes = $0 { () } else { nil } }),
    AgentVerb(
      "recipe", "Shows a served recipe: its text, its inputs and outputs, and its actions with their effects.",
      .token(.read),
      at: .get("/recipes/{recipe}", RecipeAnswer.self), on: "/recipes/{recipe}", refusals: [.notFound, .configuration],
      recipe, make: { .recipe(name: $0) }, values: { if case .recipe(let name) = $0 { name } else { nil } }),
    AgentVerb(
      "tools", "Lists the recipes that assistants may run as tools, with the schemas of their inputs and outputs.",
      .token(.read), by: "mcp", refusals: [.notServing],
      Member<[String]>.optional(
        "patterns", or: [],
        "The names of more recipes that are tools, besides recipes with 'mcp: true'; * matches any part of a name."),
      make: { .tools(patterns: $0) }, values: { if case .tools(let patterns) = $0 { patterns } else { nil } }),
    AgentVerb(
      "check", "Checks the text of a recipe without running anything.", .token(.read),
      at: .post("/check", FindingListAnswer.self), by: "check",
      Member<String>.required("text", "The text, at most 256 KiB. It can call served recipes.")
        .limited(to: 0...AgentParts.mostChecked),
      Member<String>.optional(
        "file", or: "recipe.yaml",
        "The name of the recipe's file, which names a recipe without a name of its own. Paths in the text start there."),
      make: { .check(text: $0, file: $1) },
      values: { if case .check(let text, let file) = $0 { (text, file) } else { nil } }),
    AgentVerb(
      "actions", "Lists the actions that recipes can use, with the schemas of their inputs and outputs.", .token(.read),
      at: .get("/actions", ActionListAnswer.self), by: "actions", make: { .actions },
      values: { if case .actions = $0 { () } else { nil } }),
    AgentVerb(
      "value", "Reads a large value that is stored outside the record of its run.", .token(.data),
      Member<BlobReference>.required("blob", "The value's hash and size, as in the record."),
      make: { .value($0) }, values: { if case .value(let reference) = $0 { reference } else { nil } }),
    AgentVerb(
      "logs", "Reads the lines that the commands of a run printed, a page at a time.", .token(.data),
      at: .get("/runs/{run}/logs", LogAnswer.self), by: "runs logs", on: "/runs/{run}/logs",
      refusals: [.notFound, .ambiguous], run,
      Member<String?>.optional("step", "Only lines of this step and the steps inside it."),
      Member<Int>.optional(
        "from", or: 0,
        "Where to continue: 'next' of the answer before. On the socket, a negative number counts lines from the end."),
      make: { .logs(run: $0, step: $1, from: $2) },
      values: { if case .logs(let run, let step, let from) = $0 { (run, step, from) } else { nil } }),
    AgentVerb(
      "why", "Collects the facts that an explanation of a run needs besides its record.", .token(.read),
      Member<RunFacts.Question>.required("about", "The run, and the things its record refers to."),
      make: { .why($0) }, values: { if case .why(let question) = $0 { question } else { nil } }),
    AgentVerb(
      "schedules", "Lists the schedules and their recipes.", .token(.read),
      at: .get("/schedules", ScheduleListAnswer.self), by: "schedule list", on: "/schedules",
      make: { .schedules }, values: { if case .schedules = $0 { () } else { nil } }),
    AgentVerb(
      "explainSchedule", "Says why a schedule ran or didn't, and when it is due next.", .token(.read),
      at: .get("/schedules/{id}/why", ExplanationAnswer.self), by: "why", refusals: [.notFound], scheduleID,
      Member<Timestamp?>.optional(
        "at", "Explains the slot at this instant, or the last one before it; now if left out."),
      make: { .explainSchedule(id: $0, at: $1) },
      values: { if case .explainSchedule(let id, let at, _, _) = $0 { (id, at) } else { nil } }),
    AgentVerb(
      "slots", "Lists the slots in the ledger, latest first.", .token(.read),
      at: .get("/slots", SlotListAnswer.self), by: "schedule log", on: "/schedules/{id}",
      Member<String?>.optional("schedule", "Only slots of this schedule."),
      Member<Int>.optional("limit", or: 20, "How many slots to list at most."),
      Member<Timestamp?>.optional("from", "Only slots at this instant or later."),
      Member<Timestamp?>.optional("before", "Only slots before this instant."),
      Member<String?>.optional("cursor", "Where this page starts: 'next' of the page before.")
        .limited(to: 1...Int.max),
      make: { .slots(SlotQuery(limit: $1, schedule: $0, from: $2, before: $3, after: $4)) },
      values: {
        guard case .slots(let query) = $0 else { return nil }
        return (query.schedule, query.limit, query.from, query.before, query.after)
      }),
    AgentVerb(
      "upcoming", "Lists the coming slots of the schedules, earliest first.", .token(.read),
      at: .get("/upcoming", UpcomingListAnswer.self), by: "schedule next", on: "/schedules",
      Member<String?>.optional("schedule", "Only slots of this schedule."),
      Member<Int>.optional("limit", or: 20, "How many slots to list at most."),
      Member<Timestamp?>.optional("from", "Only slots at this instant or later."),
      Member<Timestamp?>.optional("before", "Only slots before this instant."),
      Member<Bool>.optional("first", or: false, "Whether to list only the first slot of each schedule."),
      make: { .upcoming(SlotQuery(limit: $1, schedule: $0, from: $2, before: $3, isFirst: $4)) },
      values: {
        guard case .upcoming(let query) = $0 else { return nil }
        return (query.schedule, query.limit, query.from, query.before, query.isFirst)
      }),
    AgentVerb(
      "pauseSchedule", "Pauses a schedule: it starts no runs until it is resumed.", .token(.steer),
      at: .post("/schedules/{id}/pause", SlotListAnswer.self), by: "schedule pause", on: "/schedules/{id}",
      refusals: schedule,
      scheduleID, Member<String?>.optional("note", "The reason to record."),
      make: { .pauseSchedule(id: $0, note: $1) },
      values: { if case .pauseSchedule(let id, let note) = $0 { (id, note) } else { nil } }),
    AgentVerb(
      "resumeSchedule", "Resumes a paused schedule.", .token(.steer),
      at: .post("/schedules/{id}/resume", SlotListAnswer.self), by: "schedule resume", on: "/schedules/{id}",
      refusals: schedule, scheduleID,
      make: { .resumeSchedule(id: $0) }, values: { if case .resumeSchedule(let id) = $0 { id } else { nil } }),
    AgentVerb(
      "resetSchedule", "Decides again the slots that were decided while the clock was ahead.", .token(.steer),
      at: .post("/schedules/{id}/reset", SlotListAnswer.self), by: "schedule reset",
      refusals: schedule.union([.ended]), scheduleID,
      make: { .resetSchedule(id: $0) }, values: { if case .resetSchedule(let id) = $0 { id } else { nil } }),
    AgentVerb(
      "trigger", "Starts a run of a schedule now, before its next slot.", .token(.steer),
      at: .post("/schedules/{id}/trigger", SlotListAnswer.self), by: "schedule trigger", on: "/schedules/{id}",
      refusals: schedule.union([.notServing, .inputs, .ended, .usedKey]),
      scheduleID, overlap,
      Member<PlainMap?>.optional("inputs", "Inputs that replace the schedule's inputs."),
      Member<[String: String]>.optional(
        "texts", or: [:], "More inputs, as text that is read as the input's type."),
      Member<String?>.optional(
        "key", "A key that the caller chooses. If a start already has it, the answer is that start."),
      make: { .trigger(id: $0, overlap: $1, inputs: $2?.map ?? ValueMap(), texts: $3, key: $4) },
      values: {
        guard case .trigger(let id, let overlap, let inputs, let texts, let key) = $0 else { return nil }
        return (id, overlap, inputs.isEmpty ? nil : PlainMap(map: inputs), texts, key)
      }),
    AgentVerb(
      "backfill", "Starts runs for past slots that have none, or only lists those slots.", .token(.steer),
      at: .post("/schedules/{id}/backfill", SlotListAnswer.self), by: "schedule backfill",
      refusals: schedule.union([.notServing]), scheduleID,
      Member<Timestamp>.required("from", "The instant of the first slot, or earlier."),
      Member<Timestamp>.required("to", "The end: only slots before this instant count."), overlap,
      Member<Bool>.optional("dryRun", or: false, "Whether to only list the slots."),
      make: { .backfill(id: $0, from: $1, to: $2, overlap: $3, isDry: $4) },
      values: {
        guard case .backfill(let id, let from, let to, let overlap, let isDry) = $0 else { return nil }
        return (id, from, to, overlap, isDry)
      }),
    AgentVerb(
      "connections", "Lists the connections and the secrets that recipes need, without values.", .token(.steer),
      at: .get("/connections", ConnectionListAnswer.self),
      make: { .connections }, values: { if case .connections = $0 { () } else { nil } }),
    AgentVerb(
      "status", "Reports on the agent's process and its workload.", .token(.read),
      at: .get("/status", StatusAnswer.self), on: "/state",
      make: { .status }, values: { if case .status = $0 { () } else { nil } }),
    AgentVerb(
      "issueToken", "Registers a token that the caller has made.", .own, by: "token new",
      refusals: [.conflict],
      Member<TokenIssued>.required("token", "The token's record."),
      make: { .issueToken($0) }, values: { if case .issueToken(let token) = $0 { token } else { nil } }),
    AgentVerb(
      "revokeToken", "Revokes a token.", .own, by: "token revoke", refusals: [.notFound],
      Member<String>.required("name", "The token's name."),
      make: { .revokeToken(name: $0) }, values: { if case .revokeToken(let name) = $0 { name } else { nil } }),
    AgentVerb(
      "tokens", "Lists the tokens.", .own, by: "token list",
      make: { .tokens }, values: { if case .tokens = $0 { () } else { nil } }),
    AgentVerb(
      "workers", "Lists the programs that share the state, with their queues and offers.", .own, by: "workers list",
      refusals: [.configuration], make: { .workers }, values: { if case .workers = $0 { () } else { nil } }),
    AgentVerb(
      "drainWorker", "Tells a worker to claim no more runs, and to finish its running ones.", .own, by: "workers drain",
      refusals: [.configuration, .notFound, .ambiguous], worker,
      Member<Bool>.optional("undo", or: false, "Whether the worker claims runs again."),
      make: { .drainWorker(name: $0, isUndone: $1) },
      values: { if case .drainWorker(let name, let isUndone) = $0 { (name, isUndone) } else { nil } }),
    AgentVerb(
      "evictWorker", "Ends the lease of a worker, so that others take over its runs.", .own, by: "workers evict",
      refusals: [.configuration, .notFound, .ambiguous, .conflict], worker,
      Member<Bool>.optional("force", or: false, "Whether to evict a worker whose lease hasn't expired."),
      make: { .evictWorker(name: $0, isForced: $1) },
      values: { if case .evictWorker(let name, let isForced) = $0 { (name, isForced) } else { nil } }),
    AgentVerb(
      "issueLink", "Makes a link that logs a browser in, once and within a minute.", .own, by: "open",
      refusals: [.notServing], make: { .issueLink }, values: { if case .issueLink = $0 { () } else { nil } }),
    AgentVerb(
      "yield", "Hands the state folder over to another process: the agent finishes the actions in flight and stops.",
      .own,
      refusals: [.serving], make: { .yield }, values: { if case .yield = $0 { () } else { nil } }),
  ]

  private static let schedule: Set<RequestRefusedError.Kind> = [.notFound, .conflict, .timeout]
}

/// The words for resolutions in requests.
private enum ResolutionWord: String, Recordable, CaseIterable {
  case done, retry, fail

  init(reading value: Value) throws(RecordError) {
    guard let word = value.string.flatMap(ResolutionWord.init(rawValue:)) else {
      throw RecordError("there is no resolution '\(value.string ?? value.kindName)'; there are done, retry, fail")
    }
    self = word
  }

  func resolution(output: Value?, reason: String?) -> Resolution {
    switch self {
    case .done: .done(output)
    case .retry: .retry
    case .fail: .fail(reason)
    }
  }
}

extension Trigger.Overlap: Recordable {
  package init(reading value: Value) throws(RecordError) {
    guard let text = value.string else { throw RecordError("expected a string, not \(value.kindName)") }
    guard let overlap = Self(rawValue: text) else {
      let words = Self.allCases.map(\.rawValue)
      let guess = text.nearest(among: words).map { "did you mean '\($0)'?" }
      throw RecordError(
        "there is no overlap policy '\(text)'; \(guess ?? "there are \(words.joined(separator: ", "))")")
    }
    self = overlap
  }
}
