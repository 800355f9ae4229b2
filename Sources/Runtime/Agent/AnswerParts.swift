/// How an answer crosses the socket that may be large: as many lines, none of which grows with what is told.
///
/// The parts come first, with the name of the answer and the place in it where they belong:
///
///     {"part":"0199…","at":["run","steps"],"members":{…}}      members of an object
///     {"part":"0199…","at":["open"],"items":[…]}               items of a list
///     {"part":"0199…","at":["outputs"],"text":"…"}             a stretch of the JSON text that stands there
///     {"part":"0199…","at":["outputs"],"sha256":"3f…"}         what the text there has to hash to
///     {"part":"0199…"}                                         what came so far counts for nothing; it is told anew
///
/// The answer itself is last, and has what is in no part: `{"parts":"0199…","run":{…}}`. Whoever sends waits before each
/// part until most of those before it are read; so an agent holds a page of a run, however large the run and however slow
/// the client. Lines of other answers may come between.
package import Basics
import RunState

/// An answer that is being sent.
struct PartedAnswer {
  /// About the bytes of a part.
  static let page = 256 << 10

  private let request: RequestLine
  private let id: String
  private var hasParts = false
  /// Whether the client is there to read more.
  private(set) var isHeard = true

  init(to request: RequestLine, id: String) {
    self.request = request
    self.id = id
  }

  mutating func send(members: ValueMap, at place: [String]) async { await send("members", .map(members), place) }
  mutating func send(items: [Value], at place: [String]) async { await send("items", .list(items), place) }

  /// Sends a stretch of text, which may not end within a character.
  mutating func send(text: some Sequence<UInt8>, at place: [String]) async {
    await send("text", .string(String(decoding: Array(text), as: UTF8.self)), place)
  }

  /// Says what the text that was sent has to hash to, which whoever sends it does not know to be so.
  mutating func send(sha256: String, at place: [String]) async { await send("sha256", .string(sha256), place) }

  /// Begins anew, if anything was sent.
  mutating func beginAnew() async {
    if hasParts { isHeard = await request.replyInTurn(.object(["part": .string(id)])) && isHeard }
    hasParts = false
  }

  private mutating func send(_ kind: String, _ content: Value, _ place: [String]) async {
    guard isHeard else { return }
    hasParts = true
    isHeard = await request.replyInTurn(
      .object(["part": .string(id), "at": .list(place.map { .string($0) }), kind: content]))
  }

  /// Sends what is in no part, after which nothing more comes.
  func end(_ answer: ValueMap) async {
    guard isHeard else { return }
    var answer = answer
    if hasParts { answer["parts"] = .string(id) }
    await request.replyInTurn(.map(answer))
  }
}

/// Puts answers together from their parts.
package struct AnswerAssembler: Sendable {
  /// What belongs at one place: members, items or text.
  private struct Part {
    var place: [String]
    var kind = ""
    var members = ValueMap()
    var items: [Value] = []
    var text: [UInt8] = []
    var sha256: String?

    mutating func add(_ line: Value) {
      if let members = line["members"]?.map {
        kind = "members"
        for member in members.members { self.members[member.key] = member.value }
      } else if let items = line["items"]?.list {
        kind = "items"
        self.items += items
      } else if let text = line["text"]?.string {
        kind = "text"
        self.text += text.utf8
      } else {
        sha256 = line["sha256"]?.string
      }
    }

    func value() throws -> Value {
      switch kind {
      case "members": return .map(members)
      case "items": return .list(items)
      default:
        if let sha256, try RunState.sha256(text) != sha256 {
          throw StateError(.damaged, "the blob \(sha256) is damaged: its content does not match its name")
        }
        return try JSON.parse(text, limits: AgentProtocol.limits)
      }
    }
  }

  /// By the names of the answers.
  private var open: [String: [Part]] = [:]

  package init() {}

  /// The whole answer that a line completes, or the line itself if it is no part of any; nil if more of it follows.
  package mutating func receive(_ line: Value) -> Value? {
    if let id = line["part"]?.string {
      guard let place = line["at"]?.list?.map({ $0.string ?? "" }) else {
        open[id] = nil
        return nil
      }
      // Grown in place, because there may be many.
      let count = open[id]?.count ?? 0
      let index = open[id]?.lastIndex { $0.place == place } ?? count
      if index == count { open[id, default: []].append(Part(place: place)) }
      open[id]?[index].add(line)
      return nil
    }
    guard let id = line["parts"]?.string, var answer = line.map else { return line }
    answer["parts"] = nil
    var whole = Value.map(answer)
    for part in open.removeValue(forKey: id) ?? [] {
      do { whole = whole.with(try part.value(), at: part.place[...]) } catch {
        let why = (error as? StateError)?.message ?? (error as? JSONError)?.message ?? "\(error)"
        let message = "cannot read '\(part.place.joined(separator: "."))' of the agent's answer: \(why)"
        return .object(["failed": .object(["kind": .string("state"), "message": .string(message)])])
      }
    }
    return whole
  }
}

extension Value {
  /// The value with another at a place within, where objects are made that are not there.
  fileprivate func with(_ value: Value, at place: ArraySlice<String>) -> Value {
    guard let name = place.first else { return value }
    var map = self.map ?? ValueMap()
    map[name] = (map[name] ?? .null).with(value, at: place.dropFirst())
    return .map(map)
  }
}
