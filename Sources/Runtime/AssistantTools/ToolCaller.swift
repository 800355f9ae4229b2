package import Agent
package import Operations
package import Basics
package import ModelContext

/// Who calls tools, as the agent knows it: what is asked goes through this, so that the caller's permissions count.
package struct ToolCaller: Sendable {
  /// The account or the token; a confirmation is only valid for it.
  package var principal: String
  /// Asks the agent, as a caller that sees only some recipes, if any are named; `ask(_:)` knows the type of the answer.
  package typealias Answer =
    @Sendable (_ operation: any Operation, _ recipes: [String]) async throws(RequestRefusedError) -> any OperationAnswer
  package var answer: Answer
  /// Follows a run until it ends; the stream ends without an end where the agent does.
  package var follow:
    @Sendable (_ run: String) async throws(RequestRefusedError) -> AsyncThrowingStream<RunEvent, any Error>
  /// Whether the caller sees a recipe.
  package var sees: @Sendable (_ recipe: String) -> Bool
  /// Whether the caller sees what runs are about.
  package var seesData: Bool
  /// Whether a run is followed on where its agent ends, because another may take it over.
  package var outlivesAgent: Bool
  /// Masks the secrets in an answer to the client.
  package var hide: @Sendable (Value) -> Value

  /// Writes a remark for the people who look after this process.
  package var note: @Sendable (String) -> Void

  package init(
    principal: String, answer: @escaping Answer,
    follow:
      @escaping @Sendable (_ run: String) async throws(RequestRefusedError) -> AsyncThrowingStream<
        RunEvent, any Error
      >,
    sees: @escaping @Sendable (_ recipe: String) -> Bool = { _ in true }, seesData: Bool = true,
    outlivesAgent: Bool = false,
    hide: @escaping @Sendable (Value) -> Value, note: @escaping @Sendable (String) -> Void = { _ in }
  ) {
    self.principal = principal
    self.answer = answer
    self.follow = follow
    self.sees = sees
    self.seesData = seesData
    self.outlivesAgent = outlivesAgent
    self.hide = hide
    self.note = note
  }

  /// Runs an operation.
  package func ask<Asked: Operation>(_ operation: Asked) async throws(RequestRefusedError) -> Asked.Answer {
    guard let answer = try await answer(operation, []) as? Asked.Answer else {
      throw RequestRefusedError(.state, "the agent answered something else")
    }
    return answer
  }
}

/// The program at the other end, as far as a request says what it is able to do.
package struct ToolClient: Sendable {
  package var version: ProtocolVersion
  /// Whether it asks its user.
  package var elicits: Bool
  /// The client's own name; nil if it gives none.
  package var name: String?
  /// Asks its user by a request of the server's; nil where the server sends none.
  package var elicit: (@Sendable (Elicitation) async -> Elicitation.Answer)?
  /// Sends a notification; nil where none is taken.
  package var notify: (@Sendable (ModelContextMessage) async -> Void)?

  /// Whether its user can be shown a plan.
  var asksItsUser: Bool { elicit != nil || version.isStateless && elicits }

  package init(
    version: ProtocolVersion, elicits: Bool, name: String? = nil,
    elicit: (@Sendable (Elicitation) async -> Elicitation.Answer)? = nil,
    notify: (@Sendable (ModelContextMessage) async -> Void)? = nil
  ) {
    self.version = version
    self.elicits = elicits
    self.name = name
    self.elicit = elicit
    self.notify = notify
  }
}
