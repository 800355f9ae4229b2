// The programs that share a state, and the forms that drain and evict one.
import Agent
import Basics
import HTTPServer
import Operations
import RunState

extension Pages {
  static func workers(_ request: PageRequest) async throws(Problem) -> HTTPServerResponse {
    let crumbs = Part.crumbs(("State", "/state"))
    let title = Markup.element("h1", [:], "Workers")
    let workers: [WorkerRecord]
    do throws(Problem) { workers = try await request.ask(ListWorkers()).workers } catch {
      guard error.kind == .refusal(.configuration) else { throw error }
      let sentence: Markup =
        "The state is in a folder, which this agent has for itself. Workers share a state in PostgreSQL, which errand.yaml names: "
      return request.frame(
        "Workers", "/state", crumbs, title,
        .element("p", ["class": "none"], sentence, Part.code("state: postgres://USER@HOST/DATABASE")))
    }
    let cards = workers.map { card(of: $0, among: workers, request) }
    let draining = workers.count { $0.isDraining && !$0.isOver }
    let announcement = "\(counted(workers.count, "worker")), \(draining) draining"
    return request.frame(
      "Workers", "/state", live: .init(seconds: 5, announcement: announcement), crumbs, title,
      .element("p", ["class": "lead"], "The programs that share the state. Each claims runs of its queues."),
      cards.isEmpty ? .element("p", ["class": "none"], "No worker runs. Open runs wait for one.") : Markup(cards),
      Part.command("errand workers"))
  }

  private static func card(
    of worker: WorkerRecord, among workers: [WorkerRecord], _ request: PageRequest
  ) -> Markup {
    let until = Part.timeAndAgo(worker.until, request.clock)
    // It is renewed every few seconds.
    let lease: Markup = worker.isOver ? "over since " + until : "valid"
    let offers: Markup? = worker.offers.isEmpty ? nil : Markup(worker.offers.joined(separator: ", "))
    let place = "\(worker.program), process \(worker.pid) on \(worker.host)"
    let offset = worker.offsetInSeconds.map { offset in
      "\(offset.magnitude.inWords) \(offset < .zero ? "behind" : "ahead of") the database's"
    }
    return .element(
      "div", ["class": "card"], .element("h2", [:], Markup(worker.name), " ", worker.statusMark),
      Part.facts([
        ("Runs", "\(worker.runs) of at most \(worker.capacity)"),
        ("Queues", Markup(worker.queues.joined(separator: ", "))),
        ("Offers", offers),
        ("Lease", lease),
        ("Schedules", worker.isLeading ? "It decides on them." : nil),
        ("Since", Part.timeAndAgo(worker.since, request.clock)),
        ("Program", Markup(place)),
        ("Clock", offset.map { Markup($0) }),
        ("Id", "\(worker.id)"),
      ]),
      request.may(.steer) ? Part.actions(actions(of: worker, among: workers)) : .nothing)
  }

  private static func actions(of worker: WorkerRecord, among workers: [WorkerRecord]) -> [Part.Action] {
    // If several have one name, each is named by its id.
    let isAlone = workers.count { $0.name.hasSameScalars(as: worker.name) } == 1
    let name = isAlone ? worker.name : "\(worker.id)"
    let command = "errand workers"
    func action(_ label: String, _ verb: String, _ option: String = "", kind: String? = nil) -> Part.Action {
      Part.Action(
        label: label, path: pagePath("workers", name, verb),
        command: "\(command) \(verb)\(option) \(name.shellQuoted)", kind: kind, about: name)
    }
    var evict = action("Evict", "evict", worker.isOver ? "" : " --force", kind: "risky")
    let runs = counted(worker.runs, "run")
    if worker.isOver {
      evict.warning = "Other workers take over its \(runs) at once."
      return [evict]
    }
    evict.warning =
      "Its lease is valid, so it may still be running. Other workers claim its \(runs), and repeat its requests in flight. Evict it only if it is gone for good; otherwise drain it, or stop it with SIGTERM."
    evict.fields = [("force", "true")]
    var drain = worker.isDraining ? action("Undo drain", "drain", " --undo") : action("Drain", "drain")
    if worker.isDraining { drain.fields = [("undo", "true")] }
    return [drain, evict]
  }
}

extension WorkerRecord {
  fileprivate var statusMark: Markup {
    if isOver { return Part.status("failed", "gone") }
    return isDraining ? Part.status("paused", "draining") : Part.status("running", "working")
  }
}
