// The sandbox's data: a made-up school with names, ids and results as awkward as people make them, as the service would
// write it.

import ActionKit

extension SandboxSchool {
  /// Wattle Creek High School, whose Year 8 geography is markbook 1207731.
  static var wattleCreek: SandboxSchool {
    // The password holds what a form has to encode.
    var school = SandboxSchool(
      apiKey: "wattlecreek0sandbox0key000000001", username: "apiservice", password: "p&ss=w+rd %#é")
    school.users = read(
      """
      [{"key": 31, "name": "Priya Venkataraman", "loginid": "pvenkat", "email": "p.venkataraman@wattlecreek.example"},
       {"key": 34, "name": "Daniel Okafor", "loginid": "dokafor", "email": "d.okafor@wattlecreek.example"},
       {"key": 47, "name": "Siobhán O’Dwyer", "loginid": "sodwyer", "email": "s.odwyer@wattlecreek.example"},
       {"key": 52, "name": "API Service Account", "loginid": "apiservice"}]
      """)
    school.markbooks = [.geography, .history, .demo]
    return school
  }
}

extension SandboxMarkbook {
  fileprivate static var geography: SandboxMarkbook {
    let heads: [MarkbookHead] = read(
      """
      [{"markbookkey": 1207731, "markbookname": "2026 Y8 Geography", "markbookyear": "Year 8",
        "markbookcourse": "Geography", "ownerkey": 31, "sharelist": [34, 47],
        "classlist": [
          {"key": 4, "name": "8GEO-B", "teachername1": "Okafor", "teachername2": "Daniel"},
          {"key": 9, "name": "8GEO-R & Ext.", "teachername1": "Venkataraman", "teachername2": "Priya"}],
        "tasklist": [
          {"key": 3, "name": "Mapping Skills Quiz", "maximum": 20, "decimalplaces": 0},
          {"key": 6, "name": "Rivers & Coasts Report", "maximum": 50, "decimalplaces": 0},
          {"key": 7, "name": "Half-Yearly Exam (50% = pass)", "maximum": 100, "decimalplaces": 1},
          {"key": 14, "name": "Presentation + Q/A", "maximum": 15, "decimalplaces": 2},
          {"key": 16, "name": "Effort", "maximum": "Grade", "decimalplaces": 0},
          {"key": 18, "name": "Excursion #1: Minnamurra 🌿", "maximum": 10, "decimalplaces": 0},
          {"key": 21, "name": "Average", "maximum": 100, "decimalplaces": 1}]}]
      """)
    var markbook = SandboxMarkbook(head: heads[0])
    markbook.outcomes = read(
      """
      [{"key": 2, "code": "GE8-1", "name": "Landforms",
        "outcome": "Locates and explains landform patterns using maps and field evidence.", "tasklist": [3, 7]},
       {"key": 5, "name": "Fieldwork", "outcome": "Collects and records geographical data in the field.",
        "tasklist": [18]}]
      """)
    // Results in the order of the tasks; an empty one has not been marked, and the last task is the recipe's to fill.
    let rows: [(sid: String, family: String, given: String, preferred: String, home: Int, results: String)] = [
      ("0047218", "Abernethy", "Lachlan", "", 4, "17|41|71.500000|12.25|B|8"),
      ("0047233", "Bhattacharya", "Anika", "Ani", 9, "19|47.5|88|14|A+|10"),
      ("0047251", "Castellanos", "Mateo", "", 4, "11|28|54.000000||C|"),
      ("0047266", "D'Souza-Lee", "Imogen", "Immy", 9, "20|50|96.25|15|A|9"),
      ("0047284", "Fitzgibbon", "Rory", "", 4, "0|19|37.5|6.50|D|4"),
      ("0047290", "García Núñez", "Íñigo", "", 9, "14|36|63|9.75|B|7"),
      ("0047307", "Hồ", "Thị Bích", "Bích", 4, "16|44|79.333333|13|A|10"),
      ("0047312", "Ito", "Hana", "", 9, "18|39.25|82|11.5|B|"),
      ("0047328", "Jóhannsdóttir", "Þóra", "", 4, "15|33|58|10|C|6"),
      ("0047335", "Kāretu", "Māia", "", 9, "12||61.5|8|B|8"),
      ("0047341", "Lindqvist", "Åsa", "", 4, "19|45|90|14.25|A|9"),
      ("0047356", "McAllister", "Zoe\u{308}", "Zo", 9, "13|30|49.5|n0|C|5"),
      ("0047362", "Nguyễn-O’Brien", "Caitlín", "Cait", 4, "17|42|77|12|B|8"),
      ("0047379", "Öztürk", "Deniz", "", 9, "10|25|44|7.5|C|!6"),
      ("0047383", "Papadopoulos", "Eleni", "", 4, "18|46|85.125000|13.5|A|10"),
      ("0047397", "Quinn", "Sam", "", 9, "|||||"),
      ("0047404", "Rasmussen", "Søren", "", 4, "16|37|68|9|B|7"),
      ("0047418", "Šimůnek", "Žofie", "", 9, "14|31.5|absent|10.75|B|6"),
      ("00472A+7", "Tupou", "Sione", "Johnny", 4, "9|22|41|5|D|3"),
      ("0047/431", "Urquhart", "Fraser", "", 9, "15|38|66.666667|11|B|7"),
      ("0047445", "van der Merwe", "Lize", "", 4, "20|48|93|14.5|A|10"),
      ("0047450", "Wójcik", "Łukasz", "", 9, "12|29|52|8.25|C|5"),
      ("0047466", "李", "明华", "Ming", 4, "20|49|97.5|15|A+|10"),
      ("0047471", "Zając \"Zee\"", "Ola", "", 9, "13|34|60|9|B|6"),
    ]
    markbook.students = rows.enumerated().map { index, row in
      let home = markbook.head.classes[row.home == 4 ? 0 : 1]
      let results = row.results.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
      let level = index.isMultiple(of: 3) ? "High" : index.isMultiple(of: 5) ? "Outstanding" : "Sound"
      return SandboxStudent(
        student: MarkbookStudent(
          key: 12 + index, sid: row.sid, familyName: row.family, givenName: row.given, preferredName: row.preferred,
          in: home),
        gender: "other",
        results: Dictionary(uniqueKeysWithValues: zip(markbook.head.tasks.map(\.key), results)),
        levels: [2: level])
    }
    return markbook
  }

  fileprivate static var history: SandboxMarkbook {
    let heads: [MarkbookHead] = read(
      """
      [{"markbookkey": 1207742, "markbookname": "2026 Y10 History Elective", "markbookyear": "Year 10",
        "markbookcourse": "History", "ownerkey": 34,
        "classlist": [{"key": 1, "name": "10HIS-1", "teachername1": "O’Dwyer", "teachername2": "Siobhán"}],
        "tasklist": [
          {"key": 1, "name": "Source Analysis", "maximum": 25, "decimalplaces": 0},
          {"key": 2, "name": "Research Essay", "maximum": 40, "decimalplaces": 1},
          {"key": 3, "name": "Average", "maximum": 100, "decimalplaces": 1}]}]
      """)
    var markbook = SandboxMarkbook(head: heads[0])
    let rows = [
      ("0045102", "Adeyemi", "Tolu", "21|33.5"), ("0045117", "Brandt", "Klara", "18|"),
      ("0045123", "Chowdhury", "Rafi", "24|38"), ("0045139", "Doyle", "Aoife", "16|27.25"),
    ]
    markbook.students = rows.enumerated().map { index, row in
      SandboxStudent(
        student: MarkbookStudent(
          key: index + 1, sid: row.0, familyName: row.1, givenName: row.2, preferredName: "",
          in: markbook.head.classes[0]),
        gender: "other",
        results: Dictionary(
          uniqueKeysWithValues: zip(
            [1, 2], row.3.split(separator: "|", omittingEmptySubsequences: false).map(String.init))))
    }
    return markbook
  }

  /// An empty markbook.
  fileprivate static var demo: SandboxMarkbook {
    let heads: [MarkbookHead] = read(
      """
      [{"markbookkey": 1207755, "markbookname": "Demo", "markbookyear": "2026",
        "markbookcourse": "Year 12 Economics", "ownerkey": 52}]
      """)
    return SandboxMarkbook(head: heads[0])
  }
}

/// Reads a list of the data above.
private func read<Part: FieldSet>(_ json: String) -> [Part] {
  do {
    return try (JSON.parse(json).list ?? []).map { try Payload($0, action: "sandbox").read() }
  } catch {
    // The data are written out above, and every test that starts a sandbox reads them.
    preconditionFailure("the sandbox's data cannot be read: \(error)")
  }
}
