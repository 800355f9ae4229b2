// The keys of recipes.
import ActionKit
import Basics
import Calendars

extension KeySet {
  static let recipe = KeySet([
    Key(
      "recipe", .text(pattern: "^[A-Za-z0-9_-]{1,100}$"),
      "The recipe's name; the file's name without its extension if left out."),
    Key("summary", .text(), "One sentence that says what the recipe is for."),
    Key("inputs", .map(names: "name", of: .definition("input")), "The values that the recipe is started with."),
    Key("on", .list(of: .definition("trigger")), "The triggers that start the recipe."),
    Key("zone", .zone),
    Key("defaults", .keys(.defaults), "Defaults for steps that don't set their own."),
    Key(
      "concurrencyGroup", .keys(.concurrencyGroup), "Runs of all recipes that name the same group share its limit."),
    Key(
      "queue", .text(pattern: QueueName.pattern),
      "The queue of the recipe's runs, if several machines share the state: only workers with this queue claim them; 'default' if left out."
    ),
    Key(
      "mcp", .bool, "Whether assistants can run the recipe as a tool over MCP; see docs/assistants.md.",
      default: .bool(false)),
    Key("steps", .steps, isRequired: true),
    Key("outputs", .values, "The values that the recipe returns."),
    Key("onFailure", .steps, "Steps that run after a failure that no step caught; they can use 'error'."),
    Key("finally", .steps, "Steps that run at the end, even after a failure or a cancellation."),
  ])

  static let defaults = KeySet([Key("retry", .definition("retry")), Key("timeout", .definition("timeout"))])

  static let concurrencyGroup = KeySet([
    Key("name", .text(), "The group's name, which other recipes use to join it.", isRequired: true),
    Key("limit", .int(1...10_000), "How many runs may be open at once.", default: .int(1)),
    .choice("onLimit", Recipe.ConcurrencyGroup.OnLimit.queue, "How to handle a run beyond the limit."),
  ])

  static let input = KeySet([
    Key("type", .definition("type"), isRequired: true),
    Key("summary", .text(), "One sentence that says what the input is."),
    Key("default", .any, "The value if the input is left out; an input without a default is required."),
    Key("choices", .list(of: .text(), isFilled: true), "The allowed texts."),
    Key("min", .types(["number", "string"]), "The smallest allowed value."),
    Key("max", .types(["number", "string"]), "The largest allowed value."),
    Key("pattern", .text(), "A regular expression in RE2's syntax that the whole text must match."),
    Key(
      "secret", .bool, "Whether the value is given by a secret's name, and is never shown or stored.",
      default: .bool(false)),
  ])
}

// MARK: Triggers

extension KeySet {
  /// The triggers that are due at times.
  static let timed = ["cron", "every", "at", "calendar"]
  /// The kinds of entries that have a policy for open runs.
  static let queued = timed + ["webhook", "form"]
  /// The kinds of entries that can gather several events or files.
  static let gathered = ["event", "file", "webhook"]

  static let trigger = KeySet([
    Key(
      "cron", .text(pattern: #"^\s*(@[A-Za-z]+|\S+(\s+\S+){4})\s*$"#),
      "Minute, hour, day of the month, month, day of the week.", isKind: true),
    Key("every", .duration(atLeast: .seconds(1)), "The time between two slots, such as 6h.", isKind: true),
    Key("at", .instant, "The only instant when the entry is due.", isKind: true),
    Key("calendar", .keys(.calendar), "The days and times of the slots; all fields must match.", isKind: true),
    Key("webhook", .keys(.webhook), "Due when a delivery is posted to its address.", isKind: true),
    Key("form", .keys(.form), "Due when a person sends its form.", isKind: true),
    Key("event", .either([.text(), .keys(.event)]), "Due when an event arrives that no run waits for.", isKind: true),
    Key(
      "afterRecipe", .either([.text(), .keys(.afterRecipe)]), "Due when a run of another recipe has ended.",
      isKind: true),
    Key("file", .either([.text(), .keys(.file)]), "Due when a file is added or changed.", isKind: true),
    Key("id", .name, "The entry's id, which distinguishes it from the other entries."),
    Key("from", .instant, "The instant that 'every' starts to count from.", with: ["every"]),
    Key("zone", .zone, with: timed),
    .choice(
      "overlap", Trigger.Overlap.skip,
      "How to handle a slot that is due while a run of the schedule is open; with 'webhook' and 'form', bufferAll if left out.",
      with: queued),
    .choice(
      "catchup", Trigger.Catchup.last, "Which missed slots to catch up on after no agent was running.", with: timed),
    Key(
      "catchupWindow", .duration(atLeast: .seconds(10)), "How late a slot may still start a run.", with: timed),
    Key("catchupLimit", .int(1...1000), "How many missed slots to catch up on.", with: timed),
    Key("jitter", .duration(), "How long a slot may be delayed, to spread the slots at random.", with: timed),
    .choice(
      "dstGap", CronExpression.DSTGap.shift, "How to handle a time that a clock change leaves out.", with: timed),
    .choice(
      "dstFold", CronExpression.DSTFold.first, "Which occurrence of a time counts if a clock change repeats it.",
      with: timed),
    Key("start", .instant, "The entry isn't due before this instant.", with: timed),
    Key("end", .instant, "The entry isn't due at this instant or later.", with: timed),
    Key("except", .texts, "Days to leave out, or an .ics file.", with: timed),
    Key(
      "pauseOnFailure", .bool, "Whether a failed run pauses the entry.", default: .bool(false), with: timed),
    Key("remainingRuns", .int(1...Int(Int32.max)), "How many slots may start a run.", with: timed),
    Key(
      "batch", .keys(.batch), "Gathers events, files or deliveries, and starts one run with all of them.",
      with: gathered),
    Key(
      "inputs", .object,
      "The inputs of the entry's runs; values may be computed from `run`, `now` and `event` (`events` with 'batch') when the slot is decided."
    ),
    Key("paused", .types(["boolean", "string"]), "Whether the entry is paused, or a note with the reason."),
  ])

  static let batch = KeySet([
    Key(
      "for", .duration(atLeast: .seconds(1)), "How long after its first item the batch starts the run, at most 7d.",
      isRequired: true),
    Key("max", .int(1...1000), "How many items make the batch start the run immediately.", default: .int(100)),
  ])

  static let calendar = KeySet([
    Key("minute", .cronField, "0 to 59; 0 if left out."),
    Key("hour", .cronField, "0 to 23; 0 if left out."),
    Key("dayOfMonth", .cronField, "1 to 31; L is the last day, L-1 the one before."),
    Key("month", .cronField, "1 to 12, or JAN to DEC."),
    Key("dayOfWeek", .cronField, "0 to 7, or SUN to SAT."),
  ])

  static let event = KeySet([
    Key("name", .text(), "The event's name.", isRequired: true),
    Key("type", .definition("type"), "The type of 'event.data'; any type if left out."),
    Key("match", .expression, "A condition on 'event'."),
  ])

  static let webhook = KeySet([
    Key(
      "path", .text(pattern: "^[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*$"),
      "The part of the address after /hooks/; default: the recipe's name and the entry's id."),
    Key("verify", .keys(.verify), "How to verify the sender of a delivery.", isRequired: true),
    Key("type", .definition("type"), "The type of the body, which is 'event.data'; default: any type."),
    Key("match", .expression, "A condition on 'event'."),
    Key(
      "headers", .texts,
      "The headers to put into 'event.headers', under these names."),
    Key(
      "id", .expression,
      "An expression for a delivery's id, from 'event.data' and 'event.headers'; with hmac, token and none."),
    Key(
      "dedupeFor", .duration(atLeast: .seconds(60)),
      "How long a delivery is remembered, so that it counts once; default 7d."),
    Key("signal", .text(), "Sends each delivery as this event to the run that waits for it, and starts no run."),
    Key("answer", .list(of: .definition("answer")), "The answers to requests; the first whose 'when' holds is sent."),
  ])

  static let answer = KeySet([
    Key("when", .expression, "A condition on 'event'; the entry answers each request if left out."),
    Key(
      "unsigned", .bool, "Answers a delivery before it is verified, as plain text; nothing is kept and nothing starts.",
      default: .bool(false)),
    Key(
      "get", .bool, "Answers a GET, as plain text; nothing is kept and nothing starts.", default: .bool(false)),
    Key(
      "within", .duration(atLeast: .seconds(1)),
      "How long to wait for the end of the run, at most 60s; if left out, the answer is sent at once."),
    Key("status", .types(["integer", "string"]), "The status, 200 to 599; 200 if left out."),
    Key(
      "body", .any,
      "The body: a text, or other values as JSON; it can use 'event', and with 'within' also 'outputs' and 'run'."),
    Key("type", .text(pattern: Webhook.Answer.typePattern), "The media type of the body."),
    Key("late", .keys(.lateAnswer), "The answer if the run doesn't succeed in time.", with: ["within"]),
  ])

  static let lateAnswer = KeySet([
    Key("status", .types(["integer", "string"]), "The status, 200 to 599; 202 if left out."),
    Key("body", .any, "The body; it can use 'event' and 'run'."),
  ])

  static let form = KeySet([
    Key(
      "path", .text(pattern: "^[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*$"),
      "The part of the address after /forms/; default: the recipe's name and the entry's id."),
    Key("title", .text(), "The heading; the recipe's summary if left out."),
    Key("text", .text(), "The text below the heading."),
    Key(
      "open", .choice(of: WebForm.Access.self), "Who may send it.", isRequired: true),
    Key(
      "fields", .map(names: "name", of: .definition("field"), isFilled: true),
      "What is asked for, which is 'event.data'; if left out, the recipe's inputs without secrets."),
    Key("match", .expression, "A condition on 'event'."),
    Key("limit", .keys(.formLimit), "How often it may be sent."),
    Key("done", .text(), "The text after it was sent; it can use 'event'."),
  ])

  static let formLimit = KeySet([
    Key("requests", .int(1...100_000), "How many times an address may send it in 'per'.", default: .int(10)),
    Key("per", .duration(atLeast: .seconds(1)), "The time for 'requests', at most 1d; 10m if left out."),
    Key("perDay", .int(1...1_000_000), "How many times all together may send it in 24 hours.", default: .int(500)),
  ])

  static let verify = KeySet([
    Key("standard", .texts, "The scheme of Standard Webhooks; a secret starts with whsec_ or whpk_.", isKind: true),
    Key("github", .texts, "The scheme of GitHub, with the header X-Hub-Signature-256.", isKind: true),
    Key("stripe", .texts, "The scheme of Stripe, with the header Stripe-Signature.", isKind: true),
    Key("hmac", .keys(.webhookHMAC), "HMAC-SHA256, with a header that you name.", isKind: true),
    Key("token", .keys(.webhookToken), "A header that contains the secret itself.", isKind: true),
    Key("none", .bool, "No check; works only if 'server' listens on this machine alone.", isKind: true),
    Key(
      "tolerance", .duration(atLeast: .seconds(1)),
      "How far the signed time may differ from the agent's clock; default 5m.",
      with: ["standard", "stripe", "hmac"]),
  ])

  static let webhookHMAC = KeySet([
    Key("secret", .texts, "The secret, or a list of accepted secrets.", isRequired: true),
    Key("header", .text(), "The header that contains the signature.", isRequired: true),
    .choice("encoding", Webhook.SignatureForm.Encoding.hex, "How the signature is written."),
    Key("prefix", .text(), "The text before the signature, such as sha256=."),
    Key("timestampHeader", .text(), "The header that contains the time, in seconds since 1970."),
    Key(
      "signed", .text(), "The text that is signed; default: {body}, or {timestamp}.{body} with a 'timestampHeader'."),
  ])

  static let webhookToken = KeySet([
    Key("header", .text(), "The header that contains the secret.", isRequired: true),
    Key("secret", .texts, "The secret, or a list of accepted secrets.", isRequired: true),
  ])

  static let file = KeySet([
    Key(
      "path", .text(), "The path of the files, relative to the folder of errand.yaml; `*` matches any part of a name.",
      isRequired: true),
    Key(
      "settle", .duration(atLeast: .milliseconds(100)),
      "How long a file must have stayed unchanged, at most 1d; 2s if left out."),
    .choice(
      "existing", Trigger.Existing.ignore, "Whether files that exist when the entry is first served start runs."),
  ])

  static let afterRecipe = KeySet([
    Key("recipe", .text(), "The other recipe's name.", isRequired: true),
    Key("status", .definition("ends"), "How the run must have ended; succeeded if left out."),
  ])
}

// MARK: Steps

extension KeySet {
  static let step = KeySet([
    Key("id", .name, "The step's id; later steps read its output as steps.ID."),
    Key("name", .text(), "The step's name in progress lines."),
    Key("if", .expression, "Skips the step unless the condition holds."),
    Key("forEach", .expression, "Runs the step for each item of a list.", with: ["uses", "steps", "call"]),
    Key("as", .name, "The name of the item in expressions; 'item' if left out.", with: ["forEach"]),
    Key("indexAs", .name, "The name of the item's number in expressions; it counts from 0.", with: ["forEach"]),
    Key("where", .expression, "Skips items that don't meet the condition.", with: ["forEach"]),
    Key("maxParallel", .int(1...1024), "How many items run at once.", default: .int(1), with: ["forEach"]),
    .choice(
      "onItemError", Loop.OnItemError.stop, "Whether the other items still run when one fails.", with: ["forEach"]),
    Key("else", .definition("caseOfSteps"), "The steps to run if the condition doesn't hold.", with: ["steps"]),
    Key(
      "onError",
      .when("array", then: .steps, else: .when("object", then: .keys(.errorHandling), else: .constant("continue"))),
      "Catches a failure: 'continue', steps that can use 'error', or a value that replaces the output.",
      with: ["uses", "steps", "switch", "call", "wait", "approve", "ask", "parallel"]),
    Key("retry", .definition("retry"), with: ["uses", "steps", "call"]),
    Key("timeout", .definition("timeout"), with: ["uses", "steps", "call", "wait", "approve", "ask"]),
    Key("uses", .any, isKind: true),
    Key("with", .object, "The action's input, or the called recipe's inputs.", with: ["uses", "call"]),
    Key(
      "connection", .text(), "The connection of errand.yaml to use instead of the one named after the plugin.",
      with: ["uses"]),
    Key("key", .text(), "The idempotency key, if the service honours one.", with: ["uses"]),
    Key(
      "repeat", .keys(.repetition), "Repeats the step until 'until' holds for 'result'.",
      with: ["uses", "steps", "call"]),
    Key(
      "shape", .map(of: .definition("type"), isFilled: true), "The types of the output's dyn fields.",
      with: ["uses"]),
    Key("let", .values, "Names values for the later steps of the block.", isKind: true),
    Key(
      "wait", .when("object", then: .keys(.wait), else: .either([.duration(), .definition("template")])),
      "Waits for a length of time, an instant or an event.", isKind: true),
    Key("approve", .keys(.approval), "Waits for a person's decision.", isKind: true),
    Key("ask", .keys(.ask), "Asks a person for values, and waits for the answer.", isKind: true),
    Key(
      "parallel", .map(names: "name", of: .steps, isFilled: true),
      "Named branches that run at the same time, each a list of steps.", isKind: true),
    Key("steps", .steps, "A block of steps with one loop, retry or handler around it.", isKind: true),
    Key(
      "outputs", .values,
      "The values that the block returns; if left out, an object with the values of its steps, by id.", with: ["steps"]),
    Key("switch", .expression, "A string, an int or a choice, whose value selects one of the cases.", isKind: true),
    Key(
      "cases", .map(of: .definition("caseOfSteps"), isFilled: true), "The steps to run for each value.",
      with: ["switch"]),
    Key("default", .definition("caseOfSteps"), "The steps to run for any other value.", with: ["switch"]),
    Key("call", .text(), "The path of another recipe, relative to this one's folder.", isKind: true),
    Key("fail", .text(), "Ends the run with this message.", isKind: true),
  ])

  static let caseOfSteps = KeySet([
    Key("steps", .list(of: .definition("step")), "The steps, which run one after another; [] does nothing."),
    Key(
      "outputs", .values,
      "The values that the case returns; if left out, an object with the values of its steps, by id."),
  ])

  static let errorHandling = KeySet([
    Key("steps", .steps, "The steps that handle the failure; they can use 'error'."),
    Key(
      "value", .when("object", then: .object, else: .definition("template")),
      "The value that replaces the step's output, of the same type; it can use 'error' and the ids of 'steps'."),
  ])

  static let retry = KeySet([
    Key("maxAttempts", .int(1...1000), "How many attempts to make, including the first.", default: .int(3)),
    Key("initial", .duration(), "The delay before the second attempt; 1s if left out."),
    Key("factor", .number(1...100), "How many times longer each further delay is.", default: .int(2)),
    Key("maxInterval", .duration(), "The longest delay between two attempts; 100s if left out."),
    .choice("jitter", RetrySchedule.Jitter.full, "How to shorten the delays between attempts at random."),
    Key("on", .list(of: .choice(of: ErrorKind.self)), "The kinds of errors to retry after."),
    Key("if", .expression, "A condition on 'error'; if it is false, the step isn't retried."),
  ])

  static let timeout = KeySet([
    Key("attempt", .duration(atLeast: .milliseconds(1)), "How long one attempt may take."),
    Key("total", .duration(atLeast: .milliseconds(1)), "How long all attempts together may take."),
  ])

  static let repetition = KeySet([
    Key(
      "until", .expression, "A condition on 'result' and the carried values, checked after each round.",
      isRequired: true),
    Key(
      "carry", .map(names: "name", isFilled: true),
      "The values that each round passes to the next, by name: a first value, or {type, first}."),
    Key("next", .values, "The carried values that change for the next round."),
    Key("collect", .expression, "The list of items to collect from the round's 'result'."),
    Key(
      "every", .duration(atLeast: .milliseconds(1)),
      "How long to wait before the next round; optional with 'carry' or 'collect'."),
    Key("factor", .number(1...100), "How many times longer each further wait is.", default: .int(1)),
    Key("maxEvery", .duration(), "The longest wait between two rounds."),
    Key("jitter", .duration(), "How much longer or shorter a wait may be, at random."),
    Key("timeout", .duration(atLeast: .milliseconds(1)), "How long the step may repeat before it fails as timedOut."),
    Key(
      "maxRounds", .int(1...Int(Int32.max)),
      "How many rounds may run before the step fails as timedOut; without 'every', 1000 if left out."),
  ])

  static let carried = KeySet([
    Key("type", .definition("type")),
    Key("first", .any, "The value in the first round; if left out, it is absent, and the type must end in '?'."),
  ])

  static let wait = KeySet([
    Key("until", .expression, "The instant to wait for.", isKind: true),
    Key("event", .text(), "The event's name.", isKind: true),
    Key("type", .definition("type"), "The type of 'event.data'; any type if left out.", with: ["event"]),
    Key("match", .expression, "A condition on 'event'.", with: ["event"]),
    Key("timeout", .duration(atLeast: .milliseconds(1)), "How long to wait at most.", with: ["event"]),
    Key("onTimeout", .definition("onTimeout"), with: ["event"]),
  ])

  /// A field of a question, declared as an input is, and never a secret.
  static let field = KeySet(input.keys.filter { $0.name != "secret" })

  /// A question for values, which can't be refused: it has no `no`.
  static let ask = KeySet(
    question.filter { $0.name != "no" } + [
      Key(
        "fields", .map(names: "name", of: .definition("field"), isFilled: true),
        "The values to give: 1 to 40 fields, declared as inputs are. A type that ends in '?' may be left out, and a default may be computed.",
        isRequired: true)
    ])

  static let approval = KeySet(
    question + [
      .choice(
        "onReject", Approval.OnReject.end,
        "Whether a no ends the run as rejected, or only makes steps.ID.approved false.")
    ])

  /// The keys of every step that asks a person.
  static let question = [
    Key("prompt", .text(), "The question to the person.", isRequired: true),
    Key("by", .texts, "Who may decide or answer; anyone if left out."),
    Key("yes", .text(), "The consequence of a yes or an answer, for the person who gives it."),
    Key("no", .text(), "The consequence of a no, for the person who decides."),
    Key(
      "link", .when("object", then: .keys(.questionLink), else: .bool),
      "Whether to show the address of the question's page, or how long the links of 'tell' are valid.",
      default: .bool(false)),
    Key(
      "tell", .steps,
      "Steps that run once the question is asked, to send people its links; they can use 'question'."),
    Key("timeout", .duration(atLeast: .milliseconds(1)), "How long to wait at most."),
    Key("onTimeout", .definition("onTimeout")),
  ]

  static let questionLink = KeySet([
    Key(
      "for", .duration(atLeast: .seconds(60)),
      "How long a link carries the right to answer, at most 30d; if left out, as long as the question is open.",
      isRequired: true)
  ])
}

extension Form {
  fileprivate static let cronField = Form.definition("cronField")
}

/// How a run can end.
enum EndedStatus: String, CaseIterable {
  case succeeded, failed, timedOut, cancelled, rejected, skipped
}

/// The definitions of the schema of recipes that follow from declarations.
let recipeDefinitionKeys = [
  Key("recipe", .keys(.recipe)),
  Key("input", .when("object", then: .keys(.input), else: .definition("type"))),
  Key("field", .when("object", then: .keys(.field), else: .definition("type"))),
  Key("trigger", .keys(.trigger)),
  Key("answer", .keys(.answer)),
  Key("ends", .either([.definition("end"), .list(of: .definition("end"))]), "How a run ended."),
  Key("end", .choice(of: EndedStatus.self), "How a run ended."),
  Key("retry", .keys(.retry), "When and how often a failed step is retried."),
  Key(
    "timeout", .either([.duration(atLeast: .milliseconds(1)), .keys(.timeout)]),
    "How long a step may take, with all its attempts."),
  .choice("onTimeout", OnTimeout.fail, "Whether the step fails or the run continues when the time has run out."),
  Key("step", .keys(.step)),
  Key(
    "caseOfSteps", .when("array", then: .list(of: .definition("step")), else: .keys(.caseOfSteps)),
    "A list of steps, or steps with outputs."),
]
