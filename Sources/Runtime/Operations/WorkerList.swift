package import RunState

/// Programs that share the state.
package struct WorkerList: Record, UnlimitedAnswer {
  package var workers: [WorkerRecord]

  package init(_ workers: [WorkerRecord]) { self.workers = workers }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    workers = try member("workers", record?.workers)
  }
}
