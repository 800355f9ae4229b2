import Basics
import ExpressionTestKit
import Foundation
import Testing

/// Compares with another implementation, where Python can import it: `pip install cel-expr-python`, and
/// `ERRAND_PYTHON=…/bin/python` if it is not the usual one.
@Suite struct OracleTests {
  @Test(arguments: [1, 2]) func `random expressions mean what they mean to the C++ implementation`(_ seed: Int) throws {
    guard let lines = try lines(seed: seed, count: 3000) else { return }
    var compared = 0
    for line in lines {
      let form = try JSON.parse(Array(line))
      let test = try SuiteTest(form)
      let outcome = test.run()
      compared += 1
      if form["refused"] != nil {
        let isRefused = outcome.failure.map { $0.stage != .eval } ?? false
        #expect(isRefused, "\(test.id): \(test.expression)\nthe checker of the reference: \(form["why"]?.string ?? "")")
      } else if let objection = test.objection(to: outcome) {
        Issue.record("\(test.id): \(test.expression)\n\(objection), but \(form["expect"] ?? .null) is expected")
      }
    }
    print("Compared with cel-expr-python: \(compared) expressions of seed \(seed)")
    #expect(compared > 2000, "the generator makes too little that can be compared")
  }

  /// The lines of the reference; nil where it is not installed.
  private func lines(seed: Int, count: Int) throws -> [Data]? {
    let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/oracle.py")
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    let python = ProcessInfo.processInfo.environment["ERRAND_PYTHON"] ?? "python3"
    process.arguments = [python, script.path, "\(seed)", "\(count)"]
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let data = try output.fileHandleForReading.readToEnd() ?? Data()
    process.waitUntilExit()
    // 69 is the script's word for a package that is missing, 127 that of env for a missing Python.
    if [69, 127].contains(process.terminationStatus) {
      print("The comparison with cel-expr-python is skipped: \(python) cannot import it")
      return nil
    }
    #expect(process.terminationStatus == 0, "the script fails")
    return data.split(separator: 0x0A)
  }
}
