import Basics
import Foundation
import RunState
import Testing

@testable import Runs

/// Parallel steps may run in any order.
///
/// Whatever a run of it writes, in the order that its waits give it, the plan shows, if only with a condition, for each
/// item of a list, or with a part that is not known.
@Suite(.timeLimit(.minutes(30))) struct PlanOrderTests {
  /// How many recipes are made; `make soak` sets more.
  private static let count = ProcessInfo.processInfo.environment["ORDERS"].flatMap { Int($0) } ?? 60

  /// Makes recipes of branches, loops and calls, beside and inside each other, whose steps share a few values.
  ///
  /// Each write of its own, which no step reads, says what it was computed from.
  private struct Generator {
    private var dice: Dice
    private var count = 0
    /// The names of values read so far, all of them numbers.
    private var names: [String] = []
    private(set) var kinds: Set<String> = []
    private(set) var sub = ""

    init(seed: UInt64) { dice = Dice(seed: seed) }

    private mutating func below(_ bound: Int) -> Int { dice.below(bound) }
    private mutating func oneIn(_ count: Int) -> Bool { dice.below(count) == 0 }

    private mutating func next(_ kind: String) -> Int {
      kinds.insert(kind)
      count += 1
      return count
    }

    private mutating func number() -> String {
      names.isEmpty || oneIn(4) ? "\(below(4))" : names[below(names.count)]
    }

    private mutating func shared() -> String { ["a", "b", "c"][below(3)] }

    mutating func recipe() -> String {
      sub = "recipe: sub\ninputs: { m: int }\nsteps:\n"
      names = ["inputs.m"]
      sub += oneIn(2) ? parallel(depth: 3, at: "  ") : steps(2, depth: 3, at: "  ")
      if oneIn(2) { sub += "finally:\n\(write(at: "  "))" }
      names = []
      return "steps:\n" + steps(1, depth: 0, at: "  ") + parallel(depth: 0, at: "  ") + steps(2, depth: 0, at: "  ")
    }

    private mutating func steps(_ most: Int, depth: Int, at margin: String) -> String {
      let bound = names
      var text = ""
      for _ in 0...below(most + 1) { text += step(depth: depth, at: margin) }
      if depth > 0 { names = bound }
      return text
    }

    private mutating func parallel(depth: Int, at margin: String) -> String {
      let number = next("parallel")
      var text = "\(margin)- id: p\(number)\n"
      if oneIn(3) {
        kinds.insert("caught")
        text += "\(margin)  onError: continue\n"
      }
      text += "\(margin)  parallel:\n"
      for branch in 0..<(2 + below(2)) {
        text += "\(margin)    b\(branch):\n" + steps(3, depth: depth + 1, at: margin + "      ")
      }
      return text
    }

    private mutating func guarded(_ margin: String) -> String {
      oneIn(2) ? "\(margin)  if: \(self.number()) \(oneIn(2) ? ">" : "<") \(below(3))\n" : ""
    }

    private mutating func write(at margin: String) -> String {
      let number = next("write")
      return "\(margin)- id: w\(number)\n\(margin)  uses: store.put\n\(guarded(margin))"
        + "\(margin)  with: { name: \"w\(number) ${{ string(\(self.number())) }}\", value: 1 }\n"
    }

    private mutating func change(at margin: String) -> String {
      _ = next("change")
      return "\(margin)- uses: store.put\n\(guarded(margin))"
        + "\(margin)  with: { name: \(shared()), value: \"${{ \(self.number()) + 1 }}\" }\n"
    }

    private mutating func read(at margin: String) -> String {
      let number = next("read")
      let text =
        "\(margin)- { id: r\(number), uses: store.get, with: { name: \(shared()) } }\n"
        + "\(margin)- let: { n\(number): \"${{ int(steps.r\(number).?value.orValue(0)) }}\" }\n"
      names.append("n\(number)")
      return text
    }

    private mutating func step(depth: Int, at margin: String) -> String {
      switch below(depth < 3 ? 14 : 9) {
      case 0, 1: return write(at: margin)
      case 2, 3: return change(at: margin)
      case 4, 5, 6: return read(at: margin)
      case 7:
        _ = next("wait")
        return "\(margin)- wait: \(1 + below(9))s\n"
      case 8:
        guard depth > 0, oneIn(3) else { return read(at: margin) }
        _ = next("fail")
        return "\(margin)- if: \(self.number()) > \(below(3))\n\(margin)  fail: it is so\n"
      case 9, 10:
        let number = next("forEach")
        let list = oneIn(3) ? "[1, 2].filter(x, x <= \(self.number()))" : "[1, 2]"
        var text = "\(margin)- id: l\(number)\n\(margin)  forEach: \"\(list)\"\n\(margin)  as: i\(number)\n"
        if oneIn(2) {
          kinds.insert("maxParallel")
          text += "\(margin)  maxParallel: 2\n"
        }
        if oneIn(3) { text += "\(margin)  onItemError: continue\n" }
        names.append("i\(number)")
        text += "\(margin)  steps:\n" + steps(3, depth: depth + 1, at: margin + "    ")
        names.removeAll { $0 == "i\(number)" }
        return text
      case 11:
        let number = next("block")
        let text = "\(margin)- id: k\(number)\n\(margin)  onError:\n\(write(at: margin + "    "))"
        return text + "\(margin)  steps:\n" + steps(2, depth: depth + 1, at: margin + "    ")
      case 12:
        let number = next("call")
        return "\(margin)- { id: s\(number), call: sub.yaml, with: { m: \"${{ \(self.number()) }}\" } }\n"
      default: return parallel(depth: depth, at: margin)
      }
    }
  }

  @Test func `the plan shows everything that a run of branches, loops and calls writes`() async throws {
    var kinds: Set<String> = []
    var (writes, known) = (0, 0)
    for seed in 1...UInt64(Self.count) {
      var generator = Generator(seed: seed)
      let text = generator.recipe()
      let bench: Bench
      do { bench = try Bench(text, calling: ["sub.yaml": generator.sub]) } catch {
        Issue.record("seed \(seed): \(error)\n\(text)\n\(generator.sub)")
        continue
      }
      let plan = try await bench.plan()
      if plan.error != nil { continue }
      var planned: Set<String> = []
      for entry in plan.entries {
        guard case .write(let call, _) = entry.event else { continue }
        let step = entry.path.split(separator: "/").last.map(String.init) ?? ""
        planned.insert(call.input["name"]?.string ?? "\(step) unknown")
      }
      _ = try await PlanPropertyTests.end(of: bench)
      let made = bench.store.memory.state.values.keys.filter { $0.hasPrefix("w") }
      for name in made {
        let step = name.split(separator: " ").first.map(String.init) ?? ""
        #expect(
          planned.contains(name) || planned.contains("\(step) unknown"),
          "seed \(seed) writes '\(name)'\n\(text)\n\(generator.sub)\n\(planned.sorted())")
        if planned.contains(name) { known += 1 }
      }
      kinds.formUnion(generator.kinds)
      writes += made.count
    }
    // A generator that makes nothing proves nothing, and neither does a plan that knows nothing.
    #expect(
      kinds.isSuperset(of: [
        "block", "call", "caught", "change", "fail", "forEach", "maxParallel", "parallel", "read", "wait", "write",
      ]))
    #expect(writes * 3 > Self.count * 4)
    #expect(known * 3 > writes, "\(known) of \(writes) are known")
  }
}
