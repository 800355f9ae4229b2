// The component of the page that edits a recipe: CodeMirror, from the Debian packages that have it.
//
// Users need no build step: the files are made once by `errand-dev vendor`, and committed compressed. NOTICE has the
// version of the package, and the SHA-256 of the input and of each file. A test compares all three where the
// packages are installed, and the last one everywhere. `edit.css` has colours for both themes in place of the ones of the
// package, and draws the marks of faults: `addon/lint/lint.css` has them as pictures that the pages' policy refuses.
import Basics
import Foundation

struct VendoredEditor {
  /// A file as it is committed, before it is compressed.
  struct File {
    /// The path in the package, with `.gz`.
    let path: String
    let bytes: [UInt8]

    var sha256: String { SHA256.digest(of: bytes) ?? "" }
  }

  /// The version of the Debian package.
  let version: String
  /// The SHA-256 of the files that go in, one after another.
  let sha256: String
  let files: [File]

  static let packages = ["libjs-codemirror", "terser"]
  private static let source = "/usr/share/javascript/codemirror"
  private static let folder = "Sources/CLibraries/CPageAssets/Files"

  /// The scripts, each after the ones that it needs.
  private static let scripts = [
    "lib/codemirror", "mode/yaml/yaml", "addon/lint/lint", "addon/hint/show-hint", "addon/search/searchcursor",
    "addon/search/search", "addon/dialog/dialog", "addon/comment/comment", "addon/fold/foldcode",
    "addon/fold/foldgutter", "addon/fold/indent-fold",
  ].map { "\(source)/\($0).js" }
  private static let styles = [
    "lib/codemirror", "addon/hint/show-hint", "addon/dialog/dialog", "addon/fold/foldgutter",
  ]
  .map { "\(source)/\($0).css" }
  private static let licence =
    "/* CodeMirror, copyright (c) by Marijn Haverbeke and others, MIT license: https://codemirror.net/LICENSE */"

  /// The committed files, as their paths end in `folder`.
  static let (script, style) = ("\(folder)/codemirror-5.65.0.min.js.gz", "\(folder)/codemirror-5.65.0.css.gz")

  /// Whether this machine has the packages.
  static var isThere: Bool { packages.allSatisfy { (try? version(of: $0)) != nil } }

  /// Makes the files out of the packages.
  init() throws(ToolError) {
    version = try VendoredEditor.version(of: "libjs-codemirror")
    var (inputs, style): ([UInt8], [UInt8]) = ([], Array("\(VendoredEditor.licence)\n".utf8))
    for path in VendoredEditor.scripts + VendoredEditor.styles {
      guard let data = FileManager.default.contents(atPath: path) else { throw ToolError("cannot read \(path)") }
      inputs += data
      if path.hasSuffix(".css") { style += data }
    }
    sha256 = SHA256.digest(of: inputs) ?? ""
    // Node of another origin doesn't look where Debian has its modules.
    let script = try VendoredEditor.output(
      ["terser", "--compress", "passes=2", "--mangle", "--comments", "false", "--"] + VendoredEditor.scripts,
      environment: ["NODE_PATH": "/usr/share/nodejs"])
    files = [
      File(path: VendoredEditor.script, bytes: Array("\(VendoredEditor.licence)\n".utf8) + script),
      File(path: VendoredEditor.style, bytes: style),
    ]
  }

  /// Writes the files compressed.
  func write(in root: URL) throws(ToolError) {
    for file in files {
      let plain = root.appending(path: String(file.path.dropLast(3)))
      defer { try? FileManager.default.removeItem(at: plain) }
      do { try Data(file.bytes).write(to: plain) } catch {
        throw ToolError("cannot write \(plain.path): \(error.localizedDescription)")
      }
      _ = try VendoredEditor.output(["gzip", "-9nkf", plain.path])
    }
  }

  /// The facts in NOTICE.
  var facts: [String] { ["libjs-codemirror \(version)", sha256] + files.map(\.sha256) }

  /// A committed file without its compression.
  static func unpacked(_ path: String, in root: URL) throws(ToolError) -> [UInt8] {
    try output(["gzip", "-dc", root.appending(path: path).path])
  }

  private static func version(of package: String) throws(ToolError) -> String {
    let text = String(
      decoding: try output(["dpkg-query", "--show", "--showformat=${Version}", package]), as: UTF8.self)
    guard !text.isEmpty else { throw ToolError("the package \(package) isn't installed; run: apt install \(package)") }
    return text
  }

  /// The output of a command.
  private static func output(
    _ command: [String], environment: [String: String] = [:]
  ) throws(ToolError) -> [UInt8] {
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = command
    process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
    let pipe = Pipe()
    process.standardOutput = pipe
    process.standardError = FileHandle.nullDevice
    let bytes: [UInt8]
    do {
      try process.run()
      bytes = Array(try pipe.fileHandleForReading.readToEnd() ?? Data())
    } catch {
      throw ToolError("cannot run '\(command[0])': \(error.localizedDescription)")
    }
    process.waitUntilExit()
    guard process.terminationStatus == 0 else {
      throw ToolError("'\(command[0])' failed; it needs the packages \(packages.joined(separator: " and "))")
    }
    return bytes
  }
}
