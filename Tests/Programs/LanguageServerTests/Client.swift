import ActionKit
import Basics
import Foundation
import PluginList
import RecipeEditing
import Recipes

@testable import LanguageServer

/// A client in the same process, which sends bytes and reads frames.
final class Client {
  let server: LanguageServer
  private let frames: Received

  final class Received {
    var reader = FrameReader()
    var messages: [Value] = []
  }

  /// A server for the texts that are opened; no file is on disk.
  init(_ capabilities: Value = .object([:]), isInitialized: Bool = true) throws {
    let frames = Received()
    self.frames = frames
    server = LanguageServer(Self.program) { bytes in
      for case .body(let body) in frames.reader.read(bytes) {
        frames.messages.append((try? JSON.parse(body)) ?? .string("not JSON"))
      }
    }
    guard isInitialized else { return }
    _ = request("initialize", .object(["processId": .null, "rootUri": .null, "capabilities": capabilities]))
    notify("initialized", .object([:]))
    _ = sent()
  }

  private static let program = ServerProgram(version: "1", configuration: nil) { path, root, files in
    let catalog = ActionCatalog(everyPlugin)
    var (configuration, isFaulty) = (Configuration(), false)
    if let path, let source = try? files.read(path) {
      let read = Configuration.read(source, catalog: catalog)
      (configuration, isFaulty) = (read.configuration, !read.diagnostics.isEmpty)
    }
    let connections = path == nil ? nil : configuration.plugins
    return ServedFolder(
      EditorFolder(
        catalog: catalog,
        environment: { _ in
          RecipeEnvironment(catalog: catalog, connections: connections, zone: "UTC") { path throws(FileError) in
            try files.read(path)
          }
        }, files: { files.paths.filter { !$0.hasSuffix("/errand.yaml") }.sorted() }, secretNames: { [] },
        now: { Timestamp(seconds: 0) ?? SystemTime().now() }),
      recipeFolders: configuration.recipeFolders.map { "\(root)/\($0)" }, isFaulty: isFaulty)
  }

  // MARK: Sending

  func send(_ text: String) { server.receive(Array("Content-Length: \(text.utf8.count)\r\n\r\n\(text)".utf8)) }

  func send(_ message: Value) { server.receive(FrameReader.frame(message)) }

  func notify(_ method: String, _ params: Value) {
    send(.object(["jsonrpc": .string("2.0"), "method": .string(method), "params": params]))
  }

  /// Sends a request and returns its answer, after the server has finished its work.
  func request(_ method: String, _ params: Value) -> Value {
    let id = Value.string("test")
    send(.object(["jsonrpc": .string("2.0"), "id": id, "method": .string(method), "params": params]))
    let messages = sent()
    // The other messages are kept for later calls.
    frames.messages = messages.filter { $0["id"] != id }
    return messages.first { $0["id"] == id } ?? .null
  }

  /// The server's messages since the last call, once it is idle.
  func sent() -> [Value] {
    while server.work() {}
    defer { frames.messages = [] }
    return frames.messages
  }

  // MARK: Texts

  static func uri(_ path: String) -> String { "file://\(path)" }

  func open(_ path: String, _ text: String, version: Int = 1, language: String = "yaml") {
    notify(
      "textDocument/didOpen",
      .object([
        "textDocument": .object([
          "uri": .string(Self.uri(path)), "languageId": .string(language), "version": .int(version),
          "text": .string(text),
        ])
      ]))
  }

  func change(_ path: String, version: Int, _ changes: [Value]) {
    notify(
      "textDocument/didChange",
      .object([
        "textDocument": .object(["uri": .string(Self.uri(path)), "version": .int(version)]),
        "contentChanges": .list(changes),
      ]))
  }

  func text(_ path: String) -> String? {
    server.documents[Self.uri(path)].map { String(decoding: $0.source.bytes, as: UTF8.self) }
  }

  /// The parameters of a request about a place.
  static func at(_ path: String, _ line: Int, _ character: Int) -> Value {
    .object(["textDocument": .object(["uri": .string(uri(path))]), "position": place(line, character)])
  }

  static func place(_ line: Int, _ character: Int) -> Value {
    .object(["line": .int(line), "character": .int(character)])
  }

  static func range(_ start: (Int, Int), _ end: (Int, Int)) -> Value {
    .object(["start": place(start.0, start.1), "end": place(end.0, end.1)])
  }

  /// Each text whose diagnostics were published, as `name version: place message; …`.
  func published() -> [String] {
    sent().filter { $0["method"] == .string("textDocument/publishDiagnostics") }.map { message in
      let params = message["params"] ?? .null
      let faults = params["diagnostics"]?.list?.map { fault in
        let start = fault["range"]?["start"] ?? .null
        return "\(start["line"]?.int ?? -1):\(start["character"]?.int ?? -1) \(fault["message"]?.string ?? "")"
      }
      let name = params["uri"]?.string?.split(separator: "/").last ?? ""
      let version = params["version"]?.int.map { " \($0)" } ?? ""
      return "\(name)\(version): \(faults?.joined(separator: "; ") ?? "")"
    }
  }
}
