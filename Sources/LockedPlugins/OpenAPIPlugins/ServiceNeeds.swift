// The address of a document's service, and the credentials that it takes. A lock has them under `connection`:
//     {"baseURL": "https://pets.example/v2", "schemes": ["bearer", {"header": "X-API-Key"}], "security": ["bearer"],
//      "others": [{"security": [{"header": "X-API-Key"}], "operations": 2, "such": ["GET /a", "GET /b"]}]}
//
// `schemes` are all schemes that the service knows. `security` are those that most of its operations need, all
// together. `others` are the needs of the remaining operations: `security` of another kind, or `unsupported`, words for
// credentials that no connection can give. `assumed` says that the form of the header Authorization isn't known.
// `baseURL` is left out if the document doesn't name the host; `path` is then the end of the address.
//
// A connection has the settings of `http`, with the document's address as the standard, and `apiKey` where the document
// has such a key.

import ActionKit
import Basics
import HTTPClient
import HTTPPlugin
import PluginLocks

struct ServiceNeeds {
  private var baseURL: String?
  private var path: String?
  private var schemes: [OpenAPIDocument.Scheme] = []
  private var security: [OpenAPIDocument.Scheme] = []
  private var others: [Other] = []
  private var isAssumed = false
  /// How many operations there are.
  private var operations = 0

  /// Operations that the connection doesn't authorise.
  private struct Other {
    var security: [OpenAPIDocument.Scheme] = []
    /// Words for the credentials that no connection can give.
    var unsupported: [String] = []
    var operations: Int
    /// Some of them.
    var such: [String]
  }

  private static let mostKinds = 50
  private static let mostExamples = 3

  /// - Parameters:
  ///   - source: Where the document is from, which a server without a host counts from.
  ///   - server: Where the operations are.
  ///   - operations: The operations that became actions.
  init(
    _ document: OpenAPIDocument, from source: String, at server: String?, for operations: [OpenAPIDocument.Operation]
  ) {
    for scheme in document.credentials.compactMap(\.credential.scheme) where !schemes.contains(scheme) {
      schemes.append(scheme)
    }
    self.operations = operations.count
    choose(among: document.wanted(by: operations))
    isAssumed = security.contains { document.isAssumed($0, of: operations) }
    guard let server = server ?? (HTTPURL(source) == nil ? nil : "/") else { return }
    var address = server
    if HTTPURL(address) == nil, let from = HTTPURL(source), let whole = from.resolving(server) { address = whole.text }
    address = address.withoutSlashesAtEnd
    if TextPattern.baseURL.matches(address), HTTPURL(address) != nil {
      baseURL = address
    } else if address.hasPrefix("/"), !address.hasPrefix("//"), address.utf8.count <= 200,
      TextPattern.baseURL.matches("https://host\(address)"), HTTPURL("https://host\(address)") != nil
    {
      path = address
    }
  }

  /// Chooses the credentials that authorise most operations, and notes the others' needs.
  private mutating func choose(
    among wanted: [(alternatives: [[OpenAPIDocument.Credential]], operations: [OpenAPIDocument.Operation])]
  ) {
    /// An alternative that a connection gives.
    func given(_ alternative: [OpenAPIDocument.Credential]) -> [OpenAPIDocument.Scheme]? {
      let schemes = alternative.compactMap(\.scheme)
      return schemes.count == alternative.count ? schemes : nil
    }
    /// Prefers alternatives without a cookie: a cookie mostly belongs to a session, and expires with it.
    func alternatives(_ kind: [[OpenAPIDocument.Credential]]) -> [[OpenAPIDocument.Scheme]] {
      let all = kind.compactMap(given)
      return all.filter { !$0.contains(where: \.isCookie) } + all.filter { $0.contains(where: \.isCookie) }
    }
    let kinds = wanted.map { (alternatives: alternatives($0.alternatives), wanted: $0) }
    func authorises(_ schemes: [OpenAPIDocument.Scheme], _ alternatives: [[OpenAPIDocument.Scheme]]) -> Bool {
      alternatives.contains { $0.allSatisfy(schemes.contains) }
    }
    var best = (count: 0, schemes: [OpenAPIDocument.Scheme]())
    var tried: Set<[OpenAPIDocument.Scheme]> = []
    for kind in kinds {
      for schemes in kind.alternatives where tried.count < Self.mostKinds && tried.insert(schemes).inserted {
        let count = kinds.reduce(0) { $0 + (authorises(schemes, $1.alternatives) ? $1.wanted.operations.count : 0) }
        if count > best.count { best = (count, schemes) }
      }
    }
    security = best.schemes
    for kind in kinds where security.isEmpty || !authorises(security, kind.alternatives) {
      let schemes = kind.alternatives.first ?? []
      let unsupported = schemes.isEmpty ? Self.unsupported(kind.wanted.alternatives) : []
      let names = kind.wanted.operations.map(\.name)
      if let index = others.firstIndex(where: { $0.security == schemes && $0.unsupported == unsupported }) {
        others[index].operations += names.count
        others[index].such = Array((others[index].such + names).prefix(Self.mostExamples))
      } else if others.count < Self.mostKinds {
        others.append(
          Other(
            security: schemes, unsupported: unsupported, operations: names.count,
            such: Array(names.prefix(Self.mostExamples))))
      } else {
        others[others.count - 1].operations += names.count
      }
    }
  }

  private static func unsupported(_ alternatives: [[OpenAPIDocument.Credential]]) -> [String] {
    (alternatives.first ?? []).compactMap { if case .unsupported(let words) = $0 { words.safe } else { nil } }
  }

  init(_ lock: PluginLock) {
    baseURL = lock.connection["baseURL"]?.string
    path = lock.connection["path"]?.string
    schemes = (lock.connection["schemes"]?.list ?? []).compactMap(OpenAPIDocument.Scheme.init(written:))
    security = (lock.connection["security"]?.list ?? []).compactMap(OpenAPIDocument.Scheme.init(written:))
    isAssumed = lock.connection["assumed"]?.bool ?? false
    operations = lock.connection["operations"]?.int ?? 0
    others = (lock.connection["others"]?.list ?? []).map { other in
      Other(
        security: (other["security"]?.list ?? []).compactMap(OpenAPIDocument.Scheme.init(written:)),
        unsupported: (other["unsupported"]?.list ?? []).compactMap(\.string),
        operations: other["operations"]?.int ?? 1, such: (other["such"]?.list ?? []).compactMap(\.string))
    }
  }

  var written: ValueMap {
    var map = ValueMap()
    if let baseURL { map["baseURL"] = .string(baseURL) }
    if let path { map["path"] = .string(path) }
    if !schemes.isEmpty { map["schemes"] = .list(schemes.map(\.written)) }
    if !security.isEmpty { map["security"] = .list(security.map(\.written)) }
    if isAssumed { map["assumed"] = .bool(true) }
    if others.isEmpty { return map }
    map["operations"] = .int(operations)
    map["others"] = .list(
      others.map { other in
        var entry = ValueMap([("operations", .int(other.operations)), ("such", .list(other.such.map(Value.string)))])
        if !other.security.isEmpty { entry["security"] = .list(other.security.map(\.written)) }
        if !other.unsupported.isEmpty { entry["unsupported"] = .list(other.unsupported.map(Value.string)) }
        return .map(entry)
      })
    return map
  }

  /// Whether its operations ask for credentials.
  var asksForCredentials: Bool { !security.isEmpty || !others.isEmpty }

  /// The key that `apiKey` is.
  private var key: OpenAPIDocument.Scheme? { (security + schemes).first(where: \.isKey) }

  // MARK: Settings

  var configuration: ObjectSchema {
    var fields: [FieldSchema] = []
    for var field in HTTPPlugin.Configuration.schema.fields {
      switch field.name {
      // The document says both.
      case "allowOtherHosts", "honoursIdempotencyKey": continue
      case "baseURL":
        field.isOptional = false
        field.fallback = baseURL.map(Value.string)
        field.summary =
          path.map { "The service's address, with \($0) at its end if the service is as its document says." }
          ?? "The service's address."
      case "token":
        fields.append(field)
        if let key {
          fields.append(
            FieldSchema(
              "apiKey", .secret(.string), "The service's key, which is sent as \(key.words).", isOptional: true,
              limits: [.minLength(1)]))
        }
        continue
      default: break
      }
      fields.append(field)
    }
    return ObjectSchema(fields: fields.filter(\.isRequired) + fields.filter { !$0.isRequired }) { [self] value in
      HTTPPlugin.Configuration.schema.conflicts(in: forHTTP(value))
    }
  }

  /// The settings of `http` among these, with the document's address as the default.
  private func forHTTP(_ value: Value) -> Value {
    var map = value.map ?? ValueMap()
    map["apiKey"] = nil
    if map["baseURL"]?.isNull ?? true, let baseURL { map["baseURL"] = .string(baseURL) }
    return .map(map)
  }

  /// The settings in the form of the plugin `http`.
  func settings(_ value: Value, as path: String) throws(ValueError) -> HTTPPlugin.Configuration {
    var settings = try HTTPPlugin.Configuration(checking: forHTTP(value), as: path)
    if let secret = value["apiKey"]?.string, let key {
      switch key {
      case .header(let name): settings.secretHeaders[name] = Secret(secret)
      case .query(let name): settings.secretQuery[name] = Secret(secret)
      case .bearer, .basic, .cookie, .authorization: break
      }
    }
    return settings
  }

  /// Which settings have the credentials that the document speaks of, as `'token', or 'username' and 'password'`; nil if
  /// it speaks of none.
  var credentials: String? {
    var words: [String] = []
    let all = security.isEmpty ? schemes : security
    let sorted =
      all.filter { $0 == .bearer } + all.filter { $0 == .basic } + all.filter { ![.bearer, .basic].contains($0) }
    for setting in sorted.map({ $0.setting(key) }) where !words.contains(setting) {
      words.append(setting)
    }
    return words.isEmpty ? nil : words.joined(separator: security.isEmpty ? ", or " : ", and ")
  }

  // MARK: A sketch

  func sketch(_ name: String) -> String {
    var lines = ["  \(name):"]
    if let baseURL {
      lines.append("    baseURL: \(baseURL)")
    } else {
      lines.append("    baseURL: https://HOST\(path ?? "")")
    }
    var taken: Set<String> = []
    func secret(_ word: String) -> String { "${{ secrets.\("\(name.variable)_\(word)".free(among: &taken)) }}" }
    if security.contains(.bearer) { lines.append("    token: \(secret("TOKEN"))") }
    if security.contains(.basic) {
      lines.append("    username: NAME")
      lines.append("    password: \(secret("PASSWORD"))")
    }
    var headers: [(String, String)] = []
    var query: [(String, String)] = []
    var cookies: [String] = []
    // One key has a setting of its own.
    let hasOneKey = security.count(where: \.isKey) == 1 && security.first(where: \.isKey) == key
    for scheme in security {
      switch scheme {
      case .bearer, .basic: continue
      case .header, .query:
        if hasOneKey {
          lines.append("    apiKey: \(secret("KEY"))")
        } else if case .query(let name) = scheme {
          query.append((name, secret(name.secretName)))
        } else if case .header(let name) = scheme {
          headers.append((name, secret(name.secretName)))
        }
      case .authorization(let form): headers.append(("Authorization", form + secret("TOKEN")))
      case .cookie(let name): cookies.append("\(name)=\(secret(name.secretName))")
      }
    }
    if !cookies.isEmpty { headers.append(("Cookie", cookies.joined(separator: "; "))) }
    for (setting, members) in [("secretHeaders", headers), ("secretQuery", query)] where !members.isEmpty {
      lines.append("    \(setting):")
      lines += members.map { "      \($0.0.plainKey): \($0.1.plainKey)" }
    }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The needs that the sketch doesn't meet, in a sentence or two for each kind of credentials.
  func notes(_ name: String) -> [String] {
    var notes: [String] = []
    if isAssumed {
      notes.append(
        "The document doesn't say what precedes the key in the header Authorization; 'token' sends 'Bearer'. If that is "
          + "refused, write the whole header under 'secretHeaders'.")
    }
    let total = max(operations, others.reduce(0) { $0 + $1.operations })
    let sorted = others.filter(\.unsupported.isEmpty) + others.filter { !$0.unsupported.isEmpty }
    for other in sorted {
      let isOne = other.operations == 1
      let such = other.such.joined(separator: ", ") + (other.operations > other.such.count ? ", …" : "")
      let count = "\(other.operations) of \(total) operations"
      if other.unsupported.isEmpty {
        var words: [String] = []
        for word in other.security.map({ $0.setting(nil) }) where !words.contains(word) { words.append(word) }
        notes.append(
          "This connection doesn't authorise \(count) (\(such)), which \(isOne ? "needs" : "need") "
            + "\(words.joined(separator: ", and ")). Add a second one with 'plugin: \(name)' for \(isOne ? "it" : "them"), and "
            + "name that in the step\(isOne ? "" : "s") under 'connection'.")
      } else {
        notes.append(
          "No connection can give the credentials that \(count) \(isOne ? "needs" : "need") (\(such)): "
            + "\(other.unsupported.joined(separator: ", and ")). Send them through a proxy that adds them.")
      }
    }
    return notes
  }
}

extension String {
  /// The name of a variable for a text: `my-plugin` becomes `MY_PLUGIN`.
  fileprivate var variable: String {
    String(
      decoding: utf8.map { byte in
        ASCII.lowercase.contains(byte)
          ? byte & 0xDF : ASCII.digits.contains(byte) || ASCII.uppercase.contains(byte) ? byte : ASCII.underscore
      }, as: UTF8.self)
  }

  /// The name of the secret for a header field or a parameter: `X-Client-Id` is `CLIENT_ID`.
  fileprivate var secretName: String {
    let words = variable.split(separator: "_")
    let own = words.first == "X" && words.count > 1 ? words.dropFirst() : words[...]
    return own.isEmpty ? "KEY" : own.joined(separator: "_")
  }

  /// The text in YAML, which takes it for this text.
  fileprivate var plainKey: String {
    let isPlain =
      utf8.first.map { $0 == ASCII.dollar || ASCII.isLetter($0) } == true
      && utf8.allSatisfy { ASCII.isLetter($0) || ASCII.digits.contains($0) || "-_$={}. ;".utf8.contains($0) }
      && !hasSuffix(" ")
    let words = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"]
    return isPlain && !words.contains(lowercased()) ? self : JSON.quoted(self)
  }
}

extension OpenAPIDocument.Scheme {
  fileprivate var isKey: Bool {
    switch self {
    case .header, .query: true
    case .bearer, .basic, .cookie, .authorization: false
    }
  }

  fileprivate var isCookie: Bool { if case .cookie = self { true } else { false } }

  /// The setting that gives it, in words.
  ///
  /// - Parameter key: The scheme that `apiKey` sets.
  fileprivate func setting(_ key: Self?) -> String {
    switch self {
    case .bearer: "'token'"
    case .basic: "'username' and 'password'"
    case _ where self == key: "'apiKey'"
    case .header(let name): "the header \(name)"
    case .query(let name): "the parameter \(name) of the query"
    case .cookie(let name): "the cookie \(name)"
    case .authorization(let form): "the header Authorization\(form.isEmpty ? "" : " with '\(form)'")"
    }
  }

  fileprivate var written: Value {
    switch self {
    case .bearer: .string("bearer")
    case .basic: .string("basic")
    case .header(let name): .object(["header": .string(name)])
    case .query(let name): .object(["query": .string(name)])
    case .cookie(let name): .object(["cookie": .string(name)])
    case .authorization(let form): .object(["authorization": .string(form)])
    }
  }

  fileprivate init?(written value: Value) {
    if value.string == "bearer" {
      self = .bearer
    } else if value.string == "basic" {
      self = .basic
    } else if let name = value["header"]?.string {
      self = .header(name)
    } else if let name = value["query"]?.string {
      self = .query(name)
    } else if let name = value["cookie"]?.string {
      self = .cookie(name)
    } else if let form = value["authorization"]?.string {
      self = .authorization(form)
    } else {
      return nil
    }
  }

  fileprivate var words: String {
    switch self {
    case .bearer: "`Authorization: Bearer`"
    case .basic: "`Authorization: Basic`"
    case .header(let name): "the header field \(name)"
    case .query(let name): "the parameter \(name) of the query"
    case .cookie, .authorization: setting(nil)
    }
  }
}

extension HTTPPlugin.Configuration {
  /// Whether requests have any credentials.
  var hasCredentials: Bool { token != nil || username != nil || !secretHeaders.isEmpty || !secretQuery.isEmpty }
}
