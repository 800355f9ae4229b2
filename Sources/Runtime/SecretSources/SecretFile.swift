import Basics
import Glibc
import Recipes
import YAMLReader

/// Files of secrets: a YAML mapping from names to texts that only its owner may read.
enum SecretFile {
  static let largest = 1 << 20

  /// Reads a file; refuses one that others can read or write.
  static func read(_ path: String) throws(SecretError) -> [String: String] {
    try requirePrivate(path)
    let source: Source
    do throws(FileError) { source = Source(name: path, bytes: try Files.read(path, limit: largest)) } catch {
      throw SecretError(error.description)
    }
    return try members(of: source)
  }

  /// Refuses a file that others can read or write; a missing file is left to the reader.
  static func requirePrivate(_ path: String) throws(SecretError) {
    var status = stat()
    if stat(path, &status) == 0, status.st_mode & 0o077 != 0 {
      throw SecretError("'\(path)' can be read by others; make it private with: chmod 600 \(path)")
    }
  }

  /// The secrets in a text, each as written: `0047` isn't a number here.
  static func members(of source: Source) throws(SecretError) -> [String: String] {
    let document: YAMLDocument
    do throws(Diagnostics) { document = try YAMLReader.read(source) } catch {
      // Without the line's text and the parser's message, which may quote a secret.
      throw SecretError(
        "'\(source.name)' cannot be read as YAML\(line(of: error.list.first?.location)); put secrets in 'single quotes', "
          + "and name each once")
    }
    guard let map = document.root.map else {
      throw SecretError("'\(source.name)' must be a mapping from names to secrets")
    }
    var members: [String: String] = [:]
    for member in map.members {
      switch member.value.content {
      case .string(let text): members[member.key.plainText] = text
      case .int, .double, .bool:
        let range = document.range(of: member.value)
        members[member.key.plainText] = String(decoding: source.bytes[range], as: UTF8.self)
      default:
        throw SecretError(
          "'\(source.name)': '\(member.key.plainText)' isn't text\(line(of: document.location(of: member.key)))")
      }
    }
    return members
  }

  /// Warns of secrets that a comment may have cut, without telling anything of them.
  ///
  /// In YAML `PW: pass #word` is the text `pass`.
  static func cutSecrets(in path: String) -> [String] {
    guard let bytes = try? Files.read(path, limit: largest),
      let document = try? YAMLReader.read(Source(name: path, bytes: bytes))
    else { return [] }
    return (document.root.map?.members ?? []).compactMap { member in
      let end = document.range(of: member.value).upperBound
      guard document.scalar(at: member.value.place)?.style == .plain else { return nil }
      let rest = bytes[end...].prefix { $0 != ASCII.newline }.drop { $0 == ASCII.space || $0 == ASCII.tab }
      guard rest.first == ASCII.hash else { return nil }
      return "'\(path)': in '\(member.key.plainText)' a '#' after a blank begins a comment"
        + "\(line(of: document.location(of: member.key))); put the secret in 'single quotes' if what follows belongs to it"
    }
  }

  private static func line(of location: Diagnostic.Location?) -> String {
    location.map { ", line \($0.source.position(at: $0.range.lowerBound).line)" } ?? ""
  }
}
