// Keeping values that hold secrets.
//
// No file of the state holds a secret, and every step sees exactly the value that it was given. So a value that
// contains a secret is kept by reference (`MaskedText`): the text around the secret, and in place of the secret its
// name, eight bits of its text (`print`), the form that was found (`plain`, `latin1`, `hex`, `base64 from 1`, …) and
// how the form's characters are escaped (`SecretSpelling`). When the value is used again, it is restored with the
// secret's current text; if no secret of that name has those eight bits, the secret has changed, and the value is
// unavailable, unless the secret is of the kind that is renewed: then its newest text takes the place of one that is
// gone.
//
//     {"$masked": ["Bearer ", ["TOKEN", "a7"]]}
//     {"$masked": ["id=", ["TOKEN", "a7", "base64", "percent"], "&x=1"]}
//     {"$masked": [["TOKEN", "a7", "plain", "plain", 4]]}               from the fifth of the form's bytes on
//     {"$maskedBytes": ["aGVs", ["TOKEN", "a7"]]}                       the text between, as base64
//     {"$maskedJSON": ["12", ["PIN", "03"]]}                            the number 124711
//
// Every masked value is restored as a test before it is kept; a value that can't be described this way is refused. The
// eight bits are the same in each record and each folder, so all of them together rule out 255 of 256 guesses and no
// more.
//
// A text with the shape of a link that carries a right is kept the same way, sealed in place of the form (`LinkKey`), as
// soon as the state has a key for links. It is the same text when it is restored; with another state's key it is no
// link.
//
//     {"$masked": ["https://errand.example.org/d/", ["edl_…", "00", "kX0v…", "plain"]]}
package import Basics
import Synchronization

/// The secrets that this program keeps out of one state.
package final class SecretRegistry: Sendable {
  /// Finds a secret's text by its name; `isFresh` asks its source again.
  package typealias Source = @Sendable (_ name: String, _ isFresh: Bool) async -> String?

  private struct Content {
    /// The newest first.
    var needles: [Needle] = []
    var finder = SecretFinder([Needle]())
    var source: Source?
    var isRenewed: @Sendable (_ name: String) -> Bool = { _ in false }
    var linkKey: LinkKey?
    var linkSource: LinkSource?
  }

  /// Gives the key of the state's links, made if there is none.
  package typealias LinkSource = @Sendable () async -> LinkKey?

  private let content = Mutex(Content())

  package init() {}

  /// Sets the source of secrets that no run has needed yet.
  ///
  /// - Parameter isRenewed: Whether former texts of a secret are gone for good, because a fresh one takes their place.
  package func ask(renewed isRenewed: @escaping @Sendable (String) -> Bool = { _ in false }, _ source: @escaping Source)
  {
    content.withLock { ($0.source, $0.isRenewed) = (source, isRenewed) }
  }

  /// Keeps secrets out of the state from now on; earlier texts stay known, because they may occur again.
  package func learn(_ secrets: [(name: String, text: String)]) {
    content.withLock { content in
      let new = secrets.filter { secret in
        !secret.name.isEmpty && secret.text.utf8.count >= SecretFinder.shortest
          && !content.needles.contains {
            $0.part.isEmpty && $0.name == secret.name && $0.text.hasSameScalars(as: secret.text)
          }
      }
      if new.isEmpty { return }
      content.needles = new.flatMap { Needle.all(of: $0.text, named: $0.name) } + content.needles
      content.finder = SecretFinder(content.needles)
    }
  }

  /// Keeps the texts of links out of the state from now on.
  package func learn(_ key: LinkKey) {
    content.withLock { content in
      content.linkKey = key
      if content.needles.contains(where: \.isLink) { return }
      content.needles.append(.link)
      content.finder = SecretFinder(content.needles)
    }
  }

  /// Sets the source of the key of links, for values that hold one before the key is known.
  package func askLinkKey(_ source: @escaping LinkSource) { content.withLock { $0.linkSource = source } }

  /// Keeps the secrets with these names out of the state from now on, if they are found.
  package func learn(named names: [String]) async {
    for name in names where !knows(name) {
      if let source = content.withLock({ $0.source }), let text = await source(name, false) { learn([(name, text)]) }
    }
  }

  private func knows(_ name: String) -> Bool { content.withLock { $0.needles.contains { $0.name == name } } }

  /// The secrets by name, the newest first.
  package var all: [(name: String, text: String)] {
    content.withLock { content in content.needles.filter(\.part.isEmpty).map { ($0.name, $0.text) } }
  }

  /// A number that grows with each text that becomes known.
  package var count: Int { content.withLock { $0.needles.count } }

  /// Finds all known secrets in texts.
  package var finder: SecretFinder { content.withLock { $0.finder } }

  /// The names of the secrets in a value, except for those kept by reference.
  func names(in value: Value) -> Set<String> {
    let finder = finder
    func names(_ text: String) -> Set<String> { Set(finder.names(in: text)) }
    switch value.content {
    case .string(let text): return names(text)
    case .bytes(let bytes): return Set(finder.finds(in: bytes).map { finder.needles[$0.needle].name })
    case .int, .uint, .double, .timestamp, .duration:
      return finder.hasNumbers ? names((try? JSON.text(value.encoded())) ?? "") : []
    case .null, .bool, .type, .masked: return []
    case .optional(let wrapped): return wrapped.map { self.names(in: $0) } ?? []
    case .list(let items): return items.reduce(into: []) { $0.formUnion(self.names(in: $1)) }
    case .map(let map):
      return map.members.reduce(into: []) {
        $0.formUnion(self.names(in: $1.key))
        $0.formUnion(self.names(in: $1.value))
      }
    }
  }

  /// The names of all secrets that a value is kept by reference to, or would be.
  package func referred(in value: Value) throws(StateError) -> Set<String> {
    var names: Set<String> = []
    _ = try masked(value).replacingMasked {
      names.formUnion($0.secretNames)
      return .string($0.displayed)
    }
    return names.subtracting([LinkKey.name])
  }

  // MARK: Keeping

  /// The value in the form that may be kept.
  package func masked(_ value: Value) throws(StateError) -> Value {
    let finder = finder
    return finder.isEmpty ? value : try masked(value, finder) ?? value
  }

  /// The value in the form that may be kept; nil if it holds no secret.
  private func masked(_ value: Value, _ finder: SecretFinder) throws(StateError) -> Value? {
    switch value.content {
    case .string(let text):
      let finds = finder.finds(in: text)
      if let name = finder.dumped(in: text.utf8, besides: finds) { throw SecretRegistry.undescribable(name) }
      return finds.isEmpty ? nil : try masked(Array(text.utf8), finds, .string, finder, value)
    case .bytes(let bytes):
      let finds = finder.finds(in: bytes)
      if let name = finder.dumped(in: bytes, besides: finds) { throw SecretRegistry.undescribable(name) }
      return finds.isEmpty ? nil : try masked(bytes, finds, .bytes, finder, value)
    case .int, .uint, .double, .timestamp, .duration:
      guard finder.hasNumbers, let text = try? JSON.text(value.encoded()) else { return nil }
      let finds = finder.finds(in: text)
      return finds.isEmpty ? nil : try masked(Array(text.utf8), finds, .json, finder, value)
    case .null, .bool, .type, .masked: return nil
    case .optional(let wrapped):
      guard let wrapped, let masked = try masked(wrapped, finder) else { return nil }
      return Value(.optional(masked))
    case .list(var items):
      var isChanged = false
      for index in items.indices {
        guard let masked = try masked(items[index], finder) else { continue }
        items[index] = masked
        isChanged = true
      }
      return isChanged ? .list(items) : nil
    case .map(let map):
      var changes: [Int: ValueMap.Member] = [:]
      for (index, member) in map.members.enumerated() {
        let (key, inner) = (try masked(member.key, finder), try masked(member.value, finder))
        if key == nil, inner == nil { continue }
        changes[index] = ValueMap.Member(key: key ?? member.key, value: inner ?? member.value)
      }
      if changes.isEmpty { return nil }
      var made = ValueMap()
      made.reserveCapacity(map.count)
      for (index, member) in map.members.enumerated() { _ = made.insert(changes[index] ?? member) }
      return .map(made)
    }
  }

  private func masked(
    _ bytes: [UInt8], _ finds: [SecretFinder.Find], _ kind: MaskedText.Kind, _ finder: SecretFinder, _ whole: Value
  ) throws(StateError) -> Value {
    var parts: [MaskedText.Part] = []
    var copied = 0
    for find in finds {
      if find.range.lowerBound > copied { parts.append(.plain(Array(bytes[copied..<find.range.lowerBound]))) }
      let needle = finder.needles[find.needle]
      let described = needle.isLink ? sealed(find, in: bytes) : needle.description(of: find, in: bytes)
      guard let secret = described else {
        throw SecretRegistry.undescribable(needle.name)
      }
      parts.append(.secret(secret))
      copied = find.range.upperBound
    }
    if copied < bytes.count { parts.append(.plain(Array(bytes[copied...]))) }
    let text = MaskedText(kind, parts)
    guard let back = try? restored(text), back == whole else {
      throw SecretRegistry.undescribable(finder.needles[finds[0].needle].name)
    }
    return Value(.masked(text))
  }

  /// A link as values keep it; nil if it is escaped, or a secret is part of it.
  private func sealed(_ find: SecretFinder.Find, in bytes: [UInt8]) -> MaskedText.Secret? {
    guard find.range.count == LinkKey.mark.utf8.count + LinkKey.digits else { return nil }
    return content.withLock { $0.linkKey }?.sealed(bytes[find.range]).map {
      MaskedText.Secret(
        name: LinkKey.name, print: Needle.link.print, form: $0, spelling: SecretSpelling.plain.rawValue)
    }
  }

  private static func undescribable(_ name: String) -> StateError {
    let rest = "spelled so that the state cannot keep it by reference"
    var error = StateError(.invalid, "a value holds the secret '\(name)', \(rest)")
    error.forCaller = "a value holds a secret, \(rest)"
    return error
  }

  /// Refuses a text that is kept as it is, if it holds a secret.
  ///
  /// - Parameter what: A name for the text, for messages.
  package func check(_ text: String, _ what: String) throws(StateError) {
    guard let name = finder.names(in: text).first else { return }
    let rest = "and names are kept as they are; use another"
    var error = StateError(.invalid, "\(what) holds the secret '\(name)', \(rest)")
    error.forCaller = "\(what) holds a secret, \(rest)"
    throw error
  }

  /// A text in the form that may be kept as a text: one that holds a secret becomes its reference, as JSON.
  package func masked(text: String) throws(StateError) -> String {
    var value = try masked(.string(text))
    if !value.isMasked {
      // A text that only looks like a reference must not be read as one.
      guard text.utf8.starts(with: SecretRegistry.beginning.utf8) else { return text }
      value = Value(.masked(MaskedText(.string, [.plain(Array(text.utf8))])))
    }
    return JSON.displayed(value.encoded())
  }

  private static let beginning = "{\"\(MaskedText.Kind.string.rawValue)\":"

  // MARK: Restoring

  /// The text that was passed to `masked(text:)`.
  package func restored(text: String, as what: @autoclosure () -> String) async throws(StateError) -> String {
    try await restored(SecretRegistry.value(ofText: text), as: what()).string ?? text
  }

  /// The result of `masked(text:)`, for people.
  package static func displayed(text: String) -> String { value(ofText: text).displayed.string ?? text }

  private static func value(ofText text: String) -> Value {
    guard text.utf8.starts(with: beginning.utf8), let value = try? Value(reading: JSON.parse(text)) else {
      return .string(text)
    }
    return value
  }

  /// The value with its secrets restored.
  ///
  /// - Parameter what: A name for the value in messages.
  package func restored(_ value: Value, as what: @autoclosure () -> String) async throws(StateError) -> Value {
    guard value.isMasked else { return value }
    var asked: Set<String> = []
    while true {
      let name: String
      do throws(Change) { return try restoredNow(value) } catch { name = error.name }
      if name == LinkKey.name, asked.insert(name).inserted, let source = content.withLock({ $0.linkSource }),
        let key = await source()
      {
        learn(key)
        continue
      }
      guard asked.insert(name).inserted, let source = content.withLock({ $0.source }) else {
        throw knows(name) ? SecretRegistry.changed(name, in: what()) : SecretRegistry.missing(name, in: what())
      }
      for isFresh in [false, true] { if let text = await source(name, isFresh) { learn([(name, text)]) } }
    }
  }

  private static func changed(_ name: String, in what: String) -> StateError {
    let (secret, remedy) = inWords(name)
    return StateError(
      .secret, "\(secret) has changed since \(what) was kept, which holds its former text; \(remedy) to that text")
  }

  private static func missing(_ name: String, in what: String) -> StateError {
    let (secret, remedy) = inWords(name)
    var error = StateError(.secret, "\(secret) is missing, and \(what) holds its text; \(remedy)")
    error.missing = name
    return error
  }

  /// A secret in words, and how to set it.
  private static func inWords(_ name: String) -> (secret: String, remedy: String) {
    guard let connection = RunNeed.connection(ofSetting: name) else { return ("the secret '\(name)'", "set '\(name)'") }
    return ("a secret setting of the connection '\(connection)'", "set it in errand.yaml")
  }

  /// A secret that has changed.
  private struct Change: Error {
    var name: String
  }

  private func restoredNow(_ value: Value) throws(Change) -> Value {
    switch value.content {
    case .masked(let text): return try restored(text)
    case .optional(let wrapped?): return Value(.optional(try restoredNow(wrapped)))
    case .list(let items):
      var restored: [Value] = []
      restored.reserveCapacity(items.count)
      for item in items { restored.append(try restoredNow(item)) }
      return .list(restored)
    case .map(let map):
      var restored = ValueMap()
      restored.reserveCapacity(map.count)
      for member in map.members { restored[try restoredNow(member.key)] = try restoredNow(member.value) }
      return .map(restored)
    default: return value
    }
  }

  private func restored(_ text: MaskedText) throws(Change) -> Value {
    var bytes: [UInt8] = []
    var last = ""
    for part in text.parts {
      switch part {
      case .plain(let plain): bytes += plain
      case .secret(let secret):
        bytes += try self.text(of: secret)
        last = secret.name
      }
    }
    switch text.kind {
    case .string: return .string(String(decoding: bytes, as: UTF8.self))
    case .bytes: return .bytes(bytes)
    case .json:
      guard let value = try? Value(reading: JSON.parse(bytes)) else { throw Change(name: last) }
      return value
    }
  }

  private func text(of secret: MaskedText.Secret) throws(Change) -> [UInt8] {
    if secret.name == LinkKey.name {
      guard let key = content.withLock({ $0.linkKey }) else { throw Change(name: secret.name) }
      return Array(key.opened(secret.form).utf8)
    }
    let (needles, isRenewed) = content.withLock { ($0.needles, $0.isRenewed) }
    let named = needles.lazy.filter { $0.name == secret.name }
    for needle in named where needle.print == secret.print {
      if let bytes = needle.text(of: secret) { return bytes }
    }
    if isRenewed(secret.name) {
      for needle in named { if let bytes = needle.text(of: secret) { return bytes } }
    }
    throw Change(name: secret.name)
  }
}

// MARK: - Answers

extension SecretRegistry {
  /// An answer without the secrets that are known now; one that holds none is returned as it is.
  ///
  /// A secret may become known after a text with it was stored, so stored texts are searched again when they leave the
  /// state. The bytes are searched once, and the JSON is taken apart only if a secret is found.
  package func displayed(_ bytes: [UInt8], isJSON: Bool) -> [UInt8] {
    let finder = finder
    if finder.isEmpty || finder.findsToShow(in: bytes).isEmpty { return bytes }
    if isJSON, let value = try? JSON.parse(bytes) { return Array(JSON.displayed(finder.displayed(value)).utf8) }
    return finder.displayed(bytes)
  }

  /// A value without the secrets that are known now.
  package func displayed(_ value: Value) -> Value {
    let finder = finder
    return finder.isEmpty ? value : finder.displayed(value)
  }
}

// MARK: - Events

extension EventRecord {
  /// Whether an event that comes again is this one: with the same id, name and data, and for the same run.
  ///
  /// The state finds events by ids that look the same, even if their scalars differ.
  package func isSame(as event: EventRecord, given secrets: SecretRegistry) -> Bool {
    guard id.hasSameScalars(as: event.id), name.hasSameScalars(as: event.name), run == event.run else { return false }
    // The data are kept without their secrets.
    return data == event.data || data == (try? event.data?.withoutSecrets(secrets))
  }
}

extension StateEvent {
  /// The event without secrets in the parts that `keep` did not prepare: the run's origin, data from outside, and the
  /// sentences for people.
  package func withoutSecrets(_ registry: SecretRegistry) throws(StateError) -> StateEvent {
    let finder = registry.finder
    if finder.isEmpty { return self }
    switch self {
    case .runCreated(var event):
      event.texts = try event.texts.withoutSecrets(registry)
      event.inputs = try registry.masked(event.inputs)
      event.cause = event.cause.redacted(by: finder)
      if let key = event.key { try registry.check(key.key, RunKey.words) }
      for (name, value) in event.overrides { event.overrides[name] = try registry.masked(value) }
      return .runCreated(event)
    case .eventReceived(var event):
      try registry.check(event.name, "the name of an event")
      try registry.check(event.id, "the id of an event")
      event.data = try event.data?.withoutSecrets(registry)
      if var delivery = event.delivery {
        delivery.headers = try delivery.headers?.withoutSecrets(registry)
        delivery.query = try delivery.query?.withoutSecrets(registry)
        delivery.fault = delivery.fault.map { finder.redact($0) }
        event.delivery = delivery
      }
      return .eventReceived(event)
    case .scheduleSet(var event):
      event.texts = try event.texts?.withoutSecrets(registry)
      return .scheduleSet(event)
    case .valueSet(let event):
      try registry.check(event.name, "the name of a stored value")
    case .runStatusChanged(var event):
      guard let reason = event.reason else { return self }
      event.reason = finder.redact(reason)
      return .runStatusChanged(event)
    case .cancelRequested(var event):
      event.reason = event.reason.map { finder.redact($0) }
      event.by = event.by.map { finder.redact($0) }
      return .cancelRequested(event)
    case .decisionGiven(var event):
      event.decision.by = finder.redact(event.decision.by)
      event.decision.comment = event.decision.comment.map { finder.redact($0) }
      return .decisionGiven(event)
    case .answerGiven(var event):
      event.decision.by = finder.redact(event.decision.by)
      event.decision.comment = event.decision.comment.map { finder.redact($0) }
      event.decision.fields = try event.decision.fields.map { value throws(StateError) in try registry.masked(value) }
      return .answerGiven(event)
    case .attemptEnded(var event):
      guard let error = event.error else { return self }
      event.error = error.redacted(by: finder)
      return .attemptEnded(event)
    case .stepEnded(var event):
      guard event.error != nil || event.resolution != nil else { return self }
      event.error = event.error?.redacted(by: finder)
      event.resolution = event.resolution?.redacted(by: finder)
      return .stepEnded(event)
    case .stepBegan(var event):
      guard let resolution = event.resolution else { return self }
      event.resolution = resolution.redacted(by: finder)
      return .stepBegan(event)
    case .runEnded(var event):
      guard let error = event.error else { return self }
      event.error = error.redacted(by: finder)
      return .runEnded(event)
    case .stepWaits(var event):
      guard let prompt = event.wait.prompt else { return self }
      event.wait.prompt = finder.redact(prompt)
      event.wait.fields = try event.wait.fields.map { value throws(StateError) in try registry.masked(value) }
      if var asked = event.wait.question {
        (asked.yes, asked.no) = (asked.yes.map { finder.redact($0) }, asked.no.map { finder.redact($0) })
        event.wait.question = asked
      }
      return .stepWaits(event)
    case .linksEnded(var event):
      event.by = event.by.map { finder.redact($0) }
      return .linksEnded(event)
    case .slotDecided(var slot):
      if let inputs = slot.inputs { slot.inputs = try registry.masked(inputs) }
      slot.reason = slot.reason.map { finder.redact($0) }
      slot.cause = slot.cause.redacted(by: finder)
      if let key = slot.key { try registry.check(key.key, RunKey.words) }
      return .slotDecided(slot)
    case .schedulePaused(var event):
      guard let note = event.pause?.note else { return self }
      event.pause?.note = finder.redact(note)
      return .schedulePaused(event)
    case .failureDismissed(var event):
      event.by = event.by.map { finder.redact($0) }
      event.note = event.note.map { finder.redact($0) }
      return .failureDismissed(event)
    case .tokenIssued(let event):
      try registry.check(event.name, "the name of the token")
      for recipe in event.recipes { try registry.check(recipe, "the name of a recipe of the token") }
    case .sessionBegan(let event):
      try registry.check(event.name, "the name of the person")
    case .runClaimed, .attemptBegan, .runNoted, .runPlaced, .valueRemoved, .linkMade, .eventConsumed, .eventsForgotten,
      .eventGathered, .filesSeen, .scheduleRemoved, .scheduleReset, .connectionUsed, .tokenRevoked, .sessionEnded,
      .accessUsed:
      break
    }
    return self
  }
}

extension StoredValue {
  fileprivate func withoutSecrets(_ registry: SecretRegistry) throws(StateError) -> StoredValue {
    if case .inline(let value) = self { .inline(try registry.masked(value)) } else { self }
  }
}

extension RunError {
  /// The error without secrets in its sentences.
  fileprivate func redacted(by finder: SecretFinder) -> RunError {
    var error = self
    error.message = finder.redact(error.message)
    error.detail = error.detail.map { finder.redact($0) }
    error.cause = error.cause?.redacted(by: finder)
    return error
  }
}

extension RunCause {
  fileprivate func redacted(by finder: SecretFinder) -> RunCause {
    guard by != nil || assistant != nil else { return self }
    var cause = self
    cause.by = by.map { finder.redact($0) }
    cause.assistant = assistant.map { finder.redact($0) }
    return cause
  }
}

extension ResolutionRecord {
  fileprivate func redacted(by finder: SecretFinder) -> ResolutionRecord {
    var resolution = self
    resolution.by = by.map { finder.redact($0) }
    resolution.doubt = doubt.map { finder.redact($0) }
    return resolution
  }
}

// MARK: - In JSON

extension MaskedText {
  func encoded() -> Value {
    .object([
      kind.rawValue: .list(
        parts.map { part in
          switch part {
          case .plain(let bytes): .string(kind == .bytes ? bytes.base64 : String(decoding: bytes, as: UTF8.self))
          case .secret(let secret): secret.encoded()
          }
        })
    ])
  }

  /// Reads the value that `encoded` returned.
  init?(_ kind: Kind, reading parts: [Value]) {
    var read: [Part] = []
    for part in parts {
      switch part.content {
      case .string(let text):
        guard let bytes = kind == .bytes ? [UInt8](base64: text) : Array(text.utf8) else { return nil }
        read.append(.plain(bytes))
      case .list(let items):
        guard let secret = Secret(reading: items) else { return nil }
        read.append(.secret(secret))
      default: return nil
      }
    }
    self.init(kind, read)
  }
}

extension MaskedText.Secret {
  private static let usual = SecretSpelling.plain.rawValue

  fileprivate func encoded() -> Value {
    var words: [Value] = [.string(name), .string(print)]
    if form != Self.usual || spelling != Self.usual || from > 0 { words += [.string(form), .string(spelling)] }
    if from > 0 { words.append(.int(from)) }
    return .list(words)
  }

  fileprivate init?(reading items: [Value]) {
    let words = items.prefix(4).compactMap(\.string)
    guard words.count == min(items.count, 4), words.count == 2 || words.count == 4, items.count <= 5 else { return nil }
    self.init(
      name: words[0], print: words[1], form: words.count == 4 ? words[2] : Self.usual,
      spelling: words.count == 4 ? words[3] : Self.usual)
    if items.count == 5 {
      guard let from = items[4].int, from > 0 else { return nil }
      self.from = from
    }
  }
}

extension Value {
  /// The JSON of a record for people and programs: a mark in place of each value that is kept by reference, and the
  /// places under `masked`.
  package var recordWithMarks: Value {
    let record = withMaskedRead
    guard var map = record.displayed.map else { return self }
    let paths = record.maskedPaths
    if !paths.isEmpty { map["masked"] = .list(paths.map { .string($0) }) }
    return .map(map)
  }

  /// The names of the secrets that the JSON of a record refers to.
  var maskedNames: Set<String> {
    var names: Set<String> = []
    func look(in value: Value) {
      switch value.content {
      case .masked(let text):
        names.formUnion(text.secretNames)
      case .list(let items): for item in items { look(in: item) }
      case .map(let map): for member in map.members { look(in: member.value) }
      default: break
      }
    }
    look(in: withMaskedRead)
    return names.subtracting([LinkKey.name])
  }

  /// The JSON of a record with each value that is kept by reference as such, and everything else as it is written.
  private var withMaskedRead: Value {
    if let items = list { return .list(items.map(\.withMaskedRead)) }
    guard var map else { return self }
    if map.count == 1, let name = map.members[0].name, MaskedText.Kind(rawValue: name) != nil,
      let value = try? Value(reading: self)
    {
      return value
    }
    for member in map.members { map[member.key] = member.value.withMaskedRead }
    return .map(map)
  }
}
