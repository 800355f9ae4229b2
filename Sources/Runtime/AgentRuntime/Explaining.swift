package import Agent
package import Basics
package import Calendars
import Recipes
import RunState
import Runs

extension Workspace {
  /// The user's clock: in the zone of `$TZ`, else of errand.yaml, else of the machine.
  package func wallClock(_ now: Timestamp) -> WallClock {
    if let name = String(environment: "TZ") ?? configuration.zone {
      return WallClock((try? TimeZoneDatabase.system.rules(named: name)) ?? .utc, now: now)
    }
    let machine = (try? Files.read("/etc/localtime", limit: 1 << 20)).flatMap {
      try? TimeZoneRules(name: "local time", file: $0)
    }
    return WallClock(machine ?? .utc, now: now)
  }

  /// Why a run is in its state; secrets are masked.
  ///
  /// - Parameters:
  ///   - zone: The zone of the times, if it isn't the user's.
  ///   - holder: The temporary process that is running the run.
  package func explanation(
    of facts: RunFacts, in zone: TimeZoneRules? = nil, isServed: Bool, holder: Int?
  ) async -> Explanation {
    let book = await secretBook(secretSources())
    // The values that conditions read; secrets are masked in what is shown.
    let seen = await facts.restored(by: book)
    let conditions = recipe(facts.run.origin.file, among: seen.texts, of: facts.run.origin).recipe.map { recipe in
      StepReplay(of: recipe, seen.run) { seen.output(of: $0) }
    }
    let clock = zone.map { WallClock($0, now: facts.now) } ?? wallClock(facts.now)
    return Explanation(of: seen, conditions: conditions, clock: clock, isServed: isServed, holder: holder).mapTexts {
      book.finder.redact($0)
    }
  }
}
