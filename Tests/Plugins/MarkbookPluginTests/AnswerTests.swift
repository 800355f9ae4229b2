import ActionKit
import HTTPClient
import Testing

@testable import MarkbookPlugin

@Suite struct AnswerTests {
  @Test func `reads a markbook, and its alternate form to the same results`() async throws {
    let (client, _) = scripted([
      try .logIn(), try .call("getmarkbook", "getmarkbook.json"), try .call("getmarkbookalt", "getmarkbookalt.json"),
    ])
    let book = try await client.getMarkbook(key: 1_207_731)
    let alternate = try await client.getMarkbookAlt(key: 1_207_731)
    #expect(book.head == alternate.head)
    #expect(book.head.shareList == [34, 47])
    #expect(book.envelope.schoolName == "Banksia Ridge College")
    #expect(book.classList == alternate.classList)
    #expect(book.taskList == alternate.taskList)
    #expect(book.taskList.map(\.maximumValue) == [20, 50, 100, 25, 15])
    #expect(book.studentList.count == 12)
    let student = try #require(book.studentList.first { $0.key == 15 })
    #expect(student.studentID == "0047251")
    #expect(student.rawResults == ["11", "28", "54", "", "9"])
    #expect(student.roundedResults == ["11", "28", "54.0", "", "9.00"])
    var found: [MarkbookResult] = []
    for student in book.studentList {
      for (index, task) in book.taskList.enumerated() where !student.rawResults[index].isEmpty {
        found.append(
          MarkbookResult(
            studentKey: student.key, taskKey: task.key, rawResult: student.rawResults[index],
            roundedResult: student.roundedResults[index]))
      }
    }
    #expect(Set(found) == Set(alternate.resultList.filter { !$0.rawResult.isEmpty }))
  }

  @Test func `reads outcomes, and their alternate form to the same levels`() async throws {
    let (client, _) = scripted([
      try .logIn(), try .call("getoutcomes", "getoutcomes.json"), try .call("getoutcomesalt", "getoutcomesalt.json"),
    ])
    let outcomes = try await client.getOutcomes(key: 1)
    let alternate = try await client.getOutcomesAlt(key: 1)
    #expect(outcomes.outcomeList == alternate.outcomeList)
    #expect(outcomes.outcomeList.map(\.taskList) == [[3, 7], [11], [6, 14]])
    let levels = outcomes.studentList.flatMap { student in
      zip(outcomes.outcomeList, student.outcomeLevels).map {
        MarkbookLevel(studentKey: student.key, outcomeKey: $0.key, outcomeLevel: $1)
      }
    }
    #expect(
      Set(levels.filter { !$0.outcomeLevel.isEmpty }) == Set(alternate.levelList.filter { !$0.outcomeLevel.isEmpty }))
  }

  @Test(arguments: ["markbooklist.json", "raw/markbooklist-trailing-comma.txt"])
  func `reads the list of markbooks, strict or not`(_ file: String) async throws {
    let (client, _) = scripted([try .logIn(), try .call("markbooklist", file)])
    #expect(
      try await client.markbookList().list == [
        MarkbookSummary(
          key: 1_207_731, name: "2025 Y8 Geography", owner: "pvenkat", year: "Year 8", course: "Geography"),
        MarkbookSummary(
          key: 1_207_742, name: "2025 Y10 History Elective", owner: "dokafor", year: "Year 10", course: "History"),
        MarkbookSummary(key: 1_207_755, name: "Demo", year: "2025", course: "Year 12 Economics"),
      ])
  }

  @Test(arguments: [
    ("getbackupurl.json", "ready"), ("getbackupurl-pending.json", "pending"), ("getbackupurl-nobackup.json", "none"),
  ])
  func `tells how far a backup is instead of failing`(_ file: String, _ state: String) async throws {
    let (client, _) = scripted([try .logIn(), try .call("getbackupurl", file)])
    let answer = try await client.getBackupURL()
    #expect(BackupState(answer.state).rawValue == state)
    #expect(answer.url.isEmpty == (state != "ready"))
  }

  struct Tolerated: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var members: String
    var expected: MarkbookSummary
  }

  @Test(arguments: [
    Tolerated(
      testDescription: "integers as texts, texts as integers", members: #""key":"7","name":12,"year":2025"#,
      expected: MarkbookSummary(key: 7, name: "12", year: "2025")),
    Tolerated(
      testDescription: "nulls", members: #""key":7,"name":"a","owner":null,"course":null"#,
      expected: MarkbookSummary(key: 7, name: "a")),
    Tolerated(
      testDescription: "unknown fields", members: #""key":7.0,"name":"A,]","colour":{"a":[1]}"#,
      expected: MarkbookSummary(key: 7, name: "A,]")),
  ])
  func `tolerates`(_ c: Tolerated) async throws {
    let (client, _) = scripted([
      try .logIn(),
      .on("GET", "\(base)?action=markbooklist…", #"{"status":"OKAY","list":[{\#(c.members),},],"seconds":"soon"}"#),
    ])
    #expect(try await client.markbookList().list == [c.expected])
  }

  @Test func `reads past a byte order mark, an absent list as empty, and the given name by its other spelling`()
    async throws
  {
    let student = #"{"key":1,"studentid":7,"familyname":"F","givenname":"G","classkey":3}"#
    let (client, _) = scripted([
      try .logIn(), .on("GET", "\(base)?action=markbooklist…", "\u{FEFF}" + #"{"status":"OKAY"}"#),
      .on("GET", "\(base)?action=getoutcomes&…", #"{"status":"OKAY","studentlist":[\#(student)]}"#),
    ])
    #expect(try await client.markbookList().list.isEmpty)
    let outcomes = try await client.getOutcomes(key: 1)
    #expect(outcomes.classList.isEmpty)
    #expect(
      outcomes.studentList == [
        MarkbookStudent(key: 1, studentID: "7", familyName: "F", givenName: "G", classKey: 3)
      ])
  }

  @Test(
    arguments: [
      ("17", 17), ("17.50", 17.5), ("78.333333", 78.333333), ("-3", -3), ("+2", 2), ("  8 ", 8), (".5", 0.5), ("0", 0),
      ("", nil), ("n0", nil), ("!17", nil), ("A+", nil), ("1e3", nil), ("0x10", nil), ("inf", nil), ("nan", nil),
      ("12,5", nil), ("1.2.3", nil), ("5.", nil), ("-", nil), ("１２", nil), ("absent", nil),
    ] as [(String, Double?)])
  func `takes for a number what is one in every locale`(_ text: String, _ value: Double?) {
    #expect(resultValue(text) == value)
  }

  @Test(
    arguments: [
      (54, 60, 90), (0, 20, 0), (21, 20, 105), (5, 0, nil), (5, -1, nil), (5, nil, nil), (nil, 20, nil),
    ] as [(Double?, Double?, Double?)])
  func `gives percents of a maximum above zero only`(_ value: Double?, _ maximum: Double?, _ percent: Double?) {
    #expect(resultPercent(value, of: maximum) == percent)
  }
}
