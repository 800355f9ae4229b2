package import ActionKit
package import Agent
package import Basics
package import RunState

package struct ReadValue: Operation {
  package static let name = "value"
  package static let summary = "Reads a large value that is stored outside the record of its run."
  package static let scopes = Scopes.token(.data)
  package static let refusals: Set<RequestRefusedError.Kind> = [.notFound]
  package static let absences: [Absence] = [
    .command("Commands read a large value where they show the record that refers to it."),
    .route("The API's answers leave large values out; `errand runs show RUN --json` prints them."),
    .page("Pages read a large value where they show the run."),
  ]

  @Field("The value's hash and size, as in the record.") package var blob: Stored<BlobReference>
  @Field("The run whose record refers to it; needed by a token that is limited to recipes.") package var run: String?

  package init() {}

  package init(_ blob: BlobReference, of run: String? = nil) {
    self.init()
    self.blob = Stored(blob)
    self.run = run
  }

  package var target: KeptValue.Name { KeptValue.Name(blob: blob.record, run: run) }

  /// A value, read when it is needed.
  package struct Answer: UnlimitedAnswer {
    private enum Content {
      case kept(KeptValue)
      case value(Value)
    }

    private let content: Content

    init(_ kept: KeptValue) { content = .kept(kept) }

    package init(reading value: Value) throws(RecordError) { content = .value(try readRecord(value["value"])) }

    package func exact() async throws(RequestRefusedError) -> Value { .object(["value": recorded(try await value())]) }

    package func value() async throws(RequestRefusedError) -> Value {
      switch content {
      case .value(let value): return value
      case .kept(let kept):
        do throws(StateError) { return try await kept.store.value(.blob(kept.blob)) } catch {
          throw RequestRefusedError(error)
        }
      }
    }

    package var isLong: Bool { true }

    package func write(to writer: inout ExactWriter) async throws {
      try await writer.write(plain: "{\"value\":")
      switch content {
      case .kept(let kept): try await kept.write(to: &writer)
      case .value(let value): try await writer.write(recorded(value))
      }
      try await writer.write(plain: "}")
    }
  }

  package func run(
    on value: KeptValue, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer { Answer(value) }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> NoContent { NoContent() }
}

/// A value that the state keeps in a file.
package struct KeptValue: OperationTarget {
  let blob: BlobReference
  let store: any StateStore

  package struct Name: Sendable {
    var blob: BlobReference
    var run: String?
  }

  /// A caller who is limited to recipes reads only what the record of a run refers to that it sees.
  package static func find(
    _ name: Name, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> KeptValue {
    let value = KeptValue(blob: name.blob, store: agent.store)
    if caller.recipes.isEmpty { return value }
    guard let run = name.run else {
      throw RequestRefusedError(
        .forbidden, "the token is limited to some recipes: name the run whose record refers to the value in 'run'")
    }
    let record = try await agent.stored(try await agent.find(run, for: caller).id).record()
    let kept = [record.outputs] + record.stepsInOrder.map(\.output)
    guard kept.contains(.blob(name.blob)) else {
      throw RequestRefusedError(.notFound, "the run refers to no such value")
    }
    return value
  }
}
