import Basics

/// A need of a run, which a program must offer to run it, as in `RunCreated.needs`: a kind and a name, like
/// `secret:KEY`.
package enum RunNeed {
  package static func format(_ version: Int) -> String { "format:\(version)" }
  package static func plugin(_ name: String) -> String { "plugin:\(name)" }
  package static func connection(_ name: String) -> String { "connection:\(name)" }
  /// The secret of a name; for a setting of a connection, that connection.
  package static func secret(_ name: String) -> String {
    connection(ofSetting: name).map(connection) ?? "secret:\(name)"
  }

  /// The name of the secret that a need asks for; nil if it asks for something else.
  package static func secret(in need: String) -> String? {
    parts(of: need).flatMap { kind, name in kind == "secret" ? name : nil }
  }

  /// The connection of a secret setting, as the state names those: `connections.desk #1`; nil for any other secret.
  package static func connection(ofSetting name: String) -> String? {
    guard name.hasPrefix("connections."), let mark = name.firstIndex(of: " ") else { return nil }
    return String(name[..<mark].dropFirst("connections.".count))
  }

  /// The files of a machine and a folder.
  package static func home(_ home: String) -> String { "home:\(home)" }

  /// A need in words that follow "none has": `the secret KEY`.
  package static func inWords(_ need: String) -> String {
    guard let (kind, name) = parts(of: need) else { return need.safe }
    switch kind {
    case "format": return "a version of errand that reads the format \(name.safe)"
    case "plugin":
      // A plugin that isn't part of the program is asked for with the digest of its lock.
      let parts = name.split(separator: "@", maxSplits: 1)
      guard parts.count == 2, let name = parts.first, let digest = parts.last else {
        return "the plugin '\(name.safe)'"
      }
      return "the plugin '\(String(name).safe)' with the lock \(String(digest).safe.shortened(to: 19))"
    case "connection": return "the connection '\(name.safe)'"
    case "secret": return "the secret \(name.safe)"
    case "home": return "the files in \(place(of: name))"
    default: return need.safe
    }
  }

  /// A machine and a folder, for people: `/srv/school on lab-1`.
  package static func place(of home: String) -> String {
    guard let (host, folder) = parts(of: home) else { return home.safe }
    return "\(folder.safe) on \(host.safe)"
  }

  private static func parts(of text: String) -> (String, String)? {
    guard let colon = text.utf8.firstIndex(of: ASCII.colon) else { return nil }
    return (String(text[..<colon]), String(text[text.utf8.index(after: colon)...]))
  }
}
