import ActionKit
import Basics
import Calendars
import YAMLReader

/// Reads `on:`, the entries that start a recipe by themselves, and checks them down to the cron field and the zone.
struct TriggerReader {
  let findings: Findings
  let compiler: ExpressionCompiler
  let inputs: [Recipe.Input]
  /// The recipe's own `zone`.
  let zone: Value?
  /// The zone of `errand.yaml`.
  let defaultZone: String?

  private static let kinds = ["cron", "every", "at", "calendar", "webhook", "event", "afterRecipe"]
  /// The kinds that are due at times.
  private static let timed = ["cron", "every", "at", "calendar"]
  private static let timedKeys = [
    "zone", "overlap", "catchup", "catchupWindow", "catchupLimit", "jitter", "dstGap", "dstFold", "start", "end",
    "except",
  ]
  private static let keys = kinds + ["id", "from"] + timedKeys + ["inputs", "paused"]

  func read(_ value: Value?) -> [Trigger] {
    let recipeZone = zone.flatMap { compiler.zone($0, of: "'zone'") }
    guard let value else { return [] }
    guard let items = value.list else {
      findings.error(
        "'on' takes a list of entries, such as - cron: \"30 17 * * FRI\", but found \(value.written)", at: value)
      return []
    }
    var places: [String: Value] = [:]
    return items.compactMap { item -> Trigger? in
      guard let fields = Fields(item, of: "an entry of 'on'", keys: TriggerReader.keys, findings) else { return nil }
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
      return trigger
    }
  }

  private func entry(_ fields: Fields, recipeZone: String?) -> Trigger? {
    guard let member = fields.kinds(among: TriggerReader.kinds).first, let word = member.name else { return nil }
    let kind = kind(word, member.value, fields)
    let id = fields["id"].flatMap { findings.name($0, of: "the id") }
    var trigger = Trigger(id: id, kind: kind ?? .at(.earliest))
    if TriggerReader.timed.contains(word) {
      schedule(&trigger, word: word, at: member.key, fields, recipeZone: recipeZone)
    } else {
      for key in TriggerReader.timedKeys {
        if let member = fields.member(key) {
          findings.error(
            "'\(key)' cannot stand beside '\(word)'; it goes with \(TriggerReader.timed.joined(separator: ", "))",
            at: member.key)
        }
      }
    }
    if word != "every", let member = fields.member("from") {
      findings.error("'from' goes with 'every'; beside '\(word)' it is 'start'", at: member.key)
    }
    trigger.inputs = given(fields["inputs"], at: member.key)
    if let value = fields["paused"] {
      if let note = value.string, !looksLikeYAML11Bool(note) {
        (trigger.isPaused, trigger.pauseNote) = (true, note)
      } else {
        trigger.isPaused = findings.bool(value, of: "'paused'") ?? false
      }
    }
    return kind == nil ? nil : trigger
  }

  private func kind(_ word: String, _ value: Value, _ fields: Fields) -> Trigger.Kind? {
    switch word {
    case "cron": return compiler.cron(value).map { .cron($0) }
    case "every":
      let from = fields["from"].flatMap { instant($0, of: "'from'") }
      return findings.duration(value, of: "'every'", atLeast: .seconds(1)).map { .every($0, from: from) }
    case "at": return instant(value, of: "'at'").map { .at($0) }
    case "calendar": return calendar(value)
    case "webhook": return webhook(value)
    case "event": return event(value)
    default: return afterRecipe(value)
    }
  }

  private func webhook(_ value: Value) -> Trigger.Kind? {
    guard let fields = Fields(value, of: "'webhook'", keys: ["path", "secret", "scheme"], findings) else { return nil }
    for key in ["path", "scheme"] { _ = fields[key].flatMap { findings.text($0, of: "'\(key)'") } }
    let secret = fields.require("secret", "the name of the secret that signs the requests")
    return secret.flatMap { findings.text($0, of: "'secret'") }.map { _ in .webhook(value) }
  }

  private func event(_ value: Value) -> Trigger.Kind? {
    if value.map == nil { return findings.text(value, of: "'event'").map { .event(name: $0, match: nil) } }
    guard let fields = Fields(value, of: "'event'", keys: ["name", "match"], findings) else { return nil }
    let name = fields.require("name", "the name of the event").flatMap { findings.text($0, of: "'name'") }
    var scope = Scope()
    scope.declare("event", .dyn)
    let match = fields["match"].flatMap { compiler.condition($0, of: "'match'", in: scope) }
    return name.map { .event(name: $0, match: match) }
  }

  private func afterRecipe(_ value: Value) -> Trigger.Kind? {
    if value.map == nil {
      return findings.text(value, of: "'afterRecipe'").map { .afterRecipe(name: $0, status: ["succeeded"]) }
    }
    guard let fields = Fields(value, of: "'afterRecipe'", keys: ["recipe", "status"], findings) else { return nil }
    let name = fields.require("recipe", "the name of the recipe").flatMap { findings.text($0, of: "'recipe'") }
    let status = fields["status"].map { value in
      (value.list ?? [value]).compactMap { findings.choice($0, of: "'status'", EndedStatus.self)?.rawValue }
    }
    return name.map { .afterRecipe(name: $0, status: status ?? ["succeeded"]) }
  }

  private enum EndedStatus: String, CaseIterable {
    case succeeded, failed, timedOut, cancelled, rejected, skipped
  }

  /// What goes with entries that are due at times.
  private func schedule(
    _ trigger: inout Trigger, word: String, at key: Value, _ fields: Fields, recipeZone: String?
  ) {
    trigger.zone = fields["zone"].flatMap { compiler.zone($0, of: "'zone'") } ?? recipeZone ?? defaultZone
    if trigger.zone == nil, zone == nil, fields["zone"] == nil, ["cron", "calendar"].contains(word) {
      findings.warning(
        "no zone is given, so the times are UTC; add zone: UTC, or a zone such as Europe/Bucharest", at: key)
    }
    if let word = fields["overlap"].flatMap({ findings.choice($0, of: "'overlap'", Trigger.Overlap.self) }) {
      trigger.overlap = word
    }
    if let value = fields["catchup"], let word = findings.choice(value, of: "'catchup'", Trigger.Catchup.self) {
      trigger.catchup = word
      if word == .all, ![.bufferAll, .allowAll].contains(trigger.overlap) {
        findings.error(
          "'catchup: all' needs 'overlap: bufferAll' or 'allowAll'; else the slots made up skip each other", at: value)
      }
    }
    trigger.catchupWindow = fields["catchupWindow"].flatMap {
      findings.duration($0, of: "'catchupWindow'", atLeast: .seconds(10))
    }
    trigger.catchupLimit = fields["catchupLimit"].flatMap { findings.int($0, of: "'catchupLimit'", in: 1...1000) }
    trigger.jitter = fields["jitter"].flatMap { findings.duration($0, of: "'jitter'") }
    if let word = fields["dstGap"].flatMap({ findings.choice($0, of: "'dstGap'", CronExpression.DSTGap.self) }) {
      trigger.dstGap = word
    }
    if let word = fields["dstFold"].flatMap({ findings.choice($0, of: "'dstFold'", CronExpression.DSTFold.self) }) {
      trigger.dstFold = word
    }
    trigger.start = fields["start"].flatMap { instant($0, of: "'start'") }
    trigger.end = fields["end"].flatMap { instant($0, of: "'end'") }
    if let value = fields["end"], let start = trigger.start, let end = trigger.end, end <= start {
      findings.error("'end' is not after 'start', so nothing would ever be due", at: value)
    }
    if let value = fields["except"] { except(value, &trigger) }
  }

  private func except(_ value: Value, _ trigger: inout Trigger) {
    if let text = value.string, text.hasSuffix(".ics") {
      trigger.exceptFile = text
      return
    }
    for item in value.list ?? [value] {
      guard let text = item.string, let midnight = Timestamp("\(text)T00:00:00Z") else {
        findings.error("'except' takes days such as 2026-12-25, or an .ics file, but found \(item.written)", at: item)
        continue
      }
      trigger.exceptDays.append(CivilDate(daysSinceEpoch: midnight.seconds / 86_400))
    }
  }

  private func instant(_ value: Value, of what: String) -> Timestamp? {
    if let text = value.string, let instant = Timestamp(text) { return instant }
    findings.error(
      "\(what) takes an instant with its offset, such as 2026-11-20T09:30:00+02:00, but found \(value.written)",
      at: value)
    return nil
  }

  /// Reads `{minute, hour, dayOfMonth, month, dayOfWeek}`, each as a field of cron; all of them must match.
  private func calendar(_ value: Value) -> Trigger.Kind? {
    let parts = [("minute", "0"), ("hour", "0"), ("dayOfMonth", "*"), ("month", "*"), ("dayOfWeek", "*")]
    guard let fields = Fields(value, of: "'calendar'", keys: parts.map(\.0), findings) else { return nil }
    var texts: [String] = []
    var isWhole = true
    for (index, (name, fallback)) in parts.enumerated() {
      guard let field = fields[name] else {
        texts.append(fallback)
        continue
      }
      texts.append(field.plainText)
      guard !field.plainText.contains(where: \.isWhitespace) else {
        findings.error("'\(name)' takes one field of a cron expression, without blanks", at: field)
        isWhole = false
        continue
      }
      // Alone, so that what is wrong is said of this field and at its value.
      let alone = parts.indices.map { $0 == index ? field.plainText : "*" }.joined(separator: " ")
      let faults = CronExpression.parse(alone).faults.filter { $0.severity == .error }
      for fault in faults { findings.error("'\(name)': \(fault.message)", at: field) }
      if !faults.isEmpty { isWhole = false }
    }
    guard isWhole, let expression = CronExpression.parse(texts.joined(separator: " ")).expression else { return nil }
    return .calendar(expression)
  }

  /// The inputs that the entry's runs get, checked like those of the command line.
  private func given(_ value: Value?, at key: Value) -> [(name: String, input: GivenInput)] {
    var given: [(name: String, input: GivenInput)] = []
    var places: [String: Value] = [:]
    if let value {
      guard let map = value.map else {
        findings.error("'inputs' takes a mapping from names to values, but found \(value.written)", at: value)
        return []
      }
      for member in map.members {
        let name = member.key.plainText
        if let text = member.value.string, text.hasPrefix("@secret:") {
          given.append((name, .secret(name: String(text.dropFirst(8)))))
        } else {
          given.append((name, .value(member.value, findings.source)))
        }
        places[name] = member.key
      }
    }
    let found = Recipe.Input.read(given, for: inputs, of: "the recipe") { input in
      "runs of this entry need the input '\(input.name)' (\(input.kind)); add it under 'inputs'"
    }
    for (name, var fault) in found.faults {
      // An empty range is a place of the file whose extent the reader of inputs cannot know.
      let start = fault.location.map { Place(offset: $0.range.lowerBound) }
      fault.location =
        start.flatMap(findings.range).map { Diagnostic.Location(findings.source, $0) } ?? fault.location
        ?? findings.location(of: places[name] ?? key)
      findings.add(fault)
    }
    return given
  }
}
