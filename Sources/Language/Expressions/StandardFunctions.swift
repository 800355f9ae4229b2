import Basics

/// CEL's standard functions, without operators and macros.
let standardFunctions: [FunctionDeclaration] =
  sizes + texts + conversions + instants + lengthsOfTime + optionals

private typealias Form = FunctionDeclaration

// MARK: Size and texts

private let sizes: [FunctionDeclaration] = [
  (
    .string, "The number of characters of a text, of bytes, of items of a list, or of entries of a map.",
    "size('añb') == 3"
  ),
  (.bytes, "The number of bytes.", "size(b'ab') == 2"),
  (.list(.parameter("A")), "The number of items of a list.", "size([1, 2, 3]) == 3"),
  (.map(.parameter("A"), .parameter("B")), "The number of entries of a map.", "{'a': 1}.size() == 1"),
].flatMap { (type: ValueType, summary: String, example: String) in
  [
    Form("size", parameters: [type], result: .int, summary: summary, example: example, body: size),
    Form("size", receiver: type, parameters: [], result: .int, summary: summary, body: size),
  ]
}

private let size: FunctionDeclaration.Body = { arguments, context throws(EvaluationError) in
  switch arguments[0].content {
  case .string(let text):
    try context.charge(steps: text.utf8.count >> 9)
    var text = text
    // Count all bytes except UTF-8 continuation bytes.
    return .int(text.withUTF8 { bytes in bytes.reduce(into: 0) { $0 += $1 & 0xC0 == 0x80 ? 0 : 1 } })
  case .bytes(let bytes): return .int(bytes.count)
  case .list(let items): return .int(items.count)
  case .map(let map): return .int(map.count)
  default: throw EvaluationError("size() does not take \(arguments[0].kindName)")
  }
}

private let texts: [FunctionDeclaration] = [
  Form(
    "contains", receiver: .string, parameters: [.string], result: .bool,
    summary: "Whether the text contains the other.", example: "'blueberry'.contains('berry')"
  ) { arguments, context throws(EvaluationError) in
    let (text, part) = (try arguments.string(0), try arguments.string(1))
    if part.utf8.count > 32 { return .bool(try context.read(text).first(try context.read(part)) != nil) }
    try context.charge(steps: text.utf8.count >> 6)
    return .bool(contains(text, part))
  },
  Form(
    "startsWith", receiver: .string, parameters: [.string], result: .bool,
    summary: "Whether the text begins with the other.", example: "'blueberry'.startsWith('blue')"
  ) { arguments, _ throws(EvaluationError) in
    .bool(try arguments.string(0).utf8.starts(with: try arguments.string(1).utf8))
  },
  Form(
    "endsWith", receiver: .string, parameters: [.string], result: .bool,
    summary: "Whether the text ends with the other.", example: "'blueberry'.endsWith('berry')"
  ) { arguments, _ throws(EvaluationError) in
    let text = try arguments.string(0).utf8
    let end = try arguments.string(1).utf8
    return .bool(text.count >= end.count && text.suffix(end.count).elementsEqual(end))
  },
  Form(
    "matches", receiver: .string, parameters: [.string], result: .bool,
    summary: "Whether part of the text matches the pattern, in RE2's syntax; ^ and $ anchor it to the ends.",
    example: "'room 12'.matches('^room [0-9]+$')", literalCheck: patternFault, body: matches),
  Form(
    "matches", parameters: [.string, .string], result: .bool,
    summary: "Whether part of the text matches the pattern.", literalCheck: patternFault, body: matches),
]

/// Whether the bytes of a text contain the bytes of a short one.
private func contains(_ text: String, _ part: String) -> Bool {
  var text = text
  var part = part
  return text.withUTF8 { text in
    part.withUTF8 { part in
      guard let first = part.first else { return true }
      guard part.count <= text.count else { return false }
      for start in 0...text.count - part.count where text[start] == first {
        if text[start..<start + part.count].elementsEqual(part) { return true }
      }
      return false
    }
  }
}

private let matches: FunctionDeclaration.Body = { arguments, context throws(EvaluationError) in
  let text = try arguments.string(0)
  try context.charge(steps: text.utf8.count >> 6)
  return .bool(try context.pattern(try arguments.string(1)).matches(text))
}

/// Checks a pattern in the second argument.
let patternFault: FunctionDeclaration.LiteralCheck = { constants in
  guard constants.count > 1, let text = constants[1]?.string else { return nil }
  do throws(PatternError) {
    _ = try Pattern(text)
    return nil
  } catch {
    return LiteralFault(argument: 1, "this isn't a pattern: \(error.message)")
  }
}

// MARK: Conversions

private func conversion(
  _ name: String, from type: ValueType, to result: ValueType, _ summary: String, _ example: String = "",
  literalCheck: FunctionDeclaration.LiteralCheck? = nil, body: @escaping FunctionDeclaration.Body
) -> FunctionDeclaration {
  Form(
    name, parameters: [type], result: result, summary: summary, example: example, literalCheck: literalCheck, body: body
  )
}

private let itself: FunctionDeclaration.Body = { arguments, _ in arguments[0] }

private func unreadable(_ text: String, as type: String) -> EvaluationError {
  EvaluationError("\(written(.string(text))) cannot be read as \(type)")
}

private func outside(_ value: Value, _ type: String) -> EvaluationError {
  EvaluationError("\(written(value)) is outside the range of \(type)")
}

private func readsAs(_ what: String, _ reads: @escaping @Sendable (String) -> Bool) -> FunctionDeclaration.LiteralCheck
{
  { constants in
    guard let text = constants.first??.string, !reads(text) else { return nil }
    return LiteralFault(argument: 0, "\(written(.string(text))) isn't a \(what)")
  }
}

private let conversions: [FunctionDeclaration] = [
  conversion("int", from: .int, to: .int, "The same int.", body: itself),
  conversion("int", from: .uint, to: .int, "The uint as an int.", "int(7u) == 7") {
    arguments, _ throws(EvaluationError) in
    guard let number = Int(exactly: try arguments.uint(0)) else { throw outside(arguments[0], "an int") }
    return .int(number)
  },
  conversion("int", from: .double, to: .int, "The double without its fraction.", "int(-3.9) == -3") {
    arguments, _ throws(EvaluationError) in
    let number = try arguments.double(0)
    guard number > -0x1p63, number < 0x1p63 else { throw outside(arguments[0], "an int") }
    return .int(Int(number))
  },
  conversion("int", from: .string, to: .int, "The decimal number in a text.", "int('-12') == -12") {
    arguments, _ throws(EvaluationError) in
    guard let number = Int(try arguments.string(0)) else { throw unreadable(try arguments.string(0), as: "an int") }
    return .int(number)
  },
  conversion(
    "int", from: .timestamp, to: .int, "The seconds since 1970.", "int(timestamp('1970-01-01T00:01:00Z')) == 60"
  ) {
    arguments, _ throws(EvaluationError) in .int(try arguments.timestamp(0).seconds)
  },
  conversion("int", from: .duration, to: .int, "The length in nanoseconds.", "int(duration('1us')) == 1000") {
    arguments, _ throws(EvaluationError) in .int(try arguments.duration(0).nanoseconds)
  },

  conversion("uint", from: .uint, to: .uint, "The same uint.", body: itself),
  conversion("uint", from: .int, to: .uint, "The int as a uint.", "uint(7) == 7u") {
    arguments, _ throws(EvaluationError) in
    guard let number = UInt(exactly: try arguments.int(0)) else { throw outside(arguments[0], "a uint") }
    return .uint(number)
  },
  conversion("uint", from: .double, to: .uint, "The double without its fraction.", "uint(3.9) == 3u") {
    arguments, _ throws(EvaluationError) in
    let number = try arguments.double(0)
    guard number >= 0, number < 0x1p64 else { throw outside(arguments[0], "a uint") }
    return .uint(UInt(number))
  },
  conversion("uint", from: .string, to: .uint, "The decimal number in a text.", "uint('12') == 12u") {
    arguments, _ throws(EvaluationError) in
    guard let number = UInt(try arguments.string(0)) else { throw unreadable(try arguments.string(0), as: "a uint") }
    return .uint(number)
  },

  conversion("double", from: .double, to: .double, "The same double.", body: itself),
  conversion("double", from: .int, to: .double, "The int as a double.", "double(2) * 1.5 == 3.0") {
    arguments, _ throws(EvaluationError) in .double(Double(try arguments.int(0)))
  },
  conversion("double", from: .uint, to: .double, "The uint as a double.", "double(2u) == 2.0") {
    arguments, _ throws(EvaluationError) in .double(Double(try arguments.uint(0)))
  },
  conversion("double", from: .string, to: .double, "The number in a text.", "double('2.5') == 2.5") {
    arguments, _ throws(EvaluationError) in
    let text = try arguments.string(0)
    guard let number = Double(text) else { throw unreadable(text, as: "a double") }
    return .double(number)
  },

  conversion("bool", from: .bool, to: .bool, "The same bool.", body: itself),
  conversion(
    "bool", from: .string, to: .bool, "The bool that a text names: true, True, TRUE, t or 1, and likewise for false.",
    "bool('true')"
  ) {
    arguments, _ throws(EvaluationError) in
    switch try arguments.string(0) {
    case "true", "True", "TRUE", "t", "1": return .bool(true)
    case "false", "False", "FALSE", "f", "0": return .bool(false)
    case let text: throw unreadable(text, as: "a bool")
    }
  },

  conversion("string", from: .string, to: .string, "The same text.", body: itself),
  conversion("string", from: .int, to: .string, "The number in decimal.", "string(12) == '12'") {
    arguments, _ throws(EvaluationError) in
    .string(String(try arguments.int(0)))
  },
  conversion("string", from: .uint, to: .string, "The number in decimal.", "string(12u) == '12'") {
    arguments, _ throws(EvaluationError) in
    .string(String(try arguments.uint(0)))
  },
  conversion(
    "string", from: .double, to: .string, "The shortest text that reads back the same.", "string(0.1) == '0.1'"
  ) {
    arguments, _ throws(EvaluationError) in .string(written(try arguments.double(0)))
  },
  conversion("string", from: .bool, to: .string, "true or false.", "string(1 < 2) == 'true'") {
    arguments, _ throws(EvaluationError) in
    .string(try arguments.bool(0) ? "true" : "false")
  },
  conversion("string", from: .bytes, to: .string, "The text that the bytes encode in UTF-8.", "string(b'abc') == 'abc'")
  {
    arguments, context throws(EvaluationError) in
    let bytes = try arguments.bytes(0)
    try context.charge(bytes: bytes.count)
    guard let text = String(validating: bytes, as: UTF8.self) else { throw EvaluationError("the bytes are not UTF-8") }
    return .string(text)
  },
  conversion(
    "string", from: .timestamp, to: .string, "The instant in RFC 3339.",
    "string(timestamp('2026-11-20T08:00:00Z')) == '2026-11-20T08:00:00Z'"
  ) { arguments, _ throws(EvaluationError) in .string(try arguments.timestamp(0).description) },
  conversion("string", from: .duration, to: .string, "The length in seconds.", "string(duration('1h30m')) == '5400s'") {
    arguments, _ throws(EvaluationError) in .string(try arguments.duration(0).description)
  },

  conversion("bytes", from: .bytes, to: .bytes, "The same bytes.", body: itself),
  conversion("bytes", from: .string, to: .bytes, "The UTF-8 of a text.", "bytes('abc') == b'abc'") {
    arguments, context throws(EvaluationError) in
    let text = try arguments.string(0)
    try context.charge(bytes: text.utf8.count)
    return .bytes(Array(text.utf8))
  },

  conversion("timestamp", from: .timestamp, to: .timestamp, "The same instant.", body: itself),
  conversion(
    "timestamp", from: .string, to: .timestamp, "The instant that a text in RFC 3339 names.",
    "timestamp('2026-11-20T09:00:00+01:00') == timestamp('2026-11-20T08:00:00Z')",
    literalCheck: readsAs("timestamp; one is written '2026-11-20T08:00:00Z'") { Timestamp($0) != nil }
  ) { arguments, _ throws(EvaluationError) in
    let text = try arguments.string(0)
    guard let instant = Timestamp(text) else { throw unreadable(text, as: "a timestamp") }
    return .timestamp(instant)
  },
  conversion(
    "timestamp", from: .int, to: .timestamp, "The instant that is the given number of seconds after 1970.",
    "timestamp(0) == timestamp('1970-01-01T00:00:00Z')"
  ) {
    arguments, _ throws(EvaluationError) in
    guard let instant = Timestamp(seconds: try arguments.int(0)) else { throw outside(arguments[0], "a timestamp") }
    return .timestamp(instant)
  },

  conversion("duration", from: .duration, to: .duration, "The same length of time.", body: itself),
  conversion(
    "duration", from: .string, to: .duration, "The length of time that a text names, in h, m, s, ms, us, ns.",
    "duration('1h30m') == duration('90m')",
    literalCheck: readsAs("duration; one is written '1h30m', with the units h, m, s, ms, us, ns, and a day is '24h'") {
      TimeSpan($0, units: .expression) != nil
    }
  ) { arguments, _ throws(EvaluationError) in
    let text = try arguments.string(0)
    guard let span = TimeSpan(text, units: .expression) else { throw unreadable(text, as: "a duration") }
    return .duration(span)
  },
  conversion(
    "duration", from: .int, to: .duration, "The length of the given number of nanoseconds.",
    "duration(1000) == duration('1us')"
  ) {
    arguments, _ throws(EvaluationError) in .duration(TimeSpan(nanoseconds: try arguments.int(0)))
  },

  Form(
    "type", parameters: [.parameter("A")], result: .type(.parameter("A")), summary: "The type of a value.",
    example: "type(1) == int"
  ) { arguments, _ in Value(.type(typeName(of: arguments[0]))) },
  Form(
    "dyn", parameters: [.parameter("A")], result: .dyn, summary: "The same value, whose type isn't checked.",
    body: itself),
]

/// The CEL name of a value's type.
func typeName(of value: Value) -> String {
  switch value.content {
  case .null: "null_type"
  case .bool: "bool"
  case .int: "int"
  case .uint: "uint"
  case .double: "double"
  case .string: "string"
  case .bytes: "bytes"
  case .timestamp: "google.protobuf.Timestamp"
  case .duration: "google.protobuf.Duration"
  case .list: "list"
  case .map: "map"
  case .optional: "optional_type"
  case .type: "type"
  case .masked: "masked"
  }
}

// MARK: Parts of timestamps and durations

private let instants: [FunctionDeclaration] = [
  part("getFullYear", "The year, in UTC.", "2026") { date(of: $0).year },
  part("getMonth", "The month from 0 for January to 11, in UTC.", "10") { date(of: $0).month - 1 },
  part("getDate", "The day of the month from 1, in UTC.", "20") { date(of: $0).day },
  part("getDayOfMonth", "The day of the month from 0, in UTC.", "19") { date(of: $0).day - 1 },
  part("getDayOfWeek", "The day of the week from 0 for Sunday to 6, in UTC.", "5") { date(of: $0).weekday },
  part("getDayOfYear", "The day of the year from 0, in UTC.", "323") { instant in
    let date = date(of: instant)
    let first = CivilDate(year: date.year, month: 1, day: 1) ?? date
    return date.daysSinceEpoch - first.daysSinceEpoch
  },
  part("getHours", "The hour, in UTC.", "8") { $0.seconds.flooredRemainder(by: 86_400) / 3600 },
  part("getMinutes", "The minute, in UTC.", "30") { $0.seconds.flooredRemainder(by: 3600) / 60 },
  part("getSeconds", "The second.", "15") { $0.seconds.flooredRemainder(by: 60) },
  part("getMilliseconds", "The milliseconds of the second.", "250") { Int($0.nanoseconds) / 1_000_000 },
]

private func date(of instant: Timestamp) -> CivilDate {
  CivilDate(daysSinceEpoch: instant.seconds.flooredDivision(by: 86_400))
}

private func part(
  _ name: String, _ summary: String, _ example: String, _ read: @escaping @Sendable (Timestamp) -> Int
) -> FunctionDeclaration {
  Form(
    name, receiver: .timestamp, parameters: [], result: .int, summary: summary,
    example: "timestamp('2026-11-20T08:30:15.25Z').\(name)() == \(example)"
  ) { arguments, _ throws(EvaluationError) in .int(read(try arguments.timestamp(0))) }
}

private let lengthsOfTime: [FunctionDeclaration] =
  [
    ("getHours", "The whole length in hours.", "1", 3_600_000_000_000),
    ("getMinutes", "The whole length in minutes.", "90", 60_000_000_000),
    ("getSeconds", "The whole length in seconds.", "5400", 1_000_000_000),
  ].map { (name: String, summary: String, example: String, unit: Int) in
    Form(
      name, receiver: .duration, parameters: [], result: .int, summary: summary,
      example: "duration('1h30m').\(name)() == \(example)"
    ) { arguments, _ throws(EvaluationError) in .int(try arguments.duration(0).nanoseconds / unit) }
  } + [
    Form(
      "getMilliseconds", receiver: .duration, parameters: [], result: .int,
      summary: "The milliseconds beyond the whole seconds.", example: "duration('1.25s').getMilliseconds() == 250"
    ) { arguments, _ throws(EvaluationError) in
      .int(try arguments.duration(0).nanoseconds % 1_000_000_000 / 1_000_000)
    }
  ]

// MARK: Optionals

private let optionals: [FunctionDeclaration] = [
  Form(
    "optional.of", parameters: [.parameter("A")], result: .optional(.parameter("A")),
    summary: "An optional that holds the value.", example: "optional.of(1).hasValue()"
  ) { arguments, _ in Value(.optional(arguments[0])) },
  Form(
    "optional.ofNonZeroValue", parameters: [.parameter("A")], result: .optional(.parameter("A")),
    summary: "An optional that holds the value, or nothing if it is null, false, zero or empty.",
    example: "!optional.ofNonZeroValue('').hasValue()"
  ) { arguments, _ in Value(.optional(isZero(arguments[0]) ? nil : arguments[0])) },
  Form(
    "optional.none", parameters: [], result: .optional(.parameter("A")), summary: "An optional that holds nothing.",
    example: "optional.none().orValue(1) == 1"
  ) { _, _ in Value(.optional(nil)) },
  Form(
    "hasValue", receiver: .optional(.parameter("A")), parameters: [], result: .bool,
    summary: "Whether the optional holds a value.", example: "optional.of(1).hasValue()"
  ) { arguments, _ throws(EvaluationError) in .bool(try held(arguments, 0) != nil) },
  Form(
    "value", receiver: .optional(.parameter("A")), parameters: [], result: .parameter("A"),
    summary: "The optional's value; an error if it is empty.", example: "optional.of(1).value() == 1"
  ) { arguments, _ throws(EvaluationError) in
    guard let value = try held(arguments, 0) else { throw EvaluationError("the optional holds no value") }
    return value
  },
  Form(
    "or", receiver: .optional(.parameter("A")), parameters: [.optional(.parameter("A"))],
    result: .optional(.parameter("A")), summary: "This optional if it holds a value, otherwise the other.",
    example: "optional.none().or(optional.of(2)).value() == 2"
  ) { arguments, _ throws(EvaluationError) in try held(arguments, 0) == nil ? arguments[1] : arguments[0] },
  Form(
    "orValue", receiver: .optional(.parameter("A")), parameters: [.parameter("A")], result: .parameter("A"),
    summary: "The optional's value, or the given value if it is empty.", example: "{'a': 1}.?a.orValue(0) == 1"
  ) { arguments, _ throws(EvaluationError) in try held(arguments, 0) ?? arguments[1] },
  Form(
    "unwrapOpt", receiver: .list(.optional(.parameter("A"))), parameters: [], result: .list(.parameter("A")),
    summary: "The values of a list's optionals; empty optionals are left out.",
    example: "[optional.of(1), optional.none()].unwrapOpt() == [1]", body: unwrapAll),
  Form(
    "optional.unwrap", parameters: [.list(.optional(.parameter("A")))], result: .list(.parameter("A")),
    summary: "The values of a list's optionals; empty optionals are left out.",
    example: "optional.unwrap([optional.none(), optional.of(1)]) == [1]", body: unwrapAll),
]

private let unwrapAll: FunctionDeclaration.Body = { arguments, context throws(EvaluationError) in
  let items = try arguments.list(0)
  try context.charge(steps: items.count >> 4)
  try context.charge(bytes: items.count * MemoryLayout<Value>.stride)
  var result: [Value] = []
  for item in items {
    guard case .optional(let held) = item.content else {
      throw EvaluationError("the items must be optionals, and this one is \(item.kindName)")
    }
    if let held { result.append(held) }
  }
  return .list(result)
}

private func held(_ arguments: Arguments, _ index: Int) throws(EvaluationError) -> Value? {
  guard case .optional(let held) = arguments[index].content else {
    throw EvaluationError("an optional is needed here, but this is \(arguments[index].kindName)")
  }
  return held
}

private func isZero(_ value: Value) -> Bool {
  switch value.content {
  case .null, .optional(nil): true
  case .bool(let value): !value
  case .int(let value): value == 0
  case .uint(let value): value == 0
  case .double(let value): value == 0
  case .string(let value): value.isEmpty
  case .bytes(let value): value.isEmpty
  case .list(let value): value.isEmpty
  case .map(let value): value.isEmpty
  case .duration(let value): value.nanoseconds == 0
  case .timestamp(let value): value.seconds == 0 && value.nanoseconds == 0
  case .optional, .type, .masked: false
  }
}
