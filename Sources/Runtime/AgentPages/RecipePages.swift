// The recipes that are served, and one of them: how it is started, what it may do, and its text.
import Agent
import Operations
import Basics
import HTTPServer
import RunState

extension Pages {
  static func recipes(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let (listed, first) = (try await request.ask(ListRecipes()), request.first)
    let wanted = request.given("find")?.lowercasedASCII
    let found = listed.recipes.filter { recipe in
      guard let wanted else { return true }
      return "\(recipe.name) \(recipe.summary ?? "") \(recipe.file)".lowercasedASCII.contains(wanted)
    }
    // Recipes that need a person come first.
    let all = found.filter(\.needsLook) + found.filter { !$0.needsLook }
    let rows = all.dropFirst(first).prefix(PageRequest.mostRows).map { recipe in
      row(of: recipe, listed.activities[recipe.name] ?? RecipeActivity(), request)
    }
    var tools: Markup = .element(
      "p", [:], Part.link("Actions", to: "/actions"), ": the actions that steps can call, with their fields.")
    // A check is about all recipes.
    if request.caller.recipes.isEmpty {
      tools =
        tools + .element("p", [:], Part.link("Check", to: "/check"), ": finds the errors in the text of a recipe.")
    }
    if request.agent.mayEdit(request.caller) {
      let words: Markup = ": edits recipes, tests and errand.yaml. "
      tools = .element("p", [:], Part.link("Files", to: "/edit"), words, Part.link("New file", to: "/edit/new")) + tools
    }
    let faulty = all.count { $0.isFaulty || $0.isOutOfDate }
    let announcement = "\(counted(all.count, "recipe")), \(faulty) with errors"
    var live = PageFrame.Live(seconds: 5, announcement: announcement)
    live.until = listed.activities.values.compactMap(\.next).min()
    let search = Markup.element(
      "form", ["class": "filter", "method": "get", "action": "/recipes", "role": "search"],
      .element(
        "label", [:], "Name or purpose",
        .element("input", ["name": "find", "type": "search", "value": request.given("find"), "autocomplete": "off"])),
      .element("button", [:], "Search"),
      wanted == nil ? .nothing : .element("a", ["class": "button", "href": "/recipes"], "All"))
    return request.frame(
      "Recipes", "/recipes", live: live, .element("h1", [:], "Recipes"), search,
      Part.rows(
        rows,
        orElse: wanted == nil
          ? "No recipe is served. Errand serves the recipes in the folder 'recipes'." : "No recipe matches."),
      Part.pager(first, rows.count, of: all.count, by: PageRequest.mostRows) { request.page(from: $0, "recipes") },
      Part.heading("For writing recipes"), tools)
  }

  private static func row(of recipe: RecipeRecord, _ activity: RecipeActivity, _ request: PageRequest) -> Markup {
    var parts: [Markup] = [
      .element(
        "span", ["class": "grow"], Part.link(recipe.name, to: pagePath("recipes", recipe.name)),
        .element("span", ["class": "quiet"], Markup(recipe.summary?.shortened(to: 200) ?? "")))
    ]
    if recipe.isFaulty || recipe.isOutOfDate { parts.append(Part.status("error", "has errors")) }
    parts += recipe.missing.map { Part.status("uncertain", "needs connection \($0)") }
    parts.append(self.activity(of: recipe.name, activity, request))
    if let name = recipe.otherName { parts.append(.element("span", ["class": "end"], Part.code(name))) }
    return Markup(parts)
  }

  /// The latest results of a recipe, the last one's duration, and its next slot.
  private static func activity(
    of recipe: String, _ activity: RecipeActivity, _ request: PageRequest
  ) -> Markup {
    var parts: [Markup] = []
    if activity.pausedCount > 0 { parts.append(Part.status("paused")) }
    if !activity.latest.isEmpty { parts.append(Part.dots(activity.latest)) }
    var words: [Markup] = []
    if let last = activity.latest.first, let took = last.endedAt.span(since: last.createdAt) {
      words.append(
        .element(
          "a", ["href": pagePath("runs", last.run)], "took \(took.inShort)",
          Part.unseen(", the latest run of \(recipe)")))
    }
    if let next = activity.next { words.append("next " + Part.ago(next, request.clock)) }
    if !words.isEmpty {
      let joined = words.enumerated().map { $0.offset == 0 ? $0.element : ", " + $0.element }
      parts.append(.element("span", ["class": "end"], Markup(joined)))
    }
    return Markup(parts)
  }

  /// How the runs of the last 30 days went, in a fact and a bar a day.
  private static func statistics(of recipe: String, _ request: PageRequest) async throws(Problem) -> [Markup] {
    let answer = try await request.ask(
      ShowStatistics.with {
        $0.recipe = recipe
        $0.daily = true
      })
    guard let statistics = answer.recipes.first else { return [] }
    let counts = RunStatus.allCases.compactMap { status in
      statistics.totals.counts[status].map { "\($0) \(Part.words(status.rawValue))" }
    }
    return [
      Part.heading("Last 30 days"),
      Part.facts([
        ("Runs", Markup(joined(counts))), ("Succeeded", statistics.totals.successInWords.map { Markup($0) }),
        ("Took", statistics.totals.average.map { Markup("\($0.inShort), the average of successes") }),
      ]), Part.days(statistics.days, from: answer.firstDay, to: answer.endDay),
    ]
  }

  static func recipe(_ request: PageRequest, _ name: String) async throws(Problem) -> HTTPServerResponse {
    guard request.may(.start), request.seesData else { return try await recipe(request, name, form: nil) }
    if let like = request.given("like") {
      let run = try await displayed(request, like)
      guard run.recipe.hasSameScalars(as: name), run.erasedAt == nil else {
        throw Problem(.refusal(.request), "the inputs of this run can't be used; start the recipe without 'like'")
      }
      let recipe = try await request.ask(ShowRecipe.with { $0.recipe = name }).recipe
      return try await Pages.recipe(request, name, form: StartForm.Given(like: run, for: recipe))
    }
    guard let digest = request.given("plan") else { return try await recipe(request, name, form: nil) }
    return try await recipe(request, name, form: nil, plan: try await displayedPlan(request, digest))
  }

  /// The most findings that are shown outside the text.
  private static let mostFindings = 20

  /// - Parameters:
  ///   - form: A form that was refused, with its faults.
  ///   - plan: A plan whose inputs are shown in the form.
  static func recipe(
    _ request: PageRequest, _ name: String, form: StartForm.Given?, plan: PlanRecord? = nil
  ) async throws(Problem) -> HTTPServerResponse {
    let recipe = try await request.ask(ShowRecipe.with { $0.recipe = name }).recipe
    let given = form ?? plan.map { StartForm.Given(inputsOf: $0, for: recipe) }
    let start = StartForm(recipe, given: given, secrets: try await secretNames(for: recipe, request))
    var content: [Markup] = [
      Part.crumbs(("Recipes", "/recipes")), .element("h1", [:], Markup(recipe.name)), start.faults,
    ]
    if let summary = recipe.summary { content.append(.element("p", ["class": "lead"], Markup(summary))) }
    content.append(
      Part.facts([
        (
          recipe.schedules.count == 1 ? "Schedule" : "Schedules",
          recipe.schedules.isEmpty
            ? nil : Markup(recipe.schedules.map { Part.link($0, to: pagePath("schedules", $0)) + " " })
        ),
        ("Runs", Part.link("of this recipe", to: pagePath("runs", query: [("recipe", recipe.name)]))),
        ("File", Part.code(recipe.file) + " " + Part.edit(recipe.file, "Edit", request)),
      ]))
    let places = try await FindingPlaces(recipe, request)
    if recipe.isFaulty {
      let sentence: Markup = "It has errors, so it isn't served. They are marked in the text."
      let errors = recipe.findings.filter { $0.severity == "error" }.prefix(mostFindings).map(places.finding)
      content.append(Part.notice(.element("p", [:], sentence) + Markup(errors), kind: "fault"))
    } else if recipe.isOutOfDate {
      let sentence: Markup =
        "The file has changed and has errors. Errand uses the version before it, which is shown here."
      content.append(
        Part.notice(
          .element("p", [:], sentence) + Markup(recipe.findings.prefix(mostFindings).map(places.finding)),
          kind: "fault"))
    }
    let refusal = refusal(of: recipe, request)
    if let refusal { content.append(refusal) }
    if !recipe.isFaulty, refusal == nil, request.may(.start) {
      content.append(start.markup)
    }
    content += try await statistics(of: recipe.name, request)
    if !recipe.actions.isEmpty {
      let rows = recipe.actions.sorted { $0.key.precedesByScalars($1.key) }.map { action, effect in
        [
          .element("a", ["href": pagePath("actions", action)], Part.code(action)), Markup(Part.words(effect)),
        ]
      }
      content.append(Part.heading("What it may do") + Part.table("Actions", ["Action", "Effect"], rows))
    }
    if !recipe.steps.isEmpty { content.append(Part.heading("Steps") + Part.outline(recipe.steps)) }
    let findings = recipe.isOutOfDate ? [] : recipe.findings
    // Errors are in the notice on top already.
    let elsewhere = findings.filter { finding in
      (finding.file != recipe.file || recipe.text == nil) && !(recipe.isFaulty && finding.severity == "error")
    }.prefix(mostFindings).map(places.finding)
    // The lines with findings, for a person who may mend them.
    let faulty = Set(recipe.findings.filter { $0.file == recipe.file }.compactMap(\.line)).sorted()
    if !faulty.isEmpty, request.agent.mayEdit(request.caller) {
      let ways = faulty.prefix(mostFindings).map { Part.edit(recipe.file, line: $0, "Edit line \($0)", request) + " " }
      content.append(.element("p", ["class": "fold"], Markup(Array(ways))))
    }
    if let text = recipe.text {
      let room = max(10_000, Part.mostBytes - (content + elsewhere).reduce(0) { $0 + $1.text.utf8.count })
      let lines = Part.recipe(
        text, findings.filter { $0.file == recipe.file }, from: request.first, within: room
      ) { request.page(from: $0, "recipes", recipe.name) + "#text" }
      content.append(.element("h2", ["id": "text"], "Text") + lines)
    }
    content += elsewhere
    return request.frame(recipe.name, "/recipes", isRefused: form?.objection != nil, Markup(content))
  }

  /// The names of secrets that a visitor may choose from; none for a recipe that takes no secret.
  private static func secretNames(
    for recipe: RecipeRecord, _ request: PageRequest
  ) async throws(Problem) -> [String] {
    // A visitor who is limited to recipes doesn't see which secrets there are.
    guard StartForm.takesSecret(recipe), request.may(.start), request.may(.steer), request.caller.recipes.isEmpty else {
      return []
    }
    return try await request.ask(ListConnections()).names
  }
}

/// Where the findings of a recipe are: each is a link to its line, if a page shows that.
private struct FindingPlaces {
  let recipe: RecipeRecord
  let request: PageRequest
  /// The served recipes by their files, if any finding is in another file.
  private var others: [String: String] = [:]

  /// How many lines a page shows before the one that a link leads to.
  private static let linesBefore = 10

  init(_ recipe: RecipeRecord, _ request: PageRequest) async throws(Problem) {
    self.recipe = recipe
    self.request = request
    guard recipe.findings.contains(where: { $0.file != nil && $0.file != recipe.file }) else { return }
    for other in try await request.ask(ListRecipes()).recipes where others[other.file] == nil {
      others[other.file] = other.name
    }
  }

  /// A finding outside the text, with its place.
  func finding(_ finding: FindingRecord) -> Markup {
    guard let file = finding.file, let line = finding.line else { return Part.finding(finding) }
    let isHere = file == recipe.file
    let words = isHere ? "Line \(line)" : "\(file), line \(line)"
    return Part.finding(finding, at: address(file, line).map { Part.link(words, to: $0) } ?? Markup(words))
  }

  /// The page that shows a line; nil if none does, as for a file that was changed since it was taken.
  private func address(_ file: String, _ line: Int) -> String? {
    let name = file == recipe.file ? (recipe.isOutOfDate || recipe.text == nil ? nil : recipe.name) : others[file]
    let before = line - FindingPlaces.linesBefore
    // A page has many lines; the first of them needs no number.
    let from = line > Part.mostLines ? "\(before)" : ""
    return name.map { pagePath("recipes", $0, query: [("from", from)]) + "#line-\(line)" }
  }
}

extension Pages {
  /// The reason why a run of a recipe would be refused, and the remedy; nil if it wouldn't be.
  ///
  /// Such a recipe is offered neither for a plan nor for a run.
  private static func refusal(of recipe: RecipeRecord, _ request: PageRequest) -> Markup? {
    guard let refusal = recipe.refusal else { return nil }
    let help: Markup =
      recipe.missing.isEmpty
      ? "Which secrets are found, and where: " + Part.code("errand secrets check \(recipe.file.shellQuoted)")
      : "Add \(joined(recipe.missing.map { "'\($0)'" })) to errand.yaml below the key " + Part.code("connections")
        + ". " + Part.link("Connections", to: "/connections") + " shows those that it has."
    return Part.notice(
      .element("p", [:], "A run of it would be refused: \(refusal).") + .element("p", [:], help)
        + .element(
          "p", [:],
          "Until then it can be neither planned nor run here. Errand reads errand.yaml again on SIGHUP, and when it starts."
        ),
      kind: "fault")
  }
}

extension Part {
  /// The latest results of a recipe as marks, the latest on the right.
  fileprivate static func dots(_ latest: [RunResult]) -> Markup {
    let inOrder = latest.reversed()
    var words: [String] = []
    for result in inOrder { words.append(Part.words(result.status.rawValue)) }
    let marks = inOrder.map { Markup.element("i", ["class": "s-\($0.status.rawValue)"]) }
    return .element(
      "span",
      ["class": "dots", "role": "img", "aria-label": "Latest results, the last one at the end: \(joined(words))"],
      Markup(marks))
  }

  /// A bar for each of some days: how many runs succeeded, and above them how many failed.
  fileprivate static func days(_ days: [(day: Int, totals: RunTotals)], from first: Int, to end: Int) -> Markup {
    let most = max(1, days.map { $0.totals.succeeded &+ $0.totals.failed }.max() ?? 1)
    let (width, height) = (10, 60)
    var bars: [Markup] = []
    func bar(_ day: Int, _ count: Int, above below: Int, _ kind: String) {
      guard count > 0 else { return }
      // A day with one run among many is seen, too.
      let (size, base) = (max(2, height * count / most), height * below / most)
      bars.append(
        .element(
          "rect",
          [
            "class": kind, "x": "\((day - first) * width + 1)", "y": "\(max(0, height - base - size))",
            "width": "\(width - 2)", "height": "\(size)",
          ]))
    }
    for (day, totals) in days where (first..<end).contains(day) {
      bar(day, totals.succeeded, above: 0, "f-good")
      bar(day, totals.failed, above: totals.succeeded, "f-bad")
    }
    let failing = days.count { $0.totals.failed > 0 }
    let label =
      "Runs of each day from \(CivilDate(daysSinceEpoch: first)) to \(CivilDate(daysSinceEpoch: end - 1)): at most \(most) a day, failures on \(counted(failing, "day"))"
    return .element(
      "div", ["class": "bar days"],
      .element(
        "svg",
        [
          "viewBox": "0 0 \((end - first) * width) \(height)", "preserveAspectRatio": "none", "role": "img",
          "aria-label": label,
        ], Markup(bars)))
  }
}

extension RecipeRecord {
  /// Whether a person has to look at it.
  fileprivate var needsLook: Bool { isFaulty || isOutOfDate || !missing.isEmpty }

  /// The name of its file, if that isn't the recipe's.
  fileprivate var otherName: String? {
    let last = file.split(separator: "/").last.map { String($0) } ?? file
    return ["\(name).yaml", "\(name).yml"].contains(last) ? nil : last
  }
}

extension Part {
  /// The most lines of a recipe on a page; the most characters of one.
  static let mostLines = 400
  private static let longestLine = 400

  /// The text of a recipe with its lines numbered, and the findings below their lines.
  ///
  /// - Parameters:
  ///   - first: How many lines come before the page.
  ///   - room: About the most bytes of the lines.
  ///   - address: The page that begins after so many lines; nil if there is none.
  static func recipe(
    _ text: String, _ findings: [FindingRecord], from first: Int = 0, within room: Int = mostBytes / 2,
    address: ((Int) -> String)? = nil
  ) -> Markup {
    var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
    if lines.last == "" { lines.removeLast() }
    let byLine = Dictionary(grouping: findings) { $0.line ?? 0 }
    let first = max(0, min(first, lines.count - 1))
    var (rows, left) = ([Markup](), room)
    for (index, text) in lines.enumerated().dropFirst(first).prefix(mostLines) where left > 0 {
      let found = (byLine[index + 1] ?? []).prefix(4).map { finding($0) }
      let row = Markup.element(
        "li", ["id": "line-\(index + 1)"], line(Substring(String(text).shortened(to: longestLine))), Markup(found))
      left -= row.text.utf8.count
      rows.append(row)
    }
    return .element("ol", ["class": "text", "tabindex": "0", "start": "\(first + 1)"], Markup(rows))
      + pager(first, rows.count, of: lines.count, by: mostLines, address: address)
  }

  /// - Parameter place: Where it is, if it isn't shown below its line.
  static func finding(_ finding: FindingRecord, at place: Markup? = nil) -> Markup {
    let kind = finding.severity == "error" ? "finding" : "finding mild"
    return .element(
      "div", ["class": kind], place.map { $0 + ": " } ?? .nothing,
      Markup("\(finding.severity): \(finding.message.shortened(to: 1_000))"))
  }

  /// The most steps of an outline.
  private static let mostOutlined = 100

  /// The steps of a recipe as lists inside lists, which the style draws as boxes, with arrows between what follows and
  /// branches side by side.
  fileprivate static func outline(_ steps: [StepOutline]) -> Markup {
    var rest = steps.prefix(mostOutlined)
    let more = steps.count - rest.count
    return .element(
      "div", ["class": "card outline"], list(&rest, 0),
      more > 0 ? .element("p", ["class": "quiet"], "and \(counted(more, "more step"))") : .nothing)
  }

  private static func list(_ rest: inout ArraySlice<StepOutline>, _ depth: Int) -> Markup {
    var items: [Markup] = []
    let areBranches = depth > 0 && rest.first?.isHeading == true
    while let step = rest.first, step.depth >= depth {
      rest.removeFirst()
      var parts: [Markup] = [.element(step.isHeading ? "em" : "strong", [:], Markup(step.title))]
      for words in step.words { parts.append(.element("span", [:], " ", code(words))) }
      if let gives = step.gives { parts.append(.element("span", ["class": "quiet"], " → ", code(gives))) }
      if let next = rest.first, next.depth > step.depth { parts.append(list(&rest, next.depth)) }
      items.append(.element("li", step.isHeading ? [:] : ["class": "step"], Markup(parts)))
    }
    return .element("ul", areBranches ? ["class": "branches"] : [:], Markup(items))
  }

  /// A line of YAML; keys and comments are highlighted.
  private static func line(_ line: Substring) -> Markup {
    let bytes = line.utf8
    let start = bytes.firstIndex { $0 != ASCII.space && $0 != UInt8(ascii: "-") } ?? bytes.endIndex
    if start < bytes.endIndex, bytes[start] == UInt8(ascii: "#") {
      return .element("span", ["class": "rem"], Markup(String(line)))
    }
    let end = bytes[start...].firstIndex { byte in
      !(ASCII.lowercase.contains(byte | 0x20) || ASCII.digits.contains(byte) || "_-.".utf8.contains(byte))
    }
    guard let end, end > start, bytes[end] == ASCII.colon else { return Markup(String(line)) }
    return Markup(String(line[..<start])) + .element("span", ["class": "key"], Markup(String(line[start..<end])))
      + Markup(String(line[end...]))
  }
}
