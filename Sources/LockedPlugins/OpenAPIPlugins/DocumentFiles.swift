// Joins a document that consists of several files: the values that its references into other files lead to are put into
// it, under `x-errand-files`, and the references then lead there. So the rest of the module reads a single document.
//
// A reference is relative to its own file (OpenAPI 3.1, "Relative References in API Description URIs"). Each file is
// read once. If it can't be read, the references to it stay as they are, so that messages quote them as written.

import Basics
import PluginLocks

struct DocumentFiles {
  /// Gives the content of a file, by its path from the document's folder on.
  typealias Reader = (_ path: String) throws(PluginLockError) -> [UInt8]

  /// Where the files are in the document.
  static let member = "x-errand-files"
  /// Why references lead to nothing, by how they are written.
  private(set) var faults: [String: String] = [:]
  /// The faults in the files' texts that didn't keep them from being read.
  private var oddities: [(part: String, reason: String)] = []

  private let name: String
  private let read: Reader
  private var files = ValueMap()
  /// The files that were asked for, each with its fault, if any.
  private var known: [String: String?] = [:]
  private var waiting: [(path: String, content: Value)] = []
  private var bytes = 0
  private static let mostFiles = 10_000
  private static let mostBytes = 32 << 20

  /// - Parameter name: The name of the document's own file.
  private init(_ name: String, _ read: @escaping Reader) {
    self.name = name
    self.read = read
  }

  /// A document with the files that it refers to.
  static func joined(
    _ root: Value, called name: String, _ read: @escaping Reader, _ oddities: inout [(part: String, reason: String)]
  ) -> (root: Value, faults: [String: String]) {
    var joining = DocumentFiles(name.split(separator: "/").last.map(String.init) ?? "", read)
    guard case .map(var map) = joining.joined(root, in: "").content else { return (root, [:]) }
    while let (path, content) = joining.waiting.popLast() { joining.files[path] = joining.joined(content, in: path) }
    oddities += joining.oddities
    if !joining.files.isEmpty { map[Self.member] = .map(joining.files) }
    return (.map(map), joining.faults)
  }

  /// A reference as the files have it, for people.
  static func displayed(_ reference: String) -> String {
    let start = "#/\(member)/"
    guard reference.hasPrefix(start) else { return reference }
    let parts = reference.dropFirst(start.count).split(separator: "/", maxSplits: 1).map(String.init)
    let file = (parts.first ?? "").ofPointerPart.replacing("%25", with: "%")
    return file + (parts.count > 1 ? "#/\(parts[1])" : "")
  }

  /// A value of a file with references that lead into the whole.
  private mutating func joined(_ value: Value, in file: String) -> Value {
    switch value.content {
    case .list(let items): return .list(items.map { joined($0, in: file) })
    case .map(let map):
      var joined = map.mapValues { self.joined($0, in: file) }
      if let reference = map["$ref"]?.string { joined["$ref"] = .string(place(of: reference, in: file)) }
      return .map(joined)
    default: return value
    }
  }

  /// Where in the whole a reference leads.
  private mutating func place(of reference: String, in file: String) -> String {
    let parts = reference.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
    let fragment = parts.count > 1 ? parts[1] : ""
    if parts[0].isEmpty { return file.isEmpty ? reference : Self.place(of: file, fragment) }
    guard !parts[0].contains("://"), !parts[0].hasPrefix("/"), let path = parts[0].percentDecoded else {
      return unread(reference, ", and only files beside the document are read")
    }
    var steps = file.split(separator: "/").map(String.init).dropLast() + []
    for step in path.split(separator: "/") where step != "." {
      if step == "..", let last = steps.last, last != ".." { steps.removeLast() } else { steps.append(String(step)) }
    }
    let whole = steps.joined(separator: "/")
    if whole == name { return "#\(fragment)" }
    if known[whole] == nil { known[whole] = .some(load(whole)) }
    if let known = known[whole], let fault = known { return unread(reference, fault) }
    return Self.place(of: whole, fragment)
  }

  private mutating func unread(_ reference: String, _ fault: String) -> String {
    faults[reference] = fault
    return reference
  }

  /// Reads a file; returns its fault if it can't be read.
  private mutating func load(_ path: String) -> String? {
    guard known.count < Self.mostFiles else { return ", and more than \(Self.mostFiles) files aren't read" }
    do throws(PluginLockError) {
      let content = try read(path)
      bytes += content.count
      guard bytes <= Self.mostBytes else { return ", and more than \(Self.mostBytes) bytes of files aren't read" }
      do throws(PluginLockError) {
        waiting.append((path, try OpenAPIDocument.value(of: content, called: path, &oddities)))
        return nil
      } catch {
        return ", which\(error.message.drop { $0 != " " })"
      }
    } catch {
      return error.message
    }
  }

  private static func place(of file: String, _ fragment: String) -> String {
    "#/\(member)/\(file.asPointerPart.replacing("%", with: "%25"))\(fragment)"
  }
}
