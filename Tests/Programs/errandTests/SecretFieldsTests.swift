import ActionKit
import Basics
import Foundation
import HTTPServer
import PluginList
import Synchronization
import Testing

@testable import Recipes

/// The fields of all plugins that accept a value made with a secret, and how they treat it.
@Suite(.timeLimit(.minutes(20))) struct SecretFieldsTests {
  private static let catalog = ActionCatalog(everyPlugin)
  private static let environment = RecipeEnvironment(catalog: catalog) { path throws(FileError) in
    Source(name: path, bytes: try Files.read("/nowhere/\(path)"))
  }

  // MARK: Fields that accept a secret

  /// Ways to put a secret into a field of any type.
  private static let forms = [
    "${{ secrets.TOKEN }}", "a ${{ secrets.TOKEN }}", "[\"${{ secrets.TOKEN }}\"]", "{ a: \"${{ secrets.TOKEN }}\" }",
    "{ a: { b: [\"${{ secrets.TOKEN.reverse() }}\"] } }", "[{ a: \"${{ secrets.TOKEN.size() }}\" }]",
    "${{ {'a': [secrets.TOKEN == 'x']} }}", "${{ [secrets.TOKEN] }}", "${{ json.parse(secrets.TOKEN) }}",
  ].map { $0.hasPrefix("$") || $0.hasPrefix("a") ? "\"\($0)\"" : $0 }

  private static func errors(_ action: ActionDescriptor, _ field: String, _ form: String) -> [String] {
    let others = action.input.fields.filter { $0.isRequired && $0.name != field }.map {
      "      \($0.name): ${{ steps.none }}\n"
    }
    let text = "steps:\n  - uses: \(action.id)\n    with:\n      \(field): \(form)\n\(others.joined())"
    return Recipe.check(Source(name: "recipe.yaml", text: text), in: environment).diagnostics
      .filter { $0.severity == .error }.map(\.message)
      // Other faults of the action don't matter here.
      .filter { !$0.contains("steps has no field `none`") && !$0.contains("'effect' must be written out") }
  }

  @Test func `only fields for credentials accept a value made with a secret`() {
    var taking: [String: [String]] = [:]
    for plugin in Self.catalog.plugins {
      for action in plugin.actions {
        for field in action.input.fields where field.type.nested == nil {
          let isTaken = Self.forms.contains { Self.errors(action, field.name, $0).isEmpty }
          if isTaken { taking[action.id, default: []].append(field.name) }
        }
      }
    }
    let sending = ["query", "headers", "json", "form", "text"]
    #expect(
      taking == [
        "http.get": ["query", "headers"], "http.getAll": ["query", "headers"], "http.download": ["query", "headers"],
        "http.delete": ["query", "headers"], "http.post": sending, "http.put": sending, "http.patch": sending,
        "shell.run": ["secretEnvironment", "input"], "notify.ntfy": ["topic"],
      ])
    #expect(
      Self.catalog.action("http.post")?.input.pathsTakingSecrets == [
        "query", "headers", "json", "form", "multipart.fields", "text",
      ])
  }

  @Test func `a field that accepts no secret names one that does`() {
    func message(_ action: String, _ field: String, _ form: String) -> [String] {
      Self.catalog.action(action).map { Self.errors($0, field, form) } ?? []
    }
    let head = "this is made with a secret, which can be given only to a field that takes a secret"
    for form in Self.forms {
      #expect(
        message("store.put", "value", form).allSatisfy {
          $0 == "\(head); none of 'with' does, because what they are given is shown or kept"
            || $0 == "this text\(head.dropFirst(4)); none of 'with' does, because what they are given is shown or kept"
        })
      #expect(!message("store.put", "value", form).isEmpty)
    }
    #expect(
      message("shell.run", "arguments", Self.forms[2]) == [
        "\(head); of 'with' these are 'secretEnvironment', 'input'"
      ])
  }

  @Test func `a connection's secrets are its credentials, and names may be made with one`() {
    var secrets: [String: [String]] = [:]
    var others: [String: [String]] = [:]
    for plugin in Self.catalog.plugins {
      for field in plugin.configuration.fields {
        if field.secrecy == .none, field.type.inputType.holdsSecret {
          secrets[plugin.name, default: []].append(field.name)
        } else if field.secrecy != .none {
          others[plugin.name, default: []].append(field.name)
        }
      }
    }
    #expect(
      secrets == [
        "markbook": ["apiKey", "password"], "http": ["secretHeaders", "secretQuery", "token", "password"],
        "mail": ["password"], "notify": ["webhookURL", "webhookHeaders", "signingSecret", "token"],
        "transitData": ["token"],
      ])
    #expect(others == ["markbook": ["username"], "http": ["username"], "mail": ["username"], "notify": ["topic"]])
  }

  @Test func `a name in plain text isn't a secret, a topic without a token is`() {
    func warnings(_ settings: String) -> [String] {
      let text = "zone: UTC\nconnections:\n\(settings)\n"
      let (_, faults) = Configuration.read(Source(name: "errand.yaml", text: text), catalog: Self.catalog)
      return faults.map(\.message)
    }
    let token = "\"${{ secrets.A }}\""
    #expect(warnings("  markbook: { apiKey: \(token), username: office, password: \(token) }") == [])
    #expect(warnings("  markbook: { apiKey: \(token), username: \(token), password: \(token) }") == [])
    #expect(warnings("  http: { baseURL: https://x.example, username: office, password: \(token) }") == [])
    #expect(warnings("  http: { baseURL: https://x.example, username: \(token), password: \(token) }") == [])
    #expect(warnings("  mail: { host: x.example, username: \"a-${{ secrets.A }}\", password: \(token) }") == [])
    #expect(warnings("  notify: { topic: Konstanz, token: \(token) }") == [])
    #expect(warnings("  notify: { topic: \(token) }") == [])
    #expect(
      warnings("  notify: { topic: Konstanz }") == [
        "'notify.topic' is a secret in plain text; put it into the environment or a file of secrets, and write "
          + "${{ secrets.NAME }}; in other texts it is hidden, unless it is a plain word"
      ])
  }

  // MARK: The use of secrets by fields

  @Test func `a credential is sent unchanged, and neither displayed nor kept`() async throws {
    let seen = Mutex<[String]>([])
    let server = try HTTPServer { request in
      let parts =
        [request.target, String(decoding: request.body, as: UTF8.self)] + request.headers.values("X-Signature")
        + request.headers.values("X-Plain")
      seen.withLock { $0 += parts }
      let echo = parts.joined(separator: " | ").percentEncoded
      return HTTPServerResponse.text((try? JSON.text(.object(["message": .string(echo)]))) ?? "", status: 400)
    }
    let program = try await Program()
    try program.write("connections:\n  http: { baseURL: \"\(server.baseURL)\" }\n", to: "errand.yaml")
    try program.write(
      """
      recipe: login
      steps:
        - let: { body: "${{ {'user': 'ana', 'signed': secrets.TOKEN.reverse()} }}" }
        - uses: http.post
          with:
            url: /login
            query: { signature: "${{ secrets.TOKEN.reverse() }}", length: "${{ secrets.TOKEN.size() }}" }
            headers: { X-Signature: "s-${{ secrets.TOKEN.reverse() }}", X-Plain: plain }
            json: ${{ body }}
      """, to: "login.yaml")
    let environment = ["TOKEN": "hunter2-and-more"]
    let derived = "erom-dna-2retnuh"
    var displayed = ""
    for arguments in [
      ["check", "login.yaml"], ["plan", "login.yaml", "--out", "plan.json"],
      ["run", "login.yaml", "--json", "--record", "recording.json"], ["run", "login.yaml", "-v"], ["runs", "list"],
      ["why", "login"],
    ] {
      let outcome = try await program.start(arguments, environment: environment).outcome()
      if arguments[0] == "check" { #expect(outcome.code == 0, "\(outcome)") }
      displayed += outcome.out + outcome.error
    }
    #expect(displayed.contains("POST"))
    #expect(displayed.contains(#"{"user":"ana","signed":"•••"}"#))
    let enumerator = FileManager.default.enumerator(at: program.folder, includingPropertiesForKeys: nil)
    var files: [String] = []
    while let file = enumerator?.nextObject() as? URL {
      guard let data = try? Data(contentsOf: file) else { continue }
      files.append(file.lastPathComponent)
      let text = String(decoding: data, as: UTF8.self)
      for form in [derived, "hunter2", "\"length\":16", "length=16"] {
        #expect(!text.contains(form), "\(file.lastPathComponent) holds \(form)")
      }
    }
    #expect(files.contains("recording.json") && files.contains("plan.json"))
    for form in [derived, "hunter2", "length=16"] { #expect(!displayed.contains(form), "\(displayed)") }
    let sent = seen.withLock { $0 }.joined(separator: "\n")
    #expect(sent.contains("/login?signature=\(derived)&length=16"))
    #expect(sent.contains(#""signed":"\#(derived)""#) && sent.contains("s-\(derived)") && sent.contains("plain"))
    await server.stop()
    await program.remove()
  }
}
