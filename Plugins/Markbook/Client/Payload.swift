import ActionKit

/// One JSON object of an answer, read as tolerantly as the service requires.
///
/// A number that one version sends as an integer may come as a numeric string from another, and the reverse. A list
/// that is left out is empty, a null counts as absent, and undeclared fields are ignored. An error names the action and
/// the field, and never quotes the answer, which holds pupils' marks.
struct Payload {
  let members: ValueMap
  /// The action that was answered, as the wire calls it.
  let action: String
  /// Where the object is in the answer, as `studentlist[3]`; empty for the answer itself.
  let path: String

  init(_ value: Value, action: String, path: String = "") throws(MarkbookError) {
    guard let members = value.map else {
      throw .unreadable(action, path.isEmpty ? "the answer" : "'\(path)'", "an object", found: value)
    }
    self.members = members
    self.action = action
    self.path = path
  }

  /// An integer, which must be there.
  func int(_ name: String) throws(MarkbookError) -> Int {
    try int(try present(name), at: name)
  }

  /// A text, which must be there.
  func text(_ name: String) throws(MarkbookError) -> String { try text([name]) }

  /// A text, which must be there, under one of the names.
  func text(_ names: [String]) throws(MarkbookError) -> String {
    for name in names.dropLast() {
      if let value = optional(name) { return try text(value, at: name) }
    }
    let name = names[names.count - 1]
    return try text(try present(name), at: name)
  }

  /// A text that may be left out.
  func optionalText(_ name: String) throws(MarkbookError) -> String? {
    guard let value = optional(name) else { return nil }
    return try text(value, at: name)
  }

  /// A text that is empty when it is left out.
  func textOrEmpty(_ name: String) throws(MarkbookError) -> String { try optionalText(name) ?? "" }

  /// An integer that may be left out.
  func optionalInt(_ name: String) throws(MarkbookError) -> Int? {
    guard let value = optional(name) else { return nil }
    return try int(value, at: name)
  }

  /// A list of objects, empty when it is left out.
  func objects<T>(_ name: String, _ make: (Payload) throws(MarkbookError) -> T) throws(MarkbookError) -> [T] {
    try list(name) { (item, place) throws(MarkbookError) in
      try make(Payload(item, action: action, path: qualified(place)))
    }
  }

  /// A list of objects, empty when it is left out.
  func objects(_ name: String) throws(MarkbookError) -> [Payload] {
    try objects(name) { (part) throws(MarkbookError) in part }
  }

  /// A list of integers, empty when it is left out.
  func ints(_ name: String) throws(MarkbookError) -> [Int] {
    try list(name) { (item, place) throws(MarkbookError) in try int(item, at: place) }
  }

  /// Reads a list of texts, empty when it is left out; a null in it is an empty text.
  ///
  /// A list with more texts than expected is refused, because the texts could then belong to the wrong rows.
  func texts(_ name: String, atMost most: Int, _ what: String) throws(MarkbookError) -> [String] {
    let texts = try list(name) { (item, place) throws(MarkbookError) in item.isNull ? "" : try text(item, at: place) }
    if texts.count <= most { return texts }
    throw MarkbookError(
      .unreadable, action: action,
      message: "The answer to '\(action)' contradicts itself: '\(qualified(name))' has \(texts.count) entries for "
        + "\(most) \(what), so it isn't certain which belongs to which; ask again, and if it stays so, tell the service.",
      effect: .unknown)
  }

  private func list<T>(
    _ name: String, _ make: (_ item: Value, _ place: String) throws(MarkbookError) -> T
  ) throws(MarkbookError) -> [T] {
    guard let value = optional(name) else { return [] }
    guard let items = value.list else { throw unreadable(name, "a list", found: value) }
    var made: [T] = []
    made.reserveCapacity(items.count)
    for (index, item) in items.enumerated() { made.append(try make(item, "\(name)[\(index)]")) }
    return made
  }

  private func optional(_ name: String) -> Value? {
    guard let value = members[name], !value.isNull else { return nil }
    return value
  }

  private func present(_ name: String) throws(MarkbookError) -> Value {
    guard let value = optional(name) else { throw unreadable(name, "there", found: nil) }
    return value
  }

  private func int(_ value: Value, at name: String) throws(MarkbookError) -> Int {
    switch value.content {
    case .int(let number): return number
    case .double(let number):
      if let integer = Int(exactly: number) { return integer }
    case .string(let text):
      if let integer = Int(text) { return integer }
    default: break
    }
    throw unreadable(name, "an integer", found: value)
  }

  private func text(_ value: Value, at name: String) throws(MarkbookError) -> String {
    switch value.content {
    case .string(let text): text
    case .int(let number): String(number)
    case .double(let number): Int(exactly: number).map(String.init) ?? String(number)
    default: throw unreadable(name, "a text", found: value)
    }
  }

  private func unreadable(_ name: String, _ wanted: String, found: Value?) -> MarkbookError {
    .unreadable(action, "'\(qualified(name))'", wanted, found: found)
  }

  private func qualified(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
}
