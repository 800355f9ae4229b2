import ActionKit
import Glibc
import HTTPClient

// Boards that outlive the program, so that a command that ends at once asks no sooner than one that stays, and has something
// to stand in for a board that does not come.
//
// A file is one JSON object: format; target, for people; latest and good, each with the service's answer as it came, when it
// came and was sent whole, and what the way through the network added. It is named after the SHA-256 of the board's whole
// address and replaced whole; of two programs that write at once, one is the last. A file that cannot be read is as good as
// none.

/// Where boards are kept between programs.
struct BoardShelf: Sendable {
  /// One board as it came.
  struct Kept: Sendable {
    var answer: Value
    var receivedAt: Timestamp
    var sentAt: Timestamp
    var delivery: Value
  }

  /// What is kept of one board.
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

  /// Keeps what is held; what cannot be kept is not.
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
