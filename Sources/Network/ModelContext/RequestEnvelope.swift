package import Basics

/// The facts about its sender in a request's `params._meta`.
///
/// Since 2026-07-28 these are the protocol's version and the client's capabilities; before, both are known from the
/// handshake, and `_meta` holds at most a token for progress.
package struct RequestEnvelope: Sendable {
  /// The names of members that the protocol reserves in `_meta`.
  package enum Key {
    package static let version = "io.modelcontextprotocol/protocolVersion"
    package static let clientInfo = "io.modelcontextprotocol/clientInfo"
    package static let clientCapabilities = "io.modelcontextprotocol/clientCapabilities"
    /// In results: the server's name and version.
    package static let serverInfo = "io.modelcontextprotocol/serverInfo"
    package static let progressToken = "progressToken"
  }

  package var version: ProtocolVersion
  package var capabilities: ClientCapabilities
  /// The client's name for itself.
  package var client: String?

  package init(version: ProtocolVersion, capabilities: ClientCapabilities, client: String? = nil) {
    self.version = version
    self.capabilities = capabilities
    self.client = client
  }

  /// Whether a request says its version itself.
  package static func isIn(_ params: ValueMap) -> Bool { params["_meta"]?[Key.version] != nil }

  /// Reads what a request without a handshake has to say.
  package init(reading params: ValueMap) throws(ModelContextError) {
    guard let meta = params["_meta"]?.map, let given = meta[Key.version], let able = meta[Key.clientCapabilities] else {
      throw ModelContextError(
        .invalidParams, "'params._meta' must have '\(Key.version)' and '\(Key.clientCapabilities)'")
    }
    guard let text = given.string else {
      throw ModelContextError(.invalidParams, "'\(Key.version)' must be a string, not \(given.kindName)")
    }
    guard let version = ProtocolVersion(rawValue: text), version.isStateless else {
      throw ModelContextError.unsupported(text)
    }
    guard able.map != nil else {
      throw ModelContextError(.invalidParams, "'\(Key.clientCapabilities)' must be an object, not \(able.kindName)")
    }
    self.init(
      version: version, capabilities: ClientCapabilities(reading: able), client: meta[Key.clientInfo]?["name"]?.string)
  }

  /// The members of `_meta` that a client sends for the same facts.
  package func meta(client name: String, version number: String) -> ValueMap {
    ValueMap([
      (Key.version, .string(version.rawValue)),
      (Key.clientInfo, .object(["name": .string(name), "version": .string(number)])),
      (Key.clientCapabilities, capabilities.value),
    ])
  }

  /// The token that the sender wants in notifications of progress.
  package static func progressToken(in params: ValueMap) -> MessageID? {
    MessageID(params["_meta"]?[Key.progressToken])
  }
}

/// The capabilities of a client that this package uses.
package struct ClientCapabilities: Sendable, Hashable {
  /// Whether it asks its user to fill in a form.
  package var elicitsForms: Bool

  package init(elicitsForms: Bool = false) { self.elicitsForms = elicitsForms }

  package init(reading value: Value?) {
    // An empty object means forms, as before there were other modes.
    let modes = value?["elicitation"]?.map
    elicitsForms = modes.map { $0["form"] != nil || $0["url"] == nil } ?? false
  }

  package var value: Value {
    elicitsForms ? .object(["elicitation": .object(["form": .map(ValueMap())])]) : .map(ValueMap())
  }
}
