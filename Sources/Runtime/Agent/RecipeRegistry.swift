import ActionKit
package import Basics
package import Recipes
import Synchronization

/// The recipes in the folders that `serve` watches, each in its last valid version.
///
/// Every `.yaml` and `.yml` file directly in one of the folders is a recipe; subfolders are not read, so that called
/// recipes can be kept apart from served ones. A file is read again when its stamp has changed, or the stamp of a file
/// that was read for it. An edit that breaks a recipe leaves the version before it in force, even one that only an
/// earlier process read; a name that another file already has is refused with both places.
///
/// A missing file counts as removed only when it is still missing at the next look, because some editors remove a file
/// before they write the new one; a folder that cannot be listed keeps its recipes.
package struct RecipeRegistry {
  /// A recipe that is in force.
  package struct Item: Sendable {
    package var file: String
    package var name: String
    /// Empty if it has none.
    package var summary = ""
    /// The texts it was made from, by their paths.
    package var texts: ValueMap
    /// The version of the recipe language to read them with.
    package var language = LanguageVersion.current
    /// The paths of its webhooks.
    package var paths: [String] = []
    /// The connections that it needs, and errand.yaml doesn't have.
    package var missing: [String] = []
    /// Whether it says that assistants may run it.
    package var isTool = false
    /// The names in `by` of its questions, and of the questions of recipes that it calls.
    package var deciders: Set<String> = []
  }

  /// A change that a look found.
  package enum News: Sendable {
    case added(Item, warnings: [Diagnostic])
    case changed(Item, warnings: [Diagnostic])
    case removed(Item)
    /// A file is faulty; its earlier recipe, if it had one, stays in force.
    case broken(file: String, faults: [Diagnostic], inForce: Item?)
    /// A folder cannot be listed.
    case unlisted(folder: String, error: FileError)

    var file: String? {
      switch self {
      case .added(let item, _), .changed(let item, _), .removed(let item): item.file
      case .broken, .unlisted: nil
      }
    }
  }

  private struct File {
    var item: Item?
    /// The files that were read for it, with their stamps at the time.
    var stamps: [String: FileStamp?]
    var faults: [Diagnostic] = []
    /// The faults that were last reported.
    var told = ""
    var isMissing = false
  }

  private(set) var folders: [String]
  private(set) var environment: RecipeEnvironment
  private let disk: RecipeFiles
  private var lastGood: [String: (texts: ValueMap, language: Int)] = [:]
  private var files: [String: File] = [:]
  /// The file that a name was last assigned to.
  private var owners: [String: String] = [:]
  private var unlisted: [String: String] = [:]
  /// The recipes that were read and not yet taken; keeping a thousand of them would waste memory.
  private var fresh: [String: Recipe] = [:]
  /// The recipes that people and programs used last to start runs.
  private var latest = CheckedRecipes()

  package init(_ folders: [String], in environment: RecipeEnvironment, files: RecipeFiles = .disk) {
    self.folders = folders
    self.environment = environment
    disk = files
  }

  /// Whether the registry has not looked yet.
  package var isNew: Bool { files.isEmpty && unlisted.isEmpty }

  /// Takes the texts that an earlier process had in force, by their files, with the versions of the language, for files
  /// that are faulty at the first look.
  package mutating func remember(_ texts: [String: (texts: ValueMap, language: Int)]) { lastGood = texts }

  /// Whether a file may hold a recipe that cannot be read now.
  package func isUnreadable(_ path: String) -> Bool {
    if let file = files[path] { return file.item == nil || file.isMissing }
    return unlisted.keys.contains { path.hasPrefix("\($0)/") }
  }

  /// The recipes in force, by their files.
  package var items: [Item] {
    files.values.compactMap(\.item).sorted { $0.file.precedesByScalars($1.file) }
  }

  /// The recipe with a name.
  func item(named name: String) -> Item? {
    files.values.lazy.compactMap(\.item).first { $0.name.hasSameScalars(as: name) }
  }

  /// The faults of the faulty files.
  package var faults: [Diagnostic] {
    files.sorted { $0.key.precedesByScalars($1.key) }.flatMap { $0.value.faults.filter { $0.severity == .error } }
  }

  /// The findings in a file, errors or not.
  func findings(of file: String) -> [Diagnostic] { files[file]?.faults ?? [] }

  /// The faulty files that have no version in force.
  var broken: [String] {
    files.filter { $0.value.item == nil && !$0.value.faults.isEmpty }.keys.sorted { $0.precedesByScalars($1) }
  }

  /// Whether a file is missing that may be back at the next look; that look should be soon.
  package var hasMissingFile: Bool { files.values.contains { $0.isMissing } }

  /// Changes the configuration; the next look reads everything again.
  package mutating func use(_ folders: [String], in environment: RecipeEnvironment) {
    self.folders = folders
    self.environment = environment
    latest = CheckedRecipes()
    for file in files.keys { files[file]?.stamps = [:] }
  }

  // MARK: Looking

  /// Reads what has changed, and returns the changes.
  package mutating func look() -> [News] {
    var news: [News] = []
    var found: [String] = []
    for folder in folders { found += list(folder, &news) }
    var listed = Set<String>()
    found = found.filter { listed.insert($0).inserted }
    for path in files.keys.sorted(by: { $0.precedesByScalars($1) }) where !listed.contains(path) {
      if files[path]?.isMissing == false {
        files[path]?.isMissing = true
      } else if let file = files.removeValue(forKey: path), let item = file.item {
        fresh[path] = nil
        news.append(.removed(item))
      }
    }
    for path in found { look(at: path, &news) }
    lastGood = [:]
    return news
  }

  /// The recipe files in a folder; those known before if it cannot be listed.
  private mutating func list(_ folder: String, _ news: inout [News]) -> [String] {
    do throws(FileError) {
      let names = try disk.list(folder).filter { $0.hasSuffix(".yaml") || $0.hasSuffix(".yml") }
        .filter { !RecipeTestFile.isName($0) }
      unlisted[folder] = nil
      return names.map { "\(folder)/\($0)" }
    } catch {
      if unlisted.updateValue(error.description, forKey: folder) != error.description {
        news.append(.unlisted(folder: folder, error: error))
      }
      return files.keys.filter { $0.hasPrefix("\(folder)/") }.sorted { $0.precedesByScalars($1) }
    }
  }

  private mutating func look(at path: String, _ news: inout [News]) {
    let known = files[path]
    if let known, !known.isMissing, !known.stamps.isEmpty, known.stamps.allSatisfy({ disk.stamp($0.key) == $0.value }) {
      return
    }
    let reading = RecipeReading(environment, disk)
    var recipe: Recipe?
    var faults: [Diagnostic]
    do throws(FileError) {
      let checked = disk.check(try reading.environment.read(path), reading.environment)
      (recipe, faults) = (checked.recipe, checked.diagnostics)
    } catch {
      faults = [Diagnostic(error.description)]
    }
    var file = File(item: known?.item, stamps: reading.stamps)
    defer { files[path] = file }
    if let recipe {
      if let other = owner(of: recipe.name), other.file != path {
        // Read again each time, because the other file may be removed.
        file.stamps = [:]
        faults = [recipe.nameIsTaken(by: other.file, other.source)]
      } else if let taken = pathsTaken(from: recipe, in: path) {
        file.stamps = [:]
        faults = taken
      } else {
        let item = Item(
          file: path, name: recipe.name, summary: recipe.summary, texts: reading.texts, paths: recipe.paths,
          missing: missing(recipe), isTool: recipe.isTool, deciders: recipe.deciders)
        file.item = item
        owners[recipe.name] = path
        fresh[path] = recipe
        if known?.item == nil {
          news.append(.added(item, warnings: faults))
        } else if known?.item?.texts != item.texts || known?.told.isEmpty == false {
          news.append(.changed(item, warnings: faults))
        }
        return
      }
    }
    file.faults = faults
    file.told = Diagnostics(faults).rendered()
    if known == nil, let last = lastGood[path] { file.item = restored(path, last.texts, last.language) }
    if known?.told != file.told { news.append(.broken(file: path, faults: faults, inForce: file.item)) }
  }

  /// The faults of a recipe whose webhooks have paths of other files; nil if it has none.
  private func pathsTaken(from recipe: Recipe, in file: String) -> [Diagnostic]? {
    guard !recipe.paths.isEmpty else { return nil }
    let others = files.values.compactMap(\.item).filter { $0.file != file }
    // A caller who sees only this recipe must not learn of another; 'errand check' names it.
    let faults = recipe.pathsAreTaken { path in others.contains { $0.paths.contains(path) } ? "another recipe" : nil }
    return faults.isEmpty ? nil : faults
  }

  /// The recipe in force that has a name.
  private func owner(of name: String) -> Item? {
    owners[name].flatMap { files[$0]?.item }.flatMap { $0.name == name ? $0 : nil }
  }

  /// The version that an earlier process had in force, if it is still valid.
  private mutating func restored(_ path: String, _ texts: ValueMap, _ language: Int) -> Item? {
    let item = Item(file: path, name: "", texts: texts, language: language)
    guard let recipe = checked(item), owner(of: recipe.name) == nil else { return nil }
    owners[recipe.name] = path
    fresh[path] = recipe
    return Item(
      file: path, name: recipe.name, summary: recipe.summary, texts: texts, language: language,
      paths: recipe.paths,
      missing: missing(recipe), isTool: recipe.isTool, deciders: recipe.deciders)
  }

  /// The connections of a recipe that errand.yaml doesn't have, though their plugins have settings without a default.
  private func missing(_ recipe: Recipe) -> [String] {
    recipe.connectionNames.filter { name in
      environment.connections?[name] == nil
        && environment.catalog.plugin(name)?.configuration.fields.contains(where: \.isRequired) == true
    }
  }

  /// The recipe of an item, which is not kept; nil if it no longer fits the configuration.
  package mutating func takeRecipe(of item: Item) -> Recipe? {
    let recipe = fresh.removeValue(forKey: item.file) ?? checked(item)
    if recipe == nil { files[item.file]?.item = nil }
    return recipe
  }

  /// The recipe of texts that are or were in force, if they are still valid.
  package func recipe(of file: String, from texts: ValueMap, in language: Int) -> Recipe? {
    let isCurrent = language == LanguageVersion.current
    if isCurrent, let recipe = latest.recipe(file, among: .map(texts), zone: environment.zone) { return recipe }
    let recipe = checked(Item(file: file, name: "", texts: texts, language: language))
    if isCurrent, let recipe { latest.keep(recipe) }
    return recipe
  }

  /// The first fault of a file as it is now.
  func fault(of file: String) -> String? {
    do throws(FileError) {
      let checked = disk.check(try environment.read(file), environment)
      return checked.diagnostics.first { $0.severity == .error }?.message
    } catch { return error.description }
  }

  private func checked(_ item: Item) -> Recipe? {
    disk.check(item.source, environment.ofKept(.map(item.texts), in: item.language)).recipe
  }
}

extension Recipe {
  /// The names in `by` of its questions, and of the questions of recipes that it calls.
  fileprivate var deciders: Set<String> { Set(all.flatMap(\.allSteps).flatMap { $0.question?.by ?? [] }) }
}

extension RecipeRegistry.Item {
  /// The text of the file itself.
  fileprivate var source: Source { Source(name: file, text: texts[file]?.string ?? "") }
}

/// Access to the folders of the recipes.
package struct RecipeFiles: Sendable {
  /// The names in a folder.
  package var list: @Sendable (_ folder: String) throws(FileError) -> [String]
  /// The stamp of a file; nil if there is none.
  package var stamp: @Sendable (_ path: String) -> FileStamp?
  /// Checks a recipe's text, or returns the result of an earlier check of it.
  package var check: @Sendable (Source, RecipeEnvironment) -> CheckedRecipe = { Recipe.check($0, in: $1) }

  package init(
    list: @escaping @Sendable (_ folder: String) throws(FileError) -> [String],
    stamp: @escaping @Sendable (_ path: String) -> FileStamp?
  ) {
    self.list = list
    self.stamp = stamp
  }

  package static let disk = RecipeFiles { folder throws(FileError) in
    try Files.list(folder, showingOthers: true)
  } stamp: {
    FileStamp($0)
  }
}

/// Reads files for one check, and records what it read.
final class RecipeReading: Sendable {
  private struct Content {
    var stamps: [String: FileStamp?] = [:]
    var texts = ValueMap()
  }

  private let content = Mutex(Content())
  private let base: RecipeEnvironment
  private let disk: RecipeFiles

  init(_ base: RecipeEnvironment, _ disk: RecipeFiles) {
    self.base = base
    self.disk = disk
  }

  var environment: RecipeEnvironment {
    var environment = base
    environment.read = { [self] path throws(FileError) in
      // Taken before the file is read, so that a change meanwhile is noticed.
      let stamp = disk.stamp(path)
      content.withLock { $0.stamps[path] = .some(stamp) }
      let source = try base.read(path)
      content.withLock { $0.texts[path] = .string(String(decoding: source.bytes, as: UTF8.self)) }
      return source
    }
    return environment
  }

  var stamps: [String: FileStamp?] { content.withLock { $0.stamps } }
  var texts: ValueMap { content.withLock { $0.texts } }
}
