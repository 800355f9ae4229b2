import ActionKit
package import Agent
import Basics
import Recipes
import RunState

package struct ShowStatus: Operation {
  package static let name = "status"
  package static let summary = "Reports on the agent's process and its workload."
  package static let scopes = Scopes.token(.read)
  package static let route: Route? = .get("/status")
  package static let command: String? = "status"
  package static let page: String? = "/state"

  @Field("Whether to measure how much room the state takes; a measurement counts for a minute.") package var size =
    false

  package init() {}

  package var target: Void { () }

  package func run(
    on anyone: Anyone, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> AgentReport {
    var runs: [String: Int] = [:]
    if caller.recipes.isEmpty {
      for (status, count) in await agent.store.openRunCounts() { runs[status.rawValue] = count }
    } else {
      for recipe in caller.recipes {
        for run in await agent.store.openRuns(OpenRunQuery(recipe: recipe)) {
          runs[run.status.rawValue, default: 0] += 1
        }
      }
    }
    var report = AgentReport(of: agent.agent, runs: runs)
    report.hasLeader = await agent.hasLeader
    if !caller.recipes.isEmpty { (report.pid, report.database) = (0, nil) }
    if caller.isElsewhere || !caller.recipes.isEmpty { report.folder = "" }
    if size, caller.recipes.isEmpty { report.bytes = await agent.store.size() }
    if let schedules = agent.schedules, agent.agent.isServing, caller.recipes.isEmpty {
      report.served = AgentReport.Served(
        recipes: await schedules.recipes.count, schedules: await schedules.count, nextSlot: await schedules.nextDue,
        faults: (await schedules.faults.map { Diagnostics([$0]).rendered() } + schedules.webhooks.faults).map {
          agent.displayed($0, to: caller)
        },
        findings: await schedules.faults.map { fault in
          var finding = FindingRecord(fault) { agent.store.secrets.finder.redact($0) }
          finding.file = finding.file.flatMap { agent.nameForPeople(ofFile: $0) }
          return finding
        },
        zone: await schedules.zone)
    }
    return report
  }

  package static func view(_ report: AgentReport, for caller: AgentCaller) -> StatusAnswer {
    filled(StatusAnswer()) {
      $0.program = report.program
      $0.since = report.since
      $0.isServing = report.isServing
      $0.runs = report.runs
      $0.recipes = report.served?.recipes
      $0.schedules = report.served?.schedules
      $0.nextSlot = report.served?.nextSlot
      $0.faults = report.served?.faults.count
      $0.bytes = report.bytes
    }
  }
}
