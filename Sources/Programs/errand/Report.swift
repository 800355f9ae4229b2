import Agent
import Basics
import Glibc
import Recipes
import RunState
import Runs

/// The report about a run that has ended or stopped.
struct Report {
  let record: RunRecord
  /// The outputs, read back from the state.
  let outputs: Value
  let console: Console
  /// Whether the report follows the run's own page.
  var isPartOfPage = false
  /// Whether an agent is running that resumes open runs.
  var isServed = false
  /// Whether the run's state is discarded with this process, so that no later command can refer to the run.
  var isApart = false
  /// Whether standard error has lines of JSON, with the run's end in the last line.
  var isBesideJSON = false

  /// For people: the outputs, lists of objects as tables; then the outcome.
  func showText() {
    let hint = isApart ? "--json shows all" : "errand runs show \(record.id) --json shows all"
    for member in outputs.map?.members ?? [] { console.show(member.value, named: member.key.plain, hint: hint) }
    // On the run's own page they are among the steps.
    for sentence in isPartOfPage ? [] : record.failuresAside.prefix(Report.mostAside) {
      console.say("\(Style.yellow.applied(to: "note", console.colourError)): \(sentence.safe)")
    }
    guard record.status != .succeeded else {
      if !isBesideJSON { console.say("\(Style.green.applied(to: "done", console.colourError)) in \(took.spoken)") }
      return
    }
    let errors = record.error.map { [$0] } ?? record.uncertainSteps.compactMap(\.error)
    for error in errors { console.error(error.text(colour: console.colourError)) }
    console.error(nextStep)
  }

  /// The most failures that are reported beside the run's own.
  private static let mostAside = 10

  /// For programs: one document.
  func showJSON() {
    var document = ValueMap()
    document["run"] = .string(record.id)
    document["recipe"] = .string(record.recipe)
    document["status"] = .string(record.status.rawValue)
    document["createdAt"] = .string("\(record.createdAt)")
    document["cause"] = record.origin.cause.encoded()
    document["key"] = record.origin.key.map { .string($0.key) }
    document["wakeAt"] = record.wakeAt.map { .string("\($0)") }
    document["endedAt"] = record.endedAt.map { .string("\($0)") }
    document["inputs"] = record.origin.inputs.displayed
    document["outputs"] = outputs.isNull ? nil : outputs
    let masked = outputs.maskedPaths.map { Value.string("outputs.\($0)") }
    document["masked"] = masked.isEmpty ? nil : .list(masked)
    document["error"] = record.error?.encoded()
    document["reason"] = record.reason.map { .string($0) }
    document["steps"] = .list(record.stepsInOrder.map(\.summary))
    console.out(json: .map(document))
  }

  private var took: TimeSpan { record.endedAt?.span(since: record.createdAt) ?? .zero }

  private var nextStep: String {
    let id = record.id
    if isApart, !record.status.isEnded {
      return "The run is left \(record.status.rawValue), and its state is discarded."
    }
    switch record.status {
    case .uncertain:
      let commands = record.uncertainSteps.map { "  errand runs resolve \(id) '\($0.path)' --done | --retry | --fail" }
      return
        ([
          "The run waits for a person. Check in the service whether it was done, then record it; 'errand why \(id)' shows what --done needs:"
        ] + commands)
        .joined(separator: "\n")
    case .paused:
      return "The run is paused: \(record.reason ?? "no reason is recorded"). Resume it with: errand runs resume \(id)"
    case .queued, .running, .waiting:
      return isServed
        ? "The run is not over; the agent has it. Follow it with: errand runs follow \(id)"
        : "The run is not over. \(RunSession.howToResume(with: id))"
    default:
      let end = "\(record.status.rawValue) after \(took.spoken)"
      return isPartOfPage || isApart ? end : "\(end); errand runs show \(id) tells more"
    }
  }

  var exitCode: ExitCode {
    switch record.status {
    case .succeeded, .skipped: .done
    case .failed, .cancelled, .rejected: record.error?.kind == .configuration ? .configuration : .failed
    case .timedOut: .timedOut
    case .uncertain, .paused, .waiting, .queued, .running: .waiting
    }
  }
}

extension RunError {
  /// The error for people, with its place.
  func text(colour: Bool) -> String {
    let place = self.file.map { "\($0):\(self.line ?? 1):\(self.column ?? 1): " } ?? ""
    var text = "\(place)\(Style.red.applied(to: "error", colour)): \(self.message.safe)"
    if let detail = self.detail, !detail.isEmpty { text += "\n  \(detail.safeLines(indent: "    "))" }
    if let step = self.step {
      let attempt = self.attempt.map { $0 > 1 ? ", attempt \($0)" : "" } ?? ""
      text += "\n  in step '\(step)'\(attempt) (\(self.kind.rawValue))"
    }
    return text
  }
}

extension StepRecord {
  /// The step in the output of `--json`.
  var summary: Value {
    var map = ValueMap()
    map["path"] = .string(path)
    map["status"] = .string(status.rawValue)
    map["attempts"] = attempts > 0 ? .int(attempts) : nil
    map["startedAt"] = .string("\(startedAt)")
    map["endedAt"] = endedAt.map { .string("\($0)") }
    map["case"] = self.case.map { .string($0) }
    map["wait"] = status == .waiting ? wait?.encoded() : nil
    map["decision"] = decision?.encoded()
    map["error"] = error?.encoded()
    return .map(map)
  }
}

extension Value {
  /// The value on one line for people.
  var plain: String { plainText.safe }

  /// The value as a table, if it is a list of at least one flat object.
  ///
  /// - Parameter most: How many items are looked at.
  func tableRows(
    most: Int = .max, cell: (Value) -> String = \.plain
  ) -> (headings: [String], cells: [[String]])? {
    guard let items = list?.prefix(most), !items.isEmpty else { return nil }
    var headings: [String] = []
    for item in items {
      guard let map = item.map else { return nil }
      for member in map.members {
        if member.value.map != nil || member.value.list != nil { return nil }
        let name = member.key.plain
        if !headings.contains(name) { headings.append(name) }
      }
    }
    return headings.isEmpty ? nil : (headings, items.map { item in headings.map { item[$0].map(cell) ?? "" } })
  }
}
