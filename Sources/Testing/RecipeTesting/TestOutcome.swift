package import Basics

/// The outcome of one test file.
package struct FileOutcome: Sendable {
  package var file: String
  /// The faults of the file or its recipe; its cases didn't run then.
  package var faults: [Diagnostic] = []
  package var cases: [CaseOutcome] = []
  /// The file with updated recorded values; nil if nothing changes.
  package var updated: [UInt8]?
  package var took = TimeSpan.zero

  package init(file: String) { self.file = file }
}

/// The outcome of one case.
package struct CaseOutcome: Sendable {
  package var name: String
  package var location: Diagnostic.Location?
  package var failures: [TestFailure]
  package var took: TimeSpan

  package init(name: String, location: Diagnostic.Location?, failures: [TestFailure], took: TimeSpan) {
    self.name = name
    self.location = location
    self.failures = failures
    self.took = took
  }

  package var hasPassed: Bool { failures.isEmpty }
}

/// An expectation that didn't hold, or a step that failed.
package struct TestFailure: Sendable {
  package var fault: Diagnostic
  /// The differences, one per line, if they don't fit the message.
  package var difference: [String] = []
  /// The recorded value in the file and the one that would make the expectation hold.
  var record: (old: Range<Int>, isShort: Bool, new: Value)?

  package init(
    fault: Diagnostic, difference: [String] = [], record: (old: Range<Int>, isShort: Bool, new: Value)? = nil
  ) {
    self.fault = fault
    self.difference = difference
    self.record = record
  }

  /// The failure with its line of the file and its differences.
  package func rendered(colour: Bool) -> String {
    ([fault.rendered(colour: colour)] + difference.map { "      \($0)" }).joined(separator: "\n")
  }
}
