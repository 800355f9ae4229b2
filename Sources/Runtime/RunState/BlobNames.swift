import Basics

/// Finds possible names of blobs in the text of the state's files.
///
/// Anything that looks like a name counts, so that no blob becomes garbage because a format has changed.
enum BlobNames {
  /// Without the quote before it, because a dollar sign is quicker to find.
  private static let marker = Array("$blob\"".utf8)
  static let length = 64

  /// The possible names in a line, each once; a line without any blob isn't searched.
  static func all(in line: ArraySlice<UInt8>) -> [String] {
    if !line.holds(marker) { return [] }
    var names: Set<String> = []
    forEach(in: line) { name, _ in names.insert(name) }
    return names.sorted { $0.precedesByScalars($1) }
  }

  /// The names that are references in compact text, and no other possible names.
  static func references(in text: ArraySlice<UInt8>) -> Set<String> {
    let label = Array("{\"$blob\":{\"sha256\":\"".utf8)
    var names: Set<String> = []
    if !text.holds(label) { return [] }
    forEach(in: text) { name, place in
      if text[..<place].suffix(label.count).elementsEqual(label) { names.insert(name) }
    }
    return names
  }

  static func isName(_ text: some Collection<UInt8>) -> Bool {
    text.count == length && text.allSatisfy { ASCII.digits.contains($0) || (0x61...0x66).contains($0) }
  }

  /// Calls a closure with every quoted text that looks like a name, and where it begins.
  static func forEach(in bytes: ArraySlice<UInt8>, _ body: (String, Int) -> Void) {
    var quote = bytes.firstPlace(of: ASCII.quote)
    while let place = quote {
      let name = bytes[(place + 1)...].prefix(length)
      if name.endIndex < bytes.endIndex, bytes[name.endIndex] == ASCII.quote, isName(name) {
        body(String(decoding: name, as: UTF8.self), place + 1)
      }
      quote = bytes[(place + 1)...].firstPlace(of: ASCII.quote)
    }
  }
}
