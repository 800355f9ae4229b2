package import Agent
import Basics
import RunState

extension AgentParts {
  /// The editor of the folder's files.
  func edited() throws(RequestRefusedError) -> FileEditor {
    guard let editor else {
      throw RequestRefusedError(
        .notServing, "no agent is serving, and files are edited only through one; start errand serve")
    }
    return editor
  }

  /// Refuses a caller whose token may not edit here, whatever its scopes.
  func checkEditing(_ caller: AgentCaller) throws(RequestRefusedError) {
    guard caller.isToken, try !edited().editing.isAllowed() else { return }
    throw RequestRefusedError(
      .forbidden, "errand.yaml doesn't allow editing over HTTP; write server: { edit: true }")
  }

  /// Whether a caller may edit files here.
  package func mayEdit(_ caller: AgentCaller) -> Bool {
    guard let editor, Scopes.editing.token?.isSubset(of: caller.scopes) == true else { return false }
    return !caller.isToken || editor.editing.isAllowed()
  }

  /// The path by which a caller edits a file that is served; nil if it may not.
  package func editablePath(of file: String, for caller: AgentCaller) -> String? {
    mayEdit(caller) ? editor?.path(of: file) : nil
  }
}

extension Scopes {
  /// The scopes of requests about files.
  static let editing = Scopes.token(.read, .edit)
}

extension Set where Element == RequestRefusedError.Kind {
  /// The refusals of requests about a file.
  static let ofFiles: Self = [.notFound, .notServing, .tooLarge]
}

/// The sentence about the input that names a file.
let pathSummary = "The path of the file from the folder of errand.yaml on, such as recipes/report.yaml."
/// The sentence about a text that is edited.
let textSummary = "The text of the file, at most 256 KiB."
