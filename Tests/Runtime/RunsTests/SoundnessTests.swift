import ActionKit
import Basics
import Foundation
import RunState
import RunTestKit
import Testing

@testable import Recipes
@testable import Runs

/// Whole recipes that are made up, checked, and run if they check; then they fail only for reasons that data decides.
///
/// `SOUND=100000 swift test --filter 'recipes that check, run'` tries as many others, and `SOUND_SEED=7` that one
/// alone.
@Suite struct SoundnessTests {
  /// Errors that depend on data, by a part of the message.
  static let decidedByData = [
    // Numbers, positions, and keys of maps, which are all called `k`.
    "is outside the range", "is outside the list", "is outside the text", "cannot be divided by zero",
    "the map has no key 'k'", "there is no field `k`", "comes twice", "cannot end before it", "of an empty list",
    "NaN has no place", "it is not a number", "it is infinite", "is too large for an int", "lead out of the years",
    "is outside the years", "MiB", "more than 1000000 steps", "needs 2 numbers or more",
    "takes 0 or more", "moves by 0 places or more", "takes a depth of 0 or more", "takes a length from 1",
    "a percentile is from 0 to 100",
    // Texts that are read, and bytes.
    "cannot be read as", "isn't a time zone", "isn't a time of day", "isn't base64", "isn't JSON", "of the CSV",
    "isn't a separator", "isn't a pattern", "fills up with one character", "aren't valid UTF-8", "are not UTF-8",
    "does not fit '%", "reads no whole date",
    // It may be any of these, and which one is not told.
    "this fails on a secret",
  ]

  private static let environment = ProcessInfo.processInfo.environment
  private static let count = environment["SOUND"].flatMap { Int($0) } ?? 2000
  /// The seeds of a test that is run by hand are others each time.
  private static let firstSeed = environment["SOUND"] == nil ? 0 : UInt64.random(in: 0..<1 << 28) << 36

  /// The same with another value of each secret.
  static let secrets = [["TOKEN": "tok-3n-99", "PIN": "9-17-pin"], ["TOKEN": "another one", "PIN": "a"]]

  static func check(
    _ text: String, with catalog: ActionCatalog = SoundRecipeMaker.catalog
  ) -> (recipe: Recipe?, faults: String) {
    let environment = RecipeEnvironment(catalog: catalog) { path throws(FileError) in
      Source(name: path, text: SoundRecipeMaker.called)
    }
    let checked = Recipe.check(Source(name: "test.yaml", text: "recipe: test\n" + text), in: environment)
    return (checked.recipe, checked.recipe == nil ? Diagnostics(checked.diagnostics).rendered() : "")
  }

  static func run(_ recipe: Recipe, _ inputs: ValueMap, secrets: [String: String]) async throws -> RunRecord {
    // One folder for a recipe, because its paths are among the outputs, and empty at each start.
    let folder = "/tmp/errand-sound-\(getpid())-\(UInt(bitPattern: recipe.source.bytes.hashValue))"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let driver = RunDriver(recipe, catalog: SoundRecipeMaker.catalog, secrets: secrets, folder: folder)
    try await driver.begin(inputs: inputs)
    for number in 0..<3 {
      try await driver.send("paid", id: "e\(number)", .object(["n": .int(number % 2)]))
    }
    return try await driver.drive()
  }

  /// The fault in the end of a recipe that checked.
  static func fault(_ record: RunRecord, of recipe: Recipe, meetsAnything: Bool) -> String? {
    switch record.status {
    case .succeeded:
      guard case .inline(let outputs)? = record.outputs else { return "it has no outputs" }
      return recipe.outputType.misfit(outputs, at: "outputs")
    case .failed:
      guard let error = record.error else { return "it failed without an error" }
      if error.message.hasSuffix(Refuse.message) || error.message.hasPrefix("stop ") || meetsAnything { return nil }
      // An action that writes a value as JSON meets what an expression would.
      let isOfValues = error.kind == .expression || error.message.hasPrefix("The value cannot be JSON")
      if isOfValues, decidedByData.contains(where: { error.message.contains($0) }) { return nil }
      return "\(error.kind.rawValue): \(error.message)"
    default: return "it is \(record.status.rawValue): \(record.reason ?? "")"
    }
  }

  /// Makes, checks and runs a recipe.
  private func tried(_ seed: UInt64, _ sums: inout Sums) async throws {
    var maker = SoundRecipeMaker(seed: seed)
    let text = maker.recipe()
    let inputs = maker.values()
    sums.places.formUnion(maker.places)
    let (recipe, faults) = Self.check(text)
    guard let recipe else {
      sums.refusals.append("seed \(seed)\n\(faults)")
      return
    }
    sums.checked += 1
    let meetsAnything = seed % 8 == 0
    let record = try await Self.run(recipe, inputs, secrets: Self.secrets[0])
    if record.status == .succeeded { sums.succeeded += 1 }
    func report(_ fault: String) {
      sums.faults.append(
        "seed \(seed): \(fault)\n\(record.error?.line ?? 0):\(record.error?.column ?? 0) "
          + "\(record.error?.detail ?? "")\n\(text)\n\(JSON.displayed(.map(inputs)))")
    }
    if let fault = Self.fault(record, of: recipe, meetsAnything: meetsAnything) { report(fault) }
    guard maker.spreadsSecrets else { return }
    // No secret is kept, and nothing that is kept depends on one.
    let kept = "\(record)"
    for secret in Self.secrets[0].values where kept.contains(secret) { report("it keeps the secret \(secret)") }
    let other = try await Self.run(recipe, inputs, secrets: Self.secrets[1])
    if other.status == record.status, other.outputs != record.outputs {
      report("it depends on secrets: \(record.outputText) and \(other.outputText)")
    }
  }

  /// The faults of recipes that were checked against declarations that differ from the actions' outputs.
  private func faults(of plugin: any Plugin.Type, count: Int) async throws -> [String] {
    let catalog = ActionCatalog([plugin])
    var faults: [String] = []
    for seed in 0..<UInt64(count) where seed % 8 != 0 {
      var maker = SoundRecipeMaker(seed: seed, catalog: catalog)
      let text = maker.recipe()
      guard let recipe = Self.check(text, with: catalog).recipe else { continue }
      let record = try await Self.run(recipe, maker.values(), secrets: Self.secrets[0])
      if let fault = Self.fault(record, of: recipe, meetsAnything: false) { faults.append(fault) }
    }
    return faults
  }

  @Test func `a check that takes what may be absent for present is found out`() async throws {
    let faults = try await faults(of: MistakenPlugin<SureOutput>.self, count: 120)
    #expect(faults.contains { $0.hasPrefix("expression: there is no field `note` here") }, "\(faults)")
  }

  @Test func `a check that takes one type for another is found out`() async throws {
    let faults = try await faults(of: MistakenPlugin<WrongOutput>.self, count: 400)
    #expect(faults.contains { $0.contains("does not take an int") }, "\(faults)")
    #expect(faults.contains { $0.contains("is an int, and its type is string") }, "\(faults)")
  }

  // MARK: Starts of runs

  /// The types of the inputs that are computed.
  private static let computed: [(text: String, type: ValueType)] = [
    ("int", .int), ("string", .string), ("double", .double), ("bool", .bool), ("timestamp", .timestamp),
    ("list(int)", .list(.int)), ("list(string)", .list(.string)), ("\"map(string, int)\"", .map(.string, .int)),
    ("\"choice(on, off)\"", .choice(["on", "off"])),
  ]
  private static let eventType =
    "{ order: string, amount: \"double?\", at: timestamp, state: \"choice(on, off)\", items: [{ id: int, note: \"string?\" }] }"
  private static let eventData: ValueType = .object(
    ObjectType(fields: [
      .init("order", .string), .init("amount", .double, isOptional: true), .init("at", .timestamp),
      .init("state", .choice(["on", "off"])),
      .init(
        "items",
        .list(.object(ObjectType(fields: [.init("id", .int), .init("note", .string, isOptional: true)])))),
    ]))

  /// Data as it comes, which fits the type.
  private static func event(_ maker: inout SoundExpressionMaker) -> Value {
    var data = ValueMap([
      ("order", .string(maker.pick(["", "a", "7"]))), ("at", .string("2026-11-22T10:00:00Z")),
      ("state", .string(maker.pick(["on", "off"]))),
    ])
    if maker.one(in: 2) { data["amount"] = maker.pick([.int(3), .double(0.5), .null]) }
    data["items"] = .list(
      (0..<maker.pick([0, 1, 3])).map { id in
        .map(ValueMap([("id", .int(id))] + (maker.one(in: 2) ? [("note", .string("n"))] : [])))
      })
    return .map(data)
  }

  @Test func `inputs that are computed from an event, or from a batch of them, fit where they check`() throws {
    var (checked, computed) = (0, 0)
    var refusals: [String] = []
    for seed in 0..<UInt64(Self.count / 4) where seed % 8 != 0 {
      var maker = SoundExpressionMaker(seed: seed)
      let isBatch = seed % 2 == 0
      let type = ValueType.object(
        ObjectType(
          "event",
          fields: [
            .init("id", .string), .init("time", .timestamp), .init("name", .string), .init("data", Self.eventData),
          ]))
      maker.declare("now", .timestamp)
      maker.declare("run", .object(RecipeTypes.run))
      maker.declare(isBatch ? "events" : "event", isBatch ? .list(type) : type)
      let inputs = (0..<3).map { ("i\($0)", maker.pick(Self.computed)) }
      let values = inputs.map { name, type in "\(name): \"${{ \(maker.expression(of: type.type)) }}\"" }
      let text = """
        inputs: { \(inputs.map { "\($0): \($1.text)" }.joined(separator: ", ")) }
        on:
          - event: { name: paid, type: \(Self.eventType) }
            \(isBatch ? "batch: { for: 10m, max: 5 }" : "paused: false")
            inputs: { \(values.joined(separator: ", ")) }
        steps: [{ let: { z: 1 } }]
        """
      let (sound, refusal) = Self.check(text)
      if sound == nil, refusals.count < 5 { refusals.append(refusal) }
      guard let recipe = sound, let trigger = recipe.triggers.first,
        case .event(_, _, let form) = trigger.kind
      else { continue }
      checked += 1
      let events = try (0..<(isBatch ? maker.pick([1, 2, 5]) : 1)).map { number in
        try form.value(id: "e\(number)", time: ManualClock.start, name: "paid", data: Self.event(&maker)).get()
      }
      let start = StartingRun(
        id: "01900000-0000-7000-8000-000000000001", recipe: recipe.name, at: ManualClock.start,
        event: isBatch ? .list(events) : events[0])
      switch StartingInputs(trigger, of: recipe).values(for: start) {
      case .success: computed += 1
      case .failure(let faults):
        for fault in faults.list where !Self.decidedByData.contains(where: { fault.message.contains($0) }) {
          Issue.record("seed \(seed): \(fault.message)\n\(text)")
        }
      }
    }
    // Recipes that do not check prove nothing.
    #expect(checked > Self.count / 4 * 3 / 5 && computed > checked * 2 / 3, "\(checked), \(computed)\n\(refusals)")
  }

  struct Sums {
    var checked = 0
    var succeeded = 0
    var places: Set<String> = []
    var refusals: [String] = []
    var faults: [String] = []
  }

  /// Every place for an expression, and every action that is tried.
  private static let places: Set<String> = [
    "a field that takes a secret", "approve.prompt", "call.with", "defaults.retry.if", "fail", "finally", "forEach",
    "if", "key", "let", "onError", "onError.value", "onFailure", "outputs", "repeat.carry", "repeat.collect",
    "repeat.next",
    "repeat.until", "retry.if", "shape", "switch", "wait", "wait.match", "wait.until", "where", "with",
    // Actions of the program itself, beside the made-up ones.
    "csv.format", "csv.parse", "file.append", "file.exists", "file.write", "json.format", "json.parse", "store.delete",
    "store.get", "store.increment", "store.list", "store.put", "text.report", "text.table",
  ]

  @Test(arguments: 0..<4)
  func `recipes that check, run`(_ part: Int) async throws {
    var sums = Sums()
    if let seed = Self.environment["SOUND_SEED"].flatMap({ UInt64($0) }) {
      if part == 0 { try await tried(seed, &sums) }
      for refusal in sums.refusals { Issue.record("\(refusal)") }
    } else {
      let count = Self.count / 4
      for number in 0..<count where sums.faults.count < 10 {
        try await tried(Self.firstSeed + UInt64(part) << 32 + UInt64(number), &sums)
      }
      // Recipes that do not check, or that end early, prove nothing.
      #expect(sums.checked > count * 9 / 10, "\(sums.refusals.prefix(5))")
      #expect(sums.succeeded > count * 2 / 5)
      #expect(sums.places == Self.places)
    }
    for fault in sums.faults { Issue.record("\(fault)") }
  }
}

extension ValueType {
  /// How a value is not of the type.
  func misfit(_ value: Value, at path: String) -> String? {
    switch (self, value.content) {
    case (.null, .null), (.bool, .bool), (.int, .int), (.uint, .uint), (.double, .double), (.string, .string),
      (.bytes, .bytes), (.timestamp, .timestamp), (.duration, .duration), (.type, .type), (.dyn, _), (.wrapper, .null),
      (.optional, .optional(nil)):
      return nil
    case (.choice(let options), .string(let text)) where options.contains(text): return nil
    case (.list(let element), .list(let items)):
      for (index, item) in items.enumerated() {
        if let misfit = element.misfit(item, at: "\(path)[\(index)]") { return misfit }
      }
      return nil
    case (.map(let key, let element), .map(let map)):
      for member in map.members {
        if let misfit = key.misfit(member.key, at: "a key of \(path)") { return misfit }
        if let misfit = element.misfit(member.value, at: "\(path).\(member.name ?? "")") { return misfit }
      }
      return nil
    case (.object(let object), .map(let map)):
      for member in map.members {
        guard let field = object[member.name ?? ""] else { return "\(path) has no field \(member.name ?? "")" }
        if field.isOptional, member.value.isNull { continue }
        if let misfit = field.type.misfit(member.value, at: "\(path).\(field.name)") { return misfit }
      }
      return object.fields.first { !$0.isOptional && map[$0.name] == nil }.map { "\(path).\($0.name) is absent" }
    case (.optional(let wrapped), .optional(let held?)): return wrapped.misfit(held, at: path)
    case (.wrapper(let wrapped), _), (.secret(let wrapped), _): return wrapped.misfit(value, at: path)
    case (.opaque(_, let parts), _) where parts.contains(where: { $0.misfit(value, at: path) == nil }): return nil
    default: return "\(path) is \(value.kindName), and its type is \(self)"
    }
  }
}
