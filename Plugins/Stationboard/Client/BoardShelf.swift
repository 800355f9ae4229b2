import ActionKit
import Glibc
import HTTPClient

// Boards that outlive the program. So a command that exits at once observes the minimum interval like a long-lived
// program, and has a substitute for a board that cannot be fetched.
//
// A file is one JSON object with the members format; target, for people; latest and good. Each of these two holds the
// service's answer unchanged, its time of arrival, the time when it was sent whole, and the details that the network
// added. The file is named after the SHA-256 of the board's whole address, and replaced as a whole; if two programs
// write at once, the last one wins. A file that cannot be read counts as missing.

/// Where boards are kept between programs.
struct BoardShelf: Sendable {
  /// One board as it came.
  struct Kept: Sendable {
    var answer: Value
    var receivedAt: Timestamp
    var sentAt: Timestamp
    var delivery: Value
  }

  /// The stored answers of one board.
  struct Entry: Sendable {
    var latest: Kept
    var good: Kept?
  }

  let folder: String
  private static let format = 1
  private static let maxBytes = 16 << 20
  private static let mostFiles = 64

  func entry(of url: String) async -> Entry? {
    guard let path = path(of: url) else { return nil }
    return await onThread {
      guard let bytes = try? Files.read(path, limit: Self.maxBytes), let file = try? JSON.parse(bytes),
        file["format"]?.int == Self.format, let latest = Self.kept(file["latest"])
      else { return nil }
      return Entry(latest: latest, good: Self.kept(file["good"]))
    }
  }

  /// Stores the held answers of a board, if they can be stored.
  func keep(_ entry: Entry, of url: String) async {
    var file = ValueMap([("format", .int(Self.format)), ("latest", Self.value(entry.latest))])
    file["good"] = entry.good.map(Self.value)
    guard let path = path(of: url), let bytes = try? JSON.write(.map(file)), bytes.count <= Self.maxBytes else {
      return
    }
    await onThread { [folder] in
      try? Files.makeFolder(folder, mode: 0o700)
      try? Files.write(bytes, to: path, mode: 0o600, isDurable: false)
      Self.makeRoom(in: folder)
    }
  }

  /// Removes the files that were written longest ago, if there are too many.
  private static func makeRoom(in folder: String) {
    guard let names = try? Files.list(folder), names.count > mostFiles else { return }
    let files = names.filter { $0.hasSuffix(".board") }.map { name -> (path: String, written: Int) in
      var status = stat()
      let path = "\(folder)/\(name)"
      return (path, stat(path, &status) == 0 ? status.st_mtim.tv_sec : 0)
    }
    for file in files.sorted(by: { $0.written < $1.written }).dropLast(mostFiles) { try? Files.remove(file.path) }
  }

  private func path(of url: String) -> String? {
    SHA256.digest(of: Array(url.utf8)).map { "\(folder)/\($0).board" }
  }

  private static func value(_ kept: Kept) -> Value {
    .object([
      "answer": kept.answer, "receivedAt": .string(kept.receivedAt.description),
      "sentAt": .string(kept.sentAt.description), "delivery": kept.delivery,
    ])
  }

  private static func kept(_ value: Value?) -> Kept? {
    guard let value, let answer = value["answer"],
      let received = value["receivedAt"]?.string.flatMap({ Timestamp($0) }),
      let sent = value["sentAt"]?.string.flatMap({ Timestamp($0) }), let delivery = value["delivery"]
    else { return nil }
    return Kept(answer: answer, receivedAt: received, sentAt: sent, delivery: delivery)
  }
}
