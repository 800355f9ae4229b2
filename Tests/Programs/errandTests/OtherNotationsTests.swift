import ActionKit
import Basics
import PluginList
import Testing

@testable import Recipes

/// Notations of other systems in the inputs of actions; the rest is in the table `notations` of the recipes' tests.
@Suite struct OtherNotationsTests {
  @Test(arguments: [
    (
      "{ uses: http.post, with: { url: /a, body: { a: 1 } } }",
      "'with' has no field 'body'; write json: for a value, text: for a text, or form: for a web form"
    ),
    (
      "{ uses: http.post, with: { url: /a, data: hello } }",
      "'with' has no field 'data'; write json: for a value, text: for a text, or form: for a web form"
    ),
    (
      "{ uses: http.request, with: { url: /a } }",
      "no action is named 'http.request'; 'http' has http.get, http.getAll, http.download, http.post, http.put, "
        + "http.patch, http.delete"
    ),
    ("{ uses: shell, with: { script: ls } }", "no action is named 'shell'; 'shell' has shell.run"),
    (
      "{ uses: http.get, with: { url: /a, headers: { Authorization: Bearer abcdefgh } } }",
      "'with.headers.Authorization' looks like a secret in plain text; give the connection 'http' of errand.yaml token: "
        + "${{ secrets.TOKEN }} instead"
    ),
    (
      "{ uses: http.get, with: { url: /a, headers: { X-Api-Key: abcdefgh } } }",
      "'with.headers.X-Api-Key' looks like a secret in plain text; write ${{ secrets.X_API_KEY }}"
    ),
    (
      "{ uses: shell.run, with: { effect: read, script: ls, environment: { DB_PASSWORD: hunter2 } } }",
      "'with.environment.DB_PASSWORD' looks like a secret in plain text; write secretEnvironment: { DB_PASSWORD: "
        + "\"${{ secrets.DB_PASSWORD }}\" }"
    ),
    (
      "{ uses: http.post, with: { url: /a, json: { user: { password: hunter2 } } } }",
      "'with.json.user.password' looks like a secret in plain text; write ${{ secrets.PASSWORD }}"
    ),
    (
      "{ uses: file.read, with: { path: $HOME/notes.txt } }",
      "'$HOME' is sent as it is written; variables of a shell aren't expanded here"
    ),
    ("{ uses: shell.run, with: { effect: read, script: 'ls $HOME $now' } }", ""),
    ("{ uses: shell.run, with: { effect: read, script: 'sh -c \"$1\"', arguments: ['echo $PATH ${HOME}'] } }", ""),
    (
      "{ uses: shell.run, with: { effect: read, script: 'sh -c \"$1\"', arguments: ['echo $PATH', '${{ run.id }} $HOME'] } }",
      ""
    ),
    (
      "{ uses: shell.run, with: { effect: read, program: echo, arguments: [$PATH] } }",
      "'$PATH' is sent as it is written; variables of a shell aren't expanded here"
    ),
    (
      "{ uses: shell.run, with: { effect: read, script: 'cat', arguments: [a], input: $PATH } }",
      "'$PATH' is sent as it is written; variables of a shell aren't expanded here"
    ),
    ("{ uses: store.put, with: { name: token, value: abcdefgh } }", ""),
  ])
  func `what stands in an action's input is told with the fix`(_ step: String, _ message: String) {
    let environment = RecipeEnvironment(catalog: ActionCatalog(everyPlugin)) { path throws(FileError) in
      throw FileError(.read, path, .system(2))
    }
    let checked = Recipe.check(Source(name: "a.yaml", text: "steps:\n  - \(step)\n"), in: environment)
    #expect(checked.diagnostics.map(\.message) == (message.isEmpty ? [] : [message]))
  }
}
