/// The form of a large answer on the socket: many lines, whose length doesn't grow with the answer.
///
/// The parts come first, with the id of the answer and the place in it where they belong:
///
///     {"part":"0199…","at":["run","steps"],"members":{…}}      members of an object
///     {"part":"0199…","at":["open"],"items":[…]}               items of a list
///     {"part":"0199…","at":["outputs"],"text":"…"}             a stretch of the JSON text at that place
///     {"part":"0199…","at":["outputs"],"sha256":"3f…"}         the hash that the text must have
///     {"part":"0199…"}                                         discards the parts so far; they are sent again
///
/// The answer itself comes last, with the members that are in no part: `{"parts":"0199…","run":{…}}`. Before each part
/// the sender waits until most of the parts before it have been read, so an agent holds one page of a run, however
/// large the run and however slow the client. Lines of other answers may come between.
package import Basics
package import RunState

/// An answer that is being sent in parts.
package struct PartedAnswer {
  /// The approximate size of a part in bytes.
  package static let page = 256 << 10

  private let request: RequestLine
  private let id: String
  /// What is masked; nil if nothing is.
  private let secrets: SecretRegistry?
  private var hasParts = false
  /// Whether a secret was masked in a text, whose hash is another one then.
  private var isMasked = false
  /// Whether the client is still connected.
  package private(set) var isHeard = true

  package init(to request: RequestLine, id: String, hiding secrets: SecretRegistry?) {
    self.request = request
    self.id = id
    self.secrets = secrets
  }

  package mutating func send(members: ValueMap, at place: [String]) async {
    await send("members", .map(members), place)
  }
  package mutating func send(items: [Value], at place: [String]) async { await send("items", .list(items), place) }

  /// Sends a stretch of text, which may end inside a character.
  package mutating func send(text: some Sequence<UInt8>, at place: [String]) async {
    let bytes = Array(text)
    let shown = secrets?.shown(bytes, isJSON: false) ?? bytes
    if shown.count != bytes.count || shown != bytes { isMasked = true }
    await send("text", .string(String(decoding: shown, as: UTF8.self)), place)
  }

  /// Sends the hash that the sent text must have; the sender has not verified it.
  package mutating func send(sha256: String, at place: [String]) async {
    if !isMasked { await send("sha256", .string(sha256), place) }
  }

  /// Discards what was sent, if anything, and starts again.
  package mutating func beginAnew() async {
    if hasParts { isHeard = await request.replyInTurn(.object(["part": .string(id)])) && isHeard }
    hasParts = false
  }

  private mutating func send(_ kind: String, _ content: Value, _ place: [String]) async {
    guard isHeard else { return }
    hasParts = true
    isHeard = await request.replyInTurn(
      .object(["part": .string(id), "at": .list(place.map { .string($0) }), kind: secrets?.shown(content) ?? content]))
  }

  /// Sends the members that are in no part, which end the answer; also while the server stops.
  package func end(_ answer: ValueMap) async {
    guard isHeard else { return }
    var answer = answer
    if hasParts { answer["parts"] = .string(id) }
    await request.replyAtEnd(secrets?.shown(.map(answer)) ?? .map(answer))
  }
}

/// Assembles answers from their parts.
package struct AnswerAssembler: Sendable {
  /// The content for one place: members, items or text.
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

  /// By the ids of the answers.
  private var open: [String: [Part]] = [:]

  package init() {}

  /// The whole answer that a line completes, or the line itself if it isn't a part; nil if more of the answer follows.
  package mutating func receive(_ line: Value) -> Value? {
    if let id = line["part"]?.string {
      guard let place = line["at"]?.list?.map({ $0.string ?? "" }) else {
        open[id] = nil
        return nil
      }
      // Grown in place, because there may be many parts.
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
  /// The value with another value at a place inside it; missing objects are created.
  fileprivate func with(_ value: Value, at place: ArraySlice<String>) -> Value {
    guard let name = place.first else { return value }
    var map = self.map ?? ValueMap()
    map[name] = (map[name] ?? .null).with(value, at: place.dropFirst())
    return .map(map)
  }
}
