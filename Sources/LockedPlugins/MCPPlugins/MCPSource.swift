package import ActionKit
package import Basics
import ModelContext
package import PluginLocks

/// The source of a plugin's tools, with the choices of the person who added the plugin: the member `source` of a lock.
package struct MCPSource: Sendable {
  /// How the server is reached.
  package enum Server: Sendable, Hashable {
    /// A program and its arguments, which speaks on its standard streams; a path with a slash counts from the folder of
    /// errand.yaml.
    case command([String])
    /// An address of the transport Streamable HTTP.
    case url(String)
  }

  package var server: Server
  /// Whether `readOnlyHint` and `idempotentHint` count.
  package var trustsHints: Bool
  /// Effects that a person gave to tools; they count before the server's own.
  ///
  /// The keys are the names of the tools or, in a new source, of their actions.
  package var effects: [String: Effect]
  /// Whether dates and times are texts, because the server writes them otherwise than RFC 3339 does.
  package var readsDatesAsText = false
  /// The version of the protocol that the server spoke before, which is tried first.
  private(set) var spoken: ProtocolVersion?
  /// The tools that have an effect in the earlier lock; the server may not have them any more.
  private(set) var earlier: Set<String> = []
  /// The actions' names in an earlier lock, by tool.
  private(set) var names: [String: String] = [:]

  package init(_ server: Server, trustsHints: Bool = false, effects: [String: Effect] = [:]) {
    self.server = server
    self.trustsHints = trustsHints
    self.effects = effects
  }

  /// Reads the `source` of a lock, for `errand plugin update`.
  package init(of lock: PluginLock) throws(PluginLockError) {
    let source = lock.source
    func fault(_ what: String) -> PluginLockError { PluginLockError("\(lock.file): its source has \(what)") }
    if let url = source["url"]?.string {
      server = .url(url)
    } else if let command = source["command"]?.string {
      server = .command([command] + (source["arguments"]?.list ?? []).compactMap(\.string))
    } else {
      throw fault("neither 'command' nor 'url'")
    }
    trustsHints = source["trustHints"]?.bool ?? false
    readsDatesAsText = source["dates"]?.string == "text"
    spoken = lock.connection["protocol"]?.string.flatMap(ProtocolVersion.init(rawValue:))
    for name in lock.actionNames {
      if let tool = lock.document["actions"]?[name]?["call"]?["tool"]?.string { names[tool] = name }
    }
    effects = [:]
    for member in source["effects"]?.map?.members ?? [] {
      guard let tool = member.name, let effect = member.value.string.flatMap(Effect.init(written:)) else {
        throw fault("the effect \(member.value.written), which doesn't exist")
      }
      effects[self.tool(tool)] = effect
      earlier.insert(self.tool(tool))
    }
  }

  /// The tool for a person's name, which may be its action's.
  private func tool(_ name: String) -> String {
    names[name] == nil ? names.first { $0.value.hasSameScalars(as: name) }?.key ?? name : name
  }

  /// Gives effects that replace those given earlier; nil removes one.
  package mutating func give(_ given: [String: Effect?]) throws(PluginLockError) {
    var byTool: [String: Effect?] = [:]
    for (name, effect) in given where byTool.updateValue(effect, forKey: tool(name)) != nil {
      throw Self.givenTwice(tool(name))
    }
    try effects.give(byTool)
  }

  static func givenTwice(_ tool: String) -> PluginLockError {
    PluginLockError("the tool '\(tool.safe)' is given two effects, one by the name of its action; give it one")
  }

  package var value: ValueMap {
    var map = ValueMap()
    switch server {
    case .url(let url): map["url"] = .string(url)
    case .command(let words):
      map["command"] = .string(words.first ?? "")
      map["arguments"] = .list(words.dropFirst().map(Value.string))
    }
    if trustsHints { map["trustHints"] = .bool(true) }
    if readsDatesAsText { map["dates"] = .string("text") }
    if !effects.isEmpty {
      var written = ValueMap()
      for (tool, effect) in effects.sorted(by: { $0.key.precedesByScalars($1.key) }) {
        written[tool] = .string(effect.written)
      }
      map["effects"] = .map(written)
    }
    return map
  }
}
