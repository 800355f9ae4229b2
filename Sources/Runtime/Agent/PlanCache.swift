import ActionKit
package import Basics
import Recipes
package import RunState
import Runs
import Synchronization

/// A plan that an agent made, as it keeps it.
package struct PlanRecord: Record {
  /// The SHA-256 of the document with a line end, as `errand plan --json` prints it.
  package var digest: String
  package var recipe: String
  package var madeAt: Timestamp
  /// Whether a run would fail, so that none can be started with it.
  package var wouldFail: Bool
  /// The document as JSON; it holds no secret.
  package var text: String

  /// The document.
  package var document: Value { (try? JSON.parse(text)) ?? .null }

  package init(_ made: MadeForRun, of run: RunCreated) throws(RequestRefusedError) {
    do throws(StateError) { digest = try sha256(Array("\(made.text)\n".utf8)) } catch {
      throw RequestRefusedError(error)
    }
    recipe = run.recipe
    madeAt = run.at
    wouldFail = made.wouldFail
    text = made.text
  }

  package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
    digest = try member("digest", record?.digest)
    recipe = try member("recipe", record?.recipe)
    madeAt = try member("madeAt", record?.madeAt)
    wouldFail = try member("wouldFail", record?.wouldFail)
    text = JSON.displayed(try member("document", record.map { PlainJSON(value: $0.document) }).value, .pretty)
  }

  /// A plan that was made for a run.
  package struct MadeForRun: Sendable {
    package var text: String
    package var wouldFail: Bool

    package init(text: String, wouldFail: Bool) {
      self.text = text
      self.wouldFail = wouldFail
    }
  }
}

/// The latest plans of an agent, by their digests, and how many are being made.
///
/// They are kept in memory only: a plan that is an hour old says little about a run now.
package final class PlanCache: Sendable {
  package struct Kept: Sendable {
    package var plan: PlanRecord
    /// The inputs as a run records them.
    package var inputs: ValueMap
  }

  private struct Content {
    /// The oldest first.
    var plans: [Kept] = []
    var making = 0
  }

  private let content = Mutex(Content())

  package init() {}

  static let mostPlans = 100
  static let mostBytes = 8 << 20
  /// The most bytes of one plan.
  package static let largest = 4 << 20
  static let longestKept = TimeSpan.seconds(3600)
  /// The age up to which a plan is compared as of its own instant, not as of now.
  package static let longestConsidered = TimeSpan.seconds(600)
  /// How many are made at once.
  package static let mostMade = 4
  /// How long one may take.
  package static let longestMade = TimeSpan.seconds(60)

  package func keep(_ plan: PlanRecord, of inputs: ValueMap) {
    content.withLock { content in
      content.plans.removeAll { $0.plan.digest == plan.digest }
      content.plans.append(Kept(plan: plan, inputs: inputs))
      PlanCache.tidy(&content, at: plan.madeAt)
    }
  }

  package func plan(_ digest: String, at now: Timestamp) -> Kept? {
    content.withLock { content in
      PlanCache.tidy(&content, at: now)
      return content.plans.first { $0.plan.digest.hasSameScalars(as: digest) }
    }
  }

  private static func tidy(_ content: inout Content, at now: Timestamp) {
    content.plans.removeAll { kept in (now.span(since: kept.plan.madeAt) ?? longestKept) >= longestKept }
    var bytes = content.plans.reduce(0) { $0 + $1.plan.text.utf8.count }
    while bytes > mostBytes || content.plans.count > mostPlans {
      bytes -= content.plans.removeFirst().plan.text.utf8.count
    }
  }

  /// Takes a place among the plans that are being made; false if there is none.
  package func begin() -> Bool {
    content.withLock { content in
      guard content.making < PlanCache.mostMade else { return false }
      content.making += 1
      return true
    }
  }

  package func end() { content.withLock { $0.making -= 1 } }
}
