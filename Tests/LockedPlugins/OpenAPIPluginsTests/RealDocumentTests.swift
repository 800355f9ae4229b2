import ActionKit
import ActionTestKit
import Basics
import Foundation
import PluginLocks
import Testing

@testable import OpenAPIPlugins

/// Documents of other projects.
///
/// `make clients` puts those there that come with packages; `dagu` and `petstore` come from their repositories (dagucloud/dagu, `api/v1/api.yaml`; swagger-api/swagger-petstore,
/// `src/main/resources/openapi.yaml`), by hand.
enum RealDocument: String, CaseIterable {
  case airflow, dagu, docker, jupyter, petstore

  /// nil where it isn't there.
  var bytes: [UInt8]? { try? Files.read("\(packageFolder.path)/.build/documents/\(rawValue).yaml", limit: 64 << 20) }

  /// The operations; those whose inputs have no `dyn`, and those whose outputs have none, at the least.
  var least: (operations: Int, inputs: Int, outputs: Int) {
    switch self {
    case .airflow: (128, 108, 67)
    case .dagu: (219, 208, 203)
    case .docker: (106, 102, 96)
    case .jupyter: (32, 31, 30)
    case .petstore: (19, 18, 19)
    }
  }
}

@Suite struct RealDocumentTests {
  @Test(arguments: RealDocument.allCases) func `documents of other projects become typed plugins`(
    _ document: RealDocument
  ) throws {
    guard let bytes = document.bytes else {
      print("The document of \(document) isn't in .build/documents, so its test is left out; see 'make clients'")
      return
    }
    let name = document.rawValue
    let lock = try OpenAPIKind.lock(
      name: name, document: bytes, source: "\(name).yaml", only: [], effects: [:], file: "plugins/\(name).lock.json")
    let written = try lock.written()
    let read = try PluginLock(reading: written, of: lock.file)
    try read.verify()
    let all = try read.actionNames.compactMap { try read.action($0) }
    let actions = all.filter { $0.call["pages"] == nil }
    let inputs = actions.count { !$0.input.hasDynamic }
    let outputs = actions.count { !$0.output.hasDynamic }
    print(
      "\(name): \(actions.count) operations, \(inputs) inputs whole, \(outputs) outputs whole,",
      "\(all.count - actions.count) lists by pages, \(written.count) bytes")
    let least = document.least
    #expect(actions.count == least.operations && inputs >= least.inputs && outputs >= least.outputs)
    #expect(read.leftOut.isEmpty)
    // The parts of each action that pages, checks and steps read.
    let plugin = PluginDescriptor(LockedPlugin(read, OpenAPIKind.self))
    for action in plugin.actions {
      #expect(action.summary.count > 3, "\(action.id)")
      #expect(action.input.check(.map(ValueMap()), as: "with").allSatisfy { $0.message.hasPrefix("'with' needs") })
    }
    #expect(faults(of: plugin, isFromOutside: true) == [])
  }

  @Test(arguments: ["shop.yaml", "pets.json"]) func `what must be given is displayed by an example that checks`(
    _ fixture: String
  ) throws {
    #expect(faults(of: PluginDescriptor(LockedPlugin(try lock(fixture), OpenAPIKind.self)), isFromOutside: true) == [])
  }

  @Test func `an example keeps to the limits of its fields`() throws {
    let lock = try lock(
      of: """
        openapi: 3.1.0
        paths:
          /a:
            post:
              parameters:
                - { name: x, in: query, required: true, schema: { type: integer, minimum: 3 } }
                - { name: w, in: query, required: true, schema: { type: number, maximum: -2 } }
                - { name: z, in: query, required: true, schema: { type: integer, maximum: 0 } }
                - { name: e, in: query, required: true, schema: { enum: [7, 8] } }
                - { name: s, in: query, required: true, schema: { type: string, minLength: 9 } }
                - { name: t, in: query, required: true, schema: { type: string, maxLength: 2 } }
                - { name: 'n o', in: query, required: true, schema: { enum: ['no', 'a b'] } }
              requestBody:
                required: true
                content:
                  application/json:
                    schema:
                      required: [l, m, o]
                      properties:
                        l: { type: array, minItems: 2, items: { type: integer } }
                        m: { additionalProperties: { type: string }, minProperties: 1 }
                        o: { required: [o], properties: { o: { required: [o], properties: { o: { required: [o], properties: {
                          o: { required: [o], properties: { o: { type: boolean } } } } } } } } }
        """)
    let plugin = PluginDescriptor(LockedPlugin(lock, OpenAPIKind.self))
    #expect(faults(of: plugin, isFromOutside: true) == [])
    #expect(
      plugin.action("postA")?.examples.map(\.input) == [
        """
        body: { l: [1, 1], m: { name1: text }, o: { o: { o: { o: { o: true } } } } }
        x: 3
        w: -2.0
        z: 0
        e: 7
        s: texttextt
        t: te
        "n o": "no"
        """
      ])
  }
}

extension ObjectSchema {
  fileprivate var hasDynamic: Bool { fields.contains { $0.type.hasDynamic } }
}

extension FieldType {
  fileprivate var hasDynamic: Bool {
    switch self {
    case .dyn: true
    case .list(let element), .map(let element), .optional(let element), .secret(let element): element.hasDynamic
    case .object(let schema): schema.hasDynamic
    default: false
    }
  }
}
