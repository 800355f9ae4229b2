import ActionKit
package import Basics
package import RunState
import Runs

/// An act of a person or another program while a run was recorded, which let the run continue.
package struct RecordedAct: Sendable {
  package enum Kind: Sendable {
    /// The decision about a step that asked, or the answer to it.
    case decision(StepPath, DecisionRecord)
    /// An event that the run consumed, with its data.
    case event(EventRecord, data: Value?)
  }

  package var kind: Kind

  package init(_ kind: Kind) { self.kind = kind }

  /// When it was done.
  package var at: Timestamp {
    switch kind {
    case .decision(_, let decision): decision.at
    case .event(let event, _): event.receivedAt
    }
  }

  /// A name for messages.
  package var words: String {
    switch kind {
    case .decision(let step, let decision):
      "the decision of \(decision.by) about '\(step)' (\(decision.verb))"
    case .event(let event, _): "the event '\(event.name)'"
    }
  }

  /// The act without secrets, as a file has it.
  func value(_ redact: (String) -> String) -> Value {
    switch kind {
    case .decision(let step, var decision):
      decision.by = redact(decision.by)
      decision.comment = decision.comment.map(redact)
      decision.fields = decision.fields?.displayed.scrubbed(redact)
      return .object(["step": .string(step), "decision": decision.encoded()])
    case .event(var event, let data):
      event.data = nil
      var map = ValueMap([("event", event.encoded())])
      map["data"] = data?.scrubbed(redact).stored
      return .map(map)
    }
  }

  /// Reads an act from a file; nil if the value isn't one.
  init?(reading value: Value) {
    if let step = value["step"]?.string, let decision = value["decision"],
      let decision = try? DecisionRecord(reading: decision)
    {
      kind = .decision(step, decision)
    } else if let event = value["event"], let event = try? EventRecord(reading: event) {
      let data = value["data"].map { Value(stored: $0) }
      if case .some(nil) = data { return nil }
      kind = .event(event, data: data ?? nil)
    } else {
      return nil
    }
  }
}
