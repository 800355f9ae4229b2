package import Agent
import Basics
package import RunState

/// A run that is on disk.
package struct AcceptedRun: Record, UnlimitedAnswer {
  package var run: String
  /// Whether an agent that serves runs it.
  package var isServing: Bool
  /// The status of a run that has the caller's key already.
  package var known: RunStatus?

  package init(run: String, isServing: Bool, known: RunStatus? = nil) {
    self.run = run
    self.isServing = isServing
    self.known = known
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    run = try member("accepted", record?.run)
    isServing = try member("isServing", record?.isServing)
    known = try member("known", record?.known)
  }
}

extension Operation where Answer == AcceptedRun {
  package static func view(_ accepted: AcceptedRun, for caller: AgentCaller) -> AcceptedAnswer {
    filled(AcceptedAnswer()) {
      $0.run = accepted.run
      $0.isNew = accepted.known == nil
      $0.status = accepted.known?.rawValue
    }
  }

  package static func head(_ accepted: AcceptedRun) -> ViewHead { ViewHead(location: "/runs/\(accepted.run)") }
}
