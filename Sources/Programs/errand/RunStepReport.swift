import Agent
import AgentRuntime
import Basics
import CommandLineParser
import RunState
import Runs

/// `errand runs show RUN STEP`: what one step of a run got and gave.
///
/// The output is in the record. The input isn't: it is computed again from the record, as when a run is resumed. In
/// both, marks stand for secrets.
struct RunStepReport: DispatchedCommand {
  let dispatch: Dispatch

  /// The most bytes of large values that are read to compute an input.
  private static let mostBytes = 64 << 20

  func run(_ name: String, _ session: RunSession) async throws(RuntimeError) -> ExitCode {
    let (seen, step, output) = try await session.access.asking(isReading: true) { requests throws(RuntimeError) in
      let record = try await requests.displayed(parsed["run"].text)
      let step = try found(name, in: record)
      var (facts, _) = try await requests.facts(about: record, hasValues: false)
      for (name, blob) in facts.missingValues(at: step.path, upTo: RunStepReport.mostBytes) {
        facts.values[name] = try await requests.value(.blob(blob))
      }
      // A write whose answer didn't fit its shape has no output, but the answer.
      let given = step.output ?? step.lastAttempt?.answer
      return (facts, step, given == nil ? nil : try await requests.value(given))
    }
    let (input, work, _) = await session.workspace.input(ofStep: step.path, in: seen)
    let displayed = Shown(run: seen.run, step: step, work: work, input: input, output: output)
    if asJSON { displayed.asJSON(console) } else { show(displayed, session) }
    return .done
  }

  private func found(_ name: String, in run: RunRecord) throws(RuntimeError) -> StepRecord {
    if let step = run.steps[name] { return step }
    let paths = run.stepsInOrder.map(\.path)
    // The last part of a path is enough if no other step has it.
    let ends = paths.filter { $0.hasSuffix("/\(name)") }
    if ends.count == 1, let step = run.steps[ends[0]] { return step }
    guard !paths.isEmpty else { throw RuntimeError(.noInput, "no step of the run \(run.id) has begun") }
    let guess = name.nearest(among: paths).map { "did you mean '\($0)'?" }
    let some = paths.prefix(8).joined(separator: ", ") + (paths.count > 8 ? " and \(paths.count - 8) more" : "")
    throw RuntimeError(
      .noInput, "the run \(run.id) has no step '\(name)' that has begun; \(guess ?? "it has \(some)")")
  }

  private func show(_ displayed: Shown, _ session: RunSession) {
    let clock = session.workspace.wallClock(session.time.now())
    let step = displayed.step
    let words = [Style.bold.applied(to: step.path.safe, console.colourOut), displayed.work.safe, step.status.rawValue]
    console.out(words.filter { !$0.isEmpty }.joined(separator: "  "))
    console.out("began    \(clock.date(step.startedAt))")
    if let ended = step.endedAt {
      let took = ended.span(since: step.startedAt)?.spoken ?? ""
      let isRepeated = displayed.run.steps.status(of: "\(step.path)/#round") != nil
      let attempts = step.attempts > 1 ? ", in \(step.attempts) \(isRepeated ? "rounds" : "attempts")" : ""
      console.out("ended    \(clock.date(ended))  (after \(took)\(attempts))")
    }
    if let error = step.error { console.out("error    \(error.text(colour: console.colourOut))") }
    let hint = "errand runs show \(displayed.run.id) \(step.path.shellQuoted) --json shows all"
    switch displayed.input {
    case .none: break
    case .unknown where displayed.run.erasedAt != nil: console.out("input    erased")
    case .unknown:
      console.out(
        "input    unknown: a value that it was made from isn't kept or can't be read here (a secret may have changed), or the recipe no longer checks"
      )
    case .kept:
      let run = displayed.run.origin.cause.run ?? ""
      console.out("input    kept from the run that this one retries: errand runs show \(run) \(step.path.shellQuoted)")
    case .value(let value):
      console.out("\nThe input, computed again from the record:")
      console.show(value.displayed, named: "input", hint: hint)
    }
    if let output = displayed.output {
      console.out("")
      console.show(output.displayed, named: displayed.outputName, hint: hint)
    }
    if step.items != nil {
      console.say("\nIts items have inputs of their own: errand runs show \(displayed.run.id) '\(step.path)[0]'")
    }
  }

  /// The displayed facts about a step.
  private struct Shown {
    var run: RunRecord
    var step: StepRecord
    /// The id of its action, or the kind of the step.
    var work: String
    var input: StepReplay.Input
    var output: Value?

    /// An action's answer is an output only if it fitted the step's shape.
    var outputName: String { step.output == nil ? "answer" : "output" }

    func asJSON(_ console: Console) {
      var document = step.summary.map ?? ValueMap()
      document["run"] = .string(run.id)
      if !work.isEmpty { document["does"] = .string(work) }
      var masked: [String] = []
      if case .value(let value) = input {
        document["input"] = value
        masked += value.maskedPaths.map { "input.\($0)" }
      }
      if case .unknown = input { document["isInputUnknown"] = .bool(true) }
      if case .kept = input { document["keptFrom"] = run.origin.cause.run.map { .string($0) } }
      document[outputName] = output
      masked += output?.maskedPaths.map { "\(outputName).\($0)" } ?? []
      if !masked.isEmpty { document["masked"] = .list(masked.map { .string($0) }) }
      console.out(json: .map(document))
    }
  }
}
