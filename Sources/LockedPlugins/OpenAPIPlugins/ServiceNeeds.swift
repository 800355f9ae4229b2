// What a document says of its service: where it is, and which credentials it takes. A lock has it under `connection`:
//
//     {"baseURL": "https://pets.example/v2", "schemes": ["bearer", {"header": "X-API-Key"}], "security": ["bearer"]}
//
// `schemes` are all that it knows, and `security` is what its operations ask for. `baseURL` is left out where the document doesn't say the host; `path` is what an address has to end with, then.
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

  /// - Parameters:
  ///   - source: Where the document is from, which a server without a host counts from.
  ///   - operations: Those that become actions.
  init(_ document: OpenAPIDocument, from source: String, for operations: [OpenAPIDocument.Operation]) {
    schemes = document.schemes
    security = document.security(of: operations)
    // Without a server it is where the document is (OpenAPI 3.1, "OpenAPI Object"; 2.0, `host`).
    guard let server = document.server ?? (HTTPURL(source) == nil ? nil : "/") else { return }
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

  init(_ lock: PluginLock) {
    baseURL = lock.connection["baseURL"]?.string
    path = lock.connection["path"]?.string
    schemes = (lock.connection["schemes"]?.list ?? []).compactMap(OpenAPIDocument.Scheme.init(written:))
    security = (lock.connection["security"]?.list ?? []).compactMap(OpenAPIDocument.Scheme.init(written:))
  }

  var written: ValueMap {
    var map = ValueMap()
    if let baseURL { map["baseURL"] = .string(baseURL) }
    if let path { map["path"] = .string(path) }
    if !schemes.isEmpty { map["schemes"] = .list(schemes.map(\.written)) }
    if !security.isEmpty { map["security"] = .list(security.map(\.written)) }
    return map
  }

  /// Whether its operations ask for credentials.
  var asksForCredentials: Bool { !security.isEmpty }

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
          path.map { "Where the service is, with \($0) at its end if the service is as its document says." }
          ?? "Where the service is."
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

  /// The settings that are those of `http`, with the document's address as the standard.
  private func forHTTP(_ value: Value) -> Value {
    var map = value.map ?? ValueMap()
    map["apiKey"] = nil
    if map["baseURL"]?.isNull ?? true, let baseURL { map["baseURL"] = .string(baseURL) }
    return .map(map)
  }

  /// The settings as those of `http`.
  func settings(_ value: Value, as path: String) throws(ValueError) -> HTTPPlugin.Configuration {
    var settings = try HTTPPlugin.Configuration(checking: forHTTP(value), as: path)
    if let secret = value["apiKey"]?.string, let key {
      switch key {
      case .header(let name): settings.secretHeaders[name] = Secret(secret)
      case .query(let name): settings.secretQuery[name] = Secret(secret)
      case .bearer, .basic: break
      }
    }
    return settings
  }

  /// Which settings have the credentials that the document speaks of, as `'token', or 'username' and 'password'`; nil if
  /// it speaks of none.
  var credentials: String? {
    let schemes = security.isEmpty ? schemes : security
    var words: [String] = []
    if schemes.contains(.bearer) { words.append("'token'") }
    if schemes.contains(.basic) { words.append("'username' and 'password'") }
    if schemes.contains(where: \.isKey) { words.append("'apiKey'") }
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
    let stem = name.utf8.map { byte in
      ASCII.lowercase.contains(byte)
        ? byte & 0xDF : ASCII.digits.contains(byte) || ASCII.uppercase.contains(byte) ? byte : ASCII.underscore
    }
    let secret = String(decoding: stem, as: UTF8.self)
    if security.contains(.bearer) { lines.append("    token: ${{ secrets.\(secret)_TOKEN }}") }
    if security.contains(where: \.isKey) { lines.append("    apiKey: ${{ secrets.\(secret)_KEY }}") }
    if security.contains(.basic) {
      lines.append("    username: NAME")
      lines.append("    password: ${{ secrets.\(secret)_PASSWORD }}")
    }
    return lines.joined(separator: "\n") + "\n"
  }
}

extension OpenAPIDocument.Scheme {
  fileprivate var isKey: Bool {
    switch self {
    case .header, .query: true
    case .bearer, .basic: false
    }
  }

  fileprivate var written: Value {
    switch self {
    case .bearer: .string("bearer")
    case .basic: .string("basic")
    case .header(let name): .object(["header": .string(name)])
    case .query(let name): .object(["query": .string(name)])
    }
  }

  fileprivate init?(written value: Value) {
    switch (value.string, value["header"]?.string, value["query"]?.string) {
    case ("bearer", _, _): self = .bearer
    case ("basic", _, _): self = .basic
    case (_, let name?, _): self = .header(name)
    case (_, _, let name?): self = .query(name)
    default: return nil
    }
  }

  fileprivate var words: String {
    switch self {
    case .bearer: "`Authorization: Bearer`"
    case .basic: "`Authorization: Basic`"
    case .header(let name): "the header field \(name)"
    case .query(let name): "the parameter \(name) of the query"
    }
  }
}

extension HTTPPlugin.Configuration {
  /// Whether requests have any credentials.
  var hasCredentials: Bool { token != nil || username != nil || !secretHeaders.isEmpty || !secretQuery.isEmpty }
}
