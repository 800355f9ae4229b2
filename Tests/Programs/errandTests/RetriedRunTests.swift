import Basics
import Foundation
import HTTPServer
import Synchronization
import Testing

/// `errand runs retry` repeats no write, with the real binary and a service that counts.
///
/// Each recipe has a step that fails in the first run and not in the second, nested to some depth; every write around
/// it must reach the service exactly once.
@Suite(.timeLimit(.minutes(20))) struct RetriedRunTests {
  // MARK: The service

  /// Counts its writes; a path with `bad` in it is refused until the service is repaired.
  private final class Service: Sendable {
    let done = Mutex<[String: Int]>([:])
    let isMended = Atomic(false)

    func take(_ path: String) -> Bool {
      if path.contains("bad"), !isMended.load(ordering: .sequentiallyConsistent) { return false }
      done.withLock { $0[path, default: 0] += 1 }
      return true
    }
  }

  /// How often each path was written, after a failed run and after its retry.
  private static func writes(
    _ steps: String, calling files: [String: String] = [:], rest: String = ""
  ) async throws -> (first: [String: Int], second: [String: Int], failed: Program.Outcome, retried: Program.Outcome) {
    let program = try await Program()
    let service = Service()
    let server = try HTTPServer { request in
      service.take(request.path) ? .text("{}", type: "application/json") : .text("no", status: 400)
    }
    try program.write("connections: { http: { baseURL: \"\(server.baseURL)\" } }\n", to: "errand.yaml")
    for (name, text) in files { try program.write(text, to: name) }
    try program.write("recipe: tried\nsteps:\n\(steps)\n\(rest)", to: "tried.yaml")
    let failed = try await program.call("run", "tried.yaml", "--json")
    let first = service.done.withLock { $0 }
    service.isMended.store(true, ordering: .sequentiallyConsistent)
    let retried = try await program.call("runs", "retry", failed.json["run"]?.string ?? "none")
    await server.stop()
    await program.remove()
    return (first, service.done.withLock { $0 }, failed, retried)
  }

  // MARK: The matrix

  /// Steps that are written, the recipes that they call, and the writes that they make.
  private struct Part: Sendable {
    var step: String
    var writes: [String]
    var files: [String: String] = [:]
  }

  private static func write(_ path: String) -> String { "{ uses: http.post, with: { url: \"/\(path)\" } }" }

  /// Steps of the kinds that fail at first.
  private static let failures: [(name: String, part: Part)] = [
    ("a plain write", Part(step: write("bad"), writes: ["bad"])),
    ("an idempotent write", Part(step: "{ uses: http.put, with: { url: /bad } }", writes: ["bad"])),
    ("fail", Part(step: "{ if: run.attempt == 1, fail: not yet }", writes: [])),
    ("an expression", Part(step: "{ let: { broken: \"${{ 1 / (run.attempt - 1) }}\" } }", writes: [])),
    (
      "a tried write",
      Part(step: "{ retry: { maxAttempts: 2, initial: 1ms }, uses: http.put, with: { url: /bad } }", writes: ["bad"])
    ),
    (
      "a loop of writes",
      Part(
        step:
          "{ forEach: \"['i1', 'i2', 'bad', 'i4']\", as: name, uses: http.post, with: { url: \"/${{ name }}\" } }",
        writes: ["i1", "i2", "bad", "i4"])
    ),
  ]

  /// Kinds of nested steps, each with writes before, beside and after them; `p` is the depth.
  private static let shapes: [(name: String, around: @Sendable (Part, _ p: String) -> Part)] = [
    (
      "block",
      { part, p in
        Part(
          step: "{ steps: [\(write("\(p)1")), \(part.step), \(write("\(p)2"))] }",
          writes: ["\(p)1", "\(p)2"] + part.writes, files: part.files)
      }
    ),
    (
      "loop",
      { part, p in
        Part(
          step:
            "{ forEach: \"[1, 2, 3, 4]\", as: n\(p), steps: [{ uses: http.post, with: { url: \"/\(p)${{ n\(p) }}\" } }"
            + ", { if: n\(p) == 3, steps: [\(part.step)] }, { uses: http.post, with: { url: \"/\(p)x${{ n\(p) }}\" } }] }",
          writes: (1...4).flatMap { ["\(p)\($0)", "\(p)x\($0)"] } + part.writes, files: part.files)
      }
    ),
    (
      "loop side by side",
      { part, p in
        Part(
          step:
            "{ forEach: \"[1, 2, 3, 4]\", as: n\(p), maxParallel: 3, steps: [{ if: n\(p) == 2, steps: [\(part.step)] }"
            + ", { uses: http.post, with: { url: \"/\(p)${{ n\(p) }}\" } }] }",
          writes: (1...4).map { "\(p)\($0)" } + part.writes, files: part.files)
      }
    ),
    (
      "branches",
      { part, p in
        Part(
          step: "{ parallel: { left: [\(write("\(p)1")), \(write("\(p)2"))], right: [\(write("\(p)3")), \(part.step), "
            + "\(write("\(p)4"))] } }", writes: (1...4).map { "\(p)\($0)" } + part.writes, files: part.files)
      }
    ),
    (
      "call",
      { part, p in
        let text =
          "recipe: called-\(p)\nsteps:\n  - \(write("\(p)1"))\n  - \(part.step)\n  - \(write("\(p)2"))\n"
          + "finally:\n  - { let: { over: true } }\n"
        return Part(
          step: "{ call: called-\(p).yaml }", writes: ["\(p)1", "\(p)2"] + part.writes,
          files: part.files.merging(["called-\(p).yaml": text]) { $1 })
      }
    ),
    (
      "retried block",
      { part, p in
        Part(
          step: "{ retry: { maxAttempts: 2, on: [network] }, steps: [\(write("\(p)1")), \(part.step), "
            + "\(write("\(p)2"))] }",
          writes: ["\(p)1", "\(p)2"] + part.writes, files: part.files)
      }
    ),
    (
      "retried round",
      { part, p in
        Part(
          step: "{ retry: { maxAttempts: 2, on: [network] }, repeat: { carry: { n\(p): 1 }, "
            + "next: { n\(p): \"${{ n\(p) + 1 }}\" }, until: n\(p) > 2 }, steps: [{ uses: http.post, with: { url: \"/\(p)${{ n\(p) }}\" } }, "
            + "{ if: n\(p) == 2, steps: [\(part.step)] }, { uses: http.post, with: { url: \"/\(p)x${{ n\(p) }}\" } }] }",
          writes: (1...2).flatMap { ["\(p)\($0)", "\(p)x\($0)"] } + part.writes, files: part.files)
      }
    ),
    (
      // Chosen anew in the second run, both would be the other case.
      "case",
      { part, p in
        Part(
          step: "{ switch: run.attempt, default: [\(write("\(p)never"))], cases: { 1: [\(write("\(p)1")), { "
            + "if: run.attempt > 1, steps: [\(write("\(p)never"))], else: [\(write("\(p)2")), \(part.step), "
            + "\(write("\(p)3"))] }] } }", writes: (1...3).map { "\(p)\($0)" } + part.writes, files: part.files)
      }
    ),
    (
      "handler",
      { part, p in
        Part(
          step: "{ onError: [\(write("\(p)1")), \(part.step), \(write("\(p)2"))], steps: [\(write("\(p)3")), "
            + "{ fail: broken }] }", writes: (1...3).map { "\(p)\($0)" } + part.writes, files: part.files)
      }
    ),
  ]

  struct Example: Sendable, CustomTestStringConvertible {
    /// Shapes from the outside in.
    var shapes: [Int]
    var failure: Int
    var testDescription: String {
      (shapes.map { RetriedRunTests.shapes[$0].name } + [RetriedRunTests.failures[failure].name]).joined(
        separator: " > ")
    }
  }

  static let examples: [Example] = {
    var examples = failures.indices.map { Example(shapes: [], failure: $0) }
    for outer in shapes.indices {
      for failure in failures.indices { examples.append(Example(shapes: [outer], failure: failure)) }
      for inner in shapes.indices {
        examples.append(Example(shapes: [outer, inner], failure: (outer + inner) % failures.count))
      }
      let inner = [(outer + 1) % shapes.count, (outer + 3) % shapes.count]
      examples.append(Example(shapes: [outer] + inner, failure: outer % failures.count))
    }
    return examples
  }()

  @Test(arguments: examples) func `finished steps write once, at every depth`(_ example: Example) async throws {
    var part = Self.failures[example.failure].part
    for (depth, shape) in example.shapes.enumerated().reversed() {
      part = Self.shapes[shape].around(part, ["a", "b", "c"][depth])
    }
    let steps = "  - \(Self.write("before"))\n  - \(part.step)\n  - \(Self.write("after"))"
    let (first, second, failed, retried) = try await Self.writes(steps, calling: part.files)
    #expect(failed.code == 1, "\(failed.error)")
    #expect(first["after"] == nil)
    #expect(retried.code == 0, "\(retried.error)")
    let expected = Dictionary(uniqueKeysWithValues: (["before", "after"] + part.writes).map { ("/\($0)", 1) })
    #expect(second == expected, "\(steps)")
  }

  // MARK: Retried blocks and allowed failures

  @Test(arguments: [("network", 1), ("validation", 3)])
  func `a block starts again only where its attempts are used up, and the steps around it don't`(
    kind: String, count: Int
  ) async throws {
    let (_, writes, _, retried) = try await Self.writes(
      """
        - steps:
          - { uses: http.put, with: { url: /one } }
          - retry: { maxAttempts: 2, initial: 1ms, on: [\(kind)] }
            steps:
              - { uses: http.put, with: { url: /two } }
              - { uses: http.put, with: { url: /bad } }
      """)
    #expect(retried.code == 0, "\(retried.error)")
    #expect(writes == ["/one": 1, "/two": count, "/bad": 1])
  }

  @Test func `a write whose answer does not fit is done once, and a person gives its output`() async throws {
    let program = try await Program()
    let service = Service()
    let server = try HTTPServer { request in
      _ = service.take(request.path)
      return .text("{\"id\": \"seven\"}", type: "application/json")
    }
    try program.write("connections: { http: { baseURL: \"\(server.baseURL)\" } }\n", to: "errand.yaml")
    try program.write(
      """
      recipe: tried
      steps:
        - retry: { maxAttempts: 3, initial: 1ms }
          steps:
            - { uses: http.post, with: { url: /before } }
            - id: order
              uses: http.post
              with: { url: /order }
              shape: { body: { id: int } }
            - { uses: http.post, with: { url: "/after${{ steps.order.body.id }}" } }
      """, to: "tried.yaml")
    let failed = try await program.call("run", "tried.yaml", "--json")
    let first = failed.json["run"]?.string ?? "none"
    #expect(failed.code == 1)
    let why = try await program.call("why", first)
    #expect(
      why.out.contains(
        "http.post was done, but its output doesn't fit 'shape': 'body.id' is \"seven\", but must be an int"),
      "\(why.out)")
    #expect(
      why.out.contains(
        """
          '#1/order' was done, so a retry doesn't do it again: it looks at the answer, which is kept. To see the answer, or to go on with another output in its place:
              errand runs show \(first) '#1/order'
              errand runs retry \(first) '#1/order' --output '{
        """.dropLast(1)), "\(why.out)")
    let displayed = try await program.call("runs", "show", first, "#1/order")
    #expect(displayed.out.contains("seven"), "\(displayed.out)")
    let again = try await program.call("runs", "retry", first, "--json")
    #expect(again.code == 1, "\(again.error)")
    let second = again.json["run"]?.string ?? "none"
    let output = "{\"status\": 200, \"headers\": {}, \"isJSON\": true, \"body\": {\"id\": 7}}"
    let misfit = try await program.call("runs", "retry", second, "--output", output.replacing("7", with: "\"7\""))
    #expect(misfit.error.contains("the output doesn't fit 'shape'"), "\(misfit.error)")
    let other = try await program.call("runs", "retry", second, "#1/other", "--output", output)
    #expect(other.error.contains("isn't one that can't be used; these are: '#1/order'"), "\(other.error)")
    let mended = try await program.call("runs", "retry", second, "--output", output)
    #expect(mended.code == 0, "\(mended.error)")
    #expect(service.done.withLock { $0 } == ["/before": 1, "/order": 1, "/after7": 1])
    await server.stop()
    await program.remove()
  }

  @Test func `rounds that finished are not done again`() async throws {
    let (first, writes, _, retried) = try await Self.writes(
      """
        - uses: http.put
          with: { url: /round }
          repeat: { until: "run.attempt == 2", every: 1ms, timeout: 50ms }
      """)
    #expect(retried.code == 0, "\(retried.error)")
    #expect(writes == first)
  }

  @Test func `final handlers run again at the new end, and their finished steps don't where only they failed`()
    async throws
  {
    let cleaning = "finally:\n  - { uses: http.post, with: { url: /clean } }\n"
    let (_, writes, _, retried) = try await Self.writes(
      "  - { uses: http.post, with: { url: /one } }\n  - { uses: http.post, with: { url: /bad } }", rest: cleaning)
    #expect(retried.code == 0, "\(retried.error)")
    #expect(writes == ["/one": 1, "/bad": 1, "/clean": 2])
    let (_, others, _, again) = try await Self.writes(
      "  - { uses: http.post, with: { url: /one } }",
      rest: cleaning + "  - { uses: http.post, with: { url: /bad } }\n")
    #expect(again.code == 0, "\(again.error)")
    #expect(others == ["/one": 1, "/clean": 1, "/bad": 1])
  }

  @Test func `items that were allowed to fail are not retried`() async throws {
    let (_, writes, _, retried) = try await Self.writes(
      """
        - forEach: "['one', 'bad', 'two']"
          as: name
          onItemError: continue
          uses: http.post
          with: { url: "/${{ name }}" }
        - { if: run.attempt == 1, fail: not yet }
      """)
    #expect(retried.code == 0, "\(retried.error)")
    #expect(writes == ["/one": 1, "/two": 1])
  }

  @Test func `what a failed write may have done is named before the retry that does it again`() async throws {
    let program = try await Program()
    for (effect, isNamed) in [("write", true), ("idempotentWrite", false)] {
      try program.write(
        "steps: [{ id: work, uses: shell.run, with: { effect: \(effect), script: 'echo x >> done; exit 3' } }]",
        to: "\(effect).yaml")
      #expect(try await program.call("run", "\(effect).yaml").code == 1)
      let why = try await program.call("why", "last:\(effect)").out
      #expect(why.contains("'work' may have done something before it failed") == isNamed, "\(why)")
      #expect(why.contains("errand runs retry"), "\(why)")
    }
    await program.remove()
  }
}
