import ActionKit
import ActionTestKit
import Foundation
import HTTPClient
import Testing

@testable import MarkbookPlugin

/// A sandbox on a port of its own with a client of it, for the time of a test.
func withSandbox(
  _ school: SandboxSchool = .wattleCreek, limits: HTTPLimits = HTTPLimits(),
  _ test: (_ sandbox: MarkbookSandbox, _ client: MarkbookClient, _ time: TestTime) async throws -> Void
) async throws {
  let time = TestTime()
  let sandbox = try MarkbookSandbox(SandboxOptions(time: time), school: school)
  let client = sandbox.client(limits: limits, time: time)
  let outcome: Result<Void, any Error>
  do { outcome = .success(try await test(sandbox, client, time)) } catch { outcome = .failure(error) }
  await sandbox.stop()
  try outcome.get()
}

extension MarkbookSandbox {
  func client(
    password: String? = nil, limits: HTTPLimits = HTTPLimits(), time: any TimeSource
  ) -> MarkbookClient {
    let school = handler.school
    return MarkbookClient(
      baseURL: baseURL, apiKey: school.apiKey, username: school.username, password: password ?? school.password,
      limits: limits, time: time)
  }

  /// The number of writes that an action did, by target.
  func writes(_ action: String) -> [String: Int] { handler.log.writes[action] ?? [:] }
}

/// The key of the seeded markbook.
private let geography = 1_207_731

@Suite struct SandboxTests {
  @Test func `answers every read over real HTTP, with names as awkward as they are`() async throws {
    try await withSandbox { sandbox, client, _ in
      #expect(
        try await client.markbookList().markbooks.map(\.name) == [
          "2026 Y8 Geography", "2026 Y10 History Elective", "Demo",
        ])
      #expect(try await client.userList().users.map(\.loginID) == ["pvenkat", "dokafor", "sodwyer", "apiservice"])
      let book = try await client.getMarkbook(key: geography)
      #expect(book.head.tasks.map(\.maximum) == [20, 50, 100, 15, nil, 10, 100])
      #expect(book.students.count == 24)
      let zoe = try #require(book.students.first { $0.student.familyName == "McAllister" })
      // The two scalars of a decomposed letter survive the way.
      #expect(zoe.student.givenName.unicodeScalars.count == 4)
      #expect(book.students.contains { $0.student.sid == "0047/431" && $0.student.classKey == 9 })
      // Nobody has an average yet, so every array ends early; two students miss the task before as well.
      let displayed = sandbox.handler.school.markbooks.first.map { book -> SandboxAnswer in
        var book = book
        return book.answer("getmarkbook", SandboxParameters(values: [:]))
      }
      let students = try #require(displayed?.payload["studentlist"]?.list)
      #expect(Set(students.map { $0["rawresults"]?.list?.count }) == [0, 5, 6])
      let alternate = try await client.getMarkbookAlt(key: geography)
      for student in book.students {
        let listed = alternate.results.filter { $0.studentKey == student.student.key }
        #expect(listed.map(\.mark) == student.results.map(\.mark).filter { !$0.raw.isEmpty })
      }
      let outcomes = try await client.getOutcomes(key: geography)
      #expect(outcomes.students.first?.levels.map(\.level) == ["High", nil])
      #expect(try await client.getOutcomesAlt(key: geography).levels.count == 24)
      #expect(sandbox.handler.log.logins == 1)
    }
  }

  @Test func `records results of every student, and reads them back`() async throws {
    try await withSandbox { sandbox, client, _ in
      let book = try await client.getMarkbook(key: geography)
      let odd = ["A+", "7.25", "100%", "a & b = c; d/e?f#g", "é", "ausgezeichnet 🌿", "0", ""]
      for task in book.head.tasks {
        for (index, student) in book.students.map(\.student).enumerated() {
          try await client.putStudentResult(
            markbookKey: geography, studentKey: student.key, sid: student.sid, taskKey: task.key,
            taskName: task.name, result: odd[index % odd.count])
        }
      }
      let results = try await client.getMarkbookAlt(key: geography).results
      for (index, student) in book.students.map(\.student).enumerated() {
        let own = results.filter { $0.studentKey == student.key }.map(\.mark.raw)
        let wanted = odd[index % odd.count]
        #expect(own == (wanted.isEmpty ? [] : [String](repeating: wanted, count: book.head.tasks.count)))
      }
      #expect(sandbox.writes("putstudentresult").count == 24 * 7)
      #expect(Set(sandbox.writes("putstudentresult").values) == [1])
    }
  }

  @Test(arguments: [
    (12, "47218", 3, "Mapping Skills Quiz", "student"), (13, "0047218", 3, "Mapping Skills Quiz", "student"),
    (12, "0047218", 6, "Mapping Skills Quiz", "task"), (12, "0047218", 14, "Presentation   Q/A", "task"),
  ])
  func `refuses keys that do not go with their ids and names`(
    _ student: Int, _ sid: String, _ task: Int, _ name: String, _ wrong: String
  ) async throws {
    try await withSandbox { sandbox, client, _ in
      let error = try await client.failure {
        try await $0.putStudentResult(
          markbookKey: geography, studentKey: student, sid: sid, taskKey: task, taskName: name, result: "1")
      }
      #expect(error.message == "Markbook Online answered 'putstudentresult' with 'ERROR:invalid \(wrong)'.")
      #expect(sandbox.handler.log.writes.isEmpty)
    }
  }

  @Test func `makes, changes, moves, deletes and brings back a student`() async throws {
    try await withSandbox { _, client, _ in
      func find() async throws(MarkbookError) -> MarkbookStudent? {
        try await client.getMarkbook(key: geography).students.map(\.student).first { $0.sid == "00 +&#1" }
      }
      let home = try await client.createClass(
        markbookKey: geography, name: "8GEO/W +1", teacherFamilyName: "O'Neil", teacherGivenName: "Zoë"
      ).classKey
      let key = try await client.createStudent(
        markbookKey: geography, sid: "00 +&#1", familyName: "Lee", givenName: "Susannah", preferredName: "",
        gender: .female, classKey: home
      ).studentKey
      #expect(try await find()?.className == "8GEO/W +1")
      try await client.updateStudent(
        markbookKey: geography, studentKey: key, sid: "00 +&#1", familyName: "Lee", givenName: "Susannah",
        preferredName: "Sue", gender: .other)
      #expect(try await find()?.preferredName == "Sue")
      try await client.deleteStudent(markbookKey: geography, studentKey: key, sid: "00 +&#1")
      #expect(try await find() == nil)
      try await client.updateStudentClass(markbookKey: geography, studentKey: key, sid: "00 +&#1", classKey: 9)
      #expect(try await find()?.classKey == 9)
      let twice = try await client.failure {
        _ = try await $0.createStudent(
          markbookKey: geography, sid: "00 +&#1", familyName: "", givenName: "", preferredName: "", gender: .male,
          classKey: home)
      }
      #expect(twice.message.contains("ERROR:student id already exists"))
      let again = try await client.failure {
        _ = try await $0.createClass(
          markbookKey: geography, name: "8GEO/W +1", teacherFamilyName: "", teacherGivenName: "")
      }
      #expect(again.message.contains("ERROR:class name already exists"))
    }
  }

  @Test func `gives a markbook whose name is taken another one`() async throws {
    try await withSandbox { _, client, _ in
      let request = try CreateMarkbookRequest(
        reading: JSON.parse(
          #"{"markbookName":"Demo","markbookYear":"2027","markbookCourse":"a + b & c = d","ownerKey":31,"#
            + #""shareList":[34],"classList":[{"key":7,"name":"C","teacherName1":"","teacherName2":""}],"studentList":["#
            + #"{"key":1,"studentID":"007","familyName":"Ö","givenName":"\"","preferredName":"","classKey":7}]}"#))
      #expect(try await client.createMarkbook(request).markbookName == "Demo-1")
      let second = try await client.createMarkbook(request)
      #expect(second.markbookName == "Demo-2")
      #expect((second.classCount, second.studentCount, second.shareCount) == (1, 1, 1))
      let book = try await client.getMarkbook(key: second.markbookKey)
      #expect(book.head.markbookCourse == "a + b & c = d")
      #expect(book.students.first?.student.className == "C")
    }
  }

  @Test func `knows its password`() async throws {
    try await withSandbox { sandbox, _, time in
      let error = try await sandbox.client(password: "p&ss", time: time).failure { _ = try await $0.userList() }
      #expect(error.message.contains("'authentication' with 'ERROR:invalid credentials'"))
      #expect(!error.message.contains("p&ss"))
    }
  }

  @Test func `ends sessions after twenty minutes`() async throws {
    try await withSandbox { sandbox, client, time in
      _ = try await client.userList()
      // The school's clock runs ahead of the client's, whose session is young by its own.
      _ = await sandbox.handler.answer(HTTPRequestStub.clock("20m"))
      _ = try await client.userList()
      #expect(sandbox.handler.log.logins == 2)
      #expect(sandbox.handler.log.requests == 5)
    }
  }

  @Test func `builds a backup at one in the morning in Sydney, and keeps its zip for an hour`() async throws {
    try await withSandbox { sandbox, client, time in
      #expect(try await client.getBackupURL().state == .none)
      try await client.scheduleBackup(matching: "History")
      try await client.scheduleBackup(matching: "2026")
      // It is half past eight in the evening in Sydney.
      time.advance(by: .seconds(4 * 3600 + 1799))
      #expect(try await client.getBackupURL().state == .pending)
      time.advance(by: .seconds(1))
      let url = try #require(try await client.getBackupURL().url)
      #expect(url.hasSuffix("/markbook/download/wattlecreek-backup-2026-11-20T140000Z.zip"))
      let folder = FileManager.default.temporaryDirectory.appending(path: "markbook-\(UUID())")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      defer { try? FileManager.default.removeItem(at: folder) }
      let file = folder.appending(path: "b.zip").path
      let bytes = try await client.downloadBackup(from: url, to: file)
      #expect(try Data(contentsOf: URL(filePath: file)).count == bytes)
      time.advance(by: .seconds(3599))
      #expect(try await client.getBackupURL().url == url)
      time.advance(by: .seconds(1))
      #expect(try await client.getBackupURL().state == .none)
      let late = try await client.failure { _ = try await $0.downloadBackup(from: url, to: file) }
      #expect(
        late.message == "Markbook Online answered the download of the backup with HTTP status 404; the zip is deleted "
          + "about an hour after its address was first told.")
    }
  }

  @Test(arguments: [
    // Before and after daylight saving begins and ends, and at one in the morning itself.
    ("2026-11-20T09:30:00Z", "2026-11-20T14:00:00Z"), ("2026-06-01T14:59:59Z", "2026-06-01T15:00:00Z"),
    ("2026-06-01T15:00:00Z", "2026-06-02T15:00:00Z"), ("2026-10-03T15:30:00Z", "2026-10-04T14:00:00Z"),
    ("2026-04-04T12:00:00Z", "2026-04-04T14:00:00Z"),
  ])
  func `knows when it is one in the morning in Sydney`(_ now: String, _ built: String) throws {
    #expect(SandboxBackup.nextBuild(after: try #require(Timestamp(now))).description == built)
  }

  @Test(arguments: [
    ("67.5", 0, "68"), ("12.5", 0, "13"), ("-12.5", 0, "-13"), ("99.95", 1, "100.0"), ("78.25", 1, "78.3"),
    ("9", 2, "9.00"), ("0.444", 2, "0.44"), (".5", 0, "1"), ("A+", 0, "A+"), ("n0", 1, "n0"), ("", 1, ""),
    ("007", 0, "7"),
  ])
  func `rounds half away from zero, digit by digit`(_ raw: String, _ places: Int, _ rounded: String) {
    #expect(roundedResult(raw, places) == rounded)
  }

  @Test func `writes dates as the service does`() throws {
    #expect(wireDate(try #require(Timestamp("2025-05-19T23:30:00Z"))) == "Tue, 20 May 2025 09:30:00 +1000")
    #expect(wireDate(try #require(Timestamp("2026-11-20T09:30:00Z"))) == "Fri, 20 Nov 2026 20:30:00 +1100")
  }

  @Test(arguments: OddNumbers.texts)
  func `answers odd numbers`(_ odd: String) async throws {
    try await withSandbox { sandbox, client, _ in
      _ = try await client.userList()
      let school = sandbox.handler.school
      let session = try #require(school.sessions.first)
      let key = "&apikey=\(school.apiKey)&sessiontoken=\(session.key)&sessionkey="
      let http = HTTPClient()
      for query in [
        "getmarkbook\(key)\(session.value.key)&key=", "getmarkbookalt\(key)\(session.value.key)&key=",
        "putstudentresult\(key)\(session.value.key)&key=\(geography)&sid=0047218&studentkey=",
        "putstudentresult\(key)\(session.value.key)&key=\(geography)&sid=0047218&studentkey=12&taskkey=",
        "putstudentresult\(key)\(session.value.key)&key=\(geography)&sid=0047218&studentkey=12&taskkey=7"
          + "&taskname=Half-Yearly%20Exam%20(50%25%20%3D%20pass)&result=",
        "getmarkbook\(key)\(session.value.key)&key=\(geography)&more=",
        "updatestudentclass\(key)\(session.value.key)&key=\(geography)&sid=0047218&studentkey=12&classkey=",
        "userlist\(key)",
      ] {
        let answer = try await http.send(HTTPRequest("GET", "\(sandbox.baseURL)?action=\(query)\(odd)"))
        #expect(answer.status == 200)
        #expect(try JSON.parse(answer.body)["status"]?.string?.isEmpty == false)
      }
    }
  }
}
