import Basics
import RunState
import Testing

@testable import Runs

/// A plan and a run are two walks of one recipe.
///
/// If all values of a recipe are known beforehand, the run makes exactly the writes that its plan shows without a
/// condition, in the same order and with the same content.
@Suite(.timeLimit(.minutes(20))) struct PlanPropertyTests {
  /// Makes a recipe of every kind of step with every modifier.
  ///
  /// Whatever a condition, a list or a write depends on is
  /// written out, computed, or read before the first write.
  private struct Generator {
    private var dice: Dice
    private var count = 0
    private var hasWritten = false
    /// The names that are surely bound, all of them numbers.
    private var names: [String] = []
    /// The names of calls that the service refuses, in the plan as in the run.
    private(set) var refused: [String] = []
    private(set) var kinds: Set<String> = []
    private(set) var sub = ""

    init(seed: UInt64) { dice = Dice(seed: seed) }

    private mutating func below(_ bound: Int) -> Int { dice.below(bound) }
    private mutating func oneIn(_ count: Int) -> Bool { dice.below(count) == 0 }

    private mutating func pick(_ choices: [String]) -> String { choices[below(choices.count)] }

    private mutating func next(_ kind: String) -> Int {
      kinds.insert(kind)
      count += 1
      return count
    }

    private mutating func number() -> String {
      switch below(4) {
      case 0 where !names.isEmpty: "\(names[below(names.count)]) + \(below(3))"
      case 1 where !names.isEmpty: names[below(names.count)]
      case 2: "size([1, 2, 3].filter(x, x > \(below(4))))"
      default: "\(below(9))"
      }
    }

    private mutating func condition() -> String {
      "\(number()) \(pick(["<", "<=", "==", "!=", ">"])) \(number())"
    }

    mutating func recipe() -> String {
      sub = "recipe: sub\ninputs: { m: int }\nsteps:\n"
      let outside = names
      names = ["inputs.m"]
      // Its writes come before or after the reads outside, so it counts as written from the beginning.
      let hadWritten = hasWritten
      hasWritten = true
      sub += steps(2, depth: 3, at: "  ")
      if oneIn(2) { sub += "finally:\n\(write(at: "  "))" }
      hasWritten = hadWritten
      names = outside
      var text = "steps:\n" + steps(7, depth: 0, at: "  ")
      if oneIn(3) { text += "onFailure:\n\(handler(at: "  "))" }
      if oneIn(3) { text += "finally:\n\(handler(at: "  "))" }
      return text
    }

    /// Writes that need no name.
    private mutating func handler(at margin: String) -> String {
      let bound = names
      names = []
      defer { names = bound }
      return write(at: margin) + (oneIn(2) ? write(at: margin) : "")
    }

    private mutating func steps(_ most: Int, depth: Int, at margin: String) -> String {
      let bound = names
      var text = ""
      for _ in 0...below(most) { text += step(depth: depth, at: margin) }
      // A name that a block binds ends with it.
      if depth > 0 { names = bound }
      return text
    }

    private mutating func block(_ key: String, depth: Int, at margin: String) -> String {
      "\(margin)\(key):\n" + steps(2, depth: depth + 1, at: margin + "  ")
    }

    private mutating func guarded(_ margin: String) -> String {
      oneIn(3) ? "\(margin)  if: \(condition())\n" : ""
    }

    private mutating func write(at margin: String, modifiers: String = "") -> String {
      hasWritten = true
      let action = pick(["post", "put", "putShown", "postLooked", "postKeyed", "putWithinHour"])
      let number = next(action)
      var text = "\(margin)- id: w\(number)\n\(margin)  uses: bench.\(action)\n\(modifiers)"
      text +=
        "\(margin)  with: { name: \"w\(number) ${{ string(\(self.number())) }}\", value: \"${{ \(self.number()) }}\" }\n"
      if action == "postKeyed", oneIn(2) { text += "\(margin)  key: k\(number)-${{ string(\(self.number())) }}\n" }
      if action.hasPrefix("put"), oneIn(4) {
        kinds.insert("retry")
        text += "\(margin)  retry: { maxAttempts: 2, initial: 1s }\n"
      } else if action == "put", oneIn(4) {
        kinds.insert("repeat")
        text += "\(margin)  repeat: { until: result.value >= 0, every: 1h }\n"
      } else if oneIn(5) {
        kinds.insert("timeout")
        text += "\(margin)  timeout: 300s\n"
      }
      if oneIn(5) {
        kinds.insert("onError")
        text += "\(margin)  onError:\n\(margin)    - { uses: bench.put, with: { name: \"w never\" } }\n"
      }
      return text
    }

    private mutating func step(depth: Int, at margin: String) -> String {
      switch below(depth < 3 ? 19 : 9) {
      case 0, 1: return write(at: margin, modifiers: guarded(margin))
      case 2:
        let number = next("let")
        // Inside an optional part the name is bound only for the steps that follow there.
        let text = "\(margin)- let: { n\(number): \"${{ \(self.number()) }}\" }\n"
        names.append("n\(number)")
        return text
      case 3:
        let number = next("compute")
        let text =
          "\(margin)- id: c\(number)\n\(margin)  uses: bench.compute\n"
          + "\(margin)  with: { name: c\(number), value: \"${{ \(self.number()) }}\" }\n"
        names.append("steps.c\(number).value")
        return text
      case 4:
        guard !hasWritten, depth == 0 else { return write(at: margin, modifiers: guarded(margin)) }
        let number = next("read")
        let text =
          "\(margin)- id: r\(number)\n\(margin)  uses: bench.read\n"
          + "\(margin)  with: { name: r\(number), value: \(below(9)) }\n"
        names.append("steps.r\(number).value")
        return text
      case 5:
        // One that fails, and is caught.
        let number = next("caught")
        refused.append("f\(number)")
        var text = "\(margin)- id: f\(number)\n\(margin)  uses: bench.compute\n\(margin)  with: { name: f\(number) }\n"
        if oneIn(2) {
          text += "\(margin)  onError: continue\n"
        } else {
          text += "\(margin)  onError:\n"
          text += handler(at: margin + "    ")
        }
        hasWritten = true
        let ends = "steps.f\(number))\", uses: bench.put, with: { name: w"
        text += "\(margin)- { if: \"!has(\(ends) without \(number) } }\n"
        text += "\(margin)- { if: \"has(\(ends) with \(number) } }\n"
        return text
      case 6:
        let number = next("wait")
        return pick([
          "\(margin)- wait: 2h\n", "\(margin)- wait: { until: \"now + duration('3h')\" }\n",
          "\(margin)- { id: e\(number), wait: { event: paid } }\n",
        ])
      case 7:
        let number = next("approve")
        return "\(margin)- id: a\(number)\n\(margin)  approve: { prompt: \"Go on?\" }\n"
          + "\(margin)- { if: \"!steps.a\(number).approved\", uses: bench.put, with: { name: w rejected } }\n"
      case 8:
        guard oneIn(3) else { return write(at: margin, modifiers: guarded(margin)) }
        _ = next("fail")
        return "\(margin)- if: \(condition())\n\(margin)  fail: it is so\n"
      case 9, 10, 11:
        let number = next("forEach")
        let items = oneIn(4) ? "[]" : "[1, 2, \(self.number())]"
        var text = "\(margin)- id: l\(number)\n\(margin)  forEach: \"\(items)\"\n\(margin)  as: i\(number)\n"
        names.append("i\(number)")
        if oneIn(2) {
          kinds.insert("where")
          text += "\(margin)  where: \(condition())\n"
        }
        if oneIn(3) {
          kinds.insert("onItemError")
          text += "\(margin)  onItemError: continue\n"
        }
        text += block("  steps", depth: depth, at: margin)
        names.removeAll { $0 == "i\(number)" }
        return text
      case 16:
        let number = next("else")
        var text = "\(margin)- id: b\(number)\n\(margin)  if: \(condition())\n"
        text += block("  steps", depth: depth, at: margin)
        return text + block("  else", depth: depth, at: margin)
      case 17:
        let number = next("switch")
        var text = "\(margin)- id: b\(number)\n\(margin)  switch: int(\(self.number()))\n\(margin)  cases:\n"
        for key in 0...1 { text += "\(margin)    \(key):\n" + steps(2, depth: depth + 1, at: margin + "      ") }
        return text + block("  default", depth: depth, at: margin)
      case 18:
        let number = next("value")
        if oneIn(2) { refused.append("f\(number)") }
        hasWritten = true
        let text =
          "\(margin)- id: f\(number)\n\(margin)  uses: bench.compute\n\(margin)  with: { name: f\(number), value: 1 }\n"
          + "\(margin)  onError:\n\(margin)    steps:\n\(handler(at: margin + "    "))"
          + "\(margin)    value: { name: x, value: \"${{ \(self.number()) }}\" }\n"
        names.append("steps.f\(number).value")
        return text
      case 12, 13:
        let number = next("block")
        var text = "\(margin)- id: b\(number)\n\(guarded(margin))"
        if oneIn(3) { text += "\(margin)  retry: { maxAttempts: 2, initial: 1s, on: [conflict] }\n" }
        if oneIn(3) { text += "\(margin)  outputs: { n: \"${{ \(self.number()) }}\" }\n" }
        let carried = "m\(number)"
        if oneIn(4) {
          kinds.insert("rounds")
          let next = "next: { \(carried): \"${{ \(carried) + 1 }}\" }, until: \(carried) > 0"
          text += "\(margin)  repeat: { carry: { \(carried): \(below(9)) }, \(next) }\n"
          names.append(carried)
        }
        let inner = block("  steps", depth: depth, at: margin)
        names.removeAll { $0 == carried }
        // A time limit would pass while the step waits for a person.
        if oneIn(3), !["wait:", "approve:", "call:"].contains(where: { inner.contains($0) }) {
          text += "\(margin)  timeout: 400s\n"
        }
        return text + inner
      case 14:
        let number = next("parallel")
        // The order of two branches that both write is unknown.
        var text = "\(margin)- id: p\(number)\n\(margin)  parallel:\n\(margin)    left:\n"
        text += steps(2, depth: 3, at: margin + "      ")
        text += "\(margin)    right:\n\(margin)      - { uses: bench.compute, with: { name: beside } }\n"
        return text
      default:
        let number = next("call")
        hasWritten = true
        return "\(margin)- { id: s\(number), call: sub.yaml, with: { m: \"${{ \(self.number()) }}\" } }\n"
      }
    }
  }

  /// Drives a run to its end: resumes it, decides its approvals, and sends the events it waits for.
  static func end(of bench: Bench) async throws -> RunRecord {
    var run = try await bench.run()
    var events = 0
    for _ in 0..<200 where !run.status.isEnded {
      for step in run.stepsInOrder where step.status == .waiting && step.wait?.kind == .approval {
        try await bench.decide(step.path, true)
      }
      if run.stepsInOrder.contains(where: { $0.status == .waiting && $0.wait?.kind == .event }) {
        events += 1
        try await bench.send("paid", id: "e\(events)")
      } else if let wakeAt = run.wakeAt {
        bench.time.set(to: max(wakeAt, bench.time.now()))
      }
      run = try await bench.engine().run()
    }
    return run
  }

  @Test func `of recipes whose values are all known, the writes of the plan are those of the run, in order`()
    async throws
  {
    var kinds: Set<String> = []
    var writes = 0
    for seed in 1...UInt64(320) {
      var generator = Generator(seed: seed)
      let text = generator.recipe()
      let bench: Bench
      do { bench = try Bench(text, calling: ["sub.yaml": generator.sub]) } catch {
        Issue.record("seed \(seed): \(error)\n\(text)\n\(generator.sub)")
        continue
      }
      func refuse() {
        for name in generator.refused {
          bench.service.script(name, Array(repeating: .fail(WalkTests.refusal), count: 200))
        }
      }
      refuse()
      let plan = try await bench.plan()
      let planned = plan.entries.compactMap { entry -> String? in
        guard case .write(let call, _) = entry.event, entry.conditions.isEmpty else { return nil }
        return call.input["name"]?.string ?? "unknown"
      }
      bench.service.forget()
      refuse()
      let run = try await PlanPropertyTests.end(of: bench)
      let made = bench.service.names.filter { $0.hasPrefix("w") }
      #expect(planned == made, "seed \(seed)\n\(text)\n\(generator.sub)")
      #expect((plan.error == nil) == (run.status == .succeeded), "seed \(seed): \(run.status)\n\(text)")
      kinds.formUnion(generator.kinds)
      writes += made.count
    }
    // A generator that makes nothing proves nothing.
    #expect(
      kinds.isSuperset(of: [
        "approve", "block", "call", "caught", "compute", "fail", "forEach", "let", "onError", "onItemError", "parallel",
        "post", "postKeyed", "postLooked", "put", "putShown", "putWithinHour", "read", "repeat", "retry", "rounds",
        "timeout", "wait", "where", "else", "switch", "value",
      ]))
    #expect(writes > 1000)
  }
}
