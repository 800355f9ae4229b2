// The list of runs: its filters are in its address, and runs that are marked, or all that match, are changed at once.
import Agent
import Operations
import Basics
import HTTPServer
import RunState

extension Pages {
  static func runs(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let search = try await RunSearch(request.http.query, request)
    var asked = search.query
    (asked.limit, asked.isPaged, asked.after) = (PageRequest.mostRows, true, request.given("cursor"))
    let list = try await request.ask(ListRuns(asked))
    let counts = try await request.ask(
      CountRuns.with {
        $0.fill(from: search.query)
        $0.status = []
      }
    ).counts
    let form = request.may(.steer) ? "steer" : nil
    let rows =
      list.openWithReasons.reversed().map { openRow($0, request, markedIn: form) }
      + list.finished.map { finishedRow($0, request, markedIn: form) }
    let announcement = "\(counted(list.openCount, "open run")), \(counted(rows.count, "run")) listed"
    return request.frame(
      "Runs", "/runs", live: .init(seconds: 5, announcement: announcement), .element("h1", [:], "Runs"),
      search.markup(inputs: list.inputs, request), search.chips(counts),
      Part.rows(rows, orElse: search.isFiltered ? "No run matches." : "No recipe has run yet."),
      search.pager(request.http.query, next: list.next), form.map { steering($0, search, list, counts) } ?? .nothing)
  }

  // MARK: Changing many

  /// The form that the marks of the rows belong to.
  private static func steering(_ id: String, _ search: RunSearch, _ list: RunList, _ counts: RunCounts) -> Markup {
    let shown = list.open.map { "\($0.id) \($0.status)" } + list.finished.map { "\($0.id) \($0.status)" }
    if shown.isEmpty { return .nothing }
    // The same for as long as the same rows are shown, so that a form that is sent twice changes each run once. It isn't
    // random, because the page would differ each time that it is renewed.
    let key = "form-" + (SHA256.digest(of: Array(shown.joined(separator: "\n").utf8)) ?? "")
    func button(_ verb: SteerRuns.Verb, _ label: String, isAll: Bool) -> Markup {
      .element(
        "button",
        ["name": "do", "value": isAll ? "\(verb) all" : "\(verb)", "class": verb == .cancel ? "risky" : nil],
        Markup(label))
    }
    var parts: [Markup] = [
      Part.hidden("key", key), Markup(search.fields.map { Part.hidden($0.0, $0.1) }),
      button(.retry, "Retry the marked runs", isAll: false), button(.cancel, "Cancel the marked runs", isAll: false),
    ]
    var all: [Markup] = []
    for (verb, word) in [(SteerRuns.Verb.retry, "Retry"), (.cancel, "Cancel")] {
      let count = counts.count(of: search.statuses(for: verb))
      guard count > 0 else { continue }
      guard count <= SteerRuns.mostMatched, counts.isWhole else {
        all.append(
          .element(
            "p", ["class": "quiet"],
            "\(word): more than \(SteerRuns.mostMatched) match. Filter them, to change all that match at once."))
        continue
      }
      all.append(Part.hidden("expected-\(verb)", "\(count)"))
      all.append(button(verb, count == 1 ? "\(word) the one that matches" : "\(word) all \(count)", isAll: true))
    }
    if !all.isEmpty {
      parts.append(
        .element(
          "details", ["class": "action"], .element("summary", [:], "All that match"),
          .element(
            "p", ["class": "quiet"],
            "Also those on other pages. A retry keeps what succeeded. If more match by then than now, nothing is changed."
          ),
          .element("div", ["class": "actions"], Markup(all))))
    }
    let command = "errand runs steer retry|cancel RUN… | --recipe NAME --status STATUS"
    return .element("form", ["id": id, "class": "actions", "method": "post", "action": "/runs"], Markup(parts))
      + Part.command(command)
  }

  /// Changes the runs that a person marked, or all that match, and shows the outcome of each.
  static func steer(_ request: PageRequest, _ form: HTTPQuery) async throws(Problem) -> HTTPServerResponse {
    let words = (form["do"] ?? "").split(separator: " ").map { String($0) }
    guard request.may(.steer) else {
      throw Problem(.refusal(.forbidden), "the token lacks the scope 'steer', which changing runs needs")
    }
    guard let verb = words.first.flatMap(SteerRuns.Verb.init(rawValue:)) else {
      throw Problem(.refusal(.request), "choose to retry or to cancel")
    }
    let search = try await RunSearch(form, request)
    let answer = try await request.ask(
      SteerRuns.with {
        $0.verb = Word(verb)
        $0.key = form["key"]
        if words.count > 1 {
          var filter = RunFilterInput()
          filter.fill(from: search.query)
          ($0.filter, $0.expected) = (filter, form["expected-\(verb)"].flatMap { Int($0) } ?? 0)
        } else {
          $0.runs = form.items.filter { $0.name == "run" }.map(\.value)
        }
      })
    let (done, all) = (answer.changedCount, answer.outcomes.count)
    let title =
      verb == .retry ? "\(done) of \(counted(all, "run")) retried" : "\(done) of \(counted(all, "run")) cancelled"
    // Unchanged ones come first.
    let outcomes = answer.outcomes.filter { $0.refusal != nil } + answer.outcomes.filter { $0.refusal == nil }
    let rows = outcomes.prefix(mostOutcomes).map { outcome -> Markup in
      let news: Markup =
        if let refusal = outcome.refusal {
          Markup(request.seesData ? refusal.shortened(to: 300) : "It was left as it is.")
        } else if let retry = outcome.accepted {
          "retried as " + link(toRun: retry, of: "the run")
        } else {
          "is being cancelled"
        }
      return Part.status(outcome.refusal == nil ? "started" : "refused", outcome.refusal == nil ? "done" : "left")
        + .element(
          "span", ["class": "grow"], link(toRun: outcome.run, of: "Run"), .element("span", ["class": "quiet"], news))
    }
    let more = outcomes.count - rows.count
    return request.frame(
      title, "/runs", Part.crumbs(("Runs", "/runs")), .element("h1", [:], Markup(title)),
      Part.rows(rows, orElse: "No run matches any more."),
      more > 0 ? .element("p", ["class": "quiet"], "and \(more) more") : .nothing,
      .element(
        "p", ["class": "actions"],
        .element("a", ["class": "button main", "href": pagePath("runs", query: search.fields)], "Back to the list")))
  }

  /// The most rows about runs that were changed at once.
  private static let mostOutcomes = 200
}

/// The filters of the list of runs, as an address or a form has them.
///
/// `recipe` is the exact name of a recipe that is served, or else a part of names.
struct RunSearch {
  private(set) var query = RunListQuery()
  private(set) var recipe = ""
  private(set) var input = ""
  private(set) var (since, until) = ("", "")
  /// The names of the recipes that are served.
  private let names: [String]

  init(_ items: HTTPQuery, _ request: PageRequest) async throws(Problem) {
    func given(_ name: String) -> String? { items[name].flatMap { $0.trimmed.isEmpty ? nil : $0.trimmed } }
    names = try await request.ask(ListRecipes()).recipes.map(\.name)
    if let text = given("recipe") {
      recipe = text
      let isName = names.contains(where: text.hasSameScalars)
      (query.recipe, query.filter.recipePart) = isName ? (text, nil) : (nil, text)
    }
    for item in items.items where item.name == "status" && !item.value.isEmpty {
      let status = try RunSearch.word(RunStatus.self, item.value, "no run has the status")
      if !query.statuses.contains(status) { query.statuses.append(status) }
    }
    if let cause = given("cause") {
      query.filter.causes = [try RunSearch.word(RunCause.Kind.self, cause, "no run has the cause")]
    }
    query.filter.text = given("text")
    if let text = given("input") {
      guard let input = RunFilter.Input(text) else {
        throw Problem(.refusal(.request), "'\(text.shortened)' isn't an input and its value; write name=value")
      }
      (self.input, query.filter.inputs) = (text, [input])
    }
    query.failure = given("failure")
    (since, until) = (given("since") ?? "", given("until") ?? "")
    query.since = try RunSearch.instant(since, request.clock)
    query.until = try RunSearch.instant(until, request.clock)
  }

  private static func word<Choice: RawRepresentable<String> & CaseIterable>(
    _: Choice.Type, _ text: String, _ what: String
  ) throws(Problem) -> Choice {
    if let choice = Choice(rawValue: text) { return choice }
    let known = Choice.allCases.map(\.rawValue)
    let guess = text.nearest(among: known).map { "did you mean '\($0)'?" }
    throw Problem(.refusal(.request), "\(what) '\(text.shortened)'; \(guess ?? "there are \(joined(known))")")
  }

  private static func instant(_ text: String, _ clock: WallClock) throws(Problem) -> Timestamp? {
    if text.isEmpty { return nil }
    guard let instant = clock.instant(text) else {
      throw Problem(.refusal(.request), "'\(text.shortened)' isn't a date; write 2026-11-20")
    }
    return instant
  }

  // MARK: In addresses and forms

  private var cause: String { query.filter.causes.first?.rawValue ?? "" }

  /// The filters besides the statuses, also empty ones.
  private var others: HTTPQueryItems {
    [
      ("recipe", recipe), ("cause", cause), ("text", query.filter.text ?? ""), ("input", input),
      ("failure", query.failure ?? ""), ("since", since), ("until", until),
    ]
  }

  /// All filters that are given.
  var fields: HTTPQueryItems { (others + query.statuses.map { ("status", $0.rawValue) }).filter { !$0.1.isEmpty } }

  var isFiltered: Bool { !fields.isEmpty }

  /// The statuses of the runs that are listed and that a change is for.
  func statuses(for verb: SteerRuns.Verb) -> [RunStatus] {
    verb.statuses.filter { query.statuses.isEmpty || query.statuses.contains($0) }
  }

  // MARK: Markup

  /// The form.
  ///
  /// - Parameter inputs: The inputs of the runs that are listed, as suggestions.
  func markup(inputs: [String], _ request: PageRequest) -> Markup {
    func field(_ name: String, _ label: String, _ value: String, list: [String]? = nil, type: String? = nil) -> Markup {
      let id = list.map { _ in "\(name)-names" }
      let options = (list ?? []).prefix(RunSearch.mostSuggestions).map { Markup.element("option", ["value": $0]) }
      return .element(
        "label", [:], Markup(label),
        .element(
          "input", ["name": name, "value": value, "type": type, "list": id, "autocomplete": "off"]))
        + (id.map { .element("datalist", ["id": $0], Markup(options)) } ?? .nothing)
    }
    let causes =
      [Markup.element("option", ["value": ""], "any")]
      + RunCause.Kind.allCases.map { kind in
        .element(
          "option", ["value": kind.rawValue, "selected": kind.rawValue == cause ? "" : nil],
          Markup(Part.words(kind.rawValue)))
      }
    var parts: [Markup] = [
      field("recipe", "Recipe", recipe, list: names),
      .element("label", [:], "Cause", .element("select", ["name": "cause"], Markup(causes))),
    ]
    if request.seesData {
      parts.append(field("text", "Text in the error", query.filter.text ?? ""))
      parts.append(field("input", "Input, as name=value", input, list: inputs))
    }
    parts += [field("since", "From", since, type: "date"), field("until", "Before", until, type: "date")]
    parts += query.statuses.map { Part.hidden("status", $0.rawValue) }
    if let failure = query.failure { parts.append(Part.hidden("failure", failure)) }
    parts.append(.element("button", [:], "Show"))
    if isFiltered { parts.append(.element("a", ["class": "button", "href": "/runs"], "All")) }
    return .element("form", ["class": "filter", "method": "get", "action": "/runs"], Markup(parts))
  }

  private static let mostSuggestions = 100

  /// A link for each status that runs have, which adds it to the filter or takes it away.
  func chips(_ counts: RunCounts) -> Markup {
    let shown = RunStatus.allCases.filter { counts[$0] > 0 || query.statuses.contains($0) }
    if shown.isEmpty { return .nothing }
    let links = shown.map { status -> Markup in
      let isChosen = query.statuses.contains(status)
      let chosen = isChosen ? query.statuses.filter { $0 != status } : query.statuses + [status]
      let count = "\(counts[status])\(counts.isWhole || !status.isEnded ? "" : "+")"
      return .element(
        "a",
        [
          "class": "status s-\(status.rawValue)", "aria-current": isChosen ? "true" : nil,
          "href": pagePath("runs", query: others + chosen.map { ("status", $0.rawValue) }),
        ], Markup("\(count) \(Part.words(status.rawValue))"))
    }
    return .element("nav", ["class": "fold chips", "aria-label": "Statuses"], Markup(links))
  }

  /// The ways to the page after this one and to the page before, whose places the address has.
  ///
  /// - Parameter next: Where the page after this one begins.
  func pager(_ address: HTTPQuery, next: String?) -> Markup {
    let cursor = address["cursor"].flatMap { $0.isEmpty ? nil : $0 }
    let before = address.items.filter { $0.name == "back" }.map(\.value).suffix(RunSearch.mostBack)
    var parts: [Markup] = []
    func link(_ label: String, _ relation: String, _ cursor: String, _ back: some Sequence<String>) {
      let place = [("cursor", cursor == RunSearch.first ? "" : cursor)] + back.map { ("back", $0) }
      parts.append(
        .element(
          "a", ["class": "button", "rel": relation, "href": pagePath("runs", query: fields + place)], Markup(label)))
    }
    if cursor != nil { link("Newer runs", "prev", before.last ?? RunSearch.first, before.dropLast()) }
    if let next { link("Older runs", "next", next, before + [cursor ?? RunSearch.first]) }
    return parts.isEmpty ? .nothing : .element("p", ["class": "actions"], Markup(parts))
  }

  /// The word for the place of the first page.
  private static let first = "first"
  /// The most pages that an address leads back to, one after another.
  private static let mostBack = 20
}

extension RunList {
  /// The inputs of these runs in short, each as `name=value` and once.
  fileprivate var inputs: [String] {
    var seen: Set<String> = []
    let maps = open.map { Optional($0.origin.inputs) } + finished.map(\.inputs)
    return maps.flatMap { $0?.map?.members ?? [] }.compactMap { member in
      let text = "\(member.name ?? "")=\(member.value.string ?? "")"
      return seen.insert(text).inserted ? text : nil
    }
  }
}
