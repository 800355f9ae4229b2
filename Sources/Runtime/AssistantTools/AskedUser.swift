/// The user of a client, who answers the questions of a run that ask for values.
///
/// Only a client that takes `elicitation/create` is asked, because the form comes from the client's program, and a model
/// must not stand for a person. The protocol's forms have plain fields only; a question with lists, maps or bytes is
/// left to the other ways to answer. An answer is recorded under the caller's name, who needs the scope `approve`.
import Agent
import Operations
import Basics
import ModelContext
import Recipes
import RunState

struct AskedUser {
  let call: RecipeCall
  let run: String
  private let began: TimeSpan
  private var asked: Set<StepPath> = []
  /// Why the last question has no answer, in a sentence.
  private(set) var objection: String?

  /// How often a question is put again because of faults in the answer.
  private static let mostTries = 3

  init(call: RecipeCall, run: String) {
    self.call = call
    self.run = run
    began = call.service.time.elapsed()
  }

  /// Whether the run got an answer, so that it continues.
  mutating func answers() async -> Bool {
    let time = call.service.time
    guard let elicit = call.client.elicit, time.elapsed() - began < RecipeCall.patience, !Task.isCancelled,
      let record = try? await call.caller.ask(ShowRun.with { $0.run = run }).record()
    else { return false }
    // An answer was recorded, and the run is about to take it.
    if record.hasUnseenDecision {
      return (try? await time.sleep(for: .milliseconds(100))) != nil
    }
    let open = record.askingSteps.first { $0.wait?.kind == .ask && !asked.contains($0.path) }
    guard let step = open, let wait = step.wait, let schema = wait.fields.flatMap(Recipe.Input.schema)?.asForm else {
      return false
    }
    asked.insert(step.path)
    let prompt = wait.prompt ?? step.path
    var message = prompt
    for _ in 0..<AskedUser.mostTries {
      let form = Elicitation(message: call.caller.hide(.string(message)).string ?? message, schema: schema)
      guard case .accepted(let content) = await elicit(form) else {
        objection = "The user didn't answer the question."
        return false
      }
      do throws(RequestRefusedError) {
        _ = try await call.caller.ask(
          AnswerStep.with {
            $0.run = run
            $0.step = step.path
            $0.fields = content
          })
        return true
      } catch {
        objection = "The answer was refused: \(error.message)."
        guard error.kind == .inputs else { return false }
        message = "\(prompt)\n\n\(error.message)"
      }
    }
    return false
  }
}

extension Value {
  /// The JSON Schema of an answer as the protocol's forms have it; nil if a field isn't plain.
  fileprivate var asForm: Value? {
    var properties = ValueMap()
    for member in self["properties"]?.map?.members ?? [] {
      guard var field = member.value.map, field["contentEncoding"] == nil else { return nil }
      if field["enum"] != nil { field["type"] = .string("string") }
      guard let type = field["type"]?.string, ["string", "integer", "number", "boolean"].contains(type) else {
        return nil
      }
      // The agent checks it.
      field["pattern"] = nil
      properties[member.key] = .map(field)
    }
    return .object([
      "type": .string("object"), "properties": .map(properties), "required": self["required"] ?? .list([]),
    ])
  }
}
