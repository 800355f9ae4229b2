package import ActionKit
package import Basics
import Expressions

// The value that expressions see as `event`: the start of a run, or the event that a step waited for.
//
//   id, time          always: the id, and the instant when it came or happened
//   name, data        of an event; `data` has the `type` that the entry or the wait declares, else it may be anything
//   name, data,       of a delivery to a webhook: the path of its address, what its body says, the fields of its head
//     headers, query    that the entry names, by these names, as far as they were there, and the query of its address,
//                       with the first text of each name
//   name, data        of a form that a person sent: the path of its address, and the values of its fields
//   run, recipe,      of a run that ended; `outputs` are absent where the run may have ended without them
//     status, outputs
//   path, bytes,      of a file that came or changed: where it is, its size, and when it was changed
//     modifiedAt
//
// Data is read by its type as inputs are: texts become instants, durations and octets, an int becomes a double where
// one is declared, and null becomes an absent field. Fields that the type doesn't name are left out. In version 1 of
// the language `event` was the data itself.

/// The form of `event` in the expressions of one entry or one wait.
package struct EventForm: Sendable {
  /// Whether it is the data itself, as in version 1 of the language.
  private let isData: Bool
  private let data: FieldType?
  /// Whether it is a delivery to a webhook.
  private let hasHead: Bool
  /// The type that expressions see.
  package let type: ValueType

  /// - Parameter data: The declared type of the data.
  package init(data: FieldType? = nil, in language: Int = LanguageVersion.current) {
    isData = language < 2
    hasHead = false
    self.data = data
    type = isData ? .dyn : .object(EventForm.object(EventForm.fields(of: data)))
  }

  /// The form of a delivery to a webhook; recipes of version 1 have none.
  package init(ofDelivery data: FieldType?) {
    (isData, hasHead) = (false, true)
    self.data = data
    type = .object(EventForm.object(EventForm.fields(of: data) + EventForm.head))
  }

  private static func fields(of data: FieldType?) -> [ObjectType.Field] {
    [.init("name", .string), .init("data", data?.inputType ?? .dyn)]
  }

  private static let head = [
    ObjectType.Field("headers", .map(.string, .string)), ObjectType.Field("query", .map(.string, .string)),
  ]

  /// The type while the id isn't known yet.
  var typeBeforeID: ValueType { .object(ObjectType("event", fields: EventForm.fields(of: data) + EventForm.head)) }

  /// The beginning of a delivery that expressions may read: the header fields that the entry names, and the query.
  package struct Head: Sendable, Equatable {
    package var headers: Value?
    package var query: Value?

    package init(headers: Value? = nil, query: Value? = nil) {
      self.headers = headers
      self.query = query
    }
  }

  /// Whether data may fail to fit.
  package var isTyped: Bool { !isData && data != nil }

  /// Whether the data may be anything, so that it may have fields of the names that an event has itself.
  var isOpen: Bool { !isData && !hasHead && data == nil }

  /// The name, in messages, of the value of a step that waited for an event.
  static let waited = "the event"
  /// The names that an event has itself.
  static let ownNames = ["id", "time", "name", "data"]

  static func object(_ fields: [ObjectType.Field]) -> ObjectType {
    ObjectType("event", fields: [.init("id", .string), .init("time", .timestamp)] + fields)
  }

  /// The type of a run that ended; `outputs` are required if the run can't have ended without them.
  static func ended(as status: [String], outputs: ValueType) -> ValueType {
    .object(
      object([
        .init("run", .string), .init("recipe", .string), .init("status", .choice(status)),
        .init("outputs", outputs, isOptional: status != ["succeeded"]),
      ]))
  }

  /// The type of a file that came or changed.
  static let file = ValueType.object(
    object([.init("path", .string), .init("bytes", .int), .init("modifiedAt", .timestamp)]))

  /// The value for a file that came or changed.
  package static func file(
    _ path: String, id: String, time: Timestamp, bytes: Int, modifiedAt: Timestamp
  ) -> Value {
    .object([
      "id": .string(id), "time": .timestamp(time), "path": .string(path), "bytes": .int(bytes),
      "modifiedAt": .timestamp(modifiedAt),
    ])
  }

  /// The value for an event, or why its data doesn't fit.
  ///
  /// - Parameters:
  ///   - id: Nil while it isn't known yet.
  ///   - head: The beginning of a delivery.
  package func value(
    id: String?, time: Timestamp, name: String, data given: Value, head: Head = Head()
  ) -> Result<Value, Misfit> {
    if isData { return .success(given) }
    var value = given
    if let data {
      value = data.pruned(given)
      let schema = ObjectSchema(fields: [FieldSchema("data", data, "")])
      let whole = Value.object(["data": value])
      // A reader can't use more than a few.
      let faults = schema.check(whole, as: "event").filter { $0.severity == .error }.map(\.message)
      if !faults.isEmpty {
        let rest = faults.count > 3 ? ["and \(faults.count - 3) more"] : []
        return .failure(Misfit((faults.prefix(3) + rest).joined(separator: "; ")))
      }
      value = schema.restored(whole)["data"] ?? value
    }
    // The id comes first, as runs have it that were recorded before.
    var event = ValueMap()
    event["id"] = id.map { .string($0) }
    event["time"] = .timestamp(time)
    event["name"] = .string(name)
    event["data"] = value
    if hasHead {
      event["headers"] = head.headers ?? .map(ValueMap())
      event["query"] = head.query ?? .map(ValueMap())
    }
    return .success(.map(event))
  }

  /// The value for a run that ended, or why its outputs don't fit.
  package static func ended(
    _ run: String, of recipe: String, as status: String, at time: Timestamp, outputs: Value?, type: ValueType?
  ) -> Result<Value, Misfit> {
    var value = ValueMap()
    value["id"] = .string(run)
    value["time"] = .timestamp(time)
    value["run"] = .string(run)
    value["recipe"] = .string(recipe)
    value["status"] = .string(status)
    if let outputs {
      if let type, let misfit = type.mismatch(of: outputs, at: "event.outputs") { return .failure(Misfit(misfit)) }
      value["outputs"] = outputs
    }
    return .success(.map(value))
  }

  /// Why an event doesn't fit its declaration, in a sentence.
  package struct Misfit: Error, Equatable {
    package var message: String

    init(_ message: String) { self.message = message }
  }
}

extension ExpressionCompiler {
  /// Reads `type` and `match` of an entry or a step that waits for an event.
  func event(
    _ fields: Fields, in scope: Scope, language: Int
  ) -> (form: EventForm, match: RecipeExpression?) {
    let data = fields["type"].map {
      TypeReader(findings: findings).read($0, of: "the type of the event's data") ?? .dyn
    }
    let form = EventForm(data: data, in: language)
    var inner = scope
    inner.declare("event", form.type)
    let match = fields["match"].flatMap { condition($0, of: "'match'", in: inner) }
    if form.isOpen, let match {
      let name = (fields["name"] ?? fields["event"])?.string ?? ""
      warnOfOwnNames(match.program.references("event"), match.placing, of: name)
    }
    return (form, match)
  }

  /// Warns of names that an event has itself, and that fields of its data may have had when `event` was the data; once
  /// for each event.
  ///
  /// - Parameter event: The place that declares the event, as a key for repeated warnings.
  func warnOfOwnNames(
    _ references: [(path: [String], range: Range<Int>)], _ placing: Placing, of event: String
  ) {
    for (path, range) in references {
      let read = Array(path.prefix(1))
      let written = (["event"] + read).joined(separator: ".")
      guard read.allSatisfy(EventForm.ownNames.contains), findings.isFirst("\(event) \(written)") else { continue }
      let meaning =
        switch read.first {
        case nil: "the whole event; what came with it is `event.data`"
        case "data"?: "all that came with the event; a field 'data' of it is `event.data.data`"
        case let name?: "the event's own \(name); a field '\(name)' that came with it is `event.data.\(name)`"
        }
      findings.add(
        Diagnostic(
          "`\(written)` now means \(meaning); if you mean the first, declare the 'type' of the event's data",
          at: placing.location(range), severity: .warning))
    }
  }

  /// Warns of the same names of events that steps waited for.
  func warnOfOwnNames(ofSteps references: [(path: [String], range: Range<Int>)], _ placing: Placing, in scope: Scope) {
    for (path, range) in references where path.count >= 2 && path[1] == "event" {
      guard case .object(let step)? = scope.steps[path[0]]?.type, case .object(let event)? = step["event"]?.type,
        event.name == "event", event["data"]?.type == .dyn, step.name == EventForm.waited
      else { continue }
      warnOfOwnNames([(Array(path.dropFirst(2)), range)], placing, of: "steps.\(path[0])")
    }
  }
}

extension FieldType {
  /// The value without fields that the type doesn't name, and without nulls for optional fields.
  fileprivate func pruned(_ value: Value) -> Value {
    switch (self, value.content) {
    case (.list(let element), .list(let items)): return .list(items.map(element.pruned))
    case (.map(let type), .map(let map)): return .map(map.mapValues(type.pruned))
    case (.object(let schema), .map(let map)):
      var kept = ValueMap()
      for field in schema.fields {
        guard let member = map[field.name], !(member.isNull && field.isOptional) else { continue }
        kept[field.name] = field.type.pruned(member)
      }
      return .map(kept)
    default: return value
    }
  }
}

extension ValueType {
  /// How a value that was kept isn't of the type; nil if it is.
  func mismatch(of value: Value, at path: String) -> String? {
    switch (self, value.content) {
    case (.dyn, _), (.null, .null), (.bool, .bool), (.int, .int), (.uint, .uint), (.double, .double),
      (.string, .string), (.bytes, .bytes), (.timestamp, .timestamp), (.duration, .duration), (.wrapper, .null),
      (.opaque, _), (.parameter, _), (.type, _):
      return nil
    case (.choice(let options), .string(let text)):
      return options.contains(text) ? nil : "'\(path)' must be \(self), but is \(JSON.quoted(text))"
    case (.list(let element), .list(let items)):
      for (index, item) in items.enumerated() {
        if let found = element.mismatch(of: item, at: "\(path)[\(index)]") { return found }
      }
      return nil
    case (.map(_, let element), .map(let map)):
      for member in map.members {
        if let found = element.mismatch(of: member.value, at: "\(path).\(member.key.plainText)") { return found }
      }
      return nil
    case (.object(let object), .map(let map)):
      for field in object.fields {
        guard let member = map[field.name], !(member.isNull && field.isOptional) else {
          if field.isOptional { continue }
          return "'\(path)' has no field '\(field.name)'"
        }
        if let found = field.type.mismatch(of: member, at: "\(path).\(field.name)") { return found }
      }
      return nil
    case (.optional(let wrapped), .optional(let inner)): return inner.flatMap { wrapped.mismatch(of: $0, at: path) }
    case (.wrapper(let wrapped), _), (.optional(let wrapped), _), (.secret(let wrapped), _):
      return value.isNull ? nil : wrapped.mismatch(of: value, at: path)
    default: return "'\(path)' must be \(withArticle), but found \(value.kindName)"
    }
  }
}
