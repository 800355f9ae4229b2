// The inputs of the recipe that `onFailure` of errand.yaml names. Each is a text; the recipe declares the inputs it
// needs:
//
//     runID     the id of the run that failed
//     recipe    the name of its recipe
//     status    failed, timedOut or uncertain
//     message   why, in a sentence
//     detail    what a command wrote to its standard error, or a service answered; empty if there is nothing
//     step      the path of the step that failed; empty if it was no step
//     link      how to see the run: the command, or an address once there is one
package import Basics

/// The facts about an unsuccessful run that another recipe gets.
package struct FailureInputs: Sendable {
  package var runID: String
  package var recipe: String
  /// `failed`, `timedOut` or `uncertain`.
  package var status: String
  package var message: String
  /// The service's or command's own text; empty if there is none.
  package var detail: String
  package var step: String
  package var link: String

  package static let statuses = ["failed", "timedOut", "uncertain"]

  package init(
    runID: String, recipe: String, status: String, message: String, detail: String = "", step: String, link: String
  ) {
    self.runID = runID
    self.recipe = recipe
    self.status = status
    self.message = message
    self.detail = detail
    self.step = step
    self.link = link
  }

  private var members: [(name: String, text: String)] {
    [
      ("runID", runID), ("recipe", recipe), ("status", status), ("message", message), ("detail", detail),
      ("step", step), ("link", link),
    ]
  }

  /// The inputs of a recipe, or why it can't be started.
  package func inputs(of told: Recipe) -> Result<ValueMap, Diagnostics> {
    let source = Source(name: "onFailure", text: "")
    let given = members.filter { member in told.inputs.contains { $0.name.hasSameScalars(as: member.name) } }
    return told.inputs(from: given.map { ($0.name, .value(.string($0.text), source)) })
  }

  /// Why `onFailure` can't name a recipe; nil if it can.
  package static func fault(of recipe: Recipe) -> String? {
    let sample = FailureInputs(runID: "0", recipe: "r", status: "failed", message: "m", step: "s", link: "l")
    let names = sample.members.map(\.name)
    if let other = recipe.inputs.first(where: { input in
      input.isRequired && !names.contains { $0.hasSameScalars(as: input.name) }
    }) {
      return
        "it needs the input '\(other.name)', which a failed run doesn't give; give it a default, or use \(names.joined(separator: ", "))"
    }
    for status in statuses {
      var sample = sample
      sample.status = status
      if case .failure(let faults) = sample.inputs(of: recipe) {
        return "its inputs must take texts: \(faults.list.map(\.message).joined(separator: "; "))"
      }
    }
    return nil
  }
}
