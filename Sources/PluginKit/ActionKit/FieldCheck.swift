// Checks values against declarations: a recipe's literals before anything runs, every input before its action runs,
// configurations, and inputs from the command line.
//
// One pass finds all faults, each at its value or key. A value that is an expression is skipped, and passed to the
// caller of the check: the expression checker checks its type, and its result is checked once it is computed. Rules
// between fields are checked only if every value of the set is literal and valid.

import Basics

extension ObjectSchema {
  /// All faults in a value, in the order of the text.
  ///
  /// - Parameters:
  ///   - path: The name of the value in messages.
  ///   - isExpression: Whether a value, with the given expected type and path, is an expression that is computed
  ///     later. It is called once for every value, so that the caller can collect expressions.
  ///   - spelling: The original text of a scalar, if it was read from a text: `007` is the int 7.
  public func check(
    _ value: Value, as path: String, isExpression: (Value, FieldType, String) -> Bool = { _, _, _ in false },
    spelling: (Value) -> String? = { _ in nil }
  ) -> [Fault] {
    withoutActuallyEscaping(isExpression) { isExpression in
      withoutActuallyEscaping(spelling) { spelling in
        var check = FieldCheck(isExpression: isExpression, spelling: spelling)
        check.check(value, .object(self), [], path)
        // Limits and rules between fields are checked after the values that they concern, but may be placed before
        // them.
        return check.faults.enumerated().sorted { ($0.1.place.offset ?? -1, $0.0) < ($1.1.place.offset ?? -1, $1.0) }
          .map(\.element)
      }
    }
  }
}

/// One pass over a value.
private struct FieldCheck {
  private let isExpression: (Value, FieldType, String) -> Bool
  private let spelling: (Value) -> String?
  private(set) var faults: [Fault] = []
  /// Whether the pass has met an expression so far.
  private var metExpression = false
  /// Whether the pass is inside a secret; messages show nothing of its content.
  private var isHiding = false

  init(isExpression: @escaping (Value, FieldType, String) -> Bool, spelling: @escaping (Value) -> String?) {
    self.isExpression = isExpression
    self.spelling = spelling
  }

  private mutating func fault(_ message: MessageText, at value: Value) {
    faults.append(Fault(message, at: value.place))
  }

  private mutating func check(_ value: Value, _ schema: ObjectSchema, _ path: String) {
    guard let map = value.map else {
      return fault("'\(path)' takes a map of fields, but found \(value.kindName)", at: value)
    }
    let faultsBefore = faults.count
    let metExpressionBefore = metExpression
    metExpression = false
    for field in schema.fields
    where field.isRequired && !([field.name] + field.aliases).contains(where: map.has) && !map.misspells(field, schema)
    {
      // If the value was computed, a missing field was null.
      let instead = field.refusalOfNull.map { "; it must \($0)" } ?? ""
      fault("'\(path)' needs '\(field.name)' (\(field.type.name))\(field.reason)\(instead)", at: value)
    }
    for member in map.members { check(member, of: map, schema, path) }
    if !metExpression, !faults[faultsBefore...].contains(where: { $0.severity == .error }) {
      for conflict in schema.conflicts(in: value) {
        let name = conflict.field.map { path.dot($0) } ?? path
        fault("'\(name)' \(conflict.message)", at: conflict.field.flatMap { map[$0] } ?? value)
      }
    }
    metExpression = metExpression || metExpressionBefore
  }

  /// One member of a set.
  private mutating func check(_ member: ValueMap.Member, of map: ValueMap, _ schema: ObjectSchema, _ path: String) {
    guard let name = member.name else {
      return fault("'\(path)' has no field \(member.key.written)", at: member.key)
    }
    guard let field = schema.field(named: name) else {
      let names = schema.fields.map(\.name)
      let list = names.isEmpty ? "it has none" : "it has \(names.joined(separator: ", "))"
      let bodies = ["json", "text", "form"]
      let body: MessageText? =
        ["body", "data", "payload", "content"].contains(name) && bodies.allSatisfy(names.contains)
        ? "write json: for a value, text: for a text, or form: for a web form" : nil
      let guess = name.nearest(among: names)
      let hint =
        body ?? guess.map { .didYouMean($0, by: name, among: names).unless(map.has($0)) } ?? MessageText(list)
      return fault("'\(path)' has no field '\(name)'; \(hint)", at: member.key)
    }
    if !field.name.hasSameScalars(as: name) {
      if map.has(field.name) {
        return fault("'\(path)' has both '\(field.name)' and its former name '\(name)'", at: member.key)
      }
      faults.append(
        Fault(
          MessageText("'\(path.dot(name))' is now called '\(field.name)'", [.text(field.name)]), at: member.key.place,
          severity: .warning))
    }
    if let deprecation = field.deprecation {
      faults.append(
        Fault(
          "'\(path.dot(name))' should not be given any more: \(deprecation.withoutFullStop)", at: member.key.place,
          severity: .warning))
    }
    let place = member.value.place == .none ? member.key.place : member.value.place
    let value = Value(member.value.content, at: place)
    if value.isNull, !field.type.takesNull {
      // A null in an optional field means that it is absent; anywhere else it is a mistake.
      if field.isRequired {
        fault("'\(path.dot(name))' is empty (\(field.type.name))\(field.reason)", at: value)
      } else if let fallback = field.fallback {
        fault("'\(path.dot(name))' is empty; leave it out to have \(fallback.written)", at: value)
      }
      return
    }
    check(value, field.type, field.limits, path.dot(name))
  }

  /// Checks a value of any type.
  mutating func check(_ value: Value, _ type: FieldType, _ limits: [Limit], _ path: String) {
    if isExpression(value, type, path) { metExpression = true } else { checkLiteral(value, type, limits, path) }
  }

  private mutating func checkLiteral(_ value: Value, _ type: FieldType, _ limits: [Limit], _ path: String) {
    var value = value
    switch type {
    case .optional(let wrapped): return value.isNull ? () : checkLiteral(value, wrapped, limits, path)
    case .secret(let wrapped):
      let wasHiding = isHiding
      isHiding = true
      defer { isHiding = wasHiding }
      return checkLiteral(value, wrapped, limits, path)
    case .object(let schema): return check(value, schema, path)
    case .dyn: lookForExpressions(in: value, path)
    case .list(let element):
      guard let items = value.list else { return mismatch(value, type, path) }
      for (index, item) in items.enumerated() { check(item, element, limits.each, "\(path)[\(index)]") }
    case .map(let element):
      guard let map = value.map else { return mismatch(value, type, path) }
      for member in map.members {
        guard let name = member.name else {
          fault("'\(path)' has strings as keys, but found \(member.key.kindName)", at: member.key)
          continue
        }
        check(member.value, element, limits.each, path.dot(name))
      }
    default:
      value = type.restored(value)
      guard type.holds(value) else { return mismatch(value, type, path) }
    }
    for limit in limits {
      if let objection = limit.objection(to: value, of: type, isHidden: isHiding) {
        fault("'\(path)' must \(objection)", at: value)
      }
    }
  }

  private mutating func mismatch(_ value: Value, _ type: FieldType, _ path: String) {
    if isHiding { return fault("'\(path)' must be \(type.wanted)", at: value) }
    let found: String
    switch (type, value.content) {
    case (.double, .double): return fault("'\(path)' must be finite, but is \(value.written)", at: value)
    // A whole number that doesn't fit in 64 bits, or has a sign.
    case (.uint, .int), (.int, .uint): found = value.written
    case (.int, .double(let number)) where abs(number) >= 0x1p63: found = value.written
    case (.uint, .double(let number)) where abs(number) >= 0x1p63: found = value.written
    case (.choice, .string), (.date, .string), (.timestamp, .string), (.duration, .string), (.bytes, .string):
      found = value.written
    default: found = value.kindName
    }
    fault("'\(path)' must be \(type.wanted), but found \(found)\(hint(value, type))", at: value)
  }

  /// A hint at the probable mistake behind a value of the wrong type.
  private func hint(_ value: Value, _ type: FieldType) -> MessageText {
    func clause(_ words: String, _ texts: [String]) -> MessageText {
      MessageText("; \(words)", texts.map { .verbatim($0) })
    }
    switch (type, value.content) {
    case (.string, .int), (.string, .uint), (.string, .double), (.string, .bool):
      let written = spelling(value).map { "\"\($0)\"" }
      return clause(
        "write it in quotes\(written.map { ", \($0)," } ?? "") if it is meant as text", written.map { [$0] } ?? [])
    case (.choice(let options), .string(let text)):
      return MessageText.didYouMean(text, among: options).map { "; \($0)" } ?? ""
    case (.choice(let options), .int), (.choice(let options), .double), (.choice(let options), .bool):
      let written = spelling(value).flatMap { options.contains($0) ? ["\"\($0)\""] : nil }
      return clause("write it in quotes if it is meant as text", written ?? [])
    case (.bool, .string(let text)):
      switch text.lowercased() {
      case "true", "false": return clause("write \(text.lowercased()), without quotes", [text.lowercased()])
      case "yes", "on", "y": return clause("YAML reads '\(text)' as text, write true", ["true"])
      case "no", "off", "n": return clause("YAML reads '\(text)' as text, write false", ["false"])
      default: return ""
      }
    case (.int, .string(let text)):
      return Int(text).map { clause("write it without quotes, \($0)", ["\($0)"]) } ?? ""
    case (.double, .string(let text)):
      return Double(text).map { $0.isFinite ? clause("write it without quotes, \(text)", [text]) : "" } ?? ""
    case (.int, .double(let number)):
      return Int(exactly: number).map { clause("write \($0)", ["\($0)"]) } ?? ""
    case (.uint, .double(let number)):
      return UInt(exactly: number).map { clause("write \($0)", ["\($0)"]) } ?? ""
    case (.duration, .int(let number)):
      return clause("say the unit, such as \(number)s", ["s", "m", "h", "d"].map { "\(number)\($0)" })
    case (.list, _) where type.element.holds(type.element.restored(value)):
      let whole = clause("write it as a list, [\(value.written)]", spelling(value).map { ["[\($0)]"] } ?? [])
      // The text may hold several items.
      return whole.tentative(if: value.string?.utf8.contains { $0 == ASCII.comma || $0 == ASCII.space } ?? false)
    default: return ""
    }
  }

  /// Searches a value of no known type for expressions.
  ///
  /// The depth of a value is limited when it is read.
  private mutating func lookForExpressions(in value: Value, _ path: String) {
    var rest = [(value, path)]
    while let (value, path) = rest.popLast() {
      let parts: [(Value, String)] =
        switch value.content {
        case .list(let items): items.enumerated().map { ($1, "\(path)[\($0)]") }
        case .map(let map): map.members.map { ($0.value, path.dot($0.name ?? $0.key.written)) }
        default: []
        }
      for part in parts.reversed() {
        if isExpression(part.0, .dyn, part.1) { metExpression = true } else { rest.append(part) }
      }
    }
  }
}

extension FieldType {
  /// The expected value, with its article.
  package var wanted: String {
    switch self {
    case .bool: "a bool"
    case .int: "an int"
    case .uint: "a uint"
    case .double: "a double"
    case .string: "a string"
    case .date: "a date such as 2026-11-20"
    case .bytes: "bytes in base64"
    case .timestamp: "a timestamp such as 2026-11-20T09:30:00Z"
    case .duration: "a duration such as 1h30m"
    case .dyn: "a value"
    case .choice: name
    case .list(let element): "a list of \(element.name)"
    case .map(let value): "a map of \(value.name)"
    case .object: "a map of fields"
    case .optional(let wrapped), .secret(let wrapped): wrapped.wanted
    }
  }

  /// Whether a restored scalar has this type.
  package func holds(_ value: Value) -> Bool {
    switch (self, value.content) {
    case (.double, .double(let number)): number.isFinite
    case (.bool, .bool), (.int, .int), (.uint, .uint), (.string, .string), (.bytes, .bytes),
      (.timestamp, .timestamp), (.duration, .duration):
      true
    case (.choice(let options), .string(let text)): options.contains { $0.hasSameScalars(as: text) }
    case (.date, .string(let text)): CivilDate(written: text) != nil
    default: false
    }
  }
}

extension FieldSchema {
  /// The field's purpose, as the end of a sentence; empty if its declaration has no sentence.
  fileprivate var reason: String { summary.isEmpty ? "" : ": \(summary.withoutFullStop)" }
}

extension ValueMap {
  /// Whether there is a member of that name.
  fileprivate func has(_ name: String) -> Bool { self[name] != nil }

  /// Whether an unknown name is probably a misspelling of the field's, so that the field isn't reported as missing,
  /// too.
  fileprivate func misspells(_ field: FieldSchema, _ schema: ObjectSchema) -> Bool {
    members.contains { member in
      guard let name = member.name, schema.field(named: name) == nil else { return false }
      return name.nearest(among: schema.fields.map(\.name))?.hasSameScalars(as: field.name) ?? false
    }
  }
}

extension String {
  /// A sentence without its full stop, as a part of another.
  var withoutFullStop: String { hasSuffix(".") ? String(dropLast()) : self }

  /// The path of a member of the value at this path.
  fileprivate func dot(_ name: String) -> String {
    let isPlain = name.utf8.allSatisfy {
      ($0 | 0x20 >= 0x61 && $0 | 0x20 <= 0x7A) || ($0 >= 0x30 && $0 <= 0x39) || $0 == ASCII.underscore
    }
    return isPlain && !name.isEmpty ? "\(self).\(name)" : "\(self)[\"\(name)\"]"
  }
}
