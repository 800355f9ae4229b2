import ActionKit
import Basics

/// The settings of an agent's server: `server` in `errand.yaml`.
package struct ServerSettings: Sendable, Equatable {
  /// An address with a port.
  package struct Address: Sendable, Equatable {
    /// An IPv4 or IPv6 address, without brackets.
    package var host: String
    /// 0 for any that is free.
    package var port: Int

    package init(host: String, port: Int) {
      self.host = host
      self.port = port
    }

    /// Reads `127.0.0.1:7373` or `[::1]:7373`; nil if the text isn't an address with a port.
    init?(_ text: String) {
      let bytes = Array(text.utf8)
      guard let colon = bytes.lastIndex(of: ASCII.colon),
        let port = UInt16(String(decoding: bytes[(colon + 1)...], as: UTF8.self))
      else { return nil }
      var host = String(decoding: bytes[..<colon], as: UTF8.self)
      if host.hasPrefix("["), host.hasSuffix("]") {
        host = String(host.dropFirst().dropLast())
        guard host.contains(":") else { return nil }
      } else {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, parts.allSatisfy({ UInt8(String($0)) != nil }) else { return nil }
      }
      self.init(host: host, port: Int(port))
    }

    /// Whether only this machine can connect to it.
    package var isLoopback: Bool { host == "::1" || host.hasPrefix("127.") }

    /// The address as it stands in a URL.
    package var text: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }
  }

  package var listen: [Address] = []
  /// The public URL of a proxy, which forwards requests, without a slash at its end.
  package var publicURL: String?
  /// Whether other machines may connect.
  package var allowsRemote = false
  package var tools = ToolSettings()
  /// Whether callers with a token may edit the folder's files, if the token has the scope `edit`.
  package var allowsEditing = false
  /// Who asks, for people who come by a link or log in.
  package var name: String?
  /// Where they can ask back.
  package var contact: String?

  package init() {}

  /// The URL of the agent, without a slash at its end; nil if there is none, or if its port is known only while it
  /// runs.
  package var base: String? { publicURL ?? listen.first { $0.port != 0 }.map { "http://\($0.text)" } }

  /// Why these may not be served; nil if they may.
  package func refusal(hasTokens: Bool) -> String? {
    guard let remote = listen.first(where: { !$0.isLoopback }) else { return nil }
    var missing: [String] = []
    if !allowsRemote { missing.append("'allowRemote: true'") }
    if publicURL == nil { missing.append("'publicURL', the address under which people reach it") }
    if !hasTokens { missing.append("a token, which 'errand token new NAME' makes") }
    guard let last = missing.last else { return nil }
    let list = missing.count == 1 ? last : "\(missing.dropLast().joined(separator: ", ")) and \(last)"
    return
      "other machines can reach \(remote.text), on which the agent would listen; 'server' in errand.yaml needs \(list)"
  }

  /// Reads `{listen, publicURL, allowRemote, mcp, edit, name, contact}`.
  static func read(_ value: Value, _ findings: Findings) -> ServerSettings {
    var settings = ServerSettings()
    guard let fields = Fields(value, of: "'server'", .server, findings) else { return settings }
    if let listen = fields["listen"] {
      for item in listen.list ?? [listen] {
        guard let text = findings.text(item, of: "'listen'") else { continue }
        if let address = Address(text) {
          settings.listen.append(address)
        } else {
          findings.error(
            "'\(text)' isn't an address with a port; write 127.0.0.1:7373, or [::1]:7373 for IPv6", at: item)
        }
      }
    }
    if let value = fields["publicURL"], let text = fields.text("publicURL") {
      let url = text.hasSuffix("/") ? String(text.dropLast()) : text
      let isSound = ["http://", "https://"].contains { scheme in
        let rest = url.dropFirst(scheme.count)
        return url.hasPrefix(scheme) && !rest.isEmpty
          && !rest.utf8.contains {
            $0 == ASCII.slash || $0 == ASCII.question || $0 == ASCII.hash || $0 == UInt8(ascii: "@")
          }
      }
      if isSound {
        settings.publicURL = url
      } else {
        findings.error(
          "'publicURL' takes a scheme and a host, such as https://errand.example.org, but is '\(text)'", at: value)
      }
    }
    settings.name = fields.text("name")
    settings.contact = fields.text("contact")
    if let value = fields["mcp"] { settings.tools = ToolSettings.read(value, findings) }
    if let value = fields["edit"] { settings.allowsEditing = findings.bool(value, of: "'edit'") ?? false }
    if let value = fields["allowRemote"] { settings.allowsRemote = findings.bool(value, of: "'allowRemote'") ?? false }
    return settings
  }
}
