package import Basics
package import RunState
package import Runs

// The form of progress on the socket and in JSON logs: one object, whose `progress` names its kind.

extension Progress {
  /// The object.
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
        path: try reader.read("step"), done: try reader.read("done"), count: try reader.read("count"))
    case "attemptFailed":
      self = .attemptFailed(
        path: try reader.read("step"), attempt: try reader.read("attempt"), error: try reader.read("error"),
        retryIn: try reader.readIfPresent("retryIn"))
    case "stepWaits":
      self = .stepWaits(
        path: try reader.read("step"), title: try reader.read("title"), depth: try reader.read("depth"),
        wait: try reader.read("wait"))
    case "reported":
      self = .reported(path: try reader.read("step"), text: try reader.read("text"))
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
