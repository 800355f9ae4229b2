import Agent
import Basics

/// The outcomes of test files for other programs.
package struct TestReport: Sendable {
  private let outcomes: [FileOutcome]

  package init(_ outcomes: [FileOutcome]) { self.outcomes = outcomes }

  private var cases: [CaseOutcome] { outcomes.flatMap(\.cases) }
  package var failed: Int { cases.count { !$0.hasPassed } }
  package var passed: Int { cases.count - failed }
  /// Whether a file could not be run at all.
  package var hasFaults: Bool { outcomes.contains { Diagnostics($0.faults).hasErrors } }

  /// One document.
  package var json: String {
    let files = outcomes.map { outcome -> Value in
      .object([
        "file": .string(outcome.file), "seconds": .double(outcome.took.inSeconds),
        "faults": .list(outcome.faults.map { $0.value([]) }),
        "cases": .list(
          outcome.cases.map { test in
            .object([
              "case": .string(test.name), "status": .string(test.hasPassed ? "passed" : "failed"),
              "seconds": .double(test.took.inSeconds),
              "failures": .list(test.failures.map { $0.fault.value($0.difference) }),
            ])
          }),
      ])
    }
    let document = Value.object(["passed": .int(passed), "failed": .int(failed), "files": .list(files)])
    return JSON.displayed(document, .pretty)
  }

  /// JUnit's XML, as build servers read it.
  package var junit: String {
    var lines = [#"<?xml version="1.0" encoding="UTF-8"?>"#]
    let faulty = outcomes.count { Diagnostics($0.faults).hasErrors }
    let total = outcomes.reduce(TimeSpan.zero) { $0 + $1.took }
    lines.append(
      "<testsuites tests=\"\(cases.count)\" failures=\"\(failed)\" errors=\"\(faulty)\" time=\"\(total.inSeconds)\">")
    for outcome in outcomes {
      let errors = outcome.faults.filter { $0.severity == .error }
      let failures = outcome.cases.count { !$0.hasPassed }
      lines.append(
        "  <testsuite name=\"\(xml(outcome.file))\" tests=\"\(outcome.cases.count)\" failures=\"\(failures)\""
          + " errors=\"\(errors.isEmpty ? 0 : 1)\" time=\"\(outcome.took.inSeconds)\">")
      if !errors.isEmpty {
        lines.append("    <testcase name=\"\(xml(outcome.file))\" classname=\"\(xml(outcome.file))\">")
        lines.append("      <error message=\"\(xml(errors[0].message))\">")
        lines.append("\(xml(Diagnostics(errors).rendered()))</error>")
        lines.append("    </testcase>")
      }
      for test in outcome.cases {
        let head =
          "    <testcase name=\"\(xml(test.name))\" classname=\"\(xml(outcome.file))\" time=\"\(test.took.inSeconds)\""
        if test.hasPassed {
          lines.append("\(head)/>")
          continue
        }
        lines.append("\(head)>")
        for failure in test.failures {
          lines.append("      <failure message=\"\(xml(failure.fault.message))\">")
          lines.append("\(xml(failure.rendered(colour: false)))</failure>")
        }
        lines.append("    </testcase>")
      }
      lines.append("  </testsuite>")
    }
    lines.append("</testsuites>")
    return lines.joined(separator: "\n")
  }

  /// Commands of GitHub's workflows, which mark failures in the changed files.
  package var github: String {
    var commands: [String] = []
    for outcome in outcomes {
      commands += outcome.faults.map { $0.githubCommand([]) }
      for test in outcome.cases { commands += test.failures.map { $0.fault.githubCommand($0.difference) } }
    }
    return commands.joined(separator: "\n")
  }
}

/// A text for XML, without characters that XML forbids.
private func xml(_ text: String) -> String {
  var result = ""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "&": result += "&amp;"
    case "<": result += "&lt;"
    case ">": result += "&gt;"
    case "\"": result += "&quot;"
    case "\n", "\t": result.unicodeScalars.append(scalar)
    case _ where scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF: result += "\u{FFFD}"
    default: result.unicodeScalars.append(scalar)
    }
  }
  return result
}

extension TimeSpan {
  /// The length in seconds, to the millisecond.
  fileprivate var inSeconds: Double { Double(nanoseconds / 1_000_000) / 1000 }
}

extension Diagnostic {
  fileprivate func value(_ difference: [String]) -> Value {
    var map = members
    if !difference.isEmpty { map["difference"] = .list(difference.map { .string($0) }) }
    return .map(map)
  }

  fileprivate func githubCommand(_ difference: [String]) -> String {
    func escaped(_ text: String) -> String {
      text.replacing("%", with: "%25").replacing("\r", with: "%0D").replacing("\n", with: "%0A")
    }
    let text = escaped(([message] + difference).joined(separator: "\n"))
    guard let location else { return "::\(severity.rawValue)::\(text)" }
    let start = location.source.position(at: location.range.lowerBound)
    let file = escaped(location.source.name).replacing(":", with: "%3A").replacing(",", with: "%2C")
    return "::\(severity.rawValue) file=\(file),line=\(start.line),col=\(start.column)::\(text)"
  }
}
