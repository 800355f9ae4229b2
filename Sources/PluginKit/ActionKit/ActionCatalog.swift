import Synchronization

/// Every plugin and action that recipes can use.
///
/// Making one reads nothing. Names are asked of the declarations when they are looked for, and a declaration as a
/// whole is read when its action is asked for the first time: reading all of a hundred would be felt at every start.
/// That names are unique and sentences well formed is for `expectWellFormed` to say, in the plugin's tests.
public final class ActionCatalog: Sendable {
  /// The plugins that are compiled in, in the order of the program's list.
  private let compiled: [PluginDescriptor]
  private let finding: (@Sendable (_ folder: String) -> any PluginFinder)?
  /// Those that the project's folder has.
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

  /// The plugins: those that are compiled in, in the order of the program's list, and then those of the folder.
  public var plugins: [PluginDescriptor] {
    compiled
      + (found?.names ?? []).filter { name in !isCompiled(name) }.compactMap { name in found?.plugin(name) }
  }

  /// The plugin of that name.
  public func plugin(_ name: String) -> PluginDescriptor? {
    compiled.first { $0.name.hasSameScalars(as: name) } ?? found?.plugin(name)
  }

  /// Whether the program itself has a plugin of that name, which is then not looked for in the folder.
  package func isCompiled(_ name: String) -> Bool { compiled.contains { $0.name.hasSameScalars(as: name) } }

  /// Why a plugin of the folder can't be used; nil for one that can, or that isn't there.
  package func fault(ofPlugin name: String) -> String? { isCompiled(name) ? nil : found?.fault(of: name) }

  /// Why the plugin of that name isn't in the project's folder, as a clause; nil where no folder is looked in.
  package func absence(ofPlugin name: String) -> String? { found?.absence(of: name) }

  /// Where the plugins of the project's folder come from, as their locks say: programs, documents and addresses.
  package var sourcesOfPlugins: [Value] { found?.sources ?? [] }

  /// Why the project's folder can't be looked in for plugins; nil if it can, or if it has none.
  package var faultOfFolder: String? { found?.fault }

  /// The action of that id or former id; the descriptor's own `id` tells which it is.
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

  /// The id that was probably meant by one that is not known.
  public func nearestAction(to id: String) -> String? { id.nearest(among: actionIDs) }
}

/// The plugins of a project's folder, which are data.
package protocol PluginFinder: Sendable {
  /// The names, sorted; reads no declaration.
  var names: [String] { get }
  /// The plugin of that name; nil if it isn't there, or can't be used.
  func plugin(_ name: String) -> PluginDescriptor?
  /// Why the plugin of that name can't be used, as a sentence without full stop; nil if it can, or isn't there.
  func fault(of name: String) -> String?
  /// Why no plugin is there of a name that `names` hasn't, as a clause.
  func absence(of name: String) -> String
  /// Why it can't be said which plugins there are; nil if it can.
  var fault: String? { get }
  /// Where the plugins come from: programs, documents and addresses; also of those that can't be used.
  var sources: [Value] { get }
}
