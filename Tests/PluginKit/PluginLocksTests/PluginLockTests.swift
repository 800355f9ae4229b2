import ActionKit
import Basics
import Foundation
import PluginLocks
import Testing

/// A kind of locks for tests, whose actions do nothing.
enum TestKind: LockKind {
  static let name = "test"
  static let reach = PluginReach.anything
  static func configuration(of lock: PluginLock) -> ObjectSchema { ObjectSchema(fields: []) }
  static func calls(of action: LockedAction, in lock: PluginLock) -> ActionDescriptor.Calls {
    ActionDescriptor.Calls { input, _, _ in input }
  }
  static func connect(_ lock: PluginLock, _ configuration: Value, in context: PluginContext) -> any Sendable { 0 }
  static func footprint(
    of action: LockedAction, in lock: PluginLock, _ input: Value, settings: Value, in context: ActionContext
  ) -> Footprint { .everything }
}

/// Locks that tests make.
enum TestLock {
  static let tags = FieldType.list(.choice(["red", "green"]))
  static let dog = ObjectSchema(fields: [
    FieldSchema("name", .string, "What it is called.", limits: [.minLength(1), .maxLength(40)]),
    FieldSchema("age", .int, "In years.", isOptional: true, limits: [.atLeast(.int(0))]),
    FieldSchema("tags", tags, "Its colours.", isOptional: true, limits: [.maxLength(3), .each(.minLength(1))]),
    FieldSchema("password", .secret(.string), "What opens it.", isOptional: true),
    FieldSchema("born", .timestamp, "When it was born, as far as anyone remembers; a very long text indeed."),
  ])

  static func action(
    _ name: String, effect: Effect = .write, input: ObjectSchema = dog, output: ObjectSchema? = nil
  ) -> LockedAction {
    LockedAction(
      name: name, summary: "Does \(name).", effect: effect, from: .person, input: input,
      output: output ?? ObjectSchema(fields: [FieldSchema("dog", .object(dog), "The dog.", isOptional: true)]),
      baseline: nil, acceptsKey: true, timeout: .seconds(30), call: .object(["tool": .string(name)]))
  }

  static func lock(_ actions: [LockedAction], name: String = "dogs", kind: String = "test") throws -> PluginLock {
    var encoder = LockEncoder()
    encoder.name(.object(dog), "Dog")
    let entries = actions.map { ($0.name, $0.entry(&encoder)) }
    return try PluginLock(
      name: name, kind: kind, summary: "Keeps dogs.", source: ValueMap(), connection: ValueMap(),
      types: encoder.types, actions: entries, file: "plugins/\(name).lock.json")
  }
}

struct PluginLockTests {
  private static func text(_ schema: ObjectSchema) -> String {
    var encoder = LockEncoder()
    return JSON.displayed(encoder.fields(schema))
  }

  @Test func `what is written is read again, and what many actions share is written once`() throws {
    let lock = try TestLock.lock([
      TestLock.action("bark", effect: .idempotentWrite(within: .span(.seconds(86_400)))),
      TestLock.action("sit", input: ObjectSchema(fields: [])),
    ])
    let bytes = try lock.written()
    let text = String(decoding: bytes, as: UTF8.self)
    // In the input of one action, and in the type that both give.
    #expect(text.components(separatedBy: "What it is called.").count == 3)
    #expect(text.contains(#""named": "Dog""#))
    let read = try PluginLock(reading: bytes, of: "plugins/dogs.lock.json")
    try read.verify()
    let action = try #require(try read.action("bark"))
    #expect(action.effect == .idempotentWrite(within: .span(.seconds(86_400))))
    #expect(action.effectSource == .person)
    #expect(action.acceptsKey)
    #expect(action.timeout == .seconds(30))
    #expect(action.call == .object(["tool": .string("bark")]))
    #expect(action.input.fields.map(\.name) == ["born", "name", "age", "password", "tags"])
    // A set is in the order of its names.
    #expect(Self.text(action.input).count == Self.text(TestLock.dog).count)
    #expect(try read.written() == bytes)
    #expect(try read.action("meow") == nil)
  }

  @Test func `a choice is one in what is given, and a string with known values in what is got`() throws {
    let action = try #require(try TestLock.lock([TestLock.action("bark")]).action("bark"))
    let given = try #require(action.input.field(named: "tags"))
    #expect("\(given.type.name): \(given.summary)" == "list('red' or 'green'): Its colours.")
    let got = try #require(action.output.field(named: "dog")?.type.nested?.schema.field(named: "tags"))
    #expect("\(got.type.name): \(got.summary)" == "list(string): Its colours. Known values: 'red', 'green'.")
  }

  @Test(arguments: [
    "pure", "read", "write", "consume", "consume:3", "idempotentWrite", "idempotentWrite:1h30m",
    "idempotentWrite:sameDay:Europe/Berlin",
  ])
  func `an effect is read as it is written`(text: String) { #expect(Effect(written: text)?.written == text) }

  @Test(arguments: ["", "Read", "reads", "consume:-1", "consume:x", "idempotentWrite:0s", "idempotentWrite:", "read:1"])
  func `what is no effect is none`(text: String) { #expect(Effect(written: text) == nil) }

  @Test func `a lock that was changed by hand isn't used`() throws {
    let bytes = try TestLock.lock([TestLock.action("bark")]).written()
    let changed = String(decoding: bytes, as: UTF8.self).replacing(#""effect": "write""#, with: #""effect": "read""#)
    let lock = try PluginLock(reading: Array(changed.utf8), of: "plugins/dogs.lock.json")
    let error = #expect(throws: PluginLockError.self) { try lock.verify() }
    #expect(
      error?.message
        == "plugins/dogs.lock.json was changed since errand wrote it, and isn't used")
  }

  @Test(arguments: [
    ("{", "x isn't valid JSON: line 1, column 2: a key in double quotes is expected, but the text ends"),
    ("{}", "x isn't a plugin's lock"),
    (#"{"errandPluginLock": 2}"#, "x has version 2, of a newer errand, and this program reads version 1"),
    (#"{"errandPluginLock": 1}"#, "x has no 'name', 'kind' or 'actions'"),
  ])
  func `a file that is no lock is refused`(text: String, message: String) {
    let error = #expect(throws: PluginLockError.self) { try PluginLock(reading: Array(text.utf8), of: "x") }
    #expect(error?.message == message)
  }

  @Test(arguments: [
    (#"{"effect": "reads"}"#, "its effect can't be 'reads'"),
    (#"{"effect": "read", "input": {"a": {}}}"#, "a field has no type"),
    (#"{"effect": "read", "input": {"a": {"type": "text"}}}"#, "no type is named 'text'"),
    (#"{"effect": "read", "output": {"a": {"type": {"named": "A"}}}}"#, "the type 'A' holds itself"),
    (#"{"effect": "read", "output": {"a": {"type": {"named": "B"}}}}"#, "no type is named 'B'"),
    (#"{"effect": "read", "output": {"a": {"type": {"set": "int"}}}}"#, "a type can't have 'set'"),
  ])
  func `an action that can't be read says why`(entry: String, message: String) throws {
    let text = """
      {"errandPluginLock": 1, "name": "a", "kind": "test", "actions": {"do": \(entry)},
       "types": {"A": {"fields": {"x": {"type": {"list": {"named": "A"}}}}}}}
      """
    let lock = try PluginLock(reading: Array(text.utf8), of: "x")
    let error = #expect(throws: PluginLockError.self) { try lock.action("do") }
    #expect(error?.message == "x: the action 'do' can't be read: \(message)")
  }

  @Test func `a difference names actions, effects, fields and limits, and no sentences`() throws {
    var other = TestLock.dog
    other.fields[0].limits = [.minLength(1), .maxLength(20)]
    other.fields[1].isOptional = false
    other.fields[2].type = .list(.object(ObjectSchema(fields: [FieldSchema("colour", .string, "")])))
    other.fields[4].summary = "Another sentence."
    other.fields.append(FieldSchema("chip", .int, ""))
    let old = try TestLock.lock([TestLock.action("bark"), TestLock.action("sit"), TestLock.action("run")])
    let new = try TestLock.lock([
      TestLock.action("bark", effect: .read, input: other), TestLock.action("sit"), TestLock.action("jump"),
    ])
    let lines = try LockDifference(from: old, to: new).lines
    #expect(
      lines == [
        "~ bark",
        "    effect: write → read",
        "    input.age: int, optional, must be at least 0 → int, must be at least 0",
        "    input.name: string, must not be empty, must have at most 40 characters → string, must not be empty, must "
          + "have at most 20 characters",
        "    input.tags: list('red' or 'green'), optional, must have at most 3 items, must hold only what must not be "
          + "empty → fields, optional, must have at most 3 items, must hold only what must not be empty",
        "    + input.chip (int)",
        "    + input.tags[].colour (string)",
        "+ jump  write",
        "- run  write",
      ])
    #expect(try LockDifference(from: old, to: old).isEmpty)
    #expect(try LockDifference(from: old, to: new, isWhole: false).changes.map(\.action) == ["bark", "run"])
  }
}

struct LockFolderTests {
  private static func folder(_ files: [String: [UInt8]]) throws -> String {
    let folder = try Files.makeTemporaryFolder("errand-locks")
    try Files.makeFolder("\(folder)/plugins")
    for (name, bytes) in files { try Files.write(bytes, to: "\(folder)/plugins/\(name)") }
    return folder
  }

  @Test func `a folder's plugins are found by their files, and those that can't be used say why`() throws {
    let dogs = try TestLock.lock([TestLock.action("bark")])
    let folder = try Self.folder([
      "dogs.lock.json": try dogs.written(), "cats.lock.json": try dogs.written(), "birds.lock.json": Array("{".utf8),
      "fish.lock.json": try TestLock.lock([], name: "fish", kind: "grpc").written(), "notes.json": [],
      "dogs (1).lock.json": try dogs.written(), "moved.lock.json": try TestLock.lock([], name: "mice").written(),
      "new.lock.json": Array(#"{"errandPluginLock": 2, "kind": "test", "source": {"document": "x"}}"#.utf8),
      "null.lock.json": Array("null".utf8),
    ])
    defer { Files.removeTree(folder) }
    let catalog = ActionCatalog([]) { LockFolder($0, kinds: [TestKind.self]) }.looking(in: folder)
    #expect(catalog.plugins.map(\.name) == ["dogs"])
    #expect(catalog.actionIDs == ["dogs.bark"])
    #expect(catalog.action("dogs.bark")?.summary == "Does bark.")
    #expect(catalog.plugin("dogs")?.identity == "dogs@\(dogs.digest ?? "")")
    #expect(catalog.fault(ofPlugin: "dogs") == nil)
    #expect(catalog.fault(ofPlugin: "mice") == nil)
    #expect(
      catalog.fault(ofPlugin: "moved")
        == "plugins/moved.lock.json is the lock of 'mice'; name it plugins/mice.lock.json")
    for name in ["cats", "dogs (1)"] {
      #expect(
        catalog.fault(ofPlugin: name)
          == "plugins/\(name).lock.json is a second lock of 'dogs', beside plugins/dogs.lock.json; remove it")
    }
    #expect(
      catalog.fault(ofPlugin: "new")
        == "plugins/new.lock.json has version 2, of a newer errand, and this program reads version 1; run 'errand plugin "
        + "update new' to make it anew from its source")
    #expect(
      catalog.fault(ofPlugin: "null")
        == "plugins/null.lock.json isn't a plugin's lock; restore it, or remove it by 'errand plugin remove null --force' "
        + "and add it again")
    #expect(
      catalog.fault(ofPlugin: "fish")
        == "plugins/fish.lock.json is of kind 'grpc', which this program doesn't know; use a newer errand")
    #expect(catalog.fault(ofPlugin: "birds")?.hasPrefix("plugins/birds.lock.json isn't valid JSON") == true)
    // In another folder there are none.
    #expect(catalog.looking(in: "\(folder)/plugins").plugins.isEmpty)
  }

  @Test(arguments: [
    ("", "changed"), ("\u{FEFF}", "with a byte order mark"),
  ])
  func `a lock that can't be used still says where it is from`(_ start: String, _ what: String) throws {
    let text =
      start + #"{"errandPluginLock": 1, "name": "cats", "kind": "test", "actions": {}, "source": {"url": "x"}}"#
    let folder = try Self.folder([
      "dogs.lock.json": Array(text.utf8), "cats.lock.json": Array(text.replacing("test", with: "grpc").utf8),
      "fine.lock.json": try TestLock.lock([], name: "fine").written(),
    ])
    defer { Files.removeTree(folder) }
    let locks = LockFolder(folder, kinds: [TestKind.self])
    let lock = try #require(locks.recovered("dogs"))
    #expect(lock.name == "dogs" && lock.kind == "test" && lock.source["url"] == .string("x"))
    // Locks of an unknown kind, locks without faults and missing locks aren't recovered.
    #expect(locks.recovered("cats") == nil && locks.recovered("fine") == nil && locks.recovered("mice") == nil)
  }

  @Test func `locks that aren't on disk can count instead of those that are`() throws {
    let folder = try Self.folder(["dogs.lock.json": try TestLock.lock([TestLock.action("bark")]).written()])
    defer { Files.removeTree(folder) }
    func actions(_ others: [String: PluginLock?]) -> [String] {
      ActionCatalog([]).with(LockFolder(folder, kinds: [TestKind.self], with: others)).actionIDs
    }
    #expect(actions([:]) == ["dogs.bark"])
    #expect(actions(["dogs": nil]) == [])
    #expect(actions(["dogs": try TestLock.lock([TestLock.action("sit")])]) == ["dogs.sit"])
    #expect(actions(["cats": try TestLock.lock([TestLock.action("sit")], name: "cats")]) == ["cats.sit", "dogs.bark"])
  }
}
