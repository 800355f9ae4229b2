import ActionKit

// The sandbox's data: a made-up faculty with one group for each form that the contract knows.

/// The files that a publisher has online at an instant.
struct SandboxFaculty {
  private let generatedAt: Value
  private let today: CivilDate
  /// The calendar year when the academic year begins.
  private let first: Int
  private let edition: Int

  init(at now: Timestamp, edition: Int = 0) {
    generatedAt = .string(Self.published(before: now).description)
    today = CivilDate(daysSinceEpoch: now.seconds.flooredDivision(by: 86_400))
    first = today.month >= 9 ? today.year : today.year - 1
    self.edition = edition
  }

  /// The pipeline runs every day at 06:00 UTC.
  static func published(before now: Timestamp) -> Timestamp {
    Timestamp(seconds: (now.seconds - 6 * 3600).flooredDivision(by: 86_400) * 86_400 + 6 * 3600) ?? now
  }

  private var academicYear: String { "\(first)-\(first + 1)" }

  /// The file at a path below the base address; nil if there is none.
  func file(_ path: String) -> Value? {
    switch path {
    case "/catalog.json": return catalog
    case "/announcements.json": return announcements { english, _ in .string(english) }
    case "/announcements-v2.json":
      return announcements { .object(["en": .string($0), "ro": .string($1)]) }.setting("version", to: .int(2))
    case "/rooms.json": return rooms
    case "/academic-calendar.json": return calendar
    default: break
    }
    let parts = path.split(separator: "/").map(String.init)
    guard parts.count == 4, ["\(first - 1)-\(first)", academicYear].contains(parts[0]),
      let group = Self.groups.first(where: { [$0.program, "y\($0.year)", "g\($0.group).json"] == parts[1...] }),
      let version = group.version
    else { return nil }
    return timetable(of: group, version, in: parts[0])
  }

  // MARK: The catalog

  private struct Group {
    var program: String
    var year: Int
    var group: Int
    /// The version of its file; nil if none is published.
    var version: Int?
  }

  private static let groups = [
    Group(program: "data-science-en", year: 1, group: 1111, version: 2),
    Group(program: "informatica-maghiara", year: 1, group: 511, version: 1),
    Group(program: "informatica-maghiara", year: 1, group: 512, version: 2),
    Group(program: "informatica-maghiara", year: 1, group: 513, version: nil),
    Group(program: "informatica-maghiara", year: 2, group: 521, version: 2),
    Group(program: "matematica-romana", year: 1, group: 111, version: 1),
  ]

  private var catalog: Value {
    let titles = [
      ("data-science-en", "Data Science - English track"), ("informatica-maghiara", "Informatics - Hungarian track"),
      ("matematica-romana", "Matematică - linia română"),
    ]
    let programs = titles.map { id, title in
      let years = (1...3).map { year in
        let groups = Self.groups.filter { $0.program == id && $0.year == year }
        return Value.object(["year": .int(year), "groups": .list(groups.map { .int($0.group) })])
      }
      return Value.object(["id": .string(id), "title": .string(title), "years": .list(years)])
    }
    return .object([
      "version": .int(1), "generatedAt": generatedAt,
      "academicYears": .list([.string("\(first - 1)-\(first)"), .string(academicYear)]), "programs": .list(programs),
    ])
  }

  // MARK: Notices and rooms

  private func announcements(_ text: (_ english: String, _ romanian: String) -> Value) -> Value {
    func instant(_ days: Int) -> Value { .string("\(today.adding(days: days))T00:00:00Z") }
    return .object([
      "version": .int(1), "generatedAt": generatedAt,
      "items": .list([
        .object([
          "id": .string("welcome"), "title": text("Welcome", "Bun venit"),
          "message": text("Timetables are refreshed every morning.", "Orarele sunt actualizate în fiecare dimineață."),
          "severity": .string("info"), "symbolName": .string("info.circle.fill"),
        ]),
        .object([
          "id": .string("building-b"), "title": text("Building B closed", "Clădirea B închisă"),
          "message": text("Classes of building B move online.", "Cursurile din clădirea B se mută online."),
          "severity": .string("critical"), "startsAt": instant(-1), "endsAt": instant(2),
        ]),
        .object([
          "id": .string("maintenance"), "title": text("Maintenance", "Mentenanță"),
          "message": text("The maintenance is over.", "Mentenanța s-a încheiat."), "severity": .string("warning"),
          "startsAt": instant(-30), "endsAt": instant(-28),
        ]),
      ]),
    ])
  }

  private var rooms: Value {
    let rooms = [
      ("226 (5/2)", "Physics wing, floor 2 (Piața Mică 7)"), ("7/I", "Old wing, floor 1 (Piața Mică 7)"),
      ("A-204", "Main building, floor 2 (Strada Lungă 1)"), ("A1", "Main building, ground floor (Strada Lungă 1)"),
      ("B12", "Building B, floor 1 (Strada Morii 12)"), ("Lab 3", "Building B, basement (Strada Morii 12)"),
      ("lambda", "River house (Strada Podului 3)"), ("unassigned", ""),
    ]
    return .object([
      "rooms": .list(rooms.map { .object(["code": .string($0.0), "address": .string($0.1)]) })
    ])
  }

  // MARK: The academic calendar

  private var calendar: Value {
    // The last Monday up to 4 October.
    let start = (CivilDate(year: first, month: 10, day: 4) ?? today).monday
    func period(_ type: String, _ days: ClosedRange<Int>, _ name: String? = nil) -> Value {
      let period: Value = .object([
        "type": .string(type), "startDate": .string("\(start.adding(days: days.lowerBound))"),
        "endDate": .string("\(start.adding(days: days.upperBound))"),
      ])
      return name.map { period.setting("name", to: .string($0)) } ?? period
    }
    func semester(_ number: Int, _ days: ClosedRange<Int>, vacation: ClosedRange<Int>, _ name: String) -> Value {
      .object([
        "semester": .int(number), "teachingStartsOn": .string("\(start.adding(days: days.lowerBound))"),
        "teachingEndsOn": .string("\(start.adding(days: days.upperBound))"),
        "periods": .list([
          period("teaching", days.lowerBound...vacation.lowerBound - 1), period("vacation", vacation, name),
          period("teaching", vacation.upperBound + 1...days.upperBound),
        ]),
      ])
    }
    func calendar(_ languages: [String], easter: Int) -> Value {
      .object([
        "languages": .list(languages.map { .string($0) }), "studyYearKind": .string("nonterminal"),
        "semesters": .list([
          semester(1, 0...111, vacation: 84...97, "Christmas"),
          semester(2, 147...251, vacation: easter...easter + 6, "Easter"),
        ]),
      ])
    }
    return .object([
      "version": .int(1), "generatedAt": generatedAt, "academicYear": .string(academicYear),
      "sourceUrl": .string("https://university.example/academic-year"),
      "calendars": .list([calendar(["ro", "en"], easter: 196), calendar(["hu", "de"], easter: 189)]),
    ])
  }

  // MARK: Timetables

  private func timetable(of group: Group, _ version: Int, in academicYear: String) -> Value {
    let rows = group.group == 521 ? [] : Self.rows + (group.group == 511 ? Self.changes[edition > 0] ?? [] : [])
    let days = Weekday.allCases.compactMap { day -> Value? in
      let entries = rows.filter { $0[0] == day.rawValue }.map { entry($0, of: group, version) }
      return entries.isEmpty ? nil : .object(["day": .string(day.rawValue), "entries": .list(entries)])
    }
    return .object([
      "version": .int(version), "generatedAt": generatedAt, "academicYear": .string(academicYear),
      "programId": .string(group.program), "year": .int(group.year), "group": .int(group.group),
      "lastUpdatedAtSource": rows.isEmpty ? .null : .string("\(today.adding(days: -3))"), "days": .list(days),
    ])
  }

  private func entry(_ row: [String], of group: Group, _ version: Int) -> Value {
    let entry = Value.object([
      "time": .string(row[1]), "frequency": .string(row[2]), "course": .string(row[3]), "type": .string(row[4]),
      "room": .string(row[5]), "instructor": .string(row[6]),
    ])
    guard version > 1 else { return entry }
    let expected = ["lecture": "cohort", "seminar": "group", "lab": "subgroup"][row[4]] ?? "group"
    let formation = row[7].replacing("G", with: "\(group.group)")
    return entry.setting(
      "audience",
      to: .object([
        "formation": formation.isEmpty ? .null : .string(formation), "scope": .string(row[8]),
        "expectedScope": .string(expected), "isStandard": .bool(row[8] == expected || row[8] == "unknown"),
      ]))
  }

  /// Day, time, frequency, course, type, room, instructor, formation (G is the group) and scope of each class.
  private static let rows = table(
    """
    monday|8–10|weekly|Computer Architecture|lecture|A1|Prof. Ilona Varga|I1|cohort
    monday|10–12|week1|Computer Architecture|seminar|A-204|Asist. Bence Orosz|G|group
    monday|10–12|week2|Computational Logic|seminar|A-204|Asist. Réka Bíró|G|group
    tuesday|10–12|week1|Programming Fundamentals|lab|Lab 3|Drd. Máté Lukács|G/1|subgroup
    tuesday|10–12|week2|Programming Fundamentals|lab|Lab 3|Drd. Máté Lukács|G/2|subgroup
    tuesday|16–18|weekly|Computational Logic|lab|B12|Asist. Réka Bíró|G|group
    wednesday|12–14|weekly|Computational Logic|lecture|7/I|Conf. Ágnes Molnár|I1|cohort
    wednesday|18–20|week1|Sport|seminar||- Necunoscut||unknown
    thursday|08:00–10:00|weekly|Programming Fundamentals|lecture|A1|Prof. Ilona Varga|I1|cohort
    thursday|14–16|weekly|English|seminar|Z9|Lect. Joan Mills||unknown
    friday|9–11|weekly|Analysis|lecture|226 (5/2)|Prof. Dan Ionescu|I1|cohort
    """)

  /// The further rows of the first edition, and their replacements in the later ones.
  private static let changes = [
    false: table("friday|12–14|weekly|Analysis|seminar|lambda|Asist. Emese Kiss|G|group"),
    true: table(
      """
      friday|14–16|weekly|Analysis|seminar|7/I|Asist. Emese Kiss|G|group
      friday|16–18|weekly|Consultation|seminar|7/I|Asist. Emese Kiss|G|group
      """),
  ]

  private static func table(_ text: String) -> [[String]] {
    text.split(separator: "\n").map { $0.split(separator: "|", omittingEmptySubsequences: false).map(String.init) }
  }
}

extension Value {
  /// The map with a member set.
  fileprivate func setting(_ name: String, to value: Value) -> Value {
    var map = map ?? ValueMap()
    map[name] = value
    return .map(map)
  }
}
