import Basics
import Foundation

/// Measures whole processes beside a large plugin from outside.
struct LockedStart {
  private let folder: WorkFolder

  init(_ folder: WorkFolder) { self.folder = folder }

  /// `errand check` of a small recipe beside a lock with 500 operations.
  func row() throws -> Row {
    let document = try folder.write(Self.document(operations: 500), to: "service.json")
    try run(["plugin", "add", "openapi", "service", document])
    let recipe = try folder.write(
      """
      recipe: check
      steps:
        - id: got
          uses: service.getItem250
          with: { id: 1, limit: 10 }
        - uses: service.putItem249
          with: { id: 2, body: { name: "${{ steps.got.body.name }}", count: "${{ steps.got.body.count + 1 }}" } }
      outputs:
        name: ${{ steps.got.body.name }}

      """, to: "check.yaml")
    let usage = try Spawner(folder).least(of: 50, [{ _ in [Spawner.errand, "check", recipe] }])[0]
    let size = try Data(contentsOf: folder.url.appending(path: "plugins/service.lock.json")).count
    return .processor(
      "errand check, beside a lock of 500 operations: processor", usage.processor, .atMost(10),
      beside: "\(displayed(Double(size) / 1000)) KB: the lock")
  }

  private func run(_ words: [String]) throws {
    let process = Process()
    process.executableURL = URL(filePath: Spawner.errand)
    process.arguments = words
    process.currentDirectoryURL = folder.url
    (process.standardOutput, process.standardError) = (FileHandle.nullDevice, FileHandle.nullDevice)
    try process.run()
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw NotMeasured("'errand \(words.joined(separator: " "))' failed") }
  }

  /// An OpenAPI document of a service with so many operations, each with two parameters and half of them with a body,
  /// on ten types that hold one another.
  private static func document(operations: Int) -> String {
    var paths = ValueMap()
    func schema(_ number: Int) -> Value {
      .object(["$ref": .string("#/components/schemas/Item\(number % 10)")])
    }
    func content(_ schema: Value) -> Value {
      .object(["content": .object(["application/json": .object(["schema": schema])])])
    }
    let integer = Value.object(["type": .string("integer")])
    let id = Value.object([
      "name": .string("id"), "in": .string("path"), "required": .bool(true), "schema": integer,
      "description": .string("Identifies the item among all items of the service."),
    ])
    let limit = Value.object([
      "name": .string("limit"), "in": .string("query"), "schema": integer,
      "description": .string("How many parts of the item are given at most."),
    ])
    for number in 0..<operations / 2 {
      let answers = Value.object(["200": content(schema(number))])
      paths["/items\(number)/{id}"] = .object([
        "get": .object([
          "operationId": .string("getItem\(number + 1)"), "summary": .string("Gets an item of kind \(number)."),
          "parameters": .list([id, limit]), "responses": answers,
        ]),
        "put": .object([
          "operationId": .string("putItem\(number)"), "summary": .string("Replaces an item of kind \(number)."),
          "parameters": .list([id, limit]), "requestBody": content(schema(number)), "responses": answers,
        ]),
      ])
    }
    var types = ValueMap()
    for number in 0..<10 {
      var properties = ValueMap([("name", .object(["type": .string("string")])), ("count", integer)])
      for field in 0..<10 {
        properties["field\(field)"] = .object([
          "type": .string("string"), "description": .string("The part number \(field) of an item of this kind."),
        ])
      }
      if number > 0 { properties["part"] = schema(number - 1) }
      types["Item\(number)"] = .object([
        "type": .string("object"), "required": .list([.string("name"), .string("count")]),
        "properties": .map(properties),
      ])
    }
    return JSON.displayed(
      .object([
        "openapi": .string("3.1.0"), "info": .object(["title": .string("Service"), "version": .string("1")]),
        "servers": .list([.object(["url": .string("http://127.0.0.1:9")])]), "paths": .map(paths),
        "components": .object(["schemas": .map(types)]),
      ]))
  }
}
