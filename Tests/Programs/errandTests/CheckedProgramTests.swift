import Basics
import Foundation
import Testing

/// Faults that a check finds before a run, and values that JSON cannot hold.
@Suite(.timeLimit(.minutes(20))) struct CheckedProgramTests {
  @Test func `NaN and infinities are displayed, and hide nothing else`() async throws {
    let program = try await Program()
    try program.write(
      """
      recipe: odd
      inputs: { zero: { type: double, default: 0.0 } }
      steps: [{ let: { nan: "${{ inputs.zero / inputs.zero }}", big: "${{ 1.0 / inputs.zero }}" } }]
      outputs: { nan: "${{ nan }}", both: ["${{ big }}", "${{ -big }}"], keys: "${{ {1: 'a', '1': 'b'} }}", n: 1 }
      """, to: "odd.yaml")
    let outcome = try await program.call("run", "odd.yaml", "--json")
    #expect(outcome.code == 0, "\(outcome.error)")
    let wanted = #"{"nan":"NaN","both":["Infinity","-Infinity"],"keys":{"1":"a","1 (a string)":"b"},"n":1}"#
    #expect(outcome.json["outputs"] == (try JSON.parse(wanted)), "\(outcome.out)")
    let id = try #require(outcome.json["run"]?.string)
    let displayed = try await program.call("runs", "show", id, "--json")
    #expect(displayed.code == 0, "\(displayed.error)")
    #expect(displayed.json["outputs"] == (try JSON.parse(wanted)), "\(displayed.out)")
    let text = try await program.call("runs", "show", id)
    #expect(text.out.contains("nan: NaN"), "\(text.out)")
    #expect(text.out.contains("n: 1"), "\(text.out)")
    await program.remove()
  }

  @Test func `invalid addresses and missing settings of a connection are faults of the check`() async throws {
    let program = try await Program()
    let recipes = [
      ("odd", "{ uses: http.get, with: { url: nonsense } }"),
      ("path", "{ uses: http.get, with: { url: /items } }"),
      ("whole", "{ uses: http.get, with: { url: https://example.org/items } }"),
      ("shop", "{ uses: http.post, connection: shop, with: { url: \"/items/${{ run.id }}\" } }"),
      ("mail", "{ uses: mail.send, with: { to: [a@example.org], from: b@example.org, subject: x, text: y } }"),
    ]
    for (name, step) in recipes { try program.write("recipe: \(name)\nsteps: [\(step)]\n", to: "\(name).yaml") }
    func findings(_ name: String) async throws -> String {
      let outcome = try await program.call("check", "\(name).yaml")
      let isFault = outcome.code == 3
      #expect(isFault || outcome.code == 0, "\(outcome.error)")
      return isFault ? outcome.error : ""
    }
    // Without the file connections are unknown, but addresses are still checked.
    try FileManager.default.removeItem(at: program.folder.appending(path: "errand.yaml"))
    #expect(
      try await findings("odd").contains(
        "'with.url' must be an address such as https://example.org/items, or a path such as /items, but is 'nonsense'"
      ))
    for name in ["path", "whole", "mail"] { #expect(try await findings(name) == "") }
    try program.write("connections: { shop: { plugin: http } }\n", to: "errand.yaml")
    #expect(
      try await findings("path").contains(
        "errand.yaml has no connection 'http', which needs 'baseURL' here; add it under 'connections'"))
    #expect(
      try await findings("shop").contains(
        "connection 'shop' of errand.yaml has no 'baseURL', which this 'http.post' needs")
    )
    #expect(
      try await findings("mail").contains(
        "errand.yaml has no connection 'mail', which needs 'host' here; add it under 'connections'"))
    #expect(try await findings("whole").isEmpty)
    try program.write(
      "connections: { http: { baseURL: https://a.example }, mail: { host: smtp.example.org, from: a@example.org } }\n",
      to: "errand.yaml")
    for name in ["path", "mail"] { #expect(try await findings(name).isEmpty) }
    #expect(try await findings("whole").contains("'https://example.org/items' is not at https://a.example"))
    await program.remove()
  }

  /// Steps that a run certainly refuses, with the message of `check` and its place, with an errand.yaml and without.
  private static let refused: [(step: String, message: String, mark: String, isKnownWithoutFile: Bool)] = [
    (
      "{ uses: http.get, with: { url: 'http://127.0.0.1:1/x' } }",
      "'http://127.0.0.1:1/x' is not at https://a.example, the service of this connection; use another connection for it",
      "'http://127", false
    ),
    (
      "{ uses: http.post, with: { url: nonsense } }",
      "'nonsense' isn't an address such as /items or https://a.example/items; percent-encode what is not plain ASCII",
      "nonsense",
      false
    ),
    (
      "{ uses: http.get, with: { url: /x, headers: { 'Bad Name': x } } }",
      "a header's name is one word, of letters, digits and signs such as '-', and 'Bad Name' isn't", "'Bad Name'", true
    ),
    (
      "{ uses: http.put, with: { url: /x, headers: { Host: \"a\\nb\" } } }",
      "the header Host holds a line break or another control character", "\"a\\nb", true
    ),
    (
      "{ uses: http.delete, with: { url: /x, headers: { Content-Length: '3' } } }",
      "the header Content-Length follows from the body; leave it out", "Content-Length", true
    ),
    (
      "{ uses: http.post, with: { url: /x, text: a, contentType: \"a\\nb\" } }",
      "the header Content-Type holds a line break or another control character", "\"a\\nb", true
    ),
    (
      "{ uses: http.download, with: { url: /x, to: ../x.zip } }",
      "'../x.zip' has '..' in it; a path of this connection says where it leads without going up", "../x.zip", true
    ),
    (
      "{ uses: http.post, with: { url: /x, multipart: { files: [{ field: a, path: .env }] } } }",
      "'.env' is hidden; give it a name that does not begin with a dot", ".env", false
    ),
    (
      "{ uses: csv.write, with: { path: a/../../x.csv, rows: [] } }",
      "'a/../../x.csv' has '..' in it; a path of this connection says where it leads without going up", "a/../../x",
      true
    ),
    (
      "{ uses: json.read, with: { path: .a.json } }",
      "'.a.json' is hidden; say 'hidden: true' in the connection to use files whose names begin with a dot", ".a.json",
      false
    ),
    (
      "{ uses: file.read, with: { path: /etc/passwd } }",
      "'/etc/passwd' is in no folder of this connection (FOLDER); name its folder under 'others' in the connection",
      "/etc/passwd",
      false
    ),
    (
      "{ uses: file.move, with: { from: a, to: recipes/a.yaml } }",
      "'FOLDER/recipes/a.yaml' is among errand's own files (recipes), which actions leave alone; say 'allowRecipes: true' "
        + "in the connection if this one may", "recipes/a", false
    ),
    (
      "{ uses: file.write, with: { path: errand.yaml, text: a } }",
      "'FOLDER/errand.yaml' is among errand's own files (the configuration), which actions leave alone", "errand.yaml",
      false
    ),
    (
      "{ uses: file.read, with: { path: keys/secrets.yaml } }",
      "'FOLDER/keys/secrets.yaml' is among errand's own files (secrets), which actions leave alone", "keys/", false
    ),
    (
      "{ uses: file.list, with: { folder: .. } }",
      "'..' has '..' in it; a path of this connection says where it leads without going up", "..", true
    ),
    (
      "{ uses: shell.run, with: { effect: read, program: 'true', folder: .git } }",
      "'.git' is hidden; give it a name that does not begin with a dot", ".git", false
    ),
    (
      "{ uses: mail.send, with: { to: [a@example.org], subject: x, text: y, attachments: [{ path: ../x }] } }",
      "'../x' has '..' in it; a path of this connection says where it leads without going up", "../x", true
    ),
    (
      "{ uses: notify.webhook, with: { text: x } }",
      "errand.yaml has no connection 'notify', which needs 'webhookURL' here; add it under 'connections'", "notify",
      false
    ),
    (
      "{ uses: notify.ntfy, with: { message: x } }",
      "errand.yaml has no connection 'notify', which needs 'topic' here; add it under 'connections'", "notify", false
    ),
    ("{ let: { a: '${{ {}.o }}' } }", "there is no field `o` here", "o }}", true),
    ("{ let: { b: \"${{ {}['o'] }}\" } }", "the map has no key 'o'", "'o'", true),
    (
      "{ uses: mail.send, with: { to: [a@example.org], from: b@example.org, subject: \"a\\nb\", text: y } }",
      "The subject holds a line end or another control character, and has to be one line", "\"a\\nb", true
    ),
    (
      "{ uses: mail.send, with: { to: [a@example.org], subject: x, text: y, attachments: [{ path: a, name: \"b\\tc\" }] } }",
      "The name of an attachment holds a line end or another control character, and has to be one line", "\"b\\tc",
      true
    ),
    (
      "{ uses: mail.send, with: { to: [a@example.org], subject: x, text: y, attachments: [{ path: a, type: plain }] } }",
      "'plain' isn't a media type such as application/pdf", "plain", true
    ),
    (
      "{ uses: mail.send, connection: silent, with: { to: [a@example.org], subject: x, text: y } }",
      "the mail has no sender; give it a 'from', here or in the connection", "{ to", false
    ),
    (
      "{ uses: http.post, with: { url: /x, multipart: { files: [{ field: a, path: a, type: plain }] } } }",
      "'plain' isn't a media type such as application/pdf", "plain", true
    ),
    (
      "{ uses: http.get, with: { url: /x, query: { a: [[1]] } } }",
      "'a' of 'query' is a list, which it cannot hold", "[[1", true
    ),
    (
      "{ uses: http.post, with: { url: /x, form: { a: { b: 1 } } } }",
      "'a' of 'form' is a map, which it cannot hold", "{ b", true
    ),
    (
      "{ uses: shell.run, with: { effect: read, program: 'true', environment: { 'A=B': x } } }",
      "'A=B' cannot be the name of a variable", "'A=B'", true
    ),
    (
      "{ uses: csv.format, with: { rows: [{ a: 1, b: [2] }] } }",
      "'b' of row 1 is a list, which no field can hold; write json.format(x) for it", "[2]", true
    ),
    (
      "{ uses: csv.format, with: { columns: [a], rows: [{ b: [2] }, { a: { c: 1 } }] } }",
      "'a' of row 2 is a map, which no field can hold; write json.format(x) for it", "{ c: 1", true
    ),
    (
      "{ uses: csv.write, with: { path: a.csv, rows: [{ a: 1 }, { a: \"${{ [run.id] }}\" }] } }",
      "'a' of row 2 is a list, which no field can hold; write json.format(x) for it", "\"${{", true
    ),
    (
      "{ uses: csv.format, with: { rows: \"${{ [{'a': b'x'}] }}\" } }",
      "'a' of row 1 is bytes, which no field can hold; write json.format(x) for it", "\"${{", true
    ),
    (
      "{ uses: json.parse, with: { text: '{' } }",
      "the text isn't valid JSON: line 1, column 2: a key in double quotes is expected, but the text ends", "'{'", true
    ),
    (
      "{ uses: csv.parse, with: { text: \"${{ run.id }}\", names: [a, b, a] } }", "'names' has 'a' twice", "[a", true
    ),
    (
      "{ uses: csv.parse, with: { text: \"a,b\\n1,2\\n\", columns: { c: int } } }",
      "the text cannot be read: it has no column 'c'; it has a, b", "\"a,b", true
    ),
    (
      "{ uses: csv.parse, with: { text: \"a\\n1\\nx\\n\", columns: { a: int } } }",
      "the text cannot be read: line 3, column 'a': 'x' is not an int", "\"a\\n", true
    ),
    (
      "{ uses: file.write, with: { path: ., text: a } }", "cannot write 'FOLDER': it is a folder (EISDIR)", "., text",
      false
    ),
    (
      "{ uses: json.read, with: { path: ./ } }", "cannot read 'FOLDER': it is a folder (EISDIR)", "./ }", false
    ),
    (
      "{ uses: shell.run, with: { effect: read, program: echo, arguments: [a, \"b\\0\"] } }",
      "an argument of 'echo' contains a NUL character", "\"b", true
    ),
    (
      "{ uses: http.get, with: { url: /x, query: { a: [1], c: { x: 1 } } } }",
      "'c' of 'query' is a map, which it cannot hold", "{ x", true
    ),
  ]

  @Test func `a certain refusal of a run is a fault of the check, with its place`() async throws {
    let program = try await Program()
    var folder = program.folder.path
    while folder.count > 1, folder.hasSuffix("/") { folder.removeLast() }
    func faults(_ steps: [String]) async throws -> [String] {
      let lines = steps.map { "  - \($0)\n" }.joined()
      try program.write("steps:\n\(lines)", to: "refused.yaml")
      let outcome = try await program.call("check", "refused.yaml")
      return outcome.error.split(separator: "\n").map(String.init).filter { $0.hasPrefix("refused.yaml:") }
    }
    func expected(_ cases: [(step: String, message: String, mark: String, isKnownWithoutFile: Bool)]) -> [String] {
      cases.enumerated().map { index, fault in
        let message = fault.message.replacing("(FOLDER)", with: "('\(folder)')").replacing("FOLDER", with: folder)
        let column = fault.step.range(of: fault.mark).map {
          fault.step.distance(from: fault.step.startIndex, to: $0.lowerBound)
        }
        return "refused.yaml:\(index + 2):\((column ?? 0) + 5): error: \(message)"
      }
    }
    let steps = CheckedProgramTests.refused
    try FileManager.default.removeItem(at: program.folder.appending(path: "errand.yaml"))
    let certain = steps.filter(\.isKnownWithoutFile)
    #expect(try await faults(certain.map(\.step)) == expected(certain))
    #expect(
      try await faults(steps.filter { !$0.isKnownWithoutFile && !$0.step.contains("nonsense") }.map(\.step)) == [])
    #expect(
      try await faults(["{ uses: http.post, with: { url: nonsense } }"])
        == ["refused.yaml:2:37: error: 'nonsense' isn't an address such as https://example.org/items"])
    try FileManager.default.createDirectory(
      at: program.folder.appending(path: "recipes"), withIntermediateDirectories: true)
    try program.write("a", to: "a")
    try program.write(
      """
      secrets: { files: [keys/secrets.yaml] }
      connections:
        http: { baseURL: https://a.example, token: "${{ secrets.TOKEN }}" }
        mail: { host: smtp.example.org, from: a@example.org }
        silent: { plugin: mail, host: smtp.example.org }

      """, to: "errand.yaml")
    for (index, step) in steps.enumerated() where !step.step.contains("notify.ntfy") {
      #expect(try await faults([step.step]) == expected([step]), "\(index)")
    }
    #expect(try await faults(["{ uses: notify.ntfy, with: { message: x } }"]) == expected([steps[18]]))
    // The run reports the same, and refuses nothing else.
    let files = ["{ uses: csv", "{ uses: json", "{ uses: file", "{ uses: shell", "{ uses: mail"]
    for step in steps where files.contains(where: step.step.hasPrefix) {
      try program.write("steps: [\(step.step)]\n", to: "run.yaml")
      let outcome = try await program.call("run", "run.yaml")
      #expect(outcome.code != 0)
      #expect(
        outcome.error.contains(
          step.message.replacing("(FOLDER)", with: "('\(folder)')").replacing("FOLDER", with: folder)),
        "\(outcome.error)")
    }
    await program.remove()
  }

  @Test func `what another connection or a computed setting allows isn't a fault of the check`() async throws {
    let program = try await Program()
    try program.write(
      """
      connections:
        http: { baseURL: https://a.example, allowOtherHosts: true }
        computed: { plugin: http, baseURL: "${{ 'https://' + 'b.example' }}" }
        file: { folder: files, hidden: true, others: [/etc], allowRecipes: true }
        notify: { webhookURL: "${{ secrets.HOOK }}" }

      """, to: "errand.yaml")
    try program.write(
      """
      steps:
        - { uses: http.get, with: { url: https://b.example/x, headers: { X-Some_Name: "tab\\there" } } }
        - { uses: http.get, connection: computed, with: { url: https://b.example/x } }
        - { uses: http.get, connection: computed, with: { url: /x } }
        - { uses: file.read, with: { path: .env } }
        - { uses: file.read, with: { path: /etc/hostname } }
        - { uses: file.read, with: { path: errand.yaml } }
        - { uses: file.read, with: { path: "${{ run.id }}/../x" } }
        - { uses: file.list, with: { folder: . } }
        - { uses: notify.webhook, with: { text: x } }
        - { uses: notify.ntfy, with: { message: x, topic: t } }
        - { uses: file.exists, with: { path: . } }
        - { uses: csv.format, with: { columns: [a], rows: [{ a: "${{ 1 }}", b: [2] }] } }
        - { uses: csv.write, with: { path: a.csv, rows: [{ a: é }], encoding: latin-1 } }
        - { uses: csv.parse, with: { text: "a,b\\n1,2\\n", columns: { b: int } } }
        - { uses: json.parse, with: { text: '{"a": 1}', at: "${{ '/' + run.id }}" } }
        - { uses: http.get, with: { url: /x, query: { a: ["${{ 1 }}", b], c: "${{ now }}" } } }
        - { let: { a: "${{ {}.?o.orValue(1) }}", b: "${{ has({}.o) }}", c: "${{ {1: 'a'}[1] }}" } }

      """, to: "allowed.yaml")
    let outcome = try await program.call("check", "allowed.yaml")
    #expect(outcome.code == 0, "\(outcome.error)")
    await program.remove()
  }

  @Test func `faults of inputs that types and constants show are faults of the check`() async throws {
    let program = try await Program()
    let cases: [(step: String, message: String, mark: String)] = [
      (
        "{ uses: csv.write, with: { path: a.csv, encoding: latin-1, rows: [{ a: 1, b: 漢 }] } }",
        "'漢' (U+6F22) has no place in latin-1; write it in utf-8 or utf-16", "漢"
      ),
      (
        "{ uses: csv.write, with: { path: a.csv, encoding: windows-1252, rows: [{ 漢: 1 }] } }",
        "'漢' (U+6F22) has no place in windows-1252; write it in utf-8 or utf-16", "漢"
      ),
      (
        "{ uses: csv.format, with: { rows: \"${{ inputs.xs.map(x, {'a': x, 'b': [x]}) }}\" } }",
        "'b' of each row is a list, which no field can hold; write json.format(x) for it", "\"${{"
      ),
      (
        "{ uses: csv.format, with: { rows: [\"${{ {'a': inputs.m} }}\"] } }",
        "'a' of row 1 is a map, which no field can hold; write json.format(x) for it", "\"${{"
      ),
      (
        "{ uses: http.post, with: { url: /x, form: { a: 1, c: \"${{ inputs.m }}\" } } }",
        "'c' of 'form' is a map, which it cannot hold", "\"${{"
      ),
      (
        "{ uses: text.report, with: { title: \"${{ '' }}\", sections: [{ text: a }] } }",
        "'with.title' must not be empty", "\"${{"
      ),
      (
        "{ uses: file.list, with: { limit: \"${{ 1 - 1 }}\" } }", "'with.limit' must be at least 1, but is 0", "\"${{"
      ),
      (
        "{ uses: store.put, with: { name: a, value: \"${{ inputs.o.?a }}\" } }",
        "a value is needed here, but this is an optional int; write `inputs.o.?a.orValue(…)`", "inputs"
      ),
      (
        "{ uses: store.put, with: { name: a, value: \"${{ has(inputs.o.a) ? inputs.o.a : null }}\" } }",
        "'with.value' must not be null; use store.delete to remove a value, and this may be", "\"${{"
      ),
    ]
    try program.write("connections: { http: { baseURL: https://a.example } }\n", to: "errand.yaml")
    let head = """
      inputs:
        xs: { type: list(int), default: [1] }
        m: { type: "map(string, int)", default: {} }
        o: { type: { a: int? }, default: {} }
      steps:

      """
    try program.write(head + cases.map { "  - \($0.step)\n" }.joined(), to: "types.yaml")
    let outcome = try await program.call("check", "types.yaml")
    #expect(
      outcome.error.split(separator: "\n").map(String.init).filter { $0.hasPrefix("types.yaml:") }
        == cases.enumerated().map { index, fault in
          let column = fault.step.range(of: fault.mark).map {
            fault.step.unicodeScalars.distance(from: fault.step.startIndex, to: $0.lowerBound)
          }
          return "types.yaml:\(index + 6):\((column ?? 0) + 5): error: \(fault.message)"
        })
    await program.remove()
  }

  @Test func `null is a value for a field that takes anything and has to be given`() async throws {
    let program = try await Program()
    try program.write(
      """
      recipe: nulls
      inputs: { flag: { type: bool, default: false }, given: { type: string, default: "null" } }
      steps:
        - { id: a, uses: json.format, with: { value: "${{ inputs.flag ? 1 : null }}" } }
        - { id: b, uses: json.format, with: { value: "${{ null }}" } }
        - { id: c, uses: json.format, with: { value: "${{ json.parse(inputs.given) }}" } }
        - { id: d, uses: store.compareAndSet, with: { name: n, expected: "${{ inputs.flag ? 1 : null }}", value: 2 } }
        - { id: e, uses: store.put, with: { name: n, value: "${{ json.parse(inputs.given) }}" }, onError: continue }
        - { id: f, uses: store.get, with: { name: n } }
      outputs:
        texts: "${{ [steps.a.text, steps.b.text, steps.c.text].map(text, text.trim()) }}"
        isSet: "${{ steps.d.isSet }}"
        value: "${{ steps.f.?value }}"
      """, to: "nulls.yaml")
    let check = try await program.call("check", "nulls.yaml")
    #expect(check.code == 0, "\(check.error)")
    let run = try await program.call("run", "nulls.yaml", "--json")
    #expect(run.code == 0, "\(run.error)")
    #expect(
      run.json["outputs"] == (try JSON.parse(#"{"texts":["null","null","null"],"isSet":true,"value":2}"#)), "\(run.out)"
    )
    await program.remove()
  }
}
