// Where secrets come from.
//
// Sources are asked by name, and the first one that has the secret counts: the command that `errand.yaml` names for it,
// the files in their order, the files encrypted with age in theirs, the credentials that systemd hands to its unit (a
// file of that name in $CREDENTIALS_DIRECTORY), and the environment.
//
// Nothing is read before a run needs it, so that a command that only reads asks no password manager; what was read is
// kept for the life of the process, or until `errand serve` reads its configuration again; what a command printed that
// has `renew`, no longer than that. If a source ought to have the secret and fails, that is a fault: no other source
// silently replaces it. A fault isn't kept, because a password manager that is locked now may be open next time.
//
// A single line end at the end of a command's output or of a credential comes from the editor or `echo`, and isn't part
// of the secret.
package import Basics
import Glibc
package import Recipes

/// Finds secrets by name.
package actor SecretSources {
  /// A place that gives secrets.
  package enum Origin: Sendable, Equatable {
    /// A program, split as a shell does.
    case command(String)
    case file(String)
    case ageFile(String)
    case credential(String)
    case environment

    /// The source within a sentence.
    package var text: String {
      switch self {
      case .command(let line): "the command '\(line)'"
      case .file(let path): "'\(path)'"
      case .ageFile(let path): "'\(path)', encrypted with age"
      case .credential(let path): "the systemd credential '\(path)'"
      case .environment: "the environment"
      }
    }
  }

  /// A secret that a source has.
  package struct Found: Sendable {
    package var origin: Origin
    /// Nil for a command that wasn't run.
    package var value: String?
  }

  private let settings: SecretSettings
  private let folder: String
  private let environment: [String: String]
  private let fixed: [String: String]?
  private var files: [String: [String: String]] = [:]
  /// Readings under way or finished; they aren't cancelled, and have a time limit.
  private var ageFiles: [String: Task<Result<[String: String], SecretError>, Never>] = [:]
  private var printed: [String: (task: Task<Result<String, SecretError>, Never>, at: TimeSpan)] = [:]
  private let time: any TimeSource

  private static let ageTimeout = TimeSpan.seconds(30)
  private static let largestPrinted = 64 << 10

  /// - Parameters:
  ///   - folder: The folder that relative paths start from, and the working folder of commands.
  ///   - environment: The variables of this process.
  ///   - time: Tells how old secrets are.
  package init(
    _ settings: SecretSettings, folder: String, environment: [String: String], time: any TimeSource = SystemTime()
  ) {
    self.time = time
    self.settings = settings
    self.folder = folder
    self.environment = environment
    fixed = nil
  }

  /// Secrets that are known already.
  package init(_ values: [String: String]) {
    time = SystemTime()
    settings = SecretSettings()
    folder = "/"
    environment = [:]
    fixed = values
  }

  /// A secret with its source; nil if no source has it.
  ///
  /// - Parameter runsCommands: Whether its command runs; if not, it is assumed to give the secret.
  package func find(_ name: String, runsCommands: Bool = true) async throws(SecretError) -> Found? {
    if let fixed { return fixed[name].map { Found(origin: .environment, value: $0) } }
    if let command = settings.commands[name] {
      let program = program(command.words, command.timeout)
      return Found(
        origin: .command(program.line),
        value: runsCommands ? try await output(of: program, for: name, renew: command.renew) : nil)
    }
    for path in settings.files {
      if let value = try members(of: path)[name] { return Found(origin: .file(path), value: value) }
    }
    for path in settings.ageFiles {
      if let value = try await membersOfAgeFile(path)[name] { return Found(origin: .ageFile(path), value: value) }
    }
    if let found = try credential(name) { return found }
    guard settings.environment, let value = environment[name] else { return nil }
    return Found(origin: .environment, value: value)
  }

  /// The names of all secrets that the sources have, as far as they can be read; no command runs but that which
  /// decrypts files.
  package func names() async -> Set<String> {
    if let fixed { return Set(fixed.keys) }
    var names = Set(settings.commands.keys).union(inFiles().map(\.name))
    for path in settings.ageFiles { names.formUnion(((try? await membersOfAgeFile(path)) ?? [:]).keys) }
    if let folder = environment["CREDENTIALS_DIRECTORY"], folder.hasPrefix("/") {
      let found = (try? Files.list(folder)) ?? []
      for name in found { if case .some(.some) = try? credential(name) { names.insert(name) } }
    }
    // The others are no names in expressions.
    if settings.environment { names.formUnion(environment.keys.filter { SecretSources.isIdentifier($0) }) }
    return names
  }

  /// The names of the secrets that errand.yaml, unencrypted files and credentials have, as far as they can be read;
  /// nothing runs.
  package nonisolated func namesWithoutCommands() -> Set<String> {
    var names = Set(settings.commands.keys)
    for path in settings.files { names.formUnion(((try? SecretFile.read(absolute(path))) ?? [:]).keys) }
    if let folder = environment["CREDENTIALS_DIRECTORY"], folder.hasPrefix("/") {
      names.formUnion(((try? Files.list(folder)) ?? []).filter { SecretSources.isFileName($0) })
    }
    return names
  }

  /// Every secret of the unencrypted files, as far as they can be read.
  package func inFiles() -> [(name: String, text: String)] {
    if let fixed { return fixed.map { ($0.key, $0.value) } }
    return settings.files.flatMap { path in
      do throws(SecretError) { return try members(of: path).map { (name: $0.key, text: $0.value) } } catch { return [] }
    }
  }

  /// Faults of sources, found without running anything: files that are missing or that others can read, and programs
  /// that aren't installed.
  package func faults() -> [SecretError] {
    var faults: [SecretError] = []
    func note(_ body: () throws(SecretError) -> Void) {
      do throws(SecretError) { try body() } catch { faults.append(error) }
    }
    for path in settings.files { note { () throws(SecretError) in _ = try members(of: path) } }
    if let identity = settings.ageIdentity {
      note { () throws(SecretError) in try requireIdentity(identity) }
      if age([]).file == nil { faults.append(SecretSources.noAge) }
    }
    for path in settings.ageFiles where !Files.exists(absolute(path)) {
      faults.append(SecretError("cannot read '\(path)': no such file or folder (ENOENT)"))
    }
    for (name, command) in settings.commands.sorted(by: { $0.key.precedesByScalars($1.key) }) {
      let program = program(command.words, command.timeout)
      if program.file == nil { faults.append(program.isMissing(for: SecretSources.what(name))) }
    }
    return faults
  }

  /// The full paths of the files that are read for secrets and of the files that commands start or name.
  ///
  /// A configured path is included even if no file is there.
  package nonisolated var places: [String] {
    var places = (settings.files + settings.ageFiles + [settings.ageIdentity].compactMap(\.self)).map(absolute)
    if let folder = environment["CREDENTIALS_DIRECTORY"], folder.hasPrefix("/") { places.append(folder) }
    if let file = environment["ERRAND_TOKEN_FILE"], !file.isEmpty, let path = realpath(file, nil) {
      places.append(String(cString: path))
      free(path)
    }
    for command in settings.commands.values {
      places += command.words.flatMap(\.pathsOfCommand).map(absolute).filter { path in
        let kind = try? Files.kind(of: path)
        return kind == .file || kind == nil && path.utf8.dropFirst(folder.utf8.count).isPathLike
      }
    }
    return places
  }

  /// The folders that the commands of secrets name: what is in them may be a program that is started there.
  package nonisolated var foldersOfCommands: [String] {
    settings.commands.values.flatMap { $0.words.flatMap(\.pathsOfCommand) }.map(absolute).filter { path in
      (try? Files.kind(of: path)) == .folder && folder.rest(in: path) == nil
    }
  }

  /// Warnings about secrets that a comment in their file may cut short; finding them runs no command.
  package nonisolated func warnings() -> [String] {
    settings.files.flatMap { SecretFile.cutSecrets(in: absolute($0)) }
  }

  // MARK: Files

  private func members(of path: String) throws(SecretError) -> [String: String] {
    if let members = files[path] { return members }
    let members = try SecretFile.read(absolute(path))
    files[path] = members
    return members
  }

  private func membersOfAgeFile(_ path: String) async throws(SecretError) -> [String: String] {
    if let task = ageFiles[path] { return try await task.value.get() }
    let identity = settings.ageIdentity ?? ""
    try requireIdentity(identity)
    let program = age(["--decrypt", "--identity", absolute(identity), absolute(path)])
    guard program.file != nil else { throw SecretSources.noAge }
    let task = Task { () -> Result<[String: String], SecretError> in
      do throws(SecretError) {
        let bytes = try await program.output(for: "'\(path)' cannot be decrypted", largest: SecretFile.largest)
        return .success(try SecretFile.members(of: Source(name: path, bytes: bytes)))
      } catch {
        return .failure(error)
      }
    }
    ageFiles[path] = task
    let result = await task.value
    if case .failure = result { ageFiles[path] = nil }
    return try result.get()
  }

  private func requireIdentity(_ path: String) throws(SecretError) {
    guard Files.exists(absolute(path)) else {
      throw SecretError("cannot read the age identity '\(path)': no such file or folder (ENOENT)")
    }
    try SecretFile.requirePrivate(absolute(path))
  }

  private func age(_ arguments: [String]) -> SecretProgram { program(["age"] + arguments, SecretSources.ageTimeout) }

  private static let noAge = SecretError("files encrypted with age need the program 'age'; install the package 'age'")

  /// The credential that systemd gave to the unit under a name.
  private func credential(_ name: String) throws(SecretError) -> Found? {
    guard let folder = environment["CREDENTIALS_DIRECTORY"], folder.hasPrefix("/"), SecretSources.isFileName(name)
    else {
      return nil
    }
    let path = "\(folder)/\(name)"
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    // systemd lets its own user read, and the unit's user by an access list, whose mask is in the group's bits.
    guard status.st_mode & 0o007 == 0 else {
      throw SecretError("'\(path)' can be read by every user; make it private with: chmod 600 \(path.shellQuoted)")
    }
    let bytes: [UInt8]
    do throws(FileError) { bytes = try Files.read(path, limit: 1 << 20) } catch {
      throw SecretError("the systemd credential '\(name)': \(error.description)")
    }
    guard let text = try? Charset.utf8.text(of: Array(SecretSources.withoutLineEnd(bytes))) else {
      throw SecretError("the systemd credential '\(path)' isn't valid UTF-8")
    }
    return Found(origin: .credential(path), value: text)
  }

  private static func isIdentifier(_ name: String) -> Bool {
    name != "_" && name.utf8.first.map(ASCII.digits.contains) == false
      && name.utf8.allSatisfy {
        ASCII.lowercase.contains($0 | 0x20) || ASCII.digits.contains($0) || $0 == ASCII.underscore
      }
  }

  /// Whether the name is the name of a visible file directly in the folder.
  private static func isFileName(_ name: String) -> Bool {
    !name.isEmpty && !name.hasPrefix(".") && !name.utf8.contains(ASCII.slash) && !name.utf8.contains(0)
  }

  private nonisolated func absolute(_ path: String) -> String {
    if path.hasPrefix("~/"), let home = environment["HOME"] { return "\(home)/\(path.dropFirst(2))" }
    return path.hasPrefix("/") ? path : "\(folder)/\(path)"
  }

  // MARK: Commands

  /// Whether one of some secrets grows old.
  package nonisolated func growOld(_ names: [String]) -> Bool { names.contains { settings.commands[$0]?.renew != nil } }

  /// When the first of some secrets is too old, on the clock that tells lengths of time; nil if none was read that
  /// grows old.
  package func due(of names: [String]) -> TimeSpan? {
    names.compactMap { name in
      guard let renew = settings.commands[name]?.renew, let read = printed[name] else { return nil }
      return read.at + renew
    }.min()
  }

  private func output(
    of program: SecretProgram, for name: String, renew: TimeSpan?
  ) async throws(SecretError) -> String {
    if let known = printed[name], renew.map({ time.elapsed() - known.at < $0 }) ?? true {
      return try await known.task.value.get()
    }
    let task = Task { () -> Result<String, SecretError> in
      do throws(SecretError) {
        let bytes = try await program.output(for: SecretSources.what(name), largest: SecretSources.largestPrinted)
        // Without the mark that editors of Windows begin a file with.
        let value = Result { () throws(CharsetError) in
          try Charset.utf8.text(of: SecretSources.withoutLineEnd(bytes))
        }
        return value.mapError { SecretError("what \(SecretSources.what(name)) printed \($0.message)") }
      } catch {
        return .failure(error)
      }
    }
    printed[name] = (task, time.elapsed())
    let result = await task.value
    if case .failure = result, printed[name]?.task == task { printed[name] = nil }
    return try result.get()
  }

  private func program(_ words: [String], _ timeout: TimeSpan) -> SecretProgram {
    SecretProgram(words: words, timeout: timeout, folder: folder, environment: environment)
  }

  private static func what(_ name: String) -> String { "the command of the secret '\(name)'" }

  private static func withoutLineEnd(_ bytes: [UInt8]) -> [UInt8] {
    guard bytes.last == ASCII.newline else { return bytes }
    return Array(bytes.dropLast(bytes.dropLast().last == ASCII.carriageReturn ? 2 : 1))
  }
}

extension String {
  /// The parts of a command's word that may name a file: the whole, and its pieces, as in `--key=FILE` or
  /// `cat FILE | sort`.
  package var wordsOfCommand: Set<String> {
    var words = Set(
      split { character in
        guard let byte = character.asciiValue else { return false }
        return byte <= 0x20 || "\"'`=,:;|&<>(){}$".utf8.contains(byte)
      }.map(String.init))
    // A shell takes what is in quotes for one word, with its blanks.
    words.formUnion(split { "\"'`".contains($0) }.map(String.init))
    words.insert(self)
    return words.filter { !$0.isEmpty && $0.utf8.count <= Int(PATH_MAX) && !$0.utf8.contains(0) }
  }

  /// The parts of a command's word that may be the path of a file, also behind a variable (`$PWD/FILE`), an option
  /// (`-oFILE`), an `@` and an escape, as the folder of a pattern (`FOLDER/*.sh`), and as a module of Python
  /// (`-m package.module`).
  package var pathsOfCommand: Set<String> {
    var paths: Set<String> = []
    for word in wordsOfCommand where !word.contains("://") {
      let plain = word.replacing("\\", with: "")
      var starts = [plain[...]]
      if plain.hasPrefix("@") { starts.append(plain.dropFirst()) }
      if plain.hasPrefix("-") { starts.append(plain.dropFirst(2)) }
      for start in starts {
        var rest = start
        // A path may begin with a part that only the shell can expand, so each shorter ending is tried as well.
        for _ in 0..<16 {
          if let pattern = rest.firstIndex(where: { "*?[".contains($0) }) {
            rest[..<pattern].lastIndex(of: "/").map { _ = paths.insert(String(rest[..<$0])) }
          } else {
            paths.insert(String(rest))
          }
          guard let slash = rest.firstIndex(of: "/") else { break }
          rest = rest[rest.index(after: slash)...]
        }
      }
      if !plain.contains("/"), plain.contains(".") {
        let module = plain.replacing(".", with: "/")
        paths.formUnion(["\(module).py", "\(module)/__main__.py"])
      }
    }
    return paths.filter { !$0.isEmpty && $0 != "." && $0 != ".." }
  }
}

extension Sequence<UInt8> {
  /// Whether what isn't there would be a file by its name: it has a folder or an ending.
  package var isPathLike: Bool {
    let name = drop { $0 == ASCII.slash }
    return name.contains(ASCII.slash) || name.contains(ASCII.dot)
  }
}
