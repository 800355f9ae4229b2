import Basics
import Glibc
import HTTPTypes

// The files that an interrupted download leaves, and when the next one may continue it.
//
// Beside the path are two files: `path.part` with the bytes that came, and `path.part.json`, which identifies the file
// that they are the beginning of:
//
//   {"boot":"<id of the system's start>","url":"<SHA-256 of the URL>","validator":"\"5d8c72a5edda8\""}
//
// The note is written when the head of an answer is known, after the bytes of an earlier answer were discarded and
// before any of its own is stored; it is removed before they are discarded. So a part beside a note belongs to it,
// whenever the process dies. A power loss is different, because nothing is synced while bytes arrive: a part from
// before the system's last start counts only if the whole file has a required hash.
//
// The rest is requested with `Range` and `If-Range` (RFC 9110, sections 13.1.5 and 14.2): the server sends it if its
// file still has the validator, and the whole file otherwise. Only a strong validator will do (section 8.8.1): an
// `ETag` without `W/`, or a `Last-Modified` that is at least a second older than the answer's `Date`. A range doesn't
// count the bytes of an encoded body (`Content-Encoding`), so such a body is never resumed, nor is a body whose server
// declares `Accept-Ranges: none`.

/// The note beside the bytes of a download that may be resumed.
struct PartialDownload: Equatable {
  /// The SHA-256 of the request's URL, which may hold secrets.
  var url: String
  /// The value of `If-Range`: an entity tag in its quotes, or a date.
  var validator: String
  /// Identifies the system's start during which the bytes were written; empty if unknown.
  var boot: String

  /// Makes a note for an answer that begins at the first byte; nil if it can't be resumed.
  init?(_ answer: HTTPResponse, url: String) {
    guard answer.status == 200, answer.headers["Content-Encoding"] == nil,
      answer.headers["Accept-Ranges"]?.lowercasedASCII != "none", let validator = PartialDownload.validator(answer)
    else { return nil }
    self.url = url
    self.validator = validator
    boot = PartialDownload.currentBoot
  }

  private static func validator(_ answer: HTTPResponse) -> String? {
    if let tag = answer.headers["ETag"] { return tag.utf8.first == ASCII.quote ? tag : nil }
    guard let text = answer.headers["Last-Modified"], let modified = HTTPDate.read(text),
      let date = answer.headers["Date"].flatMap(HTTPDate.read), let age = date.span(since: modified), age >= .seconds(1)
    else { return nil }
    return text
  }

  /// Whether a part of the answer, with status 206, continues exactly where the bytes end, and reaches the end.
  func isContinued(by answer: HTTPResponse, at offset: Int) -> Int? {
    guard answer.headers["Content-Encoding"] == nil, answer.headers["ETag"].map({ $0 == validator }) ?? true,
      let range = answer.headers["Content-Range"].flatMap(ContentRange.init), range.first == offset,
      range.last == range.total - 1
    else { return nil }
    return range.total
  }

  /// Whether its bytes may be the beginning of the requested file.
  func mayContinue(url: String, hasHash: Bool) -> Bool {
    url == self.url && (hasHash || !boot.isEmpty && boot == PartialDownload.currentBoot)
  }

  // MARK: On disk

  static func read(_ name: String, in place: FilePlace) -> PartialDownload? {
    guard let bytes = place.read(name, limit: 1 << 16), let note = try? JSON.parse(bytes),
      let url = note["url"]?.string, let validator = note["validator"]?.string, let boot = note["boot"]?.string,
      // A header can't contain what a damaged note may.
      validator.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
    else { return nil }
    return PartialDownload(url: url, validator: validator, boot: boot)
  }

  private init(url: String, validator: String, boot: String) {
    self.url = url
    self.validator = validator
    self.boot = boot
  }

  /// Writes the note in one call, without waiting for the disk; false if that fails.
  func write(_ name: String, in place: FilePlace) -> Bool {
    let note = Value.object(["boot": .string(boot), "url": .string(url), "validator": .string(validator)])
    guard let bytes = try? JSON.write(note) else { return false }
    let descriptor = place.open(name, O_WRONLY | O_CREAT | O_TRUNC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return Glibc.write(descriptor, bytes, bytes.count) == bytes.count
  }

  private static let currentBoot: String = {
    let bytes = (try? Files.read("/proc/sys/kernel/random/boot_id", limit: 256)) ?? []
    return String(decoding: bytes, as: UTF8.self).trimmed
  }()
}

/// `Content-Range: bytes 200-999/1000` (RFC 9110, section 14.4), of a body whose whole length is known.
private struct ContentRange {
  var first: Int
  var last: Int
  var total: Int

  init?(_ text: String) {
    let words = text.utf8.split(separator: ASCII.space)
    guard words.count == 2, words[0].elementsEqual("bytes".utf8) else { return nil }
    let numbers = words[1].split(omittingEmptySubsequences: false) {
      $0 == ASCII.minus || $0 == ASCII.slash
    }
    guard numbers.count == 3, let first = Self.number(numbers[0]), let last = Self.number(numbers[1]),
      let total = Self.number(numbers[2]), first <= last, last < total
    else { return nil }
    (self.first, self.last, self.total) = (first, last, total)
  }

  private static func number(_ digits: Substring.UTF8View) -> Int? {
    digits.allSatisfy { ASCII.digits.contains($0) } ? Int(Substring(digits)) : nil
  }
}
