import Basics
import Foundation
import Testing

@testable import Recipes

/// Applies each fix that the tables of faults suggest: the fault must be gone, without another in its place.
@Suite struct `Fixes that are suggested` {
  /// Values to put in the place of `…` in a suggestion: one of them fits.
  private static let fillers = ["'x'", "0", "0.0", "false", "{}", "[]", "'draft'"]

  /// The texts that a message suggests to write, each with its forms.
  private func suggestions(of message: String) -> [[String]] {
    var found: [[String]] = []
    for (lead, quote) in [("write", "`"), ("or", "`"), ("did you mean", "`"), ("did you mean", "'"), ("as in", "`")] {
      var rest = message[...]
      while let start = rest.range(of: "\(lead) \(quote)") {
        rest = rest[start.upperBound...]
        guard let end = rest.range(of: quote) else { break }
        let text = String(rest[..<end.lowerBound])
        rest = rest[end.upperBound...]
        // A condition goes before the faulty text; it doesn't replace it.
        if text.hasSuffix("&& …") || text.hasPrefix("if: ") { continue }
        found.append(text.contains("…") ? Self.fillers.map { text.replacingOccurrences(of: "…", with: $0) } : [text])
      }
    }
    if let start = message.range(of: "such as ") {
      let end = message[start.upperBound...].firstIndex { $0 == "," || $0 == ";" } ?? message.endIndex
      let text = String(message[start.upperBound..<end])
      if !message[start.upperBound...].hasPrefix("[") { found.append([text, "{ \(text) }"]) }
    }
    return found
  }

  /// Possible places for a suggestion: the fault, or the text around it on its line.
  private func places(_ bytes: [UInt8], _ range: Range<Int>) -> [Range<Int>] {
    let isBreak = { (byte: UInt8) in byte == 0x0A }
    let start = bytes[..<range.lowerBound].lastIndex(where: isBreak).map { $0 + 1 } ?? 0
    let end = bytes[range.upperBound...].firstIndex(where: isBreak) ?? bytes.count
    func isWord(_ byte: UInt8) -> Bool {
      byte == 0x5F || (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte & 0xDF)
    }
    let cuts = (start...end).filter { $0 == start || $0 == end || !(isWord(bytes[$0]) && isWord(bytes[$0 - 1])) }
    var places = [range]
    for lower in cuts where lower <= range.lowerBound {
      for upper in cuts where upper > lower && upper >= range.upperBound { places.append(lower..<upper) }
    }
    return places.sorted { $0.count < $1.count }
  }

  @Test(arguments: [
    "toplevel", "inputs", "steps", "actions", "expressions", "blocks", "calls", "schedules", "twenty", "hints",
  ])
  func `do away with the fault`(_ table: String) async {
    var count = 0
    for one in CaseFile(table).cases {
      // Lets other tests run during this long loop.
      await Task.yield()
      let connections: [String: String]? =
        table == "hints" ? nil : ["desk": "desk", "archive": "desk", "markbook": "markbook"]
      func faults(_ files: [String: String]) -> [Diagnostic] {
        let environment = RecipeEnvironment.test(files, connections: connections, zone: table == "hints" ? "UTC" : nil)
        let checked = Recipe.check(Source(name: CaseFile.main, text: files[CaseFile.main] ?? ""), in: environment)
        return checked.diagnostics + (table == "hints" ? checked.recipe?.hints ?? [] : [])
      }
      let before = faults(one.files)
      for fault in before {
        guard let location = fault.location else { continue }
        for choices in suggestions(of: fault.message) {
          count += 1
          let bytes = location.source.bytes
          let isFixed = places(bytes, location.range).contains { place in
            choices.contains { choice in
              var files = one.files
              files[location.source.name] = String(
                decoding: bytes[..<place.lowerBound] + Array(choice.utf8) + bytes[place.upperBound...], as: UTF8.self)
              let after = faults(files)
              return after.count < before.count
                && after.count { $0.message == fault.message } < before.count { $0.message == fault.message }
            }
          }
          #expect(isFixed, "\(one.name): \(fault.message): \(choices[0])")
        }
      }
    }
    #expect(count > 0, "the table suggests nothing")
  }
}
