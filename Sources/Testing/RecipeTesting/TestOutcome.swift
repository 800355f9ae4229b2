package import Basics

/// What became of one test file.
package struct FileOutcome: Sendable {
  package var file: String
  /// What is wrong with the file or its recipe; its cases did not run then.
  package var faults: [Diagnostic] = []
  package var cases: [CaseOutcome] = []
  /// The file as it would have to be for what is recorded in it to be so; nil if nothing is to be changed.
  package var updated: [UInt8]?
  package var took = TimeSpan.zero
}

/// What became of one case.
package struct CaseOutcome: Sendable {
  package var name: String
  package var location: Diagnostic.Location?
  package var failures: [TestFailure]
  package var took: TimeSpan

  package var hasPassed: Bool { failures.isEmpty }
}

/// An expectation that did not hold, or something that could not be done.
package struct TestFailure: Sendable {
  package var fault: Diagnostic
  /// The differences, a line each, where they do not fit the message.
  package var difference: [String] = []
  /// What stands in the file and what would have to, for what is recorded there.
  var record: (old: Range<Int>, isShort: Bool, new: Value)?

  /// The failure with its line of the file and its differences.
  package func rendered(colour: Bool) -> String {
    ([fault.rendered(colour: colour)] + difference.map { "      \($0)" }).joined(separator: "\n")
  }
}
