import ActionKit

// The names on the wire. All are lower case without separators; `givename` is the real name of that field, and
// `givenname` is read as well, should it ever be mended.

extension ResponseEnvelope {
  init(_ answer: Payload) throws(MarkbookError) {
    // The rest only informs, so nothing in it is worth failing for.
    self.init(
      status: APIStatus(try answer.text("status")), source: try? answer.optionalText("source"),
      api: try? answer.optionalText("api"), seconds: try? answer.optionalInt("seconds"),
      date: try? answer.optionalText("date"), schoolName: try? answer.optionalText("schoolname"),
      action: try? answer.optionalText("action"))
  }
}

extension MarkbookSession {
  /// Reads the payload of a login; nil if the service said OKAY and gave no session.
  init?(_ answer: Payload, schoolName: String?) throws(MarkbookError) {
    let token = try answer.text("sessiontoken")
    let key = try answer.int("sessionkey")
    guard !token.isEmpty, key != 0 else { return nil }
    self.init(token: token, key: key, schoolName: schoolName)
  }
}

// MARK: - Parts

extension MarkbookSummary {
  init(_ part: Payload) throws(MarkbookError) {
    self.init(
      key: try part.int("key"), name: try part.text("name"), owner: try part.textOrEmpty("owner"),
      year: try part.textOrEmpty("year"), course: try part.textOrEmpty("course"))
  }
}

extension MarkbookUser {
  init(_ part: Payload) throws(MarkbookError) {
    self.init(
      key: try part.int("key"), name: try part.text("name"), loginID: try part.textOrEmpty("loginid"),
      email: try part.textOrEmpty("email"))
  }
}

extension MarkbookHead {
  init(_ answer: Payload) throws(MarkbookError) {
    self.init(
      markbookKey: try answer.int("markbookkey"), markbookName: try answer.text("markbookname"),
      markbookYear: try answer.textOrEmpty("markbookyear"), markbookCourse: try answer.textOrEmpty("markbookcourse"),
      ownerKey: try answer.int("ownerkey"), shareList: try answer.ints("sharelist"))
  }
}

extension MarkbookClass {
  init(_ part: Payload) throws(MarkbookError) {
    self.init(
      key: try part.int("key"), name: try part.text("name"), teacherName1: try part.textOrEmpty("teachername1"),
      teacherName2: try part.textOrEmpty("teachername2"))
  }
}

extension MarkbookTask {
  init(_ part: Payload) throws(MarkbookError) {
    self.init(
      key: try part.int("key"), name: try part.text("name"), maximum: try part.textOrEmpty("maximum"),
      decimalPlaces: try part.optionalInt("decimalplaces"))
  }
}

extension MarkbookStudent {
  init(_ part: Payload) throws(MarkbookError) {
    self.init(
      key: try part.int("key"), studentID: try part.text("studentid"), familyName: try part.textOrEmpty("familyname"),
      givenName: try part.text("givename", "givenname"), preferredName: try part.textOrEmpty("preferredname"),
      classKey: try part.int("classkey"), className: try part.textOrEmpty("classname"),
      rawResults: try part.texts("rawresults"), roundedResults: try part.texts("roundedresults"),
      outcomeLevels: try part.texts("outcomelevels"))
  }
}

extension MarkbookResult {
  init(_ part: Payload) throws(MarkbookError) {
    self.init(
      studentKey: try part.int("studentkey"), taskKey: try part.int("taskkey"),
      rawResult: try part.textOrEmpty("rawresult"), roundedResult: try part.textOrEmpty("roundedresult"))
  }
}

extension MarkbookOutcome {
  init(_ part: Payload) throws(MarkbookError) {
    self.init(
      key: try part.int("key"), code: try part.textOrEmpty("code"), name: try part.text("name"),
      outcome: try part.textOrEmpty("outcome"), taskList: try part.ints("tasklist"))
  }
}

extension MarkbookLevel {
  init(_ part: Payload) throws(MarkbookError) {
    self.init(
      studentKey: try part.int("studentkey"), outcomeKey: try part.int("outcomekey"),
      outcomeLevel: try part.textOrEmpty("outcomelevel"))
  }
}

// MARK: - Answers

/// An answer that can be read once its status is known to be good.
protocol MarkbookAnswer: Sendable {
  init(_ answer: Payload, _ envelope: ResponseEnvelope) throws(MarkbookError)
}

extension MarkbookListResponse: MarkbookAnswer {
  init(_ answer: Payload, _ envelope: ResponseEnvelope) throws(MarkbookError) {
    self.init(envelope: envelope, list: try answer.objects("list", MarkbookSummary.init))
  }
}

extension UserListResponse: MarkbookAnswer {
  init(_ answer: Payload, _ envelope: ResponseEnvelope) throws(MarkbookError) {
    self.init(envelope: envelope, list: try answer.objects("list", MarkbookUser.init))
  }
}

extension MarkbookResponse: MarkbookAnswer {
  init(_ answer: Payload, _ envelope: ResponseEnvelope) throws(MarkbookError) {
    self.init(
      envelope: envelope, head: try MarkbookHead(answer),
      classList: try answer.objects("classlist", MarkbookClass.init),
      taskList: try answer.objects("tasklist", MarkbookTask.init),
      studentList: try answer.objects("studentlist", MarkbookStudent.init))
    for (index, student) in studentList.enumerated() {
      for (name, results) in [("rawresults", student.rawResults), ("roundedresults", student.roundedResults)] {
        try MarkbookError.expect(
          atMost: taskList.count, "tasks", results.count, of: "studentlist[\(index)].\(name)", answer.action)
      }
    }
  }
}

extension MarkbookAltResponse: MarkbookAnswer {
  init(_ answer: Payload, _ envelope: ResponseEnvelope) throws(MarkbookError) {
    self.init(
      envelope: envelope, head: try MarkbookHead(answer),
      classList: try answer.objects("classlist", MarkbookClass.init),
      taskList: try answer.objects("tasklist", MarkbookTask.init),
      studentList: try answer.objects("studentlist", MarkbookStudent.init),
      resultList: try answer.objects("resultlist", MarkbookResult.init))
  }
}

extension OutcomesResponse: MarkbookAnswer {
  init(_ answer: Payload, _ envelope: ResponseEnvelope) throws(MarkbookError) {
    self.init(
      envelope: envelope, classList: try answer.objects("classlist", MarkbookClass.init),
      outcomeList: try answer.objects("outcomelist", MarkbookOutcome.init),
      studentList: try answer.objects("studentlist", MarkbookStudent.init))
    for (index, student) in studentList.enumerated() {
      try MarkbookError.expect(
        atMost: outcomeList.count, "outcomes", student.outcomeLevels.count, of: "studentlist[\(index)].outcomelevels",
        answer.action)
    }
  }
}

extension OutcomesAltResponse: MarkbookAnswer {
  init(_ answer: Payload, _ envelope: ResponseEnvelope) throws(MarkbookError) {
    self.init(
      envelope: envelope, classList: try answer.objects("classlist", MarkbookClass.init),
      outcomeList: try answer.objects("outcomelist", MarkbookOutcome.init),
      studentList: try answer.objects("studentlist", MarkbookStudent.init),
      levelList: try answer.objects("levellist", MarkbookLevel.init))
  }
}

extension StatusResponse: MarkbookAnswer {
  init(_ answer: Payload, _ envelope: ResponseEnvelope) throws(MarkbookError) { self.init(envelope: envelope) }
}

extension CreateStudentResponse: MarkbookAnswer {
  init(_ answer: Payload, _ envelope: ResponseEnvelope) throws(MarkbookError) {
    self.init(envelope: envelope, studentKey: try answer.int("studentkey"))
  }
}

extension CreateClassResponse: MarkbookAnswer {
  init(_ answer: Payload, _ envelope: ResponseEnvelope) throws(MarkbookError) {
    self.init(envelope: envelope, classKey: try answer.int("classkey"))
  }
}

extension CreateMarkbookResponse: MarkbookAnswer {
  init(_ answer: Payload, _ envelope: ResponseEnvelope) throws(MarkbookError) {
    self.init(
      envelope: envelope, markbookKey: try answer.int("markbookkey"), markbookName: try answer.text("markbookname"),
      classCount: try answer.int("classcount"), studentCount: try answer.int("studentcount"),
      shareCount: try answer.int("sharecount"))
  }
}

extension BackupURLResponse: MarkbookAnswer {
  init(_ answer: Payload, _ envelope: ResponseEnvelope) throws(MarkbookError) {
    // Only a backup that is ready has an address.
    let url = envelope.status == .okay ? try answer.text("url") : ""
    if envelope.status == .okay, url.isEmpty {
      throw MarkbookError(
        .unreadable, action: answer.action,
        message: "The answer to '\(answer.action)' cannot be read: the backup is ready, and 'url' is empty.")
    }
    self.init(envelope: envelope, url: url)
  }
}

// MARK: - Requests

extension CreateMarkbookRequest {
  /// The value of the form's `jsondata`.
  var wireValue: Value {
    .object([
      "api": .string(api), "schoolname": .string(schoolName), "action": .string(action.rawValue),
      "markbookname": .string(markbookName), "markbookyear": .string(markbookYear),
      "markbookcourse": .string(markbookCourse), "ownerkey": .int(ownerKey),
      "sharelist": .list(shareList.map(Value.int)), "classlist": .list(classList.map(\.wireValue)),
      "studentlist": .list(studentList.map(\.wireValue)),
    ])
  }
}

extension NewMarkbookClass {
  var wireValue: Value {
    .object([
      "key": .int(key), "name": .string(name), "teachername1": .string(teacherName1),
      "teachername2": .string(teacherName2),
    ])
  }
}

extension NewMarkbookStudent {
  var wireValue: Value {
    .object([
      "key": .int(key), "studentid": .string(studentID), "familyname": .string(familyName),
      "givename": .string(givenName), "preferredname": .string(preferredName), "classkey": .int(classKey),
      "classname": .string(className),
    ])
  }
}
