import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import Synchronization
import Testing

@testable import MarkbookPlugin

/// The plugin as runs see it: by name, with values in and out.
private let catalog = ActionCatalog([MarkbookPlugin.self])

private func action(_ name: String) throws -> ActionDescriptor {
  try #require(catalog.action("markbook.\(name)"))
}

private func json(_ text: String) throws -> Value { try JSON.parse(text) }

@Suite struct ActionTests {
  @Test func `is well formed`() { expectWellFormed(MarkbookPlugin.self) }

  @Test func `does in the sandbox what its examples say`() async { await expectExamplesRun(of: MarkbookPlugin.self) }

  @Test func `declares for each action what may be done twice`() {
    let effects = catalog.actionIDs.compactMap { catalog.action($0) }.map { action in
      let offers = [action.canPreview ? "preview" : nil, action.canReconcile ? "reconcile" : nil].compactMap(\.self)
      return ([action.id, action.effect.name] + offers).joined(separator: " ")
    }
    #expect(
      effects == [
        "markbook.markbookList read", "markbook.userList read", "markbook.getMarkbook read",
        "markbook.getMarkbookAlt read", "markbook.getOutcomes read", "markbook.getOutcomesAlt read",
        "markbook.putStudentResult idempotentWrite preview", "markbook.createStudent write preview reconcile",
        "markbook.updateStudent idempotentWrite preview", "markbook.updateStudentClass idempotentWrite preview",
        "markbook.deleteStudent write preview reconcile", "markbook.createClass write preview reconcile",
        "markbook.createMarkbook write preview reconcile", "markbook.scheduleBackup idempotentWrite preview",
        "markbook.getBackupURL consume", "markbook.downloadBackup consume",
      ])
  }

  struct Faulty: Sendable, CustomTestStringConvertible {
    var testDescription: String { "\(action) \(input)" }
    var action: String
    var input: String
    var messages: [String]
  }

  @Test(arguments: [
    Faulty(
      action: "putStudentResult",
      input: #"{"markbookKey":1,"studentKey":2,"sid":"3","taskKey":4,"taskName":"t","result":""}"#,
      messages: ["'with.result' must not be empty, unless 'allowEmpty: true' says that it is intended"]),
    Faulty(
      action: "putStudentResult",
      input: #"{"markbookKey":1,"studentKey":2,"sid":"3","taskKey":4,"taskName":"t","result":"","allowEmpty":true}"#,
      messages: []),
    Faulty(
      action: "createStudent",
      input: #"{"markbookKey":1,"sid":"3","familyName":"f","givenName":"g","classKey":4}"#,
      messages: [
        "'with' needs 'gender' ('male' or 'female' or 'other'): The gender, which the service requires and never returns"
      ]),
    Faulty(
      action: "scheduleBackup", input: #"{"matching":"2"}"#,
      messages: ["'with.matching' must have at least 2 characters, but has 1"]),
    Faulty(
      action: "createMarkbook",
      input: #"{"markbookName":"m","markbookYear":"","markbookCourse":"","ownerKey":1,"#
        + #""classList":[{"key":1,"name":"c","teacherName1":"","teacherName2":""}],"#
        + #""studentList":[{"key":1,"studentID":"s","familyName":"","givenName":"","classKey":2},"#
        + #"{"key":2,"studentID":"s","familyName":"","givenName":"","classKey":1}]}"#,
      messages: [
        "'with.studentList' names class 2 for student 's', which 'classList' does not have",
        "'with.studentList' gives a studentID to more than one student",
      ]),
  ])
  func `says what is wrong before anything runs`(_ c: Faulty) throws {
    #expect(try action(c.action).input.check(json(c.input), as: "with").map(\.message) == c.messages)
  }

  @Test func `gives each student one result a task, with the numbers that there are`() async throws {
    try await withSandbox { _, client, _ in
      let book = try await action("getMarkbook").run(
        json(#"{"markbookKey":1207731}"#), on: client, in: .testing())
      #expect(book["markbookName"]?.string == "2026 Y8 Geography")
      #expect(
        book["tasks"]?.list?[4] == (try json(#"{"key":16,"name":"Effort","maximumText":"Grade","decimalPlaces":0}"#)))
      let students = try #require(book["students"]?.list)
      let zoe = try #require(students.first { $0["sid"]?.string == "0047356" })
      #expect(zoe["familyName"]?.string == "McAllister")
      #expect(
        zoe["results"]
          == .list([
            .object([
              "taskKey": .int(3), "taskName": .string("Mapping Skills Quiz"), "raw": .string("13"),
              "rounded": .string("13"), "value": .double(13), "percent": .double(65),
            ]),
            .object([
              "taskKey": .int(6), "taskName": .string("Rivers & Coasts Report"), "raw": .string("30"),
              "rounded": .string("30"), "value": .double(30), "percent": .double(60),
            ]),
            .object([
              "taskKey": .int(7), "taskName": .string("Half-Yearly Exam (50% = pass)"), "raw": .string("49.5"),
              "rounded": .string("49.5"), "value": .double(49.5), "percent": .double(49.5),
            ]),
            .object([
              "taskKey": .int(14), "taskName": .string("Presentation + Q/A"), "raw": .string("n0"),
              "rounded": .string("n0"),
            ]),
            .object([
              "taskKey": .int(16), "taskName": .string("Effort"), "raw": .string("C"), "rounded": .string("C"),
            ]),
            .object([
              "taskKey": .int(18), "taskName": .string("Excursion #1: Minnamurra 🌿"), "raw": .string("5"),
              "rounded": .string("5"), "value": .double(5), "percent": .double(50),
            ]),
            .object([
              "taskKey": .int(21), "taskName": .string("Average"), "raw": .string(""), "rounded": .string(""),
            ]),
          ]))
      // The alternate form says the same, where it says anything.
      let alternate = try await action("getMarkbookAlt").run(
        json(#"{"markbookKey":1207731}"#), on: client, in: .testing())
      let percents = students.flatMap { $0["results"]?.list ?? [] }.compactMap { $0["percent"] }
      #expect(alternate["results"]?.list?.compactMap { $0["percent"] } == percents)
      #expect(percents.count == 24 * 5 - 12)
    }
  }

  @Test(arguments: ["speculative/getmarkbook-short-results.json", "speculative/getmarkbook-text-task.json"])
  func `lists every task for every student however short the arrays are`(_ file: String) async throws {
    let (client, _) = scripted([try .logIn(), try .call("getmarkbook", file)])
    let book = try await action("getMarkbook").run(json(#"{"markbookKey":1207731}"#), on: client, in: .testing())
    let tasks = try #require(book["tasks"]?.list).map { $0["key"]?.int }
    for student in try #require(book["students"]?.list) {
      #expect(student["results"]?.list?.map { $0["taskKey"]?.int } == tasks)
      for result in student["results"]?.list ?? [] where result["raw"]?.string?.isEmpty == true {
        #expect(result["value"] == nil && result["percent"] == nil)
      }
    }
  }

  @Test(arguments: ["markbookList", "userList", "getOutcomes", "getOutcomesAlt"])
  func `gives what its output declares`(_ name: String) async throws {
    try await withSandbox { _, client, _ in
      let input = name.hasPrefix("get") ? #"{"markbookKey":1207731}"# : "{}"
      let output = try await action(name).run(json(input), on: client, in: .testing())
      #expect(try action(name).output.check(output, as: "output").map(\.message) == [])
      #expect(output.map?.members.isEmpty == false)
    }
  }

  @Test func `does every write by name, and shows the sandbox's table`() async throws {
    try await withSandbox { sandbox, client, _ in
      func run(_ name: String, _ input: String) async throws -> Value {
        try await action(name).run(json(input), on: client, in: .testing())
      }
      let home = try await run(
        "createClass",
        #"{"markbookKey":1207742,"name":"10HIS-2","teacherFamilyName":"Thackeray","teacherGivenName":"Mark"}"#)
      let made = try await run(
        "createStudent",
        #"{"markbookKey":1207742,"sid":"0045150","familyName":"Lee","givenName":"Su","gender":"other","classKey":2}"#)
      _ = try await run(
        "putStudentResult",
        #"{"markbookKey":1207742,"studentKey":2,"sid":"0045117","taskKey":2,"taskName":"Research Essay","result":"29.5"}"#
      )
      _ = try await run(
        "updateStudent",
        #"{"markbookKey":1207742,"studentKey":3,"sid":"0045123","familyName":"Chowdhury","givenName":"Rafi","#
          + #""preferredName":"Raf","gender":"male"}"#)
      _ = try await run(
        "updateStudentClass", #"{"markbookKey":1207742,"studentKey":3,"sid":"0045123","classKey":2}"#)
      let deleted = try await run("deleteStudent", #"{"markbookKey":1207742,"studentKey":4,"sid":"0045139"}"#)
      let again = try await run("deleteStudent", #"{"markbookKey":1207742,"studentKey":4,"sid":"0045139"}"#)
      #expect(home == .object(["classKey": .int(2)]))
      #expect(made == .object(["studentKey": .int(5)]))
      #expect(deleted == .object(["studentKey": .int(4), "sid": .string("0045139"), "classKey": .int(1)]))
      #expect(again == .object(["studentKey": .int(4), "sid": .string("0045139")]))
      #expect(
        sandbox.summaryLines() == [
          "2026 Y10 History Elective, Research Essay:",
          "  id       student         class    before  now",
          "  0045102  Adeyemi, Tolu   10HIS-1  33.5    not written",
          "  0045117  Brandt, Klara   10HIS-1          29.5",
          "  0045123  Chowdhury, Raf  10HIS-2  38      not written",
          "  0045150  Lee, Su         10HIS-2          not written",
          "createclass: 1 done, to 1 different things", "createstudent: 1 done, to 1 different things",
          "deletestudent: 2 done, to 1 different things", "putstudentresult: 1 done, to 1 different things",
          "updatestudent: 1 done, to 1 different things", "updatestudentclass: 1 done, to 1 different things",
        ])
    }
  }

  struct Previewed: Sendable, CustomTestStringConvertible {
    var testDescription: String { action }
    var action: String
    var input: String
    var changes: [Change]
  }

  @Test(arguments: [
    Previewed(
      action: "putStudentResult",
      input: #"{"markbookKey":1207731,"studentKey":13,"sid":"0047233","taskKey":6,"#
        + #""taskName":"Rivers & Coasts Report","result":"48"}"#,
      changes: [Change("Rivers & Coasts Report of Ani Bhattacharya (0047233)", from: "47.5", to: "48")]),
    Previewed(
      action: "putStudentResult",
      input: #"{"markbookKey":1207731,"studentKey":12,"sid":"0047218","taskKey":21,"taskName":"Average","result":"7"}"#,
      changes: [Change("Average of Lachlan Abernethy (0047218)", from: nil, to: "7")]),
    Previewed(
      action: "createStudent",
      input: #"{"markbookKey":1207731,"sid":"1","familyName":"Lee","givenName":"Su","gender":"other","classKey":4}"#,
      changes: [Change("Student Su Lee (1) of '2026 Y8 Geography'", from: nil, to: "in class 8GEO-B")]),
    Previewed(
      action: "updateStudent",
      input: #"{"markbookKey":1207731,"studentKey":13,"sid":"0047233","familyName":"Bhattacharya","#
        + #""givenName":"Anika","preferredName":"","gender":"female"}"#,
      changes: [
        Change("Preferred name of Ani Bhattacharya (0047233)", from: "Ani", to: nil),
        Change("Gender of Ani Bhattacharya (0047233)", from: "not told by the service", to: "female"),
      ]),
    Previewed(
      action: "updateStudentClass",
      input: #"{"markbookKey":1207731,"studentKey":13,"sid":"0047233","classKey":4}"#,
      changes: [Change("Class of Ani Bhattacharya (0047233)", from: "8GEO-R & Ext.", to: "8GEO-B")]),
    Previewed(
      action: "deleteStudent", input: #"{"markbookKey":1207731,"studentKey":13,"sid":"0047233"}"#,
      changes: [
        Change(
          "Student Ani Bhattacharya (0047233) of '2026 Y8 Geography'", from: "in class 8GEO-R & Ext., key 9", to: nil)
      ]),
    Previewed(
      action: "createClass",
      input: #"{"markbookKey":1207755,"name":"C","teacherFamilyName":"F","teacherGivenName":"G"}"#,
      changes: [Change("Class C of 'Demo'", from: nil, to: "taught by G F")]),
    Previewed(
      action: "createMarkbook",
      input: #"{"markbookName":"Demo","markbookYear":"","markbookCourse":"","ownerKey":31}"#,
      changes: [
        Change(
          "Markbook 'Demo'", from: nil, to: "0 classes, 0 students, under another name because this one is taken")
      ]),
    Previewed(
      action: "scheduleBackup", input: #"{"matching":"2026"}"#,
      changes: [
        Change(
          "Backup of the markbooks whose names contain '2026'", from: nil,
          to: "built at about 1 AM in Sydney, instead of any that was asked for before")
      ]),
  ])
  func `shows what a write would change, and changes nothing`(_ c: Previewed) async throws {
    try await withSandbox { sandbox, client, _ in
      let changes = try await action(c.action).preview(json(c.input), on: client, in: .testing())
      #expect(changes == c.changes)
      #expect(sandbox.handler.log.writes.isEmpty)
    }
  }

  @Test func `shows that a pair of key and name is none`() async throws {
    try await withSandbox { _, client, _ in
      let input =
        #"{"markbookKey":1207731,"studentKey":12,"sid":"0047218","taskKey":21,"taskName":"Mean","result":"7"}"#
      let error = await #expect(throws: ActionError.self) {
        _ = try await action("putStudentResult").preview(json(input), on: client, in: .testing())
      }
      #expect(error?.kind == .notFound)
      #expect(error?.message == "Markbook '2026 Y8 Geography' has no task with key 21 and name 'Mean'.")
    }
  }

  @Test func `downloads a backup once it is built, into a folder that it makes`() async throws {
    try await withSandbox { sandbox, client, time in
      let folder = FileManager.default.temporaryDirectory.appending(path: "markbook-\(UUID())").path
      defer { try? FileManager.default.removeItem(atPath: folder) }
      let context = ActionContext.testing(time: time, folder: folder)
      func download() async throws -> Value {
        try await action("downloadBackup").run(json(#"{"to":"a/b/c.zip"}"#), on: client, in: context)
      }
      let none = try await download()
      #expect(none == .object(["state": .string("none"), "bytes": .int(0)]))
      _ = try await action("scheduleBackup").run(json(#"{"matching":"2026"}"#), on: client, in: context)
      let pending = try await download()
      #expect(pending == .object(["state": .string("pending"), "bytes": .int(0)]))
      time.advance(by: .seconds(24 * 3600))
      let ready = try await download()
      #expect(ready["path"]?.string == "\(folder)/a/b/c.zip")
      let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder)/a/b/c.zip")
      #expect(ready["bytes"]?.int == attributes[.size] as? Int)
    }
  }

  @Test func `stores a backup in the connection's folder only, and asks for none otherwise`() async throws {
    let (client, _) = scripted([])
    try await expectKeptInside { path, context in
      let input = Value.object(["to": .string(path)])
      _ = try await action("downloadBackup").run(input, on: client, in: context)
    }
  }

  @Test func `does not ask for a backup that it could not store`() async throws {
    let (client, transport) = scripted([])
    let error = await #expect(throws: ActionError.self) {
      _ = try await action("downloadBackup").run(
        json(#"{"to":"nowhere/b.zip"}"#), on: client, in: .testing(folder: "/proc"))
    }
    #expect(error?.effect == ActionError.Effect.none)
    #expect(transport.requests.isEmpty)
  }

  @Test func `connects by its configuration, and keeps a record of each request without its secrets`() async throws {
    let time = TestTime()
    let sandbox = try await MarkbookPlugin.startSandbox(SandboxOptions(time: time))
    let requests = Recorder()
    let plugin = try #require(catalog.plugin("markbook"))
    let service = try await plugin.connect(
      sandbox.configuration, in: PluginContext(connection: "markbook", time: time) { requests.add($0) })
    _ = try await action("userList").run(json("{}"), on: service, in: .testing())
    await sandbox.stop()
    let records = requests.all
    #expect(records.map(\.method) == ["POST", "GET"])
    #expect(records.map(\.status) == [200, 200])
    for secret in ["wattlecreek0sandbox", "WattleCreek0", "530001", "apiservice"] {
      #expect(!records.contains { $0.redactedURL.contains(secret) })
    }
  }
}

private final class Recorder: Sendable {
  private let records = Mutex<[ServiceRequest]>([])
  var all: [ServiceRequest] { records.withLock(\.self) }
  func add(_ request: ServiceRequest) { records.withLock { $0.append(request) } }
}
