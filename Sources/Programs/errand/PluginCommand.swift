import ActionKit
import AgentRuntime
import Basics
import CommandLineParser
import PluginList
import PluginLocks
import Recipes

/// `errand plugin`: adds, updates, removes and lists the plugins of a folder, which are lock files.
struct PluginCommand: DispatchedCommand {
  let dispatch: Dispatch

  func run() async throws(RuntimeError) -> ExitCode {
    // Faults in errand.yaml don't affect locks; but without the named file, the locks would be another folder's.
    if let given = parsed["config"].text {
      let path = Workspace.absolute(given, in: Workspace.workingFolder)
      guard Files.exists(path) else { throw RuntimeError(.noInput, "cannot read \(given.safe): no such file") }
    }
    _ = try Workspace.configurationFile(parsed["config"].text, besides: nil)
    switch parsed.command.last {
    case "add": return try await add()
    case "update": return try await update()
    case "remove": return try remove()
    default: return try list()
    }
  }

  // MARK: The folder

  /// The folder of errand.yaml, even if that is faulty; the working folder if there is none.
  var root: String {
    (try? Workspace.configurationFile(parsed["config"].text, besides: nil)).map(Workspace.folder)
      ?? Workspace.workingFolder
  }

  var locks: LockFolder { LockFolder(root, kinds: everyLockKind) }

  func path(of name: String) -> String { LockFolder.path(of: name, in: root) }
  func file(of name: String) -> String { "plugins/\(name).lock.json" }

  /// The lock of the plugin that the command line names, which need not be usable.
  func known(_ name: String) throws(RuntimeError) -> PluginLock {
    let locks = locks
    if let lock = locks.lock(name) { return lock }
    if let fault = locks.fault(of: name) { throw RuntimeError(.invalid, fault) }
    if dispatch.catalog.isCompiled(name) {
      throw RuntimeError(.usage, "'\(name)' is part of errand, and has no lock")
    }
    if let fault = locks.fault { throw RuntimeError(.noInput, fault) }
    let guess =
      name.nearest(among: locks.names).map { "; did you mean '\($0)'?" } ?? "; 'errand plugin list' lists them"
    throw RuntimeError(.noInput, "no plugin of this folder is named '\(name)'\(guess)")
  }

  func write(_ lock: PluginLock) throws(RuntimeError) {
    let bytes = try RuntimeError.ofLock { () throws(PluginLockError) in try lock.written() }
    try RuntimeError.creating { () throws(FileError) in
      try Files.makeFolder("\(root)/plugins")
      Files.removeLeft(beside: path(of: lock.name))
      try Files.write(bytes, to: path(of: lock.name))
    }
  }

  /// Generates the editors' schemas again, if `errand new folder` created them.
  func renewSchemas() {
    let catalog = dispatch.catalog.looking(in: root)
    for schema in FileSchema.allCases {
      let path = "\(root)/recipes/\(schema.rawValue).schema.json"
      let document = schema.document(catalog)
      // One that says otherwise of where it is from is another's.
      guard let old = try? Files.read(path), let comment = document["$comment"],
        let read = try? JSON.parse(old), read["$comment"] == comment, read != document
      else { continue }
      do throws(FileError) {
        try Files.write(Array("\(JSON.displayed(document, .pretty))\n".utf8), to: path)
        console.say("wrote \(Workspace.displayed(path)), for editors")
      } catch {
        console.say("errand schema \(schema.rawValue) prints what belongs into \(Workspace.displayed(path)): \(error)")
      }
    }
  }

  // MARK: Removing and listing

  private func remove() throws(RuntimeError) -> ExitCode {
    let name = parsed["name"].text ?? ""
    if locks.fault(of: name) == nil { _ = try known(name) }
    var looked = ""
    if !parsed["force"].isGiven {
      let workspace = try dispatch.workspace()
      let faults = newFaults(
        in: workspace, with: LockFolder(root, kinds: everyLockKind, with: [name: nil]), isGone: true)
      if !faults.isEmpty {
        let uses = faults.map { Self.use(of: name, in: $0) }
        for use in uses.compactMap(\.self) { console.error(use) }
        let others = zip(faults, uses).filter { $0.1 == nil }.map(\.0)
        if !others.isEmpty { console.show(Diagnostics(others)) }
        let fix = locks.recovered(name) == nil ? "" : "; 'errand plugin update \(name)' makes it anew"
        throw RuntimeError(
          .invalid, "'\(name)' is in use, and was left\(fix); change these, or remove it nonetheless with --force")
      }
      looked = "; no recipe in \(recipes(in: workspace).folders.joined(separator: " or ")) uses it"
    }
    Files.removeLeft(beside: path(of: name))
    try RuntimeError.creating { () throws(FileError) in try Files.remove(path(of: name)) }
    console.say("removed \(file(of: name))\(looked)")
    renewSchemas()
    if parsed["force"].isGiven {
      for use in usesInConfiguration(of: name) {
        console.say("\(use), which can't be used before the plugin is added again")
      }
    }
    return .done
  }

  /// Where errand.yaml names a plugin that is gone.
  private func usesInConfiguration(of name: String) -> [String] {
    let diagnostics = configuration(dispatch.catalog.with(locks))?.diagnostics ?? []
    return diagnostics.compactMap { Self.use(of: name, in: $0) }
  }

  /// The place that uses a plugin, if its removal causes the fault: `recipes/orders.yaml:2 uses shop.listOrders`.
  private static func use(of name: String, in fault: Diagnostic) -> String? {
    guard let location = fault.location else { return nil }
    let source = location.source
    let text = source.bytes.dropFirst(location.range.lowerBound).drop { "\"'".utf8.contains($0) }
    let word = String(decoding: text.prefix { !"\"' ,:}\r\n".utf8.contains($0) }, as: UTF8.self)
    guard word.hasSameScalars(as: name) || word.hasPrefix("\(name).") else { return nil }
    return "\(Workspace.displayed(source.name)):\(source.position(at: location.range.lowerBound).line) uses \(word)"
  }

  private func list() throws(RuntimeError) -> ExitCode {
    let locks = locks
    if let fault = locks.fault { throw RuntimeError(.noInput, fault) }
    var rows: [[String]] = []
    var entries: [Value] = []
    for name in locks.names {
      let lock = locks.lock(name)
      let fault =
        dispatch.catalog.isCompiled(name)
        ? "errand has a plugin '\(name)' of its own; remove this file" : locks.examined(name)
      let source = lock.map(Self.source) ?? ""
      rows.append([
        name.safe, lock?.kind ?? "", lock.map { "\($0.actionNames.count)" } ?? "", source.safe, fault?.safe ?? "ok",
      ])
      var entry = ValueMap([("name", .string(name)), ("file", .string(file(of: name)))])
      if let lock {
        entry["kind"] = .string(lock.kind)
        entry["source"] = .string(source)
        entry["actions"] = .list(lock.actionNames.map(Value.string))
      }
      if let fault { entry["fault"] = .string(fault) }
      entries.append(.map(entry))
    }
    if asJSON {
      console.out(json: .list(entries))
    } else if rows.isEmpty {
      console.say("this folder has no plugins of its own; 'errand plugin add' adds one, and 'errand actions' lists all")
    } else {
      console.out(
        console.table(["PLUGIN", "KIND", "ACTIONS", "SOURCE", "STATE"], rows, cutFirst: ["SOURCE", "STATE"]))
    }
    return .done
  }

  /// Where a plugin's actions come from, in a few words.
  private static func source(of lock: PluginLock) -> String {
    if let place = lock.source["document"]?.string ?? lock.source["url"]?.string { return place }
    let words = [lock.source["command"]?.string ?? ""] + (lock.source["arguments"]?.list ?? []).compactMap(\.string)
    return words.map(\.shellQuoted).joined(separator: " ")
  }
}

extension RuntimeError {
  /// Makes or reads a lock.
  static func ofLock<Result>(_ body: () throws(PluginLockError) -> Result) throws(RuntimeError) -> Result {
    do throws(PluginLockError) { return try body() } catch { throw RuntimeError(.invalid, error.message) }
  }
}
