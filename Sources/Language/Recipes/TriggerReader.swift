import ActionKit
import Basics
import Calendars
import YAMLReader

/// Reads `on:`, the entries that start a recipe by themselves, and checks them down to the cron field and the zone.
struct TriggerReader {
  let findings: Findings
  let compiler: ExpressionCompiler
  /// The recipe's name.
  let recipe: String
  /// The heading of a form that has none of its own.
  let title: String
  let inputs: [Recipe.Input]
  /// The recipe's own `zone`.
  let zone: Value?
  let environment: RecipeEnvironment
  let calls: RecipeCalls

  func read(_ value: Value?) -> [Trigger] {
    let recipeZone = zone.flatMap { compiler.zone($0, of: "'zone'") } ?? environment.zone.flatMap(rules)
    guard let value else { return [] }
    guard let items = value.list else {
      findings.error(
        "'on' takes a list of entries, such as - cron: \"30 17 * * FRI\", but found \(value.written)\(findings.otherNotation(ofTriggers: value))",
        at: value)
      return []
    }
    var places: [String: Value] = [:]
    var paths: Set<String> = []
    return items.compactMap { item -> Trigger? in
      guard let fields = Fields(item, of: "an entry of 'on'", .trigger, findings, others: .trigger) else { return nil }
      let trigger = entry(fields, recipeZone: recipeZone)
      if let id = fields["id"], let text = id.string {
        if let first = places.updateValue(id, forKey: text) {
          findings.error(
            "the id '\(text)' is taken by another entry", at: id,
            notes: [Diagnostic.Note("it is taken here", at: findings.location(of: first))])
        }
      } else if items.count > 1, fields["id"] == nil {
        findings.error("an entry of several needs an 'id': it is part of what tells their slots apart", at: item)
      }
      if let path = trigger?.path, !paths.insert(path).inserted {
        findings.error("the path '\(path)' is taken by another entry", at: item["webhook"] ?? item["form"] ?? item)
      }
      return trigger
    }
  }

  private func entry(_ fields: Fields, recipeZone: TimeZoneRules?) -> Trigger? {
    guard let member = fields.kinds().first, let word = member.name else { return nil }
    let id = fields["id"].flatMap { findings.name($0, of: "the id") }
    // Until its kind is read, the entry has a placeholder, so that all of it is read even if it is faulty.
    var trigger = Trigger(id: id, kind: .timed(Recurrence(.at(.epoch))))
    var isWhole = true
    if KeySet.timed.contains(word) {
      isWhole = schedule(&trigger, word: word, member, fields, recipeZone: recipeZone)
    } else {
      let entry = ([recipe] + (id.map { [$0] } ?? [])).joined(separator: "/")
      let kind = kind(word, member, entry, readsEvent: fields["inputs"]?.holdsExpression ?? false)
      isWhole = kind != nil
      trigger.kind = kind ?? trigger.kind
      trigger.location = findings.location(of: member.value["recipe"] ?? member.value)
      for key in KeySet.trigger.names(with: KeySet.timed) {
        if let member = fields.member(key) {
          findings.error(
            "'\(key)' isn't allowed beside '\(word)'; it goes with \(KeySet.timed.joined(separator: ", "))",
            at: member.key)
        }
      }
    }
    if let member = fields.member("overlap"), !KeySet.queued.contains(word) {
      findings.error(
        "'overlap' isn't allowed beside '\(word)'; it goes with \(KeySet.queued.joined(separator: ", "))",
        at: member.key)
    }
    if word == "webhook" || word == "form" {
      trigger.overlap = fields["overlap"] == nil ? .bufferAll : fields.choice("overlap") ?? .bufferAll
      if let webhook = trigger.webhook { checkSignal(webhook, fields) }
    }
    if let member = fields.member("batch") {
      if KeySet.gathered.contains(word) {
        trigger.batch = batch(member.value)
      } else {
        findings.error("'batch' goes with 'event', 'file' and 'webhook'", at: member.key)
      }
    }
    if word != "every", let member = fields.member("from") {
      findings.error("'from' goes with 'every'; beside '\(word)' it is 'start'", at: member.key)
    }
    var given = fields["inputs"]
    // A form without 'fields' asks for the inputs themselves.
    if let form = trigger.form, member.value["fields"] == nil {
      given = self.inputs(given, from: form, at: member.value)
    }
    trigger.inputs = findings.inputs(given, for: inputs, at: member.key) { input in
      "runs of this entry need the input '\(input.name)' (\(input.kind)); add it under 'inputs'"
    } computed: { value, input in
      compiler.input(value, input, of: trigger)
    }
    if let value = fields["paused"] {
      if let note = value.string, !looksLikeYAML11Bool(note) {
        (trigger.isPaused, trigger.pauseNote) = (true, note)
      } else {
        trigger.isPaused = findings.bool(value, of: "'paused'") ?? false
      }
    }
    return isWhole ? trigger : nil
  }

  /// Reads the kind of an entry that isn't due at times.
  ///
  /// - Parameters:
  ///   - entry: The name of the entry's schedule.
  ///   - readsEvent: Whether inputs of the entry may read what started it.
  private func kind(
    _ word: String, _ member: ValueMap.Member, _ entry: String, readsEvent: Bool
  ) -> Trigger.Kind? {
    switch word {
    case "event": return event(member.value)
    case "afterRecipe": return afterRecipe(member.value, readsOutputs: readsEvent)
    case "file": return file(member.value)
    case "form": return form(member.value, of: entry)
    default: return webhook(member.value, of: entry)
    }
  }

  /// Reads how events or files are gathered; faulty parts get a placeholder, so that `inputs` are read as intended.
  private func batch(_ value: Value) -> Trigger.Batch {
    let form = value.string.flatMap { TimeSpan($0) }.map { span in
      MessageText("batch: { for: \(span.written) }", [.verbatim("{ for: \(span.written) }")])
    }
    let fields = Fields(value, of: "'batch'", .batch, findings, others: .batch, form: form)
    let span = fields?.require("for", "how long events are gathered, such as 10m").flatMap { _ in
      fields?.duration("for")
    }
    if let span, let given = fields?["for"], span > .seconds(7 * 86_400) {
      findings.error("'for' is at most 7d, because events are kept for a week", at: given)
    }
    return Trigger.Batch(span: span ?? .seconds(1), max: fields?.int("max") ?? 100)
  }

  /// Reads the rule for the instants of an entry.
  private func rule(_ word: String, _ value: Value, _ fields: Fields) -> Recurrence.Rule? {
    switch word {
    case "cron":
      let zoned = compiler.cron(value) { zone in
        guard fields["zone"] == nil, let member = fields.member("cron") else { return nil }
        return findings.document.adding("zone: \(zone)", after: member)
      }
      return zoned.map { .cron($0) }
    case "every":
      let from = fields.instant("from")
      return fields.duration("every").map { .every($0, from: from) }
    case "at": return fields.instant("at").map { .at($0) }
    default: return calendar(value)
    }
  }

  private func event(_ value: Value) -> Trigger.Kind? {
    if value.map == nil {
      return findings.text(value, of: "'event'").map {
        .event(name: $0, match: nil, form: EventForm(in: environment.language))
      }
    }
    guard let fields = Fields(value, of: "'event'", .event, findings) else { return nil }
    let name = fields.require("name", "the name of the event").flatMap { findings.text($0, of: "'name'") }
    var scope = Scope()
    scope.explainEvents()
    let (form, match) = compiler.event(fields, in: scope, language: environment.language)
    return name.map { .event(name: $0, match: match, form: form) }
  }

  /// - Parameter readsOutputs: Whether the type of the other recipe's outputs matters.
  private func afterRecipe(_ value: Value, readsOutputs: Bool) -> Trigger.Kind? {
    if value.map == nil {
      return other(value, of: "'afterRecipe'").map {
        .afterRecipe(name: $0, status: ["succeeded"], outputs: readsOutputs ? calls.outputs(of: $0, findings) : nil)
      }
    }
    guard let fields = Fields(value, of: "'afterRecipe'", .afterRecipe, findings) else { return nil }
    let name = fields.require("recipe", "the name of the recipe").flatMap { other($0, of: "'recipe'") }
    let status = fields["status"].map { value in
      (value.list ?? [value]).compactMap { findings.choice($0, of: "'status'", EndedStatus.self)?.rawValue }
    }
    return name.map {
      .afterRecipe(
        name: $0, status: status ?? ["succeeded"], outputs: readsOutputs ? calls.outputs(of: $0, findings) : nil)
    }
  }

  /// Faulty parts get a placeholder, so that `inputs` are read as intended.
  private func file(_ value: Value) -> Trigger.Kind? {
    if value.map == nil {
      return .file(pattern(value, of: "'file'") ?? .any, settle: TriggerReader.settle, existing: .ignore)
    }
    guard let fields = Fields(value, of: "'file'", .file, findings, others: .file) else { return nil }
    let path = fields.require("path", "the files, such as inbox/*.csv").flatMap { pattern($0, of: "'path'") }
    let settle = fields.duration("settle")
    if let settle, let given = fields["settle"], settle > .seconds(86_400) {
      findings.error("'settle' is at most 1d, but is \(settle.written)", at: given)
    }
    let existing: Trigger.Existing? = fields.choice("existing")
    return .file(path ?? .any, settle: settle ?? TriggerReader.settle, existing: existing ?? .ignore)
  }

  /// How long a file must stay unchanged, by default.
  private static let settle = TimeSpan.seconds(2)

  private func pattern(_ value: Value, of what: String) -> FilePattern? {
    guard let text = findings.text(value, of: what) else { return nil }
    switch FilePattern.read(text) {
    case .failure(let fault):
      findings.error(MessageText(fault.message), at: value)
      return nil
    case .success(let pattern):
      if !pattern.folder.isEmpty, environment.hasFolder(pattern.folder) == false {
        findings.warning(
          "there is no folder \(JSON.quoted(pattern.folder)) beside errand.yaml yet; files start runs once it is there",
          at: value)
      }
      return pattern
    }
  }

  /// The name of another recipe than this.
  private func other(_ value: Value, of what: String) -> String? {
    let name = findings.text(value, of: what)
    if name?.hasSameScalars(as: recipe) == true {
      findings.error(
        "a recipe that follows itself would never end; 'every' or 'cron' runs it again and again", at: value)
    }
    return name
  }

  /// Reads an entry that is due at times, with its options; false if it is faulty.
  private func schedule(
    _ trigger: inout Trigger, word: String, _ member: ValueMap.Member, _ fields: Fields, recipeZone: TimeZoneRules?
  ) -> Bool {
    let rule = rule(word, member.value, fields)
    let ownZone = fields["zone"].flatMap { compiler.zone($0, of: "'zone'") }
    if ownZone == nil, recipeZone == nil, zone == nil, fields["zone"] == nil, ["cron", "calendar"].contains(word) {
      findings.warning(
        "no zone is given, so the times are UTC; add zone: UTC, or a zone such as Europe/Bucharest", at: member.key)
    }
    var recurrence = Recurrence(rule ?? .at(.epoch), zone: ownZone ?? recipeZone ?? .utc)
    trigger.overlap = fields.choice("overlap") ?? trigger.overlap
    trigger.catchup = fields.choice("catchup") ?? trigger.catchup
    if let value = fields["catchup"], trigger.catchup == .all {
      if ![.bufferAll, .allowAll].contains(trigger.overlap) {
        findings.error(
          "'catchup: all' needs 'overlap: bufferAll' or 'allowAll'; else the slots made up skip each other", at: value)
      }
    }
    trigger.catchupWindow = fields.duration("catchupWindow")
    trigger.catchupLimit = fields.int("catchupLimit")
    trigger.jitter = fields.duration("jitter")
    recurrence.gap = fields.choice("dstGap") ?? recurrence.gap
    recurrence.fold = fields.choice("dstFold") ?? recurrence.fold
    trigger.pausesOnFailure = fields.bool("pauseOnFailure") ?? false
    trigger.remainingRuns = fields.int("remainingRuns")
    recurrence.start = fields.instant("start")
    recurrence.end = fields.instant("end")
    var isSpanned = true
    if let value = fields["end"], let start = recurrence.start, let end = recurrence.end, end <= start {
      findings.error("'end' is not after 'start', so nothing would ever be due", at: value)
      isSpanned = false
    }
    if let value = fields["except"], let days = except(value, zone: recurrence.zone) { recurrence.except = days }
    trigger.kind = .timed(recurrence)
    if rule != nil, isSpanned, !recurrence.isEverDue {
      let others = ["start", "end", "except"].filter { fields[$0] != nil }.map { " and '\($0)'" }.joined()
      findings.error("no instant fits '\(word)'\(others), so the schedule would never be due", at: member.value)
    }
    return rule != nil
  }

  /// The days of a list or of a calendar's file.
  private func except(_ value: Value, zone: TimeZoneRules) -> DaySet? {
    if let text = value.string, text.hasSuffix(".ics") { return holidays(text, value, zone) }
    var days: [CivilDate] = []
    for item in value.list ?? [value] {
      guard let text = item.string, let midnight = Timestamp("\(text)T00:00:00Z") else {
        findings.error("'except' takes days such as 2026-12-25, or an .ics file, but found \(item.written)", at: item)
        continue
      }
      days.append(CivilDate(daysSinceEpoch: midnight.seconds.flooredDivision(by: 86_400)))
    }
    return DaySet(days)
  }

  /// The days of a calendar's file, which lies beside the recipe.
  private func holidays(_ path: String, _ value: Value, _ zone: TimeZoneRules) -> DaySet? {
    let source: Source
    do throws(FileError) {
      source = try environment.read(RecipeCalls.resolve(path, besides: findings.source.name))
    } catch {
      findings.error("\(error)", at: value)
      return nil
    }
    do throws(Diagnostic) { return try HolidayCalendar.days(in: source, zone: zone) } catch {
      findings.error(
        "'\(path)' cannot be used: \(error.message)", at: value,
        notes: [Diagnostic.Note("it is here", at: error.location)])
      return nil
    }
  }

  /// The rules of a zone that has been checked elsewhere.
  private func rules(_ name: String) -> TimeZoneRules? { try? TimeZoneDatabase.system.rules(named: name) }

  /// Reads `{minute, hour, dayOfMonth, month, dayOfWeek}`, each as a field of cron; all of them must match.
  private func calendar(_ value: Value) -> Recurrence.Rule? {
    let parts = zip(KeySet.calendar.names, ["0", "0", "*", "*", "*"]).map { $0 }
    guard let fields = Fields(value, of: "'calendar'", .calendar, findings) else { return nil }
    var texts: [String] = []
    var isWhole = true
    for (name, fallback) in parts {
      let text = fields[name]?.plainText ?? fallback
      let items = fields[name]?.list
      let isField = items == nil && !text.isEmpty && !text.contains(where: \.isWhitespace)
      // Something else stands for it, so that the other fields are read too.
      texts.append(isField ? text : fallback)
      if let field = fields[name], !isField {
        let list =
          items.map { items in
            let text = JSON.quoted(items.map(\.plainText).joined(separator: ","))
            return MessageText("; write \(text)", findings.replacement(of: field, with: text))
          } ?? "" as MessageText
        findings.error("'\(name)' takes one field of a cron expression, without blanks\(list)", at: field)
        isWhole = false
      }
    }
    let (expression, faults) = CronExpression.parse(texts.joined(separator: " "), as: .calendar)
    for fault in faults {
      // A fault in one field is reported at its value, other faults at the whole mapping.
      var end = -1
      let index = texts.firstIndex { text in
        end += text.utf8.count + 1
        return fault.range.upperBound <= end
      }
      let start = index.map { end - texts[$0].utf8.count } ?? 0
      let name = index.flatMap { fault.range.lowerBound >= start ? parts[$0].0 : nil }
      let place = name.flatMap { fields[$0] } ?? value
      let suggestions = fault.suggestions.compactMap { suggestion -> Suggestion? in
        guard name != nil, case .code(let code, let part) = suggestion.content, part.lowerBound >= start else {
          return nil
        }
        return .code(code, for: part.lowerBound - start..<part.upperBound - start)
      }
      findings.add(
        MessageText(name.map { "'\($0)': \(fault.message)" } ?? fault.message, suggestions),
        at: findings.location(of: place), about: place, severity: fault.severity)
    }
    return isWhole ? expression.map { .calendar($0) } : nil
  }
}
