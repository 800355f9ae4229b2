package import Basics
package import RunState
package import Runs

// The form of progress on the socket and in JSON logs: one object, whose `progress` names its kind.

extension Progress {
  /// The object.
  package var value: Value {
    let (kind, members): (String, KeyValuePairs<String, (any Recordable)?>) =
      switch self {
      case .runBegan(let run, let recipe, let isResumed):
        ("runBegan", ["run": run, "recipe": recipe, "isResumed": isResumed])
      case .stepBegan(let path, let title, let depth):
        ("stepBegan", ["step": path, "title": title, "depth": depth])
      case .loopAdvanced(let path, let done, let failed, let caught, let count):
        (
          "loopAdvanced",
          [
            "step": path, "done": done, "failed": failed > 0 ? failed : nil, "caught": caught > 0 ? caught : nil,
            "count": count,
          ]
        )
      case .attemptFailed(let path, let attempt, let error, let retryIn):
        ("attemptFailed", ["step": path, "attempt": attempt, "error": error, "retryIn": retryIn])
      case .stepWaits(let path, let title, let depth, let wait):
        ("stepWaits", ["step": path, "title": title, "depth": depth, "wait": wait])
      case .reported(let path, let text, let amount):
        (
          "reported",
          [
            "step": path, "text": text, "completed": amount?.completed, "total": amount?.total,
            "unit": amount.map { $0.isBytes ? "bytes" : "items" },
          ]
        )
      case .printed(let line):
        (
          "printed",
          ["step": line.step, "attempt": line.attempt, "stream": line.stream, "at": line.at, "text": line.text]
        )
      case .stepEnded(let path, let title, let depth, let status, let took, let error, let isReplayed):
        (
          "stepEnded",
          [
            "step": path, "title": title, "depth": depth, "status": status, "took": took, "error": error,
            "isReplayed": isReplayed,
          ]
        )
      case .runEnded(let record): ("runEnded", ["record": record])
      }
    var map = ValueMap([("progress", .string(kind))])
    for (name, member) in members { map[name] = member?.encoded() }
    return .map(map)
  }

  /// Reads what `value` made.
  package init(reading value: Value) throws(RecordError) {
    guard let map = value.map else { throw RecordError("expected an object as progress, not \(value.kindName)") }
    var reader = RecordReader(map)
    let kind: String = try reader.read("progress")
    switch kind {
    case "runBegan":
      self = .runBegan(
        run: try reader.read("run"), recipe: try reader.read("recipe"), isResumed: try reader.read("isResumed"))
    case "stepBegan":
      self = .stepBegan(path: try reader.read("step"), title: try reader.read("title"), depth: try reader.read("depth"))
    case "loopAdvanced":
      self = .loopAdvanced(
        path: try reader.read("step"), done: try reader.read("done"), failed: try reader.readIfPresent("failed") ?? 0,
        caught: try reader.readIfPresent("caught") ?? 0, count: try reader.read("count"))
    case "attemptFailed":
      self = .attemptFailed(
        path: try reader.read("step"), attempt: try reader.read("attempt"), error: try reader.read("error"),
        retryIn: try reader.readIfPresent("retryIn"))
    case "stepWaits":
      self = .stepWaits(
        path: try reader.read("step"), title: try reader.read("title"), depth: try reader.read("depth"),
        wait: try reader.read("wait"))
    case "reported":
      let completed: Int? = try reader.readIfPresent("completed")
      let (total, unit): (Int?, String?) = (try reader.readIfPresent("total"), try reader.readIfPresent("unit"))
      self = .reported(
        path: try reader.read("step"), text: try reader.read("text"),
        amount: completed.map { ProgressAmount(completed: $0, total: total, isBytes: unit == "bytes") })
    case "printed":
      self = .printed(
        PrintedLine(
          step: try reader.read("step"), attempt: try reader.read("attempt"), stream: try reader.read("stream"),
          at: try reader.read("at"), text: try reader.read("text")))
    case "stepEnded":
      self = .stepEnded(
        path: try reader.read("step"), title: try reader.read("title"), depth: try reader.read("depth"),
        status: try reader.read("status"), took: try reader.read("took"), error: try reader.readIfPresent("error"),
        isReplayed: try reader.read("isReplayed"))
    case "runEnded":
      self = .runEnded(try reader.read("record"))
    default: throw RecordError("'\(kind)' isn't a known kind of progress")
    }
  }
}
