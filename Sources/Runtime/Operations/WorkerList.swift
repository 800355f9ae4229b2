package import ActionKit
import Agent
package import Basics
package import RunState

/// Programs that share the state.
package struct WorkerList: Record, UnlimitedAnswer {
  package var workers: [WorkerRecord]

  package init(_ workers: [WorkerRecord]) { self.workers = workers }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    workers = try member("workers", record?.workers)
  }
}

extension WorkerRecord: UnlimitedAnswer {
  /// The worker as a caller sees it.
  func displayed(to caller: AgentCaller) -> WorkerRecord {
    var worker = self
    // The path of a folder is for callers on the machines.
    if caller.isElsewhere { worker.home = "" }
    if caller.scopes.contains(.steer) { return worker }
    // As with GET /connections, which connections and secrets there are is for callers who repair runs.
    let guarded = [RunNeed.connection(""), RunNeed.secret("")]
    worker.offers.removeAll { offer in guarded.contains(where: offer.hasPrefix) }
    return worker
  }
}

/// One worker.
package struct WorkerAnswer: FieldSet {
  @Field("The worker's id, which distinguishes it from others of its name.") package var id: Int
  @Field("The worker's name.") package var name: String
  @Field("The machine that it runs on.") package var host: String
  @Field("The id of its process.") package var pid: Int
  @Field("The program with its version.") package var program: String
  @Field("The queues that it claims runs from.") package var queues: [String]
  @Field("What it offers to runs: formats and plugins; with the scope steer, connections and secrets by name.")
  package var offers: [String]
  @Field("How many runs it holds at most.") package var capacity: Int
  @Field("How many runs it holds.") package var runs: Int
  @Field("When it started.") package var since: Timestamp
  @Field("When its lease ends, unless it is renewed.") package var until: Timestamp
  @Field("Whether its lease has ended, so that other workers take over its runs.") package var isOver: Bool
  @Field("Whether it claims no more runs.") package var isDraining: Bool
  @Field("Whether it is the leader, which decides on the schedules.") package var isLeading: Bool
  @Field("How far its clock is ahead of the database's, if that is known.") package var clockOffset: TimeSpan?

  package init() {}

  package init(_ worker: WorkerRecord) {
    id = worker.id
    name = worker.name
    host = worker.host
    pid = worker.pid
    program = worker.program
    queues = worker.queues
    offers = worker.offers
    capacity = worker.capacity
    runs = worker.runs
    since = worker.since
    until = worker.until
    isOver = worker.isOver
    isDraining = worker.isDraining
    isLeading = worker.isLeading
    clockOffset = worker.clockOffset
  }
}

/// The workers of a shared state.
package struct WorkerListAnswer: FieldSet {
  @Field("The workers.") package var items: [WorkerAnswer]

  package init() {}
}
