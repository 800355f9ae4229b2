// A JSON pointer (RFC 6901): `/classes/0/name`. Each part is a key, or the index of an item; `~1` in it is a slash and
// `~0` a tilde. The empty pointer is the whole value.

import Basics

extension TextPattern {
  /// A place in a JSON value.
  public static let jsonPointer = TextPattern(
    "a JSON pointer such as /classes/0/name", regex: "^(/([^~]|~[01])*)?$",
    accepted: ["", "/", "/a", "/a/0", "/a~1b/~0"], refused: ["a", "a/b", "/~", "/~2"]
  ) { text in
    guard text.isEmpty || text.hasPrefix("/") else { return false }
    let bytes = Array(text.utf8)
    return bytes.indices.allSatisfy {
      bytes[$0] != ASCII.tilde || ($0 + 1 < bytes.count && (0x30...0x31).contains(bytes[$0 + 1]))
    }
  }
}

extension Value {
  /// The part at a place, or an error that says what is there instead.
  ///
  /// - Parameters:
  ///   - pointer: The place, as `TextPattern.jsonPointer` accepts it.
  ///   - what: The name of the whole value in messages.
  public func part(at pointer: String, called what: String) throws(ValueError) -> Value {
    var value = self
    var path = ""
    for part in pointer.split(separator: "/", omittingEmptySubsequences: false).dropFirst() {
      let name = String(part).ofPointerPart
      let place = path.isEmpty ? what : "'\(path)' in \(what)"
      switch value.content {
      case .map(let map):
        guard let member = map[name] else {
          let guess = name.nearest(among: map.members.compactMap(\.name)).map { "; did you mean '\($0)'?" } ?? ""
          throw ValueError("\(place) has no '\(name)'\(guess)", at: value.place)
        }
        value = member
      case .list(let items):
        guard let index = Int(name), String(index) == name, items.indices.contains(index) else {
          throw ValueError("\(place) has \(counted(items.count, "item")), and no '\(name)'", at: value.place)
        }
        value = items[index]
      default: throw ValueError("\(place) is \(value.kindName), which has no '\(name)'", at: value.place)
      }
      path += "/\(part)"
    }
    return value
  }
}
