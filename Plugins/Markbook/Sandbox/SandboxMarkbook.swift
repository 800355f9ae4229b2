import ActionKit

extension SandboxMarkbook {
  /// Does what a call asks of this markbook.
  mutating func answer(_ action: String, _ parameters: SandboxParameters) -> SandboxAnswer {
    switch action {
    case "getmarkbook": markbookAnswer(isAlternate: false)
    case "getmarkbookalt": markbookAnswer(isAlternate: true)
    case "getoutcomes": outcomesAnswer(isAlternate: false)
    case "getoutcomesalt": outcomesAnswer(isAlternate: true)
    case "putstudentresult": putResult(parameters)
    case "createstudent": createStudent(parameters)
    case "updatestudent": updateStudent(parameters)
    case "updatestudentclass": updateStudentClass(parameters)
    case "deletestudent": deleteStudent(parameters)
    case "createclass": createClass(parameters)
    default: .refused("invalid action")
    }
  }

  // MARK: Reads

  private func markbookAnswer(isAlternate: Bool) -> SandboxAnswer {
    var payload = head.wireValue
    payload["tasklist"] = .list(head.tasks.map(\.sandboxValue))
    payload["studentlist"] = .list(
      present.map { student in
        var value = student.student.wireValue
        guard !isAlternate else { return .map(value) }
        var raw = head.tasks.map { student.results[$0.key] ?? "" }
        while raw.last == "" { raw.removeLast() }
        let rounded = zip(head.tasks, raw).map { task, text in Value.string(roundedResult(text, task.decimalPlaces)) }
        value["rawresults"] = .list(raw.map(Value.string))
        value["roundedresults"] = .list(rounded)
        return .map(value)
      })
    if isAlternate {
      let results = present.flatMap { student in
        head.tasks.compactMap { task -> Value? in
          guard let raw = student.results[task.key], !raw.isEmpty else { return nil }
          return .object([
            "studentkey": .int(student.student.key), "taskkey": .int(task.key), "rawresult": .string(raw),
            "roundedresult": .string(roundedResult(raw, task.decimalPlaces)),
          ])
        }
      }
      payload["resultlist"] = .list(results)
    }
    return SandboxAnswer(payload: payload)
  }

  private func outcomesAnswer(isAlternate: Bool) -> SandboxAnswer {
    let students = present.map { student in
      var value = student.student.wireValue
      if !isAlternate { value["outcomelevels"] = .list(outcomes.map { .string(student.levels[$0.key] ?? "") }) }
      return Value.map(value)
    }
    var payload = ValueMap([
      ("classlist", .list(head.classes.map { .map($0.wireValue) })),
      ("outcomelist", .list(outcomes.map { .map($0.wireValue) })), ("studentlist", .list(students)),
    ])
    if isAlternate {
      let levels = present.flatMap { student in
        outcomes.compactMap { outcome -> Value? in
          student.levels[outcome.key].map {
            .object([
              "studentkey": .int(student.student.key), "outcomekey": .int(outcome.key), "outcomelevel": .string($0),
            ])
          }
        }
      }
      payload["levellist"] = .list(levels)
    }
    return SandboxAnswer(payload: payload)
  }

  // MARK: Writes

  private func student(_ parameters: SandboxParameters) -> Int? {
    guard let key = parameters.int("studentkey"), let sid = parameters["sid"] else { return nil }
    return index(ofStudent: key, sid: sid)
  }

  private mutating func putResult(_ parameters: SandboxParameters) -> SandboxAnswer {
    guard let index = student(parameters), !students[index].isDeleted else { return .refused("invalid student") }
    guard let key = parameters.int("taskkey"), let name = parameters["taskname"], let task = task(key),
      task.name.hasSameScalars(as: name)
    else { return .refused("invalid task") }
    guard let result = parameters["result"] else { return .refused("invalid result") }
    students[index].results[key] = result
    return SandboxAnswer()
  }

  private mutating func createStudent(_ parameters: SandboxParameters) -> SandboxAnswer {
    guard let sid = parameters["sid"], !sid.isEmpty, let family = parameters["family"],
      let given = parameters["given"], let preferred = parameters["preferred"]
    else { return .refused("invalid student") }
    guard let gender = parameters["gender"], Gender(rawValue: gender) != nil else { return .refused("invalid gender") }
    guard let home = homeClass(parameters) else { return .refused("invalid class") }
    guard !students.contains(where: { $0.student.sid.hasSameScalars(as: sid) }) else {
      return .refused("student id already exists")
    }
    let key = (students.map(\.student.key).max() ?? 0) + 1
    let student = MarkbookStudent(
      key: key, sid: sid, familyName: family, givenName: given, preferredName: preferred, in: home)
    students.append(SandboxStudent(student: student, gender: gender))
    return SandboxAnswer(payload: ["studentkey": .int(key)])
  }

  private mutating func updateStudent(_ parameters: SandboxParameters) -> SandboxAnswer {
    guard let index = student(parameters), !students[index].isDeleted, let family = parameters["family"],
      let given = parameters["given"], let preferred = parameters["preferred"]
    else { return .refused("invalid student") }
    guard let gender = parameters["gender"], Gender(rawValue: gender) != nil else { return .refused("invalid gender") }
    students[index].student.familyName = family
    students[index].student.givenName = given
    students[index].student.preferredName = preferred
    students[index].gender = gender
    return SandboxAnswer()
  }

  /// Moves a student and, if deleted, brings the student back.
  private mutating func updateStudentClass(_ parameters: SandboxParameters) -> SandboxAnswer {
    guard let index = student(parameters) else { return .refused("invalid student") }
    guard let home = homeClass(parameters) else { return .refused("invalid class") }
    students[index].student.classKey = home.key
    students[index].student.className = home.name
    students[index].isDeleted = false
    return SandboxAnswer()
  }

  private mutating func deleteStudent(_ parameters: SandboxParameters) -> SandboxAnswer {
    guard let index = student(parameters) else { return .refused("invalid student") }
    students[index].isDeleted = true
    return SandboxAnswer()
  }

  private mutating func createClass(_ parameters: SandboxParameters) -> SandboxAnswer {
    guard let name = parameters["name"], !name.isEmpty, let family = parameters["family"],
      let given = parameters["given"]
    else { return .refused("invalid class") }
    guard !head.classes.contains(where: { $0.name.hasSameScalars(as: name) }) else {
      return .refused("class name already exists")
    }
    var made = MarkbookClass()
    made.key = (head.classes.map(\.key).max() ?? 0) + 1
    made.name = name
    made.teacherName1 = family
    made.teacherName2 = given
    head.classes.append(made)
    return SandboxAnswer(payload: ["classkey": .int(made.key)])
  }

  private func homeClass(_ parameters: SandboxParameters) -> MarkbookClass? {
    parameters.int("classkey").flatMap { key in head.classes.first { $0.key == key } }
  }
}

/// A result as the service shows it: a number rounded half away from zero, by its decimal digits; a text as it is.
func roundedResult(_ raw: String, _ places: Int?) -> String {
  guard resultValue(raw) != nil, let places, (0...20).contains(places) else { return raw }
  let isNegative = raw.contains("-")
  let digits = raw.utf8.filter { ASCII.digits.contains($0) || $0 == ASCII.dot }
  let parts = digits.split(separator: ASCII.dot, maxSplits: 1, omittingEmptySubsequences: false)
  let fraction = parts.count > 1 ? Array(parts[1]) : []
  // The digits to keep, without the point, and with a zero before them for a carry to go to.
  var kept = [ASCII.zero] + Array(parts[0]) + fraction.prefix(places)
  kept += [UInt8](repeating: ASCII.zero, count: max(0, places - fraction.count))
  if fraction.count > places, fraction[places] >= UInt8(ascii: "5") {
    var index = kept.count - 1
    while kept[index] == UInt8(ascii: "9") {
      kept[index] = ASCII.zero
      index -= 1
    }
    kept[index] += 1
  }
  var whole = kept.dropLast(places)
  while whole.count > 1, whole.first == ASCII.zero { whole.removeFirst() }
  let text = String(decoding: whole, as: UTF8.self)
  let decimals = places == 0 ? "" : "." + String(decoding: kept.suffix(places), as: UTF8.self)
  return (isNegative ? "-" : "") + text + decimals
}

// MARK: - Values on the wire

extension SandboxMarkbook {
  /// The markbook as the list of markbooks shows it.
  func summary(in users: [MarkbookUser]) -> Value {
    let owner = users.first { $0.key == head.ownerKey }?.loginID ?? ""
    return .object([
      "key": .int(head.markbookKey), "name": .string(head.markbookName), "owner": .string(owner),
      "year": .string(head.markbookYear), "course": .string(head.markbookCourse),
    ])
  }
}

extension MarkbookTask {
  /// A maximum that is an integer goes out as one, as the service does it; any other as text.
  var sandboxValue: Value {
    var value = wireValue
    if let maximum = Int(maximumText) { value["maximum"] = .int(maximum) }
    return .map(value)
  }
}
