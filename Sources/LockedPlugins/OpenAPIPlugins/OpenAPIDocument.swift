// An OpenAPI document, of version 2.0 (Swagger), 3.0 or 3.1, in JSON or YAML: its operations, where its service is, and
// which credentials that wants.
//
// It is read as data that others wrote. References lead only to places in the document, and so many steps. What has
// another form than the specification's is taken as if it weren't there.

import ActionKit
import Basics
import HTTPClient
import PluginLocks
import YAMLReader

struct OpenAPIDocument {
  let root: Value
  /// Whether it has the form of version 2.0.
  let isSwagger: Bool
  /// What messages call it.
  let name: String

  /// Documents are larger than recipes: GitHub's has 12 MB.
  private static let limits = YAMLLimits(bytes: 32 << 20, depth: 100, nodes: 4_000_000, scalarBytes: 1 << 20)
  private static let mostOperations = 10_000
  private static let mostReferences = 24

  init(_ bytes: [UInt8], called name: String) throws(PluginLockError) {
    self.name = name
    let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    if let other = Self.otherFormat(of: bytes[start...]) { throw PluginLockError("\(name) is \(other)") }
    let first = bytes[start...].first { ![ASCII.space, ASCII.tab, ASCII.newline, ASCII.carriageReturn].contains($0) }
    let root: Value
    if first == ASCII.openBrace {
      do throws(JSONError) {
        root = try JSON.parse(
          start == 0 ? bytes : Array(bytes[start...]), limits: JSON.Limits(bytes: Self.limits.bytes))
      } catch {
        throw PluginLockError("\(name) isn't valid JSON: \(error.description)")
      }
    } else {
      do throws(Diagnostics) {
        root = try YAMLReader.read(Source(name: name, bytes: bytes), limits: Self.limits).root
      } catch {
        let fault = error.list.first { $0.severity == .error } ?? error.list.first
        throw PluginLockError("\(fault.map { Self.line(of: $0) } ?? name) isn't valid YAML: \(fault?.message ?? "")")
      }
    }
    self.root = root
    // A version without quotes is a number in YAML.
    func version(_ key: String) -> String? { root[key].flatMap { $0.string ?? $0.csvField } }
    if let version = version("swagger") {
      guard version.hasPrefix("2") else {
        throw PluginLockError("\(name) has the Swagger version \(version.safe.shortened(to: 20)); 2.0 can be read")
      }
      isSwagger = true
    } else if let version = version("openapi") {
      guard ["3", "3.0", "3.1"].contains(version) || ["3.0.", "3.1."].contains(where: version.hasPrefix) else {
        throw PluginLockError(
          "\(name) has the OpenAPI version \(version.safe.shortened(to: 20)); 2.0, 3.0 and 3.1 can be read")
      }
      isSwagger = false
    } else if root["swaggerVersion"] != nil {
      throw PluginLockError("\(name) is a document of Swagger 1; OpenAPI 2.0, 3.0 and 3.1 can be read")
    } else if root["info"]?["_postman_id"] != nil || root["info"]?["schema"]?.string?.contains("postman") == true {
      throw PluginLockError("\(name) is a collection of Postman; convert it to OpenAPI 3, and name that file")
    } else {
      throw PluginLockError(
        "\(name) isn't an OpenAPI document: it has neither 'openapi' nor 'swagger'; 2.0, 3.0 and 3.1 can be read")
    }
  }

  /// What a file is that people take for a document, and what to do then; nil if it may be one.
  private static func otherFormat(of bytes: ArraySlice<UInt8>) -> String? {
    if bytes.starts(with: Array("PK\u{3}\u{4}".utf8)) || bytes.starts(with: [0x1F, 0x8B]) {
      return "compressed; unpack it, and name the OpenAPI document in it"
    }
    let start = String(decoding: bytes.prefix(200), as: UTF8.self).trimmed.lowercased()
    if start.hasPrefix("<!doctype html") || start.hasPrefix("<html") {
      return "a web page; an OpenAPI document is JSON or YAML, and such pages often have a link to it"
    }
    return start.hasPrefix("<") ? "XML; an OpenAPI document is JSON or YAML" : nil
  }

  private static func line(of fault: Diagnostic) -> String {
    guard let location = fault.location else { return "the document" }
    let position = location.source.position(at: location.range.lowerBound)
    return "\(location.source.name):\(position.line):\(position.column)"
  }

  /// What a value refers to, or the value itself; nil if it refers to nothing that is there.
  func resolved(_ value: Value) -> Value? {
    var value = value
    for _ in 0..<Self.mostReferences {
      guard let reference = value["$ref"]?.string else { return value }
      guard reference.hasPrefix("#"), let pointer = String(reference.dropFirst()).percentDecoded,
        pointer.isEmpty || pointer.hasPrefix("/"), let target = try? root.part(at: pointer, called: name)
      else { return nil }
      value = target
    }
    return nil
  }

  // MARK: What it says of the service

  var title: String { root["info"]?["title"]?.string?.safe.trimmed.shortened(to: 100) ?? "" }
  var version: String { root["info"]?["version"].flatMap { $0.csvField }?.safe.shortened(to: 40) ?? "" }

  /// The address of the service, which is a path if the document doesn't say more.
  var server: String? {
    if isSwagger {
      let path = root["basePath"]?.string ?? ""
      guard let host = root["host"]?.string, !host.isEmpty else { return path.isEmpty ? nil : path }
      let schemes = (root["schemes"]?.list ?? []).compactMap(\.string)
      let scheme = schemes.contains("https") || !schemes.contains("http") ? "https" : "http"
      return "\(scheme)://\(host)\(path.hasPrefix("/") || path.isEmpty ? path : "/\(path)")"
    }
    guard let server = root["servers"]?.list?.first, var url = server["url"]?.string else { return nil }
    for variable in (server["variables"]?.map?.members ?? []).prefix(20) {
      guard let name = variable.name, let standard = variable.value["default"].flatMap(\.csvField) else { continue }
      url = url.replacing("{\(name)}", with: standard)
    }
    return url
  }

  /// The ways in which its service takes credentials.
  var schemes: [Scheme] {
    namedSchemes.map(\.scheme).reduce(into: []) { schemes, scheme in
      if !schemes.contains(scheme) { schemes.append(scheme) }
    }
  }

  /// The same, with the names by which `security` knows them.
  private var namedSchemes: [(name: String, scheme: Scheme)] {
    let declared = isSwagger ? root["securityDefinitions"] : root["components"]?["securitySchemes"]
    var schemes: [(name: String, scheme: Scheme)] = []
    for member in (declared?.map?.members ?? []).prefix(50) {
      guard let scheme = resolved(member.value) else { continue }
      let found: Scheme? =
        switch (scheme["type"]?.string, scheme["scheme"]?.string?.lowercased(), scheme["in"]?.string) {
        case ("basic", _, _), ("http", "basic", _): .basic
        // Without its flows, OAuth is a token that something else got.
        case ("http", "bearer", _), ("oauth2", _, _), ("openIdConnect", _, _): .bearer
        case ("apiKey", _, "header"): Scheme.key(scheme["name"]?.string, isHeader: true)
        case ("apiKey", _, "query"): Scheme.key(scheme["name"]?.string, isHeader: false)
        default: nil
        }
      if let found, let name = member.name { schemes.append((name, found)) }
    }
    return schemes
  }

  /// What the first of some operations that asks for credentials asks for: the first alternative that can be met.
  func security(of operations: [Operation]) -> [Scheme] {
    let known = Dictionary(namedSchemes.map { ($0.name, $0.scheme) }) { first, _ in first }
    for operation in operations {
      for alternative in ((operation.value["security"] ?? root["security"])?.list ?? []).prefix(50) {
        let names = (alternative.map?.members ?? []).compactMap(\.name)
        let schemes = names.compactMap { known[$0] }
        guard schemes.count == names.count else { continue }
        if schemes.isEmpty { break }
        return schemes
      }
    }
    return []
  }

  enum Scheme: Hashable {
    case bearer
    case basic
    case header(String)
    case query(String)

    fileprivate static func key(_ name: String?, isHeader: Bool) -> Scheme? {
      guard let name, !name.isEmpty, name.utf8.count <= 100, name.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
        return nil
      }
      guard isHeader else { return .query(name) }
      // What is to stand there is mostly written `Bearer …`.
      if name.lowercased() == "authorization" { return .bearer }
      return HTTPRequest.fault(ofHeader: name, "x") == nil ? .header(name) : nil
    }
  }

  // MARK: Operations

  /// Whether an operation tells what is at its path: a GET that needs to know nothing else.
  func looksUp(_ operation: Operation) -> Bool {
    guard operation.method == "GET", operation.value["x-errand-effect"] == nil, !operation.hasOwnServer else {
      return false
    }
    return !operation.parameters.contains { parameter in
      guard let parameter = resolved(parameter) else { return true }
      return parameter["required"]?.bool == true && parameter["in"]?.string != "path"
    }
  }

  struct Operation {
    /// In capitals.
    var method: String
    /// With `{name}` for each parameter in it.
    var path: String
    var value: Value
    /// What the parameters of all operations at the path are.
    var shared: [Value]
    /// Whether it is at another service than the others.
    var hasOwnServer: Bool

    var id: String? { value["operationId"]?.string }
    var tags: [String] { (value["tags"]?.list ?? []).compactMap(\.string) }
    /// The parameters as they are written, those of the path first.
    var parameters: [Value] { shared + (value["parameters"]?.list ?? []) }
    /// What messages call it.
    var name: String { "\(method) \(path.safe.shortened(to: 100))" }
  }

  /// The paths that refer to what isn't there.
  var missingPaths: [String] {
    (root["paths"]?.map?.members ?? []).filter { resolved($0.value) == nil }.compactMap(\.name)
  }

  static let methods = ["get", "head", "put", "post", "patch", "delete"]

  func operations() throws(PluginLockError) -> [Operation] {
    var operations: [Operation] = []
    for member in root["paths"]?.map?.members ?? [] {
      guard let path = member.name, path.hasPrefix("/"), let item = resolved(member.value) else { continue }
      for method in Self.methods {
        guard let value = item[method], value.map != nil else { continue }
        operations.append(
          Operation(
            method: method.uppercased(), path: path, value: value, shared: item["parameters"]?.list ?? [],
            hasOwnServer: (value["servers"] ?? item["servers"])?.list?.isEmpty == false))
      }
    }
    guard operations.count <= Self.mostOperations else {
      throw PluginLockError("\(name) has \(operations.count) operations, more than \(Self.mostOperations)")
    }
    return operations
  }
}
