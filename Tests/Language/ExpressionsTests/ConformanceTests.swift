import ActionTestKit
import Basics
import ExpressionTestKit
import Foundation
import Testing

/// Runs the suite of google/cel-spec where it lies beside the package; it is not part of the project.
@Suite struct ConformanceTests {
  @Test func `the suite's tests pass, but for the optimizer's and those of networks`() throws {
    let places = ["../shared", "../../shared"].map {
      packageFolder.appending(path: "\($0)/conformance/cel/cel-pure.jsonl").standardizedFileURL
    }
    guard let data = places.lazy.compactMap({ try? Data(contentsOf: $0) }).first else {
      print("The CEL suite is skipped: there is no file \(places[0].path())")
      return
    }
    var passed: [String: Int] = [:]
    var failed: [String: [String]] = [:]
    for line in data.split(separator: 0x0A) {
      let test = try SuiteTest(JSON.parse(Array(line)))
      if test.tier == "internal:block" || test.tier == "ext:network" { continue }
      if let objection = test.objection(to: test.run()) {
        if test.isSkippedByReference { continue }
        failed[test.tier, default: []].append("\(test.id): \(test.expression) — \(objection)")
      } else {
        passed[test.tier, default: 0] += 1
      }
    }
    for tier in Set(passed.keys).union(failed.keys).sorted() {
      print("CEL suite, \(tier): \(passed[tier] ?? 0) passed, \(failed[tier]?.count ?? 0) failed")
      #expect(failed[tier] == nil, "\(failed[tier]?.joined(separator: "\n") ?? "")")
    }
  }
}
