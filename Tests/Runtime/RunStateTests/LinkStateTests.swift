import Basics
import RunTestKit
import Testing

@testable import RunState

/// Links that carry a right: their texts, and the parts that the state keeps and hides.
@Suite struct LinkStateTests {
  private static let question = LinkedQuestion(run: "r1", step: "ask", name: "ann", until: instant(3600))

  private static func record(_ key: LinkKey, _ question: LinkedQuestion) throws -> LinkRecord {
    LinkRecord(
      name: question.name, sha256: try LinkKey.digest(of: key.link(of: question)), round: question.round,
      until: question.until)
  }

  /// The events of a run that asks a person, with a link.
  private static func asking(_ link: LinkRecord?) -> [StateEvent] {
    var asked = QuestionRecord()
    if let link { asked.links = [link] }
    let wait = WaitRecord(.approval, wakeAt: instant(3600), prompt: "Send?", by: ["ann"], question: asked)
    return [
      Example.created("r1"),
      .stepWaits(StepWaits(run: "r1", at: instant(0), step: "ask", now: instant(0), wait: wait)),
    ]
  }

  // MARK: Texts

  @Test func `a link follows from the key and each part of the question`() throws {
    let key = LinkKey()
    let link = try key.link(of: Self.question)
    #expect(link.hasPrefix("edl_") && link.utf8.count == 36)
    #expect(try key.link(of: Self.question) == link && key.makes(link, of: Self.question))
    #expect(LinkKey(key.text) == key && LinkKey("\(key.text)\n") == key)
    #expect(try LinkKey(key.text)?.link(of: Self.question) == link)
    var others = (0..<6).map { _ in Self.question }
    others[0].run = "r2"
    others[1].step = "as"
    others[2].name = "anne"
    others[3].round = 1
    // The parts have lengths, so that none can be shifted into the next.
    (others[4].run, others[4].step) = ("r1a", "sk")
    (others[5].step, others[5].name) = ("aska", "nn")
    for other in others { #expect(try key.link(of: other) != link, "\(other)") }
    // When it ends isn't part of it.
    var later = Self.question
    later.until = instant(9)
    #expect(try key.link(of: later) == link)
    #expect(try LinkKey().link(of: Self.question) != link && key.renewed.link(of: Self.question) != link)
    for text in ["", "00", String(repeating: "0", count: 127), String(repeating: "x", count: 128)] {
      #expect(LinkKey(text) == nil)
    }
  }

  // MARK: Records

  @Test func `a link is found by its digest, until it is ended or the key is renewed`() async throws {
    let store = MemoryStateStore()
    let key = try await store.linkKey()
    let link = try key.link(of: Self.question)
    try await store.append(Self.asking(try Self.record(key, Self.question)))
    #expect(try await store.right(of: link) == Self.question)
    for wrong in [
      "", "edl_", link.lowercased(), "\(link)A", String(link.dropLast()), String(repeating: "é", count: 99),
    ] {
      #expect(try await store.right(of: wrong) == nil || wrong == link, "\(wrong)")
    }
    let digest = try LinkKey.digest(of: link)
    try await store.append(
      .linksEnded(LinksEnded(run: "r1", at: instant(1), step: "ask", links: [digest], by: "ann")))
    #expect(try await store.right(of: link) == nil)
    #expect(store.run("r1")?.steps["ask"]?.wait?.question?.links == [])
    #expect(store.run("r1")?.steps["ask"]?.wait?.question?.round == 1)
    // One that is made afterwards is another.
    var second = Self.question
    second.round = 1
    let record = try Self.record(key, second)
    try await store.append(.linkMade(LinkMade(run: "r1", at: instant(2), step: "ask", link: record)))
    let other = try key.link(of: second)
    #expect(try await store.right(of: other) == second && other != link)
    #expect(try await store.right(of: link) == nil)
    _ = try await store.linkKey(renewed: true)
    #expect(try await store.right(of: other) == nil)
    // It is known for as long as it tells how the question ended, even if the run is over.
    try await store.append(Example.over("r1", at: 3))
    #expect(await store.linked(record.sha256) == second)
  }

  @Test func `links are forgotten a week after their end`() async throws {
    let store = MemoryStateStore()
    let key = try await store.linkKey()
    let record = try Self.record(key, Self.question)
    try await store.append(Self.asking(record))
    var other = Self.question
    (other.name, other.until) = ("bob", instant(3600 + 9 * 86_400))
    for (day, isKnown) in [(1, true), (7, true), (9, false)] {
      try await store.append(
        .linkMade(
          LinkMade(
            run: "r1", at: instant(3600 + day * 86_400), step: "ask", link: try Self.record(key, other))))
      #expect((await store.linked(record.sha256) != nil) == isKnown, "\(day)")
    }
  }

  @Test func `the first decision counts, and none after the end of a step`() async throws {
    let store = MemoryStateStore()
    try await store.append(Self.asking(nil))
    func decide(_ by: String) async throws {
      let decision = DecisionRecord(isApproved: true, by: by, at: instant(1), via: .link, link: "00")
      try await store.append(.decisionGiven(DecisionGiven(run: "r1", step: "ask", decision: decision)))
    }
    try await decide("ann")
    try await decide("bob")
    #expect(store.run("r1")?.steps["ask"]?.decision?.by == "ann")
    let late = MemoryStateStore()
    try await late.append(
      Self.asking(nil) + [
        .stepEnded(StepEnded(run: "r1", at: instant(1), step: "ask", status: .timedOut)),
        .decisionGiven(
          DecisionGiven(
            run: "r1", step: "ask", decision: DecisionRecord(isApproved: true, by: "ann", at: instant(2)))),
      ])
    #expect(late.run("r1")?.steps["ask"]?.decision == nil)
  }

  // MARK: Hiding

  @Test func `a value with a link is kept without it, and restored as it was`() async throws {
    let registry = SecretRegistry()
    let link = try LinkKey().link(of: Self.question)
    let value = Value.object([
      "name": .string("ann"), "link": .string("https://errand.example/d/\(link)"),
      "both": .string("\(link) \(link)"), "none": .string("edl_short"), "bytes": .bytes(Array("x\(link)".utf8)),
    ])
    // Before there is a key, there are no links.
    #expect(try registry.masked(value) == value)
    let key = LinkKey()
    registry.learn(key)
    let kept = try registry.masked(value)
    let text = try JSON.text(kept.encoded())
    #expect(!text.contains(link) && text.contains(#"{"$masked":["https://errand.example/d/",["edl_…","00","#))
    #expect(try await registry.restored(Value(reading: JSON.parse(text)), as: "it") == value)
    // No program needs a secret for it.
    #expect(try registry.referred(in: kept) == [])
    // Another program with the same key restores it; one with another key gets a link that is none.
    let second = SecretRegistry()
    second.askLinkKey { LinkKey(key.text) }
    #expect(try await second.restored(kept, as: "it") == value)
    let foreign = SecretRegistry()
    foreign.learn(LinkKey())
    let dead = try await foreign.restored(kept, as: "it")
    #expect(dead["link"]?.string == "https://errand.example/d/edl_" + String(repeating: "A", count: 32))
    // A new key of the links changes nothing.
    registry.learn(key.renewed)
    #expect(try await registry.restored(kept, as: "it") == value)
  }

  @Test(arguments: [
    "edl_ABCDEFGHIJKLMNOPQRSTUVWXYZ012345", "edl_--------------------------------",
    "edl_________________________________",
  ])
  func `each text of the shape is hidden, also where it is cut or comes in pieces`(link: String) throws {
    let registry = SecretRegistry()
    registry.learn(LinkKey())
    let finder = registry.finder
    #expect(finder.redact("open https://a/d/\(link)?find=x now") == "open https://a/d/•••?find=x now")
    #expect(finder.redact("\"\(link)\"") == "\"•••\"")
    #expect(finder.redact("pedl_x and edl_ and edl_abc") == "pedl_x and edl_ and edl_abc")
    #expect(finder.redact("it was \(link.dropLast(9))", isCut: true) == "it was •••")
    #expect(
      String(decoding: registry.displayed(Array("{\"a\":\"\(link)\"}".utf8), isJSON: true), as: UTF8.self)
        == #"{"a":"•••"}"#)
    for cut in 1..<36 {
      var lines = RedactedLines(finder)
      var told = lines.add(Array("to \(link)".utf8.prefix(3 + cut)))
      told += lines.add(Array("to \(link)!\n".utf8.dropFirst(3 + cut)))
      told += lines.finish()
      #expect(told == ["to •••!"], "\(cut)")
    }
  }

  // MARK: Files

  @Test func `the key has a file of its own, and no other file has a link`() async throws {
    let disk = FaultyFileSystem()
    let store = try await FileStateStore.open("/state", program: "errand", fileSystem: disk)
    #expect(disk["/state/link.key"] == nil)
    let key = try await store.linkKey()
    #expect(String(decoding: disk["/state/link.key"] ?? [], as: UTF8.self) == key.text + "\n")
    let link = try key.link(of: Self.question)
    try await store.append(Self.asking(try Self.record(key, Self.question)))
    let stored = try await store.keep(.list([.string("see \(link)")]))
    try await store.append(.valueSet(ValueSet(at: instant(1), name: "sent", value: stored)))
    try await store.append(
      .decisionGiven(
        DecisionGiven(
          run: "r1", step: "ask",
          decision: DecisionRecord(isApproved: true, by: "ann", at: instant(1), comment: "by \(link)"))))
    try await store.compact()
    try await store.close()
    for path in disk.paths {
      let text = String(decoding: disk[path] ?? [], as: UTF8.self)
      #expect(!text.contains(link) && (path == "/state/link.key") == text.contains(key.text), "\(path)")
    }
    // The next program has the same key, and knows the link after a crash, too.
    let again = try await FileStateStore.open(
      "/state", program: "errand", fileSystem: disk.restarted(losing: .everything))
    #expect(try await again.linkKey() == key)
    #expect(try await again.right(of: link)?.name == "ann")
    #expect(try await again.restored(stored, as: "it") == .list([.string("see \(link)")]))
    let renewed = try await again.linkKey(renewed: true)
    #expect(renewed != key)
    #expect(try await again.right(of: link) == nil)
    try await again.close()
  }

  @Test func `a key that cannot be read is refused by name, and the state is opened`() async throws {
    let disk = FaultyFileSystem()
    disk["/state/link.key"] = Array("0011".utf8)
    let store = try await FileStateStore.open("/state", program: "errand", fileSystem: disk)
    await #expect(
      throws: StateError(
        .damaged,
        "/state/link.key doesn't hold the key of the links; remove the file, which ends every link that was made")
    ) { try await store.linkKey() }
    try await store.close()
  }

  @Test func `a state that is moved takes the key along, and a copy leaves it out`() async throws {
    let disk = FaultyFileSystem()
    let store = try await FileStateStore.open("/old", program: "errand", fileSystem: disk)
    let key = try await store.linkKey()
    let link = try key.link(of: Self.question)
    try await store.append(Self.asking(try Self.record(key, Self.question)))
    try await store.close()
    for isMoved in [false, true] {
      var bytes: [UInt8] = []
      _ = try StateArchive("/old", program: "errand", fileSystem: disk).export(at: instant(0), isMoved: isMoved) {
        bytes += $0
      }
      #expect(String(decoding: bytes, as: UTF8.self).contains(key.text) == isMoved)
      let new = FaultyFileSystem()
      var rest = bytes[...]
      _ = try StateArchive("/new", program: "errand", fileSystem: new).import(replacing: false, at: instant(5)) {
        count throws(FileError) in
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
      }
      let moved = try await FileStateStore.open("/new", program: "errand", fileSystem: new)
      #expect((try await moved.right(of: link) != nil) == isMoved)
      try await moved.close()
    }
  }
}
