package import Basics
import Glibc
import Synchronization

/// Why there are no rules for a zone.
package struct TimeZoneError: Error, Hashable {
  /// The kinds that callers may want to distinguish.
  package enum Kind: Sendable {
    /// No zone has this name.
    case unknown
    /// The zone files are not there or cannot be read.
    case unreadable
    /// The zone's file is not what RFC 8536 describes, or counts leap seconds.
    case damaged
  }

  package let kind: Kind
  /// The fault and how to fix it: no full stop, lower case.
  package let text: MessageText

  init(_ kind: Kind, _ text: MessageText) {
    self.kind = kind
    self.text = text
  }

  package var message: String { text.text }
}

/// Where the bytes of zone files come from.
package protocol TimeZoneFiles: Sendable {
  /// The name of the place in messages.
  var location: String { get }
  /// The bytes of a zone's file; nil if there is none. The name holds nothing that could leave the folder.
  func bytes(of name: String) throws(TimeZoneError) -> [UInt8]?
  /// Every zone that has a file.
  func names() -> [String]
}

/// The zones of a machine by name, each read once.
package final class TimeZoneDatabase: Sendable {
  private let files: any TimeZoneFiles
  /// Only names with a file get in, so that made-up names can't make it grow.
  private let zones = Mutex<[String: TimeZoneRules]>([:])
  /// Read when a name is unknown for the first time.
  private let knownNames = Mutex<[String]?>(nil)

  package init(_ files: some TimeZoneFiles) { self.files = files }

  /// The zone files of this machine: those in `$TZDIR`, or tzdata's in `/usr/share/zoneinfo`.
  package static let system = TimeZoneDatabase(
    TimeZoneFolder(path: getenv("TZDIR").map { String(cString: $0) } ?? "/usr/share/zoneinfo"))

  /// The rules of an IANA name (`Australia/Sydney`) or an offset (`+05:30`).
  package func rules(named name: String) throws(TimeZoneError) -> TimeZoneRules {
    guard TimeZoneDatabase.isZoneName(name) else {
      guard let offset = TimeZoneDatabase.offset(name) else { throw unknown(name) }
      return TimeZoneRules(name: name, offset: offset)
    }
    if let known = zones.withLock({ $0[name] }) { return known }
    // Reading happens outside the lock; if two do it at once, both read the same.
    guard let bytes = try files.bytes(of: name) else { throw unknown(name) }
    let rules = try TimeZoneRules(name: name, file: bytes)
    zones.withLock { $0[name] = rules }
    return rules
  }

  /// Every IANA name there is, in order.
  package func names() -> [String] {
    if let known = knownNames.withLock({ $0 }) { return known }
    let names = files.names().sorted()
    // A folder that is empty may be filled later.
    if !names.isEmpty { knownNames.withLock { $0 = names } }
    return names
  }

  /// Reads `±HH:MM` as seconds; nil if it is not that.
  package static func offset(_ text: String) -> Int? {
    guard let sign = text.utf8.first, sign == ASCII.plus || sign == ASCII.minus, text.utf8.count == 6,
      let magnitude = CivilTime.secondOfDay(String(text.unicodeScalars.dropFirst()))
    else { return nil }
    return sign == ASCII.minus ? -magnitude : magnitude
  }

  /// Whether a name is formed as IANA's are: parts that begin with a capital, joined by slashes.
  ///
  /// That leaves out `..`, `localtime`, `posixrules`, and the doubles below `posix/` and `right/`.
  private static func isZoneName(_ name: String) -> Bool {
    let isWellFormed = name.utf8.allSatisfy { byte in
      switch byte {
      case ASCII.uppercase, ASCII.lowercase,
        ASCII.digits, ASCII.underscore, ASCII.minus, ASCII.plus,
        ASCII.slash:
        true
      default: false
      }
    }
    let parts = name.utf8.split(separator: ASCII.slash, omittingEmptySubsequences: false)
    return isWellFormed && name.utf8.count <= 64
      && parts.allSatisfy { ASCII.uppercase.contains($0.first ?? 0) }
  }

  /// Whether a name hardly means another zone than the nearest: the city, if it is that, or one slip in its name.
  private func isSurely(_ name: String, _ guess: String, among names: [String]) -> Bool {
    func split(_ name: String) -> (region: String, city: String) {
      let start = name.lastIndex(of: "/").map { name.index(after: $0) } ?? name.startIndex
      return (name[..<start].lowercased(), String(name[start...]))
    }
    let (given, meant) = (split(name), split(guess))
    if given.region.isEmpty, given.city.lowercased() == meant.city.lowercased() { return true }
    if given.region == meant.region {
      // The region says nothing about the city, so it makes no room for slips.
      return given.city.isSurelyMeant(as: meant.city, among: names.map { split($0).city })
    }
    return given.city.lowercased() == meant.city.lowercased()
      && given.region.isSurelyMeant(as: meant.region, among: names.map { split($0).region })
  }

  private func unknown(_ name: String) -> TimeZoneError {
    let names = names()
    guard !names.isEmpty else {
      return TimeZoneError(
        .unreadable, "there are no zone files in \(files.location); install the package tzdata, or point TZDIR at them")
    }
    if (2...5).contains(name.utf8.count), name.utf8.allSatisfy(ASCII.uppercase.contains) {
      // The nearest name of `AEST` is `EST`, on the other side of the world.
      return TimeZoneError(
        .unknown,
        "'\(name)' isn't a time zone, and abbreviations have several meanings; write an IANA name such as 'Australia/Sydney'"
      )
    }
    let unsigned = ["gmt", "utc"].contains(name.prefix(3).lowercased()) ? name.dropFirst(3) : ""
    if let sign = unsigned.first, "+-".contains(sign), let hours = Int(unsigned.dropFirst()), (0...14).contains(hours) {
      // `Etc/GMT+2` is two hours behind, not ahead.
      let offset = "\(sign)\(hours < 10 ? "0" : "")\(hours):00"
      return TimeZoneError(
        .unknown,
        MessageText("'\(name)' isn't a time zone; write '\(offset)'", [.text(offset)]).tentative)
    }
    // People know the city.
    let city = name.lowercased()
    let guess =
      names.filter { $0.lowercased().hasSuffix("/" + city) }.min() ?? name.nearest(among: names)
      ?? name.nearest(among: names.map { String($0.drop { $0 != "/" }.dropFirst()) })
      .flatMap { near in names.filter { $0.hasSuffix("/" + near) }.min() }
    return TimeZoneError(
      .unknown,
      "'\(name.excerpt(64))' isn't a time zone; "
        + (guess.map { .didYouMean($0).tentative(if: !isSurely(name, $0, among: names) || isVague(name, $0)) }
          ?? "write an IANA name such as 'Australia/Sydney', or an offset such as '+05:30'"))
  }
}

/// Whether a name may belong to several places: a region of many countries, or a town whose name the database has for
/// one place of several.
private func isVague(_ name: String, _ zone: String) -> Bool {
  let regions: Set = [
    "east", "west", "north", "south", "central", "eastern", "western", "mountain", "pacific", "atlantic",
  ]
  return !name.utf8.contains(ASCII.slash)
    && (regions.contains(name.lowercased()) || zone.utf8.count { $0 == ASCII.slash } > 1)
}

/// Zone files in a folder, as the package tzdata installs them.
package struct TimeZoneFolder: TimeZoneFiles {
  package let location: String

  package init(path: String) { location = path }

  /// No zone file comes near this size.
  private static let sizeLimit = 1 << 20

  package func bytes(of name: String) throws(TimeZoneError) -> [UInt8]? {
    let path = "\(location)/\(name)"
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw unreadable(path)
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw unreadable(path) }
    // A folder, such as `Australia`, isn't a zone.
    guard status.st_mode & S_IFMT == S_IFREG else { return nil }
    guard (0...TimeZoneFolder.sizeLimit).contains(Int(status.st_size)) else {
      throw TimeZoneError(.damaged, "\(path) is too large for a zone file; reinstall the package tzdata")
    }
    var count = 0
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    while count < bytes.count {
      let result = bytes.withUnsafeMutableBytes {
        read(descriptor, $0.baseAddress?.advanced(by: count), $0.count - count)
      }
      if result < 0, errno == EINTR { continue }
      guard result >= 0 else { throw unreadable(path) }
      if result == 0 { break }
      count += result
    }
    return Array(bytes[..<count])
  }

  private func unreadable(_ path: String) -> TimeZoneError {
    TimeZoneError(.unreadable, "\(path) cannot be read (\(String(cString: strerror(errno))))")
  }

  package func names() -> [String] { names(below: "", depth: 0) }

  /// Names are at most three parts long, as in `America/Argentina/Ushuaia`.
  private func names(below prefix: String, depth: Int) -> [String] {
    guard depth < 3, let folder = opendir("\(location)/\(prefix)") else { return [] }
    defer { closedir(folder) }
    var found: [String] = []
    while let entry = readdir(folder) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
      }
      // The others aren't zones: `.`, `posix`, `right`, `zone.tab`.
      guard let first = name.utf8.first, ASCII.uppercase.contains(first) else { continue }
      let below = names(below: "\(prefix)\(name)/", depth: depth + 1)
      found += below.isEmpty ? ["\(prefix)\(name)"] : below
    }
    return found
  }
}
