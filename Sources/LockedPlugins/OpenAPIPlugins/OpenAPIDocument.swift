// An OpenAPI document, of version 2.0 (Swagger), 3.0 or 3.1, in JSON or YAML: its operations, the address of its
// service, and the credentials that the service takes.
//
// The document is untrusted data. References lead to places in the document and in files beside it, up to a fixed
// number of steps. A part whose form differs from the specification is ignored and reported.

import ActionKit
import Basics
import HTTPClient
import PluginLocks
import YAMLReader

struct OpenAPIDocument {
  var root: Value { references.root }
  let references: References
  /// Whether it has the form of version 2.0.
  let isSwagger: Bool
  /// The document's name in messages.
  let name: String
  /// Why references into other files lead to nothing, by how they are written.
  private let faults: [String: String]
  /// The faults of its text that didn't keep it from being read, each with its place.
  let oddities: [(part: String, reason: String)]

  /// Documents are larger than recipes: GitHub's has 12 MB.
  private static let limits = YAMLLimits(
    bytes: 32 << 20, depth: 100, nodes: 4_000_000, scalarBytes: 1 << 20, isOfOthers: true)
  private static let mostOperations = 10_000

  /// - Parameter files: Reads files that the document refers to; nil to read none.
  init(_ bytes: [UInt8], called name: String, files: DocumentFiles.Reader? = nil) throws(PluginLockError) {
    self.name = name
    let start = bytes.starts(with: [0xEF, 0xBB, 0xBF]) ? 3 : 0
    if let other = Self.otherFormat(of: bytes[start...]) { throw PluginLockError("\(name) is \(other)") }
    var oddities: [(part: String, reason: String)] = []
    let written: Value
    do throws(PluginLockError) { written = try Self.value(of: bytes, called: name, &oddities) } catch {
      throw PluginLockError(name + error.message)
    }
    let (joined, faults) = files.map { DocumentFiles.joined(written, called: name, $0, &oddities) } ?? (written, [:])
    // A version without quotes is a number in YAML.
    func version(_ key: String) -> String? { joined[key].flatMap { $0.string ?? $0.csvField } }
    // Before 3.1, members beside a reference are ignored.
    let root = version("openapi")?.hasPrefix("3.1") == true ? joined.withWordsBesideReferences : joined
    references = References(root)
    self.faults = faults
    self.oddities = oddities
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

  /// Names another format that people take for OpenAPI, with advice; nil if the file may be a document.
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

  /// Reads a file's JSON or YAML; an error's message follows the file's name.
  ///
  /// - Parameter oddities: Gets the faults that don't keep the file from being read.
  static func value(
    of bytes: [UInt8], called name: String, _ oddities: inout [(part: String, reason: String)]
  ) throws(PluginLockError) -> Value {
    let bytes = Charset.marked(in: bytes).flatMap { try? $0.utf8(of: bytes) } ?? bytes
    let first = bytes.first { ![ASCII.space, ASCII.tab, ASCII.newline, ASCII.carriageReturn].contains($0) }
    if first == ASCII.openBrace {
      var text = bytes
      if String(validating: bytes, as: UTF8.self) == nil {
        text = Array(String(decoding: bytes, as: UTF8.self).utf8)
        oddities.append((name, "it holds bytes that aren't UTF-8; they are read as U+FFFD"))
      }
      do throws(JSONError) {
        return try JSON.parse(
          text, limits: JSON.Limits(bytes: Self.limits.bytes),
          allowing: [.trailingCommas, .halfPairs, .doubledKeys])
      } catch {
        throw PluginLockError(" isn't valid JSON: \(error.description)")
      }
    }
    func place(_ fault: Diagnostic?) -> String {
      fault?.location.map { location in
        let position = location.source.position(at: location.range.lowerBound)
        return ":\(position.line):\(position.column)"
      } ?? ""
    }
    do throws(Diagnostics) {
      let document = try YAMLReader.read(Source(name: name, bytes: bytes), limits: Self.limits)
      oddities += document.diagnostics.map { (name + place($0), $0.message) }
      return document.root
    } catch {
      let fault = error.list.first { $0.severity == .error } ?? error.list.first
      throw PluginLockError("\(place(fault)) isn't valid YAML: \(fault?.message ?? "")")
    }
  }

  /// The target of a reference, or the value itself if it isn't one; nil if the target doesn't exist.
  func resolved(_ value: Value) -> Value? { references.resolved(value) }

  /// A member of a value, with a reference resolved.
  func member(_ name: String, of value: Value) -> Value? { value[name].flatMap(resolved) }

  /// Why a value that is a reference leads to nothing.
  func absence(of value: Value, called what: String = "it") -> String {
    let written = value["$ref"] ?? .null
    let place = written.string.map { DocumentFiles.displayed($0).safe } ?? JSON.displayed(written).safe
    return "\(what) refers to "
      + (written.string.flatMap(fault) ?? "'\(place.shortened(to: 200))', which leads to nothing in the document")
  }

  /// Why a reference into another file leads to nothing, with the reference; nil if it is one within the document.
  func fault(of reference: String) -> String? {
    faults[reference].map { "'\(reference.safe.shortened(to: 200))'\($0)" }
  }

  // MARK: Its service

  var title: String { root["info"]?["title"]?.string?.safe.trimmed.shortened(to: 100) ?? "" }
  var version: String { root["info"]?["version"].flatMap { $0.csvField }?.safe.shortened(to: 40) ?? "" }

  /// The address of the service; only a path if the document has no more.
  ///
  /// It is the document's first address, unless all operations name other ones.
  func server(for operations: [Operation]) -> String? {
    guard !isSwagger else {
      let path = root["basePath"]?.string ?? ""
      guard let host = root["host"]?.string, !host.isEmpty else { return path.isEmpty ? nil : path }
      let schemes = (root["schemes"]?.list ?? []).compactMap(\.string)
      let scheme = schemes.contains("https") || !schemes.contains("http") ? "https" : "http"
      return "\(scheme)://\(host)\(path.hasPrefix("/") || path.isEmpty ? path : "/\(path)")"
    }
    // The default is the document's own address (OpenAPI 3.1, "OpenAPI Object"; 2.0, `host`).
    let own = Self.servers(root).first ?? (HTTPURL(name) == nil ? nil : "/")
    let others = operations.filter { !$0.servers.isEmpty }
    if others.isEmpty || own != nil && (others.count < operations.count || others.contains { isAt(own, $0) }) {
      return own
    }
    var counts: [String: Int] = [:]
    for operation in others { for server in Set(operation.servers.map(plain)) { counts[server, default: 0] += 1 } }
    let most = counts.values.max()
    return others.lazy.flatMap(\.servers).first { counts[plain($0)] == most }
  }

  /// The addresses that a part of the document names, with its variables' defaults.
  private static func servers(_ part: Value) -> [String] {
    (part["servers"]?.list ?? []).prefix(100).compactMap { server in
      guard var url = server["url"]?.string else { return nil }
      for variable in (server["variables"]?.map?.members ?? []).prefix(20) {
        guard let name = variable.name, let standard = variable.value["default"].flatMap(\.csvField) else { continue }
        url = url.replacing("{\(name)}", with: standard)
      }
      return url
    }
  }

  /// An address as addresses are compared: `HTTPS://A.example:443/v1/` is `https://a.example/v1`.
  private func plain(_ server: String) -> String {
    (HTTPURL(server) ?? HTTPURL(name)?.resolving(server)).map(\.text)?.withoutSlashesAtEnd ?? server.withoutSlashesAtEnd
  }

  /// Whether an operation is at a server, among others.
  func isAt(_ server: String?, _ operation: Operation) -> Bool {
    operation.servers.isEmpty || operation.servers.contains { plain($0) == plain(server ?? "") }
  }

  // MARK: Operations

  /// Whether an operation reads the resource at its path: a GET that needs no other parameters.
  func looksUp(_ operation: Operation) -> Bool {
    guard operation.method == "GET", operation.value["x-errand-effect"] == nil, operation.servers.isEmpty else {
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
    /// The parameters that all operations at the path have.
    var shared: [Value]
    /// The operation's own parameters.
    var own: [Value]
    /// The addresses that the operation gives for its service; empty if the document's count.
    var servers: [String]

    var id: String? { value["operationId"]?.string }
    var tags: [String] { (value["tags"]?.list ?? []).compactMap(\.string) }
    /// The parameters as written: the path's, then the operation's own.
    var parameters: [Value] { shared + own }
    /// The operation's name in messages.
    var name: String { "\(method) \(path.safe.shortened(to: 100))" }
  }

  static let methods = ["get", "head", "put", "post", "patch", "delete"]
  /// Methods that no action has: they concern other requests, or the connection.
  private static let otherMethods = ["options", "trace", "query"]

  /// The members that an operation can have; `tellingParts` distinguish it from other objects.
  private static let parts: Set = [
    "tags", "summary", "description", "externalDocs", "operationId", "parameters", "requestBody", "responses",
    "callbacks", "deprecated", "security", "servers", "consumes", "produces", "schemes",
  ]
  private static let tellingParts: Set = ["operationId", "parameters", "requestBody", "responses"]

  /// Whether a value has the form of an operation.
  ///
  /// - Parameter isReferred: Whether a reference leads to it, which may lead to any object of the document.
  private static func isOperation(_ value: Value, isReferred: Bool) -> Bool {
    guard let map = value.map else { return false }
    let names = map.members.compactMap(\.name).filter { !$0.hasPrefix("x-") }
    if names.contains(where: (methods + otherMethods).contains) { return false }
    let isTold = names.contains(where: tellingParts.contains)
    let isPlain = names.allSatisfy(parts.contains)
    return isReferred ? isTold && (isPlain || map["operationId"]?.string != nil) : isTold || isPlain
  }

  /// The parameters of a path or an operation; an error says why they can't be read.
  private func parameters(of part: Value) throws(PluginLockError) -> [Value] {
    guard let written = part["parameters"], !written.isNull else { return [] }
    guard let found = resolved(written) else {
      throw PluginLockError(absence(of: written, called: "its list of parameters"))
    }
    guard let list = found.list else { throw PluginLockError("its parameters aren't a list") }
    return list
  }

  /// Whether a member of a path item applies to all its operations, or to none.
  private static func isPartOfPath(_ name: String) -> Bool {
    ["$ref", "summary", "description", "servers", "parameters"].contains(name) || name.hasPrefix("x-")
  }

  /// The members of a path item that aren't read, though they may be meant as operations.
  private func unread(_ item: ValueMap, at path: String) -> [(part: String, reason: String)] {
    var found: [(part: String, reason: String)] = []
    for member in item.members {
      let name = member.name ?? member.key.written
      if Self.isPartOfPath(name) || (Self.methods + Self.otherMethods).contains(name) { continue }
      let place = path.safe.shortened(to: 100)
      if name == "additionalOperations", let others = resolved(member.value)?.map {
        found += others.members.map { other in
          ("\((other.name ?? other.key.written).safe.shortened(to: 20)) \(place)", "an action can't have its method")
        }
      } else if (Self.methods + Self.otherMethods).contains(name.lowercased()) {
        found.append(("\(name) \(place)", "a method is written in lowercase letters"))
      } else if resolved(member.value).map({ Self.isOperation($0, isReferred: true) }) ?? false {
        found.append(("\(name.safe.shortened(to: 20)) \(place)", "an action can't have its method"))
      }
    }
    return found
  }

  /// The operations, and the values in their places that aren't operations.
  func operations() throws(PluginLockError) -> (read: [Operation], leftOut: [(part: String, reason: String)]) {
    var operations: [Operation] = []
    var leftOut: [(part: String, reason: String)] = []
    for member in member("paths", of: root)?.map?.members ?? [] {
      guard let path = member.name, !path.hasPrefix("x-") else { continue }
      guard path.hasPrefix("/") else {
        leftOut.append((path.safe.shortened(to: 100), "its path doesn't begin with '/'"))
        continue
      }
      guard let target = resolved(member.value) else {
        leftOut.append((path.safe.shortened(to: 100), absence(of: member.value)))
        continue
      }
      guard var item = target.map else {
        leftOut.append((path.safe.shortened(to: 100), "it has no operations"))
        continue
      }
      // Members beside a reference override the target's.
      if member.value["$ref"] != nil {
        for own in member.value.map?.members ?? [] where own.name != "$ref" { item[own.key] = own.value }
      }
      let whole = Value.map(item)
      let others = unread(item, at: path)
      leftOut += others
      if others.isEmpty, !(Self.methods + Self.otherMethods).contains(where: { item[$0] != nil }),
        let other = item.members.compactMap(\.name).first(where: { !Self.isPartOfPath($0) })
      {
        // A schema, or any other object that a reference leads to by mistake.
        leftOut.append((path.safe.shortened(to: 100), "it has no operations, but '\(other.safe.shortened(to: 40))'"))
        continue
      }
      for method in Self.methods + Self.otherMethods {
        guard let written = item[method] else { continue }
        var operation = Operation(
          method: method.uppercased(), path: path, value: written, shared: [], own: [], servers: [])
        func leaveOut(_ reason: String) { leftOut.append((operation.name, reason)) }
        guard Self.methods.contains(method) else {
          leaveOut("an action can't have its method")
          continue
        }
        guard let value = resolved(written) else {
          leaveOut(absence(of: written))
          continue
        }
        let isReferred = written["$ref"] != nil
        guard Self.isOperation(value, isReferred: isReferred) else {
          let place = written["$ref"]?.string.map { DocumentFiles.displayed($0).safe.shortened(to: 200) }
          leaveOut(place.map { "it refers to '\($0)', which isn't an operation" } ?? "it isn't an operation")
          continue
        }
        operation.value = value
        do throws(PluginLockError) {
          operation.shared = try parameters(of: whole)
          operation.own = try parameters(of: value)
        } catch {
          leaveOut(error.message)
          continue
        }
        operation.servers = Self.servers(value).isEmpty ? Self.servers(whole) : Self.servers(value)
        operations.append(operation)
      }
    }
    guard operations.count <= Self.mostOperations else {
      throw PluginLockError("\(name) has \(operations.count) operations, more than \(Self.mostOperations)")
    }
    return (operations, leftOut)
  }
}
