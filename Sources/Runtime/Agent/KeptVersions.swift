// The earlier texts of files that people edited through the agent, where Git doesn't keep them.
//
// The folder of the state has a folder `versions`, and in it one for each file, named by the SHA-256 of the file's path.
// A version is a file `N.json` there, with N from 1: {"path", "digest", "at", "by", "message", "text"}. The newest 20 of
// each file are kept, of all files together at most 20 MiB: the oldest go first. The text that was there before the first
// save counts as a version, without a name in `by`. A version is written in one step, so a crash leaves all of it or
// nothing; a number that is missing means nothing.

package import Basics
import Glibc

/// A version of a file, without its text.
package struct EditedVersion: Sendable, Equatable {
  /// A commit's id, or the number of a kept version.
  package var version: String
  package var at: Timestamp
  /// Who saved it; empty if the agent doesn't know.
  package var by: String
  package var message: String?
  /// The SHA-256 of the text, if it is known without reading it.
  package var digest: String?
  package var isOfGit: Bool
}

struct KeptVersions: Sendable {
  static let mostOfFile = 20
  static let mostBytes = 20 << 20

  /// The folder `versions`.
  let folder: String

  private static func folder(of path: String) -> String {
    SHA256.digest(of: Array(path.utf8)).map { String($0.prefix(32)) } ?? "x"
  }

  private func numbers(in folder: String) -> [Int] {
    let names = (try? Files.list("\(self.folder)/\(folder)")) ?? []
    return names.compactMap { $0.hasSuffix(".json") ? Int($0.dropLast(5)) : nil }.filter { $0 > 0 }.sorted()
  }

  private struct Record {
    var version: EditedVersion
    var path: String
    var text: String
  }

  private func record(_ number: Int, in folder: String) -> Record? {
    guard
      let bytes = try? Files.read("\(self.folder)/\(folder)/\(number).json", limit: 4 << 20),
      let value = try? JSON.parse(bytes), let path = value["path"]?.string, let text = value["text"]?.string,
      let at = value["at"]?.string.flatMap({ Timestamp($0) })
    else { return nil }
    return Record(
      version: EditedVersion(
        version: "\(number)", at: at, by: value["by"]?.string ?? "", message: value["message"]?.string,
        digest: value["digest"]?.string, isOfGit: false), path: path, text: text)
  }

  /// The versions of a file, newest first.
  func versions(of path: String) -> [EditedVersion] {
    let folder = KeptVersions.folder(of: path)
    return numbers(in: folder).reversed().compactMap { number in
      record(number, in: folder).flatMap { $0.path.hasSameScalars(as: path) ? $0.version : nil }
    }
  }

  /// A version with its text.
  func version(_ name: String, of path: String) -> (version: EditedVersion, text: String)? {
    guard let number = Int(name), number > 0, "\(number)" == name else { return nil }
    return record(number, in: KeptVersions.folder(of: path)).flatMap { record in
      record.path.hasSameScalars(as: path) ? (record.version, record.text) : nil
    }
  }

  /// Keeps a text, unless the newest version of the file has it; gives the version.
  func keep(
    _ content: EditableContent, of path: String, by name: String, message: String?, at instant: Timestamp
  ) throws(FileError) -> String {
    let own = KeptVersions.folder(of: path)
    let known = numbers(in: own)
    if let last = known.last, record(last, in: own)?.version.digest == content.digest { return "\(last)" }
    try Files.makeFolder("\(folder)/\(own)", mode: 0o700)
    var map = ValueMap([
      ("path", .string(path)), ("digest", .string(content.digest)), ("at", .string("\(instant)")),
      ("by", .string(name)),
    ])
    map["message"] = message.map { .string($0) }
    map["text"] = .string(content.text)
    let number = (known.last ?? 0) + 1
    try Files.write(Array((JSON.displayed(.map(map)) + "\n").utf8), to: "\(folder)/\(own)/\(number).json", mode: 0o600)
    for old in known.dropLast(KeptVersions.mostOfFile - 1) { try? Files.remove("\(folder)/\(own)/\(old).json") }
    tidy()
    return "\(number)"
  }

  /// Whether the newest version of a file has a content.
  func has(_ content: EditableContent, of path: String) -> Bool {
    let own = KeptVersions.folder(of: path)
    return numbers(in: own).last.flatMap { record($0, in: own) }?.version.digest == content.digest
  }

  /// Removes the oldest versions of all files, as far as they are too many bytes together.
  private func tidy() {
    var found: [(path: String, bytes: Int, at: (seconds: Int, nanoseconds: Int))] = []
    for own in (try? Files.list(folder)) ?? [] {
      for number in numbers(in: own) {
        let path = "\(folder)/\(own)/\(number).json"
        var status = stat()
        if lstat(path, &status) == 0 {
          found.append((path, Int(status.st_size), (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)))
        }
      }
    }
    var bytes = found.reduce(0) { $0 &+ $1.bytes }
    for file in found.sorted(by: { $0.at < $1.at }) where bytes > KeptVersions.mostBytes {
      try? Files.remove(file.path)
      bytes &-= file.bytes
    }
  }
}
