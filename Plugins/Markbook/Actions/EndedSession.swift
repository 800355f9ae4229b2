import ActionKit

// What a plain write does when it is refused and it is unknown whether the write or its session was.
//
// The look logs in anew. A refusal is an answer, so the service is done with the request, and the look need not wait for
// it to settle.

extension ReconcilingAction<MarkbookClient> {
  /// Sends a write, and once more if it was refused because its session may have ended and a look says that it was not
  /// done.
  static func onceUnderSession(
    _ input: Input, on markbook: MarkbookClient, in context: ActionContext, _ send: () async throws -> Output
  ) async throws -> Output {
    let refusal: MarkbookError
    do { return try await send() } catch let error as MarkbookError where error.sessionMayHaveEnded { refusal = error }
    guard let recorded = context.baseline else { throw refusal }
    // Where the look fails or cannot tell, the runs look again by their own rules.
    var unclear = refusal
    unclear.effect = .unknown
    let found: Reconciliation<Output>
    do {
      let baseline = try Baseline(reading: recorded)
      found = try await reconcile(input, with: baseline, startedAt: .earliest, on: markbook, in: context)
    } catch {
      throw unclear
    }
    switch found {
    case .done(let output): return output
    case .notDone: return try await send()
    case .unknown: throw unclear
    }
  }
}
