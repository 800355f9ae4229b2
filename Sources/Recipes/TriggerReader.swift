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

  func read(_ value: Value?) -> [Trigger] {
    let recipeZone = zone.flatMap { compiler.zone($0, of: "'zone'") }
    guard let value else { return [] }
    guard let items = value.list else {
      findings.error("'on' takes a list of entries, such as - cron: \"30 17 * * FRI\"", at: value)
      return []
    }
    var places: [String: Value] = [:]
    let triggers = items.compactMap { item -> Trigger? in
      let trigger = entry(item, recipeZone: recipeZone)
      if items.count > 1, item.map != nil {
        if let id = item["id"], let text = id.string {
          if let first = places.updateValue(id, forKey: text) {
            findings.error(
              "the id '\(text)' is taken by another entry", at: id,
              notes: [Diagnostic.Note("it is taken here", at: findings.location(of: first))])
          }
        } else if item["id"] == nil {
          findings.error("an entry of several needs an 'id': it is part of what tells their slots apart", at: item)
        }
      }
      return trigger
    }
    return triggers
  }

  private func entry(_ value: Value, recipeZone: String?) -> Trigger? {
    guard var fields = Fields(value, of: "an entry of 'on'", findings) else { return nil }
    defer { fields.finish() }
    let present = fields.keys.filter(TriggerReader.kinds.contains)
    guard let word = present.first, let member = fields.member(word) else {
      let guess = fields.keys.lazy.compactMap { $0.nearest(among: TriggerReader.kinds) }.first
      let list = TriggerReader.kinds.joined(separator: ", ")
      findings.error(
        "an entry of 'on' needs one of \(list)\(guess.map { "; did you mean '\($0)'?" } ?? "")", at: value)
      for key in fields.keys { _ = fields.member(key) }
      return nil
    }
    for other in present.dropFirst() {
      if let member = fields.member(other) {
        findings.error("an entry is one thing: '\(other)' cannot stand beside '\(word)'", at: member.key)
      }
    }
    let kind = kind(word, member, &fields)
    let id = fields.take("id").flatMap { findings.name($0, of: "the id of the entry") }
    var trigger = Trigger(id: id, kind: kind ?? .at(.earliest))
    schedule(&trigger, word: word, at: member, &fields, recipeZone: recipeZone)
    trigger.inputs = given(fields.take("inputs"), at: member.key)
    if let value = fields.take("paused") {
      if let note = value.string, !looksLikeYAML11Bool(note) {
        (trigger.isPaused, trigger.pauseNote) = (true, note)
      } else {
        trigger.isPaused = findings.bool(value, of: "'paused'") ?? false
      }
    }
    return kind == nil ? nil : trigger
  }

  private func kind(_ word: String, _ member: ValueMap.Member, _ fields: inout Fields) -> Trigger.Kind? {
    let value = member.value
    switch word {
    case "cron":
      return compiler.cron(value).map { .cron($0) }
    case "every":
      let span = findings.duration(value, of: "'every'", atLeast: .seconds(1))
      let from = fields.take("from").flatMap { instant($0, of: "'from'") }
      return span.map { .every($0, from: from) }
    case "at":
      return instant(value, of: "'at'").map { .at($0) }
    case "calendar":
      return calendar(value)
    case "webhook":
      guard var inner = Fields(value, of: "'webhook'", findings) else { return nil }
      _ = inner.take("path").flatMap { findings.text($0, of: "'path'") }
      _ = inner.require("secret", "the name of the secret that signs the requests").flatMap {
        findings.text($0, of: "'secret'")
      }
      _ = inner.take("scheme").flatMap { findings.text($0, of: "'scheme'") }
      inner.finish()
      return .webhook(value)
    case "event":
      if value.map == nil { return findings.text(value, of: "'event'").map { .event(name: $0, match: nil) } }
      guard var inner = Fields(value, of: "'event'", findings) else { return nil }
      defer { inner.finish() }
      let name = inner.require("name", "the name of the event").flatMap { findings.text($0, of: "'name'") }
      var scope = Scope()
      scope.declare("event", .dyn)
      let match = inner.take("match").flatMap { compiler.condition($0, of: "'match'", in: scope) }
      return name.map { .event(name: $0, match: match) }
    default:
      if value.map == nil {
        return findings.text(value, of: "'afterRecipe'").map { .afterRecipe(name: $0, status: ["succeeded"]) }
      }
      guard var inner = Fields(value, of: "'afterRecipe'", findings) else { return nil }
      defer { inner.finish() }
      let name = inner.require("recipe", "the name of the recipe").flatMap { findings.text($0, of: "'recipe'") }
      let status = inner.take("status").map { value in
        (value.list ?? [value]).compactMap { findings.choice($0, of: "'status'", EndedStatus.self)?.rawValue }
      }
      return name.map { .afterRecipe(name: $0, status: status ?? ["succeeded"]) }
    }
  }

  private enum EndedStatus: String, CaseIterable {
    case succeeded, failed, timedOut, cancelled, rejected, skipped
  }

  /// What goes with entries that are due at times.
  private func schedule(
    _ trigger: inout Trigger, word: String, at member: ValueMap.Member, _ fields: inout Fields, recipeZone: String?
  ) {
    guard ["cron", "every", "at", "calendar"].contains(word) else { return }
    trigger.zone = fields.take("zone").flatMap { compiler.zone($0, of: "'zone'") } ?? recipeZone ?? defaultZone
    if trigger.zone == nil, zone == nil, ["cron", "calendar"].contains(word), findings.document.root["zone"] == nil,
      !hasKey("zone", fields)
    {
      findings.warning("no zone is given, so the times are UTC; add zone: UTC, or a zone such as Europe/Bucharest", at: member.key)
    }
    if let value = fields.take("overlap"), let word = findings.choice(value, of: "'overlap'", Trigger.Overlap.self) {
      trigger.overlap = word
    }
    if let value = fields.take("catchup"), let word = findings.choice(value, of: "'catchup'", Trigger.Catchup.self) {
      trigger.catchup = word
      if word == .all, ![.bufferAll, .allowAll].contains(trigger.overlap) {
        findings.error("'catchup: all' needs 'overlap: bufferAll' or 'allowAll'; else the slots made up skip each other", at: value)
      }
    }
    trigger.catchupWindow = fields.take("catchupWindow").flatMap {
      findings.duration($0, of: "'catchupWindow'", atLeast: .seconds(10))
    }
    trigger.catchupLimit = fields.take("catchupLimit").flatMap { findings.int($0, of: "'catchupLimit'", in: 1...1000) }
    trigger.jitter = fields.take("jitter").flatMap { findings.duration($0, of: "'jitter'") }
    if let value = fields.take("dstGap") {
      trigger.dstGap = findings.choice(value, of: "'dstGap'", CronExpression.DSTGap.self) ?? .shift
    }
    if let value = fields.take("dstFold") {
      trigger.dstFold = findings.choice(value, of: "'dstFold'", CronExpression.DSTFold.self) ?? .first
    }
    trigger.start = fields.take("start").flatMap { instant($0, of: "'start'") }
    let end = fields.take("end")
    trigger.end = end.flatMap { instant($0, of: "'end'") }
    if let end, let start = trigger.start, let last = trigger.end, last <= start {
      findings.error("'end' is not after 'start', so nothing would ever be due", at: end)
    }
    if let value = fields.take("except") { except(value, &trigger) }
  }

  private func hasKey(_ name: String, _ fields: Fields) -> Bool { fields.value[name] != nil }

  private func except(_ value: Value, _ trigger: inout Trigger) {
    if let text = value.string, text.hasSuffix(".ics") {
      trigger.exceptFile = text
      return
    }
    for item in value.list ?? [value] {
      guard let text = item.string, let midnight = Timestamp("\(text)T00:00:00Z") else {
        findings.error("'except' takes days such as 2026-12-25, or an .ics file", at: item)
        continue
      }
      trigger.exceptDays.append(CivilDate(daysSinceEpoch: midnight.seconds / 86_400))
    }
  }

  private func instant(_ value: Value, of what: String) -> Timestamp? {
    if let text = value.string, let instant = Timestamp(text) { return instant }
    findings.error("\(what) takes an instant with its offset, such as 2026-11-20T09:30:00+02:00", at: value)
    return nil
  }

  /// Reads `{minute, hour, dayOfMonth, month, dayOfWeek}`, each as a field of cron; all of them must match.
  private func calendar(_ value: Value) -> Trigger.Kind? {
    guard var fields = Fields(value, of: "'calendar'", findings) else { return nil }
    defer { fields.finish() }
    var texts: [String] = []
    var isWhole = true
    for (name, fallback) in [("minute", "0"), ("hour", "0"), ("dayOfMonth", "*"), ("month", "*"), ("dayOfWeek", "*")] {
      guard let field = fields.take(name) else {
        texts.append(fallback)
        continue
      }
      let text = field.plainText
      texts.append(text)
      let position = texts.count - 1
      let alone = (0..<5).map { $0 == position ? text : "*" }.joined(separator: " ")
      let faults = CronExpression.parse(alone).faults.filter { $0.severity == .error }
      for fault in faults { findings.error("'\(name)': \(fault.message)", at: field) }
      if !faults.isEmpty || text.contains(" ") { isWhole = false }
    }
    guard isWhole, let expression = CronExpression.parse(texts.joined(separator: " ")).expression else { return nil }
    return .calendar(expression)
  }

  /// The inputs that the entry's runs get, checked like those of the command line.
  private func given(_ value: Value?, at key: Value) -> [(name: String, input: GivenInput)] {
    var given: [(name: String, input: GivenInput)] = []
    if let value {
      guard let map = value.map else {
        findings.error("'inputs' takes a mapping from names to values", at: value)
        return []
      }
      for member in map.members {
        guard let name = findings.text(member.key, of: "an input") else { continue }
        guard let input = inputs.first(where: { $0.name == name }) else {
          let guess = name.nearest(among: inputs.map(\.name)).map { "; did you mean '\($0)'?" } ?? ""
          findings.error("the recipe has no input '\(name)'\(guess)", at: member.key)
          continue
        }
        if let secret = member.value.string, secret.hasPrefix("@secret:") {
          given.append((name, .secret(name: String(secret.dropFirst(8)))))
          continue
        }
        let entry = (name, GivenInput.value(member.value, findings.source))
        if case .failure(let faults) = input.checked(entry.1) {
          for fault in faults.list {
            var fault = fault
            if fault.location == nil { fault.location = findings.location(of: member.value) }
            findings.add(fault)
          }
        }
        given.append(entry)
      }
    }
    for input in inputs where input.isRequired && !given.contains(where: { $0.name == input.name }) {
      findings.error("runs of this entry need the input '\(input.name)' (\(input.type)); add it under 'inputs'", at: key)
    }
    return given
  }
}
