package import Basics

// Values as the suite writes them: `{t:null}` `{t:bool,v}` `{t:int,v:"…"}` `{t:uint,v:"…"}` `{t:double,v:"…"}`
// `{t:string,v}` `{t:bytes,b64}` `{t:list,v:[…]}` `{t:map,v:[[k,v],…]}` `{t:type,v}` `{t:timestamp,s,n}`
// `{t:duration,s,n}`, the numbers as texts, because JSON has but one kind of them. An optional, which the suite lacks,
// is `{t:optional}` or `{t:optional,v}`.

extension Value {
  /// Reads a value in the suite's form.
  package init(suiteForm form: Value) throws(SuiteError) {
    guard let kind = form["t"]?.string else { throw SuiteError("a value has no kind 't'") }
    guard let value = try Value.read(form, as: kind) else { throw SuiteError("a value of kind '\(kind)' is malformed") }
    self = value
  }

  /// The value of a kind; nil if it is malformed.
  private static func read(_ form: Value, as kind: String) throws(SuiteError) -> Value? {
    let text = form["v"]?.string
    switch kind {
    case "null": return .null
    case "bool": return form["v"]?.bool.map { .bool($0) }
    case "int": return text.flatMap { Int($0) }.map { .int($0) }
    case "uint": return text.flatMap { UInt($0) }.map { .uint($0) }
    case "double": return text.flatMap { Double($0) }.map { .double($0) }
    case "string": return text.map { .string($0) }
    case "type": return text.map { Value(.type($0)) }
    case "bytes": return form["b64"]?.string.flatMap { [UInt8](base64: $0) }.map { .bytes($0) }
    case "list":
      guard let items = form["v"]?.list else { return nil }
      var values: [Value] = []
      for item in items { values.append(try Value(suiteForm: item)) }
      return .list(values)
    case "map":
      guard let pairs = form["v"]?.list else { return nil }
      var map = ValueMap()
      for pair in pairs {
        guard let pair = pair.list, pair.count == 2 else { throw SuiteError("a map has an entry that is no pair") }
        map[try Value(suiteForm: pair[0])] = try Value(suiteForm: pair[1])
      }
      return .map(map)
    case "timestamp", "duration":
      guard let seconds = form["s"]?.string.flatMap({ Int($0) }), let nanoseconds = form["n"]?.int else { return nil }
      if kind == "timestamp" {
        return Timestamp(seconds: seconds, nanoseconds: nanoseconds).map { .timestamp($0) }
      }
      let (scaled, isTooLong) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
      let (total, isTooLongNow) = scaled.addingReportingOverflow(nanoseconds)
      return isTooLong || isTooLongNow ? nil : .duration(TimeSpan(nanoseconds: total))
    case "optional":
      return Value(.optional(try form["v"].map { form throws(SuiteError) in try Value(suiteForm: form) }))
    default: throw SuiteError("there are no values of kind '\(kind)'")
    }
  }

  /// The value in the suite's form.
  package var suiteForm: Value {
    func form(_ kind: String, _ value: Value) -> Value { .object(["t": .string(kind), "v": value]) }
    switch content {
    case .null: return .object(["t": .string("null")])
    case .bool(let truth): return form("bool", .bool(truth))
    case .int(let number): return form("int", .string(String(number)))
    case .uint(let number): return form("uint", .string(String(number)))
    case .double(let number): return form("double", .string(number.suiteText))
    case .string(let text): return form("string", .string(text))
    case .type(let name): return form("type", .string(name))
    case .masked(let text): return form("masked", .string(text.displayed))
    case .bytes(let bytes): return .object(["t": .string("bytes"), "b64": .string(bytes.base64)])
    case .list(let items): return form("list", .list(items.map(\.suiteForm)))
    case .map(let map):
      return form("map", .list(map.members.map { .list([$0.key.suiteForm, $0.value.suiteForm]) }))
    case .timestamp(let instant):
      return .object([
        "t": .string("timestamp"), "s": .string(String(instant.seconds)), "n": .int(Int(instant.nanoseconds)),
      ])
    case .duration(let span):
      return .object([
        "t": .string("duration"), "s": .string(String(span.nanoseconds / 1_000_000_000)),
        "n": .int(span.nanoseconds % 1_000_000_000),
      ])
    case .optional(let wrapped):
      return wrapped.map { form("optional", $0.suiteForm) } ?? .object(["t": .string("optional")])
    }
  }

  /// Equality of kind and content, where NaN is NaN: how the suite compares.
  package func isSame(as other: Value) -> Bool {
    switch (content, other.content) {
    case (.double(let left), .double(let right)): left == right || left.isNaN && right.isNaN
    case (.list(let left), .list(let right)):
      left.count == right.count && zip(left, right).allSatisfy { $0.isSame(as: $1) }
    case (.map(let left), .map(let right)):
      left.count == right.count
        && left.members.allSatisfy { member in right[member.key].map { member.value.isSame(as: $0) } ?? false }
    default: self == other
    }
  }
}

extension Double {
  /// The number, with the suite's words for NaN and the infinities.
  fileprivate var suiteText: String {
    if isNaN { return "NaN" }
    if isInfinite { return self < 0 ? "-Infinity" : "Infinity" }
    return description
  }
}
