import Basics
import Recipes

/// Runs test files: in parallel, one per processor, and the cases of each one after another.
package struct TestRun: Sendable {
  private let surroundings: TestSurroundings

  package init(_ surroundings: TestSurroundings) { self.surroundings = surroundings }

  /// Runs files, and gives their outcomes in the order of the files; `report` receives each as soon as all before it
  /// are reported.
  package func run(
    _ paths: [String], width: Int, report: (FileOutcome) -> Void = { _ in }
  ) async -> [FileOutcome] {
    await withTaskGroup(of: (Int, FileOutcome).self) { group in
      var waiting: [Int: FileOutcome] = [:]
      var told: [FileOutcome] = []
      var next = 0
      func begin() {
        guard next < paths.count else { return }
        let index = next
        next += 1
        group.addTask { (index, await run(paths[index])) }
      }
      for _ in 0..<max(1, width) { begin() }
      for await (index, outcome) in group {
        begin()
        waiting[index] = outcome
        while let outcome = waiting.removeValue(forKey: told.count) {
          told.append(outcome)
          report(outcome)
        }
      }
      return told
    }
  }

  /// Runs one file.
  func run(_ path: String) async -> FileOutcome {
    let began = surroundings.clock.elapsed()
    var outcome = FileOutcome(file: path)
    do throws(FileError) {
      let source = try surroundings.environment.read(path)
      let (file, faults) = RecipeTestFile.check(source, in: surroundings.environment)
      outcome.faults = faults
      if let file {
        for test in file.cases { outcome.cases.append(await run(test, of: file)) }
        outcome.updated = RecordedParts.updated(file.source, outcome.cases.flatMap(\.failures))
      }
    } catch {
      outcome.faults = [Diagnostic(error.description)]
    }
    outcome.took = surroundings.clock.elapsed() - began
    return outcome
  }

  private func run(_ test: RecipeTest, of file: RecipeTestFile) async -> CaseOutcome {
    let began = surroundings.clock.elapsed()
    var failures: [TestFailure] = []
    do throws(TestError) {
      let bench = try TestBench(test, of: file.recipe, in: surroundings)
      failures = await run(test, of: file, on: bench)
      await bench.end()
    } catch {
      failures = [TestFailure(fault: Diagnostic(error.message, at: test.location))]
    }
    return CaseOutcome(
      name: test.name, location: test.location, failures: failures, took: surroundings.clock.elapsed() - began)
  }

  /// Runs the steps of a case until one fails.
  private func run(_ test: RecipeTest, of file: RecipeTestFile, on bench: TestBench) async -> [TestFailure] {
    var failures: [TestFailure] = []
    var location = test.location
    do throws(TestError) {
      try await bench.start(test)
      for file in test.files { try await bench.file(file.path, file.bytes) }
      for call in test.sandboxes {
        location = call.location
        try await bench.tell(call)
      }
      for action in test.actions {
        location = action.location
        try await perform(action, on: bench, &location)
        guard !action.expectations.isEmpty else { continue }
        let facts = try await TestFacts(bench)
        failures += action.expectations.compactMap { $0.failure(facts, in: file.source) }
      }
      for stray in await bench.strays {
        failures.append(TestFailure(fault: Diagnostic(stray, at: test.location)))
      }
    } catch {
      failures.append(TestFailure(fault: Diagnostic(error.message, at: location)))
    }
    return failures
  }

  private func perform(
    _ action: RecipeTest.Action, on bench: TestBench, _ location: inout Diagnostic.Location?
  ) async throws(TestError) {
    switch action.kind {
    case .nothing: break
    case .run(let inputs): try await bench.run(inputs)
    case .serve: try await bench.serve()
    case .advance(let span): try await bench.advance(by: span)
    case .advanceTo(let instant): try await bench.advance(to: instant)
    case .setClock(let instant): try await bench.setClock(to: instant)
    case .stop: await bench.stop()
    case .restart: try await bench.restart()
    case .file(let path, let bytes): try await bench.file(path, bytes)
    case .signal(let name, let id, let data): try await bench.signal(name, id: id, data: data)
    case .decide(let step, let isApproved, let by, let comment):
      try await bench.decide(step, isApproved: isApproved, by: by, comment: comment)
    case .answer(let step, let fields, let by, let comment):
      try await bench.answer(step, fields, by: by, comment: comment)
    case .cancel: try await bench.cancel()
    case .trigger(let schedule): try await bench.trigger(schedule)
    case .sandboxes(let calls):
      for call in calls {
        location = call.location
        try await bench.tell(call)
      }
    }
  }
}

extension RecipeTest.Expectation {
  /// The fault, if the expectation doesn't hold.
  fileprivate func failure(_ facts: TestFacts, in source: Source) -> TestFailure? {
    switch self {
    case .equals(let path, let expected, let location, let range):
      let found = facts.value(at: path)
      let name = path.joined(separator: ".")
      if found == nil, expected.string?.hasSameScalars(as: "absent") == true, path.first == "steps" { return nil }
      if let found, Differences.areSame(expected, found) { return nil }
      let isRecorded = ["outputs", "runs", "requests", "slots"].contains(path[0])
      let record = isRecorded ? found.map { (old: range, isShort: Differences.isShort(expected), new: $0) } : nil
      guard let found else {
        let reason = facts.value(at: ["error", "message"])?.string.map { ": \($0)" } ?? ""
        return TestFailure(
          fault: Diagnostic("there is no \(name), but \(expected.inMessages) is expected\(reason)", at: location))
      }
      if Differences.isShort(expected), Differences.isShort(found) {
        let reason = path == ["status"] ? facts.value(at: ["error", "message"])?.string.map { ": \($0)" } ?? "" : ""
        return TestFailure(
          fault: Diagnostic(
            "\(name) is \(found.inMessages), but \(expected.inMessages) is expected\(reason)", at: location),
          record: record)
      }
      return TestFailure(
        fault: Diagnostic("\(name) is not as expected", at: location),
        difference: Differences.lines(expected, found), record: record)
    case .holds(let condition, let location):
      do throws(LocatedEvaluationError) {
        if case .bool(true) = try condition.evaluate(in: facts.frame).content { return nil }
        let read = condition.reads(in: facts.frame).filter { $0.value.map { !$0.isMany } ?? true }
        let known =
          (read.map { "\($0.name) is \($0.value?.inMessages ?? "absent")" } + condition.sides(in: facts.frame))
          .joined(separator: ", ")
        return TestFailure(
          fault: Diagnostic("this does not hold\(known.isEmpty ? "" : ": \(known)")", at: location))
      } catch {
        let detail = error.detail.map { " (\($0))" } ?? ""
        return TestFailure(fault: Diagnostic(error.message + detail, at: error.location ?? location))
      }
    }
  }
}

extension Value {
  fileprivate var isMany: Bool { list != nil || map != nil }

  /// The value within a sentence.
  fileprivate var inMessages: String {
    switch content {
    case .string(let text): text.utf8.count <= 80 ? JSON.quoted(text) : "another text"
    case .list(let items): items.isEmpty ? "an empty list" : "a list of \(items.count)"
    case .map(let map): map.isEmpty ? "an empty map" : "a map"
    default: plainText
    }
  }
}
