import Synchronization

/// The plugins and actions that recipes can use.
///
/// Creating a catalog reads nothing. A lookup reads only names, and an action's whole declaration is read at its first
/// use, because reading a hundred declarations would delay every start. The plugins' tests check with
/// `expectWellFormed` that names are unique and sentences well formed.
public final class ActionCatalog: Sendable {
  /// The plugins that are compiled in, in the order of the program's list.
  private let compiled: [PluginDescriptor]
  private let finding: (@Sendable (_ folder: String) -> any PluginFinder)?
  /// The plugins of the project's folder.
  private let found: (any PluginFinder)?
  private let read = Mutex<[String: ActionDescriptor]>([:])

  /// Creates a catalog.
  public convenience init(_ plugins: [any Plugin.Type]) {
    self.init(plugins.map { PluginDescriptor($0) }, finding: nil, found: nil)
  }

  /// Creates a catalog that can find further plugins in the folder of a project.
  package convenience init(
    _ plugins: [any Plugin.Type], finding: @escaping @Sendable (_ folder: String) -> any PluginFinder
  ) {
    self.init(plugins.map { PluginDescriptor($0) }, finding: finding, found: nil)
  }

  private init(
    _ compiled: [PluginDescriptor], finding: (@Sendable (String) -> any PluginFinder)?, found: (any PluginFinder)?
  ) {
    self.compiled = compiled
    self.finding = finding
    self.found = found
  }

  /// The catalog with the plugins of a project's folder as they are now.
  package func looking(in folder: String) -> ActionCatalog {
    ActionCatalog(compiled, finding: finding, found: finding?(folder))
  }

  /// The catalog with these plugins of a project's folder.
  package func with(_ found: any PluginFinder) -> ActionCatalog {
    ActionCatalog(compiled, finding: finding, found: found)
  }

  /// The compiled plugins, in the order of the program's list, followed by the project folder's plugins.
  public var plugins: [PluginDescriptor] {
    compiled
      + (found?.names ?? []).filter { name in !isCompiled(name) }.compactMap { name in found?.plugin(name) }
  }

  /// The plugin of that name.
  public func plugin(_ name: String) -> PluginDescriptor? {
    compiled.first { $0.name.hasSameScalars(as: name) } ?? found?.plugin(name)
  }

  /// Whether the program has a compiled plugin of that name; such a plugin isn't looked up in the folder.
  package func isCompiled(_ name: String) -> Bool { compiled.contains { $0.name.hasSameScalars(as: name) } }

  /// The reason why a plugin of the folder can't be used; nil if it can, or doesn't exist.
  package func fault(ofPlugin name: String) -> String? { isCompiled(name) ? nil : found?.fault(of: name) }

  /// The reason why the project's folder has no plugin of that name, as a clause; nil if the catalog searches no
  /// folder.
  package func absence(ofPlugin name: String) -> String? { found?.absence(of: name) }

  /// The sources of the project folder's plugins, as their locks record them: programs, documents and addresses.
  package var sourcesOfPlugins: [Value] { found?.sources ?? [] }

  /// The reason why the project's folder can't be searched for plugins; nil if it can, or if there is none.
  package var faultOfFolder: String? { found?.fault }

  /// The action of that id or former id; the descriptor's own `id` is the current one.
  public func action(_ id: String) -> ActionDescriptor? {
    if let known = read.withLock({ $0[id] }), known.id.hasSameScalars(as: id) { return known }
    let parts = id.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let descriptor = plugin(String(parts[0]))?.action(String(parts[1])) else { return nil }
    read.withLock { $0[descriptor.id] = descriptor }
    return descriptor
  }

  /// The ids of all actions, in the order of the plugins' lists.
  public var actionIDs: [String] {
    plugins.flatMap { plugin in plugin.actionNames.map { "\(plugin.name).\($0)" } }
  }

  /// The known id that is most similar to an unknown one, to suggest a correction.
  public func nearestAction(to id: String) -> String? { id.nearest(among: actionIDs) }
}

/// The plugins of a project's folder, which are declared by data.
package protocol PluginFinder: Sendable {
  /// The names, sorted; reads no declaration.
  var names: [String] { get }
  /// The plugin of that name; nil if it doesn't exist, or can't be used.
  func plugin(_ name: String) -> PluginDescriptor?
  /// The reason why the plugin of that name can't be used, as a sentence without full stop; nil if it can, or doesn't
  /// exist.
  func fault(of name: String) -> String?
  /// The reason why there is no plugin of a name that isn't in `names`, as a clause.
  func absence(of name: String) -> String
  /// The reason why the plugins can't be listed; nil if they can.
  var fault: String? { get }
  /// The sources of all plugins, even unusable ones: programs, documents and addresses.
  var sources: [Value] { get }
}
