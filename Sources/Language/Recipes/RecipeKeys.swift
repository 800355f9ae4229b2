// The keys of recipes.
import ActionKit
import Basics
import Calendars

extension KeySet {
  static let recipe = KeySet([
    Key("recipe", .text(pattern: "^[A-Za-z0-9_-]{1,100}$"), "The name; the file's stem if left out."),
    Key("summary", .text(), "One sentence that says what the recipe is for."),
    Key("inputs", .map(names: "name", of: .definition("input")), "The values that the recipe is started with."),
    Key("on", .list(of: .definition("trigger")), "The triggers that start the recipe."),
    Key("zone", .zone),
    Key("defaults", .keys(.defaults), "Defaults for steps that don't set their own."),
    Key(
      "concurrencyGroup", .keys(.concurrencyGroup), "Runs of all recipes that name the same group share its limit."),
    Key(
      "queue", .text(pattern: QueueName.pattern),
      "The queue of its runs, where several machines share the state: only machines that take from it run them; default if left out."
    ),
    Key(
      "mcp", .bool, "Whether the recipe is a tool of assistants that speak MCP; see docs/assistants.md.",
      default: .bool(false)),
    Key("steps", .steps, isRequired: true),
    Key("outputs", .values, "The values that the recipe returns."),
    Key("onFailure", .steps, "Run when a step failed and nothing caught it; they see 'error'."),
    Key("finally", .steps, "Run at the end, however the run ended."),
  ])

  static let defaults = KeySet([Key("retry", .definition("retry")), Key("timeout", .definition("timeout"))])

  static let concurrencyGroup = KeySet([
    Key("name", .text(), "The group's name, by which other recipes join it.", isRequired: true),
    Key("limit", .int(1...10_000), "How many runs may be open at once.", default: .int(1)),
    .choice("onLimit", Recipe.ConcurrencyGroup.OnLimit.queue, "What to do with a run beyond the limit."),
  ])

  static let input = KeySet([
    Key("type", .definition("type"), isRequired: true),
    Key("summary", .text(), "One sentence that says what the input is."),
    Key("default", .any, "The value if the input is left out; an input without a default is required."),
    Key("choices", .list(of: .text(), isFilled: true), "The texts that it may be."),
    Key("min", .types(["number", "string"]), "The least value."),
    Key("max", .types(["number", "string"]), "The greatest value."),
    Key("pattern", .text(), "A regular expression in RE2's syntax, which all of it has to match."),
    Key(
      "secret", .bool, "Whether it is given by a secret's name, and never shown or stored.", default: .bool(false)),
  ])
}

// MARK: Triggers

extension KeySet {
  /// The triggers that are due at times.
  static let timed = ["cron", "every", "at", "calendar"]
  /// The kinds of entries that have a policy for open runs.
  static let queued = timed + ["webhook"]
  /// The kinds of entries that can gather several events or files.
  static let gathered = ["event", "file", "webhook"]

  static let trigger = KeySet([
    Key(
      "cron", .text(pattern: #"^\s*(@[A-Za-z]+|\S+(\s+\S+){4})\s*$"#),
      "Minute, hour, day of the month, month, day of the week.", isKind: true),
    Key("every", .duration(atLeast: .seconds(1)), "How far apart the slots are, such as 6h.", isKind: true),
    Key("at", .instant, "The one instant that it is due at.", isKind: true),
    Key("calendar", .keys(.calendar), "Days and times; all of the fields have to match.", isKind: true),
    Key("webhook", .keys(.webhook), "Due when a delivery is posted to its address.", isKind: true),
    Key("event", .either([.text(), .keys(.event)]), "Due when an event comes that no run waits for.", isKind: true),
    Key(
      "afterRecipe", .either([.text(), .keys(.afterRecipe)]), "Due when a run of another recipe has ended.",
      isKind: true),
    Key("file", .either([.text(), .keys(.file)]), "Due when a file comes or changes.", isKind: true),
    Key("id", .name, "What tells it from the other entries."),
    Key("from", .instant, "The instant from which 'every' counts.", with: ["every"]),
    Key("zone", .zone, with: timed),
    .choice(
      "overlap", Trigger.Overlap.skip,
      "What to do with a slot that is due while a run of the schedule is open; with 'webhook' bufferAll if left out.",
      with: queued),
    .choice(
      "catchup", Trigger.Catchup.last, "Which missed slots to make up for after no agent was running.", with: timed),
    Key(
      "catchupWindow", .duration(atLeast: .seconds(10)), "How late a slot may still start a run.", with: timed),
    Key("catchupLimit", .int(1...1000), "How many slots are made up for.", with: timed),
    Key("jitter", .duration(), "How far the slots are spread, by chance.", with: timed),
    .choice(
      "dstGap", CronExpression.DSTGap.shift, "What to do with a time that a clock change leaves out.", with: timed),
    .choice(
      "dstFold", CronExpression.DSTFold.first, "Which one counts of a time that a clock change repeats.", with: timed),
    Key("start", .instant, "Nothing is due before it.", with: timed),
    Key("end", .instant, "Nothing is due from then on.", with: timed),
    Key("except", .texts, "Days that are left out, or an .ics file.", with: timed),
    Key(
      "pauseOnFailure", .bool, "Whether a run that fails pauses the entry.", default: .bool(false), with: timed),
    Key("remainingRuns", .int(1...Int(Int32.max)), "How many slots may start a run.", with: timed),
    Key(
      "batch", .keys(.batch), "Gathers events, files or deliveries, and starts one run with all of them.",
      with: gathered),
    Key(
      "inputs", .object,
      "What its runs are given; values may be computed from `run`, `now` and `event` (`events` with 'batch') when the slot is decided."
    ),
    Key("paused", .types(["boolean", "string"]), "Whether it is paused, or a note that says why it is."),
  ])

  static let batch = KeySet([
    Key(
      "for", .duration(atLeast: .seconds(1)), "How long after the first the run starts, at most 7d.",
      isRequired: true),
    Key("max", .int(1...1000), "How many start the run at once.", default: .int(100)),
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
    Key("type", .definition("type"), "The type of 'event.data'; anything if left out."),
    Key("match", .expression, "A condition on 'event'."),
  ])

  static let webhook = KeySet([
    Key(
      "path", .text(pattern: "^[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*$"),
      "The part of the address after /hooks/; default: the recipe's name and the entry's id."),
    Key("verify", .keys(.verify), "How deliveries prove who sent them.", isRequired: true),
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
    Key("secret", .texts, "The secret, or a list of secrets, each of which is accepted.", isRequired: true),
    Key("header", .text(), "The header that contains the signature.", isRequired: true),
    .choice("encoding", Webhook.SignatureForm.Encoding.hex, "How the signature is written."),
    Key("prefix", .text(), "The text before the signature, such as sha256=."),
    Key("timestampHeader", .text(), "The header that contains the time, in seconds since 1970."),
    Key(
      "signed", .text(), "The text that is signed; default: {body}, or {timestamp}.{body} with a 'timestampHeader'."),
  ])

  static let webhookToken = KeySet([
    Key("header", .text(), "The header that contains the secret.", isRequired: true),
    Key("secret", .texts, "The secret, or a list of secrets, each of which is accepted.", isRequired: true),
  ])

  static let file = KeySet([
    Key(
      "path", .text(), "The files, from the folder of errand.yaml; `*` stands for any part of a name.",
      isRequired: true),
    Key(
      "settle", .duration(atLeast: .milliseconds(100)),
      "How long a file must have stayed unchanged, at most 1d; 2s if left out."),
    .choice(
      "existing", Trigger.Existing.ignore, "Whether files that are there when the entry is first served start runs."),
  ])

  static let afterRecipe = KeySet([
    Key("recipe", .text(), "The other recipe's name.", isRequired: true),
    Key("status", .definition("ends"), "How the run must have ended; succeeded if left out."),
  ])
}

// MARK: Steps

extension KeySet {
  static let step = KeySet([
    Key("id", .name, "The name under which later steps see its output, as steps.ID."),
    Key("name", .text(), "What progress lines call the step."),
    Key("if", .expression, "Skips the step unless the condition holds."),
    Key("forEach", .expression, "Runs the step for each item of a list.", with: ["uses", "steps", "call"]),
    Key("as", .name, "What the item is called; 'item' if left out.", with: ["forEach"]),
    Key("indexAs", .name, "What the item's number is called, from 0.", with: ["forEach"]),
    Key("where", .expression, "Skips items for which the condition doesn't hold.", with: ["forEach"]),
    Key("maxParallel", .int(1...1024), "How many items run at once.", default: .int(1), with: ["forEach"]),
    .choice(
      "onItemError", Loop.OnItemError.stop, "Whether the other items run when one fails.", with: ["forEach"]),
    Key("else", .definition("caseOfSteps"), "What runs if the condition doesn't hold.", with: ["steps"]),
    Key(
      "onError",
      .when("array", then: .steps, else: .when("object", then: .keys(.errorHandling), else: .constant("continue"))),
      "Catches a failure: 'continue', steps that see 'error', or a value to give instead.",
      with: ["uses", "steps", "switch", "call", "wait", "approve", "parallel"]),
    Key("retry", .definition("retry"), with: ["uses", "steps", "call"]),
    Key("timeout", .definition("timeout"), with: ["uses", "steps", "call", "wait", "approve"]),
    Key("uses", .any, isKind: true),
    Key("with", .object, "The action's input, or the called recipe's inputs.", with: ["uses", "call"]),
    Key(
      "connection", .text(), "Another connection of errand.yaml than the one named after the plugin.", with: ["uses"]),
    Key("key", .text(), "The idempotency key, where the service honours one.", with: ["uses"]),
    Key(
      "repeat", .keys(.repetition), "Repeats the step until 'until' holds for 'result'.",
      with: ["uses", "steps", "call"]),
    Key(
      "shape", .map(of: .definition("type"), isFilled: true), "The types of the output's fields that are dyn.",
      with: ["uses"]),
    Key("let", .values, "Names for values, for the later steps of the block.", isKind: true),
    Key(
      "wait", .when("object", then: .keys(.wait), else: .either([.duration(), .definition("template")])),
      "Waits for a length of time, an instant or an event.", isKind: true),
    Key("approve", .keys(.approval), "Waits for a person's decision.", isKind: true),
    Key(
      "parallel", .map(names: "name", of: .steps, isFilled: true),
      "Named branches, each a list of steps, which run at once.", isKind: true),
    Key("steps", .steps, "A block of steps with one loop, retry or handler around it.", isKind: true),
    Key("outputs", .values, "The values that the block returns; the object of its ids if left out.", with: ["steps"]),
    Key("switch", .expression, "A string, an int or a choice, of which each value has a case.", isKind: true),
    Key(
      "cases", .map(of: .definition("caseOfSteps"), isFilled: true), "What runs for each value.", with: ["switch"]),
    Key("default", .definition("caseOfSteps"), "What runs for any other value.", with: ["switch"]),
    Key("call", .text(), "The path of another recipe, from this one's folder.", isKind: true),
    Key("fail", .text(), "Ends the run with this message.", isKind: true),
  ])

  static let caseOfSteps = KeySet([
    Key("steps", .list(of: .definition("step")), "The steps, which run one after another; [] does nothing."),
    Key("outputs", .values, "The values that the case returns; the object of its ids if left out."),
  ])

  static let errorHandling = KeySet([
    Key("steps", .steps, "Steps that see 'error'."),
    Key(
      "value", .when("object", then: .object, else: .definition("template")),
      "What the step gives instead, of the same type; it sees 'error' and the ids of 'steps'."),
  ])

  static let retry = KeySet([
    Key("maxAttempts", .int(1...1000), "Counts the first try.", default: .int(3)),
    Key("initial", .duration(), "How long before the second try; 1s if left out."),
    Key("factor", .number(1...100), "How much longer before each further try.", default: .int(2)),
    Key("maxInterval", .duration(), "The longest time between two tries; 100s if left out."),
    .choice("jitter", RetrySchedule.Jitter.full, "How chance shortens the time between tries."),
    Key("on", .list(of: .choice(of: ErrorKind.self)), "The kinds of errors that are worth a try."),
    Key("if", .expression, "A condition on 'error'; if it is false, the step isn't tried again."),
  ])

  static let timeout = KeySet([
    Key("attempt", .duration(atLeast: .milliseconds(1)), "How long one try may take."),
    Key("total", .duration(atLeast: .milliseconds(1)), "How long all tries may take."),
  ])

  static let repetition = KeySet([
    Key(
      "until", .expression, "A condition on 'result' and the carried values, asked after each round.", isRequired: true),
    Key(
      "carry", .map(names: "name", isFilled: true),
      "Values that each round hands to the next, by name: a first value, or {type, first}."),
    Key("next", .values, "The carried values of the next round that differ."),
    Key("collect", .expression, "A list of what to gather from the round's 'result'."),
    Key(
      "every", .duration(atLeast: .milliseconds(1)),
      "How long to wait before the next round; with 'carry' or 'collect' it may be left out."),
    Key("factor", .number(1...100), "How much longer each time.", default: .int(1)),
    Key("maxEvery", .duration(), "The longest time between two rounds."),
    Key("jitter", .duration(), "How much longer or shorter, by chance."),
    Key("timeout", .duration(atLeast: .milliseconds(1)), "How long before it fails as timedOut."),
    Key(
      "maxRounds", .int(1...Int(Int32.max)), "How many rounds before it fails as timedOut; 1000 without 'every'."),
  ])

  static let carried = KeySet([
    Key("type", .definition("type")),
    Key("first", .any, "The value of the first round; absent if left out, for which the type ends in '?'."),
  ])

  static let wait = KeySet([
    Key("until", .expression, "The instant.", isKind: true),
    Key("event", .text(), "The event's name.", isKind: true),
    Key("type", .definition("type"), "The type of 'event.data'; anything if left out.", with: ["event"]),
    Key("match", .expression, "A condition on 'event'.", with: ["event"]),
    Key("timeout", .duration(atLeast: .milliseconds(1)), "How long at most.", with: ["event"]),
    Key("onTimeout", .definition("onTimeout"), with: ["event"]),
  ])

  static let approval = KeySet([
    Key("prompt", .text(), "The question that the person is asked.", isRequired: true),
    Key("by", .texts, "Who may decide; anyone if left out."),
    Key(
      "link", .bool, "Whether to show the address of the decision's page with the question.", default: .bool(false)),
    Key("timeout", .duration(atLeast: .milliseconds(1)), "How long at most."),
    Key("onTimeout", .definition("onTimeout")),
    .choice(
      "onReject", Approval.OnReject.end, "Whether a no ends the run as rejected, or steps.ID.approved tells."),
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
  Key("trigger", .keys(.trigger)),
  Key("ends", .either([.definition("end"), .list(of: .definition("end"))]), "How a run ended."),
  Key("end", .choice(of: EndedStatus.self), "How a run ended."),
  Key("retry", .keys(.retry), "When and how often it is tried again if it fails."),
  Key(
    "timeout", .either([.duration(atLeast: .milliseconds(1)), .keys(.timeout)]),
    "How long it may take, with all its tries."),
  .choice("onTimeout", OnTimeout.fail, "What happens when the time has run out."),
  Key("step", .keys(.step)),
  Key(
    "caseOfSteps", .when("array", then: .list(of: .definition("step")), else: .keys(.caseOfSteps)),
    "A list of steps, or steps with outputs."),
]
