package import Basics
package import RunState
package import Runs

// How progress crosses the socket and stands in JSON logs: one object, whose `progress` says which kind it is.

extension Progress {
  /// The object for it.
  package var value: Value {
    var writer = RecordWriter()
    switch self {
    case .runBegan(let run, let recipe, let isResumed):
      writer.set("progress", "runBegan")
      writer.set("run", run)
      writer.set("recipe", recipe)
      writer.set("isResumed", isResumed)
    case .stepBegan(let path, let title, let depth):
      writer.set("progress", "stepBegan")
      writer.set("step", path)
      writer.set("title", title)
      writer.set("depth", depth)
    case .loopAdvanced(let path, let done, let count):
      writer.set("progress", "loopAdvanced")
      writer.set("step", path)
      writer.set("done", done)
      writer.set("count", count)
    case .attemptFailed(let path, let attempt, let error, let retryIn):
      writer.set("progress", "attemptFailed")
      writer.set("step", path)
      writer.set("attempt", attempt)
      writer.set("error", error)
      writer.set("retryIn", retryIn)
    case .stepWaits(let path, let title, let depth, let wait):
      writer.set("progress", "stepWaits")
      writer.set("step", path)
      writer.set("title", title)
      writer.set("depth", depth)
      writer.set("wait", wait)
    case .reported(let path, let text):
      writer.set("progress", "reported")
      writer.set("step", path)
      writer.set("text", text)
    case .stepEnded(let path, let title, let depth, let status, let took, let error, let isReplayed):
      writer.set("progress", "stepEnded")
      writer.set("step", path)
      writer.set("title", title)
      writer.set("depth", depth)
      writer.set("status", status)
      writer.set("took", took)
      writer.set("error", error)
      writer.set("isReplayed", isReplayed)
    case .runEnded(let record):
      writer.set("progress", "runEnded")
      writer.set("record", record)
    }
    return .map(writer.map)
  }

  /// Reads what `value` made.
  package init(reading value: Value) throws(RecordFault) {
    guard let map = value.map else { throw RecordFault("progress is an object, not \(value.kindName)") }
    var reader = RecordReader(map)
    let kind: String = try reader.take("progress")
    switch kind {
    case "runBegan":
      self = .runBegan(
        run: try reader.take("run"), recipe: try reader.take("recipe"), isResumed: try reader.take("isResumed"))
    case "stepBegan":
      self = .stepBegan(path: try reader.take("step"), title: try reader.take("title"), depth: try reader.take("depth"))
    case "loopAdvanced":
      self = .loopAdvanced(
        path: try reader.take("step"), done: try reader.take("done"), count: try reader.take("count"))
    case "attemptFailed":
      self = .attemptFailed(
        path: try reader.take("step"), attempt: try reader.take("attempt"), error: try reader.take("error"),
        retryIn: try reader.takeIfPresent("retryIn"))
    case "stepWaits":
      self = .stepWaits(
        path: try reader.take("step"), title: try reader.take("title"), depth: try reader.take("depth"),
        wait: try reader.take("wait"))
    case "reported":
      self = .reported(path: try reader.take("step"), text: try reader.take("text"))
    case "stepEnded":
      self = .stepEnded(
        path: try reader.take("step"), title: try reader.take("title"), depth: try reader.take("depth"),
        status: try reader.take("status"), took: try reader.take("took"), error: try reader.takeIfPresent("error"),
        isReplayed: try reader.take("isReplayed"))
    case "runEnded":
      self = .runEnded(try reader.take("record"))
    default: throw RecordFault("'\(kind)' is no progress that is known here")
    }
  }
}
