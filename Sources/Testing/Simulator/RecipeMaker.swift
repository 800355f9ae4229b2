import Basics
import RunTestKit

/// Writes recipes that check, with some of every kind of step.
struct RecipeMaker {
  var random: SeededGenerator
  private var lastID = 0
  /// The expression that gives the secret in the recipe that is being made up, and whether others call it.
  private var token = "secrets.TOKEN"
  private var isCalled = false

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  private mutating func pick<Item>(_ items: [Item]) -> Item {
    items[Int.random(in: 0..<items.count, using: &random)]
  }

  private mutating func one(in count: Int) -> Bool { Int.random(in: 0..<count, using: &random) == 0 }

  private mutating func newID() -> String {
    lastID += 1
    return "s\(lastID)"
  }

  /// A whole recipe of a name, which may follow others.
  mutating func recipe(_ name: String, among names: [String]) -> String {
    lastID = 0
    var lines = ["recipe: \(name)"]
    let takesToken = one(in: 4)
    if takesToken { lines.append("inputs: { token: { type: string, secret: true } }") }
    token = takesToken ? "inputs.token" : "secrets.TOKEN"
    if !one(in: 6) {
      lines.append("on: [\(entries(among: names.filter { $0 != name }, takesToken).joined(separator: ", "))]")
    }
    if one(in: 4) {
      lines.append(
        "concurrencyGroup: { name: \(pick(["g", "h"])), limit: \(pick([1, 2])), "
          + "onLimit: \(pick(["queue", "skip", "cancelOldest"])) }")
    }
    lines.append("steps:")
    for _ in 0..<Int.random(in: 1...4, using: &random) { lines.append("  - \(step(depth: 0))") }
    if one(in: 3) { lines.append("onFailure: [\(plain())]") }
    if one(in: 2) { lines.append("finally: [\(plain())]") }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The recipes that others call, by their files: the first calls the second.
  mutating func called() -> [(path: String, text: String)] {
    ["one", "two"].map { name in
      lastID = 0
      token = "inputs.token"
      isCalled = true
      defer { isCalled = false }
      var lines = [
        "recipe: \(name)", "inputs: { value: { type: int }, token: { type: string, secret: true } }", "steps:",
      ]
      for _ in 0..<Int.random(in: 1...2, using: &random) { lines.append("  - \(step(depth: 1))") }
      if name == "one", one(in: 2) { lines.append("  - \(call("two.yaml"))") }
      lines.append("outputs: { value: \"${{ inputs.value }}\" }")
      return ("lib/\(name).yaml", lines.joined(separator: "\n") + "\n")
    }
  }

  // MARK: Schedules

  private mutating func entries(among others: [String], _ takesToken: Bool) -> [String] {
    let inputs = takesToken ? ["inputs: { token: \"@secret:TOKEN\" }"] : []
    if !one(in: 4) { return ["{ \((trigger(among: others) + inputs).joined(separator: ", ")) }"] }
    return ["a", "b", "c"].prefix(Int.random(in: 2...3, using: &random)).map { id in
      "{ \((["id: \(id)"] + trigger(among: others) + inputs).joined(separator: ", ")) }"
    }
  }

  private mutating func trigger(among others: [String]) -> [String] {
    var parts: [String] = []
    switch Int.random(in: 0..<13, using: &random) {
    case 0: return ["event: tick"] + (one(in: 2) ? ["batch: { for: \(pick(["30s", "3h"])), max: 2 }"] : [])
    case 12:
      let settle = "settle: \(SimulatedInbox.settle)"
      return ["file: { path: \(SimulatedInbox.pattern), \(settle), existing: \(pick(["ignore", "run"])) }"]
        + (one(in: 3) ? ["batch: { for: \(pick(["30s", "3h"])), max: 3 }"] : [])
    case 1 where !others.isEmpty:
      return ["afterRecipe: { recipe: \(pick(others)), status: [succeeded, failed] }"]
    case 2...4:
      let zone = pick(["Europe/Bucharest", "Australia/Lord_Howe", "America/St_Johns", "UTC"])
      parts = [
        "cron: \"\(pick(["30 3 * * *", "*/20 * * * *", "15 1-4 * * *", "0 */6 * * MON-FRI"]))\"", "zone: \(zone)",
      ]
    case 5: parts = ["calendar: { hour: \"3\", minute: \"10\" }", "zone: Europe/Bucharest"]
    default: parts = ["every: \(pick(["7m", "45m", "3h", "1d"]))"]
    }
    let overlap = pick(["skip", "bufferOne", "bufferAll", "cancelOther", "terminateOther", "allowAll"])
    parts.append("overlap: \(overlap)")
    let canMakeUp = overlap == "bufferAll" || overlap == "allowAll"
    parts.append("catchup: \(pick(canMakeUp ? ["all", "last", "none"] : ["last", "none"]))")
    parts.append("catchupLimit: \(pick([1, 3]))")
    if one(in: 3) { parts.append("catchupWindow: \(pick(["10m", "5h"]))") }
    if one(in: 3) { parts.append("jitter: \(pick(["30s", "20m"]))") }
    if one(in: 6) { parts.append("remainingRuns: 3") }
    if one(in: 5) { parts.append("pauseOnFailure: true") }
    if one(in: 8) { parts.append("paused: not yet") }
    return parts
  }

  // MARK: Steps

  private mutating func call(_ path: String) -> String {
    let retry = one(in: 3) ? ", retry: { maxAttempts: 2, initial: 20m }" : ""
    return "{ id: \(newID()), call: \(path), with: { value: 3, token: \"${{ \(token) }}\" }\(retry) }"
  }

  /// A step that ends without help, for handlers.
  private mutating func plain() -> String { "{ id: \(newID()), uses: sim.\(pick(["read", "put", "compute"])) }" }

  private mutating func steps(depth: Int) -> String {
    (0..<Int.random(in: 1...3, using: &random)).map { _ in step(depth: depth) }.joined(separator: ", ")
  }

  private mutating func step(depth: Int) -> String {
    if !isCalled, depth < 2, one(in: 12) { return call("../lib/\(pick(["one", "two"])).yaml") }
    switch Int.random(in: 0..<(depth < 2 ? 24 : 13), using: &random) {
    case 0...5: return action()
    case 6: return "{ id: \(newID()), wait: \(pick(["20s", "50m", "9h", "2d"])) }"
    case 7: return "{ id: \(newID()), wait: { until: \"time.next(now, '03:30', 'Europe/Bucharest')\" } }"
    case 8:
      return "{ id: \(newID()), wait: { event: \(pick(["go", "tick"])), timeout: \(pick(["40m", "3d"])), "
        + "\(one(in: 2) ? "match: event.data == 1, " : "")onTimeout: \(pick(["continue", "fail"])) } }"
    case 9 where one(in: 3):
      return "{ id: \(newID()), ask: { prompt: \"How many?\", timeout: \(pick(["2h", "3d"])), "
        + "fields: { count: int, at: { type: timestamp, default: \"${{ now }}\" } }, "
        + "onTimeout: \(pick(["continue", "fail"])) } }"
    case 9:
      return "{ id: \(newID()), approve: { prompt: \"Go on?\", timeout: \(pick(["2h", "3d"])), "
        + "onTimeout: \(pick(["continue", "fail"])), onReject: \(pick(["continue", "end"])) } }"
    case 10:
      return
        "{ id: \(newID()), uses: sim.\(pick(["read", "put", "consume"])), repeat: { until: \"result.calls % 3 == 0\", "
        + "every: \(pick(["10s", "25m"])), timeout: 5h } }"
    case 11: return "{ let: { \(newID())x: \"${{ now }}\" } }"
    case 12: return "{ if: \"now.getMinutes() % 5 == 0\", id: \(newID()), uses: sim.post }"
    case 13, 14:
      let rest = pick([", maxParallel: 2", ", maxParallel: 4, onItemError: continue", ""])
      return
        "{ id: \(newID()), forEach: \"[0, 1, 2, 3]\", as: item\(lastID)\(rest), steps: [\(steps(depth: depth + 1))] }"
    case 15, 16:
      return "{ id: \(newID()), parallel: { left: [\(steps(depth: depth + 1))], right: [\(steps(depth: depth + 1))] } }"
    case 17: return "{ id: \(newID()), timeout: \(pick(["10m", "6h"])), steps: [\(steps(depth: depth + 1))] }"
    case 18:
      return "{ id: \(newID()), retry: { maxAttempts: 2, initial: \(pick(["5s", "30m"])) }, "
        + "steps: [\(steps(depth: depth + 1))] }"
    case 19:
      return "{ id: \(newID()), if: \"now.getMinutes() % 2 == 0\", steps: [\(steps(depth: depth + 1))], "
        + "else: [\(steps(depth: depth + 1))] }"
    case 20:
      return "{ id: \(newID()), switch: \"now.getMinutes() % 3\", cases: { 0: [\(steps(depth: depth + 1))], "
        + "1: [] }, default: [\(steps(depth: depth + 1))] }"
    case 21:
      return "{ id: \(newID()), onError: { steps: [\(plain())], value: { n: \"${{ error.message.size() }}\" } }, "
        + "outputs: { n: 1 }, steps: [\(steps(depth: depth + 1))] }"
    case 22:
      let id = newID()
      let every = pick(["", ", every: 25m"])
      return "{ id: \(id), repeat: { carry: { \(id)n: 1 }, next: { \(id)n: \"${{ \(id)n + 1 }}\" }, "
        + "collect: \"[\(id)n]\", until: \(id)n > 2\(every) }, steps: [\(steps(depth: depth + 1))] }"
    default:
      return "{ id: \(newID()), onError: \(pick(["continue", "[\(plain())]"])), steps: [\(steps(depth: depth + 1))] }"
    }
  }

  private mutating func action() -> String {
    let id = newID()
    let size =
      one(in: 40)
      ? ", with: { size: 70000 }" : one(in: 4) ? ", with: { token: \"${{ \(token) }}\" }" : ", with: { value: 7 }"
    let retry =
      ", retry: { maxAttempts: 3, initial: \(pick(["2s", "20m", "4h"])), factor: 2, jitter: \(pick(["full", "none"])) }"
    let onError = one(in: 4) ? ", onError: \(pick(["continue", "[\(plain())]"]))" : ""
    switch Int.random(in: 0..<10, using: &random) {
    case 9:
      // The answer to 8 doesn't fit.
      return "{ id: \(id), uses: sim.postOpen, with: { value: \(pick([7, 7, 8])) }, "
        + "shape: { body: { value: int, state: \"choice(on, off)\", at: date } }\(onError) }"
    case 0: return "{ id: \(id), uses: sim.read\(size)\(one(in: 2) ? retry : "")\(onError) }"
    case 1: return "{ id: \(id), uses: sim.put\(size)\(one(in: 2) ? retry : "")\(onError) }"
    case 2: return "{ id: \(id), uses: sim.putWithinHour\(size)\(one(in: 2) ? retry : "")\(onError) }"
    case 3: return "{ id: \(id), uses: sim.consume\(size)\(onError) }"
    case 4, 5: return "{ id: \(id), uses: sim.post\(size)\(onError) }"
    case 6: return "{ id: \(id), uses: sim.postLooked\(size)\(one(in: 2) ? retry : "")\(onError) }"
    case 7: return "{ id: \(id), uses: sim.postKeyed\(size)\(onError) }"
    default:
      return
        "{ id: \(id), uses: sim.postKeyed\(size), key: \"k ${{ run.id }} \(id)\"\(one(in: 2) ? retry : "")\(onError) }"
    }
  }
}
