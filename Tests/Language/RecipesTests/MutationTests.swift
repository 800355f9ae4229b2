import Basics
import Testing

@testable import Recipes

/// Randomly mutated recipes: each is read without a trap, and each diagnostic has a place.
@Suite struct `Mutated recipes` {
  @Test(arguments: 0..<8)
  func `No text traps, and each place is inside its text`(_ seed: UInt64) throws {
    let texts = ["right", "twenty", "steps", "actions", "schedules", "expressions"].flatMap { CaseFile($0).cases }
      .compactMap { $0.files[CaseFile.main] }.map { Array($0.utf8) }
    var chance = Chance(state: seed &* 0x9E37_79B9_7F4A_7C15 | 1)
    for round in 0..<400 {
      let bytes = mutated(texts[chance.below(texts.count)], by: texts[chance.below(texts.count)], &chance)
      let source = Source(name: CaseFile.main, bytes: bytes)
      let checked = Recipe.check(source, in: .test())
      let faults = Diagnostics(checked.diagnostics)
      #expect((checked.recipe == nil) == faults.hasErrors, "seed \(seed), round \(round)")
      for fault in faults.list {
        let range = fault.location?.range ?? -1 ..< -1
        #expect(
          range.lowerBound >= 0 && range.upperBound <= bytes.count,
          "seed \(seed), round \(round): \(fault.message) has no place")
        #expect(!fault.rendered().isEmpty)
      }
    }
  }

  /// A text with a few of its bytes, words or lines changed, moved, doubled or taken from another.
  private func mutated(_ text: [UInt8], by other: [UInt8], _ chance: inout Chance) -> [UInt8] {
    var text = text
    for _ in 0...chance.below(4) {
      guard text.count > 2 else { break }
      let start = chance.below(text.count)
      let end = min(text.count, start + 1 + chance.below(24))
      switch chance.below(6) {
      case 0: text.removeSubrange(start..<end)
      case 1: text[start] = UInt8(chance.below(256))
      case 2: text.insert(contentsOf: Array(pieces[chance.below(pieces.count)].utf8), at: start)
      case 3: text.insert(contentsOf: text[start..<end], at: chance.below(text.count))
      case 4:
        let from = chance.below(max(other.count, 1))
        text.replaceSubrange(start..<end, with: other[min(from, other.count)..<min(from + 40, other.count)])
      default: text.swapAt(start, end - 1)
      }
    }
    return text
  }

  private let pieces = [
    "${{", "}}", "[", "]", "{", "}", ": ", "\n  - ", "\n", "'", "\"", "&a ", "*a", "!!str ", "null",
    "9999999999999999999",
    "-1", "0.1e9", "has(", "steps.", "if: ", "forEach: ", "with: ", "é", "\u{202E}", "|", ">-\n", "? ", "#",
  ]
}

/// Numbers that depend on the seed alone (xorshift64*).
private struct Chance {
  var state: UInt64

  mutating func below(_ count: Int) -> Int {
    state ^= state >> 12
    state ^= state << 25
    state ^= state >> 27
    return Int((state &* 2_685_821_657_736_338_717) >> 33) % max(count, 1)
  }
}
