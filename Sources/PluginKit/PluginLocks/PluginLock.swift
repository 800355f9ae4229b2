// The lock of a plugin: `plugins/NAME.lock.json` beside errand.yaml.
//
// It describes a plugin that isn't part of the program: the source of its actions and, for each action, its name,
// input, output and effect, and how to call it. Recipes are checked against it without asking the service, and exactly
// the checked actions run. `errand plugin add` and `update` write it; it belongs in version control beside the recipes.
//
//     {
//       "actions": {
//         "getDag": {
//           "call": …,                        as its kind writes it
//           "effect": "read",                 as `Effect.written` has it
//           "effectFrom": "method",           who says so: method, document, hint, program, person, default
//           "input": {"dag_id": {"type": "string"}},
//           "output": {"body": {"type": {"named": "Dag"}}, "status": {"type": "int"}},
//           "summary": "Gets a DAG.",
//           …                                 baseline, key, timeout, where there are such
//         }
//       },
//       "connection": …,                      what every call needs, as its kind writes it
//       "digest": "sha256:…",                 of this file without the digest, written by `JSON.Style.sorted`
//       "errandPluginLock": 1,
//       "kind": "openapi",
//       "name": "airflow",
//       "source": …,                          what `update` reads again, as its kind writes it
//       "summary": "Runs Apache Airflow's workflows.",
//       "types": {"Dag": {"fields": {…}}}
//     }
//
// The file is JSON with sorted keys, indented by two spaces, with a newline at its end, so that equal locks are equal
// files.

package import ActionKit
package import Basics
import Synchronization

/// A plugin's lock, as read from a file or to be written.
package final class PluginLock: Sendable {
  /// The file's whole content.
  package let document: Value
  /// The file's name in messages.
  package let file: String
  /// The decoders of inputs and outputs; they read a named type at its first use.
  private let decoders: Mutex<(given: LockDecoder, got: LockDecoder)>

  /// The version of the format.
  package static let version = 1
  /// The maximum size of a file that is read.
  package static let mostBytes = 32 << 20

  private init(_ document: Value, of file: String) {
    self.document = document
    self.file = file
    let types = document["types"]?.map ?? ValueMap()
    decoders = Mutex((LockDecoder(types: types, for: .given), LockDecoder(types: types, for: .got)))
  }

  /// Reads a file; checks only its outline.
  package convenience init(reading bytes: [UInt8], of file: String) throws(PluginLockError) {
    let document: Value
    do throws(JSONError) {
      document = try JSON.parse(bytes)
    } catch {
      throw PluginLockError("\(file) isn't valid JSON: \(error.description)")
    }
    self.init(document, of: file)
    guard let version = document["errandPluginLock"]?.int else {
      throw PluginLockError("\(file) isn't a plugin's lock")
    }
    guard version == PluginLock.version else {
      throw PluginLockError(
        "\(file) has version \(version), of a newer errand, and this program reads version \(PluginLock.version)")
    }
    guard !name.isEmpty, !kind.isEmpty, document["actions"]?.map != nil else {
      throw PluginLockError("\(file) has no 'name', 'kind' or 'actions'")
    }
  }

  /// Reads an unusable lock for its source, so that it can be created again; nil if it names no source.
  package convenience init?(recovering bytes: [UInt8], named name: String, of file: String) {
    guard var map = (try? JSON.parse(bytes))?.map, map["source"]?.map?.isEmpty == false else { return nil }
    map["name"] = .string(name)
    self.init(.map(map), of: file)
  }

  /// Creates a lock.
  package convenience init(
    name: String, kind: String, summary: String, source: ValueMap, connection: ValueMap, types: ValueMap,
    actions: [(name: String, entry: ValueMap)], file: String
  ) throws(PluginLockError) {
    var map = ValueMap()
    for (name, entry) in actions { map[name] = .map(entry) }
    let document = Value.object([
      "errandPluginLock": .int(PluginLock.version), "name": .string(name), "kind": .string(kind),
      "summary": .string(summary), "source": .map(source), "connection": .map(connection), "types": .map(types),
      "actions": .map(map),
    ])
    // The written bytes are read again, so that the lock in use is never one that a file can't hold.
    let bytes: [UInt8]
    do throws(JSONError) { bytes = try JSON.write(document) } catch {
      throw PluginLockError("\(file) can't be written: \(error.message)")
    }
    try self.init(reading: bytes, of: file)
  }

  package var name: String { document["name"]?.string ?? "" }
  package var kind: String { document["kind"]?.string ?? "" }
  package var summary: String { document["summary"]?.string ?? "" }
  /// The source that `errand plugin update` reads again.
  package var source: Value { document["source"] ?? .map(ValueMap()) }
  /// The parts of the source that gave no action, or couldn't be read, each with the reason.
  ///
  /// They are operations, as `GET /path`, tools and other parts.
  package var leftOut: [(part: String, reason: String)] {
    (source["leftOut"]?.list ?? []).compactMap { entry in
      guard let part = entry["part"]?.string, let reason = entry["reason"]?.string else { return nil }
      return (part, reason)
    }
  }
  /// The data that every call needs.
  package var connection: Value { document["connection"] ?? .map(ValueMap()) }
  /// The names of the actions, sorted.
  package var actionNames: [String] {
    (document["actions"]?.map?.members ?? []).compactMap(\.name).sorted { $0.precedesByScalars($1) }
  }

  /// Reads the action of that name; nil if there is none.
  package func action(_ name: String) throws(PluginLockError) -> LockedAction? {
    guard let entry = document["actions"]?[name] else { return nil }
    do throws(ValueError) {
      return try decoders.withLock { decoders throws(ValueError) in
        try LockedAction(name: name, entry: entry, given: &decoders.given, got: &decoders.got)
      }
    } catch {
      throw PluginLockError("\(file): the action '\(name)' can't be read: \(error)")
    }
  }

  /// The digest that the file should have; nil without libcrypto.
  package var digest: String? {
    var map = document.map ?? ValueMap()
    map["digest"] = nil
    do throws(JSONError) {
      return SHA256.digest(of: try JSON.write(.map(map), .sorted)).map { "sha256:\($0)" }
    } catch {
      return nil
    }
  }

  /// Refuses a file that was changed by hand.
  package func verify() throws(PluginLockError) {
    guard let digest else {
      throw PluginLockError("libcrypto.so.3 can't be loaded; install the Debian package libssl3")
    }
    guard document["digest"]?.string == digest else {
      throw PluginLockError("\(file) was changed since errand wrote it, and isn't used")
    }
  }

  /// The file's bytes.
  package func written() throws(PluginLockError) -> [UInt8] {
    guard let digest else {
      throw PluginLockError("libcrypto.so.3 can't be loaded; install the Debian package libssl3")
    }
    var map = document.map ?? ValueMap()
    map["digest"] = .string(digest)
    do throws(JSONError) { return try JSON.write(.map(map), .prettySorted) + [ASCII.newline] } catch {
      throw PluginLockError("\(file) can't be written: \(error.message)")
    }
  }
}

/// One action of a lock.
package struct LockedAction: Sendable {
  package var name: String
  package var summary: String
  package var effect: Effect
  /// The source of the effect.
  package var effectSource: EffectSource
  package var input: ObjectSchema
  package var output: ObjectSchema
  /// The fields of the baseline of a write that can be looked up.
  package var baseline: ObjectSchema?
  /// Whether the service ignores repeated requests with the same idempotency key.
  package var acceptsKey: Bool
  /// The time limit for all attempts together, if it isn't the usual one.
  package var timeout: TimeSpan?
  /// How it is called, as the lock's kind writes it.
  package var call: Value

  /// The source of an action's effect.
  package enum EffectSource: String, Sendable {
    /// The HTTP method.
    case method
    /// The OpenAPI document, by `x-errand-effect`.
    case document
    /// The tool's hints, which a person decided to trust.
    case hint
    /// The program that has the tool, by `errand/effect`.
    case program
    /// The person who added the plugin.
    case person
    /// Nothing, so the effect is the most restrictive one.
    case standard = "default"
  }

  package init(
    name: String, summary: String, effect: Effect, from effectSource: EffectSource, input: ObjectSchema,
    output: ObjectSchema, baseline: ObjectSchema? = nil, acceptsKey: Bool = false, timeout: TimeSpan? = nil, call: Value
  ) {
    self.name = name
    self.summary = summary
    self.effect = effect
    self.effectSource = effectSource
    self.input = input
    self.output = output
    self.baseline = baseline
    self.acceptsKey = acceptsKey
    self.timeout = timeout
    self.call = call
  }

  init(name: String, entry: Value, given: inout LockDecoder, got: inout LockDecoder) throws(ValueError) {
    guard let word = entry["effect"]?.string, let effect = Effect(written: word) else {
      throw ValueError("its effect can't be \(entry["effect"]?.written ?? "missing")", at: entry.place)
    }
    self.init(
      name: name, summary: entry["summary"]?.string ?? "", effect: effect,
      from: entry["effectFrom"]?.string.flatMap(EffectSource.init) ?? .standard,
      input: try given.fields(entry["input"]), output: try got.fields(entry["output"]),
      baseline: try entry["baseline"].map { value throws(ValueError) in try got.fields(value) },
      acceptsKey: entry["key"]?.bool ?? false, timeout: entry["timeout"]?.string.flatMap { TimeSpan($0) },
      call: entry["call"] ?? .map(ValueMap()))
  }

  /// The action's entry in a lock.
  package func entry(_ encoder: inout LockEncoder) -> ValueMap {
    var map = ValueMap()
    if !summary.isEmpty { map["summary"] = .string(summary) }
    map["effect"] = .string(effect.written)
    map["effectFrom"] = .string(effectSource.rawValue)
    map["input"] = encoder.fields(input)
    map["output"] = encoder.fields(output)
    if let baseline { map["baseline"] = encoder.fields(baseline) }
    if acceptsKey { map["key"] = .bool(true) }
    if let timeout { map["timeout"] = .string(timeout.description) }
    map["call"] = call
    return map
  }
}

extension Effect {
  /// The effect as locks, `x-errand-effect` and `--effect` write it: `idempotentWrite:1d`, `consume:2`.
  package var written: String {
    switch self {
    case .pure, .read, .write, .consume(...0), .idempotentWrite(.forever): name
    case .consume(let repeats): "consume:\(repeats)"
    case .idempotentWrite(.span(let span)): "idempotentWrite:\(span.written)"
    case .idempotentWrite(.sameDay(let zone)): "idempotentWrite:sameDay:\(zone)"
    }
  }

  /// Reads an effect in the form of `written`.
  package init?(written text: String) {
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    switch (parts[0], parts.count > 1 ? parts[1] : nil) {
    case ("pure", nil): self = .pure
    case ("read", nil): self = .read
    case ("write", nil): self = .write
    case ("consume", nil): self = .consume(repeats: 0)
    case ("consume", let count?):
      guard let repeats = Int(count), (0...1000).contains(repeats) else { return nil }
      self = .consume(repeats: repeats)
    case ("idempotentWrite", nil): self = .idempotentWrite(within: .forever)
    case ("idempotentWrite", let window?):
      if window.hasPrefix("sameDay:") {
        self = .idempotentWrite(within: .sameDay(zone: String(window.dropFirst("sameDay:".count))))
      } else {
        guard let span = TimeSpan(window), span > .zero else { return nil }
        self = .idempotentWrite(within: .span(span))
      }
    default: return nil
    }
  }
}

/// The error of a lock that can't be read, used or written: a sentence without full stop with the file and the fix.
package struct PluginLockError: Error, Sendable, CustomStringConvertible {
  package let message: String
  package init(_ message: String) { self.message = message }
  package var description: String { message }
}

extension [String: Effect] {
  /// Adds effects, which replace earlier ones; nil removes an effect.
  package mutating func give(_ given: [String: Effect?]) throws(PluginLockError) {
    for (name, effect) in given {
      if effect == nil, self[name] == nil {
        throw PluginLockError("'\(name.safe)' has no effect that was given by --effect, and could be taken back")
      }
      self[name] = effect
    }
  }
}

extension ValueMap {
  /// Writes the parts that `PluginLock.leftOut` reads into a lock's `source`.
  package mutating func setLeftOut(_ parts: [(part: String, reason: String)]) {
    if parts.isEmpty { return }
    self["leftOut"] = .list(parts.map { .object(["part": .string($0.part), "reason": .string($0.reason)]) })
  }
}
