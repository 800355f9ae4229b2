import ActionKit
import ActionTestKit
import Foundation
import Recipes
import RunState
import RunTestKit
import Testing

@testable import StorePlugin

/// Runs the steps of a recipe on a state, and gives its outputs or how it failed.
private func outputs(
  _ text: String, on store: MemoryStateStore, id: String = "01900000-0000-7000-8000-000000000001"
) async throws -> String {
  let catalog = ActionCatalog([StorePlugin.self])
  let environment = RecipeEnvironment(catalog: catalog) { path throws(FileError) in
    throw FileError(.read, path, .system(2))
  }
  let checked = Recipe.check(Source(name: "test.yaml", text: "recipe: test\n" + text), in: environment)
  let recipe = try #require(checked.recipe, "\(Diagnostics(checked.diagnostics).rendered())")
  let run = RunDriver(recipe, catalog: catalog, store: store, id: id)
  let end = try await run.drive()
  if let error = end.error { return "\(error.kind.rawValue): \(error.message)" }
  return try JSON.text(try await run.outputs())
}

@Suite struct StoreTests {
  @Test func `is well formed`() { expectWellFormed(StorePlugin.self) }

  @Test func `declares for each action what may be done twice`() {
    let catalog = ActionCatalog([StorePlugin.self])
    let actions = catalog.actionIDs.compactMap { catalog.action($0) }
    #expect(
      actions.map { "\($0.id) \($0.effect.name)\($0.canReconcile ? ", looked up" : "")" } == [
        "store.get read", "store.put idempotentWrite", "store.compareAndSet write, looked up",
        "store.increment write, looked up", "store.delete idempotentWrite", "store.list read",
      ])
  }

  @Test func `a value outlives its run`() async throws {
    let store = MemoryStateStore()
    let first = try await outputs(
      """
      steps:
        - { id: before, uses: store.get, with: { name: last } }
        - { id: put, uses: store.put, with: { name: last, value: { week: 47, marks: [1, 2.5, two] } } }
      outputs: { existed: "${{ steps.before.exists }}", changed: "${{ steps.put.isChanged }}" }
      """, on: store)
    #expect(first == #"{"existed":false,"changed":true}"#)
    let second = try await outputs(
      """
      steps:
        - { id: last, uses: store.get, with: { name: last } }
        - { id: put, uses: store.put, with: { name: last, value: "${{ steps.last.?value.orValue(0) }}" } }
        - { id: delete, uses: store.delete, with: { name: last } }
        - { id: again, uses: store.delete, with: { name: last } }
      outputs:
        marks: ${{ steps.last.?value.orValue({}) }}
        changed: ${{ steps.put.isChanged }}
        existed: ${{ [steps.delete.existed, steps.again.existed] }}
      """, on: store, id: "01900000-0000-7000-8000-000000000002")
    #expect(second == #"{"marks":{"week":47,"marks":[1,2.5,"two"]},"changed":false,"existed":[true,false]}"#)
    #expect(store.state.values.isEmpty)
  }

  @Test(arguments: ["store.put", "store.compareAndSet"], ["null", "", "${{ null }}"])
  func `null is refused where it is written out`(_ action: String, _ value: String) throws {
    let text = "steps: [{ uses: \(action), with: { name: a, value: \(value.isEmpty ? "" : "\"\(value)\"") } }]"
      .replacingOccurrences(of: "\"null\"", with: "null")
    let environment = RecipeEnvironment(catalog: ActionCatalog([StorePlugin.self])) { path throws(FileError) in
      throw FileError(.read, path, .system(2))
    }
    let faults = Recipe.check(Source(name: "test.yaml", text: text), in: environment).diagnostics.map(\.message)
    #expect(faults.first == "'with.value' must not be null; use store.delete to remove a value", "\(faults)")
  }

  @Test func `null is refused where it is computed, and what was stored stays`() async throws {
    let store = MemoryStateStore()
    for (number, step) in ["store.put", "store.compareAndSet", "store.put"].enumerated() {
      let value = number == 2 ? "7" : "${{ json.parse('null') }}"
      let end = try await outputs(
        """
        steps:
          - { uses: \(step), with: { name: a, value: "\(value)" } }
        """, on: store, id: "01900000-0000-7000-8000-00000000000\(number)")
      #expect(
        number == 2
          ? end == "{}" : end.hasSuffix("'input.value' must not be null; use store.delete to remove a value"), "\(end)")
    }
    #expect(store.state.values.count == 1)
  }

  @Test func `only what is as expected is set`() async throws {
    let store = MemoryStateStore()
    let text = """
      steps:
        - { id: ana, uses: store.compareAndSet, with: { name: onDuty, value: ana } }
        - { id: ben, uses: store.compareAndSet, with: { name: onDuty, value: ben } }
        - { id: hand, uses: store.compareAndSet, with: { name: onDuty, expected: ana, value: ben } }
        - { id: late, uses: store.compareAndSet, with: { name: onDuty, expected: ana, value: eve } }
      outputs:
        set: ${{ [steps.ana.isSet, steps.ben.isSet, steps.hand.isSet, steps.late.isSet] }}
        found: ${{ [steps.ben.?value.orValue(""), steps.late.?value.orValue("")] }}
      """
    #expect(try await outputs(text, on: store) == #"{"set":[true,false,true,false],"found":["ana","ben"]}"#)
  }

  @Test func `what many add at once is all there`() async throws {
    let store = MemoryStateStore()
    let text = """
      steps:
        - id: each
          forEach: "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]"
          as: n
          maxParallel: 16
          uses: store.increment
          with: { name: sum, by: "${{ n }}" }
        - { id: sum, uses: store.get, with: { name: sum } }
      outputs:
        sum: ${{ steps.sum.?value.orValue(0) }}
        different: ${{ steps.each.map(e, e.value).all(v, steps.each.exists_one(e, e.value == v)) }}
      """
    #expect(try await outputs(text, on: store) == #"{"sum":136,"different":true}"#)
  }

  @Test func `names are listed in their order, by how they begin`() async throws {
    let store = MemoryStateStore()
    for name in ["train/b", "train/a", "bus", "train/é"] {
      try await store.append(.valueSet(ValueSet(at: TestTime.start, name: name, value: .inline(.int(1)))))
    }
    let text = """
      steps:
        - { id: all, uses: store.list }
        - { id: trains, uses: store.list, with: { prefix: train/, limit: 2 } }
      outputs: { all: "${{ steps.all.names }}", some: "${{ steps.trains.names }}", count: "${{ steps.trains.count }}" }
      """
    #expect(
      try await outputs(text, on: store)
        == #"{"all":["bus","train/a","train/b","train/é"],"some":["train/a","train/b"],"count":3}"#)
  }

  @Test(arguments: [
    (
      "{ uses: store.increment, with: { name: word } }",
      "validation: the stored value 'word' is a string, and only an int can be added to; put one there first"
    ),
    (
      "{ uses: store.increment, with: { name: most } }",
      "validation: 9223372036854775807 and 1 are together more than the int 'most' can hold"
    ),
    (
      "{ uses: store.put, with: { name: x, value: \"${{ [0.0].map(z, z / z)[0] }}\" } }",
      "validation: a value with NaN in it cannot be stored"
    ),
    (
      "{ uses: store.put, with: { name: x, value: \"${{ json.parse('[null]')[0] }}\" } }",
      "validation: 'input.value' must not be null; use store.delete to remove a value"
    ),
  ])
  func `what cannot be stored is refused, and says why`(_ step: String, _ message: String) async throws {
    let store = MemoryStateStore()
    for (name, value) in [("word", Value.string("a")), ("most", .int(.max))] {
      try await store.append(.valueSet(ValueSet(at: TestTime.start, name: name, value: .inline(value))))
    }
    let before = store.state.values
    let found = try await outputs("steps:\n  - \(step)", on: store)
    #expect(found == message, "\(found)")
    #expect(store.state.values == before)
  }

  @Test func `no more names are taken than are read at every start`() async throws {
    let store = MemoryStateStore()
    try await store.append(
      (0..<10_000).map {
        .valueSet(ValueSet(at: TestTime.start, name: "\($0)", value: .inline(.int($0))))
      })
    let text = """
      steps:
        - { uses: store.put, with: { name: "7", value: 8 } }
        - { uses: store.put, with: { name: new, value: 1 } }
      """
    #expect(
      try await outputs(text, on: store)
        == "validation: there are 10000 stored values already, the most allowed; delete some")
    #expect(store.state.values["7"] == .inline(.int(8)))
  }

  @Test func `a large value is stored, a huge one is not`() async throws {
    let store = MemoryStateStore()
    let large = try await outputs(
      """
      steps:
        - { uses: store.put, with: { name: large, value: "${{ 'abcdefgh'.split('').map(c, '\(String(repeating: "x", count: 30_000))') }}" } }
        - { id: large, uses: store.get, with: { name: large } }
      outputs: { size: "${{ size(steps.large.?value.orValue([])) }}" }
      """, on: store)
    #expect(large == #"{"size":8}"#)
    let huge = try await outputs(
      """
      steps:
        - { uses: store.put, with: { name: huge, value: "${{ 'abcdefghijklmnopqrst'.split('').map(c, '\(String(repeating: "x", count: 80_000))') }}" } }
      """, on: store, id: "01900000-0000-7000-8000-000000000002")
    #expect(huge == "validation: a stored value may have at most 1048576 bytes of JSON, but this has 1600061")
  }

  @Test func `a plan shows what would change`() async throws {
    let catalog = ActionCatalog([StorePlugin.self])
    var context = ActionContext.testing()
    context.values = FixedValues(values: ["streak": .int(3), "last": .string("a")])
    func preview(_ name: String, _ input: Value) async throws -> [Change]? {
      try await #require(catalog.action("store.\(name)")).preview(input, on: (), in: context)
    }
    let streak = "The stored value 'streak'"
    #expect(
      try await preview("increment", .object(["name": .string("streak")])) == [Change(streak, from: "3", to: "4")])
    #expect(
      try await preview("put", .object(["name": .string("new"), "value": .list([.int(1)])]))
        == [Change("The stored value 'new'", from: nil, to: "[1]")])
    #expect(try await preview("put", .object(["name": .string("streak"), "value": .int(3)])) == [])
    #expect(
      try await preview("compareAndSet", .object(["name": .string("last"), "value": .string("b")])) == [])
    #expect(
      try await preview(
        "compareAndSet", .object(["name": .string("last"), "expected": .string("a"), "value": .string("b")]))
        == [Change("The stored value 'last'", from: #""a""#, to: #""b""#)])
    #expect(try await preview("delete", .object(["name": .string("streak")])) == [Change(streak, from: "3", to: nil)])
    #expect(try await preview("delete", .object(["name": .string("none")])) == [])
  }

  @Test func `the recipe counts days in a row, also over midnight in its zone`() async throws {
    let file = packageFolder.appending(path: "recipes/streak.yaml")
    let text = try String(contentsOf: file, encoding: .utf8)
    let catalog = ActionCatalog([StorePlugin.self])
    let environment = RecipeEnvironment(catalog: catalog) { path throws(FileError) in
      throw FileError(.read, path, .system(2))
    }
    let recipe = try #require(Recipe.check(Source(name: "streak.yaml", text: text), in: environment).recipe)
    let (store, time) = (MemoryStateStore(), TestTime())
    var counts: [Int] = []
    for (number, hours) in [0, 3, 24, 20, 49, 24].enumerated() {
      time.advance(by: .seconds(hours * 3600))
      let run = RunDriver(
        recipe, catalog: catalog, store: store, time: time, id: "01900000-0000-7000-8000-00000000000\(number)")
      #expect(try await run.drive().status == .succeeded)
      counts.append(try #require(try await run.outputs()["days"]?.int))
    }
    #expect(counts == [1, 1, 2, 3, 1, 2])
  }

  @Test func `without a state there is nothing to read or change`() async throws {
    let get = try #require(ActionCatalog([StorePlugin.self]).action("store.get"))
    await #expect {
      try await get.run(.object(["name": .string("x")]), on: (), in: .testing())
    } throws: { error in
      (error as? ActionError)?.description == "internal: there is no state to keep values in"
    }
  }
}

/// Values that no run changes.
private struct FixedValues: ValueStore {
  var values: [String: Value]

  var names: [String] { values.keys.sorted() }
  func value(of name: String) -> Value? { values[name] }
  func change(
    _ name: String, _ decide: (_ current: Value?) throws(ActionError) -> ValueChange
  ) async throws(ActionError) -> ValueOutcome { throw ActionError(.internal, "a preview changes nothing") }
  func earlierChange() -> ValueOutcome? { nil }
}
