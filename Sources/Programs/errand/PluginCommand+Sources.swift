import ActionKit
import Agent
import AgentRuntime
import Basics
import CommandLineParser
import HTTPClient
import MCPPlugins
import PluginLocks
import Recipes
import Runs
import SecretSources

// The sources of plugins and their options on the command line, for `errand plugin add` and `update`.

extension PluginCommand {
  func refuse(_ options: [String], _ reason: String) throws(RuntimeError) {
    for option in options where parsed[option].isGiven { throw RuntimeError(.usage, "--\(option) \(reason)") }
  }

  /// The effects of the command line, by the names of actions or tools; nil for one that is taken back.
  func effects(takingBack: Bool) throws(RuntimeError) -> [String: Effect?] {
    var effects: [String: Effect?] = [:]
    for text in parsed["effect"].texts {
      let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
      let word = parts.count == 2 ? parts[1] : nil
      let effect = word.flatMap { Effect(written: $0) }
      guard let word, effect != nil || takingBack && word == "default" else {
        throw RuntimeError(.usage, Self.fault(ofEffect: text, word, takingBack))
      }
      guard effects.updateValue(effect, forKey: parts[0]) == nil else {
        throw RuntimeError(.usage, "--effect gives '\(parts[0])' two effects; give it one")
      }
    }
    return effects
  }

  private static func fault(ofEffect text: String, _ effect: String?, _ takingBack: Bool) -> String {
    if let effect, effect.hasPrefix("idempotentWrite:") {
      let span = effect.dropFirst("idempotentWrite:".count)
      return "'\(span)' isn't a length of time for --effect \(text); write it like idempotentWrite:1d"
    }
    let words = ["pure", "read", "consume", "idempotentWrite", "write"]
    let guess = effect?.nearest(among: words).map { "; did you mean '\($0)'?" } ?? ""
    return
      "--effect takes NAME=EFFECT, with one of \(words.joined(separator: ", ")), or idempotentWrite:1d and the like, "
      + "\(takingBack ? "or default to take it back, " : "")but found '\(text)'\(guess)"
  }

  func isAddress(_ text: String) -> Bool { text.hasPrefix("https://") || text.hasPrefix("http://") }

  /// Whether a text looks like an address without its scheme: `shop.example/openapi.json`, `127.0.0.1:8000`.
  func mayBeAddress(_ text: String) -> Bool {
    let host = text.prefix { $0 != "/" }
    return !host.hasPrefix(".") && !text.contains(" ") && HTTPURL("http://\(text)") != nil
      && (host.contains(":") || host.contains(".") && host != text[...])
  }

  func refuseOtherAddress(_ text: String) throws(RuntimeError) {
    if text.contains("://"), !isAddress(text) {
      throw RuntimeError(.usage, "'\(text)' can't be read; an address begins with https:// or http://")
    }
  }

  /// The sources of secrets in errand.yaml, even if other parts of it have errors.
  var secretSources: SecretSources {
    SecretSources(
      configuration(dispatch.catalog)?.configuration.secrets ?? SecretSettings(), folder: root,
      environment: Workspace.environmentVariables)
  }

  /// The configuration of errand.yaml, as far as it can be read, with its faults.
  func configuration(_ catalog: ActionCatalog) -> (configuration: Configuration, diagnostics: [Diagnostic])? {
    guard let path = try? Workspace.configurationFile(parsed["config"].text, besides: nil),
      let bytes = try? Files.read(path, limit: 1 << 20)
    else { return nil }
    return Configuration.read(Source(name: path, bytes: bytes), catalog: catalog)
  }

  /// A secret that the server is started or asked with; nil if no source has it.
  func secret(_ name: String, in sources: SecretSources) async throws(RuntimeError) -> String? {
    do throws(SecretError) { return try await sources.find(name)?.value } catch {
      throw RuntimeError(.configuration, error.message)
    }
  }

  func context(of name: String) -> PluginContext {
    var context = PluginContext(connection: name, time: SystemTime())
    context.folder = root
    return context
  }

  static let downloading = "download the document, and name the file"

  /// The lock keeps an address, and belongs in version control.
  func refuseCredentials(in address: String, _ fix: String = downloading) throws(RuntimeError) {
    guard let url = HTTPURL(address) else { return }
    if url.userInfo != nil {
      throw RuntimeError(.usage, "the address has a user or a password in it, which the lock would keep; \(fix)")
    }
    for pair in (url.query ?? "").split(separator: "&") {
      let name = String(pair.prefix { $0 != "=" })
      if name.namesSecret || ["key", "auth", "sig", "signature"].contains(name.lowercased()) {
        throw RuntimeError(.usage, "the address has '\(name.safe)' in it, which the lock would keep; \(fix)")
      }
    }
  }

  /// Makes the lock of a server from its tools.
  ///
  /// The secrets given to the server appear in no message, and not in the lock, which belongs in version control.
  func lock(
    of source: MCPSource, named name: String, _ settings: Value
  ) async throws(RuntimeError) -> PluginLock {
    var hidden = [settings["token"]?.string].compactMap(\.self)
    for name in ["secretHeaders", "secretEnvironment"] {
      hidden += (settings[name]?.map?.members ?? []).compactMap(\.value.string)
    }
    let redactor = Redactor(hidden)
    let result = await OutsideText.redacted(by: { redactor.redact($0, isCut: $1) }) {
      () -> Result<PluginLock, RuntimeError> in
      do throws(PluginLockError) {
        return .success(try await MCPKind.lock(name: name, source: source, settings: settings, in: context(of: name)))
      } catch {
        return .failure(RuntimeError(.invalid, redactor.redact(error.message).safeLines(indent: "")))
      }
    }
    let lock = try result.get()
    func holdsSecret(_ value: Value?) -> Bool {
      guard let value, let text = try? JSON.text(value) else { return false }
      return !redactor.redact(text).hasSameScalars(as: text)
    }
    if holdsSecret(lock.document) {
      let actions = lock.actionNames.filter { holdsSecret(lock.document["actions"]?[$0]) }
      throw RuntimeError(
        .invalid,
        "'\(name)' shows a secret that it was given in what it says of \(actions.isEmpty ? "itself" : joined(actions))"
          + ", and the lock would keep it; have the server leave it out")
    }
    return lock
  }

  /// Says that the lock keeps the whole command, if a secret seems to be in it.
  func tellSecrets(in words: [String]) {
    for (word, before) in zip(words.dropFirst(), words) {
      let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
      let name = parts.count == 2 ? parts[0] : before.hasPrefix("-") ? before : ""
      if name.drop(while: { $0 == "-" }).description.namesSecret {
        console.say("note: the lock keeps the whole command; give what '\(name.safe)' is with --env NAME instead")
      }
    }
  }

  /// Reads the files that a document refers to.
  ///
  /// They are in the document's folder, or in errand.yaml's if the document is inside that. In messages, the text of an
  /// error follows the reference.
  func files(of document: String) -> (String) throws(PluginLockError) -> [UInt8] {
    if isAddress(document) {
      return { (_: String) throws(PluginLockError) -> [UInt8] in
        throw PluginLockError(", and files are read only beside a document that is a file; download them with it")
      }
    }
    let folder = Workspace.folder(of: Workspace.absolute(document, in: root))
    let folders = [folder, root].compactMap(realPath)
    return { (path: String) throws(PluginLockError) -> [UInt8] in
      // The target of a link decides.
      guard let file = realPath(of: "\(folder)/\(path)") else { throw PluginLockError(": no such file") }
      func isBelow(_ file: String, _ folder: String?) -> Bool { folder.flatMap(file.rest) != nil }
      guard isBelow(file, folders.first) || isBelow(folders.first ?? "", folders.last) && isBelow(file, folders.last)
      else { throw PluginLockError(", which is outside of the folders of the document and of errand.yaml") }
      do throws(FileError) { return try Files.read(file, limit: PluginLock.mostBytes) } catch {
        throw PluginLockError(": \(error.description)")
      }
    }
  }

  /// Reads a document: a file, with a path relative to the folder of errand.yaml, or the answer of an address.
  func contents(of document: String) async throws(RuntimeError) -> [UInt8] {
    if isAddress(document) {
      try refuseCredentials(in: document)
      var request = HTTPRequest("GET", document, headers: ["Accept": "application/json, application/yaml, */*;q=0.5"])
      request.limits.maxBodyBytes = PluginLock.mostBytes
      let response: HTTPResponse
      do throws(HTTPError) { response = try await HTTPClient().send(request) } catch {
        guard error.kind == .tooLarge else {
          // A connection's 'certificateAuthorities' are for its calls; its document may be anywhere.
          throw RuntimeError(
            .unavailable, error.message.replacing("as 'certificateAuthorities' of the connection, or in", with: "in"))
        }
        throw RuntimeError(
          .invalid,
          "\(request.redactedURL) is larger than \(PluginLock.mostBytes) bytes, which is the most that can be read")
      }
      guard response.isSuccess else {
        let fix = [401, 403].contains(response.status) ? "; \(Self.downloading)" : ""
        throw RuntimeError(
          .unavailable, "GET \(request.redactedURL) was answered with HTTP status \(response.status)\(fix)")
      }
      if response.headers["Content-Type"]?.lowercased().hasPrefix("text/html") == true {
        let path = HTTPURL(response.url)?.path ?? ""
        let place = path == HTTPURL(document)?.path ? "" : " at \(path.safe)"
        throw RuntimeError(
          .invalid,
          "GET \(request.redactedURL) was answered with a web page\(place); if the document needs a login, \(Self.downloading)"
        )
      }
      return response.body
    }
    do throws(FileError) {
      return try Files.read(Workspace.absolute(document, in: root), limit: PluginLock.mostBytes)
    } catch {
      let fix = mayBeAddress(document) ? "; an address begins with https:// or http://" : ""
      throw RuntimeError(.noInput, "\(error.description)\(fix)")
    }
  }
}
