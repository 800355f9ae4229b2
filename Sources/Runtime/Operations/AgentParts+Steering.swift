package import Agent
import Basics
import Recipes
package import RunState

// Helpers of the operations that change a run.
extension AgentParts {
  /// Calls the host, and turns its errors into refusals.
  func allowed<Output>(
    _ body: () async throws(RunRefusedError) -> Output
  ) async throws(RequestRefusedError) -> Output {
    do throws(RunRefusedError) { return try await body() } catch { throw RequestRefusedError(.ended, error.message) }
  }

  /// Takes the decision of a person who came by a link, about the question that its page showed.
  package func decide(
    _ run: String, _ step: StepPath, _ decision: DecisionRecord, seeing question: String
  ) async throws(RequestRefusedError) {
    _ = try await host.decisions.decide(run, step: step, decision, seeing: question)
  }

  /// Takes the answer of a person who came by a link, to the question that its page showed.
  ///
  /// - Parameter texts: The values of the fields, as text.
  package func answer(
    _ run: String, _ step: StepPath, _ texts: [String: String], _ answer: DecisionRecord, seeing question: String
  ) async throws(RequestRefusedError) {
    _ = try await host.decisions.answer(run, step: step, given(texts: texts), answer, seeing: question)
  }

  /// The values that are given as texts.
  ///
  /// Unlike a recipe's input, a field takes no secret: such a text is a text.
  func given(texts: [String: String]) -> [(name: String, input: GivenInput)] {
    texts.sorted { $0.key.precedesByScalars($1.key) }.map { (name: $0.key, input: GivenInput.text($0.value)) }
  }

  // MARK: Decisions that come again

  /// The key of a decision about a run, as the run keeps it.
  func decisionKey(
    _ text: String?, of caller: AgentCaller, about run: String, _ request: [Value]
  ) throws(RequestRefusedError) -> RunKey? {
    guard let key = try runKey(text, of: caller, for: request) else { return nil }
    do throws(RecordError) { return try key.digested(of: run) } catch {
      throw RequestRefusedError(.state, error.message)
    }
  }

  /// Whether a decision was made with a key before; refused if it was another one.
  static func isRepeated(_ key: RunKey, _ known: RunKey?) throws(RequestRefusedError) -> Bool {
    guard let known, known.key == key.key else { return false }
    guard known.request == key.request else {
      throw RequestRefusedError(.usedKey, "the key belongs to another decision about the run; use another key")
    }
    return true
  }

  /// The step of a run about which a decision was made with a key before; nil if there is none.
  func repeated(
    _ key: RunKey?, in run: String, _ known: (StepRecord) -> RunKey?
  ) async throws(RequestRefusedError) -> StepPath? {
    guard let key else { return nil }
    for step in try await stored(run).record().stepsInOrder where try AgentParts.isRepeated(key, known(step)) {
      return step.path
    }
    return nil
  }

  /// Makes a decision about a run, unless it was made with the key before; gives its step.
  ///
  /// A repetition that comes while the first is being recorded, here or by another program, gets its answer too.
  func once(
    _ key: RunKey?, in run: String, _ known: (StepRecord) -> RunKey?,
    _ decide: () async throws(RequestRefusedError) -> StepPath
  ) async throws(RequestRefusedError) -> StepPath {
    if let step = try await repeated(key, in: run, known) { return step }
    do throws(RequestRefusedError) { return try await decide() } catch {
      if let step = try await repeated(key, in: run, known) { return step }
      throw error
    }
  }

  /// The refusal of a decision or an answer, with the earlier decision, if it comes too late.
  func saying(
    _ refusal: RequestRefusedError, of run: String, _ step: StepPath?
  ) async throws(RequestRefusedError) -> RequestRefusedError {
    guard [.ended, .notAsked].contains(refusal.kind) else { return refusal }
    return try await saying(refusal, of: run, step) { step in
      step.decision.map { "\($0.words) at \($0.at)" }
    }
  }

  /// The refusal of a decision, with the earlier decision.
  ///
  /// - Parameter words: Describes the decision about a step, with its person and time; nil if there was none.
  func saying(
    _ refusal: RequestRefusedError, of run: String, _ step: StepPath?, _ words: (StepRecord) -> String?
  ) async throws(RequestRefusedError) -> RequestRefusedError {
    let steps = try await stored(run).record().stepsInOrder
    for known in steps.reversed() where step.map({ known.path.hasSameScalars(as: $0) }) ?? true {
      if let words = words(known) {
        return RequestRefusedError(refusal.kind, "\(refusal.message); '\(known.path)' was \(words)")
      }
    }
    return refusal
  }
}
