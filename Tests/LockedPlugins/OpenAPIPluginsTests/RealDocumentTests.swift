import ActionKit
import Basics
import PluginLocks
import Testing

@testable import OpenAPIPlugins

struct RealDocumentTests {
  @Test(arguments: ["airflow", "dagu", "docker", "jupyter", "petstore"])
  func `measure`(name: String) throws {
    let bytes = try Files.read("/tmp/openapi-docs/\(name).yaml", limit: 64 << 20)
    let start = ContinuousClock.now
    let lock = try OpenAPIKind.lock(
      name: name, document: bytes, source: "\(name).yaml", only: [], effects: [:], file: "plugins/\(name).lock.json")
    let time = ContinuousClock.now - start
    let written = try lock.written()
    let actions = try lock.actionNames.compactMap { try lock.action($0) }.filter { $0.call["pages"] == nil }
    print(
      name, actions.count, "inputs", actions.count { !$0.input.hasDynamic }, "outputs",
      actions.count { !$0.output.hasDynamic }, "bytes", written.count, time, "all",
      lock.actionNames.count - actions.count)
    for left in OpenAPIKind.leftOut(lock) { print("  ", left) }
    for action in actions where action.input.hasDynamic { print("  in", action.name, JSON.shown(action.call)) }
    for action in actions where action.output.hasDynamic { print("  out", action.name) }
    print(OpenAPIKind.connectionSketch(lock))
    try Files.write(written, to: "/tmp/openapi-docs/\(name).lock.json")
  }
}

extension ObjectSchema {
  var hasDynamic: Bool { fields.contains { $0.type.hasDynamic } }
}

extension FieldType {
  var hasDynamic: Bool {
    switch self {
    case .dyn: true
    case .list(let element), .map(let element), .optional(let element), .secret(let element): element.hasDynamic
    case .object(let schema): schema.hasDynamic
    default: false
    }
  }
}
