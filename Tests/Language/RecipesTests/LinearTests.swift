import Basics
import Glibc
import Testing

@testable import Recipes

/// Checking a recipe takes time in proportion to it: four times as much takes four times as long, not sixteen times.
@Suite struct `How long checking takes` {
  /// The processor time of this thread that checking a recipe and showing its faults takes, at best of three times.
  ///
  /// - Parameter enough: A time that is low enough to stop trying.
  private func time(of text: String, enough: Double = 0) -> Double {
    func now() -> Double {
      var time = timespec()
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
      return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
    var best = Double.infinity
    for _ in 0..<3 where best > enough {
      let start = now()
      let checked = Recipe.check(Source(name: "test.yaml", text: text), in: .test())
      #expect(!Diagnostics(checked.diagnostics).rendered().isEmpty || checked.recipe != nil)
      best = min(best, now() - start)
    }
    return best
  }

  @Test(arguments: [
    "names", "names that are read", "conditional names", "unknown names", "unknown names on many lines", "ids",
    "ids that are read", "ids in blocks", "ids in branches", "guards", "faults with a fix", "steps that come later",
  ])
  func `is in proportion`(_ kind: String) {
    func text(_ count: Int) -> String {
      let numbers = 0..<count
      return switch kind {
      case "names": "steps:\n" + numbers.map { "  - let: { v\($0): 1 }\n" }.joined()
      case "names that are read":
        "steps:\n  - let: { v0: 1 }\n"
          + numbers.dropFirst().map { "  - let: { v\($0): \"${{ v\($0 - 1) + 1 }}\" }\n" }.joined()
      case "conditional names": "steps:\n" + numbers.map { "  - { if: \"1 < 2\", let: { v\($0): 1 } }\n" }.joined()
      case "unknown names":
        "steps:\n  - let: { a: \"${{ [" + numbers.map { "x\($0)" }.joined(separator: ", ") + "] }}\" }\n"
      case "ids": "steps:\n" + numbers.map { "  - { id: s\($0), uses: desk.find }\n" }.joined()
      case "ids that are read":
        "steps:\n  - { id: s0, uses: desk.find }\n"
          + numbers.dropFirst().map {
            "  - { id: s\($0), uses: desk.find, with: { words: \"${{ steps.s\($0 - 1).papers[0].title }}\" } }\n"
          }.joined()
      case "ids in blocks":
        "steps:\n" + numbers.map { "  - { id: b\($0), steps: [{ id: s\($0), uses: desk.find }] }\n" }.joined()
      case "ids in branches":
        "steps:\n  - parallel:\n"
          + numbers.map { "      b\($0): [{ id: s\($0), uses: desk.find }]\n" }.joined()
      case "guards":
        "steps:\n  - { id: f, uses: desk.find }\n"
          + numbers.map { "  - { id: s\($0), if: \"steps.f.count > \($0)\", uses: desk.find }\n" }.joined()
          + numbers.map { "  - { if: \"!has(steps.s\($0))\", fail: none }\n" }.joined()
      case "faults with a fix":
        "steps:\n" + numbers.map { "  - let: { v\($0): \"${{ 1 + 1.5 }}\" }\n" }.joined()
      case "steps that come later":
        "steps:\n"
          + numbers.map { "  - { id: s\($0), uses: desk.find, if: \"has(steps.s\($0 + 1))\" }\n" }.joined()
      default:
        "steps:\n  - let:\n      a: >-\n        ${{ [\n" + numbers.map { "        x\($0),\n" }.joined()
          + "        1] }}\n"
      }
    }
    // A square would be 64 times as much.
    let few = time(of: text(400))
    let many = time(of: text(3200), enough: 20 * few)
    #expect(many < 24 * few, "400: \(few) s, 3200: \(many) s")
  }
}
