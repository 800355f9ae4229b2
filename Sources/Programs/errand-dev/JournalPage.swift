import Basics
import RunState

// The reference page of the journal's events. The table of their members is read from the declarations of the records:
// the page is generated from an example of each event, which therefore must have every member.

private let introduction = """
  # The journal

  The file `journal-….jsonl` of a state folder holds a header, a line for each event, and a commit line after each batch.
  [`Journal.swift`](../Sources/Runtime/RunState/Journal.swift) explains the lines that are not events, and how Errand
  finds damage. Every event begins with its number, `n`, and its name, `event`. Folding the events in their order gives
  the state ([`State.swift`](../Sources/Runtime/RunState/State.swift)).

  Instants are RFC 3339 texts, and lengths of time are texts such as `1.5s`. A value is plain JSON; a value of a type that
  JSON lacks is an object with one member whose name begins with `$`
  ([`StoredValue.swift`](../Sources/Runtime/RunState/StoredValue.swift)). A value above 64 KiB is written as
  `{"$blob": {"sha256": …, "size": …}}`, and its content is in a file of `blobs/`. Members are written in the order of the
  tables.

  """

/// The page.
func journalPage() throws(ToolError) -> String {
  var page = introduction
  var table = MemberTable()
  for kind in StateEvent.Kind.allCases {
    let (summary, line) = try example(of: kind)
    page += "\n## `\(kind.rawValue)`\n\n\(summary)\n\n```json\n\(line)\n```\n\n"
    page += try table.section(of: try event(in: line, of: kind))
  }
  page += "\n## Records within events\n"
  for (name, section) in table.records { page += "\n### \(name)\n\n\(section)" }
  return page
}

/// The record of an example, which has to be what its event writes.
private func event(in line: String, of kind: StateEvent.Kind) throws(ToolError) -> any Record {
  do {
    let event = try StateEvent(reading: try JSON.parse(Array(line.utf8)))
    let text = try JSON.text(event.encoded())
    guard text == line else { throw ToolError("the example of '\(kind.rawValue)' is written as \(text)") }
    // An event is an enumeration's case with its record.
    if let record = Mirror(reflecting: event).children.first?.value as? any Record { return record }
  } catch let error as RecordError {
    throw ToolError("the example of '\(kind.rawValue)' cannot be read: \(error.message)")
  } catch {
    throw (error as? ToolError) ?? ToolError("the example of '\(kind.rawValue)': \(error)")
  }
  throw ToolError("'\(kind.rawValue)' has no record")
}

/// Notes the members of a record as a table's rows, and of the records in it as tables of their own.
private struct MemberTable: MemberCoder {
  private var rows = ""
  /// The records in the examples, in the order of their first use.
  private(set) var records: [(name: String, section: String)] = []

  mutating func section<Described: Record>(of record: Described) throws(ToolError) -> String {
    let outer = rows
    defer { rows = outer }
    rows = "| Member | Holds | Left out |\n| --- | --- | --- |\n"
    _ = try Described(coding: &self, of: record)
    return rows
  }

  mutating func callAsFunction<Member: Recordable>(_ name: String, _ member: Member?) throws(ToolError) -> Member {
    guard let member else { throw ToolError("an example lacks '\(name)', which every record has") }
    try note(name, member, "")
    return member
  }

  mutating func callAsFunction<Member: Recordable>(_ name: String, _ member: Member?) throws(ToolError) -> Member? {
    guard let member else { throw ToolError("the example of a record lacks '\(name)'") }
    try note(name, member, "if there is none")
    return member
  }

  mutating func callAsFunction<Member: Recordable & Equatable>(
    _ name: String, _ member: Member?, default: @autoclosure () -> Member
  ) throws(ToolError) -> Member {
    let standard = `default`()
    guard let member, member != standard else { throw ToolError("the example of a record lacks '\(name)'") }
    let text = (try? JSON.text(standard.encoded())) ?? ""
    try note(name, member, "if \(["[]", "{}"].contains(text) ? "empty" : "`\(text)`")")
    return member
  }

  private mutating func note<Member: Recordable>(
    _ name: String, _ member: Member, _ absence: String
  ) throws(ToolError) {
    rows += "| `\(name)` | \(form(of: Member.self)) | \(absence) |\n"
    guard let record = ((member as? any Container)?.first ?? member) as? any Record else { return }
    let name = "\(type(of: record))"
    if records.contains(where: { $0.name == name }) { return }
    let place = records.count
    // A record's place comes before the places of the records in it.
    records.append((name, ""))
    records[place].section = try section(of: record)
  }
}

/// Something that holds members of one kind.
private protocol Container {
  static var form: (name: String, element: any Recordable.Type) { get }
  var first: (any Recordable)? { get }
}

extension Array: Container where Element: Recordable {
  fileprivate static var form: (name: String, element: any Recordable.Type) { ("list of", Element.self) }
  fileprivate var first: (any Recordable)? { isEmpty ? nil : self[0] }
}

extension Dictionary: Container where Key == String, Value: Recordable {
  fileprivate static var form: (name: String, element: any Recordable.Type) { ("object, by name, of", Value.self) }
  fileprivate var first: (any Recordable)? { values.first }
}

/// The form of a member's value, in words.
private func form(of type: any Recordable.Type) -> String {
  switch type {
  case is String.Type: return "text"
  case is Int.Type: return "number"
  case is Bool.Type: return "`true` or `false`"
  case is Timestamp.Type: return "instant"
  case is TimeSpan.Type: return "length of time"
  case is Value.Type, is StoredValue.Type: return "value"
  case let type as any Container.Type: return "\(type.form.name) \(form(of: type.form.element))"
  case let type as any CaseIterable.Type: return names(of: type).map { "`\($0)`" }.joined(separator: ", ")
  default: return "[\(type)](#\("\(type)".lowercased()))"
  }
}

private func names<Cases: CaseIterable>(of type: Cases.Type) -> [String] { type.allCases.map { "\($0)" } }

/// A sentence about each event and, in the line below it, an example that has every member.
private let examples = {
  let run = #""run":"019a9fd5-0000-7000-8000-000000000001","at":"2026-11-20T09:00:00Z""#
  let error =
    #"{"kind":"timeout","message":"timed out after 30s","detail":"no answer","status":504,"step":"put","attempt":2,"file":"recipes/averages.yaml","line":12,"column":5,"retryable":true,"retryAfter":"1.5s","effect":"unknown","cause":{"kind":"network","message":"the connection broke","retryable":true,"effect":"none"}}"#
  let key =
    #"{"key":"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","caller":"token:ada","request":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"}"#
  let resolution =
    #"{"choice":"retry","by":"ada","at":"2026-11-20T09:00:00Z","doubt":"the program stopped during the attempt","key":\#(key)}"#
  let link =
    #"{"name":"ada","sha256":"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","round":1,"until":"2026-11-27T09:00:00Z"}"#
  return #"""
    A run was accepted. `zone` is the zone of errand.yaml at that time, for recipes that name none. `needs` and `queue` say which of several programs that share a database may claim the run.
    {"event":"runCreated",\#(run),"recipe":"averages","file":"recipes/averages.yaml","folder":"/home/ada/school","texts":{"recipes/averages.yaml":"steps: []\n"},"inputs":{"markbook":5},"overrides":{"connections.markbook.baseURL":"http://127.0.0.1:8080"},"sandbox":false,"program":"errand 0.2","language":2,"cause":{"kind":"event","schedule":"averages/handed-in","slot":"2026-11-20T09:00:00Z","event":"e-7","path":"inbox/a.csv","run":"019a9fd5-0000-7000-8000-000000000000","by":"ci","isToken":true,"assistant":"scribe"},"group":{"name":"markbook","limit":1,"onLimit":"queue"},"attempt":2,"key":{"key":"2026-11","caller":"ada","request":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"},"zone":"Europe/Berlin","base":"https://errand.example.org","needs":["plugin:markbook","secret:MARKBOOK_KEY"],"queue":"nightly"}
    One of several programs that share a database claimed a run. `epoch` counts the claims of the run. `isTakeover` says that the run was under way, and `isSuspect` that the previous program crashed. The journal of a folder has no such event.
    {"event":"runClaimed",\#(run),"worker":"lab-3","epoch":2,"isTakeover":true,"isSuspect":true}
    A run began, continued, or stopped before its end. `lacking` says that a paused run continues as soon as its missing dependency is there.
    {"event":"runStatusChanged",\#(run),"status":"waiting","reason":"waits for approval","wakeAt":"2026-11-21T09:00:00Z","lacking":true}
    A person or a program asked to cancel a run. `key`, here and in decisions and resolutions, holds the digest of the request's key.
    {"event":"cancelRequested",\#(run),"reason":"wrong class","by":"ada","key":\#(key)}
    A step began, or began again. `now` is the instant that its expressions see, `items` the list of a `forEach`, `case` the case that a step with `else` or `switch` chose. With `attempt`, an attempt begins too, as with `attemptBegan`; then `status` is left out if it is `running`, and `key` if it is the run's id, a slash and the step.
    {"event":"stepBegan",\#(run),"step":"put","now":"2026-11-20T09:00:00Z","attempt":1,"baseline":{"mark":4},"plainWrite":true,"status":"queued","key":"019a9fd5/put","items":[1,2],"resolution":\#(resolution),"case":"else"}
    An attempt is about to be made; the event is durable before anything is sent. `baseline` is the content that a write looked up first; `plainWrite` says that a second attempt without its key would write a second time. For a round of a repeated step, `carried` holds the carried values of the round, and `collected` holds the lists that earlier rounds collected and no event holds yet.
    {"event":"attemptBegan",\#(run),"step":"put","number":1,"baseline":{"mark":4},"plainWrite":true,"carried":{"page":2},"collected":[["a","b"]]}
    An attempt ended. With `retryAt`, another attempt follows. `answer` is the answer to a write whose step has a `shape`, before the answer is checked.
    {"event":"attemptEnded",\#(run),"step":"put","number":1,"error":\#(error),"retryAt":"2026-11-20T09:00:02Z","exchanges":[{"method":"PUT","url":"https://markbook.example/results/1","status":504}],"answer":{"body":{"id":7}}}
    A step ended, became uncertain, or was resolved. `now` is there if the step never began. With `attempt`, an attempt succeeded too, and made the requests in `exchanges`; then `status` is left out if it is `succeeded`.
    {"event":"stepEnded",\#(run),"step":"put","now":"2026-11-20T09:00:00Z","attempt":1,"status":"failed","output":{"mark":5},"error":\#(error),"exchanges":[{"method":"PUT","url":"https://markbook.example/results/1","status":200}],"resolution":\#(resolution)}
    A run ended, and moves to the history with the next snapshot.
    {"event":"runEnded",\#(run),"status":"failed","outputs":{"average":4.5},"error":\#(error)}
    An action recorded a value for later steps of its run. The event fits only if `condition` matches the previous value.
    {"event":"runNoted",\#(run),"name":"markbook/session","value":"s-1","condition":{"value":"s-0"}}
    A run that several machines may continue has a new need: the files of a machine and a folder, or a secret that one of its values refers to.
    {"event":"runPlaced",\#(run),"home":"lab-1:/srv/school","needs":["secret:MARKBOOK_TOKEN"]}
    A stored value was set, by the step that `change` names. The event fits only if `condition` matches the previous value.
    {"event":"valueSet","at":"2026-11-20T09:00:00Z","name":"last","value":7,"condition":{"value":6},"change":{"run":"019a9fd5-0000-7000-8000-000000000001","step":"remember"}}
    A stored value was removed.
    {"event":"valueRemoved","at":"2026-11-20T09:00:00Z","name":"last","condition":{"value":7},"change":{"run":"019a9fd5-0000-7000-8000-000000000001","step":"forget"}}
    A step began to wait, or now waits for something else. `question` holds what a question says beside its text, and the SHA-256 of each link that carries a person's right to answer it; the text of a link isn't kept. `fields` holds the declarations of the values that an `ask` asks for.
    {"event":"stepWaits",\#(run),"step":"ask","now":"2026-11-20T09:00:00Z","wait":{"kind":"approval","wakeAt":"2026-11-21T09:00:00Z","event":"handed-in","prompt":"Send the marks?","by":["ada"],"url":"https://errand.example.org/approvals/r1/ask","fields":{"room":{"type":"string"}},"rounds":3,"limit":"'shop' allows 60 requests in 1m","since":"2026-11-20T09:00:00Z","question":{"yes":"Sends them.","no":"Keeps them.","next":["mail (mail.send)"],"goesOnAfterNo":true,"goesOnAfterTimeout":true,"summary":"Sends the marks.","linkFor":"604800s","links":[\#(link)],"round":1}}}
    A person gave a decision on a step that asks for one (`approve`). The first one counts. `via` says how it came, and `link` holds the SHA-256 of the link that it came by.
    {"event":"decisionGiven","run":"019a9fd5-0000-7000-8000-000000000001","step":"ask","decision":{"isApproved":true,"by":"ada","at":"2026-11-20T09:00:00Z","comment":"checked","via":"link","link":"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","key":\#(key)}}
    A person answered a step that asks for values (`ask`). The event fits only while the step asks. `fields` holds the values by name.
    {"event":"answerGiven","run":"019a9fd5-0000-7000-8000-000000000001","step":"room","decision":{"isApproved":true,"fields":{"room":"B12","seats":30},"by":"ada","at":"2026-11-20T09:00:00Z","comment":"the one with the piano","via":"link","link":"2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae","key":\#(key)}}
    A link that carries a person's right to answer a question was made.
    {"event":"linkMade",\#(run),"step":"ask","link":\#(link)}
    Links to a question were ended before it was.
    {"event":"linksEnded",\#(run),"step":"ask","links":["2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae"],"by":"ada"}
    An event was received. No id is received twice. For a delivery to a webhook or a form, `delivery` holds the schedule that may consume it, its named headers and its query, the digests that distinguish it from others, the instant when Errand forgets them, the reason why its body can't be read, and the earlier delivery that it repeats, if any.
    {"event":"eventReceived","id":"e-7","name":"handed-in","data":{"pupil":3},"run":"019a9fd5-0000-7000-8000-000000000001","receivedAt":"2026-11-20T09:00:00Z","consumedBy":"averages/handed-in","delivery":{"schedule":"averages/handed-in","keys":["5f2c0a6e0d4b7c1a9e83f1d2b4a69788"],"until":"2026-11-27T09:00:00Z","headers":{"X-GitHub-Event":"push"},"query":{"from":"hub"},"fault":"the body isn't valid JSON in line 1, column 2: expected a value","repeats":"averages/handed-in:e-6"}}
    A run or a schedule consumed an event; the consequences are in the same batch.
    {"event":"eventConsumed","at":"2026-11-20T09:00:00Z","id":"e-7","by":"averages/handed-in"}
    Errand forgot events that were old enough.
    {"event":"eventsForgotten","at":"2026-11-20T09:00:00Z","ids":["e-7"]}
    A schedule added an event or a file to its batch. `due` says when the batch starts a run at the latest; the `due` of the first event counts. The slot that is decided for the first event ends the batch.
    {"event":"eventGathered","at":"2026-11-20T09:00:00Z","schedule":"averages/handed-in","id":"file-1f","due":"2026-11-20T09:10:00Z","file":{"path":"inbox/a.csv","bytes":120,"modifiedAt":"2026-11-20T08:59:58Z","at":"2026-11-20T09:00:00Z"}}
    A person dismissed the failures of a group that ended up to `until`. The group is listed again when it fails again.
    {"event":"failureDismissed","at":"2026-11-20T09:00:00Z","group":"3fa91c05d2b7e684","recipe":"averages","until":"2026-11-20T08:55:00Z","by":"ann","note":"the school's server was being repaired"}
    A schedule saw versions of files, which don't start a run again. The event comes with the slot of a file, or with the schedule's first look, which ignores the files that are there. The schedule forgets the files in `gone`.
    {"event":"filesSeen","at":"2026-11-20T09:00:00Z","schedule":"import/inbox","pattern":"inbox/*.csv","files":{"inbox/a.csv":{"bytes":120,"modifiedAt":"2026-11-20T08:59:58Z"}},"gone":["inbox/b.csv"]}
    A schedule was added or changed. `spec` decides its slots; `language` is the version of the recipe language for reading `texts`; `processedUntil` moves its mark.
    {"event":"scheduleSet","at":"2026-11-20T09:00:00Z","schedule":"averages/daily","recipe":"averages","file":"recipes/averages.yaml","spec":"cron 0 9 * * * UTC","texts":{"recipes/averages.yaml":"steps: []\n"},"language":2,"processedUntil":"2026-11-20T09:00:00Z","remainingRuns":3,"pausesOnFailure":true,"follows":"marks"}
    A schedule was removed.
    {"event":"scheduleRemoved","at":"2026-11-20T09:00:00Z","schedule":"averages/daily"}
    A schedule was paused or, without `pause`, resumed.
    {"event":"schedulePaused","schedule":"averages/daily","pause":{"at":"2026-11-20T09:00:00Z","origin":"person","note":"holidays"}}
    A person set a schedule's mark back after the clock had been ahead. `started` lists the slots after the mark that have a run.
    {"event":"scheduleReset","at":"2026-11-20T09:00:00Z","schedule":"averages/daily","processedUntil":"2026-11-20T09:00:00Z","started":["2026-11-21T09:00:00Z"]}
    A slot, or a row of `count` slots from `slot` to `until`, was decided. `run` is the run that the slot started, or the run that blocked it. A waiting slot has the `inputs` that were computed for it; a further event of the same waiting slot completes them. A start out of turn has the `key` of its request, unless it started a run.
    {"event":"slotDecided","schedule":"averages/daily","slot":"2026-11-20T09:00:00Z","until":"2026-11-20T11:00:00Z","count":3,"outcome":"skippedOverlap","at":"2026-11-20T11:00:01Z","cause":{"kind":"slot"},"run":"019a9fd5-0000-7000-8000-000000000001","reason":"the run before it is still open","lateBy":"1s","inputs":{"day":"Friday"},"key":{"key":"2026-11","caller":"ada"}}
    Requests are about to be sent on a connection that has limits, or its service asked the caller to wait. The requests count for `per`.
    {"event":"connectionUsed","at":"2026-11-20T09:00:00Z","connection":"shop","requests":1,"per":"60s","heldUntil":"2026-11-20T09:00:30Z"}
    A person issued a token for callers over HTTP. `sha256` is the hash of the token's text; the text isn't kept. The state adds `usedOn`, the UTC day of the latest use.
    {"event":"tokenIssued","at":"2026-11-20T09:00:00Z","name":"phone","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","scopes":["read","approve"],"recipes":["averages"],"expiresAt":"2027-02-18T09:00:00Z","usedOn":"2026-11-20T00:00:00Z"}
    A person revoked a token.
    {"event":"tokenRevoked","at":"2026-11-20T09:00:00Z","name":"phone"}
    A browser logged in, with a token or as an `account` of the machine. `sha256` is the hash of the text in the browser's cookie; the text isn't kept. The state adds `usedOn`, the UTC day of the latest use.
    {"event":"sessionBegan","at":"2026-11-20T09:00:00Z","sha256":"60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752","name":"phone","token":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","account":"ann","until":"2026-11-20T21:00:00Z","usedOn":"2026-11-20T00:00:00Z"}
    Browsers were logged out, or their logins were replaced by newer ones.
    {"event":"sessionEnded","at":"2026-11-20T09:00:00Z","sessions":["60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"]}
    A token, a login, or both were used for the first time on a UTC day.
    {"event":"accessUsed","at":"2026-11-20T09:00:00Z","token":"phone","session":"60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"}
    """#.split(separator: "\n").map { String($0) }
}()

private func example(of kind: StateEvent.Kind) throws(ToolError) -> (summary: String, line: String) {
  let place = examples.firstIndex { $0.hasPrefix(#"{"event":"\#(kind.rawValue)","#) }
  guard let place else { throw ToolError("'\(kind.rawValue)' has no example") }
  return (examples[place - 1], examples[place])
}
