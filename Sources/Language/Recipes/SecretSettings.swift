import ActionKit
package import Basics

/// The settings under `secrets` in `errand.yaml`: the sources of the secrets that recipes and connections name.
package struct SecretSettings: Sendable, Equatable {
  /// A program that prints one secret.
  package struct Command: Sendable, Equatable {
    /// The program's name and its arguments, which no shell reads.
    package var words: [String]
    package var timeout: TimeSpan
    /// How long a printed secret is valid; nil for as long as this program runs.
    package var renew: TimeSpan?

    package init(_ words: [String], timeout: TimeSpan = .seconds(30), renew: TimeSpan? = nil) {
      self.words = words
      self.timeout = timeout
      self.renew = renew
    }
  }

  /// Whether variables of the environment count.
  package var environment = true
  /// Files that map names to secrets.
  package var files: [String] = []
  /// Such files encrypted with age, and the file of the identity that opens them.
  package var ageFiles: [String] = []
  package var ageIdentity: String?
  /// By the name of the secret that each prints.
  package var commands: [String: Command] = [:]

  package init() {}
}

/// Reads `secrets` of `errand.yaml`.
struct SecretSettingsReader {
  let findings: Findings

  func read(_ value: Value, into settings: inout SecretSettings) {
    guard let fields = Fields(value, of: "'secrets'", .secrets, findings) else { return }
    if let flag = fields.bool("environment") { settings.environment = flag }
    if let files = fields.texts("files") { settings.files = files }
    if let value = fields["age"], let inner = Fields(value, of: "'age'", .ageFiles, findings) {
      _ = inner.require("files", "the files that age encrypted")
      settings.ageFiles = inner.texts("files") ?? []
      settings.ageIdentity = inner.require("identity", "the file of the identity that opens them, of mode 0600")
        .flatMap { findings.text($0, of: "'identity'") }
    }
    if let value = fields["commands"] {
      guard let map = value.map else {
        findings.error(
          "'commands' takes a mapping from names of secrets to commands such as [pass, show, school], but found \(value.written)",
          at: value)
        return
      }
      for member in map.members { read(command: member, into: &settings) }
    }
  }

  /// Reads a list of words, or `{run, timeout, renew}`.
  private func read(command member: ValueMap.Member, into settings: inout SecretSettings) {
    guard let name = findings.text(member.key, of: "the name of a secret") else { return }
    var words = member.value
    var timeout: TimeSpan?
    var renew: TimeSpan?
    if member.value.map != nil {
      guard
        let fields = Fields(member.value, of: "the command of '\(name)'", .secretCommand, findings),
        let run = fields.require("run", "the program and its arguments, as a list")
      else { return }
      words = run
      timeout = fields.duration("timeout")
      renew = fields.duration("renew")
    }
    guard let list = words.list, !list.isEmpty else {
      // As a text it would have to be taken apart, as only a shell does.
      findings.error(
        "the command of '\(name)' is a list of its program and each argument, such as [pass, show, school], but found \(words.displayed)",
        at: words)
      return
    }
    let texts = list.compactMap { findings.text($0, of: "a word of the command") }
    guard texts.count == list.count else { return }
    guard texts.first != "" else {
      findings.error("the command of '\(name)' has no program", at: list[0])
      return
    }
    settings.commands[name] = SecretSettings.Command(
      texts, timeout: timeout ?? .seconds(30), renew: renew)
  }
}
