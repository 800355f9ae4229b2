// Links that carry the right of one person to answer one question.
//
// The address is `URL/d/` and a text: `edl_` and 24 bytes in base64url, which are the beginning of
//
//     HMAC-SHA-256(key, n run n step n round n name)
//
// where `n` is the length of the part after it in four bytes, the most significant first. So a step that is resumed
// sends the same link. The round counts how often links of the question were ended, so that a link that is made
// afterwards is another one. The state holds the SHA-256 of a link's text, and the key is kept apart from it: in the
// file `link.key`, or in the database of a shared state. A copy of the state alone neither has a link nor makes one.
//
// A value that holds the text of a link, known or not, is kept without it (`SecretRegistry`): in its place is
//
//     base64url(tag, 18 bytes; the 24 bytes XOR HMAC-SHA-256(sealing key, "pad" tag))
//
// where the tag is the beginning of HMAC-SHA-256(sealing key, "tag" bytes). The sealing key never changes; the key of
// the links does when all links are ended, so that none made before it is valid.
package import Basics

/// The keys that make the links of a state, and that hide their texts in it.
package struct LinkKey: Sendable, Equatable {
  /// How the text of a link begins.
  package static let mark = "edl_"
  /// How many characters follow the mark.
  static let digits = 32
  /// The beginning of the paths of links.
  package static let root = "/d/"
  /// The name under which values refer to the text of a link; no secret has it.
  static let name = "edl_…"
  /// The name of the file that holds the keys.
  static let file = "link.key"
  /// How long a link is valid at most.
  package static let longest = TimeSpan.seconds(30 * 86_400)
  /// How long a link tells the decision.
  package static let remembered = TimeSpan.seconds(7 * 86_400)

  private static let size = 32
  private static let textBytes = 24
  private static let tagBytes = 18

  private let making: [UInt8]
  private let sealing: [UInt8]

  /// New keys.
  package init() { self.init(making: .random(LinkKey.size), sealing: .random(LinkKey.size)) }

  private init(making: [UInt8], sealing: [UInt8]) {
    self.making = making
    self.sealing = sealing
  }

  /// Reads the text that `text` gave; nil if it isn't one.
  package init?(_ text: String) {
    guard let bytes = [UInt8](hexadecimal: text.trimmed), bytes.count == 2 * LinkKey.size else { return nil }
    self.init(making: Array(bytes.prefix(LinkKey.size)), sealing: Array(bytes.dropFirst(LinkKey.size)))
  }

  /// The keys as they are kept.
  package var text: String { (making + sealing).hexadecimal }

  /// The keys after which no link made before is valid.
  package var renewed: LinkKey { LinkKey(making: .random(LinkKey.size), sealing: sealing) }

  /// The text of a link.
  package func link(of question: LinkedQuestion) throws(StateError) -> String {
    var message: [UInt8] = []
    for part in [question.run, question.step, "\(question.round)", question.name] {
      let bytes = Array(part.utf8)
      let length = UInt32(clamping: bytes.count)
      message += [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: length >> $0) } + bytes
    }
    return LinkKey.text(of: try LinkKey.code(of: message, by: making).prefix(LinkKey.textBytes))
  }

  /// Whether a text is the link to a question, in a time that doesn't tell how much of it is.
  package func makes(_ link: String, of question: LinkedQuestion) -> Bool {
    (try? self.link(of: question)).map { MessageAuthentication.areSame(Array($0.utf8), Array(link.utf8)) } ?? false
  }

  /// The digest of a link, which the state keeps in its place.
  package static func digest(of link: String) throws(StateError) -> String { try sha256(Array(link.utf8)) }

  private static func text(of bytes: some Sequence<UInt8>) -> String { mark + urlDigits(Array(bytes)) }

  private static func urlDigits(_ bytes: [UInt8]) -> String {
    bytes.base64.replacing("+", with: "-").replacing("/", with: "_")
  }

  private static func bytes(ofDigits text: String) -> [UInt8]? {
    [UInt8](base64: text.replacing("-", with: "+").replacing("_", with: "/"))
  }

  /// The code of a message that is no link, such as the key of a form; nothing that is made with it is valid after the
  /// links were renewed.
  package func code(of message: String) throws(StateError) -> [UInt8] {
    // A link's message begins with the length of a run's id.
    try LinkKey.code(of: Array("message\0\(message)".utf8), by: making)
  }

  private static func code(of message: [UInt8], by key: [UInt8]) throws(StateError) -> [UInt8] {
    if let code = MessageAuthentication.code(of: message, key: key) { return code }
    throw StateError(.unavailable, "links need libcrypto, which cannot compute HMAC-SHA-256 here")
  }

  // MARK: Hiding

  /// The text of a link as values keep it; nil if it isn't written plainly.
  func sealed(_ link: some Collection<UInt8>) -> String? {
    guard let bytes = LinkKey.bytes(ofDigits: String(decoding: link.dropFirst(LinkKey.mark.utf8.count), as: UTF8.self)),
      bytes.count == LinkKey.textBytes, let tag = tag(of: bytes), let pad = pad(tag)
    else { return nil }
    return LinkKey.urlDigits(tag + zip(bytes, pad).map { $0 ^ $1 })
  }

  /// The text of a link that was sealed; no link has it if other keys sealed it.
  func opened(_ sealed: String) -> String {
    let kept = LinkKey.bytes(ofDigits: sealed) ?? []
    let (tag, hidden) = (Array(kept.prefix(LinkKey.tagBytes)), kept.dropFirst(LinkKey.tagBytes))
    let bytes = zip(hidden, pad(tag) ?? []).map { $0 ^ $1 }
    let isOwn = bytes.count == LinkKey.textBytes && self.tag(of: bytes) == tag
    return LinkKey.text(of: isOwn ? bytes : [UInt8](repeating: 0, count: LinkKey.textBytes))
  }

  private func tag(of bytes: [UInt8]) -> [UInt8]? {
    MessageAuthentication.code(of: Array("tag".utf8) + bytes, key: sealing).map { Array($0.prefix(LinkKey.tagBytes)) }
  }

  private func pad(_ tag: [UInt8]) -> [UInt8]? {
    MessageAuthentication.code(of: Array("pad".utf8) + tag, key: sealing)
  }
}

/// The file with the keys, in the folder of a state.
struct LinkKeyFile: Sendable {
  let folder: String
  let fileSystem: any FileSystem

  private var path: String { "\(folder)/\(LinkKey.file)" }

  /// The keys; nil if there are none yet.
  var key: LinkKey? {
    get throws(StateError) {
      guard let bytes = try onDisk({ () throws(FileError) in try fileSystem.read(path) }) else { return nil }
      if let key = LinkKey(String(decoding: bytes, as: UTF8.self)) { return key }
      throw StateError(
        .damaged, "\(path) doesn't hold the key of the links; remove the file, which ends every link that was made")
    }
  }

  /// The keys, made or renewed.
  func key(renewed isRenewed: Bool) throws(StateError) -> LinkKey {
    let known = try key
    if let known, !isRenewed { return known }
    let new = known?.renewed ?? LinkKey()
    try put(new)
    return new
  }

  func put(_ key: LinkKey) throws(StateError) {
    try onDisk { () throws(FileError) in try fileSystem.replace(path, in: folder, with: Array("\(key.text)\n".utf8)) }
  }
}

/// The right that a link carries: a person's, to one question.
package struct LinkedQuestion: Record, Equatable {
  package var run: String
  package var step: StepPath
  /// The person; empty where anyone may answer.
  package var name: String
  /// How often links of the question had been ended when it was made.
  package var round: Int
  /// When it stops to carry the right, at the latest.
  package var until: Timestamp

  package init(run: String, step: StepPath, name: String, round: Int = 0, until: Timestamp) {
    self.run = run
    self.step = step
    self.name = name
    self.round = round
    self.until = until
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    step = try member("step", record?.step)
    name = try member("name", record?.name)
    round = try member("round", record?.round, default: 0)
    until = try member("until", record?.until)
  }

  /// When nothing is known of it any more.
  var forgottenAt: Timestamp { until.advanced(by: LinkKey.remembered) ?? .latest }
}

/// A link as the record of its step keeps it.
package struct LinkRecord: Record, Equatable {
  /// The person; empty where anyone may answer.
  package var name: String
  /// The SHA-256 of its text, in lower-case hexadecimal.
  package var sha256: String
  package var round: Int
  package var until: Timestamp

  package init(name: String, sha256: String, round: Int = 0, until: Timestamp) {
    self.name = name
    self.sha256 = sha256
    self.round = round
    self.until = until
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    name = try member("name", record?.name)
    sha256 = try member("sha256", record?.sha256)
    round = try member("round", record?.round, default: 0)
    until = try member("until", record?.until)
  }

  /// The right that it carries.
  package func question(_ step: StepPath, of run: String) -> LinkedQuestion {
    LinkedQuestion(run: run, step: step, name: name, round: round, until: until)
  }
}

/// A link to a question was made.
package struct LinkMade: Record, Equatable {
  package var run: String
  package var at: Timestamp
  package var step: StepPath
  package var link: LinkRecord

  package init(run: String, at: Timestamp, step: StepPath, link: LinkRecord) {
    self.run = run
    self.at = at
    self.step = step
    self.link = link
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    at = try member("at", record?.at)
    step = try member("step", record?.step)
    link = try member("link", record?.link)
  }
}

/// Links to a question were ended before it was.
package struct LinksEnded: Record, Equatable {
  package var run: String
  package var at: Timestamp
  package var step: StepPath
  /// The SHA-256 of each.
  package var links: [String]
  /// The name of the person who ended them.
  package var by: String?

  package init(run: String, at: Timestamp, step: StepPath, links: [String], by person: String?) {
    self.run = run
    self.at = at
    self.step = step
    self.links = links
    by = person
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("run", record?.run)
    at = try member("at", record?.at)
    step = try member("step", record?.step)
    links = try member("links", record?.links)
    by = try member("by", record?.by)
  }
}

/// The links that are known, by the SHA-256 of their texts.
///
/// Forgotten ones are removed when the oldest of them is a day overdue, so that each is looked at once a day at most.
struct KnownLinks: Sendable, Equatable {
  private(set) var known: [String: LinkedQuestion] = [:]
  private var earliest: Timestamp?

  private static let slack = TimeSpan.seconds(86_400)

  init() {}

  init(_ known: [String: LinkedQuestion]) {
    self.known = known
    earliest = known.values.map(\.forgottenAt).min()
  }

  mutating func take(_ link: LinkRecord, to step: StepPath, of run: String, at instant: Timestamp) {
    let question = link.question(step, of: run)
    known[link.sha256] = question
    earliest = min(earliest ?? question.forgottenAt, question.forgottenAt)
    guard let earliest, earliest.advanced(by: KnownLinks.slack) ?? .latest <= instant else { return }
    self = KnownLinks(known.filter { instant < $0.value.forgottenAt })
  }

  mutating func end(_ link: String) { known[link] = nil }

  // When forgotten links are removed changes nothing that counts.
  static func == (one: KnownLinks, other: KnownLinks) -> Bool { one.known == other.known }
}
