import Basics
import Foundation

// Checks what the compiler checks only in part or not at all.
//
// - A file imports only what its target names as a direct dependency; the compiler misses what is reachable through
//   another one. And a target names only what one of its files imports.
// - Dependencies lead to the same floor or downward. A plugin sees no C library, and only the list of plugins and tests
//   see a plugin.
// - Shipped targets import neither Foundation nor the standard library's regular expressions, which are a megabyte.
// - Every generated file is up to date, and every plugin's folder is in the list.
// - No more lines have a hard phrase than `WordCount` allows.

/// The check of the package that a test runs.
struct Verification {
  let root: URL

  /// The floors from the ground up, each a folder of `Sources`, or of the package.
  ///
  /// A target uses its own floor and those below it. SwiftPM itself refuses cycles within a floor.
  static let floors = [
    "CLibraries", "Core", "Network", "PluginKit", "Plugins", "LockedPlugins", "Language", "Runtime", "Testing",
    "Programs", "Benchmarks",
  ]
  /// Targets that aren't shipped, and so may use Foundation and regular expressions.
  static let unshipped: Set<String> = [
    "ActionTestKit", "Benchmarks", "PostgresTestKit", "ProcessTestKit", "RunTestKit", "Simulator", "errand-dev",
  ]
  /// The modules of the toolchain and of the system.
  private static let toolchain: Set<String> = [
    "Dispatch", "Foundation", "FoundationEssentials", "FoundationNetworking", "Glibc", "Swift", "Synchronization",
    "Testing",
  ]

  /// All faults, each a sentence that begins with the place.
  func faults() async throws(ToolError) -> [String] {
    let manifest = try await Manifest(of: root)
    var faults = arrows(manifest)
    for target in manifest.targets where target.kind != .system {
      faults += imports(of: target, in: try SourceFile.all(of: target, in: root), manifest)
    }
    faults += floors(of: manifest, on: try root.appending(path: Self.floorsPage).text())
    return faults + unlistedPlugins(manifest) + staleFiles(try generatedFiles(in: root))
      + (try WordCount(of: root)).faults
      + (try longRows())
  }

  // MARK: Dependencies

  func arrows(_ manifest: Manifest) -> [String] {
    let byName = Dictionary(manifest.targets.map { ($0.name, $0) }) { first, _ in first }
    var faults: [String] = []
    for target in manifest.targets where target.kind != .test {
      guard let own = Self.floors.firstIndex(of: target.floor) else {
        faults.append(
          "Package.swift: error: '\(target.name)' lies in '\(target.folder)', which isn't a floor; name it in Verification.floors"
        )
        continue
      }
      for name in target.dependencies {
        guard let dependency = byName[name] else { continue }
        if dependency.isPlugin, target.name != "PluginList", target.floor != "LockedPlugins" {
          faults.append("Package.swift: error: '\(target.name)' must not see the plugin '\(name)'; only the list does")
        } else if dependency.isC, target.isPlugin {
          faults.append("Package.swift: error: the plugin '\(target.name)' must not see the C library '\(name)'")
        } else if let other = Self.floors.firstIndex(of: dependency.floor), other > own {
          faults.append("Package.swift: error: '\(target.name)' uses '\(name)', which lies on a higher floor")
        }
      }
    }
    return faults
  }

  /// The page whose table names each target on its floor.
  static let floorsPage = "docs/architecture.md"

  /// Compares the table of floors with the manifest.
  ///
  /// A row is `| FLOOR | targets in backquotes | purpose |`.
  func floors(of manifest: Manifest, on page: String) -> [String] {
    var floors: [String: [String]] = [:]
    for line in page.split(separator: "\n") where line.hasPrefix("| ") {
      let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
      guard cells.count == 3, Self.floors.contains(cells[0]) else { continue }
      // The names between backquotes are at the odd places.
      for (number, name) in cells[1].split(separator: "`", omittingEmptySubsequences: false).enumerated()
      where !number.isMultiple(of: 2) {
        floors[String(name), default: []].append(cells[0])
      }
    }
    var faults: [String] = []
    for target in manifest.targets where target.kind != .test && Self.floors.contains(target.floor) {
      let named = floors.removeValue(forKey: target.name) ?? []
      if named != [target.floor] {
        faults.append(
          "\(Self.floorsPage): error: name '\(target.name)' once in the table of floors, on the floor \(target.floor)")
      }
    }
    return faults
      + floors.keys.sorted().map {
        "\(Self.floorsPage): error: the table of floors names '\($0)', which isn't a target"
      }
  }

  /// The most characters of a row of a table, which people read on one line.
  static let longestRow = 400

  /// The rows of tables of `docs` that are too long.
  func longRows() throws(ToolError) -> [String] {
    var faults: [String] = []
    for name in root.appending(path: "docs").pathsBelow where name.hasSuffix(".md") {
      let lines = try root.appending(path: "docs/\(name)").text().split(
        separator: "\n", omittingEmptySubsequences: false)
      for (number, line) in lines.enumerated() where line.hasPrefix("|") && line.count > Self.longestRow {
        faults.append(
          "docs/\(name):\(number + 1): error: the row has \(line.count) characters, and at most \(Self.longestRow) are easy to read; divide it"
        )
      }
    }
    return faults
  }

  // MARK: Imports

  func imports(of target: Manifest.Target, in files: [SourceFile], _ manifest: Manifest) -> [String] {
    let modules = Dictionary(manifest.targets.map { ($0.name, $0.module) }) { first, _ in first }
    let programs = Set(manifest.targets.filter { $0.kind == .executable }.map(\.name))
    let direct = Set(target.dependencies.compactMap { modules[$0] })
    let mayUseFoundation = target.kind == .test || Self.unshipped.contains(target.name)
    var faults: [String] = []
    var used: Set<String> = []
    for file in files {
      for line in file.imports {
        used.insert(line.module)
        let place = "\(file.path):\(line.line): error:"
        if line.module.hasPrefix("Foundation") || line.module == "_StringProcessing" {
          if !mayUseFoundation {
            faults.append("\(place) '\(target.name)' is shipped, so it must not import \(line.module)")
          }
        } else if !direct.contains(line.module), !Self.toolchain.contains(line.module) {
          faults.append(
            "\(place) '\(line.module)' isn't a direct dependency of '\(target.name)'; name it in Package.swift")
        }
      }
    }
    for name in target.dependencies {
      // Tests that start a program name it, so that it is built before them.
      guard let module = modules[name], !used.contains(module), !programs.contains(name) else { continue }
      faults.append(
        "Package.swift: error: no file of '\(target.name)' imports '\(module)'; remove it from its dependencies")
    }
    return faults
  }

  // MARK: Generated files

  func unlistedPlugins(_ manifest: Manifest) -> [String] {
    let list = manifest.targets.first { $0.name == "PluginList" }?.dependencies ?? []
    return manifest.targets.filter { $0.isPlugin && !list.contains($0.name) }.map {
      "Sources/Programs/PluginList/PluginList.swift: error: '\($0.name)' is not in the list of plugins"
    }
  }

  func staleFiles(_ files: [GeneratedFile]) -> [String] {
    files.compactMap { file in
      guard let text = try? root.appending(path: file.path).text() else {
        return "\(file.path):1: error: the file is missing; run '\(GeneratedFile.command)'"
      }
      let old = text.utf8.split(separator: ASCII.newline, omittingEmptySubsequences: false)
      let new = file.text.utf8.split(separator: ASCII.newline, omittingEmptySubsequences: false)
      let same = zip(old, new).prefix { $0.elementsEqual($1) }.count
      if same == old.count, same == new.count { return nil }
      return "\(file.path):\(same + 1): error: the file is out of date; run '\(GeneratedFile.command)'"
    }
  }
}
