import ActionKit
import Basics
import Foundation
import PluginList
import Recipes

/// A committed file that is generated from declarations.
struct GeneratedFile {
  /// The command that generates it again.
  static let command = "make generate"

  /// The path in the package.
  let path: String
  let text: String

  /// A page, whose first line says where it comes from.
  static func page(_ path: String, _ text: String) -> GeneratedFile {
    GeneratedFile(
      path: path, text: "<!-- Made by '\(command)' from the declarations in the code. Do not edit. -->\n\n" + text)
  }

  func write(in root: URL) throws(ToolError) { try root.appending(path: path).write(text) }
}

/// Every generated file, as it should be.
func generatedFiles(in root: URL) throws(ToolError) -> [GeneratedFile] {
  var files = [try templateFile(in: root), try operationList(in: root)]
  for plugin in everyPlugin {
    files.append(.page("\(folder(of: plugin))/README.md", PluginDescriptor(plugin).markdown()))
  }
  files.append(.page("Sources/Language/Expressions/README.md", functionPage()))
  let catalog = ActionCatalog(everyPlugin)
  files.append(.page("docs/keys.md", keyPage(catalog)))
  files.append(.page("docs/agent-requests.md", operationPage()))
  files.append(.page("docs/journal.md", try journalPage()))
  files.append(.page("docs/state-machines.md", statePage()))
  for schema in FileSchema.allCases {
    do throws(JSONError) {
      let text = try JSON.text(schema.document(catalog), .pretty)
      files.append(GeneratedFile(path: "recipes/\(schema.rawValue).schema.json", text: text + "\n"))
    } catch {
      throw ToolError("the schema '\(schema.rawValue)' cannot be written as JSON: \(error)")
    }
  }
  return files
}

/// The folder of a plugin's code: `Plugins/Markbook` for the module `MarkbookPlugin`.
func folder(of plugin: any Plugin.Type) -> String {
  let module = String(reflecting: plugin).prefix { $0 != "." }
  return "Plugins/\(module.hasSuffix("Plugin") ? module.dropLast(6) : module)"
}
