import Basics
import Foundation
import Testing

@testable import errand

/// `errand plugin` with documents that have an unreadable detail or that claim more than before.
@Suite(.timeLimit(.minutes(20))) struct PluginDocumentTests {
  @Test func `references into other files are followed, and what leads nowhere is counted`() async throws {
    let program = try await Program()
    for folder in ["api/paths", "api/parts"] {
      try FileManager.default.createDirectory(
        at: program.folder.appending(path: folder), withIntermediateDirectories: true)
    }
    try program.write(
      """
      openapi: 3.1.0
      servers: [{ url: 'https://a.example' }]
      components: { schemas: { Here: { properties: { n: { type: integer } } } } }
      paths:
        /a: { get: { $ref: 'paths/a.yaml' } }
        /b: { $ref: './paths/b.json#/x~1y' }
        /c: { get: { $ref: paths/none.yaml } }
        /d: { get: { $ref: '../../../../../../../../etc/hostname' } }
        /e: { get: { $ref: 'paths/broken.yaml' } }
        /f: { get: { $ref: 'https://a.example/f.yaml' } }
        /g: { get: { $ref: 'paths/link.yaml' } }
        /h: { get: { operationId: h } }
      """, to: "api/api.yaml")
    try program.write(
      """
      operationId: a
      parameters: [{ $ref: '../parts/all.yaml#/limit' }]
      responses: { '200': { content: { application/json: { schema: { $ref: '../parts/Item.yaml' } } } } }
      """, to: "api/paths/a.yaml")
    try program.write(
      """
      {"x/y": {"get": {"operationId": "b", "responses": {"200": {"content": {"application/json": {"schema":
        {"properties": {"all": {"type": "array", "items": {"$ref": "../parts/all.yaml#/Item"}},
         "here": {"$ref": "../api.yaml#/components/schemas/Here"}}}}}}}}}}
      """, to: "api/paths/b.json")
    try program.write(
      "limit: { name: limit, in: query, schema: { type: integer } }\nItem: { $ref: Item.yaml }\n",
      to: "api/parts/all.yaml")
    try program.write(
      "properties: { name: { type: string }, child: { $ref: 'Item.yaml' } }\n", to: "api/parts/Item.yaml")
    try program.write("a: [", to: "api/paths/broken.yaml")
    try FileManager.default.createSymbolicLink(
      at: program.folder.appending(path: "api/paths/link.yaml"), withDestinationURL: URL(filePath: "/etc/hostname"))
    let added = try await program.call("plugin", "add", "openapi", "x", "api/api.yaml")
    #expect(added.code == 0, "\(added.error)")
    let left = added.error.split(separator: "\n").filter { $0.hasPrefix("left out: ") }
    #expect(
      left == [
        "left out: GET /c: it refers to 'paths/none.yaml': no such file",
        "left out: GET /d: it refers to '../../../../../../../../etc/hostname', which is outside of the folders of the document and of errand.yaml",
        "left out: GET /e: it refers to 'paths/broken.yaml', which isn't valid YAML: a value is missing here",
        "left out: GET /f: it refers to 'https://a.example/f.yaml', and only files beside the document are read",
        "left out: GET /g: it refers to 'paths/link.yaml', which is outside of the folders of the document and of errand.yaml",
      ])
    #expect(added.error.hasSuffix("5 parts of the document were left out, as listed above.\n"), "\(added.error)")
    let lock = try JSON.parse(program.read("plugins/x.lock.json"))
    func types(_ name: String) -> String {
      JSON.displayed(lock["actions"]?[name]?["output"]?["body"]?["type"] ?? .null)
    }
    #expect(JSON.displayed(lock["actions"]?["a"]?["input"] ?? .null) == #"{"limit":{"optional":true,"type":"int"}}"#)
    #expect(
      types("a") == #"{"fields":{"child":{"optional":true,"type":"dyn"},"name":{"optional":true,"type":"string"}}}"#)
    #expect(types("b").contains(#""here":{"optional":true,"type":{"fields":{"n""#), "\(types("b"))")
    await program.remove()
  }

  private static func document(_ effects: [(String, String)]) -> String {
    let paths = effects.map { name, rest in "  /\(name): { post: { operationId: \(name), \(rest) } }" }
    return "openapi: 3.1.0\nservers: [{ url: 'https://a.example' }]\npaths:\n\(paths.joined(separator: "\n"))\n"
  }

  @Test func `an update takes no weaker effect before a person names it`() async throws {
    let program = try await Program()
    try program.write(
      Self.document([
        ("one", "x-errand-effect: write"), ("two", "x-errand-effect: 'idempotentWrite:1d'"),
        ("three", "x-errand-effect: read"), ("four", "x-errand-effect: 'consume'"),
      ]), to: "api.yaml")
    #expect(try await program.call("plugin", "add", "openapi", "x", "api.yaml").code == 0)
    let before = try program.read("plugins/x.lock.json")
    try program.write(
      Self.document([
        ("one", "x-errand-effect: pure"), ("two", "x-errand-effect: idempotentWrite"),
        ("three", "x-errand-effect: write"), ("four", "x-errand-effect: 'consume:3'"),
      ]), to: "api.yaml")
    for force in [[], ["--force"], ["--effect", "one=pure", "--effect", "two=idempotentWrite"]] {
      let refused = try await program.call(["plugin", "update", "x"] + force)
      #expect(refused.code == 3)
      #expect(try program.read("plugins/x.lock.json") == before)
      guard force.isEmpty else { continue }
      #expect(
        refused.error.contains(
          """
          weaker: four: consume → consume:3, says the document
          weaker: one: write → pure, says the document
          weaker: two: idempotentWrite:1d → idempotentWrite, says the document

          """), "\(refused.error)")
      #expect(
        refused.error.hasSuffix(
          "error: plugins/x.lock.json was left as it is: with weaker effects Errand would do more without asking, so "
            + "each must be accepted by its name; run the command again with --effect four=consume:3 --effect one=pure "
            + "--effect two=idempotentWrite\n"), "\(refused.error)")
    }
    #expect(try await program.call("plugin", "update", "x", "--dry-run").code == 2)
    let taken = try await program.call(
      "plugin", "update", "x", "--effect", "one=pure", "--effect", "two=idempotentWrite", "--effect", "four=consume:3"
    )
    #expect(taken.code == 0, "\(taken.error)")
    #expect(try await program.call("plugin", "update", "x").code == 0)
    // An effect that a person gave can only be changed by a person.
    #expect(try await program.call("plugin", "update", "x", "--effect", "three=write").code == 0)
    await program.remove()
  }
}
