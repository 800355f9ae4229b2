// Test files.
//
//     recipe: ../markbook-averages.yaml       # relative to the test file
//     start: 2026-03-06T06:00:00Z             # what the clock shows at first
//     inputs: { markbook: 1207731 }           # of every `run`
//     sandboxes: { markbook: { fault: { kind: refuse } } }
//     cases:
//       - case: every average is written
//         do:
//           - run: { into: Average }
//             expect:
//               status: succeeded
//               outputs: { written: 22 }
//               that: requests.exists(r, r.method == 'POST')
//           - advance: 1d
//
// `start`, `inputs`, `secrets`, `files`, `sandboxes` and `replay` of a case override the file's. Everything is checked
// before anything runs, as for recipes: keys, inputs, the names of steps and outputs, and the types of conditions.
import ActionKit
package import Basics
import YAMLReader

extension RecipeTestFile {
  /// Whether a file's name is a test's, so that it isn't taken for a recipe in the same folder.
  package static func isName(_ path: String) -> Bool { path.hasSuffix(".test.yaml") || path.hasSuffix(".test.yml") }

  /// Reads and checks a test file and the recipe that it names.
  package static func check(
    _ source: Source, in environment: RecipeEnvironment
  ) -> (file: RecipeTestFile?, diagnostics: [Diagnostic]) {
    let document: YAMLDocument
    do throws(Diagnostics) {
      document = try YAMLReader.read(source)
    } catch {
      return (nil, error.hidingLikelySecrets(of: source, environment.observer))
    }
    let findings = Findings(document, observer: environment.observer)
    let (recipe, found) = recipe(of: document, findings, in: environment)
    var cases: [RecipeTest] = []
    if let recipe {
      let reader = RecipeTestReader(
        findings: findings, compiler: ExpressionCompiler(findings: findings, zone: recipe.zone), recipe: recipe,
        environment: environment)
      cases = reader.read(document.root)
      reader.compiler.refuseUnevaluated(in: document.root, sparing: "expect")
    } else if let observer = environment.observer {
      observeConditions(of: document.root, Findings(document, observer: observer))
    }
    let faults = Diagnostics(findings.list).sorted().list + found
    guard let recipe, !Diagnostics(faults).hasErrors else { return (nil, faults) }
    return (RecipeTestFile(source: source, recipe: recipe, cases: cases), faults)
  }

  /// Passes a test's conditions to the observer if the recipe has faults, so that they aren't checked.
  private static func observeConditions(of root: Value, _ unsaid: Findings) {
    let compiler = ExpressionCompiler(findings: unsaid)
    var scope = Scope()
    for (name, type) in RecipeTypes.test(outputs: .dyn) { scope.declare(name, type) }
    for happening in (root["cases"]?.list ?? []).flatMap({ $0["do"]?.list ?? [] }) {
      guard let value = happening["expect"]?["that"] else { continue }
      for condition in value.list ?? [value] { _ = compiler.condition(condition, of: "'that'", in: scope) }
    }
  }

  private static func recipe(
    of document: YAMLDocument, _ findings: Findings, in environment: RecipeEnvironment
  ) -> (Recipe?, [Diagnostic]) {
    guard let map = document.root.map else {
      findings.error("a test file takes a mapping, but found \(document.root.kindName)", at: document.root)
      return (nil, [])
    }
    guard let value = map["recipe"] else {
      findings.error("a test file needs 'recipe': the path of what it tests, relative to the file", at: document.root)
      return (nil, [])
    }
    guard let text = findings.text(value, of: "'recipe'") else { return (nil, []) }
    do throws(FileError) {
      let path = RecipeCalls.resolve(text, besides: findings.source.name)
      let checked = Recipe.check(try environment.read(path), in: environment)
      if checked.recipe == nil { findings.error("'\(path)' has faults of its own", at: value) }
      return (checked.recipe, checked.diagnostics.filter { $0.severity == .error })
    } catch {
      findings.error("\(error)", at: value)
      return (nil, [])
    }
  }
}

struct RecipeTestReader {
  let findings: Findings
  let compiler: ExpressionCompiler
  let recipe: Recipe
  let environment: RecipeEnvironment

  func read(_ root: Value) -> [RecipeTest] {
    guard let fields = Fields(root, of: "a test file", .testFile, findings) else { return [] }
    guard let value = fields.require("cases", "what happens, and what has to come of it") else { return [] }
    guard let list = value.list, !list.isEmpty else {
      findings.error("'cases' takes a list of cases, but found \(value.displayed)", at: value)
      return []
    }
    return list.compactMap { read(case: $0, fields) }
  }

  private func read(case value: Value, _ file: Fields) -> RecipeTest? {
    guard let fields = Fields(value, of: "a case", .testCase, findings) else {
      return nil
    }
    func shared(_ name: String) -> Value? { fields[name] ?? file[name] }
    let title = fields.require("case", "what is tested, in a few words")
    let start = shared("start").flatMap { findings.instant($0, of: "'start'") }
    if let replay = shared("replay"), let sandboxes = shared("sandboxes") {
      findings.error(
        "a recording takes the place of the sandboxes; leave one of the two out", at: replay,
        notes: [Diagnostic.Note("the sandboxes are told something here", at: findings.location(of: sandboxes))])
    }
    let replay = shared("replay").flatMap { value in
      findings.text(value, of: "'replay'").map { path in
        (RecipeCalls.resolve(path, besides: findings.source.name), findings.location(of: value))
      }
    }
    var actions: [RecipeTest.Action] = []
    if let value = fields.require("do", "what happens, in order") {
      let inputs = [file["inputs"], fields["inputs"]].compactMap { $0 }
      if let list = value.list {
        actions = list.compactMap { action($0, inputs: inputs) }
      } else {
        findings.error("'do' takes a list of what happens, but found \(value.displayed)", at: value)
      }
    }
    return RecipeTest(
      name: title.flatMap { findings.text($0, of: "'case'") } ?? "",
      location: findings.location(of: title ?? value), start: start, replay: replay,
      secrets: secrets(shared("secrets")), files: files(shared("files")),
      sandboxes: shared("sandboxes").map(sandboxes) ?? [], actions: actions)
  }

  private func secrets(_ value: Value?) -> [String: String] {
    guard let value else { return [:] }
    guard let map = value.map else {
      findings.error("'secrets' takes a mapping from names to made-up texts, but found \(value.written)", at: value)
      return [:]
    }
    var secrets: [String: String] = [:]
    for member in map.members {
      secrets[member.key.plainText] = findings.text(member.value, of: "'\(member.key.plainText)'")
    }
    return secrets
  }

  private func files(_ value: Value?) -> [(path: String, bytes: [UInt8])] {
    guard let value else { return [] }
    guard let map = value.map else {
      findings.error("'files' takes a mapping from paths to texts, but found \(value.written)", at: value)
      return []
    }
    return map.members.compactMap { member in
      let path = self.path(ofFile: member.key)
      let bytes = content(of: member)
      return path.flatMap { path in bytes.map { (path, $0) } }
    }
  }

  private func content(of member: ValueMap.Member) -> [UInt8]? {
    let name = "'\(member.key.plainText)'"
    guard member.value.map != nil else { return findings.text(member.value, of: name).map { Array($0.utf8) } }
    guard let fields = Fields(member.value, of: name, .fileContent, findings) else { return nil }
    if fields["text"] == nil, fields["base64"] == nil {
      findings.error("\(name) has neither 'text' nor 'base64'; write the text of the file", at: member.value)
    }
    return bytes(fields)
  }

  /// The bytes of a file that the test writes; nil if they aren't given, or not valid.
  private func bytes(_ fields: Fields) -> [UInt8]? {
    if let member = fields.member("base64"), fields["text"] != nil {
      findings.error("'base64' isn't allowed beside 'text'; a file holds one of them", at: member.key)
      return nil
    }
    if let given = fields["base64"], let text = fields.text("base64") {
      let bytes = [UInt8](base64: String(text.filter { !$0.isWhitespace }))
      if bytes == nil { findings.error("'base64' isn't valid base64 (RFC 4648)", at: given) }
      return bytes
    }
    let encoding: RecipeTest.Encoding? = fields.choice("encoding")
    guard let given = fields["text"], let text = fields.text("text"), let encoding else { return nil }
    let (bytes, misfit) = encoding.charset.bytes(of: text)
    guard let misfit else { return bytes }
    findings.error("'\(misfit)' has no place in \(encoding.rawValue); write the text in utf-8 or utf-16", at: given)
    return nil
  }

  // MARK: Actions

  private static let words = KeySet.happening.kinds
  /// The words that need no value.
  static let bare = ["run", "serve", "stop", "restart", "approve", "reject", "cancel", "trigger"]

  private func action(_ value: Value, inputs: [Value]) -> RecipeTest.Action? {
    if let word = value.string {
      guard RecipeTestReader.bare.contains(where: { $0.hasSameScalars(as: word) }) else {
        let guess = MessageText.didYouMean(word, among: RecipeTestReader.words)
        let needsMore = RecipeTestReader.words.contains { $0.hasSameScalars(as: word) }
        findings.error(
          needsMore
            ? "'\(word)' needs more to be said, as in '\(word): …'"
            : "nothing is called '\(word)' here; "
              + (guess ?? "there are \(RecipeTestReader.words.joined(separator: ", "))"), at: value)
        return nil
      }
      return kind(word, nil, at: value, inputs: inputs).map {
        RecipeTest.Action(kind: $0, location: findings.location(of: value), expectations: [])
      }
    }
    guard
      let fields = Fields(value, of: "what happens", .happening, findings)
    else { return nil }
    let expectations = fields["expect"].map(expectations) ?? []
    let found = RecipeTestReader.words.compactMap(fields.member)
    if found.isEmpty, fields["expect"] != nil {
      return RecipeTest.Action(
        kind: .nothing, location: findings.location(of: value), expectations: expectations)
    }
    guard let member = fields.kinds().first else { return nil }
    return kind(member.name ?? "", member.value, at: member.key, inputs: inputs).map {
      RecipeTest.Action(kind: $0, location: findings.location(of: member.key), expectations: expectations)
    }
  }

  private func kind(_ word: String, _ value: Value?, at key: Value, inputs: [Value]) -> RecipeTest.Kind? {
    switch word {
    case "run": return run(value, at: key, inputs: inputs)
    case "serve": return value.map { findings.bool($0, of: "'serve'") ?? true } ?? true ? .serve : .nothing
    case "stop": return value.map { findings.bool($0, of: "'stop'") ?? true } ?? true ? .stop : .nothing
    case "restart": return value.map { findings.bool($0, of: "'restart'") ?? true } ?? true ? .restart : .nothing
    case "cancel": return value.map { findings.bool($0, of: "'cancel'") ?? true } ?? true ? .cancel : .nothing
    case "advance":
      return value.flatMap { findings.duration($0, of: "'advance'") }.map { .advance($0) }
    case "advanceTo": return value.flatMap { findings.instant($0, of: "'advanceTo'") }.map { .advanceTo($0) }
    case "setClock": return value.flatMap { findings.instant($0, of: "'setClock'") }.map { .setClock($0) }
    case "trigger": return .trigger(schedule: value.flatMap { findings.text($0, of: "'trigger'") })
    case "signal": return value.flatMap(signal)
    case "file": return value.flatMap(file)
    case "approve", "reject": return decide(value, isApproved: word == "approve")
    case "answer": return value.flatMap { answer($0, at: key) }
    case "fault":
      guard let value else { return nil }
      return .sandboxes(calls(value, of: "'fault'") { plugin, value in parameters("fault", of: plugin, value) })
    default: return value.map { .sandboxes(sandboxes($0)) }
    }
  }

  private func run(_ value: Value?, at key: Value, inputs: [Value]) -> RecipeTest.Kind? {
    var given = ValueMap()
    for value in inputs + [value].compactMap({ $0 }) {
      guard let map = value.map else {
        findings.error("the inputs of a run are a mapping from names to values, but found \(value.written)", at: value)
        return nil
      }
      for member in map.members {
        // The key's place goes with the value that counts.
        given[member.key.plainText] = nil
        _ = given.insert(member)
      }
    }
    let before = findings.list.count
    let read = findings.inputs(.map(given), for: recipe.inputs, at: key) { input in
      "the run needs the input '\(input.name)' (\(input.kind)); add it under 'inputs' or 'run'"
    } computed: { value, _ in
      findings.error("an expression isn't allowed here; write the value out", at: value)
      return nil
    }
    guard !findings.list[before...].contains(where: { $0.severity == .error }) else { return nil }
    guard case .success(let values) = recipe.inputs(from: read) else { return nil }
    return .run(inputs: values)
  }

  private func signal(_ value: Value) -> RecipeTest.Kind? {
    if let name = value.string { return .signal(name: name, id: nil, data: nil) }
    guard let fields = Fields(value, of: "'signal'", .signal, findings) else { return nil }
    guard let name = fields.require("name", "what the event is called").flatMap({ findings.text($0, of: "'name'") })
    else { return nil }
    return .signal(name: name, id: fields.text("id"), data: fields["data"])
  }

  private func file(_ value: Value) -> RecipeTest.Kind? {
    guard let fields = Fields(value, of: "'file'", .testedFile, findings) else { return nil }
    guard let place = fields.require("path", "where the file is") else { return nil }
    return path(ofFile: place).map { .file(path: $0, bytes: bytes(fields)) }
  }

  /// The path of one file of the folder.
  private func path(ofFile place: Value) -> String? {
    guard let path = findings.text(place, of: "'path'") else { return nil }
    switch FilePattern.read(path) {
    case .failure(let fault):
      findings.error(MessageText(fault.message), at: place)
      return nil
    case .success(let pattern):
      guard !FilePattern.isOpen(pattern.text) else {
        findings.error("a file that comes has one name, without '*'", at: place)
        return nil
      }
      return pattern.text
    }
  }

  private func decide(_ value: Value?, isApproved: Bool) -> RecipeTest.Kind? {
    guard let value, !value.isNull else {
      return .decide(step: nil, isApproved: isApproved, by: "tester", comment: nil)
    }
    if let step = value.string {
      _ = check(step: step, at: value)
      return .decide(step: step, isApproved: isApproved, by: "tester", comment: nil)
    }
    let what = isApproved ? "'approve'" : "'reject'"
    guard let fields = Fields(value, of: what, .decision, findings) else { return nil }
    let step = fields["step"].flatMap { value in
      findings.text(value, of: "'step'").flatMap { check(step: $0, at: value) ? $0 : nil }
    }
    return .decide(
      step: step, isApproved: isApproved, by: fields.text("by") ?? "tester", comment: fields.text("comment"))
  }

  private func answer(_ value: Value, at key: Value) -> RecipeTest.Kind? {
    guard let fields = Fields(value, of: "'answer'", .testedAnswer, findings) else { return nil }
    let step = fields["step"].flatMap { value in
      findings.text(value, of: "'step'").flatMap { check(step: $0, at: value) ? $0 : nil }
    }
    guard let given = fields.require("fields", "the values, by the names of the fields") else { return nil }
    let asks = recipe.all.flatMap(\.allSteps).compactMap { found -> (element: String, ask: Ask)? in
      if case .ask(let ask) = found.kind { (found.element, ask) } else { nil }
    }
    let element = step.map { $0.split(separator: "/").last.map(String.init) ?? $0 }
    let asked = element.map { name in asks.filter { $0.element.hasSameScalars(as: name) } } ?? asks
    if asked.isEmpty {
      findings.error(
        step.map { "'\($0)' asks for no values; a decision is given by 'approve' or 'reject'" as MessageText }
          ?? "the recipe has no step with 'ask'", at: fields["step"] ?? key)
    }
    // Where several steps are possible, the run tells which of them asks.
    if asked.count == 1, let inputs = asked.first?.ask.fields.map(\.input) {
      _ = findings.inputs(given, for: inputs, at: key) { input in
        "the answer needs the field '\(input.name)' (\(input.kind)); add it under 'fields'"
      } computed: { value, _ in
        findings.error("an expression isn't allowed here; write the value out", at: value)
        return nil
      }
    }
    return .answer(
      step: step, fields: given.map ?? ValueMap(), by: fields.text("by") ?? "tester", comment: fields.text("comment"))
  }

  // MARK: Sandboxes

  /// Reads `{PLUGIN: {COMMAND: PARAMETERS}}`.
  private func sandboxes(_ value: Value) -> [RecipeTest.SandboxCall] {
    calls(value, of: "a sandbox") { plugin, value in
      guard let map = value.map else {
        findings.error(
          "a sandbox is told commands, as in 'fault: { kind: refuse }', but found \(value.written)", at: value)
        return []
      }
      return map.members.flatMap { parameters($0.key.plainText, of: plugin, $0.value) }
    }
  }

  private func calls(
    _ value: Value, of what: String, _ read: (String, Value) -> [RecipeTest.SandboxCall]
  ) -> [RecipeTest.SandboxCall] {
    guard let map = value.map else {
      findings.error("\(what) is named by its plugin, as in '{ markbook: … }', but found \(value.written)", at: value)
      return []
    }
    let plugins = recipe.connectionNames.map { environment.connections?[$0] ?? $0 }
    return map.members.flatMap { member -> [RecipeTest.SandboxCall] in
      let name = member.key.plainText
      guard plugins.contains(where: { $0.hasSameScalars(as: name) }) else {
        let guess = MessageText.didYouMean(name, among: plugins)
        let known: MessageText = plugins.isEmpty ? "it uses none" : "it uses \(plugins.joined(separator: ", "))"
        findings.error("the recipe uses no plugin '\(name)'; \(guess ?? known)", at: member.key)
        return []
      }
      return read(name, member.value)
    }
  }

  /// Reads one set of parameters, or a list of them for as many calls.
  private func parameters(_ command: String, of plugin: String, _ value: Value) -> [RecipeTest.SandboxCall] {
    if let list = value.list { return list.flatMap { parameters(command, of: plugin, $0) } }
    guard let map = value.map else {
      findings.error(
        "'\(command)' takes a mapping of what goes with it, {} if nothing does, but found \(value.written)", at: value)
      return []
    }
    var given: [(name: String, value: String)] = []
    for member in map.members {
      if member.value.list != nil || member.value.map != nil {
        findings.error(
          "'\(member.key.plainText)' takes one value, but found \(member.value.kindName)", at: member.value)
      }
      given.append((member.key.plainText, member.value.plainText))
    }
    return [
      RecipeTest.SandboxCall(
        plugin: plugin, command: command, parameters: given,
        location: findings.location(of: map.isEmpty ? value : map.members[0].key))
    ]
  }

  // MARK: Expectations

  private func expectations(_ value: Value) -> [RecipeTest.Expectation] {
    guard let fields = Fields(value, of: "'expect'", .expectation, findings) else { return [] }
    var found: [RecipeTest.Expectation] = []
    for subject in RecipeTest.Subject.allCases {
      guard let value = fields[subject.rawValue] else { continue }
      found += expectations(subject, value)
    }
    if let value = fields["that"] {
      var scope = Scope()
      for (name, type) in RecipeTypes.test(outputs: recipe.outputType) { scope.declare(name, type) }
      for condition in value.list ?? [value] {
        guard let expression = compiler.condition(condition, of: "'that'", in: scope) else { continue }
        found.append(.holds(expression, findings.location(of: condition)))
      }
    }
    return found
  }

  private func expectations(_ subject: RecipeTest.Subject, _ value: Value) -> [RecipeTest.Expectation] {
    let what = "'\(subject.rawValue)'"
    switch subject {
    case .status:
      return word(value, of: what, among: RecipeTestReader.states) == nil
        ? [] : [equals([subject.rawValue], value, at: value)]
    case .waitsUntil:
      return findings.instant(value, of: what).map { [equals([subject.rawValue], .string("\($0)"), at: value)] } ?? []
    case .requests, .slots, .runs:
      guard value.list != nil else {
        findings.error("\(what) takes a list of texts, but found \(value.displayed)", at: value)
        return []
      }
      return [equals([subject.rawValue], value, at: value)]
    case .error, .steps, .outputs:
      guard let map = value.map else {
        findings.error("\(what) takes a mapping, but found \(value.displayed)", at: value)
        return []
      }
      return map.members.compactMap { member in
        let name = member.key.plainText
        guard isKnown(name, of: subject, at: member.key) else { return nil }
        if subject == .steps {
          guard word(member.value, of: "'\(name)'", among: RecipeTestReader.stepStates) != nil else { return nil }
        }
        return equals([subject.rawValue, name], member.value, at: member.value)
      }
    }
  }

  private func equals(_ path: [String], _ expected: Value, at value: Value) -> RecipeTest.Expectation {
    .equals(path: path, expected, findings.location(of: value), findings.document.range(of: value))
  }

  private static let ends = EndedStatus.allCases.map(\.rawValue)
  /// The possible states of a run.
  static let states = ["queued", "running", "waiting", "paused", "uncertain"] + ends
  /// The possible states of a step.
  static let stepStates = ["absent", "pending", "queued", "running", "retrying", "waiting", "uncertain"] + ends

  private func word(_ value: Value, of what: String, among words: [String]) -> String? {
    guard let text = findings.text(value, of: what) else { return nil }
    if words.contains(where: { $0.hasSameScalars(as: text) }) { return text }
    let guess = MessageText.didYouMean(text, among: words)
    findings.error(
      "\(what) cannot be '\(text)'; \(guess ?? "it is one of \(words.joined(separator: ", "))")", at: value)
    return nil
  }

  private func isKnown(_ name: String, of subject: RecipeTest.Subject, at key: Value) -> Bool {
    switch subject {
    case .steps: return check(step: name, at: key)
    case .outputs: return isKnown(name, among: recipe.outputs.map(\.name), "the recipe has no output", at: key)
    default:
      return isKnown(
        name, among: KeySet.expectedError.names, "an error has no member", at: key)
    }
  }

  private func isKnown(_ name: String, among names: [String], _ what: String, at key: Value) -> Bool {
    if names.contains(where: { $0.hasSameScalars(as: name) }) { return true }
    let guess = MessageText.didYouMean(name, among: names)
    let known: MessageText = names.isEmpty ? "it has none" : "there are \(names.joined(separator: ", "))"
    findings.error("\(what) '\(name)'; \(guess ?? known)", at: key)
    return false
  }

  /// Whether a step's path can be one of the recipe's: each of its parts is the id of a step or a branch.
  private func check(step path: String, at value: Value) -> Bool {
    var known: [String] = []
    for recipe in recipe.all {
      for step in recipe.allSteps {
        known.append(step.element)
        if case .parallel(let branches) = step.kind { known += branches.map(\.name) }
        if case .cases(let cases) = step.kind { known += cases.list.compactMap(\.element) }
      }
    }
    known += ["#onError", "#onFailure", "#finally", "#tell"]
    for part in path.split(separator: "/") {
      let name = String(part.prefix { !"[~!".contains($0) })
      if known.contains(where: { $0.hasSameScalars(as: name) }) { continue }
      let guess =
        name.nearest(among: known.filter { !$0.hasPrefix("#") }).map { guess in
          let meant = path.split(separator: "/", omittingEmptySubsequences: false).map {
            $0 == part ? guess + part.dropFirst(name.count) : String($0)
          }
          return MessageText("; did you mean '\(guess)'?", [.text(meant.joined(separator: "/"))])
        } ?? "" as MessageText
      findings.error("the recipe has no step '\(name)'\(guess)", at: value)
      return false
    }
    return true
  }
}
