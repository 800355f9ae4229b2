// Edits the files of the agent's folder for people: reading, saving, versions.
//
// A save goes through these steps, one save after another:
//
// 1. The text is checked. An error in it, or one that it would newly make in a caller or a test, refuses the save.
// 2. The file has to be the one that was edited, by the digest of its bytes; else the save is refused with the text that
//    the file has now. A file that has the new text already is taken as saved: so a repetition after a crash succeeds.
// 3. Without Git, the text before the first save is kept.
// 4. The new bytes take the file's place in one step, with the line ends, mode and owner of the old ones.
// 5. The agent reads the file again.
// 6. Git commits the file, or the state keeps the text.
//
// A crash leaves the old file before step 4 is done, and the new one after it. Nothing has to be repaired: an agent reads
// its files when it starts, and Git commits a file with its next save as it is then.

package import Basics
package import RecipeEditing
package import Recipes
import RunState
import Synchronization

package final class FileEditor: Sendable {
  package let editing: FolderEditing
  private let time: any TimeSource
  private let content = Mutex(Content())

  private struct Content {
    /// The latest save, which the next one waits for.
    var last: Task<Void, Never>?
    /// The answers of saves by their keys, and the keys in their order.
    var answers: [String: (request: String, saved: SavedFile)] = [:]
    var keys: [String] = []
    /// How many texts are being checked, and the people who plan or test.
    var answering = 0
    var busy: Set<String> = []
  }

  /// The most texts that are checked at once.
  private static let mostAnswers = 16
  /// The most answers that are kept for repeated requests.
  private static let mostKeys = 1000
  /// The most characters of a commit's message.
  package static let mostOfMessage = 1000

  package init(_ editing: FolderEditing, time: any TimeSource) {
    self.editing = editing
    self.time = time
  }

  private var files: EditableFiles { EditableFiles(editing) }
  private var kept: KeptVersions { KeptVersions(folder: editing.versions) }

  /// Names files from the folder of errand.yaml on.
  package var paths: ServerPaths { ServerPaths(root: editing.root) }

  // MARK: Files

  /// The file of a path, as far as its caller may edit it.
  ///
  /// A caller that is limited to recipes finds their files and tests. A file that doesn't exist belongs to no recipe yet.
  package func file(
    _ path: String, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> (file: EditableFile, content: EditableContent?) {
    let editor = files
    let file = try editor.file(path)
    let content = try await onDisk { () throws(RequestRefusedError) in try editor.content(of: file) }
    guard !caller.recipes.isEmpty else { return (file, content) }
    if file.kind == .configuration {
      throw RequestRefusedError(
        .forbidden,
        "errand.yaml is about all recipes, and the token is limited to \(caller.recipes.map { "'\($0)'" }.joined(separator: ", "))"
      )
    }
    if let content, !caller.sees(recipe: await recipe(of: file, content)) { throw FileEditor.unknown(path) }
    return (file, content)
  }

  /// Refuses a caller that is limited to other recipes than the one that a text is about.
  package static func check(_ caller: AgentCaller, for recipe: String?) throws(RequestRefusedError) {
    guard let recipe, !caller.sees(recipe: recipe) else { return }
    throw RequestRefusedError(
      .forbidden, "the text is about the recipe '\(recipe)', and the token is limited to other recipes")
  }

  package static func unknown(_ path: String) -> RequestRefusedError {
    RequestRefusedError(.notFound, "there is no file '\(path.safe.shortened(to: 120))'")
  }

  /// The name of the recipe that a file is about: as its text says, or else as its file is called.
  private func recipe(of file: EditableFile, _ content: EditableContent) async -> String {
    let folder = editing.folder(OpenFiles())
    return await onThread {
      folder.subject(of: Source(name: file.fullPath, bytes: content.bytes))?.name
        ?? file.recipeName
    }
  }

  /// The files that a caller may edit.
  package func list(for caller: AgentCaller) async -> [(file: EditableFile, content: EditableContent)] {
    let editor = files
    let found = await onThread { editor.list() }
    guard !caller.recipes.isEmpty else { return found }
    var seen: [(file: EditableFile, content: EditableContent)] = []
    for item in found where item.file.kind != .configuration {
      if caller.sees(recipe: await recipe(of: item.file, item.content)) { seen.append(item) }
    }
    return seen
  }

  /// The folder of new recipes.
  package var folderOfNew: String? { files.folderOfNew }

  /// A full path as one from the folder of errand.yaml.
  package func path(of fullPath: String) -> String { files.file(at: fullPath)?.path ?? paths.told(fullPath) }

  // MARK: Texts

  /// A text that is being edited, with the folder around it.
  package struct Edited: Sendable {
    package var file: EditableFile
    package var source: Source
    package var files: OpenFiles
    package var folder: EditorFolder
    /// The folder without the text.
    package var before: EditorFolder

    package var service: EditorService { EditorService(folder) }
  }

  /// The folder with a text in place of the one on the disk.
  package func edited(
    _ path: String, _ text: String, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Edited {
    guard text.utf8.count <= EditableFiles.mostBytes else { throw EditableFiles.tooLarge(text.utf8.count) }
    return edited(try await file(path, for: caller).file, Array(text.utf8))
  }

  private func edited(_ file: EditableFile, _ bytes: [UInt8]) -> Edited {
    let source = Source(name: file.fullPath, bytes: bytes)
    let files = OpenFiles()
    files.set(file.fullPath, to: source)
    return Edited(
      file: file, source: source, files: files, folder: editing.folder(files), before: editing.folder(OpenFiles()))
  }

  /// Answers about a text on a thread of its own, because a check may take a while.
  package func answer<Answer: Sendable>(
    _ body: @escaping @Sendable () -> Answer
  ) async throws(RequestRefusedError) -> Answer {
    let hasRoom = content.withLock { content in
      guard content.answering < FileEditor.mostAnswers else { return false }
      content.answering += 1
      return true
    }
    guard hasRoom else {
      throw RequestRefusedError(.busy, "the agent is checking \(FileEditor.mostAnswers) texts already; try again")
    }
    defer { content.withLock { $0.answering -= 1 } }
    return await onThread(body)
  }

  /// Plans or tests for a person, one of each at a time.
  package func alone<Answer>(
    _ what: String, _ caller: AgentCaller, _ body: () async throws(RequestRefusedError) -> Answer
  ) async throws(RequestRefusedError) -> Answer {
    let key = try begin(what, caller)
    defer { end(key) }
    return try await body()
  }

  private func begin(_ what: String, _ caller: AgentCaller) throws(RequestRefusedError) -> String {
    let key = "\(what) \(caller.account) \(caller.name)"
    if content.withLock({ $0.busy.insert(key).inserted }) { return key }
    throw RequestRefusedError(.busy, "a \(what) of yours is under way; wait for it")
  }

  private func end(_ key: String) { _ = content.withLock { $0.busy.remove(key) } }

  /// How long tests of a text may take.
  private static let longestTest = TimeSpan.seconds(60)

  /// Runs test files for a person; nil if they took too long.
  ///
  /// Nothing else is tested for the person before they end.
  package func tested(
    _ paths: [String], _ files: OpenFiles, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> [TestedFile]? {
    guard let test = editing.test else { throw RequestRefusedError(.request, "no tests are run here") }
    let key = try begin("test", caller)
    let (outcomes, sink) = AsyncStream.makeStream(of: [TestedFile]?.self)
    // Ends with the tests; cancelled when their time is over.
    let work = Task {
      sink.yield(await test(paths, files))
      end(key)
    }
    // Cancelled when the tests have ended.
    let watch = Task { [time] in
      try? await time.sleep(for: FileEditor.longestTest)
      sink.yield(nil)
    }
    defer {
      work.cancel()
      watch.cancel()
    }
    for await outcome in outcomes { return outcome }
    return nil
  }

  // MARK: Saving

  /// A text to save.
  package struct Save: Sendable {
    package var path: String
    package var text: String
    /// The digest of the content that was edited; nil for a new file.
    package var base: String?
    package var message: String?
    package var key: String?

    package init(path: String, text: String, base: String?, message: String?, key: String?) {
      self.path = path
      self.text = text
      self.base = base
      self.message = message
      self.key = key
    }
  }

  /// The outcome of a save.
  package struct SavedFile: Sendable {
    package var path: String
    package var digest: String
    package var servedAt: Timestamp?
    package var notServed: String?
    package var commit: String?
    package var notCommitted: String?
    package var version: String?
    package var notKept: String?
  }

  /// Saves a text; it is finished even if its caller leaves.
  package func save(
    _ save: Save, for caller: AgentCaller, serving schedules: ScheduleHost
  ) async throws(RequestRefusedError) -> SavedFile {
    guard save.text.utf8.count <= EditableFiles.mostBytes else { throw EditableFiles.tooLarge(save.text.utf8.count) }
    let message = try FileEditor.message(save)
    let request = try EditableFiles.digest(
      Array(JSON.displayed(.list([save.path, save.text, save.base ?? "", message].map { .string($0) })).utf8))
    if let key = save.key, let fault = RunKey.fault(of: key) { throw RequestRefusedError(.request, fault) }
    // Ends with the save.
    let task = content.withLock { content in
      let before = content.last
      let task = Task { () -> Result<SavedFile, RequestRefusedError> in
        await before?.value
        do throws(RequestRefusedError) {
          return .success(try await saved(save, message, request, for: caller, serving: schedules))
        } catch {
          return .failure(error)
        }
      }
      content.last = Task { _ = await task.value }
      return task
    }
    return try await task.value.get()
  }

  private static func message(_ save: Save) throws(RequestRefusedError) -> String {
    let given = save.message?.trimmed ?? ""
    guard given.unicodeScalars.count <= mostOfMessage,
      given.unicodeScalars.allSatisfy({ $0.value >= 0x20 && $0.value != 0x7F || $0 == "\n" })
    else {
      throw RequestRefusedError(
        .request, "a message has at most \(mostOfMessage) characters, and no control characters but line breaks")
    }
    return given.isEmpty ? "Edit \(save.path) in the browser" : given
  }

  private func saved(
    _ save: Save, _ message: String, _ request: String, for caller: AgentCaller, serving schedules: ScheduleHost
  ) async throws(RequestRefusedError) -> SavedFile {
    let key = save.key.map { "\(caller.account)\n\($0)" }
    if let key, let known = content.withLock({ $0.answers[key] }) {
      guard known.request == request else {
        throw RequestRefusedError(.usedKey, "the key was used to save something else; use another key")
      }
      return known.saved
    }
    let (file, current) = try await self.file(save.path, for: caller)
    let editor = files
    if current == nil { try editor.checkNew(file) }
    let bytes = FileEditor.bytes(of: save.text, like: current)
    guard bytes.count <= EditableFiles.mostBytes else { throw EditableFiles.tooLarge(bytes.count) }
    try await check(edited(file, bytes), for: caller, serving: schedules)
    await editing.afterStep(.checked)

    let isWritten = current?.bytes == bytes
    if !isWritten, current?.digest != save.base { throw FileEditor.conflict(file, current) }
    let digest = try EditableFiles.digest(bytes)
    let git = await repository(of: file)
    // The text before a save isn't lost either, such as one that a person wrote on the machine since.
    if let current, !isWritten, await !isCommitted(file, git), !kept.has(current, of: file.path) {
      try await keep(current, of: file, by: "", nil, at: current.changedAt)
    }
    await editing.afterStep(.kept)

    if !isWritten {
      let isDone = try await onDisk { () throws(RequestRefusedError) in
        try editor.write(bytes, to: file, in: try editor.placeToWrite(file), replacing: current)
      }
      if !isDone {
        throw FileEditor.conflict(
          file, try await onDisk { () throws(RequestRefusedError) in try editor.content(of: file) })
      }
    }
    await editing.afterStep(.written)

    var saved = SavedFile(path: file.path, digest: digest)
    switch file.kind {
    case .recipe:
      saved.notServed = await schedules.lookAgain(for: file.fullPath, having: bytes).map(paths.told)
      if saved.notServed == nil { saved.servedAt = time.now() }
    case .configuration:
      saved.notServed = await reloaded()
      if saved.notServed == nil { saved.servedAt = time.now() }
    // Recipes are served; a test isn't.
    case .test: break
    }
    await editing.afterStep(.served)

    switch await repository(of: file) {
    case .none: break
    case .unusable(let words): saved.notCommitted = paths.told(words)
    case .found(let git):
      switch await git.commit(file.name, message: message, by: caller.name) {
      case .success(let commit): saved.commit = commit
      case .failure(let error): saved.notCommitted = paths.told(error.message)
      }
    }
    // A text that Git didn't take is kept here, so that none is lost.
    if saved.commit == nil,
      let content = try await onDisk({ () throws(RequestRefusedError) in try editor.content(of: file) })
    {
      let given = save.message?.trimmed ?? ""
      // The text is saved and served by now, so that a refusal would say otherwise.
      do throws(RequestRefusedError) {
        saved.version = try await keep(content, of: file, by: caller.name, given.isEmpty ? nil : given, at: time.now())
      } catch { saved.notKept = error.message }
    }
    await editing.afterStep(.committed)
    if let key { keep(saved, request, as: key) }
    return saved
  }

  /// Whether the latest commit has a file as it is.
  private func isCommitted(_ file: EditableFile, _ git: GitFolder.Finding) async -> Bool {
    guard case .found(let git) = git else { return false }
    let status = await git.status(of: file.name)
    return status.isClean && status.obstacle == nil
  }

  private func reloaded() async -> String? {
    guard let reload = editing.reload else {
      return "errand serve reads errand.yaml again on SIGHUP, such as from: systemctl reload errand"
    }
    return await reload()
  }

  @discardableResult
  private func keep(
    _ content: EditableContent, of file: EditableFile, by name: String, _ message: String?, at instant: Timestamp
  ) async throws(RequestRefusedError) -> String {
    let (kept, paths) = (kept, paths)
    return try await onDisk { () throws(RequestRefusedError) in
      do throws(FileError) {
        return try kept.keep(content, of: file.path, by: name, message: message, at: instant)
      } catch {
        throw RequestRefusedError(.state, paths.told("the version can't be kept: \(error.description)"))
      }
    }
  }

  /// Calls what waits for a disk.
  private func onDisk<Outcome: Sendable>(
    _ body: @escaping @Sendable () throws(RequestRefusedError) -> Outcome
  ) async throws(RequestRefusedError) -> Outcome {
    try await onThread { Result { () throws(RequestRefusedError) in try body() } }.get()
  }

  /// Keeps an answer for repetitions of its request; the oldest go.
  private func keep(_ saved: SavedFile, _ request: String, as key: String) {
    content.withLock { content in
      if content.answers.updateValue((request, saved), forKey: key) == nil { content.keys.append(key) }
      while content.keys.count > FileEditor.mostKeys { content.answers[content.keys.removeFirst()] = nil }
    }
  }

  /// Refuses a text with errors, and one that makes errors elsewhere.
  private func check(
    _ edited: Edited, for caller: AgentCaller, serving schedules: ScheduleHost
  ) async throws(RequestRefusedError) {
    let examined = try await answer { edited.examined(withFixes: false) }
    try FileEditor.check(caller, for: examined.recipe?.name)
    let own = examined.errors.map { $0.line(in: paths) }
    let others = await objections(to: examined, in: edited.file, for: caller, serving: schedules)
    let faults = own + others.map { "\($0.path):\($0.line): \($0.message)" }
    guard faults.isEmpty else {
      var refusal = RequestRefusedError(.inputs, "nothing was saved: \(faults.joined(separator: "\n"))")
      refusal.overHTTP = "nothing was saved, because the text has errors, or would make some elsewhere"
      refusal.faults = faults.prefix(200).map { RequestRefusedError.Fault(message: $0, pointer: "/text") }
      throw refusal
    }
  }

  /// An error that a text would make in another file.
  package struct Objection: Sendable {
    /// The file, from the folder of errand.yaml on.
    package var path: String
    package var from: TextPosition
    package var message: String

    /// The line, from 1.
    package var line: Int { from.line &+ 1 }
  }

  /// The errors that a sound text would make in other files, as its caller may read them.
  package func objections(
    to examined: Edited.Examined, in file: EditableFile, for caller: AgentCaller, serving schedules: ScheduleHost
  ) async -> [Objection] {
    var found: [Objection] = []
    if let recipe = examined.recipe, file.kind == .recipe, let fault = await schedules.clash(of: recipe, in: file) {
      found.append(
        Objection(
          path: path(of: fault.file ?? file.fullPath), from: TextPosition(line: 0, character: 0),
          message: paths.told(fault.message)))
    }
    for fault in examined.elsewhere {
      guard let place = fault.location, isSeen(fault, by: caller) else {
        found.append(
          Objection(
            path: file.path, from: TextPosition(line: 0, character: 0),
            message: "a recipe that the token doesn't see, or a test of one, would have an error"))
        continue
      }
      found.append(
        Objection(
          path: path(of: place.source.name),
          from: TextPositions(place.source.bytes).position(of: place.range.lowerBound),
          message: paths.told(fault.message)))
    }
    return found
  }

  /// Whether a caller may read about a fault of another file.
  private func isSeen(_ fault: Diagnostic, by caller: AgentCaller) -> Bool {
    guard !caller.recipes.isEmpty else { return true }
    guard let source = fault.location?.source else { return false }
    return editing.folder(OpenFiles()).subject(of: source).map { caller.sees(recipe: $0.name) } ?? false
  }

  /// The text with the line ends that the file has; of a new file, and of one that has both, as it is given.
  private static func bytes(of text: String, like current: EditableContent?) -> [UInt8] {
    let given = Array(text.utf8)
    let plain = withoutReturns(given)
    guard let current else { return plain }
    let old = withoutReturns(current.bytes)
    let returns = current.bytes.count - old.count
    if returns == 0 { return plain }
    let lines = old.count { $0 == ASCII.newline }
    guard returns == lines else { return given }
    var bytes: [UInt8] = []
    bytes.reserveCapacity(plain.count + lines)
    for byte in plain {
      if byte == ASCII.newline { bytes.append(ASCII.carriageReturn) }
      bytes.append(byte)
    }
    return bytes
  }

  /// The bytes with LF in place of each CR LF.
  private static func withoutReturns(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.contains(ASCII.carriageReturn) else { return bytes }
    var plain: [UInt8] = []
    plain.reserveCapacity(bytes.count)
    for (index, byte) in bytes.enumerated() {
      if byte == ASCII.carriageReturn, index + 1 < bytes.count, bytes[index + 1] == ASCII.newline { continue }
      plain.append(byte)
    }
    return plain
  }

  private static func conflict(_ file: EditableFile, _ current: EditableContent?) -> RequestRefusedError {
    var refusal = RequestRefusedError(
      .conflict,
      current == nil
        ? "'\(file.path)' was removed meanwhile; nothing was saved"
        : "'\(file.path)' has changed since the text was read; nothing was saved")
    refusal.current = current.map { RequestRefusedError.CurrentText(text: $0.text, digest: $0.digest) }
    return refusal
  }

  // MARK: Versions

  /// The work tree of a file, if it is in one.
  private func git(_ file: EditableFile) async -> GitFolder? {
    if case .found(let git) = await repository(of: file) { return git }
    return nil
  }

  /// Whether the folder of a file is in a repository.
  private func repository(of file: EditableFile) async -> GitFolder.Finding {
    await GitFolder.find(
      file.folder.isEmpty ? editing.root : "\(editing.root)/\(file.folder)", environment: editing.environment)
  }

  /// The state of a file in Git; nil without Git.
  package func gitStatus(of file: EditableFile) async -> GitFolder.Status? {
    switch await repository(of: file) {
    case .none: return nil
    case .unusable(let words): return GitFolder.Status(branch: nil, isClean: true, obstacle: paths.told(words))
    case .found(let git):
      var status = await git.status(of: file.name)
      status.obstacle = status.obstacle.map(paths.told)
      return status
    }
  }

  /// The versions of a file, newest first, and whether Git keeps them.
  package func versions(of file: EditableFile) async -> (versions: [EditedVersion], isOfGit: Bool) {
    let git = await git(file)
    let committed = await git?.versions(of: file.name) ?? []
    let kept = kept
    let others = await onThread { kept.versions(of: file.path) }
    return ((committed + others).sorted { $0.at > $1.at }, git != nil)
  }

  /// A version of a file with its text.
  package func version(
    _ name: String, of file: EditableFile
  ) async throws(RequestRefusedError) -> (version: EditedVersion, text: String) {
    let unknown = RequestRefusedError(
      .notFound, "'\(file.path)' has no version '\(name.safe.shortened(to: 80))'")
    if GitFolder.isCommit(name) {
      guard let found = await git(file)?.version(name, of: file.name) else { throw unknown }
      guard found.bytes.count <= EditableFiles.mostBytes else { throw EditableFiles.tooLarge(found.bytes.count) }
      guard let text = String(validating: found.bytes, as: UTF8.self) else {
        throw RequestRefusedError(.request, "that version of '\(file.path)' isn't valid UTF-8")
      }
      return (found.version, text)
    }
    let kept = kept
    guard let found = await onThread({ kept.version(name, of: file.path) }) else { throw unknown }
    return found
  }
}

extension FileEditor.Edited {
  /// The result of a check of the text.
  package struct Examined: Sendable {
    package var found: [Diagnostic]
    /// The errors that other files would have with the text, and don't have without it.
    package var elsewhere: [Diagnostic] = []
    /// The recipe of the text, or the one that the test tests.
    package var recipe: Recipe?
    /// The edits of all fixes that leave no doubt.
    package var mending: [Diagnostic.Edit] = []

    package var errors: [Diagnostic] { found.filter { $0.severity == .error } }
  }

  /// Checks the text; for a sound one, also the files that it may break.
  package func examined(withFixes: Bool) -> Examined {
    var examined = Examined(found: service.diagnostics(of: source))
    if examined.errors.isEmpty {
      examined.elsewhere = service.errorsElsewhere(of: source, before: before)
      examined.recipe = folder.subject(of: source)
    }
    if withFixes { examined.mending = service.mendingEditsInTime(of: source) }
    return examined
  }
}

extension Diagnostic {
  /// The fault on one line, as a compiler prints it.
  package func line(in paths: ServerPaths) -> String {
    guard let location else { return paths.told(message) }
    let place = location.source.position(at: location.range.lowerBound)
    return paths.told("\(location.source.name):\(place.line):\(place.column): \(message)")
  }
}
