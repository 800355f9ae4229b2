import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import Recipes
import RunState
import RunTestKit
import Synchronization
import Testing

@testable import MailPlugin

private func withOffice(
  greeting: String = "220 sandbox ESMTP", _ body: (PostOffice, MailSettings) async throws -> Void
) async throws {
  let office = try PostOffice(greeting: greeting)
  // Ends when the server is stopped.
  let serving = Task { await onThread { office.serve() } }
  var settings = MailSettings(host: "127.0.0.1", security: .none)
  settings.port = office.port
  settings.sender = "Errand <errand@example.org>"
  do { try await body(office, settings) } catch {
    office.stop()
    throw error
  }
  office.stop()
  await serving.value
}

private func action() throws -> ActionDescriptor { try #require(ActionCatalog([MailPlugin.self]).action("mail.send")) }

private func input(to recipient: String, _ text: String = "All is well.") -> Value {
  .object(["to": .list([.string(recipient)]), "subject": .string("Done"), "text": .string(text)])
}

@Suite(.timeLimit(.minutes(20))) struct SendTests {
  @Test func `is well formed`() { expectWellFormed(MailPlugin.self) }

  @Test func `does in the sandbox what its examples say`() async { await expectExamplesRun(of: MailPlugin.self) }

  @Test func `the server is handed what was written, for everybody and once`() async throws {
    try await withOffice { office, settings in
      let mail = try Mail(
        from: "Errand <errand@example.org>", to: ["Ana <ana@example.org>"], cc: ["ben@example.org", "ana@example.org"],
        bcc: ["archive@example.org"], subject: "Dots", text: ".\n..\n.a\n\n",
        attachments: [.init(name: "a", bytes: [1])])
      try await MailClient(settings).send(mail, id: "1@example.org", date: TestTime.start)
      let delivered = try #require(office.delivered.first)
      #expect(office.delivered.count == 1)
      #expect(delivered.sender == "errand@example.org")
      #expect(delivered.recipients == ["ana@example.org", "ben@example.org", "archive@example.org"])
      #expect(delivered.bytes == MailWriter.bytes(of: mail, id: "1@example.org", date: TestTime.start))
    }
  }

  @Test func `a step's mail has the same id however often it is tried, and another step's another`() async throws {
    try await withOffice { office, settings in
      let client = MailClient(settings)
      let (first, again) = (ActionContext.testing(step: "a"), ActionContext.testing(step: "a", attempt: 2))
      var ids: [String] = []
      for context in [first, again, .testing(step: "b")] {
        let output = try await action().run(input(to: "ana@example.org"), on: client, in: context)
        ids.append(try #require(output["messageID"]?.string))
        #expect(output["recipients"] == .int(1))
      }
      #expect(ids[0] == ids[1])
      #expect(ids[0] != ids[2])
      #expect(ids.allSatisfy { $0.hasSuffix(".errand@example.org") && $0.utf8.count == 51 })
      #expect(office.delivered.map { $0.header("Message-ID") } == ids.map { "<\($0)>" })
    }
  }

  @Test func `files go with it, by the names they have there`() async throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "mail-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    try Data("a,b\n".utf8).write(to: folder.appending(path: "table.csv"))
    try await withOffice { office, settings in
      var mail = try #require(input(to: "ana@example.org").map)
      mail["attachments"] = .list([
        .object(["path": .string("table.csv")]),
        .object(["path": .string("table.csv"), "name": .string("other.bin"), "type": .string("text/x-own")]),
      ])
      let context = ActionContext.testing(folder: folder.path)
      _ = try await action().run(.map(mail), on: MailClient(settings), in: context)
      let text = String(decoding: try #require(office.delivered.first).bytes, as: UTF8.self)
      #expect(
        text.contains(
          "Content-Type: text/csv\r\nContent-Disposition: attachment;\r\n filename=\"table.csv\"\r\n"
            + "Content-Transfer-Encoding: base64\r\n\r\nYSxiCg==\r\n--"))
      #expect(
        text.contains("Content-Type: text/x-own\r\nContent-Disposition: attachment;\r\n filename=\"other.bin\"\r\n"))
      mail["attachments"] = .list([.object(["path": .string("gone.csv")])])
      await #expect {
        try await action().run(.map(mail), on: MailClient(settings), in: context)
      } throws: {
        ($0 as? ActionError)?.message
          == "an attachment cannot be sent: cannot read '\(folder.path)/gone.csv': no such file or folder (ENOENT)."
      }
      let small = MailPlugin.connect(
        try MailPlugin.Configuration(
          checking: .object([
            "host": .string("127.0.0.1"), "port": .int(office.port), "security": .string("none"),
            "from": .string("errand@example.org"), "maxBytes": .int(1024),
          ])), in: PluginContext(connection: "mail", time: TestTime()))
      try Data(count: 1025).write(to: folder.appending(path: "table.csv"))
      mail["attachments"] = .list([.object(["path": .string("table.csv")])])
      await #expect {
        try await action().run(.map(mail), on: small, in: context)
      } throws: {
        ($0 as? ActionError)?.message
          == "an attachment cannot be sent: cannot read '\(folder.path)/table.csv': it has more than the 1024 bytes "
          + "that are allowed; raise 'maxBytes' in the connection if it should be read."
      }
    }
  }

  @Test func `files that go with it are in the connection's folder`() async throws {
    let client = MailClient(MailSettings(host: "mail.example"))
    func mail(_ path: String) throws -> Value {
      var mail = try #require(input(to: "ana@example.org").map)
      mail["from"] = .string("errand@example.org")
      mail["attachments"] = .list([.object(["path": .string(path)])])
      return .map(mail)
    }
    try await expectKeptInside(after: "an attachment cannot be sent: ") { path, context in
      _ = try await action().run(mail(path), on: client, in: context)
    }
    // A plan finds it, too.
    await #expect(throws: ActionError.self) {
      try await action().preview(mail("../x"), on: client, in: .testing())
    }
  }

  struct Row: Sendable, CustomTestStringConvertible {
    var recipient: String
    var kind: ErrorKind
    var effect: ActionError.Effect
    var message: String
    var kept = 0
    var testDescription: String { recipient }
  }

  private static let lost =
    "The connection to the mail server 127.0.0.1 ended before it had taken the mail."

  @Test(arguments: [
    Row(
      recipient: "refused@example.org", kind: .validation, effect: .none,
      message:
        "The mail server 127.0.0.1 refused the recipient refused@example.org with code 550: 5.1.1 nobody of that name."),
    Row(
      recipient: "later@example.org", kind: .server, effect: .none,
      message: "The mail server 127.0.0.1 refused the recipient later@example.org with code 451: 4.2.1 try again later."
    ),
    Row(
      recipient: "full@example.org", kind: .validation, effect: .none,
      message: "The mail server 127.0.0.1 refused the mail with code 552: 5.2.2 mailbox full."),
    Row(recipient: "gone@example.org", kind: .network, effect: .none, message: lost),
    Row(recipient: "lost@example.org", kind: .network, effect: .unknown, message: lost, kept: 1),
    Row(
      recipient: "silent@example.org", kind: .timeout, effect: .unknown,
      message: "The mail server 127.0.0.1 did not take the mail in time.", kept: 1),
  ])
  func `what the server does not take is told by its words, and what may have been taken is`(
    _ row: Row
  ) async throws {
    try await withOffice { office, settings in
      var settings = settings
      if row.recipient.hasPrefix("silent") { settings.sendTimeout = .milliseconds(300) }
      let client = MailClient(settings)
      let failure = await error { try await action().run(input(to: row.recipient), on: client, in: .testing()) }
      let error = try #require(failure)
      #expect(error.kind == row.kind)
      #expect(error.effect == row.effect)
      let id = try MailClient.id(for: "test/step", from: #require(Mailbox("errand@example.org")))
      let look = row.effect == .unknown ? " If it was taken, it has the Message-ID <\(id)>." : ""
      #expect(error.message == row.message + look)
      #expect(office.delivered.count == row.kept)
    }
  }

  private func error(_ body: () async throws -> Value) async -> ActionError? {
    do { _ = try await body() } catch { return error as? ActionError }
    return nil
  }

  @Test func `a large mail is sent whole, and one that is too large not at all`() async throws {
    try await withOffice { office, settings in
      var settings = settings
      settings.maxBytes = 3 << 20
      let bytes = (0..<2_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
      func mail(_ bytes: [UInt8]) throws -> Mail {
        try Mail(
          from: "a@example.org", to: ["b@example.org"], subject: "s", text: "t",
          attachments: [.init(name: "x", bytes: bytes)])
      }
      try await MailClient(settings).send(mail(bytes), id: "1@x", date: TestTime.start)
      #expect(office.delivered.first?.bytes == MailWriter.bytes(of: try mail(bytes), id: "1@x", date: TestTime.start))
      settings.maxBytes = 1 << 20
      let client = MailClient(settings)
      await #expect {
        try await client.send(mail(bytes), id: "1@x", date: TestTime.start)
      } throws: {
        ($0 as? MailError)?.message
          == "The mail has 2000000 bytes, and 1048576 are the most; attach less, or raise 'maxBytes'."
      }
    }
  }

  @Test func `nobody there, no such name and no mail server are told apart`() async throws {
    func error(of settings: MailSettings) async -> ActionError? {
      let client = MailClient(settings)
      return await self.error {
        try await action().run(
          .object([
            "from": .string("a@example.org"), "to": .list([.string("b@example.org")]), "subject": .string("s"),
            "text": .string("t"),
          ]), on: client, in: .testing())
      }
    }
    var settings = MailSettings(host: "127.0.0.1", security: .none)
    settings.port = 9
    var found = await error(of: settings)
    #expect(found?.kind == .network)
    #expect(found?.effect == ActionError.Effect.none)
    #expect(
      found?.message == "No connection to the mail server 127.0.0.1 at port 9; check 'host' and 'port'.")
    settings.host = "nobody.invalid"
    found = await error(of: settings)
    #expect(found?.message == "The name of the mail server, nobody.invalid, is not known; check 'host'.")
    #expect(found?.effect == ActionError.Effect.none)
    try await withOffice(greeting: "HTTP/1.1 400 Bad Request") { _, settings in
      let found = await error(of: settings)
      #expect(found?.kind == .plugin)
      #expect(found?.message == "What answers at 127.0.0.1, port \(settings.port), isn't a mail server.")
      #expect(found?.effect == ActionError.Effect.none)
    }
    try await withOffice(greeting: "554 5.7.1 go away.") { _, settings in
      let found = await error(of: settings)
      #expect(found?.message == "The mail server 127.0.0.1 refused the mail with code 554: 5.7.1 go away.")
    }
  }

  @Test func `without STARTTLS where it is asked for, nothing is sent`() async throws {
    try await withOffice { office, settings in
      var settings = settings
      settings.security = .startTLS
      settings.username = "ana"
      settings.password = "s3cret"
      let client = MailClient(settings)
      let found = await error { try await action().run(input(to: "ana@example.org"), on: client, in: .testing()) }
      #expect(found?.kind == .configuration)
      #expect(
        found?.message
          == "The mail server 127.0.0.1 offers no STARTTLS at port \(settings.port); check 'security' and 'port'.")
      #expect(office.delivered.isEmpty)
    }
  }

  @Test func `a password goes only where it is encrypted, or stays on this machine`() {
    func messages(_ host: String) -> [String] {
      let faults = MailPlugin.Configuration.schema.check(
        .object([
          "host": .string(host), "security": .string("none"), "username": .string("ana"), "password": .string("s3cret"),
        ]), as: "connections.mail")
      return faults.map(\.message)
    }
    #expect(messages("smtp.example.org") == ["'connections.mail.security' must not be none where a password is sent"])
    #expect(messages("127.0.0.1") == [])
  }

  @Test func `a cancelled mail ends at once, and says whether it may be on its way`() async throws {
    try await withOffice { office, settings in
      let client = MailClient(settings)
      let mail = try Mail(from: "a@example.org", to: ["silent@example.org"], subject: "s", text: "t")
      let task = Task { try await client.send(mail, id: "1@x", date: TestTime.start) }
      await onThread { while office.delivered.isEmpty { sched_yield() } }
      task.cancel()
      let result = await task.result
      guard case .failure(let failure) = result, let error = failure as? MailError else {
        Issue.record("it was sent")
        return
      }
      #expect(error.kind == .cancelled)
      #expect(error.effect == .unknown)
      #expect(error.message == "Sending the mail was ended before 127.0.0.1 had taken it.")
    }
  }

  @Test func `a recipe mails in the sandbox, which tells what it was handed`() async throws {
    let catalog = ActionCatalog([MailPlugin.self])
    let environment = RecipeEnvironment(catalog: catalog) { path throws(FileError) in
      throw FileError(.read, path, .system(2))
    }
    let text = """
      recipe: mail
      steps:
        - id: sent
          uses: mail.send
          with: { to: [ana@example.org], subject: "Week ${{ 40 + 7 }}", text: All is well. }
      outputs: { recipients: "${{ steps.sent.recipients }}" }
      """
    let checked = Recipe.check(Source(name: "test.yaml", text: text), in: environment)
    let recipe = try #require(checked.recipe, "\(Diagnostics(checked.diagnostics).rendered())")
    try await withRun(of: recipe, plugins: [MailPlugin.self]) { run in
      let end = try await run.drive()
      #expect(end.status == .succeeded)
      let outputs = try JSON.text(try await run.outputs())
      #expect(outputs == #"{"recipients":1}"#)
    }
    try await withSandbox(of: MailPlugin.self) { client, sandbox in
      _ = try await action().run(input(to: "ana@example.org"), on: client, in: .testing())
      #expect(await sandbox.summaryLines() == ["mail to ana@example.org: Done"])
    }
  }

  @Test(
    arguments: [
      ("kind=refuse", ErrorKind.network, ActionError.Effect.none, lost, []),
      (
        "kind=busy", .server, .none,
        "The mail server 127.0.0.1 refused the mail with code 451: 4.3.2 busy, try again later.", []
      ),
      (
        "kind=busy&status=421", .server, .none,
        "The mail server 127.0.0.1 refused the mail with code 421: 4.3.2 busy, try again later.", []
      ),
      (
        "kind=recipient&call=ana", .validation, .none,
        "The mail server 127.0.0.1 refused the recipient ana@example.org with code 550: 5.1.1 nobody of that name.", []
      ),
      ("kind=cutOff", .network, .none, lost, []), ("kind=lostAnswer", .network, .unknown, lost, ["Done"]),
    ] as [(String, ErrorKind, ActionError.Effect, String, [String])])
  func `trouble of the sandbox strikes a mail, and is over then`(
    _ fault: String, _ kind: ErrorKind, _ effect: ActionError.Effect, _ message: String, _ kept: [String]
  ) async throws {
    try await withSandbox(of: MailPlugin.self) { client, sandbox in
      let http = HTTPClient()
      func tell(_ query: String) async throws -> String {
        let answer = try await http.send(HTTPRequest("GET", "\(sandbox.controlURL)/sandbox/\(query)"))
        return String(decoding: answer.body, as: UTF8.self)
      }
      _ = try await tell("fault?\(fault)")
      let other = fault.contains("call=")
      if other { _ = try await action().run(input(to: "ben@example.org"), on: client, in: .testing()) }
      let error = try #require(
        await error { try await action().run(input(to: "ana@example.org"), on: client, in: .testing()) })
      #expect(error.kind == kind && error.effect == effect)
      #expect(error.message.hasPrefix(message), "\(error.message)")
      let sent = (other ? ["mail to ben@example.org: Done"] : []) + kept.map { "mail to ana@example.org: \($0)" }
      #expect(await sandbox.summaryLines() == sent)
      _ = try await action().run(input(to: "ana@example.org"), on: client, in: .testing())
      #expect(await sandbox.summaryLines() == sent + ["mail to ana@example.org: Done"])
      #expect(try await tell("log").contains(#""ana@example.org":"#))
      #expect(
        try await tell("fault?kind=slow")
          == "There is no fault 'slow'; there are refuse, busy, recipient, cutOff, lostAnswer, none.\n")
    }
  }

  @Test func `a plan shows whom a mail would go to, and sends none`() async throws {
    try await withOffice { office, settings in
      var mail = try #require(input(to: "Ana <ana@example.org>").map)
      mail["attachments"] = .list([.object(["path": .string("a.csv")])])
      let changes = try await action().preview(.map(mail), on: MailClient(settings), in: .testing())
      #expect(changes == [Change("A mail to ana@example.org", from: nil, to: "Done, with a.csv")])
      #expect(office.delivered.isEmpty)
    }
  }

  @Test func `what a recipe says wrong is told when it is checked`() throws {
    let faults = try action().input.check(
      .object([
        "to": .list([.string("ana@example.org\r\nBcc: eve@example.org")]), "subject": .string("s"),
      ]), as: "with")
    #expect(
      faults.map(\.message) == [
        "'with.to[0]' must be a mail address such as ana@example.org or Ana <ana@example.org>, but is "
          + "'ana@example.org\r\nBcc: eve@example.org'"
      ])
    let empty = try action().input.check(.object(["subject": .string("s")]), as: "with")
    #expect(
      empty.map(\.message) == ["'with' needs a recipient in 'to', 'cc' or 'bcc'", "'with' needs 'text' or 'html'"])
  }

  @Test func `of several recipients the one is named who is refused`() async throws {
    try await withOffice { office, settings in
      let mail = try Mail(
        from: "a@example.org", to: ["ana@example.org", "ben@example.org"],
        cc: ["refused@example.org", "c@example.org"],
        subject: "s", text: "t")
      let refusal = await #expect(throws: MailError.self) {
        try await MailClient(settings).send(mail, id: "1@x", date: TestTime.start)
      }
      #expect(refusal?.message.contains("refused the recipient refused@example.org with code 550") == true)
      #expect(office.delivered.isEmpty)
    }
  }

  @Test func `too many recipients are told when the recipe is checked`() throws {
    func list(_ name: String) -> Value { .list((1...60).map { .string("\(name)\($0)@example.org") }) }
    let input = Value.object([
      "to": list("a"), "bcc": list("b"), "subject": .string("s"), "text": .string("t"),
    ])
    #expect(
      try action().input.check(input, as: "with").map(\.message)
        == ["'with' names 120 recipients, and a server takes 100 at a time; send several mails"])
  }

  @Test func `the sandbox lets in whoever logs in`() async throws {
    try await withOffice { office, settings in
      var settings = settings
      (settings.username, settings.password) = ("ana", "word")
      let mail = try Mail(from: "a@example.org", to: ["ana@example.org"], subject: "s", text: "t")
      try await MailClient(settings).send(mail, id: "1@x", date: TestTime.start)
      #expect(office.delivered.count == 1)
    }
  }
}
