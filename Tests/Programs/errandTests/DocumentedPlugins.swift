import ActionKit
import Basics
import MCPPlugins
import OpenAPIPlugins
import PluginList
import PluginLocks

/// The external plugins that pages mention, so that the pages' parts of `errand.yaml` are checked like any other.
enum DocumentedPlugins {
  static let pages: Set = ["docs/openapi.md", "docs/plugins-from-outside.md"]

  static func catalog() throws -> ActionCatalog {
    let document = """
      {"openapi": "3.1.0", "info": {"title": "Shop", "version": "1"}, "security": [{"key": []}],
       "components": {"securitySchemes": {"key": {"type": "http", "scheme": "bearer"}}},
       "paths": {"/orders": {"get": {"operationId": "list_orders", "responses": {"204": {"description": "none"}}}}}}
      """
    let shop = try OpenAPIKind.lock(
      name: "shop", document: Array(document.utf8), source: "shop.json", only: [], effects: [:],
      file: "plugins/shop.lock.json")
    let notes = try PluginLock(
      name: "notes", kind: MCPKind.name, summary: "Keeps notes.", source: MCPSource(.command(["notes"])).value,
      connection: ValueMap(), types: ValueMap(), actions: [], file: "plugins/notes.lock.json")
    let folder = LockFolder("/", kinds: everyLockKind, with: ["shop": shop, "notes": notes])
    return ActionCatalog(everyPlugin).with(folder)
  }
}
