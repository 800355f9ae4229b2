package import ActionKit
package import Agent
import Basics
import RecipeEditing
import Recipes

package struct NewFile: Operation {
  package static let name = "newFile"
  package static let summary = "Gives a text to begin a recipe or a test with, and writes nothing."
  package static let scopes = Scopes.editing
  package static let route: Route? = .post("/files/new")
  package static let command: String? = "new recipe"
  package static let page: String? = "/edit/new"
  package static let refusals: Set<RequestRefusedError.Kind> = .ofFiles.union([.conflict, .configuration])

  @Field("The name of a template to begin a recipe with.") package var from: String?
  @Field("The id of an action to begin a recipe with.") package var uses: String?
  @Field("The path of a recipe to begin a test of.") package var test: String?
  @Field("The name of the new recipe; that of its template or action if absent.") package var name: String?

  package init() {}

  package typealias View = NewFileAnswer

  package var target: Void { () }

  package func run(
    on anyone: Anyone, in agent: AgentParts, for caller: AgentCaller
  ) async throws(RequestRefusedError) -> Shown<NewFileAnswer> {
    let editor = try agent.edited()
    guard [from, uses, test].count(where: { $0 != nil }) <= 1 else {
      throw RequestRefusedError(.request, "'from', 'uses' and 'test' exclude each other; give one of them")
    }
    if let name, !Recipe.isName(name) {
      throw RequestRefusedError(
        .request, "'\(name.safe.shortened(to: 80))' isn't a recipe name: use letters, digits, - and _")
    }
    var source = FileBeginning.Source.nothing
    if let from { source = .template(from) }
    if let uses { source = .action(uses) }
    if let test {
      let (file, content) = try await editor.file(test, for: caller)
      guard content != nil else { throw FileEditor.unknown(test) }
      guard file.kind == .recipe else {
        throw RequestRefusedError(.request, "'\(file.path)' isn't a recipe, so it gets no test")
      }
      source = .test(file.fullPath)
    }
    let made = try await editor.editing.newFile(FileBeginning(source, name: name))
    let path = editor.path(of: made.path)
    let isThere: Bool
    do throws(RequestRefusedError) { isThere = try await editor.file(path, for: caller).content != nil } catch {
      // The file of a recipe that the caller doesn't see is there, too.
      guard error.kind == .notFound else { throw error }
      isThere = true
    }
    if isThere {
      throw RequestRefusedError(.conflict, "'\(path)' exists already; choose another name")
    }
    return Shown(
      filled(NewFileAnswer()) {
        $0.path = path
        $0.text = made.text
      })
  }
}

/// A text to begin a file with.
package struct NewFileAnswer: FieldSet {
  @Field("The path that the file would have.") package var path: String
  @Field("The text.") package var text: String

  package init() {}
}
