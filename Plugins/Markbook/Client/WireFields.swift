import ActionKit

// How field sets go over the wire.
//
// A field's name on the wire is its name in the set in lowercase, except for the names below. The wire has neither
// doubles nor booleans: a double is read from a text that may be a number, and the fields that compare an answer with
// its request are computed afterwards.

/// The wire names of a field, the written one first; empty if the wire doesn't have the field.
private func wireNames(of field: String) -> [String] {
  switch field {
  case "sid": ["studentid"]
  // The field's real name, and the name that it would have if the service corrected the spelling.
  case "givenName": ["givename", "givenname"]
  case "markbooks", "users": ["list"]
  case "classes": ["classlist"]
  case "tasks", "taskKeys": ["tasklist"]
  case "students": ["studentlist"]
  case "results": ["resultlist"]
  case "outcomes": ["outcomelist"]
  case "levels": ["levellist"]
  case "maximumText": ["maximum"]
  case "raw", "value": ["rawresult"]
  case "rounded": ["roundedresult"]
  case "level": ["outcomelevel"]
  // Part of the envelope, which is read separately.
  case "schoolName": []
  default: [field.lowercased()]
  }
}

/// The texts that an answer cannot do without; any other counts as empty where it is left out.
private let neededTexts: Set<String> = ["name", "markbookName", "sid", "givenName"]

extension Payload {
  /// Reads a set, each field by its type.
  func read<Part: FieldSet>(_ type: Part.Type = Part.self) throws(MarkbookError) -> Part {
    let value = try value(of: Part.schema)
    do throws(ValueError) { return try Part(reading: value) } catch {
      throw MarkbookError(
        .unreadable, action: action, message: "The answer to '\(action)' cannot be read: \(error).", effect: .unknown)
    }
  }

  private func value(of schema: ObjectSchema) throws(MarkbookError) -> Value {
    var map = ValueMap()
    for field in schema.fields {
      if let value = try value(of: field) { map[field.name] = value }
    }
    return .map(map)
  }

  private func value(of field: FieldSchema) throws(MarkbookError) -> Value? {
    let names = wireNames(of: field.name)
    guard let name = names.last else { return nil }
    switch field.type {
    case .bool: return .bool(false)
    case .int: return field.isOptional ? try optionalInt(name).map(Value.int) : .int(try int(name))
    case .double: return try optionalText(name).flatMap(resultValue).map(Value.double)
    case .list(.int): return .list(try ints(name).map(Value.int))
    case .list(.object(let schema)):
      return .list(try objects(name) { (part) throws(MarkbookError) in try part.value(of: schema) })
    default:
      if neededTexts.contains(field.name) { return .string(try text(names)) }
      let text = try textOrEmpty(name)
      return field.isOptional && text.isEmpty ? nil : .string(text)
    }
  }
}

extension FieldSet {
  /// The set as it is on the wire.
  var wireValue: ValueMap {
    // Only a set that lacks a value cannot be written, and the action's input lacks none.
    ((try? encoded()).map(renamed))?.map ?? ValueMap()
  }
}

private func renamed(_ value: Value) -> Value {
  switch value.content {
  case .list(let items): return .list(items.map(renamed))
  case .map(let map):
    var renamedMap = ValueMap()
    for member in map.members {
      if case .double = member.value.content { continue }
      if let name = wireNames(of: member.name ?? "").first { renamedMap[name] = renamed(member.value) }
    }
    return .map(renamedMap)
  default: return value
  }
}

// MARK: - Answers

/// An answer that can be read once its status is known to be good.
protocol MarkbookAnswer: FieldSet {
  init(_ answer: Payload, _ envelope: ResponseEnvelope) throws(MarkbookError)
}

extension MarkbookAnswer {
  init(_ answer: Payload, _ envelope: ResponseEnvelope) throws(MarkbookError) { self = try answer.read() }
}

extension UserListResponse: MarkbookAnswer {}
extension CreateStudentResponse: MarkbookAnswer {}
extension CreateClassResponse: MarkbookAnswer {}
extension CreateMarkbookResponse: MarkbookAnswer {}
extension OutcomesAltResponse: MarkbookAnswer {}

extension MarkbookListResponse: MarkbookAnswer {
  init(_ answer: Payload, _ envelope: ResponseEnvelope) throws(MarkbookError) {
    self = try answer.read()
    schoolName = envelope.schoolName
  }
}

extension MarkbookResponse: MarkbookAnswer {
  /// Gives each student one result for each task: what the service leaves out is there as an empty one.
  init(_ answer: Payload, _ envelope: ResponseEnvelope) throws(MarkbookError) {
    self = try answer.read()
    for (index, part) in try answer.objects("studentlist").enumerated() {
      let raw = try part.texts("rawresults", atMost: head.tasks.count, "tasks")
      let rounded = try part.texts("roundedresults", atMost: head.tasks.count, "tasks")
      students[index].results = head.tasks.enumerated().map { place, task in
        var result = StudentResult()
        result.taskKey = task.key
        result.taskName = task.name
        result.mark.raw = place < raw.count ? raw[place] : ""
        result.mark.rounded = place < rounded.count ? rounded[place] : ""
        result.mark.value = resultValue(result.mark.raw)
        result.mark.percent = resultPercent(result.mark.value, of: task.maximum)
        return result
      }
    }
  }
}

extension MarkbookAltResponse: MarkbookAnswer {
  init(_ answer: Payload, _ envelope: ResponseEnvelope) throws(MarkbookError) {
    self = try answer.read()
    let tasks = Dictionary(head.tasks.map { ($0.key, $0) }) { first, _ in first }
    for index in results.indices {
      let task = tasks[results[index].taskKey]
      results[index].taskName = task?.name
      results[index].mark.percent = resultPercent(results[index].mark.value, of: task?.maximum)
    }
  }
}

extension OutcomesResponse: MarkbookAnswer {
  /// Gives each student one level for each outcome.
  init(_ answer: Payload, _ envelope: ResponseEnvelope) throws(MarkbookError) {
    self = try answer.read()
    for (index, part) in try answer.objects("studentlist").enumerated() {
      let reached = try part.texts("outcomelevels", atMost: outcomes.count, "outcomes")
      students[index].levels = outcomes.enumerated().map { place, outcome in
        var level = StudentLevel()
        level.outcomeKey = outcome.key
        level.outcomeName = outcome.name
        level.level = place < reached.count && !reached[place].isEmpty ? reached[place] : nil
        return level
      }
    }
  }
}

extension StatusResponse: MarkbookAnswer {
  init(_ answer: Payload, _ envelope: ResponseEnvelope) {
    self.init()
    answeredAt = envelope.seconds.flatMap { Timestamp(seconds: $0) }
  }
}

extension BackupURLResponse: MarkbookAnswer {
  init(_ answer: Payload, _ envelope: ResponseEnvelope) throws(MarkbookError) {
    self.init()
    switch envelope.status {
    case .okay:
      // Only a backup that is ready has an address.
      let address = try answer.text(["url"])
      if address.isEmpty {
        throw MarkbookError(
          .unreadable, action: answer.action,
          message: "The answer to '\(answer.action)' cannot be read: the backup is ready, and 'url' is empty.")
      }
      state = .ready
      url = address
    case .errorPending: state = .pending
    case .errorNoBackup, .error: state = .none
    }
  }
}
