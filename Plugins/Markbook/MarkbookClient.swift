public import ActionKit
public import HTTPClient
import LocalFiles

/// Everything that Markbook Online (SM-Marks Online, API version 1.5) can be asked.
///
/// Programs that want to be tested without the service take this protocol; `MarkbookClient` is the real one.
public protocol MarkbookClientProtocol: Sendable {
  /// Lists the markbooks of the school.
  func markbookList() async throws(MarkbookError) -> MarkbookListResponse
  /// Lists the users of the school.
  func userList() async throws(MarkbookError) -> UserListResponse
  /// Reads a markbook, with each student's results in the order of the tasks.
  func getMarkbook(key: Int) async throws(MarkbookError) -> MarkbookResponse
  /// Reads a markbook, with the results in a list of their own.
  func getMarkbookAlt(key: Int) async throws(MarkbookError) -> MarkbookAltResponse
  /// Reads a markbook's outcomes, with each student's levels in the order of the outcomes.
  func getOutcomes(key: Int) async throws(MarkbookError) -> OutcomesResponse
  /// Reads a markbook's outcomes, with the levels in a list of their own.
  func getOutcomesAlt(key: Int) async throws(MarkbookError) -> OutcomesAltResponse
  /// Records a result over the one there is.
  ///
  /// The pairs of key and id, and of key and name, come from a fresh `getMarkbook`: the service checks one by the other.
  @discardableResult func putStudentResult(
    markbookKey: Int, studentKey: Int, sid: String, taskKey: Int, taskName: String, result: String
  ) async throws(MarkbookError) -> StatusResponse
  /// Adds a student, whose id must be new in the markbook.
  func createStudent(
    markbookKey: Int, sid: String, familyName: String, givenName: String, preferredName: String, gender: Gender,
    classKey: Int
  ) async throws(MarkbookError) -> CreateStudentResponse
  /// Replaces a student's names and gender, all of them; the id cannot be changed.
  @discardableResult func updateStudent(
    markbookKey: Int, studentKey: Int, sid: String, familyName: String, givenName: String, preferredName: String,
    gender: Gender
  ) async throws(MarkbookError) -> StatusResponse
  /// Moves a student to a class, and brings a deleted student back into it.
  @discardableResult func updateStudentClass(
    markbookKey: Int, studentKey: Int, sid: String, classKey: Int
  ) async throws(MarkbookError) -> StatusResponse
  /// Deletes a student, who stays in the database and comes back with `updateStudentClass`.
  @discardableResult func deleteStudent(
    markbookKey: Int, studentKey: Int, sid: String
  ) async throws(MarkbookError) -> StatusResponse
  /// Adds a class, whose name must be new in the markbook.
  func createClass(
    markbookKey: Int, name: String, teacherFamilyName: String, teacherGivenName: String
  ) async throws(MarkbookError) -> CreateClassResponse
  /// Adds a markbook.
  ///
  /// Doing it twice makes two, the second with `-1` after its name.
  func createMarkbook(_ request: CreateMarkbookRequest) async throws(MarkbookError) -> CreateMarkbookResponse
  /// Asks for a backup of the markbooks whose names contain a text of at least two characters.
  ///
  /// It is built at about 1 AM. There is one a day: asking again replaces what was asked before.
  @discardableResult func scheduleBackup(matching: String) async throws(MarkbookError) -> StatusResponse
  /// Requests the address of the backup, which is deleted about an hour after the address was first given.
  func getBackupURL() async throws(MarkbookError) -> BackupURLResponse
}

/// A client of Markbook Online.
///
///     let client = MarkbookClient(apiKey: key, username: "admin", password: password)
///     for markbook in try await client.markbookList().markbooks { print(markbook.name) }
///
/// It logs in on the first call, renews the session before it ends, and can be shared by any number of tasks. A call is
/// sent once, except that a refused read or idempotent write is sent again under a new session, because the previous
/// one may have ended. Errors are of type `MarkbookError`.
public actor MarkbookClient: MarkbookClientProtocol {
  /// Where the service is, unless a school has its own.
  public static let defaultBaseURL = "https://smpcsonline.com.au/markbook/api/v1.5"

  /// How many characters of a name `scheduleBackup` needs.
  public static let fewestMatchingCharacters = 2

  let wire: MarkbookWire
  /// Where recipes have files put.
  nonisolated let files: LocalFiles
  private let apiKey: String
  private let sessions: SessionKeeper

  /// Creates a client; nothing is sent before the first call.
  ///
  /// - Parameters:
  ///   - baseURL: The service's address; a slash at the end does not matter.
  ///   - apiKey: The school's key, 32 characters long.
  ///   - username: The login name of a user who may administer users.
  ///   - password: That user's password.
  ///   - http: Sends the requests; share one among all clients of a process.
  ///   - limits: How long a call may take and how large its answer may be.
  ///   - time: Tells the age of the session.
  public init(
    baseURL: String = defaultBaseURL, apiKey: String, username: String, password: String,
    http: HTTPClient = HTTPClient(), limits: HTTPLimits = HTTPLimits(), time: any TimeSource = SystemTime()
  ) {
    self.init(
      baseURL: baseURL, apiKey: apiKey, username: username, password: password, http: http, limits: limits, time: time,
      files: LocalFiles(folder: nil))
  }

  init(
    baseURL: String, apiKey: String, username: String, password: String, http: HTTPClient, limits: HTTPLimits,
    time: any TimeSource, files: LocalFiles
  ) {
    self.files = files
    let wire = MarkbookWire(baseURL: baseURL, http: http, limits: limits, time: time)
    self.wire = wire
    self.apiKey = apiKey
    sessions = SessionKeeper(time: time) {
      do throws(MarkbookError) {
        return .success(try await wire.logIn(username: username, password: password))
      } catch {
        return .failure(error)
      }
    }
  }
}

// MARK: - Calls

extension MarkbookClient {
  public func markbookList() async throws(MarkbookError) -> MarkbookListResponse {
    try await ask(.read, "markbooklist")
  }

  public func userList() async throws(MarkbookError) -> UserListResponse {
    try await ask(.read, "userlist")
  }

  public func getMarkbook(key: Int) async throws(MarkbookError) -> MarkbookResponse {
    let answer: MarkbookResponse = try await ask(.read, "getmarkbook", ["key": String(key)])
    try answer.head.expect(key, "getmarkbook")
    return answer
  }

  public func getMarkbookAlt(key: Int) async throws(MarkbookError) -> MarkbookAltResponse {
    let answer: MarkbookAltResponse = try await ask(.read, "getmarkbookalt", ["key": String(key)])
    try answer.head.expect(key, "getmarkbookalt")
    return answer
  }

  public func getOutcomes(key: Int) async throws(MarkbookError) -> OutcomesResponse {
    try await ask(.read, "getoutcomes", ["key": String(key)])
  }

  public func getOutcomesAlt(key: Int) async throws(MarkbookError) -> OutcomesAltResponse {
    try await ask(.read, "getoutcomesalt", ["key": String(key)])
  }

  @discardableResult
  public func putStudentResult(
    markbookKey: Int, studentKey: Int, sid: String, taskKey: Int, taskName: String, result: String
  ) async throws(MarkbookError) -> StatusResponse {
    try await ask(
      .idempotentWrite, "putstudentresult",
      [
        "key": String(markbookKey), "studentkey": String(studentKey), "sid": sid, "taskkey": String(taskKey),
        "taskname": taskName, "result": result,
      ])
  }

  public func createStudent(
    markbookKey: Int, sid: String, familyName: String, givenName: String, preferredName: String, gender: Gender,
    classKey: Int
  ) async throws(MarkbookError) -> CreateStudentResponse {
    try await ask(
      .write, "createstudent",
      [
        "key": String(markbookKey), "sid": sid, "family": familyName, "given": givenName,
        "preferred": preferredName, "gender": gender.rawValue, "classkey": String(classKey),
      ])
  }

  @discardableResult
  public func updateStudent(
    markbookKey: Int, studentKey: Int, sid: String, familyName: String, givenName: String, preferredName: String,
    gender: Gender
  ) async throws(MarkbookError) -> StatusResponse {
    try await ask(
      .idempotentWrite, "updatestudent",
      [
        "key": String(markbookKey), "studentkey": String(studentKey), "sid": sid, "family": familyName,
        "given": givenName, "preferred": preferredName, "gender": gender.rawValue,
      ])
  }

  @discardableResult
  public func updateStudentClass(
    markbookKey: Int, studentKey: Int, sid: String, classKey: Int
  ) async throws(MarkbookError) -> StatusResponse {
    try await ask(
      .idempotentWrite, "updatestudentclass",
      ["key": String(markbookKey), "studentkey": String(studentKey), "sid": sid, "classkey": String(classKey)])
  }

  @discardableResult
  public func deleteStudent(
    markbookKey: Int, studentKey: Int, sid: String
  ) async throws(MarkbookError) -> StatusResponse {
    try await ask(
      .write, "deletestudent", ["key": String(markbookKey), "studentkey": String(studentKey), "sid": sid])
  }

  public func createClass(
    markbookKey: Int, name: String, teacherFamilyName: String, teacherGivenName: String
  ) async throws(MarkbookError) -> CreateClassResponse {
    try await ask(
      .write, "createclass",
      ["key": String(markbookKey), "name": name, "family": teacherFamilyName, "given": teacherGivenName])
  }

  public func createMarkbook(_ request: CreateMarkbookRequest) async throws(MarkbookError) -> CreateMarkbookResponse {
    let session = try await sessions.session()
    guard let json = try? JSON.text(.map(request.wireValue(for: wire.baseURL, of: session.schoolName))) else {
      throw MarkbookError(.unreadable, action: "createmarkbook", message: "The new markbook cannot be written as JSON.")
    }
    var call = MarkbookCall(.write, "createmarkbook", ["jsondata": json])
    call.isForm = true
    let answer: CreateMarkbookResponse = try await ask(call, in: session)
    return answer.compared(with: request)
  }

  @discardableResult
  public func scheduleBackup(matching: String) async throws(MarkbookError) -> StatusResponse {
    guard matching.count >= Self.fewestMatchingCharacters else {
      throw MarkbookError(
        .invalidBackupMatchingParameter, action: "schedulebackup",
        message: "'matching' must have at least \(Self.fewestMatchingCharacters) characters; nothing was sent.")
    }
    return try await ask(.idempotentWrite, "schedulebackup", ["matching": matching])
  }

  public func getBackupURL() async throws(MarkbookError) -> BackupURLResponse {
    // The first answer with an address starts the hour after which the zip is deleted; a refusal has no address.
    var call = MarkbookCall(.idempotentWrite, "getbackupurl")
    call.accepted = [.okay, .errorPending, .errorNoBackup]
    return try await ask(call)
  }
}

// MARK: - Asking

extension MarkbookClient {
  private func ask<Answer: MarkbookAnswer>(
    _ kind: MarkbookCall.Kind, _ action: String, _ parameters: HTTPQuery = [:]
  ) async throws(MarkbookError) -> Answer {
    try await ask(MarkbookCall(kind, action, parameters))
  }

  private func ask<Answer: MarkbookAnswer>(_ call: MarkbookCall) async throws(MarkbookError) -> Answer {
    try await ask(call, in: sessions.session())
  }

  /// Makes a call under a session, and once more under a new one if it is refused and may be repeated (see
  /// `MarkbookSession.swift`).
  private func ask<Answer: MarkbookAnswer>(
    _ call: MarkbookCall, in session: MarkbookSession, isLast: Bool = false
  ) async throws(MarkbookError) -> Answer {
    let answer = try await send(call, in: session)
    let envelope = try ResponseEnvelope(answer)
    if call.accepted.contains(envelope.status) {
      do throws(MarkbookError) {
        return try Answer(answer, envelope)
      } catch {
        // The service has done it; only its answer cannot be read.
        var error = error
        error.effect = call.kind == .read ? .none : .done
        throw error
      }
    }
    var refusal = MarkbookError.refused(call.action, envelope.status)
    guard !isLast else { throw refusal }
    sessions.forget(session)
    guard call.kind != .write else {
      refusal.sessionMayHaveEnded = true
      throw refusal
    }
    return try await ask(call, in: sessions.session(), isLast: true)
  }

  private func send(_ call: MarkbookCall, in session: MarkbookSession) async throws(MarkbookError) -> Payload {
    let key = HTTPQuery.Item("apikey", apiKey)
    let tokens = [HTTPQuery.Item("sessiontoken", session.token), .init("sessionkey", String(session.key))]
    guard call.isForm else {
      return try await wire.get(
        HTTPQuery([.init("action", call.action)] + call.parameters.items + tokens + [key]), action: call.action)
    }
    return try await wire.post(
      HTTPQuery([key] + tokens + [.init("apiaction", call.action)] + call.parameters.items), to: "post.lc",
      action: call.action)
  }
}

extension CreateMarkbookRequest {
  /// The value of the form's `jsondata`.
  fileprivate func wireValue(for baseURL: String, of school: String?) -> ValueMap {
    var map = ValueMap([
      ("api", .string(baseURL)), ("schoolname", .string(schoolName.flatMap { $0.isEmpty ? nil : $0 } ?? school ?? "")),
      ("action", .string("createmarkbook")),
    ])
    for member in wireValue.members { map[member.key] = member.value }
    map["studentlist"] = .list(
      studentList.map { student in
        var map = student.wireValue
        // The service ignores the name and uses the key.
        map["classname"] = .string(classList.first { $0.key == student.classKey }?.name ?? "")
        return .map(map)
      })
    return map
  }
}

extension MarkbookHead {
  /// Refuses the answer about another markbook than the one that was asked for.
  fileprivate func expect(_ key: Int, _ action: String) throws(MarkbookError) {
    if markbookKey == key { return }
    throw MarkbookError(
      .unreadable, action: action,
      message: "The answer to '\(action)' is about the markbook with key \(markbookKey), and \(key) was asked for.")
  }
}
