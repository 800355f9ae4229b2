package import Agent
package import Basics
package import RunState

/// Why a run is in its state, or why a schedule ran or didn't.
///
/// It names no other run than its target's caller may see, because the facts that it is made of are limited.
package struct ExplainedThing: Recordable, UnlimitedAnswer {
  /// The run's or the schedule's.
  package var id: String
  package var explanation: Explanation

  package init(id: String, _ explanation: Explanation) {
    self.id = id
    self.explanation = explanation
  }

  package init(reading value: Value) throws(RecordError) {
    id = try String(reading: value["explained"] ?? .null)
    explanation = try Explanation(reading: value["sentences"] ?? .null)
  }

  package func encoded() -> Value { .object(["explained": .string(id), "sentences": explanation.value]) }
}
