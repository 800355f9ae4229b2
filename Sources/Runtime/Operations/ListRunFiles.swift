package import ActionKit
package import Agent
import Basics
package import RunState

package struct ListRunFiles: Operation {
  package static let name = "runFiles"
  package static let summary = "Lists the files that the actions of a run say they wrote."
  package static let scopes = Scopes.token(.data)
  package static let route: Route? = .get("/runs/{run}/files")
  package static let page: String? = "/runs/{run}/outputs"
  package static let absences: [Absence] = [
    .command("`errand runs show RUN STEP` shows a step's output with the path.")
  ]
  package static let refusals: Set<RequestRefusedError.Kind> = .ofRuns

  @Field(RunName.summary) package var run: String

  package init() {}

  package var target: RunName { RunName(run) }

  package struct Answer: Record, UnlimitedAnswer {
    package var files: [WrittenFile]

    package init(_ files: [WrittenFile]) { self.files = files }

    package init<Coder: MemberCoder & ~Copyable>(coding member: inout Coder, of record: Self?) throws(Coder.Failure) {
      files = try member("files", record?.files)
    }
  }

  package func run(
    on run: RunReference, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Answer { Answer(try await agent.files(of: run)) }

  package static func view(_ answer: Answer, for caller: AgentCaller) -> FileListAnswer {
    filled(FileListAnswer()) {
      $0.items = answer.files.enumerated().map { index, file in
        filled(FileAnswer()) {
          $0.number = index + 1
          $0.name = file.name
          $0.step = file.step
          $0.bytes = file.bytes
          $0.writtenAt = file.writtenAt
        }
      }
    }
  }
}

extension AgentParts {
  /// The files that the actions of a run say they wrote.
  func files(of run: RunReference) async throws(RequestRefusedError) -> [WrittenFile] {
    let record = try await stored(run.id).record()
    guard let findFiles = served?.findFiles, record.erasedAt == nil, !record.origin.sandbox else { return [] }
    let texts = try await kept { () async throws(StateError) in try await store.value(record.origin.texts) }
    return await findFiles(record, texts)
  }
}
