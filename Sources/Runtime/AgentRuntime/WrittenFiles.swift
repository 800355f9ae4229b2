package import Agent
import ActionKit
package import Basics
import LocalFiles
import Recipes
package import RunState
import Runs

// The files that runs wrote, for people who look at a run.
//
// A path comes from the output of an action that declares the field as a file. It is looked up again for each request,
// with the rules that hold for actions (`LocalFiles`): below the folder of errand.yaml, of recipes or of a connection,
// without following links, and never one of errand's own files. A file counts as the run's as long as nothing has changed
// it or its name since the step ended, by the times that the file system keeps; its own time can be set back, the
// time of the last change of its status can't.

extension Workspace {
  /// The largest file that is read for people.
  private static let largestFile = 64 << 20
  /// The most files of a run that are listed.
  private static let mostFiles = 1000

  /// The files that the actions of a run say they wrote, in the order of their steps.
  package func files(of run: RunRecord, among texts: Value) -> [WrittenFile] {
    guard let recipe = recipe(run.origin.file, among: texts, of: run.origin).recipe else { return [] }
    let replay = StepReplay(of: recipe, run) { _ in nil }
    var files: [WrittenFile] = []
    for step in run.stepsInOrder where step.isAction && step.status == .succeeded {
      // A retry keeps the outputs of the run before with its instants.
      guard case .inline(let output)? = step.output, let endedAt = step.endedAt,
        let schema = replay.output(ofActionAt: step.path), schema.hasFiles
      else { continue }
      for file in schema.files(in: output) where !file.path.isEmpty {
        let name =
          file.path.rest(in: root).map { String($0.drop { $0 == "/" }) } ?? file.path.split(separator: "/").last.map {
            String($0)
          } ?? ""
        files.append(
          WrittenFile(name: name, path: file.path, step: step.path, bytes: file.bytes, writtenAt: endedAt))
      }
      if files.count >= Workspace.mostFiles { break }
    }
    return files
  }

  /// The bytes of such a file; refused if it may not be read, or isn't as the run left it.
  package func bytes(of file: WrittenFile) async throws(RequestRefusedError) -> [UInt8] {
    let connections = configuration.document["connections"]?.map?.members.compactMap { $0.value.map } ?? []
    let others =
      recipeFolders
      + connections.flatMap { connection in
        ([connection["folder"]] + (connection["others"]?.list ?? [])).compactMap { $0?.string }
          .map { Workspace.absolute($0, in: root) }
      }
    // The instants of a shared state come from its database's clock.
    let slack = TimeSpan.seconds(database == nil ? 0 : 2)
    let found: [UInt8]?
    do throws(ActionError) {
      let time = SystemTime()
      var context = ActionContext(run: "", step: "", idempotencyKey: "", now: time.now(), time: time, folder: root)
      context.ownFiles = filesOfErrand
      found = try await LocalFiles(others: others).file(file.path, in: context)
        .bytes(
          unchangedSince: file.writtenAt.advanced(by: slack) ?? file.writtenAt, count: file.bytes,
          limit: Workspace.largestFile)
    } catch {
      switch error.kind {
      case .notFound: throw RequestRefusedError(.notFound, "'\(file.name)' isn't there any more")
      // Names of folders stay on the machine.
      default:
        throw RequestRefusedError(
          .notFound,
          "'\(file.name)' isn't shown: only regular files of up to 64 MiB are, below the folder of errand.yaml, of recipes or of a connection, and not through links or among errand's own files"
        )
      }
    }
    guard let found else { throw RequestRefusedError(.conflict, "'\(file.name)' has changed since the run wrote it") }
    return found
  }
}
