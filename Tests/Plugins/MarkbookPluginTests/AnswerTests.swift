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
    #expect(book.head.tasks.map(\.maximum) == [20, 50, 100, 25, 15])
    #expect(book.students.count == 12)
    let student = try #require(book.students.first { $0.student.key == 15 })
    #expect(student.student.sid == "0047251")
    #expect(student.results.map(\.mark.raw) == ["11", "28", "54", "", "9"])
    #expect(student.results.map(\.mark.rounded) == ["11", "28", "54.0", "", "9.00"])
    let found = book.students.flatMap { student in
      student.results.map { Found(student: student.student.key, of: $0.taskKey, mark: $0.mark) }
    }
    let listed = alternate.results.map { Found(student: $0.studentKey, of: $0.taskKey, mark: $0.mark) }
    #expect(Set(found.filter { !$0.mark.raw.isEmpty }) == Set(listed.filter { !$0.mark.raw.isEmpty }))
  }

  /// A result of a student, from either form.
  struct Found: Hashable {
    var student: Int
    var of: Int
    var mark: Mark
  }

  @Test func `reads outcomes, and their alternate form to the same levels`() async throws {
    let (client, _) = scripted([
      try .logIn(), try .call("getoutcomes", "getoutcomes.json"), try .call("getoutcomesalt", "getoutcomesalt.json"),
    ])
    let outcomes = try await client.getOutcomes(key: 1)
    let alternate = try await client.getOutcomesAlt(key: 1)
    #expect(outcomes.outcomes == alternate.outcomes)
    #expect(outcomes.outcomes.map(\.taskKeys) == [[3, 7], [11], [6, 14]])
    var levels: Set<[String]> = []
    for student in outcomes.students {
      for level in student.levels {
        if let text = level.level { levels.insert(["\(student.student.key)", "\(level.outcomeKey)", text]) }
      }
    }
    let listed = alternate.levels.compactMap { level in
      level.level.map { ["\(level.studentKey)", "\(level.outcomeKey)", $0] }
    }
    #expect(levels == Set(listed))
  }

  @Test(arguments: ["markbooklist.json", "raw/markbooklist-trailing-comma.txt"])
  func `reads the list of markbooks, strict or not`(_ file: String) async throws {
    let (client, _) = scripted([try .logIn(), try .call("markbooklist", file)])
    let answer = try await client.markbookList()
    #expect(answer.schoolName == "Banksia Ridge College")
    #expect(
      answer.markbooks == [
        .made(key: 1_207_731, name: "2025 Y8 Geography", owner: "pvenkat", year: "Year 8", course: "Geography"),
        .made(key: 1_207_742, name: "2025 Y10 History Elective", owner: "dokafor", year: "Year 10", course: "History"),
        .made(key: 1_207_755, name: "Demo", year: "2025", course: "Year 12 Economics"),
      ])
  }

  @Test(arguments: [
    ("getbackupurl.json", "ready"), ("getbackupurl-pending.json", "pending"), ("getbackupurl-nobackup.json", "none"),
  ])
  func `tells how far a backup is instead of failing`(_ file: String, _ state: String) async throws {
    let (client, _) = scripted([try .logIn(), try .call("getbackupurl", file)])
    let answer = try await client.getBackupURL()
    #expect(answer.state.rawValue == state)
    #expect((answer.url == nil) == (state != "ready"))
  }

  struct Tolerated: Sendable, CustomTestStringConvertible {
    var testDescription: String
    var members: String
    var expected: MarkbookSummary
  }

  @Test(arguments: [
    Tolerated(
      testDescription: "integers as texts, texts as integers", members: #""key":"7","name":12,"year":2025"#,
      expected: .made(key: 7, name: "12", year: "2025")),
    Tolerated(
      testDescription: "nulls", members: #""key":7,"name":"a","owner":null,"course":null"#,
      expected: .made(key: 7, name: "a")),
    Tolerated(
      testDescription: "unknown fields", members: #""key":7.0,"name":"A,]","colour":{"a":[1]}"#,
      expected: .made(key: 7, name: "A,]")),
  ])
  func `tolerates`(_ c: Tolerated) async throws {
    let (client, _) = scripted([
      try .logIn(),
      .on("GET", "\(base)?action=markbooklist…", #"{"status":"OKAY","list":[{\#(c.members),},],"seconds":"soon"}"#),
    ])
    #expect(try await client.markbookList().markbooks == [c.expected])
  }

  @Test func `reads past a byte order mark, an absent list as empty, and the given name by its other spelling`()
    async throws
  {
    let student = #"{"key":1,"studentid":7,"familyname":"F","givenname":"G","classkey":3}"#
    let (client, _) = scripted([
      try .logIn(), .on("GET", "\(base)?action=markbooklist…", "\u{FEFF}" + #"{"status":"OKAY"}"#),
      .on("GET", "\(base)?action=getoutcomes&…", #"{"status":"OKAY","studentlist":[\#(student)]}"#),
    ])
    #expect(try await client.markbookList().markbooks.isEmpty)
    let outcomes = try await client.getOutcomes(key: 1)
    #expect(outcomes.classes.isEmpty)
    let found = outcomes.students.map(\.student)
    #expect(
      found == [
        MarkbookStudent(
          key: 1, sid: "7", familyName: "F", givenName: "G", preferredName: "", in: .made(key: 3))
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

extension MarkbookSummary {
  fileprivate static func made(
    key: Int, name: String, owner: String = "", year: String = "", course: String = ""
  ) -> MarkbookSummary {
    var summary = MarkbookSummary()
    (summary.key, summary.name, summary.owner, summary.year, summary.course) = (key, name, owner, year, course)
    return summary
  }
}

extension MarkbookClass {
  fileprivate static func made(key: Int) -> MarkbookClass {
    var made = MarkbookClass()
    (made.key, made.name) = (key, "")
    return made
  }
}
