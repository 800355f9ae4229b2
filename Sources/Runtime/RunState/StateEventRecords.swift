/// The members of each event in JSON.
import Basics

extension StateEvent: Record {
  package func write(to record: inout RecordWriter) {
    switch self {
    case .runCreated(let event):
      record.set("event", "runCreated")
      event.write(to: &record)
    case .runStatusChanged(let event):
      record.set("event", "runStatusChanged")
      event.write(to: &record)
    case .cancelRequested(let event):
      record.set("event", "cancelRequested")
      event.write(to: &record)
    case .stepBegan(let event):
      record.set("event", "stepBegan")
      event.write(to: &record)
    case .attemptBegan(let event):
      record.set("event", "attemptBegan")
      event.write(to: &record)
    case .attemptEnded(let event):
      record.set("event", "attemptEnded")
      event.write(to: &record)
    case .stepEnded(let event):
      record.set("event", "stepEnded")
      event.write(to: &record)
    case .runEnded(let event):
      record.set("event", "runEnded")
      event.write(to: &record)
    case .runNoted(let event):
      record.set("event", "runNoted")
      event.write(to: &record)
    case .valueSet(let event):
      record.set("event", "valueSet")
      event.write(to: &record)
    case .valueRemoved(let event):
      record.set("event", "valueRemoved")
      event.write(to: &record)
    case .stepWaits(let event):
      record.set("event", "stepWaits")
      event.write(to: &record)
    case .decisionGiven(let event):
      record.set("event", "decisionGiven")
      event.write(to: &record)
    case .eventReceived(let event):
      record.set("event", "eventReceived")
      event.write(to: &record)
    case .eventConsumed(let event):
      record.set("event", "eventConsumed")
      event.write(to: &record)
    case .eventsForgotten(let event):
      record.set("event", "eventsForgotten")
      event.write(to: &record)
    case .scheduleSet(let event):
      record.set("event", "scheduleSet")
      event.write(to: &record)
    case .scheduleRemoved(let event):
      record.set("event", "scheduleRemoved")
      event.write(to: &record)
    case .schedulePaused(let event):
      record.set("event", "schedulePaused")
      event.write(to: &record)
    case .scheduleReset(let event):
      record.set("event", "scheduleReset")
      event.write(to: &record)
    case .slotDecided(let event):
      record.set("event", "slotDecided")
      event.write(to: &record)
    }
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    let kind: String = try record.read("event")
    switch kind {
    case "runCreated": self = .runCreated(try RunCreated(from: &record))
    case "runStatusChanged": self = .runStatusChanged(try RunStatusChanged(from: &record))
    case "cancelRequested": self = .cancelRequested(try CancelRequested(from: &record))
    case "stepBegan": self = .stepBegan(try StepBegan(from: &record))
    case "attemptBegan": self = .attemptBegan(try AttemptBegan(from: &record))
    case "attemptEnded": self = .attemptEnded(try AttemptEnded(from: &record))
    case "stepEnded": self = .stepEnded(try StepEnded(from: &record))
    case "runEnded": self = .runEnded(try RunEnded(from: &record))
    case "runNoted": self = .runNoted(try RunNoted(from: &record))
    case "valueSet": self = .valueSet(try ValueSet(from: &record))
    case "valueRemoved": self = .valueRemoved(try ValueRemoved(from: &record))
    case "stepWaits": self = .stepWaits(try StepWaits(from: &record))
    case "decisionGiven": self = .decisionGiven(try DecisionGiven(from: &record))
    case "eventReceived": self = .eventReceived(try EventRecord(from: &record))
    case "eventConsumed": self = .eventConsumed(try EventConsumed(from: &record))
    case "eventsForgotten": self = .eventsForgotten(try EventsForgotten(from: &record))
    case "scheduleSet": self = .scheduleSet(try ScheduleSet(from: &record))
    case "scheduleRemoved": self = .scheduleRemoved(try ScheduleRemoved(from: &record))
    case "schedulePaused": self = .schedulePaused(try SchedulePaused(from: &record))
    case "scheduleReset": self = .scheduleReset(try ScheduleReset(from: &record))
    case "slotDecided": self = .slotDecided(try SlotRecord(from: &record))
    default: throw RecordError("the event '\(kind)' is not known to this version")
    }
  }
}

extension RunCreated {
  package func write(to record: inout RecordWriter) {
    record.set("run", run)
    record.set("at", at)
    record.set("recipe", recipe)
    record.set("file", file)
    record.set("folder", folder)
    record.set("texts", texts)
    record.set("inputs", inputs)
    record.set("overrides", overrides)
    record.set("sandbox", sandbox)
    record.set("program", program)
    if cause.kind != .manual || cause.run != nil { record.set("cause", cause) }
    record.set("group", group)
    if attempt != 1 { record.set("attempt", attempt) }
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    self.init(
      run: try record.read("run"), at: try record.read("at"), recipe: try record.read("recipe"),
      file: try record.read("file"), folder: try record.readIfPresent("folder"), texts: try record.read("texts"),
      inputs: try record.read("inputs"),
      overrides: try record.takeNamed("overrides"), sandbox: try record.read("sandbox"),
      program: try record.read("program"), cause: try record.readIfPresent("cause") ?? RunCause(.manual),
      group: try record.readIfPresent("group"), attempt: try record.readIfPresent("attempt") ?? 1)
  }
}

extension RunStatusChanged {
  package func write(to record: inout RecordWriter) {
    record.set("run", run)
    record.set("at", at)
    record.set("status", status)
    record.set("reason", reason)
    record.set("wakeAt", wakeAt)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    self.init(
      run: try record.read("run"), at: try record.read("at"), status: try record.read("status"),
      reason: try record.readIfPresent("reason"), wakeAt: try record.readIfPresent("wakeAt"))
  }
}

extension CancelRequested {
  package func write(to record: inout RecordWriter) {
    record.set("run", run)
    record.set("at", at)
    record.set("reason", reason)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    self.init(
      run: try record.read("run"), at: try record.read("at"), reason: try record.readIfPresent("reason"))
  }
}

extension StepBegan {
  package func write(to record: inout RecordWriter) {
    record.set("run", run)
    record.set("at", at)
    record.set("step", step)
    record.set("now", now)
    record.set("status", status)
    record.set("key", key)
    record.set("items", items)
    record.set("resolution", resolution)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    self.init(
      run: try record.read("run"), at: try record.read("at"), step: try record.read("step"),
      now: try record.read("now"), status: try record.read("status"), key: try record.readIfPresent("key"),
      items: try record.readIfPresent("items"))
    resolution = try record.readIfPresent("resolution")
  }
}

extension AttemptBegan {
  package func write(to record: inout RecordWriter) {
    record.set("run", run)
    record.set("at", at)
    record.set("step", step)
    record.set("number", number)
    record.set("baseline", baseline)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    self.init(
      run: try record.read("run"), at: try record.read("at"), step: try record.read("step"),
      number: try record.read("number"), baseline: try record.readIfPresent("baseline"))
  }
}

extension AttemptEnded {
  package func write(to record: inout RecordWriter) {
    record.set("run", run)
    record.set("at", at)
    record.set("step", step)
    record.set("number", number)
    record.set("error", error)
    record.set("retryAt", retryAt)
    record.set("exchanges", exchanges)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    self.init(
      run: try record.read("run"), at: try record.read("at"), step: try record.read("step"),
      number: try record.read("number"), error: try record.readIfPresent("error"),
      retryAt: try record.readIfPresent("retryAt"), exchanges: try record.readAll("exchanges"))
  }
}

extension StepEnded {
  package func write(to record: inout RecordWriter) {
    record.set("run", run)
    record.set("at", at)
    record.set("step", step)
    record.set("now", now)
    record.set("status", status)
    record.set("output", output)
    record.set("error", error)
    record.set("resolution", resolution)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    self.init(
      run: try record.read("run"), at: try record.read("at"), step: try record.read("step"),
      now: try record.readIfPresent("now"), status: try record.read("status"),
      output: try record.readIfPresent("output"), error: try record.readIfPresent("error"))
    resolution = try record.readIfPresent("resolution")
  }
}

extension RunEnded {
  package func write(to record: inout RecordWriter) {
    record.set("run", run)
    record.set("at", at)
    record.set("status", status)
    record.set("outputs", outputs)
    record.set("error", error)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    self.init(
      run: try record.read("run"), at: try record.read("at"), status: try record.read("status"),
      outputs: try record.readIfPresent("outputs"), error: try record.readIfPresent("error"))
  }
}

extension RunNoted {
  package func write(to record: inout RecordWriter) {
    record.set("run", run)
    record.set("at", at)
    record.set("name", name)
    record.set("value", value)
    record.set("condition", condition)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    self.init(
      run: try record.read("run"), at: try record.read("at"), name: try record.read("name"),
      value: try record.read("value"), condition: try record.read("condition"))
  }
}

extension ValueSet {
  package func write(to record: inout RecordWriter) {
    record.set("at", at)
    record.set("name", name)
    record.set("value", value)
    record.set("condition", condition)
    record.set("change", change)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    self.init(
      at: try record.read("at"), name: try record.read("name"), value: try record.read("value"),
      condition: try record.readIfPresent("condition"), change: try record.readIfPresent("change"))
  }
}

extension ValueRemoved {
  package func write(to record: inout RecordWriter) {
    record.set("at", at)
    record.set("name", name)
    record.set("condition", condition)
    record.set("change", change)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    self.init(
      at: try record.read("at"), name: try record.read("name"), condition: try record.readIfPresent("condition"),
      change: try record.readIfPresent("change"))
  }
}

extension ValueState {
  package func write(to record: inout RecordWriter) { record.set("value", value) }
  package init(from record: inout RecordReader) throws(RecordError) { self.init(try record.readIfPresent("value")) }
}

extension StepReference {
  package func write(to record: inout RecordWriter) {
    record.set("run", run)
    record.set("step", step)
  }

  package init(from record: inout RecordReader) throws(RecordError) {
    self.init(run: try record.read("run"), step: try record.read("step"))
  }
}
