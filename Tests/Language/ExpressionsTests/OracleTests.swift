import ActionTestKit
import Basics
import ExpressionTestKit
import Foundation
import Testing

/// Compares with another implementation, PyPI's cel-expr-python, which is the one in C++.
@Suite struct OracleTests {
  @Test(arguments: [1, 2]) func `random expressions mean what they mean to the C++ implementation`(_ seed: Int)
    async throws
  {
    guard let lines = try await lines(seed: seed, count: 3000) else { return }
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

  /// The lines of the reference; nil if it isn't available.
  private func lines(seed: Int, count: Int) async throws -> [ArraySlice<UInt8>]? {
    let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/oracle.py")
    let text = try String(contentsOf: script, encoding: .utf8)
    return try await python(
      on: "expressions", text, arguments: ["\(seed)", "\(count)"], with: [PythonPackage("cel-expr-python", "0.1.3")])?
      .split(separator: 0x0A)
  }
}
