// A plan: what a run would change, by service and step, before it is started; as `errand plan` prints it.
import Agent
import Operations
import Basics
import HTTPServer
import RunState
import Runs

extension Pages {
  /// - Parameter changed: The reason why the run wasn't started, with the differences from the plan.
  static func plan(
    _ request: PageRequest, _ digest: String, changed: Problem? = nil
  ) async throws(Problem) -> HTTPServerResponse {
    let plan = try await displayedPlan(request, digest)
    var response = request.frame("Plan of \(plan.recipe)", "/recipes", PlanPage(plan, request, changed).markup)
    if let changed { response.status = changed.kind.status }
    return response
  }

  static func displayedPlan(_ request: PageRequest, _ digest: String) async throws(Problem) -> PlanRecord {
    try await request.ask(ShowPlan.with { $0.digest = digest }).plan
  }

  /// Starts the run of a plan, or shows the differences.
  static func runPlan(
    _ request: PageRequest, _ digest: String, key: String?
  ) async throws(Problem) -> HTTPServerResponse {
    let recipe = try await displayedPlan(request, digest).recipe
    do throws(Problem) {
      let accepted = try await request.ask(
        StartRun.with {
          $0.recipe = recipe
          $0.key = key
          $0.plan = digest
        })
      return redirect(pagePath("runs", accepted.run))
    } catch {
      guard error.kind == .refusal(.planChanged) else { throw error }
      return try await plan(request, digest, changed: error)
    }
  }

  /// Plans with the same inputs again.
  static func planAgain(_ request: PageRequest, _ digest: String) async throws(Problem) -> HTTPServerResponse {
    let recipe = try await displayedPlan(request, digest).recipe
    let again = try await request.ask(
      PlanRun.with {
        $0.recipe = recipe
        $0.plan = digest
      })
    return redirect(pagePath("plans", again.plan.digest))
  }
}

extension Part {
  /// A plan inside another page, without a way to run it.
  static func plan(_ plan: PlanRecord, _ request: PageRequest) -> Markup { PlanPage(plan, request, nil).inside }
}

private struct PlanPage {
  let plan: PlanRecord
  let document: Value
  let request: PageRequest
  let changed: Problem?

  init(_ plan: PlanRecord, _ request: PageRequest, _ changed: Problem?) {
    self.plan = plan
    document = plan.document
    self.request = request
    self.changed = changed
  }

  /// The most rows of a table; the command line shows all.
  private static let mostRows = 200
  private static let longest = 2_000
  /// The most sentences about the effects of a group.
  private static let mostDeeds = 20
  /// About the most bytes of a table, and of the values of one group.
  private static let mostBytes = Part.mostBytes / 3

  var markup: Markup {
    var parts: [Markup] = [
      Part.crumbs(("Recipes", "/recipes"), (plan.recipe, pagePath("recipes", plan.recipe))),
      .element("h1", [:], "Plan of \(plan.recipe)"), .element("p", ["class": "lead"], Markup(summary)),
    ]
    parts.append(failure)
    if let changed {
      parts.append(
        .element(
          "div", ["class": "notice fault", "role": "alert"], .element("p", [:], Markup(changed.detail)),
          .element("ul", [:], Markup(changed.changes.map { .element("li", [:], Markup($0)) }))))
    }
    if request.may(.start) {
      parts.append(Part.actions(actions, request.seesData ? change : .nothing, isFirst: plan.wouldFail))
    }
    parts.append(
      Part.facts([("Made", Part.timeAndAgo(plan.madeAt, request.clock)), ("Digest", Part.code(plan.digest))]))
    return Part.fitting(parts + sections)
  }

  /// The part of it that another page shows.
  var inside: Markup { Part.fitting([.element("p", ["class": "lead"], Markup(summary)), failure] + sections) }

  /// The changes and the reads of a run.
  private var sections: [Markup] {
    var parts: [Markup] = []
    parts += groups.filter { $0.writes > 0 }.map(section)
    if request.seesData {
      let notes = (document["notes"]?.list ?? []).filter { $0["kind"]?.string != "leftOut" }
      if !notes.isEmpty {
        let rows = notes.map { note -> [Markup] in
          [Part.code(note["path"]?.string ?? ""), Markup(conditions(note)), Markup(local(note["text"]?.string ?? ""))]
        }
        parts.append(Part.heading("On the way") + table("On the way", ["Step", "Condition", "What happens"], rows))
      }
      if let outputs = document["outputs"],
        let displayed = Part.value(PlanPage.displayed(outputs), request.clock, within: PlanPage.mostBytes)
      {
        parts.append(Part.heading("Outputs") + displayed)
      }
      if let inputs = Part.value(
        document["inputs"].map(PlanPage.displayed), request.clock, within: PlanPage.mostBytes)
      {
        parts.append(Part.heading("Inputs") + inputs)
      }
    }
    let reads = document["reads"]?.list ?? []
    if !reads.isEmpty {
      let rows = reads.map { read -> [Markup] in
        var row = [
          Part.code(read["path"]?.string ?? ""), Part.code(read["action"]?.string ?? ""),
          Markup(read["connection"]?.string ?? ""),
        ]
        if request.seesData { row.append(Markup(PlanPage.words(read["input"]))) }
        return row
      }
      let headings = ["Step", "Action", "Connection"] + (request.seesData ? ["Input"] : [])
      parts.append(Part.heading("Read for the plan") + table("Read for the plan", headings, rows))
    }
    return parts
  }

  /// Why the run would fail, if it would.
  private var failure: Markup {
    guard plan.wouldFail else { return .nothing }
    let message = request.seesData ? document["error"]?["message"]?.string : nil
    let step = document["error"]?["step"]?.string.map { " in '\($0)'" } ?? ""
    return Part.notice(
      .element("p", [:], Markup("The run would fail\(step)\(message.map { ": \($0)" } ?? ".")")), kind: "fault")
  }

  private var actions: [Part.Action] {
    let file = (document["file"]?.string ?? plan.recipe).shellQuoted
    let given = request.seesData ? arguments : ""
    var run = Part.Action(
      label: "Run exactly this", path: pagePath("plans", plan.digest, "run"),
      command: "errand plan \(file)\(given) --out plan.json; errand run \(file) --plan plan.json", kind: "main")
    run.isOnce = true
    let again = Part.Action(
      label: "Plan again", path: pagePath("plans", plan.digest, "again"), command: "errand plan \(file)\(given)",
      kind: changed != nil && !plan.wouldFail ? "main" : nil)
    return plan.wouldFail || changed != nil ? [again] : [run, again]
  }

  /// The way back to the form, with the inputs of the plan.
  private var change: Markup {
    .element(
      "a",
      [
        "class": plan.wouldFail ? "button main" : "button",
        "href": pagePath("recipes", plan.recipe, query: [("plan", plan.digest)]),
      ], "Change the inputs")
  }

  /// The inputs on the command line.
  private var arguments: String {
    (document["inputs"]?.map?.members ?? []).map { member in
      let value = member.value
      let text =
        value["secret"]?.string.map { "@secret:\($0)" } ?? (value["$withSecret"] == nil ? PlanPage.words(value) : "…")
      return " -i " + "\(member.name ?? "")=\(text)".shellQuoted
    }.joined()
  }

  /// The changes, in a sentence.
  private var summary: String {
    let tally = document["tally"]
    var parts: [String] = []
    let deeds = groups.reduce(0) { $0 + $1.deeds.count }
    if deeds > 0 { parts.append("\(deeds) to do") }
    for kind in ["added", "changed", "removed"] {
      let count = (tally?[kind]?.int ?? 0) - (kind == "added" ? deeds : 0)
      if count > 0 { parts.append("\(count) \(kind)") }
    }
    if let count = tally?["opaque"]?.int, count > 0 { parts.append("\(counted(count, "write")) shown by input") }
    var text = parts.isEmpty ? "No changes" : parts.joined(separator: ", ")
    if let count = tally?["undecided"]?.int, count > 0 { text += " (\(count) of these perhaps)" }
    return "\(text)\(plan.wouldFail ? "; the run would fail" : ""). Nothing was written."
  }

  // MARK: Changes

  /// The writes of one step under the same conditions.
  private struct Group {
    var connection: String
    var path: String
    var action: String
    var conditions: String
    var changes: [(what: String, before: String?, after: String?)] = []
    /// Writes without a state before them, such as commands.
    var deeds: [String] = []
    var reasons: [String] = []
    /// The inputs of writes whose changes are unknown.
    var inputs: [Value] = []
    var writes = 0
    var leftOut = 0
  }

  private var groups: [Group] {
    var groups: [Group] = []
    for write in document["writes"]?.list ?? [] {
      let path = (write["path"]?.string ?? "").withoutIndexes
      let conditions = conditions(write)
      let (connection, action) = (write["connection"]?.string ?? "", write["action"]?.string ?? "")
      var index = groups.firstIndex {
        $0.connection == connection && $0.path == path && $0.action == action && $0.conditions == conditions
      }
      if index == nil {
        groups.append(Group(connection: connection, path: path, action: action, conditions: conditions))
        index = groups.count - 1
      }
      guard let index else { continue }
      groups[index].writes += 1
      for change in write["changes"]?.list ?? [] {
        if write["isDone"]?.bool == true {
          groups[index].deeds.append("\(change["subject"]?.string ?? ""): \(change["after"]?.string ?? "")")
          continue
        }
        groups[index].changes.append(
          (change["subject"]?.string ?? "", change["before"]?.string, change["after"]?.string))
      }
      if let reason = write["opaque"]?.string {
        if !groups[index].reasons.contains(reason) { groups[index].reasons.append(reason) }
        groups[index].inputs.append(PlanPage.displayed(write["input"] ?? .null))
      }
    }
    for note in document["notes"]?.list ?? [] where note["kind"]?.string == "leftOut" {
      let path = (note["path"]?.string ?? "").withoutIndexes
      if let index = groups.firstIndex(where: { $0.path == path }) { groups[index].leftOut += 1 }
    }
    return groups
  }

  private func section(_ group: Group) -> Markup {
    func count(_ word: String, _ isOne: (_ before: String?, _ after: String?) -> Bool) -> String? {
      let count = group.changes.count { isOne($0.before, $0.after) }
      return count > 0 ? "\(count) \(word)" : nil
    }
    var counts = [
      count("added") { $0 == nil && $1 != nil }, count("changed") { $0 != nil && $1 != nil && $0 != $1 },
      count("removed") { $0 != nil && $1 == nil }, count("unchanged") { $0 == $1 },
    ].compactMap { $0 }
    if !group.deeds.isEmpty { counts.insert("\(group.deeds.count) to do", at: 0) }
    if !group.inputs.isEmpty { counts.append("\(counted(group.inputs.count, "write")) shown by input") }
    if group.leftOut > 0 { counts.append("\(group.leftOut) left out") }
    var parts: [Markup] = [
      Part.heading("\(group.connection): \(group.path)"),
      .element(
        "p", [:], Part.code(group.action), Markup(": \(counts.isEmpty ? "no change" : counts.joined(separator: ", "))")),
    ]
    guard request.seesData else { return Markup(parts) }
    if !group.conditions.isEmpty { parts.append(.element("p", ["class": "quiet"], Markup(group.conditions))) }
    let rows = group.changes.filter { $0.before != $0.after }.map { change in
      [
        Markup(change.what.shortened(to: PlanPage.longest)), side(change.before, "before"), side(change.after, "after"),
      ]
    }
    let name = "Changes of \(group.path)"
    parts += group.deeds.prefix(PlanPage.mostDeeds).map {
      .element("p", [:], Markup($0.shortened(to: PlanPage.longest)))
    }
    if group.deeds.count > PlanPage.mostDeeds {
      parts.append(.element("p", ["class": "quiet"], "and \(group.deeds.count - PlanPage.mostDeeds) more"))
    }
    if !rows.isEmpty { parts.append(table(name, ["What", "Before", "After"], rows)) }
    for reason in group.reasons.prefix(5) { parts.append(.element("p", ["class": "quiet"], Markup(reason))) }
    if group.reasons.count > 5 {
      parts.append(.element("p", ["class": "quiet"], "and \(group.reasons.count - 5) more"))
    }
    if group.inputs.count == 1,
      let only = Part.value(
        group.inputs.first, request.clock, within: PlanPage.mostBytes)
    {
      parts.append(only)
    } else if group.inputs.count > 1 {
      var names: [String] = []
      for name in group.inputs.flatMap({ ($0.map?.members ?? []).compactMap(\.name) }) where !names.contains(name) {
        names.append(name)
      }
      parts.append(
        table(name, names, group.inputs.map { input in names.map { Markup(PlanPage.words(input[$0], none: "")) } }))
    }
    return Markup(parts)
  }

  private func side(_ text: String?, _ kind: String) -> Markup {
    guard let text else { return .element("span", ["class": "quiet"], "none") }
    return .element("span", ["class": kind], Markup(text.shortened(to: PlanPage.longest)))
  }

  private func table(_ name: String, _ headings: [String], _ rows: [[Markup]]) -> Markup {
    var left = PlanPage.mostBytes
    let shown = rows.prefix(PlanPage.mostRows).prefix { row in
      defer { left -= row.reduce(0) { $0 + $1.text.utf8.count } }
      return left > 0
    }
    let rest = rows.count - shown.count
    return Part.table(name, headings, Array(shown))
      + (rest > 0 ? .element("p", ["class": "quiet small"], "and \(rest) more; the command line shows all") : .nothing)
  }

  // MARK: Values

  private func conditions(_ entry: Value) -> String {
    (entry["if"]?.list ?? []).compactMap(\.string).joined(separator: ", ")
  }

  /// A note with its instant or its length of time in words.
  private func local(_ note: String) -> String {
    let start = "would wait "
    guard note.hasPrefix(start), let span = TimeSpan(String(note.dropFirst(start.count))) else {
      return request.clock.told(note)
    }
    return start + span.inShort
  }

  /// A value of the document; a reason in parentheses replaces an unknown value.
  private static func displayed(_ value: Value) -> Value {
    if let map = value.map {
      if map.count == 1, let reason = map["$unknown"]?.string { return .string("(\(reason))") }
      if map.count == 1, map["$withSecret"] != nil { return .string("(holds a secret)") }
      return .map(map.mapValues(displayed))
    }
    return value.list.map { .list($0.map(displayed)) } ?? value
  }

  private static func words(_ value: Value?, none: String = "none") -> String {
    guard let value, !value.isNull else { return none }
    let displayed = displayed(value)
    return (displayed.string ?? JSON.displayed(displayed)).shortened(to: longest)
  }
}
