import ActionKit
import Testing

@Suite struct ActionErrorTests {
  @Test(
    arguments: [
      (.notFound, false, .none), (.conflict, false, .none), (.rateLimited, true, .none), (.timeout, true, .unknown),
      (.network, true, .unknown), (.server, true, .unknown), (.cancelled, false, .unknown),
      (.internal, false, .unknown), (.uncertain, false, .unknown),
    ] as [(ErrorKind, Bool, ActionError.Effect)])
  func `what is left out follows from the kind`(kind: ErrorKind, retryable: Bool, effect: ActionError.Effect) {
    let error = ActionError(kind, "It failed.")
    #expect(error.retryable == retryable)
    #expect(error.effect == effect)
  }

  @Test func `what is said counts`() {
    let error = ActionError(
      .network, "Refused.", retryable: false, retryAfter: .seconds(3), effect: ActionError.Effect.none)
    #expect(!error.retryable)
    #expect(error.effect == ActionError.Effect.none)
    #expect(error.retryAfter == .seconds(3))
  }

  private struct Told: ActionErrorConvertible {
    var actionError: ActionError { ActionError(.conflict, "It is there already.", status: 409) }
  }
  private struct Described: Error, CustomStringConvertible { let description = "The disk is full." }
  private struct Silent: Error { let password = "sesame" }

  @Test func `every error has a kind, and only what was written to be read is displayed`() {
    let errors: [any Error] = [
      ActionError(.server, "It broke."), Told(), CancellationError(), Described(), Silent(), ValueError("x is wrong"),
    ]
    #expect(
      errors.map { ActionError($0).description } == [
        "server: It broke.", "conflict: It is there already.", "cancelled: the action was cancelled",
        "plugin: The disk is full.", "plugin: the action failed with Silent", "plugin: x is wrong",
      ])
  }
}
