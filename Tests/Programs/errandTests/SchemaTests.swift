import ActionKit
import ActionTestKit
import Basics
import Foundation
import PluginList
import Testing

@testable import Recipes

/// The committed schemas, compared with the readers and with PyPI's check-jsonschema.
@Suite(.timeLimit(.minutes(20))) struct SchemaTests {
  private static let catalog = ActionCatalog(everyPlugin)
  private static let folder = Program.root.appending(path: "recipes")

  private static func path(_ schema: FileSchema) -> String {
    folder.appending(path: "\(schema.rawValue).schema.json").path
  }

  // MARK: Against the readers

  @Test(arguments: FileSchema.allCases) func `the program prints what is committed`(_ schema: FileSchema) async throws {
    let process = Process()
    process.executableURL = Program.binary
    process.arguments = ["schema", schema.rawValue]
    let outcome = try await Call(process).outcome()
    #expect(outcome.code == 0)
    #expect(try outcome.out == String(contentsOfFile: SchemaTests.path(schema), encoding: .utf8))
  }

  /// The schema's descriptions of keys, with the definition they are in.
  private static func properties(in schema: Value, at place: String) -> [(place: String, keys: ValueMap)] {
    var found: [(String, ValueMap)] = []
    for member in schema.map?.members ?? [] {
      let name = member.name ?? ""
      if name == "properties" || name == "definitions" {
        // A description under `if` belongs to a condition, and isn't shown.
        if name == "properties", !place.hasSuffix("/if") { found.append((place, member.value.map ?? ValueMap())) }
        for inner in member.value.map?.members ?? [] {
          found += properties(in: inner.value, at: "\(place)/\(inner.name ?? "")")
        }
      } else if let list = member.value.list {
        for item in list { found += properties(in: item, at: "\(place)/\(name)") }
      } else {
        found += properties(in: member.value, at: "\(place)/\(name)")
      }
    }
    return found
  }

  @Test(arguments: FileSchema.allCases) func `editors have a description for every key`(_ schema: FileSchema) {
    let document = schema.document(SchemaTests.catalog)
    let all = SchemaTests.properties(in: document, at: "")
    #expect(all.count > 5)
    for (place, keys) in all {
      // `then` beside `uses` refers to `with`, which has the description.
      if place.hasSuffix("/allOf/then") { continue }
      for key in keys.members {
        let target = key.value["$ref"]?.string.flatMap { $0.split(separator: "/").last.map(String.init) }
        let words =
          key.value["description"]?.string
          ?? target.flatMap {
            document["definitions"]?[$0]?["description"]?.string
          }
        // A field of an action's answer may lack a description if its name says enough.
        if place.hasPrefix("/with."), words?.isEmpty == true { continue }
        #expect(words?.isEmpty == false, "\(place)/\(key.name ?? "")")
      }
    }
  }

  private static func fault(_ schema: FileSchema, _ text: String) -> [String] {
    let source = Source(name: "\(schema.rawValue).yaml", text: text)
    let environment = RecipeEnvironment(catalog: catalog, zone: "UTC") { path throws(FileError) in
      Source(name: path, text: good[.recipe] ?? "")
    }
    let found: [Diagnostic] =
      switch schema {
      case .recipe: Recipe.check(source, in: environment).diagnostics
      case .test: RecipeTestFile.check(source, in: environment).diagnostics
      case .errand: Configuration.read(source, catalog: catalog).diagnostics
      }
    return found.filter { $0.severity == .error }.map(\.message)
  }

  @Test(arguments: [
    (FileSchema.recipe, "recipe", "zzzzzz: 1\nsteps: [{ let: { a: 1 } }]\n"),
    (.recipe, "recipe/defaults", "defaults: { zzzzzz: 1 }\nsteps: [{ let: { a: 1 } }]\n"),
    (.recipe, "recipe/concurrencyGroup", "concurrencyGroup: { zzzzzz: 1 }\nsteps: [{ let: { a: 1 } }]\n"),
    (.recipe, "input/then", "inputs: { a: { zzzzzz: 1 } }\nsteps: [{ let: { a: 1 } }]\n"),
    (.recipe, "trigger", "on: [{ zzzzzz: 1 }]\nsteps: [{ let: { a: 1 } }]\n"),
    (.recipe, "trigger/calendar", "on: [{ calendar: { zzzzzz: 1 } }]\nsteps: [{ let: { a: 1 } }]\n"),
    (.recipe, "trigger/event/anyOf", "on: [{ event: { zzzzzz: 1 } }]\nsteps: [{ let: { a: 1 } }]\n"),
    (.recipe, "trigger/afterRecipe/anyOf", "on: [{ afterRecipe: { zzzzzz: 1 } }]\nsteps: [{ let: { a: 1 } }]\n"),
    (.recipe, "retry", "defaults: { retry: { zzzzzz: 1 } }\nsteps: [{ let: { a: 1 } }]\n"),
    (.recipe, "timeout/anyOf", "defaults: { timeout: { zzzzzz: 1 } }\nsteps: [{ let: { a: 1 } }]\n"),
    (.recipe, "step/repeat", "steps: [{ uses: timetable.loadTimetable, repeat: { zzzzzz: 1 } }]\n"),
    (.recipe, "step/wait/then", "steps: [{ wait: { zzzzzz: 1 } }]\n"),
    (.recipe, "step/approve", "steps: [{ approve: { zzzzzz: 1 } }]\n"),
    (.test, "testFile", "recipe: a.yaml\nzzzzzz: 1\n"),
    (.test, "case", "recipe: a.yaml\ncases: [{ zzzzzz: 1 }]\n"),
    (.test, "happening", "recipe: a.yaml\ncases: [{ case: a, do: [{ zzzzzz: 1 }] }]\n"),
    (.test, "happening/signal/anyOf", "recipe: a.yaml\ncases: [{ case: a, do: [{ signal: { zzzzzz: 1 } }] }]\n"),
    (.test, "decision/anyOf", "recipe: a.yaml\ncases: [{ case: a, do: [{ approve: { zzzzzz: 1 } }] }]\n"),
    (.test, "expectation", "recipe: a.yaml\ncases: [{ case: a, do: [{ expect: { zzzzzz: 1 } }] }]\n"),
    (.errand, "configuration", "zzzzzz: 1\n"),
    (.errand, "configuration/secrets", "secrets: { zzzzzz: 1 }\n"),
    (.errand, "configuration/secrets/age", "secrets: { age: { zzzzzz: 1 } }\n"),
    (
      .errand, "configuration/secrets/commands/additionalProperties/then",
      "secrets: { commands: { A: { zzzzzz: 1 } } }\n"
    ),
    (.errand, "configuration/history", "history: { zzzzzz: 1 }\n"),
  ])
  func `the schema has the keys that the reader takes`(_ schema: FileSchema, _ place: String, _ text: String) throws {
    let messages = SchemaTests.fault(schema, text)
    let message = try #require(messages.first { $0.contains("has no key 'zzzzzz'; it takes ") }, "\(messages)")
    let taken = Set(message.components(separatedBy: "it takes ")[1].components(separatedBy: ", "))
    let all = SchemaTests.properties(in: schema.document(SchemaTests.catalog), at: "")
    let keys = try #require(all.last { $0.place == "/\(place)" }?.keys)
    #expect(Set(keys.members.compactMap(\.name)) == taken)
  }

  @Test func `the schema has the keys that steps take`() throws {
    let all = SchemaTests.properties(in: FileSchema.recipe.document(SchemaTests.catalog), at: "")
    let keys = try #require(all.first { $0.place == "/step" }?.keys)
    #expect(Set(keys.members.compactMap(\.name)) == Set(KeySet.step.names))
  }

  // MARK: Against check-jsonschema

  /// The files that a schema refuses, each with the first reason.
  private static func refused(_ files: [String], by schema: FileSchema) async throws -> [String: String]? {
    let package = PythonPackage("check-jsonschema", "0.37.1")
    guard let python = await pythonInterpreter(with: [package]) else { return nil }
    let process = Process()
    process.executableURL = URL(filePath: python)
    process.arguments = ["-m", package.module, "--schemafile", path(schema), "-o", "json"] + files
    let outcome = try await Call(process).outcome()
    let answer = try JSON.parse(outcome.out)
    #expect(answer["parse_errors"]?.list ?? [] == [])
    var refused: [String: String] = [:]
    for error in answer["errors"]?.list ?? [] {
      refused[error["filename"]?.string ?? "?"] =
        "\(error["path"]?.string ?? ""): \(error["message"]?.string ?? "")"
    }
    #expect(outcome.code == (refused.isEmpty ? 0 : 1), "\(outcome.error)")
    return refused
  }

  private static func files(in folder: String, _ ending: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(ending) }.sorted()
      .map { "\(folder)/\($0)" }
  }

  @Test func `the schemas take every recipe and every test`() async throws {
    let recipes = try SchemaTests.files(in: SchemaTests.folder.path, ".yaml")
    let tests = try SchemaTests.files(in: SchemaTests.folder.appending(path: "tests").path, ".test.yaml")
    #expect(recipes.count > 15)
    #expect(tests.count > 15)
    guard let refused = try await SchemaTests.refused(recipes + tests, by: .recipe) else { return }
    #expect(refused == [:])
    #expect(try await SchemaTests.refused(tests, by: .test) == [:])
  }

  /// A small change to a good file, which makes it faulty.
  struct Fault: Sendable {
    var schema: FileSchema
    var part: String
    var change: String

    init(_ schema: FileSchema, _ part: String, _ change: String) {
      (self.schema, self.part, self.change) = (schema, part, change)
    }
  }

  @Test func `the schemas refuse what the readers refuse`() async throws {
    for (schema, text) in SchemaTests.good { #expect(SchemaTests.fault(schema, text) == [], "\(schema)") }
    #expect(SchemaTests.faults.count >= 50)
    let folder = FileManager.default.temporaryDirectory.appending(path: "schemas-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    var files: [FileSchema: [String]] = [:]
    func write(_ text: String, _ name: String, _ schema: FileSchema) throws {
      let path = folder.appending(path: name).path
      try text.write(toFile: path, atomically: true, encoding: .utf8)
      files[schema, default: []].append(path)
    }
    for (schema, text) in SchemaTests.good { try write(text, "good.\(schema.rawValue).yaml", schema) }
    for (number, fault) in SchemaTests.faults.enumerated() {
      let parts = (SchemaTests.good[fault.schema] ?? "").components(separatedBy: fault.part)
      #expect(parts.count == 2, "'\(fault.part)' stands \(parts.count - 1) times in the good file")
      let text = parts.joined(separator: fault.change)
      #expect(SchemaTests.fault(fault.schema, text) != [], "the reader takes '\(fault.change)'")
      try write(text, "\(number).yaml", fault.schema)
    }
    for (schema, paths) in files {
      guard let refused = try await SchemaTests.refused(paths, by: schema) else { return }
      for path in paths {
        let name = path.split(separator: "/").last.map(String.init) ?? ""
        let change = Int(name.split(separator: ".")[0]).map { SchemaTests.faults[$0].change }
        #expect((refused[path] != nil) == (change != nil), "\(schema): \(change ?? name): \(refused[path] ?? "taken")")
      }
    }
  }
}
