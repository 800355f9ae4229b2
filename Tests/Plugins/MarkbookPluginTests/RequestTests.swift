import ActionKit
import HTTPClient
import Testing

@testable import MarkbookPlugin

@Suite struct RequestTests {
  struct Case: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var answer: String
    var query: String
    var call: @Sendable (MarkbookClient) async throws -> Void

    init(
      _ name: String, _ answer: String, _ query: String,
      _ call: @escaping @Sendable (MarkbookClient) async throws -> Void
    ) {
      (testDescription, self.answer, self.query, self.call) = (name, answer, query, call)
    }
  }

  @Test(arguments: [
    Case("markbookList", "markbooklist.json", "action=markbooklist") { _ = try await $0.markbookList() },
    Case("userList", "userlist.json", "action=userlist") { _ = try await $0.userList() },
    Case("getMarkbook", "getmarkbook.json", "action=getmarkbook&key=1207731") {
      _ = try await $0.getMarkbook(key: 1_207_731)
    },
    Case("getMarkbookAlt", "getmarkbookalt.json", "action=getmarkbookalt&key=1207731") {
      _ = try await $0.getMarkbookAlt(key: 1_207_731)
    },
    Case("getOutcomes", "getoutcomes.json", "action=getoutcomes&key=-1") { _ = try await $0.getOutcomes(key: -1) },
    Case("getOutcomesAlt", "getoutcomesalt.json", "action=getoutcomesalt&key=1207731") {
      _ = try await $0.getOutcomesAlt(key: 1_207_731)
    },
    Case(
      "putStudentResult", "putstudentresult.json",
      "action=putstudentresult&key=1207731&studentkey=15&sid=0047251&taskkey=14"
        + "&taskname=Presentation%20%2B%20Q%2FA&result=9.5"
    ) {
      try await $0.putStudentResult(
        markbookKey: 1_207_731, studentKey: 15, sid: "0047251", taskKey: 14, taskName: "Presentation + Q/A",
        result: "9.5")
    },
    Case(
      "createStudent", "createstudent.json",
      "action=createstudent&key=1&sid=00%2F1%20%239&family=O%27Brien%3B%26%3D&given=Zoe%CC%88&preferred="
        + "&gender=female&classkey=4"
    ) {
      let answer = try await $0.createStudent(
        markbookKey: 1, sid: "00/1 #9", familyName: "O'Brien;&=", givenName: "Zoe\u{308}", preferredName: "",
        gender: .female, classKey: 4)
      #expect(answer.studentKey == 48)
    },
    Case(
      "updateStudent", "updatestudent.json",
      "action=updatestudent&key=1&studentkey=2&sid=3&family=%E6%9D%8E&given=%F0%9F%8C%BF&preferred=-._~"
        + "&gender=other"
    ) {
      try await $0.updateStudent(
        markbookKey: 1, studentKey: 2, sid: "3", familyName: "李", givenName: "🌿", preferredName: "-._~",
        gender: .other)
    },
    Case(
      "updateStudentClass", "updatestudentclass.json", "action=updatestudentclass&key=1&studentkey=2&sid=3&classkey=4"
    ) {
      try await $0.updateStudentClass(markbookKey: 1, studentKey: 2, sid: "3", classKey: 4)
    },
    Case("deleteStudent", "deletestudent.json", "action=deletestudent&key=1&studentkey=2&sid=3") {
      try await $0.deleteStudent(markbookKey: 1, studentKey: 2, sid: "3")
    },
    Case("createClass", "createclass.json", "action=createclass&key=1&name=9%20%25&family=F%3F&given=G%40%3A") {
      let answer = try await $0.createClass(
        markbookKey: 1, name: "9 %", teacherFamilyName: "F?", teacherGivenName: "G@:")
      #expect(answer.classKey == 12)
    },
    Case("scheduleBackup", "schedulebackup.json", "action=schedulebackup&matching=20%2B") {
      try await $0.scheduleBackup(matching: "20+")
    },
    Case("getBackupURL", "getbackupurl.json", "action=getbackupurl") {
      let answer = try await $0.getBackupURL()
      #expect(answer.state == .ready)
      #expect(answer.url?.hasSuffix("banksiaridge-backup-200525-300PM.zip") == true)
    },
  ])
  func `sends exactly what the contract says, once, after a login`(_ c: Case) async throws {
    let url = "\(base)?\(c.query)\(session)"
    let (client, transport) = scripted([try .logIn(), .on("GET", url, try fixture(c.answer))])
    try await c.call(client)
    #expect(transport.requests.map { "\($0.method) \($0.url)" } == ["POST \(base)/authenticate.lc", "GET \(url)"])
    let logIn = try #require(transport.requests.first)
    #expect(logIn.headers["content-type"] == "application/x-www-form-urlencoded")
    #expect(String(decoding: logIn.body ?? [], as: UTF8.self) == "apiuser=admin%20%26%20co&apipassword=p%2Bw%3D%25")
    #expect(transport.requests.last?.body == nil)
    for request in transport.requests {
      #expect(!request.redactedURL.contains("Qr7TnB2xWc9LmZ4k") && !request.redactedURL.contains("school%20key"))
    }
  }

  @Test func `posts a new markbook as an encoded form, with the school and address it knows`() async throws {
    let (client, transport) = scripted([
      try .logIn(), .on("POST", "\(base)/post.lc", try fixture("createmarkbook-nameclash.json")),
    ])
    let answer = try await client.createMarkbook(
      CreateMarkbookRequest(
        reading: JSON.parse(
          #"{"markbookName":"Year 9 + 10 & \"more\"","markbookYear":"Year 9","markbookCourse":"Science","ownerKey":13,"#
            + #""shareList":[13,24],"#
            + #""classList":[{"key":1,"name":"9SCI-1","teacherName1":"Mr Tom","teacherName2":"Reynolds"}],"#
            + #""studentList":[{"key":1,"studentID":"0812345","familyName":"Alexander","givenName":"Eddie","#
            + #""classKey":1}]}"#)))
    #expect(answer.markbookName == "2026 Y9 Geography-1")
    let sent = try #require(transport.requests.last)
    let form = HTTPQuery(decoding: String(decoding: sent.body ?? [], as: UTF8.self))
    #expect(form.items.map(\.name) == ["apikey", "sessiontoken", "sessionkey", "apiaction", "jsondata"])
    #expect(form["apiaction"] == "createmarkbook")
    #expect(
      form["jsondata"] == #"{"api":"https://markbook.example/api/v1.5","schoolname":"Banksia Ridge College","#
        + #""action":"createmarkbook","markbookname":"Year 9 + 10 & \"more\"","markbookyear":"Year 9","#
        + #""markbookcourse":"Science","ownerkey":13,"sharelist":[13,24],"#
        + #""classlist":[{"key":1,"name":"9SCI-1","teachername1":"Mr Tom","teachername2":"Reynolds"}],"#
        + #""studentlist":[{"key":1,"studentid":"0812345","familyname":"Alexander","givename":"Eddie","#
        + #""preferredname":"","classkey":1,"classname":"9SCI-1"}]}"#)
    // Nothing of the text may break the form apart.
    #expect(String(decoding: sent.body ?? [], as: UTF8.self).contains("Year%209%20%2B%2010%20%26%20%5C%22more%5C%22"))
  }

  @Test func `does not mind slashes at the end of the address`() async throws {
    let transport = ScriptedTransport([
      try .logIn(), .on("GET", "\(base)?action=userlist\(session)", try fixture("userlist.json")),
    ])
    let client = MarkbookClient(
      baseURL: "\(base)//", apiKey: "school key", username: "u", password: "p", http: HTTPClient(transport: transport))
    #expect(try await client.userList().users.count == 4)
  }
}
