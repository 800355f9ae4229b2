/// Takes secrets out of values that the state kept before the secrets were known, or that older versions kept.
///
/// It works on records as JSON, by the names of their members: a value is kept by reference (`SecretRegistry`), a
/// sentence for people loses its secrets, and everything else is unchanged. The same code finds and repairs, so that a
/// repaired folder is found clean. Names (of stored values and events) can't be changed without changing what recipes
/// find, so they are only reported.
import Basics

struct SecretSweep {
  let registry: SecretRegistry
  let finder: SecretFinder
  /// The replacements of blobs, by their names.
  var blobs: [String: BlobReference] = [:]
  /// The names of the secrets that were found.
  private(set) var found: Set<String> = []
  /// The names of the secrets that were found in names.
  private(set) var inNames: Set<String> = []

  init(_ registry: SecretRegistry) {
    self.registry = registry
    finder = registry.finder
  }

  private static let values: Set<String> = [
    "texts", "inputs", "items", "baseline", "answer", "output", "outputs", "value", "data", "headers",
  ]
  private static let namedValues: Set<String> = ["values", "notes", "overrides"]
  private static let namedRecords: Set<String> = ["steps", "runs", "events", "schedules"]
  private static let sentences: Set<String> = [
    "message", "detail", "reason", "prompt", "comment", "by", "doubt", "note", "fault", "assistant",
  ]

  /// A record, or a value with records in it, without secrets.
  mutating func swept(_ record: Value) throws(StateError) -> Value {
    if let items = record.list {
      var swept: [Value] = []
      for item in items { swept.append(try self.swept(item)) }
      return .list(swept)
    }
    guard var map = record.map else { return record }
    for member in map.members {
      guard let name = member.name else { continue }
      map[name] = try swept(member.value, of: name)
    }
    return .map(map)
  }

  private mutating func swept(_ member: Value, of name: String) throws(StateError) -> Value {
    if SecretSweep.values.contains(name) { return try sweptValue(member) }
    if SecretSweep.namedValues.contains(name), var map = member.map {
      for value in map.members {
        noteName(value.name)
        map[value.key] = try sweptValue(value.value)
      }
      return .map(map)
    }
    if SecretSweep.namedRecords.contains(name), var map = member.map {
      for record in map.members {
        if name == "events" { noteName(record.name) }
        map[record.key] = try swept(record.value)
      }
      return .map(map)
    }
    if name == "exchanges", let items = member.list {
      var swept: [Value] = []
      for item in items { swept.append(try sweptExchange(item)) }
      return .list(swept)
    }
    guard let text = member.string else { return try swept(member) }
    let names = finder.names(in: text)
    if names.isEmpty { return member }
    if SecretSweep.sentences.contains(name) {
      found.formUnion(names)
      return .string(finder.redact(text))
    }
    if name == "key" {
      found.formUnion(names)
      return .string(try registry.masked(text: text))
    }
    return member
  }

  /// An exchange without secrets in its texts; its numbers were measured here.
  private mutating func sweptExchange(_ exchange: Value) throws(StateError) -> Value {
    guard var map = exchange.map else { return try sweptValue(exchange) }
    for member in map.members where member.value.string != nil { map[member.key] = try sweptValue(member.value) }
    return .map(map)
  }

  private mutating func noteName(_ name: String?) {
    if let name { inNames.formUnion(finder.names(in: name)) }
  }

  /// A value in the state's form, by reference if it holds a secret.
  private mutating func sweptValue(_ encoded: Value) throws(StateError) -> Value {
    guard let stored = try? StoredValue(reading: encoded) else { return encoded }
    switch stored {
    case .blob(let reference):
      guard let other = blobs[reference.sha256] else { return encoded }
      return StoredValue.blob(other).encoded()
    case .inline(let value):
      guard let swept = try self.swept(value: value) else { return encoded }
      return StoredValue.inline(swept).encoded()
    }
  }

  /// A value by reference; nil if it holds no secret other than by reference.
  mutating func swept(value: Value) throws(StateError) -> Value? {
    let names = registry.names(in: value)
    if names.isEmpty { return nil }
    found.formUnion(names)
    return try registry.masked(value)
  }

  /// Whether the bytes may hold a secret at all, a quick check.
  func mayHold(_ bytes: [UInt8]) -> Bool { !finder.finds(in: bytes).isEmpty }

  /// Notes the secrets in bytes that aren't a record.
  mutating func look(in bytes: [UInt8]) {
    for find in finder.finds(in: bytes) { found.insert(finder.needles[find.needle].name) }
  }
}

// MARK: - Finding

extension StateDoctor {
  /// Reports which files hold secrets, by the secrets' names.
  func examineSecrets(_ result: inout StateExamination) throws(StateError) {
    if secrets.finder.isEmpty { return }
    var inNames: Set<String> = []
    for file in try files() {
      guard let bytes = try onDisk({ () throws(FileError) in try fileSystem.read(file.path) }) else { continue }
      let sweep = try looked(at: bytes, of: file.kind)
      inNames.formUnion(sweep.inNames)
      if sweep.found.isEmpty { continue }
      let why =
        file.path.hasPrefix("\(printed.folder)/")
        ? "which wasn't known when it was printed" : "as versions before 0.2.0 kept it"
      result.note(
        .fault, "\(file.path) holds \(StateDoctor.words(sweep.found)), \(why)", isRepairable: true)
    }
    if !inNames.isEmpty {
      result.note(
        .warning,
        "the name of a stored value or the id of an event holds \(StateDoctor.words(inNames)); delete what has that name"
      )
    }
  }

  private static func words(_ names: Set<String>) -> String {
    let quoted = names.sorted { $0.precedesByScalars($1) }.map { "'\($0)'" }
    return "the secret\(quoted.count == 1 ? "" : "s") \(quoted.joined(separator: ", "))"
  }

  /// The content of a file of the state.
  private enum FileKind {
    case snapshot, journal, month, blob
    /// A damaged copy kept for examination, or a service's answer.
    case text
  }

  /// The files that may hold values.
  private func files() throws(StateError) -> [(path: String, kind: FileKind)] {
    var found: [(path: String, kind: FileKind)] = []
    func names(_ folder: String) throws(StateError) -> [String] {
      try onDisk { () throws(FileError) in try fileSystem.list(folder) }.sorted { $0.precedesByScalars($1) }
    }
    for name in try names(path) {
      if name == Snapshot.name || name == Snapshot.previousName {
        found.append(("\(path)/\(name)", .snapshot))
      } else if Journal.generation(ofName: name) != nil {
        found.append(("\(path)/\(name)", .journal))
      }
    }
    for folder in [logs.history.folder, logs.slots.folder] {
      for name in try names(folder) {
        if name.hasSuffix(".jsonl") { found.append(("\(folder)/\(name)", .month)) }
        // Made anew with their month.
        if name.hasSuffix(".index") || name.hasSuffix(".sums") { found.append(("\(folder)/\(name)", .text)) }
      }
    }
    for part in try blobs.parts() {
      for name in try names("\(blobs.folder)/\(part)") where BlobNames.isName(name.utf8) {
        found.append((blobs.path(of: name), .blob))
      }
    }
    return found + (try damagedCopies() + cachedAnswers() + printed.files().map(\.path)).map { ($0, .text) }
  }

  /// The damaged copies kept for examination.
  private func damagedCopies() throws(StateError) -> [String] {
    try onDisk { () throws(FileError) in
      var found: [String] = []
      for folder in [path, logs.history.folder, logs.slots.folder] {
        found += try fileSystem.list(folder)
          .filter { $0.hasSuffix(".damaged.jsonl") || $0.hasSuffix(".damaged") || $0 == Snapshot.damagedName }
          .map { "\(folder)/\($0)" }
      }
      return found.sorted { $0.precedesByScalars($1) }
    }
  }

  /// The cached answers of services, in the folders of their plugins.
  private func cachedAnswers() throws(StateError) -> [String] {
    try onDisk { () throws(FileError) in
      var found: [String] = []
      for plugin in try fileSystem.list("\(path)/cache") {
        let folder = "\(path)/cache/\(plugin)"
        for name in try fileSystem.list(folder) {
          if try fileSystem.status("\(folder)/\(name)")?.isFolder == false { found.append("\(folder)/\(name)") }
        }
      }
      return found.sorted { $0.precedesByScalars($1) }
    }
  }

  private func looked(at bytes: [UInt8], of kind: FileKind) throws(StateError) -> SecretSweep {
    var sweep = SecretSweep(secrets)
    guard sweep.mayHold(bytes) else { return sweep }
    func parsed(_ text: ArraySlice<UInt8>) -> Value? { try? JSON.parse(Array(text), limits: StateFormat.limits) }
    switch kind {
    case .text: sweep.look(in: bytes)
    case .snapshot: if let document = parsed(bytes[...]) { _ = try sweep.swept(document["state"] ?? .null) }
    case .journal, .month:
      for line in bytes.split(separator: ASCII.newline) where sweep.mayHold(Array(line)) {
        if let record = parsed(line) { _ = try sweep.swept(record) } else { sweep.look(in: Array(line)) }
      }
    case .blob:
      guard let text = parsed(bytes[...]), let value = try? Value(reading: text) else { break }
      _ = try sweep.swept(value: value)
    }
    return sweep
  }

  // MARK: Repairing

  /// Takes the secrets out of every file; the caller holds the folder's lock.
  ///
  /// First the blobs are rewritten beside the old ones, then the open state, in two generations, then the months of the
  /// logs, and only then the old blobs are removed: a crash anywhere leaves a state that opens, and the next repair
  /// continues.
  func removeSecrets(_ done: inout [String]) throws(StateError) {
    if secrets.finder.isEmpty { return }
    var sweep = SecretSweep(secrets)
    let files = try files()
    for file in files where file.kind == .blob {
      guard let bytes = try onDisk({ () throws(FileError) in try fileSystem.read(file.path) }), sweep.mayHold(bytes),
        let text = try? JSON.parse(bytes, limits: StateFormat.limits), let value = try? Value(reading: text),
        let swept = try sweep.swept(value: value)
      else { continue }
      sweep.blobs[String(file.path.suffix(64))] = try blobs.put(try recordedBytes(of: swept))
    }
    try removeSecretsFromState(files.filter { $0.kind == .snapshot || $0.kind == .journal }, sweep, &done)
    try removeSecrets(logs.history, sweep, &done)
    try removeSecrets(logs.slots, sweep, &done)
    for path in try damagedCopies() + printed.files().map(\.path) {
      guard let bytes = try onDisk({ () throws(FileError) in try fileSystem.read(path) }), sweep.mayHold(bytes) else {
        continue
      }
      let text = secrets.finder.redact(String(decoding: bytes, as: UTF8.self))
      try onDisk { () throws(FileError) in
        try fileSystem.replace(path, in: folder(of: path), with: Array(text.utf8))
        if path.hasPrefix("\(printed.folder)/") { try printed.removeIndex(of: path) }
      }
      done.append("secrets are taken out of \(path)")
    }
    for path in try cachedAnswers() {
      guard let bytes = try onDisk({ () throws(FileError) in try fileSystem.read(path) }), sweep.mayHold(bytes) else {
        continue
      }
      try onDisk { () throws(FileError) in
        try fileSystem.remove(path)
        try fileSystem.syncFolder(folder(of: path))
      }
      done.append("\(path), an answer that held a secret, is removed")
    }
    for (name, _) in sweep.blobs.sorted(by: { $0.key.precedesByScalars($1.key) }) {
      try onDisk { () throws(FileError) in
        try fileSystem.remove(blobs.path(of: name))
        try fileSystem.syncFolder(blobs.folder(of: name))
      }
      done.append("the blob \(name) is rewritten without secrets")
    }
    // So that they aren't back after the next power failure.
    try onDisk { () throws(FileError) in try fileSystem.syncFolder(path) }
  }

  private func folder(of path: String) -> String {
    String(path.prefix(upTo: path.lastIndex(of: "/") ?? path.endIndex))
  }

  private func removeSecretsFromState(
    _ files: [(path: String, kind: FileKind)], _ sweep: SecretSweep, _ done: inout [String]
  ) throws(StateError) {
    var opened: StateFolder.Opened
    do throws(StateError) { opened = try folder.open() } catch  where error.kind == .damaged || error.kind == .newer {
      return
    }
    var sweep = sweep
    let swept = try sweep.swept(opened.state.encoded())
    var holds = swept != opened.state.encoded()
    for file in files where !holds {
      guard let bytes = try onDisk({ () throws(FileError) in try fileSystem.read(file.path) }) else { continue }
      holds = try !looked(at: bytes, of: file.kind).found.isEmpty
    }
    if !holds { return }
    do throws(RecordError) { opened.state = try State(reading: swept) } catch {
      throw StateError(.invalid, "the state cannot be written without secrets: \(error.message)")
    }
    if opened.isOld { try logs.history.removeOldIndexes() }
    try logs.adopt(from: &opened)
    // Twice, so that the previous generation has none either.
    _ = try folder.compact(&opened)
    _ = try folder.compact(&opened)
    done.append("secrets are taken out of the state, which is of generation \(opened.generation) now")
  }

  private func removeSecrets<Entry: LogRecord>(
    _ log: MonthlyLog<Entry>, _ sweep: SecretSweep, _ done: inout [String]
  ) throws(StateError) {
    for month in try log.months() {
      let isChanged = try log.rewrite(month) { (entry: Entry) throws(StateError) -> Entry? in
        var sweep = sweep
        let record = entry.encoded()
        let swept = try sweep.swept(record)
        return swept == record ? nil : try? Entry(reading: swept)
      }
      if isChanged { done.append("secrets are taken out of \(month.data)") }
    }
  }
}
