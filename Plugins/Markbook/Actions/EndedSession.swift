import ActionKit

// How a plain write continues after a refusal that may concern either the write or its session.
//
// The look-up logs in again. A refusal is an answer, so the service has finished with the request, and the look-up need
// not wait for it to settle.

extension ReconcilingAction<MarkbookClient> {
  /// Sends a write, and repeats it if a refusal may be due to an ended session and a look-up shows that it wasn't done.
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
