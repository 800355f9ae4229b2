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
    var payload: [(name: String, value: Value)] = [
      ("markbookkey", .int(head.markbookKey)), ("markbookname", .string(head.markbookName)),
      ("markbookyear", .string(head.markbookYear)), ("markbookcourse", .string(head.markbookCourse)),
      ("ownerkey", .int(head.ownerKey)), ("sharelist", .list(head.shareList.map(Value.int))),
      ("classlist", .list(classes.map(\.sandboxValue))), ("tasklist", .list(tasks.map(\.sandboxValue))),
    ]
    payload.append(
      (
        "studentlist",
        .list(
          present.map { student in
            guard !isAlternate else { return student.value() }
            var raw = tasks.map { student.results[$0.key] ?? "" }
            while raw.last == "" { raw.removeLast() }
            let rounded = zip(tasks, raw).map { task, text in Value.string(roundedResult(text, task.decimalPlaces)) }
            return student.value(adding: [
              ("rawresults", .list(raw.map(Value.string))), ("roundedresults", .list(rounded)),
            ])
          })
      ))
    if isAlternate {
      let results = present.flatMap { student in
        tasks.compactMap { task -> Value? in
          guard let raw = student.results[task.key], !raw.isEmpty else { return nil }
          return .object([
            "studentkey": .int(student.student.key), "taskkey": .int(task.key), "rawresult": .string(raw),
            "roundedresult": .string(roundedResult(raw, task.decimalPlaces)),
          ])
        }
      }
      payload.append(("resultlist", .list(results)))
    }
    return SandboxAnswer(payload: payload)
  }

  private func outcomesAnswer(isAlternate: Bool) -> SandboxAnswer {
    let students = present.map { student in
      isAlternate
        ? student.value()
        : student.value(adding: [
          ("outcomelevels", .list(outcomes.map { .string(student.levels[$0.key] ?? "") }))
        ])
    }
    var payload: [(name: String, value: Value)] = [
      ("classlist", .list(classes.map(\.sandboxValue))), ("outcomelist", .list(outcomes.map(\.sandboxValue))),
      ("studentlist", .list(students)),
    ]
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
      payload.append(("levellist", .list(levels)))
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
    guard !students.contains(where: { $0.student.studentID.hasSameScalars(as: sid) }) else {
      return .refused("student id already exists")
    }
    let key = (students.map(\.student.key).max() ?? 0) + 1
    students.append(
      SandboxStudent(
        student: MarkbookStudent(
          key: key, studentID: sid, familyName: family, givenName: given, preferredName: preferred,
          classKey: home.key, className: home.name),
        gender: gender))
    return SandboxAnswer(payload: [("studentkey", .int(key))])
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
    guard !classes.contains(where: { $0.name.hasSameScalars(as: name) }) else {
      return .refused("class name already exists")
    }
    let key = (classes.map(\.key).max() ?? 0) + 1
    classes.append(MarkbookClass(key: key, name: name, teacherName1: family, teacherName2: given))
    return SandboxAnswer(payload: [("classkey", .int(key))])
  }

  private func homeClass(_ parameters: SandboxParameters) -> MarkbookClass? {
    parameters.int("classkey").flatMap { key in classes.first { $0.key == key } }
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

extension SandboxStudent {
  func value(adding more: [(name: String, value: Value)] = []) -> Value {
    var map = ValueMap([
      ("key", .int(student.key)), ("studentid", .string(student.studentID)),
      ("familyname", .string(student.familyName)), ("givename", .string(student.givenName)),
      ("preferredname", .string(student.preferredName)), ("classkey", .int(student.classKey)),
      ("classname", .string(student.className)),
    ])
    for (name, value) in more { map[name] = value }
    return .map(map)
  }
}

extension MarkbookClass {
  var sandboxValue: Value {
    .object([
      "key": .int(key), "name": .string(name), "teachername1": .string(teacherName1),
      "teachername2": .string(teacherName2),
    ])
  }
}

extension MarkbookTask {
  /// A maximum that is an integer goes out as one, as the service does it; any other as text.
  var sandboxValue: Value {
    .object([
      "key": .int(key), "name": .string(name), "maximum": Int(maximum).map(Value.int) ?? .string(maximum),
      "decimalplaces": .int(decimalPlaces ?? 0),
    ])
  }
}

extension MarkbookOutcome {
  var sandboxValue: Value {
    .object([
      "key": .int(key), "code": .string(code), "name": .string(name), "outcome": .string(outcome),
      "tasklist": .list(taskList.map(Value.int)),
    ])
  }
}

extension MarkbookUser {
  var sandboxValue: Value {
    .object(["key": .int(key), "name": .string(name), "loginid": .string(loginID), "email": .string(email)])
  }
}
