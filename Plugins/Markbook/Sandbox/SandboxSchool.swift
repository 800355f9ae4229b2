import ActionKit

// The sandbox's school: the data that the service would hold, and the effect of each call on them. No clock, no
// network.
//
// Where the contract leaves the service's behaviour open, the school chooses the stricter or more awkward one: it
// checks every pair of key and name, answers results without the empty ones at the end, shows no deleted students, and
// keeps a session for 20 minutes however much it is used.

/// A student with all that a read does not show.
struct SandboxStudent: Sendable {
  var student: MarkbookStudent
  var gender: String
  var isDeleted = false
  /// Raw results by task.
  var results: [Int: String] = [:]
  /// Levels by outcome.
  var levels: [Int: String] = [:]
}

/// A markbook with all that belongs to it.
struct SandboxMarkbook: Sendable {
  var head: MarkbookHead
  var outcomes: [MarkbookOutcome] = []
  var students: [SandboxStudent] = []

  /// The students that reads show.
  var present: [SandboxStudent] { students.filter { !$0.isDeleted } }

  func task(_ key: Int) -> MarkbookTask? { head.tasks.first { $0.key == key } }

  /// The place of a student whose key and id are a pair.
  func index(ofStudent key: Int, sid: String) -> Int? {
    students.firstIndex { $0.student.key == key && $0.student.sid.hasSameScalars(as: sid) }
  }
}

/// The result of a call: a status, and the rest of the answer.
struct SandboxAnswer: Sendable {
  var status = APIStatus.okay
  var payload = ValueMap()

  static func refused(_ why: String) -> SandboxAnswer { SandboxAnswer(status: .error("ERROR:\(why)")) }
}

extension SandboxAnswer {
  init(status: APIStatus = .okay, payload: KeyValuePairs<String, Value>) {
    self.init(status: status, payload: ValueMap(payload.map { ($0.key, $0.value) }))
  }
}

extension MarkbookStudent {
  init(key: Int, sid: String, familyName: String, givenName: String, preferredName: String, in home: MarkbookClass) {
    self.init()
    self.key = key
    self.sid = sid
    self.familyName = familyName
    self.givenName = givenName
    self.preferredName = preferredName
    classKey = home.key
    className = home.name
  }
}

/// The whole school.
struct SandboxSchool: Sendable {
  var name = "Wattle Creek High School"
  var apiKey: String
  var username: String
  var password: String
  var users: [MarkbookUser] = []
  var markbooks: [SandboxMarkbook] = []
  var backup: SandboxBackup?
  /// The scheme, host and port of the addresses of backups.
  var origin = ""
  private(set) var sessions: [String: (key: Int, opened: Timestamp)] = [:]
  private var sessionCount = 0
  private var lastKey = 1_300_000

  init(apiKey: String, username: String, password: String) {
    self.apiKey = apiKey
    self.username = username
    self.password = password
  }

  // MARK: Sessions

  static var sessionLifetime: TimeSpan { .seconds(20 * 60) }

  mutating func logIn(username: String?, password: String?, at now: Timestamp) -> SandboxAnswer {
    guard let username, let password, username.hasSameScalars(as: self.username),
      password.hasSameScalars(as: self.password)
    else {
      return SandboxAnswer(
        status: .error("ERROR:invalid credentials"), payload: ["sessiontoken": .string(""), "sessionkey": .int(0)])
    }
    sessionCount += 1
    let digits = String(sessionCount)
    let token = "WattleCreek" + String(repeating: "0", count: max(0, 5 - digits.count)) + digits
    sessions[token] = (530_000 + sessionCount, now)
    return SandboxAnswer(payload: ["sessiontoken": .string(token), "sessionkey": .int(530_000 + sessionCount)])
  }

  /// Ends every session before its time.
  mutating func endSessions() { sessions = [:] }

  private func isLoggedIn(_ parameters: SandboxParameters, at now: Timestamp) -> Bool {
    guard let token = parameters["sessiontoken"], let key = parameters.int("sessionkey"),
      let session = sessions[token], session.key == key, let age = now.span(since: session.opened)
    else { return false }
    return age < Self.sessionLifetime
  }

  // MARK: Calls

  /// Does what a call asks.
  mutating func answer(_ action: String, _ parameters: SandboxParameters, at now: Timestamp) -> SandboxAnswer {
    guard let apiKey = parameters["apikey"], apiKey.hasSameScalars(as: self.apiKey) else {
      return .refused("invalid api key")
    }
    guard isLoggedIn(parameters, at: now) else { return .refused("invalid session") }
    switch action {
    case "markbooklist": return SandboxAnswer(payload: ["list": .list(markbooks.map { $0.summary(in: users) })])
    case "userlist": return SandboxAnswer(payload: ["list": .list(users.map { .map($0.wireValue) })])
    case "createmarkbook": return createMarkbook(parameters)
    case "schedulebackup": return scheduleBackup(parameters, at: now)
    case "getbackupurl": return backupURL(at: now)
    default:
      guard let key = parameters.int("key"), let index = markbooks.firstIndex(where: { $0.head.markbookKey == key })
      else { return .refused("invalid markbook") }
      return markbooks[index].answer(action, parameters)
    }
  }

  private mutating func createMarkbook(_ parameters: SandboxParameters) -> SandboxAnswer {
    guard let text = parameters["jsondata"], let request = try? JSON.parse(text) else {
      return .refused("invalid json")
    }
    guard request["action"]?.string == "createmarkbook", let wanted = request["markbookname"]?.string, !wanted.isEmpty,
      let owner = request["ownerkey"]?.int, users.contains(where: { $0.key == owner })
    else { return .refused("invalid markbook") }
    let shares = request["sharelist"]?.list?.compactMap(\.int) ?? []
    guard shares.allSatisfy({ key in users.contains { $0.key == key } }) else { return .refused("invalid user") }

    lastKey += 1
    var head = MarkbookHead()
    head.markbookKey = lastKey
    head.markbookName = freeName(wanted)
    head.markbookYear = request["markbookyear"]?.string ?? ""
    head.markbookCourse = request["markbookcourse"]?.string ?? ""
    head.ownerKey = owner
    head.shareList = shares
    head.tasks = []
    head.classes = []
    var markbook = SandboxMarkbook(head: head)
    // The places of the classes by the request's own keys.
    var homes: [Int: Int] = [:]
    for (index, item) in (request["classlist"]?.list ?? []).enumerated() {
      guard var made: MarkbookClass = try? Payload(item, action: "createmarkbook").read() else {
        return .refused("invalid class")
      }
      homes[made.key] = index
      made.key = index + 1
      markbook.head.classes.append(made)
    }
    for (index, item) in (request["studentlist"]?.list ?? []).enumerated() {
      guard let sent: MarkbookStudent = try? Payload(item, action: "createmarkbook").read(), !sent.sid.isEmpty,
        let home = homes[sent.classKey].map({ markbook.head.classes[$0] })
      else { return .refused("invalid student") }
      let student = MarkbookStudent(
        key: index + 1, sid: sent.sid, familyName: sent.familyName, givenName: sent.givenName,
        preferredName: sent.preferredName, in: home)
      markbook.students.append(SandboxStudent(student: student, gender: "other"))
    }
    markbooks.append(markbook)
    return SandboxAnswer(payload: [
      "markbookkey": .int(lastKey), "markbookname": .string(markbook.head.markbookName),
      "classcount": .int(markbook.head.classes.count), "studentcount": .int(markbook.students.count),
      "sharecount": .int(shares.count),
    ])
  }

  /// The name asked for or, if it is taken, the first of `-1`, `-2` … that is not.
  private func freeName(_ wanted: String) -> String {
    let isTaken = { (name: String) in markbooks.contains { $0.head.markbookName.hasSameScalars(as: name) } }
    var name = wanted
    var number = 0
    while isTaken(name) {
      number += 1
      name = "\(wanted)-\(number)"
    }
    return name
  }
}

/// The parameters of a request, from its query or its form.
struct SandboxParameters: Sendable {
  var values: [String: String]

  subscript(name: String) -> String? { values[name] }
  func int(_ name: String) -> Int? { values[name].flatMap { Int($0) } }
}
