// The plan in answers about plans.
package import Agent
import Basics
package import RunState

/// The plan of a run.
package struct RunPlan: Record, UnlimitedAnswer {
  package var plan: PlanRecord

  package init(_ plan: PlanRecord) { self.plan = plan }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    plan = try member("plan", record?.plan)
  }
}
