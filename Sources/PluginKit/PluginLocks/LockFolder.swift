package import ActionKit
import Basics
import Synchronization

/// The locks of a project, in the folder `plugins` beside errand.yaml; each is read at its first use.
package final class LockFolder: PluginFinder {
  private enum Known: Sendable {
    case plugin(LockedPlugin)
    case fault(String)
  }

  private let folder: String
  private let kinds: [any LockKind.Type]
  private let known = Mutex<[String: Known]>([:])
  private let listed = Mutex<Listed?>(nil)
  /// Locks that override the files on disk; nil hides a file.
  private let others: [String: PluginLock?]

  private static let ending = ".lock.json"

  /// - Parameters:
  ///   - folder: The folder of errand.yaml.
  ///   - kinds: The kinds of locks whose actions can run.
  ///   - others: Locks by name that override the files on disk; nil hides a file.
  package init(_ folder: String, kinds: [any LockKind.Type], with others: [String: PluginLock?] = [:]) {
    self.folder = folder
    self.kinds = kinds
    self.others = others
  }

  package var names: [String] { contents.names }
  package var fault: String? { contents.fault }

  private typealias Listed = (names: [String], fault: String?)

  private var contents: Listed {
    listed.withLock { listed in
      if let listed { return listed }
      var files: [String] = []
      var fault: String?
      do throws(FileError) { files = try Files.list(LockFolder.place(in: folder)) } catch {
        fault = error.isNotFound ? nil : error.description
      }
      var names = files.filter { $0.hasSuffix(Self.ending) }.map { String($0.dropLast(Self.ending.count)) }
        .filter { !$0.isEmpty && others[$0] == nil }
      names += others.filter { $0.value != nil }.keys
      names.sort { $0.precedesByScalars($1) }
      listed = (names, fault)
      return (names, fault)
    }
  }

  package func absence(of name: String) -> String {
    fault ?? "there is no plugins/\(name)\(Self.ending), which 'errand plugin add' writes"
  }

  /// The file of a plugin's lock.
  package static func path(of name: String, in folder: String) -> String { "\(place(in: folder))/\(name)\(ending)" }

  package func plugin(_ name: String) -> PluginDescriptor? {
    guard case .plugin(let plugin)? = read(name) else { return nil }
    return PluginDescriptor(plugin)
  }

  /// The lock of a plugin; nil if there is no usable one.
  package func lock(_ name: String) -> PluginLock? {
    if case .plugin(let plugin)? = read(name) { plugin.lock } else { nil }
  }

  package func fault(of name: String) -> String? {
    guard case .fault(let fault)? = read(name) else { return nil }
    return fault
  }

  package var sources: [Value] {
    names.compactMap { name in
      guard var source = (lock(name) ?? recoverable(name))?.source.map else { return nil }
      // The parts that aren't actions name no files, and may be long.
      source["leftOut"] = nil
      return .map(source)
    }
  }

  /// The folder of the locks.
  package static func place(in folder: String) -> String { "\(folder)/plugins" }

  /// The unusable lock of a plugin, if it can be created again from its source.
  package func recovered(_ name: String) -> PluginLock? { fault(of: name) == nil ? nil : recoverable(name) }

  /// Whether another user may change a lock, which may name a program to start.
  ///
  /// The folder that contains `plugins/` counts, too, because `plugins/` could be replaced in it.
  private func holder(of name: String) -> ForeignHold? {
    ForeignHold.of(LockFolder.path(of: name, in: folder), folders: 2)
  }

  private func recoverable(_ name: String) -> PluginLock? {
    let path = LockFolder.path(of: name, in: folder)
    guard holder(of: name) == nil, let bytes = try? Files.read(path, limit: PluginLock.mostBytes),
      let lock = PluginLock(recovering: bytes, named: name, of: "plugins/\(name)\(Self.ending)"),
      kinds.contains(where: { $0.name == lock.kind })
    else { return nil }
    return lock
  }

  /// Reads the whole plugin of that name, and returns the reason why it can't be used; nil if it can.
  package func examined(_ name: String) -> String? {
    guard let lock = lock(name) else { return fault(of: name) }
    do throws(PluginLockError) {
      for action in lock.actionNames { _ = try lock.action(action) }
      return nil
    } catch {
      return "\(error.message); run 'errand plugin update \(name)' to make it anew from its source"
    }
  }

  private func read(_ name: String) -> Known? {
    guard names.contains(where: { $0.hasSameScalars(as: name) }) else { return nil }
    if let known = known.withLock({ $0[name] }) { return known }
    let read: Known
    do throws(PluginLockError) { read = .plugin(try reading(name)) } catch { read = .fault(error.message) }
    known.withLock { $0[name] = read }
    return read
  }

  private func reading(_ name: String) throws(PluginLockError) -> LockedPlugin {
    if case .some(.some(let lock)) = others[name] { return try plugin(of: lock) }
    let file = "plugins/\(name)\(Self.ending)"
    if let hold = holder(of: name) { throw PluginLockError("\(file) isn't used: \(hold)") }
    let bytes: [UInt8]
    do throws(FileError) { bytes = try Files.read("\(folder)/\(file)", limit: PluginLock.mostBytes) } catch {
      throw PluginLockError(error.description)
    }
    let lock: PluginLock
    do throws(PluginLockError) {
      lock = try PluginLock(reading: bytes, of: file)
      // Verified once, because this takes most of the time of a check.
      try lock.verify()
    } catch {
      // If libcrypto is missing, the lock isn't at fault.
      if SHA256.digest(of: []) == nil { throw error }
      let fix =
        recoverable(name) == nil
        ? "restore it, or remove it by 'errand plugin remove \(name) --force' and add it again"
        : "run 'errand plugin update \(name)' to make it anew from its source"
      throw PluginLockError("\(error.message); \(fix)")
    }
    guard lock.name.hasSameScalars(as: name) else {
      let place = "plugins/\(lock.name)\(Self.ending)"
      throw PluginLockError(
        names.contains(where: lock.name.hasSameScalars)
          ? "\(file) is a second lock of '\(lock.name)', beside \(place); remove it"
          : "\(file) is the lock of '\(lock.name)'; name it \(place)")
    }
    return try plugin(of: lock)
  }

  private func plugin(of lock: PluginLock) throws(PluginLockError) -> LockedPlugin {
    guard let kind = kinds.first(where: { $0.name == lock.kind }) else {
      throw PluginLockError(
        "\(lock.file) is of kind '\(lock.kind)', which this program doesn't know; use a newer errand")
    }
    return LockedPlugin(lock, kind)
  }
}
