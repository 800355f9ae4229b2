import Dispatch
import Foundation

/// The package's targets, read from its manifest.
struct Manifest: Sendable {
  struct Target: Sendable {
    enum Kind: String, Decodable, Sendable { case executable, library = "regular", system, test }

    let name: String
    let kind: Kind
    /// The folder of its sources in the package.
    let folder: String
    let dependencies: [String]

    /// The name that Swift imports it by.
    var module: String { name.replacing("-", with: "_") }
    /// The folder of `Sources` that it is in; else the package's.
    var floor: String { folder.split(separator: "/").first { $0 != "Sources" }.map { String($0) } ?? "" }
    var isC: Bool { floor == "CLibraries" && kind != .test }
    var isPlugin: Bool { floor == "Plugins" }
  }

  let targets: [Target]

  init(targets: [Target]) { self.targets = targets }

  /// Asks SwiftPM for the manifest, on a thread that may wait for it.
  init(of root: URL) async throws(ToolError) {
    let result: Result<Manifest, ToolError> = await withCheckedContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(returning: Result { () throws(ToolError) in try Manifest(waitingFor: root) })
      }
    }
    self = try result.get()
  }

  private init(waitingFor root: URL) throws(ToolError) {
    // A scratch folder of its own, because a build or a test run holds the lock of the usual one.
    let scratch = FileManager.default.temporaryDirectory.appending(path: "errand-dev-\(UUID())")
    defer { try? FileManager.default.removeItem(at: scratch) }
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = [
      "swift", "package", "dump-package", "--package-path", root.path, "--scratch-path", scratch.path,
      "--manifest-cache", "none",
    ]
    let output = Pipe()
    process.standardOutput = output
    let text: Data
    do {
      try process.run()
      text = try output.fileHandleForReading.readToEnd() ?? Data()
    } catch {
      throw ToolError("cannot run 'swift package dump-package': \(error.localizedDescription)")
    }
    process.waitUntilExit()
    guard process.terminationStatus == 0, let dump = try? JSONDecoder().decode(Dump.self, from: text) else {
      throw ToolError("'swift package dump-package' printed an unexpected manifest")
    }
    targets = dump.targets.map(\.target)
  }

  private struct Dump: Decodable {
    struct Target: Decodable {
      struct Dependency: Decodable {
        struct Name: Decodable {
          let text: String?
          init(from decoder: any Decoder) throws {
            // The name comes before conditions.
            var list = try decoder.unkeyedContainer()
            text = try list.decodeIfPresent(String.self)
          }
        }
        let byName: Name?
        let target: Name?
      }
      let name: String
      let type: Manifest.Target.Kind
      let path: String?
      let dependencies: [Dependency]

      var target: Manifest.Target {
        Manifest.Target(
          name: name, kind: type, folder: path ?? "\(type == .test ? "Tests" : "Sources")/\(name)",
          dependencies: dependencies.compactMap { ($0.byName ?? $0.target)?.text })
      }
    }
    let targets: [Target]
  }
}
