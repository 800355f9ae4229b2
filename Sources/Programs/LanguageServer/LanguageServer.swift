// The server of LSP 3.17 for recipes, tests of recipes and errand.yaml.
//
// It is a state machine without threads: `receive` takes the client's bytes, `work` handles the next message or check,
// and outgoing frames are passed to a function. One thread reads and another works (`StandardStreams`), so that a
// request that was cancelled while it waited isn't answered.
//
// Requests and changes are handled in the order of their arrival. Texts are checked only when nothing else waits: if a
// text changes at each keystroke, only its last version is checked, and an answer never waits for a check. A check of
// one text may read others; it is repeated when one of those changes.

import Basics
package import RecipeEditing

/// A folder with an errand.yaml, or without one, as the program sees it.
package struct ServedFolder: Sendable {
  package var editor: EditorFolder
  /// The full paths of the folders that hold recipes.
  package var recipeFolders: [String]
  /// Whether errand.yaml has faults.
  package var isFaulty: Bool

  package init(_ editor: EditorFolder, recipeFolders: [String], isFaulty: Bool) {
    self.editor = editor
    self.recipeFolders = recipeFolders
    self.isFaulty = isFaulty
  }
}

/// The version and the settings of the program that contains the server.
package struct ServerProgram: Sendable {
  package var version: String
  /// The errand.yaml of all folders, in place of the nearest one.
  package var configuration: String?
  /// Opens a folder with an errand.yaml, by its path, or one without.
  package var open: @Sendable (_ configuration: String?, _ root: String, _ files: OpenFiles) -> ServedFolder

  package init(
    version: String, configuration: String?,
    open: @escaping @Sendable (_ configuration: String?, _ root: String, _ files: OpenFiles) -> ServedFolder
  ) {
    self.version = version
    self.configuration = configuration
    self.open = open
  }
}

/// A text that is open in the editor.
struct Document {
  let uri: String
  let path: String
  var version: Int?
  var source: Source
  var positions: TextPositions
  /// Whether it is a file of ours.
  var isTreated = false
  /// The diagnostics of the last check, if the text hasn't changed since.
  var found: [Diagnostic]?
  /// The diagnostics that were published last, with the version of the text.
  var published: Value?
  /// The files that the last check read or looked for.
  var reads: Set<String> = []

  var kind: EditedFileKind { EditedFileKind(path: path) }
}

/// Answers one client.
package final class LanguageServer {
  private enum Phase {
    case uninitialized, running, shutDown
    case ended(code: Int32)
  }

  let program: ServerProgram
  let files = OpenFiles()
  var client = ClientCapabilities()
  var documents: [String: Document] = [:]
  private(set) var folders: ServedFolders
  private let send: ([UInt8]) -> Void
  private var phase = Phase.uninitialized
  private var frames = FrameReader()
  private var waiting: ArraySlice<Message> = []
  /// The documents to check, the most urgent first.
  private var outdated: [String] = []
  private var lastID = 0

  /// - Parameter send: Takes whole frames.
  package init(_ program: ServerProgram, send: @escaping ([UInt8]) -> Void) {
    self.program = program
    self.send = send
    folders = ServedFolders(program, files)
  }

  /// The exit code, once the client has ended the server.
  package var exitCode: Int32? { if case .ended(let code) = phase { code } else { nil } }

  /// Takes note of the end of the input, which ends the server, too.
  package func endOfInput() {
    switch phase {
    case .shutDown: phase = .ended(code: 0)
    case .uninitialized, .running: phase = .ended(code: 1)
    case .ended: break
    }
  }

  /// Takes bytes from the client.
  package func receive(_ bytes: [UInt8]) {
    for found in frames.read(bytes) {
      switch found {
      case .body(let body): receive(Message(body))
      case .fault(let fault): waiting.append(.fault(id: .null, ResponseError(.parseError, fault)))
      }
    }
  }

  private func receive(_ message: Message) {
    guard case .notification("$/cancelRequest", let params) = message else { return waiting.append(message) }
    let index = waiting.firstIndex { if case .request(let id, _, _) = $0 { id == params["id"] } else { false } }
    guard let index, case .request(let id, _, _) = waiting[index] else { return }
    waiting[index] = .fault(id: id, ResponseError(.requestCancelled, "the request was cancelled"))
  }

  /// Handles the next message or check; false if there is none.
  package func work() -> Bool {
    if exitCode != nil { return false }
    if let message = waiting.popFirst() {
      handle(message)
      return true
    }
    guard !outdated.isEmpty else { return false }
    publish(outdated.removeFirst())
    return true
  }

  // MARK: Messages

  private func handle(_ message: Message) {
    switch message {
    case .response: break
    case .fault(let id, let error): answer(id, .failure(error))
    case .notification(let method, let params): take(method, params)
    case .request(let id, let method, let params):
      answer(id, Result { () throws(ResponseError) in try answer(to: method, params) })
    }
  }

  private func answer(_ id: Value, _ outcome: Result<Value, ResponseError>) {
    switch outcome {
    case .success(let result): send(.object(["jsonrpc": .string("2.0"), "id": id, "result": result]))
    case .failure(let error):
      let value = Value.object(["code": .int(error.code.rawValue), "message": .string(error.message)])
      send(.object(["jsonrpc": .string("2.0"), "id": id, "error": value]))
    }
  }

  private func send(_ message: Value) { send(FrameReader.frame(message)) }

  private func notify(_ method: String, _ params: Value) {
    send(.object(["jsonrpc": .string("2.0"), "method": .string(method), "params": params]))
  }

  private func request(_ method: String, _ params: Value) {
    lastID += 1
    let id = Value.string("errand-\(lastID)")
    send(.object(["jsonrpc": .string("2.0"), "id": id, "method": .string(method), "params": params]))
  }

  private func answer(to method: String, _ params: Value) throws(ResponseError) -> Value {
    switch phase {
    case .uninitialized:
      guard method == "initialize" else {
        throw ResponseError(.serverNotInitialized, "'\(method)' came before 'initialize'")
      }
      return initialize(params)
    case .shutDown, .ended: throw ResponseError(.invalidRequest, "'\(method)' came after 'shutdown'")
    case .running: break
    }
    switch method {
    case "initialize": throw ResponseError(.invalidRequest, "'initialize' came twice")
    case "shutdown":
      phase = .shutDown
      return .null
    default: return try answerAboutFiles(method, params)
    }
  }

  private func initialize(_ params: Value) -> Value {
    phase = .running
    client = ClientCapabilities(params["capabilities"] ?? .null)
    let named = params["workspaceFolders"]?.list?.compactMap { $0["uri"]?.string } ?? []
    let roots = named.isEmpty ? [params["rootUri"]?.string].compactMap(\.self) : named
    folders.roots = roots.compactMap(FileAddress.path)
    return .object([
      "capabilities": serverCapabilities,
      "serverInfo": .object(["name": .string("errand"), "version": .string(program.version)]),
    ])
  }

  private func take(_ method: String, _ params: Value) {
    if method == "exit" {
      if case .shutDown = phase { phase = .ended(code: 0) } else { phase = .ended(code: 1) }
      return
    }
    guard case .running = phase else { return }
    switch method {
    case "initialized": watchFiles()
    case "textDocument/didOpen":
      forgetUnwatched()
      open(params)
    case "textDocument/didChange": change(params)
    case "textDocument/didSave":
      // Others may have changed with this one.
      forgetUnwatched()
      recheckAll()
    case "textDocument/didClose": close(params)
    case "workspace/didChangeWatchedFiles": filesChanged(params)
    case "workspace/didChangeWorkspaceFolders":
      let gone = params["event"]?["removed"]?.list?.compactMap { $0["uri"]?.string }.compactMap(FileAddress.path) ?? []
      let new = params["event"]?["added"]?.list?.compactMap { $0["uri"]?.string }.compactMap(FileAddress.path) ?? []
      folders.roots = folders.roots.filter { !gone.contains($0) } + new
      folders.forget()
      recheckAll()
    default: break
    }
  }

  /// Makes the server read the folders again, with their errand.yaml and plugins, if the client doesn't report changes
  /// of files.
  private func forgetUnwatched() {
    if !client.registersWatchers { folders.forget() }
  }

  private func watchFiles() {
    guard client.registersWatchers else { return }
    let watchers = ["**/*.{yaml,yml}", "**/*.ics", "**/plugins/*.lock.json"].map {
      Value.object(["globPattern": .string($0)])
    }
    let registration = Value.object([
      "id": .string("files"), "method": .string("workspace/didChangeWatchedFiles"),
      "registerOptions": .object(["watchers": .list(watchers)]),
    ])
    request("client/registerCapability", .object(["registrations": .list([registration])]))
  }

  // MARK: Texts

  private func open(_ params: Value) {
    guard let item = params["textDocument"], let uri = item["uri"]?.string, let text = item["text"]?.string,
      let path = FileAddress.path(uri), isYAML(path, item["languageId"]?.string ?? "")
    else { return }
    let source = Source(name: path, text: text)
    documents[uri] = Document(
      uri: uri, path: path, version: item["version"]?.int, source: source,
      positions: TextPositions(source.bytes, client.encoding), published: documents[uri]?.published)
    changed(uri)
  }

  private func isYAML(_ path: String, _ language: String) -> Bool {
    language.lowercased().hasPrefix("yaml") || path.hasSuffix(".yaml") || path.hasSuffix(".yml")
  }

  private func change(_ params: Value) {
    guard let uri = params["textDocument"]?["uri"]?.string, var document = documents[uri],
      let changes = params["contentChanges"]?.list
    else { return }
    for change in changes {
      guard let text = change["text"]?.string else { continue }
      var bytes = Array(text.utf8)
      if let range = change["range"], !range.isNull {
        guard let range = document.positions.range(range) else { continue }
        bytes = [Diagnostic.Edit(range, text)].applied(to: document.source.bytes)
      }
      document.source = Source(name: document.path, bytes: bytes)
      document.positions = TextPositions(bytes, client.encoding)
    }
    document.version = params["textDocument"]?["version"]?.int
    documents[uri] = document
    changed(uri)
  }

  private func close(_ params: Value) {
    guard let uri = params["textDocument"]?["uri"]?.string, let document = documents.removeValue(forKey: uri) else {
      return
    }
    files.set(document.path, to: nil)
    outdated.removeAll { $0 == uri }
    if let published = document.published, published != .list([]) {
      notify("textDocument/publishDiagnostics", .object(["uri": .string(uri), "diagnostics": .list([])]))
    }
    recheck(readersOf: [document.path])
  }

  /// Schedules a check of a new text.
  private func changed(_ uri: String) {
    guard var document = documents[uri] else { return }
    files.set(document.path, to: document.source)
    document.found = nil
    documents[uri] = document
    recheck(readersOf: [document.path])
    documents[uri]?.isTreated = folders.treats(document)
    outdated.removeAll { $0 == uri }
    outdated.insert(uri, at: 0)
  }

  private func filesChanged(_ params: Value) {
    let changed = params["changes"]?.list?.compactMap { $0["uri"]?.string }.compactMap(FileAddress.path) ?? []
    recheck(readersOf: changed)
  }

  /// Schedules another check of each open text whose check read one of the files.
  private func recheck(readersOf paths: [String]) {
    if paths.contains(where: { folders.isConfiguration($0) }) {
      folders.forget()
      return recheckAll()
    }
    for document in documents.values where !document.reads.isDisjoint(with: paths) { recheck(document.uri) }
  }

  private func recheckAll() {
    for uri in documents.keys { recheck(uri) }
  }

  private func recheck(_ uri: String) {
    guard var document = documents[uri] else { return }
    document.found = nil
    document.isTreated = folders.treats(document)
    documents[uri] = document
    if !outdated.contains(uri) { outdated.append(uri) }
  }

  // MARK: Diagnostics

  /// Returns the diagnostics of a text, and checks it if necessary.
  func diagnostics(of uri: String) -> [Diagnostic] {
    guard let document = documents[uri], document.isTreated else { return [] }
    if let found = document.found { return found }
    _ = files.takeReads()
    let found = service(for: document).diagnostics(of: document.source)
    documents[uri]?.found = found
    documents[uri]?.reads = files.takeReads()
    return found
  }

  private func publish(_ uri: String) {
    guard documents[uri] != nil else { return }
    let found = diagnostics(of: uri)
    guard let document = documents[uri] else { return }
    let report = Value.list(reports(of: found, in: document))
    // Nothing is published about a file that isn't ours.
    if !document.isTreated, document.published ?? .list([]) == report { return }
    var params = ValueMap()
    params["uri"] = .string(uri)
    if let version = document.version { params["version"] = .int(version) }
    params["diagnostics"] = report
    let message = Value.map(params)
    documents[uri]?.published = report
    notify("textDocument/publishDiagnostics", message)
  }

  func service(for document: Document) -> EditorService { EditorService(folders.folder(of: document.path).editor) }
}
