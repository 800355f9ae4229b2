import Basics

@testable import RunState

/// An instant some seconds after 2026-11-20T09:00:00Z.
func instant(_ seconds: Int) -> Timestamp {
  Timestamp(seconds: 1_795_165_200 + seconds) ?? .earliest
}

/// Minimal events.
enum Example {
  static func created(
    _ run: String, at seconds: Int = 0, recipe: String = "averages", inputs: Value = .object([:]),
    cause: RunCause = RunCause(.manual)
  ) -> StateEvent {
    .runCreated(
      RunCreated(
        run: run, at: instant(seconds), recipe: recipe, file: "recipes/\(recipe).yaml",
        texts: .inline(.object(["recipes/\(recipe).yaml": .string("steps: []\n")])), inputs: inputs,
        program: "errand 0.1", cause: cause))
  }

  static func began(_ run: String, _ step: String, at seconds: Int = 0) -> StateEvent {
    .stepBegan(StepBegan(run: run, at: instant(seconds), step: step, now: instant(seconds)))
  }

  static func attempted(_ run: String, _ step: String, _ number: Int = 1, at seconds: Int = 0) -> StateEvent {
    .attemptBegan(AttemptBegan(run: run, at: instant(seconds), step: step, number: number))
  }

  static func ended(_ run: String, _ step: String, at seconds: Int = 0, output: Value = .int(1)) -> StateEvent {
    .stepEnded(
      StepEnded(run: run, at: instant(seconds), step: step, status: .succeeded, output: .inline(output)))
  }

  static func over(_ run: String, at seconds: Int = 0, _ status: RunStatus = .succeeded) -> StateEvent {
    .runEnded(RunEnded(run: run, at: instant(seconds), status: status))
  }

  static func set(_ name: String, _ value: Value, at seconds: Int = 0) -> StateEvent {
    .valueSet(ValueSet(at: instant(seconds), name: name, value: .inline(value)))
  }

  static func fold(_ events: [StateEvent]) throws -> State {
    var state = State()
    for event in events { try state.apply(event) }
    return state
  }
}
